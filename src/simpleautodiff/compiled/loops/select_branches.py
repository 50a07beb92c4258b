"""Choose between the branches of a decision in a step of a loop: one of them, or both.

Where steps decide differently, the step is recorded by all its paths, whose number doubles with
every decision. So a decision that ends within the step (an `if` that only sets variables, `a if
test else b`, `and`, `or`, `min`, `max`) computes both branches, and selects where they meet.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from simpleautodiff.compiled.recording.body_level import BodyLevel, WrittenInBranch, choose
from simpleautodiff.compiled.recording.symbols import Symbol
from simpleautodiff.core.level import Traced, Written, take_current
from simpleautodiff.errors import LostDerivativeError
from simpleautodiff.values.pytree import flatten

Branch = Callable[..., Any]
Variables = dict[str, Any]
UNBOUND = object()  # the value of a variable that does not exist yet


def select(test: Any, yes: Branch, no: Branch, variables: Variables) -> Any:
    """Return ``yes() if test else no()``; where steps decide differently, select one of both.

    What cannot be selected is decided, which is a path for each outcome.
    """
    if _is_joined(test):
        check = _NothingWritten(variables)
        try:
            made = [check(branch()) for branch in (yes, no)]
            return choose(take_current(test), *made)
        except LostDerivativeError:
            raise
        except Exception:  # the branch that is taken raises it again
            pass
    return yes() if test else no()


def both(test: Any, other: Branch, variables: Variables) -> Any:
    """Return ``test and other()``."""
    return select(test, other, lambda: test, variables)


def either(test: Any, other: Branch, variables: Variables) -> Any:
    """Return ``test or other()``."""
    return select(test, lambda: test, other, variables)


def extreme(function: Any, *numbers: Any) -> Any:
    """Return ``min(a, b, ...)`` or ``max(a, b, ...)``, if the function is one of these."""
    if function not in (builtins.min, builtins.max):
        return function(*numbers)
    best = numbers[0]
    for number in numbers[1:]:
        is_better = number < best if function is builtins.min else number > best
        best = select(is_better, lambda new=number: new, lambda old=best: old, {})
    return best


def decide(
    test: Any,
    yes: Branch,
    no: Branch,
    variables: Variables,
    names: Sequence[str],
    changed: Sequence[str],
) -> Any:
    """Return the variables after an `if`: what one of its branches makes of them, or both.

    `changed` names those that a branch changes by `x += y`, which writes to an array.
    """
    state = [variables.get(name, UNBOUND) for name in names]
    if any(map(_is_changed_in_place, [variables.get(name) for name in changed])):
        return (yes if test else no)(*state)
    return select(test, lambda: yes(*state), lambda: no(*state), variables)


def _is_joined(test: Any) -> bool:
    """Tell whether both branches of a decision are computed."""
    test = take_current(test)
    is_number = isinstance(test, Symbol) and test.shape == () and test.dtype.kind == "b"
    return is_number and isinstance(test.level, BodyLevel) and test.level.joins_branches


def _is_changed_in_place(x: Any) -> bool:
    return isinstance(x, list | dict) or np.ndim(x) > 0


class _NothingWritten:
    """Refuses a branch that changes an array, a list or a dict: the other one would see it."""

    def __init__(self, variables: Variables) -> None:
        self.variables = [*variables.values()]
        self.before = self._look()

    def _look(self) -> list[Any]:
        return [_version(x) for x in flatten(self.variables)[0]]

    def __call__(self, made: Any) -> Any:
        """Return what a branch has made."""
        now = self._look()
        if len(now) != len(self.before) or not all(map(_is_same, now, self.before)):
            raise WrittenInBranch
        return made


def _version(x: Any) -> Any:
    """Return what tells whether an array has been written to."""
    if type(x) is np.ndarray:
        return x.tobytes()
    return take_current(x) if isinstance(x, Written | Traced) else x


def _is_same(a: Any, b: Any) -> bool:
    return a is b or (type(a) is bytes and type(b) is bytes and a == b)
