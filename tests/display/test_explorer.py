"""The explorer: its page, its layout, its rows in JavaScript, its server."""

import gc
import http.client
import importlib
import json
import math
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest

import simpleautodiff as ad
from serving import run_server
from simpleautodiff.core.linear import ZERO
from simpleautodiff.display.explorer import server
from simpleautodiff.display.explorer.files import find_scripted, read_asset, read_scripts
from simpleautodiff.display.explorer.formula_process import Worker
from simpleautodiff.display.explorer.page import describe, describe_formula, write_page
from simpleautodiff.display.explorer.page_data import make_document
from simpleautodiff.display.explorer.page_rules import write_rule
from simpleautodiff.display.explorer.page_views import MOST_DRAWN
from simpleautodiff.program.formula import parse
from simpleautodiff.rules.row import TABLE
from waiting import PATIENCE, comes_true

FORMULA = "log(x1) + x1*x2 - sin(x2)"
needs_node = pytest.mark.skipif(not shutil.which("node"), reason="needs node, for JavaScript")


def script(text, data=None):
    """Run JavaScript after that of the page and return what it prints."""
    done = subprocess.run(
        ["node", "-"],
        input=f"{read_scripts()}\nconst data = {json.dumps(data)};\n{text}",
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE,
    )
    return json.loads(done.stdout)


# --- rows in JavaScript -----------------------------------------------------------------------


POINTS = {
    1: [(0.3,), (0.75,), (1.7,), (2.0,), (5.25,), (-0.4,), (-2.6,), (12.5,), (1.0,), (0.0,)],
    2: [(0.3, 1.7), (2.0, 3.0), (2.5, -0.7), (-1.2, 2.0), (0.6, 0.6), (3.0, 0.4), (0.0, 2.0)],
    3: [(0.5, 0.0, 1.0), (-1.0, 0.0, 1.0), (3.0, 0.0, 1.0), (1.0, 0.0, 2.0), (0.0, 0.0, 1.0)],
}


def cases():
    for name in sorted(find_scripted()):
        row = TABLE[name]
        for point in POINTS[row.arity]:
            if name == "polygamma":
                point = (round(abs(point[0])), abs(point[1]))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    value = float(row.compute(*point))
                    slopes = [row.partial(k, value, point) for k in range(row.arity)]
                except (ArithmeticError, ValueError):
                    continue  # no float there, in Python
            yield name, point, [value, *[None if d is ZERO else float(d) for d in slopes]]


def rule_of(name, point):
    first = round(point[0]) if name == "polygamma" else None
    rule = write_rule(TABLE[name], (first, *[None] * (TABLE[name].arity - 1)))
    return [None if name == "polygamma" and k == 0 else tree for k, tree in enumerate(rule)]


@needs_node
def test_every_row_of_the_page_computes_what_python_computes():
    expected = list(cases())
    assert len({name for name, _, _ in expected}) == len(find_scripted()) > 60
    found = script(
        """console.log(JSON.stringify(data.map(([name, x, rule]) => {
            const v = FUNCTIONS[name](...x);
            const slopes = rule.map((tree) => evaluate(tree, NUMBERS, v, x));
            return [v, ...slopes].map((n) => n === null ? null : String(n));
        })))""",
        [[name, point, rule_of(name, point)] for name, point, _ in expected],
    )
    for (name, point, numbers), texts in zip(expected, found, strict=True):
        for number, text in zip(numbers, texts, strict=True):
            if number is None or text is None:
                assert number is text, (name, point)
                continue
            there = float(text.replace("Infinity", "inf"))
            near = there == pytest.approx(number, rel=1e-12, abs=1e-15, nan_ok=True)
            assert near, (name, point, number, there)


@needs_node
@pytest.mark.parametrize(
    ("f", "at", "moved"),
    [
        (lambda x, y: ad.log(x) + x * y - ad.sin(y), (2.0, 5.0), (3.0, -1.25)),
        (lambda x, y: ad.relu(x - y) * ad.exp(-x) + ad.maximum(x, y), (2.0, 5.0), (5.0, 2.0)),
        (lambda x, y: (x * x + y**3) / (1 + x * x * y), (0.3, 1.2), (-0.7, 2.5)),
    ],
)
def test_a_slider_gives_the_sweeps_of_python_at_the_new_point(f, at, moved):
    doc = make_document(ad.trace(f, *at))
    found = script(
        """const {doc, inputs} = data;
        const model = computed(doc, inputs);
        console.log(JSON.stringify({values: model.values, sweeps: model.sweeps}));""",
        {"doc": doc, "inputs": dict(enumerate(moved))},
    )
    program = ad.trace(f, *moved)
    assert found["values"] == pytest.approx([step.value for step in program.steps], rel=1e-13)
    names = [step.name for step in program.steps]
    for sweep, there in zip(doc["sweeps"], found["sweeps"], strict=True):
        root = names[sweep["root"]]
        if sweep["mode"] == "forward":
            here = program.tangents(root)
            numbers = {names[i]: d for i, d in enumerate(there["numbers"]) if d is not None}
            assert len(numbers) == len(sweep["order"])
            assert numbers == pytest.approx({name: here[name] for name in numbers}, rel=1e-13)
        else:
            here = program.accumulations(root)
            assert [names[term[0]] for term in there["terms"]] == [a.parent for a in here]
            assert [term[4] for term in there["terms"]] == pytest.approx(
                [a.total for a in here], rel=1e-13
            )


