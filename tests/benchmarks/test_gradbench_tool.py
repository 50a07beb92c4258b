"""The tool speaks GradBench's protocol: one line for each line, with the same id."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MATRIX = {"A": [0.5, -1.25, 2.0, 0.75], "ell": 2, "min_runs": 3, "min_seconds": 0.0}


def converse(*messages):
    """Send numbered messages to a tool of its own, and return its answers."""
    numbered = [{"id": number, **message} for number, message in enumerate(messages)]
    given = "".join(json.dumps(message) + "\n" for message in numbered)
    command = [sys.executable, str(ROOT / "benchmarks" / "gradbench" / "tool.py")]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        command, input=given, capture_output=True, text=True, env=environment, check=True
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [answer.pop("id") for answer in answers] == list(range(len(messages)))
    return answers


def evaluate(module, function, given):
    return {"kind": "evaluate", "module": module, "function": function, "input": given}


def test_a_whole_exchange():
    start, define, primal, seen, gradient, unknown = converse(
        {"kind": "start", "eval": "det"},
        {"kind": "define", "module": "det"},
        evaluate("det", "primal", MATRIX),
        {"kind": "analysis", "of": 2, "valid": True},
        evaluate("det", "gradient", MATRIX),
        {"kind": "something else"},
    )
    assert start["tool"] == "simpleautodiff"
    assert define == {"success": True}
    assert seen == unknown == {}
    assert primal["output"] == pytest.approx(2.875, rel=1e-14)  # 0.5 * 0.75 + 1.25 * 2
    assert gradient["output"] == pytest.approx([0.75, -2.0, 1.25, 0.5], rel=1e-14)
    for answer in (primal, gradient):
        assert answer["success"] is True
        assert {timing["name"] for timing in answer["timings"]} == {"evaluate"}
        assert [type(timing["nanoseconds"]) for timing in answer["timings"]] == [int] * 3


def test_what_it_cannot_do_is_said_and_it_goes_on():
    missing, wrong, infinite, good = converse(
        {"kind": "define", "module": "no such problem"},
        evaluate("lse", "hessian", {"x": [1.0]}),
        evaluate("lse", "primal", {"x": [1e308, -1e308, float("inf")]}),
        evaluate("hello", "double", 9.0),
    )
    assert missing["success"] is False
    assert "no such problem" in missing["error"]
    assert wrong["success"] is False
    assert "hessian" in wrong["error"]
    assert infinite["success"] is False
    assert "output" not in infinite
    assert good["output"] == 18.0


def test_hello_in_its_four_rounds():
    chain = [1.0, 1.0, 2.0, 4.0, 8.0, 64.0, 128.0, 16384.0, 32768.0]
    asked = [evaluate("hello", ("square", "double")[k % 2], x) for k, x in enumerate(chain[:-1])]
    assert [answer["output"] for answer in converse(*asked)] == chain[1:]
