"""The stepper: every step forward and back, breakpoints, and the keys of the terminal."""

import io
import math
import os
import pty
import warnings

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import simpleautodiff as ad
from simpleautodiff.display.explorer.page_data import make_document
from simpleautodiff.display.stepper.stepper import Stepper
from simpleautodiff.display.stepper.terminal import interact


def paper(x1, x2):
    return ad.log(x1) + x1 * x2 - ad.sin(x2)


def snapshot(s):
    return s.position, list(s.values.items()), list(s.visited), s.order, list(s.derivatives.items())


def test_forward_order_is_the_papers_depth_first_search():
    s = ad.step(paper, 2, 5)
    s.next(len(s))
    x1, x2 = ad.Node(2), ad.Node(5)
    y = ad.sub(ad.add(ad.log(x1), ad.mul(x1, x2)), ad.sin(x2))
    names = s.program.names
    by_operator = {node.operator: name for node, name in names.items() if node.primitive}
    expected = [by_operator.get(node.operator, "x1") for node in ad.topological_order(x1)]
    assert s.order == expected == ["x1", "v2", "v1", "v4", "v5"]
    assert y.value == s.values["v5"]


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_stepping_to_the_end_equals_the_sweep(mode):
    s = ad.step(paper, 2, 5, mode=mode)
    s.next(10_000)
    assert s.done
    expected = s.program.tangents("x1") if mode == "forward" else s.program.adjoints()
    assert s.result() == expected
    assert s.result()["v5" if mode == "forward" else "x1"] == 5.5


@pytest.mark.parametrize("mode", ["forward", "reverse"])
@pytest.mark.parametrize(
    ("f", "at"), [(paper, (2, 5)), (lambda a: np.sum(a**2), (np.array([1.0, 2.0]),))]
)
def test_a_sweep_begins_in_steps_and_on_the_page_as_in_its_table(f, at, mode):
    t = ad.trace(f, *at)
    table = t.tangents(t.names[t.inputs[0]]) if mode == "forward" else t.adjoints()
    name, symbols = (cell.text for cell in table.rows[0].cells[:2])
    steps = ad.step(f, *at, mode=mode)
    while steps.next().kind != "seed":
        pass
    said = steps.tell(steps.event)
    assert said == f"{name} = {symbols}" + ("" if symbols == "all ones" else " = 1")
    sweeps = [sweep for sweep in make_document(t)["sweeps"] if sweep["mode"] == mode]
    assert sweeps[0]["seed"] == symbols


def test_both_modes_agree_with_grad():
    f = lambda a, b, c: ad.exp(a * b) / (1 + c * c) - ad.sqrt(b) * a
    expected = ad.grad(f, argnums=(0, 1, 2))(0.3, 1.7, -0.4)
    s = ad.step(f, 0.3, 1.7, -0.4, mode="reverse")
    s.run()
    assert [s.result()[n] for n in "abc"] == pytest.approx(expected, rel=1e-14)
    for name, slope in zip("abc", expected, strict=True):
        s = ad.step(f, 0.3, 1.7, -0.4, wrt=name)
        s.run()
        assert s.result()[s.program.names[s.program.outputs[0]]] == pytest.approx(slope, rel=1e-14)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_some_steps_on_and_as_many_back_restore_the_state(data):
    mode = data.draw(st.sampled_from(["forward", "reverse"]))
    s = ad.step(paper, 2.0, 5.0, mode=mode, wrt=data.draw(st.sampled_from(["x1", "x2"])))
    s.next(data.draw(st.integers(0, len(s))))
    before = snapshot(s)
    n = data.draw(st.integers(0, len(s) - s.position))
    s.next(n)
    s.back(n)
    assert snapshot(s) == before


def test_undoing_everything_leaves_nothing():
    s = ad.step(paper, 2, 5, mode="reverse")
    s.next(len(s))
    s.rewind()
    assert snapshot(s) == (0, [], [], [], [])
    assert s.back() is None


def test_an_accumulated_adjoint_goes_back_to_its_former_sum():
    s = ad.step(lambda x: x * x, 3.0, mode="reverse")
    s.next(len(s))
    assert s.derivatives["x"] == 6
    s.back()
    assert s.derivatives["x"] == 3


