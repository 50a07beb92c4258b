"""Whole arrays, compiled: value and gradient beside the loops that someone would write in C."""

from __future__ import annotations

import math
from collections.abc import Callable
from ctypes import c_double, c_long, c_void_p
from dataclasses import asdict, replace
from fractions import Fraction
from importlib import import_module
from typing import Any

import numpy as np

from array_contestants import (
    ArrayAutograd,
    ArrayContestant,
    ArrayJaxJit,
    ArrayOurs,
    ArrayRun,
    ArrayTorch,
    HandWritten,
)
from array_workloads import ArrayAnswer, Arrays, ArrayWorkload, array_disagreement
from compiled_calls import Numba
from contestants import Ours
from field import Field, check_answer, race_by_size, size_tables
from measure import Effort, Timing
from report import Section, Target, digits
from written_in_c import WrittenInC

AGAINST_C = Target("ours / C", Fraction(1))
LAYER_TARGETS = {
    (ArrayJaxJit.name, 64): Target("ours / JAX", Fraction(1, 10)),
    (HandWritten.name, 1024): Target("ours / NumPy", Fraction(1)),
}


# The functions. -----------------------------------------------------------------------------------


def logsumexp(size: int) -> ArrayWorkload:
    """Return log(sum(exp(x))), by the function that each library has for it."""
    x = np.random.default_rng(1).normal(size=size)
    return ArrayWorkload(_logsumexp, (x,), (), _logsumexp_hand)


def _logsumexp(xp: Any, parameters: Arrays, data: Arrays) -> Any:
    (x,) = parameters
    name = vars(xp).get("__name__")
    if name is None:  # PyTorch's, which wants an axis
        return xp.logsumexp(x, 0)
    home = {"numpy": "simpleautodiff.scipy.special", "jax.numpy": "jax.scipy.special"}
    return import_module(home.get(name, "autograd.scipy.special")).logsumexp(x)


def _typed_logsumexp(xp: Any, parameters: Arrays, data: Arrays) -> Any:
    (x,) = parameters
    most = xp.max(x)
    return most + xp.log(xp.sum(xp.exp(x - most)))


def _logsumexp_hand(parameters: Arrays, data: Arrays) -> ArrayAnswer:
    (x,) = parameters
    most = x.max()
    gradient = x - most
    np.exp(gradient, out=gradient)
    total = gradient.sum()
    gradient /= total
    return most + np.log(total), (gradient,)


def elementwise(size: int) -> ArrayWorkload:
    """Return sum(sin(x) exp(-x²) + log(1 + x²))."""
    x = np.random.default_rng(1).normal(size=size)
    return ArrayWorkload(_elementwise, (x,), (), _elementwise_hand)


def _elementwise(xp: Any, parameters: Arrays, data: Arrays) -> Any:
    (x,) = parameters
    return xp.sum(xp.sin(x) * xp.exp(-x * x) + xp.log(1 + x * x))


def _elementwise_hand(parameters: Arrays, data: Arrays) -> ArrayAnswer:
    (x,) = parameters
    square = x * x
    bell, sine = np.exp(-square), np.sin(x)
    square += 1
    value = np.sum(sine * bell + np.log(square))
    gradient = np.cos(x)
    sine *= x
    sine *= 2
    gradient -= sine
    gradient *= bell
    gradient += 2 * x / square
    return value, (gradient,)


def layer(size: int) -> ArrayWorkload:
    """Return half the sum of tanh(Ax + b)²; the gradient is that in x."""
    chance = np.random.default_rng(1)
    a, b = chance.normal(size=(size, size)) / math.sqrt(size), chance.normal(size=size)
    return ArrayWorkload(_layer, (chance.normal(size=size),), (a, b), _layer_hand)


def _layer(xp: Any, parameters: Arrays, data: Arrays) -> Any:
    (x,), (a, b) = parameters, data
    y = xp.tanh(a @ x + b)
    return 0.5 * xp.sum(y * y)


def _layer_hand(parameters: Arrays, data: Arrays) -> ArrayAnswer:
    (x,), (a, b) = parameters, data
    y = a @ x
    y += b
    np.tanh(y, out=y)
    return 0.5 * (y @ y), ((y * (1 - y * y)) @ a,)


