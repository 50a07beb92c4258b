"""The explorer's page as a learner meets it: legible, played, found, predicted, linked, printed."""

import math
import re
import unicodedata
from itertools import groupby

import numpy as np
import pytest

import simpleautodiff as ad
from browsing import PHASES, formula, open_page, phase, position, table_rows, text_sizes
from serving import run_server
from simpleautodiff.cli import main
from simpleautodiff.display.explorer.page import describe
from simpleautodiff.display.explorer.page_data import make_document
from simpleautodiff.display.explorer.page_views import _name_box
from simpleautodiff.display.notation.formulas import write_bar, write_dot

pytestmark = pytest.mark.browser
SIZES = [(360, 740), (768, 1024), (1280, 800), (1920, 1080)]
FORMULA = "log(x1) + x1*x2 - sin(x2)"


def neuron(w, x, b):
    total = b
    for wi, xi in zip(w, x, strict=True):
        total = total + wi * xi
    return ad.tanh(total)


def network(w1, w2, w3, w4, w5, w6, b1, b2, b3, x1, x2):
    first = neuron([w1, w2], [x1, x2], b1)
    second = neuron([w3, w4], [x1, x2], b2)
    return neuron([w5, w6], [first, second], b3)


WEIGHTS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 2.0)


def newton(x):
    y = x
    for _ in range(5000):
        y = 0.5 * (y + x / y)
    return y


def where(tab):
    return tab.evaluate("() => { const { id, count } = explorer.state(); return [id, count]; }")


# --- legible ----------------------------------------------------------------------------------


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_no_text_is_smaller_than_eleven_pixels(tab, tmp_path, size):
    tab.set_viewport_size({"width": size[0], "height": size[1]})
    open_page(tab, tmp_path, network, *WEIGHTS)
    tab.click("text=Unfold all")
    assert tab.locator("g.node").count() == 26
    for name in PHASES:
        phase(tab, name)
        tab.keyboard.press("End")
        assert min(text_sizes(tab)) >= 11
        assert tab.evaluate("() => document.documentElement.scrollWidth") <= size[0]


def test_a_graph_larger_than_its_window_has_a_map_and_is_dragged(tab, tmp_path):
    open_page(tab, tmp_path, network, *WEIGHTS)
    tab.click("text=Unfold all")
    tab.keyboard.press("Home")
    assert tab.locator(".map").is_visible()
    place = (
        "() => { const c = document.querySelector('.canvas'); return [c.scrollLeft, c.scrollTop]; }"
    )
    tab.evaluate("() => document.querySelector('.canvas').scrollTo(0, 0)")
    box = tab.locator(".map svg").bounding_box()
    tab.mouse.click(box["x"] + box["width"] - 4, box["y"] + box["height"] - 4)
    left, top = tab.evaluate(place)
    assert left + top > 0
    canvas = tab.locator(".canvas").bounding_box()
    middle = canvas["x"] + canvas["width"] / 2, canvas["y"] + canvas["height"] / 2
    tab.mouse.move(*middle)
    tab.mouse.down()
    tab.mouse.move(middle[0] + 60, middle[1] + 40, steps=4)
    tab.mouse.up()
    assert sum(tab.evaluate(place)) < left + top


def test_a_weight_stands_beside_its_use(tab, tmp_path):
    open_page(tab, tmp_path, network, *WEIGHTS)
    tab.click("text=Unfold all")

    def box(name):
        return tab.locator(f"g.node[aria-label^='{name},'] > rect").bounding_box()

    w1, b3 = box("w1"), box("b3")
    assert max(b3["x"] - w1["x"], b3["y"] - w1["y"]) > 200  # used late, and drawn there


def test_boxes_carry_the_name_of_their_function(tab, tmp_path):
    open_page(tab, tmp_path, network, *WEIGHTS)
    titles = tab.eval_on_selector_all("g.fold .title", "all => all.map(t => t.textContent)")
    assert titles[:2] == ["neuron", "neuron"]
    open_page(tab, tmp_path, newton, 2.0)
    assert tab.text_content("g.fold .title") == "newton"
    assert tab.text_content("g.fold .amount") == "loop ×5,000"


def alternating(x, w):
    total = 0.0
    for i in range(len(x)):
        if x[i] < 0:
            total = total - x[i]
            continue
        total = total + w * x[i] ** 2
    return total + np.sum(np.sin(x))


def chain(w1, w2, w3):
    def link(w, x):
        return ad.tanh(w * x + 1)

    return link(w1, link(w2, link(w3, 0.5))) - 1


def test_a_loop_of_calls_carries_the_name_of_the_function_that_is_called(tmp_path):
    program = ad.trace(chain, 0.5, -0.3, 0.8)
    for folded in (ad.fold(program, by="call"), ad.fold(program, by="loop")):
        assert {_name_box(program, box) for box in folded.boxes if not box.single} == {"link"}


def test_lines_of_the_function_that_is_explored_carry_the_variable_they_assign(tab, tmp_path):
    open_page(tab, tmp_path, alternating, np.array([1.0, -2.0, 3.0, 4.0]), 0.5)
    titles = tab.eval_on_selector_all("g.fold .title", "all => all.map(t => t.textContent)")
    assert titles[:-1] == ["total", "total"]
    assert titles[-1].startswith("return")


def hidden_layer(x, w, b, c):
    hidden = [ad.tanh(x * w[i] + b[i]) for i in range(4)]
    return sum(hidden[i] * c[i] for i in range(4)) + 1


LAYER = 0.5, [0.1, 0.2, 0.3, 0.4], [0.0, 0.1, 0.2, 0.3], [1.0, -1.0, 2.0, 0.5]


def test_different_loops_of_the_function_that_is_explored_are_called_by_their_lines(tab, tmp_path):
    open_page(tab, tmp_path, hidden_layer, *LAYER)
    titles = tab.eval_on_selector_all("g.fold .title", "all => all.map(t => t.textContent)")
    loops = [title for title in titles if not title.startswith(("w[", "b[", "c["))]
    assert [title[:9] for title in loops] == ["hidden = ", "return su"]
    phase(tab, "values")
    tab.keyboard.press("End")
    folded = tab.eval_on_selector_all("tbody code", "all => all.map(c => c.textContent)")
    assert "return sum(hidden[i] * c[i] for i in range(4)) + 1" in folded


def test_a_name_that_is_too_long_for_its_box_is_cut_and_no_other_name(tab, tmp_path):
    open_page(tab, tmp_path, hidden_layer, *LAYER)
    phase(tab, "reverse")
    tab.keyboard.press("End")
    boxes = tab.eval_on_selector_all(
        "g.node", "all => all.map((g) => [...g.querySelectorAll('text')].map((t) => t.textContent))"
    )
    shown = [text[-2] for text in boxes if text[0].startswith(("c[", "w["))]
    # ∂y/∂c[3] is tanh(0.5), ∂y/∂w[3] is 0.5 c[3] (1 - tanh(0.5)²)
    names = {unicodedata.normalize("NFD", text) for text in shown}
    assert names == {"c\u0304[3] = 0.462", "w\u0304… = 0.197"}


# --- found ------------------------------------------------------------------------------------


def name_of_current(tab):
    return tab.get_attribute("g.current", "aria-label").split(" =")[0]


