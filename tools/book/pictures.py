"""Make the pictures of the documents anew: figures, and pages and the playground in Chromium.

Run it in a checkout, with the test dependencies, Chromium and npm: `python tools/book/pictures.py`.
"""

import functools
import shutil
import tempfile
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlencode

import numpy as np

import simpleautodiff as ad
from simpleautodiff.cli.site.build import write_site

FIGURES = Path(__file__).parents[2] / "docs" / "figures"
NEWTON = """\
def root(a):
    x = a
    while abs(x * x - a) > 1e-9:
        x = (x + a / x) / 2
    return x
"""


def f(x1, x2):
    """Compute the example of the paper."""
    growth = ad.log(x1) + x1 * x2
    return growth - ad.sin(x2)


def descend(x, rate):
    """Go down a slope in many steps."""
    total = 0.0
    for _ in range(1000):
        slope = ad.cos(x) * x
        total = total + slope * slope
        x = x - rate * slope
    return total / 1000 + x


def draw_figures():
    """Return the figures by the names of their files."""
    band = ad.sparsity(lambda x: x[1:] * x[:-1])(np.ones(6))
    return {
        "adjoints.svg": ad.figure(ad.trace(f, 2, 5), "adjoints").svg(),
        "loop.svg": ad.figure(ad.trace(descend, 1.0, 0.01)).svg(),
        "sparsity.svg": ad.figure(band).svg(),
    }


class Quiet(SimpleHTTPRequestHandler):
    """A server of a folder that prints nothing."""

    def log_message(self, format, *args):
        """Say nothing."""


def main():
    """Write all pictures."""
    from playwright.sync_api import sync_playwright  # which the figures do not need

    for name, svg in draw_figures().items():
        (FIGURES / name).write_text(svg, encoding="utf-8")
    with sync_playwright() as play, tempfile.TemporaryDirectory() as folder:
        browser = play.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        tab = browser.new_page(viewport={"width": 1280, "height": 800})
        page = ad.explore(f, 2, 5, path=Path(folder) / "page.html")
        tab.goto(f"{page.as_uri()}#phase=reverse&step=5")
        tab.wait_for_timeout(1500)  # numbers have arrived where they travel to
        tab.screenshot(path=FIGURES / "explorer.png")

        site = write_site(Path(folder) / "site")
        serve = functools.partial(Quiet, directory=str(site.folder))
        server = ThreadingHTTPServer(("127.0.0.1", 0), serve)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        tab.set_viewport_size({"width": 1200, "height": 860})
        place = urlencode({"formula": NEWTON, "at": "a=2", "phase": "reverse", "step": "9"})
        tab.goto(f"http://127.0.0.1:{server.server_address[1]}/#{place}")
        tab.click("text=Explore")
        tab.wait_for_selector("#explorer .count", timeout=120_000)
        tab.wait_for_timeout(3000)
        tab.screenshot(path=FIGURES / "playground.png")
        server.shutdown()
        browser.close()


if __name__ == "__main__":
    main()
