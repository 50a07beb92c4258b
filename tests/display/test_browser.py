"""The explorer in a real browser: stepping, undo, sliders, links, keys; no errors, no requests.

They need Chromium and playwright, and are skipped where one is missing.
"""

import math

import numpy as np
import pytest

import simpleautodiff as ad
from browsing import PHASES, formula, open_page, phase, position, text_sizes
from serving import run_server

pytestmark = pytest.mark.browser


def paper(x1, x2):
    product = x1 * x2
    return ad.log(x1) + product - ad.sin(x2)


@pytest.fixture
def shown(tab, tmp_path):
    path = ad.explore(paper, 2.0, 5.0, path=tmp_path / "page.html")
    tab.goto(path.as_uri())
    return tab


def state(tab):
    """Return everything that can be seen to change: classes, numbers, texts."""
    return tab.evaluate(
        """() => [...document.querySelectorAll(".canvas *, .table *, .formula, .count, .why")].map(
            (part) => [part.tagName, [...part.classList].sort().join(" "), part.textContent,
                part.getAttribute("marker-end"), part.getAttribute("aria-label")].join("|"))"""
    )


def test_the_page_asks_for_nothing(shown):
    for name in PHASES:
        phase(shown, name)
    assert len(shown.requests) == 1
    assert shown.requests[0].startswith("file:")


def test_steps_follow_the_program(shown):
    program = ad.trace(paper, 2.0, 5.0)
    phase(shown, "values")
    shown.click("[aria-label='To the start']")
    seen = []
    for _ in program.steps:
        shown.click("[aria-label='One step on']")
        seen.append(formula(shown))
    assert seen[0] == "x1 = 2"
    assert seen[-1] == "v5 = v4 − v3 = 10.693 − (−0.959) = 11.652"


@pytest.mark.parametrize("name", PHASES)
def test_steps_on_and_as_many_back_restore_the_page(shown, name):
    shown.emulate_media(reduced_motion="reduce")
    phase(shown, name)
    shown.click("[aria-label='To the start']")
    states = [state(shown)]
    total = position(shown)[1]
    for _ in range(total):
        shown.keyboard.press("ArrowRight")
        states.append(state(shown))
    assert len({str(s) for s in states}) == total + 1
    for before in states[-2::-1]:
        shown.keyboard.press("ArrowLeft")
        assert state(shown) == before


def test_the_end_of_a_sweep_is_the_derivative(shown):
    phase(shown, "forward")
    shown.keyboard.press("End")
    assert formula(shown).endswith("= 5.5")
    shown.select_option("select", label="with respect to x2")
    shown.keyboard.press("Escape")
    shown.click("[aria-label='To the end']")
    assert formula(shown).endswith("= 1.716")
    phase(shown, "reverse")
    shown.click("[aria-label='To the end']")
    results = shown.eval_on_selector_all("tr .result", "cells => cells.map(c => c.textContent)")
    assert {"5.5", "1.716"} <= set(results)


def test_the_search_places_the_papers_order(shown):
    phase(shown, "order")
    shown.keyboard.press("End")
    order = shown.inner_text("tbody tr:last-child .order").replace("\n", "")
    assert order == "x1 v2 v1 v4 v5"
    badges = shown.eval_on_selector_all(".badge", "all => all.map(b => b.textContent)")
    assert sorted(filter(None, badges)) == ["1", "2", "3", "4", "5"]


def test_a_slider_recomputes_everything(shown):
    box = shown.locator(".sliders input[type=number]").first
    box.fill("3")
    box.press("Enter")
    x1, x2 = 3.0, 5.0
    numbers = shown.evaluate("() => explorer.state().model.values")
    assert numbers[-1] == pytest.approx(math.log(x1) + x1 * x2 - math.sin(x2), rel=1e-15)
    phase(shown, "reverse")
    shown.keyboard.press("End")
    results = shown.eval_on_selector_all("tr .result", "cells => cells.map(c => c.textContent)")
    assert f"{1 / 3 + 5:.3f}" in results
    shown.locator(".sliders input[type=range]").first.evaluate(
        "(range) => { range.value = 4; range.dispatchEvent(new Event('input', {bubbles: true})); }"
    )
    assert shown.evaluate("() => explorer.state().model.values[0]") == 4
    shown.click("text=Reset")
    assert shown.evaluate("() => explorer.state().model.values[0]") == 2


