"""The explorer: its page, its layout, its rows in JavaScript, its server."""

import http.client
import importlib
import json
import math
import random
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
import warnings
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import simpleautodiff as ad
from simpleautodiff.display.explorer import server
from simpleautodiff.display.explorer.data import MOST_DRAWN, document
from simpleautodiff.display.explorer.files import asset, front_end, scripted
from simpleautodiff.display.explorer.little import read
from simpleautodiff.display.explorer.page import page
from simpleautodiff.display.explorer.placing import place
from simpleautodiff.linear import ZERO
from simpleautodiff.rules.row import TABLE

FORMULA = "log(x1) + x1*x2 - sin(x2)"
needs_node = pytest.mark.skipif(not shutil.which("node"), reason="needs node, for JavaScript")


def script(text, data=None):
    """Run JavaScript after that of the page and return what it prints."""
    done = subprocess.run(
        [
            "node",
            "-e",
            f"{front_end()}\nconst data = JSON.parse(require('fs').readFileSync(0));{text}",
        ],
        input=json.dumps(data),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return json.loads(done.stdout)


# --- rows in JavaScript -----------------------------------------------------------------------


POINTS = {
    1: [(0.3,), (0.75,), (1.7,), (2.0,), (5.25,), (-0.4,), (-2.6,), (12.5,), (1.0,), (0.0,)],
    2: [(0.3, 1.7), (2.0, 3.0), (2.5, -0.7), (-1.2, 2.0), (0.6, 0.6), (3.0, 0.4), (0.0, 2.0)],
    3: [(0.5, 0.0, 1.0), (-1.0, 0.0, 1.0), (3.0, 0.0, 1.0), (1.0, 0.0, 2.0), (0.0, 0.0, 1.0)],
}


def cases():
    for name in sorted(scripted()):
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


@needs_node
def test_every_row_of_the_page_computes_what_python_computes():
    expected = list(cases())
    assert len({name for name, _, _ in expected}) == len(scripted()) > 60
    found = script(
        """console.log(JSON.stringify(data.map(([name, x]) => {
            const row = ROWS[name], v = row.f(...x);
            const slopes = row.d.map((d) => typeof d === "function" ? d(v, ...x) : d);
            return [v, ...slopes].map((n) => n === null ? null : String(n));
        })))""",
        [[name, point] for name, point, _ in expected],
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
    doc = document(ad.trace(f, *at))
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
            numbers = {names[int(i)]: d for i, d in there["numbers"].items()}
            assert numbers == pytest.approx({name: here[name] for name in numbers}, rel=1e-13)
        else:
            here = program.accumulations(root)
            assert [names[term[0]] for term in there["terms"]] == [a.parent for a in here]
            assert [term[4] for term in there["terms"]] == pytest.approx(
                [a.total for a in here], rel=1e-13
            )


@needs_node
def test_numbers_are_written_as_the_tables_write_them():
    from simpleautodiff.text import short

    numbers = [0, 1, -1, 0.5, 10.693147, 1e-5, -2.5e-7, 123456.789, 1e7, 1.5e12, 0.001, -0.2836]
    texts = script("console.log(JSON.stringify(data.map((x) => short(x))))", numbers)
    assert texts == [short(float(number)) for number in numbers]


# --- layout -----------------------------------------------------------------------------------


def random_graph(seed):
    choose = random.Random(seed)
    size = choose.randint(2, 30)
    return size, [
        (choose.randrange(end), end) for end in range(1, size) for _ in range(choose.randint(1, 2))
    ]


@pytest.mark.parametrize("seed", range(30))
def test_nodes_never_overlap_and_edges_go_on(seed):
    size, edges = random_graph(seed)
    placing = place(size, edges)
    for start, end in edges:
        assert placing.points[start][0] < placing.points[end][0]
    taken = sorted(placing.points)
    for (layer, across), (next_layer, next_across) in pairwise(taken):
        assert next_layer > layer or next_across - across > 0.99
    assert place(size, edges) == placing


def test_the_papers_graph_has_no_crossing_and_its_layers():
    program = ad.trace(lambda x1, x2: ad.log(x1) + x1 * x2 - ad.sin(x2), 2, 5)
    graph = document(program)["graph"]
    layer = {i: layer for i, layer, _ in graph["points"]}
    assert [layer[i] for i in range(7)] == [0, 0, 1, 1, 1, 2, 3]
    across = {i: a for i, _, a in graph["points"]}
    assert across[0] < across[1]
    assert across[2] < across[3] < across[4]


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
    doc = embedded(page(program))
    assert [node["value"] for node in doc["nodes"]] == [step.value for step in program.steps]
    forward, _, reverse = doc["sweeps"]
    assert forward["numbers"]["6"] == 5.5
    assert reverse["terms"][-1][4] == 5.5
    assert doc["live"]


def test_no_text_of_the_user_can_end_the_element_it_stands_in():
    text = page(
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
    doc = document(ad.trace(f, 1.0, 2.0), "f", code, first)
    assert [line["nodes"] for line in doc["code"]] == [[], [2], [3]]


def test_arrays_are_shown_without_sliders():
    w = np.array([0.5, -0.25])
    doc = document(ad.trace(lambda w, x: np.sum(np.tanh(x @ w) ** 2), w, np.ones((3, 2))))
    assert not doc["live"]
    assert "single numbers" in doc["why"]
    assert doc["nodes"][0]["value"] == {"text": "(2,) float64: 0.5, -0.25", "shape": "(2,)"}
    assert [sweep["mode"] for sweep in doc["sweeps"]] == ["forward", "forward", "reverse"]


def test_a_row_without_javascript_says_so():
    pytest.importorskip("scipy")
    doc = document(read("jv(0, x)").program(1.0))
    assert not doc["live"]
    assert "jv" in doc["why"]


def test_values_that_json_lacks_are_texts():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        doc = document(ad.trace(lambda x: ad.log(x) + x, -1.0))
    assert doc["nodes"][1]["value"] == "nan"
    json.dumps(doc, allow_nan=False)


def test_ten_thousand_nodes_are_folded_quickly(tmp_path):
    def loop(x):
        for _ in range(5000):
            x = ad.sin(x) * 1.001
        return x

    program = ad.trace(loop, 0.5)
    start = time.perf_counter()
    doc = document(program)
    assert time.perf_counter() - start < 5
    assert len(doc["graph"]["points"]) <= MOST_DRAWN
    assert len(doc["shown"]) + len(doc["folded"]) == len(program) == 10_001
    assert len(json.dumps(doc)) < 4_000_000


def test_explore_says_what_it_needs():
    with pytest.raises(ad.FormulaError, match="x, y: 2 values are needed, 1 were given"):
        ad.explore("x*y", 2)
    with pytest.raises(ad.ArgumentError, match="has its arguments already"):
        ad.explore(ad.trace(lambda x: x * x, 1.0), 2)


def test_the_widget_has_the_same_front_end():
    pytest.importorskip("anywidget")
    shown = ad.widget(lambda x: x * x, 3.0)
    assert front_end() in str(shown._esm)
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


@pytest.mark.filterwarnings("ignore")
def test_a_kernel_shows_the_widget(monkeypatch):
    """Run the cells in a kernel of Jupyter, as a notebook does."""
    for library in ("anywidget", "nbclient", "ipykernel"):
        pytest.importorskip(library, reason=f"needs {library}, which is not installed")
    nbformat, nbclient = (importlib.import_module(n) for n in ("nbformat", "nbclient"))
    monkeypatch.setenv("PYTHONPATH", str(Path(ad.__file__).parents[1]))
    cells = [nbformat.v4.new_code_cell(text) for text in NOTEBOOK.split("---")]
    notebook = nbformat.v4.new_notebook(cells=cells)
    client = nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3")
    client.execute()
    shown = [cell.outputs[0].data for cell in notebook.cells[1:]]
    model = shown[0]["application/vnd.jupyter.widget-view+json"]["model_id"]
    assert client.widget_state[model]["program"]["nodes"][-1]["name"] == "v5"
    assert shown[1]["text/html"].startswith("<p>[0/22] start")
    assert shown[2]["image/svg+xml"].startswith("<svg")


# --- small functions --------------------------------------------------------------------------


def test_a_small_function_is_read_line_by_line():
    f = read("def f(x, y):\n    a = x * y\n    b = sin(a)\n    return a + b * x")
    program = f.program(2.0, 3.0)
    assert program.adjoints()["x"] == pytest.approx(3 + math.sin(6) + 2 * 3 * math.cos(6))
    doc = document(program, "f", f.text.splitlines())
    assert [len(line["nodes"]) for line in doc["code"]] == [0, 1, 1, 2]


def test_lines_without_def_take_their_variables_as_they_appear():
    f = read("a = u * v\nreturn a ** 2")
    assert f.names == ["u", "v"]
    assert f.program(2.0, 3.0).adjoints()["u"] == 36


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def f(x):\n    import os\n    return x", "assignments and a return alone"),
        ("def f(x):\n    while x: x = 1\n    return x", "assignments and a return alone"),
        ("def f(x):\n    return x.__class__", "no dots in its names"),
        ("def f(x):\n    return __import__('os')", "there is no function '__import__'"),
        ("def f(x):\n    return x + z", "z has no value yet"),
        ("def f(x):\n    a = x", "ends with `return"),
        ("def f(x):\n    return x\n    return x", "one `return`"),
        ("@g\ndef f(x):\n    return x", "assignments"),
        ("def f(x=open('a')):\n    return x", "names alone"),
        ("def f(x):\n    (lambda: 1)()\n    return x", "assignments"),
        ("def f(x):\n    return sinn(x)", "did you mean sin"),
        ("def f(x)\n    return x", "cannot be read"),
        ("x = " + "(" * 3000 + "\nreturn x", "cannot be read"),
        ("a = x\n" * 300 + "return a", "up to 200 lines"),
    ],
)
def test_what_is_no_small_function_is_refused(text, message):
    with pytest.raises(ad.FormulaError, match=re.escape(message)):
        read(text)


# --- server -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def port():
    with server.make_server() as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield running.server_address[1]
        running.shutdown()
        thread.join()


def ask(port, method="GET", path="/", body=None, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
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
        ({"formula": "2*3", "at": {}}, "no variable"),
        ({"formula": 3}, "a request is"),
        ([1, 2], "a request is"),
        ({"formula": "__import__('os').system('x')", "at": {}}, "formula"),
        ({"formula": "(" * 10_000 + "x" + ")" * 10_000, "at": {"x": 1}}, "characters"),
        ({"formula": "x+" * 4999 + "x", "at": {"x": 1}}, "too long or nested too deeply"),
        ("{", "not JSON"),
        ("[" * 50_000, "not JSON"),
    ],
)
def test_what_cannot_be_explained_is_an_error_with_a_message(port, request_, message):
    status, answer = explain(port, request_)
    assert status == 400
    assert message in answer["error"]


