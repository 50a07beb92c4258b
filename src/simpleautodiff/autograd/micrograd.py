"""micrograd's `Value`, for code written for it: `.data`, `.grad`, `.relu()`, `.backward()`.

The derivatives are those of the table; a `Value` only holds a node.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from simpleautodiff.core.forward_reverse import reverse
from simpleautodiff.core.node import Node
from simpleautodiff.rules.scalar.arithmetic import add, div, mul, neg, power, sub
from simpleautodiff.rules.scalar.exponential import exp, log
from simpleautodiff.rules.scalar.piecewise import relu
from simpleautodiff.rules.scalar.trigonometric import tanh

__all__ = ["Value"]


class Value:
    """A number with its derivative, as micrograd's.

    Examples
    --------
    >>> from simpleautodiff.micrograd import Value
    >>> a, b = Value(-4.0), Value(2.0)
    >>> y = (a * b + b**3).relu() + 3 * b
    >>> y.backward()
    >>> y.data, a.grad, b.grad
    (6.0, 0.0, 3.0)
    >>> b.data -= 0.1 * b.grad  # a step of gradient descent
    >>> b
    Value(data=1.7, grad=3.0)
    """

    def __init__(self, data: Any) -> None:
        self._node = data if isinstance(data, Node) else Node(data)
        self._made_from: tuple[tuple[Value, Node], ...] = ()
        self.grad: Any = 0.0

    @property
    def data(self) -> Any:
        """The number."""
        return self._node.value

    @data.setter
    def data(self, number: Any) -> None:
        self._node = Node(number)  # results of the old number still refer to the old node

    def backward(self) -> None:
        """Add the derivative of this value in every value it was computed from to their `grad`."""
        bar = reverse(self._node)
        pairs, seen = [(self, self._node)], {(id(self), id(self._node))}
        for value, node in pairs:
            value.grad += bar.get(node, 0.0)
            for parent in value._made_from if node is value._node else ():
                key = id(parent[0]), id(parent[1])
                if key not in seen:
                    seen.add(key)
                    pairs.append(parent)

    def __repr__(self) -> str:
        return f"Value(data={self.data}, grad={self.grad})"


def _method(wrapping: Callable[..., Any], reflected: bool = False) -> Callable[..., Value]:
    """Make a method of `Value` from the wrapping function of a row."""

    def method(self: Value, *others: Any) -> Value:
        given = (self, *others)[::-1] if reflected else (self, *others)
        result = Value(wrapping(*[x._node if isinstance(x, Value) else x for x in given]))
        result._made_from = tuple([(x, x._node) for x in given if isinstance(x, Value)])
        return result

    return method


_OPERATIONS = {"add": add, "sub": sub, "mul": mul, "truediv": div, "pow": power}
for _name, _wrapping in _OPERATIONS.items():
    setattr(Value, f"__{_name}__", _method(_wrapping))
    setattr(Value, f"__r{_name}__", _method(_wrapping, reflected=True))
for _name, _wrapping in {
    "__neg__": neg,
    "relu": relu,
    "tanh": tanh,
    "exp": exp,
    "log": log,
}.items():
    setattr(Value, _name, _method(_wrapping))
