"""The pictures of each kind of figure: the vertices and edges of a program, with text and tones.

Everything is drawn from a folded program; a program with one box for each step is a special case.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

from simpleautodiff.core.node import Node
from simpleautodiff.core.order import execution_order
from simpleautodiff.display.figures.picture import Edge, Picture, TextLine, Vertex
from simpleautodiff.display.folding.fold import Box, Folded, describe_amount
from simpleautodiff.display.notation import labels
from simpleautodiff.display.notation.missing import locate_nan, write_missing
from simpleautodiff.errors import ArgumentError
from simpleautodiff.program.notation import Term
from simpleautodiff.program.program import Program

Lines = tuple[TextLine, ...]
FORWARD = "forward calculation of function value"
REVERSE = "reverse calculation of derivative value"


def plain(folded: Folded) -> Picture:
    """Show only the names, and the shapes of arrays."""

    def below(node: Node) -> Lines:
        size = labels.shape_label(node.value)
        return (TextLine(size, "quiet"),) if size else ()

    return _make_picture(folded, below, "Computational graph")


def values(folded: Folded) -> Picture:
    """Show each step in symbols and in numbers, and its value."""
    title = "Values in the computational graph"
    picture = _make_picture(folded, lambda node: _write_values(folded, node), title)
    return _add_words(picture, locate_nan(folded.program))


def _write_values(folded: Folded, node: Node) -> Lines:
    value = _write_number("= ", node.value, "value", typed=node.primitive is None)
    if node.primitive is None:
        return value
    symbols = labels.write_symbolic(folded.program, node)
    numbers = labels.write_numeric(folded.program, node)
    told = {term.text: TextLine.of("= ", term) for term in (symbols, numbers) if term.text}
    return (*told.values(), *value)


def _write_number(start: str, number: Any, tone: str, typed: bool = False) -> Lines:
    """Write a number or an array; an array is told as a whole where it is pointed at."""
    first, *rows = labels.write_brief_lines(start, number, typed)
    whole = labels.write_whole(number)
    hint = f"{start.removeprefix('= ')}{whole}" if whole else ""
    return (TextLine(first, tone, hint=hint), *(TextLine(row, tone) for row in rows))


def tangents(folded: Folded, wrt: str) -> Picture:
    """Show the values, and the derivative of every step with respect to one of them."""
    dot = Program.tangents(folded.program, wrt)  # the numbers: Trace.tangents would make a table

    def below(node: Node) -> Lines:
        name = folded.program.names[node]
        told = _short_values(folded, node)
        return (*told, *_write_number(f"{labels.write_dot(name)} = ", dot[name], "tangent"))

    picture = _make_picture(folded, below, f"Values and derivatives with respect to {wrt}")
    ends = labels.output_names(folded.program)
    return _add_words(picture, write_missing({name: node.value for name, node in ends}))


def _add_words(picture: Picture, words: str) -> Picture:
    """Write a sentence below a picture, if there is one to write."""
    return replace(picture, legend=(*picture.legend, ("words", words))) if words else picture


def _short_values(folded: Folded, node: Node) -> Lines:
    value = _write_number("= ", node.value, "value", typed=node.primitive is None)
    if node.primitive is None:
        return value
    return (TextLine.of("= ", labels.write_symbolic(folded.program, node)), *value)


def adjoints(folded: Folded, output: str = "", wrt: str = "") -> Picture:
    """Show values, the derivative of one output with respect to every step, and dashed edges back.

    With `wrt`, the derivatives of every step with respect to that one as well.
    """
    program = folded.program
    output = program.proper(output) if output else ""
    bar = Program.adjoints(program, output)
    dot = Program.tangents(program, wrt) if wrt else {}

    def below(node: Node) -> Lines:
        name = program.names[node]
        found = [(labels.write_dot, dot, "tangent")] * bool(wrt)
        found += [(labels.write_bar, bar, "adjoint")]
        told = [
            line
            for accent, numbers, tone in found
            for line in _write_number(f"{accent(name)} = ", numbers[name], tone)
        ]
        return (*_short_values(folded, node), *told)

    wanted = output or program.names[program.outputs[0]]
    named = {program.names[node]: name for name, node in labels.output_names(program)}
    title = f"Derivatives of {named.get(wanted, wanted)}"
    title += f" and with respect to {wrt}" if wrt else ""
    picture = _make_picture(folded, below, title)
    counts = _find_ancestors(folded, wanted)
    real = {vertex.name for vertex in picture.vertices if vertex.shape != "none"}
    back = tuple(
        Edge(edge.head, edge.tail, "reverse")
        for edge in picture.edges
        if edge.head in counts and edge.head in real
    )
    legend = (("", FORWARD), ("reverse", REVERSE))
    picture = replace(picture, edges=picture.edges + back, legend=legend)
    missing = write_missing({named.get(wanted, wanted): program.node(wanted).value})
    return _add_words(picture, missing)


def _find_ancestors(folded: Folded, output: str) -> set[str]:
    """Return the boxes that an output depends on."""
    end = folded.program.node(output)
    return {folded.name(folded.owner[node]) for node in execution_order(end)}


def construction(folded: Folded) -> list[Picture]:
    """Show the graph after each step: the new node in red, what it does not need in grey."""
    written = labels.expand_all(folded.program)
    whole = _make_picture(
        folded, lambda node: _construction_lines(folded, node, written), "", outputs=False
    )
    vertices = [
        _operator_face(folded, box, v) for box, v in zip(folded.boxes, whole.vertices, strict=True)
    ]
    parents: dict[str, set[str]] = {vertex.name: set() for vertex in vertices}
    for edge in whole.edges:
        parents[edge.head] |= {edge.tail, *parents[edge.tail]}
    inputs = {
        v.name
        for v, box in zip(vertices, folded.boxes, strict=True)
        if box.kind.startswith("input")
    }
    order = [v.name for v in _sort_by_execution(folded, vertices) if v.name not in inputs]
    built = set(inputs)
    result = [_draw_stage(whole, vertices, built, built, "", "The inputs")]
    for number, name in enumerate(order, 1):
        built.add(name)
        title = f"Step {number} of {len(order)}: {name}"
        result.append(_draw_stage(whole, vertices, built, {name, *parents[name]}, name, title))
    return result


def _sort_by_execution(folded: Folded, vertices: list[Vertex]) -> list[Vertex]:
    rank = {node: i for i, node in enumerate(folded.program.execution)}
    pairs = sorted(
        zip(folded.boxes, vertices, strict=True), key=lambda pair: rank[pair[0].nodes[0]]
    )
    return [vertex for _, vertex in pairs]


def _construction_lines(folded: Folded, node: Node, written: dict[Node, Term]) -> Lines:
    name = folded.program.names[node]
    told = () if node.primitive is None else (" = ", written[node])
    return (TextLine.of(name, *told),)


def _operator_face(folded: Folded, box: Box, vertex: Vertex) -> Vertex:
    """Write the operation on a vertex, as on the node that the wrapping function makes."""
    if not box.single:
        return vertex
    node = box.nodes[0]
    text = folded.program.names[node] if node.primitive is None else labels.operator_sign(node)
    return replace(vertex, face=TextLine(text, code=text.isidentifier()))


def _draw_stage(
    whole: Picture, vertices: list[Vertex], built: set[str], needed: set[str], new: str, title: str
) -> Picture:
    def tone(vertex: Vertex) -> str:
        return "new" if vertex.name == new else vertex.tone if vertex.name in needed else "faded"

    toned = tuple(replace(vertex, tone=tone(vertex)) for vertex in vertices)
    edges = tuple(
        replace(edge, tone="new" if edge.head == new else "" if edge.head in needed else "faded")
        for edge in whole.edges
    )
    hidden = frozenset(vertex.name for vertex in vertices) - built
    said = "; ".join(line.text for v in vertices if v.name == new for line in v.below)
    return replace(whole, vertices=toned, edges=edges, title=title, hidden=hidden, description=said)


def reachable(folded: Folded, wrt: str) -> Picture:
    """Show what can be reached from one node: the subgraph G_R, the rest in grey."""
    start, children = _search(folded, wrt)
    reached = set(_order(start, children))
    picture = _make_picture(folded, lambda node: (), f"What is reachable from {wrt}", outputs=False)
    picture = _highlight(picture, reached, set(_list_edges(children, reached)))
    names = [vertex.name for vertex in picture.vertices if vertex.name in reached]
    return replace(picture, legend=(("text", f"V_R = {{ {', '.join(names)} }}"),))


def order(folded: Folded, wrt: str) -> Picture:
    """Show the order of the forward sweep from one node, and the first path of the search."""
    start, children = _search(folded, wrt)
    found = _order(start, children)
    path = [start]
    while children[path[-1]]:
        path.append(children[path[-1]][0])
    picture = _make_picture(folded, lambda node: (), f"Topological order from {wrt}", outputs=False)
    picture = _highlight(picture, set(found), set(_list_edges(children, set(found))))
    number = {name: str(i) for i, name in enumerate(found, 1)}
    steps = set(pairwise(path))
    return replace(
        picture,
        vertices=tuple(replace(v, badge=number.get(v.name, "")) for v in picture.vertices),
        edges=tuple(
            replace(edge, tone="path") if (edge.tail, edge.head) in steps else edge
            for edge in picture.edges
        ),
        legend=(
            ("path", f"first path of the search: {' → '.join(path)}"),
            ("text", f"order: {', '.join(found)}"),
        ),
    )


def _list_edges(children: dict[str, list[str]], inside: set[str]) -> list[tuple[str, str]]:
    return [(tail, head) for tail in inside for head in children[tail]]


def _search(folded: Folded, wrt: str) -> tuple[str, dict[str, list[str]]]:
    """Return where a search begins, and the children of every box in order of creation."""
    children: dict[str, list[str]] = {folded.name(box): [] for box in folded.boxes}
    rank = {node: i for i, node in enumerate(folded.program.execution)}
    for tail, head in sorted(folded.edges, key=lambda edge: rank[edge[1].nodes[0]]):
        name = folded.name(head)
        if name not in children[folded.name(tail)]:
            children[folded.name(tail)].append(name)
    return folded.name(folded.owner[folded.program.node(wrt)]), children


def _order(start: str, children: dict[str, list[str]]) -> list[str]:
    """Return the boxes in the paper's depth-first order: each box before its children."""
    found: list[str] = []
    seen = {start}
    stack = [(start, iter(children[start]))]
    while stack:
        name, rest = stack[-1]
        child = next((child for child in rest if child not in seen), None)
        if child is None:
            found.append(name)
            stack.pop()
        else:
            seen.add(child)
            stack.append((child, iter(children[child])))
    return found[::-1]


