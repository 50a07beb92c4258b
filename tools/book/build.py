"""Build the book, and check it: `./docs-build` runs this in its own environment."""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from pathlib import Path

from sphinx.cmd.build import build_main

from links import find_dead_links
from simpleautodiff.cli.site.build import write_site

DOCS = Path(__file__).parents[2] / "docs"
OUT = DOCS / "_build" / "html"


def main() -> int:
    """Build all pages anew, with warnings as errors, and look for dead links."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--no-playground", action="store_true", help="which Node.js is needed for")
    begin = time.monotonic()
    shutil.rmtree(OUT.parent, ignore_errors=True)
    if not options.parse_args().no_playground:
        write_site(OUT / "playground")
    words = ["-b", "html", "-q", "-W", "--keep-going", "-d", str(OUT.parent / "trees")]
    status = build_main([*words, str(DOCS), str(OUT)])
    dead = list(find_dead_links(OUT))
    print(*dead, sep="\n", end="\n" if dead else "", file=sys.stderr)
    pages = sum(1 for _ in OUT.rglob("*.html"))
    print(f"{pages} pages in {time.monotonic() - begin:.0f} s: {OUT / 'index.html'}")
    return status or bool(dead)


if __name__ == "__main__":
    sys.exit(main())