def test_a_node_lights_up_its_row_its_name_and_its_source_line(shown):
    product = shown.locator("g.node", has_text="mul")
    name = product.get_attribute("data-node")
    product.hover()
    assert shown.locator(f"tr.lit-node[data-node='{name}']").count() == 1
    assert "product = x1 * x2" in shown.locator(".code li.lit-node").inner_text()
    shown.locator(".code li", has_text="return").hover()
    assert shown.locator("g.node.lit-node").count() == 4
    shown.locator(f"tr[data-node='{name}']").hover()
    assert shown.locator(f"g.lit-node[data-node='{name}']").count() == 1


def test_focus_lights_up_as_hovering_does(shown):
    shown.locator("g.node", has_text="sin").focus()
    assert "sin(x2)" in shown.locator(".code li.lit-node").inner_text()


def test_the_keys_play_and_stop(shown):
    phase(shown, "forward")
    shown.locator(".canvas").focus()
    shown.keyboard.press(" ")
    assert shown.locator("[aria-label=Pause]").count() == 1
    shown.wait_for_function(
        "() => Number.parseInt(document.querySelector('.count').innerText) >= 1"
    )
    shown.keyboard.press(" ")
    assert shown.locator("[aria-label=Play]").count() == 1
    assert position(shown)[0] >= 1


def test_steps_go_on_from_phase_to_phase(shown):
    shown.locator(".canvas").focus()
    shown.keyboard.press("Home")
    for _ in range(60):
        shown.keyboard.press("ArrowRight")
    assert shown.evaluate("() => explorer.state().id") == "reverse"
    assert position(shown)[0] == position(shown)[1]


def test_a_screen_reader_is_told_each_step(shown):
    assert shown.locator("[aria-live=polite]").count() == 1
    phase(shown, "forward")
    shown.keyboard.press("ArrowRight")
    assert shown.locator("[aria-live]").inner_text().endswith(" = ∂x1/∂x1 = 1")  # as in the table
    label = shown.locator("g.node", has_text="mul").get_attribute("aria-label")
    assert label == "v1 = x1 × x2, product, value 10"
    unnamed = shown.eval_on_selector_all(
        "button, input, select",
        "all => all.filter(e => !e.ariaLabel && !e.textContent.trim()).length",
    )
    assert unnamed == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_light_and_dark_are_readable_and_can_be_switched(browser, tmp_path, scheme):
    page = browser.new_page(color_scheme=scheme)
    page.goto(ad.explore(paper, 2.0, 5.0, path=tmp_path / "page.html").as_uri())
    contrast = """() => {
        const style = getComputedStyle(document.querySelector("#explorer"));
        const light = (text) => {
            const [r, g, b] = text.match(/\\d+/g).map((n) => {
                const c = n / 255;
                return c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
            });
            return 0.2126 * r + 0.7152 * g + 0.0722 * b;
        };
        const [a, b] = [light(style.color), light(style.backgroundColor)];
        return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    }"""
    assert page.evaluate(contrast) > 10
    before = page.evaluate("() => getComputedStyle(document.querySelector('#explorer')).color")
    page.click("[aria-label='Light or dark']")
    after = page.evaluate("() => getComputedStyle(document.querySelector('#explorer')).color")
    assert before != after
    assert page.evaluate(contrast) > 10
    page.close()


