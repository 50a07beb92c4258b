"""The value under a transformation is that of the plain function, to the last bit."""

import math
import warnings

import numpy as np
import pytest
import scipy.fft
import scipy.integrate
import scipy.linalg
import scipy.ndimage
import scipy.signal
import scipy.spatial.distance
import scipy.special
import scipy.stats

import array_cases as cases
import coverage_page
import simpleautodiff as ad
from simpleautodiff.values.pytree import flatten

rng = np.random.default_rng(3)
A = rng.normal(size=(4, 4))
P = A @ A.T + np.eye(4)
B = P + np.diag([1.0, 2.0, 3.0, 4.0])
OPTIONS = {
    "eigh L": lambda a: np.linalg.eigh(a, "L"),
    "eigh U": lambda a: np.linalg.eigh(a, "U"),
    "eigh u": lambda a: np.linalg.eigh(a, UPLO="u"),
    "eigvalsh L": lambda a: np.linalg.eigvalsh(a),
    "eigvalsh U": lambda a: np.linalg.eigvalsh(a, "U"),
    "eig": lambda a: np.linalg.eig(a),
    "eigvals": lambda a: np.linalg.eigvals(a),
    "svd": lambda a: np.linalg.svd(a),
    "svd values": lambda a: np.linalg.svd(a, compute_uv=False),
    "svd reduced": lambda a: np.linalg.svd(a[:, :2], full_matrices=False),
    "svd hermitian": lambda a: np.linalg.svd(a, hermitian=True),
    "svd hermitian values": lambda a: np.linalg.svd(a, hermitian=True, compute_uv=False),
    "qr": lambda a: np.linalg.qr(a),
    "qr tall": lambda a: np.linalg.qr(a[:, :2]),
    "qr wide": lambda a: np.linalg.qr(a[:2], mode="complete"),
    "qr r": lambda a: np.linalg.qr(a, mode="r"),
    "cholesky upper": lambda a: np.linalg.cholesky(a, upper=True),
    "pinv": lambda a: np.linalg.pinv(a[:, :3]),
    "pinv hermitian": lambda a: np.linalg.pinv(a, hermitian=True),
    "pinv cut": lambda a: np.linalg.pinv(a, rtol=1e-3),
    **{
        f"norm {ord}": lambda a, o=ord: np.linalg.norm(a, o)
        for ord in (1, -1, 2, -2, np.inf, "nuc", "fro")
    },
    **{
        f"norm of vectors {ord}": lambda a, o=ord: np.linalg.norm(a, o, axis=1, keepdims=True)
        for ord in (0, 1, 2, 3, 0.5, np.inf, -np.inf)
    },
    **{f"cond {p}": lambda a, p=p: np.linalg.cond(a, p) for p in (None, 2, -2, 1, "fro")},
    **{
        f"var {ddof}": lambda a, d=ddof: np.var(a, axis=0, ddof=d, keepdims=True) for ddof in (0, 1)
    },
    **{f"std {ddof}": lambda a, d=ddof: np.std(a, axis=1, ddof=d) for ddof in (0, 1)},
    **{f"cov {ddof}": lambda a, d=ddof: np.cov(a, ddof=d) for ddof in (0, 1)},
    **{
        f"convolve {mode}": lambda a, m=mode: np.convolve(a[0], a[1, :3], m)
        for mode in ("full", "same", "valid")
    },
    "convolve backwards": lambda a: np.convolve(a[0], a[1, :3][::-1]),
    **{
        f"correlate {mode}": lambda a, m=mode: np.correlate(a[0], a[1, :3], m)
        for mode in ("full", "same", "valid")
    },
    **{
        f"fft {norm}": lambda a, n=norm: np.fft.irfft(np.fft.rfft(a, norm=n), norm=n)
        for norm in (None, "ortho", "forward")
    },
    **{
        f"einsum {subscripts} {how}": lambda a, s=subscripts, h=how: np.einsum(s, a, B, optimize=h)
        for subscripts in ("ij,jk->ik", "ij,kj", "ij,ij->", "ij,ji->j", "ij,kl->jl")
        for how in (False, True, "greedy", ["einsum_path", (0, 1)])
    },
    "einsum stacked": lambda a: np.einsum("bij,jk->bik", np.stack([a, B]), a, optimize="optimal"),
    "scipy eigh": lambda a: scipy.linalg.eigh(a),
    "scipy eigh upper": lambda a: scipy.linalg.eigh(a, lower=False),
    "scipy eigh driver": lambda a: scipy.linalg.eigh(a, driver="ev"),
    "scipy eigh values": lambda a: scipy.linalg.eigh(a, eigvals_only=True),
    "scipy eigh subset": lambda a: scipy.linalg.eigh(a, subset_by_index=[1, 2]),
    "scipy eigh general": lambda a: scipy.linalg.eigh(a, B),
    "scipy eigvalsh": lambda a: scipy.linalg.eigvalsh(a),
    "scipy eig": lambda a: scipy.linalg.eig(a),
    "scipy eigvals": lambda a: scipy.linalg.eigvals(a),
    "scipy svd": lambda a: scipy.linalg.svd(a),
    "scipy svdvals": lambda a: scipy.linalg.svdvals(a),
    "scipy qr": lambda a: scipy.linalg.qr(a),
    "scipy lstsq": lambda a: scipy.linalg.lstsq(a, np.ones(4))[0],
    "scipy pinv": lambda a: scipy.linalg.pinv(a),
    "scipy det": lambda a: scipy.linalg.det(a),
    "scipy inv": lambda a: scipy.linalg.inv(a),
    "scipy norm": lambda a: scipy.linalg.norm(a, 2),
    "scipy powers": lambda a: scipy.linalg.fractional_matrix_power(a, 0.5),
    "scipy logm": lambda a: scipy.linalg.logm(a),
    "scipy sinm": lambda a: scipy.linalg.sinm(a),
    "scipy lu": lambda a: scipy.linalg.lu(a),
    "scipy sylvester": lambda a: scipy.linalg.solve_sylvester(a, a, np.eye(4)),
    "scipy convolve": lambda a: scipy.signal.convolve(a[0], a[1]),
    "scipy lfilter": lambda a: scipy.signal.lfilter([1.0, 0.5], [1.0, 0.2], a),
    "scipy detrend": lambda a: scipy.signal.detrend(a),
    "scipy savgol": lambda a: scipy.signal.savgol_filter(a, 3, 1),
    "scipy gaussian": lambda a: scipy.ndimage.gaussian_filter(a, 1.0),
    "scipy fft": lambda a: scipy.fft.irfft(scipy.fft.fft(a)),
    "scipy dct": lambda a: scipy.fft.dct(a),
    "scipy cdist": lambda a: scipy.spatial.distance.cdist(a, P),
    "scipy cdf": lambda a: scipy.stats.norm.cdf(a),
    "scipy logpdf": lambda a: scipy.stats.norm.logpdf(a),
}


