"""Derivatives as source code: it runs, and it agrees to the last bit."""

import ast
import importlib.util
import math
import pickle
import re
import struct
import warnings
from fractions import Fraction

import numpy as np
import pytest

import array_cases as cases
import simpleautodiff as ad
from simpleautodiff.values.pytree import flatten


def paper(x1, x2):
    return ad.log(x1) + x1 * x2 - ad.sin(x2)


def bits(tree):
    """Return every number of a result by its kind and its bytes."""
    return [_bits(leaf) for leaf in flatten(tree)[0]]


def _bits(leaf):
    if isinstance(leaf, float) and not isinstance(leaf, np.generic):
        return "float", struct.pack("d", leaf)
    array = np.asarray(leaf)
    return str(array.dtype), array.shape, array.tobytes()


def statements(text):
    """Return the assignments of the only function that is not a helper."""
    tree = ast.parse(str(text))
    function = next(n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == text.name)
    return [ast.unparse(n) for n in function.body if not isinstance(n, ast.Expr)]


def test_the_papers_example_line_by_line():
    text = ad.source(ad.grad(paper, (0, 1)), 2.0, 5.0)
    assert statements(text) == [
        "v5_bar = 1.0",
        "v4_bar = v5_bar",
        "v3_bar = -v5_bar",
        "x2_bar = v3_bar * math.cos(x2)",
        "v1_bar = v4_bar",
        "v2_bar = v4_bar",
        "x1_bar = v2_bar * x2",
        "x2_bar = x2_bar + v2_bar * x1",
        "x1_bar = x1_bar + v1_bar * (1 / x1)",
        "return (x1_bar, x2_bar)",
    ]
    assert "# from v2 = x1 × x2" in str(text)
    assert text.function()(2.0, 5.0) == ad.grad(paper, (0, 1))(2.0, 5.0)


def test_the_value_comes_with_the_papers_names():
    text = ad.source(ad.value_and_grad(paper), 2.0, 5.0)
    assert statements(text)[:5] == [
        "v1 = math.log(x1)",
        "v2 = x1 * x2",
        "v3 = math.sin(x2)",
        "v4 = v1 + v2",
        "v5 = v4 - v3",
    ]
    assert bits(text.function()(2.0, 5.0)) == bits(ad.value_and_grad(paper)(2.0, 5.0))


def test_forward_mode_has_dots():
    text = ad.source(ad.derivative(paper), 2.0, 5.0)
    assert statements(text) == [
        "x1_dot = 1.0",
        "v1_dot = 1 / x1 * x1_dot",
        "v2_dot = x2 * x1_dot",
        "v4_dot = v1_dot + v2_dot",
        "v5_dot = v4_dot",
        "return v5_dot",
    ]
    assert r"\dot{v}_{4} &= \dot{v}_{1} + \dot{v}_{2}" in text.latex
    assert text.function()(2.0, 5.0) == ad.derivative(paper)(2.0, 5.0) == 5.5
    assert "x2_dot" in str(ad.source(ad.derivative(paper, argnums="x2"), 2.0, 5.0))


def loop(x):
    for _ in range(5):
        x = x * ad.sin(x) if x > 1 else x + 0.5
    return x


SCALARS = [
    paper,
    lambda x, y: ad.exp(-x) / (1 + ad.sqrt(y)) ** 3,
    lambda x, y: ad.tanh(x) * ad.sigmoid(y) + ad.softplus(x) - ad.relu(y - 3),
    lambda x, y: ad.maximum(x, y) * ad.minimum(x, 2) + ad.clip(x, 0.0, 1.5),
    lambda x, y: x**y + y**2 + 2**x + abs(-x) - x % y + x // y,
    lambda x, y: ad.atan2(x, y) * ad.hypot(x, y) + ad.log1p(x) * ad.expm1(y),
    lambda x, y: ad.where(x < 3, x * y, ad.sqrt(y)) + ad.floor(x) * y,
    lambda x, y: ad.erf(x) + ad.lgamma(y) + ad.gamma(x) * ad.cbrt(y) - ad.log2(x) / ad.log10(y),
    lambda x, y: ad.stop_gradient(x) * y + loop(x) + ad.square(x + y) + ad.reciprocal(y),
    lambda x, y: x * x * x - x - x,
    lambda x, y: (x + y) * (x + y) / (x + y),
    lambda x, y: ad.grad(lambda z: z**3 * y)(x),
    lambda v1, v2: v1 * v2 + v1,
]


