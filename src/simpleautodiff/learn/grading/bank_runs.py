"""Running the bank on an engine: the cases within its abilities, and random programs."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from simpleautodiff.learn.grading.bank import BANK, Case
from simpleautodiff.learn.grading.case_run import CaseRun
from simpleautodiff.learn.grading.prediction import predict
from simpleautodiff.learn.grading.processes import ENDS, Runner
from simpleautodiff.learn.graphs import EASY, Graph, random_graph

MOST_DEATHS = 3
BUILDING = ("rules", "names", "operators")  # the tasks that can be asked before there is a sweep
SMOOTH = ("sin", "cos", "tanh", "exp", "log")  # functions that can replace each other


def choose_cases(abilities: dict[str, Any], task: str) -> tuple[list[Case], list[Case]]:
    """Return the cases that are within the abilities of an engine, and those that are not."""
    chosen = [_adapt(case, abilities) for case in BANK if task in ("", case.task)]
    cases = list({case.name: case for case in chosen if _within(case, abilities)}.values())
    return cases, [case for case in chosen if not _within(case, abilities)]


def run_bank(
    runner: Runner, cases: list[Case], task: str, depth: int, progress: Any
) -> tuple[list[CaseRun], dict[str, Any]]:
    """Run the cases, and ask what an engine keeps alive."""
    runs: list[CaseRun] = []
    for case in progress(cases) if progress else cases:
        runs.extend(run_on(runner, case, depth))
        if sum(not ENDS.isdisjoint(run.result) for run in runs) >= MOST_DEATHS:
            break
    memory: dict[str, Any] = {}
    if task in ("", "failures") and runner.abilities["shape"] in ("node", "value"):
        memory = runner.run({"memory": True})
    return runs, memory


def _adapt(case: Case, abilities: dict[str, Any]) -> Case:
    """Replace functions that an engine lacks, unless the case tests the rules of functions."""
    known = abilities["operations"]
    smooth = [function for function in SMOOTH if function in known]
    if case.task == "rules" or not smooth or case.graph.operations <= {*known, "constant"}:
        return case
    for function in smooth:
        steps = tuple(
            (name, function if op in SMOOTH and op not in known else op, args)
            for name, op, args in case.graph.steps
        )
        graph = replace(case.graph, steps=steps)
        if _is_defined(graph):  # the logarithm of a sine may not exist
            return replace(case, graph=graph, name=f"{graph}, {case.way}")
    return case


def _is_defined(graph: Graph) -> bool:
    return predict(graph, [("build",)]) is not None


def _within(case: Case, abilities: dict[str, Any]) -> bool:
    """Tell whether an engine can be asked this."""
    if abilities["shape"] == "partials" and case.task not in BUILDING:
        return False
    operations = case.graph.operations - {"constant"}
    if not operations <= set(abilities["operations"]):
        return False
    numbers = [
        arg
        for _, operation, args in case.graph.steps
        for arg in args
        if operation not in ("pow", "constant") and not isinstance(arg, str)
    ]
    if numbers and not abilities["constants"]:
        return False
    if "constant" in case.graph.operations and not abilities["constants"]:
        return False
    if abilities["shape"] == "grad" and not _is_few(case, abilities):
        return False
    return abilities["whole_graph"] or _is_whole(case)


def _is_few(case: Case, abilities: dict[str, Any]) -> bool:
    """Tell whether `grad(f)` takes functions of as many arguments as a graph has inputs."""
    return len(case.graph.inputs) == 1 or not abilities.get("one_input")


def _is_whole(case: Case) -> bool:
    """Tell whether a case asks for nothing but derivatives of the output, as `grad(f)` does."""
    return case.way in ("once", "rebuilt") and not case.wanted


def run_on(runner: Runner, case: Case, depth: int) -> Iterator[CaseRun]:
    """Run one case on an engine, in each of its modes."""
    for mode in runner.abilities["modes"]:
        if runner.abilities["shape"] == "dual" and case.way == "interior":
            continue
        asks_driver = mode == "reverse" and runner.abilities.get("driver")
        if asks_driver and not (_is_whole(case) and _is_few(case, runner.abilities)):
            continue
        for script in case.scripts(mode):
            steps: Any = depth if case.length else case.graph.steps
            wanted = {"inputs": case.graph.inputs, "steps": steps, "script": script}
            result = runner.run({**wanted, "budget": case.budget})
            yield CaseRun(
                case, mode, script, _scaled(result, depth, mode) if case.length else result
            )


def _scaled(result: dict[str, Any], depth: int, mode: str) -> dict[str, Any]:
    """Scale the result of a long chain of x + x + ... to that of x + x."""
    if "sweeps" not in result:
        return result
    factor = 2 / (depth + 1)

    def scale(found: dict[str, Any], name: str) -> dict[str, Any]:
        return {**found, name: found[name] * factor if found.get(name) else found.get(name)}

    name = "x" if mode == "reverse" else "y"
    return {
        "values": scale(result["values"], "y"),
        "sweeps": [scale(sweep, name) for sweep in result["sweeps"]],
    }


def run_programs(runner: Runner, programs: int, seed: int) -> list[CaseRun]:
    """Run random programs made of the operations that the engine has."""
    operations = [op for op in EASY if op in runner.abilities["operations"]]
    programs = 0 if runner.abilities["shape"] == "partials" else programs
    rng = random.Random(seed)
    runs = []
    for _ in range(programs if operations else 0):
        size, inputs = rng.randrange(2, 9), rng.randrange(1, 4)
        inputs = 1 if runner.abilities.get("one_input") else inputs
        graph = random_graph(rng, operations, size, inputs, runner.abilities["constants"])
        runs += list(run_on(runner, as_case(graph), 1))
    return runs


def as_case(graph: Graph) -> Case:
    """Return a random program as a case."""
    return Case(f"a random program: {graph}", graph, "programs", "unknown")
