"""Exported functions as their users meet them: eager = C = NumPy, on every path that was met."""

import re
import subprocess

import numpy as np
import pytest
import scipy.linalg
import scipy.special
from hypothesis import given, settings, strategies as st
from simpleautodiff.scipy.special import logsumexp

import exports
import simpleautodiff as ad
from simpleautodiff.values.pytree import flatten

pytestmark = pytest.mark.filterwarnings("ignore:llvmlite is not installed:RuntimeWarning")
RANDOM = np.random.default_rng(0)
SQUARE = RANDOM.normal(size=(5, 5)) + 3 * np.eye(5)
POSITIVE = SQUARE @ SQUARE.T
STACK = np.stack([SQUARE, SQUARE.T + 1, 2 * SQUARE])
TALL = RANDOM.normal(size=(7, 4))
VECTOR = RANDOM.random(40) + 0.1
TABLE = RANDOM.normal(size=(6, 7))
RIGHT = RANDOM.normal(size=5)


def met(function, *points):
    """Return a compiled function that has gone the ways of these points."""
    made = ad.jit(function, tier="numpy")
    for point in (points[0], *points):
        made(*point)
    return made


def both(folder, made, *options):
    """Return what the two exports give: the status and the results of C, those of NumPy."""
    library = exports.compiled(folder, [made.to_c("f")], "-O2", *options)
    python = exports.imported(folder, made.to_python("f"))

    def run(expected, point):
        leaves = [np.asarray(leaf) for leaf in flatten(point)[0]]
        results = exports.empty(expected)
        status = exports.called(library.f, leaves, results)
        found = python(*leaves)
        return status, results, list(found) if isinstance(found, tuple) else [found]

    return run


def close(found, expected, tolerance):
    expected = [np.asarray(leaf) for leaf in flatten(expected)[0]]
    assert len(found) == len(expected)
    for x, y in zip(found, expected, strict=True):
        assert (np.shape(x), np.result_type(x)) == (y.shape, y.dtype)
        scale = max(1.0, np.max(np.abs(y), initial=0.0))
        np.testing.assert_allclose(x, y, rtol=0, atol=tolerance * scale)


# Paths. -------------------------------------------------------------------------------------------


def newton(a):
    x = a
    while abs(x * x - a) > 1e-12 * a:
        x = (x + a / x) / 2
    return x if a < 50 else -x


@exports.needs_compiler
def test_all_paths_that_were_met_are_exported_and_no_other_is_taken(tmp_path):
    f = ad.value_and_grad(newton)
    points = [4.0, 100.0, 2.0, 0.01, 1.0]
    made = met(f, *[(point,) for point in points])
    assert len(next(iter(made.function.known.values())).paths()) > 3
    run = both(tmp_path, made)
    for point in points:
        status, results, found = run(f(point), (point,))
        assert status == 0
        close(results, f(point), 1e-15)
        close(found, f(point), 1e-15)
    library = exports.compiled(tmp_path, [made.to_c("f")])
    results = exports.empty((1.0, 1.0))
    assert exports.called(library.f, [np.float64(1e9)], results) > 0
    assert [result[()] for result in results] == [77, 77]
    with pytest.raises(ValueError, match=r"no path .* such arguments before it is exp"):
        exports.imported(tmp_path, made.to_python("f"))(1e9)


@exports.needs_compiler
def test_paths_of_programs_on_arrays(tmp_path):
    def f(x, w):
        if np.sum(x) > 0:
            return np.sort(x)[:3] * w
        y = x / 2
        while np.max(np.abs(y)) > 0.5:
            y = np.tanh(y) * 0.9
        return np.cumsum(y)[:3] if y[0] > 0 else np.linalg.solve(SQUARE, y[:5])[:3]

    x = RANDOM.normal(size=300)
    points = [(x + 1, 2.0), (x - 1, 1.0), (-x - 0.5, 3.0), (0.1 * x - 1, 1.0)]
    made = met(f, *points)
    run = both(tmp_path, made)
    for point in points:
        status, results, found = run(f(*point), point)
        assert status == 0
        close(results, f(*point), 1e-14)
        close(found, f(*point), 1e-14)


