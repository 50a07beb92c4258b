"""Numbers and answers as JSON."""

from __future__ import annotations

import json
import math
from typing import Any


def plainly(number: Any) -> Any:
    """Return an array as nested lists, and numbers of NumPy as Python's."""
    return number.tolist() if hasattr(number, "tolist") else number


def as_json(answer: Any) -> str:
    """Write JSON that every reader takes: inf and nan, which it lacks, become texts.

    Examples
    --------
    >>> as_json({"d": float("inf")})
    '{"d": "inf"}'
    """
    return json.dumps(_finite(answer), ensure_ascii=False)


def _finite(answer: Any) -> Any:
    if isinstance(answer, dict):
        return {key: _finite(value) for key, value in answer.items()}
    if isinstance(answer, (list, tuple)):
        return [_finite(value) for value in answer]
    if isinstance(answer, float) and not math.isfinite(answer):
        return str(answer)
    return answer