ROWS_ON_THE_PAGE = [
    (lambda x1, x2: ad.log(x1) + x1 * x2 - ad.sin(x2), (2.0, 5.0), (3.25, -1.1)),
    (lambda x, y: ad.relu(x - y) * ad.exp(-x) + ad.maximum(x, y), (2.0, 5.0), (5.0, 2.0)),
    (lambda x, y: (x * x + y**3) / (1 + x * x * y) - x**2, (0.3, 1.2), (-0.7, 2.5)),
    (lambda x, y: ad.sin(x) * x - y * 0.044715, (1e5, 1.0001), (1 / 3, 2 / 3)),
    (lambda x, y: -(x % y) + ad.tanh(-x) * 2**y - ad.erf(x), (5.5, 1.7), (7.1, 2.3)),
    (lambda x, y: ad.atan2(x, y) + ad.hypot(x, y) / ad.sqrt(y) + abs(x), (0.5, 2.0), (-3.0, 4.0)),
    (lambda x, y: ad.sqrt(x) * y, (0.0, 1.0), (3.14159265358979, 2.0)),
    (lambda x, y: x**2 / y, (2e-12, 3.0), (2.5e-7, 1e-9)),
]


@needs_node
@pytest.mark.filterwarnings("ignore::simpleautodiff.errors.DomainWarning")
@pytest.mark.parametrize(("f", "at", "moved"), ROWS_ON_THE_PAGE)
def test_the_page_has_the_rows_of_the_tables(f, at, moved):
    """In symbols and with numbers, at the point and where sliders have been moved to."""
    doc = make_document(ad.trace(f, *at))
    assert doc["live"], doc["why"]
    for point in (at, moved):
        found = script(
            """const {doc, inputs} = data;
            const model = computed(doc, inputs), found = [];
            const sides = formulas(doc, () => ({ model }));
            for (const phase of phases(doc, model)) for (const event of phase.events) {
              const { op } = doc.nodes[event.node];
              if (event.kind === "value" && op) found.push(sides.value(event.node));
              if (event.kind === "tangent") {
                found.push(sides.tangent(event.node, model.sweeps[phase.sweep].numbers));
              }
              if (event.kind === "accumulate") found.push(sides.adjoint(event));
            }
            console.log(JSON.stringify(found.map((row) => `${row.symbols} = ${row.numbers}`)));""",
            {"doc": doc, "inputs": dict(enumerate(point))},
        )
        program = ad.trace(f, *point)
        tables = [program.values(), program.adjoints()]
        tables += [program.tangents(program.names[node]) for node in program.inputs]
        expected = {f"{r.symbolic} = {r.numeric}" for table in tables for r in table.rows}
        assert set(found) <= expected


@needs_node
def test_numbers_are_written_as_the_tables_write_them():
    from simpleautodiff.program.written_numbers import write_short

    numbers = [0, 1, -1, 0.5, 10.693147, 1e-5, -2.5e-7, 123456.789, 1e7, 1.5e12, 0.001, -0.2836]
    texts = script("console.log(JSON.stringify(data.map((x) => short(x))))", numbers)
    assert texts == [write_short(float(number)) for number in numbers]


# --- layout -----------------------------------------------------------------------------------


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
    s = layer(w, x) + layer(x, w)
    u = ad.exp(-s) / (1 + s * s)
    return ad.sin(u) * ad.cos(s) + ad.log(1 + u * u)


@pytest.fixture(scope="module", params=["small", "deep", "loop"])
def program(request):
    ways = {
        "small": (lambda x1, x2: ad.log(x1) + x1 * x2 - ad.sin(x2), (2.0, 5.0)),
        "deep": (deep, (0.5, 2.0)),
        "loop": (newton, (2.0,)),
    }
    f, args = ways[request.param]
    return ad.trace(f, *args)


def stretch(doc, box):
    record = doc["boxes"][box]
    return set(range(record["start"], record["start"] + record["size"]))


def test_every_view_has_every_node_once_and_no_box_on_another(program):
    doc = make_document(program)
    assert sorted(doc["order"]) == list(range(len(program)))
    for view in doc["views"]:
        nodes = [i for box, _, _ in view["boxes"] for i in stretch(doc, box)]
        assert sorted(nodes) == list(range(len(program)))
        places = [(x, y) for _, x, y in view["boxes"]]
        for i, (x, y) in enumerate(places):
            assert all(abs(x - a) >= 96 or abs(y - b) >= 60 for a, b in places[:i])
            assert 48 <= x <= view["size"][0] - 48
            assert 30 <= y <= view["size"][1] - 30


