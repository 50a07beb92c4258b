"""Structural zeros among the derivatives that a loop carries from step to step.

A derivative that a loop carries may be a structural zero in all steps, or in none; then nothing is
carried, or a number. If that differs from step to step, a mask is carried along: one bool, or one
for each element where elements differ.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np

from simpleautodiff.compiled.recording.estimates import Estimates, MasksNeeded
from simpleautodiff.compiled.recording.symbols import Symbol
from simpleautodiff.core.level import Traced, to_plain
from simpleautodiff.core.linear import ZERO, filled
from simpleautodiff.rules.branches import Masked
from simpleautodiff.transforms.recorded_call import as_number
from simpleautodiff.transforms.results import ON_DERIVATIVES
from simpleautodiff.values.functions import shape
from simpleautodiff.values.scoped import scoped

MASKS = ContextVar("MASKS", default=True)  # whether loops carry masks


@contextmanager
def without_masks(estimates: Estimates) -> Iterator[None]:
    """Let loops of derivatives carry no masks in this context, if that will be checked.

    Masks are needed only where a slope is infinite or nan, and then some derivative is a nan
    without them. So the program of a first recording has no masks, but a guard: all derivatives
    that a transformation finds are finite. Where it fails, the function is recorded with masks.
    """
    if not estimates.assumes:
        yield
        return
    estimates.unmasked = True
    with scoped(MASKS, False), scoped(ON_DERIVATIVES, None):
        yield


def assume_finite(derivatives: list[Any]) -> None:
    """Let a program check that derivatives are finite; raise `MasksNeeded` if they are not."""
    numbers = [_find_numbers(filled(x)) for x in derivatives if x is not None and x is not ZERO]
    truth: Any = functools.reduce(operator.and_, [np.isfinite(x).all() for x in numbers], True)
    if isinstance(truth, Symbol):
        truth = truth.level.decides and truth.level.assume(truth)
    if not truth:
        raise MasksNeeded


def _find_numbers(x: Any) -> Any:
    """Return the numbers of nodes and batches, or the symbol that stands for them."""
    while isinstance(x, Traced) and not isinstance(x, Symbol):
        x = x.value
    return x


class Presence(IntEnum):
    """In which steps, and of which elements, a carried derivative is not a structural zero."""

    NEVER = 0
    ALWAYS = 1
    SOMETIMES = 2  # of all elements, or of none
    PARTLY = 3  # of some elements


class Parts(NamedTuple):
    """Derivatives as numbers, and masks of those of which some are structural zeros."""

    numbers: dict[Any, Any]
    masks: dict[Any, Any]


def split(derivatives: Mapping[Any, Any]) -> Parts:
    """Return the parts of derivatives; those that are structural zeros have none."""
    found = {k: x for k, x in derivatives.items() if x is not ZERO}
    return Parts(
        {k: x.array if type(x) is Masked else x for k, x in found.items()},
        {k: x.mask for k, x in found.items() if type(x) is Masked},
    )


def join(parts: Parts) -> dict[Any, Any]:
    """Return the derivatives that have these parts."""
    return {
        k: Masked(x, parts.masks[k]) if k in parts.masks else x for k, x in parts.numbers.items()
    }


class CarriedDerivatives:
    """The derivatives that a loop carries: how they are in its steps, as far as that is known.

    It begins with those before the first step. `pack` sees how they are after a step, and `extend`
    then tells whether a step has to be recorded again, as some are in more than one way. Without
    `masks`, a structural zero that is not one in each step is a number.
    """

    def __init__(self, first: Mapping[Any, Any], likes: Any, masks: bool = True) -> None:
        self.likes = likes  # the values that they are derivatives of
        self.masks = masks
        self._broadcast: list[tuple[Any, Any]] = []  # masks for elements, and the bools they are
        self.kinds = {k: self._find_kind(k, x) for k, x in first.items()}
        self.after: dict[Any, Presence] = {}  # how they are after a step
        self.first = first

    def before(self) -> Parts:
        """Return the parts of the derivatives before the first step."""
        return self._pack(self.first)

    def pack(self, derivatives: Mapping[Any, Any]) -> Parts:
        """Return the parts of the derivatives after a step."""
        self.after = {k: self._find_kind(k, derivatives[k]) for k in self.kinds}
        return self._pack(derivatives)

    def extend(self) -> bool:
        """Allow for zeros that a step has changed; tell whether another step has to be recorded."""
        known = self.kinds
        self.kinds = {k: self._both(kind, self.after[k]) for k, kind in known.items()}
        return self.kinds != known

    def unpack(self, parts: Parts) -> dict[Any, Any]:
        """Return the derivatives before a step."""
        self._broadcast = []
        return {k: self._unpack(k, parts) for k in self.kinds}

    def unpack_last(self, parts: Parts, steps: Any) -> dict[Any, Any]:
        """Return the derivatives after the last step; `steps` is their number, if it is known."""
        some = isinstance(steps, int) and steps > 0
        always = {k for k in self.kinds if some and self.after[k] is Presence.ALWAYS}
        return {k: parts.numbers[k] if k in always else self._unpack(k, parts) for k in self.kinds}

    def _both(self, one: Presence, other: Presence) -> Presence:
        if one is other:
            return one
        return max(one, other, Presence.SOMETIMES) if self.masks else Presence.ALWAYS

    def _find_kind(self, k: Any, derivative: Any) -> Presence:
        if derivative is ZERO:
            return Presence.NEVER
        if type(derivative) is not Masked or not self.masks:
            return Presence.ALWAYS
        whole = not self._shape(k) or self._find_bool(derivative.mask) is not None
        return Presence.SOMETIMES if whole else Presence.PARTLY

    def _pack(self, derivatives: Mapping[Any, Any]) -> Parts:
        found = {k: derivatives[k] for k, kind in self.kinds.items() if kind}
        return Parts(
            {k: as_number(x, self.likes[k]) for k, x in found.items()},
            {k: self._mask(k, x) for k, x in found.items() if self.kinds[k] > Presence.ALWAYS},
        )

    def _mask(self, k: Any, derivative: Any) -> Any:
        """Return the mask of a derivative in the form in which it is carried."""
        partly = self.kinds[k] is Presence.PARTLY
        if type(derivative) is Masked:
            known = None if partly else self._find_bool(derivative.mask)
            return derivative.mask if known is None else known
        present = derivative is not ZERO
        return np.full(self._shape(k), present) if partly else np.bool_(present)

    def _unpack(self, k: Any, parts: Parts) -> Any:
        if self.kinds[k] is Presence.NEVER:
            return ZERO
        if k not in parts.masks:
            return parts.numbers[k]
        mask, full = parts.masks[k], self._shape(k)
        if self.kinds[k] is Presence.SOMETIMES and full:
            mask = np.broadcast_to(mask, full)
            self._broadcast.append((mask, parts.masks[k]))
        return Masked(parts.numbers[k], mask)

    def _find_bool(self, mask: Any) -> Any:
        """Return the bool that was broadcast to make a mask; None if it was not made so."""
        return next((whole for each, whole in self._broadcast if each is mask), None)

    def _shape(self, k: Any) -> Any:
        return shape(to_plain(self.likes[k]))
