"""Labelled arrays of xarray: labels outside, nodes inside, and no derivative lost."""

import numpy as np
import pytest

import simpleautodiff as ad

xr = pytest.importorskip("xarray", reason="xarray is not installed")

VALUES = np.array([1.0, 2.0, 3.0])
LABELLED = xr.DataArray(VALUES, dims="t", coords={"t": [0, 1, 2]})

PROGRAMS = {  # with labels, and the same with plain arrays
    "da * x": (lambda x: (LABELLED * x).sum(), lambda x: np.sum(VALUES * x)),
    "x * da": (lambda x: np.sum(x * LABELLED), lambda x: np.sum(x * VALUES)),
    "x - da": (lambda x: ((x - LABELLED) ** 2).sum(), lambda x: np.sum((x - VALUES) ** 2)),
    "da - x": (lambda x: ((LABELLED - x) ** 3).sum(), lambda x: np.sum((VALUES - x) ** 3)),
    "ufuncs": (
        lambda x: np.exp(np.sin(LABELLED * x)).mean(),
        lambda x: np.mean(np.exp(np.sin(VALUES * x))),
    ),
    "selection": (lambda x: (LABELLED * x**2).sel(t=1), lambda x: VALUES[1] * x**2),
    "both": (lambda x: (x * (LABELLED * x)).sum(), lambda x: np.sum(x * VALUES * x)),
}


@pytest.mark.parametrize(("f", "plain"), PROGRAMS.values(), ids=PROGRAMS)
def test_programs_with_labels(f, plain):
    for x in (0.3, np.float64(1.2)):
        assert float(ad.grad(f)(x)) == pytest.approx(float(ad.grad(plain)(x)), rel=1e-14)
        assert ad.derivative(f, n=2)(x) == pytest.approx(ad.derivative(plain, n=2)(x), rel=1e-13)
        assert ad.jvp(f, (x,), (1.0,))[1] == pytest.approx(ad.jvp(plain, (x,), (1.0,))[1])


def test_arrays_are_labelled_inside():
    f = lambda x: (xr.DataArray(x, dims="t") * LABELLED).sum()
    np.testing.assert_allclose(ad.grad(f)(np.ones(3)), VALUES)
    np.testing.assert_allclose(ad.jacobian(lambda x: LABELLED * x)(np.ones(3)), np.diag(VALUES))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x * LABELLED,
        lambda x: LABELLED * x,
        lambda x: np.multiply(x, LABELLED),
        lambda x: 2.0 ** (x / LABELLED - 1.0),
        lambda x: np.hypot(x * LABELLED, LABELLED),
    ],
)
@pytest.mark.parametrize("x", [0.3, np.array([0.3, 1.2, 2.0])], ids=["number", "array"])
def test_results_have_the_labels_that_they_have_without_a_derivative(f, x):
    shown = []

    def look(x):
        shown.append(f(x))
        return shown[-1].sum()

    plainly, slope = f(x), ad.grad(look)(x)
    assert type(shown[-1]) is type(plainly)
    if isinstance(plainly, xr.DataArray):
        assert shown[-1].dims == plainly.dims == ("t",)
        assert list(shown[-1].coords["t"].values) == [0, 1, 2]
    unlabelled = ad.grad(lambda x: np.sum(strip(f, x)))(x)
    np.testing.assert_allclose(slope, unlabelled, rtol=1e-14)


def strip(f, x):
    """Return what f gives, without labels."""
    result = f(x)
    return result.data if isinstance(result, xr.DataArray) else result


def test_broadcasting_beyond_the_labels_gives_a_plain_array():
    slope = ad.grad(lambda x: np.sum(x * LABELLED))(np.ones((2, 3)))
    np.testing.assert_allclose(slope, np.stack([VALUES, VALUES]))


def test_the_gradient_of_a_labelled_array_is_one():
    slope = ad.grad(lambda a: np.sum(a * a))(LABELLED)
    assert isinstance(slope, xr.DataArray)
    np.testing.assert_allclose(slope.values, 2 * VALUES)


def test_datasets_are_refused():
    with pytest.raises(ad.ResultError, match="Dataset with a node inside"):
        ad.grad(lambda x: xr.Dataset({"a": LABELLED * x}).sum())(2.0)
