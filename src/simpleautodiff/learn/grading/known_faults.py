"""The known faults: rules and how they go wrong, and what else can be wrong in an engine.

`model` has a flag for each; `mistakes` has the words.
"""

from __future__ import annotations

import math
from collections.abc import Callable

Rule = tuple[Callable[..., float], tuple[Callable[..., float], ...]]


RULES: dict[str, Rule] = {  # the value, and ∂v/∂argument from (v, *arguments)
    "add": (lambda a, b: a + b, (lambda v, a, b: 1, lambda v, a, b: 1)),
    "iadd": (lambda a, b: a + b, (lambda v, a, b: 1, lambda v, a, b: 1)),
    "sub": (lambda a, b: a - b, (lambda v, a, b: 1, lambda v, a, b: -1)),
    "mul": (lambda a, b: a * b, (lambda v, a, b: b, lambda v, a, b: a)),
    "div": (lambda a, b: a / b, (lambda v, a, b: 1 / b, lambda v, a, b: -a / b**2)),
    "pow": (lambda a, n: a**n, (lambda v, a, n: n * a ** (n - 1) if n else 0, lambda v, a, n: 0)),
    "neg": (lambda a: -a, (lambda v, a: -1,)),
    "inverse": (lambda a: 1 / a, (lambda v, a: -1 / a**2,)),  # by which a / b may be written
    "sin": (math.sin, (lambda v, a: math.cos(a),)),
    "cos": (math.cos, (lambda v, a: -math.sin(a),)),
    "exp": (math.exp, (lambda v, a: v,)),
    "log": (math.log, (lambda v, a: 1 / a,)),
    "sqrt": (math.sqrt, (lambda v, a: 0.5 / v,)),
    "tanh": (math.tanh, (lambda v, a: 1 - v * v,)),
    "relu": (lambda a: max(a, 0.0), (lambda v, a: float(a > 0),)),
    "abs": (abs, (lambda v, a: float(a > 0) - float(a < 0),)),
    "max": (max, (lambda v, a, b: float(a >= b), lambda v, a, b: float(a < b))),
}

