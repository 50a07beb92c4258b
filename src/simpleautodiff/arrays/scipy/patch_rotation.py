"""Patches of SciPy's class Rotation: where it holds nodes, it has the backend of nodes."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from simpleautodiff.arrays.registry import FUNCTIONS
from simpleautodiff.arrays.scipy import scipy_rotation as backend
from simpleautodiff.core.level import Traced, take_current, to_plain
from simpleautodiff.errors import InputError, RuleError, cite_line
from simpleautodiff.rules.array.indexing import getitem
from simpleautodiff.rules.array.shapes import reshape, shape_of

Test = Callable[[Any], bool]


def _as_array(x: Any, dtype: Any = None, device: Any = None, copy: Any = None) -> Any:
    """Return a list of numbers and nodes, or numbers, as an array of floats."""
    x = FUNCTIONS[np.array](x) if isinstance(x, (list, tuple)) else take_current(x)
    return x if isinstance(x, Traced) else np.asarray(x, float)


class _Namespace:
    """What SciPy's class asks of a library of arrays."""

    __name__ = "simpleautodiff"
    asarray = staticmethod(_as_array)
    bool = np.bool_
    isdtype = staticmethod(np.isdtype)

    @staticmethod
    def take(x: Any, indices: Any, axis: int) -> Any:
        """Return rows of x; NumPy's function does not dispatch on the indices."""
        return getitem(x, indices)


NAMESPACE = _Namespace()


def patch_rotation(module: Any, has_node: Test) -> None:
    """Give the class Rotation of SciPy 1.17 and newer a backend for nodes; older ones have none."""
    if not hasattr(module, "backend_registry"):
        return
    _patch_namespaces(module, has_node)
    rotation = module.Rotation
    for name in ("apply", "__mul__", "__pow__", "approx_equal", "mean", "__setitem__"):
        setattr(rotation, name, _lift_first(getattr(rotation, name), has_node))
    for name in ("from_davenport", "align_vectors", "concatenate"):
        make = functools.partial(_MAKERS[name], module)
        chosen = _choose(getattr(rotation, name), make, has_node)
        setattr(rotation, name, staticmethod(chosen))
    slerp = module.Slerp
    slerp.__init__ = _choose(slerp.__init__, make_slerp, has_node)
    slerp.__call__ = _choose(slerp.__call__, evaluate_slerp, has_node)


def _patch_namespaces(module: Any, has_node: Test) -> None:
    find, promote, find_device = module.array_namespace, module._promote, module.xp_device

    def array_namespace(*arrays: Any, **kwargs: Any) -> Any:
        return NAMESPACE if has_node(arrays) else find(*arrays, **kwargs)

    def _promote(*arrays: Any, xp: Any) -> Any:
        if xp is not NAMESPACE:
            return promote(*arrays, xp=xp)
        found = tuple(map(_as_array, arrays))
        return found[0] if len(found) == 1 else found

    def xp_device(array: Any) -> Any:
        return None if has_node([array]) else find_device(array)

    module.array_namespace, module._promote, module.xp_device = array_namespace, _promote, xp_device
    module.backend_registry[NAMESPACE] = backend


def _holds_node(x: Any, has_node: Test) -> bool:
    """Tell whether x is a node, a rotation of nodes, or a list with one."""
    if isinstance(x, (list, tuple)):
        return any(_holds_node(part, has_node) for part in x)
    return has_node([getattr(x, "_quat", x), getattr(x, "rotvecs", None)])


def _choose(original: Any, implementation: Any, has_node: Test) -> Any:
    """Return a function that calls the implementation if an argument holds nodes."""

    @functools.wraps(original)
    def function(*args: Any, **kwargs: Any) -> Any:
        given = (*args, *kwargs.values())
        chosen = implementation if any(_holds_node(x, has_node) for x in given) else original
        return chosen(*args, **kwargs)

    return function


