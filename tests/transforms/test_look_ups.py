"""Look-ups by value inside a derivative, and nodes and symbols that are kept after it."""

import functools

import numpy as np
import pytest

import simpleautodiff as ad
from simpleautodiff.compiled.recording.symbols import Symbol


@functools.lru_cache
def remembered(x):
    return x * x


BY_HASH = {
    "dict": lambda x: {2.0: 5.0}.get(x, 1.0) * x,
    "set": lambda x: x if x in {2.0} else 3 * x,
    "cache": remembered,
    "key": lambda x: {x: x}[x] * 2,
    "tuple": lambda x: {(x, 1): x}.get((2.0, 1), 0.0) + x,
    "union": lambda x: sum(set([2.0]) | {x}),
}
BY_COMPARISON = {  # the function, and its slope at 2
    "list": (lambda x: x if x in [1.0, 2.0] else 3 * x, 1.0),
    "index": (lambda x: x * [1.0, 2.0].index(x), 1.0),
    "count": (lambda x: x * [2.0, 1.0, 2.0].count(x), 2.0),
    "dict values": (lambda x: x * 5 if x in {"a": 2.0}.values() else x, 5.0),
    "array": (lambda x: x * 7 if x == np.array([2.0]) else x, 7.0),
}
DERIVATIVES = {
    "grad": lambda f: ad.grad(f)(2.0),
    "jvp": lambda f: ad.jvp(f, (2.0,), (1.0,))[1],
    "second": lambda f: ad.grad(ad.grad(f))(2.0),
    "taylor": lambda f: ad.derivative(f, 3)(2.0),
    "vjp": lambda f: ad.vjp(f, 2.0)[1](1.0)[0],
    "checkpoint": lambda f: ad.grad(ad.checkpoint(f))(2.0),
    "vmap": lambda f: ad.vmap(f)(np.array([2.0, 3.0])),
    "jit": lambda f: [ad.jit(ad.grad(f), tier="tape")(2.0) for _ in range(2)],
    "trace": lambda f: ad.trace(f, 2.0),
    "source": lambda f: ad.source(ad.grad(f), 2.0),
}


@pytest.mark.parametrize("way", DERIVATIVES)
@pytest.mark.parametrize("name", BY_HASH)
def test_a_look_up_by_hash_is_refused_inside_a_derivative(name, way):
    with pytest.raises(ad.errors.LostDerivativeError, match="compare it: x == 2"):
        DERIVATIVES[way](BY_HASH[name])


@pytest.mark.parametrize("name", BY_HASH)
def test_compiled_without_a_derivative_it_is_that_of_plain_numbers(name):
    f = BY_HASH[name]
    compiled = ad.jit(f)
    for x in (2.0, 2.0, 2.0, 3.0, 2.0):
        assert compiled(x) == f(x)


@pytest.mark.parametrize("name", BY_COMPARISON)
def test_a_look_up_by_comparison_goes_by_the_number(name):
    f, slope = BY_COMPARISON[name]
    for way in ("grad", "jvp", "vjp"):
        assert DERIVATIVES[way](f) == slope
    compiled = ad.jit(f)
    for x in (2.0, 2.0, 2.0, 1.0, 2.0):
        assert compiled(x) == f(x)


def test_nodes_typed_by_hand_are_known_one_by_one():
    x, y = ad.Node(2.0), ad.Node(2.0)
    assert {x: "x", y: "y"}[y] == "y"
    assert ad.grad(lambda z: ad.reverse(ad.Node(z) * 3.0)[ad.Node(1.0)] + z)(2.0) == 1.0


class Kept:
    """Run functions that keep what they are given."""

    def __init__(self):
        self.nodes = []

    def keep(self, x):
        self.nodes.append(x)
        return x * x

    def symbol(self, run):
        for _ in range(4):
            run()
        return next(x for x in self.nodes if isinstance(x, Symbol))


USES = {
    "+": lambda k: k + 1,
    "reflected": lambda k: 1 - k,
    "np.sin": np.sin,
    "sum": np.sum,
    "ad.exp": ad.exp,
    "comparison": lambda k: k > 0,
    "itself": lambda k: k * k,
    "argmax": np.argmax,
    "grad": lambda k: ad.grad(lambda y: np.sum(y * k))(2.0),
    "jvp": lambda k: ad.jvp(lambda y: y * k, (2.0,), (1.0,)),
    "vmap": lambda k: ad.vmap(lambda y: y * k)(np.ones(2)),
    "vmap of it alone": lambda k: ad.vmap(lambda y: k)(np.ones(2)),
    "jit": lambda k: ad.jit(lambda y: y * k)(2.0),
    "jit of it alone": lambda k: ad.jit(lambda y: {"a": [k]})(2.0),
    "argument": lambda k: ad.jit(lambda y: y * 2)(k),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("value", [3.0, np.ones(3)], ids=["number", "array"])
def test_a_symbol_that_was_kept_is_refused(use, value):
    kept = Kept()
    compiled = ad.jit(lambda x: np.sum(kept.keep(x)))
    symbol = kept.symbol(lambda: compiled(value))
    with pytest.raises(ad.errors.TraceError, match="Do not keep"):
        USES[use](symbol)


@pytest.mark.parametrize(
    "use", ["grad", "jvp", "vmap", "vmap of it alone", "jit", "jit of it alone"]
)
@pytest.mark.parametrize("way", ["grad", "jvp", "vmap"])
def test_a_node_that_was_kept_is_refused_by_the_next_derivative(use, way):
    kept = Kept()
    DERIVATIVES[way](kept.keep)
    with pytest.raises(ad.errors.TraceError, match="Do not keep"):
        USES[use](kept.nodes[0])
