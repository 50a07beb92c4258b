"""The shapes in which engines are written, found automatically.

This file runs in the learner's process too: of the library it imports the files of shapes alone.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from simpleautodiff.learn.grading.feed_shapes import FeedEngine
from simpleautodiff.learn.grading.function_shapes import DualEngine, GradEngine
from simpleautodiff.learn.grading.guessing import guess_names
from simpleautodiff.learn.grading.learner_engine import LearnerEngine
from simpleautodiff.learn.grading.learner_names import NoEngine
from simpleautodiff.learn.grading.node_shapes import (
    CarriedEngine,
    NodeEngine,
    PullEngine,
    ValueEngine,
)
from simpleautodiff.learn.grading.partials_shape import PartialsEngine
from simpleautodiff.learn.grading.tape_shapes import RecorderEngine, TapeEngine

SHAPES: dict[str, tuple[type[LearnerEngine], ...]] = {
    "feed": (FeedEngine,),
    "tape": (TapeEngine, RecorderEngine),
    "value": (ValueEngine, PullEngine),
    "node": (NodeEngine, CarriedEngine),
    "dual": (DualEngine,),
    "grad": (GradEngine,),
    "partials": (PartialsEngine,),
}


def find_engine(
    namespace: dict[str, Any], shape: str = "", names: dict[str, str] | None = None
) -> LearnerEngine:
    """Find the engine in a module; `shape` and `names` override what would be guessed."""
    names = names or {}
    found: LearnerEngine | NoEngine
    try:
        found = find_by_names(namespace, shape, names)
        if found.reads_derivatives():
            return found
    except NoEngine as error:
        found = error
    guessed = guess_names(namespace, names)
    if guessed:
        with suppress(NoEngine):
            return find_by_names(namespace, shape, {**guessed, **names})
    if not isinstance(found, NoEngine):
        return found
    with suppress(NoEngine):
        return find_by_names(namespace, shape or "partials", names)
    raise found


def find_by_names(namespace: dict[str, Any], shape: str, names: dict[str, str]) -> LearnerEngine:
    """Find an engine by the usual names of its parts, or by the given ones."""
    reason = ""
    usual = [name for name in SHAPES if name != "partials"]  # which is tried when nothing sweeps
    tried = [cls for name in ([shape] if shape else usual) for cls in SHAPES[name]]
    # nodes of others may have a method grad, and modules of others a function that makes inputs
    tried.sort(key=lambda cls: cls in (PullEngine, RecorderEngine))
    unreadable = None  # something else may be the engine: nodes with rules `back` of a grad(f)
    for cls in tried:
        try:
            found = cls(namespace, names)
            if found.reads_derivatives():
                return found
            unreadable = unreadable or found
        except NoEngine as error:
            reason = reason or str(error)
    if unreadable is not None:
        return unreadable
    raise NoEngine(
        reason
        or "no engine was found: a class Node with forward or backward, a class Value with .grad "
        "and backward(), a class Tape, a function grad(f), jvp or vjp, dual numbers, or "
        "gradients(y, [x]) and Executor([y]).run({x: 2.0}); or, before there is a sweep, nodes "
        "with lists of their parents and partial derivatives"
    )
