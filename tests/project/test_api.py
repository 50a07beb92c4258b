"""The public surface: what it exports, what importing it costs, that its documents are true."""

import ast
import pathlib
import re
import shlex
import subprocess
import sys

import pytest

import coverage_page
import module_map
import simpleautodiff as ad
from cells import find_pages
from simpleautodiff.cli import main

ROOT = pathlib.Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *find_pages(ROOT / "docs")]


def test_all_names_are_exported_and_documented():
    for name in ad.__all__:
        assert getattr(ad, name).__doc__ or name == "ZERO", name
    public = {n for n in vars(ad) if not n.startswith("_") and not _is_module(n)}
    assert public == set(ad.__all__)


def test_nothing_internal_is_public():
    assert {"engine", "install"}.isdisjoint(ad.__all__)
    assert {"engine", "install"}.isdisjoint(dir(ad))
    assert {"grad", "Node", "plug", "numpy", "errors"} <= set(dir(ad))


def _is_module(name):
    return type(getattr(ad, name)).__name__ == "module"


def test_every_public_transformation_has_an_example():
    transformations = [
        *("grad", "value_and_grad", "jvp", "vjp", "linearize", "jacobian", "jacfwd", "jacrev"),
        *("hessian", "hvp", "derivative", "stop_gradient", "checkpoint", "check_grad", "primitive"),
        *("trace", "forward", "reverse", "topological_order", "reachable", "check_order"),
        *("all_orders", "register_number", "Node", "Program"),
    ]
    for name in transformations:
        assert ">>>" in getattr(ad, name).__doc__, name


def test_importing_loads_numpy_at_most():
    code = (
        "import sys; import numpy, numpy.fft; before = set(sys.modules); import simpleautodiff;"
        "print(*{m.partition('.')[0] for m in set(sys.modules) - before})"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(out.stdout.split()) - set(sys.stdlib_module_names)
    assert loaded == {"simpleautodiff"}


@pytest.mark.slow
def test_the_commands_for_lecturers_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "teach.md").read_text(encoding="utf-8")
    lines = re.findall(r"^\|.*`(simpleautodiff .*?)`", page, re.M)
    assert len(lines) == 7
    for line in lines:
        _, *words = shlex.split(line)
        assert words[0] == "site" or main(words) == 0, line  # the site has tests of its own
    assert all(pathlib.Path(name).exists() for name in ("FOLDER", "graph.svg", "page.html"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_say_how_to_install_what_their_examples_import(page):
    text = page.read_text(encoding="utf-8")
    imported = set(re.findall(r"^>>> (?:import|from) (?:simpleautodiff\.)?(\w+)", text, re.M))
    needed = imported & {"scipy", "sympy", "mpmath", "jax", "dask"}
    told = " ".join(re.findall(r"`pip install (.*?)`", text))
    assert {name for name in needed if name not in told} == set()


@pytest.mark.slow
def test_the_coverage_page_is_true():
    assert (ROOT / "docs" / "numpy.md").read_text(encoding="utf-8") == coverage_page.page()


def test_links_lead_somewhere():
    for page in [*PAGES, ROOT / "CHANGELOG.md", ROOT / "benchmarks" / "README.md"]:
        for link in re.findall(r"\]\((?!http)([\w./-]*\.\w+|)(#[\w-]+)?\)", _prose(page)):
            target = (page.parent / link[0]).resolve() if link[0] else page
            assert target.exists(), (page.name, link)
            assert not link[1] or link[1] in _anchors(target), (page.name, link)


def _prose(page):
    return re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.S)


def _anchors(page):
    titles = re.findall(r"^#+ (.+)$", _prose(page), re.M)
    return {"#" + re.sub(r"[^\w -]", "", title).lower().replace(" ", "-") for title in titles}


def test_the_map_of_the_modules_is_true():
    assert (ROOT / "docs" / "modules.md").read_text(encoding="utf-8") == module_map.page()


def test_the_wrapping_functions_document_their_rows():
    assert "the slope of log at x is 1/x" in ad.log.__doc__
    assert "Domain: x > 0" in ad.log.__doc__
    assert "least norm" in ad.relu.__doc__


@pytest.mark.parametrize("path", sorted((ROOT / "src").rglob("*.py")), ids=lambda p: p.name)
def test_every_module_opens_with_a_sentence(path):
    text = ast.get_docstring(ast.parse(path.read_text())) or ""
    assert text.splitlines()[0].rstrip().endswith((".", ":")), path.name


def test_the_version_is_that_of_the_project():
    version = re.search(r'^version = "(.+)"', (ROOT / "pyproject.toml").read_text(), re.M)
    assert version
    assert ad.__version__ == version[1]