@exports.needs_compiler
def test_results_of_paths_are_of_a_common_kind(tmp_path):
    def f(x):
        return (x, 1.5) if x > 0 else (0, 2)

    run = both(tmp_path, met(f, (3.0,), (-1.0,)))
    assert [result[()] for result in run((1.0, 1.0), (2.5,))[1]] == [2.5, 1.5]
    assert [result[()] for result in run((1.0, 1.0), (-2.5,))[1]] == [0.0, 2.0]
    assert run((1.0, 1.0), (-2.5,))[2] == [0.0, 2.0]


def test_paths_that_give_other_shapes_or_counts_are_refused():
    shapes = met(lambda x: x[:2] if x[0] > 0 else x, (np.ones(3),), (-np.ones(3),))
    with pytest.raises(ad.ArgumentError, match=r"shapes \(2,\) and \(3,\).*along one of them"):
        shapes.to_c()
    counts = met(lambda x: (x, x) if x > 0 else x, (1.0,), (-1.0,))
    with pytest.raises(ad.ArgumentError, match="1 or 2 results"):
        counts.to_python()


def test_what_cannot_be_exported_says_why():
    made = ad.jit(lambda x: np.histogram(x)[0], tier="numpy")
    with pytest.raises(ad.ArgumentError, match=r"0 signatures.*twice"):
        made.to_c()
    made(VECTOR), made(VECTOR)
    with pytest.raises(ad.ArgumentError, match=r"no program to export: .*np\.histogram"):
        made.to_c()


# Functions. ---------------------------------------------------------------------------------------

FUNCTIONS = {
    "sort": (lambda x: np.sum(np.sort(x) * np.arange(40)), VECTOR),
    "sort along": (lambda x: np.sum(np.sort(x, axis=0)[2] ** 2), TABLE),
    "argsort": (lambda x: np.sum(x[np.argsort(-x)][:4] ** 2), VECTOR),
    "partition": (lambda x: np.sum(np.partition(x, 5)[:5]), VECTOR),
    "median": (lambda x: np.median(x) + np.sum(np.median(x.reshape(5, 8), axis=1)), VECTOR),
    "quantile": (lambda x: np.sum(np.quantile(x, [0.2, 0.7]) ** 2), VECTOR),
    "extremes": (lambda x: x[np.argmax(x)] * x[np.argmin(x)], VECTOR),
    "extremes along": (lambda x: np.sum(x[np.arange(6), np.argmax(x, axis=1)] ** 2), TABLE),
    "take_along": (lambda x: np.sum(np.take_along_axis(x, np.argsort(x, 1), 1)[:, 1] ** 2), TABLE),
    "searchsorted": (lambda x: np.sum(x * np.searchsorted(np.linspace(0, 1, 9), x)), VECTOR),
    "digitize": (lambda x: np.sum(x * np.digitize(x, np.linspace(0, 1, 9))), VECTOR),
    "interp": (lambda x: np.sum(np.interp(x, np.linspace(0, 1, 9), np.arange(9.0) ** 2)), VECTOR),
    "all": (lambda x: np.sum(np.all(x > -1, axis=0) * x) + np.sum(np.any(x > 1, 1)), TABLE),
    "count": (lambda x: np.count_nonzero(x > 0.5) * np.sum(x), VECTOR),
    "empty": (lambda x: np.sum(np.concatenate([x[:0], x, x[3:3]]) ** 2), VECTOR),
    "cumprod": (lambda x: np.sum(np.cumprod(x)) + np.sum(np.cumsum(x) ** 2), VECTOR),
    "solve": (lambda a: np.sum(np.linalg.solve(a, RIGHT.astype(a.dtype)) ** 2), SQUARE),
    "solve stack": (lambda a: np.sum(np.linalg.solve(a, a[0]) ** 2), STACK),
    "inv": (lambda a: np.sum(np.linalg.inv(a) ** 2), SQUARE),
    "inv stack": (lambda a: np.sum(np.linalg.inv(a) ** 2), STACK),
    "det": (lambda a: np.linalg.det(a), SQUARE),
    "slogdet": (lambda a: np.linalg.slogdet(a)[1] * np.linalg.slogdet(a)[0], SQUARE),
    "cholesky": (lambda a: np.sum(np.linalg.cholesky(a) ** 3), POSITIVE),
    "triangular": (
        lambda a: (
            np.sum(scipy.linalg.solve_triangular(a, RIGHT.astype(a.dtype), lower=True) ** 2)
            + np.sum(scipy.linalg.solve_triangular(a, a, trans=1, unit_diagonal=True))
        ),
        SQUARE,
    ),
    "cho_solve": (
        lambda a: np.sum(scipy.linalg.cho_solve(scipy.linalg.cho_factor(a), a[0])),
        POSITIVE,
    ),
    "eigh": (lambda a: np.sum(np.linalg.eigh(a)[0] ** 2) + np.linalg.eigh(a)[0][1], POSITIVE),
    "eigenvectors": (lambda a: np.sum(np.abs(np.linalg.eigh(a)[1]) ** 3), POSITIVE),
    "singular values": (lambda a: np.sum(np.linalg.svd(a, compute_uv=False) ** 3), TALL),
    "singular vectors": (lambda a: np.sum(np.abs(np.linalg.svd(a, False)[2]) ** 3), TALL.T),
    "norm": (lambda a: np.linalg.norm(a, 2) + np.linalg.norm(a, "nuc"), TALL),
    "qr": (lambda a: np.sum(np.linalg.qr(a)[1] ** 3) + np.sum(np.linalg.qr(a)[0] ** 3), TALL),
    "gamma": (lambda x: np.sum(scipy.special.gamma(x)), 3 * VECTOR),
    "gammaln": (lambda x: np.sum(scipy.special.gammaln(x)), 3 * VECTOR),
    "digamma": (lambda x: np.sum(scipy.special.digamma(x)), 3 * VECTOR),
    "ndtr": (lambda x: np.sum(scipy.special.ndtr(x) + scipy.special.log_ndtr(-x)), VECTOR),
    "erf": (lambda x: np.sum(scipy.special.erf(x) * scipy.special.erfc(x)), VECTOR),
    "erfinv": (lambda x: np.sum(scipy.special.erfinv(x / 2)), VECTOR),
    "ndtri": (lambda x: np.sum(scipy.special.ndtri(x / 2)), VECTOR),
    "expit": (lambda x: np.sum(scipy.special.expit(x) * scipy.special.logit(x / 2)), VECTOR),
    "entropy": (
        lambda x: (
            np.sum(scipy.special.entr(x) + scipy.special.rel_entr(x, 2 * x))
            + np.sum(scipy.special.xlogy(x, x) + scipy.special.xlog1py(x, x))
        ),
        VECTOR,
    ),
    "logsumexp": (lambda x: logsumexp(x * 3), VECTOR),
}


