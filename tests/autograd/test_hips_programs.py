"""Programs written for HIPS autograd run with other import lines, and give the same numbers."""

import importlib
import re
import warnings

import numpy as np
import pytest
import simpleautodiff.differential_operators
import simpleautodiff.extend
from simpleautodiff.misc.flatten import flatten as flatten_as_autograd

import simpleautodiff as ad
from simpleautodiff.values.pytree import flatten

autograd = pytest.importorskip("autograd")
OWN = {"JVPNode", "SparseObject", "VJPNode", "register_notrace"}

PROGRAMS = {
    "logistic regression": """
import autograd.numpy as np
import autograd.numpy.random as npr
from autograd import grad, value_and_grad
from autograd.test_util import check_grads

rs = npr.RandomState(0)
inputs, targets = rs.randn(20, 3), rs.rand(20) > 0.5

def sigmoid(x):
    return 0.5 * (np.tanh(x / 2.0) + 1)

def loss(weights):
    predictions = sigmoid(np.dot(inputs, weights))
    likelihoods = predictions * targets + (1 - predictions) * (1 - targets)
    return -np.sum(np.log(likelihoods))

weights = np.array([0.1, -0.2, 0.3])
check_grads(loss, modes=["rev"])(weights)
for _ in range(20):
    weights -= 0.05 * grad(loss)(weights)
result = [weights, value_and_grad(loss)(weights)]
""",
    "neural network": """
import autograd.numpy as np
import autograd.numpy.random as npr
from autograd import grad
from autograd.misc import flatten
from autograd.misc.optimizers import adam, rmsprop, sgd
from autograd.scipy.special import logsumexp

def init(scale, sizes, rs=npr.RandomState(0)):
    return [(scale * rs.randn(m, n), scale * rs.randn(n)) for m, n in zip(sizes[:-1], sizes[1:])]

def predict(params, inputs):
    for W, b in params:
        outputs = np.dot(inputs, W) + b
        inputs = np.tanh(outputs)
    return outputs - logsumexp(outputs, axis=1, keepdims=True)

def l2_norm(params):
    flattened, _ = flatten(params)
    return np.dot(flattened, flattened)

x = npr.RandomState(1).randn(30, 4)
y = np.eye(3)[npr.RandomState(2).randint(3, size=30)]

def objective(params, iteration):
    return -np.mean(np.sum(predict(params, x) * y, axis=1)) + 0.01 * l2_norm(params)

seen = []
start = init(0.5, [4, 5, 3])
grads = grad(objective)
callback = lambda params, i, g: seen.append(objective(params, i))
result = [
    adam(grads, start, step_size=0.05, num_iters=25, callback=callback),
    sgd(grads, start, num_iters=10),
    rmsprop(grads, start, num_iters=10, step_size=0.01),
    flatten(start)[0],
    seen,
]
""",
    "gaussian process": """
import autograd.numpy as np
import autograd.scipy.stats.multivariate_normal as mvn
from autograd import value_and_grad
from autograd.numpy.linalg import solve
from scipy.optimize import minimize

x = np.linspace(-2, 2, 12).reshape((12, 1))
y = np.sin(x[:, 0] * 2)

def covariance(params, a, b):
    scale, lengths = np.exp(params[0]), np.exp(params[1:])
    diffs = np.expand_dims(a / lengths, 1) - np.expand_dims(b / lengths, 0)
    return scale * np.exp(-0.5 * np.sum(diffs**2, axis=2))

def log_marginal(params):
    cov = covariance(params[2:], x, x) + (0.1 + np.exp(params[1])) * np.eye(len(y))
    return mvn.logpdf(y, params[0] * np.ones(len(y)), cov)

def predict(params, new):
    cross = covariance(params[2:], new, x)
    cov = covariance(params[2:], x, x) + (0.1 + np.exp(params[1])) * np.eye(len(y))
    return params[0] + np.dot(cross, solve(cov, y - params[0]))

objective = lambda params: -log_marginal(params)
start = np.array([0.0, -2.0, 0.0, 0.0])
both = value_and_grad(objective)
fitted = minimize(both, start, jac=True, method="L-BFGS-B", options={"maxiter": 5})
result = [both(start), fitted.fun, predict(start, x + 0.1)]
""",
    "recurrent network": """
import autograd.numpy as np
import autograd.numpy.random as npr
from autograd import grad
from autograd.builtins import isinstance, tuple

rs = npr.RandomState(3)
params = {"init": 0.1 * rs.randn(1, 3), "change": rs.randn(6, 3), "predict": rs.randn(4, 2)}

def concat_and_multiply(weights, *args):
    cat_state = np.hstack(args + (np.ones((args[0].shape[0], 1)),))
    return np.dot(cat_state, weights)

def rnn(params, inputs):
    assert isinstance(params, dict)
    hiddens = np.repeat(params["init"], inputs.shape[1], axis=0)
    outputs = [concat_and_multiply(params["predict"], hiddens)]
    for step in inputs:
        hiddens = np.tanh(concat_and_multiply(params["change"], step, hiddens))
        outputs.append(concat_and_multiply(params["predict"], hiddens))
    return outputs

def loss(params, inputs):
    return sum(np.mean((out - 0.5) ** 2) for out in rnn(params, inputs)[1:])

result = grad(loss)(params, rs.randn(4, 5, 2))
""",
    "differential equation": """
import autograd.numpy as np
from autograd import grad, jacobian
from autograd.builtins import tuple
from autograd.scipy.integrate import odeint

times = np.linspace(0.0, 2.0, 9)

def dynamics(y, t, theta):
    return np.array([theta[0] * y[1], -np.sin(y[0]) - theta[1] * y[1]])

def end(theta):
    path = odeint(dynamics, np.array([1.0, 0.0]), times, tuple((theta,)), rtol=1e-10, atol=1e-10)
    return np.sum(path[-1] ** 2)

theta = np.array([1.0, 0.3])
result = [grad(end)(theta), odeint(dynamics, np.array([1.0, 0.0]), times, (theta,))]
""",
    "arguments by number and by name": """
import autograd.numpy as np
from autograd import (deriv, elementwise_grad, grad, grad_and_aux, grad_named, hessian, jacobian,
                      value_and_grad)

def f(a, b, scale=2.0):
    return scale * np.sum(np.sin(a) * b**2)

a, b = np.array([0.1, 0.7, -0.3]), np.array([1.0, 2.0, 3.0])
result = [
    grad(f, argnum=1)(a, b),
    grad(f, argnum=(0, 1))(a, b),
    grad(f, [0, 1])(a, b, scale=3.0),
    value_and_grad(f, argnum=1)(a, b),
    jacobian(lambda a, b: np.outer(a, b), argnum=1)(a, b),
    hessian(f, argnum=1)(a, b),
    elementwise_grad(lambda a, b: a * b**3, argnum=1)(a, b),
    elementwise_grad(elementwise_grad(np.tanh))(a),
    deriv(np.tanh)(a),
    deriv(lambda a, b: a * b**3, argnum=1)(a, b),
    grad_named(f, "b")(a, b),
    grad_and_aux(lambda a: (np.sum(a**2), np.cos(a)))(a),
]
""",
    "products with matrices of derivatives": """
import autograd.numpy as np
from autograd import (hessian_tensor_product, hessian_vector_product, make_ggnvp, make_hvp,
                      make_jvp, make_vjp, tensor_jacobian_product, vector_jacobian_product)

def rosenbrock(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)

layer = lambda x: np.tanh(np.dot(np.arange(9.0).reshape(3, 3) / 9, x))
x, v = np.array([1.3, 0.7, 0.8]), np.array([1.0, -2.0, 0.5])
pullback, value = make_vjp(layer)(x)
hvp, slope = make_hvp(rosenbrock)(x)
result = [
    hessian_vector_product(rosenbrock)(x, v),
    hessian_tensor_product(rosenbrock)(x, v),
    hessian_vector_product(lambda a, x: a * rosenbrock(x), argnum=1)(2.0, x, v),
    vector_jacobian_product(layer)(x, v),
    tensor_jacobian_product(layer)(x, v),
    make_jvp(layer)(x)(v),
    make_ggnvp(layer)(x)(v),
    [pullback(v), value, hvp(v), slope],
]
""",
    "dictionaries of parameters": """
import autograd.numpy as np
from autograd import grad
from autograd.misc.flatten import flatten, flatten_func
from autograd.misc.optimizers import adam

data = np.linspace(-1, 1, 7)

def loss(params, i=0):
    hidden = np.maximum(params["w"] * data + params["b"], 0.1 * params["w"] * data)
    return np.mean((hidden - params["nested"]["target"]) ** 2) + np.sum(params["nested"]["more"][0])

params = {"b": 0.3, "nested": {"more": [np.array([1.0, 2.0])], "target": np.cos(data)}, "w": 0.7}
func, unflatten, vector = flatten_func(grad(loss), params)
best = adam(grad(loss), params, num_iters=7, step_size=0.02)
result = [grad(loss)(params), vector, func(vector), unflatten(vector + 1), best]
""",
    "complex numbers": """
import autograd.numpy as np
from autograd import elementwise_grad, grad, holomorphic_grad

z = np.array([1.0 + 2.0j, -0.5 + 0.3j])
result = [
    grad(lambda z: np.sum(np.abs(z) ** 2))(z),
    grad(lambda z: np.real(np.sum(z**3)))(z),
    grad(lambda z: np.sum(np.imag(np.exp(1j * z))))(z),
    holomorphic_grad(lambda z: z**2 * np.exp(z))(0.3 + 0.4j),
    grad(lambda x: np.real(np.sum(np.conj(x * z) * z)))(np.array([0.5, 2.0])),
    grad(lambda x: np.angle((1.0 + 1.0j) * x + 1.0))(0.7),
]
""",
    "fourier transforms": """
import autograd.numpy as np
from autograd import grad, jacobian

t = np.linspace(0.0, 1.0, 16, endpoint=False)
frequencies = np.fft.fftfreq(16, 1 / 16)

def filtered(signal, width):
    return np.real(np.fft.ifft(np.fft.fft(signal) * np.exp(-((frequencies / width) ** 2))))

def loss(signal, width):
    return np.sum((filtered(signal, width) - np.sin(2 * np.pi * t)) ** 2)

signal = np.sign(np.sin(2 * np.pi * t) + 0.1)
result = [
    grad(loss)(signal, 3.0),
    grad(loss, argnum=1)(signal, 3.0),
    jacobian(filtered, argnum=1)(signal, 3.0),
    grad(lambda s: np.sum(np.abs(np.fft.rfft(s)) ** 2))(signal),
    grad(lambda s: np.sum(np.real(np.fft.fft2(s.reshape(4, 4))) ** 2))(signal),
]
""",
    "primitives of one's own": """
import autograd.numpy as np
from autograd import checkpoint, grad, hessian, jacobian, make_jvp
from autograd.extend import defjvp, defvjp, primitive

@primitive
def logsumexp(x, scale=1.0):
    largest = np.max(x)
    return largest + np.log(np.sum(np.exp(scale * (x - largest)))) / scale

@primitive
def bilinear(x, y):
    return x * y

def logsumexp_vjp(ans, x, scale=1.0):
    return lambda g: np.full(x.shape, g) * np.exp(scale * (x - ans))

defvjp(logsumexp, logsumexp_vjp)
defvjp(bilinear, lambda ans, x, y: lambda g: g * y, lambda ans, x, y: lambda g: g * x)
defjvp(bilinear, lambda g, ans, x, y: g * y, lambda g, ans, x, y: g * x)

@primitive
def scaled(n, x):
    return n * x

defvjp(scaled, lambda ans, n, x: lambda g: g * n, argnums=(1,))
x = np.array([1.0, 2.0, -0.5])
result = [
    grad(logsumexp)(x),
    grad(lambda x: logsumexp(x, scale=2.0) ** 2)(x),
    hessian(logsumexp)(x),
    jacobian(lambda x: bilinear(x, np.sin(x)))(x),
    make_jvp(lambda x: bilinear(x, x))(x)(np.ones(3)),
    grad(lambda x: np.sum(scaled(3.0, x) * x))(x),
    grad(checkpoint(lambda x: np.sum(np.sin(x) ** 2)))(x),
]
""",
}


