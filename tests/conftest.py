"""What all tests share: a cache of their own for compiled code, and how many cases are run."""

import gc
import math
import os
import random
import sys
from functools import partial

import numpy as np
import pytest
from hypothesis import settings

from browsing import CHROMIUM
from simpleautodiff.compiled import jit_function
from waiting import PATIENCE

settings.register_profile("fixed", derandomize=True, deadline=None)  # nothing fails by chance
settings.load_profile("fixed")
jit_function.SLOW = math.inf  # a busy machine does not change at which call a function is recorded


def pytest_addoption(parser):
    parser.addoption(
        "--cases",
        type=int,
        metavar="N",
        help="of the cases of each parametrized test run N only, the first, the last and between",
    )
    parser.addoption(
        "--interrupts",
        type=int,
        default=40,
        metavar="N",
        help="interrupt each computation N times, at most once at each step",
    )


def pytest_report_header():
    return f"engine: {os.environ.get('SIMPLEAUTODIFF_ENGINE', 'fast')}"


@pytest.hookimpl(wrapper=True)
def pytest_generate_tests(metafunc):
    """Choose the cases of a test before they are made, as making all of them takes seconds."""
    result = yield
    most, cases = metafunc.config.getoption("--cases"), metafunc._calls
    if most is not None and len(cases) > most:
        last, steps = len(cases) - 1, max(most - 1, 1)
        cases[:] = [cases[round(k * last / steps)] for k in range(most)]
    return result


_WIND_BACK = {}  # what puts each generator of a module back to where it was after the import


def pytest_collection_finish(session):
    modules = {item.module for item in session.items if hasattr(item, "module")}
    for module in modules:
        _WIND_BACK[module] = [*filter(None, map(_note, vars(module).values()))]


def _note(value):
    if isinstance(value, np.random.Generator):
        return partial(setattr, value.bit_generator, "state", value.bit_generator.state)
    if isinstance(value, np.random.RandomState):
        return partial(value.set_state, value.get_state())
    return None


@pytest.fixture(autouse=True)
def _draws_are_those_of_the_test_alone(request):
    """Let a test draw the same numbers whichever tests ran before it in this process."""
    module = getattr(request.node, "module", None)
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002 - code under test draws from it
    for wind_back in _WIND_BACK.get(module, ()):
        wind_back()


@pytest.fixture
def quiet():
    """Let memory and objects be counted: nothing is left to collect."""
    gc.collect()


@pytest.fixture(autouse=True)
def _nothing_compiles_beside_the_next_test():
    """Let no test find what another one has compiled, in its cache or in what it counts."""
    yield
    if background := sys.modules.get("simpleautodiff.compiled.native.background"):
        background.wait()


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory):
    before = os.environ.get("SIMPLEAUTODIFF_CACHE")
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:  # the processes of one run share it, and no other run
        folder = folder.parent
    os.environ["SIMPLEAUTODIFF_CACHE"] = str(folder / "code")
    yield
    if before is None:
        del os.environ["SIMPLEAUTODIFF_CACHE"]
    else:
        os.environ["SIMPLEAUTODIFF_CACHE"] = before


@pytest.fixture(scope="session")
def chromium():
    """Start a browser: ``chromium(*options)``. A process can have one driver, so all share it."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    if not CHROMIUM:
        pytest.skip("needs Chromium: apt-get install chromium")
    with sync_api.sync_playwright() as play:
        yield lambda *options: play.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", *options], timeout=1000 * PATIENCE
        )


@pytest.fixture(autouse=True)
def _settings_are_put_back():
    """Let no test change how NumPy and mpmath compute in the tests after it."""
    before = _settings()
    yield
    assert _settings() == before


def _settings():
    mpmath = sys.modules.get("mpmath")
    return np.geterr(), np.geterrcall(), mpmath.mp.prec if mpmath else 53