@pytest.mark.slow
@exports.needs_compiler
@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_functions_in_c_and_numpy(tmp_path, kind):
    rows = [(f"{name} {g.__name__}", g, x.astype(kind))
            for name, (f, x) in FUNCTIONS.items() for g in (f, ad.grad(f))]  # fmt: skip
    made = [met(g, (x,)) for _, g, x in rows]
    texts = [one.to_c(f"f{n}") for n, one in enumerate(made)]
    library = exports.compiled(tmp_path, ["\n".join(texts)], "-O1")
    tolerance = 1e-12 if kind is np.float64 else 1e-3
    for n, (name, g, x) in enumerate(rows):
        expected = g(x)
        results = exports.empty(expected)
        assert exports.called(library[f"f{n}"], [x], results) == 0, name
        close(results, expected, tolerance)
        close([exports.imported(tmp_path, made[n].to_python("f"))(x)], expected, tolerance)


NUMBERS = [
    -30.3,
    -7.5,
    -2.0,
    -1.0,
    -0.3,
    -0.0,
    0.0,
    1e-9,
    0.3,
    0.5,
    1.0,
    1.5,
    2.5,
    8.0,
    30.0,
    180.0,
]


@exports.needs_compiler
def test_special_functions_of_c_on_their_whole_range(tmp_path):
    special = scipy.special
    functions = {
        "gamma": special.gamma,
        "digamma": special.digamma,
        "trigamma": lambda x: special.polygamma(1, x),
        "rgamma": special.rgamma,
        "erfcx": special.erfcx,
        "log_ndtr": special.log_ndtr,
        "ndtri": special.ndtri,
        "erfinv": special.erfinv,
        "erfcinv": special.erfcinv,
        "exprel": special.exprel,
        "cosm1": special.cosm1,
        "entr": special.entr,
        "expit": special.expit,
    }
    near_one = [1 - 1e-9, 1e-300, 0.999, 0.25, 0.74, 1e-20]
    x = np.array([*NUMBERS, *near_one, np.inf, -np.inf, np.nan])
    for name, f in functions.items():
        library = exports.compiled(tmp_path, [met(f, (x,)).to_c("f")])
        results = exports.empty(x)
        assert exports.called(library.f, [x], results) == 0
        expected = f(x)
        inside = np.isfinite(x) if name != "trigamma" else x > 0
        np.testing.assert_allclose(
            results[0][inside], expected[inside], rtol=1e-13, atol=1e-300, err_msg=name
        )
        assert np.isnan(results[0][-1])


