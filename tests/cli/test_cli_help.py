"""Help, lists and completion of the command line, and what files and values mean."""

import os
import pty
import re
import select
import shutil
import signal
import subprocess
from itertools import pairwise

import pytest

from simpleautodiff.cli import main
from simpleautodiff.cli.options import COMMANDS
from simpleautodiff.program.formula import parse
from simpleautodiff.program.formula_names import FORMULA_FUNCTIONS


def help_of(arguments, capsys):
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    return stop.value.code, capsys.readouterr()


def test_help_is_a_command(capsys):
    assert help_of(["help"], capsys) == help_of(["--help"], capsys)
    for command in COMMANDS:
        assert help_of(["help", command], capsys) == help_of([command, "--help"], capsys)
    code, written = help_of(["help", "tabel"], capsys)
    assert code == 2
    assert "there is no command 'tabel'; did you mean table?" in written.err


@pytest.mark.parametrize(
    ("word", "command"),
    [
        ("figure", "graph"),
        ("plot", "graph"),
        ("compare", "check"),
        ("derivative", "grad"),
        ("jacobian", "grad"),
        ("hessian", "grad --order 2"),
    ],
)
def test_a_word_that_is_no_command_is_answered_by_the_one_it_means(word, command, capsys):
    for arguments in ([word, "x**2", "x=2"], ["help", word]):
        code, written = help_of(arguments, capsys)
        assert code == 2
        assert f"there is no command '{word}'; did you mean {command}?" in written.err


@pytest.mark.parametrize("columns", [60, 80])
def test_help_is_as_wide_as_the_terminal(columns, capsys, monkeypatch):
    wide = [help_of(["help", *word], capsys)[1].out for word in ([], ["grade"], ["grad"])]
    monkeypatch.setenv("COLUMNS", str(columns))
    for word, before in zip(([], ["grade"], ["grad"]), wide, strict=True):
        text = help_of(["help", *word], capsys)[1].out
        assert max(map(len, text.splitlines())) <= columns
        assert text.split() == before.split()


