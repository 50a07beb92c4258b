"""The paper's walk on the plain engine: how many functions a reader steps through."""

import os
import subprocess
import sys

import pytest

WALK = """if True:
    import sys
    from pathlib import Path
    import simpleautodiff
    from simpleautodiff import Node, add, log, mul
    source = str(Path(simpleautodiff.__file__).parent)

    def count_functions(f, *args):
        entered = set()

        def enter(frame, event, arg):
            code = frame.f_code
            if event == "call" and code.co_filename.startswith(source):
                entered.add((code.co_filename, code.co_qualname))

        sys.setprofile(enter)
        f(*args)
        sys.setprofile(None)
        return len([name for _, name in entered if not name.endswith("<listcomp>")])

    x1, x2 = Node(2), Node(5)
    v1 = log(x1)
    print(count_functions(Node, 2), count_functions(mul, x1, x2), count_functions(add, v1, x2))
"""


@pytest.mark.parametrize("number", ["2", "2.0", "True"])
def test_a_node_and_an_operation_enter_at_most_a_dozen_functions(number):
    code = WALK.replace("Node(2)", f"Node({number})").replace("Node, 2)", f"Node, {number})")
    environment = {**os.environ, "SIMPLEAUTODIFF_ENGINE": "plain"}
    walked = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert all(0 < int(count) <= 12 for count in walked.stdout.split())
