"""The map of the source, from the first sentence of each module.

Run it by: python tests/helpers/module_map.py > docs/modules.md
"""

import ast
import pathlib

SOURCE = pathlib.Path(__file__).parents[2] / "src" / "simpleautodiff"
ORDER = (  # from what is built on nothing to what is built on all
    *("errors", "values", "core", "rules", "fast", "arrays", "transforms", "program"),
    *("compiled", "plug", "autograd", "display", "learn", "cli"),
)


def sentence(path):
    """Return the first sentence of a module's docstring."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    return " ".join(text.split("\n\n")[0].split())


def folders(folder):
    """Yield a package and those inside it, with their modules."""
    modules = sorted(path for path in folder.glob("*.py") if path.name != "__init__.py")
    yield folder, modules
    inner = sorted(path.parent for path in folder.glob("*/__init__.py"))
    for each in inner:
        yield from folders(each)


def page():
    """Write the page."""
    lines = [
        "# Where everything is",
        "",
        "Each module opens with a sentence that says what it holds; this page is made of these",
        "sentences. [How it is built](architecture.md) tells how the packages work together.",
        "",
        f"`errors`: {sentence(SOURCE / 'errors.py')}",
    ]
    for name in ORDER[1:]:
        for folder, modules in folders(SOURCE / name):
            dotted = ".".join(folder.relative_to(SOURCE).parts)
            level = "##" if folder.parent == SOURCE else "###"
            lines += ["", f"{level} `{dotted}`", "", sentence(folder / "__init__.py"), ""]
            if modules:
                lines += ["| module | what it holds |", "|---|---|"]
            lines += [f"| `{path.stem}` | {sentence(path)} |" for path in modules]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(page(), end="")
