"""Which arguments of a function are differentiated, and calling it with others in their place."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

from simpleautodiff.errors import ArgumentError

Argnums = int | str | tuple[int | str, ...]


class Selection(NamedTuple):
    """The arguments of one call: `trees` stand at `places`, the others are as given.

    A place is a position or a keyword; without places the trees are all the arguments.
    """

    trees: tuple[Any, ...]
    places: tuple[int | str, ...] | None = None
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = {}  # noqa: RUF012  (never written to)
    single: bool = False


def select(
    f: Callable[..., Any], argnums: Argnums, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Selection:
    """Find the arguments that `argnums` names, by position or by parameter name."""
    if type(argnums) is int and 0 <= argnums < len(args):
        return Selection((args[argnums],), (argnums,), args, kwargs, True)
    wanted = argnums if isinstance(argnums, tuple) else (argnums,)
    places = tuple([_place(f, which, args, kwargs) for which in wanted])
    trees = tuple([kwargs[p] if type(p) is str else args[p] for p in places])  # type: ignore[index]
    return Selection(trees, places, args, kwargs, not isinstance(argnums, tuple))


def _place(
    f: Callable[..., Any], which: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> int | str:
    if type(which) is int and 0 <= which < len(args):
        return which
    if isinstance(which, bool) or not isinstance(which, (int, str)):
        raise ArgumentError(
            f"argnums is a position, a parameter name, or a tuple of these; got {which!r}"
        )
    if isinstance(which, int):
        if not -len(args) <= which < len(args):
            raise ArgumentError(
                f"argnums={which}, but {name_of(f)} was called with {len(args)} positional "
                f"argument{'s' * (len(args) != 1)}"
            )
        return which % len(args)
    names = list(inspect.signature(f).parameters)
    if which in kwargs:
        return which
    if which in names and names.index(which) < len(args):
        return names.index(which)
    if which in names:
        raise ArgumentError(f"{name_of(f)} was called without {which!r}, so it has no derivative")
    near = difflib.get_close_matches(which, names, 1)
    hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(names)}."
    raise ArgumentError(f"{name_of(f)} has no parameter {which!r}; {hint}")


def call(f: Callable[..., Any], selection: Selection, trees: tuple[Any, ...]) -> Any:
    """Call `f` with `trees` in the selected places."""
    args, kwargs = list(selection.args), selection.kwargs
    if selection.places is None:
        args = list(trees)
    else:
        for place, tree in zip(selection.places, trees, strict=True):
            if type(place) is int:
                args[place] = tree
            else:
                kwargs = {**kwargs, place: tree}  # type: ignore[dict-item]
    try:
        return f(*args, **kwargs)
    except TypeError:
        _explain_arity(f, args, kwargs)
        raise


def _explain_arity(f: Callable[..., Any], args: list[Any], kwargs: dict[str, Any]) -> None:
    """Raise a clear error if a TypeError came from a wrong number of arguments."""
    try:
        signature = inspect.signature(f)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        raise ArgumentError(f"{name_of(f)}{signature} cannot be called so: {error}") from None


def name_of(f: Any) -> str:
    """Return the name of a function for messages."""
    return getattr(f, "__name__", None) or type(f).__name__
