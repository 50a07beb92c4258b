"""Compare every way to run a random program with loops with Python's own loops on the plain engine.

The other ways are the loops of the package, in both engines, with few snapshots or all; and `jit` of
either form, whose loops are recorded step by step or by one step, at the point that it was recorded
at and at others.
"""

import warnings

import numpy as np

from oracle.answers import Noise, limited
from oracle.engines import engines, forget_programs
from oracle.loop_programs import make

STEPWISE = {}
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
    ones = lambda x: np.ones_like(x) if isinstance(x, np.ndarray) else type(x)(1)
    match program.kind:
        case "value":
            return f
        case "grad" | "value_and_grad" | "hessian" | "jacfwd" | "jacrev":
            return getattr(ad, program.kind)(f)
        case "jvp":
            return lambda x: ad.jvp(f, (x,), (np.ones(3) if np.ndim(x) else 1.0,))
        case "vjp":
            def vjp(x):
                value, back = ad.vjp(f, x)
                return value, back(np.ones(np.shape(value)))
            return vjp
        case "hvp":
            return lambda x: ad.hvp(f, (x,), (np.ones(3) if np.ndim(x) else 1.0,))
        case "twice":
            inner = ad.grad(f)
            return ad.grad(lambda x: np.sum(inner(x)) if np.ndim(x) else inner(x))
        case "vmap grad":
            return ad.vmap(ad.grad(f))
        case "vmap jvp":
            return ad.vmap(lambda x: ad.jvp(f, (x,), (np.ones(3) if np.ndim(x) else 1.0,))[1])
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


def answer(program, way, move=None):
    """Return the answers at all points."""
    engine, form, tier, limits = WAYS[way] if way else ("plain", "python", None, {})
    ad = getattr(engines(), engine)
    f = program.function(ad, form, move)
    function = question(ad, program, f)
    points = points_of(program)
    if tier is None:
        return [ask(function, x) for x in points]
    with limited(ad.compiled.loops.loop_limits.LOOPS, limits):
        function = ad.jit(function, tier=tier)
        ask(function, points[0])
        return [ask(function, x) for x in points]


def compare(seed, ways=QUICK):
    """Return how ways differ from Python's loops on the plain engine: a kind and a text for each."""
    warnings.simplefilter("ignore")
    program = make(seed)
    forget_programs()
    expected = answer(program, None)
    found = {}
    noisy = None
    for way in ways:
        answers = answer(program, way)
        for k, (want, got) in enumerate(zip(expected, answers, strict=True)):
            if isinstance(want, Exception):
                continue
            kind = difference(want, got)
            if kind and not isinstance(got, Exception):
                if noisy is None:
                    noises = [Noise(n, np.dtype(float)) for n in range(4)]
                    noisy = [answer(program, None, noise.put) for noise in noises]
                others = [one[k] for one in noisy]
                if any(isinstance(o, Exception) or difference(want, o) in ("nan", "finite") for o in others):
                    continue
            if kind:
                found[way] = kind, k, want, got
                break
    return program, found


def difference(want, got):
    """Tell how two answers differ: by a number, by what is nan, by their types, or by an error."""
    if isinstance(got, Exception):
        return "error"
    kinds = [_differ(a, b) for a, b in zip(want, got, strict=True)]
    return next((kind for kind in ("finite", "nan", "type") if kind in kinds), "")


def _differ(a, b):
    one, other = np.asarray(a), np.asarray(b)
    if one.shape != other.shape:
        return "type"
    with np.errstate(all="ignore"):
        same = (one == other) | (np.isnan(one) & np.isnan(other))
        near = np.abs(one - other) <= DIGITS * np.maximum(1e-3, np.maximum(abs(one), abs(other)))
        far = ~(same | near)
    if np.any(far):
        both = np.isfinite(one) & np.isfinite(other)
        return "finite" if np.any(far & both) else "nan"
    if type(a) is not type(b) or one.dtype != other.dtype:
        return "type"
    return ""
