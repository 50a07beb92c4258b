"""What NumPy and SciPy refuse, and what cannot be differentiated, is refused for nodes, too."""

import numpy as np
import pytest
import scipy.interpolate
import scipy.linalg
import scipy.signal
import scipy.sparse
import scipy.spatial
import scipy.stats

import simpleautodiff as ad
from simpleautodiff import grad, plug

HERE = r"test_refused_arrays\.py:\d+"


def refuses(error, message, action):
    with pytest.raises(error, match=message):
        action()


A = np.array([[2.0, 0.3], [0.3, -0.1]])


def with_jitter(a):
    jitter = 1e-6
    while True:
        try:
            return np.sum(np.log(np.diag(np.linalg.cholesky(a + jitter * np.eye(2)))))
        except np.linalg.LinAlgError:
            jitter *= 10


def other_way(x):
    with np.errstate(all="raise"):
        try:
            return np.sum(np.log(x[1] - x[0]))
        except FloatingPointError:
            return np.sum(np.log(x[0] - x[1]))


def other_shape(x):
    try:
        return np.sum(x + np.ones(5))
    except ValueError:
        return np.sum(x**2)


@pytest.mark.parametrize(
    ("f", "x"),
    [
        (with_jitter, A),
        (other_way, np.array([1.5, 0.3])),
        (other_way, np.array([[1.5, 2.0], [0.3, 0.4]])),
        (other_shape, np.array([1.5, 0.3])),
    ],
)
def test_errors_that_a_program_expects(f, x):
    value, slope = ad.value_and_grad(f)(x)
    assert value == pytest.approx(f(x), rel=1e-14)
    direction = np.cos(np.arange(x.size)).reshape(x.shape)
    direction = direction + np.swapaxes(direction, 0, -1) if f is with_jitter else direction
    difference = (f(x + 1e-6 * direction) - f(x - 1e-6 * direction)) / 2e-6
    assert np.sum(slope * direction) == pytest.approx(difference, rel=1e-7)


TALL, V = np.arange(6.0).reshape(2, 3) + 1, np.arange(1.0, 4.0)
SQUARE = np.array([[4.0, 1.0], [1.0, 3.0]])
NUMPY_SQUARE = "det inv slogdet eig eigh eigvals eigvalsh cholesky"
SCIPY_SQUARE = """
    det inv eig eigh eigvals eigvalsh cholesky cho_factor expm sqrtm logm sinm cosm tanm sinhm coshm
    tanhm
"""
OF_SQUARE = {
    **{f"np.linalg.{name}": getattr(np.linalg, name) for name in NUMPY_SQUARE.split()},
    **{
        f"scipy.linalg.{name}": lambda x, name=name: getattr(scipy.linalg, name)(x)
        for name in SCIPY_SQUARE.split()
    },
    "np.linalg.matrix_power": lambda x: np.linalg.matrix_power(x, 2),
    "np.linalg.solve": lambda x: np.linalg.solve(x, V[:2]),
    "scipy.linalg.solve": lambda x: scipy.linalg.solve(x, V[:2]),
    "scipy.linalg.solve_triangular": lambda x: scipy.linalg.solve_triangular(x, V[:2]),
    "scipy.linalg.fractional_matrix_power": lambda x: scipy.linalg.fractional_matrix_power(x, 0.5),
    "scipy.linalg.solve_sylvester": lambda x: scipy.linalg.solve_sylvester(x, SQUARE, SQUARE),
    "scipy.linalg.solve_discrete_lyapunov": lambda x: scipy.linalg.solve_discrete_lyapunov(x, x),
}


def total(f):
    """Add up what a function of one array returns."""

    def summed(x):
        result = f(x)
        return sum(np.sum(abs(y)) for y in (result if isinstance(result, tuple) else (result,)))

    return summed


@pytest.mark.parametrize("name", OF_SQUARE)
def test_what_is_no_square_matrix_is_refused(name):
    f = total(OF_SQUARE[name])
    with pytest.raises((ValueError, TypeError)):
        f(TALL)
    message = name.replace(".", r"\.")
    for transform in (grad, ad.jacfwd, lambda g: ad.vmap(lambda k: g(k * TALL))):
        x = np.ones(2) if transform not in (grad, ad.jacfwd) else TALL
        with pytest.raises(ad.MatrixError, match=rf"{message} needs a square .*\(2, 3\).*{HERE}"):
            transform(f)(x)
    with pytest.raises(ad.MatrixError, match=rf"{message} needs a matrix.*\(3,\)"):
        grad(f)(V)
    with pytest.raises(ad.MatrixError, match=rf"{message} needs a matrix.*single number"):
        grad(f)(np.float64(2.0))


