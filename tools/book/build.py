"""Build the book, and check it: `./docs-build` runs this in its own environment."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import time
from pathlib import Path

from sphinx.cmd.build import build_main

from links import find_dead_links
from simpleautodiff.cli.site.build import write_site

DOCS = Path(__file__).parents[2] / "docs"
OUT = DOCS / "_build" / "html"
LEFT_OUT = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Playground</title>
<p>This copy of the book was built without the playground; <code>./docs-build</code> builds both.
"""


def main() -> int:
    """Build all pages anew, with warnings as errors, and look for dead links."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--no-playground", action="store_true", help="which Node.js is needed for")
    begin = time.monotonic()
    shutil.rmtree(OUT.parent, ignore_errors=True)
    os.environ.setdefault("JAX_PLATFORMS", "cpu")  # or the chapter on JAX reports what is not there
    if options.parse_args().no_playground:
        (OUT / "playground").mkdir(parents=True)
        (OUT / "playground" / "index.html").write_text(LEFT_OUT, encoding="utf-8")
    else:
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