def test_breakpoint_on_a_node_stops_in_every_phase():
    s = ad.step(paper, 2, 5)
    s.stop(node="v4")
    met = []
    while not s.done:
        event = s.run()
        met.append((event.phase, event.kind, event.name))
    assert met[:-1] == [
        ("build", "value", "v4"),
        ("order", "visit", "v4"),
        ("order", "place", "v4"),
        ("sweep", "tangent", "v4"),
    ]


def three_lines(x):
    a = ad.exp(x)
    b = a * a
    return b - x


def test_breakpoint_on_a_source_line_by_number_and_by_text():
    number = three_lines.__code__.co_firstlineno + 2
    for line in (number, "b = a * a"):
        s = ad.step(three_lines, 1.0)
        s.stop(line=line)
        assert s.run().name == "v2"


def test_breakpoint_on_a_threshold_for_values_and_derivatives():
    s = ad.step(lambda x: ad.exp(x) * 100, 1.0)
    s.stop(over=100)
    assert (s.run().name, s.run().kind) == ("v2", "tangent")
    s = ad.step(lambda x: (1e-3 * x) ** 2 * 1e6, np.array([1e-3, -2.0]), mode="reverse")
    s.stop(over=3.9)
    assert s.run().phase == "build"


def test_breakpoint_on_nan():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        s = ad.step(lambda x: ad.log(x) + x, -1.0)
    s.stop(nan=True)
    event = s.run()
    assert event.name == "v1"
    assert math.isnan(event.number)


def test_unknown_nodes_and_modes_are_refused():
    s = ad.step(paper, 2, 5)
    with pytest.raises(ad.ArgumentError, match="no 'v9' here"):
        s.stop(node="v9")
    with pytest.raises(ad.ArgumentError, match="no step is on the line 9999"):
        s.stop(line=9999)
    with pytest.raises(ad.ArgumentError, match="say where to stop"):
        s.stop()
    assert s.breakpoints == []
    with pytest.raises(ad.ArgumentError, match="'sideways'"):
        ad.step(paper, 2, 5, mode="sideways")


def test_a_stepper_is_stepped_by_keys(monkeypatch, capsys):
    s = ad.step(three_lines, 1.0)
    monkeypatch.setattr("sys.stdin", io.StringIO("nnpq"))
    s.interact()
    assert s.position == 1
    assert "[2/16] build: v1 = exp(x)" in capsys.readouterr().out


def test_arrays_are_stepped_through():
    def loss(w, x):
        return np.sum(np.tanh(x @ w) ** 2)

    x = np.arange(6.0).reshape(3, 2) / 10
    w = np.array([0.5, -0.25])
    s = ad.step(loss, w, x, mode="reverse")
    s.run()
    np.testing.assert_allclose(s.result()["w"], ad.grad(loss)(w, x), rtol=1e-14)
    s = ad.step(loss, w, x)
    s.run()
    assert s.derivatives["v4"] == pytest.approx(np.sum(ad.grad(loss)(w, x)), rel=1e-14)
    assert "float64(2,) [0.5, −0.25]" in str(s)


def test_every_step_can_be_told():
    for mode in ("forward", "reverse"):
        s = ad.step(paper, 2, 5, mode=mode)
        lines = []
        while not s.done:
            lines.append(s.tell(s.next()))
        assert "v5 = v4 − v3 = 10.693 − (−0.959) = 11.652" in lines
        forward, reverse = "v̇4 = v̇1 + v̇2 = 0.5 + 5 = 5.5", "x̄1 = x̄1 + v̄1 / x1 = 5 + 1 / 2 = 5.5"
        assert (forward if mode == "forward" else reverse) in lines


@pytest.mark.slow
def test_ten_thousand_nodes_are_stepped_in_seconds():
    def loop(x):
        for _ in range(5000):
            x = ad.sin(x) * 1.001
        return x

    s = ad.step(loop, 0.5, mode="reverse")
    s.next(len(s))
    assert s.result()["x"] == pytest.approx(ad.grad(loop)(0.5), rel=1e-12)