def _highlight(picture: Picture, names: set[str], edges: set[tuple[str, str]]) -> Picture:
    return replace(
        picture,
        vertices=tuple(
            replace(v, tone="reached" if v.name in names else "faded") for v in picture.vertices
        ),
        edges=tuple(
            replace(edge, tone="" if (edge.tail, edge.head) in edges else "faded")
            for edge in picture.edges
        ),
    )


def _make_picture(
    folded: Folded, below: Callable[[Node], Lines], title: str, outputs: bool = True
) -> Picture:
    vertices = [_make_vertex(folded, box, below) for box in folded.boxes]
    edges = [Edge(folded.name(tail), folded.name(head)) for tail, head in folded.edges]
    if outputs:
        for name, node in labels.output_names(folded.program):
            end = f"→{name}"
            vertices.append(Vertex(end, TextLine(_name_output(folded, name)), shape="none"))
            edges.append(Edge(folded.name(folded.owner[node]), end))
    return Picture(tuple(vertices), tuple(edges), title, _describe(folded))


def _name_output(folded: Folded, name: str) -> str:
    inputs = [folded.program.names[node] for node in folded.program.inputs]
    text = f"{name} = f({', '.join(inputs)})"
    return text if len(text) <= 16 and len(folded.program.outputs) == 1 else name


