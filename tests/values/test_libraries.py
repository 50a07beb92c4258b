"""Arrays of other libraries: the same derivatives, in arrays of the same library and kind."""

import importlib.util
import json
import subprocess
import sys

import array_api_strict
import cloudpickle
import dask
import dask.array as da
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import array_cases as cases
import simpleautodiff as ad
from simpleautodiff.values.other_arrays import wrap_foreign

jax.config.update("jax_enable_x64", True)

LIBRARIES = {
    "jax": jnp.asarray,
    "dask": lambda x: da.from_array(x, chunks=2),
    "strict": array_api_strict.asarray,
}
if importlib.util.find_spec("torch"):  # too large to ask for; tested where it is installed
    import torch

    LIBRARIES["torch"] = torch.asarray
every_library = pytest.mark.parametrize("library", LIBRARIES)


def numpy_of(x):
    return np.asarray(x.compute() if isinstance(x, da.Array) else x)


@pytest.mark.slow
@every_library
@pytest.mark.parametrize(("name", "f", "x"), cases.CASES, ids=[case[0] for case in cases.CASES])
def test_every_function(library, name, f, x):
    make = LIBRARIES[library]
    total = lambda x: np.sum(np.sin(f(x)))
    value, gradient = ad.value_and_grad(total)(make(x))
    assert type(gradient) is type(make(x))
    expected = ad.grad(total)(x)
    with np.errstate(all="ignore"):  # Dask computes later, what np.where does not choose included
        np.testing.assert_allclose(numpy_of(value), total(x), rtol=1e-10)
        np.testing.assert_allclose(numpy_of(gradient), expected, rtol=1e-8, atol=1e-10)


OF_REALS = [
    *("absolute", "fabs", "arcsinh", "arctan", "cbrt", "ceil", "cos", "cosh", "deg2rad", "exp"),
    *("exp2", "expm1", "floor", "negative", "positive", "rad2deg", "reciprocal", "rint", "sign"),
    *("sin", "sinh", "square", "tan", "tanh", "trunc", "isnan", "signbit", "conjugate"),
    *("add", "arctan2", "copysign", "divide", "floor_divide", "fmax", "fmin", "fmod", "hypot"),
    *("logaddexp", "logaddexp2", "maximum", "minimum", "multiply", "remainder", "subtract"),
]


@every_library
@pytest.mark.parametrize("name", OF_REALS)
def test_a_ufunc_means_the_same_in_every_library(library, name):
    make, ufunc = LIBRARIES[library], getattr(np, name)
    x, y = np.array([-5.5, -2.5, 0.3, 4.0]), np.array([2.0, -1.5, -0.7, 3.0])
    numbers = (x, y)[: ufunc.nin]
    found = ufunc(*[wrap_foreign(make(number)) for number in numbers])
    np.testing.assert_allclose(numpy_of(found.array), ufunc(*numbers), rtol=1e-14, atol=1e-15)


X = np.array([[0.5, -1.0, 2.0], [1.5, 0.3, -0.7]])
W = np.array([0.2, -0.4, 1.1])


def loss(w, x):
    scores = np.matmul(x, w)
    return np.mean(np.logaddexp(0, -scores)) + np.linalg.norm(w) + np.max(w) * np.sum(w[[0, 0, 2]])


@pytest.mark.slow
@every_library
def test_every_transformation(library):
    make, f = LIBRARIES[library], lambda w: np.tanh(np.matmul(make(X), w))
    plain = lambda w: np.tanh(X @ w)
    w = make(W)
    results = {
        "jvp": (ad.jvp(f, (w,), (w,))[1], ad.jvp(plain, (W,), (W,))[1]),
        "vjp": (ad.vjp(f, w)[1](make(X[:, 0]))[0], ad.vjp(plain, W)[1](X[:, 0])[0]),
        "jacfwd": (ad.jacfwd(f)(w), ad.jacfwd(plain)(W)),
        "jacrev": (ad.jacrev(f)(w), ad.jacrev(plain)(W)),
        "hessian": (ad.hessian(loss)(w, make(X)), ad.hessian(loss)(W, X)),
        "hvp": (
            ad.hvp(lambda w: loss(w, make(X)), (w,), (w,)),
            ad.hvp(lambda w: loss(w, X), (W,), (W,)),
        ),
        "vmap": (
            ad.vmap(ad.grad(loss), in_axes=(None, 0))(w, make(X[:, None])),
            ad.vmap(ad.grad(loss), in_axes=(None, 0))(W, X[:, None]),
        ),
        "value": (ad.value_and_grad(loss)(w, make(X))[0], loss(W, X)),
    }
    for name, (ours, expected) in results.items():
        assert type(ours) is type(w), name
        np.testing.assert_allclose(numpy_of(ours), expected, rtol=1e-10, atol=1e-12, err_msg=name)


