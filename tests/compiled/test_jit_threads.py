"""Compiled functions in several threads and processes."""

import os
import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest

import simpleautodiff as ad
from waiting import PATIENCE, comes_true

pytestmark = pytest.mark.filterwarnings("ignore:llvmlite is not installed:RuntimeWarning")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*use of fork.*:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:os.fork:RuntimeWarning")  # of JAX, where it is loaded
def test_a_copy_of_the_process_compiles_on_its_own():
    pytest.importorskip("llvmlite")
    many = [ad.jit(lambda x, k=k: np.sin(x) * k) for k in range(8)]
    for f in many:
        for _ in range(10):
            f(1.0)
    child = os.fork()
    if not child:
        for _ in range(100):
            many[0](1.0)
        os._exit("optimised" not in many[0].wait().explain())
    ended = []
    if not comes_true(lambda: ended.append(os.waitpid(child, os.WNOHANG)) or any(ended[-1])):
        os.kill(child, 9)
    assert ended[-1] == (child, 0)


def test_warnings_stay_as_they_were_whichever_thread_records():
    before, often = list(warnings.filters), sys.getswitchinterval()

    def work():
        for k in range(30):
            ad.jit(lambda x, k=k: x * np.sin(x) + k, tier="numpy")(1.0)

    sys.setswitchinterval(1e-6)
    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sys.setswitchinterval(often)
    assert list(warnings.filters) == before


@pytest.mark.slow
def test_the_tape_machine_is_made_once_however_many_ask_for_it():
    program = """
import sys, threading
import simpleautodiff as ad
sys.setswitchinterval(1e-6)
def work(k):
    f = ad.jit(lambda x: ad.sin(x) * k)
    assert all(abs(f(0.5) - f(0.5)) < 1e-12 for _ in range(40))
threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""
    environment = {**os.environ, "SIMPLEAUTODIFF_CACHE": "off"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()[-500:]


def test_functions_that_record_do_not_wait_for_each_other():
    waiting = threading.Barrier(2)

    def meeting(number):
        def f(x):
            if type(x) is not float:  # it is being recorded
                waiting.wait(PATIENCE)
                both[1 - number](0.5)
            return x * 2

        return f

    both = [ad.jit(meeting(k), tier="numpy") for k in (0, 1)]
    threads = [threading.Thread(target=f, args=(1.0,), daemon=True) for f in both]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert not any(thread.is_alive() for thread in threads)
