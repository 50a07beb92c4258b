"""Shrink a failing graph: leave out steps as long as it still fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from simpleautodiff.learn.graphs import Argument, Graph, Step


def shrink(graph: Graph, fails: Callable[[Graph], bool]) -> Graph:
    """Return the smallest graph that still fails, by leaving out steps one after the other.

    Examples
    --------
    >>> from simpleautodiff.learn.graphs import parse_graph
    >>> graph = parse_graph("a = x*z; b = sin(a); c = b - b; y = c + z", x=1, z=2)
    >>> print(shrink(graph, lambda graph: "sub" in graph.operations))
    c = x - x  at x = 1
    """
    smaller = True
    while smaller:
        smaller = False
        for candidate in _smaller(graph):
            if fails(candidate):
                graph, smaller = candidate, True
                break
    return graph


def _smaller(graph: Graph) -> Iterator[Graph]:
    """Yield graphs with one step less, then graphs with simpler arguments."""
    for k in reversed(range(len(graph.steps))):
        name, _, args = graph.steps[k]
        rest = graph.steps[:k] + graph.steps[k + 1 :]
        for arg in dict.fromkeys(arg for arg in args if isinstance(arg, str)):
            steps = tuple(_rename_argument(step, name, arg) for step in rest)
            output = arg if graph.output == name else graph.output
            yield _tidy(replace(graph, steps=steps, output=output))
    for k, (name, operation, args) in enumerate(graph.steps):
        for place, old in enumerate(args):
            for number, other in enumerate(graph.names, 1):
                if isinstance(old, str) and old not in graph.names[:number]:
                    new = (*args[:place], other, *args[place + 1 :])
                    changed: Step = (name, operation, new)
                    steps = (*graph.steps[:k], changed, *graph.steps[k + 1 :])
                    yield _tidy(replace(graph, steps=steps))


def _rename_argument(step: Step, old: str, new: str) -> Step:
    name, operation, args = step
    return name, operation, tuple(new if arg == old else arg for arg in args)


def _tidy(graph: Graph) -> Graph:
    """Leave out the steps and inputs that the output does not need."""
    needed: set[Argument] = {graph.output}
    for name, _, args in reversed(graph.steps):
        if name in needed:
            needed.update(args)
    steps = tuple(step for step in graph.steps if step[0] in needed)
    inputs = tuple(pair for pair in graph.inputs if pair[0] in needed) or graph.inputs[:1]
    return replace(graph, steps=steps, inputs=inputs)