@exports.needs_compiler
def test_what_is_no_number_comes_last_and_is_an_extreme(tmp_path):
    def f(x):
        return np.sort(x), np.argsort(x, kind="stable"), np.argmax(x), np.argmin(x)

    x = np.array([3.0, np.nan, -1.0, np.inf, 3.0, -1.0, np.nan, -np.inf, 0.0, -0.0])
    library = exports.compiled(tmp_path, [met(f, (x,)).to_c("f")])
    for one in (x, np.sort(x), x[[0, 2, 3, 4, 5, 2, 3, 7, 8, 9]]):
        results = exports.empty(f(one))
        assert exports.called(library.f, [one], results) == 0
        for found, expected in zip(results, f(one), strict=True):
            np.testing.assert_array_equal(found, expected)


@exports.needs_compiler
@pytest.mark.parametrize(
    "function",
    [np.linalg.inv, np.linalg.cholesky, lambda a: np.linalg.solve(a, a)],
    ids=["inv", "cholesky", "solve"],
)
def test_a_singular_matrix_is_a_status(tmp_path, function):
    text = met(function, (POSITIVE,)).to_c("f")
    assert re.search(r"-3  a matrix is singular", text)
    library = exports.compiled(tmp_path, [text])
    assert exports.called(library.f, [POSITIVE], [np.empty((5, 5))]) == 0
    assert exports.called(library.f, [np.zeros((5, 5))], [np.empty((5, 5))]) == -3


@exports.needs_compiler
def test_singular_values_and_vectors_of_matrices_without_full_rank(tmp_path):
    def f(a):
        return np.linalg.svd(a, full_matrices=False)

    library = exports.compiled(tmp_path, [met(f, (TALL,)).to_c("f")])
    low = TALL[:, :1] @ TALL[:1, :]
    for a in (low, np.zeros((7, 4)), np.eye(7, 4), 1e-200 * TALL, 1e200 * TALL):
        u, s, vh = exports.empty(f(a))
        assert exports.called(library.f, [a], [u, s, vh]) == 0
        scale = max(np.max(np.abs(a)), 1e-300)
        np.testing.assert_allclose(s / scale, np.linalg.svd(a)[1] / scale, atol=1e-15)
        np.testing.assert_allclose((u * s) @ vh / scale, a / scale, atol=1e-14)
        np.testing.assert_allclose(u.T @ u, np.eye(4), atol=1e-14)
        np.testing.assert_allclose(vh @ vh.T, np.eye(4), atol=1e-14)


# Random programs. ---------------------------------------------------------------------------------

STEPS = {
    "sine": lambda x, y: np.sin(x) + y,
    "product": lambda x, y: x * np.tanh(y),
    "sort": lambda x, y: np.sort(x) - y,
    "order": lambda x, y: y[np.argsort(x, kind="stable")],
    "median": lambda x, y: x - np.median(y),
    "solve": lambda x, y: np.linalg.solve(np.outer(x, y) / (9 + x @ x + y @ y) + np.eye(6), x),
    "logdet": lambda x, y: x * np.linalg.slogdet(np.outer(y, y) + np.eye(6))[1] / 5,
    "cumsum": lambda x, y: np.cumsum(x) / 6 + np.flip(y),
    "if": lambda x, y: x + 0.5 if x[0] > y[1] else y - 0.5,
    "if all": lambda x, y: np.abs(x) if np.all(x > -1) else np.sqrt(1 + y * y),
    "choose": lambda x, y: np.where(x > y, x, np.exp(-y * y)),
    "while": lambda x, y: _halved(x),
    "best": lambda x, y: x + y[np.argmax(x)],
}


def _halved(x):
    while np.max(np.abs(x)) > 1:
        x = x / 2
    return x


