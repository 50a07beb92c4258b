"""The playground in a real browser that reaches nothing but the folder it is served from.

It needs npm, its two packages, Chromium and playwright; each is named where it is missing.
"""

import functools
import json
import pathlib
import re
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest

from simpleautodiff.cli.site.build import write_site
from simpleautodiff.errors import MissingExtraError

pytestmark = [pytest.mark.browser, pytest.mark.slow]
PATIENCE = 120_000  # milliseconds for Python to start, on a machine that has other things to do


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    try:
        return write_site(tmp_path_factory.mktemp("site"))
    except MissingExtraError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def server(site):
    """Serve the folder as `python -m http.server` does, and note what is asked for."""

    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, format, *args):
            asked.append(self.path)

    asked = []
    serving = ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Handler, directory=str(site.folder))
    )
    serving.asked = asked
    serving.address = f"http://127.0.0.1:{serving.server_address[1]}/"
    thread = threading.Thread(target=serving.serve_forever, daemon=True)
    thread.start()
    yield serving
    serving.shutdown()
    serving.server_close()
    thread.join()


@pytest.fixture(scope="module")
def tab(chromium, server):
    """One tab for all tests, in which Python is started once; no other host has an address."""
    offline = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
    browser = chromium(offline)
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.set_default_timeout(PATIENCE)
    page.errors, page.requests = [], []
    page.on("pageerror", lambda error: page.errors.append(str(error)))
    page.on("console", lambda message: page.errors.append(message.text))
    page.context.on("request", lambda request: page.requests.append(request.url))
    page.goto(server.address)
    yield page
    browser.close()


@pytest.fixture(autouse=True)
def nothing_else(tab, server):
    yield
    assert tab.errors == []
    assert all(url.startswith((server.address, "blob:", "data:")) for url in tab.requests)


def ask(tab, text, at):
    tab.fill("#text", text)
    tab.fill("#at", at)
    tab.click("#explore")
    done(tab)


def done(tab):
    tab.wait_for_selector("#stop", state="hidden", timeout=PATIENCE)


def table(tab, phase):
    """Return the table of a phase, once the phase has been played to its end."""
    tab.click(f"[role=tab][data-phase={phase}]")
    tab.click("[aria-label='To the end']")
    return tab.inner_text(".table")


def test_the_examples_are_there_before_python_is(tab, server, site):
    tab.goto(server.address)
    tab.wait_for_selector("g.node")
    for number in range(6):
        tab.select_option("#example", str(number))
        assert tab.locator("g.node").count() > 1
        assert tab.is_hidden("#error")
    assert not any("python/" in path for path in server.asked)
    assert f"{site.download / 1e6:.1f} MB" in tab.inner_text("#status")


def test_the_page_of_the_documents_says_what_the_command_says(site):
    page = pathlib.Path(__file__).parents[2] / "docs" / "playground.md"
    said = page.read_text(encoding="utf-8").partition("$ simpleautodiff site playground\n")[2]
    said, now = said.partition("```")[0], str(site).replace(str(site.folder), "playground")
    size = r"\d+\.\d"
    assert re.sub(size, "", said).split() == re.sub(size, "", now).split()
    pairs = zip(re.findall(size, said), re.findall(size, now), strict=True)
    assert all(abs(float(a) - float(b)) < 0.5 for a, b in pairs), now


def test_a_python_function_with_if_for_and_arrays(tab, server, site):
    text = """import numpy as np

def f(x, w):
    total = 0.0
    for i in range(3):
        if x[i] > 1:
            total = total + w * x[i] ** 2
    return total + np.sum(np.sin(x) * 0)
"""
    ask(tab, text, "x=[1, 2, 3] w=2")
    assert tab.is_hidden("#error"), tab.inner_text("#error")
    assert "0, 8, 12" in table(tab, "reverse")  # 2 w x where x > 1
    spoken = tab.locator("g.node[aria-label^='w']").first.get_attribute("aria-label")
    assert "derivative 13" in spoken  # 2² + 3²
    loaded = {path.rpartition("/")[2] for path in server.asked if path.startswith("/python/")}
    assert loaded == {file.name for file in (site.folder / "python").iterdir()}


