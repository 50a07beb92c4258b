"""One derivative in six ways, side by side."""

import importlib
import json
import math

import numpy as np
import pytest

import simpleautodiff as ad


def paper(x1, x2):
    return ad.log(x1) + x1 * x2 - ad.sin(x2)


WAYS = ["forward", "reverse", "elimination", "symbolic", "complex step", "differences"]


def test_all_ways_agree_on_the_papers_example():
    pytest.importorskip("sympy")
    found = ad.compare(paper, 2.0, 5.0)
    assert [way.name for way in found.ways] == WAYS
    for way in found.ways:
        np.testing.assert_allclose(way.values, [[5.5, 2 - math.cos(5)]], rtol=1e-9)
    assert {name: found[name].digits for name in WAYS[:5]} == dict.fromkeys(WAYS[:5], 16)
    assert 9 <= found["differences"].digits < 16


def test_operations_and_stored_numbers():
    pytest.importorskip("sympy")
    found = ad.compare(paper, 2.0, 5.0)
    assert found["complex step"].operations == 2 * 5  # five steps for each of two inputs
    assert found["symbolic"].operations == 4  # x2 + 1/x1 and x1 - cos(x2)
    assert found["reverse"].operations < found["forward"].operations
    assert found["forward"].stored == 0
    assert found["reverse"].stored == 2  # x1 for log and the product, x2 for the product and sin
    assert found["elimination"].stored == 8  # an edge for each argument that is a node
    many = ad.compare(lambda x: np.sum(np.sin(x)), np.ones(100))
    assert many["elimination"].note == "only for programs of single numbers"
    assert many["reverse"].stored == 100
    assert many["forward"].operations > 50 * many["reverse"].operations


def test_operations_of_reverse_mode_grow_with_the_results_those_of_forward_with_the_inputs():
    wide = ad.compare(lambda x: np.sum(x * x), np.ones(6))
    tall = ad.compare(lambda x: [x * x, x + x, ad.sin(x), -x], 0.5)
    assert wide.mode == "reverse"
    assert wide.why == "it needs 1 sweep for 1 result, forward mode 6 for 6 inputs"
    assert tall.mode == "forward"
    assert tall.why == "it needs 1 sweep for 1 input, reverse mode 4 for 4 results"
    assert tall["forward"].operations < tall["reverse"].operations
    np.testing.assert_allclose(
        tall["reverse"].values, [[1.0], [2.0], [math.cos(0.5)], [-1.0]], rtol=1e-15
    )


@pytest.mark.parametrize(
    "f",
    [
        lambda x: [x[0] * x[1], x[0], x[1]],
        lambda x: [x[0] * x[1], x[0]],
        lambda x: x[0] * x[1],
    ],
)
def test_the_choice_is_that_of_jacobian(f, monkeypatch):
    module = importlib.import_module("simpleautodiff.transforms.jacobian")
    chosen = []
    for mode in ("forward", "reverse"):
        sweep = getattr(module, f"_sweep_{mode}")
        watched = lambda *args, sweep=sweep, mode=mode: chosen.append(mode) or sweep(*args)
        monkeypatch.setattr(module, f"_sweep_{mode}", watched)
    ad.jacobian(f)([2.0, 5.0])
    assert chosen == [ad.compare(f, [2.0, 5.0]).mode]


def test_what_does_not_apply_says_why():
    pytest.importorskip("sympy")
    found = ad.compare(lambda x: np.sum(np.abs(x) * x), np.array([1.0, -2.0]))
    assert found["symbolic"].values is None
    assert "not arrays" in found["symbolic"].note
    assert "analytic" in found["complex step"].note
    np.testing.assert_allclose(found["differences"].values, [[2.0, 4.0]], rtol=1e-8)
    assert "not arrays" in str(found)


def test_a_function_that_sympy_cannot_take():
    pytest.importorskip("sympy")
    found = ad.compare(lambda x: x * x if x > 0 else -x, 3.0)
    assert found["symbolic"].values is None
    assert found["reverse"].values.tolist() == [[6.0]]


def test_digits_show_who_is_inexact():
    found = ad.compare(lambda x: ad.sin(1e3 * x) * ad.exp(30 * x), 1.0)
    wanted = math.exp(30) * (1e3 * math.cos(1e3) + 30 * math.sin(1e3))
    assert found["reverse"].values[0, 0] == pytest.approx(wanted, rel=1e-12)
    assert found["differences"].digits < found["reverse"].digits


def test_of_many_inputs_the_first_are_compared():
    found = ad.compare(lambda x: np.sum(x**2), np.arange(30.0))
    assert found["reverse"].values.shape == (1, 10)
    np.testing.assert_allclose(found["reverse"].values[0], 2 * np.arange(10.0))
    assert "30 for 30 inputs" in found.why


def test_formats():
    found = ad.compare(paper, 2.0, 5.0)
    assert "The library would choose reverse mode" in str(found)
    assert found.to("markdown").startswith("**Derivatives of paper**")
    assert r"\toprule" in found.to("latex")
    assert "$-$" in ad.compare(lambda x: -x, 0.5).to("latex")  # no hyphen
    assert found.to("html").count("<tr>") == 7  # the head, and a row for each
    data = json.loads(found.to("json"))
    assert data["ways"][0]["values"] == [[5.5, 2 - math.cos(5)]]
    assert found._repr_mimebundle_()["text/html"] == found.to("html")
    with pytest.raises(ad.ArgumentError, match="format is one of"):
        found.to("rtf")


def test_points_that_cannot_be_compared():
    with pytest.raises(ad.ArgumentError, match="needs a point"):
        ad.compare(paper)
    with pytest.raises(ad.ArgumentError, match="real numbers"):
        ad.compare(lambda z: z * z, 1j)


def test_powers_of_arrays_are_analytic():
    found = ad.compare(lambda x: np.sum(x**2.5), np.array([1.0, 4.0]))["complex step"]
    np.testing.assert_allclose(found.values, [[2.5, 2.5 * 8]], rtol=1e-14)
    at_a_kink = ad.compare(lambda x: np.sum(abs(x)), np.array([1.0, 4.0]))["complex step"]
    assert "analytic" in at_a_kink.note


def test_both_modes_count_the_function_once():
    """Of log(x1) + x1 x2 - sin(x2): five operations, then a sweep for each input."""
    found = ad.compare(lambda x1, x2: ad.log(x1) + x1 * x2 - ad.sin(x2), 2.0, 5.0)
    # From x1: 1/x1, two products, a sum, perhaps a factor 1; from x2: cos, two products, a
    # difference, perhaps factors 1 and -1.
    assert 5 + 4 + 4 <= found["forward"].operations <= 5 + 5 + 6 + 3
    assert found["forward"].operations < 2 * found["reverse"].operations
    one = ad.compare(lambda x: x**3, 2.0)
    assert one["forward"].operations == one["reverse"].operations


@pytest.mark.parametrize(
    ("x", "said"),
    [
        (2.0, "a tie, both modes need 1 sweep for 1 input and 1 result"),
        (np.ones(2), "a tie, both modes need 2 sweeps for 2 inputs and 2 results"),
    ],
)
def test_a_tie_is_called_one(x, said):
    assert ad.compare(lambda x: x * x, x).why == said