@pytest.mark.parametrize("size", [(1280, 800), (390, 844), (320, 640)])
def test_nothing_is_wider_than_the_screen(tab, tmp_path, size):
    tab.set_viewport_size({"width": size[0], "height": size[1]})
    tab.goto(ad.explore(paper, 2.0, 5.0, path=tmp_path / "page.html").as_uri())
    for name in PHASES:
        phase(tab, name)
        tab.click("[aria-label='To the end']")
        assert tab.evaluate("() => document.documentElement.scrollWidth") <= size[0]


def test_it_prints_every_table(shown):
    shown.evaluate("() => window.dispatchEvent(new Event('beforeprint'))")
    shown.emulate_media(media="print")
    assert shown.locator(".print table").count() == 3
    assert shown.inner_text(".print p") == "x1, v2, v1, v4, v5"
    assert shown.locator(".print table").first.is_visible()
    assert not shown.locator("footer").is_visible()


IRISES = np.array(  # Anderson's, five of each kind: length and width of sepals and of petals
    [
        *([5.1, 3.5, 1.4, 0.2], [4.9, 3.0, 1.4, 0.2], [4.7, 3.2, 1.3, 0.2], [4.6, 3.1, 1.5, 0.2]),
        *([5.0, 3.6, 1.4, 0.2], [7.0, 3.2, 4.7, 1.4], [6.4, 3.2, 4.5, 1.5], [6.9, 3.1, 4.9, 1.5]),
        *([5.5, 2.3, 4.0, 1.3], [6.5, 2.8, 4.6, 1.5], [6.3, 3.3, 6.0, 2.5], [5.8, 2.7, 5.1, 1.9]),
        *([7.1, 3.0, 5.9, 2.1], [6.3, 2.9, 5.6, 1.8], [6.5, 3.0, 5.8, 2.2]),
    ]
)


def network():
    """Return the loss of a network of two layers, and its weights."""
    rng = np.random.default_rng(0)
    x = IRISES - IRISES.mean(0)

    def loss(w1, b1, w2, b2):
        hidden = np.tanh(x @ w1 + b1)
        scores = hidden @ w2 + b2
        likelihood = scores - np.log(np.sum(np.exp(scores), axis=1, keepdims=True))
        return -np.mean(likelihood[np.arange(15), np.repeat([0, 1, 2], 5)])

    weights = (rng.normal(size=(4, 8)), np.zeros(8), rng.normal(size=(8, 3)), np.zeros(3))
    return loss, weights


def test_a_network_of_two_layers_is_explored(tab, tmp_path):
    loss, weights = network()
    tab.goto(ad.explore(loss, *weights, path=tmp_path / "page.html").as_uri())
    assert tab.get_by_label("Element of w1", exact=True).is_visible()
    for name in PHASES:
        phase(tab, name)
        tab.click("[aria-label='To the end']")
    assert "float64(4, 8)" in tab.inner_text(".table")


def test_ten_thousand_nodes_do_not_make_it_slow(tab, tmp_path):
    def loop(x):
        for _ in range(5000):
            x = ad.sin(x) * 1.001
        return x

    path = ad.explore(loop, 0.5, path=tmp_path / "page.html")
    tab.goto(path.as_uri())
    tab.wait_for_selector("g.node")
    assert "folded" in tab.inner_text(".note")
    for name in PHASES:
        phase(tab, name)
        tab.evaluate("() => { for (let i = 0; i < 5; i++) explorer.on(); }")
        assert tab.locator("tbody tr").count() < 200
    box = tab.locator(".sliders input[type=number]").first
    box.fill("0.25")
    box.press("Enter")
    last = tab.evaluate("() => explorer.state().model.values.at(-1)")
    assert last == pytest.approx(loop(0.25), rel=1e-9)


@pytest.fixture(scope="module")
def address():
    with run_server() as port:
        yield f"http://127.0.0.1:{port}/"


def test_a_formula_is_typed_and_explored(tab, address):
    tab.goto(address)
    tab.wait_for_selector("g.node")
    tab.fill("#formula", "x**2 * y")
    tab.fill("#at", "x=2, y=5")
    tab.press("#formula", "Enter")
    tab.wait_for_selector("h1 math[alttext='z = x**2 * y']")  # y is taken
    assert tab.evaluate("() => explorer.state().model.values.at(-1)") == 20
    assert all(url.startswith((address, "data:")) for url in tab.requests)


