"""Every elementwise row compiled = eager, at every width of vectors and as a single call."""

import math

import numpy as np
import pytest

import simpleautodiff as ad
from simpleautodiff.compiled.backends.llvm import target
from simpleautodiff.compiled.native import compile as engine
from simpleautodiff.compiled.scalar.lower_rows import LOWERED_ROWS
from simpleautodiff.core.level import apply
from simpleautodiff.rules.row import TABLE
from simpleautodiff.values.pytree import flatten

pytestmark = [
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),  # values outside of domains are compared
    pytest.mark.skipif(not engine.available(), reason="no llvmlite here"),
]
INF, NAN = np.inf, np.nan
SPECIAL = {
    "float64": (0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 0.3, 0.65, -2.5, 3.0, 7.5, 1e-17, -1e-9, 1e-310,
                -5e-324, 1e300, -1e300, 709.5, 710.5, -745.0, 1e22, -1e15, INF, -INF, NAN),
    "float32": (0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 0.3, 0.65, -2.5, 3.0, 7.5, 1e-9, -1e-9, 1e-40,
                -1e-45, 1e38, -1e38, 88.5, 89.0, -103.0, 1e8, INF, -INF, NAN),
}  # fmt: skip
WIDTHS = {"float64": (1, 2, 4, 8), "float32": (1, 2, 4, 8, 16)}
EXACT = {
    *("add", "sub", "mul", "div", "neg", "abs", "sqrt", "copysign", "maximum", "minimum"),
    *("fmax", "fmin", "clip", "floor", "ceil", "trunc", "rint", "sign", "relu", "square"),
    *("reciprocal", "mod", "floor_divide", "pos", "conj", "real", "stop_gradient"),
}
OPEN = {"fmax", "fmin", "maximum", "minimum", "clip", "relu", "sinc"}  # which zero is not defined
CANCEL = {"logaddexp", "logaddexp2"}  # two numbers of one size, whose errors stay where they go
BY_NUMPY = {"sinc"}  # rows whose slopes are no operations on numbers
DIVIDE = ["floor_divide", "mod"]  # apart from `div`, with which they would share a reciprocal
GROUPS = {
    "unary": (1, sorted(n for n in LOWERED_ROWS if n in TABLE and TABLE[n].arity == 1)),
    "binary": (2, sorted(n for n in LOWERED_ROWS if TABLE[n].arity == 2 and n not in DIVIDE)),
    "divide": (2, DIVIDE),
    "ternary": (3, sorted(n for n in LOWERED_ROWS if TABLE[n].arity == 3)),
}


def points(arity, kind):
    """Return columns of arguments: special ones, in all pairs, and random ones of all sizes.

    Numbers that have no reciprocal are left out where a reciprocal may be shared.
    """
    random, special = np.random.default_rng(arity), np.array(SPECIAL[kind], kind)
    if arity > 1:
        special = special[(np.abs(special) >= np.finfo(kind).tiny) | ~(np.abs(special) > 0)]
    if arity == 3:
        found = random.choice(special, (200, 3))
    else:
        found = np.stack(np.meshgrid(*[special] * arity), -1).reshape(-1, arity)
    sizes = 10 ** random.uniform(-8, 8, (30, arity)) * random.choice([-1, 1], (30, arity))
    plain = [random.normal(size=(30, arity)) * 3, random.uniform(-1, 1, (30, arity)), sizes]
    return list(np.concatenate([found, *plain]).astype(kind).T.copy())


def values(names):
    return lambda *xs: tuple(apply(TABLE[name], *xs) for name in names)


def slopes(names):
    def of(name):
        return lambda *xs: apply(TABLE[name], *xs)

    return lambda *xs: tuple(ad.grad(of(name), tuple(range(len(xs))))(*xs) for name in names)


def expected(function, columns):
    """Return what the function gives for each row by itself, as columns."""
    rows = [flatten(function(*row))[0] for row in zip(*columns, strict=True)]
    return [np.array(column, columns[0].dtype) for column in zip(*rows, strict=True)]


def check(name, found, wanted, is_slope):
    """Compare to 4 units in the last place; nan, inf and signs of zeros as they are."""
    found = np.asarray(found)
    assert found.dtype == wanted.dtype, name
    assert np.isnan(found).tolist() == np.isnan(wanted).tolist(), name
    with np.errstate(all="ignore"):
        # a slope such as 1 - tanh² is as exact as what it is made of
        size = np.maximum(np.abs(wanted), 1) if is_slope or name in CANCEL else np.abs(wanted)
        units = 0 if name in EXACT and not is_slope else 8 if is_slope else 4
        near = (found == wanted) | (np.abs(found - wanted) <= units * np.spacing(size))
    assert np.all(near | np.isnan(wanted)), (name, found[~near], wanted[~near])
    if not is_slope and name not in OPEN:
        zeros = (found == 0) & (wanted == 0)
        assert np.signbit(found[zeros]).tolist() == np.signbit(wanted[zeros]).tolist(), name


