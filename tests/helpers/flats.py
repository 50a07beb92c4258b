"""Random flat programs: all operations, all kinds of number, guards; and what they compute."""

from typing import NamedTuple

import numpy as np
from hypothesis import Phase, given, seed, settings, strategies as st

from simpleautodiff.compiled.scalar.kernel import Kernel, Leaf
from simpleautodiff.compiled.scalar.operations import OPERATIONS, SCALAR_TYPES
from simpleautodiff.compiled.scalar.scalar_program import ScalarProgram

INF, NAN = np.inf, np.nan
SPECIAL = {
    "d": (0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, 1e-310, 1e300, -1e300, 710.0, 1e22, INF, -INF, NAN),
    "f": (0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, 1e-40, 1e38, -1e38, 89.0, INF, -INF, NAN),
    "?": (False, True),
    "l": (0, 1, -1, 2, 7, -9, 2**62, -(2**63), 2**63 - 1),
}
COMPARE = ("lt", "le", "eq", "ne")
LOGIC = ("and", "or", "xor", "not")
CONVERT = ("to_float64", "to_float32", "to_int64")
BY_KIND = {  # operations by the dtype that they take
    dtype: tuple(
        name
        for name, row in OPERATIONS.items()
        if row.code(dtype) and name not in (*CONVERT, "select")
    )
    for dtype in "dfl?"
}

# Functions that two C libraries may round differently; what follows such a step is not compared
# to the last bit. All others are the same everywhere.
EXACT = {"add", "sub", "mul", "div", "neg", "abs", "sqrt", "copysign", "maximum", "minimum", "fmod"}
EXACT |= {"floor", "ceil", "trunc", "rint", "signbit", "select", *COMPARE, *LOGIC, *CONVERT}


def operations():
    """Return every operation with every kind of argument it takes."""
    pairs = [(name, kind) for kind, names in BY_KIND.items() for name in names]
    conversions = [("to_float64", kind) for kind in "f?l"]
    conversions += [("to_float32", kind) for kind in "d?l"]
    conversions += [("to_int64", kind) for kind in "?"]
    return pairs + [("select", kind) for kind in "df?l"] + conversions


def result_kind(name, kind):
    gives = OPERATIONS[name].gives
    return kind if gives == "same" else gives


def single(name, kind):
    """Return a kernel of one operation, one leaf per argument."""
    flat = ScalarProgram()
    kinds = ["?", kind, kind] if name == "select" else [kind] * OPERATIONS[name].arity
    places = [flat.input(each) for each in kinds]
    flat.outputs = [flat.make_unsimplified(name, *places)]
    leaves = tuple(Leaf(each, 1) for each in kinds)
    return Kernel(flat, leaves, (Leaf(result_kind(name, kind), 1),))


class Case(NamedTuple):
    kernel: Kernel
    arguments: list  # one array per input leaf

    def expected(self):
        """Return the status and the results, by NumPy and step by step: the definition."""
        kernel, flat = self.kernel, self.kernel.program
        values = all_values(flat, [number for array in self.arguments for number in array])
        wrong = [n for n, (place, wanted) in enumerate(flat.guards) if values[place] != wanted]
        results = iter([values[place] for place in flat.outputs])
        leaves = [
            np.array([next(results) for _ in range(leaf.size)], SCALAR_TYPES[leaf.dtype])
            for leaf in kernel.outputs
        ]
        return (1 + wrong[0] if wrong else 0), leaves

    def check(self, answer, ulps=0):
        """Compare a status and results with the definition; after a failed guard, the status."""
        status, leaves = self.expected()
        assert answer[0] == status, str(self.kernel.program)
        for found, leaf in zip(answer[1], leaves, strict=True):
            if not status:
                assert_near(found, leaf, ulps, str(self.kernel.program))


def assert_near(found, expected, ulps=0, message=""):
    """Compare arrays of one kind, to the bit (a nan is a nan), or up to some units of the last."""
    found = np.asarray(found)
    assert found.dtype == expected.dtype
    if expected.dtype.kind != "f":
        assert found.tolist() == expected.tolist(), message
        return
    with np.errstate(all="ignore"):
        room = ulps * np.abs(np.spacing(expected))
        near = (found == expected) | (np.abs(found - expected) <= room)
        same = near & (np.signbit(found) == np.signbit(expected))
    same |= np.isnan(found) & np.isnan(expected)
    assert same.all(), f"{message}\n{found} is not {expected}"


