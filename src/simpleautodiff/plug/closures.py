"""Functions and structures that hold nodes, with other numbers in the place of these.

A solver of SciPy calls its function with plain numbers, so what the function holds has to be plain,
too: variables around it and global ones, defaults, attributes of objects and classes, elements of
lists. What holds a node is copied; everything else stays the same object. What was one object in
two places has one copy, also where it is a part of itself.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

import numpy as np

from simpleautodiff.core.level import Traced, Written, take_current
from simpleautodiff.plug.containers import Composite, Globals, open_container

_ATOMS = {
    float,
    int,
    str,
    bool,
    complex,
    bytes,
    type(None),
    np.ndarray,
    np.float64,
}  # have no parts
_COUNTS = {int, bool, str}  # types of what has no derivative


class HeldNodes:
    """The nodes that a function or a structure holds, and what puts others in their place.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> from simpleautodiff.plug.closures import HeldNodes
    >>> def area(side):
    ...     held = HeldNodes({"scale": lambda x: x * side, "x": 2.0})
    ...     plain = held.replace([10.0])
    ...     return plain["scale"](plain["x"]) + 0 * side
    >>> float(ad.value_and_grad(area)(3.0)[0])
    20.0
    """

    def __init__(self, root: Any) -> None:
        self.root = root
        self.nodes: list[Any] = []
        self.arrays: list[Any] = []  # that were written to, and hold no node
        self._node_keys: list[int] = []
        self._containers: dict[int, Composite] = {}
        self._inside: dict[int, list[int]] = {}  # the keys of what a part is in
        self._walk()
        self._changed, self._built = self._find_holding() if self else ([], [])
        self._copies: list[tuple[Composite, Any]] = []

    def __bool__(self) -> bool:
        return bool(self.nodes or self.arrays)

    def _walk(self) -> None:
        waiting, seen = [self.root], set()
        while waiting:
            part = waiting.pop()
            key = _key_of(part)
            if key in seen:
                if type(part) is Globals:
                    waiting += self._add_globals(key, part)
                continue
            seen.add(key)
            node = take_current(part)
            if issubclass(type(node), Traced):
                if node.level.open:
                    self.nodes.append(node)
                    self._node_keys.append(key)
            elif issubclass(type(part), Written):
                self.arrays.append(part)
            elif (container := open_container(part)) is not None:
                self._containers[key] = container
                waiting += self._note(key, container.parts.values())

    def _add_globals(self, key: int, part: Globals) -> list[Any]:
        """Note further global variables of a module, which another function uses."""
        known, more = self._containers[key].parts, open_container(part)
        assert more is not None
        new = {name: value for name, value in more.parts.items() if name not in known}
        known.update(new)
        return self._note(key, new.values())

    def _note(self, key: int, parts: Iterable[Any]) -> list[Any]:
        """Note where parts are; return those that may hold nodes."""
        larger = [part for part in parts if type(part) not in _ATOMS]
        for part in larger:
            self._inside.setdefault(_key_of(part), []).append(key)
        return larger

    def _find_holding(self) -> tuple[list[int], list[int]]:
        """Return the keys of what holds nodes: what is changed, and in its order what is built."""
        holding: set[int] = set()
        waiting = [*self._node_keys, *map(id, self.arrays)]
        while waiting:
            inside = set(self._inside.get(waiting.pop(), ())) - holding
            holding |= inside
            waiting += inside
        own = {key for key in holding if self._containers[key].build is not None}
        built: dict[int, None] = {}
        waiting = [*own]
        while waiting:
            key = waiting.pop()
            parts = {_key_of(part) for part in self._containers[key].parts.values()}
            if missing := (parts & own) - built.keys():
                waiting += [key, *missing]
            else:
                built[key] = None
        return [*(holding - own)], [*built]

    def replace(self, numbers: Iterable[Any]) -> Any:
        """Return the function or the structure with other numbers in the place of its nodes."""
        made: dict[int, Any] = dict(zip(self._node_keys, numbers, strict=True))
        made.update({id(array): np.array(array.current) for array in self.arrays})
        changed = [(key, self._containers[key]) for key in self._changed]
        made.update({key: container.copy() for key, container in changed})
        for key in self._built:
            container = self._containers[key]
            assert container.build is not None
            parts = [made.get(_key_of(part), part) for part in container.parts.values()]
            made[key] = container.build(parts)
        for key, container in changed:
            for name, part in container.parts.items():
                if (new := made.get(_key_of(part), part)) is not part:
                    container.put(made[key], name, new)
        self._copies = [(container, made[key]) for key, container in changed]
        return made.get(_key_of(self.root), self.root)

    def carry_back(self) -> None:
        """Put what functions have counted in the last copies into the originals."""
        for container, made in self._copies:
            before = container.read(container.original)
            for name, count in container.read(made).items():
                known = before.get(name)
                if type(count) in _COUNTS and type(known) in _COUNTS and count != known:
                    container.put(container.original, name, count)


def _key_of(part: Any) -> int:
    return id(part.variables if type(part) is Globals else part)


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
    held = HeldNodes(functions)
    if not held:
        return functions, ()
    last: list[tuple[list[Any], Any]] = []  # the numbers put in at last, and the functions then

    def replace(numbers: list[Any]) -> Any:
        if not (last and all(map(_is_same, last[0][0], numbers))):
            last[:] = [(numbers, held.replace(numbers))]
        return last[0][1]

    def with_held(which: int) -> Any:
        function = functions[which]
        if not callable(function):
            return function

        def call(*args: Any) -> Any:
            result = replace(args[-1])[which](*args[:-1])
            held.carry_back()
            return result

        return functools.update_wrapper(call, function)

    return tuple(with_held(which) for which in range(len(functions))), (held.nodes,)


def _is_same(a: Any, b: Any) -> bool:
    return a is b
