"""Select the arguments of a function to differentiate, and call it with these replaced."""

from __future__ import annotations

import difflib
import inspect
import operator
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from simpleautodiff.arrays.made_arrays import run_with_replacements
from simpleautodiff.arrays.writes.writable import unpromote
from simpleautodiff.core.level import Traced, take_current
from simpleautodiff.core.node import TapeNode
from simpleautodiff.errors import (
    ArgumentError,
    AutodiffError,
    short_repr,
)
from simpleautodiff.transforms.foreign_errors import explain_error
from simpleautodiff.values.labelled_arrays import strip_labels
from simpleautodiff.values.pytree import look_up, map_leaves, put_in

Argnums = int | str | tuple[int | str, ...] | list[int | str]


class ArgumentPath(NamedTuple):
    """The path to a part of an argument: `params.layer1.w`, or `params['layer1'][0]`."""

    key: int | str
    steps: tuple[str, ...]


Key = int | str | ArgumentPath


class Selection(NamedTuple):
    """The arguments of one call; `trees` are the selected ones, those at `keys`.

    A key is a position, a keyword or a path into one of these. Without keys all arguments are
    selected.
    """

    trees: tuple[Any, ...]
    keys: tuple[Key, ...] | None = None
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = {}  # noqa: RUF012  (never written to)
    single: bool = False


_ALL_IN_ORDER = tuple(range(16))  # to recognise argnums that name all the arguments in order


