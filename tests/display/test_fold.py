"""Folding: large programs in few boxes, nothing lost, nothing in a circle, and back again."""

import xml.etree.ElementTree as ET

import numpy as np
import pytest

import simpleautodiff as ad
from simpleautodiff.display.figures.figure import figure
from simpleautodiff.display.folding.fold import fold, unfold_all


def layer(weight, x):
    product = weight * x
    return ad.tanh(product)


def newton(x):
    y = x
    for _ in range(2500):
        y = 0.5 * (y + x / y)
    return y


def nested(x):
    total = 0.0
    for _ in range(100):
        for _ in range(30):
            x = ad.sin(x)
        total = total + x
        total = total * x
    return total


def irregular(x):
    total = x
    for choice in np.random.default_rng(1).integers(2, size=600):
        total = total + ad.sin(x)
        if choice:
            total = total * x
            x = x / 2
        total = ad.tanh(total)
    return total


def straight(x):
    """Apply a function at random, again and again: nothing repeats."""
    chance = np.random.default_rng(0)
    steps = [x, x * 2]
    for choice, where in zip(chance.integers(4, size=4000), chance.random(4000), strict=True):
        a = steps[int(where * len(steps))]
        b = steps[-1]
        steps.append([ad.sin(a) + b, a * 0.5 - b, a + b, ad.cos(b)][choice])
    return steps[-1]


def summed(xs):
    return sum(layer(2.0, x) for x in xs)


LARGE = {
    "newton": ad.trace(newton, 2.0),
    "nested": ad.trace(nested, 0.5),
    "irregular": ad.trace(irregular, 0.5),
    "straight": ad.trace(straight, 0.5),
    "summed": ad.trace(summed, [0.1] * 500),
}
WAYS = ("auto", "call", "line", "loop")


def true_edges(program):
    return {(p, node) for node in program.nodes for p in node.parent_nodes}


class TestFewBoxes:
    def test_ten_thousand_steps_of_a_loop_in_under_a_second(self):
        program = ad.trace(newton, 2.0)
        extended = ad.trace(lambda x: newton(newton(x)), 2.0)
        assert len(extended) > 10_000
        folded = fold(extended)
        drawing = figure(folded)
        drawing.svg()
        assert len(folded) < 50
        assert str(fold(program)).split("\n")[1] == "loop@v1 (×2,500, 7,500 steps)"

    @pytest.mark.parametrize("by", WAYS)
    @pytest.mark.parametrize("name", LARGE)
    def test_always_fewer_than_fifty(self, name, by):
        assert len(fold(LARGE[name], by)) < 50

    @pytest.mark.parametrize("by", WAYS)
    @pytest.mark.parametrize("name", LARGE)
    def test_every_step_is_in_one_box_and_no_box_waits_for_itself(self, name, by):
        folded = fold(LARGE[name], by)
        nodes = [node for box in folded.boxes for node in box.nodes]
        assert len(nodes) == len(set(nodes)) == len(LARGE[name])
        place = {id(box): i for i, box in enumerate(folded.boxes)}
        assert all(place[id(tail)] < place[id(head)] for tail, head in folded.edges)
        expected = {
            (folded.name(folded.owner[a]), folded.name(folded.owner[b]))
            for a, b in true_edges(LARGE[name])
            if folded.owner[a] is not folded.owner[b]
        }
        assert {(folded.name(a), folded.name(b)) for a, b in folded.edges} == expected

    def test_names_are_different(self):
        for program in LARGE.values():
            folded = fold(program)
            assert len({folded.name(box) for box in folded.boxes}) == len(folded)

    def test_a_small_program_is_left_as_it_is(self):
        program = ad.trace(lambda x, y: layer(x, y) * layer(y, x), 1.0, 2.0)
        assert all(box.single for box in fold(program).boxes)
        assert [folded.nodes[0] for folded in fold(program).boxes] == program.nodes


