"""Compare the arguments that an implementation takes with those of NumPy's or SciPy's function."""

from __future__ import annotations

import inspect
from functools import cache
from typing import Any

from simpleautodiff.errors import RuleError, cite_line
from simpleautodiff.values.functions import Function


def takes_keywords(implementation: Function, kwargs: dict[str, Any]) -> bool:
    """Tell whether an implementation takes these keywords just as NumPy's function does."""
    takes = name_parameters(implementation)
    return all(
        [k in takes and k != "dtype" and k != "out" and v is not None for k, v in kwargs.items()]
    )


@cache
def count_shared(function: Any, implementation: Function) -> tuple[int, int]:
    """Return how many arguments a function requires, and how many the implementation shares.

    Those that are shared are positional, apart from special ones. One is required at least; so it
    is if the signature of the function is not known.
    """
    signature = _find_signature(function)
    if signature is None:
        return 1, 0
    parameters, shared = signature.parameters.values(), 0
    required = sum(p.default is p.empty and p.kind in _POSITIONAL for p in parameters) or 1
    for ours, numpys in zip(
        inspect.signature(implementation).parameters.values(), parameters, strict=False
    ):
        positional = numpys.kind <= ours.kind is ours.POSITIONAL_OR_KEYWORD
        if not positional or ours.name != numpys.name or ours.name in ("dtype", "out"):
            break
        shared += 1
    return required, shared


_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


@cache
def name_parameters(implementation: Function) -> set[str | None]:
    """Return the parameter names of an implementation; None among them means any."""
    parameters = inspect.signature(implementation).parameters.values()
    return {None if p.kind is p.VAR_KEYWORD else p.name for p in parameters}


@cache
def _find_signature(function: Any) -> inspect.Signature | None:
    """Return the signature of a function, if it has one."""
    try:
        return inspect.signature(function)
    except ValueError:  # some functions of older NumPy versions have no signature
        return None


def bind_arguments(function: Any, args: list[Any], kwargs: Any) -> tuple[list[Any], dict[str, Any]]:
    """Return the positional arguments of a call, and the keywords that differ from the defaults."""
    signature = _find_signature(function)
    kinds = {p.kind for p in signature.parameters.values()} if signature else set()
    if signature is None or inspect.Parameter.VAR_POSITIONAL in kinds:
        return args, {name: arg for name, arg in kwargs.items() if arg is not None}
    bound = signature.bind(*args, **kwargs).arguments
    needed, given = [], {}
    for parameter in signature.parameters.values():
        if parameter.name not in bound:
            continue
        if parameter.kind is parameter.VAR_KEYWORD:
            given.update(bound[parameter.name])
        elif parameter.default is parameter.empty:
            needed.append(bound[parameter.name])
        elif bound[parameter.name] is not parameter.default:
            given[parameter.name] = bound[parameter.name]
    return needed, given


def explain_arguments(name: str, implementation: Function, args: Any, kwargs: Any) -> None:
    """Raise a clear error if a function was given arguments that the implementation lacks."""
    try:
        inspect.signature(implementation).bind(*args, **kwargs)
    except TypeError as error:
        raise RuleError(f"{name} of a node: {error}{cite_line()}") from None
