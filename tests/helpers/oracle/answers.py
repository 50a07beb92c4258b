"""What is asked of random programs, the ways to answer, and how two answers differ.

The plain engine is what all others are compared with: the fast engine, a batch (`vmap`), `jit` on
each of its machines, at the numbers it was recorded at and at others, its exports, and, where they
mean the same, JAX and differences.
"""

import importlib.util
import random
import tempfile
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np

import exports
from oracle.engines import engines, forget_programs
from oracle.programs import Program, plain

TIERS = ("numpy", "tape", "cheap", "optimised")
# Programs with one of each are compared between the engines alone: the square of a root is restated
# where the root is 0, and in a batch or a recorded program, which may come to that, everywhere.
KINKS_OF_SQUARES = {"raw abs", "raw hypot", "raw sqrt", "root or"}
CHOICES = {"where", "larger", "root or"}  # by np.where, of two
SQUARES = {"mul", "power 2", "raw square", "product", "columns", "norm", "raw power"}


def question(ad, program, np=np, noise=None):
    """Return the function that answers what is asked of a program: inputs to a list of results."""
    total = lambda *xs: program.total(np, ad, xs, noise)

    def answer(*xs):
        everything = tuple(range(len(xs)))
        directions = tuple(program.weights[i % 3] for i in everything)
        match program.kind:
            case "gradient" | "both":
                value, gradient = ad.value_and_grad(total, everything)(*xs)
                again = ad.grad(total, everything)(*xs) if program.kind == "both" else ()
                return [value, *gradient, *again]
            case "structure":
                tree = {"first": xs[0], "rest": list(xs[1:])}
                of_tree = lambda tree: total(tree["first"], *tree["rest"])
                value, slopes = ad.value_and_grad(of_tree)(tree)
                return [value, slopes["first"], *slopes["rest"]]
            case "pullback":
                f = lambda *xs: tuple([np.sum(part) for part in program.results(np, ad, xs)[0]])
                values, pullback = ad.vjp(f, *xs)
                one = program.dtype.type
                seeds = [tuple(one(i == k) for i in range(len(values))) for k in range(len(values))]
                return [*values, *[adjoint for seed in seeds for adjoint in pullback(seed)]]
            case "hvp":
                found = ad.hvp(total, tuple(xs), directions)
                return list(found) if len(xs) > 1 else [found]
            case "twice":
                slope = ad.grad(total)
                along = lambda x, *rest: np.sum(slope(x, *rest) * directions[0])
                if not np.shape(xs[0]):
                    along = slope
                return list(ad.grad(along, everything)(*xs))
            case "jvp":
                return list(ad.jvp(total, tuple(xs), directions))
            case "vmap":
                batch = [np.stack([x, x * 0.5, -x]) for x in xs]
                return list(ad.vmap(ad.grad(total, everything))(*batch))
            case "nested":
                rows = lambda x: ad.vmap(ad.grad(total))(
                    np.stack([x, x * 0.5]), *[np.stack([y, -y]) for y in xs[1:]]
                )
                return [ad.grad(lambda x: np.sum(np.sin(rows(x))))(xs[0])]
            case "rows":
                f = lambda x, *rest: program.results(np, ad, (x, *rest))[0][-1].reshape(-1)[:3]
                return [ad.jacrev(f)(*xs), ad.jacfwd(f)(*xs)]

    return answer


def attempt(function, xs):
    """Return what a function gives, as arrays, or the error it raises."""
    given = [x.copy() if isinstance(x, np.ndarray) else x for x in xs]
    try:
        with np.errstate(all="ignore"):
            found = [np.asarray(part) for part in function(*given)]
    except Exception as error:
        return error
    assert all(x.flags.writeable for x in given if isinstance(x, np.ndarray))
    return found


def by_engine(ad, program):
    """Return the answers of an engine at all points."""
    return [attempt(question(ad, program), xs) for xs in program.points]


# The ways to answer: each gives one outcome for every point, or None where it has none. -----------


