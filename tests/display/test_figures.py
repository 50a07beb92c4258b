"""Figures: the paper's, drawn from the program; nothing overlaps, nothing is lost on the way."""

import itertools
import math
import os
import random
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

import simpleautodiff as ad
from simpleautodiff.display.explorer.files import read_asset
from simpleautodiff.display.figures.box_drawing import sketch
from simpleautodiff.display.figures.edge_list import list_edges
from simpleautodiff.display.figures.figure import Figure, figure
from simpleautodiff.display.figures.layout import graphviz
from simpleautodiff.display.figures.layout.crossings import arrange, count_crossings
from simpleautodiff.display.figures.layout.layered_layout import lay_out
from simpleautodiff.display.figures.layout.layering import make_layering
from simpleautodiff.display.figures.paper_gallery import example, gallery
from simpleautodiff.display.figures.paper_listings import listings
from simpleautodiff.display.figures.picture import Edge, Picture, TextLine, Vertex
from simpleautodiff.display.notation.rich_text import show_minus, split_runs, text_width, to_latex

GOLDEN = Path(__file__).parent / "golden"
SHOWN = ("plain", "values", "tangents", "adjoints", "reachable", "order")
# The paper's graph, from its first figure.
PAPER = {
    ("x1", "v1"),
    ("x1", "v2"),
    ("x2", "v2"),
    ("x2", "v3"),
    ("v1", "v4"),
    ("v2", "v4"),
    ("v4", "v5"),
    ("v3", "v5"),
}


def drawn(picture, back=False, tones=None):
    shown = {vertex.name for vertex in picture.visible if vertex.shape != "none"}
    return {
        (edge.tail, edge.head)
        for edge in picture.edges
        if edge.back == back
        and {edge.tail, edge.head} <= shown
        and (tones is None or edge.tone in tones)
    }


def below(picture):
    return {vertex.name: [line.text for line in vertex.below] for vertex in picture.vertices}


