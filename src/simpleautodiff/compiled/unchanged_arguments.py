"""Tell whether a function has changed its arguments, and undo it."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from simpleautodiff.compiled.finish_results import is_as_before
from simpleautodiff.compiled.record_function import argument_error
from simpleautodiff.compiled.signature import CallSignature, NotComparedError, signature
from simpleautodiff.errors import TraceError
from simpleautodiff.values.pytree import flatten


def check_unchanged(described: CallSignature, before: list[Any], name: str) -> None:
    """Refuse a function that has changed its arguments; `before` are copies of the leaves."""
    leaves, after = described.leaves, flatten(described.tree)[0]
    same = len(leaves) == len(after) and all(map(operator.is_, leaves, after))
    if not same or not all(map(is_as_before, before, leaves)) or _holds_other(described):
        raise argument_error(name)


def put_back(described: CallSignature, before: list[Any], error: TraceError) -> None:
    """Undo what was written to arrays among the arguments; other changes are an error."""
    after = flatten(described.tree)[0]
    if len(after) != len(before) or not all(map(operator.is_, described.leaves, after)):
        raise error
    for leaf, old in zip(described.leaves, before, strict=True):
        if isinstance(leaf, np.ndarray) and not is_as_before(old, leaf):
            np.copyto(leaf, old)


def _holds_other(described: CallSignature) -> bool:
    """Tell whether an object among the arguments has changed since the signature was taken."""
    if len(described.varies) == len(described.leaves):
        return False
    try:
        return signature(described.tree).key != described.key
    except NotComparedError:
        return True
