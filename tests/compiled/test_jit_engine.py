"""From LLVM's text to machine code: results, levels, lifetimes, threads, and life without LLVM."""

import builtins
import ctypes
import gc
import importlib
import math
import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest

import simpleautodiff as ad
from simpleautodiff.compiled.native import compile as engine, external_symbols as externals

NUMBER = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)

WAVE = """
declare double @sin(double)
define internal double @square(double %x) alwaysinline {
  %y = fmul double %x, %x
  ret double %y
}
define double @wave(double %x) {
  %s = call double @sin(double %x)
  %q = call double @square(double %s)
  %r = call double @square(double %s)
  %z = fadd double %q, %r
  ret double %z
}
"""


COMPILE_AND_DROP = """
import sys
from simpleautodiff.compiled.native import compile as engine

def compile_and_drop(times):
    for number in range(times):
        text = sys.argv[1].replace("%q, %r", f"%q, {float(number)}")
        assert engine.build(text, level=1, names=["wave"]).address("wave")

def resident():  # in kB
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4

compile_and_drop(300)
before = resident()
compile_and_drop(1500)
print(resident() - before)
"""


@pytest.fixture(autouse=True)
def no_disk(monkeypatch):
    monkeypatch.setenv("SIMPLEAUTODIFF_CACHE", "off")


@pytest.mark.parametrize("level", [0, 1, 2])
def test_every_level_computes_the_same(level):
    code = engine.build(WAVE, level=level, names=["wave"])
    assert NUMBER(code.address("wave"))(0.7) == pytest.approx(2 * math.sin(0.7) ** 2, rel=1e-15)
    assert code.ir == WAVE
    assert not code.from_cache
    assert code.seconds > 0


@pytest.mark.parametrize("level", [0, 1, 2])
def test_functions_to_be_inlined_are_inlined_at_every_level(level):
    assembly = engine.build(WAVE, level=level, names=["wave"]).asm()
    assert "wave:" in assembly
    assert "square" not in assembly


def test_what_is_computed_twice_is_computed_once_above_level_0():
    def multiplications(level):
        return engine.build(WAVE, level=level, names=["wave"]).asm().count("mul")

    assert multiplications(1) < multiplications(0)


def test_text_that_is_wrong_is_refused_and_not_run():
    with pytest.raises(RuntimeError, match="expected"):
        engine.build("define double @f(double %x) {\n  nonsense\n}", level=1, names=["f"])
    twice = "define double @f(double %x) {\n  %y = fadd double %z, %x\n  %z = fadd double %x, %x\n"
    with pytest.raises(RuntimeError):
        engine.build(twice + "  ret double %y\n}", level=1, names=["f"])


def test_a_name_nobody_has_is_refused():
    text = "declare double @nobody_has_this(double)\ndefine double @f(double %x) {\n"
    text += "  %y = call double @nobody_has_this(double %x)\n  ret double %y\n}"
    with pytest.raises(LookupError, match="nobody_has_this"):
        engine.build(text, level=1, names=["f"])


@pytest.mark.parametrize("name", ["sin", "lgamma", "erf", "expm1", "cbrt", "log1p"])
def test_mathematics_of_the_c_library(name):
    text = f"declare double @{name}(double)\ndefine double @f(double %x) {{\n"
    text += f"  %y = call double @{name}(double %x)\n  ret double %y\n}}"
    code = engine.build(text, level=1, names=["f"])
    assert NUMBER(code.address("f"))(0.3) == pytest.approx(getattr(math, name)(0.3), rel=1e-15)


def test_functions_of_llvm_become_calls_of_the_c_library():
    text = "declare <4 x double> @llvm.sin.v4f64(<4 x double>)\ndefine void @f(ptr %x) {\n"
    text += "  %v = load <4 x double>, ptr %x, align 8\n"
    text += "  %s = call <4 x double> @llvm.sin.v4f64(<4 x double> %v)\n"
    text += "  store <4 x double> %s, ptr %x, align 8\n  ret void\n}"
    assert externals.find_declared(text) == ["sin"]
    values = np.array([0.1, 2.0, -3.0, 40.0])
    expected = [math.sin(x) for x in values]
    code = engine.build(text, level=1, names=["f"])
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(code.address("f"))(values.ctypes.data)
    np.testing.assert_allclose(values, expected, rtol=1e-15)


def test_objects_of_python_and_numpy_are_found_by_name():
    text = "@numpy.float64 = external global i8\n@PyFloat_Type = external global i8\n"
    text += "define ptr @dtype() {\n  ret ptr @numpy.float64\n}\n"
    text += "define ptr @kind() {\n  ret ptr @PyFloat_Type\n}\n"
    code = engine.build(text, level=1, names=["dtype", "kind"])
    pointer = ctypes.CFUNCTYPE(ctypes.c_size_t)
    assert pointer(code.address("dtype"))() == id(np.dtype(np.float64))
    assert pointer(code.address("kind"))() == id(float)