class TestThePaper:
    def test_the_gallery_is_what_it_was(self, tmp_path):
        written = gallery(tmp_path)
        assert {path.name for path in written} == {path.name for path in GOLDEN.iterdir()}
        for path in written:
            expected = (GOLDEN / path.name).read_text(encoding="utf-8")
            assert path.read_text(encoding="utf-8") == expected, path.name

    def test_the_page_shows_and_links_every_file(self, tmp_path):
        *files, page = gallery(tmp_path)
        text = page.read_text(encoding="utf-8")
        linked = set(re.findall(r'href="([^#"]+)"', text))
        frames = {path.name for path in files if re.match(r"figure-construction-\d", path.name)}
        assert linked | frames == {path.name for path in files}
        assert set(re.findall(r'src="([^"]+)"', text)) <= linked
        assert set(re.findall(r'href="#([^"]+)"', text)) == set(re.findall(r'id="([^"]+)"', text))

    def test_a_listing_stands_beside_its_graph(self):
        for listing in listings(example()):
            code = listing.code.splitlines()
            assert [line for line in listing.text().splitlines() if line.startswith(code[0])]
            drawing = ET.fromstring(listing.svg())
            lines = [text.text for text in drawing if text.tag.endswith("}text")]
            assert lines == code
            right = [part for part in drawing if part.tag.endswith("}svg")]
            assert float(right[0].get("x")) > max(map(len, code)) * 7.8  # of DejaVu at 13 px

    @pytest.mark.parametrize("show", SHOWN)
    def test_the_graph_is_the_papers(self, show):
        assert drawn(figure(example(), show).picture) == PAPER

    def test_it_stands_as_in_the_paper(self):
        positions = figure(example(), "plain").layout.positions
        column = {name: x for name, (x, _) in positions.items()}
        assert column["x1"] == column["x2"] < column["v1"] == column["v2"]
        assert column["v2"] < column["v3"] == column["v4"] < column["v5"] < column["→y"]
        row = {name: y for name, (_, y) in positions.items()}
        assert row["x1"] < row["x2"]
        assert row["v1"] < row["v2"]
        assert row["v4"] < row["v3"]

    def test_the_labels_of_the_values(self):
        assert below(figure(example(), "values").picture) == {
            "x1": ["= 2"],
            "x2": ["= 5"],
            "v1": ["= log(x1)", "= log(2)", "= 0.693"],
            "v2": ["= x1 × x2", "= 2 × 5", "= 10"],
            "v3": ["= sin(x2)", "= sin(5)", "= -0.959"],
            "v4": ["= v1 + v2", "= 0.693 + 10", "= 10.693"],
            "v5": ["= v4 - v3", "= 10.693 - (-0.959)", "= 11.652"],
            "→y": [],
        }

    def test_the_tangents(self):
        lines = below(figure(example(), "tangents", wrt="x1").picture)
        found = [lines[name][-1] for name in ("x1", "x2", "v1", "v2", "v3", "v4", "v5")]
        assert found == ["ẋ1 = 1", "ẋ2 = 0", "v̇1 = 0.5", "v̇2 = 5", "v̇3 = 0", "v̇4 = 5.5", "v̇5 = 5.5"]

    def test_the_adjoints_go_back_along_every_edge(self):
        picture = figure(example(), "adjoints").picture
        assert drawn(picture, back=True) == {(head, tail) for tail, head in PAPER}
        lines = below(picture)
        found = [lines[name][-1] for name in ("x1", "x2", "v1", "v2", "v3", "v4", "v5")]
        assert found == [
            "x̄1 = 5.5",
            "x̄2 = 1.716",
            "v̄1 = 1",
            "v̄2 = 1",
            "v̄3 = -1",
            "v̄4 = 1",
            "v̄5 = 1",
        ]

    def test_what_is_reachable(self):
        picture = figure(example(), "reachable", wrt="x1").picture
        reached = {vertex.name for vertex in picture.vertices if vertex.tone == "reached"}
        assert reached == {"x1", "v1", "v2", "v4", "v5"}
        edges = {("x1", "v1"), ("x1", "v2"), ("v1", "v4"), ("v2", "v4"), ("v4", "v5")}
        assert drawn(picture, tones={""}) == edges

    def test_the_order_is_that_of_the_papers_program(self):
        picture = figure(example(), "order", wrt="x1").picture
        badges = {vertex.badge: vertex.name for vertex in picture.vertices if vertex.badge}
        found = [badges[str(i)] for i in range(1, 6)]
        x1, x2 = ad.Node(2), ad.Node(5)
        y = ad.sub(ad.add(ad.log(x1), ad.mul(x1, x2)), ad.sin(x2))
        names = ad.Program(ad.execution_order(y)).names
        assert found == [names[node] for node in ad.topological_order(x1)]
        assert drawn(picture, tones={"path"}) == {("x1", "v1"), ("v1", "v4"), ("v4", "v5")}

    def test_the_construction_is_in_the_order_of_the_calls(self):
        stages = [drawing.picture for drawing in figure(example(), "construction")]
        new = [[v.name for v in stage.visible if v.tone == "new"] for stage in stages]
        assert new == [[], ["v1"], ["v2"], ["v4"], ["v3"], ["v5"]]
        faces = {vertex.name: vertex.face.text for vertex in stages[-1].visible}
        assert faces == dict(x1="x1", x2="x2", v1="log", v2="×", v3="sin", v4="+", v5="−")
        assert {v.name for v in stages[4].visible if v.tone != "faded"} == {"x2", "v3"}
        assert below(stages[-1])["v5"] == ["v5 = log(x1) + x1 × x2 - sin(x2)"]

    def test_the_stages_of_a_construction_stand_still(self):
        stages = figure(example(), "construction")
        assert all(stage.layout is stages[0].layout for stage in stages)


def programs():
    def doubling(x):
        for _ in range(5):
            x = x + x
        return x

    def many(*xs):
        return sum(ad.sin(x) * y for x, y in itertools.combinations(xs, 2))

    def network(weights, bias, x):
        return np.sum(np.tanh(x @ weights + bias) ** 2)

    def long_names(first_argument, second):
        return first_argument**2 / second, ad.maximum(first_argument, second)

    arrays = (np.full((3, 4), 0.5), np.zeros(4), np.ones((5, 3)))
    return {
        "paper": example(),
        "doubling": ad.trace(doubling, 1.0),
        "minus itself": ad.trace(lambda x: x - x, 2.0),
        "many": ad.trace(many, 1.0, 2.0, 3.0, 4.0),
        "network": ad.trace(network, *arrays),
        "long names": ad.trace(long_names, 2.0, 3.0),
        "identity": ad.trace(lambda x: x, 2.0),
        "unused input": ad.trace(lambda x, y: ad.sin(x), 2.0, 3.0),
    }


PROGRAMS = programs()
# The tangents of the network are with respect to one number, not to an array of them.
CASES = [(n, s) for n in PROGRAMS for s in SHOWN if (n, s) != ("network", "tangents")]


