"""The explorer on screens, in forced colours and on paper: nothing is covered, cut or pale."""

import numpy as np
import pytest

from browsing import open_page, phase
from simpleautodiff.cli import main

pytestmark = pytest.mark.browser

FORMULA = "log(x1) + x1*x2 - sin(x2)"
SCREENS = [(2560, 1440), (1280, 800), (390, 844)]


def weigh(W, x, b):
    return np.sum(np.tanh(W @ x + b))


def repeat(x, y):
    for _ in range(160):
        x = np.sin(x) * y
    return x


def arrays():
    draw = np.random.default_rng(0).normal
    return draw(size=(4, 3)), draw(size=3), draw(size=4)


def boxes(tab, selector):
    """Return left, top, right and bottom of the parts that are found."""
    return tab.eval_on_selector_all(
        selector,
        """parts => parts.map((part) => part.getBoundingClientRect()).map(
            (box) => [box.left, box.top, box.right, box.bottom])""",
    )


@pytest.mark.parametrize(("width", "height"), SCREENS)
@pytest.mark.parametrize("function", ["arrays", "numbers"])
def test_sliders_of_long_numbers_are_whole_and_cover_nothing(
    tab, tmp_path, width, height, function
):
    tab.set_viewport_size({"width": width, "height": height})
    if function == "arrays":
        open_page(tab, tmp_path, weigh, *arrays())
    else:
        open_page(tab, tmp_path, FORMULA, 2.3250307746388343e-10, -0.1257302210933933)
    found = boxes(tab, ".sliders .list :is(input, select)")
    left, _, right, _ = boxes(tab, ".sliders")[0]
    assert len(found) == (9 if function == "arrays" else 4)
    assert all(left <= box[0] and box[2] <= right for box in found)
    for i, one in enumerate(found):
        for other in found[:i]:
            beside = one[2] <= other[0] or other[2] <= one[0]
            assert beside or one[3] <= other[1] or other[3] <= one[1]
    cut = "boxes => boxes.filter((box) => box.scrollWidth > box.clientWidth).length"
    assert tab.eval_on_selector_all(".sliders input[type=number]", cut) == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("theme", ["", "light", "dark"])
def test_in_forced_colours_a_drawing_has_the_readers_colours(tab, tmp_path, scheme, theme):
    tab.emulate_media(color_scheme=scheme, forced_colors="active", reduced_motion="reduce")
    open_page(tab, tmp_path, FORMULA, 2, 5)
    if theme:
        tab.eval_on_selector(".explorer", f"page => page.dataset.theme = '{theme}'")
    phase(tab, "reverse")
    for _ in range(5):
        tab.keyboard.press("ArrowRight")
    allowed = tab.evaluate(
        """() => ["Canvas", "CanvasText", "LinkText", "Highlight"].map((name) => {
            const part = document.body.appendChild(document.createElement("i"));
            part.style.color = name;
            return getComputedStyle(part).color;
        })"""
    )
    pairs = {"g.node text, .slope": "fill", "g.node > rect": "fill", "marker path": "fill"}
    for selector, key in {**pairs, "path.edge, g.node > rect ": "stroke"}.items():
        used = f"parts => parts.map((part) => getComputedStyle(part).{key})"
        found = set(tab.eval_on_selector_all(selector, used))
        assert found, selector
        assert found <= set(allowed), (selector, found)
    canvas = allowed[0]
    assert canvas not in tab.eval_on_selector_all(
        "g.node text", "all => all.map((part) => getComputedStyle(part).fill)"
    )


def test_in_forced_colours_only_the_chosen_tab_is_underlined(tab, tmp_path):
    tab.emulate_media(forced_colors="active")
    open_page(tab, tmp_path, FORMULA, 2, 5)
    colour = "tabs => tabs.map((tab) => getComputedStyle(tab).borderBottomColor)"
    others = tab.eval_on_selector_all("[role=tab][aria-selected=false]", colour)
    chosen = tab.eval_on_selector_all("[role=tab][aria-selected=true]", colour)
    paper = tab.evaluate(
        "() => getComputedStyle(document.querySelector('.explorer')).backgroundColor"
    )
    assert set(others) == {paper}
    assert chosen != [paper]


@pytest.mark.parametrize(("width", "height"), SCREENS)
def test_what_the_order_says_of_predictions_is_not_cut(tab, tmp_path, width, height):
    tab.set_viewport_size({"width": width, "height": height})
    open_page(tab, tmp_path, FORMULA, 2, 5)
    phase(tab, "order")
    tab.keyboard.press("p")
    said = tab.locator(".predict :text('no number is computed')")
    assert said.evaluate("part => part.scrollWidth <= part.clientWidth")


