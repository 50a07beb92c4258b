"""Every rule of the table before `check_grad`: a right one is never accused, a wrong one always.

A rule is made wrong by its sign, by a factor close to 1, by exchanged arguments, and, where it is a
linear map, in its way back alone.
"""

import dataclasses
import functools
import itertools
import warnings

import numpy as np
import pytest
import scipy.fft
import scipy.linalg
import scipy.ndimage
import scipy.signal
import scipy.sparse
import scipy.sparse.linalg

import array_cases as cases
import references as refs
import simpleautodiff as ad
from simpleautodiff.core.level import wrap
from simpleautodiff.core.linear import ZERO, Linear, pull, push
from simpleautodiff.core.node import Node
from simpleautodiff.rules import TABLE
from simpleautodiff.values.functions import ByType

A = np.array([[2.0, 0.3, -0.4], [0.1, 3.0, 0.5], [0.2, -0.6, 4.0]])
B = np.array([[0.3, -0.2, 0.5], [1.0, 0.4, -0.7], [0.6, 0.1, 0.9]])
V = np.array([0.7, -1.1, 0.4, 1.6, -0.3])
SPARSE = scipy.sparse.csr_array(A)
MORE = {  # rows that no function of NumPy meets
    "matrix functions": lambda x: sum(
        getattr(scipy.linalg, name)(x)
        for name in ("expm", "logm", "sqrtm", "sinm", "cosm", "sinhm", "coshm")
    ),
    "slope of a root": lambda x: ad.jvp(scipy.linalg.sqrtm, (x,), (x @ B,))[1],
    "triangular": lambda x: scipy.linalg.solve_triangular(x, x[0]),
    "lu": lambda x: scipy.linalg.lu(x)[1],
    "sylvester": lambda x: scipy.linalg.solve_sylvester(x, x @ x, x),
    "riccati": lambda x: (
        scipy.linalg.solve_continuous_are(x, x, x @ x.T, np.eye(3))
        + scipy.linalg.solve_discrete_are(x, x, x @ x.T, np.eye(3))
    ),
    "ldl": lambda x: scipy.linalg.ldl(x + x.T)[0],
    "band": lambda x: scipy.linalg.solve_banded((1, 1), x + 5, x[0]),
    "sparse": lambda x: scipy.sparse.linalg.spsolve(SPARSE, (SPARSE @ x)[0]),
    "waves": lambda x: scipy.fft.dct(x),
    "filter": lambda x: scipy.signal.lfilter(x[0], x[1], x[2]),
    "convolution": lambda x: scipy.signal.convolve(x, x),
    "moving sum": lambda x: scipy.ndimage.gaussian_filter1d(x, 1.0),
    "pieces": lambda x: np.linalg.pinv(x) + np.linalg.qr(x)[1] + np.linalg.slogdet(x)[1],
    "eigenvectors": lambda x: np.linalg.eigh(x + x.T)[1] ** 2 + np.abs(np.linalg.eig(x)[1]),
    "singular": lambda x: np.linalg.svd(x, full_matrices=False)[0] ** 2,
    "null vectors": lambda x: (
        np.linalg.svd(x[:2])[2] ** 2 + np.linalg.svd(x[:, :2])[0] ** 2  # completed to a basis
    ),
    "roll": lambda x: np.roll(x, 1) + np.cumsum(x, 0) + np.linalg.cholesky(x @ x.T),
    "parts": lambda x: np.real(np.conj(x * (1 + 2j))) + np.imag(x * 2j),
    "transforms": lambda x: np.fft.irfft(np.fft.rfft(x)[:, :2], 3) + np.abs(np.fft.fft(x)),
    "astype": lambda x: np.sum(x.astype(complex).real) + x,
}
ORDERS = {  # of rows whose first arguments are whole numbers
    **{name: [(1, 2, 3)] for name in ("expn", "gammainc_derivative", "zeta_derivative")},
    "kolmogorov_derivative": [(1, 2, 3)],
    **{name: [(1, 2)] for name in ("chndtr_derivative", "ncx2_density_derivative")},
    **{name: [(0, 1)] for name in ("vonmises_moment", "nct_df_moment")},
    **{name: [(0, 1), (1,)] for name in ("ncbeta_derivative", "ncbeta_density_derivative")},
    "sph_harm_y": [(1, 2), (0, 1)],
    "betainc_derivative": [(0, 1), (1,)],
    "hyp1f1_derivative": [(0, 1), (1,), (0,)],
    "hyp2f1_derivative": [(0,), (1,), (0,), (0,)],
}


class Step:
    """One row at one place, to be differentiated by one of its arguments along a line."""

    def __init__(self, row, values, index):
        self.row, self.values, self.index = row, values, index
        x = values[index]
        generator = np.random.default_rng(1)
        self.direction = generator.normal(size=np.shape(x)) if np.ndim(x) else 1.0
        moved = (*values[:index], x + 1e-3 * self.direction, *values[index + 1 :])
        if row.arrays and not row.domain.contains(*moved):  # only a symmetric matrix may move
            self.direction = self.direction + np.swapaxes(self.direction, -1, -2)

    def along(self, row):
        wrapping, i = wrap(row), self.index

        def f(t):
            x = self.values[i] + t * self.direction
            return wrapping(*self.values[:i], x, *self.values[i + 1 :])

        return f

    def slope(self, row):
        """Return the change that the rule of a row gives, as numbers."""
        return np.asarray(ad.jvp(self.along(row), (0.0,), (1.0,))[1])