def run(text):
    space = {}
    exec(compile(text, "<program>", "exec"), space)
    return [np.asarray(leaf) for leaf in flatten(space["result"])[0]]


def imported_from_here(text):
    """Return a program with other import lines; the rest stays."""
    return re.sub(r"^(import|from) autograd\b", r"\1 simpleautodiff", text, flags=re.MULTILINE)


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS.keys())
def test_changing_the_import_lines_is_enough(text):
    ours = run(imported_from_here(text))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = run(text)
    assert len(ours) == len(theirs) > 0
    for one, other in zip(ours, theirs, strict=True):
        assert one.shape == other.shape
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-9)


def test_gradients_in_all_arguments_by_name():
    def f(a, b, *, scale=2.0):
        return scale * a * b**2

    assert ad.multigrad_dict(f)(3.0, b=5.0) == {"a": 50.0, "b": 60.0, "scale": 75.0}


def test_parts_of_modules_are_imported_as_there():
    import simpleautodiff.numpy.linalg as npla
    import simpleautodiff.scipy.stats.norm as norm
    from simpleautodiff.numpy.fft import rfft
    from simpleautodiff.scipy.stats.t import logpdf

    assert npla.solve.__wrapped__ is np.linalg.solve
    assert rfft.__wrapped__ is np.fft.rfft
    assert ad.grad(norm.logpdf)(2.0) == -2.0
    slope = ad.grad(logpdf)(1.0, 3.0)
    np.testing.assert_allclose(slope, -(3 + 1) * 1.0 / (3 + 1.0), rtol=1e-12)