@pytest.mark.parametrize("name", ["v1", "v300", "v7501", "v15000"])
def test_one_goes_to_any_node_of_a_long_program(tab, tmp_path, name):
    open_page(tab, tmp_path, newton, 2.0)
    tab.keyboard.press("g")
    tab.keyboard.type(name)
    tab.keyboard.press("Enter")
    assert name_of_current(tab) == name
    assert tab.locator("g.node").count() < 30
    index = int(name[1:])
    value = tab.evaluate(f"() => explorer.state().model.values[{index}]")
    assert f"{value:.3f}".rstrip("0").rstrip(".") in formula(tab)
    for other in ("forward", "reverse"):  # the derivatives of what was in the box are there, too
        phase(tab, other)
        tab.fill(".find input", name)
        tab.press(".find input", "Enter")
        assert name_of_current(tab) == name
        assert min(text_sizes(tab)) >= 11


def test_a_node_is_found_by_its_operation_and_by_the_users_name(tab, tmp_path):
    def f(x):
        for _ in range(8):
            x = ad.sin(x) * x
        energy = ad.exp(x) + 1
        return energy * 2

    open_page(tab, tmp_path, f, 0.5)
    tab.fill(".find input", "energy")
    tab.press(".find input", "Enter")
    assert "energy" in tab.get_attribute("g.current", "aria-label")
    tab.fill(".find input", "sin")
    assert tab.locator(".found .chip").count() == 8
    tab.locator(".found .chip").nth(2).click()
    assert "sin(" in tab.get_attribute("g.current", "aria-label")
    tab.fill(".find input", "nothing")
    assert tab.get_attribute(".find input", "aria-invalid") == "true"


def test_a_stop_unfolds_what_it_stops_at(tab, tmp_path):
    open_page(tab, tmp_path, newton, 2.0)
    tab.fill(".stop input", "v300")
    tab.press(".stop input", "Enter")
    assert name_of_current(tab) == "v300"
    assert where(tab)[0] == "values"
    tab.press(".stop input", "Enter")
    assert where(tab)[0] == "order"


def test_everything_is_unfolded(tab, tmp_path):
    def f(x):
        for i in range(60):
            x = ad.sin(x) * x + i
        return x

    open_page(tab, tmp_path, f, 0.5)
    assert tab.locator("g.node").count() < 30
    tab.click("text=Unfold all")
    assert tab.locator("g.node").count() == 181
    places = tab.eval_on_selector_all(
        "g.node > rect", "all => all.map(r => [r.x.baseVal.value, r.y.baseVal.value])"
    )
    for i, (x, y) in enumerate(places):
        assert all(abs(x - a) >= 96 or abs(y - b) >= 60 for a, b in places[:i])
    assert tab.locator(".map").is_visible()


# --- played -----------------------------------------------------------------------------------


def test_it_opens_at_the_beginning_with_the_formula_and_the_result(tab, tmp_path):
    open_page(tab, tmp_path, FORMULA, 2, 5)
    assert where(tab) == ["values", 0]
    assert tab.get_attribute("h1 math", "alttext") == f"y = {FORMULA}"
    assert tab.locator("h1 msub").count() == 4
    assert tab.inner_text(".outcome").replace("\n", "") == "y = v5"
    tab.keyboard.press("End")
    assert tab.inner_text(".outcome").replace("\n", "") == "y = v5 = 11.652"
    assert tab.locator("g.output .name").text_content().replace("\u200b", "") == "y = v5"


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("x**2 / (1 + x)", {"mfrac": 1, "msup": 1}),
        ("sqrt(x**2 + 1)", {"msqrt": 1, "msup": 1}),
        ("(x + 1)*x", {"mfrac": 0}),
    ],
)
def test_a_formula_is_typeset(tab, tmp_path, text, parts):
    open_page(tab, tmp_path, text, 2.0)
    assert {tag: tab.locator(f"h1 {tag}").count() for tag in parts} == parts
    fences = tab.text_content("h1").count("(")
    assert fences == (1 if text.startswith("(") else 0)


def test_play_goes_through_all_phases_and_begins_again(tab, tmp_path):
    open_page(tab, tmp_path, "x*x", 3.0)
    tab.select_option("[aria-label=Speed]", "8")
    tab.evaluate(
        """() => {
            const root = document.querySelector(".explorer");
            window.seen = [root.dataset.phase];
            new MutationObserver(() => window.seen.push(root.dataset.phase))
                .observe(root, { attributeFilter: ["data-phase"] });
        }"""
    )
    tab.keyboard.press(" ")
    tab.wait_for_selector("[aria-label=Play]", timeout=120_000)
    seen = tab.evaluate("() => window.seen.filter((name, i, all) => name !== all[i - 1])")
    assert seen == PHASES
    assert position(tab)[0] == position(tab)[1]
    tab.keyboard.press(" ")
    assert where(tab)[0] == "values"
    tab.keyboard.press(" ")


def test_keys_work_at_once_and_reach_every_phase(tab, tmp_path):
    open_page(tab, tmp_path, FORMULA, 2, 5)
    tab.keyboard.press("ArrowRight")
    assert where(tab) == ["values", 1]
    for key, name in zip("4321", reversed(PHASES), strict=True):
        tab.keyboard.press(key)
        assert where(tab)[0] == name
    assert where(tab) == ["values", 1]  # where it was left
    tab.keyboard.press(">")
    assert tab.locator("[aria-label=Speed]").input_value() == "2"


def test_tabs_stay_where_they_are(tab, tmp_path):
    open_page(tab, tmp_path, FORMULA, 2, 5)
    places = []
    for name in PHASES:
        phase(tab, name)
        tab.keyboard.press("End")
        places.append([tab.locator("[role=tab]").nth(i).bounding_box()["x"] for i in range(4)])
    assert places == [places[0]] * 4


def test_every_input_has_its_slider(tab, tmp_path):
    open_page(tab, tmp_path, network, *WEIGHTS)
    assert tab.locator(".sliders input[type=range]").count() == 8
    tab.click("text=All 11 inputs")
    assert tab.locator(".sliders input[type=range]").count() == 11
    box = tab.locator(".sliders input[type=number]").nth(10)
    box.fill("-1.5")
    box.press("Enter")
    expected = network(*WEIGHTS[:-1], -1.5)
    assert tab.evaluate("() => explorer.state().model.values.at(-1)") == pytest.approx(expected)


def test_a_nan_is_explained_where_it_arises(tab, tmp_path):
    with pytest.warns(RuntimeWarning):
        open_page(tab, tmp_path, "log(x) * y", -1.0, 2.0)
    for _ in range(3):
        tab.keyboard.press("ArrowRight")
    assert "nan arises here: log(−1)" in tab.inner_text(".why")
    tab.keyboard.press("ArrowRight")
    assert tab.inner_text(".why") == "nan comes from v1."
    phase(tab, "reverse")
    tab.keyboard.press("ArrowRight")
    tab.keyboard.press("ArrowRight")
    said = "nan comes from the evaluation, where v2 is nan"
    while position(tab)[0] < position(tab)[1] and said not in tab.inner_text(".why"):
        tab.keyboard.press("ArrowRight")
    assert tab.inner_text(".formula").replace("\n", "").endswith("nan")
    assert said in tab.inner_text(".why")


