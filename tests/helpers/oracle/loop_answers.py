"""Compare every way to run a random program with loops with Python's own loops on the plain engine.

The other ways are the loops of the package, in both engines, with few snapshots or all; and `jit`
of either form, whose loops are recorded step by step or by one step, at the point that it was
recorded at and at others.
"""

import numpy as np

from oracle.answers import Noise, limited
from oracle.engines import engines, forget_programs

STEPWISE: dict[str, int] = {}
BY_ONE_STEP = {"lines": 0, "rows": 0, "paths": 0}
WAYS = {  # engine, form, tier of jit, limits of loops
    "fast": ("fast", "python", None, STEPWISE),
    "loops": ("plain", "loops", None, STEPWISE),
    "fast loops": ("fast", "loops", None, STEPWISE),
    **{
        f"{tier} {form} {name}": ("fast", form, tier, limits)
        for tier in ("numpy", "tape", "cheap", "optimised")
        for form in ("python", "loops")
        for name, limits in (("steps", STEPWISE), ("recorded", BY_ONE_STEP))
    },
}
QUICK = [way for way in WAYS if not way.startswith(("cheap", "optimised"))]
DIGITS = 1e-9


def question(ad, program, f):
    """Return the function that answers what is asked of a program."""
    along = lambda x: np.ones(3) if np.ndim(x) else 1.0
    match program.kind:
        case "value":
            return f
        case "grad" | "value_and_grad" | "hessian" | "jacfwd" | "jacrev":
            return getattr(ad, program.kind)(f)
        case "jvp":
            return lambda x: ad.jvp(f, (x,), (along(x),))
        case "vjp":
            return lambda x: ad.vjp(f, x)[1](np.ones(np.shape(f(x))))
        case "hvp":
            return lambda x: ad.hvp(f, (x,), (along(x),))
        case "twice":
            inner = ad.grad(f)
            return ad.grad(lambda x: np.sum(inner(x)) if np.ndim(x) else inner(x))
        case "vmap grad":
            return ad.vmap(ad.grad(f))
        case "vmap jvp":
            return ad.vmap(lambda x: ad.jvp(f, (x,), (along(x),))[1])
        case "jacfwd jacrev":
            return ad.jacfwd(ad.jacrev(f))


def points_of(program):
    """Return the inputs that the question is asked at."""
    if not program.kind.startswith("vmap"):
        return program.points
    x, y, z = program.points
    return [np.stack([x, y]), np.stack([y, z])]


def ask(function, x):
    """Return the numbers that a function gives, or its error."""
    x = x.copy() if isinstance(x, np.ndarray) else x
    try:
        with np.errstate(all="ignore"):
            found = function(x)
    except Exception as error:
        return error
    return list(found) if isinstance(found, tuple) else [found]


def answer(program, way=None, move=None):
    """Return the answers at all points; without a way, those of Python's loops, plainly."""
    engine, form, tier, limits = WAYS[way] if way else ("plain", "python", None, STEPWISE)
    ad = getattr(engines(), engine)
    function = question(ad, program, program.function(ad, form, move))
    points = points_of(program)
    if tier is None:
        return [ask(function, x) for x in points]
    with limited(ad.compiled.loops.loop_limits.LOOPS, limits):
        function = ad.jit(function, tier=tier)
        ask(function, points[0])
        return [ask(function, x) for x in points]


def differences(program, ways):
    """Return how ways differ from Python's loops on the plain engine: a kind and a text for each.

    Where Python's loop raises an error, nothing is said: Python's own numbers refuse 1 / 0.0, which
    those of a recorded loop do not.
    """
    forget_programs()
    expected = answer(program)
    found, noisy = {}, []
    for way in ways:
        for k, (want, got) in enumerate(zip(expected, answer(program, way), strict=True)):
            kind = "" if isinstance(want, Exception) else difference(want, got)
            if kind in NUMBERS and not noisy:
                noisy = [answer(program, move=Noise(n, np.dtype(float)).put) for n in range(4)]
            if kind and not (kind in NUMBERS and _is_of_rounding(want, [x[k] for x in noisy])):
                found[way] = kind, f"at point {k} {want} and {got!r}"
                break
    return found


def _is_of_rounding(want, others):
    """Tell whether an answer is another one where every step is rounded a little otherwise."""
    return any(isinstance(x, Exception) or difference(want, x) in NUMBERS for x in others)


NUMBERS = ("number", "nan")  # kinds of differences that rounding may explain


def difference(want, got):
    """Tell how two answers differ: by a number, by what is nan, by a type, or by an error."""
    if isinstance(got, Exception):
        return "error"
    kinds = [_differ(a, b) for a, b in zip(want, got, strict=True)]
    return next((kind for kind in ("number", "nan", "type") if kind in kinds), "")


def _differ(a, b):
    one, other = np.asarray(a), np.asarray(b)
    if one.shape != other.shape:
        return "number"
    with np.errstate(all="ignore"):
        same = (one == other) | (np.isnan(one) & np.isnan(other))
        near = np.abs(one - other) <= DIGITS * np.maximum(1e-3, np.maximum(abs(one), abs(other)))
        far = ~(same | near)
    if np.any(far):
        return "number" if np.any(far & np.isfinite(one) & np.isfinite(other)) else "nan"
    return "type" if type(a) is not type(b) or one.dtype != other.dtype else ""
