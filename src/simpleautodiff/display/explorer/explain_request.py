"""Answer the request of the page: the program of a formula, its tables and its derivatives."""

from __future__ import annotations

import math
import warnings
from typing import Any

from simpleautodiff.display.explorer.page import describe_formula
from simpleautodiff.display.explorer.page_data import json_number, make_document
from simpleautodiff.display.tables.tables import adjoints_table, tangents_table, values_table
from simpleautodiff.errors import ConstantError, FormulaError
from simpleautodiff.program.formula import Formula, parse, read_float
from simpleautodiff.program.formula_names import is_name
from simpleautodiff.program.program import Program

NO_DERIVATIVE = (
    "the value is nan, so there is no derivative here; the sweeps show the numbers of their rules"
)


def explain(request: Any) -> dict[str, Any]:
    """Answer `{"formula": "x**2", "at": {"x": 3}}` with the program and its tables.

    Examples
    --------
    >>> answer = explain({"formula": "x**2", "at": {"x": 3}})
    >>> answer["adjoints"], answer["program"]["title"]
    ({'x': 6.0}, 'x**2')
    """
    if not isinstance(request, dict) or not isinstance(request.get("formula"), str):
        raise FormulaError('a request is {"formula": "...", "at": {"x": 2}}')
    formula, names = parse(request["formula"])
    at = request.get("at", {})
    if not names and isinstance(at, dict):  # a constant is a function of whatever is given
        formula = formula.with_variables([name for name in at if is_name(name)])
    values = _values(formula.names, at)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            answer = _explain(formula, values)
        except ConstantError:
            answer = _constant(formula, values)
    told = dict.fromkeys(str(warning.message).partition(" (at ")[0] for warning in caught)
    return answer | {"warnings": [*answer["warnings"], *told]}


def _explain(formula: Formula, values: list[float]) -> dict[str, Any]:
    program, title, code, _ = describe_formula(formula, values)
    data = make_document(program, title, code)
    adjoints = Program.adjoints(program)
    value = program.outputs[0].value
    exists = not math.isnan(value)
    return {
        "program": data,
        "tables": _tables(program),
        "value": json_number(value),
        "adjoints": {
            name: _to_plain(adjoints[name] if exists else math.nan) for name in formula.names
        },
        "warnings": [] if exists else [NO_DERIVATIVE],
    }


def _constant(formula: Formula, values: list[float]) -> dict[str, Any]:
    """Answer a formula that depends on nothing: there is no graph, and every derivative is 0."""
    value = formula(*values)
    return {
        "program": None,
        "tables": {"values": "", "tangents": {}, "adjoints": ""},
        "value": json_number(value),
        "adjoints": dict.fromkeys(formula.names, 0.0),
        "warnings": [f"{formula.text} = {value} is a constant: every derivative is 0"],
    }


def _tables(program: Program) -> dict[str, Any]:
    inputs = [program.names[node] for node in program.inputs]
    return {
        "values": str(values_table(program)),
        "tangents": {name: str(tangents_table(program, name)) for name in inputs[:8]},
        "adjoints": str(adjoints_table(program)),
    }


def _to_plain(number: Any) -> Any:
    number = float(number)
    return number if math.isfinite(number) else str(number)


def _values(names: list[str], at: Any) -> list[float]:
    if not isinstance(at, dict):
        raise FormulaError('"at" gives each variable a number, such as {"x": 2}')
    missing = [name for name in names if name not in at]
    if missing:
        raise FormulaError(f"no value for {', '.join(missing)}")
    unknown = [str(name)[:40] for name in at if name not in names]
    if unknown:
        raise FormulaError(
            f"{unknown[0]!r} is not in the formula; its variables are {', '.join(names)}"
        )
    return [_read_number(name, at[name]) for name in names]


def _read_number(name: str, value: Any) -> float:
    try:
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise ValueError
        if not isinstance(value, str) and math.isinf(value):  # what JSON's 1e400 becomes
            raise OverflowError
        return read_float(value, name) if isinstance(value, str) else float(value)
    except FormulaError:
        raise
    except OverflowError:
        raise FormulaError(f"the value of {name} is too large for a float") from None
    except ValueError:
        raise FormulaError(
            f"the value of {name} is {str(value)[:40]!r}, which is not a number"
        ) from None
