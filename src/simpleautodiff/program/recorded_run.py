"""One run of a function, recorded: its nodes, their names, and their lines in the code."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from types import CodeType
from typing import Any, NamedTuple

from simpleautodiff.core.engine import engine
from simpleautodiff.core.node import Node
from simpleautodiff.core.order import execution_order
from simpleautodiff.errors import ArgumentError, ConstantError
from simpleautodiff.program.program import Program
from simpleautodiff.program.watched_work import go_through
from simpleautodiff.transforms.arguments import Selection, call, check_function, name_of
from simpleautodiff.transforms.located_tapes import CallTape, UserCall
from simpleautodiff.transforms.results import unwrap_results
from simpleautodiff.values.functions import check_value
from simpleautodiff.values.pytree import flatten, paths


class Recording(NamedTuple):
    """One run of a function: its nodes, and where in the user's code they were made."""

    nodes: list[Node]
    names: dict[Node, str]
    lines: dict[Node, str]
    outputs: list[Node]
    instructions: list[tuple[CodeType, int] | None]  # one for each node
    calls: dict[Node, tuple[UserCall, ...]]
    compared: bool  # whether the path through the code may depend on the values


def trace(
    f: Callable[..., Any],
    *args: Any,
    numbering: str = "",
    names: Sequence[str] | None = None,
) -> Program:
    """Run `f` once and return its program: every step with its name, value and source line.

    Inputs are named by the parameters of `f`, or by `names`.
    """
    made = record(f, args, names)
    program = Program(made.nodes, numbering, made.names, made.lines, made.outputs, calls=made.calls)
    program.compared = made.compared
    return program


def record(
    f: Callable[..., Any], args: tuple[Any, ...], names: Sequence[str] | None = None
) -> Recording:
    """Run `f` once and return its recording."""
    check_function(f)
    if not args:
        _refuse_missing_point(f)
    leaves, rebuild = flatten(args)
    tape = CallTape()
    try:
        with engine.recording() as use, use, tape:
            inputs = [
                tape.input(check_value(leaf, f"an argument of {name_of(f)}")) for leaf in leaves
            ]
            result = call(f, Selection(args), rebuild(iter(inputs)))
            inputs = tape[: len(inputs)]  # as they were, even if the function writes to them
        _, results, _ = unwrap_results(result, tape, f)
        outputs = [leaf for leaf in results if isinstance(leaf, Node) and leaf.level is tape]
        if not outputs:
            raise ConstantError(
                f"no result of {name_of(f)} depends on its arguments: every derivative is 0, and "
                "there is nothing to show"
            )
        needed = set(execution_order(*outputs)) | set(inputs)
        own = names or input_names(f, args)
        if len(own) != len(inputs) or isinstance(own, str):
            raise ArgumentError(
                f"{name_of(f)} has {len(inputs)} inputs here: names is a list of as many;"
                f" got {own!r}"
            )
        kept = [node for node in tape if node in needed]
        lines = {
            node: tape.line(node)
            for node in go_through(kept, "source lines")
            if node.primitive is not None
        }
        instructions = [
            None if tape.instructions[node.index] == tape.caller else tape.instructions[node.index]
            for node in kept
        ]
        calls = {node: tape.calls[node.index] for node in kept}
    finally:
        tape.clear()
    return Recording(
        kept,
        dict(zip(inputs, own, strict=True)),
        lines,
        outputs,
        instructions,
        calls,
        tape.compared,
    )


def input_names(f: Callable[..., Any], args: tuple[Any, ...]) -> list[str]:
    """Return the names of the inputs: parameters of `f` and paths inside their structures."""
    try:
        bound = inspect.signature(f).bind(*args).arguments
    except (TypeError, ValueError):
        bound = {f"x{i}": arg for i, arg in enumerate(args, 1)}
    return [path for name, arg in bound.items() for path in paths(arg, name)]


def _refuse_missing_point(f: Callable[..., Any]) -> None:
    """Refuse a function that takes arguments where none is given."""
    try:
        parameters = inspect.signature(f).parameters.values()
    except (TypeError, ValueError):
        return
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    wanted = [one.name for one in parameters if one.default is one.empty and one.kind in positional]
    if wanted:
        raise ArgumentError(
            f"{name_of(f)} is looked at in one run: write its arguments after it, as in "
            f"trace(f, {', '.join(wanted)})"
        )
