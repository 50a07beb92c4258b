"""The end of a program does not wait for the thread that compiles; forks come between tasks."""

import math
import os
import subprocess
import sys
import threading
import time
import warnings

import numpy as np
import pytest

import simpleautodiff as ad
from simpleautodiff.compiled.native.background import attempt, later, wait

LONG = 600  # seconds: longer than any machine needs to end the programs below


def run(code):
    start = time.monotonic()
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=2 * LONG
    )
    return ended, time.monotonic() - start


BUSY = f"""
import sys, threading, time
from simpleautodiff.compiled.native.background import later
began = threading.Event()
later(lambda: (began.set(), time.sleep({LONG})), print)
later(lambda: print("never"), print)
began.wait()
"""


@pytest.mark.parametrize("end", ["", "sys.exit(3)", "raise KeyboardInterrupt"])
def test_the_end_of_a_program_waits_for_no_compiler(end):
    ended, took = run(BUSY + end)
    assert ended.returncode == {"": 0, "sys.exit(3)": 3}.get(end, ended.returncode)
    assert "never" not in ended.stdout
    assert "Fatal" not in ended.stderr
    assert took < LONG / 2


def test_what_llvm_has_begun_is_ended_first():
    code = """
import threading, time
from simpleautodiff.compiled.native import background
from simpleautodiff.compiled.native.background import calling_llvm, later
began = threading.Event()
def call_llvm():
    with calling_llvm():
        began.set()
        while not background._compiler.ended:  # until the program ends, and a little longer
            time.sleep(0.01)
        time.sleep(0.1)
        print("done", flush=True)
    with calling_llvm():
        print("never", flush=True)
later(call_llvm, str)
began.wait()
"""
    ended, _ = run(code)
    assert ended.stdout == "done\n"
    assert ended.returncode == 0


def test_programs_that_end_while_llvm_is_at_work_do_not_crash():
    code = """
import threading, time
import numpy as np
import simpleautodiff as ad
from simpleautodiff.compiled.native import compile
emit, began = compile._compile_object, threading.Event()
def emit_and_tell(ir, level):
    began.set()
    return emit(ir, level)
compile._compile_object = emit_and_tell
def f(x):
    for i in range(60):
        x = np.tanh(x * 0.9 + 0.01 * i)
    return np.sum(x)
g = ad.jit(ad.grad(f))
while not began.is_set():
    g(np.linspace(0.0, 1.0, 14))
time.sleep(0.01)
"""
    ended, _ = run(f"import os\nos.environ['SIMPLEAUTODIFF_CACHE'] = 'off'{code}")
    assert ended.returncode == 0, ended.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_fork_goes_on_with_what_was_not_begun():
    began, done = threading.Event(), []
    later(lambda: (began.set(), time.sleep(0.2), done.append("first")), done.append)
    later(lambda: done.append("second"), done.append)
    began.wait()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that threads are running
        pid = os.fork()
    if pid == 0:  # after the first task, and with locks that nobody holds
        attempt(lambda: done.append("child"), done.append)
        wait()
        os._exit(0 if {"first", "second", "child"} <= set(done) else 1)
    wait()
    assert os.waitpid(pid, 0)[1] == 0
    assert done == ["first", "second"]


def test_a_task_that_fails_says_why_and_the_next_one_is_done():
    said = []
    later(lambda: 1 / 0, said.append)
    later(lambda: said.append("next"), said.append)
    wait()
    assert said == ["division by zero", "next"]


def test_a_function_compiles_in_the_background_as_ever():
    f = ad.jit(ad.grad(lambda x: ad.sin(x) * x))
    numbers = [f(0.5) for _ in range(100)]
    f.wait()
    assert "tier optimised" in f.explain()
    assert numbers[-1] == pytest.approx(math.sin(0.5) + 0.5 * math.cos(0.5), rel=1e-15)


def _simulate(x):
    for i in range(300):
        x = np.tanh(x * 0.9 + 0.01 * i) * (x if i % 2 else 1.0)
    return np.sum(x)


@pytest.mark.parametrize("f", [lambda x: np.sum(np.tanh(x) * x), _simulate])
def test_many_calls_in_a_row_wait_for_the_compiler(f, monkeypatch):
    monkeypatch.setattr("simpleautodiff.compiled.running.runnable.PATIENCE", 0.0)
    slope, x = ad.jit(ad.grad(f)), np.linspace(0.1, 1.0, 300)
    found = [slope(x) for _ in range(6)]
    assert "tier optimised" in slope.explain()
    np.testing.assert_allclose(found, [ad.grad(f)(x)] * 6, rtol=1e-12, atol=1e-300)


def test_calls_go_on_while_the_compiler_is_busy(monkeypatch):
    monkeypatch.setattr("simpleautodiff.compiled.running.runnable.PATIENCE", math.inf)
    began, may_end = threading.Event(), threading.Event()
    later(lambda: (began.set(), may_end.wait(LONG)), print)
    began.wait()
    slope = ad.jit(ad.grad(lambda x: np.sum(np.tanh(x) * x)))
    for _ in range(6):
        slope(np.linspace(0.1, 1.0, 300))
    before = slope.explain()
    may_end.set()
    assert "tier numpy" in before
    assert "tier optimised" in slope.wait().explain()
