"""Running one case: a graph built and swept by a learner's engine, and every number it found.

This file runs in the learner's process too: of the library it imports the files about engines.
"""

from __future__ import annotations

import gc
from contextlib import suppress
from typing import Any

from simpleautodiff.learn.grading.function_shapes import DualEngine, GradEngine
from simpleautodiff.learn.grading.learner_engine import (
    LearnerEngine,
)
from simpleautodiff.learn.grading.learner_names import (
    DERIVATIVE_NAMES,
)
from simpleautodiff.learn.grading.learner_nodes import (
    is_number,
    to_float,
)


def run_case(engine: LearnerEngine, case: dict[str, Any]) -> dict[str, Any]:
    """Build a graph with an engine and sweep it as the case says; return all numbers found."""
    if case.get("memory"):
        living = count_living(engine)
        return {"living": living, **find_shared_default(engine)}
    if engine.shape == "grad":
        assert isinstance(engine, GradEngine)
        return run_grad(engine, case)
    if engine.shape == "dual":
        assert isinstance(engine, DualEngine)
        asked = any(action == "reverse" for action, *_ in case["script"])
        return run_grad(engine.driver, case) if engine.driver and asked else run_dual(engine, case)
    held = begin(engine, case)
    values: dict[str, Any] = {}
    sweeps: list[Any] = []
    nodes: dict[str, Any] = {}
    for action, *rest in case["script"]:
        if action == "build":
            held = begin_again(engine, case, held) if nodes else held
            nodes = {**held, **build(engine, held, case["steps"])}
            engine.compute(nodes)
            values = {name: engine.value(node) for name, node in nodes.items()}
        elif action == "fail":
            fail(engine, held[rest[0]])
        elif action in ("forward", "reverse"):
            engine.reset(list(nodes.values()))
            if engine.shape == "value" and sweeps:  # where each sweep has a graph of its own
                held = begin_again(engine, case, held)
                nodes = {**held, **build(engine, held, case["steps"])}
                engine.compute(nodes)
            root = nodes[rest[0]]
            result = engine.sweep(action, root) if not is_number(root) else {}
            sweeps.append(engine.read_all(result, nodes))
    return {"values": values, "sweeps": sweeps}


def begin(engine: LearnerEngine, case: dict[str, Any]) -> dict[str, Any]:
    """Begin a graph: return its inputs, by name."""
    engine.start()
    held = {name: engine.make(value) for name, value in case["inputs"]}
    engine.inputs = list(held.values())
    return held


def begin_again(
    engine: LearnerEngine, case: dict[str, Any], held: dict[str, Any]
) -> dict[str, Any]:
    """Empty the tape, if there is one for all; return inputs, the same if they can be kept."""
    if not engine.has_tape_to_empty:
        return held
    if not engine.keeps_inputs:
        return begin(engine, case)
    engine.start()
    return held


def build(engine: LearnerEngine, held: dict[str, Any], steps: Any) -> dict[str, Any]:
    """Build a graph on some inputs; return its nodes, of a long chain only the last."""
    nodes = dict(held)
    if isinstance(steps, int):
        (x,) = nodes.values()
        y = x
        for _ in range(steps):
            y = engine.apply("add", [y, x])
        return {**nodes, "y": y}
    for name, operation, args in steps:
        if operation == "constant":
            nodes[name] = args[0]
            continue
        values = [nodes[arg] if isinstance(arg, str) else arg for arg in args]
        nodes[name] = engine.apply(operation, values)
        if nodes[name] is NotImplemented:
            raise TypeError(f"{operation} is not implemented")
    return nodes


class Half:
    """An object with a value like a node, but without anything else."""

    value = data = val = 0.5


def fail(engine: LearnerEngine, node: Any) -> None:
    """Try operations that raise an error half way, as happens in a notebook."""
    for operation in ("add", "mul"):
        for other in (Half(), "text"):
            if other == "text" or not takes_halves(engine, operation):
                with suppress(Exception):
                    engine.apply(operation, [node, other])


def takes_halves(engine: LearnerEngine, operation: str) -> bool:
    """Tell whether an operation takes any object that has a value, so that it does not fail."""
    half = Half()
    try:
        engine.apply(operation, [engine.make(0.75), half])
    except Exception:
        return False
    vars(half).update(dict.fromkeys(DERIVATIVE_NAMES, 0.0))  # a tape sweeps it as a node
    return True


def run_grad(engine: GradEngine, case: dict[str, Any]) -> dict[str, Any]:
    """Run a case through `grad(f)`; derivatives are those of the inputs."""
    names = [name for name, _ in case["inputs"]]
    sweeps: list[Any] = []
    values: dict[str, Any] = {}
    for action, *rest in case["script"]:
        if action == "reverse":

            def f(*nodes: Any, wanted: str = rest[0]) -> Any:
                held = dict(zip(names, nodes, strict=True))
                built = build(engine, held, case["steps"])
                if not all(is_number(node) for node in nodes):  # differences are taken elsewhere
                    values.update({name: engine.value(node) for name, node in built.items()})
                return built[wanted]

            found = engine.call(f, [value for _, value in case["inputs"]])
            read = [to_float(number, engine) for number in found]
            sweeps.append(dict(zip(names, read, strict=True)))
    return {"values": values, "sweeps": sweeps}


def run_dual(engine: DualEngine, case: dict[str, Any]) -> dict[str, Any]:
    """Run a case with dual numbers: one run for each forward sweep."""
    sweeps: list[Any] = []
    values: dict[str, Any] = {}
    for action, *rest in case["script"]:
        if action == "forward":
            held = {n: engine.make(v, float(n == rest[0])) for n, v in case["inputs"]}
            nodes = build(engine, held, case["steps"])
            values = {name: engine.value(node) for name, node in nodes.items()}
            sweeps.append({name: engine.read(None, node) for name, node in nodes.items()})
    return {"values": values, "sweeps": sweeps}


def find_shared_default(engine: LearnerEngine) -> dict[str, Any]:
    """Find the attribute that is one list shared by all nodes: a mutable default argument.

    It is harmless until something is appended to it.
    """
    node = engine.make(0.75)
    defaults = getattr(type(node).__init__, "__defaults__", None) or ()
    shared = {id(default) for default in defaults if isinstance(default, (list, dict, set))}
    held = [(n, v) for n, v in getattr(node, "__dict__", {}).items() if id(v) in shared]
    name = held[0][0] if held else ""
    return {"shared": name, "written": any(len(value) > 0 for _, value in held)}


def count_living(engine: LearnerEngine) -> int:
    """Discard many results, and count the nodes that their parents keep alive."""
    engine.start()
    x = engine.make(0.75)
    operation = next(op for op in ("mul", "add", "sub") if op in engine.abilities()["operations"])
    kind = type(engine.apply(operation, [x, x]))
    gc.collect()
    before = sum(type(thing) is kind for thing in gc.get_objects())
    for _ in range(200):
        engine.apply(operation, [x, x])
    gc.collect()
    return sum(type(thing) is kind for thing in gc.get_objects()) - before