def graph(seed, size, inputs=3):
    """Return a random picture: each step reads one or two of the last five."""
    chance = random.Random(seed)
    names = [f"n{i}" for i in range(size)]
    edges = [
        Edge(names[chance.randrange(max(0, i - 5), i)], names[i])
        for i in range(inputs, size)
        for _ in range(chance.choice((1, 2, 2)))
    ]
    return Picture(tuple(Vertex(name, TextLine(name)) for name in names), tuple(edges), "random")


def box(vertex, place):
    (x, y), (wide, up, down) = place, vertex.extent
    return x - wide, y - up, x + wide, y + down


def sampled(route, count=24):
    points = []
    for i in range(0, len(route) - 1, 3):
        a, b, c, d = route[i : i + 4]
        for k in range(count + 1):
            t, s = k / count, 1 - k / count
            weights = (s**3, 3 * s * s * t, 3 * s * t * t, t**3)
            points.append(
                tuple(
                    sum(w * p[j] for w, p in zip(weights, (a, b, c, d), strict=True))
                    for j in (0, 1)
                )
            )
    return points


class TestLayout:
    @pytest.mark.parametrize(("name", "show"), CASES)
    def test_nothing_overlaps(self, name, show):
        drawing = figure(PROGRAMS[name], show)
        boxes = {v.name: box(v, drawing.layout.positions[v.name]) for v in drawing.picture.vertices}
        for (_, a), (_, b) in itertools.combinations(boxes.items(), 2):
            assert a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]
        for left, top, right, bottom in boxes.values():
            assert left >= 0
            assert top >= 0
            assert right <= drawing.layout.width
            assert bottom <= drawing.layout.height

    @pytest.mark.parametrize("show", ["values", "adjoints"])
    @pytest.mark.parametrize("name", PROGRAMS)
    def test_no_edge_runs_through_a_label_or_a_node(self, name, show):
        drawing = figure(PROGRAMS[name], show)
        for edge, route in zip(drawing.picture.edges, drawing.layout.routes, strict=True):
            for vertex in drawing.picture.vertices:
                left, top, right, bottom = box(vertex, drawing.layout.positions[vertex.name])
                if vertex.name in (edge.tail, edge.head):  # its own label is below the circle
                    top = drawing.layout.positions[vertex.name][1] + vertex.body[1]
                inside = [
                    (x, y) for x, y in sampled(route) if left < x < right and top < y < bottom
                ]
                assert not inside, (edge, vertex.name)

    @pytest.mark.parametrize("seed", range(30))
    def test_random_graphs_do_not_overlap(self, seed):
        picture = graph(seed, 6 + seed)
        positions = lay_out(picture).positions
        for a, b in itertools.combinations(positions.values(), 2):
            assert math.dist(a, b) > 48

    def test_edges_end_at_the_outline_of_their_nodes(self):
        for program in PROGRAMS.values():
            drawing = figure(program, "adjoints")
            vertices = {vertex.name: vertex for vertex in drawing.picture.vertices}
            for edge, route in zip(drawing.picture.edges, drawing.layout.routes, strict=True):
                for name, point in ((edge.tail, route[0]), (edge.head, route[-1])):
                    x, y = drawing.layout.positions[name]
                    if vertices[name].body == (24, 24):
                        assert math.dist((x, y), point) == pytest.approx(24, abs=0.1)

    def test_two_edges_between_the_same_nodes_are_apart(self):
        drawing = figure(PROGRAMS["minus itself"], "adjoints")
        heights = [route[len(route) // 2][1] for route in drawing.layout.routes[:2]]
        assert abs(heights[0] - heights[1]) > 5

    @pytest.mark.slow
    def test_the_same_every_time(self):
        code = (
            "import simpleautodiff as ad\n"
            "p = ad.trace(lambda a, b: ad.sin(a) * b + a / b - ad.exp(a * b), 1.0, 2.0)\n"
            "f = ad.figure(p, 'adjoints')\n"
            "print(f.svg(), f.tikz(), f.text())"
        )
        found = {
            subprocess.run(
                [sys.executable, "-c", code],
                env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONIOENCODING": "utf-8"},
                capture_output=True,
                check=True,
            ).stdout
            for seed in ("1", "2")
        }
        assert len(found) == 1

    def test_three_hundred_nodes_have_places(self):
        assert len(lay_out(graph(1, 300)).positions) >= 300


def crossing_pairs(edges, curves):
    """Count the pairs of edges without a common end whose curves cross."""
    count = 0
    for (e, p), (f, q) in itertools.combinations(list(zip(edges, curves, strict=True)), 2):
        if {e.tail, e.head} & {f.tail, f.head}:
            continue
        count += any(meet(*a, *b) for a in itertools.pairwise(p) for b in itertools.pairwise(q))
    return count


def meet(a, b, c, d):
    if max(a[0], b[0]) < min(c[0], d[0]) or max(c[0], d[0]) < min(a[0], b[0]):
        return False
    return turn(a, b, c) != turn(a, b, d) and turn(c, d, a) != turn(c, d, b)


def turn(a, b, c):
    return (b[0] - a[0]) * (c[1] - a[1]) > (b[1] - a[1]) * (c[0] - a[0])


def fewest(columns, links):
    """Return the fewest crossings of any order of the layers, by trying all of them."""
    orders = itertools.product(*map(itertools.permutations, columns))
    return min(count_crossings(order, links) for order in orders)


class TestCrossings:
    @pytest.mark.parametrize("seed", range(40))
    def test_no_order_has_fewer(self, seed):
        chance = random.Random(seed)
        columns = [[f"{c}{i}" for i in range(chance.randint(2, 4))] for c in "abc"]
        pairs = [p for a, b in itertools.pairwise(columns) for p in itertools.product(a, b)]
        links = chance.sample(pairs, len(pairs) // 2)
        assert count_crossings(arrange(columns, links), links) == fewest(columns, links)

    def test_an_input_may_stand_later_and_take_its_followers_along(self):
        edges = "2-3 1-3 2-4 0-4 1-5 1-6 4-6 6-7 4-7 6-8 3-8 4-9 8-9 8-10 8-11 8-12 9-12"
        links = [tuple(edge.split("-")) for edge in edges.split()]
        found = make_layering([str(i) for i in range(13)], links)
        assert count_crossings(found.columns, list(found.links())) == 0
        assert found.layer["1"] > 0


class TestGraphviz:
    def setup_method(self):
        pytest.importorskip("pygraphviz", reason="needs pygraphviz, which brings Graphviz")

    def test_no_more_crossings_than_dot(self):
        ours = theirs = 0
        for seed in (*range(60), 302, 358, 589, 1050):  # the last ones were worse once
            picture = graph(seed, 7 + seed % 9)
            edges = list({(e.tail, e.head): e for e in picture.edges}.values())
            picture = Picture(picture.vertices, tuple(edges), "")
            mine = crossing_pairs(edges, [sampled(r, 8) for r in lay_out(picture).routes])
            dots = crossing_pairs(
                edges, [sampled(r, 8) for r in graphviz.lay_out_by_graphviz(picture).routes]
            )
            assert mine <= dots, seed
            ours, theirs = ours + mine, theirs + dots
        assert ours < theirs / 2

    def test_larger_graphs_are_laid_out_by_it(self):
        picture = graph(5, graphviz.GRAPHVIZ_SIZE + 10)
        layout = graphviz.best_layout(picture)
        assert layout.positions == graphviz.lay_out_by_graphviz(picture).positions
        for edge, route in zip(picture.edges, layout.routes, strict=True):
            for name, point in ((edge.tail, route[0]), (edge.head, route[-1])):
                assert math.dist(layout.positions[name], point) == pytest.approx(24, abs=0.1)
        ET.fromstring(Figure(picture).svg())


class TestSvg:
    @pytest.mark.parametrize(("name", "show"), CASES)
    def test_it_is_complete_in_itself(self, name, show):
        text = figure(PROGRAMS[name], show).svg()
        root = ET.fromstring(text)
        assert root.get("viewBox") == f"0 0 {root.get('width')} {root.get('height')}"
        assert not re.findall(r"(?:href|src|url\()", text)
        assert text.count("http") == 1  # the name space of SVG
        assert root[0].tag.endswith("title")
        assert root[1].tag.endswith("desc")
        assert root[0].text
        assert root[1].text

    def test_every_colour_has_a_night_side(self):
        style = ET.fromstring(figure(example()).svg())[2].text
        day, night = style.split("@media (prefers-color-scheme:dark)")
        for rule in re.findall(r"\.ad-figure (\.ad-[a-z-]+)\{(fill|stroke):", day):
            assert f".ad-figure {rule[0]}{{{rule[1]}:" in night

    def test_names_with_signs_are_escaped(self):
        program = ad.trace(lambda x: x["<a>"] * 2, {"<a>": 1.0})
        root = ET.fromstring(figure(program).svg())
        assert "<a>" in "".join(root.itertext())

    def test_accents_and_indices(self):
        exponents = [(run.text, run.level) for run in split_runs("x^(-2) + 1e-05")]
        assert exponents == [("x", 0), ("−2", 1), (" + 1e−05", 0)]
        assert [tuple(run) for run in split_runs("v̄1 = x2^2")] == [
            ("v̄", "italic", 0),
            ("1", "roman", -1),
            (" = ", "roman", 0),
            ("x", "italic", 0),
            ("2", "roman", -1),
            ("2", "roman", 1),
        ]

    def test_widths_are_not_below_those_of_times(self):
        # From the metrics of the Times face: m 778, i 278, W 944, 0 500 thousandths.
        assert text_width("mi", 1000) >= 778 + 278
        assert text_width("W0", 1000) >= 944 * 0.9 + 500 * 0.7


class TestTikz:
    @pytest.mark.parametrize(("name", "show"), CASES)
    def test_braces_and_nodes(self, name, show):
        drawing = figure(PROGRAMS[name], show)
        text = drawing.tikz()
        bare = re.sub(r"\\[{}]", "", text)
        assert bare.count("{") == bare.count("}")
        assert text.isascii()
        nodes = re.findall(r"^\\node\[(?:vertex|wide|box|end)", text, re.MULTILINE)
        assert len(nodes) == len(drawing.picture.vertices)
        legend = sum(tone != "text" for tone, _ in drawing.picture.legend)
        assert text.count("\\draw[") == len(drawing.picture.edges) + legend

    @pytest.mark.skipif(not shutil.which("pdflatex"), reason="needs pdflatex")
    def test_it_compiles(self, tmp_path):
        files = [path for path in gallery(tmp_path) if path.suffix == ".tex"]
        named = figure(PROGRAMS["network"], "adjoints").save(tmp_path / "network.tex")
        for path in [*files, named]:
            command = ["pdflatex", "-interaction=batchmode", "-halt-on-error", path.name]
            done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
            assert done.returncode == 0, path.with_suffix(".log").read_text()[-2000:]

    def test_formulas(self):
        assert to_latex("v̄2 = x1 × α^2") == r"\bar{v}_{2} = x_{1} \times \alpha ^{2}"
        assert to_latex("1,000 steps") == r"1{,}000\ \mathrm{steps}"
        assert to_latex("w_hidden") == r"w_{\mathrm{hidden}}"
        assert to_latex("x^(-2) + x^(y - 1)") == "x^{-2} + x^{y - 1}"
        assert to_latex("= [1e-05, 2.5e+10]") == r"= [10^{-5}, 2.5 \times 10^{10}]"


def followed(text, names):
    """Follow every line of a drawing in letters back from its arrowhead; return the edges."""
    rows = text.split("\n")
    grid = {(r, c): letter for r, row in enumerate(rows) for c, letter in enumerate(row)}
    sides, right = {}, {}
    for name in names:
        r = next(i for i, row in enumerate(rows) if re.search(rf"│ {name} +[│├]", row))
        at = re.search(rf"│ {name} +[│├]", rows[r])
        for step in (-1, 1):
            row = r
            while grid[row, at.start()] in "│├":
                sides[row, at.start()] = name
                right[row, at.end() - 1] = name
                row += step
    edges = []
    for (r, c), letter in grid.items():
        if letter == "▶":
            edges.append((origin(grid, right, (r, c)), sides[r, c + 1]))
    return sorted(edges)


WAYS = {"─": "lr", "│": "ud", "┌": "rd", "┐": "ld", "└": "ru", "┘": "lu"}
WAYS |= {"├": "udr", "┤": "udl", "┬": "lrd", "┴": "lru", "┼": "lrud"}
MOVES = {"l": (0, -1), "r": (0, 1), "u": (-1, 0), "d": (1, 0)}
OPPOSITE = {"l": "r", "r": "l", "u": "d", "d": "u"}


def origin(grid, right, tip):
    found, seen, stack = set(), set(), [(tip, "l")]
    while stack:
        (r, c), way = stack.pop()
        at = (r + MOVES[way][0], c + MOVES[way][1])
        if (at, way) in seen or grid.get(at, " ") in " ▶":
            continue
        seen.add((at, way))
        if at in right:
            found.add(right[at])
        elif grid[at] == "│" and way in "lr":  # it passes below
            stack.append((at, way))
        else:
            stack += [(at, new) for new in WAYS[grid[at]] if new != OPPOSITE[way]]
    assert len(found) == 1, found
    return found.pop()


class TestSketch:
    @pytest.mark.parametrize("seed", range(60))
    def test_every_line_can_be_followed(self, seed):
        picture = graph(seed, 5 + seed % 20)
        names = [vertex.name for vertex in picture.vertices]
        edges = sorted((edge.tail, edge.head) for edge in picture.edges)
        assert followed(sketch(picture), names) == edges

    @pytest.mark.parametrize(("name", "show"), CASES)
    def test_every_name_and_number_is_there(self, name, show):
        drawing = figure(PROGRAMS[name], show)
        for vertex in drawing.picture.vertices:
            shown = [show_minus(line.text) for line in (vertex.face, *vertex.below)]
            assert all(text in drawing.text() for text in shown)

    def test_accents_do_not_move_the_frame(self):
        lines = figure(example(), "tangents").text().split("\n")
        for row, line in enumerate(lines):
            plain = line.replace("\u0307", "")
            if "v̇5" in line:
                assert len(plain.rstrip()) == len(lines[row - 2].rstrip())

    def test_the_new_node_has_a_double_frame(self):
        stages = figure(example(), "construction")
        assert "║ log" in stages[1].text()
        assert "║" not in stages[0].text()


class TestFigure:
    def test_a_notebook_gets_svg_and_text(self):
        bundle = figure(example())._repr_mimebundle_()
        assert set(bundle) == {"image/svg+xml", "text/plain"}
        assert figure(example(), "construction")._repr_mimebundle_()["text/html"].count("<svg") == 6

    def test_a_node_can_be_drawn(self):
        x = ad.Node(2.0)
        assert drawn(figure(ad.sin(x) * x).picture) == {("x1", "v1"), ("x1", "v2"), ("v1", "v2")}

    def test_arrays_show_their_shape(self):
        picture = figure(PROGRAMS["network"], "plain").picture
        assert below(picture)["weights"] == ["(3, 4)"]
        assert "= 5 × 4 numbers" in below(figure(PROGRAMS["network"]).picture)["v1"]

    def test_arrays_that_fit_show_their_elements_a_matrix_row_by_row(self):
        w, x = np.array([[0.125, -1.25, 2.75], [3.5, 4.25, 1 / 3]]), np.array([1.0, 2.0, -3.0])
        drawing = figure(ad.trace(lambda w, x: np.sum(w @ x), w, x), "adjoints")
        rows = ["[[0.125, -1.25, 2.75],", "[3.5, 4.25, 0.333]]"]
        adjoint = "w̄ = [[1, 2, -3], [1, 2, -3]]"
        assert below(drawing.picture)["w"] == [f"= {rows[0]}", rows[1], adjoint]
        lines = drawing.text().replace("−", "-").splitlines()
        first, second = (next(line for line in lines if row in line) for row in rows)
        assert first.index("[0.125") == second.index("[3.5")
        assert f"w = {' '.join(rows)}, {adjoint}" in list_edges(drawing.picture).replace("−", "-")

    def test_pointing_at_a_node_tells_its_numbers_where_they_are_counted(self):
        picture = figure(ad.trace(lambda x: np.sum(x**2), np.arange(12.0)), "adjoints").picture
        assert below(picture)["x"] == ["= 12 numbers", "x̄ = 12 numbers"]
        (hint,) = [vertex.hint for vertex in picture.vertices if vertex.name == "x"]
        whole = ", ".join(map(str, range(12))), ", ".join(map(str, range(0, 24, 2)))
        assert hint == f"float64(12,) [{whole[0]}]\nx̄ = float64(12,) [{whole[1]}]"

    def test_values_that_are_symbols(self):
        sympy = pytest.importorskip("sympy")
        a, b = sympy.symbols("a b")
        drawing = figure(ad.trace(lambda x, y: ad.log(x) * y, a, b), "adjoints")
        ET.fromstring(drawing.svg())
        assert below(drawing.picture)["x"][-1] == "x̄ = b/a"

    def test_saving_asks_for_a_known_ending(self, tmp_path):
        with pytest.raises(ad.ArgumentError, match=r"\.svg, \.tex, \.txt"):
            figure(example()).save(tmp_path / "figure.jpg")
        assert figure(example()).save(tmp_path / "a.txt").read_text("utf-8").startswith(" ")

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"show": "values2"}, "show is one of"),
            ({"show": "order", "wrt": "x9"}, "there is no 'x9'"),
            ({"show": "adjoints", "output": "q"}, "there is no 'q'"),
            ({"fold": "banana"}, "by is one of"),
        ],
    )
    def test_what_there_is_not_is_refused(self, options, message):
        with pytest.raises(ad.ArgumentError, match=message):
            figure(example(), **options)


