"""`apply` on arguments that are no nodes: lists, labelled arrays; rules that Python refuses."""

import numpy as np
import pytest

import simpleautodiff as ad
from references import TABLE
from simpleautodiff.core.level import apply
from simpleautodiff.core.primitive import CALL, POWER, PRODUCT, SIGN, SUM, Primitive

BACKWARDS = Primitive(  # of the whole array
    "backwards", (lambda v, x: 1,), lambda x: x[::-1], "", "", "", arrays=True
)


class Labelled:
    """An array with labels, as xarray has them."""

    __module__ = "xarray.stand_in"

    def __init__(self, data):
        self._data = data

    @property
    def data(self):
        return self._data

    @property
    def shape(self):
        return self.data.shape

    def copy(self, data):
        return Labelled(data)


def test_a_list_is_an_array():
    found = apply(TABLE["sin"], [0.5, 1.0])
    assert type(found) is np.ndarray
    np.testing.assert_array_equal(found, np.sin([0.5, 1.0]))


@pytest.mark.parametrize("order", [1, -1])
def test_an_elementwise_row_keeps_labels(order):
    x, scale = Labelled(np.array([0.5, 1.0])), 2.0
    found = apply(TABLE["mul"], *(x, scale)[::order])
    assert type(found) is Labelled
    np.testing.assert_array_equal(found.data, [1.0, 2.0])


def test_labels_do_not_fit_a_result_of_another_shape():
    found = apply(TABLE["add"], Labelled(np.array([0.5, 1.0])), np.ones((3, 2)))
    np.testing.assert_array_equal(found, [[1.5, 2.0]] * 3)


def test_labels_do_not_fit_elements_that_have_moved():
    found = apply(BACKWARDS, Labelled(np.array([0.5, 1.0])))
    np.testing.assert_array_equal(found, [1.0, 0.5])


def test_a_wrong_number_of_arguments_is_told():
    with pytest.raises(ad.ArgumentError, match="mul takes 2 arguments, got 1"):
        apply(TABLE["mul"], 2.0)
    with pytest.raises(ad.ArgumentError, match="sin takes 1 argument, got 2"):
        apply(TABLE["sin"], 2.0, 3.0)


def test_a_rule_that_overflows_on_the_way_to_a_finite_number_gives_it_quietly():
    row = Primitive("made", (lambda v, x: 1 / x**2,), lambda x: -1 / x, "", "", "")
    assert row.partial(0, -1e-200, (1e200,)) == 0.0


def test_an_overflow_inside_of_the_domain_is_not_said_to_be_outside():
    with pytest.warns(ad.DomainWarning, match="log.* needs x > 0"):
        ad.log(-1.0)
    with pytest.warns(ad.DomainWarning, match="power") as caught:
        ad.power(10.0, 400.0)
    assert "needs" not in str(caught[0].message)


def test_forms_bind_as_in_arithmetic():
    assert SUM < PRODUCT < SIGN < POWER < CALL