def test_the_same_formula_at_another_point_stays_at_its_step(tab, address):
    tab.goto(address + "#formula=x*y&at=x=2,y=3&phase=reverse&from=v1&step=2")
    tab.wait_for_selector("g.node")
    assert tab.input_value("#formula") == "x*y"
    assert tab.input_value("#at") == "x=2 y=3"
    tab.wait_for_function("() => explorer.state().id === 'reverse'")
    before = position(tab)
    tab.fill("#at", "x=2 y=7")
    tab.press("#at", "Enter")
    tab.wait_for_function("() => explorer.state().model.values.at(-1) === 14")
    assert position(tab) == before
    assert tab.locator(".sliders input[type=number]").nth(1).input_value() == "7"
    tab.wait_for_function("() => location.hash.includes('y=7')")
    tab.fill("#formula", "x+y")
    tab.press("#formula", "Enter")
    tab.wait_for_function("() => explorer.state().model.values.at(-1) === 9")
    assert tab.evaluate("() => explorer.state().count") == 0


def test_a_small_function_is_typed_and_its_lines_are_linked(tab, address):
    tab.goto(address)
    tab.wait_for_selector("g.node")
    tab.fill("#formula", "def f(x, y):\n    a = x * y\n    return a + sin(a)")
    tab.fill("#at", "x=2 y=3")
    tab.click("text=Explore")
    tab.wait_for_selector(".code li")
    tab.locator("g.node", has_text="mul").hover()
    assert "a = x * y" in tab.locator(".code li.lit-node").inner_text()


def test_a_wrong_formula_gets_its_caret(browser, address):
    page = browser.new_page()
    page.goto(address)
    page.wait_for_selector("g.node")
    page.fill("#formula", "x1 + lgo(x2)")
    page.press("#formula", "Enter")
    page.wait_for_selector("#error:not([hidden])")
    assert "did you mean log?" in page.inner_text("#error")
    assert "^" in page.inner_text("#error")
    page.close()


def test_what_the_page_cannot_compute_is_asked_of_the_server(tab, address):
    special = pytest.importorskip("scipy.special")
    tab.goto(address)
    tab.wait_for_selector("g.node")
    tab.fill("#formula", "jv(0, x)")
    tab.fill("#at", "x=1")
    tab.press("#formula", "Enter")
    tab.wait_for_function("() => document.querySelector('h1').textContent.includes('jv')")
    box = tab.locator(".sliders input[type=number]").first
    box.fill("2.5")
    box.press("Enter")
    tab.wait_for_function("() => explorer.state().model.values[0] === 2.5")
    value = tab.evaluate("() => explorer.state().model.values[1]")
    assert value == pytest.approx(special.jv(0, 2.5), rel=1e-15)


# --- folding ----------------------------------------------------------------------------------


def newton(x):
    y = x
    for _ in range(5000):
        y = 0.5 * (y + x / y)
    return y


def layer(w, x):
    return ad.tanh(w * x + 0.1)


def deep(w, x):
    for _ in range(4):
        x = layer(w, x) * ad.sigmoid(x)
    total = layer(w, x) + layer(x, w)
    part = ad.exp(-total) / (1 + total * total)
    return ad.sin(part) * ad.cos(total) + ad.log(1 + part * part)


@pytest.fixture
def loop(tab, tmp_path):
    tab.goto(ad.explore(newton, 2.0, path=tmp_path / "page.html").as_uri())
    tab.wait_for_selector("g.node")
    return tab


def test_a_box_is_unfolded_by_a_click_and_folded_by_its_chip(loop):
    assert loop.locator("g.node").count() == 2
    loop.locator("g.fold").click()
    assert loop.locator("g.node").count() == 8
    assert loop.locator("g.node[data-node]").count() == 7
    loop.locator(".folds .chip", has_text="×5,000").click()
    assert loop.locator("g.node").count() == 2
    assert loop.locator(".folds .chip").count() == 0