def all_values(flat, inputs):
    """Return what every step of a program is, by its definition."""
    asked, flat.outputs = flat.outputs, range(len(flat.steps))
    values = flat.run(inputs)
    flat.outputs = asked
    return values


def numbers(kind):
    if kind == "d":
        plain = st.floats(-4, 4)
    elif kind == "f":
        plain = st.floats(-4, 4, width=32)
    elif kind == "l":
        plain = st.integers(-5, 5)
    else:
        plain = st.booleans()
    return plain | st.sampled_from(SPECIAL[kind])


@st.composite
def leaves(draw, most=3):
    shapes = st.tuples(st.sampled_from("ddf?l"), st.integers(0, 3))
    return tuple(Leaf(*shape) for shape in draw(st.lists(shapes, min_size=1, max_size=most)))


@st.composite
def cases(draw, most=25, exact=True, without=()):
    """Return a random program with arguments for it.

    With `exact`, only operations that have one right result to the last bit: then all ways to run a
    program agree. Without, those that call the same C library still do.
    """
    flat, inputs = ScalarProgram(draw(st.booleans())), draw(leaves())
    arguments = [
        np.array([draw(numbers(leaf.dtype)) for _ in range(leaf.size)], SCALAR_TYPES[leaf.dtype])
        for leaf in inputs
    ]
    places = [flat.input(leaf.dtype) for leaf in inputs for _ in range(leaf.size)]
    places += [flat.const(SCALAR_TYPES[kind](draw(numbers(kind))), kind) for kind in "df?l"]
    for _ in range(draw(st.integers(1, most))):
        places.append(_step(draw, flat, places, exact, without))
    places = _defined(flat, places, arguments)
    truths = [place for place in places if flat.dtypes[place] == "?"]
    chosen = draw(st.lists(st.tuples(st.sampled_from(truths), st.booleans()), max_size=3))
    flat.guards = chosen
    outputs = _outputs(draw, flat, places)
    return Case(Kernel(flat, inputs, outputs), arguments)


def _defined(flat, places, arguments):
    """Leave out what depends on the sign of a nan, which is not the same everywhere."""
    values = all_values(flat, [number for array in arguments for number in array])
    unsure = [False] * len(values)
    for place, (name, *args) in enumerate(flat.steps):
        if name in ("signbit", "copysign"):
            unsure[place] = bool(np.isnan(values[args[-1]]))
        if name not in ("input", "const"):
            unsure[place] |= any(unsure[arg] for arg in args)
    return [place for place in places if not unsure[place]]


def _step(draw, flat, places, exact, without):
    kind = flat.dtypes[draw(st.sampled_from(places))]
    same = [place for place in places if flat.dtypes[place] == kind]
    names = [name for name, of in operations() if of == kind and name not in without]
    name = draw(st.sampled_from([name for name in names if not exact or name in EXACT]))
    count = 2 if name == "select" else OPERATIONS[name].arity
    args = [draw(st.sampled_from(same)) for _ in range(count)]
    if name == "select":
        args.insert(0, draw(st.sampled_from([p for p in places if flat.dtypes[p] == "?"])))
    return flat.make(name, *args)


def _outputs(draw, flat, places):
    outputs = []
    for kind in draw(st.lists(st.sampled_from("ddf?l"), min_size=1, max_size=3)):
        same = [place for place in places if flat.dtypes[place] == kind]
        chosen = draw(st.lists(st.sampled_from(same[-6:]), max_size=3))
        flat.outputs += chosen
        outputs.append(Leaf(kind, len(chosen)))
    return tuple(outputs)


def some(count, **options):
    """Return so many random programs, always the same, to be compiled together."""
    found = []

    @seed(5)
    @settings(max_examples=count, database=None, phases=[Phase.generate], deadline=None)
    @given(cases(**options))
    def keep(one):
        found.append(one)

    keep()
    return found