@contextmanager
def limited(limits, sizes):
    """Set some limits in this context."""
    before = {name: getattr(limits, name) for name in sizes}
    for name, size in sizes.items():
        setattr(limits, name, size)
    try:
        yield
    finally:
        for name, size in before.items():
            setattr(limits, name, size)


def by_fast(program):
    """Answer by the fast engine, with the limits that a program asks for."""
    _, fast, limits = engines()
    with limited(limits, program.limits):
        return by_engine(fast, program)


def by_vmap(program, jit=None):
    """Answer for all points at once, as a batch."""
    if program.branches or program.kind in ("vmap", "rows", "nested", "pullback"):
        return None
    if "add to mask" in str(program.statements):
        return None  # the number of elements would differ from example to example
    ad = engines().fast
    batch = [np.stack(column) for column in zip(*program.points, strict=True)]
    function = ad.vmap(question(ad, program))
    if jit is not None:
        function = ad.jit(function, tier=jit)
        attempt(function, batch)
    found = attempt(function, batch)
    if isinstance(found, Exception):
        return [found] * len(program.points)
    return [[part[k] for part in found] for k in range(len(program.points))]


def by_jit(program, tier, precise=False, threads=1):
    """Answer by a compiled function: recorded at the first point, then called at the others."""
    _, ad, limits = engines()
    short = {"guarded": 0} if program.seed % 2 else {}  # structural zeros by a guard, or by masks
    with limited(limits, short):
        function = ad.jit(question(ad, program), tier=tier, precise=precise, threads=threads)
        attempt(function, program.points[0])
        return [attempt(function, xs) for xs in program.points]


def by_rolled(program, precise=False):
    """Answer by a compiled function whose program is rolled up, short as it may be."""
    limits = engines().fast.compiled.rolled.limits.ROLLING
    small = {"lines": 1, "flat": 0, "gain": 0, "short": 2, "least": 6, "long": 40, "most": 12}
    small["scalar"] = 500 * (len(program.statements) % 2)
    with limited(limits, small):
        return by_jit(program, "optimised", precise)


def by_threads(program):
    """Answer by a compiled function whose loops several threads share, short as they may be."""
    compiled = engines().fast.compiled
    with (
        limited(compiled.array.share_loops, {"WORTHWHILE": 1, "ALIGNED": 2}),
        limited(compiled.tiers, {"WRITTEN_OUT": 0, "STEPS_OF_A_LINE": 0}),
    ):
        return by_jit(program, "optimised", threads=3)


def by_python(program):
    """Answer by the exported module of Python."""
    function = _recorded(program)
    return function and [_call_exported(function, xs) for xs in program.points]


def _recorded(program, language="python"):
    """Return the exported function of a program that has gone the ways of all its points."""
    ad = engines().fast
    made = ad.jit(question(ad, program), tier="tape")
    for xs in (program.points[0], *program.points):
        attempt(made, xs)
    if sum(found.root is not None for found in made.function.known.values()) != 1:
        return None
    names = {}
    try:
        text = made.to_python("f")
    except ad.errors.AutodiffError:
        return None
    exec(text, names)
    return names["f"]


def _call_exported(function, xs):
    found = attempt(lambda *xs: _as_tuple(function(*xs)), xs)
    refused = isinstance(found, ValueError) and "path" in str(found)
    return None if refused else found


def _as_tuple(found):
    return found if isinstance(found, tuple) else (found,)


def by_c(program):
    """Answer by the exported file of C."""
    if not exports.COMPILER:
        return None
    ad = engines().fast
    made = ad.jit(question(ad, program), tier="tape")
    for xs in (program.points[0], *program.points):
        attempt(made, xs)
    expected = attempt(made, program.points[0])
    if sum(found.root is not None for found in made.function.known.values()) != 1:
        return None
    try:
        text = made.to_c("f")
    except ad.errors.AutodiffError:
        return None
    found = []
    with tempfile.TemporaryDirectory() as folder:
        library = exports.compiled(Path(folder), [text], "-O1")
        for xs in program.points:
            results = exports.empty(expected)
            status = exports.called(library.f, [np.asarray(x) for x in xs], results)
            found.append(None if status else results)
    return found


