"""Compiled and written-out derivatives: each feature of the table, exercised."""

import ctypes
import math
import pickle
import shutil
import subprocess

import numpy as np
import pytest

import simpleautodiff as ad
from features import shows


def paper(x1, x2):
    return ad.log(x1) + x1 * x2 - ad.sin(x2)


@shows("Just-in-time or ahead-of-time compiled evaluation")
def test_compiled():
    pytest.importorskip("llvmlite")
    slope = ad.jit(ad.grad(paper, (0, 1)), tier="optimised")
    for _ in range(3):
        assert slope(2.0, 5.0) == pytest.approx((5.5, 2 - math.cos(5)), rel=1e-15)
    assert "define" in slope.llvm()


@shows("Emits readable Python source of the derivative")
def test_source():
    text = ad.source(ad.grad(paper), 2.0, 5.0)
    assert str(text).startswith("def grad_of_paper(x1, x2):\n")
    names = {}
    exec(str(text) if "import" in str(text) else f"import math\n{text}", names)
    assert names["grad_of_paper"](2.0, 5.0) == 5.5


@shows("Emits C")
def test_c(tmp_path):
    slope = ad.jit(ad.grad(lambda x: np.sum(np.sin(x) ** 2)))
    x = np.linspace(0, 1, 5)
    for _ in range(3):
        slope(x)
    code = slope.to_c()
    assert "void" in code
    if shutil.which("cc") is None:
        pytest.skip("the C file was written; there is no C compiler here to compile it")
    (tmp_path / "slope.c").write_text(code)
    command = ["cc", "-O1", "-shared", "-fPIC", "slope.c", "-o", "slope.so", "-lm"]
    subprocess.run(command, cwd=tmp_path, check=True)
    assert ctypes.CDLL(str(tmp_path / "slope.so"))


@shows("Graph optimisation (CSE, DCE, folding)")
def test_optimisation():
    def f(x):
        _unused = ad.exp(x)
        return ad.sin(x) * ad.cos(x) + ad.sin(x) * ad.cos(x) + ad.sqrt(16.0)

    compiled = ad.jit(f, tier="tape")
    for _ in range(3):
        assert compiled(0.5) == pytest.approx(math.sin(1.0) + 4, rel=1e-15)
    program = compiled.source()
    assert program.count("sin") == program.count("cos") == 1
    assert "exp" not in program
    assert "sqrt" not in program


@shows("Record once, replay without Python")
def test_replay():
    calls = []

    def counted(x):
        calls.append(1)
        return x * ad.sin(x)

    slope = ad.jit(ad.grad(counted), tier="tape")
    found = [slope(x) for x in np.linspace(0, 3, 50)]
    expected = [math.sin(x) + x * math.cos(x) for x in np.linspace(0, 3, 50)]
    assert found == pytest.approx(expected, rel=1e-14)
    assert len(calls) <= 3


@shows("Trace can be saved and loaded")
def test_saved_trace():
    saved = pickle.dumps(ad.trace(lambda a, b: a * ad.sin(b) + 2 * b, 1.5, 0.5))
    assert ad.grad(pickle.loads(saved).replay, (0, 1))(2.0, 0.0) == (0.0, 4.0)