def check(f, x):
    """Compare the values of all transformations with the plain one; return whether there is any."""
    expected = flatten(f(x))[0]
    if any(np.asarray(leaf).dtype.kind not in "fc" for leaf in expected):
        return False
    inner = x.dtype.kind == "f" and not any(np.asarray(leaf).dtype.kind == "c" for leaf in expected)
    total = lambda x: sum(np.sum(leaf) for leaf in flatten(f(x))[0])
    ways = {
        "jvp": (f, lambda: ad.jvp(f, (x,), (x,))[0]),
        "vjp": (f, lambda: ad.vjp(f, x)[0]),
        "linearize": (f, lambda: ad.linearize(f, x)[0]),
    }
    if inner:
        ways["value_and_grad"] = (total, lambda: ad.value_and_grad(total)(x)[0])
        ways["nested"] = (f, lambda: ad.jvp(lambda x: ad.vjp(f, x)[0], (x,), (x,))[0])
    for way, (plain, transformed) in ways.items():
        pairs = zip(flatten(plain(x))[0], flatten(transformed())[0], strict=True)
        for right, found in map(lambda pair: map(np.asarray, pair), pairs):
            assert right.dtype == found.dtype, way
            assert right.shape == found.shape, way
            assert right.tobytes() == found.tobytes(), (way, right, found)
    return True


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.complex128])
@pytest.mark.parametrize(("name", "f", "x"), cases.ALL_CASES, ids=cases.IDS)
def test_of_numpy(name, f, x, kind):
    x = x.astype(kind)
    if kind is np.complex128:
        x = x + 0.25j * np.cos(np.arange(x.size)).reshape(x.shape)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            f(x)
            ad.jvp(f, (x,), (x,))
        except (ad.AutodiffError, TypeError, ValueError):
            assert kind is not np.float64, "each case is one of real numbers"
            return
        check(f, x)


