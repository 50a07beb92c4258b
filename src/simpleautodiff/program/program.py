"""A graph as a numbered list of steps: what is shown, checked and compiled is made from it.

Names belong to a program, not to nodes: inputs are x1, x2, ... (or a function's own parameters),
the others v1, v2, ... in one of two numberings: the paper's, or the order of execution. Wherever a
program is shown, its numbering is the same.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from simpleautodiff.core.level import apply
from simpleautodiff.core.linear import filled
from simpleautodiff.core.node import NODES, Node
from simpleautodiff.core.order import find_ends
from simpleautodiff.core.sweep import forward_sweep, reverse_sweep
from simpleautodiff.errors import ArgumentError
from simpleautodiff.program.node_names import label_of
from simpleautodiff.program.orders import in_paper_order
from simpleautodiff.program.saving import is_importable, load_nodes, save_nodes
from simpleautodiff.program.watched_work import WatchedBackwards, go_through
from simpleautodiff.rules.array.shapes import shape_of
from simpleautodiff.transforms.located_tapes import UserCall
from simpleautodiff.values.functions import has_dtype, to_type_of
from simpleautodiff.values.pytree import flatten

MOST_BY_DISTANCE = 16  # nodes that are numbered by distance from the inputs by default


@dataclass(frozen=True, slots=True)
class Step:
    """One line of a program: `name` = `operator`(`args`) = `value`.

    An argument is the name of another step, or a constant. `line` is the user's own source line,
    and `variable` the user's own name for the result, where they are known.
    """

    name: str
    operator: str
    args: tuple[Any, ...]
    value: Any
    line: str = ""
    variable: str = ""

    @property
    def call(self) -> str:
        """The right-hand side: ``mul(x1, x2)``; empty for an input."""
        return f"{self.operator}({', '.join(map(str, self.args))})" if self.operator else ""


@dataclass(frozen=True, slots=True)
class Accumulation:
    """One step of a reverse sweep: add `derivative` × the adjoint of `child` to that of `parent`.

    `parent` is the child's argument number `index`; `first` marks the start of the sum; `total` is
    the sum so far.
    """

    parent: str
    child: str
    index: int
    derivative: Any
    first: bool
    total: Any


class Program:
    """The numbered steps that compute some outputs.

    Parameters
    ----------
    execution
        All nodes, in an order in which they can be computed.
    numbering
        `"paper"`: by distance from the inputs, as in the paper's tables; `"execution"`: as given.
        By default the paper's for a program of at most 16 nodes; in a longer one, execution keeps
        the steps of a line, a call or a loop together.

    Examples
    --------
    >>> from simpleautodiff import Node, Program, execution_order, log, sin
    >>> x1, x2 = Node(2.0), Node(5.0)
    >>> y = log(x1) + x1 * x2 - sin(x2)
    >>> for step in Program(execution_order(y)).steps:
    ...     print(step.name, step.operator, step.args)
    x1  ()
    x2  ()
    v1 log ('x1',)
    v2 mul ('x1', 'x2')
    v3 sin ('x2',)
    v4 add ('v1', 'v2')
    v5 sub ('v4', 'v3')
    """

    f: Any  # the function, and its arguments, where they are known
    args: tuple[Any, ...]
    compared = False  # whether the path through the code may depend on the values
    called = ""  # the name of the result, if it is fixed

    def __init__(
        self,
        execution: Sequence[Node],
        numbering: str = "",
        names: dict[Node, str] | None = None,
        lines: dict[Node, str] | None = None,
        outputs: Sequence[Node] = (),
        variables: dict[Node, str] | None = None,
        calls: dict[Node, tuple[UserCall, ...]] | None = None,
    ) -> None:
        if numbering not in ("", "paper", "execution"):
            raise ArgumentError(f"numbering is 'paper' or 'execution'; got {numbering!r}")
        numbering = numbering or ("paper" if len(execution) <= MOST_BY_DISTANCE else "execution")
        inputs = [node for node in execution if node.primitive is None]
        others = [node for node in execution if node.primitive is not None]
        if numbering == "paper":
            others = [n for n in in_paper_order(execution) if n.primitive is not None]
        self.numbering = numbering
        self.nodes = [*inputs, *others]
        self.inputs = inputs
        self.outputs = list(outputs) or find_ends(self.nodes)
        own = names or _find_labels(inputs)
        self.names = {node: own.get(node, f"x{i}") for i, node in enumerate(inputs, 1)}
        letter = _free_letter(self.names.values())
        self.names |= {node: f"{letter}{i}" for i, node in enumerate(others, 1)}
        self.lines = lines or {}
        self.variables = variables or _find_labels(others)
        self.calls = calls or {}
        self.execution = list(execution)
        self._place = {node: i for i, node in enumerate(self.nodes)}
        self.steps = [self._step(node) for node in go_through(self.nodes, "numbering")]

    def _step(self, node: Node) -> Step:
        args = tuple(self.names[arg] if type(arg) in NODES else arg for arg in node.args)
        line, variable = self.lines.get(node, ""), self.variables.get(node, "")
        operator = "" if node.primitive is None else node.operator
        return Step(self.names[node], operator, args, node.value, line, variable)

    def renamed(self, names: Mapping[Node, str]) -> Self:
        """Return the same program with other names of its nodes."""
        other = object.__new__(type(self))
        vars(other).update(vars(self))
        other.names = dict(names)
        other.steps = [other._step(node) for node in other.nodes]
        return other

    def __len__(self) -> int:
        return len(self.steps)

    def __reduce__(self) -> Any:
        """Be pickled as data: steps and numbers, and the function where its name finds it."""
        place = {node: i for i, node in enumerate(self.execution)}
        by_place = [
            {place[node]: entry for node, entry in entries.items()}
            for entries in (self.names, self.lines, self.variables, self.calls)
        ]
        others = {
            name: getattr(self, name)
            for name in ("args", "compared", "called", "f")
            if hasattr(self, name) and (name != "f" or is_importable(self.f))
        }
        outputs = [place[node] for node in self.outputs]
        saved = save_nodes(self.execution), by_place, outputs, self.numbering
        return _load, (type(self), *saved, others)

    def replay(self, *args: Any) -> Any:
        """Compute the recorded steps at other arguments, which may be nodes; no branch is new.

        Examples
        --------
        >>> import simpleautodiff as ad
        >>> program = ad.trace(lambda x, y: x * ad.sin(y), 1.0, 2.0)
        >>> ad.grad(program.replay)(3.0, 0.0), program.replay(2.0, 0.0)
        (0.0, 0.0)
        """
        leaves = flatten(args)[0]
        if len(leaves) != len(self.inputs):
            names = ", ".join([self.names[node] for node in self.inputs])
            raise ArgumentError(f"the program has the inputs {names}; got {len(leaves)} numbers")
        found: dict[Node, Any] = dict(zip(self.inputs, leaves, strict=True))
        for node in self.execution:
            if node.primitive is not None:
                given = zip(node.args, node.values(), strict=True)
                numbers = [found[arg] if type(arg) in NODES else x for arg, x in given]
                found[node] = apply(node.primitive, *numbers)
        results = [found[node] for node in self.outputs]
        return results[0] if len(results) == 1 else tuple(results)

    def node(self, name: str) -> Node:
        """Return the node called `name`."""
        for node, its_name in self.names.items():
            if its_name == name:
                return node
        raise ArgumentError(
            f"there is no {name!r} here; there are {', '.join(self.names.values())}"
        )

    def __str__(self) -> str:
        """Write the steps, one a line: ``v1 = log(x1) = 0.6931471805599453``."""
        return "\n".join(
            " = ".join(filter(None, (step.name, step.call, str(step.value)))) for step in self.steps
        )

    def proper(self, name: str) -> str:
        """Return the name of a step, or of an element of it, for the user's name or the result's.

        If the user assigned a name several times, it is that of the last step.
        """
        own = dict.fromkeys(self.names.values())
        base, bracket, index = name.partition("[")
        if name not in own and base not in own:
            others = {end: self.names[node] for end, node in output_names(self)}
            others |= {self.variables[n]: self.names[n] for n in self.nodes if n in self.variables}
            if name in others:
                return others[name]
            base = others.get(base, base)
        self.seed(base + bracket + index)  # rejects what does not exist
        return base + bracket + index

    def position(self, node: Node) -> int:
        """Return the index of a node in the numbering."""
        return self._place[node]

    def seed(self, name: str) -> tuple[int, Any]:
        """Return the index of the node where a sweep from `name` begins, and its seed: 1, or ones.

        One element of an array is selected by its index: ``w[0, 2]``.
        """
        node, index = self._choose(name)
        full = shape_of(node.value)
        if not full and index is not None:
            raise ArgumentError(f"there is no {name!r}: {self.names[node]} is a single number")
        if not full:
            return self.position(node), to_type_of(1, node.value) if has_dtype(node.value) else 1
        kind = getattr(node.value, "dtype", np.float64)
        if index is None:
            return self.position(node), np.ones(full, kind)
        unit = np.zeros(full, kind)
        try:
            unit[index] = 1
        except IndexError as error:
            raise ArgumentError(f"there is no {name!r}: {error}") from None
        return self.position(node), unit

    def _choose(self, name: str) -> tuple[Node, Any]:
        """Return the node called `name`, or the node and the index of ``name[index]``."""
        base, bracket, index = name.rpartition("[")
        if name in self.names.values() or not bracket or not name.endswith("]"):
            return self.node(name), None
        try:
            return self.node(base), ast.literal_eval(index[:-1])
        except (ValueError, SyntaxError):
            raise ArgumentError(f"an element is chosen by integers; got {name!r}") from None

    def tangents(self, wrt: str, *, seed: Any = 1) -> Mapping[str, Any]:
        """Sweep forward from one node and return every derivative with respect to it, by name."""
        position, unit = self.seed(wrt)
        dot = {self.nodes[position]: unit * seed}
        forward_sweep(go_through(self.nodes, "forward sweep"), dot)
        return {self.names[node]: filled(dot.get(node, 0)) for node in self.nodes}

    def accumulations(self, output: str = "", seed: Any = 1) -> list[Accumulation]:
        """Sweep back from one output and return each accumulation, in the order it happens."""
        position, unit = self.seed(output or self.names[self.outputs[0]])
        bar = {self.nodes[position]: unit * seed}
        order = WatchedBackwards(self.nodes, "reverse sweep")
        reached = set(bar)
        result = []
        for child, k, derivative, total in reverse_sweep(order, bar):
            parent = child.args[k]
            names = self.names[parent], self.names[child]
            first = parent not in reached
            result.append(Accumulation(*names, k, derivative, first, filled(total)))
            reached.add(parent)
        return result

    def adjoints(self, output: str = "") -> Mapping[str, Any]:
        """Return the derivative of one output with respect to every node, by name."""
        totals = {step.name: 0 for step in self.steps}
        place, seed = self.seed(output or self.names[self.outputs[0]])
        totals[self.steps[place].name] = seed
        return totals | {item.parent: item.total for item in self.accumulations(output)}


def _load(
    kind: type[Program],
    saved: Any,
    by_place: list[dict[int, Any]],
    outputs: list[int],
    numbering: str,
    others: dict[str, Any],
) -> Program:
    """Make a program again that was pickled; without its function, that is its steps."""
    nodes = load_nodes(saved)
    names, *more = [{nodes[i]: entry for i, entry in entries.items()} for entries in by_place]
    own = {node: name for node, name in names.items() if node.primitive is None}
    lines, variables, calls = more
    ends = [nodes[i] for i in outputs]
    program = kind(nodes, numbering, own, lines, ends, variables, calls)
    program.f = program.replay
    vars(program).update(others)
    return program


def _find_labels(nodes: list[Node]) -> dict[Node, str]:
    """Return the names that the user gave to nodes typed by hand; of several, the first has it."""
    own = {name: node for node in reversed(nodes) if (name := label_of(node))}
    return {node: name for name, node in own.items()}


def _free_letter(taken: Iterable[str]) -> str:
    """Return v, or the next letter if inputs are named v1, v2, ... themselves."""
    used = {name[0] for name in taken if name[1:].isdigit()}
    return next(letter for letter in "vwutsr" if letter not in used)


def output_names(program: Program) -> list[tuple[str, Node]]:
    """Return the outputs with their names: y, or y1, y2, ...; another letter if y is taken."""
    letter = program.called or _free_result(program)
    if len(program.outputs) == 1:
        return [(letter, program.outputs[0])]
    return [(f"{letter}{i}", node) for i, node in enumerate(program.outputs, 1)]


def _free_result(program: Program) -> str:
    """Return a letter for the result that neither an input nor a variable of the user has."""
    result = {program.variables.get(node) for node in program.outputs}
    own = {name for name in program.variables.values() if name not in result}
    taken = {name[0] for name in program.names.values()} | own
    return next((letter for letter in "yzfgh" if letter not in taken), "result")


def sweeps_all_elements(program: Program, wrt: str) -> bool:
    """Tell whether a sweep starts from all elements of an array, because none was selected."""
    return any(name == wrt and shape_of(node.value) for node, name in program.names.items())
