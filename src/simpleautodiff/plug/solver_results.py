"""What SciPy's solvers return inside derivatives: nodes in the place of the numbers they found.

The solution and what is computed from it are nodes with derivatives. Other numbers, such as an
estimate of an inverse Hessian, are nodes too; their derivative is not known, and refused where it
is needed.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.optimize

from simpleautodiff.core.level import Traced, to_plain
from simpleautodiff.errors import ArgumentError, AutodiffError, LostDerivativeError, cite_line
from simpleautodiff.plug.inputs import as_vector
from simpleautodiff.plug.unknown import with_unknown_derivative
from simpleautodiff.rules.array.dtypes import dtype_of
from simpleautodiff.rules.array.shapes import reshape
from simpleautodiff.values.pytree import assemble

_REFUSED = object()


class SolverResult(scipy.optimize.OptimizeResult):  # type: ignore[misc]
    """A result of a solver, some parts of which are refused."""

    refused: dict[str, str] = {}  # why, by their names  # noqa: RUF012

    def __missing__(self, name: str) -> Any:
        if name not in self.refused:
            raise KeyError(name)
        raise LostDerivativeError(f"{name} of the result of a solver {self.refused[name]}")

    def get(self, name: Any, default: Any = None) -> Any:
        """Return a part; refuse one that would lose a derivative."""
        return self[name] if name in self or name in self.refused else default


@dataclass
class Returned:
    """What a solver returned, of one problem or of each in a batch, to be completed by nodes."""

    source: str  # what it is part of, in words
    held: list[Any]
    results: list[Any]
    way_out: str = "compute it from the solution x, as in simpleautodiff.hessian(f)(result.x)"

    def complete(self, known: Any) -> Any:
        """Return the result with what is known of it: a node, or more such in dicts, by place."""
        made = self._complete(self.results, known, "")
        if made is _REFUSED:
            raise ArgumentError(
                f"inside vmap, numbers of {self.source} may differ between the examples; leave out "
                f"full_output, or solve in a loop over the examples{cite_line()}"
            )
        return made

    def estimate(self, value: Any, what: str) -> Any:
        """Return a number that the solver found by the way; its derivative is not known."""
        error = LostDerivativeError(
            f"{what or 'a number'} of {self.source} has no derivative; {self.way_out}{cite_line()}"
        )
        return with_unknown_derivative(value, self.held, error)

    def fail(self, value: Any, error: AutodiffError) -> Any:
        """Return what a solver gave back that did not arrive; it can be looked at."""
        return with_unknown_derivative(value, self.held, error)

    def keep_value(self, plain: Any, node: Any) -> Any:
        """Return a node with the value that SciPy gave, which may differ in the last digits."""
        node = reshape(as_vector(node), np.shape(plain))
        if len(self.results) > 1 or not np.all(np.isfinite(to_plain(node))):
            return node
        return plain + (node - to_plain(node))

    def _complete(self, found: list[Any], known: Any, what: str) -> Any:
        """Return one part of the result; `found` has it for each problem."""
        first = found[0]
        if isinstance(first, dict):
            return self._complete_dict(found, known or {}, what)
        if isinstance(first, (tuple, list)):
            return self._complete_sequence(found, known or {}, what)
        if known is not None:
            return None if first is None else known
        if _is_inexact(first):
            return _REFUSED if len(found) > 1 else self.estimate(first, what)
        same = all(_is_equal(first, other) for other in found[1:])
        return first if same and _is_harmless(first) else _REFUSED

    def _complete_dict(self, found: list[Any], known: dict[Any, Any], what: str) -> Any:
        first, made, refused = found[0], {}, {}
        for name in {**first, **known}:
            parts = [one.get(name) for one in found]
            part = self._complete(parts, known.get(name), name)
            if part is _REFUSED:
                alone = f"has no derivative; {self.way_out}"
                refused[name] = alone if len(found) == 1 else _OF_BATCH
            elif name in first:
                made[name] = part
        if not isinstance(first, scipy.optimize.OptimizeResult):
            return _REFUSED if refused else made
        if type(first) is scipy.optimize.OptimizeResult or refused:
            result = SolverResult(made)
            object.__setattr__(result, "refused", refused)  # not as an item
            return result
        result = copy.copy(first)
        result.update(made)
        return result

    def _complete_sequence(self, found: list[Any], known: dict[Any, Any], what: str) -> Any:
        made = []
        for i, parts in enumerate(zip(*found, strict=True)):
            part = self._complete([*parts], known.get(i), what)
            if part is _REFUSED:
                return _REFUSED
            made.append(part)
        return assemble(found[0], made)


_OF_BATCH = "may differ between the examples of vmap; ask for it in a loop over the examples"


def _is_inexact(x: Any) -> bool:
    is_number = isinstance(x, (float, complex, np.inexact, np.ndarray, Traced))
    return is_number and dtype_of(x).kind in "fc"


def _is_harmless(x: Any) -> bool:
    """Tell whether a part has no derivative, as a count or a message has none."""
    return x is None or isinstance(x, (int, str, np.generic, np.ndarray, Traced))


def _is_equal(a: Any, b: Any) -> bool:
    same = type(a) is type(b) and np.shape(a) == np.shape(b)
    return same and bool(np.all(a == b))
