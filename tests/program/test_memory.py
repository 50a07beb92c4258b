"""What the reverse sweep keeps, per line, in bytes."""

import numpy as np
import pytest

import simpleautodiff as ad


def network(w, x):
    hidden = w @ x  # the product keeps both factors
    squashed = np.tanh(hidden)  # which one array serves, whatever is done with it
    shifted = squashed + 1  # a sum keeps nothing
    return np.sum(shifted * 3.0)  # a constant factor keeps itself


def test_each_line_tells_what_is_kept_of_it():
    report = ad.memory(network, np.ones((20, 10)), np.ones(10))
    found = {
        line.line.rpartition(": ")[2].partition(" #")[0].strip(): line for line in report.lines
    }
    assert found["input w, x"].bytes == 8 * (200 + 10)
    assert found["shifted = squashed + 1"].bytes == 0
    assert found["hidden = w @ x"].bytes + found["squashed = np.tanh(hidden)"].bytes in (160, 320)
    assert found["shifted = squashed + 1"].steps == 1
    assert report.total == sum(line.bytes for line in report.lines)
    text = str(report).splitlines()
    assert text[0] == f"The reverse sweep of network keeps: {report.total:,} bytes"
    assert "input w, x" in text[1], "the largest is the first"


@pytest.mark.parametrize(
    ("f", "expected"),
    [
        (lambda x: np.sum(x + x), 0),
        (lambda x: np.sum(x * x), 800),
        (lambda x: np.sum(np.exp(x)), 800),
        (lambda x: np.sum(np.sin(x) * np.cos(x)), 2400),
        (lambda x: np.sum(x.reshape(10, 10).T), 0),
    ],
)
def test_only_what_a_rule_reads_is_kept(f, expected):
    x = np.linspace(0.0, 1.0, 100)
    assert ad.memory(f, x).total == expected
    assert ad.memory(f, x.astype("f4")).total == expected // 2
    comparison = ad.compare(f, x)
    assert comparison["reverse"].bytes == expected
    assert comparison["forward"].bytes == 0
    assert all(way.seconds > 0 for way in comparison.ways if way.values is not None)
    assert "bytes" in str(comparison)


def test_checkpoints_keep_their_arguments():
    step = lambda i, x, rate: x + rate * np.sin(x)
    run = ad.loop(step, 10, snapshots=3)
    x = np.linspace(0, 1, 50)
    # the state at the beginning, and the rate; all else is computed again
    assert ad.memory(lambda x, r: np.sum(run(x, r)), x, 0.1).total == 400 + 8
    saved = ad.checkpoint(lambda x, r: step(0, x, r))
    assert ad.memory(lambda x, r: np.sum(saved(x, r)), x, 0.1).total == 400 + 8