# --- names and local derivatives --------------------------------------------------------------


def with_names(x1, x2):
    product = x1 * x2
    return ad.log(x1) + product - ad.sin(x2)


def random_program(seed):
    choose = random.Random(seed)

    def f(x, y):
        made = [x, y]
        for _ in range(12):
            operation = choose.choice((ad.sin, ad.exp, lambda a: a * choose.choice(made)))
            step = operation(choose.choice(made[-5:])) - choose.choice(made)
            made.append(step)
        return made[-1]

    return ad.trace(f, 0.5, 0.25)


def slopes_on(figure):
    return sorted(v.face.text for v in figure.picture.vertices if v.shape == "label")


@pytest.mark.parametrize("show", ["plain", "values", "tangents", "adjoints", "reachable", "order"])
def test_edges_have_their_local_derivatives(show):
    drawn = ad.figure(ad.trace(with_names, 2.0, 5.0), show, edges="derivatives")
    cosine = f"cos(x2) = {math.cos(5.0):.3f}"
    expected = ["1 / x1 = 0.5", "x2 = 5", "x1 = 2", cosine, "1", "1", "1", "-1"]
    assert slopes_on(drawn) == sorted(expected)
    heads = [edge.head for edge in drawn.picture.edges if not edge.bare and not edge.back]
    assert not any("→" in head.removeprefix("→") for head in heads)  # a label has no arrowhead
    assert cosine in drawn.text()
    assert "0.284" in drawn.svg()
    assert r"\cos x_{2} = 0.284" in drawn.tikz()