class TestWhatIsFolded:
    def test_by_call_every_call_has_a_box(self):
        program = ad.trace(lambda w, x: layer(w, layer(w, x)) + w, 0.5, 2.0)
        titles = [box.title for box in fold(program, "call").boxes if not box.single]
        assert titles == ["layer()", "layer()"]

    def test_calls_inside_calls(self):
        def block(w, x):
            return layer(w, x) + layer(x, w)

        program = ad.trace(lambda w, x: block(w, x) * 2.0, 0.5, 2.0)
        folded = fold(program, "call")
        assert [box.title for box in folded.boxes if not box.single] == ["block()"]
        opened = folded.unfold("call@v1")
        assert [box.title for box in opened.boxes if not box.single] == ["layer()", "layer()"]

    def test_by_line(self):
        def f(x):
            a = ad.sin(x) * 2.0 + x
            return ad.exp(a) / a

        folded = fold(ad.trace(f, 1.0), "line")
        assert [box.title for box in folded.boxes[1:]] == [
            "a = ad.sin(x) * 2.0 + x",
            "return ad.exp(a) / a",
        ]

    def test_a_loop_in_a_loop(self):
        folded = fold(LARGE["nested"])
        loops = [box for box in folded.boxes if box.kind == "loop"]
        assert loops[0].times in (99, 100)  # the first 0.0 + x may be told apart
        inner = [box for box in folded.unfold(loops[0]).boxes if box.kind == "loop"]
        assert inner[0].times == 30

    def test_a_loop_whose_passes_differ(self):
        folded = fold(LARGE["irregular"])
        assert [box.times for box in folded.boxes if box.kind == "loop"] == [600]

    def test_many_inputs_are_one_box(self):
        first = fold(LARGE["summed"]).boxes[0]
        assert first.title == "xs[0] … xs[499]"

    def test_two_calls_of_one_function_are_not_taken_for_one(self):
        program = ad.trace(lambda x: layer(2.0, layer(2.0, layer(2.0, x))), 0.1)
        assert len({program.calls[node][-1].number for node in program.nodes[1:]}) == 3
        assert all(program.calls[node][-1].function == "layer" for node in program.nodes[1:])


class TestUnfolding:
    @pytest.mark.parametrize("by", WAYS)
    def test_unfolding_everything_gives_the_program(self, by):
        def f(x, y):
            for i in range(12):
                for _ in range(3):
                    x = layer(x, y) * x
                y = y + x if i % 3 else y - layer(y, y)
            return x * y

        program = ad.trace(f, 0.1, 0.2)
        folded = fold(program, by)
        while any(not box.single for box in folded.boxes):
            folded = folded.unfold(next(box for box in folded.boxes if not box.single))
        assert len(folded) == len(program)
        names = program.names
        expected = [(names[p], names[node]) for node in program.nodes for p in node.parent_nodes]
        found = [(folded.name(a), folded.name(b)) for a, b in folded.edges]
        assert sorted(found) == sorted(expected)

    def test_a_loop_becomes_first_rest_last(self):
        folded = fold(LARGE["newton"]).unfold("loop@v1")
        assert [box.times for box in folded.boxes if box.kind == "loop"] == [2498]
        nodes = [node for box in folded.boxes for node in box.nodes]
        assert len(set(nodes)) == len(LARGE["newton"])

    def test_a_box_that_there_is_not(self):
        with pytest.raises(ad.ArgumentError, match="there are: loop@v1"):
            fold(LARGE["newton"]).unfold("loop@v7")

    def test_a_folded_program_is_drawn_in_every_way(self):
        folded = fold(LARGE["nested"])
        for show in ("plain", "values", "tangents", "adjoints", "reachable", "order"):
            drawing = figure(folded, show)
            ET.fromstring(drawing.svg())
            assert "×" in drawing.text()
            assert "\\node[box" in drawing.tikz()
        assert len(figure(folded, "construction")) == 1 + sum(
            box.kind != "input" for box in folded.boxes
        )

    def test_numbers_of_a_folded_program_are_those_of_the_program(self):
        def f(x):
            for _ in range(40):
                x = ad.sin(x)
            return x * 2.0

        picture = figure(ad.trace(f, 1.0), "adjoints").picture
        first = next(v for v in picture.vertices if v.name == "x")
        # The derivative of sin applied 40 times, by the chain rule.
        slope, value = 2.0, 1.0
        for _ in range(40):
            slope *= np.cos(value)
            value = np.sin(value)
        assert first.below[-1].text == f"x̄ = {slope:.3g}"

    def test_unfolded_keeps_the_numbering(self):
        program = LARGE["irregular"]
        assert [box.nodes[0] for box in unfold_all(program).boxes] == program.nodes


def test_a_notebook_gets_a_drawing():
    folded = ad.fold(ad.trace(lambda x: ad.sin(x) * x, 2.0))
    bundle = folded._repr_mimebundle_(include=None, exclude=None)
    assert bundle["image/svg+xml"] == ad.figure(folded).svg()
    assert bundle["text/plain"] == "x\nv1\nv2"
