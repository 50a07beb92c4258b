"""Ctrl-C at any moment, forks, threads and processes in the middle of a derivative."""

import gc
import importlib.util
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import threading
import time
import traceback
import warnings
from pathlib import Path

import numpy as np
import pytest

import simpleautodiff as ad
from simpleautodiff.arrays.writes import views
from simpleautodiff.core.engine import engine
from simpleautodiff.transforms.snapshots import RECORDER
from waiting import PATIENCE, comes_true

FAST = os.environ.get("SIMPLEAUTODIFF_ENGINE") != "plain"
LARGE = np.linspace(0.5, 2.0, 20_000)  # large enough to be locked, not copied
MATRIX = np.linspace(0.5, 2.0, 9).reshape(3, 3) + 3 * np.eye(3)


def scalar():
    return ad.grad(lambda x: ad.grad(lambda y: ad.sin(x * y) * y)(x) + x)(1.25)


def array():
    return ad.grad(lambda x: np.sum(np.exp(-x * LARGE) * LARGE + x))(0.5)


def array_argument():
    return ad.grad(lambda x: np.sum(np.sin(x) * LARGE))(LARGE)[0]


def batched():
    f = ad.vmap(ad.grad(lambda x: np.sum(x * np.tanh(x))))
    return f(MATRIX)[1, 1]


def jacobian():
    return ad.jacobian(lambda x: np.linalg.solve(MATRIX, x) * x)(np.ones(3))[0, 0]


def linearized():
    value, pull = ad.vjp(lambda x: x * LARGE, LARGE)
    return pull(value)[0][0]


def compiled():
    f = ad.jit(ad.grad(lambda x: ad.sin(x) * x + np.sum(MATRIX * x)))
    return f(0.5) + f(0.75)


def solved():
    return ad.grad(lambda a: ad.plug.solve_root(lambda x, a: x * x - a, 1.0, a))(2.0)


def closed_over():
    """SciPy's solvers, whose functions hold what is differentiated."""
    from scipy import integrate, optimize

    def f(a):
        root = optimize.brentq(lambda x: x**3 - a, 0.1, 3.0)
        least = optimize.minimize(lambda x: (x[0] - a) ** 2 + x[0] ** 4, [0.5]).x[0]
        return root + least + integrate.quad(lambda t: np.exp(-a * t), 0.0, 1.0)[0]

    return ad.grad(f)(2.0)


def splined():
    from scipy import interpolate

    knots = np.arange(5.0)
    return ad.grad(lambda a: interpolate.make_interp_spline(knots, np.sin(knots * a))(1.5))(0.5)


def made():
    """NumPy is replaced in the modules that run."""

    def f(x):
        y = np.zeros(3)
        y[1] = x * x
        return np.sum(np.array([x, y[1], 2.0]) * y)

    return ad.grad(f)(1.5)


def repeated():
    def f(a):
        w, v = np.linalg.eigh(a)
        return ((v * np.exp(w)) @ v.T)[0, 1]

    return ad.grad(f)(np.eye(2))[0, 1]


def _count_down(x):
    while x > 1:
        x = x * 0.9
    return x


def rewritten():
    """Loops of Python, which are rewritten while a function is recorded."""
    f = ad.jit(ad.grad(_count_down))
    return f(2.0) + f(7.0) + f(90.0)


WORK = [scalar, array, array_argument, batched, jacobian, linearized, made, repeated]
WORK += [compiled, rewritten] if importlib.util.find_spec("llvmlite") else []
WORK += [solved, closed_over, splined] if importlib.util.find_spec("scipy") else []
CODE = _count_down.__code__


def check_nothing_is_left(before):
    assert gc.isenabled()
    assert not engine.is_locked()
    assert LARGE.flags.writeable
    assert MATRIX.flags.writeable
    assert warnings.filters == before
    assert RECORDER.get() is None
    assert np is sys.modules["numpy"]
    assert _count_down.__code__ is CODE
    folder = Path(os.environ["SIMPLEAUTODIFF_CACHE"])  # a compiler in the background may be writing
    assert comes_true(lambda: not list(folder.glob("*.part")))
    if FAST:
        from simpleautodiff.fast import recording
        from simpleautodiff.fast.memory_pool import POOL

        assert not recording._uses
        assert not POOL.open
        assert not POOL.allowed