def _lift_first(original: Any, has_node: Test) -> Any:
    """Return a method of which all arguments are rotations of nodes if one is."""

    @functools.wraps(original)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        given = (*args, *kwargs.values())
        if not any(_holds_node(x, has_node) for x in (self, *given)):
            return original(self, *args, **kwargs)
        if original.__name__ == "__setitem__":
            vars(self).update(vars(_lift(self)))
        args = tuple(_lift(arg) for arg in args)
        return original(_lift(self), *args, **{name: _lift(x) for name, x in kwargs.items()})

    return method


def _lift(rotation: Any) -> Any:
    """Return a rotation as one of nodes; anything else as it is."""
    if not hasattr(rotation, "_quat") or rotation._xp is NAMESPACE:
        return rotation
    lifted = copy.copy(rotation)
    lifted._quat = rotation._quat[0] if rotation._single else rotation._quat
    lifted._single, lifted._xp, lifted._backend = False, NAMESPACE, backend
    return lifted


def _make(module: Any, quat: Any) -> Any:
    return module.Rotation._from_raw_quat(quat, xp=NAMESPACE, backend=backend)


def _from_davenport(module: Any, axes: Any, order: str, angles: Any, degrees: bool = False) -> Any:
    quat = backend.from_davenport(_as_array(axes), order, _as_array(angles), degrees)
    return _make(module, quat)


def _align_vectors(
    module: Any, a: Any, b: Any, weights: Any = None, return_sensitivity: bool = False
) -> Any:
    """Return the rotation that best turns vectors b to a, and the root of the squares left."""
    a, b = (x if len(shape_of(x)) > 1 else x[None] for x in map(_as_array, (a, b)))
    if shape_of(a) != shape_of(b) or shape_of(a)[-1] != 3:
        raise InputError(f"vectors of shapes {shape_of(a)} and {shape_of(b)}{cite_line()}")
    weights = np.ones(shape_of(a)[0]) if weights is None else _as_array(weights)
    if return_sensitivity or not np.all(np.isfinite(to_plain(weights))):
        raise RuleError(
            "align_vectors of nodes has no rule for infinite weights, nor for the sensitivity "
            f"matrix{cite_line()}"
        )
    rotation = _make(module, backend.align_vectors(a, b, weights))
    left = np.sqrt(weights)[:, None] * (a - rotation.apply(b))
    return rotation, np.linalg.norm(left)


def _concatenate(module: Any, rotations: Any) -> Any:
    several = rotations if isinstance(rotations, (list, tuple)) else [rotations]
    quats = [_lift(rotation)._quat for rotation in several]
    return _make(module, np.concatenate([q if len(shape_of(q)) > 1 else q[None] for q in quats]))


_MAKERS: dict[str, Callable[..., Any]] = {
    "from_davenport": _from_davenport,
    "align_vectors": _align_vectors,
    "concatenate": _concatenate,
}


def make_slerp(slerp: Any, times: Any, rotations: Any) -> None:
    """Make an interpolator between rotations; times or rotations may be nodes."""
    slerp.times = _as_array(times)
    slerp.timedelta = np.diff(slerp.times)
    backend.refuse_if(_has_steps_back, slerp.timedelta, InputError, "times of a Slerp increase")
    slerp.rotations = _lift(rotations)[:-1]
    slerp.rotvecs = (slerp.rotations.inv() * rotations[1:]).as_rotvec()


def _has_steps_back(steps: Any) -> Any:
    return np.any(steps <= 0)


def evaluate_slerp(slerp: Any, times: Any) -> Any:
    """Return the rotations at given times."""
    times = _as_array(times)
    several = times if shape_of(times) else reshape(times, (1,))
    ends = slerp.times[0], slerp.times[-1]
    outside = (several < ends[0]) | (several > ends[1])
    backend.refuse_if(np.any, outside, InputError, "a time is outside of those of the Slerp")
    last = shape_of(slerp.rotvecs)[0] - 1
    index = np.clip(np.searchsorted(slerp.times, several) - 1, 0, last)
    part = (several - getitem(slerp.times, index)) / getitem(slerp.timedelta, index)
    turns = getitem(slerp.rotvecs, index) * part[..., None]
    result = slerp.rotations[index] * type(slerp.rotations).from_rotvec(turns)
    return result if shape_of(times) else result[0]
