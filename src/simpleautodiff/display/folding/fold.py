"""Large programs in few boxes: one for each call, source line or loop, which can be unfolded.

Every box is a range of the execution order, so no box depends on its own results: a folded program
is an acyclic graph, like the program.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from simpleautodiff.core.node import NODES, Node
from simpleautodiff.core.order import execution_order
from simpleautodiff.display.folding.find_loops import fold_passes, fold_repeats
from simpleautodiff.display.folding.once_per_program import once_per_program
from simpleautodiff.errors import ArgumentError, short_repr
from simpleautodiff.program.program import Program
from simpleautodiff.program.watched_work import go_through
from simpleautodiff.transforms.arguments import name_of

MAX_BOXES = 49  # boxes of a folded program
DEFAULT_BOXES = 24  # boxes that are shown at once by default
DEPTH = 40  # depth of nested calls that are told apart
FOLDINGS = ("auto", "call", "line", "loop")


@dataclass(frozen=True, eq=False)
class Box:
    """A range of a program: one step, or several under one title.

    `kind` is "input", "step", "call", "line", "loop", "steps" or "inputs"; a loop is its body
    `times` over. The title of a loop has a line for each of the first parts of its body.
    """

    kind: str
    title: str
    nodes: tuple[Node, ...]
    parts: tuple[Box, ...] = ()
    times: int = 1
    mark: Any = None  # equal for boxes that do the same
    line: int = 0

    @property
    def single(self) -> bool:
        """Whether the box is a single step or input."""
        return not self.parts

    @cached_property
    def inside(self) -> tuple[Box, ...]:
        """The boxes that replace this one when unfolded; of a loop the first and the last pass.

        A box that contains nothing but another box is unfolded with it.
        """
        if len(self.parts) <= 1:
            return self.parts and (self.parts[0].inside or self.parts)
        if self.kind != "loop":
            return tuple(_limit_boxes(list(self.parts), MAX_BOXES))
        first, *between, last = self.parts
        if len(between) > 1:
            nodes = tuple(node for part in between for node in part.nodes)
            rest = replace(self, nodes=nodes, parts=tuple(between), times=len(between))
            return (*_flatten_pass(first), rest, *_flatten_pass(last))
        return tuple(inner for part in self.parts for inner in _flatten_pass(part))


class Folded:
    """A program as boxes; `figure` draws it.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> def f(x):
    ...     for _ in range(500):
    ...         x = ad.sin(x) * x
    ...     return x + 1
    >>> folded = fold(ad.trace(f, 0.5))
    >>> print(folded)
    x
    loop@v1 (×500, 1,000 steps)
    v1001
    >>> len(folded.unfold("loop@v1"))
    7
    """

    def __init__(self, program: Program, boxes: Iterable[Box]) -> None:
        self.program = program
        self.boxes = list(boxes)

    def __len__(self) -> int:
        return len(self.boxes)

    def __str__(self) -> str:
        """Write the boxes, one a line."""
        return "\n".join(map(self._line, self.boxes))

    def _line(self, box: Box) -> str:
        return self.name(box) if box.single else f"{self.name(box)} ({describe_amount(box)})"

    def name(self, box: Box) -> str:
        """Return the name of a box: that of its step, or its kind and its first step."""
        first = self.program.names[box.nodes[0]]
        return first if box.single else f"{box.kind}@{first}"

    @cached_property
    def owner(self) -> dict[Node, Box]:
        """The box that contains each node."""
        return {node: box for box in self.boxes for node in box.nodes}

    @cached_property
    def edges(self) -> list[tuple[Box, Box]]:
        """The arrows between boxes; between two single steps, one for each argument."""
        found = []
        seen = set()
        for box in self.boxes:
            for node in go_through(box.nodes, "arrows"):
                for arg in node.args:
                    if type(arg) not in NODES:
                        continue
                    tail = self.owner[arg]
                    pair = (id(tail), id(box))
                    if tail is not box and (pair not in seen or (tail.single and box.single)):
                        seen.add(pair)
                        found.append((tail, box))
        return found

    def unfold(self, box: str | Box) -> Folded:
        """Return the program with one box replaced by its contents.

        A loop becomes its first pass, the passes between, and its last.
        """
        wanted = box if isinstance(box, Box) else self._find(box)
        at = self.boxes.index(wanted)
        return Folded(self.program, [*self.boxes[:at], *wanted.inside, *self.boxes[at + 1 :]])

    def _find(self, name: str) -> Box:
        for box in self.boxes:
            if self.name(box) == name and not box.single:
                return box
        folded = ", ".join(self.name(box) for box in self.boxes if not box.single)
        raise ArgumentError(f"there is no box {name!r} to unfold; there are: {folded or 'none'}")


def describe_amount(box: Box) -> str:
    """Describe how much is in a box: ``×500, 1,000 steps``."""
    what = "inputs" if box.kind == "inputs" else "steps"
    steps = f"{len(box.nodes):,} {what}"
    return f"×{box.times:,}, {steps}" if box.times > 1 else steps


def _flatten_pass(one: Box) -> tuple[Box, ...]:
    """Return the boxes of one pass of a loop."""
    return one.parts if one.kind == "pass" else (one,)


def fold(program: Program | Node, by: str = "auto", legible: int = DEFAULT_BOXES) -> Folded:
    """Fold a program into fewer than 50 boxes.

    Parameters
    ----------
    program
        What `trace` returns, or a node, for the graph that it depends on.
    by
        `"call"`: a box for each call of a function; `"line"`: for each source line; `"loop"`: for
        each repeated structure; `"auto"`: all of these, and a small program as it is.
    legible
        How many boxes `"auto"` shows at once: calls and lines are unfolded up to that.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> def layer(w, x):
    ...     return ad.tanh(w * x)
    >>> program = ad.trace(lambda w, x: layer(w, layer(w, x)), 0.5, 2.0)
    >>> print(fold(program, by="call"))
    w
    x
    call@v1 (2 steps)
    call@v3 (2 steps)
    """
    if isinstance(program, Node):
        program = Program(execution_order(program))
    if by not in FOLDINGS:
        raise ArgumentError(f"by is one of {', '.join(map(repr, FOLDINGS))}; got {by!r}")
    check_program(program, "fold")
    if by == "auto" and len(program) <= legible:
        return unfold_all(program)
    inputs = _limit_inputs([_step(program, node) for node in program.inputs])
    boxes = _fold_whole(program, by)
    if by == "auto":
        boxes = _unfold_outer(boxes, legible - len(inputs))
    return Folded(program, [*inputs, *_limit_boxes(boxes, MAX_BOXES - len(inputs))])


@once_per_program
def _fold_whole(program: Program, by: str) -> list[Box]:
    """Fold all steps as far as they go."""
    nodes = [node for node in program.execution if node.primitive is not None]
    steps = [_step(program, node) for node in go_through(nodes, "folding")]
    return _fold_steps(program, steps, by, 1)


def check_program(program: Any, what: str) -> None:
    """Raise an error for what is not a program; for a function, say how to make one of it."""
    if isinstance(program, Program):
        return
    if callable(program):
        name = name_of(program).replace("<lambda>", "f")
        raise ArgumentError(
            f"{what} shows one run of {name}: write {what}(trace({name}, ...)), with the point at "
            "which to run it instead of the dots"
        )
    raise ArgumentError(f"{what} takes what trace returns; got {short_repr(program)}")


def unfold_all(program: Program) -> Folded:
    """Return the program with a box for each step, in its own numbering."""
    return Folded(program, [_step(program, node) for node in program.nodes])


def _step(program: Program, node: Node) -> Box:
    line = program.lines.get(node, "")
    number = line.split(":", 2)[1] if line.count(":") else ""
    place = int(number) if number.isdigit() else 0
    kind = "input" if node.primitive is None else "step"
    return Box(kind, program.names[node], (node,), mark=(node.operator, line), line=place)


def _fold_steps(program: Program, steps: Sequence[Box], by: str, depth: int) -> list[Box]:
    boxes = list(steps)
    if by in ("auto", "call") and depth < DEPTH:
        boxes = _fold_calls(program, steps, by, depth)
    if by in ("auto", "line"):
        boxes = _fold_lines(program, boxes)
    return _fold_loops(boxes) if by in ("auto", "loop") else boxes


def _fold_loops(boxes: list[Box]) -> list[Box]:
    """Fold repetitions; where the passes differ, by the lines that jump back."""
    folded = fold_repeats(boxes, _loop)
    if len(folded) <= MAX_BOXES:
        return folded
    return min(folded, fold_passes(fold_repeats(boxes, _loop, 1), _loop), key=len)


def _fold_calls(program: Program, steps: Sequence[Box], by: str, depth: int) -> list[Box]:
    boxes: list[Box] = []
    for call, group in _runs(steps, lambda box: _call(program, box, depth)):
        if call is None or len(group) == 1:
            boxes += group
            continue
        parts = _fold_steps(program, group, by, depth + 1)
        mark = ("call", call.function, call.location)
        title = "lambda" if call.function == "<lambda>" else f"{call.function}()"
        boxes.append(_box("call", title, parts, mark, group[0].line and call.location[1]))
    return boxes


def _call(program: Program, box: Box, depth: int) -> Any:
    calls = program.calls.get(box.nodes[0], ())
    return calls[depth] if len(calls) > depth else None


def _fold_lines(program: Program, boxes: Sequence[Box]) -> list[Box]:
    result: list[Box] = []
    for line, group in _runs(boxes, lambda box: _line_of(program, box)):
        if not line or len(group) == 1:
            result += group
            continue
        parts = fold_repeats(group, _loop)
        text = line.split(":", 2)[-1].strip()
        if len(parts) == 1:  # the line is a loop, and nothing else
            result.append(replace(parts[0], title=text))
        else:
            result.append(_box("line", text, parts, ("line", line), group[0].line))
    return result


def _line_of(program: Program, box: Box) -> str:
    return program.lines.get(box.nodes[0], "") if box.single else ""


def _runs(boxes: Sequence[Box], key: Any) -> list[tuple[Any, list[Box]]]:
    """Split a list where its key changes."""
    result: list[tuple[Any, list[Box]]] = []
    for box in boxes:
        what = key(box)
        if result and result[-1][0] == what:
            result[-1][1].append(box)
        else:
            result.append((what, [box]))
    return result


def _box(kind: str, title: str, parts: Sequence[Box], mark: Any = None, line: int = 0) -> Box:
    nodes = tuple(node for part in parts for node in part.nodes)
    return Box(kind, title, nodes, tuple(parts), mark=mark, line=line)


def _loop(bodies: Sequence[Sequence[Box]]) -> Box:
    """Make one box of the passes of a loop."""
    body = bodies[0]
    each = [one[0] if len(one) == 1 else _box("pass", "", one) for one in bodies]
    nodes = tuple(node for one in each for node in one.nodes)
    titles = list(dict.fromkeys(_describe_box(box) for box in body))
    title = "\n".join(titles[:4]) + "\n…" * (len(titles) > 4)
    mark = ("loop", tuple(box.mark for box in body))
    return Box("loop", title, nodes, tuple(each), len(each), mark, min(b.line for b in body))


def _describe_box(box: Box) -> str:
    """Return the title of a box; of a single step its source line, or if unknown its operator."""
    if not box.single:
        return box.title
    operator: str
    line: str
    operator, line = box.mark
    return str(line.split(":", 2)[-1].strip() or operator)


def _unfold_outer(boxes: list[Box], room: int) -> list[Box]:
    """Unfold calls and lines, the outer ones first, while there is room."""
    opened = True
    while opened:
        opened = False
        for i, box in enumerate(boxes):
            if box.kind in ("call", "line") and len(boxes) - 1 + len(box.parts) <= room:
                boxes = [*boxes[:i], *box.parts, *boxes[i + 1 :]]
                opened = True
                break
    return boxes


def _limit_boxes(boxes: list[Box], most: int) -> list[Box]:
    """Fold what is still too long: repetitions, irregular loops, and finally equal ranges."""
    if len(boxes) > most:
        boxes = _fold_loops(boxes)
    if len(boxes) > most:
        size = -(-len(boxes) // most)
        stretches = [boxes[i : i + size] for i in range(0, len(boxes), size)]
        boxes = [s[0] if len(s) == 1 else _box("steps", _span(s), s) for s in stretches]
    return boxes


def _span(boxes: Sequence[Box]) -> str:
    return f"{boxes[0].title} … {boxes[-1].title}"


def _limit_inputs(inputs: list[Box]) -> list[Box]:
    """Fold the elements of one argument, if there are many inputs."""
    if len(inputs) <= MAX_BOXES // 4:
        return inputs
    groups = [group for _, group in _runs(inputs, lambda box: box.title.split("[")[0])]
    if len(groups) > MAX_BOXES // 4:
        groups = [inputs]
    return [g[0] if len(g) == 1 else _box("inputs", _span(g), g) for g in groups]