def test_the_page_says_that_a_nan_has_no_derivative(tab, tmp_path):
    open_page(tab, tmp_path, "log(x) * y", 1.0, 2.0)
    phase(tab, "reverse")
    said = "no derivative here"
    assert said not in tab.inner_text(".outcome")
    box = tab.locator(".sliders input[type=number]").first
    box.fill("-1")
    box.press("Enter")
    assert said in tab.inner_text(".outcome")


def test_a_nan_of_a_sweep_is_explained_by_its_factors(tab, tmp_path):
    open_page(tab, tmp_path, "sqrt(x) * 0", 1.0)
    box = tab.locator(".sliders input[type=number]")
    box.fill("0")
    box.press("Enter")
    phase(tab, "reverse")
    tab.keyboard.press("End")
    assert tab.inner_text(".why") == "nan arises here: 0 × inf is not a number."


def test_numbers_travel_along_the_edges_unless_less_motion_is_wanted(tab, tmp_path):
    open_page(tab, tmp_path, FORMULA, 2, 5)
    phase(tab, "forward")
    tab.keyboard.press("ArrowRight")
    tab.keyboard.press("ArrowRight")
    assert tab.locator(".traveller").count() == 1  # from x1; x2 does not depend on it
    tab.wait_for_selector(".traveller", state="detached")
    tab.emulate_media(reduced_motion="reduce")
    tab.keyboard.press("ArrowRight")
    assert tab.locator(".traveller").count() == 0


# --- arrays -----------------------------------------------------------------------------------

MATRIX = np.array([[0.5, -0.25, 1.0], [0.125, 2.0, -1.5]])


def test_arrays_are_heat_maps_with_value_and_gradient_side_by_side(tab, tmp_path):
    open_page(tab, tmp_path, lambda w: np.sum(w**3), MATRIX)
    phase(tab, "reverse")
    tab.keyboard.press("End")
    maps = tab.locator("figure.heat")
    assert maps.count() == 2
    assert abs(maps.nth(0).bounding_box()["y"] - maps.nth(1).bounding_box()["y"]) < 5
    tab.locator("figure.heat").nth(0).locator("[data-element='4']").hover()
    said = re.findall(r"\[1, 1\] = (\S+)", tab.inner_text(".readout"))
    assert [float(number) for number in said] == [MATRIX[1, 1], 3 * MATRIX[1, 1] ** 2]
    assert tab.locator("g.node .heat .cell").count() > 0


def standardize(x):
    return np.sum(np.cumsum((x - np.mean(x)) / np.std(x)) ** 3)


def smooth(x, w):
    inner = w[0] * x[:-2] + w[1] * x[1:-1] + w[2] * x[2:]
    return np.max(inner) + np.sum(np.where(inner > 0.2, inner, np.expm1(inner)))


def layer(w, x, b):
    return np.sum(np.tanh(w @ x + b) ** 2) / 2


def smallest(a, c):
    return np.sum(np.sqrt(np.minimum(a * c, a + c))) + np.clip(c, 0.0, 1.0) * a[0, 0]


MOVED = {
    "standardize": (standardize, (np.array([1.0, 2.5, -0.3, 4.0]),), {"x": {1: 0.7}}),
    "smooth": (
        smooth,
        (np.array([0.3, -0.2, 0.9, 1.4, -1.0]), np.array([0.25, 0.5, 0.25])),
        {"x": {0: -1.25, 4: 2.0}, "w": {2: -0.125}},
    ),
    "layer": (
        layer,
        (np.arange(6.0).reshape(2, 3) / 5 - 0.3, np.array([1.0, 2.0, 3.0]), np.array([0.1, -0.2])),
        {"w": {0: -0.75, 5: 0.5}, "b": {1: 1 / 3}},
    ),
    "smallest": (smallest, (np.array([[1.5, 2.0], [0.25, 3.0]]), 0.75), {"a": {3: 0.5}, "c": 0.25}),
}


def numbers_in(document):
    """Return every number that a document shows, arrays by their text and their elements."""
    found = []
    for node in document["nodes"]:
        found += [node["value"], *(node.get("partials") or {}).values()]
    for sweep in document["sweeps"]:
        numbers = {int(i): number for i, number in sweep.get("numbers", {}).items()}
        found += [number for _, number in sorted(numbers.items())]
        found += [term[4] for term in sweep.get("terms", [])]
    return found


@pytest.mark.parametrize("name", MOVED)
def test_every_number_of_an_array_program_follows_the_elements(tab, tmp_path, name):
    f, args, moved = MOVED[name]
    open_page(tab, tmp_path, f, *args)
    parameters = f.__code__.co_varnames[: len(args)]
    there = dict(zip(parameters, (np.array(arg, float) for arg in args), strict=True))
    for parameter, change in moved.items():
        if isinstance(change, float):
            tab.get_by_label(parameter, exact=True).fill(str(change))
            tab.keyboard.press("Enter")
            there[parameter] = change
            continue
        for at, number in change.items():
            tab.get_by_label(f"Element of {parameter}", exact=True).select_option(str(at))
            index = np.unravel_index(at, there[parameter].shape)
            label = f"{parameter}[{', '.join(map(str, index))}]"
            tab.get_by_label(label, exact=True).fill(str(number))
            tab.keyboard.press("Enter")
            there[parameter].flat[at] = number
    shown = tab.evaluate(
        """() => {
            const { model } = explorer.state();
            const number = (n) => {
                if (n === null || n === undefined) return null;
                return typeof n !== "object" ? Number(n)
                    : { text: n.text, elements: n.elements?.map(Number) };
            };
            const numbers = (record) => Object.fromEntries(
                Object.entries(record).map(([key, n]) => [key, number(n)]));
            return {
                nodes: model.values.map((value, i) =>
                    ({ value: number(value), partials: numbers(model.partials[i]) })),
                sweeps: model.sweeps.map(({ numbers: found, terms }) => ({
                    numbers: numbers(found),
                    terms: terms.map((term) => [...term.slice(0, 4), number(term[4])]),
                })),
            };
        }"""
    )
    values = [there[parameter] for parameter in parameters]
    point = [value if np.ndim(value) else float(value) for value in values]
    program, *_ = describe(f, tuple(point))
    right = make_document(program)
    pairs = list(zip(numbers_in(shown), numbers_in(right), strict=True))
    assert len(pairs) > 12
    for mine, python in pairs:
        if isinstance(python, dict) and "elements" in python:
            assert mine["text"] == python["text"]
            assert mine["elements"] == pytest.approx(python["elements"], rel=2e-5, abs=1e-12)
        elif isinstance(python, dict):
            assert mine["text"] == python["text"]
        else:
            assert mine == pytest.approx(python, rel=1e-12)


def test_a_slider_does_not_leave_the_branch_that_was_recorded(tab, tmp_path):
    open_page(tab, tmp_path, lambda x: x * x if x > 1 else -x, 2.0)
    tab.keyboard.press("End")
    tab.get_by_label("x", exact=True).fill("3")
    tab.keyboard.press("Enter")
    assert tab.inner_text(".outcome") == "y = v1 = 9"
    assert formula(tab) == "v1 = x × x = 3 × 3 = 9"
    assert not tab.locator(".sliders .note").is_visible()
    tab.get_by_label("x", exact=True).fill("0.5")
    tab.keyboard.press("Enter")
    assert "another branch" in tab.inner_text(".sliders .note")
    assert tab.get_by_label("x", exact=True).input_value() == "3"
    assert tab.inner_text(".outcome") == "y = v1 = 9"