def typed(keys, s=None):
    screen = io.StringIO()
    s = interact(s or ad.step(paper, 2, 5), io.StringIO(keys), screen)
    return s, screen.getvalue()


def test_keys_step_on_and_back():
    s, text = typed("n\nn\nn\np\nq\n")
    assert s.position == 2
    assert "[3/22] build: v1 = log(x1) = log(2) = 0.693" in text


def test_keys_continue_rewind_and_say_where():
    s, text = typed("cwrq")
    assert s.position == 0
    assert "order: x1 v2 v1 v4 v5" in text


def test_keys_set_breakpoints():
    s, text = typed("b v4\ncq")
    assert s.event.name == "v4"
    s, text = typed("b > 10.5\nc")
    assert s.event.name == "v4"
    s, text = typed("b line return\ncq")
    assert s.event.name == "v1"
    s, text = typed("b v77\nb\nb nan\nq")
    assert "no breakpoint: there is no 'v77' here" in text
    assert "c stops at: nan" in text


def test_the_end_of_the_input_ends_the_stepping():
    assert typed("nn")[0].position == 2


def test_keys_past_the_end_and_unknown_keys_say_so():
    _, text = typed("cnx")
    assert "That was the last step" in text
    assert text.count("q  quit") == 2


def test_single_keys_and_arrows_in_a_real_terminal():
    master, slave = pty.openpty()
    with open(slave) as keys:
        os.write(master, b"nn \x1b[C\x1b[Dq")
        s = interact(ad.step(paper, 2, 5), keys, io.StringIO())
    os.close(master)
    assert s.position == 3


def test_a_program_made_by_hand_can_be_stepped():
    x1, x2 = ad.Node(2), ad.Node(5)
    y = x1 * x2 + ad.sin(x1)
    s = Stepper(ad.Program(ad.execution_order(y)), "reverse")
    s.run()
    assert s.result()["x1"] == ad.reverse(y)[x1]


def test_a_notebook_gets_a_table_of_what_is_known():
    stepper = ad.step(lambda x: ad.sin(x) * x, 2.0, mode="reverse")
    assert "<td>" not in stepper._repr_mimebundle_()["text/html"]
    stepper.run()
    bundle = stepper._repr_mimebundle_(include=None, exclude=None)
    assert "<tr><td>v1</td><td>0.909</td><td>2</td></tr>" in bundle["text/html"]
    assert "<p>order: x v1 v2</p>" in bundle["text/html"]
    assert bundle["text/plain"] == str(stepper)


@pytest.mark.parametrize(
    ("f", "named"),
    [(lambda x, z: x * z, "of y, which is v1"), (lambda x, y: x * y, "of z, which is v1")],
)
def test_a_reverse_sweep_is_headed_by_the_name_of_the_result(f, named):
    screen = io.StringIO()
    interact(ad.step(f, 2, 3, mode="reverse"), io.StringIO("q"), screen)
    assert screen.getvalue().startswith(f"build, order, reverse sweep {named}: ")


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_keys_tell_of_a_nan_where_it_arises_and_where_the_sweep_begins(mode):
    with pytest.warns(ad.DomainWarning):
        s = ad.step(lambda x: ad.sqrt(ad.sin(x)) * 2, -1.0, mode=mode)
    screen = io.StringIO()
    interact(s, io.StringIO("n" * len(s)), screen)
    lines = screen.getvalue().splitlines()
    below = {lines[i - 1]: line.strip() for i, line in enumerate(lines) if line[:2] == "  "}
    assert [said for head, said in below.items() if "v2 = sqrt" in head] == [
        "nan arises here: sqrt(−0.841) is not a real number."
    ]
    assert [said for head, said in below.items() if "v3 = v2" in head] == ["nan comes from v2."]
    (seed,) = [head for head, said in below.items() if said.startswith("y is nan")]
    assert f"{mode} sweep" in seed
    s.rewind()
    s.next(3)
    assert "nan arises here" in str(s)
    assert "<p>nan arises here" in s._repr_mimebundle_()["text/html"]
