"""Functions that hold nodes, in their closure or as defaults, as functions of these nodes."""

from __future__ import annotations

import copy
import functools
import sys
from collections.abc import Callable, Iterator
from types import CellType, FunctionType, MethodType
from typing import Any

from simpleautodiff.core.level import Traced, take_current
from simpleautodiff.values.pytree import flatten

Make = Callable[[Iterator[Any]], Any]


def pass_held(*functions: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Return functions that take the nodes they hold as one more argument, and that argument.

    A solver calls its function with plain numbers; what the function holds has to be among its
    arguments for that. If nothing is held, the functions are returned as they are, and no argument.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> from simpleautodiff.plug.closures import pass_held
    >>> def area(side):
    ...     (scaled,), (held,) = pass_held(lambda x: x * side)
    ...     return scaled(2.0, held), scaled(2.0, [10.0])
    >>> ad.grad(area, has_aux=True)(3.0)
    (2.0, 20.0)
    """
    held: list[Any] = []
    makes = [_split(function, held, set(), set()) for function in functions]
    if not held:
        return functions, ()

    def with_held(which: int) -> Any:
        function = functions[which]
        if not callable(function):
            return function

        def call(*args: Any) -> Any:
            given = iter(args[-1])
            return [make(given) for make in makes][which](*args[:-1])

        return functools.update_wrapper(call, function)

    return tuple(with_held(which) for which in range(len(functions))), (held,)


def split_nodes(part: Any) -> tuple[list[Any], Make]:
    """Return the nodes that a function or a structure holds, and what puts others in their place.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> from simpleautodiff.plug.closures import split_nodes
    >>> def area(side):
    ...     held, make = split_nodes({"scale": lambda x: x * side, "x": 2.0})
    ...     plain = make(iter([10.0]))
    ...     return plain["scale"](plain["x"]) + 0 * side
    >>> float(ad.value_and_grad(area)(3.0)[0])
    20.0
    """
    held: list[Any] = []
    return held, _split(part, held, set(), set())


def _split(part: Any, held: list[Any], inside: set[int], plain: set[int]) -> Make:
    """Append the nodes of a part to `held`; return what makes the part with others instead.

    What holds no node stays the same object, so that it may be written to. `inside` are the ids of
    what the part is in, and `plain` those of what is known to hold no node.
    """
    node = take_current(part)
    if isinstance(node, Traced):
        held.append(node)
        return next
    if id(part) in inside or id(part) in plain:
        return lambda given: part
    before, parts, assemble = len(held), *_take_apart(part)
    makes = [_split(inner, held, inside | {id(part)}, plain) for inner in parts]
    if len(held) == before:
        plain.add(id(part))
        return lambda given: part
    return lambda given: assemble([make(given) for make in makes])


def _take_apart(part: Any) -> tuple[list[Any], Callable[[list[Any]], Any]]:
    """Return what a function or a structure consists of, and what assembles it again."""
    if isinstance(part, functools.partial):
        return [part.func, part.args, part.keywords], lambda new: functools.update_wrapper(
            functools.partial(new[0], *new[1], **new[2]), part, ("__wrapped__",), ()
        )
    if isinstance(part, FunctionType):
        cells = [cell for cell in part.__closure__ or () if cell != CellType()]
        inner = [part.__defaults__, part.__kwdefaults__, *[cell.cell_contents for cell in cells]]
        return inner, lambda new: _copy_function(part, new[0], new[1], cells, new[2:])
    if isinstance(part, MethodType):
        return [part.__self__], lambda new: MethodType(part.__func__, new[0])
    leaves, rebuild = flatten(part)
    if len(leaves) != 1 or leaves[0] is not part:
        return leaves, lambda new: rebuild(iter(new))
    return (list(vars(part).values()) if _has_attributes(part) else []), lambda new: _copy_object(
        part, new
    )


_WITHOUT_NODES = {"numpy", "pandas", "simpleautodiff", *sys.stdlib_module_names} - {"__main__"}


def _has_attributes(part: Any) -> bool:
    """Tell whether a part is an object with attributes, of a class that a user may have written."""
    kind = type(part)
    return kind.__module__.partition(".")[0] not in _WITHOUT_NODES and hasattr(part, "__dict__")


def _copy_object(part: Any, attributes: list[Any]) -> Any:
    """Return a shallow copy of an object with other attributes."""
    made = copy.copy(part)
    vars(made).update(zip(vars(part), attributes, strict=True))
    return made


def _copy_function(
    function: FunctionType, defaults: Any, named: Any, cells: list[CellType], contents: list[Any]
) -> FunctionType:
    """Return a function with other defaults, and with other contents of its cells."""
    changed = {
        id(cell): CellType(new)
        for cell, new in zip(cells, contents, strict=True)
        if cell.cell_contents is not new
    }
    closure = tuple(changed.get(id(cell), cell) for cell in function.__closure__ or ())
    made = FunctionType(
        function.__code__, function.__globals__, function.__name__, defaults, closure
    )
    made.__kwdefaults__ = named
    made.__dict__.update(function.__dict__)
    return made