def test_a_box_is_unfolded_and_folded_by_keys_and_keeps_the_focus(loop):
    fold = loop.locator("g.fold")
    assert fold.get_attribute("role") == "button"
    assert fold.get_attribute("aria-expanded") == "false"
    fold.focus()
    loop.keyboard.press("Enter")
    assert loop.locator("g.node").count() == 8
    assert loop.evaluate("() => document.activeElement.closest('g.node') !== null")
    loop.keyboard.press("Backspace")
    assert loop.locator("g.node").count() == 2
    assert loop.evaluate("() => document.activeElement.classList.contains('fold')")


def test_unfolding_goes_on_and_all_is_folded_at_once(loop):
    for expected in (8, 14, 20):
        loop.locator("g.fold").click()
        assert loop.locator("g.node").count() == expected
    loop.click("text=Fold all")
    assert loop.locator("g.node").count() == 2


def test_table_code_and_steps_follow_what_is_unfolded(loop):
    phase(loop, "reverse")
    loop.keyboard.press("End")
    assert position(loop) == (1, 1)
    loop.locator("g.fold").click()
    done, total = position(loop)
    assert done == total > 10  # still at the end
    assert loop.locator("tbody tr[data-step]").count() == total
    loop.locator("g.node[data-node]", has_text="div").first.hover()
    assert "y = 0.5" in loop.locator(".code li.lit-node").inner_text()
    assert loop.locator("tr.lit-node").count() >= 1
    loop.locator("tr[data-box]").hover()
    assert loop.locator("g.fold.lit-node").count() == 1
    loop.locator(".code li", has_text="y = 0.5").hover()
    assert loop.locator("g.node.lit-node").count() == 7
    result = loop.evaluate(
        "() => explorer.state().steps.at(-1).events.filter(e => e.node === 0).at(-1).number"
    )
    assert result == pytest.approx(1 / (2 * math.sqrt(2)), rel=1e-12)


def test_a_step_inside_a_box_stays_where_it_is_when_the_box_is_folded(loop):
    loop.locator("g.fold").click()
    phase(loop, "values")
    loop.keyboard.press("Home")
    for _ in range(3):
        loop.keyboard.press("ArrowRight")
    assert position(loop)[0] == 3
    loop.click("text=Fold all")
    assert position(loop) == (2, 2)  # x, and the loop that has begun
    loop.locator("g.fold").click()
    assert position(loop)[0] >= 3


def test_the_slider_is_exact_in_every_view(loop):
    box = loop.locator(".sliders input[type=number]").first
    for _ in range(2):
        box.fill("3")
        box.press("Enter")
        assert loop.evaluate("() => explorer.state().model.values.at(-1)") == newton(3.0)
        last = loop.evaluate("() => explorer.state().model.sweeps[0].numbers.at(-1)")
        assert last == pytest.approx(1 / (2 * math.sqrt(3)), rel=1e-12)
        loop.locator("g.fold").click()


def test_a_long_table_shows_the_rows_around_the_step_and_brings_the_others(tab, tmp_path):
    def chain(x, y):  # no two steps in a row are alike, and nothing can be folded but stretches
        for i in range(27):
            x = (ad.sin, ad.cos, ad.exp, ad.tanh)[i * i % 7 % 4](x) * y
        return x

    tab.goto(ad.explore(chain, 0.5, 0.25, path=tmp_path / "page.html").as_uri())
    tab.click("text=Unfold all") if tab.locator("text=Unfold all").count() else None
    phase(tab, "order")
    tab.keyboard.press("End")
    _, total = position(tab)
    assert total > 80
    assert tab.locator("tr[data-step]").count() == 80
    assert tab.locator("tr.current").get_attribute("data-step") == str(total)
    assert tab.inner_text("tr.more") == f"{total - 80} earlier steps"
    tab.click("tr.more button")
    assert tab.locator("tr[data-step='1']").count() == 1
    tab.locator("tr[data-step='1']").click()
    assert position(tab)[0] == 1


