"""An error as the text that a user reads."""

from __future__ import annotations

import traceback

from simpleautodiff.errors import AutodiffError, DomainWarning, is_user_frame


def describe_error(error: Exception) -> str:
    """Describe an error; for one raised by the user's function, with its line."""
    if isinstance(error, AutodiffError | DomainWarning):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    lines = traceback.extract_tb(error.__traceback__)
    own = [line for frame, line in zip(frames, lines, strict=True) if is_user_frame(frame)]
    place = (own or lines)[-1]
    return f"{type(error).__name__}: {error}\n  {place.filename}:{place.lineno}: {place.line}"
