"""A program as the data of its page: every number in it comes from the program and its sweeps."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from simpleautodiff.core.engine import engine
from simpleautodiff.core.linear import ZERO, Linear
from simpleautodiff.core.node import NODES, Node
from simpleautodiff.display.explorer.page_numbers import record_choices, record_numbers
from simpleautodiff.display.explorer.page_rows import add_rows, to_texts
from simpleautodiff.display.explorer.page_rules import collect_forms, collect_rules, is_real
from simpleautodiff.display.explorer.page_views import MOST_DRAWN, Views
from simpleautodiff.display.notation.explain import write_reason
from simpleautodiff.display.notation.formulas import value_terms
from simpleautodiff.display.notation.labels import write_slope
from simpleautodiff.display.notation.rich_text import show_minus
from simpleautodiff.display.notation.step_sentences import seed_symbols
from simpleautodiff.display.stepper.search import search_down, search_up
from simpleautodiff.errors import AutodiffError
from simpleautodiff.program.program import Program, output_names
from simpleautodiff.program.watched_work import go_through
from simpleautodiff.program.written_numbers import write_result
from simpleautodiff.rules.row import TABLE
from simpleautodiff.values.functions import shape
from simpleautodiff.values.other_arrays import read_foreign

MOST_SWEEPS = 12
LINEAR = {"text": "linear"}  # a local derivative that is a linear map, and no number
MOST_ELEMENTS = 400  # of an array that is drawn as a heat map


def make_document(
    program: Program, title: str = "", code: Sequence[str] = (), first: int = 1
) -> Any:
    """Return everything that the page shows of a program, as plain lists, strings and numbers.

    Parameters
    ----------
    program
        The program to show.
    title
        The heading.
    code, first
        The lines of the function's source, and the number of the first one.
    """
    with engine.recording() as use, use:  # everything made here is retained
        return _make_document(program, title, code, first)


def _make_document(program: Program, title: str, code: Sequence[str], first: int) -> dict[str, Any]:
    index = {node: i for i, node in enumerate(program.nodes)}
    rules, rule_of, reason = collect_rules(program)
    views = Views(program)
    drawn = set(views.singles())
    sweeps = _sweeps(program, index)
    kernel = record_numbers(program, sweeps, drawn) if reason else None
    if program.compared and not reason:
        kernel = record_choices(program)
    if program.compared and not kernel:
        reason = reason or (
            "No sliders: the function compares numbers, and the page cannot tell what it would "
            "answer elsewhere."
        )
    document = {
        "title": title,
        "nodes": [
            _node(program, node, index, node in drawn)
            | ({"rule": rule_of[node]} if node in rule_of else {})
            for node in go_through(program.nodes, "steps")
        ],
        "rules": rules,
        "forms": collect_forms(rules, {node.operator for node in program.nodes}),
        "inputs": [index[node] for node in program.inputs],
        "outputs": [index[node] for node in program.outputs],
        "results": [name for name, _ in output_names(program)],
        "rows": {
            name: _row(name) for name in sorted({n.operator for n in program.nodes} - {"input"})
        },
        "live": not reason,  # the page computes by its own formulas
        "kernel": kernel,
        "why": reason if not kernel else "",
        **views.document(index),
        "sweeps": sweeps,
        "code": _code(program, index, code, first),
    }
    if reason:
        add_rows(document, program, drawn)
    return document


def json_number(value: Any, elements: bool = False, exact: bool = False) -> Any:
    """Return a number for JSON: a float, or text for inf, nan and everything else.

    With `elements`, an array that is not too large brings them along, to six digits or `exact`.
    """
    value = read_foreign(value)
    if isinstance(value, np.ndarray) and value.shape == ():
        value = value[()]
    if isinstance(value, bool | np.bool_):
        return int(value)
    if isinstance(value, (int, np.integer)) and abs(int(value)) < 2**53:
        return int(value)
    if isinstance(value, (float, np.floating, int)):
        value = float(value)
        return value if math.isfinite(value) else str(value)
    return {
        "text": write_result(value),
        "shape": str(shape(value) or write_result(value)),
        **_sizes(value),
        **(_elements(value, exact) if elements else {}),
    }


def _sizes(value: Any) -> dict[str, Any]:
    """Return the largest size in an array, and whether it has a nan: breakpoints need them."""
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "biufc":
        return {}
    sizes = np.abs(value)
    missing = np.isnan(sizes)
    return {
        "most": json_number(np.max(sizes, where=~missing, initial=0)),
        "nan": bool(missing.any()),
    }


def _elements(value: Any, exact: bool) -> dict[str, Any]:
    """Return the elements of a real array, for its heat map and its sliders."""
    array = np.asarray(value)
    if array.dtype.kind not in "biuf" or not 0 < array.size <= MOST_ELEMENTS:
        return {}
    numbers = [float(x) if exact else float(f"{x:.6g}") for x in array.ravel()]
    return {"dims": list(array.shape), "elements": list(map(json_number, numbers))}


def _node(program: Program, node: Node, index: dict[Node, int], drawn: bool) -> dict[str, Any]:
    """Return the data of a node, with its formulas only if it is drawn somewhere."""
    record: dict[str, Any] = {
        "name": program.names[node],
        "value": json_number(node.value, elements=drawn, exact=node.primitive is None),
    }
    if node.primitive is None:
        return record
    args = [index[arg] if type(arg) in NODES else [_argument(arg)] for arg in node.args]
    record |= {"op": node.operator, "args": args}
    if not drawn:
        return record
    if node in program.variables:
        record["variable"] = program.variables[node]
    local = [
        (k, derivative, write_slope(program, node, k, derivative).text)
        for k, derivative in node.local_derivatives()
    ]
    text, numbers = to_texts(value_terms(program, node))
    return record | {
        "text": text,
        "numbers": numbers,
        "reason": show_minus(write_reason(program, node)),
        "partials": {
            k: None if d is ZERO else LINEAR if isinstance(d, Linear) else json_number(d)
            for k, d, _ in local
        },
        "slopes": {k: text for k, _, text in local},
        "line": program.lines.get(node, ""),
    }


def _argument(arg: Any) -> Any:
    return json_number(arg) if is_real(arg) else {"text": str(arg)[:40]}


def _row(name: str) -> dict[str, Any]:
    row = TABLE.get(name)
    return {"text": row.text if row else "", "reason": show_minus(row.reason) if row else ""}


def _sweeps(program: Program, index: dict[Node, int]) -> list[dict[str, Any]]:
    """Return the forward sweep from each input and the reverse sweep from each output."""
    at = {name: index[node] for node, name in program.names.items()}
    small = len(program.nodes) <= MOST_DRAWN
    inputs = [program.names[node] for node in program.inputs[: MOST_SWEEPS if small else 1]]
    outputs = [program.names[node] for node in program.outputs[: MOST_SWEEPS if small else 1]]
    sweeps = [_try_sweep(_forward, program, at, name) for name in inputs]
    return [s for s in sweeps if s] + [_reverse(program, at, name) for name in outputs]


def _try_sweep(sweep: Callable[..., Any], program: Program, at: dict[str, int], name: str) -> Any:
    """Return a sweep, or None if it is not possible, such as one from an index."""
    try:
        return sweep(program, at, name)
    except (AutodiffError, TypeError, ValueError):
        return None


def _forward(program: Program, at: dict[str, int], name: str) -> dict[str, Any]:
    search = [(kind == "place", at[node]) for kind, node in search_down(program, name)]
    tangents = Program.tangents(program, name)  # the numbers: Trace.tangents would make a table
    small = len(program.nodes) <= MOST_DRAWN
    reached = [i for placed, i in reversed(search) if placed]
    return {
        "mode": "forward",
        "root": at[name],
        "seed": seed_symbols(program, name, "forward"),
        "start": json_number(tangents[name], small),
        "search": [[int(placed), i] for placed, i in search],
        "numbers": {
            i: json_number(tangents[program.names[program.nodes[i]]], small)
            for i in go_through(reached, "forward sweep")
        },
        "order": reached,
    }


def _reverse(program: Program, at: dict[str, int], name: str) -> dict[str, Any]:
    small = len(program.nodes) <= MOST_DRAWN
    items = program.accumulations(name)
    inputs = {program.names[node] for node in program.inputs}
    last = {item.parent: k for k, item in enumerate(items) if item.parent in inputs}
    return {
        "mode": "reverse",
        "root": at[name],
        "seed": seed_symbols(program, name, "reverse"),
        "start": json_number(program.seed(name)[1], small),
        "search": [[int(kind == "place"), at[node]] for kind, node in search_up(program, name)],
        "terms": [  # with elements, also of a large program, where they are the gradient
            [*_term(at, item), json_number(item.total, small or last.get(item.parent) == k)]
            for k, item in enumerate(go_through(items, "reverse sweep"))
        ],
    }


def _term(at: dict[str, int], item: Any) -> list[int]:
    return [at[item.parent], at[item.child], item.index, int(item.first)]


def _code(
    program: Program, index: dict[Node, int], code: Sequence[str], first: int
) -> list[dict[str, Any]]:
    """Return the source as lines, each with the nodes that were made on it.

    Lines of other functions, which are not in the source, follow it.
    """
    lines = [
        {"number": n, "text": text.rstrip(), "nodes": []} for n, text in enumerate(code, first)
    ]
    known = {(line["number"], str(line["text"]).strip()): line for line in lines}
    for node, line in program.lines.items():
        found = re.match(r"[^:]*:(\d+)(?:: (.*))?$", line)
        if node not in index or not found:
            continue
        key = int(found[1]), found[2] or ""
        if key not in known and key[1]:
            known[key] = {"number": key[0], "text": key[1], "nodes": [], "elsewhere": True}
            lines.append(known[key])
        if key in known:
            known[key]["nodes"].append(index[node])  # type: ignore[attr-defined]
    return lines


def source_of(f: Callable[..., Any]) -> tuple[list[str], int]:
    """Return the lines of a function's source and the number of the first; nothing if unknown."""
    try:
        lines, first = inspect.getsourcelines(f)
    except (OSError, TypeError):
        return [], 1
    indent = min((len(s) - len(s.lstrip()) for s in lines if s.strip()), default=0)
    return [line[indent:].rstrip() for line in lines], first