def test_several_boxes_are_unfolded_side_by_side(tab, tmp_path):
    tab.goto(ad.explore(deep, 0.5, 2.0, path=tmp_path / "page.html").as_uri())
    before = tab.locator("g.node").count()
    for count in (1, 2):
        tab.locator("g.able").first.click()
        assert tab.locator(".folds .chip[data-box]").count() == count
    assert tab.locator("g.node").count() > before
    tab.click("text=Unfold all")
    assert tab.locator("g.fold").count() == 0
    tab.click("text=Fold all")
    assert tab.locator("g.node").count() == before


def test_what_is_pointed_at_tells_its_name_and_its_slopes(shown):
    shown.locator("g.node", has_text="mul").hover()
    said = shown.inner_text(".tip").replace("\n", "")
    assert "in your code: product" in said
    assert "∂v1/∂x1 = x2 = 5" in said
    assert "∂v1/∂x2 = x1 = 2" in said
    labels = shown.eval_on_selector_all(".slope", "all => all.map(l => l.textContent)")
    assert sorted(filter(None, labels)) == ["1", "2", "5"]
    shown.mouse.move(5, 5)
    assert not shown.locator(".tip").is_visible()
    labels = shown.eval_on_selector_all(".slope", "all => all.map(l => l.textContent)")
    assert not any(labels)


# --- what is seen -----------------------------------------------------------------------------


@pytest.mark.parametrize("size", [(1280, 800), (1920, 1080)])
def test_a_network_can_be_read_and_its_table_fits(tab, tmp_path, size):
    loss, weights = network()
    tab.set_viewport_size({"width": size[0], "height": size[1]})
    tab.goto(ad.explore(loss, *weights, path=tmp_path / "page.html").as_uri())
    fits = """() => {
        const [canvas, table] = [".canvas", ".table"].map((s) => document.querySelector(s));
        const rows = [...table.querySelectorAll("tbody tr")].map((r) => r.offsetHeight);
        const [now, frame] = [canvas.querySelector(".current"), canvas]
            .map((part) => part.getBoundingClientRect());
        return [now.left >= frame.left && now.right <= frame.right, now.top >= frame.top
            && now.bottom <= frame.bottom, table.scrollWidth <= table.clientWidth,
            Math.max(...rows) <= 160]; // symbols, three lines of numbers, a result of five
    }"""
    for _ in range(2):
        for name in PHASES:
            phase(tab, name)
            tab.keyboard.press("End")
            assert tab.evaluate(fits) == [True, True, True, True], name
            assert min(text_sizes(tab)) >= 11
        tab.click("text=Unfold all") if tab.locator("text=Unfold all").count() else None


def test_the_graph_is_enlarged_and_fitted_again(shown):
    width = "() => document.querySelector('.canvas svg').getBoundingClientRect().width"
    before = shown.evaluate(width)
    shown.click("[aria-label=Larger]")
    shown.locator(".canvas").focus()
    shown.keyboard.press("+")
    assert shown.evaluate(width) > 1.5 * before
    shown.keyboard.press("0")
    assert shown.evaluate(width) == before


def test_no_text_leaves_its_box(loop):
    loop.locator("g.fold").click()
    for name in PHASES:
        phase(loop, name)
        loop.keyboard.press("End")
        wide = loop.evaluate(
            """() => [...document.querySelectorAll("g.node")].flatMap((g) => {
                const frame = g.querySelector("rect").getBBox();
                const right = (box) => box.x + box.width;
                return [...g.querySelectorAll("text")].map((t) => [t.textContent, t.getBBox()])
                    .filter(([text, box]) => text && right(box) > right(frame));
            })"""
        )
        assert wide == []