VALUE = -1
# A wrong rule: the operation, and what stands in place of some partials, or of the value.
WRONG_RULES: dict[str, tuple[str, dict[int, Callable[..., float]]]] = {
    "subtraction_sign": ("sub", {1: lambda v, a, b: 1}),
    "product_swapped": ("mul", {0: lambda v, a, b: a, 1: lambda v, a, b: b}),
    "division_sign": ("div", {1: lambda v, a, b: a / b**2}),
    "division_square": ("div", {1: lambda v, a, b: -a / b}),
    "division_square_in_both": ("div", {0: lambda v, a, b: 1, 1: lambda v, a, b: -a / b}),
    "floor_division": ("div", {VALUE: lambda a, b: a // b}),
    "power_exponent": ("pow", {0: lambda v, a, n: n * v}),
    "power_factor": ("pow", {0: lambda v, a, n: a ** (n - 1)}),
    "power_factor_but_0": ("pow", {0: lambda v, a, n: a ** (n - 1) if n else 0}),
    "negation_sign": ("neg", {0: lambda v, a: 1}),
    "sine_is_sine": ("sin", {0: lambda v, a: v}),
    "sine_sign": ("sin", {0: lambda v, a: -math.cos(a)}),
    "cosine_sign": ("cos", {0: lambda v, a: math.sin(a)}),
    "exponential_of_input": ("exp", {0: lambda v, a: a}),
    "exponential_as_power": ("exp", {0: lambda v, a: a * math.exp(a - 1)}),
    "logarithm_of_value": ("log", {0: lambda v, a: 1 / v if v else math.inf}),
    "root_half": ("sqrt", {0: lambda v, a: 1 / v}),
    "tanh_of_input": ("tanh", {0: lambda v, a: 1 - a * a}),
    "tanh_square": ("tanh", {0: lambda v, a: 1 - v}),
    "relu_of_value": ("relu", {0: lambda v, a: v}),
    "relu_always": ("relu", {0: lambda v, a: 1.0}),
    "abs_always": ("abs", {0: lambda v, a: 1.0}),
    "maximum_both": ("max", {0: lambda v, a, b: 1.0, 1: lambda v, a, b: 1.0}),
    "subtraction_turned": ("sub", {0: lambda v, a, b: -1, 1: lambda v, a, b: 1}),
    "product_as_sum": ("mul", {0: lambda v, a, b: 1, 1: lambda v, a, b: 1}),
    "product_of_one_term": ("mul", {1: lambda v, a, b: 0}),
    "logarithm_base": ("log", {0: lambda v, a: 1 / (a * math.log(10))}),
}
RARE_RULES = ("subtraction_turned", "product_as_sum", "product_of_one_term", "logarithm_base")
ORDER_FAULTS = (
    "preorder",
    "unreversed",
    "breadth_first",
    "recursion",
    "no_visited",
    "dead_children",
)
FLAGS = (  # what else can be wrong, in reverse mode, in forward mode, or in building
    *ORDER_FAULTS,
    *("overwritten", "first_place", "parents_as_set", "stale_sum", "stale_unreached"),
    *(
        "seed_is_value",
        "no_seed",
        "from_the_end",
        "used_up",
        "no_chain",
        "no_adjoint",
        "constants_shift",
        "equal_values",
    ),
    *("all_seeded", "product_of_derivatives", "reflected_sub", "reflected_div", "in_place_add"),
    *("constants_seeded", "output_left_out", "shared_gradient"),
)
SINGLE_FUNCTIONS = ("sin", "cos", "exp", "log", "sqrt", "tanh", "relu", "abs")
ASSIGNED = {  # = for += in one operation alone, and which operations that is
    **{f"overwritten_in_{operation}": (operation,) for operation in ("sub", "mul", "div")},
    "overwritten_in_add": ("add", "iadd"),
    **{
        f"overwritten_in_{operation}": (operation,)
        for operation in ("pow", "neg", *SINGLE_FUNCTIONS)
    },
    "overwritten_in_functions": tuple(op for op, (_, rules) in RULES.items() if len(rules) == 1),
}
ASSIGNED_TERMS = {  # = for += in one term of an operation: which operation, and which term
    f"overwritten_{which}_in_{operation}": (operation, place)
    for operation in ("add", "sub", "mul", "div")
    for place, which in enumerate(("first", "second"))
}
UNCHAINED = {  # the chain rule is missing in one operation alone
    f"no_chain_in_{operation}": operation
    for operation in ("add", "sub", "mul", "div", "pow", "neg", *SINGLE_FUNCTIONS)
}
VARIANTS = {  # the same misconception, written in another way, with other numbers
    "overwritten_by_last": "overwritten",
    "constants_shift_all": "constants_shift",
    "power_factor_but_0": "power_factor",
    "division_square_in_both": "division_square",
    "no_chain_in_functions": "no_chain",
    "stale_kept": "stale_unreached",
    "no_adjoint_if_reached": "no_adjoint",
    "equal_values_added": "equal_values",
    "equal_fields": "equal_values",
    "equal_fields_in_order": "equal_values",
    "no_visited_at_inputs": "no_visited",
    **{name: f"overwritten_in_{operation}" for name, (operation, _) in ASSIGNED_TERMS.items()},
}
FAULTS = tuple(dict.fromkeys((*FLAGS, *ASSIGNED, *VARIANTS, *WRONG_RULES, *UNCHAINED)))

# How an engine may be written otherwise, which is no fault. First in what order it sweeps: some
# tapes pass on the 0 of a node that the output does not depend on, of earlier graphs too, or not.
ZEROS = "tape with zeros", "tape with zeros of this graph"
READY = "first ready", "last ready"  # nodes whose uses are all done wait in a queue, or on a stack
STYLES = ("search", "tape", "tape to the end", "dual", "stack", "set", "paths", *ZEROS, *READY)
# Then what it records. Differences, quotients and negations are composed of others:
# a + b * -1, a * b**-1, a * -1; or differences and quotients inverted: a + -b, a * (1 / b).
COMPOSITIONS = COMPOSED, INVERTED = "composed", "inverted"
# "constants apart": operations with constants have code of their own. "commuted": 2 * x is x * 2.
# "subtracted": -x is 0 - x. "by the value": the partials of a quotient are computed from it. "in
# turn": each sweep treats all inputs but one as constants. "on arrival": a node keeps the adjoint
# of its last visit.
APART, COMMUTED, SUBTRACTED = "constants apart", "commuted", "subtracted"
BY_VALUE = "by the value"
IN_TURN, ON_ARRIVAL = "in turn", "on arrival"
WAYS: tuple[tuple[str, ...], ...] = (
    *((), (BY_VALUE,), (COMMUTED,), (COMPOSED,), (APART,), (INVERTED,), (IN_TURN,), (ON_ARRIVAL,)),
    *(
        (SUBTRACTED,),
        (COMPOSED, COMMUTED),
        (INVERTED, COMMUTED),
        (COMPOSED, APART),
        (INVERTED, APART),
    ),
)