def move(tab, name, number):
    tab.get_by_label(name, exact=True).fill(str(number))
    tab.keyboard.press("Enter")


def test_a_slider_crosses_what_where_chooses(tab, tmp_path):
    open_page(tab, tmp_path, lambda x: np.where(x > 1.0, x**2, 2.5) * 2, 2.0)
    phase(tab, "reverse")
    tab.keyboard.press("End")
    assert tab.inner_text(".outcome").endswith("= 8")
    assert formula(tab).endswith("= 8")
    move(tab, "x", 0.5)
    assert tab.inner_text(".outcome").endswith("= 5")
    assert table_rows(tab)[-1] == ["x̄", "∂y/∂x", "", "0"]
    tab.click("text=Reset")
    assert tab.inner_text(".outcome").endswith("= 8")
    assert table_rows(tab)[-1] == ["x̄", "v̄1 × (2 × x)", "2 × (2 × 2)", "8"]


def choice(x, z, c):
    return ad.where(x > z, x**2, z * ad.sin(x))


def test_where_has_sliders_when_both_branches_depend_on_the_input(tab, tmp_path):
    open_page(tab, tmp_path, choice, 2.0, 1.0, 3.0)
    phase(tab, "reverse")
    tab.keyboard.press("End")
    for x in (2.0, 0.5, 3.0, -1.25):
        move(tab, "x", x)
        shown = {row[0]: float(row[3]) for row in table_rows(tab)}
        slopes = ad.grad(choice, argnums=(0, 1, 2))(x, 1.0, 3.0)
        found = [shown[name] for name in ("x̄", "z̄", "c̄")]
        assert found == pytest.approx(slopes, abs=6e-4)


def mixed(x, a):
    h = x[0] * x[1] + np.sin(a)
    return np.sum(x * h) - a / h


@pytest.mark.parametrize("name", ["values", "forward", "reverse"])
def test_rows_of_numbers_and_arrays_are_written_anew_where_a_slider_was_moved(tab, tmp_path, name):
    open_page(tab, tmp_path, mixed, np.array([1.0, 2.5]), 2.0)
    phase(tab, name)
    tab.keyboard.press("End")
    move(tab, "a", 0.5)
    moved = table_rows(tab)
    open_page(tab, tmp_path, mixed, np.array([1.0, 2.5]), 0.5)
    phase(tab, name)
    tab.keyboard.press("End")
    fresh = table_rows(tab)
    assert moved == fresh
    assert sum(bool(row[2]) for row in moved) >= 6


def test_what_is_no_program_on_single_numbers_says_why_it_has_no_sliders(tab, tmp_path):
    open_page(tab, tmp_path, lambda a: np.sum(np.linalg.inv(a)), np.eye(2) + 0.5)
    assert tab.inner_text(".sliders .note").startswith("Arrays are shown as they were computed")


def test_the_address_holds_the_elements_of_arrays(tab, tmp_path):
    f, args, _ = MOVED["layer"]
    open_page(tab, tmp_path, f, *args)
    tab.keyboard.press("End")
    tab.get_by_label("Element of b", exact=True).select_option("1")
    tab.get_by_label("b[1]", exact=True).fill("0.5")
    tab.keyboard.press("Enter")
    tab.wait_for_function("() => location.href.includes('b=[0.1,0.5]')")
    result = tab.inner_text(".outcome")
    address = tab.evaluate("() => location.href")
    tab.goto("about:blank")
    tab.goto(address)
    tab.keyboard.press("End")
    assert tab.inner_text(".outcome") == result
    tab.click("text=Reset")
    assert tab.inner_text(".outcome") != result


def test_the_result_is_called_on_the_page_as_in_the_tables(tab, tmp_path):
    """A variable of the function is called y, so its result has the next free letter."""

    def f(a, x):
        y = np.tanh(a @ x)
        return np.sum(y**2)

    args = np.arange(6.0).reshape(2, 3) / 7, np.ones(3)
    open_page(tab, tmp_path, f, *args)
    assert tab.get_attribute("h1 math", "alttext") == "z = f(a, x)"
    assert tab.inner_text(".outcome").startswith("z = v")
    assert str(ad.trace(f, *args).values()).splitlines()[-1].startswith("z ")


def test_an_input_of_arrays_that_a_sweep_does_not_reach_has_a_row(tab, tmp_path):
    def f(a, x):
        return np.sum(np.sin(a) * np.cos(x))

    args = np.array([0.5, 1.0]), np.array([0.2, 0.3])
    open_page(tab, tmp_path, f, *args)
    phase(tab, "forward")
    cosine = next(row for row in ad.trace(f, *args).tangents("a").rows if "sin(x)" in row.symbolic)
    assert tab.locator("tr.unreached").count() == 2
    assert [table_rows(tab)[i][:3] for i in (0, 1)] == [
        ["ẋ", "∂x/∂a", ""],
        [cosine.name, cosine.symbolic, cosine.numeric],
    ]


def test_a_gradient_is_a_heat_map_in_a_large_program_too(tab, tmp_path):
    def f(x, k):
        out = np.zeros((6, 6))
        for i in range(6):
            for j in range(6):
                out[i, j] = np.sum(x[i : i + 3, j : j + 3] * k)
        return np.mean(out)

    x = np.linspace(-1.0, 1.0, 64).reshape(8, 8)
    open_page(tab, tmp_path, f, x, np.eye(3))
    phase(tab, "reverse")
    tab.keyboard.press("End")
    captions = tab.locator(".arrays figcaption").all_inner_texts()
    assert captions == ["x, value", "x, adjoint"]
    tops = tab.evaluate(
        """() => [...document.querySelectorAll("g.node")].flatMap((g) => {
            const box = (part) => g.querySelector(part).getBBox();
            const [heat, text] = [box(".heat"), box(".derivative")];
            return heat.width && text.width ? [text.x + text.width - heat.x] : [];
        })"""
    )
    assert len(tops) >= 2
    assert max(tops) <= 0  # no name reaches into a map


def test_names_of_results_are_set_as_names(tab, tmp_path):
    open_page(tab, tmp_path, lambda a, b: [a * b, a - b], 2.0, 3.0)
    phase(tab, "reverse")
    tab.keyboard.press("End")
    seed = tab.locator("tbody tr").first.locator("td").first
    assert seed.locator("sub").all_inner_texts() == ["1"]


def test_no_tangent_of_an_array_is_said_to_be_zero(tab, tmp_path):
    open_page(tab, tmp_path, lambda w: np.sum(np.tanh(w @ w.T)), MATRIX)
    phase(tab, "forward")
    tab.keyboard.press("End")
    symbols = [row[1] for row in table_rows(tab)]
    assert "0" not in symbols
    assert "ẇ @ v1 + w @ v̇1" in symbols


def loss(w):
    x, y = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1.0, -1.0])
    return np.mean((np.tanh(x @ w) - y) ** 2) * 0.5