@pytest.mark.parametrize("name", OPTIONS)
def test_of_options(name):
    assert check(OPTIONS[name], P)


@pytest.mark.parametrize("name", coverage_page.OF_SCIPY)
def test_of_scipy(name):
    assert check(*coverage_page.OF_SCIPY[name])


@pytest.mark.parametrize("half", ["L", "U"])
def test_of_complex_matrices(half):
    a = P + 1j * (A - A.T)
    assert check(lambda a: np.linalg.eigh(a, half), a)
    assert check(lambda a: np.linalg.eigvalsh(a, half), a)


@pytest.mark.parametrize("kind", [np.float32, np.complex64])
@pytest.mark.parametrize(
    "name", ["expm", "sqrtm", "sinm", "cosm", "tanm", "sinhm", "coshm", "tanhm"]
)
def test_of_functions_of_narrow_matrices(name, kind):
    f = lambda a: getattr(scipy.linalg, name)(a)
    for n in (2, 3):
        assert check(f, P[:n, :n].astype(kind) / 4)


NARROW = {
    "bincount": lambda x: np.bincount([0, 1, 1], weights=x),
    "norm": lambda x: scipy.stats.norm.logpdf(x),
    "gamma": lambda x: scipy.stats.gamma.logpdf(x, 2.0),
    "xlogy": lambda x: scipy.special.xlogy(2, x),
    "gammainc": lambda x: scipy.special.gammainc(2.0, x),
    "gammaln": lambda x: scipy.special.gammaln(x),
    "cumulative_trapezoid": lambda x: scipy.integrate.cumulative_trapezoid(x),
    "linspace": lambda x: np.linspace(0, x.astype(float), 4, dtype=np.float32),
    "logspace": lambda x: np.logspace(0, x.astype(float), 4, dtype=np.float32),
    "geomspace": lambda x: np.geomspace(1, x.astype(float), 4, dtype=np.float32),
}


@pytest.mark.parametrize("name", NARROW)
def test_of_narrow_numbers_in_a_batch(name):
    f, x = NARROW[name], np.array([[0.5, 1.5, 2.0], [1.0, 0.25, 3.0]], np.float32)
    expected = np.stack([f(row) for row in x])
    for found in (ad.vmap(f)(x), ad.vmap(lambda x: ad.jvp(f, (x,), (x,))[0])(x)):
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("kind", [np.complex128, np.complex64, np.float32, np.float16])
@pytest.mark.parametrize("name", ["reciprocal", "mean", "var", "std", "sqrt", "prod"])
def test_of_other_kinds_of_numbers(name, kind):
    f = getattr(np, name)
    for draw in np.random.default_rng(5).normal(size=(20, 2, 3)):
        x = (draw[0] + 1j * draw[1] if kind(0).dtype.kind == "c" else abs(draw[0])).astype(kind)
        for found in (ad.vjp(f, x)[0], ad.jvp(f, (x,), (x,))[0]):
            np.testing.assert_array_equal(found, f(x), strict=True)


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.complex64])
@pytest.mark.parametrize(
    "name", ["sum", "mean", "prod", "var", "std", "nansum", "nanmean", "nanvar", "nanstd"]
)
def test_of_some_elements(name, kind):
    """NumPy adds up in another order if some elements are left out."""
    draw = np.random.default_rng(6)
    for n in (3, 9, 40, 333):
        x = draw.normal(size=(n, 4)) + 1j * draw.normal(size=(n, 4)) * (kind is np.complex64)
        x = (x if kind is np.complex64 else x.real).astype(kind)
        there = draw.random((n, 4)) < 0.7
        there[:2] = True
        for axis in (None, 0):
            f = lambda x, axis=axis, there=there: getattr(np, name)(x, axis=axis, where=there)
            assert check(f, x)


