"""What a call costs: of a compiled gradient, the first one of all, and that of `import`."""

from __future__ import annotations

import itertools
import math
import statistics
import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

import fresh
from contestants import Autograd, Casadi, Jax, Library, Ours, Torch
from entrants import Entrant, Run, entered, ratio_table
from field import Field
from measure import Effort, race
from report import Section, Target, digits

EMPTY = "an empty lambda"
POINT = (2.0, 5.0)
GRADIENT = (1 / 2.0 + 5.0, 2.0 - math.cos(5.0))
CALLS = 1000  # in a run: what the clock and the loop add is shared by them
FLOATS_TARGET = Target("gradient of floats, ours / an empty lambda", Fraction(16, 10))
ARRAYS_TARGET = Target("gradient of an array, ours / an empty lambda", Fraction(32, 10))
FIRST_TARGET = Target("first call, jit / eager", Fraction(13, 10))
IMPORT_TARGET = Target("ms of import beyond NumPy's", Fraction(40))
IMPORTS = {  # what is loaded
    "simpleautodiff": ("simpleautodiff",),
    "simpleautodiff, and its grad": ("simpleautodiff", "grad"),
    "simpleautodiff, and its jit": ("simpleautodiff", "jit"),
    "HIPS autograd": ("autograd",),
    "JAX": ("jax",),
}


class Numba(Library):
    """Python compiled; derivatives are written by hand."""

    name, package = "numba, by hand", "numba"
    limit = 10**7

    def __init__(self) -> None:
        import numba

        self.njit = numba.njit


def repeated(function: Callable[..., Any], *args: Any) -> Run:
    """Return a run of many calls, and nothing between them."""

    def two() -> Any:
        x1, x2 = args
        for _ in itertools.repeat(None, CALLS - 1):
            function(x1, x2)
        return function(x1, x2)

    def one() -> Any:
        (x,) = args
        for _ in itertools.repeat(None, CALLS - 1):
            function(x)
        return function(x)

    return two if len(args) == 2 else one


# Floats to a tuple, and an array to an array. -----------------------------------------------------


def f(xp: Any, x1: Any, x2: Any) -> Any:
    """Return the paper's function."""
    return xp.log(x1) + x1 * x2 - xp.sin(x2)


def call_section(field: Field, effort: Effort) -> Section:
    """Time the gradient of the paper's function, compiled before."""
    section = Section("8. Calling the compiled gradient of log(x1) + x1*x2 - sin(x2)")
    for text, entrants, target in (
        ("ns of CPU time, floats to a tuple", FLOATS, FLOATS_TARGET),
        ("ns of CPU time, an array to an array", ARRAYS, ARRAYS_TARGET),
    ):
        found = entered(field, entrants, GRADIENT)
        timings = {name: timing.per(CALLS) for name, timing in race(found.runs, effort).items()}
        ratio_table(section, text, timings, entrants, _ns, {EMPTY: target})
        section.notes(found.notes)
    return section


def _ns(seconds: float) -> str:
    return digits(1e9 * seconds)


def _settled(jitted: Any, *args: Any) -> Any:
    """Call a function until it is compiled as well as it will be."""
    for _ in range(100):
        jitted(*args)
    jitted.wait()
    return jitted


def _empty(_: Any) -> Run:
    return repeated(lambda x1, x2: None, *POINT)


def _ours_floats(ours: Any) -> Run:
    gradient = ours.ad.jit(ours.ad.grad(lambda x1, x2: f(ours.ad, x1, x2), (0, 1)))
    return repeated(_settled(gradient, *POINT), *POINT)


def _python_floats(_: Any) -> Run:
    return repeated(lambda x1, x2: (1 / x1 + x2, x1 - math.cos(x2)), *POINT)


def _numba_floats(numba: Numba) -> Run:
    return repeated(numba.njit(lambda x1, x2: (1 / x1 + x2, x1 - math.cos(x2))), *POINT)


def _casadi_buffer(library: Any) -> Run:
    """Evaluate from one array into another, without arguments: CasADi's quickest way."""
    casadi = library.casadi
    x = casadi.SX.sym("x", 2)
    gradient = casadi.Function("g", [x], [casadi.gradient(f(casadi, x[0], x[1]), x)])
    buffer, evaluate = gradient.buffer()
    given, out = np.array(POINT), np.zeros(2)
    buffer.set_arg(0, memoryview(given))
    buffer.set_res(0, memoryview(out))

    def run() -> Any:
        for _ in itertools.repeat(None, CALLS):
            evaluate()
        return out, given, buffer  # which have to live

    return run


def _jax_floats(jax: Any) -> Run:
    both = jax.jax.jit(jax.jax.grad(lambda x1, x2: f(jax.jax.numpy, x1, x2), (0, 1)))
    return _fewer(both, *POINT)


def _autograd_floats(autograd: Any) -> Run:
    import autograd as library
    import autograd.numpy as anp

    gradient = library.grad(lambda x: f(anp, x[0], x[1]))
    return _fewer(gradient, np.array(POINT))


