"""Rows of several arguments, one of which has fewer digits: slopes have the digits of the value."""

import numpy as np
import pytest

import references as refs
import simpleautodiff as ad

SEVERAL = [row for row in refs.TABLE.values() if len(refs.variables(row)) > 1]


@pytest.mark.parametrize("row", SEVERAL, ids=[row.name for row in SEVERAL])
def test_the_slope_by_the_wider_argument_has_all_its_digits(row):
    f, by = refs.WRAPPINGS[row.name], refs.variables(row)
    for point in refs.points(row):
        for wide in by:
            kinds = {i: np.float64 if i == wide else np.float32 for i in by}
            args = tuple(kinds[i](x) if i in by else x for i, x in enumerate(point))
            if not row.domain.contains(*args) or any(kink.happens(*args) for kink in row.kinks):
                continue  # rounded to float32 it lies elsewhere
            orders = tuple(int(i == wide) for i in range(row.arity))
            expected = refs.reference(row.name, args, orders)
            tangents = tuple(kinds[i](i == wide) if i in by else 0 for i in range(row.arity))
            for found in (ad.grad(f, wide)(*args), ad.jvp(f, args, tangents)[1]):
                assert type(found) is np.float64
                assert refs.close(found, expected, 1e-11, 1e-13), (found, expected, args)