@st.composite
def programs(draw):
    steps = draw(st.lists(st.sampled_from(sorted(STEPS)), min_size=2, max_size=6))
    seeds = draw(st.lists(st.integers(0, 10**6), min_size=2, max_size=4))

    def f(x, y):
        for name in steps:
            x, y = STEPS[name](x, y), x
        return np.sum(x * x) + np.sum(np.sin(y))

    points = [np.random.default_rng(seed).normal(size=(2, 6)) for seed in seeds]
    return ad.value_and_grad(f, (0, 1)), [(point[0], point[1]) for point in points], steps


@pytest.mark.slow
@exports.needs_compiler
@settings(max_examples=25, deadline=None, derandomize=True)
@given(programs())
def test_random_programs_with_branches_loops_sorting_and_solves(tmp_path_factory, program):
    f, points, steps = program
    folder = tmp_path_factory.mktemp("random")
    made = met(f, *points)
    run = both(folder, made)
    for point in points:
        status, results, found = run(f(*point), point)
        assert status == 0, steps
        close(results, f(*point), 1e-11)
        close(found, f(*point), 1e-11)


# What the files are like. -------------------------------------------------------------------------


def mixed(params, x, double):
    """Have a structure, names that C has, rows, matrices, and two ways."""
    y = np.linalg.solve(params["A"], x) * double
    rows = ad.vmap(lambda row: row * np.sum(np.sin(row)))(params["A"])
    return np.sort(y), (np.sum(rows) if y[0] > 0 else np.sum(rows**2)), np.any(x > 1)


def mixed_export():
    params = {"A": SQUARE, "b": np.float32(1.0)}
    return met(mixed, (params, RIGHT, 2.0), (params, -RIGHT, 2.0))


@pytest.mark.parametrize("name", ["gcc", "clang", "tcc", "g++", "clang++"])
def test_every_compiler_takes_the_file_without_a_warning_and_the_example_runs(tmp_path, name):
    if name not in exports.COMPILERS:
        pytest.skip(f"{name} is not here")
    source, program = tmp_path / "mixed.c", tmp_path / "mixed"
    source.write_text(mixed_export().to_c())
    command = [*exports.COMPILERS[name], "-O2", "-DMIXED_EXAMPLE", "-o", program, source, "-lm"]
    subprocess.run(command, check=True)
    said = subprocess.run([program], capture_output=True, text=True).stdout
    assert said.startswith("status 0\nout0[0] = ")


def test_the_file_says_what_it_is():
    text = mixed_export().to_c()
    for line in (
        "int mixed(const double *params_A, const float *params_b, const double *x,",
        "params_A: double[5][5]",
        "params_b: float, one number",
        "double_: double, one number",
        "out0: double[5]",
        "out2: unsigned char, one number",
        "> 0  no path that was recorded fits",
        "cc -std=c99 -O2 -c mixed.c",
    ):
        assert line in text
    assert "fft" not in text
    assert "cholesky" not in text


def test_the_module_needs_numpy_alone_and_has_the_names_of_the_function():
    text = mixed_export().to_python()
    assert set(re.findall(r"^(?:import|from) (\w+)", text, re.M)) <= {"numpy", "math", "base64"}
    space = {}
    exec(text, space)
    assert "params_A : float64, shape (5, 5)" in space["mixed"].__doc__
    found = space["mixed"](SQUARE, np.float32(1), x=RIGHT, double_=2.0)
    close(list(found), mixed({"A": SQUARE}, RIGHT, 2.0), 1e-13)
    assert all(function.__doc__ for name, function in space.items() if name.startswith("mixed"))


@exports.needs_compiler
def test_float32_stays_float32(tmp_path):
    def f(x):
        return np.sum(np.sin(x) * 0.1 + x**3) * np.float32(2)

    x = np.tile(VECTOR, 10).astype(np.float32)
    text = met(ad.value_and_grad(f), (x,)).to_c("f")
    assert "double" not in re.sub(r"/\*.*?\*/|#ifdef F_EXAMPLE.*", "", text, flags=re.S)
    run = both(tmp_path, met(ad.value_and_grad(f), (x,)))
    status, results, found = run(ad.value_and_grad(f)(x), (x,))
    assert status == 0
    close(results, ad.value_and_grad(f)(x), 1e-6)
    close(found, ad.value_and_grad(f)(x), 1e-6)


