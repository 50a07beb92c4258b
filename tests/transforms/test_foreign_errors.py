"""What compiled code says of nodes is said in clear words, with what to write instead."""

import datetime
import decimal
import fractions
import json
import statistics
import struct

import numpy as np
import pytest

import simpleautodiff as ad

CALLS = {  # code that takes plain numbers: part of the advice
    "Decimal": (decimal.Decimal, r"decimal\.Decimal\(x\.value\).*mpmath"),
    "Decimal.from_float": (decimal.Decimal.from_float, r"decimal\.Decimal\(x\.value\)"),
    "struct": (lambda x: struct.pack("d", x), r"struct\.pack writes plain numbers: write x\.value"),
    "json": (lambda x: json.dumps({"loss": x}), r"x\.value\.tolist\(\)"),
    "from_dlpack": (np.from_dlpack, r"x\.value\.__dlpack__"),
    "sum of the class": (np.ndarray.sum, r"write x\.sum\(\.\.\.\)"),
    "operator of the class": (lambda x: np.ndarray.__add__(x, x), r"write x\.__add__\(\.\.\.\)"),
    "operator of floats": (lambda x: float.__mul__(x, 2.0), r"write x\.__mul__\(\.\.\.\)"),
    "%x": (lambda x: "%x" % x, r"int\(x\.value\)"),  # noqa: UP031
    "bytes": (lambda x: bytes(2 * x), r"x\.value"),
    "timedelta": (lambda x: datetime.timedelta(seconds=x), r"Write x\.value where no derivative"),
    "mean": (lambda x: statistics.mean([x, x]), r"write np\.mean\(x\)"),
    "stdev": (lambda x: statistics.stdev([x, 2 * x]), r"ddof=1"),
}
TRANSFORMATIONS = {
    "grad": ad.grad,
    "jvp": lambda f: lambda x: ad.jvp(f, (x,), (x,)),
    "jit of grad": lambda f: ad.jit(ad.grad(f)),
    "second": lambda f: ad.grad(ad.grad(f)),
}


@pytest.mark.parametrize("transform", TRANSFORMATIONS.values(), ids=TRANSFORMATIONS)
@pytest.mark.parametrize(("call", "advice"), CALLS.values(), ids=CALLS)
def test_compiled_code_of_python_says_what_to_write(call, advice, transform):
    with pytest.raises(ad.LostDerivativeError, match=advice):
        transform(call)(0.7)


@pytest.mark.parametrize(
    ("call", "advice"),
    [
        (lambda x: fractions.Fraction(x), r"fractions\.Fraction\(x\.value\)"),
        (lambda x: np.ndarray.dot(TABLE, x), r"Write TABLE @ x or np\.dot\(TABLE, x\)"),
        (lambda x: np.broadcast(x, TABLE).shape, r"np\.broadcast_shapes\(np\.shape\(x\), "),
        (lambda x: np.testing.assert_allclose(x, x), r"np\.testing compares plain arrays"),
        (lambda x: np.zeros(x[0] * 2), "an index"),
    ],
)
def test_arrays_of_nodes_in_code_for_plain_arrays(call, advice):
    with pytest.raises(ad.LostDerivativeError, match=advice):
        ad.grad(lambda x: np.sum(call(x)))(np.array([0.7, 1.3]))


TABLE = np.ones((2, 2))


@pytest.mark.parametrize("name", ["json", "mean"])
def test_the_line_is_the_users_and_not_one_of_pythons_modules(name):
    with pytest.raises(ad.LostDerivativeError, match=r"\(at test_foreign_errors\.py:\d+"):
        ad.grad(CALLS[name][0])(2.0)


def test_compiled_code_of_scipy_is_named():
    shape = pytest.importorskip("scipy.spatial.distance")
    with pytest.raises(
        ad.LostDerivativeError, match=r"scipy\.spatial\.distance\.directed_hausdorff"
    ):
        ad.grad(lambda x: shape.directed_hausdorff(x, x + 1)[0])(np.ones((3, 2)))


def test_a_count_that_is_a_node_is_refused():
    with pytest.raises(ad.LostDerivativeError, match=r"np\.zeros\(int\(n\.value\)\)"):
        ad.grad(lambda n: np.sum(np.zeros(n)))(3.0)


def test_errors_that_are_not_about_nodes_stay():
    with pytest.raises(TypeError, match=r"set is not JSON serializable$"):
        ad.grad(lambda x: x * len(json.dumps({1})))(2.0)
    with pytest.raises(TypeError, match=r"not callable$"):
        ad.grad(lambda x: x())(2.0)


def test_the_plain_value_may_be_used_everywhere():
    def f(x):
        json.dumps(x.value)
        struct.pack("d", x.value)
        return x * float(decimal.Decimal(x.value))

    assert ad.grad(f)(3.0) == 3.0
