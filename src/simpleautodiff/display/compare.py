"""`compare`: one derivative by six methods, side by side: the values and the costs."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from simpleautodiff.core.node import Node
from simpleautodiff.display.tables import formats
from simpleautodiff.errors import ArgumentError, AutodiffError, DomainWarning
from simpleautodiff.program.check_grad import is_analytic
from simpleautodiff.program.memory import KeptValue, find_kept
from simpleautodiff.program.recorded_run import record
from simpleautodiff.program.typed_graphs import as_function
from simpleautodiff.transforms.arguments import Selection, call, check_function, name_of
from simpleautodiff.transforms.finite_difference import complex_step, estimate_derivative
from simpleautodiff.transforms.grad import jvp, vjp
from simpleautodiff.transforms.jacobian import jacobian
from simpleautodiff.transforms.recorded_call import RecordedCall
from simpleautodiff.values.functions import optional, shape
from simpleautodiff.values.pytree import flatten

F = Callable[..., Any]
MAX_COMPARED = 10  # inputs and results that are compared one by one


@dataclass(frozen=True, slots=True)
class Method:
    """One method for the derivatives: its values and its cost.

    `values` has one row per result and one column per input. `digits` is how many digits agree with
    the reference; `operations` counts those of all inputs and results, where an operation on arrays
    counts as one, and in both modes the function itself once; `stored` is how many numbers are
    retained for the reverse sweep, and `bytes` what they take. `seconds` is the time it took here,
    for what is compared.
    """

    name: str
    values: Any = None
    digits: int | None = None
    operations: int | None = None
    stored: int | None = None
    note: str = ""
    bytes: int = 0
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Comparison:
    """The methods for one derivative side by side; `mode` is the library's choice, and `why`."""

    title: str
    ways: tuple[Method, ...]
    mode: str
    why: str

    def __getitem__(self, name: str) -> Method:
        """Return one method by its name: "forward", "reverse", "symbolic", ..."""
        return next(way for way in self.ways if way.name == name)

    def __str__(self) -> str:
        """Write the comparison as text."""
        return self.to("text")

    def to(self, format: str) -> str:
        """Write the comparison as text, markdown, latex, html or json."""
        formats.check_format(format, ("text", "markdown", "latex", "html", "json"))
        if format == "json":
            return self._json()
        heads = ("way", "derivatives", "digits", "operations", "stored numbers", "bytes", "time")
        table = formats.write_grid(format, self.title, heads, [_write(way) for way in self.ways])
        return f"{table}\n\n{self._conclusion(format)}"

    def _conclusion(self, format: str) -> str:
        text = f"The library would choose {self.mode} mode: {self.why}."
        return f"<p>{text}</p>" if format == "html" else text

    def _json(self) -> str:
        ways = [
            {
                "way": way.name,
                "values": None if way.values is None else np.asarray(way.values).tolist(),
                "digits": way.digits,
                "operations": way.operations,
                "stored": way.stored,
                "note": way.note,
                "bytes": way.bytes,
                "seconds": way.seconds,
            }
            for way in self.ways
        ]
        return formats.dump_json(
            {"title": self.title, "ways": ways, "mode": self.mode, "why": self.why}
        )

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/plain": self.to("text"), "text/html": self.to("html")}


def compare(f: F, *args: Any) -> Comparison:
    """Differentiate `f` by six methods and put them side by side.

    Forward and reverse mode, elimination of vertices, SymPy's formula, the complex step, and
    differences: their values, how many digits agree, how many operations they take, how many
    numbers and bytes they store, and the time they took; and which mode `jacobian` would choose,
    and why. With more than ten inputs or results, the first ten are used.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> c = ad.compare(lambda x1, x2: ad.log(x1) + x1 * x2 - ad.sin(x2), 2.0, 5.0)
    >>> c["reverse"].values
    array([[5.5       , 1.71633781]])
    >>> c["forward"].digits, c["reverse"].digits, c["differences"].digits < 16
    (16, 16, True)
    >>> c.mode, c.why
    ('reverse', 'it needs 1 sweep for 1 result, forward mode 2 for 2 inputs')
    """
    f, args = as_function(f, args)
    check_function(f)
    point = ComparisonPoint(f, args)
    ways = (_run_forward, _run_reverse, _eliminate, _use_sympy, _step_complex, _difference)
    found = [way(point) for way in ways]
    reference = next(
        (way.values for way in found if way.name == "symbolic" and way.values is not None),
        found[1].values,
    )
    judged = tuple(_judge(way, reference) for way in found)
    return Comparison(f"Derivatives of {name_of(f)}", judged, *_explain_choice(point))


