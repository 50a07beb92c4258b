"""Derivatives and recorded programs are pickled with plain pickle, and used elsewhere."""

import pickle
import subprocess
import sys

import numpy as np
import pytest

import simpleautodiff as ad

pytestmark = pytest.mark.filterwarnings("ignore:llvmlite is not installed:RuntimeWarning")


def cubed(x):
    return np.sum(x**3)


@ad.grad
def decorated(x):
    return x**2


class Spring:
    stiffness = 3.0

    def energy(self, x):
        return self.stiffness * x**2 / 2

    force = ad.grad(energy, 1)


@pytest.mark.parametrize(
    "make",
    [
        *(ad.grad, ad.hessian, ad.jit, lambda f: ad.jit(ad.grad(f)), ad.jacrev),
        *(lambda f: ad.vmap(ad.grad(f)), lambda f: ad.jacobian(ad.grad(f), mode="forward")),
    ],
)
def test_what_transformations_make_is_pickled(make):
    f, x = make(cubed), np.arange(6.0).reshape(2, 3)
    again = pickle.loads(pickle.dumps(f))
    for found, expected in zip(np.atleast_1d(again(x)), np.atleast_1d(f(x)), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_names_and_methods_are_those_of_functions():
    assert pickle.loads(pickle.dumps(decorated)) is decorated
    assert decorated.__name__ == "grad of decorated"
    assert Spring().force(2.0) == 6.0
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(ad.grad(lambda x: x))


def network(w, x):
    hidden = np.tanh(w @ x)
    joined = np.concatenate([hidden, x[1:] ** 2])
    return np.sum(joined[::2]) + np.linalg.norm(x) * np.einsum("ij,j->", w, x)


@pytest.mark.parametrize("f", [network, lambda w, x: network(w, x)], ids=["imported", "local"])
def test_a_recorded_program_is_loaded_and_differentiated_again(f):
    rng = np.random.default_rng(0)
    w, x = rng.normal(size=(3, 2)), rng.normal(size=2)
    trace = ad.trace(f, w, x)
    again = pickle.loads(pickle.dumps(trace))
    assert str(again) == str(trace)
    assert [step.line for step in again.steps] == [step.line for step in trace.steps]
    for name in ("w", "x"):
        np.testing.assert_array_equal(again.adjoints()[name], trace.adjoints()[name])
    other = rng.normal(size=2)
    found = ad.grad(again.replay, (0, 1))(w, other)
    for mine, expected in zip(found, ad.grad(network, (0, 1))(w, other), strict=True):
        np.testing.assert_allclose(mine, expected, rtol=1e-13)
    np.testing.assert_allclose(ad.hessian(again.f, 1)(w, other), ad.hessian(network, 1)(w, other))
    assert again.figure().svg()


def test_a_program_is_used_where_its_function_is_not_known(tmp_path):
    file = tmp_path / "program.pickle"
    file.write_bytes(pickle.dumps(ad.trace(lambda a, b: a * np.sin(b) + 2 * b, 1.5, 0.5)))
    code = (
        f"import pickle, simpleautodiff as ad; t = pickle.load(open({str(file)!r}, 'rb'));"
        "print(ad.grad(t.replay, (0, 1))(2.0, 0.0), ad.jit(ad.grad(t.replay))(2.0, 1.0))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.split()[:2] == ["(0.0,", "4.0)"]
    assert float(out.stdout.split()[2]) == pytest.approx(np.sin(1.0))


def test_what_cannot_be_saved_is_named():
    own = ad.primitive(lambda v, x: 3 * x**2, name="own cube")(lambda x: x**3)
    with pytest.raises(ad.TraceError, match="'own cube' is no row of the table"):
        pickle.dumps(ad.trace(lambda x: own(x) + 1, 2.0))
    with pytest.raises(ad.ArgumentError, match="the inputs x, y"):
        ad.trace(lambda x, y: x * y, 1.0, 2.0).replay(1.0)
