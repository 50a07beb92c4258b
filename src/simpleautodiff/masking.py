"""Adjoints some of whose elements are structural zeros: carried back, fitted, added."""

from __future__ import annotations

from typing import Any

import numpy as np

from simpleautodiff.linear import ZERO, Linear, Masked, pull
from simpleautodiff.node import Node
from simpleautodiff.rules.piecewise import where
from simpleautodiff.rules.shapes import fit, shape_of


def pulled_masked(node: Node, k: int, adjoint: Masked, *values: Any) -> Any:
    """Carry back an adjoint some of whose elements are structural zeros, and keep them so."""
    assert node.primitive is not None
    with np.errstate(all="ignore"):  # what happens where nothing counts is nobody's business
        derivative = node.primitive.partial(k, node.value, values)
    if isinstance(derivative, Linear) and derivative.moves:
        return _moved(adjoint, derivative.pull)
    if derivative is ZERO or isinstance(derivative, Linear):
        pulled = pull(derivative, adjoint.array)
        both = type(pulled) is Masked and pulled.keep.shape == adjoint.keep.shape
        return Masked(pulled.array, pulled.keep & adjoint.keep) if both else pulled
    if shape_of(derivative) == adjoint.keep.shape:
        derivative = where(adjoint.keep, derivative, 0)
    return Masked(adjoint.array * derivative, adjoint.keep)


def fitted(term: Any, like: Any) -> Any:
    """Give an adjoint, masked or not, the shape of what it belongs to."""
    if type(term) is not Masked:
        return fit(term, like)
    if term.keep.shape == shape_of(like):
        return Masked(fit(term.array, like), term.keep)
    return _moved(term, lambda bar: fit(bar, like))


def _moved(adjoint: Masked, move: Any) -> Any:
    """Move the elements of a masked adjoint, and the mask with them."""
    moved = unmasked(move(adjoint.array))
    keep = unmasked(move(adjoint.keep.astype(float))) > 0
    return Masked(moved, keep) if shape_of(keep) else moved


def joined(old: Any, term: Any) -> Any:
    """Add a term to an adjoint; either may be masked."""
    return term + old if type(term) is Masked else old + term


def unmasked(adjoint: Any) -> Any:
    """Return an adjoint as an ordinary array, with zeros where nothing counts."""
    return adjoint.array if type(adjoint) is Masked else adjoint
