"""What it takes to show a program: figures, pages, and a page's answers in a browser."""

from __future__ import annotations

import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from array_workloads import mlp
from contestants import Library, Ours
from field import Field, WrongAnswerError
from measure import Effort, race
from report import NOTHING, Note, Section, digits

LOOPS = 5000  # of three steps each
FEATURES = 64 * 150  # of scikit-learn's digits: 150 of them
FEWEST, MOST = 1, 50  # boxes of a folded figure
SHOWN = ("values", "tangents", "adjoints")
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
PRESS = """([selector, key]) => {
    const part = selector && document.querySelector(selector);
    const begin = performance.now();
    if (part) { part.value = key; part.dispatchEvent(new Event("input", {bubbles: true})); }
    else document.querySelector(".canvas").dispatchEvent(
        new KeyboardEvent("keydown", {key, bubbles: true}));
    document.body.getBoundingClientRect();  // has the page laid out
    return performance.now() - begin;
}"""


class Playwright(Library):
    """A browser without a window."""

    name, package = "Chromium", "playwright"
    limit = 10**6

    def __init__(self) -> None:
        import playwright.sync_api

        self.start = playwright.sync_api.sync_playwright
        found = [path for name in BROWSERS if (path := shutil.which(name))]
        if not found:
            raise RuntimeError("there is no Chromium here")
        self.path = found[0]


KINDS = (Ours, Playwright)


@dataclass(frozen=True, slots=True)
class Plan:
    """How much to measure."""

    effort: Effort
    presses: int


FULL = Plan(Effort(rounds=9, slice_s=0.05, budget_s=10.0), presses=30)
QUICK = Plan(Effort(rounds=3, slice_s=0.01, budget_s=2.0), presses=5)


# The programs. ------------------------------------------------------------------------------------


def newton(x: Any) -> Any:
    """Take Newton's steps to a square root, many more than needed: three nodes each."""
    y = x
    for _ in range(LOOPS):
        y = 0.5 * (y + x / y)
    return y


