"""How Sphinx builds the book; `./docs-build` runs it."""

import sys
from pathlib import Path

TOOLS = Path(__file__).parents[1] / "tools" / "book"
sys.path.insert(0, str(TOOLS))

project = "simpleautodiff"
author = "The simpleautodiff developers"
copyright = "the simpleautodiff developers; BSD-3-Clause"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "extension"]
exclude_patterns = ["_build"]
templates_path = [str(TOOLS)]

myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 4
myst_dmath_double_inline = False
default_role = "code"
autodoc_typehints = "none"
autodoc_preserve_defaults = True
add_module_names = False
napoleon_google_docstring = False

html_theme = "furo"
html_title = "simpleautodiff"
html_static_path = [str(TOOLS / "static")]
html_css_files = ["book.css"]
html_math_renderer = "mathml"
html_copy_source = False
html_show_sphinx = False
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"
