"""Dead links: every address of the built pages must lead to a file and a place in it."""

from __future__ import annotations

from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {"script", "img", "iframe", "link", "source"}  # what a page needs to be seen


class Places(HTMLParser):
    """The names of a page that can be linked to, and the links it has."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.links: list[tuple[str, str]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the names and links of an element."""
        given = {key: value for key, value in attrs if value}
        self.names |= {given[key] for key in ("id", "name") if key in given}
        self.links += [(tag, given[key]) for key in ("href", "src") if key in given]


def find_dead_links(folder: Path) -> Iterator[str]:
    """Give what is wrong with the links of all pages below a folder."""
    pages = {path.resolve(): Places(path.read_text("utf-8")) for path in folder.rglob("*.html")}
    for path, page in pages.items():
        for tag, link in page.links:
            problem = _check(path, tag, link, pages)
            if problem:
                yield f"{path.relative_to(folder.resolve())}: {link}: {problem}"


def _check(path: Path, tag: str, link: str, pages: dict[Path, Places]) -> str:
    """Say what is wrong with one link; nothing, if it leads somewhere."""
    parts = urlsplit(link)
    if parts.scheme == "data" or (parts.scheme in ("http", "https") and tag not in LOADED):
        return ""
    if parts.scheme or parts.netloc:
        return "is loaded from elsewhere, so the page does not work offline"
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if target.is_dir():
        target /= "index.html"
    if not target.is_file():
        return "there is no such file"
    known = pages.get(target)
    is_state = "=" in parts.fragment  # as #phase=order, of the explorer
    if known and parts.fragment and not is_state and unquote(parts.fragment) not in known.names:
        return "there is no such place on the page"
    return ""