class Interruption:
    """Raise KeyboardInterrupt where Python would: as a function begins, or after one in C."""

    def __init__(self, place):
        self.count, self.place = 0, place

    def __call__(self, frame, event, arg):
        if event in ("call", "c_return") and not frame.f_code.co_filename.endswith("warnings.py"):
            self.count += 1  # the locks of Python's own module are not ours to keep free
            if self.count == self.place:
                raise KeyboardInterrupt

    def __enter__(self):
        sys.setprofile(self)
        return self

    def __exit__(self, kind, error, *rest):
        sys.setprofile(None)
        if kind is SystemError:  # of compiled code that had asked for a class
            return isinstance(error.__cause__, KeyboardInterrupt)
        return kind is KeyboardInterrupt


@pytest.fixture
def interrupts(request, monkeypatch, tmp_path):
    """How often to interrupt; where Python ignores errors, in a `__del__`, there are no others."""
    monkeypatch.setenv("SIMPLEAUTODIFF_CACHE", str(tmp_path))
    ignored = []
    monkeypatch.setattr(sys, "unraisablehook", ignored.append)
    treatment, function = np.geterr(), np.geterrcall()
    gc.collect()
    recorded = {*views._records}
    yield request.config.getoption("--interrupts")
    np.seterr(**treatment)  # `np.errstate` itself, which `np.linalg` enters, does not
    np.seterrcall(function)  # survive an interrupt as it begins
    others = [
        "".join(traceback.format_tb(e.exc_traceback)) + repr(e.exc_value)
        for e in ignored
        if not issubclass(e.exc_type, KeyboardInterrupt)
    ]
    assert not others
    ignored.clear()  # their frames hold nodes
    gc.collect()
    assert {*views._records} <= recorded


@pytest.mark.parametrize("work", WORK, ids=lambda work: work.__name__)
def test_an_interrupt_at_any_step_leaves_nothing_changed(work, interrupts):
    expected = [work() for _ in range(3)][-1]  # everything is loaded
    with Interruption(0) as counted:
        work()
    places = range(1, counted.count)
    if len(places) > interrupts:
        places = random.Random(1).sample(places, interrupts)
    before = list(warnings.filters)
    for place in places:
        with Interruption(place):
            work()
        check_nothing_is_left(before)
    assert work() == expected


def test_an_interrupt_by_a_signal_leaves_nothing_changed(interrupts):
    """Interrupt by a timer, as Ctrl-C would: between any two steps of the interpreter."""

    def interrupt(*_):
        raise KeyboardInterrupt

    draw, caught = random.Random(2), 0
    before_handler = signal.signal(signal.SIGALRM, interrupt)
    try:
        for work in WORK:
            expected = work()
            took, before = 1.0, list(warnings.filters)
            for _ in range(interrupts):
                start = time.perf_counter()
                try:
                    signal.setitimer(signal.ITIMER_REAL, draw.uniform(1e-6, took))
                    work()
                    signal.setitimer(signal.ITIMER_REAL, 0)
                    took = min(took, time.perf_counter() - start)  # the machine may have been busy
                except KeyboardInterrupt:
                    caught += 1
                except SystemError as error:  # of compiled code that had asked for a class
                    assert isinstance(error.__cause__, KeyboardInterrupt)  # noqa: PT017
                    caught += 1
                check_nothing_is_left(before)
            assert work() == expected
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before_handler)
    assert caught > 2 * interrupts  # of that for each