class ComparisonPoint:
    """A function at a point, with its inputs and results as lists of numbers."""

    def __init__(self, f: F, args: tuple[Any, ...]) -> None:
        self.f, self.args = f, args
        leaves, self.rebuild = flatten(args)
        if not leaves:
            raise ArgumentError(f"compare needs a point: compare({name_of(f)}, x, ...)")
        self.leaves = [np.asarray(leaf, float) if shape(leaf) else leaf for leaf in leaves]
        for leaf in leaves:
            if np.asarray(leaf).dtype.kind not in "iuf":
                raise ArgumentError(f"compare needs a point of real numbers, got {leaf!r}")
        self.value = call(f, Selection(args), args)
        self.inputs = sum(np.size(leaf) for leaf in self.leaves)
        self.results = sum(np.size(leaf) for leaf in flatten(self.value)[0])
        self.columns, self.rows = min(self.inputs, MAX_COMPARED), min(self.results, MAX_COMPARED)

    def unit(self, number: int, leaves: list[Any]) -> list[Any]:
        """Return leaves that are 0 except for one number, which is 1."""
        units, begin = [], 0
        for leaf in leaves:
            size = int(np.size(leaf))
            unit = np.zeros(size)
            if begin <= number < begin + size:
                unit[number - begin] = 1.0
            units.append(unit.reshape(np.shape(leaf)) if np.shape(leaf) else float(unit[0]))
            begin += size
        return units

    def move(self, step: Any, number: int) -> Any:
        """Return the arguments with one number moved by a step."""
        units = self.unit(number, self.leaves)
        pairs = zip(self.leaves, units, strict=True)
        moved = [x + step * u if np.any(u) else x for x, u in pairs]
        return self.rebuild(iter(moved))

    def numbers(self, result: Any) -> Any:
        """Return the first results as a list of numbers."""
        parts = [np.ravel(np.asarray(leaf)) for leaf in flatten(result)[0]]
        return np.concatenate(parts)[: self.rows]

    def steps(self, function: F) -> int:
        """Count the operations of a function at this point."""
        recording = record(function, tuple(self.args))
        return sum(node.primitive is not None for node in recording.nodes)


def _run_forward(point: ComparisonPoint) -> Method:
    def column(number: int) -> Any:
        tangents = point.rebuild(iter(point.unit(number, point.leaves)))
        return jvp(point.f, point.args, tangents)[1]

    start = time.perf_counter()
    columns = [point.numbers(column(j)) for j in range(point.columns)]
    seconds = time.perf_counter() - start
    once = _count(point, point.f)
    sweeps = [
        int(np.size(leaf)) * max(0, _count(point, _sweep(point, k)) - once)
        for k, leaf in enumerate(point.leaves)
    ]
    return Method(
        "forward", np.stack(columns, axis=1), None, once + sum(sweeps), 0, seconds=seconds
    )


def _sweep(point: ComparisonPoint, k: int) -> F:
    """Return the forward sweep from one of the inputs, with the others constant."""

    def sweep(*args: Any) -> Any:
        leaves, rebuild = flatten(args)

        def along(x: Any) -> Any:
            return point.f(*rebuild(iter([*leaves[:k], x, *leaves[k + 1 :]])))

        return jvp(along, (leaves[k],), (_ones(point.leaves[k]),))

    return sweep


def _ones(leaf: Any) -> Any:
    return np.ones(np.shape(leaf)) if np.shape(leaf) else 1.0


def _run_reverse(point: ComparisonPoint) -> Method:
    start = time.perf_counter()
    value, pullback = vjp(point.f, *point.args)
    leaves, rebuild = flatten(value)
    rows = []
    for i in range(point.rows):
        bars = flatten(pullback(rebuild(iter(point.unit(i, leaves)))))[0]
        rows.append(np.concatenate([np.ravel(bar) for bar in bars])[: point.columns])
    seconds = time.perf_counter() - start

    def sweep(*args: Any) -> Any:
        again, pull = vjp(point.f, *args)
        return again, pull(rebuild(iter([_ones(leaf) for leaf in leaves])))

    once = _count(point, point.f)
    operations = once + point.results * (_count(point, sweep) - once)
    kept = _find_stored(point)
    stored = sum(int(np.size(item.value)) for item in kept)
    held = sum(item.bytes for item in kept)
    return Method("reverse", np.stack(rows), None, operations, stored, "", held, seconds)


def _eliminate(point: ComparisonPoint) -> Method:
    """Eliminate the vertices of the graph, those with the fewest paths first."""

    def value_twice(*args: Any) -> Any:
        return (value := point.f(*args)), value

    places = tuple(range(len(point.args)))
    both = jacobian(value_twice, places, has_aux=True, mode="elimination")
    start = time.perf_counter()
    try:
        entries = flatten(both(*point.args)[0])[0]
    except ArgumentError:
        return Method("elimination", note="only for programs of single numbers")
    seconds = time.perf_counter() - start
    values = np.array(entries).reshape(point.results, point.inputs)[: point.rows, : point.columns]
    graph = RecordedCall(point.f, Selection(tuple(point.args)))
    edges = sum(isinstance(arg, Node) for node in graph.tape for arg in node.args)
    return Method("elimination", values, None, _count(point, both), edges, "", 8 * edges, seconds)


def _count(point: ComparisonPoint, function: F) -> int:
    try:
        return point.steps(function)
    except AutodiffError:
        return 0  # nothing depends on the inputs


def _find_stored(point: ComparisonPoint) -> list[KeptValue]:
    """Return the values that the rules of a recorded function read in the reverse sweep."""
    graph = RecordedCall(point.f, Selection(tuple(point.args)))
    return find_kept(list(graph.tape))