@pytest.mark.parametrize("f", SCALARS)
@pytest.mark.parametrize("kind", [float, np.float64, np.float32, int])
def test_scalars_agree_to_the_last_bit(f, kind):
    args = (kind(2), kind(5)) if kind is int else (kind(1.7), kind(4.3))
    for made in (ad.grad(f), ad.grad(f, (0, 1)), ad.value_and_grad(f, 1), ad.derivative(f), f):
        assert bits(ad.source(made, *args).function()(*args)) == bits(made(*args))


@pytest.mark.parametrize("f", SCALARS[:2] + SCALARS[5:6])
def test_without_branches_it_is_right_everywhere(f):
    text = ad.source(ad.grad(f, (0, 1)), 2.0, 5.0).function()
    for x, y in ((0.3, 0.7), (11.0, 1e-3), (5.0, 2.0)):
        assert bits(text(x, y)) == bits(ad.grad(f, (0, 1))(x, y))


def halve(x, n):
    """Count on a number that the result does not depend on."""
    while n > 1:
        n = n / 2
        x = x * 1.5
    return x


BRANCHES = {  # a function, a point, others on the same path, others on another path
    "if": (lambda x: x * x if x > 0 else -x, 3.0, (0.5, 7.0), (-1.0, 0.0, math.nan)),
    "else": (lambda x: x * x if x > 0 else -x, -3.0, (-0.5, 0.0, math.nan), (1.0,)),
    "max": (lambda x: max(x, 2.0) * x, 3.0, (2.5,), (1.0,)),
    "sorted": (lambda x: sorted([x, x * x, 2.0])[0] * x, 1.5, (1.7,), (0.5, 3.0)),
    "equal": (lambda x: x if x == 2 else x * x, 2.0, (2.0,), (2.1,)),
    "in a list": (lambda x: x if x in [1.0, 2.0] else x * x, 3.0, (4.0,), (1.0, 2.0)),
    "while": (lambda x: halve(x, x * x), 3.0, (3.5,), (2.0, 4.5)),
    "inside": (lambda x: ad.grad(lambda y: y**3 if y > 1 else y)(x) * x, 3.0, (2.0,), (0.5,)),
    "relu": (ad.relu, 3.0, (2.0,), (-2.0,)),
    "clip": (lambda x: ad.clip(x, 0.0, 1.0) * x, 0.5, (0.7,), (1.5, -1.0)),
    "where": (lambda x: ad.where(x > 0, x * x, -x), 3.0, (2.0,), (-2.0,)),
    "numpy": (lambda x: np.where(np.less(x, 4), x * x, -x), 3.0, (2.0,), (5.0,)),
}
WAYS = {
    "grad": ad.grad,
    "derivative": ad.derivative,
    "second": lambda f: ad.grad(ad.grad(f)),
    "value_and_grad": ad.value_and_grad,
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", BRANCHES)
def test_another_branch_is_refused(name, way):
    f, point, same, others = BRANCHES[name]
    made = WAYS[way](f)
    text = ad.source(made, point).function()
    for x in (point, *same):
        assert bits(text(x)) == bits(made(x))
    for x in others:
        with pytest.raises(ValueError, match="take another branch"):
            text(x)


def test_a_test_of_a_branch_is_written_before_what_only_its_branch_can_do():
    text = ad.source(ad.grad(lambda x: ad.log(x) if x > 0 else x), 3.0)
    assert statements(text)[0].startswith("if not x > 0:")
    with pytest.raises(ValueError, match="take another branch"):
        text.function()(-1.0)
    assert "another branch" not in text.latex


def test_another_shape_is_refused():
    text = ad.source(ad.grad(np.mean), np.ones(3)).function()
    np.testing.assert_array_equal(text(np.zeros(3)), np.full(3, 1 / 3))
    for other in (np.ones(4), np.ones((3, 1)), 1.0):
        with pytest.raises(ValueError, match="have another shape"):
            text(other)


def test_numbers_that_only_decide_are_computed_in_the_text():
    text = ad.source(ad.grad(halve, 0), 3.0, 100.0)
    assert text.function()(2.0, 80.0) == ad.grad(halve)(2.0, 80.0) == 1.5**7
    with pytest.raises(ValueError, match="take another branch"):
        text.function()(2.0, 50.0)


A = np.linspace(-1, 1, 12).reshape(3, 4)
B = np.linspace(0.2, 0.9, 8).reshape(4, 2)
ARRAYS = [
    lambda a, b: np.sum(np.tanh(a @ b) ** 2),
    lambda a, b: np.mean(a) * np.var(b) + np.std(a[1]),
    lambda a, b: np.sum(np.where(a > 0, a, np.exp(a))) + np.max(b) * np.min(a, axis=0)[1],
    lambda a, b: np.sum(a[:, :2] * b.T[0, 1:3]) + np.sum(a[[0, 0, 2]]),
    lambda a, b: np.sum(np.cumsum(a, axis=1) * np.roll(a, 1, axis=0)) + a[0, 1] * b[-1, 0],
    lambda a, b: np.einsum("ij,jk->", a, b) + np.linalg.norm(b) + np.prod(b[:, 1]),
    lambda a, b: np.linalg.det(b.T @ b) + np.sum(np.linalg.inv(b.T @ b)),
    lambda a, b: np.log(np.sum(np.exp(a + b[:, 0]))) - np.sum(np.logaddexp(a, 0.5)),
    lambda a, b: (
        np.sum(np.concatenate([a.ravel(), b.ravel()]) ** 3) + np.sum(np.sort(b, axis=0)[1])
    ),
    lambda a, b: np.sum(np.abs(np.fft.fft(a[0])) ** 2) + np.sum(np.outer(a[0], b[:, 0])),
    lambda a, b: (
        np.sum(np.clip(a, -0.5, 0.5) * np.maximum(a, 0.1)) + np.trace(a @ b @ np.ones((2, 3)))
    ),
]


@pytest.mark.parametrize("f", ARRAYS)
@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_arrays_agree_to_the_last_bit(f, kind):
    args = A.astype(kind), B.astype(kind)
    for made in (ad.grad(f, (0, 1)), ad.value_and_grad(f)):
        found, wanted = ad.source(made, *args).function()(*args), made(*args)
        for ours, theirs in zip(flatten(found)[0], flatten(wanted)[0], strict=True):
            assert np.asarray(ours).dtype == np.asarray(theirs).dtype
            np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize(("name", "f", "x"), cases.CASES, ids=[case[0] for case in cases.CASES])
def test_every_function_of_arrays_can_be_written_shown_and_explained(name, f, x):
    total = lambda x: np.sum(f(x) * 0.75)
    wanted = ad.grad(total)(x)
    np.testing.assert_array_equal(ad.source(ad.grad(total), x).function()(x), wanted)
    t = ad.trace(total, x)
    np.testing.assert_allclose(t.adjoints()["x"], wanted, rtol=1e-9, atol=1e-12)
    for table in (t.values(), t.tangents(), t.adjoints()):
        assert all(row.result or row.folded for row in table.rows)
        assert table.to("latex").count("{") == table.to("latex").count("}")
    for step in t.steps[-3:]:
        assert t.explain(step.name).endswith(".")


def test_large_constants_stand_at_the_top():
    data = np.linspace(0, 1, 40)
    text = ad.source(ad.grad(lambda w: np.sum((w * data - 1) ** 2)), 0.5)
    assert str(text).count("C1 = np.frombuffer") == 1
    assert len(max((s for s in statements(text)), key=len)) < 100
    np.testing.assert_array_equal(
        text.function()(0.5), ad.grad(lambda w: np.sum((w * data - 1) ** 2))(0.5)
    )


def test_a_network_on_structures():
    def loss(p, x):
        hidden = np.tanh(x @ p["w"][0] + p["b"])
        return np.mean((hidden @ p["w"][1]) ** 2)

    p = {"w": [B, np.array([0.5, -0.25])], "b": np.array([0.1, 0.2])}
    text = ad.source(ad.grad(loss), p, A)
    found, wanted = text.function()(p, A), ad.grad(loss)(p, A)
    assert found.keys() == wanted.keys()
    for ours, theirs in zip(flatten(found)[0], flatten(wanted)[0], strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert "p_w_0 = p['w'][0]" in str(text)
    assert "# hidden" in str(text)
    assert "return {'w': [p_w_0_bar, p_w_1_bar], 'b': p_b_bar}" in str(text)


def test_other_derivatives_are_straight_lines_too():
    f = lambda x: ad.sin(x) * x**2
    for made in (
        ad.derivative(f, 2),
        lambda x: ad.jvp(f, (x,), (1.0,)),
        lambda x: ad.vjp(f, x)[1](1.0),
        lambda x: ad.hvp(f, (x,), (1.0,)),
        ad.grad(ad.grad(f)),
    ):
        text = ad.source(made, 0.7).function()
        assert bits(text(0.7)) == bits(made(0.7))
        assert bits(text(1.9)) == bits(made(1.9))
    hessian = ad.hessian(lambda x: x[0] ** 3 * x[1])
    text = ad.source(hessian, [2.0, 5.0]).function()
    assert text([2.0, 5.0]) == hessian([2.0, 5.0]) == [[60.0, 12.0], [12.0, 0.0]]


def test_other_kinds_of_numbers():
    f = lambda x: x**3 / (1 + x)
    assert ad.source(ad.grad(f), Fraction(1, 3)).function()(Fraction(1, 3)) == ad.grad(f)(
        Fraction(1, 3)
    )
    z = 1 + 2j
    assert ad.source(ad.grad(lambda z: z**2), z).function()(z) == ad.grad(lambda z: z**2)(z)


def test_inf_and_nan_are_those_of_the_library():
    f = lambda x: 1 / x + ad.where(x < 1, x, ad.sqrt(x))
    with pytest.warns(ad.DomainWarning):
        wanted = ad.grad(f)(0.0)
    with pytest.warns(ad.DomainWarning):
        text = ad.source(ad.grad(f), 0.0).function()
    with pytest.warns(ad.DomainWarning):
        found = text(0.0)
    assert found == wanted == -math.inf


def test_the_text_is_a_module_that_can_be_imported(tmp_path):
    text = ad.source(ad.grad(ARRAYS[3], (0, 1)), A, B)
    file = tmp_path / "written.py"
    file.write_text(str(text), encoding="utf-8")
    spec = importlib.util.spec_from_file_location("written", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for ours, theirs in zip(
        getattr(module, text.name)(A, B), ad.grad(ARRAYS[3], (0, 1))(A, B), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)


def test_imports_are_only_those_that_are_used():
    text = str(ad.source(ad.grad(paper), 2.0, 5.0))
    assert "import" not in text
    assert str(ad.source(ad.grad(lambda x: ad.sin(x)), 2.0)).startswith("import math\n")


def test_results_that_are_inputs_or_constants():
    f = lambda x, y: (x, 3.0, y * 2)
    assert ad.source(f, 1.0, 2.0).function()(1.0, 2.0) == (1.0, 3.0, 4.0)
    assert ad.source(ad.grad(lambda x: x), 2.0).function()(2.0) == 1.0
    assert ad.source(ad.grad(lambda x, y: y), 2.0, 3.0).function()(2.0, 3.0) == 0.0


def test_source_can_be_pickled():
    text = ad.source(ad.grad(paper, (0, 1)), 2.0, 5.0)
    again = pickle.loads(pickle.dumps(text))
    assert (str(again), again.latex) == (str(text), text.latex)
    assert again.function()(2.0, 5.0) == text.function()(2.0, 5.0)


def test_latex_has_a_line_for_each_statement():
    latex = ad.source(ad.grad(paper, (0, 1)), 2.0, 5.0).to("latex")
    assert latex.startswith(r"\begin{align*}")
    assert r"\bar{x}_{2} &= \bar{x}_{2} + \bar{v}_{2} \times x_{1} \\" in latex
    assert r"\bar{x}_{2} &= \bar{v}_{3} \times \cos x_{2} \\" in latex
    assert latex.count("&=") == 9
    assert latex.count(r"\\") == 8  # between lines: after the last one it would make an empty one


def test_simplified_through_sympy():
    sympy = pytest.importorskip("sympy")
    text = ad.source(ad.grad(paper, (0, 1)), 2.0, 5.0, simplify=True)
    assert text.function()(2.0, 5.0) == pytest.approx((5.5, 2 - math.cos(5)), rel=1e-15)
    f = lambda x: ad.sin(x) ** 2 + ad.cos(x) ** 2 + x * x
    simple = ad.source(ad.grad(f), 3.0, simplify=True)
    x = sympy.Symbol("x", real=True)
    assert sympy.sympify(statements(simple)[-1].removeprefix("return "), {"x": x}) == 2 * x
    assert simple.latex == "2 x"
    with pytest.raises(ad.ArgumentError, match="single numbers"):
        ad.source(ad.grad(ARRAYS[0]), A, B, simplify=True)


def test_names_can_be_given():
    f = lambda *xs: xs[0] * xs[1]
    assert "def grad_of_lambda(*xs):" in str(ad.source(ad.grad(f), 2.0, 5.0))
    text = ad.source(ad.grad(f), 2.0, 5.0, names=["speed", "time"])
    assert "def grad_of_lambda(speed, time):" in str(text)
    assert text.function()(2.0, 5.0) == 5.0


def test_formats_and_notebooks():
    text = ad.source(ad.grad(paper), 2.0, 5.0)
    assert text.to("python") == text.to("text") == str(text)
    assert text.to("html").startswith("<pre")
    assert text._repr_mimebundle_()["text/plain"] == str(text)
    with pytest.raises(ad.ArgumentError, match="one of python"):
        text.to("c")


def test_large_indices_have_names_at_the_top():
    rows, columns = np.arange(40) % 7, np.arange(40) % 3

    def chosen(x):
        return np.sum(x[rows, columns] ** 2) + np.sum(x[rows] ** 3)

    x = np.linspace(-1.0, 2.0, 21).reshape(7, 3)
    for g in (chosen, ad.grad(chosen)):
        text = ad.source(g, x)
        assert "base64" not in str(text).rpartition("def ")[2]
        assert str(text).count("b64decode") == 2
        # A sum of several adjoints may be added up in another order.
        np.testing.assert_allclose(text.function()(x), g(x), rtol=1e-14)


def test_what_cannot_be_written_is_refused():
    @ad.primitive(lambda v, x: 2 * x)
    def own(x):
        return x * x

    with pytest.raises(ad.ArgumentError, match="own is a primitive of your own"):
        ad.source(lambda x: own(x) * 3, 2.0)
    with pytest.raises(ad.ArgumentError, match="a function is needed"):
        ad.source(3.0)
    with pytest.raises(ad.ResultError, match="jacobian"):
        ad.source(ad.grad(lambda x: [x, x]), 2.0)


@pytest.mark.slow
def test_a_long_loop_is_written_in_time_that_grows_with_its_length():
    def f(x):
        for _ in range(2000):
            x = ad.sin(x) + x * 0.5
        return x

    text = ad.source(ad.grad(f), 0.3)
    assert bits(text.function()(0.3)) == bits(ad.grad(f)(0.3))


def test_without_a_point_every_parameter_gets_a_number():
    f = lambda x1, x2: ad.log(x1) + x1 * x2 - ad.sin(x2)
    assert ad.source(ad.grad(f)).function()(2.0, 5.0) == 5.5


def hinge(x):
    return np.sum(np.where(x > 0, x * x, -x))


def safe_root(x):
    return np.sum(np.where(x > 0, np.sqrt(x), x * 3.0))


def between(x):
    return np.sum(np.where((x > -1) & ~(x >= 1.5) | (x == 7.0), ad.sin(x), x * x))


def of_two(x):
    y = x * x
    return np.sum(np.where(y > x, np.minimum(x, 0.3) * y, np.maximum(y, x)))


def spread(x):
    return np.sum(np.where(x[:1] > 0, x, 2.0 * x) * np.clip(x, -1.0, 1.0))


def changed(x):
    mask = x > 0
    first = np.where(mask, x, 0.0)
    mask[:] = True
    return np.sum(first * np.where(mask, x, 2.0))


class TestConditions:
    """A text that was written at one point asks at another one again."""

    @pytest.mark.parametrize(
        "f", [hinge, safe_root, between, of_two, spread, ad.relu, ad.absolute, changed]
    )
    @pytest.mark.parametrize("transform", [lambda f: f, ad.grad])
    def test_it_holds_elsewhere(self, f, transform):
        derivative = transform(lambda x: np.sum(f(x) * 1.0))
        here, there = np.array([1.0, -2.0, 0.2, 0.0]), np.array([-0.5, 3.0, 7.0, 1.7])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            text = ad.source(derivative, here)
            made = text.function()
            for x in (here, there):
                np.testing.assert_array_equal(made(x), derivative(x), strict=True)
        assert "dtype='bool'" not in str(text) or f is changed

    def test_what_is_asked_is_written(self):
        text = ad.source(ad.grad(hinge), np.array([1.0, -2.0]))
        assert "np.where(x > 0, " in str(text)
        assert "# from v3 = where(x > 0, v1, v2)" in str(text)
        assert r"\text{ if } x > 0 \text{ else }" in text.latex
        assert "sum(v3)" in str(text)

    def test_the_size_of_complex_numbers(self):
        def f(z):
            return np.sum(np.abs(z) ** 3)

        made = ad.source(ad.grad(f), np.array([3 + 4j, 0j])).function()
        there = np.array([0j, 1 - 2j])
        np.testing.assert_array_equal(made(there), ad.grad(f)(there), strict=True)


@pytest.mark.parametrize(
    ("f", "call"),
    [
        (lambda x: np.multiply.accumulate(x, 0) ** 2, "np.multiply.accumulate(x, "),
        (lambda x: np.prod(x, axis=1, keepdims=True) ** 2 * x, "np.prod(x, axis=1, keepdims=True)"),
        (lambda x: np.linalg.svdvals(x) ** 3, "np.linalg.svdvals(x)"),
        (lambda x: np.linalg.multi_dot([x, x.T, x]) ** 2, "np.linalg.multi_dot([x, "),
        (lambda x: np.linalg.slogdet(x @ x.T)[1] ** 2, "np.linalg.slogdet("),
    ],
)
def test_values_that_numpy_rounds_otherwise_are_its_own_elsewhere(f, call):
    here = np.random.default_rng(1).normal(size=(4, 6))
    there = np.random.default_rng(2).normal(size=(4, 6))
    total = lambda x: np.sum(f(x) * 0.75)
    for function in (total, ad.grad(total)):
        text = ad.source(function, here)
        assert call in str(text)
        np.testing.assert_array_equal(text.function()(here), function(here), strict=True)
        np.testing.assert_allclose(text.function()(there), function(there), rtol=1e-11)
        assert text.latex.count("{") == text.latex.count("}")


@pytest.mark.parametrize("settings", [{}, {"lower": False}, {"driver": "ev"}])
def test_eigenvectors_as_scipy_finds_them(settings):
    linalg = pytest.importorskip("scipy.linalg")
    x = np.array([[2.0, 0.3, 0.1], [0.3, 5.0, 0.2], [0.1, 0.2, 9.0]])
    values = lambda a: np.sum(linalg.eigh(a, eigvals_only=True, **settings) ** 2)
    vectors = lambda a: np.sum(linalg.eigh(a, **settings)[1] ** 3 * x)
    for f in (values, vectors, ad.grad(values), ad.grad(vectors)):
        text = ad.source(f, x)
        assert "scipy.linalg.eigh(" in str(text)
        for a in (x, x + np.diag([1.0, 3.0, 2.0])):
            np.testing.assert_array_equal(text.function()(a), f(a), strict=True)


def test_fourier_transforms_are_those_of_numpy():
    def f(x):
        z = np.fft.fft(x) * np.fft.ifft(x * x)
        return np.sum(np.fft.irfft(np.fft.rfft(x, norm="ortho")) * np.abs(z).real)

    x = np.array([1.0, -2.0, 3.0, 0.5])
    text = ad.source(ad.grad(f), x)
    assert "simpleautodiff" not in str(text)
    assert {"np.fft.fft(", "np.fft.ifft(", "np.fft.rfft(", "np.fft.irfft("} <= set(
        re.findall(r"np\.fft\.\w+\(", str(text))
    )
    np.testing.assert_array_equal(text.function()(x), ad.grad(f)(x), strict=True)


WEIGHTS = np.array([1.0, 10.0, 100.0])

# functions whose way depends on the numbers, without a comparison of single ones
ASKING = {
    "sort": lambda x: np.sum(np.sort(x) * WEIGHTS),
    "argsort": lambda x: np.sum(x[np.argsort(x)] * WEIGHTS),
    "partition": lambda x: np.sum(np.partition(x, 1)[:1] ** 2),
    "lexsort": lambda x: np.sum(x[np.lexsort((x,))] * WEIGHTS),
    "argmax": lambda x: x[np.argmax(x)] ** 2,
    "method": lambda x: x[x.argmin()] ** 2,
    "max": lambda x: np.max(x) ** 2,
    "median": lambda x: np.median(x) ** 2,
    "percentile": lambda x: np.percentile(x, 30) ** 2,
    "any": lambda x: np.sum(x**2) if np.any(x < 0) else np.sum(x),
    "all": lambda x: np.sum(x**2) if (x > 0).all() else np.sum(x),
    "element": lambda x: np.sum(x**2) if (x > 0)[1] else np.sum(x),
    "in": lambda x: np.sum(x**2) if 3.0 in x else np.sum(x),
    "isclose": lambda x: np.sum(x**2) if np.isclose(x[0], 3.0) else np.sum(x),
    "array_equal": lambda x: np.sum(x) if np.array_equal(x, [3.0, 1.0, 2.0]) else np.sum(x**2),
    "isnan": lambda x: np.sum(x) if np.isnan(np.log(x)).any() else np.sum(x**2),
    "nonzero": lambda x: np.sum(x[np.nonzero(x > 0)] ** 2),
    "where": lambda x: np.sum(x[np.where(x > 0)] ** 2),
    "extract": lambda x: np.sum(np.extract(x > 0, x) ** 2),
    "compress": lambda x: np.sum(np.compress(x > 0, x) ** 2),
    "mean of some": lambda x: np.mean(x[x > 0] ** 2),
    "count": lambda x: np.sum(x) * np.count_nonzero(x > 0),
    "sum": lambda x: np.sum(x) * np.sum(x > 0),
    "numbers": lambda x: np.sum((x > 0).astype(float) * x),
    "constants": lambda x: np.sum(np.where(x > 0, 1.0, 2.0) * x),
    "factor": lambda x: np.sum((x > 0) * x),
    "searchsorted": lambda x: np.sum(x) * np.searchsorted([0.0, 1.5], x[0]),
    "digitize": lambda x: np.sum(x * np.digitize(x, [0.0, 1.5])),
    "isin": lambda x: np.sum(x * np.isin(x, [3.0])),
    "interp": lambda x: np.sum(np.interp(x, [-3.0, 0.0, 1.5, 4.0], [0.0, 1.0, 5.0, 2.0])),
    "piecewise": lambda x: np.sum(np.piecewise(x, [x < 0, x >= 0], [np.square, np.exp])),
    "select": lambda x: np.sum(np.select([x < 0, x > 2], [x**2, x**3], x)),
    "clip": lambda x: np.sum(np.clip(x, -1, 2) ** 2),
    "fmod": lambda x: np.sum(np.fmod(x, 2.5) ** 2),
    "heaviside": lambda x: np.sum(x * np.heaviside(x, 0.5)),
    "rank": lambda x: np.sum(x) * np.linalg.matrix_rank(np.diag(np.maximum(x, 0.0))),
}


def differs_elsewhere(made, function, x):
    """Tell whether the text gives other numbers than the function does, and does not refuse."""
    try:
        found = made(x)
    except ValueError as error:
        return "another branch" not in str(error)
    return not np.allclose(found, function(x), rtol=1e-13, atol=0, equal_nan=True)


TIMES = {
    "itself": lambda f: f,
    "once": ad.grad,
    "twice": lambda f: ad.grad(lambda x: np.sum(ad.grad(f)(x) ** 2)),
}


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize("times", TIMES)
@pytest.mark.parametrize("name", ASKING)
def test_what_numbers_decide_is_asked_again(name, times):
    """Elsewhere the text gives the function's numbers, or refuses them; never others."""
    function, here = TIMES[times](ASKING[name]), np.array([3.0, 1.0, 2.0])
    made = ad.source(function, here).function()
    np.testing.assert_array_equal(made(here), function(here))
    for there in ([3.5, 1.25, 2.5], [1.0, -2.0, 3.5], [-1.0, 2.0, 2.0], [0.1, 0.2, 0.3]):
        assert not differs_elsewhere(made, function, np.array(there))


def test_the_same_way_is_taken_elsewhere():
    for name in ("sort", "argmax", "any", "median", "mean of some", "searchsorted", "max"):
        function = ad.grad(ASKING[name])
        made = ad.source(function, np.array([3.0, 1.0, 2.0])).function()
        x = np.array([3.5, 1.25, 2.5])
        np.testing.assert_allclose(made(x), function(x), rtol=1e-13)


@pytest.mark.parametrize("options", [{}, {"policy": ad.checkpoint_policies.dots_saveable}])
def test_the_steps_of_a_checkpointed_call_are_written(options):
    f = lambda x, y: ad.sin(x * y) * x
    checkpointed = ad.checkpoint(f, **options)
    for times in (lambda f: f, lambda f: ad.grad(f, (0, 1)), ad.derivative):
        made = ad.source(times(checkpointed), 2.0, 3.0).function()
        assert bits(made(0.5, 1.5)) == bits(times(f)(0.5, 1.5))


@pytest.mark.parametrize(
    ("f", "is_general"),
    [
        (lambda x: np.sum(x**2, where=x > 0), True),
        (lambda x: np.prod(x**2, where=~(x < 0)), True),
        (lambda x: np.mean(x, where=x > 0), False),  # the count belongs to a branch
        (lambda x: x[0] * np.sum(np.array([1.0, 10.0, 100.0]), where=x > 0), False),
    ],
)
def test_elements_that_a_condition_selects(f, is_general):
    x = np.array([1.0, -2.0, 3.0])
    for g in (f, ad.grad(f)):
        again = ad.source(g, x).function()
        np.testing.assert_allclose(again(2 * x), g(2 * x), rtol=1e-14)
        if is_general:
            np.testing.assert_allclose(again(-x), g(-x), rtol=1e-14)
        else:
            with pytest.raises(ValueError, match="another branch"):
                again(-x)