# Forks, threads and processes. --------------------------------------------------------------------


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def in_fork(check):
    """Run a check in a forked process; return whether it held there."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that threads are running
        pid = os.fork()
    if pid == 0:
        try:
            os._exit(0 if check() else 1)
        finally:
            os._exit(2)
    return os.waitpid(pid, 0)[1] == 0


@needs_fork
def test_a_fork_in_the_middle_of_a_derivative_goes_on_in_both_processes():
    held = []

    def f(x):
        y = np.sum(np.sin(x) * LARGE)
        held.append(os.fork())
        return y * y

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = ad.grad(f)(LARGE)
    expected = 2 * np.sum(np.sin(LARGE) * LARGE) * LARGE * np.cos(LARGE)
    right = np.allclose(found, expected, rtol=1e-14, atol=0) and gc.isenabled()
    right = right and LARGE.flags.writeable and not engine.is_locked()
    if held[0] == 0:
        os._exit(0 if right else 1)
    assert os.waitpid(held[0], 0)[1] == 0
    assert right


@needs_fork
def test_a_fork_beside_a_derivative_of_another_thread_is_free_of_it():
    inside, done = threading.Event(), threading.Event()

    def f(x):
        y = np.sum(x * LARGE)
        inside.set()
        done.wait(PATIENCE)
        return y

    thread = threading.Thread(target=lambda: ad.grad(f)(LARGE))
    thread.start()
    try:
        assert inside.wait(PATIENCE)

        def check():
            return gc.isenabled() and LARGE.flags.writeable and scalar() == expected

        done_here = scalar  # the other thread's derivative does not disturb this one's
        expected = done_here()
        assert in_fork(check)
    finally:
        done.set()
        thread.join()
    assert gc.isenabled()
    assert LARGE.flags.writeable


@needs_fork
@pytest.mark.parametrize("work", [scalar, array_argument, *WORK[3:]])
def test_forks_while_threads_differentiate_and_compile(work):
    expected, alone, failed, stop = work(), scalar(), [], threading.Event()

    def again():
        while not stop.is_set():
            if work() != expected:
                failed.append(work)

    threads = [threading.Thread(target=again) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        assert all([in_fork(lambda: scalar() == alone) for _ in range(5)])
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert not failed
    check_nothing_is_left(list(warnings.filters))


def test_threads_and_processes_started_in_the_middle_of_a_derivative():
    found = []

    def f(x):
        thread = threading.Thread(target=lambda: found.append(array_argument()))
        thread.start()
        thread.join()
        code = "import simpleautodiff as ad; print(ad.grad(lambda x: x**3)(2.0))"
        source = str(Path(ad.__file__).parents[1])
        found.append(
            subprocess.run(
                [sys.executable, "-c", code],
                capture_output=True,
                text=True,
                check=True,
                env={**os.environ, "PYTHONPATH": source},
            ).stdout
        )
        context = multiprocessing.get_context("spawn")
        with context.Pool(1) as pool:
            found.append(pool.apply(abs, (-3,)))
        return x * x

    assert ad.grad(f)(3.0) == 6.0
    assert ad.jit(f)(3.0) == 9.0
    assert found[:3] == [np.cos(LARGE[0]) * LARGE[0], "12.0\n", 3]


@pytest.mark.parametrize("count", [1, 3, 40])
def test_an_interrupt_while_scipy_is_patched_leaves_it_to_be_patched(count):
    code = f"""if True:
        import sys
        import numpy as np, scipy.linalg, scipy.sparse
        import simpleautodiff as ad
        calls = 0
        def interrupt(frame, event, arg):
            global calls
            calls += event == "call" and frame.f_code.co_name in ("_wrap", "_patch_new")
            if calls == {count}:
                sys.setprofile(None)
                raise KeyboardInterrupt
        norm = lambda x: scipy.linalg.norm(scipy.sparse.csr_array((x, ([0, 1], [0, 1]))) @ x)
        sys.setprofile(interrupt)
        try:
            ad.grad(norm)(np.ones(2))
        except KeyboardInterrupt:
            print("interrupted")
        sys.setprofile(None)
        print(ad.grad(norm)(np.ones(2)))
    """
    pytest.importorskip("scipy")
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        timeout=10 * PATIENCE,
    )
    assert done.stdout.split("\n", 1) == ["interrupted", "[1.41421356 1.41421356]\n"]
