"""A submission that means harm: it makes no file, starts nothing, and forges no answer."""

import os
import pathlib
import textwrap

import pytest

from simpleautodiff import learn
from simpleautodiff.errors import ArgumentError

GOOD = (pathlib.Path(__file__).parent / "engines" / "graph_class.py").read_text()
LIBRARY = pathlib.Path(learn.__file__).parent.parent


def grade(folder, extra):
    home = folder / "home"
    home.mkdir()
    (home / "mine.py").write_text(GOOD + textwrap.dedent(extra))
    return learn.grade(str(home / "mine.py"), depth=1500, programs=5, seconds=1)


ESCAPES = {
    "the names of the main module": """
        import __main__, os
        vars(__main__).update(FORBIDDEN=("none",), CLOSED_LIBRARIES=("none",))
        os.mkdir({made!r})
        """,
    "the names of the frames that run it": """
        import os, sys
        frame = sys._getframe()
        while frame:
            frame.f_globals.update(FORBIDDEN=("none",), WRITING=0, LIBRARY="none")
            frame = frame.f_back
        os.mkdir({made!r})
        """,
    "a builtin that says yes": """
        import builtins
        builtins.isinstance = lambda thing, kind: True
        builtins.any = lambda found: False
        open({made!r}, "w")
        """,
    "a path that lies": """
        class Path(str):
            def startswith(self, *start):
                return True
            def partition(self, sign):
                return "", "", ""
        open(Path({made!r}), "w")
        """,
    "functions that find out what a path is": """
        import posixpath
        posixpath._joinrealpath = lambda *args: (".", True)
        open({made!r}, "w")
        """,
    "a path from another folder": """
        import os
        folder = os.open({above!r}, os.O_RDONLY)
        found = os.open("simpleautodiff/learn/grading/answers.py", os.O_RDONLY, dir_fd=folder)
        """,
    "a pipe with a name": """
        import os
        os.mkfifo({made!r})
        """,
    "the system module behind os": """
        import posix
        posix.mkfifo({made!r})
        """,
    "processes without subprocess": """
        import _posixsubprocess
        """,
    "memory with a name": """
        import _posixshmem
        """,
    "the time of a file": """
        import os
        os.utime(__file__, (0, 0))
        """,
}


@pytest.mark.parametrize("way", ESCAPES)
def test_no_way_leads_out(tmp_path, way):
    made = tmp_path / "made"
    text = textwrap.dedent(ESCAPES[way]).format(made=str(made), above=str(LIBRARY.parent))
    with pytest.raises(
        ArgumentError, match=r"is not allowed while|has no attribute 'mkfifo'|it ended while"
    ):
        grade(tmp_path, text)
    assert not made.exists()
    assert os.listdir(tmp_path / "home") == ["mine.py"]


WRITE = """
import os
def write(line):
    for place in range(3, 20):
        try:
            os.write(place, line + b"\\n")
        except OSError:
            continue
"""
ABILITIES = (
    b'{"imported": true}\n{"abilities": {"shape": "node", "modes": [], "broken": {}, '
    b'"operations": ["add", "mul"], "numbers": 0, "constants": 1, "whole_graph": 1}}'
)


def test_forged_abilities_are_not_graded(tmp_path):
    with pytest.raises(ArgumentError, match="it ended while"):
        grade(tmp_path, f"{WRITE}\nwrite({ABILITIES!r})\n")


@pytest.mark.parametrize(
    "line",
    [
        b'{"values": 3, "sweeps": "abc"}',
        b'{"values": {}, "sweeps": []}',
        b'{"values": {}, "sweeps": [{"x": [1]}]}',
        b'{"error": 3}',
        b"[" * 50_000,
    ],
)
def test_forged_results_do_not_end_the_grader(tmp_path, line):
    forging = f"\nhonest = backward\ndef backward(y):\n    write({line!r})\n    honest(y)\n"
    report = grade(tmp_path, WRITE + forging)
    assert report.mistakes == ("died",)


def test_answers_without_an_end_are_cut_off(tmp_path):
    endless = """
    honest = backward
    def backward(y):
        while True:
            write(b"x" * 2**20)
    """.replace("\n    ", "\n")
    report = grade(tmp_path, WRITE.replace('+ b"\\n"', "") + endless)
    assert report.mistakes == ("died",)


def test_a_number_that_lies_about_itself_is_no_answer(tmp_path):
    liar = """
    class Liar(float):
        def __eq__(self, other):
            return True
        def __float__(self):
            raise SystemExit
    honest = backward
    def backward(y):
        honest(y)
        for node in ancestors(y).values():
            node.grad = Liar(node.grad)
    """
    assert "raises" in grade(tmp_path, liar).mistakes


def test_a_process_that_stops_itself_is_ended(tmp_path):
    stopping = """
    import signal
    def backward(y):
        signal.raise_signal(signal.SIGSTOP)
    """
    assert grade(tmp_path, stopping).mistakes == ("timeout",)
