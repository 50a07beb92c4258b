"""Engines of expressions without numbers: a feed gives the numbers of the inputs.

`x = Variable("x")`; `gradients(y, [x])` are expressions too; `Executor([y]).run({x: 2.0})`.
This file runs in the learner's process too: of the library it imports the files of engines alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from itertools import product
from typing import Any

from simpleautodiff.learn.grading.learner_engine import LearnerEngine
from simpleautodiff.learn.grading.learner_names import (
    BACKWARD_NAMES,
    CLASS_NAMES,
    COMPUTE_NAMES,
    GRADIENT_NAMES,
    INPUT_NAMES,
    LABEL_NAMES,
    NoEngine,
)
from simpleautodiff.learn.grading.learner_nodes import (
    classes,
    is_array,
    is_number,
    keywords,
    required,
    to_float,
)
from simpleautodiff.learn.grading.node_shapes import by_input
from simpleautodiff.learn.grading.sweep_results import is_listed, look_up

RUN_NAMES = ("run", "execute", *COMPUTE_NAMES, "__call__", "value", "subs")
MAKER_NAMES = ("placeholder", "symbol", *INPUT_NAMES, *(name.lower() for name in CLASS_NAMES))
ASK_NAMES = (*GRADIENT_NAMES, *BACKWARD_NAMES)
Feed = dict[Any, Any]
Run = Callable[[Any, Feed], Any]  # the number of an expression, from a feed
Ask = Callable[[Any, list[Any]], Any]  # the derivatives of an expression by inputs, or their names


class FeedEngine(LearnerEngine):
    """Placeholders, and what runs expressions of them: an executor, a session, or a method."""

    shape = "feed"
    modes = ("reverse",)

    def __init__(self, namespace: dict[str, Any], names: dict[str, str]) -> None:
        super().__init__(namespace, names)
        self.start()
        makers = [*self.find_makers(names.get("node"))]
        runs = [*self.find_runs()] if makers else []
        asks = [*self.find_asks(names.get("grad", names.get("backward")))]
        computes = False
        for self.maker, self.run, self.by_name, self.as_array in product(
            makers, runs, (False, True), (False, True)
        ):
            if self.computes():
                computes = True
                answers = {id(ask): self.try_ask(*ask) for ask in asks}
                best = max(asks, key=lambda ask: answers[id(ask)], default=None)
                if best is not None and answers[id(best)] >= 0:
                    self.ask, self.asks_by_name = best
                    return
        raise NoEngine("its expressions can be run, but nothing differentiates them" * computes)

    # How it is found. -----------------------------------------------------------------------------

    def find_makers(self, wanted: str | None) -> Iterator[Callable[..., Any]]:
        """Yield what makes an input without a number: of a name, or of nothing."""
        for name, maker in self.functions.items():
            usual = wanted == name or name.lower() in MAKER_NAMES
            if usual and required(maker) < 2:
                yield maker
        for cls in classes(self.namespace, wanted):
            if required(cls) < 2:
                yield cls

    def find_runs(self) -> Iterator[Run]:
        """Yield the ways of running an expression: by an object, a function, a method."""
        for cls in classes(self.namespace, None):
            for name in (name for name in RUN_NAMES if name in dir(cls)):
                yield partial(run_executor, cls, name)
                yield partial(run_session, cls, name)
        for name in (name for name in RUN_NAMES if name in self.functions):
            yield self.functions[name]
            yield partial(run_list, self.functions[name])
        for name in RUN_NAMES:
            yield partial(run_method, name)
            yield partial(run_keywords, name)

    def find_asks(self, wanted: str | None) -> Iterator[tuple[Ask, bool]]:
        """Yield the ways of asking for derivatives, by nodes or by their names."""
        for name in (wanted,) if wanted else ASK_NAMES:
            asked = [self.functions[name], name] if name in self.functions else [name]
            for ask, by_name in product(asked, (False, True)):
                yield partial(answer_at_once, ask), by_name
                yield partial(answer_each, ask), by_name

    def computes(self) -> bool:
        """Tell whether this way of running gives a number."""
        with suppress(Exception):
            return self.number(self.build_sample()) is not None
        return False

    def build_sample(self) -> Any:
        """Return x z + x of new inputs."""
        self.start()
        self.inputs = [self.make(0.75), self.make(0.5)]
        return self.apply("add", [self.apply("mul", self.inputs), self.inputs[0]])

    def try_ask(self, ask: Ask, by_name: bool) -> int:
        """Count the derivatives that are not 0 if they are asked for in this way; -1 if none is."""
        self.ask, self.asks_by_name = ask, by_name
        with suppress(Exception):
            found = self.sweep("reverse", self.build_sample()).values()
            return -1 if None in found else sum(map(bool, found))
        return -1

    # How it is used. ------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin a new graph: forget the inputs of the last one."""
        self.fed: list[tuple[Any, str, Any]] = []

    def make(self, value: Any) -> Any:
        """Make an input, and note the number which it will be fed."""
        name = f"x{len(self.fed) + 1}"
        labels = [label for label in keywords(self.maker) if label in LABEL_NAMES]
        given = [name] if required(self.maker) else []
        node = self.maker(*given, **dict.fromkeys(labels, name))
        self.fed.append((node, name, value))
        return node

    def feed(self) -> Feed:
        """Return the numbers of the inputs, by node or by name."""
        return {name if self.by_name else node: self.as_fed(x) for node, name, x in self.fed}

    def as_fed(self, value: Any) -> Any:
        """Return a number, or an array of one element for engines that take no numbers."""
        if not self.as_array:
            return value
        import numpy

        return numpy.full(1, value)

    def compute(self, nodes: dict[str, Any]) -> None:
        """Do nothing: a value is computed when it is asked for."""

    def value(self, node: Any) -> Any:
        """Return the number of a node."""
        return self.number(node)

    def number(self, expression: Any) -> Any:
        """Return the number of an expression; None if it has none."""
        if expression is None or is_number(expression):
            return expression
        found = self.run(expression, self.feed())
        one = is_listed(found) and len(found) == 1 and not is_array(found)
        return to_float(found[0] if one else found, self)

    def sweep(self, mode: str, node: Any) -> Any:
        """Ask for the derivatives by the inputs, and run them."""
        labels = {id(each): name for each, name, _ in self.fed}
        asked = [labels[id(x)] if self.asks_by_name else x for x in self.inputs]
        found = self.ask(node, asked)
        if isinstance(found, Mapping):
            found = [look_up(found, each) for each in asked]
        return by_input([self.number(each) for each in found], self.inputs)