def system(size: int) -> ArrayWorkload:
    """Return bᵀ K⁻¹ b + log|det K|, as in the evidence of a Gaussian process."""
    chance = np.random.default_rng(1)
    k = chance.normal(size=(size, size)) + 2 * size * np.eye(size)
    return ArrayWorkload(_system, (k,), (chance.normal(size=size),), _system_hand)


def _system(xp: Any, parameters: Arrays, data: Arrays) -> Any:
    (k,), (b,) = parameters, data
    return b @ xp.linalg.solve(k, b) + xp.linalg.slogdet(k)[1]


def _system_hand(parameters: Arrays, data: Arrays) -> ArrayAnswer:
    (k,), (b,) = parameters, data
    inverse = np.linalg.inv(k)
    solution = inverse @ b
    gradient = inverse.T - np.outer(b @ inverse, solution)
    return b @ solution + np.linalg.slogdet(k)[1], (gradient,)


# The contestants. ---------------------------------------------------------------------------------


class Jit(ArrayOurs):
    """`jit(value_and_grad(f))`, compiled before; data are arguments, too."""

    def __init__(self) -> None:
        self.ad = Ours().ad

    def run(self, workload: ArrayWorkload) -> ArrayRun:
        f, count = workload.f, len(workload.parameters)
        given = (*workload.parameters, *workload.data)
        both = self.ad.jit(
            self.ad.value_and_grad(lambda *args: f(np, args[:count], args[count:]), (0,)),
            tier="optimised",
        )
        both(*given)
        return lambda: both(*given)


class Eager(ArrayOurs):
    """The same as it is, not compiled."""

    name = "simpleautodiff, not compiled"


class JitTyped(Jit):
    """The same where logsumexp is typed by hand: the derivative of the maximum is computed, too."""

    name = "simpleautodiff, typed by hand"

    def run(self, workload: ArrayWorkload) -> ArrayRun:
        typed = _typed_logsumexp if workload.f is _logsumexp else workload.f
        return super().run(replace(workload, f=typed))


class ByC(ArrayContestant):
    """A loop in C; the gradient is a new array each time, as everyone's is."""

    name, package = "C by hand", WrittenInC.package

    def __init__(self) -> None:
        self.c = WrittenInC()

    @classmethod
    def version(cls) -> str:
        return WrittenInC.version()

    def run(self, workload: ArrayWorkload) -> ArrayRun:
        function = getattr(self.c.library, workload.f.__name__[1:])
        function.restype = c_double
        (x,), data = workload.parameters, workload.data
        given = [_pointer(array) for array in (*data, x)]
        work = [np.empty(len(x))] if data else []
        given += map(_pointer, work)
        size = c_long(len(x))

        def run() -> ArrayAnswer:
            gradient = self.result(x)
            return np.float64(function(size, *given, _pointer(gradient))), (gradient,)

        run.kept = work  # type: ignore[attr-defined]
        return run

    def result(self, x: Any) -> Any:
        """Return the array for the gradient."""
        return np.empty(len(x))


class ByCInPlace(ByC):
    """The same, into an array that is there already: nothing but the loop is timed."""

    name = "C by hand, into an old array"

    def run(self, workload: ArrayWorkload) -> ArrayRun:
        old = np.empty(len(workload.parameters[0]))
        self.result = lambda x: old  # type: ignore[method-assign]
        return super().run(workload)


class ByNumba(ArrayContestant):
    """The gradient written by hand in NumPy's language, compiled by numba."""

    name, package = Numba.name, Numba.package

    def __init__(self) -> None:
        self.njit = Numba().njit

    def run(self, workload: ArrayWorkload) -> ArrayRun:
        function = self.njit(fastmath=True)(LOOPS[workload.f.__name__])
        (x,) = workload.parameters

        def run() -> ArrayAnswer:
            value, gradient = function(x)
            return np.float64(value), (gradient,)

        return run