def test_kinds_are_those_of_the_values():
    from simpleautodiff.builtins import isinstance, type

    def f(x):
        assert isinstance(x, np.ndarray)
        assert not isinstance(x, float)
        assert type(x) is np.ndarray
        return np.sum(x)

    np.testing.assert_array_equal(ad.grad(f)(np.ones(2)), [1, 1])


def test_what_a_callback_keeps_does_not_change():
    from simpleautodiff.misc.optimizers import adam

    seen = []
    keep = lambda x, i, g: seen.append(x)
    adam(lambda x, i: 2 * x, np.ones(2), num_iters=3, step_size=0.5, callback=keep)
    np.testing.assert_array_equal(seen[0], [1, 1])
    assert seen[1][0] < 1


def test_names_of_autograd_are_here():
    names = {name for name in vars(autograd) if callable(getattr(autograd, name))}
    assert {name for name in names if not hasattr(ad, name)} == set()
    theirs = vars(autograd.differential_operators).items()
    defined = {k for k, f in theirs if getattr(f, "__module__", "").endswith("_operators")}
    operators = vars(simpleautodiff.differential_operators)
    assert {name for name in defined if name[0] != "_" and name not in operators} == set()
    names = {name for name in vars(autograd.extend) if name[0] != "_"}
    assert {name for name in names if not hasattr(simpleautodiff.extend, name)} == OWN