def test_towers_of_powers_end_at_once(port):
    start = time.perf_counter()
    status, answer = explain(port, {"formula": "x + 9**9**9", "at": {"x": 1}})
    assert time.perf_counter() - start < 5
    assert status == 400
    assert "9**9**9" in answer["error"]


def test_numbers_outside_a_domain_are_told(port):
    status, answer = explain(port, {"formula": "log(x)", "at": {"x": -1}})
    assert (status, answer["value"]) == (200, "nan")
    assert "log(-1.0)" in answer["warnings"][0]


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


def test_other_methods_are_refused(port):
    assert ask(port, "PUT", "/")[0].status == 501
    assert ask(port, "POST", "/", "{}")[0].status == 404


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
        own = socket.gethostbyname(socket.gethostname())
        if not own.startswith("127."):
            assert probe.connect_ex((own, port)) != 0
    with server.make_server() as another:
        assert another.server_address[0] == "127.0.0.1"


def test_work_that_takes_too_long_is_given_up():
    done = threading.Event()
    status, answer = server.within(0.1, lambda: done.wait(5) and {})
    assert (status, answer["error"]) == (503, "it took more than 0.1 seconds")
    status, answer = server.within(0.1, dict)
    assert (status, answer["error"]) == (503, "busy with another formula")
    done.set()
    assert server.within(5, dict) == (200, {})