def test_every_edge_of_every_view_is_drawn_from_box_to_box(program):
    doc = make_document(program)
    index = {node: i for i, node in enumerate(program.nodes)}
    rank = {node: r for r, node in enumerate(doc["order"])}
    for view in doc["views"]:
        place = {box: (x, y) for box, x, y in view["boxes"]}
        owner = {r: box for box in place for r in stretch(doc, box)}
        wanted = {
            (owner[rank[index[parent]]], owner[rank[index[node]]])
            for node in program.nodes
            for parent in node.parent_nodes
        }
        assert {(a, b) for a, b, _ in view["edges"]} == {(a, b) for a, b in wanted if a != b}
        for a, b, route in view["edges"]:
            assert place[a][0] < place[b][0]
            assert route[0] == pytest.approx(place[a][0] + 48, abs=0.2)
            assert route[-2] == pytest.approx(place[b][0] - 48, abs=0.2)


def test_boxes_unfold_into_what_is_in_them_and_fold_again(program):
    doc = make_document(program)
    first = doc["views"][0]
    folded = [box for box, _, _ in first["boxes"] if doc["boxes"][box]["size"] > 1]
    assert {str(box) for box in folded} == {str(box) for box in first["unfold"]}
    for view in doc["views"]:
        for box, to in view["unfold"].items():
            inner = [
                b
                for b, _, _ in doc["views"][to]["boxes"]
                if stretch(doc, b) <= stretch(doc, int(box))
            ]
            assert int(box) not in inner
            assert len(inner) > 1
        for box, to in view["fold"]:
            assert box not in [b for b, _, _ in view["boxes"]]
            assert box in [b for b, _, _ in doc["views"][to]["boxes"]]


@pytest.mark.slow
def test_views_are_the_same_every_time_and_can_be_read():
    assert (
        make_document(ad.trace(deep, 0.5, 2.0))["views"]
        == make_document(ad.trace(deep, 0.5, 2.0))["views"]
    )
    view = make_document(ad.trace(deep, 0.5, 2.0))["views"][0]
    assert len(view["boxes"]) <= 16


def test_a_small_graph_has_its_layers_and_no_crossing():
    program = ad.trace(lambda x1, x2: ad.log(x1) + x1 * x2 - ad.sin(x2), 2, 5)
    (view,) = make_document(program)["views"]
    across = {box: (x, y) for box, x, y in view["boxes"]}
    columns = sorted({x for x, _ in across.values()})
    assert len(columns) == 4
    assert across[0][0] == across[1][0] == columns[0]
    assert across[0][1] < across[1][1]


# --- page -------------------------------------------------------------------------------------


def test_explore_writes_one_file_without_links(tmp_path):
    path = ad.explore(FORMULA, 2, 5, path=tmp_path / "page.html")
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"""(src|href)=["'](?!data:)""", text)
    assert "fetch(" not in text
    assert "@import" not in text
    assert "url(http" not in text


def embedded(text):
    return json.loads(re.search(r'id="program">(.*?)</script>', text, re.DOTALL)[1])


def test_the_page_has_the_programs_own_numbers():
    program = ad.trace(lambda x1, x2: ad.log(x1) + x1 * x2 - ad.sin(x2), 2, 5)
    doc = embedded(write_page(program))
    assert [node["value"] for node in doc["nodes"]] == [step.value for step in program.steps]
    forward, _, reverse = doc["sweeps"]
    assert forward["numbers"]["6"] == 5.5
    assert reverse["terms"][-1][4] == 5.5
    assert doc["live"]


def test_no_text_of_the_user_can_end_the_element_it_stands_in():
    text = write_page(
        ad.trace(lambda x: x * x, 1.0), '</script><script>alert("&")</script>', ["</script>"]
    )
    assert text.count("</script>") == 2
    assert embedded(text)["title"].startswith("</script>")


def test_source_lines_know_their_nodes():
    def f(x, y):
        a = x * y
        return ad.sin(a)

    code, first = (
        ["def f(x, y):", "    a = x * y", "    return ad.sin(a)"],
        f.__code__.co_firstlineno,
    )
    doc = make_document(ad.trace(f, 1.0, 2.0), "f", code, first)
    assert [line["nodes"] for line in doc["code"]] == [[], [2], [3]]


def test_arrays_bring_a_program_of_their_elements():
    w = np.array([0.5, -0.25])
    doc = make_document(ad.trace(lambda w, x: np.sum(np.tanh(x @ w) ** 2), w, np.ones((3, 2))))
    assert not doc["live"]
    assert not doc["why"]
    assert sum(step[0] == "input" for step in doc["kernel"]["steps"]) == 8
    assert ["nodes", 2, "value"] in map(list, doc["kernel"]["slots"])
    text = {"text": "float64(2,) [0.5, -0.25]", "shape": "(2,)", "most": 0.5, "nan": False}
    assert doc["nodes"][0]["value"] == text | {"dims": [2], "elements": [0.5, -0.25]}
    assert [sweep["mode"] for sweep in doc["sweeps"]] == ["forward", "forward", "reverse"]


def test_a_row_without_javascript_says_so():
    pytest.importorskip("scipy")
    doc = make_document(small("jv(0, x)", 1.0)[0])
    assert not doc["live"]
    assert "jv" in doc["why"]


def test_values_that_json_lacks_are_texts():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        doc = make_document(ad.trace(lambda x: ad.log(x) + x, -1.0))
    assert doc["nodes"][1]["value"] == "nan"
    json.dumps(doc, allow_nan=False)


