"""Nodes, and `apply`, the one function that makes them: running a function builds its graph.

Vocabulary
----------
node        a value that remembers the primitive that made it, and from which arguments
parent      an argument that is a node of the same level; every other argument is a constant
level       one use of a transformation (`grad`, `jvp`, ...) or the graphs typed by hand; levels are
            numbered as they open, and an operation belongs to the highest level of its arguments
tape        a level that records its nodes in execution order, which is a topological order
wrapping    the function a user calls for a primitive: it computes the value and makes the node
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any, final
from weakref import ref

import numpy as np

from simpleautodiff.children import Children, adopt, living
from simpleautodiff.errors import (
    ArgumentError,
    AutodiffError,
    TraceError,
    ValueKindError,
    at_line,
    like_numpys,
    warn_domain,
)
from simpleautodiff.foreign import is_foreign, wrapped
from simpleautodiff.keeping import SMALL, Keeper
from simpleautodiff.lineage import VIEWS, kept, note
from simpleautodiff.number import as_numpy_would, check_value
from simpleautodiff.primitives import Primitive, stated
from simpleautodiff.traced import Traced, Written, unwrapped

_numbers = itertools.count(1)
_last_sweep: dict[
    int, tuple[Any, Any]
] = {}  # node typed by hand, by id -> (weak reference, number)
MISSING = object()  # an argument that was not given


class Level:
    """One use of a transformation: who records what happens to its inputs, and how.

    Levels are numbered as they open; those typed by hand have the number they are given.
    """

    compared = False  # whether the code has asked which of two numbers is larger

    def __init__(self, number: float | None = None) -> None:
        self.number = next(_numbers) if number is None else number
        self.open = False
        self._above: Hand | None = None

    def __enter__(self) -> None:
        self.open = True

    def __exit__(self, *exception: object) -> None:
        self.open = False

    def answered(self, answer: Any, sign: str, x: Any, y: Any) -> Any:
        """Return an array of answers to ``x > y``; a level may let it know what was asked."""
        return answer

    def hand_above(self) -> Hand:
        """Return the level of nodes typed by hand around values of this level."""
        if self._above is None:
            self._above = Hand(self.number + 2**-20)
            self._above.open = True
        return self._above

    def run(self, primitive: Primitive, args: tuple[Any, ...]) -> Any:
        """Run a primitive on this level: on the values of its arguments, one level lower."""
        values = tuple(
            [arg.value if isinstance(arg, Traced) and arg.level is self else arg for arg in args]
        )
        return self.result(primitive, args, values, evaluate(primitive, values))

    def result(
        self, primitive: Primitive, args: tuple[Any, ...], values: tuple[Any, ...], value: Any
    ) -> Any:
        """Make what stands on this level for `value`, computed from the `values` of `args`."""
        raise NotImplementedError


class Recorder(Level):
    """A level whose record is a graph of nodes."""

    lean = False  # whether values that no rule reads may go
    shown = False  # whether each step will be seen, so that there should be none but the user's

    def __len__(self) -> int:
        raise NotImplementedError

    def append(self, node: Node, /) -> None:
        """Take the new node in."""
        raise NotImplementedError

    def slim(self, node: Node) -> Node:
        """Return the node for the user; a lean tape lets go of what it does not need."""
        return node

    def keep(self, array: Any) -> Any:
        """Return a captured array such that nobody changes it."""
        return array.copy()

    def result(
        self, primitive: Primitive, args: tuple[Any, ...], values: tuple[Any, ...], value: Any
    ) -> Node:
        """Make the node of an operation; nodes of other levels are constants to it."""
        return self.record(primitive, tuple([constant(arg, self) for arg in args]), value)

    def record(self, primitive: Primitive | None, args: tuple[Any, ...], value: Any) -> Node:
        """Make the node whose value is `primitive`(`args`); without a primitive it is an input."""
        node: Node = Result()
        node.value = value
        node.primitive = primitive
        node.args = args
        node.level = self
        node.index = len(self)
        self.append(node)
        return self.slim(node) if type(value) is np.ndarray and value.size > SMALL else node


class Tape(list["Node"], Recorder):
    """A level that keeps its nodes in execution order, which is topological by construction."""

    def __init__(self) -> None:
        list.__init__(self)
        Level.__init__(self)
        self.keeper: Keeper | None = None

    def __exit__(self, *exception: object) -> None:
        self.open = False
        if self.keeper is not None:
            self.keeper.release(unchanged=exception[0] is None)

    def input(self, value: Any) -> Node:
        """Begin the graph: a node with no parents."""
        return self.record(None, (), value)

    def keep(self, array: Any) -> Any:
        """Return a captured array such that nobody changes it while the function runs."""
        if array.size <= SMALL:
            return array.copy()
        self.keeper = self.keeper or Keeper()
        return self.keeper.lock(array)

    def own(self) -> None:
        """Copy all captured arrays: the tape is to be swept after others could change them."""
        for node in self:
            node.args = tuple([x.copy() if type(x) is np.ndarray else x for x in node.args])


@final
class Hand(Recorder):
    """The level of graphs typed by hand, as in the paper: parents know their children, weakly."""

    def __len__(self) -> int:
        return 0

    def append(self, node: Node, /) -> None:
        """Write the new node into the child lists of its parents."""
        node.index = None
        link = ref(node)
        for arg in node.args:
            if type(arg) is Result:
                adopt(arg, link)


HAND = Hand(0)
HAND.open = True


def constant(arg: Any, level: Level) -> Any:
    """Return an argument as a node keeps it.

    A node of another level is boxed. An array is kept from changes: what the user's code does to it
    afterwards must not reach a derivative that is computed later.
    """
    kind = type(arg)
    if kind is float or kind is int or (kind is Result and arg.level is level):
        return arg
    if isinstance(arg, np.ndarray):
        return level.keep(arg) if isinstance(level, Recorder) else arg.copy()
    if kind is tuple:
        return tuple([kept(x) if isinstance(x, (np.ndarray, Traced)) else x for x in arg])
    return Held(kept(arg)) if isinstance(arg, Traced) and arg.level is not level else arg


class Node(Traced):
    """A value that remembers which primitive made it, and from which parents.

    `Node(2)` starts a graph; the wrapping functions and operators grow it.

    Examples
    --------
    >>> from simpleautodiff import Node, mul
    >>> x1, x2 = Node(2), Node(5)
    >>> v2 = mul(x1, x2)
    >>> v2.value, v2.operator, v2.grad_wrt_parents, v2.parent_nodes
    (10, 'mul', [5, 2], [Node(2), Node(5)])
    """

    __slots__ = ("args", "index", "primitive")
    primitive: Primitive | None
    args: tuple[Any, ...]
    index: Any  # its place on the tape; typed by hand, where there is none, its children

    def __init_subclass__(cls) -> None:
        if cls.__module__ != __name__:
            raise TypeError("Node cannot be subclassed; keep your own data beside it")

    def __init__(self, value: Any, parent_nodes: Iterable[Node] = (), operator: str = "") -> None:
        self.value = check_value(value, "the value of a Node")
        self.args = tuple(parent_nodes)  # typed by hand: all of them are parents
        self.primitive = stated(operator, ()) if operator or self.args else None
        self.level = value.level.hand_above() if isinstance(value, Traced) else HAND
        self.links = None
        self.__class__ = Result  # the wrapping functions look for that

    @property
    def operator(self) -> str:
        """The name of the primitive that made this node; empty for an input."""
        return self.primitive.name if self.primitive else ""

    @property
    def parent_nodes(self) -> list[Node]:
        """The nodes this one was computed from, in the order of the arguments."""
        return [arg for arg in self.args if type(arg) is Result]

    def values(self) -> tuple[Any, ...]:
        """Return the numbers this node was computed from."""
        return tuple(
            [arg.value if type(arg) is Result or type(arg) is Held else arg for arg in self.args]
        )

    def local_derivatives(self) -> list[tuple[int, Any]]:
        """Return (k, ∂self/∂args[k]) for each parent: a number, a linear map, or `ZERO`."""
        if self.primitive is None:
            return []
        values = self.values()
        return [
            (i, self.primitive.partial(i, self.value, values))
            for i, arg in enumerate(self.args)
            if type(arg) is Result
        ]

    @property
    def grad_wrt_parents(self) -> list[Any]:
        """∂self/∂parent for each of `parent_nodes`."""
        if self.primitive is not None and len(self.primitive.partials) < len(self.args):
            return []  # made by hand, and not stated yet
        return [derivative for _, derivative in self.local_derivatives()]

    @grad_wrt_parents.setter
    def grad_wrt_parents(self, derivatives: list[Any]) -> None:
        if len(derivatives) != len(self.args):
            raise ArgumentError(
                f"{self!r} has {len(self.args)} parents, so grad_wrt_parents needs as many "
                f"numbers; got {len(derivatives)}"
            )
        self.primitive = stated(self.operator, derivatives)

    @property
    def child_nodes(self) -> list[Node]:
        """The living nodes computed from this one, in the order they were made."""
        if not isinstance(self.level, Hand):
            raise TraceError(
                "a node inside a function that is being differentiated keeps no list of children; "
                "build the graph by hand with Node(...), or look at trace(f, ...)"
            )
        return Children(self, list(living(self.links)))

    @property
    def links(self) -> Any:
        """What a node typed by hand knows of its children: None, one weak reference, or `Links`."""
        return self.index

    @links.setter
    def links(self, links: Any) -> None:
        self.index = links

    @property
    def partial_derivative(self) -> Any:
        """What the last `forward` or `reverse` over this graph found for this node; 0 at first."""
        return _last_sweep.get(id(self), (None, 0))[1]

    @partial_derivative.setter
    def partial_derivative(self, derivative: Any) -> None:
        key = id(self)
        _last_sweep[key] = (ref(self, lambda _: _last_sweep.pop(key, None)), derivative)

    def __repr__(self) -> str:
        operator = f", operator={self.operator!r}" if self.operator else ""
        return f"Node({self.value!r}{operator})"


@final
class Result(Node):
    """A node as operations make it: without running `Node.__init__`, which saves much time."""

    __slots__ = ()
    __init__ = object.__init__


Result.__name__ = Result.__qualname__ = "Node"  # what users read in Python's own messages


@final
class Held:
    """A node of another level among the arguments of a node, to which it is a constant.

    So whatever is a node among the arguments is a parent.
    """

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __repr__(self) -> str:
        return repr(self.value)


# Making nodes. ------------------------------------------------------------------------------------


def apply(primitive: Primitive, *args: Any) -> Any:
    """Run one primitive on nodes and numbers, on the highest level among them."""
    if len(args) != primitive.arity or args[-1] is MISSING:
        args = tuple(arg for arg in args if arg is not MISSING)
        raise ArgumentError(
            f"{primitive.name} takes {primitive.arity} argument"
            f"{'s' * (primitive.arity != 1)}, got {len(args)}{at_line()}"
        )
    level: Level | None = None
    for i, arg in enumerate(args):
        if isinstance(arg, Written) or (type(arg) is list and i not in primitive.settings):
            return apply(
                primitive, *[np.asarray(x) if type(x) is list else unwrapped(x) for x in args]
            )
        if isinstance(arg, Traced):
            if level is None or arg.level.number > level.number:
                level = arg.level
            continue
        if type(arg) is not float and type(arg) is not int:
            if is_foreign(arg):
                return apply(primitive, *[wrapped(x) if is_foreign(x) else x for x in args])
            if i not in primitive.settings:
                check_value(arg, f"argument {i + 1} of {primitive.name}")
    if level is None:
        return evaluate(primitive, args)
    result = level.run(primitive, args)
    if primitive in VIEWS and type(result) is not Result:  # a tape remembers it itself
        note(result, args[0], VIEWS[primitive](result, *args))
    return result


def _unfit(primitive: Primitive, args: tuple[Any, ...], error: Exception) -> AutodiffError:
    """Say which arrays a primitive could not take, and why not in NumPy's words."""
    shapes = " and ".join(str(arg.shape) for arg in args if isinstance(arg, np.ndarray))
    what = f"arrays of shape {shapes}" if shapes else "a single number"
    return like_numpys(error)(f"{primitive.name} of {what}: {error}{at_line()}")


def evaluate(primitive: Primitive, args: tuple[Any, ...]) -> Any:
    """Compute the value of a primitive; what is a node on a lower level is recorded there."""
    for arg in args:
        if isinstance(arg, Traced):
            return apply(primitive, *args)
    try:
        return primitive.compute(*args)
    except AutodiffError:
        raise
    except (ArithmeticError, ValueError) as error:
        unfit = isinstance(error, (np.linalg.LinAlgError, FloatingPointError))  # of one number, too
        if unfit or any(isinstance(arg, np.ndarray) for arg in args):
            raise _unfit(primitive, args, error) from None
        result = as_numpy_would(primitive.compute, args, primitive.complaint(args))
        warn_domain(f"{primitive.complaint(args)}; it becomes {result}{at_line()}")
        return result
    except TypeError as error:
        for i, arg in enumerate(args):
            check_value(arg, f"argument {i + 1} of {primitive.name}")
        raise ValueKindError(
            f"{primitive.call(args)}: {error}. Convert the numbers to one kind{at_line()}"
        ) from error