def by_jax(program):
    """Answer by JAX."""
    import jax

    if not program.shared:
        return None
    with jax.enable_x64(True):
        names = ("vmap", "grad", "value_and_grad", "vjp", "jvp", "jacrev", "jacfwd")
        ad = type("JAX", (), {name: staticmethod(getattr(jax, name)) for name in names})
        ad.hvp = lambda f, xs, directions: _jax_hvp(jax, f, xs, directions)
        return [attempt(question(ad, program, jax.numpy), xs) for xs in program.points]


def _jax_hvp(jax, f, xs, directions):
    gradient = jax.grad(f, tuple(range(len(xs))))
    found = jax.jvp(gradient, tuple(xs), directions)[1]
    return found if len(found) > 1 else found[0]


def by_library(program, name):
    """Answer for arrays of another library by one engine; None where both refuse alike.

    Which engine it is goes by the seed.
    """
    if not np.shape(program.xs[0]) or program.dtype != np.float64 or program.kind in BATCHES:
        return None
    make = LIBRARIES[name]()
    if make is None or (program.wild and name not in OF_NUMPY):
        return None
    one, other = [engines().plain, engines().fast][:: 1 if program.seed % 2 else -1]
    found = _on_library(one, program, make)
    if not any(isinstance(outcome, Exception) for outcome in found):
        return found
    pairs = zip(found, _on_library(other, program, make), strict=True)
    return [
        None if isinstance(a, Exception) and type(a).__name__ == type(b).__name__ else a
        for a, b in pairs
    ]


BATCHES = ("vmap", "rows", "nested")


def _on_library(ad, program, make):
    weights, constants = [[make(x) for x in xs] for xs in (program.weights, program.constants)]
    answer = question(ad, replace(program, weights=weights, constants=constants))
    as_numpy = lambda *xs: [np.asarray(part) for part in answer(*xs)]
    return [attempt(as_numpy, [make(x) for x in xs]) for xs in program.points]


def _strict():
    import array_api_strict

    return lambda x: array_api_strict.asarray(x.copy())


