"""The tape of a derivative that is computed and not shown: it lets go of what no rule will read."""

from __future__ import annotations

from typing import final

import numpy as np

from simpleautodiff.lineage import VIEWS, note
from simpleautodiff.node import Node, Result, Tape
from simpleautodiff.recycling import LARGE, STORE


@final
class LeanTape(Tape):
    """A tape that is swept and not shown: of large arrays it keeps those that a rule will read."""

    lean = True

    def slim(self, node: Node) -> Node:
        """Return the node for the user; on the tape stays one without values that are not read.

        A value that is not kept is replaced by an array of its shape that has no memory of its own.
        """
        value, primitive, args = node.value, node.primitive, node.args
        if not STORE.open and value.nbytes >= LARGE:
            STORE.open = STORE.allowed
        if primitive is None:
            return node
        if len(args) == 1:
            read = primitive.read(_FIRST)
            if 0 not in read:
                node.args = (self[args[0].index],)
        else:
            parents = tuple([k for k, arg in enumerate(args) if type(arg) is Result])
            read = primitive.read(parents)
            slimmer = list(args)
            for k in parents:
                if k not in read:
                    slimmer[k] = self[args[k].index]
            node.args = tuple(slimmer)
        if -1 in read:
            return node
        shown: Node = Result()
        shown.value, shown.level, shown.index = value, self, node.index
        shown.primitive, shown.args = primitive, node.args
        node.value = np.ndarray(value.shape, value.dtype, _NOTHING, 0, _NO_STEPS[: value.ndim])
        if primitive in VIEWS and type(args[0]) is Result:
            note(shown, args[0], VIEWS[primitive](shown, *args))  # it is not on the tape
        return shown


_FIRST = (0,)
_NOTHING = bytes(64)  # the one element of an array that only has a shape
_NO_STEPS = (0,) * 64
