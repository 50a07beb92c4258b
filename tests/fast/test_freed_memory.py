"""What the C library is told about memory that a derivative has freed."""

import ctypes
import math

import numpy as np
import pytest

import simpleautodiff as ad
from simpleautodiff.fast.freed_memory import keep_freed_memory


@pytest.fixture(autouse=True)
def _asked_anew():
    keep_freed_memory.cache_clear()
    yield
    keep_freed_memory.cache_clear()


class Library:
    def __init__(self):
        self.options = {}

    def mallopt(self, option, number):
        self.options[option] = number


def test_the_c_library_keeps_what_it_would_after_a_large_block(monkeypatch):
    library = Library()
    monkeypatch.setattr(ctypes, "CDLL", lambda name: library)
    slope = ad.grad(lambda x: np.sum(np.sin(x)))
    np.testing.assert_allclose(slope(np.ones(3)), math.cos(1.0), rtol=1e-15)
    assert library.options == {-1: 2**26, -3: 2**25}  # glibc's own, after a free(2**25)
    library.options.clear()
    slope(np.ones(3))
    assert not library.options  # it is told once


def test_derivatives_of_single_numbers_do_not_ask(monkeypatch):
    library = Library()
    monkeypatch.setattr(ctypes, "CDLL", lambda name: library)
    assert ad.grad(lambda x: x * x + ad.sin(x))(0.0) == 1.0
    assert not library.options


@pytest.mark.parametrize("error", [OSError, TypeError, AttributeError])
def test_other_libraries_are_left_alone(monkeypatch, error):
    def load(name):
        raise error

    monkeypatch.setattr(ctypes, "CDLL", load)
    np.testing.assert_allclose(ad.grad(lambda x: np.sum(x * x))(np.ones(3)), 2.0)
