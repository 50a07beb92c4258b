"""Compiled objects on disk, in a directory that nobody else may write to.

What is loaded from here is executed, so an entry is used only if the directory and the file belong
to this user and to nobody else's writing, its name is that of the program, and its content has
the checksum it was written with. Anything else is as if it were not there. The checksum guards
against damage; the permissions against other users.

`SIMPLEAUTODIFF_CACHE` moves the directory, or turns it off: `0`, `off` or nothing at all.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
import sys
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

LIMIT = 256 * 2**20  # bytes: above it, what was not used for the longest time is removed
VARIABLE = "SIMPLEAUTODIFF_CACHE"
_MAGIC = b"simpleautodiff object 1\n"
_CHECKSUM = 32
_SUFFIX, _PART = ".object", ".part"
_CAREFULLY = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)  # no link; a pipe is empty


class Contents(NamedTuple):
    """What is kept: where (None if nothing is), how many objects, how many bytes."""

    folder: Path | None
    entries: int
    size: int


def digest(*parts: object) -> str:
    """Return the name under which an object is kept, from all that it depends on.

    Examples
    --------
    >>> digest("x + 1", 22) == digest("x + 1", 22) != digest("x + 12", 2)
    True
    """
    return _hash(repr(parts).encode()).hex()


def _hash(content: bytes) -> bytes:
    return blake2b(content, digest_size=_CHECKSUM).digest()


def folder() -> Path | None:
    """Return where objects are kept, or None if they are not.

    Examples
    --------
    >>> from unittest.mock import patch
    >>> with patch.dict("os.environ", SIMPLEAUTODIFF_CACHE="off"):
    ...     print(folder())
    None
    """
    told = os.environ.get(VARIABLE)
    if told is not None:
        return None if told.strip().lower() in ("", "0", "off") else Path(told).expanduser()
    try:
        return _usual() / "simpleautodiff"
    except RuntimeError:  # a user without a home
        return None


def _usual() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def load(key: str) -> bytes | None:
    """Return what was kept under this key, or None if it is not there or not to be trusted."""
    place = folder()
    if place is None:
        return None
    try:
        return _content(place, key)
    except OSError:
        return None


def _content(place: Path, key: str) -> bytes | None:
    path = place / (key + _SUFFIX)
    if not _is_private(os.lstat(place)):
        return None
    with open(os.open(path, os.O_RDONLY | _CAREFULLY), "rb") as file:
        if not _is_private(os.fstat(file.fileno())):
            return None
        header, content = file.read(len(_MAGIC) + _CHECKSUM), file.read()
    if header != _header(key, content):
        return None
    with contextlib.suppress(OSError):
        os.utime(path)  # used now: the last to be removed
    return content


def _header(key: str, content: bytes) -> bytes:
    return _MAGIC + _hash(key.encode() + content)


def _is_private(status: os.stat_result) -> bool:
    """Tell whether a directory or a file is this user's, and written by nobody else."""
    if sys.platform == "win32":  # the user's profile is private there
        return True
    others = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return status.st_uid == os.geteuid() and not others and not stat.S_ISLNK(status.st_mode)


def store(key: str, content: bytes) -> None:
    """Keep an object; where that is not possible, go without."""
    place = folder()
    if place is None:
        return
    with contextlib.suppress(OSError):
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        if _is_private(os.lstat(place)):
            _write(place, key, _header(key, content) + content)
            if key.startswith("0"):  # one of sixteen: looking at all files takes a while
                _trim(place)


def _write(place: Path, key: str, content: bytes) -> None:
    """Write beside and then rename, so that no half of a file is ever seen."""
    beside = place / f"{key}-{secrets.token_hex(8)}{_PART}"
    try:
        with open(beside, "xb", opener=_open_private) as file:
            file.write(content)
        os.replace(beside, place / (key + _SUFFIX))
    except BaseException:  # also of an interrupt nothing is left
        beside.unlink(missing_ok=True)
        raise


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _trim(place: Path) -> None:
    """Remove what was not used for the longest time, down to the limit."""
    known = _entries(place)
    size = sum(status.st_size for _, status in known)
    for path, status in sorted(known, key=lambda entry: entry[1].st_mtime):
        if size <= LIMIT:
            return
        path.unlink(missing_ok=True)
        size -= status.st_size


def _entries(place: Path | None) -> list[tuple[Path, os.stat_result]]:
    try:
        return [
            (Path(entry.path), entry.stat(follow_symlinks=False))
            for entry in (os.scandir(place) if place else ())
            if entry.name.endswith((_SUFFIX, _PART))
        ]
    except OSError:
        return []


def contents() -> Contents:
    """Return where objects are kept, how many, and how many bytes they take.

    Examples
    --------
    >>> contents().entries >= 0
    True
    """
    place = folder()
    known = _entries(place)
    return Contents(place, len(known), sum(status.st_size for _, status in known))


def clear() -> Contents:
    """Remove all kept objects, and return what there was; code in use stays in use."""
    before = contents()
    for path, _ in _entries(before.folder):
        path.unlink(missing_ok=True)
    return before
