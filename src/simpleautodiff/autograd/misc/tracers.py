"""HIPS autograd's `const_graph`: a function recorded once."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from simpleautodiff.core.level import apply
from simpleautodiff.transforms.arguments import Selection
from simpleautodiff.transforms.recorded_call import RecordedCall
from simpleautodiff.transforms.results import unwrap_results
from simpleautodiff.values.pytree import flatten, map_leaves

F = Callable[..., Any]


def const_graph(f: F, *args: Any, **kwargs: Any) -> F:
    """Return a function that records `f` at its first call, then runs what was recorded.

    A branch that `f` took by comparing numbers is taken at every call; `simpleautodiff.jit` checks
    the comparison instead.

    Examples
    --------
    >>> from simpleautodiff.misc.tracers import const_graph
    >>> twice = const_graph(lambda x: 2 * x)
    >>> twice(3.0), twice(4.0)
    (6.0, 8.0)
    """
    recorded: RecordedCall | None = None
    of_rest = partial(f, *args, **kwargs)

    def replay(*given: Any) -> Any:
        nonlocal recorded
        if recorded is None:
            recorded = RecordedCall(of_rest, Selection(given), retain=True)
            return unwrap_results(recorded.result, recorded.tape, of_rest)[0]
        inputs = zip(recorded.inputs, flatten(given)[0], strict=True)
        found = {id(node): number for node, number in inputs}
        for node in list(recorded.tape)[len(found) :]:
            values = zip(node.args, node.values(), strict=True)
            numbers = [found.get(id(arg), value) for arg, value in values]
            found[id(node)] = apply(node.primitive, *numbers)  # type: ignore[arg-type]
        return map_leaves(lambda leaf: found.get(id(leaf), leaf), recorded.result)

    return replay