def scalar_points(row):
    if row.name in refs.TABLE:
        return refs.points(row)[:6]
    found = []
    orders = ORDERS.get(row.name, ())
    numbers = (-0.6,) * (row.arity == 1) + (0.35, 0.8, 1.7, 3.2)
    places = [*orders, *[numbers] * (row.arity - len(orders))]
    for point in itertools.product(*places):
        with np.errstate(all="ignore"):
            inside = row.domain.contains(*point) and not any(k.happens(*point) for k in row.kinks)
            if inside and np.isfinite(row.compute(*point)):
                found.append(point)
    return found[:: max(1, len(found) // 4)][:5]


def scalar_steps(row):
    orders = len(ORDERS.get(row.name, ()))
    by = refs.variables(row) if row.name in refs.TABLE else range(orders, row.arity)
    return [
        Step(row, tuple(point), i)
        for point in scalar_points(row)
        for i in by
        if i not in row.settings
    ]


@functools.cache
def array_steps():
    """Return at most two steps for each argument of each row of arrays, by name."""
    met = {}
    functions = [(f, x) for _, f, x in cases.CASES] + [(f, A) for f in MORE.values()]
    for f, x in functions:
        try:
            program = ad.trace(f, x)
        except ad.errors.AutodiffError:
            continue
        for node in program.nodes:
            for i, arg in enumerate(node.args):
                if isinstance(arg, Node) and node.primitive.arrays:
                    of_argument = met.setdefault(node.operator, {}).setdefault(i, [])
                    if len(of_argument) < 2:
                        of_argument.append(Step(node.primitive, node.values(), i))
    return {name: [*itertools.chain(*of_row.values())] for name, of_row in met.items()}


@functools.cache
def steps_of(name):
    """Return steps of a row at which the derivative exists and is finite."""
    row, found = TABLE[name], []
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for step in array_steps().get(name, ()) if row.arrays else scalar_steps(row):
            try:
                slope = step.slope(step.row)
            except ad.errors.RuleError:
                continue  # no rule for this argument
            if np.all(np.isfinite(slope)) and np.all(np.isfinite(step.row.compute(*step.values))):
                found.append(step)
    return found


NEVER = {
    "stop_gradient",  # its slope is no derivative
    *("is_singular", "det_sign"),  # answers
    "sum_to",  # met in sweeps alone
    "eig",  # the lengths and phases of its vectors are set by the program that calls it
}


@pytest.mark.slow
def test_every_row_is_tried():
    assert {name for name in TABLE if not steps_of(name)} <= NEVER


def test_eigenvectors_as_users_call_them_are_not_accused():
    ad.check_grad(lambda x: np.abs(np.linalg.eig(x)[1]), A)
    ad.check_grad(lambda x: np.linalg.eig(x)[0], A)


@pytest.mark.parametrize("name", [name for name in TABLE if name not in NEVER])
def test_a_right_rule_is_not_accused(name):
    for step in steps_of(name):
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            ad.check_grad(step.along(step.row), 0.0)


def with_rule(row, index, rule):
    name = f"wrong_{row.name}"
    partials = (*row.partials[:index], rule, *row.partials[index + 1 :])
    by_type = ByType(name, {}, row.compute)
    return dataclasses.replace(row, name=name, partials=partials, by_type=by_type, listed=False)


def evaluate(rule, v, args):
    return rule(v, *args) if callable(rule) else rule


def scaled(derivative, forward, back):
    if derivative is ZERO:
        return ZERO
    if isinstance(derivative, Linear):
        return Linear(
            lambda dot: push(forward, derivative.push(dot)),
            lambda bar: pull(back, derivative.pull(bar)),
        )
    return derivative * forward


def mutants(step):
    """Yield rows whose rule is wrong at this step, and what was done to it."""
    row, i = step.row, step.index
    rule = row.partials[i]
    for what, forward, back in (
        ("sign", -1, -1),
        ("factor", 1.001, 1.001),
        ("way back", 1, 1.001),
    ):
        yield (
            what,
            with_rule(row, i, lambda v, *a, f=forward, b=back: scaled(evaluate(rule, v, a), f, b)),
        )
    numbers = [k for k in range(row.arity) if k not in row.settings]
    shapes = {np.shape(step.values[k]) for k in numbers}
    if len(numbers) > 1 and len(shapes) == 1:

        def exchanged(v, *args):
            args = list(args)
            args[numbers[0]], args[numbers[1]] = args[numbers[1]], args[numbers[0]]
            return evaluate(rule, v, args)

        yield "exchanged", with_rule(row, i, exchanged)


def is_wrong(step, row, what):
    """Tell whether a changed rule gives another number, where the right one is not 0."""
    right = step.slope(step.row)
    if what == "way back":
        rule = evaluate(step.row.partials[step.index], step.row.compute(*step.values), step.values)
        return isinstance(rule, Linear) and np.any(np.abs(right) > 1e-6)
    try:
        wrong = step.slope(row)
    except (ArithmeticError, ValueError, TypeError, ad.errors.AutodiffError):
        return False
    size = np.max(np.abs(right), initial=0.0)
    return bool(np.max(np.abs(wrong - right), initial=0.0) > 1e-4 * size > 1e-9)


@pytest.mark.parametrize("name", [name for name in TABLE if name not in NEVER])
def test_a_wrong_rule_is_accused_by_name(name):
    for step in steps_of(name):
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            for what, row in mutants(step):
                if is_wrong(step, row, what):
                    with pytest.raises(ad.errors.CheckError, match=f"rule of 'wrong_{name}'"):
                        ad.check_grad(step.along(row), 0.0)
