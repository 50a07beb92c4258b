"""The misconceptions: what is said about each, and where to read."""

from __future__ import annotations

from dataclasses import dataclass, replace

WRONG, LIMIT = "wrong", "limit"
LIMITS = ("depth", "memory", "leak")


@dataclass(frozen=True)
class Mistake:
    """A misconception: its name, what the engine does and why that is wrong, where to read."""

    name: str
    says: str
    rung: int
    where: str
    kind: str = WRONG  # or a limit: right numbers, as long as the graph is small

    @property
    def read(self) -> str:
        """Where to read how to do it right."""
        return f"rung {self.rung}, `{self.where}`: print(learn.rung({self.rung}).text)"


def _mistakes(*rows: tuple[str, str, int, str]) -> dict[str, Mistake]:
    return {
        name: Mistake(name, says, rung, where, LIMIT if name in LIMITS else WRONG)
        for name, says, rung, where in rows
    }


OPERATION_WORDS = {
    **{"add": "addition", "sub": "subtraction", "mul": "multiplication", "div": "division"},
    "functions": "function of one argument",
    **{name: name for name in ("sin", "cos", "exp", "log", "sqrt", "tanh", "relu", "abs")},
    **{"pow": "power", "neg": "negation"},
}
MISTAKES = _mistakes(
    # orders
    ("preorder", "Your sweep follows a pre-order of the search: a node passes its derivative on "
     "before all contributions to it have arrived. Append a node after its neighbours, and go "
     "through the list from its other end.", 3, "depth_first"),
    ("unreversed", "Your sweep goes through the order from the wrong end: nodes are done before "
     "the derivative has come to them. Reverse the list.", 3, "reverse"),
    ("breadth_first", "Your sweep goes breadth-first. A node near the output can still wait for a "
     "contribution that comes over a longer way; distance from the output is no topological "
     "order.", 3, "depth_first"),
    ("recursion", "Your recursion has no order: each time a node is reached it passes on "
     "everything that it has collected so far, so early contributions are counted again.",
     3, "reverse"),
    ("no_visited", "Your search does not remember which nodes it has visited, so a shared node "
     "stands in the order several times and passes its derivative on each time.", 3, "depth_first"),
    ("dead_children", "A node of your sweep waits for all of its children, also for those that the "
     "output does not depend on: these never come, and the derivative stops there.", 3, "reverse"),
    # sums and parents
    ("overwritten", "You assign the derivative (=) where contributions must be added (+=): of "
     "several ways to a node only the last one counts.", 3, "reverse"),
    *(
        (f"overwritten_in_{name}", f"Your {does} assigns the derivative of its arguments (=) where "
         "it must be added (+=), as in the other operations: of several ways to a node only the "
         "last one counts.", 3, "reverse")
        for name, does in OPERATION_WORDS.items()
    ),
    ("shared_gradient", "A sum hands its own gradient array on to its arguments, and += changes "
     "that array in place: then the gradients of other nodes change, too. Keep a copy, or write "
     "grad = grad + g, which makes a new array.", 6, "add_to"),
    ("first_place", "Your sweep finds a parent's partial by its first place in the list; where the "
     "same node stands there twice, as in x - x, the second partial is never used. Go through the "
     "places, not through the nodes.", 3, "reverse"),
    ("parents_as_set", "Your parents are a set (or the keys of a dict): where the same node stands "
     "twice, as in x * x, one of its places is lost.", 3, "reverse"),
    ("equal_values", "Your nodes are equal when their values are equal, so two nodes with the same "
     "number are taken for one by a set or a dict. Nodes are compared by identity: define no "
     "__eq__, or use @dataclass(eq=False).", 1, "Node"),
    ("shared_parents", "All nodes share one list of parents: a default argument [] is made once, "
     "not for each call. Use None or ().", 1, "Node"),
    ("constants_shift", "A constant operand is left out of the parents, but its partial is not "
     "left out of the partials, so all later ones have moved by one place: in 3 - x the node x is "
     "given the partial of 3.", 2, "record"),
    # seeds and sweeps
    ("stale_sum", "The derivatives of an earlier sweep are still there when the next begins, and "
     "are added to. Each sweep begins with nothing but its seed.", 1, "forward"),
    ("stale_unreached", "A node that this sweep does not reach still has the number of an earlier "
     "sweep, and whoever reads it takes that. What is not reached has the derivative 0.",
     1, "forward"),
    ("seed_is_value", "Your sweep begins with the value of the node instead of dy/dy = 1.",
     3, "reverse"),
    ("no_seed", "Your sweep never sets its seed dy/dy = 1, so everything is 0, whatever else may "
     "be wrong in it: grade it again when it is set.", 3, "reverse"),
    ("output_left_out", "The derivative of the output with respect to itself, dy/dy = 1, is not "
     "among your results: where the output is an input, you answer 0.", 3, "reverse"),
    ("from_the_end", "Your sweep begins at the last node that was made, not at the one it was "
     "asked for.", 4, "reverse"),
    ("used_up", "Your sweep empties its tape, so a second sweep of the same graph finds nothing: "
     "it answers 0, or raises an error. Leave the tape as it is.", 4, "reverse"),
    ("all_seeded", "All inputs have the seed 1 at once, so you find the sum of all partial "
     "derivatives. Seed the one input of this sweep with 1, the others with 0.", 1, "forward"),
    ("constants_seeded", "A constant has the derivative 1, as if it were the input too: in 2 * x "
     "the 2 is made a number whose derivative begins with 1. That of a constant is 0.", 2,
     "record"),
    ("no_chain", "A function of one argument gives its own derivative, without multiplying by the "
     "one that comes in: the chain rule is missing.", 0, "forward"),
    ("no_adjoint", "A node passes its partials on as they are (p.grad += d). The chain rule "
     "multiplies each by the derivative that has come to the node itself: "
     "p.grad += node.grad * d.", 3, "reverse"),
    *(
        (f"no_chain_in_{name}", f"Your {does} gives its own derivative, without multiplying by the "
         "one that comes in, as the other operations do: the chain rule is missing there.",
         3, "reverse")
        for name, does in OPERATION_WORDS.items()
        if name != "functions"
    ),
    ("product_of_derivatives", "You multiply the derivatives of the factors. The product rule is "
     "(ab)' = a'b + ab'.", 0, "mul"),
    # names, operators, numbers
    ("in_place_add", "a += b changes the node a itself: whoever else holds it (x, after a = x) "
     "sees another number, and the addition is in no graph. Return a new node; without __iadd__ "
     "Python does so.", 2, "Node"),
    ("reflected_sub", "2 - x is computed as x - 2: in __rsub__ the constant is the first operand.",
     2, "Node"),
    ("reflected_div", "2 / x is computed as x / 2: in __rtruediv__ the constant is the first "
     "operand.", 2, "Node"),
    ("missing_reflected", "A constant on the left, as in 2 * x, raises an error: Python asks the "
     "node for __rmul__ (__radd__, __rsub__, __rtruediv__).", 2, "Node"),
    ("floor_division", "Integers are divided by //, which drops the fraction.", 2, "div"),
    # rules
    ("subtraction_sign", "The second partial of a - b is -1.", 0, "sub"),
    ("subtraction_turned", "The partials of a - b are 1 and -1, in this order.", 0, "sub"),
    ("product_as_sum", "The partials of a * b are b and a; 1 and 1 are those of a sum.", 0, "mul"),
    ("product_of_one_term", "The product rule has two terms: the second partial of a * b is a.",
     0, "mul"),
    ("product_swapped", "The partial of a * b with respect to a is b, and not a.", 0, "mul"),
    ("division_sign", "The second partial of a / b is -a/b²: the sign is missing.", 2, "div"),
    ("division_square", "The second partial of a / b is -a/b²: the square is missing.", 2, "div"),
    ("power_exponent", "The derivative of xⁿ is n xⁿ⁻¹: you do not lower the exponent.",
     2, "power"),
    ("power_factor", "The derivative of xⁿ is n xⁿ⁻¹: the factor n is missing.", 2, "power"),
    ("negation_sign", "The derivative of -x is -1.", 2, "neg"),
    ("sine_is_sine", "The derivative of sin is cos, not sin.", 0, "sin"),
    ("sine_sign", "The derivative of sin is cos, with no minus.", 0, "sin"),
    ("cosine_sign", "The derivative of cos is -sin: the sign is missing.", 2, "cos"),
    ("exponential_of_input", "The derivative of exp is exp itself, so the value of the new node, "
     "not that of its argument.", 2, "exp"),
    ("exponential_as_power", "exp(x) is no power of x: its derivative is exp(x), not "
     "x exp(x - 1).", 2, "exp"),
    ("logarithm_of_value", "The derivative of log(x) is 1/x, with x and not with log(x).",
     0, "log"),
    ("logarithm_base", "log is the natural logarithm, so its derivative is 1/x, with no log(10).",
     0, "log"),
    ("root_half", "The derivative of sqrt(x) is 1/(2 sqrt(x)): the 2 is missing.", 2, "power"),
    ("tanh_of_input", "The derivative of tanh is 1 - v² with the result v, not with the argument.",
     7, "Primitive"),
    ("tanh_square", "The derivative of tanh is 1 - v²: the square is missing.", 7, "Primitive"),
    ("relu_of_value", "The derivative of relu is 1 where it is on, not its value.", 7, "Primitive"),
    ("relu_always", "The derivative of relu is 0 where it is off.", 7, "Primitive"),
    ("abs_always", "The derivative of abs is -1 for negative numbers.", 7, "Primitive"),
    ("maximum_both", "Only the larger argument of max has the derivative 1; the other has 0.",
     7, "Primitive"),
    # what is no engine yet
    ("missing_operations", "Your engine lacks operations without which too little of it can be "
     "asked.", 0, "mul"),
    ("missing_sweep", "Nothing was found that carries derivatives through a graph, so only the "
     "rules of your operations can be graded, by a sweep of ours. Write one next: the chain rule, "
     "along an order.", 0, "forward"),
    ("differences", "Your function is only ever called with plain numbers, so your derivatives are "
     "differences of values: right to some digits, not to rounding. The chain rule is exact; for "
     "it the function must be called with nodes, which record what is done to them.", 0, "forward"),
    ("unreadable", "The grader cannot read what your sweep returns. It reads an attribute of nodes "
     "such as grad, a dict by node or by its position, and a list by the position that a node "
     "has as index (or i, idx, id).", 3, "reverse"),
    # what is no number
    ("none_for_zero", "Where the output does not depend on an input you answer None. The "
     "derivative is 0.", 1, "forward"),
    ("constant_output", "An output that is a plain number raises an error. It depends on nothing: "
     "all derivatives are 0.", 4, "grad"),
    ("phantom_child", "An operation that raised an error half way has left a child in the list of "
     "its first parent, or an entry on the tape. Compute everything first, and write it down "
     "last.", 1, "Node"),
    ("exponential", "The work doubles with every step: you follow every path from the output to "
     "the inputs, and there are exponentially many. Visit each node once, in an order.",
     3, "depth_first"),
    ("depth", "Your search calls itself for each node, and Python allows about a thousand calls "
     "inside each other. Use a stack of your own, or a tape.", 1, "topological_order"),
    ("memory", "Each node keeps something that grows with the graph before it, such as its whole "
     "formula as a name: memory grows with the square of the length of a chain, and doubles with "
     "each node that is used twice. Keep the parents alone.", 4, "Tape"),
    ("leak", "Every result that was ever computed is kept, by its parents' lists of children or by "
     "a list of the module. Use weak references, or a tape that ends with its graph.", 1, "Node"),
    ("kink", "At a kink the derivative is a choice between those of both sides; yours is outside "
     "of them.", 7, "Primitive"),
    ("raises", "Your engine raises an error on this graph.", 1, "forward"),
    ("timeout", "Your engine did not come back in time.", 1, "forward"),
    ("died", "Your code ended the process it ran in.", 1, "forward"),
    ("wrong_rule", "The rule of an operation is wrong: its value is right, its derivative is not.",
     2, "record"),
    ("wrong_value", "The value of an operation is wrong, and with it all that is computed from "
     "it.", 2, "record"),
    ("unknown", "The numbers are wrong in a way that no known misconception explains.",
     3, "reverse"),
)  # fmt: skip
RULE_PLACES = {  # where an operation is found: its rung and its name there
    **{"add": (0, "add"), "sub": (0, "sub"), "mul": (0, "mul"), "div": (2, "div")},
    **{"pow": (2, "power"), "neg": (2, "neg"), "log": (0, "log"), "exp": (2, "exp")},
    **{"sin": (0, "sin"), "cos": (2, "cos")},
}


def blame_operation(operation: str, value: bool) -> Mistake:
    """Return the mistake of one operation: that its value is wrong, or else that its rule is.

    Examples
    --------
    >>> blame_operation("sin", value=False).says
    'The rule of your sin is wrong: its value is right, its derivative is not.'
    """
    mistake = MISTAKES["wrong_value" if value else "wrong_rule"]
    name, *constant = operation.split(" ", 1)
    word = " ".join([OPERATION_WORDS.get(name, name), *constant])
    rung, where = RULE_PLACES.get(name, (7, "Primitive"))
    says = mistake.says.replace("an operation", f"your {word}")
    return replace(mistake, says=says, rung=rung, where=where)