def _use_sympy(point: ComparisonPoint) -> Method:
    """Differentiate the function's formula by SymPy."""
    if any(shape(leaf) for leaf in point.leaves):
        return Method("symbolic", note="SymPy's symbols are single numbers, not arrays")
    start = time.perf_counter()
    try:
        sympy = optional("sympy", "the symbolic way")
        symbols = [sympy.Symbol(f"x{i + 1}", real=True) for i in range(point.inputs)]
        formulas = flatten(point.f(*point.rebuild(iter(symbols))))[0]
        slopes = [[sympy.diff(y, x) for x in symbols] for y in formulas]
        at = {s: sympy.Float(float(x), 40) for s, x in zip(symbols, point.leaves, strict=True)}
        values = [
            [float(slope.evalf(30, subs=at)) for slope in row[: point.columns]]
            for row in slopes[: point.rows]
        ]
    except Exception as error:  # a function may do anything with symbols
        return Method("symbolic", note=f"not for this function: {type(error).__name__}")
    seconds = time.perf_counter() - start
    count = sum(int(sympy.count_ops(slope)) for row in slopes for slope in row)
    return Method("symbolic", np.array(values), None, count, 0, seconds=seconds)


def _step_complex(point: ComparisonPoint) -> Method:
    """Differentiate by a tiny imaginary step."""
    if not is_analytic(point.f, point.args):
        return Method(
            "complex step", note="only for functions that are analytic in complex numbers"
        )
    values = np.zeros((point.rows, point.columns))
    start = time.perf_counter()
    for i in range(point.rows):
        for j in range(point.columns):
            values[i, j] = complex_step(_restrict_to_line(point, i, j), 0.0)
    seconds = time.perf_counter() - start
    operations = point.inputs * _count(point, point.f)
    return Method("complex step", values, None, operations, 0, seconds=seconds)


def _restrict_to_line(point: ComparisonPoint, i: int, j: int) -> F:
    return lambda t: point.numbers(point.f(*point.move(t, j)))[i]


def _difference(point: ComparisonPoint) -> Method:
    calls = 0
    values = np.zeros((point.rows, point.columns))

    def count_calls(along: F) -> F:
        def function(t: float) -> Any:
            nonlocal calls
            calls += 1
            return along(t)

        return function

    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DomainWarning)
        for i in range(point.rows):
            for j in range(point.columns):
                values[i, j] = estimate_derivative(
                    count_calls(_restrict_to_line(point, i, j)), 0.0
                )[0]
    seconds = time.perf_counter() - start
    share = point.inputs * point.results / (point.rows * point.columns)
    operations = round(calls * share) * _count(point, point.f)
    return Method("differences", values, None, operations, 0, seconds=seconds)


def _judge(way: Method, reference: Any) -> Method:
    if way.values is None:
        return way
    digits = min(map(_count_digits, np.ravel(way.values).tolist(), np.ravel(reference).tolist()))
    return replace(way, digits=digits)


def _count_digits(value: float, reference: float) -> int:
    """Count the digits that agree, of the 16 that a float has."""
    if value == reference or (value != value and reference != reference):
        return 16
    error = abs(value - reference) / (abs(reference) or 1.0)
    return 0 if not math.isfinite(error) or error >= 1 else min(16, int(-math.log10(error)))


def _explain_choice(point: ComparisonPoint) -> tuple[str, str]:
    """Say which mode `jacobian` chooses, and why."""
    inputs, results = _pluralize(point.inputs, "input"), _pluralize(point.results, "result")
    if point.inputs == point.results:
        sweeps = _pluralize(point.results, "sweep")
        return "reverse", f"a tie, both modes need {sweeps} for {inputs} and {results}"
    if point.inputs < point.results:
        sweeps = _pluralize(point.inputs, "sweep")
        return (
            "forward",
            f"it needs {sweeps} for {inputs}, reverse mode {point.results} for {results}",
        )
    sweeps = _pluralize(point.results, "sweep")
    return "reverse", f"it needs {sweeps} for {results}, forward mode {point.inputs} for {inputs}"


def _pluralize(count: int, word: str) -> str:
    return f"{count} {word}{'s' * (count != 1)}"


def _write(way: Method) -> tuple[str, ...]:
    if way.values is None:
        return way.name, way.note, "", "", "", "", ""
    numbers = np.ravel(way.values).tolist()
    shown = ", ".join(map(repr, numbers[:2])) + ", …" * (len(numbers) > 2)
    counts = str(way.digits), f"{way.operations:,}", f"{way.stored:,}", f"{way.bytes:,}"
    return way.name, shown, *counts, _write_time(way.seconds or 0.0)


def _write_time(seconds: float) -> str:
    """Write a time in two significant digits, without an exponent.

    Examples
    --------
    >>> [_write_time(seconds) for seconds in (0.00021, 0.0053, 0.684, 12.0)]
    ['0.21 ms', '5.3 ms', '680 ms', '12000 ms']
    """
    return f"{float(f'{1e3 * seconds:.2g}'):g} ms"