def test_names_of_python_are_left_alone():
    from simpleautodiff import dict, isinstance, list, tuple, type

    assert [dict, list, tuple] == [{}.__class__, [].__class__, ().__class__]
    assert isinstance(ad.Node(2.0), float)
    assert type(ad.Node(2.0)) is float
    everything = {}
    exec("from simpleautodiff import *", everything)
    assert not {"dict", "isinstance", "list", "tuple", "type"} & everything.keys()
    with pytest.raises(AttributeError, match=r"module 'simpleautodiff' has no attribute 'gard'"):
        ad.gard
    with pytest.raises(ImportError):
        from simpleautodiff import gard  # noqa: F401


@pytest.mark.parametrize("package", ["autograd", "simpleautodiff"])
def test_rules_for_any_argument(package):
    extend = importlib.import_module(f"{package}.extend")
    grad = importlib.import_module(package).grad
    make_jvp = importlib.import_module(f"{package}.differential_operators").make_jvp
    x, y = np.array([1.0, 2.0]), np.array([3.0, -1.0])
    one, all_at_once = extend.primitive(lambda x, y: x * y), extend.primitive(lambda x, y: x * y)
    extend.defvjp_argnum(one, lambda i, ans, args, kwargs: lambda g: g * args[1 - i])
    extend.defvjp_argnums(
        all_at_once, lambda nums, ans, args, kwargs: lambda g: [g * args[1 - i] for i in nums]
    )
    for f in (one, all_at_once):
        total = lambda x, y, f=f: f(f(x, y), f(y, y))[0]  # x y³
        np.testing.assert_allclose(grad(total, 0)(x, y), [27, 0])
        np.testing.assert_allclose(grad(total, 1)(x, y), [27, 0])
        second = grad(lambda y: grad(total, 1)(x, y)[0])(y)  # noqa: B023
        np.testing.assert_allclose(second, [18, 0])
    pushed, linear = extend.primitive(lambda x, y: x * y), extend.primitive(lambda x, y: x * y)
    extend.defjvp_argnums(
        pushed,
        lambda nums, gs, ans, args, kwargs: sum(
            g * args[1 - i] for i, g in zip(nums, gs, strict=True)
        ),
    )
    extend.def_linear(linear)
    for f in (pushed, linear):
        value, slope = make_jvp(lambda x, f=f: f(f(x, x), y))(x)(np.ones(2))
        np.testing.assert_allclose(slope, 2 * x * y)
        np.testing.assert_allclose(value, x**2 * y)


