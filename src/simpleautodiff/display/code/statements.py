"""A tape as straight-line code: which steps are needed, their names, and their order."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from simpleautodiff.arrays.given_values import Call
from simpleautodiff.core.level import to_plain
from simpleautodiff.core.node import NODES, Node
from simpleautodiff.core.order import execution_order
from simpleautodiff.core.primitive import SUM
from simpleautodiff.display.code.conditions import (
    COMPARISON,
    Condition,
    condition_of,
    infix,
    write_condition,
)
from simpleautodiff.display.code.expressions import (
    Expression,
    can_write,
    find_call_name,
    variable_term,
    write_as_sign,
    write_step,
)
from simpleautodiff.display.code.recorded_sweeps import Change, Decision, SourceTape, call_of, inner
from simpleautodiff.display.notation.variables import variables_of
from simpleautodiff.errors import ArgumentError
from simpleautodiff.program.notation import Term, as_term, render
from simpleautodiff.program.orders import in_paper_order
from simpleautodiff.program.python_code import (
    MAX_INLINE_ELEMENTS,
    Piece,
    write_literal,
)
from simpleautodiff.program.watched_work import go_through
from simpleautodiff.values.functions import shape

_OTHER_BRANCH = "these numbers take another branch: write the source at them"
_OTHER_SHAPE = "these arrays have another shape: write the source at them"
_MAX_INLINE = 60  # characters up to which an expression is inlined into another


@dataclass(slots=True)
class Assignment:
    """One assignment: its variable, its expression in Python and as a term, what it reads.

    Without a variable it is a statement of another kind: a condition that must hold.
    """

    variable: str
    text: str
    term: Any
    reads: set[str]
    comment: str = ""

    def python(self) -> str:
        """Return the statement as Python."""
        return f"{self.variable} = {self.text}" if self.variable else self.text


class Statements:
    """The statements that compute some results from some inputs.

    A variable may be assigned again, as an adjoint is when it accumulates: `held` lists the
    variables that hold a step's value now, `holds` the step that a variable holds, and `left` how
    often a step is still read.
    """

    def __init__(
        self, tape: SourceTape, inputs: list[Node], names: list[str], results: list[Any]
    ) -> None:
        self.tape = tape
        self.inputs = names
        self.held: dict[Node, list[str]] = {}
        self.statements: list[Assignment] = []
        self.temporaries = 0
        self.holds: dict[str, Node] = {}
        self.constants: dict[str, str] = {}
        self.outputs = dict.fromkeys(
            leaf for leaf in results if type(leaf) in NODES and leaf.level is tape
        )
        self.decisions = [d for d in tape.decisions if d.operands()]
        self.by_operand: dict[Node, list[Decision]] = {}
        for decision in self.decisions:
            for node in decision.operands():
                self.by_operand.setdefault(node, []).append(decision)
        self.tests: set[str] = set()
        deciding = [node for decision in self.decisions for node in decision.operands()]
        self.needed = self._ancestors(deciding)
        self.uses = Counter(arg for node in self.needed for arg in tape.operands(node))
        self.uses.update(deciding)
        self.left = self.uses.copy()
        self.changed = {change.value for change in tape.changes if type(change.value) in NODES}
        self.own = variables_of(list(tape), tape.instructions)
        for node, name in zip(inputs, names, strict=True):
            self._hold(name, node)
            self._write_shape(name, node)
            self._write_decisions(node)
        self.seen = 0
        self._write_values()
        self._write_sweep()

    def _ancestors(self, deciding: list[Node]) -> set[Node]:
        """Return the steps that results and decisions need, and the operands of conditions."""
        found: set[Node] = set()
        waiting = [*self.outputs, *deciding]
        while waiting:
            node = waiting.pop()
            if node not in found:
                found.add(node)
                waiting += self.tape.operands(node)
        return found

    # The values. ----------------------------------------------------------------------------------

    def _write_values(self) -> None:
        """Write the steps of the function itself, in the paper's order and with its names."""
        ends = self.outputs if self.tape.end is None else [self.tape.end]
        steps = [n for n in in_paper_order(execution_order(*ends)) if n.primitive is not None]
        letter = "w" if any(name[0] == "v" and name[1:].isdigit() for name in self.inputs) else "v"
        last = ""
        for number, node in enumerate(go_through(steps, "values"), 1):
            name = f"{letter}{number}"
            if node not in self.needed:
                self.held.setdefault(node, [name])  # only mentioned in comments
                continue
            line = self.tape.line(node)
            own = self.own.get(node, "") if line else ""
            self._assign(name, node, ", ".join(filter(None, (own, line * (line != last)))))
            self._write_decisions(node)
            last = line
        sweep = self.tape.changes[0].time if self.tape.changes else len(self.tape)
        self._write_rest(sweep, self.changed)
        for decision in self.decisions:
            self._write_decision(decision)

    def _write_rest(self, until: int, changed: set[Node]) -> None:
        """Write the next steps, up to the number `until`, except adjoints and inlined ones."""
        for node in self.tape[self.seen : until]:
            fresh = node in self.needed and node not in self.held and node not in changed
            if fresh and not self._is_inlined(node):
                self._temporary(node)
        self.seen = max(self.seen, until)

    def _is_inlined(self, node: Node) -> bool:
        """Tell whether a step is inlined into the one step that uses it."""
        return self.uses[node] == 1 and node not in self.outputs

    def _temporary(self, node: Node, written: Expression | None = None) -> None:
        self.temporaries += 1
        self._assign(f"t{self.temporaries}", node, written=written)

    def _write_shape(self, name: str, node: Node) -> None:
        """Write a check of the shape: sums, means and their adjoints are written for this one."""
        full = shape(to_plain(node))
        if full:
            check = f"if np.shape({name}) != {full!r}: raise ValueError({_OTHER_SHAPE!r})"
            self.statements.append(Assignment("", check, None, {name}))

    def _write_decisions(self, node: Node) -> None:
        """Write the decisions by a step that is held now, as soon as all their operands are."""
        for decision in self.by_operand.pop(node, ()):
            if all(operand in self.held for operand in decision.operands()):
                self._write_decision(decision)

    def _write_decision(self, decision: Decision) -> None:
        """Refuse numbers by which the code would have gone another way."""
        asked, answer = decision
        answer = bool(answer) if isinstance(answer, np.bool_) else answer
        if isinstance(asked, Call) and not can_write(asked):
            raise ArgumentError(
                f"the answer of {asked.function!r} cannot be asked again in source code; write the "
                "function without it"
            )
        written = self._call(asked) if isinstance(asked, Call) else self._condition(asked)
        test = written.piece.text if answer is False else f"not {written.piece.text}"
        if not isinstance(answer, bool):
            whole = _as_array(answer)
            test = f"not np.array_equal({written.piece.text}, {self._constant(whole).text})"
        if test not in self.tests:
            self.tests.add(test)
            check = f"if {test}: raise ValueError({_OTHER_BRANCH!r})"
            self.statements.append(Assignment("", check, None, written.reads))

    # The sweep. -----------------------------------------------------------------------------------

    def _write_sweep(self) -> None:
        """Write the adjoints as the sweep changed them."""
        for change in go_through(self.tape.changes, "sweep"):
            value = change.value
            self._write_rest(change.time, self.changed)
            if type(value) in NODES and value.level is self.tape and value in self.needed:
                self._write_change(change, value)
        self._write_rest(len(self.tape), set())

    def _write_change(self, change: Change, value: Node) -> None:
        name = f"{self._name(change.of)}_{self.tape.accent}"
        note = prefer = ""
        if change.through is not None:
            child = self._name(change.through)
            prefer, note = f"{child}_bar", f"from {child} = {self._formula(change.through)}"
        if value not in self.held:
            self._assign(name, value, note, prefer)
        elif name not in self.held[value]:
            self._alias(name, value, note, prefer)

    def _name(self, node: Node) -> str:
        """Return the variable of a step; of one that is only mentioned, a name."""
        if node in self.needed and node not in self.held:
            self._temporary(node)
        elif node not in self.held:
            self.temporaries += 1
            self.held[node] = [f"t{self.temporaries}"]
        return self.held[node][0]

    def _formula(self, node: Node) -> str:
        """Write a step of the function in symbols."""
        if node.primitive is None:
            return "…"
        return render(node.primitive, tuple(self._mention(arg) for arg in node.args)).text

    def _mention(self, arg: Any) -> Any:
        """Return the text of an argument that is only mentioned in a comment."""
        if type(arg) in NODES:
            return Term(self.held[arg][0]) if arg in self.held else Term("…")
        condition = condition_of(inner(arg))
        if condition is None:
            return inner(arg)
        return write_condition(condition.sign, [as_term(self._mention(x)) for x in condition.sides])

    # Statements. ----------------------------------------------------------------------------------

    def _assign(
        self,
        name: str,
        node: Node,
        note: str = "",
        prefer: str = "",
        written: Expression | None = None,
    ) -> None:
        written = written or self._step(node, prefer)
        self._hold(name, node)
        self.statements.append(
            Assignment(name, written.piece.text, written.term, written.reads, note)
        )

    def _alias(self, name: str, node: Node, note: str, prefer: str) -> None:
        other = prefer if prefer in self.held[node] else self.held[node][-1]
        self._hold(name, node)
        self.statements.append(Assignment(name, other, variable_term(other), {other}, note))

    def _hold(self, name: str, node: Node) -> None:
        """Let a variable hold a step; save what it held before if that is still read."""
        old = self.holds.pop(name, None)
        if old is not None:
            self.held[old].remove(name)
            if not self.held[old] and (self.left[old] or old in self.outputs):
                self.temporaries += 1
                saved = f"t{self.temporaries}"
                self.statements.append(Assignment(saved, name, variable_term(name), {name}))
                self.holds[saved] = old
                self.held[old].append(saved)
        self.holds[name] = node
        self.held.setdefault(node, []).append(name)

    def _step(self, node: Node, prefer: str) -> Expression:
        """Write one step; steps used only here are inlined."""
        if node.primitive is None:  # the seed of a sweep
            piece = write_literal(node.value)
            return Expression(piece, Term(node.value))
        if call := call_of(node.args[-1]):
            return self._call(call) if can_write(call) else self._argument(node.args[0], prefer)
        parts = [self._argument(arg, prefer) for arg in node.args]
        if node.operator == "mul" and (shorter := write_as_sign(node, parts)):
            return shorter
        piece = write_step(node, [part.piece for part in parts])
        term = render(node.primitive, tuple(part.term for part in parts))
        return Expression(piece, term, set().union(*[part.reads for part in parts]))

    def _argument(self, arg: Any, prefer: str) -> Expression:
        if type(arg) not in NODES:
            condition = condition_of(inner(arg))
            if condition is not None:
                return self._condition(condition)
            return Expression(self._constant(inner(arg)), inner(arg))
        self.left[arg] -= 1
        if arg not in self.held:
            inside = self._step(arg, prefer)
            if len(inside.piece.text) <= _MAX_INLINE:
                return inside
            self._temporary(arg, inside)
        names = self.held[arg]
        name = prefer if prefer in names else names[-1]
        return Expression(Piece(name), variable_term(name), {name})

    def _condition(self, condition: Condition) -> Expression:
        """Write a condition, so that it is evaluated wherever the function is called."""
        sides = [self._argument(side, "") for side in condition.sides]
        texts = [side.piece.inside(SUM) for side in sides]
        term = write_condition(condition.sign, [as_term(side.term) for side in sides])
        reads = set().union(*[side.reads for side in sides])
        return Expression(Piece(infix(condition.sign, texts), COMPARISON), term, reads)

    def _call(self, call: Call) -> Expression:
        """Write a call of NumPy's function, which rounds otherwise than the steps do."""
        args = [self._write_nested(arg) for arg in call.args]
        settings = {name: self._write_nested(arg) for name, arg in call.kwargs.items()}
        texts = [arg.piece.text for arg in args]
        texts += [f"{name}={arg.piece.text}" for name, arg in settings.items()]
        name, part = find_call_name(call.function), call.part
        text = f"{name}({', '.join(texts)})" + ("" if part is None else f"[{part}]")
        reads = set().union(*[arg.reads for arg in (*args, *settings.values())])
        inside = ", ".join(as_term(arg.term).latex for arg in args)
        latex = rf"\operatorname{{{name.rpartition('.')[2]}}}({inside})"
        latex += "" if part is None else f"_{{{part}}}"
        return Expression(Piece(text), Term(text, latex=latex), reads)

    def _write_nested(self, arg: Any) -> Expression:
        """Write an argument of a call, which may be a list of arrays."""
        if not isinstance(arg, list | tuple):
            return self._argument(arg, "")
        inside = [self._write_nested(x) for x in arg]
        text = ", ".join(x.piece.text for x in inside)
        text = f"[{text}]" if isinstance(arg, list) else f"({text}{',' * (len(arg) == 1)})"
        latex = ", ".join(as_term(x.term).latex for x in inside)
        reads = set().union(*[x.reads for x in inside])
        return Expression(Piece(text), Term(text, latex=f"({latex})"), reads)

    def _constant(self, value: Any) -> Piece:
        """Write a constant; a large array gets a name at the top of the module."""
        if isinstance(value, tuple) and value:
            inside = ", ".join(self._constant(part).text for part in value)
            return Piece(f"({inside},)" if len(value) == 1 else f"({inside})")
        piece = write_literal(value)
        if not isinstance(value, np.ndarray) or value.size <= MAX_INLINE_ELEMENTS:
            return piece
        return Piece(self.constants.setdefault(piece.text, f"C{len(self.constants) + 1}"))

    # The text. ------------------------------------------------------------------------------------

    def final(self, leaf: Any) -> str:
        """Return the text for a leaf of the result."""
        if type(leaf) in NODES and leaf.level is self.tape:
            if leaf not in self.held:
                self._temporary(leaf)
            return self.held[leaf][-1]
        return write_literal(leaf).text

    def lines(self, result: str) -> list[str]:
        """Return the indented lines of a body that ends with ``return result``."""
        self.statements = _drop_unread(self.statements, result)
        widths = [len(s.python()) for s in self.statements if s.variable]
        width = min(max(widths, default=0), 48)
        lines = []
        for statement in self.statements:
            comment = f"  # {statement.comment}" if statement.comment else ""
            lines.append(f"    {statement.python():<{width}}{comment}".rstrip())
        return [*lines, f"    return {result}"]

    def latex(self) -> str:
        """Return the statements as aligned equations."""
        written = [s for s in self.statements if s.variable]
        rows = [f"  {variable_term(s.variable).latex} &= {as_term(s.term).latex}" for s in written]
        return "\n".join([r"\begin{align*}", " \\\\\n".join(rows), r"\end{align*}"])


def _as_array(answer: Any) -> Any:
    """Return an answer, which may be several arrays of indices, as one plain array."""
    whole = np.array(answer)
    return whole if whole.ndim else whole[()]


def _drop_unread(statements: list[Assignment], result: str) -> list[Assignment]:
    """Drop assignments that are not read before the variable is assigned again."""
    wanted = set(re.findall(r"[^\W\d]\w*", result))
    kept = []
    for statement in reversed(statements):
        if statement.variable in wanted or not statement.variable:
            wanted.discard(statement.variable)
            wanted |= statement.reads
            kept.append(statement)
    return kept[::-1]