# The ways of running, and of asking. --------------------------------------------------------------


def run_executor(cls: type, name: str, expression: Any, feed: Feed) -> Any:
    """Run an object that is made for an expression: `Executor([y]).run(feed)`."""
    return getattr(cls([expression]), name)(feed)


def run_session(cls: type, name: str, expression: Any, feed: Feed) -> Any:
    """Run an object that is given an expression: `Session().run([y], feed)`."""
    return getattr(cls(), name)([expression], feed)


def run_list(function: Callable[..., Any], expression: Any, feed: Feed) -> Any:
    """Run a function of expressions: `evaluate([y], feed)`."""
    return function([expression], feed)


def run_method(name: str, expression: Any, feed: Feed) -> Any:
    """Run a method of an expression: `y.evaluate(feed)`."""
    return getattr(expression, name)(feed)


def run_keywords(name: str, expression: Any, feed: Feed) -> Any:
    """Run a method that takes numbers by name: `y.evaluate(x=2.0)`."""
    return getattr(expression, name)(**feed)


def answer_at_once(ask: Any, root: Any, inputs: list[Any]) -> Any:
    """Ask for all derivatives at once: `gradients(y, [x, z])`."""
    found = getattr(root, ask)(inputs) if isinstance(ask, str) else ask(root, inputs)
    if not (is_listed(found) or isinstance(found, Mapping)):
        raise TypeError(found)
    return found


def answer_each(ask: Any, root: Any, inputs: list[Any]) -> Any:
    """Ask for one derivative after the other: `grad(y, x)`, or `y.diff(x)`."""
    return [getattr(root, ask)(x) if isinstance(ask, str) else ask(root, x) for x in inputs]