@every_library
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_kinds_are_kept(library, kind):
    w = LIBRARIES[library](W.astype(kind))
    for derivative in (ad.grad(lambda w: np.sum(np.exp(w) / 3)), ad.vmap(ad.grad(lambda x: x**3))):
        assert derivative(w).dtype == w.dtype
    assert ad.grad(lambda w: 0.0 * w[0])(w).dtype == w.dtype
    assert type(ad.grad(lambda w: 3.0)(w)) is type(w)


@every_library
def test_plain_parameters_and_foreign_data(library):
    data = LIBRARIES[library](X)
    gradient = ad.grad(lambda w: np.sum(np.exp(np.matmul(data, w))))(W)
    assert type(gradient) is np.ndarray
    np.testing.assert_allclose(gradient, ad.grad(lambda w: np.sum(np.exp(X @ w)))(W))


@every_library
def test_conditions_of_the_library(library):
    make = LIBRARIES[library]
    data = make(X)
    f = lambda w, x: np.sum(np.where(x > 0, np.multiply(x, w), np.exp(w)))
    gradient = ad.grad(lambda w: f(w, data))(make(W))
    np.testing.assert_allclose(numpy_of(gradient), ad.grad(lambda w: f(w, X))(W), rtol=1e-12)


@pytest.mark.slow
@every_library
def test_many_numbers(library):
    """Of which NumPy's are computed in other ways than few."""
    x = np.linspace(-3, 3, 3000)
    for f in (lambda x: np.sum(np.logaddexp(0.5, x)), lambda x: np.sum(ad.sigmoid(x))):
        gradient = ad.grad(f)(LIBRARIES[library](x))
        np.testing.assert_allclose(np.asarray(gradient), ad.grad(f)(x), rtol=1e-12)


def test_dask_stays_lazy():
    w, x = da.from_array(W), da.from_array(X, chunks=(1, 3))
    computed = []
    with dask.callbacks.Callback(pretask=lambda key, *rest: computed.append(key)):
        value, gradient = ad.value_and_grad(loss)(w, x)
        second = ad.hvp(lambda w: loss(w, x), (w,), (w,))
    assert not computed
    results = dask.compute(value, gradient, second)
    expected = (loss(W, X), ad.grad(loss)(W, X), ad.hvp(lambda w: loss(w, X), (W,), (W,)))
    for ours, theirs in zip(results, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(
    "transform",
    [
        ad.grad,
        ad.hessian,
        lambda f: ad.vmap(ad.grad(f)),
        lambda f: ad.jacobian(ad.grad(ad.checkpoint(f))),
        lambda f: ad.grad(f, kinks="raise"),
        lambda f: ad.jit(ad.grad(f)),
    ],
)
def test_derivatives_travel(transform):
    """As Dask sends them: by value, for a process that has never seen them."""
    f, x = transform(lambda x: np.sum(x**3)), np.arange(1.0, 4.0)
    there = "import sys, pickle; f, x = pickle.loads(sys.stdin.buffer.read()); print(f(x).tolist())"
    sent = cloudpickle.dumps((f, x))
    call = [sys.executable, "-c", there]
    found = subprocess.run(call, input=sent, capture_output=True, check=True).stdout
    np.testing.assert_allclose(json.loads(found), f(x), rtol=1e-15)


@pytest.mark.slow
def test_dask_on_a_cluster():
    from dask.distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None
        ) as c,
        Client(c),
    ):
        x = da.from_array(np.tile(X, (50, 1)), chunks=(20, 3))
        gradient = ad.grad(loss)(da.from_array(W), x).compute()
    np.testing.assert_allclose(gradient, ad.grad(loss)(W, np.tile(X, (50, 1))), rtol=1e-12)


def test_inside_jit_of_jax():
    gradient = jax.jit(lambda w, x: ad.grad(lambda w: np.sum(np.tanh(np.matmul(x, w))))(w))(W, X)
    np.testing.assert_allclose(gradient, ad.grad(lambda w: np.sum(np.tanh(X @ w)))(W), rtol=1e-12)


def test_the_array_namespace_of_a_node():
    def f(x):
        xp = x.__array_namespace__()
        return xp.sum(xp.exp(x) * xp.permute_dims(x, (1, 0)).T)

    gradient = ad.grad(f)(array_api_strict.asarray(X))
    np.testing.assert_allclose(np.asarray(gradient), np.exp(X) * (1 + X))