def test_numbers_that_decide_a_branch_have_sliders_that_ask_again(tab):
    text = "def f(x):\n    if x > 1:\n        return x**2\n    return 3 * x"
    ask(tab, text, "x=2")
    tab.locator(".sliders input[type=range], .sliders input[type=number]").first.wait_for()
    field = tab.locator(".sliders input:not([type=range])").first
    field.fill("0.5")
    field.press("Enter")
    tab.wait_for_function("document.getElementById('at').value === 'x=0.5'")
    done(tab)
    assert "1.5" in table(tab, "values")


def test_a_link_opens_the_same_program_at_the_same_point(tab, server):
    said = {"formula": "a = x*y\nsin(a) + a", "at": "x=0.25 y=4"}
    tab.goto(f"{server.address}#{urlencode(said)}")
    tab.wait_for_function("document.getElementById('at').value === 'x=0.25 y=4'")
    done(tab)
    assert tab.input_value("#text") == said["formula"]
    assert "1.841" in table(tab, "values")  # sin 1 + 1
    hash = dict(parse_qsl(urlsplit(tab.url).fragment))
    assert {name: hash[name] for name in said} == said


def test_a_link_opens_at_its_point_its_phase_and_its_step(tab, server):
    said = {
        "formula": "log(x1) + x1*x2 - sin(x2)",
        "at": "x1=3,x2=5",
        "phase": "reverse",
        "step": "9",
    }
    tab.goto("about:blank")
    tab.goto(f"{server.address}#{urlencode(said)}")
    tab.wait_for_selector("g.node")
    spoken = tab.locator("g.node[aria-label^='x1']").first.get_attribute("aria-label")
    assert "derivative 5.333" in spoken  # x2 + 1 / x1
    hash = dict(parse_qsl(urlsplit(tab.url).fragment))
    assert {name: hash[name] for name in said} == said


def test_python_that_came_by_a_link_waits_to_be_read(tab, server):
    said = {"formula": "def f(x):\n    print('run')\n    return 2 * x", "at": "x=3"}
    tab.goto("about:blank")
    tab.goto(f"{server.address}#{urlencode(said)}")
    tab.wait_for_selector("#error:not([hidden])", timeout=PATIENCE)
    assert "press Explore" in tab.inner_text("#error")
    assert tab.locator("g.node").count() == 0
    assert tab.is_hidden("#notes")
    tab.click("#explore")
    done(tab)
    assert tab.inner_text("#notes") == "run"
    assert tab.locator("g.node").count() > 0


@pytest.mark.parametrize(
    ("wanted", "name", "has"),
    [
        ("page", "explorer.html", "<!doctype html>"),
        ("latex", "derivative.tex", r"\end{document}"),
        ("notebook", "derivative.ipynb", "nbformat"),
    ],
)
def test_it_can_be_taken_away(tab, wanted, name, has):
    ask(tab, "x*y", "x=1 y=3")
    with tab.expect_download(timeout=PATIENCE) as download:
        tab.click(f"[data-wanted={wanted}]")
    assert download.value.suggested_filename == name
    with open(download.value.path(), encoding="utf-8") as file:
        text = file.read()
    assert has in text
    if wanted == "notebook":
        assert json.loads(text)["nbformat"] == 4


def test_an_error_is_shown_with_its_line(tab):
    ask(tab, "def f(x):\n    return undefined(x)", "x=1")
    assert "playground.py:2: return undefined(x)" in tab.inner_text("#error")


def test_a_loop_without_end_is_stopped_and_python_started_again(tab):
    ask(tab, "sin(x", "x=1")
    assert "never closed" in tab.inner_text("#error")
    tab.fill("#text", "def f(x):\n    while True:\n        pass\n    return x")
    tab.fill("#at", "x=1")
    tab.click("#explore")
    tab.wait_for_timeout(500)
    assert tab.is_hidden("#error")  # that of the text before
    tab.click("#stop")
    done(tab)
    assert tab.inner_text("#error") == "It was stopped."
    ask(tab, "x**2", "x=3")
    assert tab.is_hidden("#error")
    assert "6" in table(tab, "reverse")