@exports.needs_compiler
def test_a_loop_with_very_many_buffers_has_few_parameters(tmp_path):
    def f(x):
        return [x * k + np.sin(x) for k in range(150)], np.prod(x)

    text = met(lambda x: sum(f(x)[0][::-1], f(x)[1]), (VECTOR,)).to_c("f")
    declared = re.findall(r"^static \w+ \w+\((.*)\)$", text, re.M)
    assert max(parameters.count(",") for parameters in declared) < 127
    exports.compiled(tmp_path, [text])


def test_every_guard_of_a_path_is_written_once_and_in_order(tmp_path):
    def f(x):
        y = np.sin(x)
        first = 2.0 if np.sum(x) > 0 else 3.0
        second = 5.0 if np.max(y) > 0.5 else 7.0
        return first * second * y if np.min(x) < 0 else y

    points = [np.array(point) for point in ([1.0, -0.5], [-1.0, 0.4], [0.1, 0.2], [1.0, -2.0])]
    made = met(f, *[(point,) for point in points])
    text = made.to_python("f")
    assert text.count("if np.all(") + text.count("if not np.all(") >= 6
    python = exports.imported(tmp_path, text)
    for point in points:
        close([python(point)], f(point), 1e-15)
    with pytest.raises(ValueError, match="no path"):
        python(np.array([2.0, 2.0]))


def test_a_function_of_rows_takes_any_number_of_rows(tmp_path):
    def f(row, number):
        return row[0] * np.sin(row[1:]), number + row[0]

    made = met(ad.vmap(f), (TALL, VECTOR[:7]))
    python = exports.imported(tmp_path, made.to_python("f"))
    for count in (1, 3, 7):
        found = python(TALL[:count], VECTOR[:count])
        close(list(found), ad.vmap(f)(TALL[:count], VECTOR[:count]), 1e-15)
        assert all(result.flags.writeable for result in found)
    text = made.to_c("f")
    assert "out0: double[3]" in text
    assert "row_: double[4]" in text


def test_rows_that_are_chosen_are_exported_with_the_arguments_of_the_function(tmp_path):
    def f(table, index):
        return ad.vmap(lambda row: 2 * row)(table[index])

    index = np.array([3, -1, 0])
    made = met(f, (TALL, index))
    assert "int f(const double *table, const int64_t *index, double *out0)" in made.to_c("f")
    close([exports.imported(tmp_path, made.to_python("f"))(TALL, index)], f(TALL, index), 0)


def test_where_a_way_branches_off_is_said_in_a_comment_that_cannot_end_early():
    def f(x):
        if x > 0:  # */ ??/ \\
            return x
        return -x

    text = met(f, (1.0,), (-1.0,)).to_c("f")
    said = re.search(r"status == 1\) \{  /\* (.*) \*/$", text, re.M)[1]
    assert re.fullmatch(r"test_exports.py:\d+: if x > 0:  # [^*?\\]*", said)


@exports.needs_compiler
def test_a_small_result_does_not_lend_its_memory_to_a_larger_array(tmp_path):
    def f(x):
        y = np.sort(x) * 2
        return y[0] + np.sum(y * y)

    made = met(f, (VECTOR[:6],))
    library = exports.compiled(tmp_path, [made.to_c("f")])
    results = [np.empty(())]
    assert exports.called(library.f, [VECTOR[:6]], results) == 0
    np.testing.assert_allclose(results[0], f(VECTOR[:6]), rtol=1e-15)


@pytest.mark.parametrize("tier", ["numpy", "optimised"])
def test_fixed_rows_and_places_that_change_choose_elements(tier):
    def f(x, index):
        return np.sum(x[np.arange(6), index] ** 2)

    made = ad.jit(ad.grad(f), tier=tier)
    for index in (np.arange(6), np.arange(6), np.array([-1, 3, 0, 0, -7, 2])):
        np.testing.assert_allclose(made(TABLE, index), ad.grad(f)(TABLE, index), rtol=1e-15)
    assert "could not" not in made.explain()


def test_exports_of_single_numbers_take_columns_of_them(tmp_path):
    made = ad.jit(ad.grad(lambda x: ad.sin(x) * ad.sin(x) + x**3))
    for x in (0.3, 0.4):
        made(x)
    x = np.array([0.3, -2.0, 0.0])
    found = exports.imported(tmp_path, made.to_python("f"))(x)
    np.testing.assert_allclose(found, np.sin(2 * x) + 3 * x**2, rtol=4e-16)
