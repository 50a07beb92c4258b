"""Random numbers with nodes as parameters: plain draws, shifted and scaled where that is exact.

`rng.normal(mu, sigma)` is mu + sigma z with a plain z, so its derivatives are 1 and z; and
`rng.permutation(x)` takes the elements of x from places that are drawn as x would be permuted. The
generators here draw the same numbers as those they replace, into arrays that can be written to.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np

from simpleautodiff.arrays.registry import is_batch
from simpleautodiff.arrays.writes.versions import as_made
from simpleautodiff.core.level import Traced, Written, take_current
from simpleautodiff.rules.array.indexing import getitem
from simpleautodiff.rules.array.shapes import reshape, shape_of

# By method: its parameters with their defaults, and the draw in terms of standard draws.
# `z(name)` draws numbers of a standard distribution, in the shape of the result.
Draw = Callable[..., Any]
_DRAWS: dict[str, Draw] = {
    "normal": lambda z, loc=0.0, scale=1.0: loc + scale * z("standard_normal"),
    "uniform": lambda z, low=0.0, high=1.0: low + (high - low) * z("uniform"),
    "exponential": lambda z, scale=1.0: scale * z("standard_exponential"),
    "laplace": lambda z, loc=0.0, scale=1.0: loc + scale * z("laplace"),
    "logistic": lambda z, loc=0.0, scale=1.0: loc + scale * z("logistic"),
    "gumbel": lambda z, loc=0.0, scale=1.0: loc + scale * z("gumbel"),
    "rayleigh": lambda z, scale=1.0: scale * z("rayleigh"),
    "lognormal": lambda z, mean=0.0, sigma=1.0: np.exp(mean + sigma * z("standard_normal")),
    "weibull": lambda z, a: z("standard_exponential") ** (1.0 / a),
    "pareto": lambda z, a: np.expm1(z("standard_exponential") / a),
}
_CHOOSING = ("permutation", "permuted", "choice", "shuffle")  # methods that draw from an array


def _is_node(x: Any) -> bool:
    return isinstance(x, (Traced, Written))


class MovedDraws:
    """A random generator whose parameters may be nodes; it wraps another, which draws."""

    def __init__(self, generator: Any) -> None:
        self.generator = generator

    def __getattr__(self, name: str) -> Any:
        original = getattr(self.generator, name)
        if name in _CHOOSING:
            return partial(_make, partial(_choose, original))
        if name in _DRAWS:
            return partial(_make, partial(self._draw, original, _DRAWS[name]))
        return partial(_make, original) if _draws(original) else original

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return type(self.generator)

    def _draw(self, original: Any, draw: Draw, *args: Any, **kwargs: Any) -> Any:
        names = [*inspect.signature(draw).parameters][1:]
        given = dict(zip((*names, "size"), args, strict=False)) | kwargs
        if not any(map(_is_node, given.values())) or any(map(is_batch, given.values())):
            return original(*args, **kwargs)  # it refuses a batch, as draws differ between examples
        size = given.pop("size", None)
        if size is None and any(shape_of(x) for x in given.values()):
            size = np.broadcast_shapes(*[shape_of(x) for x in given.values()])
        return draw(lambda standard: getattr(self.generator, standard)(size=size), **given)


def _draws(what: Any) -> bool:
    """Tell whether an attribute of a generator is called to draw: a function, but not a class."""
    return callable(what) and not isinstance(what, type)


def _make(draw: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Draw an array that nodes can be written to."""
    return as_made(draw(*args, **kwargs), args)


def _choose(original: Any, *args: Any, **kwargs: Any) -> Any:
    """Draw indices with the generator, and take the elements of a node at these indices.

    What moves elements draws the same numbers for places as for the elements.
    """
    given: Any = args[0] if args else None
    x = take_current(given)
    if not _is_node(x) or is_batch(x) or not shape_of(x) or kwargs.get("out") is not None:
        return original(*args, **kwargs)
    places = np.arange(math.prod(shape_of(x))).reshape(shape_of(x))
    drawn = original(places, *args[1:], **kwargs)
    moved = getitem(reshape(x, (-1,)), places if drawn is None else drawn)
    if drawn is not None:
        return moved
    given.writable()[...] = moved  # shuffled in place
    return None


def stand_in_for(value: Any) -> Any:
    """Return a replacement of a generator that takes nodes; None for anything else."""
    kinds = (np.random.Generator, np.random.RandomState)
    return MovedDraws(value) if type(value) in kinds else None


def stand_ins_for_random() -> dict[int, Any]:
    """Return replacements of np.random, its functions and its generators, by id of the original."""
    module, moved = ModuleType("numpy.random"), MovedDraws(np.random)
    vars(module).update(vars(np.random))
    replaced = [name for name in np.random.__all__ if _draws(getattr(np.random, name))]
    vars(module).update({name: getattr(moved, name) for name in replaced})
    for name in ("default_rng", "RandomState"):
        make = getattr(np.random, name)
        setattr(module, name, lambda *args, make=make, **how: MovedDraws(make(*args, **how)))
    changed = (*replaced, "default_rng", "RandomState")
    return {id(np.random): module} | {
        id(getattr(np.random, name)): getattr(module, name) for name in changed
    }