def select(
    f: Callable[..., Any], argnums: Argnums, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Selection:
    """Find the arguments that `argnums` names, by position or by parameter name."""
    if type(argnums) is int and 0 <= argnums < len(args):
        return Selection((args[argnums],), (argnums,), args, kwargs, True)
    if type(argnums) is tuple and argnums == _ALL_IN_ORDER[: len(args)]:
        return Selection(args, None, args, kwargs)
    if isinstance(argnums, list):
        argnums = tuple(argnums)
    wanted = argnums if isinstance(argnums, tuple) else (argnums,)
    keys = tuple([_find_argument(f, which, args, kwargs) for which in wanted])
    if len(set(keys)) < len(keys):
        raise ArgumentError(f"argnums={argnums!r} names an argument twice")
    trees = tuple([_look_up(key, args, kwargs) for key in keys])
    return Selection(trees, keys, args, kwargs, not isinstance(argnums, tuple))


def _look_up(key: Key, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if isinstance(key, ArgumentPath):
        return look_up(_look_up(key.key, args, kwargs), key.steps)
    return kwargs[key] if isinstance(key, str) else args[key]


def _find_argument(
    f: Callable[..., Any], which: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Key:
    if type(which) is int and 0 <= which < len(args):
        return which
    if isinstance(which, str):
        name, *steps = [step for step in re.split(r"[.\[\]'\"]+", which) if step] or [which]
        found = _find_by_name(f, name, args, kwargs)
        return ArgumentPath(found, tuple(steps)) if steps else found
    if isinstance(which, bool) or np.ndim(which) or not hasattr(which, "__index__"):
        raise ArgumentError(
            f"argnums is a position, a parameter name, or a tuple of these; got {which!r}"
        )
    position = operator.index(which)
    if -len(args) <= position < len(args):
        return position % len(args)
    by_name = f"; write argnums={next(iter(kwargs))!r}" if kwargs else ""
    raise ArgumentError(
        f"argnums={which}, but {name_of(f)} was called with {len(args)} positional "
        f"argument{'s' * (len(args) != 1)}{by_name}"
    )


def _find_by_name(
    f: Callable[..., Any], which: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> int | str:
    if which in kwargs:
        return which
    parameters = _find_parameters(f)
    by_position = [
        p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    if which in by_position and by_position.index(which) < len(args):
        return by_position.index(which)
    names = [p.name for p in parameters if p.kind is not p.VAR_POSITIONAL]
    if which in names:
        raise ArgumentError(f"{name_of(f)} was called without {which!r}, so it has no derivative")
    if which in [p.name for p in parameters]:
        raise ArgumentError(f"*{which} is any number of arguments; give argnums as positions")
    near = difflib.get_close_matches(which, names, 1)
    hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(names) or 'no names'}."
    raise ArgumentError(f"{name_of(f)} has no parameter {which!r}; {hint}")


def _find_parameters(f: Callable[..., Any]) -> list[inspect.Parameter]:
    """Return the parameters of `f`, or of what it wraps if it takes only *args and **kwargs."""
    try:
        own = list(inspect.signature(f, follow_wrapped=False).parameters.values())
        if all(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in own):
            wrapped = getattr(f, "__wrapped__", None)
            return own if wrapped is None else _find_parameters(wrapped)
    except (TypeError, ValueError):
        raise ArgumentError(f"the parameters of {name_of(f)} have no known names") from None
    return own


def call(f: Callable[..., Any], selection: Selection, trees: tuple[Any, ...]) -> Any:
    """Call `f` with `trees` instead of the selected arguments."""
    args: Any = trees
    kwargs = selection.kwargs
    if selection.keys is not None:
        args = list(selection.args)
        for key, tree in zip(selection.keys, trees, strict=True):
            if isinstance(key, ArgumentPath):
                whole = _look_up(key.key, args, kwargs)
                tree = put_in(whole, key.steps, tree)
                key = key.key
            if isinstance(key, int):
                args[key] = tree
            else:
                kwargs = {**kwargs, key: tree}
    result = run_with_replacements(f, call_explained, _call_again, f, args, kwargs)
    if type(result) is TapeNode:
        return result
    return take_current(result) if isinstance(result, Traced) else map_leaves(_take_node, result)


def _take_node(leaf: Any) -> Any:
    """Return a leaf of a result; for a labelled array of nodes, the node."""
    inner = strip_labels(leaf)
    return take_current(inner if isinstance(inner, Traced) else leaf)


def call_explained(f: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Call `f`; what compiled code says of nodes that it cannot take is said in clear words."""
    try:
        return f(*args, **kwargs)
    except AutodiffError:
        raise
    except Exception as error:
        explain_error(error)
        if isinstance(error, TypeError):
            _explain_arity(f, args, kwargs)
        raise


def _call_again(f: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Call `f` once more, with arguments that the first call has not written to."""
    return call_explained(f, map_leaves(unpromote, args), map_leaves(unpromote, kwargs))


def _explain_arity(f: Callable[..., Any], args: list[Any], kwargs: dict[str, Any]) -> None:
    """Raise a clear error if a TypeError came from a wrong number of arguments."""
    try:
        signature = inspect.signature(f)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        raise ArgumentError(
            f"{name_of(f)}{signature} does not take these arguments: {error}"
        ) from None


def check_function(f: Any) -> None:
    """Refuse an argument `f` that is not callable."""
    if not callable(f):
        raise ArgumentError(f"a function is needed, got {f!r}")


def check_options(what: str, names: Sequence[str], options: Sequence[Any]) -> None:
    """Refuse an input passed as an option of a transformation: grad(f, 2.0) is grad(f)(2.0)."""
    named = zip(names, options, strict=False)
    if any(_is_point(x) or (name == "has_aux" and not isinstance(x, bool)) for name, x in named):
        point = ", ".join(map(short_repr, options))
        raise ArgumentError(
            f"{what}(f) is a function, and the point goes into brackets of its own: write "
            f"{what}(f)({point}), not {what}(f, {point}). argnums is a position, a parameter name, "
            "or a tuple of these"
        )


def _is_point(x: Any) -> bool:
    """Tell whether an option must be meant as an input: a float, an array, a list of them."""
    if isinstance(x, (list, tuple)):
        return any(map(_is_point, x))
    return isinstance(x, (float, np.ndarray, np.floating, Traced))


def name_of(f: Any) -> str:
    """Return the name of a function for messages."""
    return getattr(f, "__name__", None) or type(f).__name__