@pytest.mark.parametrize("name", ["svd", "svdvals", "qr", "pinv", "cond", "trace", "diagonal"])
def test_what_is_no_matrix_is_refused(name):
    with pytest.raises(ValueError, match=rf"np\.linalg\.{name} needs a matrix.*\(3,\)"):
        grad(total(getattr(np.linalg, name)))(V)


def split(x):
    return tuple(np.split(x, 2))


REFUSED = {  # what plain NumPy or SciPy refuses: a function, the array, and what is said
    "interp": (lambda x: np.interp(x, V[:2], V), V, r"np\.interp .*\(2,\) and \(3,\)"),
    "interp of fp": (lambda x: np.interp(V, V[:2], x), V, r"np\.interp .*equal length"),
    "interp of none": (lambda x: np.interp(x, [], []), V, r"np\.interp .*one point"),
    "bincount": (
        lambda x: np.bincount([-1, 0, 1], weights=x),
        V,
        r"np\.bincount .*least number -1",
    ),
    "bincount of few": (
        lambda x: np.bincount([0, 1], weights=x),
        V,
        r"np\.bincount .*as many weights",
    ),
    "minlength": (lambda x: np.bincount([0, 0, 1], x, -1), V, "minlength is -1"),
    "convolve": (lambda x: np.convolve(x, V), TALL, r"np\.convolve needs vectors, .*\(2, 3\)"),
    "convolve by": (lambda x: np.convolve(V, x), TALL, r"np\.convolve needs vectors"),
    "correlate": (lambda x: np.correlate(x, V), TALL, r"np\.correlate needs vectors"),
    "vander": (np.vander, TALL, r"np\.vander needs vectors"),
    "vander of -1": (lambda x: np.vander(x, -1), V, r"np\.vander has 0, 1, 2.*not -1"),
    "polymul": (lambda x: np.polymul(x, V), TALL, r"np\.polymul needs vectors"),
    "polyder": (np.polyder, TALL, r"np\.polyder needs vectors"),
    "polyder of -1": (lambda x: np.polyder(x, -1), V, r"m is -1\. See np\.polyint"),
    "roots": (np.roots, TALL, r"np\.roots needs vectors"),
    "polyfit": (lambda x: np.polyfit(x, V[:2], 1), V, r"np\.polyfit needs .*\(3,\), \(2,\)"),
    "polyfit of -1": (lambda x: np.polyfit(x, V, -1), V, "not the degree -1"),
    "polyfit by": (lambda x: np.polyfit(V, x, 1, w=V[:2]), V, r"\(3,\), \(3,\), \(2,\)"),
    "hstack": (
        lambda x: np.hstack([x, V]),
        TALL,
        r"shapes \(2, 3\), \(3,\) cannot be joined along",
    ),
    "vstack": (lambda x: np.vstack([x, V[:2]]), TALL, r"\(2, 3\), \(1, 2\) cannot be joined"),
    "dstack": (lambda x: np.dstack([x, V]), TALL, "cannot be joined along axis 2"),
    "concatenate": (lambda x: np.concatenate([x, SQUARE]), TALL, "cannot be joined along axis 0"),
    "concatenate along": (
        lambda x: np.concatenate([x, x], 5),
        V,
        r"np\.concatenate: .*axis 5 is out",
    ),
    "append": (lambda x: np.append(x, V, axis=0), TALL, "cannot be joined along axis 0"),
    "ldexp": (lambda x: np.ldexp(x, 1.5), V, r"np\.ldexp needs integers.*x \* 2\.0\*\*n"),
    "linspace": (lambda x: np.linspace(x, 2 * x, -1), V, "number of points is 0, 1, 2.*not -1"),
    "linspace of half": (lambda x: np.linspace(x, 2 * x, 1.5), V, r"np\.linspace: 'float'"),
    "logspace": (lambda x: np.logspace(x, 2 * x, -1), V, "number of points"),
    "geomspace": (lambda x: np.geomspace(0 * x, x, 3), V, "np.geomspace has no ratios"),
    "rot90": (lambda x: np.rot90(x, axes=(0, 0)), TALL, r"np\.rot90: Axes must be different"),
    "split": (split, V, r"np\.split: array split does not result in an equal"),
    "reshape": (lambda x: np.reshape(x, (2, 2)), V, r"reshape of arrays of shape \(3,\)"),
    "broadcast_to": (lambda x: np.broadcast_to(x, (3,)), TALL, r"np\.broadcast_to: .*broadcast"),
    "cumsum": (lambda x: np.cumsum(x, axis=(0, 1)), TALL, "one axis is needed"),
    "diff": (lambda x: np.diff(x, axis=None), V, "one axis is needed, an integer, not None"),
    "gradient": (lambda x: np.gradient(x, V[:2]), V, r"coordinates of shape \(2,\) .* 3 numbers"),
    "tensordot": (lambda x: np.tensordot(x, V, ([9], [0])), V, r"np\.tensordot: "),
    "vecdot": (lambda x: np.vecdot(x, 2.0), V, r"np\.vecdot needs .*n and n"),
    "linalg.outer": (lambda x: np.linalg.outer(x, V), TALL, r"np\.linalg\.outer needs vectors"),
    "linalg.cross": (
        lambda x: np.linalg.cross(x, V),
        SQUARE[0],
        "vectors of three numbers, not of 2",
    ),
    "linalg.norm": (lambda x: np.linalg.norm(x[None], axis=(0, 1, 2)), TALL, "one axis or two"),
    "multi_dot": (lambda x: np.linalg.multi_dot([x]), TALL, "needs two arrays at least"),
    "matrix_power": (lambda x: np.linalg.matrix_power(x, 1.5), SQUARE, r"matrix_power: .*integer"),
    "lstsq": (lambda x: np.linalg.lstsq(x, V)[0], TALL, r"right side of 2 numbers.*\(3,\)"),
    "reduceat": (lambda x: np.add.reduceat(x, [0, 9]), V, r"np\.add\.reduceat: \[0, 9\]"),
    "histogram": (
        lambda x: np.histogram(V, 2, weights=x)[0],
        TALL,
        "a weight for each of 3 points",
    ),
    "cov": (lambda x: np.cov(x, aweights=[-1.0, 2.0, 3.0]), V, "weights cannot be negative"),
    "transpose": (lambda x: np.transpose(x, (0, 0)), TALL, r"np\.transpose: "),
    "moveaxis": (lambda x: np.moveaxis(x, 0, (0, 1)), TALL, r"np\.moveaxis: .*same number"),
    "lyapunov": (
        lambda x: scipy.linalg.solve_continuous_lyapunov(x, V[:2]),
        SQUARE,
        r"matrices of one shape, not \(2, 2\) and \(2,\)",
    ),
    "lu_solve": (
        lambda x: scipy.linalg.lu_solve((x, np.array([0, 1])), V),
        SQUARE,
        r"lu_solve: a right side of shape \(3,\)",
    ),
    "convolve2d": (lambda x: scipy.signal.convolve2d(x, V), V, "convolve2d needs one matrix"),
    "lfilter": (lambda x: scipy.signal.lfilter([1.0], [0.0, 1.0], x), V, r"divides by a\[0\]"),
    "dirichlet": (lambda x: scipy.stats.dirichlet.logpdf(x, V), V, r"x / np\.sum\(x, axis=0\)"),
    "alpha": (lambda x: scipy.stats.dirichlet.logpdf(V / 6, -x), V, "alpha must be greater than 0"),
    "shares": (lambda x: scipy.stats.dirichlet.logpdf(x, np.ones(9)), V / 6, r"\(3,\) do not fit"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_numpy_refuses_is_refused_for_nodes(name):
    f, x, message = REFUSED[name]
    with pytest.raises((ValueError, TypeError, IndexError, RuntimeError)):
        f(x)
    with pytest.raises(ad.ArgumentError, match=message):
        grad(total(f))(x)
    with pytest.raises(ad.ArgumentError, match=HERE):
        ad.jvp(total(f), (x,), (x,))


def test_a_refusal_is_caught_as_numpys_own_is():
    def f(x):
        try:
            return np.sum(np.hstack([x, V]))
        except ValueError:
            return np.sum(x**2)

    assert np.array_equal(grad(f)(TALL), 2 * TALL)


def test_an_error_of_a_users_function_is_left_alone():
    def f(x):
        raise ValueError("mine")

    with pytest.raises(ValueError, match=r"^mine$"):
        grad(lambda x: np.sum(np.apply_along_axis(f, 0, x)))(V)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize(
    "name",
    [
        "inv",
        "det",
        "cholesky",
        "eigh",
        "eigvals",
        "qr",
        "svdvals",
        "pinv",
        "norm",
        "cho_factor",
        "lu",
    ],
)
def test_scipy_refuses_what_is_not_finite(name, bad):
    x = np.array([[bad, 1.0], [1.0, 3.0]])
    f = total(lambda x: getattr(scipy.linalg, name)(x))
    with pytest.raises(ValueError, match="infs or NaNs"):
        f(x)
    with pytest.raises(ValueError, match=rf"scipy\.linalg\.{name} refuses nan.*check_finite=False"):
        grad(f)(x)


@pytest.mark.filterwarnings("ignore:An ill-conditioned matrix")  # which SciPy sees in nan
def test_scipy_does_not_look_if_told_not_to():
    x = np.array([[np.nan, 1.0], [1.0, 3.0]])
    for f in (
        lambda x: scipy.linalg.inv(x, check_finite=False),
        lambda x: scipy.linalg.inv(x, False, False),
        lambda x: scipy.linalg.solve(SQUARE, x, check_finite=False),
    ):
        assert np.isnan(ad.value_and_grad(total(f))(x)[0])
    with pytest.raises(ad.ArgumentError, match="refuses nan"):
        grad(total(lambda x: scipy.linalg.solve(SQUARE, x)))(x)


def test_shares_lie_along_the_first_axis_and_the_last_may_be_left_away():
    x, alpha = np.array([[0.2, 0.5], [0.7, 0.1]]), np.array([2.0, 3.0, 4.0])
    density = scipy.stats.dirichlet.logpdf
    for points in (x, np.vstack([x, 1 - x.sum(0)])):
        value = ad.value_and_grad(lambda a, points=points: np.sum(density(points, a)))(alpha)[0]
        assert np.isclose(value, density(points, alpha).sum())
    slope = grad(lambda x: np.sum(density(x, alpha)))(x)
    assert np.allclose(slope, (alpha[:2, None] - 1) / x - (alpha[2] - 1) / (1 - x.sum(0)))


def test_trapezoids_of_points_with_more_axes():
    x = np.arange(8.0).reshape(2, 4) ** 2
    value, slope = ad.value_and_grad(lambda y: np.sum(np.trapezoid(y, x)))(np.arange(1.0, 5.0))
    assert np.isclose(value, np.trapezoid(np.arange(1.0, 5.0), x).sum())
    steps = np.diff(x).sum(0)
    assert np.allclose(slope, (np.append(steps, 0) + np.append(0, steps)) / 2)


def test_a_stack_of_systems_of_least_squares_is_one_for_vmap():
    a, b = np.arange(12.0).reshape(2, 3, 2) ** 2 + 1, V

    def f(a):
        return scipy.linalg.lstsq(a, b)[0]

    refuses(ad.ArgumentError, "lstsq needs one matrix.*vmap takes a stack", lambda: ad.vjp(f, a))
    slopes = grad(lambda a: np.sum(ad.vmap(f)(a)))(a)
    for k in range(2):
        assert np.allclose(slopes[k], grad(lambda a: np.sum(f(a)))(a[k]))


def test_refusals_that_say_what_to_do():
    with pytest.raises(ad.ValueKindError, match=r"sparse matrix.*toarray"):
        ad.grad(lambda x: np.sum(x + scipy.sparse.csr_matrix(np.eye(3))))(np.ones(3))
    with pytest.raises(ad.ArgumentError, match="pass t_eval"):
        ad.vmap(lambda k: plug.solve_ivp(lambda t, y, k: -k * y, (0, 1), [1.0], args=(k,)).y)(
            np.array([1.0, 2.0])
        )
    with pytest.raises(ad.ArgumentError, match="out_axes=None"):
        ad.vmap(np.sin, out_axes=None)(np.ones(3))
    assert ad.vmap(lambda x: 3.0, out_axes=None)(np.ones(3)) == 3.0


@pytest.mark.parametrize("order", ["A", "K"])
def test_an_order_in_memory_is_refused(order):
    x = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    for f in (lambda x: np.ravel(x, order), lambda x: x.flatten(order)):
        with pytest.raises(ad.ArgumentError, match="write order='C'"):
            ad.jacobian(f)(x)
    with pytest.raises(ad.ArgumentError, match="write order='C'"):
        ad.jacobian(lambda x: np.reshape(x, 6, order="A"))(x)


def test_a_matrix_of_nodes():
    assert ad.grad(lambda a: np.sum(np.array([[a, 1.0], [0.0, a]]) ** 2))(1.0) == 4.0
    assert ad.grad(lambda a: np.sum(np.block([[a, 1.0], [0.0, a]]) ** 2))(1.0) == 4.0


def test_out_of_a_wrong_shape_is_refused():
    def f(x):
        np.multiply(x.copy(), 2.0, out=np.zeros_like(x[0]))

    with pytest.raises(ad.ArgumentError, match=r"out has the shape \(3,\)"):
        ad.grad(f)(np.ones((2, 3)))


def test_the_shape_of_a_node_is_not_written_to():
    with pytest.raises(ad.LostDerivativeError, match=r"x.shape = ..."):
        ad.grad(lambda x: setattr(x, "shape", 3))(np.ones(3))


def test_real_numbers_have_no_imaginary_part_to_set():
    with pytest.raises(ad.ArgumentError, match="no imaginary part"):
        ad.grad(lambda x: setattr(x, "imag", 3))(np.ones(3))


def test_a_shape_that_does_not_fit_is_named():
    with pytest.raises(
        ad.ArgumentError, match=r"reshape of (arrays of )?shape \(3,\): cannot reshape"
    ):
        ad.grad(lambda x: x.reshape(2, 2)[0, 0])(np.ones(3))


class Model:
    matrix = A


@pytest.mark.parametrize(
    ("f", "advice"),
    [
        (lambda x: A.dot(x), r"A\.dot is a method.*Write A @ x or np\.dot\(A, x\)"),
        (lambda x: (A + 1.0).dot(x - 1.0), r"Write \(A \+ 1\.0\) @ \(x - 1\.0\) or np\.dot\("),
        (lambda x: Model().matrix.T.dot(x), r"Write Model\(\)\.matrix\.T @ x or"),
        (lambda x: A.dot([x[0], x[1]]), r"Write A @ \[x\[0\], x\[1\]\]"),
        (lambda x: A[0].searchsorted(x), r"Write np\.searchsorted\(A\[0\], x\)"),
    ],
)
def test_methods_of_plain_arrays_are_refused_with_what_to_write(f, advice):
    with pytest.raises(ad.LostDerivativeError, match=f"{advice}.*{HERE}"):
        ad.jacobian(f)(np.ones(2))


def test_nothing_is_replaced_in_compiled_modules():
    """They read the memory of what NumPy returns to them without asking what it is."""
    points = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    for f in (
        lambda x: scipy.spatial.ConvexHull(x).volume,
        lambda x: scipy.spatial.Delaunay(x).transform.sum(),
    ):
        with pytest.raises(ad.LostDerivativeError, match=r"no derivative rule for scipy\.spatial"):
            ad.grad(f)(points)


@pytest.mark.parametrize(
    ("f", "advice"),
    [
        (lambda x: np.float64(x), r"np\.float64\(\) of .*Write x\.astype\(np\.float64\), or leave"),
        (lambda x: float(x + 1.0), r"Write \(x \+ 1\.0\)\.astype\(float\), or leave float\(\) out"),
        (lambda x: np.float32([x, 1.0])[0], r"Write np\.array\(\[x, 1\.0\], np\.float32\)"),
        (lambda x: abs(complex(x, 2.0)), r"Write x \+ 1j \* 2\.0, or leave complex\(\) out"),
    ],
)
def test_types_of_numbers_are_refused_with_what_to_write(f, advice):
    for derivative in (
        lambda: ad.grad(f)(3.0),
        lambda: ad.jvp(f, (3.0,), (1.0,)),
        lambda: ad.vmap(f)(np.ones(2)),
        lambda: f(ad.Node(3.0)),
    ):
        with pytest.raises(ad.LostDerivativeError, match=f"{advice}.*{HERE}"):
            derivative()


def test_what_is_advised_for_types_of_numbers_works():
    assert ad.grad(lambda x: x.astype(np.float64) * x)(3.0) == 6.0
    assert ad.grad(lambda x: np.array([x, 1.0], np.float32)[0] * x)(3.0) == 6.0
    assert ad.grad(lambda x: abs(x + 1j * 4.0))(3.0) == pytest.approx(0.6)


def test_what_is_advised_for_the_product_of_a_plain_array_works():
    x = np.array([0.3, 1.2])
    for f in (lambda x: A @ x, lambda x: np.dot(A, x), lambda x: (A + 1.0) @ (x - 1.0)):
        np.testing.assert_array_equal(ad.jacobian(f)(x).shape, A.shape)
    np.testing.assert_array_equal(ad.jacobian(lambda x: np.dot(A, x))(x), A)