def test_functions_obeys_columns_without_a_terminal(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    assert main(["functions"]) == 0
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 60


@pytest.mark.parametrize("columns", [40, 60, 200])
def test_what_is_said_of_functions_is_wrapped_between_words(columns, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(columns))
    assert main(["functions"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= columns
    for line, following in pairwise(lines):
        if line.startswith(" ") and following.startswith(" "):  # both of the same function
            assert len(f"{line} {following.split()[0]}") > columns


def test_functions_lists_what_can_be_written(capsys):
    assert main(["functions"]) == 0
    out = capsys.readouterr().out
    calls = re.findall(r"^(\w+)\(([\w, ]+)\)", out, re.MULTILINE)
    assert [name for name, _ in calls] == FORMULA_FUNCTIONS
    for name, letters in calls:
        assert parse(f"{name}({letters})")[1] == letters.split(", ")
    assert main(["functions", "asin"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert line.endswith("−1 ≤ x ≤ 1; also arcsin")
    assert main(["functions", "nothing like it"]) == 2


@pytest.mark.parametrize(
    ("name", "line"),
    [  # the order of the arguments is SciPy's
        ("atan2", "atan2(y, x)   the angle of (x, y) turns by (x dy − y dx)/(x² + y²)"),
        ("gammainc", "gammainc(a, x)   it is the integral of t^(a−1) exp(−t)/Γ(a) from 0 to x"),
        ("betaincinv", "betaincinv(a, b, p)   from I(a, b, v) = p follows dv"),
        ("binom", "binom(n, k)   the binomial coefficient is Γ(n + 1)/(Γ(k + 1) Γ(n − k + 1))"),
    ],
)
def test_functions_have_the_letters_of_what_is_said_about_them(name, line, capsys):
    assert main(["functions", name]) == 0
    assert capsys.readouterr().out.startswith(line)


def test_a_domain_that_functions_share_has_the_letters_of_each(capsys):
    for name, domain in (("gammainc", "a > 0, x > 0"), ("betaincinv", "a > 0, b > 0, 0 < p < 1")):
        assert main(["functions", name]) == 0
        assert capsys.readouterr().out.endswith(f"; {domain}\n")


def complete_in_bash(script, words, place):
    quoted = " ".join(f"'{word}'" for word in words)
    run = f"COMP_WORDS=({quoted}); COMP_CWORD={place}; _simpleautodiff; echo ${{COMPREPLY[@]}}"
    done = subprocess.run(
        ["bash", "-c", f"{script}\n{run}"], capture_output=True, text=True, check=True
    )
    return done.stdout.split()


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_completion_in_bash(capsys):
    assert main(["completion", "bash"]) == 0
    script = capsys.readouterr().out
    assert complete_in_bash(script, ["simpleautodiff", ""], 1) == list(COMMANDS)
    assert complete_in_bash(script, ["simpleautodiff", "ex"], 1) == [
        name for name in COMMANDS if name.startswith("ex")
    ]
    assert complete_in_bash(script, ["simpleautodiff", "table", "--unf"], 2) == ["--unfold"]
    shown = complete_in_bash(script, ["simpleautodiff", "grad", "x", "x=1", "--format", ""], 5)
    assert shown == list(COMMANDS["grad"].formats)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_every_command_and_is_read_by_its_shell(shell, capsys, tmp_path):
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert all(re.search(rf"\b{command}\b", script) for command in COMMANDS)
    if shutil.which(shell):
        (tmp_path / "script").write_text(script)
        subprocess.run([shell, "-n", str(tmp_path / "script")], check=True)


TYPED = {
    "simpleautodiff gr": ["grad", "grade", "graph"],
    "simpleautodiff help gr": ["grad", "grade", "graph"],
    "simpleautodiff completion ": ["bash", "fish", "zsh"],
    "simpleautodiff table --unf": ["--unfold"],
    "simpleautodiff source --format ": sorted(COMMANDS["source"].formats),
    "simpleautodiff grade min": ["mine.py", "minus.py"],
    "simpleautodiff table --output min": ["mine.py", "minus.py"],
}


@pytest.fixture
def engines(tmp_path):
    """A folder with two files to complete, and the name of a script."""
    for name in ("mine.py", "minus.py"):
        (tmp_path / name).touch()
    return tmp_path


@pytest.mark.skipif(shutil.which("fish") is None, reason="needs fish")
def test_completion_in_fish(engines, capsys):
    main(["completion", "fish"])
    (engines / "script.fish").write_text(capsys.readouterr().out)
    asked = "; echo ---; ".join(f"complete -C '{line}'" for line in TYPED)
    done = subprocess.run(
        ["fish", "--no-config", "-c", f"source script.fish; {asked}"],
        **{"cwd": engines, "capture_output": True, "text": True, "check": True},
    )
    found = [
        sorted(line.partition("\t")[0] for line in part.split("\n") if line)
        for part in done.stdout.split("---\n")
    ]
    assert dict(zip(TYPED, found, strict=True)) == TYPED


def press_tab_in_zsh(folder, line):
    """Return what stands on the screen of a zsh after a line and two presses of Tab."""
    shell, screen = pty.fork()
    if not shell:  # in the child
        os.chdir(folder)
        os.execvpe("zsh", ["zsh", "-f", "-i"], {**os.environ, "TERM": "dumb", "HOME": str(folder)})
    try:
        ready = b"autoload -U compinit; compinit -u"  # which asks nothing, whoever owns the folders
        os.write(screen, ready + b"; source script.zsh; echo re''ady\n")
        _read_until(screen, b"ready")
        os.write(screen, f"{line}\t\t".encode())
        shown = _read_until(screen, *map(str.encode, TYPED[line]))
        os.write(screen, b"\x15echo do''ne\n")
        return (shown + _read_until(screen, b"done")).decode()
    finally:
        os.kill(shell, signal.SIGKILL)
        os.waitpid(shell, 0)
        os.close(screen)


@pytest.mark.skipif(shutil.which("zsh") is None, reason="needs zsh")
@pytest.mark.parametrize("before", ["", "compdef() { }; "])
def test_zsh_prepares_its_completion_once(engines, capsys, before):
    main(["completion", "zsh"])
    (engines / "script.zsh").write_text(capsys.readouterr().out)
    told = "; ".join(
        f"{name}() {{ echo {name} }}" for name in ("compinit", "bashcompinit", "complete")
    )
    done = subprocess.run(
        ["zsh", "-f", "-c", f"autoload() {{ }}; {told}; {before}source ./script.zsh"],
        **{"cwd": engines, "capture_output": True, "text": True, "check": True},
    )
    assert done.stdout.split() == ["compinit"] * (not before) + ["bashcompinit", "complete"]


def _read_until(screen, *words):
    found = b""
    while not all(word in found for word in words):
        assert select.select([screen], [], [], 60)[0], found
        found += os.read(screen, 65536)
    return found


@pytest.mark.skipif(shutil.which("zsh") is None, reason="needs zsh")
@pytest.mark.filterwarnings("ignore:.*fork")  # the copy of this process becomes zsh at once
@pytest.mark.parametrize("line", TYPED)
def test_completion_in_zsh(engines, capsys, line):
    main(["completion", "zsh"])
    (engines / "script.zsh").write_text(capsys.readouterr().out)
    shown = press_tab_in_zsh(engines, line)
    assert all(word in shown for word in TYPED[line]), shown


def test_a_value_that_the_formula_lacks_is_a_note(capsys):
    assert main(["grad", "y", "x=2", "y=5", "--wrt", "x"]) == 0
    written = capsys.readouterr()
    assert written.out == "0\n"
    assert written.err.startswith("note: x is not in the formula")
    assert main(["grad", "x*y", "x=2", "y=5", "q=1"]) == 0
    assert capsys.readouterr().out == "∂z/∂x = 5\n∂z/∂y = 2\n∂z/∂q = 0\n"
    assert main(["explain", "x**2", "x=3", "q=1"]) == 0
    assert "∂y/∂q" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("point", "message"),
    [
        (["x=2", "yy=5"], "did you mean y?"),  # y has no value: yy is misspelt
        (["x=2", "y=1", "pi=3"], "'pi' is a constant"),
        (["x=2", "y=1", "sin=3"], "'sin' is not in the formula"),
        (["x=2", "y=1", "q=1", "q=2"], "q has two values"),
    ],
)
def test_mistaken_values_stay_errors(point, message, capsys):
    assert main(["grad", "x*y", *point]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "start"),
    [
        (["graph", "x*x", "x=2", "--output", "e.svg"], "<svg"),
        (["explain", "x*x", "x=2", "--output", "e.svg"], "<svg"),
        (["graph", "x*x", "x=2", "--output", "e.tex"], r"\documentclass"),
        (["explain", "x*x", "x=2", "--output", "e.json"], "{"),
        (["explain", "x*x", "x=2", "--output", "e.html"], "<!doctype html>"),
        (["source", "x*x", "x=2", "--output", "e.py"], "def "),
        (["grad", "x*x", "x=2", "--output", "answer"], "4"),
        (["grad", "x*x", "x=2", "--output", "e.v2.json"], "{"),
        (["explore", "x*x", "x=2", "--output", "e.html"], "<!doctype html>"),
    ],
)
def test_a_file_is_what_its_name_says(arguments, start, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 0
    (file,) = tmp_path.iterdir()
    assert start in file.read_text()[:120]


@pytest.mark.parametrize(
    "arguments",
    [
        ["table", "x*x", "x=2", "--output", "e.svg"],
        ["grad", "x*x", "x=2", "--output", "e.tex"],
        ["explore", "x*x", "x=2", "--output", "e.svg"],
        ["graph", "x*x", "x=2", "--output", "e.foo"],
        ["grad", "x*x", "x=2", "--output", "e.out"],
        ["graph", "x*x", "x=2", "--output", "e.svg", "--format", "text"],
    ],
)
def test_other_names_are_refused(arguments, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    code, written = help_of(arguments, capsys)
    assert code == 2
    assert arguments[4] in written.err
    assert not list(tmp_path.iterdir())