def network(ad: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Return the loss of a network with two hidden layers, and its weights."""
    import numpy as np

    workload = mlp(FEATURES)
    return lambda *weights: workload.f(np, weights, workload.data), workload.parameters


# 14. Figures and pages. ---------------------------------------------------------------------------


def figure_section(field: Field, plan: Plan) -> Section:
    """Time folding and drawing a loop of 15,000 nodes, and pages of it and of a network."""
    section = Section("14. A loop of 15,000 nodes, and the loss of a network: figures and pages")
    ad: Any = field.present[Ours].ad  # type: ignore[attr-defined]
    program, (loss, weights) = ad.trace(newton, 2.0), network(ad)
    learned = ad.trace(loss, *weights)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "page.html")
        runs: dict[str, Callable[[], Any]] = {
            "record the loop": lambda: ad.trace(newton, 2.0),
            "fold it": lambda: ad.fold(program),
            **{f"fold and draw it, {show}": _drawn(ad, program, show) for show in SHOWN},
            "page of the loop": lambda: ad.explore(newton, 2.0, path=path),
            "page of the network": lambda: ad.explore(loss, *weights, path=path),
        }
        for run in runs.values():
            run()
        boxes = {"the loop": _boxes(ad, program), "the network": _boxes(ad, learned)}
        timings = race(runs, plan.effort)
        sizes = {"page of the loop": _page_size(ad, path, newton, 2.0),
                 "page of the network": _page_size(ad, path, loss, *weights)}  # fmt: skip
    section.data = {name: asdict(timing) for name, timing in timings.items()}
    section.data["boxes"], section.data["kB"] = boxes, sizes
    rows = [(name, digits(1e3 * t.best), digits(1e3 * t.median),
             digits(sizes[name]) if name in sizes else NOTHING)
            for name, t in timings.items()]  # fmt: skip
    section.table(("ms of CPU time", "best", "median", "kB"), rows)
    counts = [(name, str(nodes), str(count)) for name, (nodes, count) in boxes.items()]
    section.table(("program", "nodes", "boxes"), counts)
    return section


def _drawn(ad: Any, program: Any, show: str) -> Callable[[], Any]:
    def draw() -> str:
        text: str = ad.figure(program, show).svg()
        return text

    if not draw().startswith(("<svg", "<?xml")):
        raise WrongAnswerError(f"the figure with {show} is no SVG")
    return draw


def _boxes(ad: Any, program: Any) -> tuple[int, int]:
    folded = len(ad.fold(program))
    if not FEWEST <= folded < MOST:
        raise WrongAnswerError(f"a figure of {folded} boxes")
    return len(program), folded


def _page_size(ad: Any, path: Path, f: Callable[..., Any], *args: Any) -> float:
    ad.explore(f, *args, path=path)
    return os.path.getsize(path) / 1e3


# 15. In a browser. --------------------------------------------------------------------------------


def browser_section(field: Field, plan: Plan) -> Section:
    """Time what a reader waits for: the page, its end, one step, a slider."""
    section = Section("15. The page of the loop in Chromium")
    notes: list[Note] = field.notes(KINDS)
    rows: list[tuple[str, str, str]] = []
    if Playwright in field.present:
        ad: Any = field.present[Ours].ad  # type: ignore[attr-defined]
        with _page(field.present[Playwright], ad) as (tab, uri):
            found = _waits(tab, uri, plan.presses)
        section.data = found
        rows = [(name, digits(statistics.median(waits)), digits(max(waits)))
                for name, waits in found.items()]  # fmt: skip
        section.table(("ms, as the page sees them", "median", "longest"), rows)
    section.notes(notes)
    return section


@contextmanager
def _page(playwright: Any, ad: Any) -> Iterator[tuple[Any, str]]:
    with tempfile.TemporaryDirectory() as folder, playwright.start() as play:
        path = ad.explore(newton, 2.0, path=Path(folder, "page.html"))
        browser = play.chromium.launch(executable_path=playwright.path, args=["--no-sandbox"])
        try:
            yield browser.new_page(viewport={"width": 1280, "height": 800}), path.as_uri()
        finally:
            browser.close()


def _waits(tab: Any, uri: str, presses: int) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {"the page, until it is drawn": []}
    for _ in range(3):
        begin = time.perf_counter()
        tab.goto(uri)
        tab.wait_for_selector("g.node")
        found["the page, until it is drawn"].append(1e3 * (time.perf_counter() - begin))
    _keys(tab, presses, "folded", found)
    tab.locator("g.fold").first.click()
    _keys(tab, presses, "unfolded", found)
    slider = ".sliders input[type=range]"
    for k in range(presses):
        wait = tab.evaluate(PRESS, [slider, str(1 + k / presses)])
        found.setdefault("a slider moved", []).append(wait)
    given, last = tab.evaluate("() => { const v = explorer.state().model.values; "
                               "return [v[0], v.at(-1)]; }")  # fmt: skip
    if abs(last - given**0.5) > 1e-9:
        raise WrongAnswerError(f"the page has {last} for the root of {given}")
    return found


def _keys(tab: Any, presses: int, how: str, found: dict[str, list[float]]) -> None:
    """Go to the end of each phase, and one step back from it."""
    for phase in ("values", "forward", "reverse"):
        tab.click(f"[role=tab][data-phase={phase}]")
        for _ in range(presses):
            tab.evaluate(PRESS, ["", "Home"])
            for key in ("End", "ArrowLeft"):
                wait = tab.evaluate(PRESS, ["", key])
                found.setdefault(f"{how}, {phase}, {key}", []).append(wait)
        at, total = map(int, tab.inner_text(".count").split(" / "))
        if at != total - 1:
            raise WrongAnswerError(f"{phase}: at step {at} of {total} one before the end")


SECTIONS = (figure_section, browser_section)
