"""Compiled objects on disk, in a directory that nobody else may write to.

What is loaded from here is executed, so an entry is used only if the directory and the file belong
to this user and nobody else can write to them, its name is that of the program, and its content has
the checksum it was written with. Anything else is ignored. The checksum guards against damage, the
permissions against other users.

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

LIMIT = 256 * 2**20  # bytes: above this, the least recently used objects are removed
VARIABLE = "SIMPLEAUTODIFF_CACHE"
_MAGIC = b"simpleautodiff object 1\n"
_CHECKSUM = 32
_SUFFIX, _PART = ".object", ".part"
_CAREFULLY = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)  # no links


class Contents(NamedTuple):
    """The state of the cache: its directory (None if it is off), objects, and bytes."""

    folder: Path | None
    entries: int
    size: int


def digest(*parts: object) -> str:
    """Return the name under which an object is kept, from everything it depends on.

    Examples
    --------
    >>> digest("x + 1", 22) == digest("x + 1", 22) != digest("x + 12", 2)
    True
    """
    return _hash(repr(parts).encode()).hex()


def _hash(content: bytes) -> bytes:
    return blake2b(content, digest_size=_CHECKSUM).digest()


def folder() -> Path | None:
    """Return the directory of the cache, or None if it is off.

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
        return _find_usual_folder() / "simpleautodiff"
    except RuntimeError:  # a user without a home
        return None


def _find_usual_folder() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def load(key: str) -> bytes | None:
    """Return the object of this key, or None if it is missing or not to be trusted."""
    place = folder()
    if place is None:
        return None
    try:
        return _read_content(place, key)
    except OSError:
        return None


def _read_content(place: Path, key: str) -> bytes | None:
    path = place / (key + _SUFFIX)
    if not _is_private(os.lstat(place)):
        return None
    with open(os.open(path, os.O_RDONLY | _CAREFULLY), "rb") as file:
        if not _is_private(os.fstat(file.fileno())):
            return None
        header, content = file.read(len(_MAGIC) + _CHECKSUM), file.read()
    if header != _make_header(key, content):
        return None
    with contextlib.suppress(OSError):
        os.utime(path)  # most recently used: the last to be removed
    return content


def _make_header(key: str, content: bytes) -> bytes:
    return _MAGIC + _hash(key.encode() + content)


def _is_private(status: os.stat_result) -> bool:
    """Tell whether a directory or a file is this user's, and nobody else can write to it."""
    if sys.platform == "win32":  # on Windows the user's profile is private
        return True
    others = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return status.st_uid == os.geteuid() and not others and not stat.S_ISLNK(status.st_mode)


def store(key: str, content: bytes) -> None:
    """Store an object, if possible."""
    place = folder()
    if place is None:
        return
    with contextlib.suppress(OSError):
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        if _is_private(os.lstat(place)):
            _write(place, key, _make_header(key, content) + content)
            if key.startswith("0"):  # one store in sixteen, as listing all files takes a while
                _trim(place)


def _write(place: Path, key: str, content: bytes) -> None:
    """Write to another file and rename it, so that no partial file is ever seen."""
    beside = place / f"{key}-{secrets.token_hex(8)}{_PART}"
    try:
        with open(beside, "xb", opener=_open_private) as file:
            file.write(content)
        os.replace(beside, place / (key + _SUFFIX))
    except BaseException:  # an interrupt, too, must leave nothing behind
        beside.unlink(missing_ok=True)
        raise


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _trim(place: Path) -> None:
    """Remove the least recently used objects, down to the limit."""
    known = _entries(place)
    size = sum(status.st_size for _, status in known)
    for path, status in sorted(known, key=lambda entry: entry[1].st_mtime):
        if size <= LIMIT:
            return
        path.unlink(missing_ok=True)
        size -= status.st_size


def _entries(place: Path | None) -> list[tuple[Path, os.stat_result]]:
    """Return the objects in a directory; another process may remove some meanwhile."""
    found: list[tuple[Path, os.stat_result]] = []
    if place is None:
        return found
    with contextlib.suppress(OSError), os.scandir(place) as entries:
        for entry in entries:
            if entry.name.endswith((_SUFFIX, _PART)):
                with contextlib.suppress(FileNotFoundError):
                    found.append((Path(entry.path), entry.stat(follow_symlinks=False)))
    return found


def contents() -> Contents:
    """Return the directory of the cache, the number of objects, and their bytes.

    Examples
    --------
    >>> contents().entries >= 0
    True
    """
    place = folder()
    known = _entries(place)
    return Contents(place, len(known), sum(status.st_size for _, status in known))


def clear() -> Contents:
    """Remove all kept objects, and return what there was; loaded code stays in use."""
    before = contents()
    for path, _ in _entries(before.folder):
        path.unlink(missing_ok=True)
    return before