def _make_vertex(folded: Folded, box: Box, below: Callable[[Node], Lines]) -> Vertex:
    name = folded.name(box)
    if not box.single:
        told = [TextLine(labels.shorten(text, 44), code=True) for text in box.title.split("\n")]
        told += [TextLine(describe_amount(box), "times" if box.times > 1 else "quiet")]
        told += _find_last_number(below(box.nodes[-1]))
        return Vertex(name, told[0], tuple(told[1:]), "box", hint=f'unfold("{name}")')
    node = box.nodes[0]
    tone = "input" if node.primitive is None else ""
    lines = below(node)
    hints = [folded.program.lines.get(node, ""), *(line.hint for line in lines)]
    hint = "\n".join(filter(None, hints))
    return Vertex(name, TextLine(name), lines, tone=tone, hint=hint)


def _find_last_number(lines: Lines) -> Lines:
    """Return the last of what is below a node, with all rows of a matrix."""
    starts = [i for i, line in enumerate(lines) if not line.text.startswith("[")]
    return lines[starts[-1] :] if starts else ()


def _describe(folded: Folded) -> str:
    program = folded.program
    inputs = [program.names[node] for node in program.inputs]
    shown = [node for node in program.nodes if node.primitive is not None]
    steps = [
        f"{program.names[node]} = {labels.write_symbolic(program, node).text}"
        for node in shown[:20]
    ]
    more = f"; and {len(shown) - 20:,} more steps" * (len(shown) > 20)
    return f"Inputs {labels.shorten(', '.join(inputs), 200)}; {'; '.join(steps)}{more}."


def choose_input(folded: Folded, wrt: str | None) -> str:
    """Return the node that derivatives are with respect to: by default the first input."""
    program = folded.program
    if wrt is None:
        return program.names[program.inputs[0]]
    name = program.proper(wrt)
    program.node(name)
    return name


def pictures(folded: Folded, show: str, wrt: str | None, output: str) -> list[Picture]:
    """Return the pictures of a figure: one, or one for each step of a construction."""
    kinds: dict[str, Callable[[], Any]] = {
        "plain": lambda: [plain(folded)],
        "values": lambda: [values(folded)],
        "tangents": lambda: [tangents(folded, choose_input(folded, wrt))],
        "adjoints": lambda: [adjoints(folded, output)],
        "both": lambda: [adjoints(folded, output, choose_input(folded, wrt))],
        "construction": lambda: construction(folded),
        "reachable": lambda: [reachable(folded, choose_input(folded, wrt))],
        "order": lambda: [order(folded, choose_input(folded, wrt))],
    }
    if show not in kinds:
        raise ArgumentError(f"show is one of {', '.join(map(repr, kinds))}; got {show!r}")
    found: list[Picture] = kinds[show]()
    return found
