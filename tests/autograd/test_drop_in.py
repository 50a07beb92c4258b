"""simpleautodiff.autograd is autograd for its clients: names, habits, and results."""

import importlib
import subprocess
import sys
import warnings
from collections import namedtuple

import numpy as np
import pytest
import scipy.special
import scipy.stats

import simpleautodiff as ad
import simpleautodiff.autograd as ours
import simpleautodiff.autograd.numpy as anp
from simpleautodiff.autograd import grad
from simpleautodiff.autograd.extend import Box, VSpace, defjvp, defvjp, primitive, vspace
from simpleautodiff.autograd.test_util import check_grads, check_vjp

autograd = pytest.importorskip("autograd")
rs = np.random.RandomState(0)


@pytest.fixture(autouse=True)
def _seed():
    np.random.seed(1)  # noqa: NPY002  (autograd's checks take directions from it)


# Names. -------------------------------------------------------------------------------------------

INSIDES = {  # of autograd: how it records
    "autograd.core": {
        *("SparseBox", "add_outgrads", "backward_pass", "deprecated_defgrad", "deprecated_defvjp"),
        *("deprecated_defvjp_is_zero", "identity_jvp", "identity_vjp", "sum_outgrads"),
        *("primitive_with_deprecation_warnings", "translate_jvp", "translate_vjp"),
        *("JVPNode", "SparseObject", "VJPNode"),
    },
    "autograd.extend": {"JVPNode", "SparseObject", "VJPNode", "register_notrace"},
    "autograd.misc.fixed_points": {"fixed_point_vjp"},
    "autograd.misc.tracers": {"ConstGraphNode", "FullGraphNode", "const_graph_unary", "full_graph"},
    "autograd.test_util": {"make_numerical_jvp"},
    "autograd.tracer": {"TraceStack", "find_top_boxed_args", "new_box", "register_notrace"},
    "autograd.util": {"toposort"},
    "autograd.wrap_util": {"get_doc", "get_name", "wrap_nary_f", "wraps"},
}
MODULES = [
    *("autograd", "autograd.core", "autograd.differential_operators", "autograd.extend"),
    *("autograd.misc.fixed_points", "autograd.misc.flatten", "autograd.misc.optimizers"),
    *("autograd.misc.tracers", "autograd.test_util", "autograd.tracer", "autograd.util"),
    "autograd.wrap_util",
]


@pytest.mark.parametrize("name", MODULES)
def test_every_public_function_is_here(name):
    theirs = importlib.import_module(name)
    here = importlib.import_module(f"simpleautodiff.{name}")
    reexported = name in ("autograd", "autograd.extend")
    names = {
        k
        for k, v in vars(theirs).items()
        if k[0] != "_" and (reexported or getattr(v, "__module__", "") == name) and callable(v)
    }
    assert names
    assert {k for k in names if not hasattr(here, k)} <= INSIDES.get(name, set())


@pytest.mark.parametrize(
    ("module", "names"),
    {
        "scipy.integrate": "odeint",
        "scipy.linalg": "cholesky inv solve_triangular solve_banded solve_sylvester sqrtm",
        "scipy.signal": "convolve",
        "scipy.special": "beta betainc betaln digamma erf erfc erfcinv erfinv expit gamma gammainc "
        "gammaincc gammaln gammasgn i0 i1 iv ive j0 j1 jn kv logit logsumexp multigammaln "
        "polygamma psi rgamma y0 y1 yn",
        "scipy.stats.beta": "cdf logpdf pdf",
        "scipy.stats.chi2": "cdf logpdf pdf",
        "scipy.stats.dirichlet": "logpdf pdf",
        "scipy.stats.gamma": "cdf logpdf pdf",
        "scipy.stats.multivariate_normal": "entropy logpdf pdf",
        "scipy.stats.norm": "cdf logcdf logpdf logsf pdf sf",
        "scipy.stats.poisson": "cdf logpmf pmf",
        "scipy.stats.t": "cdf logcdf logpdf pdf",
    }.items(),
)
def test_functions_of_scipy_are_here(module, names):
    here = importlib.import_module(f"simpleautodiff.autograd.{module}")
    theirs = importlib.import_module(f"autograd.{module}")
    assert [name for name in names.split() if hasattr(theirs, name)]
    assert [name for name in names.split() if not hasattr(here, name)] == []


# Installed as autograd. ---------------------------------------------------------------------------