def test_symbols_without_numbers_are_not_cut(tab, tmp_path):
    open_page(tab, tmp_path, loss, np.array([0.1, -0.2]), place="#phase=reverse")
    tab.keyboard.press("End")
    cut = (
        "all => all.filter((cell) => cell.scrollWidth > cell.clientWidth).map((c) => c.textContent)"
    )
    assert tab.eval_on_selector_all(".table tbody td:nth-child(2)", cut) == []


def test_the_row_of_the_step_is_in_sight_below_the_elements_of_an_array(tab, tmp_path):
    tab.set_viewport_size({"width": 1280, "height": 700})
    open_page(tab, tmp_path, loss, np.array([0.1, -0.2]), place="#phase=reverse")
    tab.keyboard.press("End")
    assert tab.locator("figure.heat").first.is_visible()
    hidden = """() => document.querySelector(".table tr.current").getBoundingClientRect().bottom
        - document.querySelector(".table").getBoundingClientRect().bottom"""
    assert tab.evaluate(hidden) <= 1


@pytest.mark.parametrize(
    ("text", "point", "parts"),
    [
        ("exp(-x^2/2)/sqrt(2*pi)", (1.0,), {"mfrac": 2, "msqrt": 1, "msup": 1}),
        ("exp(-x**2/2)/sqrt(2*pi)", (1.0,), {"mfrac": 2, "msqrt": 1, "msup": 1}),
        ("a = x/y; sin(a) + a", (2.0, 3.0), {"mfrac": 1, "msup": 0}),
    ],
)
def test_the_heading_is_typeset_as_it_can_be_typed(tab, tmp_path, text, point, parts):
    names = re.findall(r"\b[xy]\b", text)
    given = [f"{name}={number}" for name, number in zip(sorted({*names}), point, strict=True)]
    assert main(["explore", text, *given, "--output", str(tmp_path / "page.html")]) == 0
    tab.goto((tmp_path / "page.html").as_uri())
    assert {part: tab.locator(f"h1 math {part}").count() for part in parts} == parts
    assert tab.locator("h1 math mo", has_text="=").count() == text.count("=") + 1


def test_numbers_on_their_way_have_a_minus_sign(tab, tmp_path):
    open_page(tab, tmp_path, "sin(x)*y", 5.0, -2.0, place="#phase=values&step=3")
    tab.keyboard.press("ArrowRight")
    texts = tab.eval_on_selector_all(".traveller", "all => all.map((text) => text.textContent)")
    assert sorted(texts) == ["−0.959", "−2"]


def test_sweeps_are_chosen_by_the_names_of_results(tab, tmp_path):
    open_page(tab, tmp_path, lambda x: (x * 2, ad.sin(x)), 3.0)
    phase(tab, "reverse")
    assert tab.locator("select[aria-label=Sweep] option").all_inner_texts() == ["of y1", "of y2"]


def test_an_index_is_written_as_numpy_takes_it(tab, tmp_path):
    open_page(tab, tmp_path, lambda w: np.sum(w[:, 0]) + w[1, 2] + np.sum(w[..., ::2]), MATRIX)
    tab.keyboard.press("End")
    assert {"w[:, 0]", "w[1, 2]", "w[..., ::2]"} <= {row[1] for row in table_rows(tab)}


def test_in_a_notebook_the_elements_of_an_array_have_sliders(tab, tmp_path):
    pytest.importorskip("anywidget")
    shown = ad.widget(lambda w: np.sum(w**3), MATRIX)
    frame = tmp_path / "cell.html"
    frame.write_text(f"<!doctype html><div id=explorer></div><style>{shown._css}</style>")
    tab.goto(frame.as_uri())

    def move(moved):
        shown.moved = moved
        return shown.program

    tab.expose_function("python", move)
    tab.evaluate(
        """async ([source, program]) => {
            const traits = { program, able: true, moved: {} }, told = {};
            const model = { get: (name) => traits[name], on: (name, act) => (told[name] = act),
                set: (name, value) => (traits[name] = value),
                save_changes: async () => {
                    traits.program = await window.python(traits.moved);
                    told["change:program"]();
                } };
            const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
            const el = document.getElementById("explorer");
            (await import(url)).default.render({ model, el });
        }""",
        [str(shown._esm), shown.program],
    )
    tab.wait_for_selector("g.node")
    tab.click("[role=tab][data-phase=reverse]")
    tab.click("[aria-label='To the end']")
    tab.select_option("[aria-label='Element of w']", label="w[1, 2]")
    box = tab.locator(".sliders input[type=number]")
    assert box.input_value() == "-1.5"
    box.fill("2.5")
    box.press("Enter")
    other = MATRIX.copy()
    other[1, 2] = 2.5
    tab.wait_for_function(
        f"() => document.querySelector('.outcome').textContent.includes('{np.sum(other**3):.3f}')"
    )
    tab.locator("figure.heat").nth(1).locator("[data-element='5']").hover()
    assert tab.inner_text(".readout").endswith(f"= {3 * 2.5**2:g}")
    assert position(tab)[0] == position(tab)[1]  # still at the end
    tab.click("text=Reset")
    tab.wait_for_function(
        f"() => document.querySelector('.outcome').textContent.includes('{np.sum(MATRIX**3):.3f}')"
    )


LONG = "alpha_long_name * 123456.789 + log(beta_other_name_too)"
OVERLAPS = """() => [...document.querySelectorAll(".table tr")].some((row) => {
    const cells = [...row.children].map((cell) => {
        const range = document.createRange();
        range.selectNodeContents(cell);
        const { left, right, width } = range.getBoundingClientRect();
        const cuts = getComputedStyle(cell).overflow === "hidden";
        const most = cuts ? cell.getBoundingClientRect().right : Infinity;
        return { left, width, right: Math.min(right, most) };
    }).filter((box) => box.width);
    return cells.some((box, i) => i && box.left < cells[i - 1].right);
})"""
BROKEN = r"""() => {
    const walk = document.createTreeWalker(document.querySelector(".table"), 4);
    const broken = [];
    while (walk.nextNode()) {
        for (const number of walk.currentNode.data.matchAll(/[\d.]+(e.\d+)?/g)) {
            const range = document.createRange();
            range.setStart(walk.currentNode, number.index);
            range.setEnd(walk.currentNode, number.index + number[0].length);
            if (range.getClientRects().length > 1) broken.push(number[0]);
        }
    }
    return broken;
}"""


@pytest.mark.parametrize("width", [360, 1280])
def test_numbers_are_not_broken_and_columns_stand_beside_each_other(tab, tmp_path, width):
    tab.set_viewport_size({"width": width, "height": 740})
    open_page(tab, tmp_path, LONG, 2.0, 123456.789)
    for name in PHASES:
        phase(tab, name)
        tab.keyboard.press("End")
        assert tab.evaluate(BROKEN) == []
        assert not tab.evaluate(OVERLAPS)