@pytest.mark.slow
def test_fifteen_thousand_nodes_are_folded_quickly(tmp_path):
    path = ad.explore(newton, 2.0, path=tmp_path / "page.html")
    doc = embedded(path.read_text(encoding="utf-8"))
    assert len(doc["nodes"]) == 15_001
    assert max(len(view["boxes"]) for view in doc["views"]) <= MOST_DRAWN
    assert path.stat().st_size < 4_500_000


@pytest.mark.slow
@needs_node
def test_steps_of_a_folded_box_are_one_step_and_none_is_lost():
    doc = make_document(ad.trace(newton, 2.0))
    counts = script(
        """const single = phases(data, recorded(data));
        console.log(JSON.stringify(data.views.map((_, v) => single.map((phase) => {
            const taken = collapsed(phase, folding(data, v));
            const all = singleSteps(taken, Infinity);
            return [taken.events.length, all === phase.events.length,
                stepsFor(taken, all) === taken.events.length];
        }))))""",
        doc,
    )
    assert all(whole and back for view in counts for _, whole, back in view)
    assert [max(steps for steps, _, _ in view) < 250 for view in counts] == [True] * len(counts)
    assert counts[0][0][0] == 2  # x, and the loop


@needs_node
def test_what_a_box_does_is_one_step_of_a_page():
    program = describe(deep, (0.5, 2.0))[0]
    steps = script(
        """const fold = folding(data, 0);
        console.log(JSON.stringify(phases(data, recorded(data)).map((phase) =>
            collapsed(phase, fold).events.filter((e) => e.kind === "fold").map((e) => e.box))));""",
        make_document(program),
    )
    values, *_, reverse = steps  # a forward sweep goes as its search has found
    for boxes in (values, reverse):
        assert len(boxes) == len(set(boxes)) > 1


def test_a_page_is_numbered_as_the_paper_if_it_is_small(tmp_path):
    def f(x, y):
        a = x * y
        b = ad.sin(a)
        return b + ad.cos(x)

    assert [s.operator for s in describe(f, (1.0, 2.0))[0].steps[2:]] == [
        "mul",
        "cos",
        "sin",
        "add",
    ]
    program = describe(f, (1.0, 2.0), "execution")[0]
    assert [s.operator for s in program.steps[2:]] == ["mul", "sin", "cos", "add"]
    large = describe(deep, (0.5, 2.0))[0]
    assert large.nodes == large.execution


def test_a_program_has_one_numbering_in_tables_figures_words_steps_and_on_the_page():
    """A step of a loop is called the same wherever it is met; its steps are consecutive."""

    def f(x, y):
        for k in range(12):
            x = ad.sin(k * x) * y
        return x

    operators = ["mul", "sin", "mul"] * 12
    program = ad.trace(f, 0.5, 2.0)
    assert [step.operator for step in program.steps[2:]] == operators
    page = make_document(describe(f, (0.5, 2.0))[0])["nodes"]
    assert [node["name"] for node in page] == [step.name for step in program.steps]
    assert [node["op"] for node in page[2:]] == operators
    rows = program.values(unfold=True).rows
    assert [row.name for row in rows if row.name.startswith("v")][5] == "v6"
    assert "v6 = v5 " in program.explain("v6")
    assert ad.step(f, 0.5, 2.0).next(8).name == "v6"
    assert str(ad.fold(program)).splitlines()[2] == "loop@v1 (×12, 36 steps)"


def test_explore_says_what_it_needs():
    with pytest.raises(ad.FormulaError, match="x, y: 2 values are needed, 1 were given"):
        ad.explore("x*y", 2)
    with pytest.raises(ad.ConstantError, match="every derivative is 0"):
        ad.explore("3")
    with pytest.raises(ad.ArgumentError, match="has its arguments already"):
        ad.explore(ad.trace(lambda x: x * x, 1.0), 2)


def test_the_widget_has_the_same_front_end():
    pytest.importorskip("anywidget")
    shown = ad.widget(lambda x: x * x, 3.0)
    assert read_scripts() in str(shown._esm)
    assert shown.program["nodes"][1]["value"] == 9


def test_the_widget_says_what_it_needs(monkeypatch):
    monkeypatch.setitem(sys.modules, "anywidget", None)
    with pytest.raises(ad.MissingExtraError, match="pip install anywidget"):
        ad.widget(lambda x: x * x, 3.0)