def test_each_argument_has_an_edge_and_a_derivative_of_its_own():
    drawn = ad.figure(ad.trace(lambda x: x * x, 3.0), edges="derivatives")
    assert slopes_on(drawn) == ["x = 3", "x = 3"]


def test_what_was_not_chosen_has_the_derivative_zero_and_an_array_its_quotient():
    drawn = ad.figure(ad.trace(lambda x, y: ad.maximum(x, y), 3.0, 1.0), edges="derivatives")
    assert slopes_on(drawn) == ["0", "1"]
    drawn = ad.figure(ad.trace(lambda w: np.sum(w @ w), np.ones(3)), edges="derivatives")
    assert "∂v1/∂w" in slopes_on(drawn)


def test_your_names_stand_below_the_numbered_ones():
    traced = ad.trace(with_names, 2.0, 5.0)
    for form, own in (("svg", ">product<"), ("tikz", r"\texttt{product}"), ("text", "│ product")):
        assert own in ad.figure(traced, names="both").to(form)
        assert own not in ad.figure(traced).to(form)
    last = ad.figure(traced, names="both")
    below = {v.name: [line.text for line in v.below] for v in last.picture.vertices}
    assert below["v1"][-1] == "product"
    assert below["v2"][-1] == "= 0.693"


@pytest.mark.parametrize("seed", range(8))
def test_no_label_lies_on_anything_else(seed):
    drawn = ad.figure(random_program(seed), edges="derivatives", names="both")
    boxes = []
    for vertex in drawn.picture.vertices:
        (x, y), (wide, up, down) = drawn.layout.positions[vertex.name], vertex.extent
        boxes.append((x - wide, y - up, x + wide, y + down))
    for i, (left, top, right, bottom) in enumerate(boxes):
        for a, b, c, d in boxes[:i]:
            assert right <= a or c <= left or bottom <= b or d <= top