def test_long_names_stay_in_their_boxes_and_beside_their_sliders(tab, tmp_path):
    open_page(tab, tmp_path, LONG, 2.0, 123456.789)
    inside = """() => [...document.querySelectorAll("g.node")].every((node) => {
        const [frame, name] = [node.querySelector("rect"), node.querySelector(".name")];
        return name.getBoundingClientRect().right <= frame.getBoundingClientRect().right;
    })"""
    assert tab.evaluate(inside)
    apart = """() => [...document.querySelectorAll(".sliders label")].every((label) => {
        const [name, range] = [...label.children].map((part) => part.getBoundingClientRect());
        return name.right <= range.left || name.bottom <= range.top;
    })"""
    assert tab.evaluate(apart)
    shows = "(box) => box.scrollWidth <= box.clientWidth"
    assert tab.locator(".sliders input[type=number]").last.evaluate(shows)


def test_a_minus_is_one_in_the_result_and_in_the_heading(tab, tmp_path):
    open_page(tab, tmp_path, "x - 1e-120 - 3", 2.0)
    tab.keyboard.press("End")
    assert tab.inner_text(".outcome").endswith("= −1")
    assert "1e−120" in tab.locator("h1").text_content()


SEEN = """() => {
    const walk = document.createTreeWalker(document.querySelector("#explorer"), 4);
    const found = [...document.querySelectorAll("#explorer [title]")].map((e) => e.title);
    while (walk.nextNode()) {
        const part = walk.currentNode.parentElement;
        if (!part.checkVisibility() || part.closest("code, pre, .code")) continue;
        found.push(walk.currentNode.data);
    }
    return found;
}"""


@pytest.mark.parametrize("node", ["w", "v5", "v6", "total"])
def test_every_number_that_is_seen_has_a_minus_and_no_hyphen(tab, tmp_path, node):
    open_page(tab, tmp_path, alternating, np.array([1.0, -2.0, 3.0, 4.0]), -0.5)
    for name in PHASES:
        phase(tab, name)
        tab.keyboard.press("End")
        tab.locator("g.node", has_text=node).first.hover()
        seen = tab.evaluate(SEEN)
        assert any("−" in text for text in seen) or name == "order"
        assert [text for text in seen if re.search(r"-[\d.]", text)] == []


def test_a_long_heading_scrolls_and_the_page_does_not(tab, tmp_path):
    tab.set_viewport_size({"width": 360, "height": 740})
    numbers = map(float, range(1, 10))
    open_page(tab, tmp_path, "a*b+c*d+sin(p)*f-g/h+log(q)", *numbers)
    assert tab.evaluate("() => document.documentElement.scrollWidth") == 360
    reaches = "(h1) => (h1.scrollLeft = 9999, h1.lastChild.getBoundingClientRect().right)"
    assert tab.locator("h1").evaluate(reaches) <= 360


CUT = """() => [...document.querySelectorAll("td, tbody th, .numbers")].filter(
    (cell) => cell.checkVisibility() && (cell.scrollWidth > cell.clientWidth
        || (cell.className === "numbers" && cell.scrollHeight > cell.clientHeight)))"""


def test_a_cell_of_arrays_that_is_cut_has_a_title_and_on_paper_none_is(tab, tmp_path):
    def f(weights_of_the_layer, x):
        return np.sum(np.tanh(weights_of_the_layer @ x) ** 2)

    open_page(tab, tmp_path, f, np.arange(12.0).reshape(3, 4) / 7, np.ones(4))
    for name in PHASES:
        phase(tab, name)
        tab.keyboard.press("End")
        titles = tab.evaluate(f"{CUT.replace('() =>', '() => (')}).map((cell) => cell.title)")
        assert all(titles)
    assert titles
    tab.emulate_media(media="print")
    tab.evaluate("() => window.dispatchEvent(new Event('beforeprint'))")
    assert tab.evaluate(f"{CUT.replace('() =>', '() => (')}).length") == 0


# --- predicted --------------------------------------------------------------------------------


def predict(tab, text):
    tab.fill(".predict input", text)
    tab.keyboard.press("Enter")
    return tab.inner_text(".verdict")


def test_the_next_number_is_predicted_and_counted(tab, tmp_path):
    open_page(tab, tmp_path, FORMULA, 2, 5)
    tab.keyboard.press("ArrowRight")
    tab.keyboard.press("ArrowRight")
    tab.keyboard.press("p")
    assert "0.693" not in tab.inner_text(".table")
    assert predict(tab, "0.301") == "The logarithm is the natural one."
    assert predict(tab, "0.69") == "Right."
    assert predict(tab, "7") == "This is the sum of the two numbers."
    assert predict(tab, "10") == "Right."
    assert predict(tab, "0.087") == "The angle is in radians, not in degrees."
    assert predict(tab, "0.959") == "The sign is wrong."
    assert predict(tab, "-0.959") == "Right."
    assert predict(tab, "10.693") == "Right."
    assert tab.inner_text(".score") == "1 of 4 right"
    tab.keyboard.press("Escape")


def test_a_wrong_derivative_is_diagnosed(tab, tmp_path):
    open_page(tab, tmp_path, "x*y + x", 3.0, 5.0)
    phase(tab, "reverse")
    tab.keyboard.press("p")
    assert predict(tab, "1") == "Right."  # the seed
    assert predict(tab, "1") == "Right."  # v1
    assert predict(tab, "1") == "Right."  # x, by the sum
    assert "A term is missing" in predict(tab, "5")  # what arrives, without what was there
    assert predict(tab, "1").startswith("Nothing was added")
    assert "the other argument" in predict(tab, "4")  # 1 + 3
    assert predict(tab, "6") == "Right."
    assert predict(tab, "-3") == "The sign is wrong."
    assert predict(tab, "1").startswith("A factor is missing")
    tab.click("text=Show it")
    assert tab.inner_text(".verdict") == "It was 3."


def test_an_arrow_key_waits_for_the_answer(tab, tmp_path):
    open_page(tab, tmp_path, "x*x", 3.0)
    tab.keyboard.press("ArrowRight")
    tab.keyboard.press("p")
    tab.locator(".canvas").focus()
    tab.keyboard.press("ArrowRight")
    assert where(tab) == ["values", 1]
    assert tab.evaluate("() => document.activeElement.ariaLabel") == "Your prediction"


def test_the_field_has_the_focus_whenever_something_is_asked(tab, tmp_path):
    open_page(tab, tmp_path, FORMULA, 2, 5)
    tab.click("text=Predict")
    focus = "() => document.activeElement.ariaLabel"
    assert tab.evaluate(focus) == "Your prediction"
    phase(tab, "reverse")
    assert tab.evaluate(focus) == "Your prediction"
    tab.click("[aria-label='To the end']")
    tab.click("[aria-label='Back one step']")
    assert tab.evaluate(focus) == "Your prediction"
    tab.locator(".sliders input[type=number]").first.fill("3")
    tab.keyboard.press("Enter")
    assert tab.evaluate(focus) == "x1"  # the same question takes it from nobody


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("text", ["inf", "∞", "Infinity"])
def test_an_infinite_number_is_predicted(tab, tmp_path, text, sign):
    with pytest.warns(RuntimeWarning):
        open_page(tab, tmp_path, "x / 0 + x", 1.0 * sign)
    tab.keyboard.press("p")
    assert predict(tab, "5") == "Not this: look at the formula of the row again."
    assert predict(tab, f"{'' if sign < 0 else '−'}{text}") == "The sign is wrong."
    assert predict(tab, f"{'−' if sign < 0 else ''}{text}") == "Right."