NOTEBOOK = """
import simpleautodiff as ad
f = lambda x1, x2: ad.log(x1) + x1 * x2 - ad.sin(x2)
t = ad.trace(f, 2.0, 5.0)
---
ad.widget(f, 2.0, 5.0)
---
t.step()
---
ad.fold(t)
"""


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_kernel_shows_the_widget(monkeypatch):
    """Run the cells in a kernel of Jupyter, as a notebook does."""
    for library in ("anywidget", "nbclient", "ipykernel"):
        pytest.importorskip(library, reason=f"needs {library}, which is not installed")
    nbformat, nbclient = (importlib.import_module(n) for n in ("nbformat", "nbclient"))
    monkeypatch.setenv("PYTHONPATH", str(Path(ad.__file__).parents[1]))
    cells = [nbformat.v4.new_code_cell(text) for text in NOTEBOOK.split("---")]
    notebook = nbformat.v4.new_notebook(cells=cells)
    client = nbclient.NotebookClient(
        notebook, timeout=PATIENCE, startup_timeout=PATIENCE, kernel_name="python3"
    )
    client.execute()
    shown = [cell.outputs[0].data for cell in notebook.cells[1:]]
    model = shown[0]["application/vnd.jupyter.widget-view+json"]["model_id"]
    assert client.widget_state[model]["program"]["nodes"][-1]["name"] == "v5"
    assert shown[1]["text/html"].startswith("<p>[0/22] start")
    assert shown[2]["image/svg+xml"].startswith("<svg")


# --- small functions --------------------------------------------------------------------------


def small(text, *values):
    formula, _ = parse(text)
    return describe_formula(formula, values)


def test_a_small_function_is_read_line_by_line():
    text = "def f(x, y):\n    a = x * y\n    b = sin(a)\n    return a + b * x"
    program, _, code, first = small(text, 2.0, 3.0)
    assert program.adjoints()["x"] == pytest.approx(3 + math.sin(6) + 2 * 3 * math.cos(6))
    doc = make_document(program, "f", code, first)
    assert [len(line["nodes"]) for line in doc["code"]] == [0, 1, 1, 2]
    assert [step.variable for step in program.steps] == ["", "", "a", "b", "", ""]


def test_lines_without_def_take_their_variables_as_they_appear():
    assert parse("a = u * v\nreturn a ** 2")[1] == ["u", "v"]
    assert small("a = u * v\nreturn a ** 2", 2.0, 3.0)[0].adjoints()["u"] == 36


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def f(x):\n    import os\n    return x", "imports nothing"),
        ("def f(x):\n    while x: x = 1\n    return x", "no loops"),
        ("def f(x):\n    return x.__class__", "no dots in its names"),
        ("def f(x):\n    return __import__('os')", "there is no function '__import__'"),
        ("def f(x):\n    return x + z", "z has no value: it is no parameter"),
        ("def f(x):\n    a = x", "a function ends with return"),
        ("def f(x):\n    return x\n    return x", "never reached"),
        ("@g\ndef f(x):\n    return x", "plain parameters"),
        ("def f(x=open('a')):\n    return x", "plain parameters"),
        ("def f(x):\n    (lambda: 1)()\n    return x", "is not used"),
        ("def f(x):\n    return sinn(x)", "did you mean sin"),
        ("def f(x)\n    return x", "expected ':'"),
        ("x = " + "(" * 3000 + "\nreturn x", "too many nested parentheses"),
    ],
)
def test_what_is_no_small_function_is_refused(text, message):
    with pytest.raises(ad.FormulaError, match=re.escape(message)):
        parse(text)


# --- server -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def port():
    with run_server() as port:
        yield port


def ask(port, method="GET", path="/", body=None, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        return answer, answer.read()
    finally:
        connection.close()


def explain(port, request, **headers):
    body = request if isinstance(request, (bytes, str)) else json.dumps(request)
    sent = {"Content-Type": "application/json"} | headers
    answer, text = ask(port, "POST", "/api/explain", body, **sent)
    return answer.status, json.loads(text)


def test_a_formula_is_explained(port):
    status, answer = explain(port, {"formula": FORMULA, "at": {"x1": 2, "x2": 5}})
    assert status == 200
    assert answer["adjoints"]["x1"] == 5.5
    assert answer["adjoints"]["x2"] == pytest.approx(2 - math.cos(5), rel=1e-15)
    assert "v4  = v1 + v2 = 0.693 + 10        = 10.693" in answer["tables"]["values"]
    assert set(answer["tables"]["tangents"]) == {"x1", "x2"}
    assert answer["program"]["title"] == FORMULA


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({"formula": "x +* 2", "at": {"x": 1}}, "^"),
        ({"formula": "lgo(x)", "at": {"x": 1}}, "did you mean log?"),
        ({"formula": "x", "at": {}}, "no value for x"),
        ({"formula": "x", "at": {"x": 1, "y": 2}}, "'y' is not in the formula"),
        ({"formula": "x", "at": {"x": "two"}}, "not a number"),
        ({"formula": "x", "at": {"x": True}}, "not a number"),
        ({"formula": "x", "at": {"x": [1]}}, "not a number"),
        ({"formula": "x", "at": 3}, "gives each variable a number"),
        ({"formula": "x", "at": {"x": "1e400"}}, "too large for a float"),
        ({"formula": "x", "at": {"x": 10**400}}, "too large for a float"),
        ('{"formula": "x", "at": {"x": 1e400}}', "too large for a float"),
        ('{"formula": "x", "at": {"x": NaN}}', "NaN is not JSON"),
        ('{"formula": "x", "at": {"x": -Infinity}}', "-Infinity is not JSON"),
        ({"formula": "x*1e400", "at": {"x": 1}}, "the number is too large"),
        ({"formula": "3", "at": {"sin": 1}}, "'sin' is not in the formula"),
        ({"formula": 3}, "a request is"),
        ([1, 2], "a request is"),
        ({"formula": "__import__('os').system('x')", "at": {}}, "formula"),
        ({"formula": "(" * 10_000 + "x" + ")" * 10_000, "at": {"x": 1}}, "characters"),
        ({"formula": "x+" * 4999 + "x", "at": {"x": 1}}, "the formula "),  # Python or we refuse it
        ("{", "not JSON"),
        ("[" * 50_000, "not JSON"),
    ],
)
def test_what_cannot_be_explained_is_an_error_with_a_message(port, request_, message):
    status, answer = explain(port, request_)
    assert status == 400
    assert message in answer["error"]


