"""The paper's walk: how many functions a reader steps through, on either engine."""

import os
import subprocess
import sys

import pytest

WALK = """if True:
    import sys
    from pathlib import Path
    import simpleautodiff
    from simpleautodiff import Node, add, forward, log, mul, reverse, sin, sub
    source = str(Path(simpleautodiff.__file__).parent)
    rows = (source + "/rules", source + "/values")
    ours = (source, "<simpleautodiff")

    def count_functions(f, *args):
        \"""Count the functions entered, without those of a row: its value and its derivatives.\"""
        entered, inside = set(), []

        def enter(frame, event, arg):
            code = frame.f_code
            if event == "call" and inside == [] and code.co_filename.startswith(ours):
                if code.co_filename.startswith(rows):
                    inside.append(frame)
                else:
                    entered.add((code.co_filename, code.co_qualname))
            elif event == "return" and inside == [frame]:
                inside.clear()

        sys.setprofile(enter)
        f(*args)
        sys.setprofile(None)
        return len([name for _, name in entered if not name.endswith("<listcomp>")])

    x1, x2 = Node(2), Node(5)
    v1 = log(x1)
    print(count_functions(Node, 2), count_functions(mul, x1, x2), count_functions(add, v1, x2))
    y = sub(add(v1, mul(x1, x2)), sin(x2))
    print(count_functions(forward, x1), count_functions(reverse, y))
    assert (x1.partial_derivative, y.partial_derivative) == (5.5, 1)
"""


@pytest.mark.parametrize("engine", ["plain", "fast"])
@pytest.mark.parametrize("number", ["2", "2.0", "True + 1"])
def test_each_step_of_the_paper_enters_at_most_a_dozen_functions(number, engine):
    code = WALK.replace("Node(2)", f"Node({number})").replace("Node, 2)", f"Node, {number})")
    environment = {**os.environ, "SIMPLEAUTODIFF_ENGINE": engine}
    walked = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    counts = [int(count) for count in walked.stdout.split()]
    assert len(counts) == 5
    assert all(0 < count <= 12 for count in counts), counts
