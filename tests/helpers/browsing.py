"""What tests of the explorer do with a tab of a browser."""

import shutil
import unicodedata

import simpleautodiff as ad

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), ""
)

PHASES = ["values", "order", "forward", "reverse"]


def open_page(tab, folder, f, *args, place="", **options):
    """Write the page of a function or a formula, and open it, perhaps at a place."""
    path = ad.explore(f, *args, path=folder / "page.html", **options)
    tab.goto(path.as_uri() + place)
    return tab


def phase(tab, name):
    """Choose a phase by its tab."""
    tab.click(f"[role=tab][data-phase={name}]")


def position(tab):
    """Return the step, and how many there are."""
    return tuple(map(int, tab.inner_text(".count").split(" / ")))


def formula(tab):
    """Return what is said of the present step."""
    return tab.inner_text(".formula").replace("\n", "")


def table_rows(tab):
    """Return the rows of the table: name, symbols, numbers, result."""
    rows = tab.eval_on_selector_all(
        ".table tbody tr",
        """all => all.map(shown => {
            const row = shown.cloneNode(true);
            for (const power of row.querySelectorAll("sup")) power.prepend("^");
            const [name, ...cells] = [...row.cells];
            const below = cells[0].querySelector(".numbers")?.textContent ?? "";
            const [symbols, result] = [cells[0].textContent, cells.at(-1).textContent];
            const beside = cells.length > 2 ? cells[1].textContent : "";
            const told = symbols.slice(0, symbols.length - below.length);
            return [name.textContent, told, beside || below.replace(/^= /, ""), result];
        })""",
    )
    plain = str.maketrans("−\u00a0", "- ")
    return [[unicodedata.normalize("NFC", text.translate(plain)) for text in row] for row in rows]


def text_sizes(tab):
    """Return the size of every text that is seen, in pixels of the screen."""
    return tab.evaluate(
        """() => {
            const walk = document.createTreeWalker(document.querySelector("#explorer"), 4);
            const sizes = [];
            while (walk.nextNode()) {
                const part = walk.currentNode.parentElement;
                if (!walk.currentNode.data.trim() || !part.checkVisibility()) continue;
                const svg = part.ownerSVGElement;
                const scale = svg ? svg.getScreenCTM().a : 1;
                sizes.push(scale * parseFloat(getComputedStyle(part).fontSize));
            }
            return sizes;
        }"""
    )
