"""A submission that means harm: it makes no file, starts nothing, and forges no answer."""

import importlib.util
import os
import pathlib
import textwrap

import pytest

from simpleautodiff import learn
from simpleautodiff.errors import ArgumentError

GOOD = (pathlib.Path(__file__).parent / "engines" / "graph_class.py").read_text()
LIBRARY = pathlib.Path(learn.__file__).parent.parent


def grade(folder, extra, **limits):
    home = folder / "home"
    home.mkdir()
    (home / "mine.py").write_text(GOOD + textwrap.dedent(extra))
    return learn.grade(str(home / "mine.py"), depth=1500, programs=5, **limits)


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
    "the traceback of a refusal": """
        import os
        try:
            open({made!r}, "w")
        except PermissionError as error:
            trace = error.__traceback__
            while trace:
                refuse = trace.tb_frame.f_locals.get("refuse", lambda what: None)
                refuse.__code__ = (lambda what: None).__code__
                trace = trace.tb_next
        os.mkdir({made!r})
        """,
    "the objects that the collector knows": """
        import gc, os
        for thing in gc.get_objects():
            if getattr(thing, "__name__", "") in ("watch", "judge"):
                thing.__code__ = (lambda event, args: None).__code__
        os.mkdir({made!r})
        """,
    "the collector, made anew": """
        import sys
        del sys.modules["gc"]
        import gc
        """,
    "a refusal where errors are ignored": """
        import os
        class Last:
            def __del__(self):
                os.mkdir({made!r})
        Last()
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


def test_no_module_of_the_interpreter_is_made_a_second_time(tmp_path):
    made = tmp_path / "made"
    again = f"""
    import _imp, importlib.machinery
    system = _imp.create_builtin(importlib.machinery.ModuleSpec("posix", None))
    system.mkfifo({str(made)!r})
    """
    with pytest.raises(ArgumentError, match="no attribute 'create_builtin'"):
        grade(tmp_path, again)
    assert not made.exists()


def test_a_module_in_c_has_no_other_name(tmp_path):
    file = importlib.util.find_spec("_posixsubprocess").origin
    if not os.path.isfile(file):
        pytest.skip("this interpreter has the module built in, so it has no file to be loaded from")
    renamed = f"""
    import importlib.util
    spec = importlib.util.spec_from_file_location("a._posixsubprocess", {file!r})
    module = importlib.util.module_from_spec(spec)
    """
    with pytest.raises(ArgumentError, match=r"import a\._posixsubprocess is not allowed"):
        grade(tmp_path, renamed)


def test_warnings_and_tracebacks_may_show_who_called(tmp_path):
    telling = """
    import logging, traceback, warnings
    honest = backward
    def backward(y):
        warnings.warn("slow", stacklevel=2)
        traceback.print_stack()
        logging.getLogger().warning("slow", stack_info=True)
        honest(y)
    """
    assert grade(tmp_path, telling).ok


def test_what_is_refused_in_a_sweep_is_said(tmp_path):
    report = grade(tmp_path, "def backward(y):\n    open('notes', 'w')\n")
    assert report.wrong == ("raises",)
    said = " ".join(str(report).split())
    assert "PermissionError: writing notes is not allowed while an engine is graded" in said


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
    assert grade(tmp_path, stopping, seconds=1).mistakes == ("timeout",)