def test_boxes_and_constructions_are_drawn_with_derivatives_too():
    def loop(x):
        for _ in range(100):
            x = ad.sin(x) * 2
        return x * x

    assert slopes_on(ad.figure(ad.trace(loop, 0.5), edges="derivatives")) == []
    stages = ad.figure(ad.trace(with_names, 2.0, 5.0), "construction", edges="derivatives")
    seen = [sum(v.shape == "label" for v in stage.picture.visible) for stage in stages]
    assert seen[0] == 0
    assert seen == sorted(seen)
    assert seen[-1] == 8
    assert stages[2].svg() != stages[-1].svg()


def test_other_choices_are_refused():
    traced = ad.trace(with_names, 2.0, 5.0)
    with pytest.raises(ad.ArgumentError, match="names is 'numbered' or 'both'; got 'mine'"):
        ad.figure(traced, names="mine")
    with pytest.raises(ad.ArgumentError, match="edges is 'plain' or 'derivatives'; got 'no'"):
        ad.figure(traced, edges="no")


@pytest.mark.slow
def test_derivatives_of_a_long_loop_are_drawn_folded():
    def newton(x):
        y = x
        for _ in range(5000):
            y = 0.5 * (y + x / y)
        return y

    traced = ad.trace(newton, 2.0)
    for show in ("tangents", "adjoints"):
        drawn = ad.figure(traced, show).svg()
        assert "0.354" in drawn  # the derivative of the square root at 2
        assert len(drawn) < 20_000  # a few boxes for 15,001 nodes


