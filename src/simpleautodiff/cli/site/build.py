"""Write the playground: a folder of files that any web server can serve, and that asks no other."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import resources
from pathlib import Path, PurePosixPath
from typing import Any

from simpleautodiff import __version__
from simpleautodiff.cli.site.npm import NUMPY_PACKAGE, PYODIDE, download
from simpleautodiff.cli.site.playground import answer
from simpleautodiff.display.explorer.files import read_asset, read_scripts
from simpleautodiff.program.watched_work import go_through

RUNTIME = ("pyodide.js", "pyodide.asm.js", "pyodide-lock.json", "python_stdlib.zip")
WASM = "pyodide.asm.wasm"
COMPRESSED_BYTES = 1 << 18  # at once, between two looks at the progress
SITE_PACKAGES = "lib/python3.12/site-packages/"
NOTICE = f"""\
This folder holds software of several projects:

simpleautodiff {__version__}, BSD-3-Clause
{PYODIDE} of npm: Pyodide, MPL-2.0, https://github.com/pyodide/pyodide, with CPython, PSF-2.0
{NUMPY_PACKAGE} of npm: NumPy, BSD-3-Clause, https://numpy.org
"""


@dataclass(frozen=True)
class Site:
    """A site that was written: its folder, its size, and what a visitor loads to run Python."""

    folder: Path
    files: int
    bytes: int
    download: int

    def __str__(self) -> str:
        return (
            f"wrote {self.files} files, {_megabytes(self.bytes)}, to {self.folder}\n"
            f"A visitor loads {_megabytes(self.bytes - self.download)} at first, and "
            f"{_megabytes(self.download)} once when Python is needed.\n"
            f"Copy the folder to any web server, or try it here:\n"
            f"  python -m http.server --directory {self.folder}"
        )


def write_site(folder: str | Path) -> Site:
    """Write the playground to a folder.

    Python and NumPy for browsers are taken from npm; the site itself asks no other host. Files of
    the site that are there already are written again, others are left alone.

    Examples
    --------
    >>> print(write_site("playground"))  # doctest: +SKIP
    wrote 13 files, 11.8 MB, to playground
    A visitor loads 0.3 MB at first, and 11.5 MB once when Python is needed.
    Copy the folder to any web server, or try it here:
      python -m http.server --directory playground
    """
    folder = Path(folder)
    with tempfile.TemporaryDirectory() as loaded:
        pyodide, numpy = (
            download(package, Path(loaded))
            for package in go_through((PYODIDE, NUMPY_PACKAGE), "downloading")
        )
        python = {
            **_runtime(pyodide),
            "python/numpy.zip": _zip(_numpy(numpy), "compressing NumPy"),
            "python/simpleautodiff.zip": _zip(_own_files(), "compressing this library"),
        }
    size = sum(map(len, python.values()))
    counted = sum(len(content) for name, content in python.items() if not name.endswith(".js"))
    page = {name: text.encode() for name, text in _page(size, counted).items()}
    for name, content in (python | page).items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    total = size + sum(map(len, page.values()))
    return Site(folder, len(python) + len(page), total, size)


def _runtime(archive: Path) -> dict[str, bytes]:
    """Return the files of Pyodide; its largest is compressed here, since not every host does so."""
    with tarfile.open(archive) as packed:
        files = {f"python/{name}": _read(packed, f"package/{name}") for name in RUNTIME}
        wasm = _read(packed, f"package/{WASM}")
    return files | {f"python/{WASM}.packed": _compress(wasm)}


def _compress(content: bytes) -> bytes:
    """Compress a file, the same way each time."""
    packed = io.BytesIO()
    pieces = [
        content[place : place + COMPRESSED_BYTES]
        for place in range(0, len(content), COMPRESSED_BYTES)
    ]
    with gzip.GzipFile(filename="", mode="wb", fileobj=packed, compresslevel=9, mtime=0) as file:
        for piece in go_through(pieces, "compressing Python"):
            file.write(piece)
    return packed.getvalue()


def _numpy(archive: Path) -> Iterator[tuple[str, bytes]]:
    """Return the files of NumPy with their names, from the package inside of npm's."""
    with tarfile.open(archive) as outer:
        inner = next(name for name in outer.getnames() if name.endswith(".tar.gz"))
        package = _read(outer, inner)
    with tarfile.open(fileobj=io.BytesIO(package)) as packed:
        for member in packed:
            if member.isfile() and member.name.startswith(SITE_PACKAGES):
                yield member.name.removeprefix(SITE_PACKAGES), _read(packed, member.name)


def _read(packed: tarfile.TarFile, name: str) -> bytes:
    file = packed.extractfile(name)
    assert file is not None
    return file.read()


def _own_files() -> Iterator[tuple[str, bytes]]:
    """Return the files of this package with their names."""
    package = Path(str(resources.files("simpleautodiff")))
    for file in sorted(package.rglob("*")):
        if file.is_file() and "__pycache__" not in file.parts:
            name = PurePosixPath("simpleautodiff", *file.relative_to(package).parts)
            yield str(name), file.read_bytes()


def _zip(files: Iterable[tuple[str, bytes]], what: str) -> bytes:
    """Return an archive, the same one for the same files."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as packed:
        for name, data in go_through(list(files), what):
            packed.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED, 9)
    return content.getvalue()


def _page(size: int, counted: int) -> dict[str, str]:
    """Return the page, its scripts and its examples, which are shown before Python is loaded.

    `size` is what is loaded to run Python; the page counts `counted` of these bytes as they come.
    """
    script = (
        f'(() => {{\n"use strict";\n{read_scripts()}\n{{\n{_asset("playground.js")}}}\n}})();\n'
    )
    examples = [
        example | {"answer": answer(example)} for example in go_through(read_examples(), "examples")
    ]
    site = {"version": __version__, "download": _megabytes(size), "bytes": counted}
    return {
        "index.html": _asset("index.html"),
        "playground.css": read_asset("explorer.css") + _asset("playground.css"),
        "playground.js": script,
        "worker.js": _asset("worker.js"),
        "site.json": json.dumps(site | {"examples": examples}, ensure_ascii=False),
        "NOTICE.txt": NOTICE,
    }


def read_examples() -> list[dict[str, Any]]:
    """Return the examples: each has a title, a text and a point."""
    return json.loads(_asset("examples.json"))  # type: ignore[no-any-return]


def _asset(name: str) -> str:
    folder = resources.files("simpleautodiff.cli.site") / "assets"
    return (folder / name).read_text(encoding="utf-8")


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB"