class Group:
    """Rows of one arity, or their slopes: a function of all of them, with what it should give."""

    def __init__(self, group, kind, is_slope):
        arity, names = GROUPS[group]
        self.names = [n for n in names if not (is_slope and n in BY_NUMPY)]
        self.is_slope = is_slope
        self.function = (slopes if is_slope else values)(self.names)
        self.columns = points(arity, kind)
        self.wanted = expected(self.function, self.columns)
        if "erfc" in self.names and not is_slope:  # SciPy's is off by 70 units at 17
            exact = [math.erfc(x) for x in self.columns[0]]
            self.wanted[self.names.index("erfc")] = np.array(exact, kind)

    def check(self, found, chosen=slice(None)):
        each = len(self.columns) if self.is_slope else 1
        for k, (column, wanted) in enumerate(zip(flatten(found)[0], self.wanted, strict=True)):
            check(self.names[k // each], column, wanted[chosen], self.is_slope)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["float64", "float32"])
@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("is_slope", [False, True])
def test_every_row_at_every_width(monkeypatch, group, kind, is_slope):
    of_group = Group(group, kind, is_slope)
    for width in WIDTHS[kind]:
        monkeypatch.setattr(target, "width_of", lambda kernel, width=width: width)
        rows = rows_of(ad.vmap(of_group.function), of_group.columns)
        for count in (None, 1, 3, 8, 17):
            found = rows(*[column[:count] for column in of_group.columns])
            of_group.check([np.asarray(column, kind) for column in found], slice(count))
        assert rows.code is not None


def rows_of(function, columns):
    """Return what runs the rows of a function: for any number of them."""
    compiled = ad.jit(function, tier="optimised")
    compiled(*columns)  # records it
    (found,) = compiled.function.known.values()
    assert list(found.root.program.which) == list(range(found.root.program.results))
    return found.root.program.batched


@pytest.mark.parametrize("kind", ["float64", "float32"])
@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("tier", ["tape", "cheap", "optimised"])
def test_every_row_as_a_single_call(group, kind, tier):
    for is_slope in (False, True):
        of_group = Group(group, kind, is_slope)
        compiled = ad.jit(of_group.function, tier=tier)
        chosen = np.arange(0, len(of_group.columns[0]), 1 if group == "unary" else 5)
        compiled(*[column[0] for column in of_group.columns])
        rows = [compiled(*[column[k] for column in of_group.columns]) for k in chosen]
        columns = zip(*[flatten(row)[0] for row in rows], strict=True)
        of_group.check([np.array(column, kind) for column in columns], chosen)
        assert "1 path " in compiled.explain()


def pair(x, y, weights):
    """Two numbers of a small function of rows of a matrix, a single number, and what all share."""
    return np.stack([np.sin(x[0, 2]) * x[1, 0] * y, np.sum(weights * x[1]) + y * y])


COLUMN_CASES = {
    "all by columns": ((2, 0, None), 2),
    "arguments by columns": ((2, 0, None), 0),
    "results by columns": ((0, 0, None), -1),
    "an axis between": ((1, 0, None), 1),
}


@pytest.mark.parametrize("case", COLUMN_CASES)
@pytest.mark.parametrize("count", [1, 3, 7, 8, 9, 16, 17, 1001])
@pytest.mark.parametrize("kind", ["float64", "float32"])
def test_rows_given_by_columns(case, count, kind):
    in_axes, out_axes = COLUMN_CASES[case]
    chooser = np.random.default_rng(count)
    x = np.moveaxis(chooser.normal(size=(count, 2, 3)), 0, in_axes[0])
    args = [np.ascontiguousarray(x, kind), chooser.normal(size=count).astype(kind),
            chooser.normal(size=3).astype(kind)]  # fmt: skip
    function = ad.vmap(ad.jacobian(pair), in_axes, out_axes)
    expected = function(*args)
    before = [arg.copy() for arg in args]
    for threads in (1, 3):
        compiled = ad.jit(function, tier="optimised", threads=threads)
        for _ in range(2):
            found = compiled(*args)
            assert found.dtype == expected.dtype
            tolerance = 1e-13 if kind == "float64" else 1e-5
            np.testing.assert_allclose(found, expected, tolerance, tolerance)
        out = np.empty(expected.shape, expected.dtype)
        assert compiled(*args, out=out) is out
        np.testing.assert_array_equal(out, found)
    for arg, old in zip(args, before, strict=True):
        np.testing.assert_array_equal(arg, old)


def test_columns_are_read_where_they_lie():
    x = np.random.default_rng(0).normal(size=(2, 3, 100))
    compiled = ad.jit(ad.vmap(ad.grad(lambda x: np.prod(x)), 2, 2), tier="optimised")
    np.testing.assert_allclose(compiled(x), np.prod(x, (0, 1)) / x, 1e-13)
    compiled(x)
    assert "shufflevector" not in compiled.llvm()
    assert "NumPy" not in compiled.explain()


def test_columns_without_llvm(monkeypatch):
    monkeypatch.setattr(engine, "available", lambda: False)
    x = np.random.default_rng(0).normal(size=(3, 50))
    compiled = ad.jit(ad.vmap(ad.grad(lambda x: np.prod(x)), 1, 1))
    for _ in range(3):
        np.testing.assert_allclose(compiled(x), np.prod(x, 0) / x, 1e-13)