def stop_at(tab, text):
    tab.fill(".stop input", text)
    tab.press(".stop input", "Enter")


@pytest.mark.parametrize("text", ["v4", "line 31", "line sin(x2)", "> 10", "nan"])
def test_the_page_stops_where_the_stepper_does(shown, text):
    line = paper.__code__.co_firstlineno + 2
    text = text.replace("31", str(line))
    stepper = ad.step(paper, 2.0, 5.0)
    if text.startswith("line"):
        stepper.stop(line=line)
    elif text.startswith(">"):
        stepper.stop(over=10)
    elif text == "nan":
        stepper.stop(nan=True)
    else:
        stepper.stop(node=text)
    phase(shown, "values")
    shown.click("[aria-label='To the start']")
    for _ in range(3):
        stepper.run()
        stop_at(shown, text)
        if stepper.done:
            break
        found = shown.evaluate(
            """() => {
                const { phase, count, steps, model } = window.explorer.state();
                return [steps[phase].id, count, steps[phase].events[count - 1].node];
            }"""
        )
        kind, count, node = found
        assert stepper.program.steps[node].name == stepper.event.name
        assert (
            kind == {"build": "values", "order": "order", "sweep": "forward"}[stepper.event.phase]
        )
        before = [e for e in stepper.events if e.phase == stepper.event.phase]
        assert before[count - 1] is stepper.event


def test_what_is_no_breakpoint_is_marked(shown):
    shown.fill(".stop input", "v4, line 99999")
    assert shown.get_attribute(".stop input", "aria-invalid") == "true"
    shown.fill(".stop input", "v4, nan")
    assert shown.get_attribute(".stop input", "aria-invalid") == "false"


def test_playing_stops_at_a_breakpoint(shown):
    phase(shown, "values")
    shown.fill(".stop input", "x2")
    shown.click("[aria-label='To the start']")
    shown.click("[aria-label='Play']")
    shown.wait_for_selector("[aria-label='Pause']")
    shown.wait_for_selector("[aria-label='Play']")
    assert formula(shown) == "x2 = 5"


def test_a_breakpoint_finds_a_nan_and_a_size_in_arrays_beyond_what_is_shown(tab, tmp_path):
    x = np.ones(50)
    x[40] = -700.0
    with np.errstate(invalid="ignore"):
        path = ad.explore(lambda x: np.sum(np.sqrt(x * 2)), x, path=tmp_path / "page.html")
    tab.goto(path.as_uri())
    for text, name in (("> 1000", "v1 ="), ("nan", "v2 =")):
        phase(tab, "values")
        tab.click("[aria-label='To the start']")
        stop_at(tab, text)
        assert formula(tab).startswith(name)


def test_a_step_of_a_folded_box_marks_its_source_line(tab, tmp_path):
    def long(x):
        for _ in range(400):
            x = ad.sin(x) + 1
        return x

    tab.goto(ad.explore(long, 2.0, path=tmp_path / "page.html").as_uri())
    tab.keyboard.press("End")
    assert "ad.sin(x) + 1" in tab.inner_text(".code li.now")


GEOMETRY = """() => {
    const [svg, canvas] = [".canvas svg", ".canvas"].map((part) => document.querySelector(part));
    const box = svg.getBoundingClientRect();
    return [canvas.clientWidth, canvas.clientHeight, box.width, box.height, box.left, box.top];
}"""


@pytest.mark.parametrize("words", [0, 12, 40])
def test_the_graph_stays_where_it_is_whatever_is_said_below_it(tab, tmp_path, words):
    """What is told of a box may need two lines; a graph that moved would leave the pointer."""

    def f(x):
        y = x
        for _ in range(9):
            y = ad.sin(y) * x + ad.exp(-y)
        return y

    tab.set_viewport_size({"width": 1000, "height": 700})
    open_page(tab, tmp_path, f, 0.3)
    tab.evaluate("(words) => document.querySelector('.note').append(' word'.repeat(words))", words)
    tab.keyboard.press("ArrowRight")
    places = [tab.evaluate(GEOMETRY)]
    box = tab.locator("g.node").nth(1).bounding_box()
    tab.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] - 4)
    for key in ("ArrowRight", "ArrowLeft", "ArrowRight"):
        for _ in range(3):
            tab.evaluate("() => new Promise(requestAnimationFrame)")
            places.append(tab.evaluate(GEOMETRY))
        tab.keyboard.press(key)
    assert tab.locator(".tip").is_visible()
    assert places == places[:1] * len(places)


