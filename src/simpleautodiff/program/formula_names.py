"""The names that a formula can contain: functions, their other names, constants, variables."""

from __future__ import annotations

import keyword
import math
import re

from simpleautodiff.rules.row import TABLE

MAX_NAME = 40
CONSTANTS = {"pi": math.pi, "e": math.e}
ALIASES = {"ln": "log", "arcsin": "asin", "arccos": "acos", "arctan": "atan", "max": "maximum"}
ALIASES |= {"arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh", "tg": "tan", "sgn": "sign"}
ALIASES |= {"min": "minimum", "absolute": "abs", "arctan2": "atan2", "pow": "power"}
_EXCLUDED = {"where", "round", "stop_gradient", "sinc_derivative", "floor_divide"}
_EXCLUDED |= {"sech_squared", "erfcx_derivative", "log1prel", "poisson_log", "polygamma_step"}
_EXCLUDED |= {"sph_harm_y"}  # it is complex, and takes as long as its degree is high
_EXCLUDED |= {name for name in TABLE if name.endswith("_derivative")}  # rows that rules are made of
FORMULA_FUNCTIONS = sorted(
    name for name, row in TABLE.items() if not row.arrays and name not in _EXCLUDED
)
FUNCTION_NAMES = {*FORMULA_FUNCTIONS, *ALIASES}
GREEK_NAMES = {"beta", "gamma", "zeta"}  # variables, too, if they are not called
WELL_FORMED = re.compile(r"[A-Za-zͰ-Ͽ][A-Za-zͰ-Ͽ\d_]*", re.ASCII)


def is_name(text: str) -> bool:
    """Tell whether a text can be the name of a variable."""
    known = text in CONSTANTS or text in FUNCTION_NAMES - GREEK_NAMES
    well_formed = text.isidentifier() and WELL_FORMED.fullmatch(text) is not None
    return well_formed and len(text) <= MAX_NAME and not known and not keyword.iskeyword(text)