def test_functions_of_pytorch():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    x, w = torch.asarray(X), torch.asarray(W)
    f = lambda w: torch.sum(torch.tanh(x @ w) ** 2) + (1 - w).sum() - (2 / (3 + w)).mean()
    leaf = w.clone().requires_grad_()
    f(leaf).backward()
    np.testing.assert_allclose(ad.grad(f)(w).numpy(), leaf.grad.numpy(), rtol=1e-12)
    with pytest.raises(ad.RuleError, match=r"torch.std of a node is not answered"):
        ad.grad(lambda w: torch.std(w))(w)


@pytest.mark.parametrize("library", ["jax", "dask"])
@pytest.mark.parametrize(
    "f", [lambda a, w: a @ w, lambda a, w: a * w, lambda a, w: a - w, lambda a, w: a**w]
)
def test_operators_of_foreign_data_and_a_plain_node(library, f):
    gradient = ad.grad(lambda w: np.sum(np.exp(f(LIBRARIES[library](X**2), w))))(W)
    np.testing.assert_allclose(gradient, jax.grad(lambda w: jnp.sum(jnp.exp(f(X**2, w))))(W))


@every_library
def test_a_triangle_of_a_matrix(library):
    a = X @ X.T + np.triu(np.ones((len(X), len(X))), 1)
    for half in ("L", "U"):
        found = np.linalg.eigvalsh(wrap_foreign(LIBRARIES[library](a)), half)
        np.testing.assert_allclose(found.numpy(), np.linalg.eigvalsh(a, half), atol=1e-12)
        found = np.linalg.eigh(wrap_foreign(LIBRARIES[library](a)), half)[0]
        np.testing.assert_allclose(found.numpy(), np.linalg.eigvalsh(a, half), atol=1e-12)


@every_library
@pytest.mark.parametrize("name", ["sum", "prod", "max", "min"])
def test_reductions_that_begin_with_a_number(library, name):
    reduce = getattr(np, name)
    for x in (X, X[:0]):
        found = reduce(wrap_foreign(LIBRARIES[library](x)), axis=0, initial=0.5)
        np.testing.assert_allclose(found.numpy(), reduce(x, axis=0, initial=0.5))


def test_functions_of_dask():
    data = da.from_array(X)
    for f in (lambda w: da.where(data > 0, data, w), lambda w: da.dot(data, w), da.asarray):
        with pytest.raises(ad.RuleError, match=r"dask.array of a node is not answered"):
            ad.grad(lambda w, f=f: np.sum(f(w)))(W)


def test_refusals():
    with pytest.raises(ad.ValueKindError, match="unknown shape"):
        ad.grad(np.sum)(da.from_array(W)[da.from_array(W) > 0])
    with pytest.raises(ad.ValueKindError, match="array of"):
        ad.grad(np.sum)(da.from_array(np.array(["a"])))


@every_library
def test_an_array_is_iterated_over_to_its_end(library):
    def f(x):
        total = 0.0
        for positive, element in zip(x > 0, x, strict=True):
            total = total + element**2 if positive else total
        return total

    gradient = ad.grad(f)(LIBRARIES[library](np.array([1.0, -1.0, 3.0])))
    np.testing.assert_array_equal(numpy_of(gradient), [2, 0, 6])
    with pytest.raises(TypeError, match="single number"):
        iter(wrap_foreign(LIBRARIES[library](np.array(1.0))))


@every_library
def test_a_nan_is_found_in_an_array_of_every_library(library):
    bad = ad.find_nan(lambda a: np.sum(np.log(a)))(LIBRARIES[library](np.array([1.0, -1.0])))
    assert (bad.operator, bad.index) == ("log", (1,))


def test_places_found_in_arrays_of_other_libraries_are_whole_numbers():
    torch = pytest.importorskip("torch")
    slope = ad.grad(lambda x: x[int(np.argmax(x))] ** 2)(torch.tensor([1.0, 3.0, 2.0]))
    assert slope.tolist() == [0.0, 6.0, 0.0]
    assert ad.grad(lambda x: [x[0], x[1]][np.argmax(x)])(torch.tensor([1.0, 3.0])).tolist() == [
        0,
        1,
    ]


def test_arrays_of_other_libraries_stay_there_in_another_precision():
    torch = pytest.importorskip("torch")
    kinds = []

    def f(x):
        y = x.astype(np.float64)
        kinds.append(type(y.value.array))
        return np.sum(y**3)

    assert ad.grad(f)(torch.ones(2)).tolist() == [3.0, 3.0]
    second = ad.hessian(lambda x: np.sum(np.arange(2.0) * x**3))(torch.ones(2))
    assert kinds == [torch.Tensor]
    assert second.dtype == torch.float32
    assert second.tolist() == [[0.0, 0.0], [0.0, 6.0]]
