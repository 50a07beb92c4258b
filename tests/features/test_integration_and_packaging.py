"""Other libraries, devices, the package itself: each feature of the table, exercised."""

import importlib.metadata
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

import simpleautodiff as ad
from features import shows

ROOT = pathlib.Path(__file__).parents[2]


@shows("SciPy optimize / solve_ivp adapters (jac, hess, sparsity)")
def test_adapters():
    scipy = pytest.importorskip("scipy.optimize")
    from simpleautodiff import plug

    x0 = np.array([-1.2, 1.0, 1.3])
    for method in ("BFGS", "trust-exact", "Newton-CG"):
        found = plug.minimize(scipy.rosen, x0, method=method)
        np.testing.assert_allclose(found.x, np.ones(3), rtol=1e-4)
    stiff = lambda t, y: np.array([y[1], 1000 * (1 - y[0] ** 2) * y[1] - y[0]])
    assert plug.solve_ivp(stiff, (0, 100), [2.0, 0.0], method="BDF").success
    residuals = lambda x: np.concatenate([10 * (x[1:] - x[:-1] ** 2), 1 - x[:-1]])
    found = scipy.least_squares(residuals, x0, jac=ad.sparse_jacobian(residuals), tr_solver="lsmr")
    np.testing.assert_allclose(found.x, np.ones(3), rtol=1e-6)
    pattern = ad.sparsity(residuals)(x0)
    assert scipy.least_squares(residuals, x0, jac_sparsity=pattern, tr_solver="lsmr").success


@shows("GPU arrays")
@pytest.mark.gpu
def test_gpu():
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("there is no CUDA device")
    x = torch.tensor([0.5, 1.0], dtype=torch.float64, device="cuda")
    slope = ad.grad(lambda x: np.sum(np.sin(x) ** 2))(x)
    assert slope.device == x.device
    np.testing.assert_allclose(slope.cpu(), np.sin(2 * x.cpu().numpy()))


@shows("Other array libraries (CuPy, Dask) through one API")
def test_other_libraries():
    da = pytest.importorskip("dask.array")
    x = np.linspace(0, 1, 10)
    slope = ad.grad(lambda x: np.sum(np.sin(x) ** 2))(da.from_array(x, chunks=3))
    assert isinstance(slope, da.Array)
    np.testing.assert_allclose(slope.compute(), np.sin(2 * x), rtol=1e-14)


@shows("Pure-Python wheel, NumPy the only dependency")
def test_dependencies():
    metadata = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert re.search(r'^dependencies = \["numpy[^",]*"\]$', metadata, re.M)
    package = pathlib.Path(ad.__file__).parent
    assert not [path for path in package.rglob("*") if path.suffix in (".c", ".pyx", ".so", ".pyd")]
    assert importlib.metadata.version("numpy")


@shows("py.typed")
def test_types():
    assert (pathlib.Path(ad.__file__).parent / "py.typed").exists()


WITHOUT_MORE = """
import sys
class OnlyNumPy:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"scipy", "llvmlite", "sympy", "mpmath", "rich", "jax", "torch"}:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, OnlyNumPy())
import numpy as np, simpleautodiff as ad
f = lambda x1, x2: np.log(x1) + x1 * x2 - np.sin(x2)
slope = ad.jit(ad.grad(f))
from simpleautodiff.cli.site.playground import answer
assert answer({"text": "x*y", "at": "x=2 y=3"})["program"]["nodes"]
print([slope(2.0, 5.0) for _ in range(9)][-1], ad.trace(f, 2.0, 5.0).adjoints()["x1"])
"""


@shows("Runs in the browser (Pyodide)")
def test_python_and_numpy_are_enough():
    """What a page needs is there without more; tests/cli/test_site_browser.py opens one."""
    command = [sys.executable, "-c", WITHOUT_MORE]
    answer = subprocess.run(command, capture_output=True, text=True, check=True)
    assert answer.stdout.split() == ["5.5", "5.5"]