@pytest.mark.parametrize("f", [np.sum, np.prod])
def test_of_sums_and_products_that_begin_with_a_number(f):
    x = np.random.default_rng(7).normal(size=333)
    assert check(lambda x: f(x, initial=0.3), x)


@pytest.mark.parametrize("name", ["norm", "cauchy", "logistic", "rayleigh", "expon"])
@pytest.mark.parametrize("method", ["pdf", "logpdf", "cdf", "sf"])
def test_of_pythons_floats(name, method):
    """SciPy's values are those of its own functions for Python's floats, too."""
    f = getattr(getattr(scipy.stats, name), method)
    for x in (0.1 + 0.2, 0.77, 1.9):
        assert ad.value_and_grad(f)(x)[0] == f(x)
        assert ad.jvp(f, (x,), (1.0,))[0] == f(x)


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_powers_of_numpys_numbers(kind):
    """np.power and ** round differently; each has its own value."""
    for x in kind([0.0513, 0.9532, 21.24, 33.95, 49.69, 76.34]):
        for f in (lambda x: np.power(x, kind(-0.773)), lambda x: x ** kind(-0.773)):
            assert ad.value_and_grad(f)(x)[0] == f(x)
            assert ad.jvp(f, (x,), (kind(1),))[0] == f(x)


@pytest.mark.parametrize("name", ["tanh", "exp", "arcsinh", "cbrt", "log1p", "sinh", "arctanh"])
def test_pythons_floats_are_computed_with_as_python_does(name):
    f, own = getattr(np, name), getattr(math, name.replace("arc", "a"))
    for x in np.linspace(0.05, 0.95, 19).tolist():
        found = ad.value_and_grad(f)(x)[0]
        assert found == own(x)
        assert abs(found - f(x)) <= 2 * np.spacing(abs(f(x)))


def test_percent_writes_the_number_into_text():
    lines = []

    def loss(x):
        total = np.sum(x**2)
        lines.append("step %d: loss %.2f, %g, %s" % (1, total, x[0], "done"))  # noqa: UP031
        line = "%5d"
        line %= total
        lines.append(line)
        return total

    np.testing.assert_array_equal(ad.grad(loss)(np.array([1.5, 2.0])), [3.0, 4.0])
    assert lines == ["step 1: loss 6.25, 1.5, done", "    6"]
    np.testing.assert_array_equal(ad.hessian(loss)(np.ones(2)), 2 * np.eye(2))


@pytest.mark.parametrize("f", [lambda x: 2.0 % float(x), lambda x: int(x) % 2, math.sin])
def test_numbers_that_are_no_text_are_still_refused(f):
    with pytest.raises(ad.LostDerivativeError, match="would drop its derivative"):
        ad.grad(f)(3.3)


def test_the_remainder_of_a_number_and_a_node_has_its_derivative():
    assert ad.grad(lambda x: np.float64(7.0) % x)(3.3) == -2.0
    assert ad.grad(lambda x: 7 % x)(3.3) == -2.0


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64, np.longdouble])
@pytest.mark.parametrize("name", ["sqrt", "log", "log2", "log10", "arctanh", "arccos", "arcsin"])
def test_complex_results_of_real_numbers_have_numpys_dtype(name, kind):
    function, x = getattr(np.emath, name), np.array([-2.5, 0.5], kind)
    wanted, value = function(x), ad.vjp(function, x)[0]
    assert value.dtype == wanted.dtype
    np.testing.assert_array_equal(value, wanted)