def test_serve_says_where_it_is_and_ends_when_interrupted(monkeypatch, capsys):
    def interrupted(self, poll_interval):
        raise KeyboardInterrupt

    monkeypatch.setattr(server._Server, "serve_forever", interrupted)
    told = []
    server.serve(ready=told.append)
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", told[0])
    server.serve()
    assert "http://127.0.0.1:" in capsys.readouterr().out


def test_every_file_of_the_page_is_there():
    for name in ("page.html", "home.html", "home.js", "home.css", "explorer.css"):
        assert asset(name)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: ad.where(x < 1, x, x * x),
        lambda x: x * x if x > 0 else -x,
        lambda x: np.where(x > 1.0, x, 2 * x),
    ],
)
def test_a_function_that_compares_has_no_sliders(f, tmp_path):
    page = ad.explore(f, 2.0, path=tmp_path / "page.html").read_text()
    assert "may go another way" in page
    smooth = ad.explore(lambda x: ad.maximum(x, 1.0), 2.0, path=tmp_path / "page.html").read_text()
    assert "may go another way" not in smooth


def test_linear_maps_have_no_address_on_the_page(tmp_path):
    matrix = np.ones((2, 2))
    page = ad.explore(lambda x: np.sum(matrix @ x), np.ones(2), path=tmp_path / "page.html")
    assert "object at 0x" not in page.read_text()