def test_in_forced_colours_the_row_of_a_node_that_is_pointed_at_is_told_from_others(tab, tmp_path):
    tab.emulate_media(forced_colors="active")
    open_page(tab, tmp_path, FORMULA, 2, 5)
    tab.keyboard.press("End")
    tab.locator("g.node").nth(2).hover()
    styles = "rows => rows.map((row) => getComputedStyle(row).outlineStyle)"
    assert tab.eval_on_selector_all("tr.lit-node:not(.current)", styles) == ["dotted"]
    assert set(tab.eval_on_selector_all("tbody tr:not(.lit-node, .current)", styles)) == {"none"}


@pytest.mark.parametrize("forced", ["none", "active"])
def test_a_focused_node_has_a_ring_that_others_have_not(tab, tmp_path, forced):
    tab.emulate_media(forced_colors=forced, reduced_motion="reduce")
    open_page(tab, tmp_path, FORMULA, 2, 5)
    ring = """() => [...document.querySelectorAll("g.node > rect")].map((rect) => {
        const style = getComputedStyle(rect);
        return [style.stroke, style.strokeWidth, style.strokeDasharray].join();
    })"""
    before = tab.evaluate(ring)
    tab.evaluate("() => document.querySelector('[role=tab]').focus()")
    for _ in range(40):
        tab.keyboard.press("Tab")
        if tab.evaluate("() => document.activeElement.matches('g.node')"):
            break
    assert sum(a != b for a, b in zip(before, tab.evaluate(ring), strict=True)) == 1


@pytest.mark.parametrize(("width", "height"), SCREENS)
def test_the_map_of_a_long_graph_shows_it_and_leads_to_where_it_is_pressed(
    tab, tmp_path, width, height
):
    tab.set_viewport_size({"width": width, "height": height})
    open_page(tab, tmp_path, repeat, 0.7, 1.3)
    tab.click("text=Unfold all")
    drawing = tab.locator(".map svg")
    drawing.wait_for()
    box = drawing.bounding_box()
    assert min(box["width"], box["height"]) >= 24
    assert box["width"] <= 150
    assert box["height"] <= 64
    places = tab.eval_on_selector_all(
        ".map .place", "all => all.map((place) => parseFloat(getComputedStyle(place).strokeWidth))"
    )
    assert len(places) == 322
    assert min(places) >= 1
    tall = box["height"] >= box["width"]
    end = {"x": box["width"] / 2, "y": box["height"] - 1}
    drawing.click(position=end if tall else {"x": box["width"] - 1, "y": box["height"] / 2})
    side, size = ("Top", "Height") if tall else ("Left", "Width")
    reached, whole = tab.eval_on_selector(
        ".canvas", f"c => [c.scroll{side} + c.client{size}, c.scroll{size}]"
    )
    assert reached > 0.9 * whole


def test_paper_has_the_values_though_nothing_was_played(tab, tmp_path):
    open_page(tab, tmp_path, FORMULA, 2, 5)
    before = tab.inner_text(".count")
    tab.evaluate("() => window.dispatchEvent(new Event('beforeprint'))")
    tab.emulate_media(media="print")
    numbers = tab.eval_on_selector_all("g.node", "all => all.map((node) => node.textContent)")
    assert any("11.652" in number for number in numbers)
    assert "11.652" in tab.inner_text(".outcome")
    tab.emulate_media(media="screen")
    tab.evaluate("() => window.dispatchEvent(new Event('afterprint'))")
    assert tab.inner_text(".count") == before


def test_on_paper_a_small_table_stays_in_one_column(tab, tmp_path):
    open_page(tab, tmp_path, FORMULA, 2, 5)
    tab.evaluate("() => window.dispatchEvent(new Event('beforeprint'))")
    tab.set_viewport_size({"width": 688, "height": 1000})  # what is between the margins of A4
    tab.emulate_media(media="print")
    for lefts in tab.eval_on_selector_all(
        ".print table",
        "all => all.map((table) => [...table.rows].map((row) => row.getBoundingClientRect().left))",
    ):
        assert len(set(lefts)) == 1


@pytest.mark.parametrize("unfolded", [False, True])
def test_a_graph_that_could_not_be_read_on_paper_is_not_printed(tab, tmp_path, unfolded):
    open_page(tab, tmp_path, repeat, 0.7, 1.3)
    if unfolded:
        tab.click("text=Unfold all")
    tab.evaluate("() => window.dispatchEvent(new Event('beforeprint'))")
    tab.emulate_media(media="print")
    assert tab.locator(".canvas svg").is_visible() is not unfolded
    assert tab.locator("text=too large for paper").is_visible() is unfolded


def test_the_values_of_an_explanation_fit_a_phone(tab, tmp_path):
    page = tmp_path / "page.html"
    assert main(["explain", FORMULA, "x1=2", "x2=5", "--output", str(page)]) == 0
    tab.set_viewport_size({"width": 390, "height": 844})
    tab.goto(page.as_uri())
    assert boxes(tab, "table")[0][2] <= 390
    sizes = "all => all.map((part) => parseFloat(getComputedStyle(part).fontSize))"
    assert min(tab.eval_on_selector_all("th, td, sub", sizes)) >= 11