def test_towers_of_powers_end_at_once(port):
    status, answer = explain(port, {"formula": "x + 9**9**9", "at": {"x": 1}})
    assert status == 400
    assert "9**9**9" in answer["error"]


def test_numbers_outside_a_domain_are_told(port):
    status, answer = explain(port, {"formula": "log(x)", "at": {"x": -1}})
    assert (status, answer["value"], answer["adjoints"]) == (200, "nan", {"x": "nan"})
    assert "there is no derivative here" in answer["warnings"][0]
    assert "log(-1.0)" in answer["warnings"][1]


def test_a_large_body_is_not_read(port):
    status, answer = explain(port, " " * 70_000)
    assert status == 413
    assert "70,000 bytes" in answer["error"]


def test_only_json_is_taken(port):
    status, _ = explain(port, "{}", **{"Content-Type": "text/plain"})
    assert status == 415


@pytest.mark.parametrize("host", ["example.org", "127.0.0.1.example.org", "localhost", ""])
def test_another_host_is_refused(port, host):
    for method, path in (("GET", "/"), ("POST", "/api/explain")):
        answer, text = ask(port, method, path, Host=host)
        assert answer.status == 403
        assert b"this machine alone" in text


def exchange(port, *lines, body=b""):
    """Send the lines of a request as they are, and return the whole answer."""
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as line:
        line.sendall(b"\r\n".join([*lines, b"", body]))
        line.shutdown(socket.SHUT_WR)
        return line.makefile("rb").read()


def test_two_hosts_or_lengths_are_refused(port):
    own = b"Host: 127.0.0.1:%d" % port
    assert b" 200 " in exchange(port, b"GET / HTTP/1.1", own, b"Connection: close")
    for second in (own, b"Host: example.org", b"host: example.org"):
        assert b" 403 " in exchange(port, b"GET / HTTP/1.1", own, second)
        assert b" 403 " in exchange(port, b"GET / HTTP/1.1", second, own)
    post = [b"POST /api/explain HTTP/1.1", own, b"Content-Type: application/json"]
    body = b'{"formula": "x", "at": {"x": 1}}'
    size = b"Content-Length: %d" % len(body)
    assert b" 200 " in exchange(port, *post, size, b"Connection: close", body=body)
    assert b" 411 " in exchange(port, *post, size, b"Content-Length: 5", body=body)
    assert b" 411 " in exchange(port, *post, "Content-Length: ²".encode(), body=body)
    assert b" 403 " in exchange(port, *post, size, b"Transfer-Encoding: chunked", body=body)


@pytest.mark.parametrize(
    ("site", "status"),
    [("same-origin", 200), ("none", 200), ("cross-site", 403), ("same-site", 403)],
)
def test_requests_of_other_sites_are_refused(port, site, status):
    request = {"formula": "x", "at": {"x": 1}}
    assert explain(port, request, **{"Sec-Fetch-Site": site})[0] == status
    assert ask(port, **{"Sec-Fetch-Site": site})[0].status == status


@pytest.mark.parametrize("method", [b"GET", b"POST", b"HEAD", b"BREW"])
@pytest.mark.parametrize(
    "target",
    [
        *[
            b"http://[",
            b"*",
            b"//",
            b"",
            b"\xff\xfe",
            b"/%",
            b"http://a@b:c/",
            b"/\x00",
            b"?",
            b"#",
        ],
        *[b"/" + b"a" * 70_000, b"/ HTTP/9.9 x", b"/a b c"],
    ],
)
def test_a_malformed_target_is_answered_without_a_traceback(port, capfd, method, target):
    own = b"Host: 127.0.0.1:%d" % port
    answer = exchange(port, method + b" " + target + b" HTTP/1.1", own, b"Origin: http://[")
    assert re.match(rb"HTTP/1.1 4\d\d |\{", answer) or not answer
    assert exchange(port, method + b" " + target, own) is not None
    assert capfd.readouterr().err == ""


def test_a_connection_that_breaks_is_nobodys_error(port, capfd):
    for request in (b"", b"GET", b"POST /api/explain HTTP/1.1\r\nContent-Length: 10\r\n\r\n{"):
        with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as line:
            line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            line.sendall(request)
    assert ask(port)[0].status == 200
    assert capfd.readouterr().err == ""