ALONE = """
import sys
from simpleautodiff.compiled.native.external_symbols import addresses
assert all(addresses(["dgemm", "dpotrf"]).values())
assert "scipy.linalg" not in sys.modules
import scipy.linalg
assert scipy.linalg.cython_blas.__name__ == "scipy.linalg.cython_blas"
assert sys.modules["scipy.linalg.cython_lapack"] is scipy.linalg.cython_lapack
assert scipy.linalg.solve([[2.0]], [4.0])[0] == 2.0
"""


def test_blas_is_loaded_without_the_whole_package_which_can_be_imported_later():
    done = subprocess.run([sys.executable, "-c", ALONE], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_blas_and_lapack_are_those_of_scipy():
    text = """
declare double @ddot(ptr, ptr, ptr, ptr, ptr)
declare void @dpotrf(ptr, ptr, ptr, ptr, ptr)
@three = constant i32 3
@one = constant i32 1
@two = constant i32 2
@upper = constant i8 85
define double @dot(ptr %x, ptr %y) {
  %r = call double @ddot(ptr @three, ptr %x, ptr @one, ptr %y, ptr @one)
  ret double %r
}
define i32 @cholesky(ptr %a) {
  %status = alloca i32
  call void @dpotrf(ptr @upper, ptr @two, ptr %a, ptr @two, ptr %status)
  %r = load i32, ptr %status
  ret i32 %r
}
"""
    code = engine.build(text, level=1, names=["dot", "cholesky"])
    x, y = np.array([1.0, 2.0, 3.0]), np.array([4.0, -5.0, 6.0])
    dot = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_void_p, ctypes.c_void_p)(code.address("dot"))
    assert dot(x.ctypes.data, y.ctypes.data) == 12.0
    a = np.array([[4.0, 2.0], [2.0, 5.0]])
    assert (
        ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(code.address("cholesky"))(a.ctypes.data)
        == 0
    )
    np.testing.assert_allclose(np.tril(a), [[2.0, 0.0], [1.0, 2.0]])  # upper in Fortran's order


@pytest.mark.slow
def test_code_lives_as_long_as_its_object():
    codes = [engine.build(WAVE, level=0, names=["wave"]) for _ in range(20)]
    gc.collect()
    values = {NUMBER(code.address("wave"))(0.7) for code in codes}
    assert len({code.address("wave") for code in codes}) == 20
    assert values == {2 * math.sin(0.7) ** 2}


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the resident set is read from /proc")
def test_memory_stays_flat_over_many_codes():
    """In a process of its own, whose memory nothing else uses."""
    done = subprocess.run([sys.executable, "-c", COMPILE_AND_DROP, WAVE], capture_output=True)
    grown = int(done.stdout)
    assert grown < 7000  # kB, so 4.7 kB each: one engine for all would keep 11


def test_several_threads_compile_at_the_same_time():
    failures = []

    def compile_some(start):
        for number in range(start, start + 10):
            text = WAVE.replace("%q, %r", f"%q, {float(number)}")
            code = engine.build(text, level=number % 3, names=["wave"])
            expected = math.sin(0.7) ** 2 + number
            if abs(NUMBER(code.address("wave"))(0.7) - expected) > 1e-12:
                failures.append(number)

    threads = [threading.Thread(target=compile_some, args=(10 * i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_without_llvmlite_one_message_says_how_to_install_it(monkeypatch):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.startswith("llvmlite"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    engine._has_llvm.cache_clear()
    engine._say_missing.cache_clear()
    try:
        with pytest.warns(RuntimeWarning, match=r"pip install simpleautodiff\[jit\]"):
            assert not engine.available()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert not engine.available()
    finally:
        engine._has_llvm.cache_clear()
        engine._say_missing.cache_clear()
    monkeypatch.undo()
    assert engine.available()


def test_llvm_is_not_loaded_before_it_is_needed():
    program = "import sys, simpleautodiff.compiled.native.compile; print('llvmlite' in sys.modules)"
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert answer.stdout.strip() == "False", answer.stderr


@pytest.mark.parametrize("tier", [None, "cheap", "optimised"])
def test_what_llvm_refuses_goes_on_without_and_says_so(tier, monkeypatch):
    def fail(*_, **__):
        raise RuntimeError("LLVM fell over")

    pytest.importorskip("llvmlite")
    monkeypatch.setattr(
        importlib.import_module("simpleautodiff.compiled.native.compile"), "build", fail
    )
    f, rows = ad.jit(lambda x: x * x, tier=tier), ad.jit(ad.vmap(lambda x: x * x), tier=tier)
    for _ in range(80):
        assert f(3.0) == 9.0
        assert rows(np.full(3, 3.0)).tolist() == [9.0] * 3
    assert "could not be compiled: LLVM fell over" in f.wait().explain()
    assert "could not be compiled: LLVM fell over" in rows.wait().explain()


def test_compiling_writes_nothing_to_the_terminal(capfd):
    pytest.importorskip("llvmlite")
    jitted = ad.jit(ad.vmap(lambda x: np.sin(x) + 0.123), tier="optimised")
    jitted(np.ones(3))
    assert "1 path" in jitted.explain()
    jitted.asm()
    assert capfd.readouterr() == ("", "")