def test_a_figure_can_show_both_sweeps():
    """Values, tangents and adjoints of the paper's example, at each node."""
    drawn = below(figure(example(), "both").picture)
    assert drawn["v4"] == ["= v1 + v2", "= 10.693", "v̇4 = 5.5", "v̄4 = 1"]
    assert drawn["x2"] == ["= 5", "ẋ2 = 0", "x̄2 = 1.716"]
    assert "= 10.693147" in below(figure(example(), digits=6).picture)["v4"]


def test_page_and_figures_have_one_colour_for_each_sweep():
    style, drawn = read_asset("explorer.css"), figure(example(), "both").svg()
    for sweep, tone in (("forward", "tangent"), ("reverse", "adjoint")):
        light, dark = re.findall(rf"--{sweep}: (#\w+);", style)[:2]
        assert re.search(rf"{tone}[^}}]*{light}", drawn), tone
        assert re.search(rf"{tone}[^}}]*{dark}", drawn), tone


def test_a_function_in_place_of_a_program_is_refused_also_if_show_has_its_name():
    for options in ({}, {"show": "values"}, {"show": "gradient"}):
        with pytest.raises(ad.ArgumentError, match="figure shows one run of f: write figure"):
            ad.figure(lambda x, y: x * y, 1.0, 2.0, **options)
    program = ad.trace(lambda x: ad.sin(x), 1.0)
    assert str(ad.figure(program, show="plain")) == str(ad.figure(program, "plain"))
    with pytest.raises(ad.ArgumentError, match="say the rest by name"):
        ad.figure(program, "plain", show="plain")


