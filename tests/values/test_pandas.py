"""Columns of pandas as operands of nodes."""

import numpy as np
import pytest

import simpleautodiff as ad

pd = pytest.importorskip("pandas")
FRAME = pd.DataFrame({"t": [0.1, 0.4, 0.7, 1.2], "y": [1.0, 2.0, 3.0, 4.0]})
T, Y = FRAME["t"].to_numpy(), FRAME["y"].to_numpy()
P = np.array([1.5, 0.3])
PROGRAMS = {  # with columns of pandas, and with arrays
    "node * column": (lambda p: np.sum(p[0] * FRAME["t"]), lambda p: np.sum(p[0] * T)),
    "column * node": (lambda p: (FRAME["t"] * p[0]).sum(), lambda p: np.sum(T * p[0])),
    "column ** node": (lambda p: (FRAME["y"] ** p[0]).sum(), lambda p: np.sum(Y ** p[0])),
    "rows": (lambda p: np.sum(p[0] * FRAME.loc[FRAME.y > 2, "t"]), lambda p: p[0] * np.sum(T[2:])),
    "fit": (
        lambda p: np.mean((FRAME["y"] - p[0] * np.exp(-p[1] * FRAME["t"])) ** 2),
        lambda p: np.mean((Y - p[0] * np.exp(-p[1] * T)) ** 2),
    ),
    "np.where": (
        lambda p: np.sum(np.where(FRAME["y"] > 2, p[0] * FRAME["t"], p[1])),
        lambda p: np.sum(np.where(Y > 2, p[0] * T, p[1])),
    ),
    "np.multiply": (lambda p: np.sum(np.multiply(FRAME["y"], p[0])), lambda p: np.sum(Y * p[0])),
    "index": (lambda p: np.sum(FRAME.index * p[0]), lambda p: 6.0 * p[0]),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_columns_of_pandas(name):
    of_frame, of_arrays = PROGRAMS[name]
    expected = ad.grad(of_arrays)(P)
    np.testing.assert_allclose(of_frame(P), of_arrays(P), rtol=1e-14)
    np.testing.assert_allclose(ad.grad(of_frame)(P), expected, rtol=1e-13)
    np.testing.assert_allclose(ad.jacobian(of_frame, mode="forward")(P), expected, rtol=1e-13)
    np.testing.assert_allclose(ad.hessian(of_frame)(P), ad.hessian(of_arrays)(P), atol=1e-13)
    np.testing.assert_allclose(ad.vmap(ad.grad(of_frame))(np.stack([P]))[0], expected, rtol=1e-13)
    np.testing.assert_allclose(ad.jit(ad.grad(of_frame))(P), expected, rtol=1e-13)
