"""Libraries that import autograd themselves give the same numbers with this one in its place."""

import importlib.util
import json
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("autograd")

CLIENTS = {
    "autograd": """
import autograd.numpy as anp
from autograd import elementwise_grad, grad, hessian, jacobian, make_jvp
from autograd.extend import defvjp, primitive
from autograd.test_util import check_grads
twice = primitive(lambda x: 2 * x)
defvjp(twice, lambda value, x: lambda g: 2 * g)
boxes = []

def f(x, y):
    boxes.append(str(type(x)))
    stacked = anp.array([x[0] * y, anp.sum(anp.sin(x) / y), 3.0])
    return anp.sum(twice(stacked) ** 2) + np.float64(2.0) * anp.max(anp.outer(x, x))

x = np.array([0.3, -0.8, 1.2])
for modes in (["fwd"], ["rev"]):
    check_grads(lambda x: anp.concatenate([anp.sin(x), 2 / x]), modes=modes, order=2)(x)
check_grads(anp.max, order=2)(np.outer(x, x))
result = [
    jacobian(lambda x: anp.tanh(x) * x[::-1])(x).tolist(),
    hessian(f)(x, 2.0).tolist(),
    grad(grad(f, 1), 1)(x, 2.0).tolist(),
    elementwise_grad(elementwise_grad(anp.tanh))(x).tolist(),
    [float(v) for v in make_jvp(lambda x: anp.linalg.norm(x))(x)(x)],
    len({box for box in boxes if "ArrayBox" in box}),
]
""",
    "autograd_gamma": """
from autograd import grad, jacobian
from autograd_gamma import betainc, gammainc, gammaincc, gammainccln
x = np.linspace(0.3, 5.0, 6)
result = [
    [float(grad(gammainc, argnum)(2.5, 1.3)) for argnum in (0, 1)],
    float(grad(gammaincc)(0.7, 2.0)),
    jacobian(lambda a: gammainccln(a, x))(1.5).tolist(),
    float(grad(betainc, 2)(2.0, 3.0, 0.4)),
]
""",
    "pymanopt": """
import autograd.numpy as anp
import pymanopt
from pymanopt.manifolds import Euclidean, Product, Sphere
rs = np.random.RandomState(0)
A = rs.randn(5, 5)
A = A + A.T
sphere = Sphere(5)

@pymanopt.function.autograd(sphere)
def cost(x):
    return -x @ A @ x

problem = pymanopt.Problem(sphere, cost)
x = rs.randn(5)
x /= np.linalg.norm(x)
optimizer = pymanopt.optimizers.TrustRegions(verbosity=0)
best = optimizer.run(problem, initial_point=x).point
both = Product([Euclidean(3), Euclidean(2, 2)])

@pymanopt.function.autograd(both)
def two(u, M):
    return anp.sum(anp.sin(u) ** 2) + anp.linalg.norm(anp.exp(M)) * u[0]

pair = [rs.randn(3), rs.randn(2, 2)]
slopes = pymanopt.Problem(both, two).euclidean_gradient(pair)
result = [
    problem.riemannian_gradient(x).tolist(),
    problem.riemannian_hessian(x, sphere.random_tangent_vector(x) * 0 + A[0]).tolist(),
    float(cost(best)),
    [slope.tolist() for slope in slopes],
]
""",
    "lifelines": """
from lifelines import LogNormalFitter, SplineFitter, WeibullAFTFitter, WeibullFitter
from lifelines.datasets import load_rossi, load_waltons
mice, released = load_waltons(), load_rossi().iloc[:150]
fits = [
    WeibullFitter().fit(mice["T"], mice["E"]),
    SplineFitter([10, 40, 60]).fit(mice["T"], mice["E"]),
    LogNormalFitter().fit_interval_censoring(mice["T"] - 1, mice["T"] + 1),
    WeibullAFTFitter(penalizer=0.1).fit(released, "week", "arrest", ancillary=True),
]
result = [fit.summary[["coef", "se(coef)"]].values.tolist() for fit in fits]
""",
    "ceviche": """
import autograd.numpy as anp
from ceviche import fdfd_ez
from ceviche.jacobians import jacobian
rs = np.random.RandomState(0)
shape, source = (12, 12), np.zeros((12, 12))
source[6, 6] = 1e-8
eps = rs.rand(*shape) + 1
simulation = fdfd_ez(2 * np.pi * 200e12, 1e-6, eps, [3, 3])

def power(eps):
    simulation.eps_r = eps.reshape(shape)
    fields = simulation.solve(eps.reshape(shape) * source)
    return sum(anp.sum(anp.square(anp.abs(field))) for field in fields)

def along(c):
    return power(c * eps.ravel()).reshape(1)

result = [
    jacobian(power, mode="reverse")(eps.ravel()).ravel().tolist(),
    jacobian(along, mode="forward")(1.0).ravel().tolist(),
]
""",
    "vittles": """
import autograd.numpy as anp
import vittles
rs = np.random.RandomState(0)
A = rs.randn(3, 3)
A = A @ A.T + np.eye(3)
objective = lambda x, h: 0.5 * x @ (A @ x) - anp.sum(x * anp.sin(h))
h = np.array([0.1, -0.4, 0.7])
best = np.linalg.solve(A, np.sin(h))
make = vittles.ParametricSensitivityTaylorExpansion.optimization_objective
series = [make(objective, best, h, order=2, forward_mode=mode) for mode in (True, False)]
linear = vittles.HyperparameterSensitivityLinearApproximation(objective, best, h)
result = [
    [expansion.evaluate_taylor_series(h + 0.1).tolist() for expansion in series],
    linear.get_dopt_dhyper().tolist(),
]
""",
}
HEADER = """
import json, sys, warnings
warnings.simplefilter("ignore")
if sys.argv[1] == "here":
    import simpleautodiff
    simpleautodiff.install_as_autograd()
import numpy as np
np.random.seed(0)
"""


def run(program, which):
    code = f"{HEADER}{program}\nprint(json.dumps(result))"
    command = [sys.executable, "-c", code, which]
    out = subprocess.run(command, capture_output=True, text=True, check=False)
    assert out.returncode == 0, out.stderr
    return json.loads(out.stdout.splitlines()[-1])


def numbers(result):
    if isinstance(result, list):
        return [number for part in result for number in numbers(part)]
    return [result]


@pytest.mark.slow
@pytest.mark.parametrize("client", CLIENTS)
def test_clients_give_the_same_numbers(client):
    if importlib.util.find_spec(client) is None:
        pytest.skip(f"{client} is not installed: pip install {client.replace('_', '-')}")
    ours, theirs = (numbers(run(CLIENTS[client], which)) for which in ("here", "there"))
    assert len(ours) == len(theirs) > 0
    np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-8)
