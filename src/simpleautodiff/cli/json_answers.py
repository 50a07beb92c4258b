"""Numbers and answers as JSON."""

from __future__ import annotations

import json
import math
from typing import Any


def to_lists(number: Any) -> Any:
    """Return arrays as nested lists, and NumPy scalars as Python's; also inside of structures."""
    if isinstance(number, dict):
        return {key: to_lists(one) for key, one in number.items()}
    if isinstance(number, list | tuple):
        return [to_lists(one) for one in number]
    return number.tolist() if hasattr(number, "tolist") else number


def write_json(answer: Any) -> str:
    """Write strict JSON: inf and nan, which it lacks, become strings.

    Examples
    --------
    >>> write_json({"d": float("inf")})
    '{"d": "inf"}'
    """
    return json.dumps(_replace_nonfinite(answer), ensure_ascii=False)


def _replace_nonfinite(answer: Any) -> Any:
    if isinstance(answer, dict):
        return {key: _replace_nonfinite(value) for key, value in answer.items()}
    if isinstance(answer, (list, tuple)):
        return [_replace_nonfinite(value) for value in answer]
    if isinstance(answer, float) and not math.isfinite(answer):
        return str(answer)
    return answer