def test_a_figure_says_where_a_nan_arises_and_that_it_has_no_derivative():
    with pytest.warns(ad.DomainWarning):
        program = ad.trace(lambda x: ad.sqrt(ad.sin(x)) * 2, -1.0)
    arises = "nan arises at v2: sqrt(−0.841) is not a real number."
    missing = "y is nan: it has no derivative here, only the numbers that the rules compute."
    for show, said in [("values", arises), ("tangents", missing), ("adjoints", missing)]:
        drawing = figure(program, show)
        assert drawing.text().splitlines()[-1] == said
        assert drawing.text(width=20).splitlines()[-1] == said
        assert re.sub("<[^>]*>", "", drawing.svg()).strip().endswith(said)
        assert said.replace("−", "$-$") in drawing.tikz()
    assert "nan" not in figure(ad.trace(lambda x: ad.sqrt(x), 1.0)).text()


def test_a_list_of_arrows_has_the_minus_signs_of_the_drawing():
    drawing = figure(ad.trace(lambda x, y: x - ad.sin(y), -2.0, -1.0), "values")
    listed = drawing.text(width=10)
    assert "v2 = x − v1 = −2 − (−0.841) = −1.159" in listed
    assert "-" not in listed


def test_a_list_of_arrows_has_shapes_as_numpy_writes_them():
    program = ad.trace(lambda A, x: np.sum(A @ x), np.ones((2, 3)), np.ones(3))
    assert figure(program, "plain").text(width=10).splitlines() == [
        "A, (2, 3) ─▶ v1",
        "x, (3,) ─▶ v1",
        "v1, (2,) ─▶ v2",
        "v2 ─▶ y = f(A, x)",
    ]


def test_accents_stand_on_letters_of_the_figures_own_font():
    """Few fonts have ẋ as one sign; a converter would take that letter from another font."""
    program = ad.trace(lambda x, y: x * y, 2.0, 3.0)
    drawn = program.figure(show="both").svg()
    assert not set("ẋẏȳ") & set(drawn)
    assert drawn.count("x\u0307") == drawn.count("y\u0307") == 1
    assert drawn.count("x\u0304") == drawn.count("y\u0304") == 1


def test_a_figure_says_how_it_is_looked_at():
    drawn = ad.figure(ad.trace(lambda x: x * x, 2.0))
    assert repr(drawn).startswith("<Figure 'Values in the computational graph': print it")