def test_prediction_begins_at_the_first_number_that_is_computed(tab, tmp_path):
    open_page(tab, tmp_path, FORMULA, 2, 5)
    tab.keyboard.press("p")
    assert where(tab) == ["values", 2]
    assert predict(tab, "0.693") == "Right."  # log 2


def test_prediction_says_why_nothing_is_asked(tab, tmp_path):
    open_page(tab, tmp_path, FORMULA, 2, 5)
    phase(tab, "order")
    tab.keyboard.press("p")
    assert "no number is computed" in tab.inner_text(".predict")
    phase(tab, "values")
    tab.click("[aria-label='To the start']")
    assert "an input" in tab.inner_text(".predict")
    tab.click("[aria-label='To the end']")
    assert "at its end" in tab.inner_text(".predict")


def test_a_box_shows_no_false_digits(tab, tmp_path):
    open_page(tab, tmp_path, "x * -123456.789", 1.0)
    phase(tab, "reverse")
    tab.keyboard.press("End")
    shown = tab.locator("g.node.input .derivative").text_content()
    assert shown == "−1.235e+05"


# --- for everyone -----------------------------------------------------------------------------


def complaints(tab):
    """Return what axe-core has to say about a page."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe-core").Axe
    found = axe().run(tab).response["violations"]
    return [(f["id"], n["html"][:120]) for f in found for n in f["nodes"]]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("forced", ["none", "active"])
def test_axe_finds_nothing(tab, tmp_path, scheme, forced):
    tab.emulate_media(color_scheme=scheme, forced_colors=forced)
    open_page(tab, tmp_path, network, *WEIGHTS)
    tab.keyboard.press("p")
    for name in PHASES:
        phase(tab, name)
        for _ in range(3):
            tab.evaluate("() => explorer.on()")
        assert complaints(tab) == [], name


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_arrays(tab, tmp_path, scheme):
    tab.emulate_media(color_scheme=scheme)
    open_page(tab, tmp_path, lambda w: np.sum(w**3), MATRIX)
    phase(tab, "reverse")
    tab.keyboard.press("End")
    assert complaints(tab) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_where_formulas_are_typed(tab, scheme):
    tab.emulate_media(color_scheme=scheme)
    with run_server() as port:
        tab.goto(f"http://127.0.0.1:{port}/#formula=log(x)&at=x=-1")
        tab.wait_for_selector("g.node")
        found = complaints(tab)
    assert found == []


def test_in_forced_colours_the_step_is_told_from_the_others(tab, tmp_path):
    tab.emulate_media(forced_colors="active")
    open_page(tab, tmp_path, FORMULA, 2, 5)
    tab.keyboard.press("ArrowRight")
    stroke = "rect => getComputedStyle(rect).stroke"
    now = tab.eval_on_selector("g.current > rect", stroke)
    assert now != tab.eval_on_selector("g.node:not(.current) > rect", stroke)


def test_a_phone_shows_graph_and_table_before_the_sliders(tab, tmp_path):
    tab.set_viewport_size({"width": 360, "height": 740})
    open_page(tab, tmp_path, FORMULA, 2, 5)
    tops = [tab.locator(part).bounding_box()["y"] for part in (".canvas", ".table", ".sliders")]
    assert tops == sorted(tops)


def weigh(weights, inputs, bias):
    for weight, number in zip(weights, inputs, strict=True):
        bias = bias + weight * number
    return ad.tanh(bias)


def small_network(x1, x2, w1, w2, w3, w4, v1, v2, b):
    first, second = weigh((w1, w2), (x1, x2), b), weigh((w3, w4), (x1, x2), b)
    return weigh((v1, v2), (first, second), b)


@pytest.mark.parametrize("sheet", ["A4", "Letter"])
@pytest.mark.parametrize("unfolded", [False, True])
def test_small_programs_print_on_one_page(tab, tmp_path, sheet, unfolded):
    for f, args in [(FORMULA, (2, 5)), (small_network, np.linspace(-1.0, 2.0, 9))]:
        open_page(tab, tmp_path, f, *args)
        if unfolded and f is small_network:
            tab.click("text=Unfold all")
        pdf = tab.pdf(format=sheet)
        assert len(re.findall(rb"/Type\s*/Page\b", pdf)) == 1


def test_a_link_into_a_folded_loop_opens_there(tab, tmp_path):
    open_page(tab, tmp_path, newton, 2.0, place="#phase=values&step=301")
    assert name_of_current(tab) == "v300"
    assert "step=301" in tab.url


@pytest.mark.parametrize("name", PHASES)
def test_a_link_opens_at_its_point_phase_and_step(tab, tmp_path, name):
    open_page(tab, tmp_path, FORMULA, 2, 5)
    box = tab.locator(".sliders input[type=number]").first
    box.fill("3")
    box.press("Enter")
    phase(tab, name)
    for _ in range(3):
        tab.evaluate("() => explorer.on()")
    tab.wait_for_function("() => location.hash.includes('step=3')")
    link, before = tab.url, (where(tab), formula(tab))
    assert "at=x1=3,x2=5" in link
    tab.goto("about:blank")
    tab.goto(link)
    assert (where(tab), formula(tab)) == before
    assert tab.locator(".sliders input[type=number]").first.input_value() == "3"
    value = tab.evaluate("() => explorer.state().model.values.at(-1)")
    assert value == pytest.approx(math.log(3) + 15 - math.sin(5))


# --- of any program ---------------------------------------------------------------------------


def compared(x, y):
    return x * y if x > y else x + ad.sin(y)


PROGRAMS = {
    "several results": (lambda x, y: (x * y, x + y), (2.0, 3.0)),
    "a list": (lambda w: w[0] * w[1] + w[2], ([1.0, 2.0, 3.0],)),
    "a comparison": (compared, (2.0, 5.0)),
    "complex": (lambda z: ad.exp(z) * z, (1.0 + 2.0j,)),
    "an identity": (lambda x: x, (2.0,)),
    "large numbers": (lambda x, y: x * 1e200 + ad.exp(y), (1e100, 300.0)),
    "several lines": ("a = x*y\na*sin(a)", (2.0, 3.0)),
    "an array": (lambda w: np.sum(w[:, 0] * w[0]), (np.ones((3, 3)),)),
    "a long vector": (lambda w: np.sum(w * w), (np.linspace(-1, 1, 1000),)),
    "a call of many": (lambda x: ad.maximum(x, 0) + ad.where(x > 1, x, 2 * x), (0.5,)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_any_program_is_played_found_and_predicted(tab, tmp_path, name):
    f, args = PROGRAMS[name]
    open_page(tab, tmp_path, f, *args)
    assert tab.text_content("h1")
    tab.keyboard.press("p")
    for key in "1234":
        tab.locator(".canvas").focus()
        tab.keyboard.press(key)
        tab.keyboard.press("Home")
        for _ in range(30):
            tab.evaluate("() => explorer.on()")
        assert min(text_sizes(tab)) >= 11
    tab.locator("g.node").first.hover()
    tab.evaluate("() => explorer.visit(0)")
    tab.evaluate("() => window.dispatchEvent(new Event('beforeprint'))")
    assert "undefined" not in tab.inner_text("body")
    assert "NaN" not in tab.inner_text("body")
    wide = tab.evaluate(
        """() => [...document.querySelectorAll("g.node")].flatMap((g) => {
            const box = (part) => g.querySelector(part)?.getBBox();
            const right = ({ x, width }) => x + width;
            const texts = [...g.querySelectorAll("text")].filter((text) => text.textContent);
            const out = texts.filter((text) => right(text.getBBox()) > right(box("rect")));
            const over = box(".operator")?.width && right(box(".name")) > box(".operator").x;
            return [...out.map((text) => text.textContent), ...(over ? [g.textContent] : [])];
        })"""
    )
    assert wide == []


def scaled_layer(w, x, b):
    h = np.tanh(w @ x + b) * x[0]
    return np.sum(h**2 * b) / 3


ACCENTS = (str, write_dot, write_bar)
SCALED = np.arange(12.0).reshape(3, 4) / 7 - 0.8, np.array([1.0, -2.0, 3.0, 0.5]), np.ones(3) / 8


@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("name", ["values", "forward", "reverse"])
def test_rows_of_arrays_are_the_same_in_tables_words_steps_latex_and_on_the_page(
    tab, tmp_path, name, width
):
    program = ad.trace(scaled_layer, *SCALED)
    tables = {"values": program.values, "forward": program.tangents, "reverse": program.adjoints}
    table = tables[name]()
    steps = [row for row in table.rows if row.numeric]
    rows = [[row.name, row.symbolic, row.numeric, row.result] for row in steps]
    assert sum("[" in row[2] for row in rows) >= 4

    tab.set_viewport_size({"width": width, "height": 800})
    open_page(tab, tmp_path, program)
    phase(tab, name)
    tab.keyboard.press("End")
    shown = [row for row in table_rows(tab) if row[2]]  # first what the sweep does not reach
    assert sorted(shown) == sorted(rows)

    stepper = ad.step(scaled_layer, *SCALED, mode="forward" if name == "values" else name)
    told = [stepper.tell(event) for event in stepper.events]
    of = {accented(step.name): step.name for step in program.steps for accented in ACCENTS}
    for row in (row for row in rows if row[3] != "0"):  # no step of a sweep
        sides = " = ".join(side for side, _ in groupby(row)).replace("-", "−")
        assert sides in told
        if name != "reverse":  # where the words add all that comes to a node
            assert sides in program.explain(of[row[0]])
    latex = re.sub(r"\\allowbreak|[\\{}\s]", "", table.to("latex")).replace("ldots", "…")
    for row in rows:
        for array in re.findall(r"\[[^][]+\]", row[2] + row[3]):
            assert array.replace(" ", "") in latex


def attention(q, k, s):
    weights = np.exp(q @ k.T / s)
    return np.sum(weights / np.sum(weights, axis=1, keepdims=True) * k[:, 0] - s**2)


def piecewise(x, a):
    y = np.where(x > a, x * a, -x) + np.maximum(x, 0.5) - a
    y[0] = a**3 * 1e-5
    return np.prod(y) / (np.max(y) - np.linalg.norm(x)), y[::-1].reshape(2, 2).T @ x[:2]


SLID = {  # what is moved to where: the box of an input, which element of it
    "layer": (scaled_layer, SCALED, {"w": ((1, 2), -0.3), "x": ((0,), 1 / 3), "b": ((1,), 2.5)}),
    "attention": (
        attention,
        (np.eye(2, 3) - 0.7, np.arange(6.0).reshape(2, 3) / 5, 2.0),
        {"q": ((1, 1), 1.23456789), "s": ((), -1.5)},
    ),
    "pieces": (
        piecewise,
        (np.array([-1.5, 0.25, 2.0, 1.0]), 0.75),
        {"x": ((1,), 0.6001), "a": ((), 0.5)},
    ),
}


MASKED = ("where", "max")  # operations whose rules compute where a slope is 1


@pytest.mark.parametrize("name", SLID)
def test_rows_of_arrays_are_those_of_the_tables_wherever_a_slider_is(tab, tmp_path, name):
    f, args, moves = SLID[name]
    program = ad.trace(f, *args)
    point = {step.name: np.array(step.value) for step in program.steps if not step.operator}
    open_page(tab, tmp_path, program)
    if tab.locator("text=Unfold all").count():
        tab.click("text=Unfold all")
    for given, (place, number) in moves.items():
        point[given][place] = number
        if place:
            chosen = tab.get_by_label(f"Element of {given}", exact=True)
            chosen.select_option(f"{given}[{', '.join(map(str, place))}]")
        label = f"{given}[{', '.join(map(str, place))}]" if place else given
        box = tab.get_by_label(label, exact=True)
        box.fill(str(number))
        box.press("Enter")
    there = ad.trace(f, *(x if x.ndim else float(x) for x in point.values()))
    tables = {"values": there.values(), "forward": there.tangents(), "reverse": there.adjoints()}
    for mode, table in tables.items():
        phase(tab, mode)
        tab.keyboard.press("End")
        rows = [[r.name, r.symbolic, r.numeric, r.result] for r in table.rows if r.numeric]
        assert sum("[" in row[2] for row in rows) >= 3
        shown = [row for row in table_rows(tab) if row[2]]
        assert sorted(row[::3] for row in shown) == sorted(row[::3] for row in rows)
        differ = [row for row in shown if row not in rows]  # where a rule has computed a mask
        assert [row for row in differ if not re.search(r" × ∂v\d+/∂\w+$", row[1])] == []
        masked = {step.name for step in there.steps if step.operator in MASKED}
        assert {re.search(r"∂(v\d+)", row[1])[1] for row in differ} == (
            set() if mode == "values" else masked
        )


@pytest.mark.parametrize("name", ["forward", "reverse"])
def test_a_sweep_of_arrays_begins_with_an_array_of_ones(tab, tmp_path, name):
    open_page(tab, tmp_path, lambda x: np.sin(x) * x, np.array([1.0, -2.0]))
    phase(tab, name)
    tab.keyboard.press("ArrowRight")
    assert tab.inner_text("tr.current td.result") == "float64(2,) [1, 1]"
    seeded = tab.locator("g.node.current rect.cell")
    assert seeded.count() == 4  # of the value and of the derivative
    tab.keyboard.press("p")
    assert tab.locator("form.ask").is_hidden()  # an array is no number to ask for


def test_the_first_number_of_a_sweep_is_asked_for_with_its_formula(tab, tmp_path):
    open_page(tab, tmp_path, FORMULA, 2, 5)
    for name, asked in (("forward", "ẋ1 = ∂x1/∂x1 ="), ("reverse", "v̄5 = ȳ =")):
        phase(tab, name)
        tab.keyboard.press("p")
        assert unicodedata.normalize("NFC", tab.inner_text(".question")).split() == asked.split()
        assert predict(tab, "7").startswith("A sweep begins with 1")
        assert predict(tab, "1") == "Right."
        tab.locator(".canvas").focus()
        tab.keyboard.press("p")


def test_what_folds_a_box_again_has_its_name(tab, tmp_path):
    open_page(tab, tmp_path, network, *WEIGHTS)
    assert "neuron" in tab.locator("g.able").first.text_content()
    tab.click("text=Unfold all")
    first, *others = tab.locator(".folds .chip").all_inner_texts()
    assert first == "Fold all"  # in sight, however many others there are
    assert "⊟ neuron" in others