@pytest.mark.slow
@pytest.mark.usefixtures("quiet")
def test_nothing_grows_with_the_requests(port):
    """Threads and open files stay as they are; the memory of both processes, too."""
    requests = [
        {"formula": "log(x)*x", "at": {"x": -1}},
        {"formula": "x +* 2", "at": {"x": 1}},
        {"formula": "a = x*y; sin(a)", "at": {"x": 1, "y": 2}},
    ]

    def many(count):
        for i in range(count):
            explain(port, requests[i % 3])
            ask(port, path="/nothing")

    threads = threading.active_count()
    many(150)
    assert comes_true(lambda: threading.active_count() <= threads)  # the last answers are given
    gc.collect()
    objects, files = len(gc.get_objects()), open_files()
    many(450)
    assert comes_true(lambda: threading.active_count() <= threads)
    assert comes_true(lambda: open_files() <= files + 2)
    gc.collect()
    assert len(gc.get_objects()) < objects + 600  # 900 requests: less than one object for each


def open_files():
    folder = Path("/proc/self/fd")
    return len(list(folder.iterdir())) if folder.exists() else 0


PATIENT_SERVER = f"""
from simpleautodiff.cli import main
from simpleautodiff.display.explorer import server
server.REQUEST_SECONDS = server.Handler.timeout = {10 * PATIENCE}  # what waits for this is late
raise SystemExit(main(["explore", "--port", "0"]))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="sends the signal of Ctrl-C")
@pytest.mark.parametrize("busy", [False, True])
def test_ctrl_c_ends_the_server_at_once(busy):
    source = str(Path(ad.__file__).parents[1])
    process = subprocess.Popen(
        [sys.executable, "-c", PATIENT_SERVER],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": source},
        text=True,
        start_new_session=True,
    )
    try:
        address = process.stdout.readline()
        own = int(re.search(r":(\d+)/", address)[1])
        if busy:
            explain(own, {"formula": "x*x", "at": {"x": 1}})
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
        assert (process.returncode, out, err) == (0, "", "")
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("at", [{}, {"x": 2}, {"a": 1, "b": 2}])
def test_a_constant_has_the_derivative_zero(port, at):
    status, answer = explain(port, {"formula": "3", "at": at})
    assert (status, answer["value"], answer["program"]) == (200, 3, None)
    assert answer["adjoints"] == dict.fromkeys(at, 0.0)
    assert answer["warnings"] == ["3 = 3 is a constant: every derivative is 0"]
    status, answer = explain(port, {"formula": "def f(x): return 2*3", "at": {"x": 1}})
    assert (status, answer["value"], answer["adjoints"]) == (200, 6, {"x": 0.0})


def test_another_origin_is_refused(port):
    request = {"formula": "x", "at": {"x": 1}}
    assert explain(port, request, Origin="http://example.org")[0] == 403
    assert explain(port, request, Origin="null")[0] == 403
    assert explain(port, request, Origin=f"http://127.0.0.1:{port}")[0] == 200


@pytest.mark.parametrize(
    "path",
    ["/../pyproject.toml", "/..%2f..%2fpyproject.toml", "//etc/passwd", "/assets/rows.js", "/x"],
)
def test_no_other_file_is_given(port, path):
    assert ask(port, path=path)[0].status == 404


@pytest.mark.parametrize("path", ["/", "/explorer.css", "/api/explain"])
@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "BREW"])
def test_other_methods_are_told_what_is_allowed(port, method, path):
    answer, text = ask(port, method, path)
    assert answer.status == 405
    assert answer.getheader("Allow") == ("POST" if path.startswith("/api") else "GET, HEAD")
    assert answer.getheader("Content-Type").startswith("application/json")
    assert method in json.loads(text)["error"]


def test_get_and_post_have_their_own_places(port):
    assert ask(port, "GET", "/api/explain")[0].status == 405
    assert ask(port, "POST", "/", "{}")[0].status == 405
    assert ask(port, "POST", "/nothing", "{}")[0].status == 404
    assert ask(port, "PUT", "/", Host="example.org")[0].status == 403


@pytest.mark.parametrize("path", ["/", "/explorer.js", "/nothing", "/api/explain"])
def test_head_is_get_without_its_text(port, path):
    (head, nothing), (get, text) = ask(port, "HEAD", path), ask(port, "GET", path)
    if path != "/api/explain":  # the answer names the method
        assert head.getheader("Content-Length") == get.getheader("Content-Length")
    assert head.status == get.status
    assert nothing == b""
    assert text != b""


def test_a_request_with_too_many_heads_is_answered_in_json(port):
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as line:
        line.sendall(b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 200 + b"\r\n")
        answer = line.makefile("rb").read()
    assert b"431" in answer.partition(b"\r\n")[0]
    assert b"application/json" in answer


def test_every_answer_has_a_strict_policy(port):
    for path in ("/", "/explorer.css", "/explorer.js", "/nothing"):
        answer, _ = ask(port, path=path)
        policy = answer.getheader("Content-Security-Policy")
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert answer.getheader("X-Content-Type-Options") == "nosniff"


def test_the_page_of_the_server_has_nothing_inline(port):
    text = ask(port)[1].decode()
    assert "<style" not in text
    assert not re.search(r"<script(?![^>]*src=)", text)
    assert not re.search(r"\son\w+=", text)


def test_it_listens_on_the_loopback_address_alone(port):
    with socket.socket() as probe:
        probe.settimeout(2)
        assert probe.connect_ex(("127.0.0.2", port)) != 0  # another address of this machine
    with server.make_server() as another:
        assert another.server_address[0] == "127.0.0.1"


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="stops a process")
def test_work_that_takes_too_long_is_stopped():
    worker = Worker(PATIENCE)
    try:
        request = json.dumps({"formula": FORMULA, "at": {"x1": 2, "x2": 5}}).encode()
        assert worker.ask(request)[0] == 200
        first = worker._process.pid
        worker._process.send_signal(signal.SIGSTOP)  # it never answers
        worker.seconds = 0.01
        status, answer = worker.ask(request)
        assert (status, answer["error"]) == (503, "it took more than 0.01 seconds")
        worker.seconds = PATIENCE
        assert worker.ask(request)[0] == 200  # by another process
        assert worker._process.pid != first
        with worker._lock:
            worker.seconds = 0.01
            assert worker.ask(request) == (503, {"error": "busy with another formula"})
    finally:
        worker.stop()


def test_a_process_that_died_is_replaced():
    worker = Worker(PATIENCE)
    try:
        request = json.dumps({"formula": "x*x", "at": {"x": 3}}).encode()
        assert worker.ask(request)[1]["adjoints"] == {"x": 6.0}
        worker._process.kill()
        worker._process.wait()
        assert worker.ask(request)[1]["adjoints"] == {"x": 6.0}
        assert worker.ask(b"\xff\x00")[0] == 400
    finally:
        worker.stop()


@pytest.mark.skipif(sys.platform == "win32", reason="needs the limits of Unix")
def test_the_process_has_limits_of_time_and_memory():
    script = (
        "import resource, signal\n"
        "from simpleautodiff.display.explorer import formula_process\n"
        "formula_process._limit(0.0)\n"
        "try: bytearray(2 * formula_process.MEMORY)\n"
        "except MemoryError: print('refused', flush=True)\n"
        "while True: pass\n"
    )
    source = str(Path(ad.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        timeout=PATIENCE,
        env={**os.environ, "PYTHONPATH": source},
        check=False,
    )
    assert done.stdout == b"refused\n"
    assert -done.returncode in (signal.SIGXCPU, signal.SIGKILL)


def test_serve_says_where_it_is_and_ends_when_interrupted(monkeypatch, capsys):
    def interrupted(self, poll_interval):
        raise KeyboardInterrupt

    monkeypatch.setattr(server.Server, "serve_forever", interrupted)
    told = []
    server.serve(ready=told.append)
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", told[0])
    server.serve()
    assert "http://127.0.0.1:" in capsys.readouterr().out


def test_every_file_of_the_page_is_there():
    for name in ("page.html", "home.html", "home.js", "home.css", "explorer.css"):
        assert read_asset(name)


@pytest.mark.parametrize(
    ("f", "guards", "conditions"),
    [
        (lambda x: ad.where(x < 1, 4.0, x * x), 0, 1),
        (lambda x: x * x if x > 0 else -x, 1, 0),
        (lambda x: np.where(x > 1.0, x, 2.0) if x < 3 else -x, 1, 1),
        (lambda x: np.where(x > 1.0, x, 2 * x), 0, 1),
    ],
)
def test_a_function_that_compares_brings_what_it_asks(f, guards, conditions):
    doc = make_document(ad.trace(f, 2.0))
    assert len(doc["kernel"]["guards"]) == guards
    assert len(doc["kernel"]["outputs"]) == conditions
    assert doc["live"]
    assert not doc["why"]


@pytest.mark.parametrize(
    ("f", "x"),
    [
        (lambda x: x * x if x > 0 else -x, np.float32(2.0)),
        (lambda x: np.where(x > 1.0, x, 2 * x), np.float32(2.0)),
    ],
)
def test_comparisons_that_cannot_be_followed_are_the_reason_for_no_sliders(f, x):
    doc = make_document(ad.trace(f, x))
    assert doc["kernel"] is None
    assert not doc["live"]
    assert "compares numbers" in doc["why"]


def test_a_function_that_compares_nothing_needs_no_recording():
    doc = make_document(ad.trace(lambda x: ad.maximum(x, 1.0), 2.0))
    assert doc["live"]
    assert doc["kernel"] is None


def test_linear_maps_have_no_address_on_the_page(tmp_path):
    matrix = np.ones((2, 2))
    page = ad.explore(lambda x: np.sum(matrix @ x), np.ones(2), path=tmp_path / "page.html")
    assert "object at 0x" not in page.read_text()


def test_a_page_is_not_written_into_a_file_of_another_kind(tmp_path):
    for name in ("a.svg", "a.pdf"):
        with pytest.raises(ad.ArgumentError, match=rf"ends in \.html, not as {name} does"):
            ad.explore(FORMULA, 2, 5, path=tmp_path / name)
        assert not (tmp_path / name).exists()
    for name in ("a.HTML", "a.htm", "a"):
        assert ad.explore(FORMULA, 2, 5, path=tmp_path / name).exists()