def _torch_floats(torch: Any) -> Run:
    gradient = torch.torch.func.grad(lambda x: f(torch.torch, x[0], x[1]))
    return _fewer(gradient, torch.torch.tensor(POINT, dtype=torch.torch.float64))


def _fewer(function: Callable[..., Any], *args: Any) -> Run:
    """Return a run of slow calls: as many as needed for the time of one to be told."""

    def run() -> Any:
        for _ in itertools.repeat(None, CALLS - 1):
            function(*args)
        return function(*args)

    return run


def _ours_array(ours: Any) -> Run:
    x = np.array(POINT)
    gradient = ours.ad.jit(ours.ad.grad(lambda x: f(np, x[0], x[1])))
    return repeated(_settled(gradient, x), x)


def _numba_array(numba: Numba) -> Run:
    def gradient(x: Any) -> Any:
        result = np.empty(2)
        result[0], result[1] = 1 / x[0] + x[1], x[0] - math.cos(x[1])
        return result

    return repeated(numba.njit(gradient), np.array(POINT))


def _jax_array(jax: Any) -> Run:
    gradient = jax.jax.jit(jax.jax.grad(lambda x: f(jax.jax.numpy, x[0], x[1])))
    return repeated(gradient, jax.jax.numpy.array(POINT))


def _nothing(_: Any) -> Any:
    return np.array(GRADIENT)


FLOATS = (
    Entrant(Ours.name, Ours, _ours_floats),
    Entrant(EMPTY, Ours, _empty, _nothing),
    Entrant("Python by hand", Ours, _python_floats),
    Entrant("numba, by hand", Numba, _numba_floats),
    Entrant("CasADi buffer", Casadi, _casadi_buffer, lambda found: found[0]),
    Entrant("JAX jit", Jax, _jax_floats),
)
ARRAYS = (
    Entrant(Ours.name, Ours, _ours_array),
    Entrant(EMPTY, Ours, _empty, _nothing),
    Entrant("numba, by hand", Numba, _numba_array),
    Entrant("CasADi buffer", Casadi, _casadi_buffer, lambda found: found[0]),
    Entrant("JAX jit", Jax, _jax_array),
    Entrant("PyTorch func", Torch, _torch_floats),
    Entrant("autograd", Autograd, _autograd_floats),
)


# What comes first. --------------------------------------------------------------------------------


def first_section(field: Field, rounds: int) -> Section:
    """Time the first call of a function that is to be compiled, and importing the package."""
    section = Section("13. The first call, and import")
    first, eager = _first_calls(field.present[Ours], rounds)
    ratio = min(first) / min(eager)
    section.data["first call"] = {"jit": min(first), "eager": min(eager)}
    rows = [("first call, jit", _us(first), ""),
            ("the same, eager", _us(eager), _judged(section, FIRST_TARGET, ratio))]  # fmt: skip
    section.table(("µs of CPU time, gradient of the paper's function", "best", "jit/eager"), rows)
    _import_table(section, rounds)
    return section


def _import_table(section: Section, rounds: int) -> None:
    """Time importing the package, and its peers, in new processes, turn by turn."""
    times: dict[str, list[float]] = {"NumPy": [], **{name: [] for name in IMPORTS}}
    loaded = 0.0
    for name, what in [*IMPORTS.items()] * rounds:
        try:
            numbers = fresh.elsewhere("import", *what)
        except RuntimeError as error:
            section.notes([(name, f"not measured: {error}")])
            continue
        times["NumPy"].append(numbers["NumPy"])
        times[name].append(numbers["package"])
        if name == "simpleautodiff":
            loaded = max(loaded, numbers["llvmlite"])
    section.data["import, ms"] = times
    rows = []
    for name, found in times.items():
        if found:
            verdict = ""
            if name == "simpleautodiff":
                verdict = f"{IMPORT_TARGET} {section.judge(IMPORT_TARGET, 'import', min(found))}"
            rows.append((name, digits(min(found)), digits(statistics.median(found)), verdict))
    section.table(("ms of CPU time of import, NumPy loaded", "best", "median", "target"), rows)
    section.notes([("llvmlite", "loaded by import" if loaded else "not loaded by import")])


def _judged(section: Section, target: Target, ratio: float) -> str:
    return f"{digits(ratio)} {target} {section.judge(target, 'small function', ratio)}"


def _us(seconds: list[float]) -> str:
    return digits(1e6 * min(seconds))


def _first_calls(ours: Any, rounds: int, many: int = 200) -> tuple[list[float], list[float]]:
    """Return the seconds of first calls and of eager ones, turn by turn."""
    ad = ours.ad
    eager = ad.grad(lambda x1, x2: f(ad, x1, x2), (0, 1))
    eager(*POINT)
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds + 1):
        both = [ad.jit(eager) for _ in range(many)], [eager] * many
        for functions, kept in zip(both, times, strict=True):
            begin = time.process_time()
            for function in functions:
                function(*POINT)
            kept.append((time.process_time() - begin) / many)
    return times[0][1:], times[1][1:]


KINDS = (Ours, Numba, Casadi, Jax, Torch, Autograd)
