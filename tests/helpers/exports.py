"""What is done with exported programs: C files are compiled, Python modules are imported."""

import ctypes
import importlib.util
import shutil
import subprocess
from itertools import count

import numpy as np
import pytest

from simpleautodiff.values.pytree import flatten

COMPILER = shutil.which("gcc") or shutil.which("cc")
needs_compiler = pytest.mark.skipif(not COMPILER, reason="no C compiler here")
STRICT = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror"]
COMPILERS = {  # those that are here, with what makes them strict
    name: [shutil.which(name), *options]
    for name, options in {
        "gcc": STRICT,
        "clang": STRICT,
        "tcc": ["-std=c99", "-Wall", "-Werror"],
        "g++": ["-x", "c++", "-std=c++17", *STRICT[1:]],
        "clang++": ["-x", "c++", "-std=c++17", *STRICT[1:]],
    }.items()
    if shutil.which(name)
}
EDGE = 128  # bytes around a result
fresh = count()


def compiled(folder, sources, *options):
    """Compile C sources that were put into one file each, and load what came out."""
    paths = []
    for source in sources:
        paths.append(folder / f"source{next(fresh)}.c")
        paths[-1].write_text(source)
    library = folder / f"library{next(fresh)}.so"
    command = [COMPILER, *STRICT, *options, "-shared", "-fPIC", "-o", library, *paths, "-lm"]
    subprocess.run(command, check=True)
    return ctypes.CDLL(str(library))


def empty(result):
    """Return arrays for the leaves of a result, which lie row by row."""
    leaves = [np.asarray(leaf) for leaf in flatten(result)[0]]
    return [np.full(leaf.shape, 77, leaf.dtype) for leaf in leaves]


def called(function, arguments, results):
    """Call a function of C with arrays; return its status. Nothing else may be written to."""
    given = [np.require(x, None, ["C", "A"]) for x in arguments]
    around = [np.full(result.nbytes + 2 * EDGE, 90, np.uint8) for result in results]
    for whole, result in zip(around, results, strict=True):
        whole[EDGE:-EDGE] = np.frombuffer(result.tobytes(), np.uint8)
    places = [x.ctypes.data for x in given] + [whole.ctypes.data + EDGE for whole in around]
    status = function(*[ctypes.c_void_p(place) for place in places])
    for whole, result in zip(around, results, strict=True):
        assert np.all(whole[:EDGE] == 90)
        assert np.all(whole[-EDGE:] == 90)
        result[...] = np.frombuffer(whole[EDGE:-EDGE].tobytes(), result.dtype).reshape(result.shape)
    return status


def imported(folder, text, name="f"):
    """Import a module that was written; return its function."""
    path = folder / f"exported{next(fresh)}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, name)