def _dask():
    import dask.array

    return lambda x: dask.array.from_array(x.copy(), chunks=2 + x.size // 3)


def _jax():
    import jax

    jax.config.update("jax_enable_x64", True)
    return jax.numpy.asarray


def _torch():
    if not importlib.util.find_spec("torch"):  # too large to ask for; tried where it is installed
        return None
    import torch

    return lambda x: torch.asarray(x.copy())


LIBRARIES = {"strict": _strict, "dask": _dask, "JAX arrays": _jax, "torch": _torch}
OF_NUMPY = {"strict", "dask"}  # whose numbers are NumPy's, the special ones too


def _flat(statements):
    """Yield statements, those of loops and branches among them."""
    for statement in statements:
        yield statement
        for part in statement:
            if isinstance(part, list):
                yield from _flat(part)


def _operations(program):
    """Return the names of the operations of a program."""
    return {name for _, name, *_ in _flat(program.statements) if isinstance(name, str)}


def by_differences(program):
    """Answer by differences, of the value alone: in each input along one direction.

    The gradient of the plain engine is moved by what differences add to it, so that answers have
    the same form; nothing is said where steps of two sizes give two derivatives.
    """
    smooth = not _operations(program) & KINKED
    if program.kind != "gradient" or program.dtype != np.float64 or program.wild or not smooth:
        return None
    if program.branches:
        return None
    plain_engine = engines().plain
    found = []
    for xs in program.points:
        expected = attempt(question(plain_engine, program), xs)
        if isinstance(expected, Exception):
            return None
        found.append(attempt(lambda *xs, given=expected: _corrected(program, given, xs), xs))
    return found


def _corrected(program, given, xs):
    """Return a value and its gradient, moved to where differences say that it is."""
    value, gradient = given[0], [np.array(part) for part in given[1:]]
    for k, x in enumerate(xs):
        along = np.sin(np.arange(x.size, dtype=float) + 1).reshape(x.shape)
        slopes = [_slope(program, xs, k, along, step) for step in (1e-3, 2e-3)]
        if not abs(slopes[0] - slopes[1]) <= 1e-4 * max(1.0, abs(slopes[0])):
            continue  # too curved for such steps
        rest = (4 * slopes[0] - slopes[1]) / 3 - np.sum(gradient[k] * along)
        if abs(rest) > 1e-5 * max(1.0, abs(slopes[0])):
            gradient[k] = gradient[k] + rest * along / np.sum(along * along)
    return [value, *gradient]


KINKED = {"clip", "maximum", "where", "sort", "max", "add to mask"}


def _slope(program, xs, k, along, step):
    """Return the central difference of the value along a direction of one input."""
    ends = []
    for sign in (1, -1):
        moved = [x.copy() for x in xs]
        moved[k] = moved[k] + sign * step * along
        with np.errstate(all="ignore"):
            ends.append(float(program.total(np, engines().plain, moved)))
    return (ends[0] - ends[1]) / (2 * step)


WAYS = {
    "fast": by_fast,
    "vmap": by_vmap,
    **{tier: lambda program, tier=tier: by_jit(program, tier) for tier in TIERS},
    **{f"precise {tier}": lambda program, tier=tier: by_jit(program, tier, True) for tier in TIERS},
    "rolled": by_rolled,
    "precise rolled": lambda program: by_rolled(program, True),
    "threads": by_threads,
    "vmap numpy": lambda program: by_vmap(program, "numpy"),
    "vmap optimised": lambda program: by_vmap(program, "optimised"),
    "python": by_python,
    "c": by_c,
    "JAX": by_jax,
    **{name: lambda program, name=name: by_library(program, name) for name in LIBRARIES},
    "differences": by_differences,
}
QUICK = ("fast",)
# The others may divide by multiplying with a reciprocal, which subnormal numbers do not have.
EXACT = {"fast", "vmap", "JAX", "differences", "precise rolled", *LIBRARIES}
EXACT |= {f"precise {tier}" for tier in TIERS}


def can_compare(program, way):
    """Tell whether a way to answer means the same for a program."""
    used = _operations(program)
    if way != "fast" and program.wild and used & KINKS_OF_SQUARES and used & SQUARES:
        return False
    overflows = "huge times" in used and has_huge(program)  # Σ c x may become c Σ x
    signs = "plus zero" in used  # x + 0.0 becomes x, which may be -0.0
    return way in EXACT or not (has_subnormals(program) or overflows or signs)


def has_huge(program):
    """Tell whether numbers are so large that their multiples leave the range of floats."""
    most = np.finfo(program.dtype).max ** 0.3
    return program.dtype == np.float32 or any(
        np.any(np.isfinite(x) & (np.abs(x) > most)) for xs in program.points for x in xs
    )


def has_subnormals(program):
    """Tell whether numbers are so small that they have lost digits, and their reciprocals."""
    numbers = [x for xs in (*program.points, program.constants) for x in xs]
    return program.wild and any(is_subnormal(x, program.dtype) for x in numbers)


def is_subnormal(x, dtype):
    """Tell whether a number, or one in an array, is smaller than those that have all digits."""
    return bool(np.any((np.abs(x) < np.finfo(dtype).tiny) & (np.asarray(x) != 0)))


# How answers differ. ------------------------------------------------------------------------------


def differences(program, ways=QUICK, taken=None):
    """Return how the ways to answer differ from the plain engine: a text for each that does.

    `taken` counts the ways that had an answer at some point.
    """
    forget_programs()
    expected = by_engine(engines().plain, program)
    noisy = None
    texts = {}
    for way in ways:
        found = WAYS[way](program) if can_compare(program, way) else None
        if found is None or all(outcome is None for outcome in found):
            continue
        if taken is not None:
            taken[way] += 1
        bits = way.startswith("precise") and _is_of_floats(program)
        text = _compare_all(program, expected, found, bits)
        if text and program.wild and not bits:
            if not noisy:
                noises = [Noise(seed, program.dtype) for seed in range(6)]
                noisy = [answer_with_noise(program, noise) for noise in noises]
            text = _unexplained(program, expected, found, noisy, noises[0].met_subnormals)
        if text:
            texts[way] = text
    return texts


def _is_of_floats(program):
    """Tell whether Python's floats are all that a program computes with.

    np.where makes others of NumPy's constants, whose functions have last bits of their own. The
    second derivative of the cube of a root has its square, which is restated.
    """
    used = _operations(program)
    cubed = "power 3" in used and used & KINKS_OF_SQUARES and program.kind in ("hvp", "twice")
    chosen = any(
        statement[0] == "constant" and statement[1] in CHOICES
        for statement in _flat(program.statements)
    )
    others = chosen or cubed or "raw copysign" in used
    return type(program.xs[0]) is float and not others


def _compare_all(program, expected, found, bits):
    for k, (a, b) in enumerate(zip(expected, found, strict=True)):
        text = b is not None and difference(program, a, b, bits)
        if text:
            return f"at point {k} {text}"
    return ""


def is_refused(found):
    """Tell whether a write to an array that a recorded operation has used was refused.

    The fast engine locks large arrays where the plain one copies them; it refuses, with the reason.
    """
    text = str(found) if isinstance(found, Exception) else ""
    return "a recorded operation has used" in text


def is_beyond_floats(found):
    """Tell whether one of Python's integers, which NumPy has not, is too large for a float."""
    return isinstance(found, Exception) and "too large for a float" in str(found)


DIGITS = {"float16": 0.1, "float32": 2e-3, "float64": 1e-8, "complex128": 1e-8}
WILD_DIGITS = {"float32": 1e-4, "float64": 1e-11}


def difference(program, expected, found, bits=False):
    """Say how two outcomes differ; an empty text if they do not, beyond rounding."""
    if is_refused(found) or is_beyond_floats(expected):
        return ""
    errors = [isinstance(x, Exception) for x in (expected, found)]
    if any(errors):
        same = all(errors) and _are_caught_alike(expected, found)
        return "" if same else f"{expected!r} and {found!r}"
    if len(expected) != len(found):
        return f"{len(expected)} and {len(found)} arrays"
    for k, (a, b) in enumerate(zip(expected, found, strict=True)):
        if a.shape != b.shape or a.dtype != b.dtype:
            return f"array {k} is {a.dtype}{a.shape} and {b.dtype}{b.shape}"
        if bits:
            off = not np.array_equal(a, b, equal_nan=True)
        elif program.wild:
            off = np.any(_far(a, b, program))
        else:
            bad = ~np.isfinite(a)
            if np.any(bad != ~np.isfinite(b)):
                return f"array {k} is finite at different elements"
            size = np.max(np.abs(a), where=~bad, initial=1e-3)
            most = np.max(np.abs(a - b), where=~bad, initial=0)
            off = most > DIGITS[program.dtype.name] * size
        if off:
            return f"array {k} is {a} and {b}"
    return ""


def _are_caught_alike(expected, found):
    """Tell whether an `except` for Python's or NumPy's class of one error catches the other, too.

    What is refused of a node may be refused by NumPy itself of an array that has no derivative.
    """
    one, other = ({kind.__name__ for kind in type(x).__mro__} for x in (expected, found))
    return one <= other or other <= one


def _far(a, b, program):
    """Tell which elements differ: a nan from a number, an infinity from all else.

    Results that are too small may be rounded to 0 on their way; second derivatives that are 0 may
    be the difference of two numbers, inside of a rule.
    """
    with np.errstate(all="ignore"):
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        digits = WILD_DIGITS[program.dtype.name]
        least = digits if program.kind in ("twice", "hvp") else 4 * np.finfo(a.dtype).tiny
        return ~same & ~(np.abs(a - b) <= digits * np.maximum(np.abs(a), np.abs(b)) + least)


# What rounding does: the same program, with every result moved in its last bits. ------------------


# Results that are rounded even if they have few digits: x / x need not be 1, nor tanh(20).
ROUNDED = {"raw div", "inverse", "power -1", "raw reciprocal", "tanh", "raw tanh"}


class Noise:
    """Moves every result in its last bits, and every derivative that comes back from a use of it.

    Equal numbers are moved alike, so that ties stay ties, and numbers of few digits stay.
    `met_subnormals` tells whether a result was so small that its multiples may be rounded to 0,
    which makes inf times it a nan.
    """

    def __init__(self, seed, dtype):
        self.draw = random.Random(seed)
        self.dtype = dtype
        self.size = {"float32": 2.0**-21}.get(dtype.name, 2.0**-50)
        self.mixer = np.uint64(self.draw.randrange(2**63) * 2 + 1)
        self.met_subnormals = False

    def put(self, value, operation=""):
        """Move a result."""
        number = plain(value)
        with np.errstate(all="ignore"):
            whole = np.asarray(number, np.float64)
            self.met_subnormals |= is_subnormal(whole, self.dtype)
            digits = np.frexp(whole)[0] * 2**11
            few = digits == np.rint(digits)
            few &= operation not in ROUNDED
            mixed = (whole.view(np.uint64) * self.mixer) >> np.uint64(33)
            moved = 1 + self.size * (mixed.astype(np.float64) / 2**30 - 1)
            factor = np.where(few | ~np.isfinite(whole), 1.0, moved).astype(self.dtype)
        return value * (factor if getattr(number, "shape", ()) else type(number)(factor))

    def read(self, ad, value):
        """Move the derivative alone."""
        by = self.size * self.draw.uniform(-1, 1)
        finite = np.isfinite(plain(value))
        if np.ndim(finite):
            some = np.where(finite, value, 0)
            return value + (some - ad.stop_gradient(some)) * by
        return value + (value - ad.stop_gradient(value)) * by if finite else value


def answer_with_noise(program, noise):
    """Return the answers of the plain engine where every step is rounded a little otherwise."""
    return [attempt(question(engines().plain, program, noise=noise), xs) for xs in program.points]


def _unexplained(program, expected, found, noisy, subnormals):
    """Say how two outcomes differ where rounding does not explain it.

    The fast engine multiplies large arrays by constant factors last: beside results that are
    subnormal, what is infinite or nan says nothing.
    """
    for k, (a, b) in enumerate(zip(expected, found, strict=True)):
        text = b is not None and difference(program, a, b)
        if not text:
            continue
        others = [answers[k] for answers in noisy]
        if any(isinstance(x, Exception) for x in (a, b, *others)):
            return f"at point {k} {text}"
        for place, (x, y) in enumerate(zip(a, b, strict=True)):
            if x.shape != y.shape or np.any(
                _far(x, y, program)
                & ~_within(y, [x, *[other[place] for other in others]])
                & ~(subnormals & ~np.isfinite(x) & ~np.isfinite(y))
            ):
                return f"at point {k} {text}"
    return ""


def _within(y, xs):
    """Tell which elements lie among others, or not far outside."""
    with np.errstate(all="ignore"):
        low, high = np.fmin.reduce(xs), np.fmax.reduce(xs)
        room = 30 * (high - low)
        inside = (low - room <= y) & (y <= high + room)
        kinds = [np.isnan, np.isposinf, np.isneginf]
        varies = np.zeros(np.shape(y), bool)
        for kind in kinds:
            varies |= np.any([kind(x) for x in xs], 0) & ~np.all([kind(x) for x in xs], 0)
        return inside | varies


class Written(Program):
    """A program that is written down: a function of (np, ad, *inputs) to arrays and numbers."""

    def __init__(self, kind, f, points, weights, **more):
        super().__init__(0, points, [], weights, [], kind, wild=True, **more)
        self.f = f

    def results(self, np, ad, xs, noise=None):
        """Run it."""
        return self.f(np, ad, *xs)