def looped(x, y):
    for _ in range(12):
        y = ad.cos(y) * y
        x = ad.sin(x) * y
    return x


def test_what_a_sweep_does_not_reach_inside_a_folded_box_has_no_row(tab, tmp_path):
    tab.goto(ad.explore(looped, 2.0, 5.0, path=tmp_path / "page.html").as_uri())
    phase(tab, "forward")
    rows = tab.locator(".table tr.unreached th").all_inner_texts()
    assert len(rows) == 1  # that of the other input


def test_the_lines_of_a_box_are_inside_its_frame(shown):
    phase(shown, "reverse")
    shown.click("[aria-label='To the end']")
    for group in shown.locator(".canvas g.node").all():
        frame = group.locator("rect").first.bounding_box()
        line = group.locator("text.derivative").bounding_box()
        assert line["y"] + line["height"] < frame["y"] + 0.95 * frame["height"]


def test_the_graph_stays_where_it_is_while_the_line_below_it_gets_longer(tab, tmp_path):
    def f(x):
        for _ in range(200):
            x = x - 0.1 * (x * x - 2) / (2 * x)
        return x

    tab.goto(ad.explore(f, 1.0, path=tmp_path / "page.html").as_uri())
    sizes = "['.stage', '.tools'].map((name) => document.querySelector(name).clientHeight)"
    before = tab.evaluate(sizes)
    tab.fill("[aria-label='Go to']", "sub")  # with many results
    assert tab.evaluate(sizes) == before
    tab.evaluate("document.querySelector('.note').textContent = 'words '.repeat(60)")
    assert tab.evaluate(sizes) == before


def test_long_names_have_room_in_boxes_and_in_the_table(tab, tmp_path):
    def f(kernel, gamma_rate):
        return np.sum(np.tanh(kernel) * gamma_rate)

    tab.goto(ad.explore(f, np.ones(3), 2.0, path=tmp_path / "page.html").as_uri())
    for name in ("kernel", "gamma_rate"):
        head = tab.locator(f".table tbody th:has-text('{name}')")
        assert head.evaluate("(cell) => cell.scrollWidth <= cell.clientWidth")
    overlaps = tab.evaluate(
        """() => [...document.querySelectorAll("g.node")].filter((node) => {
            const [name, operator] = [".name", ".operator"].map((part) =>
                node.querySelector(part).getBoundingClientRect());
            const frame = node.querySelector("rect").getBoundingClientRect();
            return name.right > frame.right + 1 || (operator.width && name.right > operator.left);
        }).length"""
    )
    assert overlaps == 0


def test_the_name_of_a_derivative_ends_before_its_heat_map(tab, tmp_path):
    def f(weights_of_the_layer, x):
        return np.sum(np.tanh(weights_of_the_layer @ x))

    tab.goto(ad.explore(f, np.eye(2), np.ones(2), path=tmp_path / "page.html").as_uri())
    phase(tab, "reverse")
    tab.keyboard.press("End")
    ends = """nodes => nodes.flatMap((node) => {
        const [name, map] = [".derivative", ".edge-of-heat"]
            .map((part) => node.querySelector(part));
        return map && name.textContent ? [[name, map].map((part) => part.getBoundingClientRect())
            .map((box, k) => (k ? box.left : box.right))] : [];
    })"""
    places = tab.eval_on_selector_all("g.node", ends)
    assert len(places) >= 4
    assert all(name <= heat for name, heat in places)