def test_it_stands_for_autograd_until_the_end_of_a_with_statement():
    import autograd.numpy as before

    names = []
    with ad.install_as_autograd():
        import autograd as installed
        import autograd.misc.optimizers
        import autograd.scipy.stats.norm as norm
        from autograd.numpy.linalg import solve

        assert installed is ours
        assert autograd.misc.optimizers is sys.modules["simpleautodiff.autograd.misc.optimizers"]
        assert installed.grad(norm.logpdf)(2.0) == -2.0
        assert solve.__wrapped__ is np.linalg.solve
        installed.grad(lambda x: names.append(str(type(x))) or x)(1.0)
        installed.make_jvp(lambda x: names.append(str(type(x))) or x)(1.0)(1.0)
    import autograd.numpy as after

    assert after is before
    ad.grad(lambda x: names.append(str(type(x))) or x)(1.0)
    assert names[:2] == [str(before.numpy_boxes.ArrayBox)] * 2
    assert names[2] == "<class 'simpleautodiff.core.node.TapeNode'>"
    assert "simpleautodiff" not in sys.modules["autograd"].__file__


def test_it_is_put_back_after_an_error_and_where_there_was_none():
    code = (
        "import sys, simpleautodiff as ad\n"
        "try:\n"
        "    with ad.install_as_autograd():\n"
        "        import autograd.extend\n"
        "        raise KeyError\n"
        "except KeyError:\n"
        "    assert not [k for k in sys.modules if k.partition('.')[0] == 'autograd']\n"
        "ad.install_as_autograd()\n"
        "from autograd import grad\n"
        "import autograd.numpy as np\n"
        "print(grad(np.sin)(0.0))\n"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout == "1.0\n"


# Results. -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(1,), (1, 1)])
def test_a_result_of_one_number_may_have_axes(shape):
    x = np.array([3.0, 1.0])
    f = lambda x: np.sum(x**2).reshape(shape)
    np.testing.assert_array_equal(grad(f)(x), 2 * x)
    value, slope = ours.value_and_grad(f)(x)
    assert value.shape == shape
    np.testing.assert_array_equal(slope, 2 * x)
    np.testing.assert_array_equal(ours.hessian_vector_product(f)(x, x), 2 * x)
    with pytest.raises(TypeError, match="shape"):
        grad(lambda x: x)(x)


def test_results_that_do_not_depend_on_the_argument_are_noted():
    with pytest.warns(UserWarning, match="independent"):
        assert grad(lambda x: 3.0)(1.0) == 0.0
    with pytest.warns(UserWarning, match="independent"):
        assert ours.make_vjp(lambda x: x > 0)(1.0)[0](1.0) == 0.0


def test_complex_results_need_holomorphic_grad():
    with pytest.raises(TypeError, match="holomorphic_grad"):
        grad(lambda z: z**2)(1.0 + 2.0j)
    assert ours.holomorphic_grad(lambda z: z**2)(1.0 + 2.0j) == 2.0 + 4.0j
    with pytest.warns(UserWarning, match="not complex"):
        assert ours.holomorphic_grad(lambda x: x * (1.0 + 0.2j))(1.0) == 1.0


def test_a_seed_with_fewer_axes():
    W, v = rs.randn(3, 4), rs.randn(3)
    f = lambda x: np.outer(x, np.sin(x))
    x = rs.randn(3)
    expected = autograd.tensor_jacobian_product(
        lambda x: autograd.numpy.outer(x, autograd.numpy.sin(x))
    )
    np.testing.assert_allclose(ours.tensor_jacobian_product(f)(x, v), expected(x, v), rtol=1e-12)
    g = lambda x: x @ W
    np.testing.assert_allclose(ours.vector_jacobian_product(g)(x, np.ones(4)), W.sum(1))


def test_pullbacks_of_pullbacks():
    pullback, _ = ours.make_vjp(lambda x: np.sin(x) * x)(2.0)
    again, _ = ours.make_vjp(pullback)(1.0)
    assert again(1.0) == pytest.approx(np.cos(2.0) * 2 + np.sin(2.0), rel=1e-14)


def test_the_adjoint_of_a_real_part_is_complex():
    z = np.array([1.0 + 2.0j, 3.0])
    check_grads(np.real)(z)
    check_grads(np.max)(z)
    adjoint = ours.make_vjp(np.real)(z)[0](np.ones(2))
    assert adjoint.dtype == complex


def test_vector_spaces():
    space = vspace({"a": 1.0, "b": [np.zeros((2, 1)), 1j]})
    assert space.size == 5
    assert len(list(space.standard_basis())) == 5
    x, y = space.randn(), space.randn()
    assert space.inner_prod(x, y) == pytest.approx(space.inner_prod(y, x))
    assert vspace(space.add(x, space.scalar_mul(y, 2.0))) == space
    assert vspace(1.0) == vspace(np.float64(1.0)) != vspace(np.zeros(1))
    with pytest.raises(TypeError, match="VSpace"):
        vspace("text")


def test_a_node_is_a_box():
    def f(x):
        assert isinstance(x, Box)
        assert x._value == 2.0
        return x * x

    assert grad(f)(2.0) == 4.0
    assert issubclass(type(vspace(1.0)), VSpace)


# Primitives. --------------------------------------------------------------------------------------

Pair = namedtuple("Pair", "text number")


def test_arguments_that_are_no_numbers_and_structures():
    @primitive
    def scale(how, x, pair, nothing):
        assert nothing is None
        return x["a"] * (2.0 if how == "double" else 1.0) * pair.number

    defvjp(
        scale,
        lambda ans, how, x, pair, nothing: lambda g: {"a": 2.0 * g * pair.number, "b": 0 * x["b"]},
        lambda ans, how, x, pair, nothing: lambda g: Pair("", 2.0 * g * x["a"]),
        argnums=(1, 2),
    )
    f = lambda x, y: scale("double", x, Pair("text", y), None)
    slope = grad(f, (0, 1))({"a": 3.0, "b": np.ones(2)}, 5.0)
    assert slope[0]["a"] == 10.0
    np.testing.assert_array_equal(slope[0]["b"], np.zeros(2))
    assert slope[1] == 6.0
    assert ours.make_jvp(f, 1)({"a": 3.0, "b": np.ones(2)}, 5.0)(1.0)[1] == 6.0


def test_results_that_are_tuples():
    @primitive
    def both(x):
        return Pair("text", np.sin(x)), np.cos(x)

    defvjp(both, lambda ans, x: lambda g: g[0].number * np.cos(x) - g[1] * np.sin(x))

    def f(x):
        pair, cosine = both(x)
        assert pair.text == "text"
        return np.sum(pair.number * cosine)

    x = np.array([0.3, 0.4])
    np.testing.assert_allclose(grad(f)(x), np.cos(2 * x), rtol=1e-14)
    np.testing.assert_allclose(ours.make_jvp(f)(x)(np.ones(2))[1], np.sum(np.cos(2 * x)))


def test_a_missing_rule_is_not_implemented():
    no_rule = primitive(lambda x: 2.0 * x)
    with pytest.raises(NotImplementedError, match="defvjp"):
        grad(no_rule)(1.0)
    with pytest.raises(NotImplementedError):
        ours.deriv(no_rule)(1.0)


def test_functions_of_numpy_can_be_given_other_rules():
    code = (
        "import numpy as np\n"
        "from simpleautodiff.autograd import grad, make_jvp\n"
        "import simpleautodiff.autograd.numpy as anp\n"
        "from simpleautodiff.autograd.extend import defjvp, defvjp\n"
        "from simpleautodiff.autograd.scipy.special import polygamma\n"
        "defvjp(anp.sin, lambda ans, x: lambda g: 7.0 * g)\n"
        "defvjp(anp.linalg.norm, lambda ans, x: lambda g: 5.0 * g * x)\n"
        "print(grad(np.sin)(1.0), grad(anp.linalg.norm)(np.ones(2)))\n"
        "print(make_jvp(np.sin)(0.0)(1.0)[1])  # the rule of the other mode stays\n"
        "defjvp(polygamma, None, lambda g, ans, n, x: 3.0 * g)\n"
        "f = lambda x: polygamma(1, x)\n"
        "print(make_jvp(f)(1.0)(1.0)[1], abs(grad(f)(1.0) - polygamma(2, 1.0)) < 1e-12)\n"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout == "7.0 [5. 5.]\n1.0\n3.0 True\n"


def test_methods_of_primitives_are_deprecated():
    product = ours.primitive(lambda x, y: x * y)
    with pytest.warns(UserWarning, match="deprecated"):
        product.defvjp(lambda g, ans, vs, gvs, x, y: g * y)
    with pytest.warns(UserWarning, match="deprecated"):
        product.defvjp_is_zero(argnums=(1,))
    assert grad(product, (0, 1))(2.0, 3.0) == (3.0, 0.0)


def test_checks_find_wrong_rules_of_both_orders():
    wrong = primitive(lambda x: x * 2.0)
    defvjp(wrong, lambda ans, x: lambda g: g * 2.001)
    with pytest.raises(AssertionError, match=r"\(VJP\)"):
        check_grads(wrong, modes=["rev"])(1.0)
    slope = primitive(lambda x: x)
    defvjp(slope, lambda ans, x: lambda g: g * 1.001)
    second = primitive(lambda x: x * 2.0)
    defvjp(second, lambda ans, x: lambda g: slope(g) * 2.0)
    check_vjp(second, 1.0)
    with pytest.raises(AssertionError, match="vjp_"):
        check_grads(second, modes=["rev"])(1.0)
    forward = primitive(np.sin)
    defjvp(forward, lambda g, ans, x: 1.001 * g * np.cos(x))
    with pytest.raises(AssertionError, match="mismatch"):
        check_grads(forward, modes=["fwd"], order=1)(0.3)


def test_checks_of_large_numbers_take_a_wider_step():
    """A difference of a step of 1e-6 has a rounding error of 1e-4 here, of numbers of size 1."""
    f = lambda x: 1e6 + np.sin(x)
    check_grads(f)(0.3)
    check_grads(lambda x, y: 1e6 + x * np.exp(y), (0, 1))(0.3, np.array([0.2, 0.5]))
    wrong = primitive(lambda x: 1e6 + np.sin(x))
    defvjp(wrong, lambda ans, x: lambda g: 1.001 * g * np.cos(x))
    with pytest.raises(AssertionError, match=r"\(VJP\)"):
        check_grads(wrong, modes=["rev"])(0.3)


def test_truth_values_have_no_vector_space():
    for truth in (True, np.True_):
        with pytest.raises(TypeError, match="no vector space"):
            vspace(truth)


def test_checks_find_a_wrong_first_derivative_whose_own_derivative_is_right():
    wrong = primitive(np.sin)
    defvjp(wrong, lambda ans, x: lambda g: 1.001 * g * np.cos(x))
    for order in (1, 2, 3):
        with pytest.raises(AssertionError, match=r"\(VJP\) check of <lambda>"):
            check_grads(lambda x: wrong(x) * 2, modes=["rev"], order=order)(0.3)


@pytest.mark.parametrize("modes", [["fwd"], ["rev"], ["fwd", "rev"]])
@pytest.mark.parametrize("order", [1, 2, 3])
def test_a_check_runs_the_function_less_often_than_that_of_hips_autograd(modes, order):
    theirs = pytest.importorskip("autograd.test_util")
    module = pytest.importorskip("autograd.numpy")
    runs = {}
    for name, check, library in (("ours", check_grads, np), ("theirs", theirs.check_grads, module)):
        calls = []
        f = lambda x, calls=calls, library=library: (calls.append(x), library.sin(x) * x)[1]
        assert check(f, modes=modes, order=order)(0.7) is None
        runs[name] = len(calls)
    assert runs["ours"] < runs["theirs"]


# NumPy and SciPy. ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "f",
    [
        lambda np, x: np.mean([x, x + 2]),
        lambda np, x: np.linalg.norm((x, x + 2.0)),
        lambda np, x: np.sum(np.append([x, x * x], [3.0 * x])),
        lambda np, x: np.sum(np.stack(x * k for k in range(3))),
        lambda np, x: np.sum(np.make_diagonal(x * np.arange(6.0).reshape(2, 3), 0, -1, -2) ** 2),
        lambda np, x: x * np.int64(x + 0.5),
        lambda np, x: np.sum(np.linalg.eigh(np.array([[2.0, x], [x, x**2]]), "U")[1][0]),
    ],
)
def test_programs_with_lists_of_nodes(f):
    import autograd.numpy as theirs

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = autograd.grad(lambda x: f(theirs, x))(0.7)
    np.testing.assert_allclose(grad(lambda x: f(anp, x))(0.7), expected, rtol=1e-12)


def test_where_of_python_numbers_gives_python_numbers():
    assert type(anp.where(True, 1, 2)) is int
    assert anp.where(condition=[True, False], x=[1, 2], y=[3, 4]) == [1, 4]


CONVOLUTIONS = [
    ((4, 3), (3, 2), {"axes": ([0], [1])}),
    ((4, 3), (3, 2), {"axes": ([1, 0], [1, 0]), "mode": "same"}),
    ((3, 3, 2), (3, 2, 3), {"axes": ([1], [1]), "dot_axes": ([0], [2])}),
    ((3, 3, 2), (3, 2, 3), {"axes": ([1], [1]), "dot_axes": ([0], [0]), "mode": "valid"}),
    ((2, 4), (2, 3, 6), {"axes": ([1], [2]), "dot_axes": ([0], [0]), "mode": "valid"}),
    ((3, 5), (3, 4), {"axes": ([], []), "dot_axes": ([0], [0])}),
]


@pytest.mark.parametrize(("m", "n", "options"), CONVOLUTIONS)
def test_convolutions_along_some_axes(m, n, options):
    import autograd.scipy.signal
    from simpleautodiff.autograd.scipy.signal import convolve

    A, B = rs.randn(*m), rs.randn(*n)
    expected = autograd.scipy.signal.convolve(A, B, **options)
    np.testing.assert_allclose(convolve(A, B, **options), expected, rtol=1e-12, atol=1e-13)
    check_grads(convolve, (0, 1), modes=["fwd", "rev"])(A, B, **options)


@pytest.mark.parametrize("name", ["erf", "erfc", "gamma"])
def test_special_functions_of_complex_numbers(name):
    function = getattr(scipy.special, name)
    z = np.array([0.4 - 0.3j, 1.2 + 0.1j])
    value, slope = ad.jvp(function, (z,), (np.ones(2) + 0j,))
    np.testing.assert_array_equal(value, function(z))
    step = 1e-6
    differences = (function(z + step) - function(z - step)) / (2 * step)
    np.testing.assert_allclose(slope, differences, rtol=1e-8)


def test_normal_densities_on_a_plane():
    cov = np.diag([1.0, 2.0, 0.0])
    of_plane = scipy.stats.multivariate_normal(np.zeros(2), np.diag([1.0, 2.0]))
    logpdf = scipy.stats.multivariate_normal.logpdf

    def f(x):
        return logpdf(np.concatenate([x, np.zeros(1)]), np.zeros(3), cov, allow_singular=True)

    x = np.array([0.3, -0.5])
    value, slope = ad.value_and_grad(f)(x)
    assert value == pytest.approx(of_plane.logpdf(x), rel=1e-12)
    np.testing.assert_allclose(slope, -x / [1.0, 2.0], rtol=1e-12)
    off = lambda x: logpdf(np.stack([x, x, x]), np.zeros(3), cov, allow_singular=True)
    assert ad.value_and_grad(off)(1.0)[0] == -np.inf


def test_the_logarithm_of_students_distribution():
    x, df = 0.7, 3.5
    slope = ad.grad(scipy.stats.t.logcdf)(x, df)
    expected = scipy.stats.t.pdf(x, df) / scipy.stats.t.cdf(x, df)
    assert slope == pytest.approx(expected, rel=1e-10)


# Recordings. --------------------------------------------------------------------------------------


def test_a_graph_recorded_once():
    from simpleautodiff.autograd.misc import const_graph

    calls = []

    def f(x, y):
        calls.append(None)
        return grad(lambda x: np.sin(x) + x * 2)(x * y)

    replayed = const_graph(f, y=2.0)
    for x in (0.1, 0.7, -3.0):
        assert replayed(x) == pytest.approx(np.cos(2 * x) + 2, rel=1e-14)
    assert len(calls) == 1
    assert grad(replayed)(0.7) == pytest.approx(-2 * np.sin(1.4), rel=1e-14)


def test_fixed_points_have_derivatives():
    from simpleautodiff.autograd.misc.fixed_points import fixed_point

    step = lambda a: lambda x: (x + a / x) / 2
    root = lambda a: fixed_point(step, a, 1.0, lambda x, y: abs(x - y), 1e-12)
    assert root(2.0) == pytest.approx(np.sqrt(2.0), rel=1e-14)
    assert grad(root)(2.0) == pytest.approx(0.5 / np.sqrt(2.0), rel=1e-12)
    assert grad(grad(root))(2.0) == pytest.approx(-0.25 / 2**1.5, rel=1e-9)


def test_ones_own_nodes():
    from simpleautodiff.autograd.tracer import Node, trace

    class Step(Node):
        def __init__(self, value, fun, args, kwargs, parent_argnums, parents):
            self.text = f"{fun.__name__}({', '.join(parent.text for parent in parents)})"
            assert fun(*args) == value

        def initialize_root(self, text):
            self.text = text

    value, node = trace(Step.new_root("x"), lambda x: np.sin(x + x) * 2.0, 1.0)
    assert value == 2 * np.sin(2.0)
    assert node.text == "mul(sin(add(x, x)))"
