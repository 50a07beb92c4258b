"""The derivative of one step in words: what it is, why, and how its value is computed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from inspect import signature
from typing import Any

from simpleautodiff.core.linear import ZERO, Linear, LinearRule
from simpleautodiff.core.node import NODES, Node
from simpleautodiff.core.primitive import Primitive
from simpleautodiff.display.notation.formulas import (
    Pull,
    adjoint_terms,
    chain_term,
    derivative_term,
    is_absent,
    suppress_warnings,
    value_terms,
    write_bar,
    write_value,
)
from simpleautodiff.display.notation.missing import explain_nan
from simpleautodiff.display.notation.rich_text import show_minus
from simpleautodiff.display.notation.step_sentences import tangent_line, value_line
from simpleautodiff.program.program import Program, output_names, sweeps_all_elements
from simpleautodiff.program.written_numbers import write_result, write_short, write_typed
from simpleautodiff.transforms.kinks import is_at_kink


class Words(str):
    r"""Sentences, one on each line; a notebook shows them as such.

    Examples
    --------
    >>> Words("One.\nTwo.")._repr_mimebundle_()["text/html"]
    '<p>One.</p><p>Two.</p>'
    """

    __slots__ = ()

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        html = "".join(f"<p>{escape(line)}</p>" for line in self.splitlines())
        return {"text/html": html, "text/plain": str(self)}


@suppress_warnings()
def explain(program: Program, name: str, wrt: str = "", output: str = "") -> Words:
    """Explain in words how the derivatives of one step are computed, forward and in reverse.

    Parameters
    ----------
    program
        What `trace` returned.
    name
        The step, by its name or by the user's own name for it.
    wrt, output
        The input that forward mode starts from and the output that reverse mode starts from; by
        default the first ones.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> t = ad.trace(lambda x1, x2: ad.log(x1) + x1 * x2 - ad.sin(x2), 2, 5)
    >>> print(explain(t, "v5"))
    v5 = v4 − v3 = 10.693 − (−0.959) = 11.652: a difference grows with its first term and shrinks
    with its second.
    Forward from x1: v5 = v4 − v3, so ∂v5/∂v4 = 1 and ∂v5/∂v3 = −1; v3 is not reachable from
    x1, so its derivative is 0; v̇5 = v̇4 − v̇3 = 5.5 − 0 = 5.5.
    Reverse from y: v5 is y, so its adjoint is 1.
    """
    node = program.node(program.proper(name))
    wrt = program.proper(wrt) if wrt else program.names[program.inputs[0]]
    output = program.proper(output) if output else ""
    derivatives = [_forward(program, node, wrt), _reverse(program, node, output)]
    told = [_value(program, node), explain_nan(program, node), *_kinks(node)]
    return Words("\n".join(filter(None, [*told, *map(show_minus, derivatives)])))


def _value(program: Program, node: Node) -> str:
    name, value = program.names[node], write_value(node)
    if node.primitive is None:
        return show_minus(f"{name} = {value} is an input.")
    line = program.lines.get(node, "")
    line = f" ({line})" if line and len(set(program.lines.values())) > 1 else ""
    own = f", which you call {program.variables[node]}" if node in program.variables else ""
    return f"{value_line(program, name)}{own}{line}: {show_minus(write_reason(program, node))}."


_OF_CONSTANTS = {  # of one argument, where the others are constants: its sentence and its letters
    ("power", 0): (
        "the power rule, for a constant exponent n: the derivative of x^n is n x^(n-1)",
        ["v", "x", "n"],
    ),
    ("power", 1): (
        "for a constant base b, from b^x = exp(x log b), the derivative is b^x log b",
        ["v", "b", "x"],
    ),
}
_FREE_LETTERS = "abcpqrstuwzfghkmnABCPQRSTUWZ"


def write_reason(program: Program, node: Node) -> str:
    """Return the reason of a rule, and what its letters stand for here.

    A letter that is the name of something else here is replaced by another one.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> t = ad.trace(lambda y, x: (y / x) ** 2, 2.0, 5.0)
    >>> write_reason(t, t.node("v1"))[:52]
    'from v1 b = a follows dv1 b + v1 db = da: the deriva'
    """
    assert node.primitive is not None
    row, own = node.primitive, program.names[node]
    live = [k for k, arg in enumerate(node.args) if type(arg) in NODES]
    special = _OF_CONSTANTS.get((row.name, live[0])) if len(live) == 1 else None
    reason, (result, *letters) = special or (row.reason, letters_of(row) or [""])
    names = [program.names[arg] if type(arg) in NODES else write_typed(arg) for arg in node.args]
    reason = _replace(reason, result, own) if own[1:].isdigit() else reason
    meant = [
        (letter, name)
        for letter, name in (*zip(letters, names, strict=False), (result, own))
        if letter != name and _mentions(reason, letter)
    ]
    own_names = {*program.names.values(), *program.variables.values()}
    for place, (letter, name) in enumerate(meant):
        if letter in own_names:
            taken = own_names.union(letters)
            free = next(x for x in _FREE_LETTERS if x not in taken and not _mentions(reason, x))
            reason, meant[place] = _replace(reason, letter, free), (free, name)
    said = [f"{letter} is {name}" for letter, name in meant]
    return f"{reason}; here {_join_with_and(said)}" if said else reason


def letters_of(row: Primitive) -> list[str]:
    """Return the letters that a rule uses for the result and the arguments: v, x, y; or V, A, B."""
    for rule in row.partials:
        if not callable(rule) and not isinstance(rule, LinearRule):
            continue
        linear = isinstance(rule, LinearRule)
        parameters = list(signature(rule.push if linear else rule).parameters.values())
        if all(one.kind is one.POSITIONAL_OR_KEYWORD for one in parameters):
            names = [one.name.strip("_") for one in parameters]
            return [name.upper() for name in names] if row.arrays else names
    return []


def _pattern(letter: str) -> str:
    """Return the pattern of a letter, or d before it, in a reason; the word "a" is no letter."""
    word = r"(?! [a-z]{2})" if letter == "a" else ""
    return rf"(?<![A-Za-ce-z]){letter}(?![A-Za-z0-9]){word}"


def _mentions(reason: str, letter: str) -> bool:
    return bool(letter) and re.search(_pattern(letter), reason) is not None


def _replace(reason: str, letter: str, other: str) -> str:
    return re.sub(_pattern(letter), other, reason) if letter else reason


def _kinks(node: Node) -> list[str]:
    """Return sentences that say where the derivative is a choice, if it is one here."""
    if node.primitive is None:
        return []
    return [
        f"A kink of {node.operator}, {kink.text}: the derivative is a choice, {kink.choice}."
        for kink in node.primitive.kinks
        if is_at_kink(node.primitive, kink, node.values())
    ]


def _forward(program: Program, node: Node, wrt: str) -> str:
    """Explain how the tangent of a step follows from those of its parents."""
    whole = ", all elements together" if sweeps_all_elements(program, wrt) else ""
    name, head = program.names[node], f"Forward from {wrt}{whole}: "
    if node.primitive is None:
        same = name == wrt.partition("[")[0]
        reason = f"{name} is where the sweep starts" if same else f"{name} is another input"
        derivative = write_result(Program.tangents(program, wrt)[name])
        return f"{head}{reason}, so its derivative is {derivative}."
    dot, reached = Program.tangents(program, wrt), _find_reached(program, wrt)
    derivatives = node.local_derivatives()
    parts = [
        f"{name} = {value_terms(program, node)[0].text}, so {_slopes(program, node, derivatives)}"
    ]
    for k, derivative in derivatives:
        parent = node.args[k]
        if derivative is ZERO:
            continue
        if parent not in reached:
            parts.append(
                f"{program.names[parent]} is not reachable from {wrt}, so its derivative is 0"
            )
    return f"{head}{'; '.join([*dict.fromkeys(parts), _total(program, node, derivatives, dot)])}."


def _slopes(program: Program, node: Node, derivatives: list[tuple[int, Any]]) -> str:
    name = program.names[node]
    if derivatives and all(isinstance(derivative, Linear) for _, derivative in derivatives):
        maps = [f"∂{name}/∂{program.names[node.args[k]]}" for k, _ in derivatives]
        return (
            f"{_join_with_and(maps)} {'is a linear map' if len(maps) == 1 else 'are linear maps'}"
        )
    twice = len({node.args[k] for k, _ in derivatives}) < len(derivatives)
    said = []
    for k, derivative in derivatives:
        place = f" (as argument {k + 1})" if twice else ""
        said.append(f"{_slope(program, node, name, k, derivative)}{place}")
    return _join_with_and(said)


def _slope(program: Program, node: Node, name: str, k: int, derivative: Any) -> str:
    """Write ∂v/∂u = formula = number; for a linear map, what it does to a tangent."""
    parent = program.names[node.args[k]]
    partial = f"∂{name}/∂{parent}"
    if derivative is ZERO:
        return f"{partial} is known to be 0, whatever it is multiplied by"
    if isinstance(derivative, Linear):
        return f"{partial} is a linear map"
    formula, number = derivative_term(program, node, k, derivative).text, write_short(derivative)
    return f"{partial} = {number}" if formula == number else f"{partial} = {formula} = {number}"


def _total(program: Program, node: Node, derivatives: list[tuple[int, Any]], dot: Any) -> str:
    """Write the tangent as its row in the table has it, if anything comes to it."""
    name = program.names[node]
    nothing = all(
        d is ZERO or is_absent(dot[program.names[node.args[k]]], d, dot[name])
        for k, d in derivatives
    )
    return f"so the derivative of {name} is 0" if nothing else tangent_line(program, node, dot)


def _reverse(program: Program, node: Node, output: str) -> str:
    """Explain how the adjoint of a step follows from those of its children."""
    output = output or program.names[program.outputs[0]]
    place, seed = program.seed(output)
    ends = {program.names[end]: name for name, end in output_names(program)}
    base = program.steps[place].name
    end = ends.get(base, base) + output.removeprefix(base)
    name, head = program.names[node], f"Reverse from {end}: "
    sweep = program.accumulations(output)
    bar = {base: seed} | {item.parent: item.total for item in sweep}
    items = [item for item in sweep if item.parent == name]
    if name == base and not items:
        return f"{head}{name} is {end}, so its adjoint is {write_result(seed)}."
    if not items:
        return f"{head}no way leads from {name} to {end} that counts, so its adjoint is 0."
    pulls = [
        Pull(program.node(item.child), item.index, item.derivative, bar[item.child])
        for item in items
    ]
    symbols, numbers = adjoint_terms(program, pulls, bar[name])
    children = _join_with_and(list(dict.fromkeys(item.child for item in items)))
    chain = " + ".join(chain_term(item.child, item.parent).text for item in items)
    return (
        f"{head}{name} goes into {children}, so {write_bar(name)} = {chain} = {symbols} = "
        f"{numbers} = {write_result(bar[name])}."
    )


def _find_reached(program: Program, wrt: str) -> set[Node]:
    """Return the nodes that depend on `wrt`."""
    reached = {program.nodes[program.seed(wrt)[0]]}
    for node in program.nodes:
        if any(type(arg) in NODES and arg in reached for arg in node.args):
            reached.add(node)
    return reached


def _join_with_and(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