def test_what_is_linear_has_a_reverse_mode():
    from simpleautodiff.extend import def_linear, defjvp, defvjp, primitive

    x, y = np.array([1.0, 2.0]), np.array([3.0, -1.0])
    f, g, h = (primitive(lambda x, y: np.dot(x, y)) for _ in range(3))
    def_linear(f)
    defjvp(g, "same", "same")
    defvjp(h, None, lambda ans, x, y: lambda bar: bar * x * 0)
    def_linear(h)  # does not replace a rule
    for product in (f, g):
        np.testing.assert_array_equal(ad.grad(product, 0)(x, y), y)
        np.testing.assert_array_equal(ad.grad(product, 1)(x, y), x)
        square = lambda x, product=product: product(x, x)
        np.testing.assert_array_equal(ad.hessian(square)(x), 2 * np.eye(2))
    np.testing.assert_array_equal(ad.grad(h, 1)(x, y), 0 * x)


def test_a_primitive_without_a_rule_says_so():
    from simpleautodiff.extend import defvjp, primitive

    f = primitive(lambda x, y: x * y)
    defvjp(f, lambda ans, x, y: lambda g: g * y, None)
    assert ad.grad(f, (0, 1))(2.0, 3.0) == (3.0, 0.0)
    with pytest.raises(ad.RuleError, match=r"argument 1; give it with defvjp"):
        ad.grad(primitive(lambda x: x))(1.0)


def test_rules_of_a_function_that_is_no_primitive_are_not_used_and_a_warning_says_so():
    from simpleautodiff.extend import defvjp

    def square(x):
        return x * x

    with pytest.warns(UserWarning, match="rules of square are not used.*Put @primitive before"):
        defvjp(square, lambda ans, x: lambda g: 7.0)
    assert ad.grad(square)(3.0) == 6.0


def test_a_wrong_rule_is_found():
    from simpleautodiff.extend import defvjp, primitive
    from simpleautodiff.test_util import check_grads

    f = primitive(lambda x: x * x)
    defvjp(f, lambda ans, x: lambda g: g * x)
    with pytest.raises(ad.CheckError):
        check_grads(f)(3.0)


def test_functions_of_hips_autograd_take_several_arguments():
    import autograd
    import autograd.numpy as anp

    f = lambda sin: lambda a, x, power=2: a * sin(x) ** power
    ours, theirs = f(np.sin), f(anp.sin)
    x, v = np.array([0.3, 1.2]), np.array([1.0, -0.5])
    pull, push = ad.make_vjp(ours, 1)(2.0, x, power=3), ad.make_jvp(ours, 1)(2.0, x, power=3)
    np.testing.assert_allclose(pull[0](v), autograd.make_vjp(theirs, 1)(2.0, x, power=3)[0](v))
    expected = autograd.make_vjp(theirs, 1)(2.0, x, power=3)[0](v)  # elementwise: its own transpose
    np.testing.assert_allclose(push(v)[1], expected)
    total, their_total = (lambda *a: np.sum(ours(*a))), (lambda *a: anp.sum(theirs(*a)))
    np.testing.assert_allclose(
        ad.hessian_vector_product(total, 1)(2.0, x, v),
        autograd.hessian_vector_product(their_total, 1)(2.0, x, v),
    )
    assert ad.make_vjp(lambda a, b: a * b, -1)(2.0, 3.0)[0](1.0) == 2.0


@pytest.mark.parametrize(
    "tree",
    [
        {"w": np.array([[1.0, 2.0], [3.0, 4.0]]), "b": 5.0},
        {10: 1.0, 9: 2.0, -1: np.array([3.0])},
        [{"z": (1.0, {"y": 2.0, "x": 3.0}), "a": [4.0]}, 5.0],
        ({}, {"b": {}, "a": 1.0}),
        {"B": 1.0, "a": 2.0, "A": 3.0},
    ],
)
def test_a_dict_is_flattened_in_the_order_of_its_sorted_keys(tree):
    ours, back = flatten_as_autograd(tree)
    theirs, theirs_back = importlib.import_module("autograd.misc").flatten(tree)
    np.testing.assert_array_equal(ours, theirs)
    coefficients = np.arange(1.0, 1 + len(theirs))
    np.testing.assert_equal(back(ours), tree)
    np.testing.assert_equal(back(coefficients), theirs_back(coefficients))
    gradient = ad.grad(lambda t: coefficients @ flatten_as_autograd(t)[0])(tree)
    np.testing.assert_equal(gradient, back(coefficients))


def test_a_module_and_its_function_have_one_name_in_any_order():
    assert importlib.import_module("simpleautodiff.misc.flatten").flatten({"a": 1.0})[0] == [1.0]
    assert importlib.import_module("simpleautodiff.misc").flatten({"a": 1.0})[0] == [1.0]


def test_a_dict_whose_keys_have_no_order_is_refused():
    with pytest.raises(ad.errors.ArgumentError, match="keys of one kind"):
        flatten_as_autograd({"a": 1.0, 2: 3.0})
