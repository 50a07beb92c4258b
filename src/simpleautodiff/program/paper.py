"""The printed narration of the paper's `forward` and `reverse`, in the words of its program."""

from __future__ import annotations

from typing import Any

from simpleautodiff.core.engine import engine
from simpleautodiff.core.graphs import Sweep, forward as forward, reverse as reverse
from simpleautodiff.core.node import Node
from simpleautodiff.core.order import connected, ends, execution_order
from simpleautodiff.program.notation import write_short
from simpleautodiff.program.program import Program


def narrate(mode: str, order: list[Node], seeds: dict[Node, Any], sweep: Sweep) -> None:
    """Print a sweep as the authors' program does."""
    print(_narrate(Program(execution_order(*ends(connected(order)))), order, seeds, sweep, mode))


engine.narrate = narrate


def _narrate(
    program: Program, order: list[Node], seeds: dict[Node, Any], sweep: Sweep, mode: str
) -> str:
    """Print a sweep as the authors' program does: each sum in symbols, then in numbers."""
    name = program.names
    lines = [
        " = ".join(filter(None, (s.name, s.call, write_short(s.value)))) for s in program.steps
    ]
    root = name[next(iter(seeds))] if len(seeds) == 1 else ("seed" if mode == "forward" else "sum")
    for node in order if mode == "forward" else reversed(order):
        if node in seeds:
            continue
        if mode == "forward":
            terms = [
                (f"(d{name[node]}/d{name[u]})(d{name[u]}/d{root})", derivative, sweep[u])
                for u, derivative in _parents(node)
            ]
            left = f"d{name[node]}/d{root}"
        else:
            terms = [
                (f"(d{root}/d{name[v]})(d{name[v]}/d{name[node]})", sweep[v], derivative)
                for v in sorted(node.child_nodes, key=program.position)
                if v in sweep
                for u, derivative in _parents(v)
                if u is node
            ]
            left = f"d{root}/d{name[node]}"
        symbols = " + ".join(symbol for symbol, _, _ in terms)
        numbers = " + ".join(f"({write_short(a)})({write_short(b)})" for _, a, b in terms)
        lines.append(f"{left} = {symbols}")
        lines.append(f"{' ' * len(left)} = {numbers} = {write_short(sweep[node])}")
    return "\n".join(lines)


def _parents(node: Node) -> list[tuple[Node, Any]]:
    return [(node.args[k], derivative) for k, derivative in node.local_derivatives()]