def _logsumexp_loop(x: Any) -> Any:
    gradient = np.empty(len(x))
    most = x.max()
    total = 0.0
    for i in range(len(x)):
        gradient[i] = math.exp(x[i] - most)
        total += gradient[i]
    for i in range(len(x)):
        gradient[i] /= total
    return most + math.log(total), gradient


def _elementwise_loop(x: Any) -> Any:
    gradient = np.empty(len(x))
    total = 0.0
    for i in range(len(x)):
        square = x[i] * x[i]
        bell, sine = math.exp(-square), math.sin(x[i])
        total += sine * bell + math.log(1 + square)
        gradient[i] = bell * (math.cos(x[i]) - 2 * x[i] * sine) + 2 * x[i] / (1 + square)
    return total, gradient


LOOPS = {"_logsumexp": _logsumexp_loop, "_elementwise": _elementwise_loop}
OF_LAYER: list[type[ArrayContestant]] = [
    Jit, ByC, HandWritten, ArrayJaxJit, ArrayTorch, ArrayAutograd
]  # fmt: skip
OF_LOOPS: list[type[ArrayContestant]] = [Jit, ByC, ByCInPlace, ByNumba, *OF_LAYER[2:]]
OF_LOGSUMEXP = [Jit, JitTyped, *OF_LOOPS[1:]]
OF_SYSTEM: list[type[ArrayContestant]] = [
    Jit, Eager, HandWritten, ArrayJaxJit, ArrayTorch, ArrayAutograd
]  # fmt: skip
KINDS = (*OF_LOGSUMEXP, *OF_SYSTEM)


def _pointer(array: Any) -> Any:
    return c_void_p(array.ctypes.data)


# The questions. -----------------------------------------------------------------------------------


def loops_section(
    title: str,
    make: Callable[[int], ArrayWorkload],
    field: Field,
    sizes: tuple[int, ...],
    effort: Effort,
) -> Section:
    """Time a function of one array."""

    def target_of(name: str, size: int) -> Target | None:
        return AGAINST_C if name in (ByC.name, ByCInPlace.name) else None

    kinds = OF_LOGSUMEXP if make is logsumexp else OF_LOOPS
    return _section(title, make, kinds, field, sizes, effort, target_of)


def layer_section(field: Field, sizes: tuple[int, ...], effort: Effort) -> Section:
    """Time a layer of a network."""

    def target_of(name: str, size: int) -> Target | None:
        return LAYER_TARGETS.get((name, size))

    title = "11a. Value and gradient: half the sum of tanh(Ax + b)^2"
    section = _section(title, layer, OF_LAYER, field, sizes, effort, target_of)
    texts = [(name, f"target {t} at {size}") for (name, size), t in LAYER_TARGETS.items()]
    section.notes(texts)
    return section


def system_section(field: Field, sizes: tuple[int, ...], effort: Effort) -> Section:
    """Time systems of equations and determinants."""
    title = "11b. Value and gradient: b K^-1 b + log|det K|"
    return _section(title, system, OF_SYSTEM, field, sizes, effort, lambda name, size: None)


def _section(
    title: str,
    make: Callable[[int], ArrayWorkload],
    kinds: list[type[ArrayContestant]],
    field: Field,
    sizes: tuple[int, ...],
    effort: Effort,
    target_of: Callable[[str, int], Target | None],
) -> Section:
    section = Section(title)

    def runs_at(size: int) -> Callable[[ArrayContestant], ArrayRun]:
        workload = make(size)
        answer = workload.hand(workload.parameters, workload.data)

        def verified(contestant: ArrayContestant) -> ArrayRun:
            run = contestant.run(workload)
            check_answer(contestant.name, array_disagreement(run(), answer))
            return run

        return verified

    timings, notes = race_by_size(field, kinds, sizes, runs_at, effort, "elements")
    section.data = {
        name: {str(size): asdict(timing) for size, timing in by_size.items()}
        for name, by_size in timings.items()
    }
    head = "µs of CPU time per call, best"
    case = title.partition(": ")[2]
    size_tables(section, timings, sizes, head, _us, target_of, case)
    section.notes(notes)
    return section


def _us(timing: Timing) -> str:
    return digits(1e6 * timing.best)
