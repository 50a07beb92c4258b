"""Random programs: statements on arrays or single numbers, the inputs, and what is asked of them.

A program is a list of statements that read and write a list of arrays of one shape (or of single
numbers), and a list of numbers; all of it follows from a seed. Statements compute, take views,
write in place, alias, branch, loop; a program ends with several results. What is asked of it (a
gradient, a pullback, a Hessian-vector product, ...) and the limits of the fast engine follow from
the seed, too.

*Tame* programs stay inside the domains of their functions, so that others can be asked for the same
derivative. *Wild* ones do not: their inputs are zeros of both signs, infinities, nan, numbers that
are tiny, huge or equal, and their functions are taken as they are.
"""

import math
import random
from dataclasses import dataclass, field

import numpy as np

LIMITS = {
    "small": [0, 3, 16, 4096],
    "medium": [0, 5, 20, 2**14],
    "pooled": [1, 40, 2**19],
    "pool": [0, 200, 2**28],
    "block": [2, 5, 2**15],
    "near": [0, 8, 2**20],
    "many": [1, 8, 1024],
    "repeated": [0, 2**24],
}

# Operations, as they are written: of arrays a and b and a number s. ---------------------------

UNARY = {
    "sin": "np.sin(a)",
    "tanh": "np.tanh(a)",
    "gauss": "np.exp(-a * a)",
    "root": "np.sqrt(1 + a * a)",
    "log": "np.log(1.5 + a * a)",
    "square": "a**2 / 4",
    "cube": "np.tanh(a) ** 3",
    "minus": "-a",
    "half": "a * 0.5",
    "shift": "a + 1",
    "cos": "np.cos(a)",
    "arctan": "np.arctan(a)",
    "plus": "+a",
    "clip": "np.clip(a, -0.83, 0.91)",
    "softplus": "np.logaddexp(a, 0.0)",
}
BINARY = {
    "add": "a + b",
    "sub": "a - b",
    "mul": "a * b",
    "div": "a / (2 + np.sin(b))",
    "maximum": "np.maximum(a, b + 0.01)",
    "logaddexp": "np.logaddexp(a, b)",
    "hypot": "np.hypot(a, 1 + b * b)",
    "where": "np.where(a > 0.17, a, b)",
    "arctan2": "np.arctan2(a, 2 + b * b)",
    "power": "(1.5 + np.tanh(a)) ** np.tanh(b)",
}
HOLOMORPHIC = {
    **{name: UNARY[name] for name in ("sin", "gauss", "square", "minus", "half", "shift", "cos")},
    "inverse": "1 / (3 + a * a)",
    "conj": "np.conj(a)",
    "real": "a.real + 0j",
    "turn by": "a * (0.3 + 0.4j)",
}
HOLOMORPHIC_BINARY = {
    **{name: BINARY[name] for name in ("add", "sub", "mul")},
    "complex div": "a / (3 + b * b)",
}
WILD = {
    **{f"raw {name}": f"np.{name}(a)" for name in (
        "log", "sqrt", "exp", "tanh", "arcsin", "arctanh", "arccosh", "log1p", "cbrt", "tan", "abs",
        "sign", "floor", "square", "reciprocal", "expm1", "sinh", "arccos", "log2", "exp2", "sin",
        "arctan", "arcsinh", "log10", "cosh", "rint",
    )},
    "inverse": "1 / a",
    "power -1": "a ** -1",
    "power 2": "a ** 2",
    "power 3": "a ** 3",
    "power 1.7": "a ** 1.7",  # a ** 0.5 of an array is np.sqrt, and of a number it is not
    "base 2": "2.0 ** a",
    "base 0": "0.0 ** a",
    "zero times": "0.0 * a",
    "minus zero": "a - 0.0",
    "plus zero": "a + 0.0",
    "minus": "-a",
    "shift": "a + 1",
    "less one": "1 - a",
    "half": "a * 0.5",
    "huge times": "a * 1e200",
    "relu": "ad.relu(a)",
    "sigmoid": "ad.sigmoid(a)",
    "raw softplus": "ad.softplus(a)",
    "above 0": "np.maximum(a, 0.0)",
    "below 1": "np.minimum(1.0, a)",
    "unit": "np.clip(a, -1.0, 1.0)",
    "positive part": "np.where(a > 0, a, 0.0)",
    "log of positive": "np.where(a > 0, np.log(a), 0.0)",
}  # fmt: skip
WILD_BINARY = {
    "add": "a + b",
    "sub": "a - b",
    "mul": "a * b",
    "raw div": "a / b",
    "raw power": "a ** b",
    **{f"raw {name}": f"np.{name}(a, b)" for name in (
        "logaddexp", "maximum", "minimum", "hypot", "arctan2", "fmax", "fmin", "mod", "logaddexp2",
        "floor_divide",
    )},
    "raw copysign": "np.copysign(a, np.where(b == b, b, 1.0))",  # a nan has any sign
    "larger": "np.where(a > b, a, b)",
    "root or": "np.where(a > 0, np.sqrt(a), b)",
}  # fmt: skip
MOVES = {  # views and copies that keep the shape
    "reverse": "a[::-1]",
    "flatten": "a.reshape(-1).reshape(a.shape)",
    "turn": "a.T.T",
    "roll": "np.roll(a, 1)",
    "swap": "np.concatenate([a[1:], a[:1]])",
    "gather": "a[np.arange(a.shape[0]) // 2]",
    "sort": "np.sort(a, axis=0)",
    "cumsum": "np.cumsum(a, axis=0) / a.shape[0]",
    "spread": "np.broadcast_to(a[:1], a.shape)",
    "stack": "np.stack([a, a])[1]",
}
REDUCE = {
    "sum": "np.sum(a) / a.size",
    "mean": "np.mean(a)",
    "max": "np.max(a)",
    "first": "a.reshape(-1)[0]",
    "norm": "np.sqrt(1 + np.sum(a * a))",
    "product": "np.tanh(a.reshape(-1) @ a.reshape(-1))",
    "columns": "np.sum(np.sum(a, axis=0) ** 2) / a.size",
}
ORDERED = {"sort", "max", "norm", "product"}  # what complex numbers do not have, or not as such
WRITES = {
    "set one": "a[(0,) * a.ndim] = s",
    "set part": "a[: a.shape[0] // 2 + 1] = b[: a.shape[0] // 2 + 1]",
    "set all": "a[...] = b * 0.7",
    "add to part": "a[1:] += b[1:] * 0.3",
    "add to one": "a[(-1,) * a.ndim] += s * 0.3",
    "add to view": "a[::-1][0:1] += s * 0.5",
    "add to mask": "a[plain(a) > 0.4] = s",
    "add to indices": "a[[0, -1]] += s",
    "scale": "a *= 0.9",
    "grow": "a += b * 0.2",
}
UNORDERED_WRITES = sorted(set(WRITES) - {"add to mask"})


def plain(a):
    """Return the innermost array, or what stands for it, by which a program branches."""
    while hasattr(a, "level") and hasattr(a, "value"):
        a = a.value if a.value is not None else a * 1  # a view has no value of its own
    return a


def _compute(text):
    return eval(f"lambda np, ad, a, b=None: {text}", {"plain": plain})


def _write(text):
    names = {"plain": plain}
    exec(f"def write(np, ad, a, b, s):\n    {text}\n    return a", names)
    return names["write"]


TEXTS = {
    "unary": {**UNARY, **HOLOMORPHIC, **WILD},
    "binary": {**BINARY, **HOLOMORPHIC_BINARY, **WILD_BINARY},
    "move": MOVES,
    "reduce": REDUCE,
    "write": WRITES,
}
FUNCTIONS = {
    kind: {name: (_write if kind == "write" else _compute)(text) for name, text in texts.items()}
    for kind, texts in TEXTS.items()
}


# Programs. ----------------------------------------------------------------------------------------


@dataclass
class Program:
    """Statements, the arrays they start from, and what is asked of them."""

    seed: int
    points: list  # lists of inputs, the first of which is what tame programs are asked at
    constants: list
    weights: list
    statements: list
    kind: str
    limits: dict = field(default_factory=dict)
    shared: bool = True  # whether its meaning is the same in JAX
    wild: bool = False
    branches: bool = False  # whether it goes by numbers, which a batch cannot
    writes: bool = False

    @property
    def xs(self):
        """The inputs that it is asked at first."""
        return self.points[0]

    @property
    def dtype(self):
        """The kind of the inputs."""
        return np.result_type(self.xs[0])

    def results(self, np, ad, xs, noise=None):
        """Run the statements; return the last arrays and numbers."""
        arrays, numbers = list(xs), [0.3]
        run(np, ad, self.statements, arrays, numbers, self.constants, noise)
        return arrays[-3:], numbers[-2:]

    def total(self, np, ad, xs, noise=None):
        """Return one real number that depends on all results."""
        arrays, numbers = self.results(np, ad, xs, noise)
        total = sum(numbers)
        for weight, array in zip(self.weights, arrays, strict=False):
            term = noise.put(array * weight) if noise else array * weight
            total = total + (np.sum(term) if np.shape(weight) else term)
        return np.real(total) if self.dtype.kind == "c" else total

    def __str__(self):
        x = np.asarray(self.xs[0])
        head = f"program {self.seed}: {self.kind} at {len(self.xs)} x {x.dtype}{x.shape}"
        lines = [f"  {statement}" for statement in self.statements]
        return "\n".join([head, f"  limits {self.limits}", *lines])


def run(np, ad, statements, arrays, numbers, constants, noise=None):
    """Run statements on arrays and numbers, which change.

    What stands at an index that is not there stands at the rest of its division, so that a program
    from which statements are taken away is a program.
    """

    def at(i):
        found = arrays[i % len(arrays)]
        return noise.read(ad, found) if noise else found

    def put(to, value, operation=""):
        value = noise.put(value, operation) if noise else value
        if to is None:
            arrays.append(value)
        else:
            arrays[to % len(arrays)] = value

    for name, *arguments in statements:
        match name:
            case "unary" | "move":
                operation, i, to = arguments
                put(to, FUNCTIONS[name][operation](np, ad, at(i)), operation)
            case "binary":
                operation, i, j, to = arguments
                put(to, FUNCTIONS[name][operation](np, ad, at(i), at(j)), operation)
            case "constant":
                operation, i, k, left, to = arguments
                pair = (constants[k], at(i)) if left else (at(i), constants[k])
                put(to, FUNCTIONS["binary"][operation](np, ad, *pair), operation)
            case "number":
                operation, i, s, to = arguments
                number = numbers[s % len(numbers)]
                put(to, FUNCTIONS["binary"][operation](np, ad, at(i), number), operation)
            case "reduce":
                operation, i = arguments
                terms = noise.put(at(i)) if noise else at(i)  # which may be added in any order
                numbers.append(FUNCTIONS[name][operation](np, ad, terms))
            case "write":
                operation, i, j, s = arguments
                number = numbers[s % len(numbers)]
                written = FUNCTIONS[name][operation](np, ad, at(i), at(j), number)
                arrays[i % len(arrays)] = written
            case "copy":
                (i,) = arguments
                arrays.append(at(i).copy())
            case "alias":
                (i,) = arguments
                arrays.append(at(i))
            case "new":
                (i,) = arguments
                arrays.append(np.zeros_like(at(i)))
            case "branch":
                i, threshold, yes, no = arguments
                taken = yes if decide(at(i), threshold) else no
                run(np, ad, taken, arrays, numbers, constants, noise)
            case "loop":
                times, body = arguments
                for _ in range(times):
                    run(np, ad, body, arrays, numbers, constants, noise)


def decide(a, threshold):
    """Tell which way a program goes."""
    a = plain(a)
    return (a.sum() if getattr(a, "shape", ()) else a) > threshold


# Making them. -------------------------------------------------------------------------------------

KINDS = (
    *["gradient"] * 8, "pullback", "pullback", "hvp", "twice", "jvp", "vmap", "rows", "both",
    "structure", "nested",
)  # fmt: skip
WILD_KINDS = (*["gradient"] * 6, "jvp", "jvp", "twice", "hvp")
SPECIAL = (
    0.0, -0.0, 1.0, -1.0, 2.0, 0.5, -2.0, math.inf, -math.inf, math.nan, 5e-324, 1e-310, 1e300,
    -1e300, 1e-20, 1e20, 3.0, -0.5, 710.0, -746.0, 1e-160, 1e155,
)  # fmt: skip
FORMS = ("float", "float", "float64", "float32", "array", "array", "array", "array32")


class Maker:
    """A random program, from its seed."""

    def __init__(self, seed, wild=None):
        self.draw = random.Random(seed)
        self.seed = seed
        self.arrays = 0
        self.numbers = 1
        self.shared = True
        self.wild = wild
        self.scalar = False
        self.branched = False
        self.tables = UNARY, BINARY

    def make(self):
        """Draw a program."""
        return self.make_wild() if self.wild else self.make_tame()

    def make_tame(self):
        """Draw a program that stays inside the domains of its functions."""
        draw = self.draw
        size = self._size()
        kind = draw.choice(KINDS)
        if size > 100 and kind in ("vmap", "rows", "nested"):
            kind = "gradient"
        rank2 = draw.random() < 0.25 and size > 3
        shape = (size // 2, 2) if rank2 else (size,)
        dtype = self._dtype()
        if dtype is np.complex128:
            self.tables = HOLOMORPHIC, HOLOMORPHIC_BINARY
            kind = draw.choice(("gradient", "structure", "jvp"))
        self.complex = dtype is np.complex128
        # What becomes of smaller floats with Python's numbers differs.
        self.shared = dtype in (np.float64, np.complex128)
        numbers = np.random.default_rng(self.seed)
        self.arrays = draw.choice((1, 1, 2))
        point = lambda: [_random(numbers, shape, dtype) for _ in range(self.arrays)]
        points = [point()]
        constants = [_random(numbers, shape, dtype, 0.2) for _ in range(2)]
        constants[1] = constants[1][::-1]  # a view
        weights = [_random(numbers, shape, dtype, 0.5) for _ in range(3)]
        points.append(point())
        self.writes = draw.random() < 0.45 and kind not in ("vmap", "nested")
        self.branches = kind not in ("vmap", "nested")
        statements = self.body(draw.randint(2, 12), 0)
        if draw.random() < 0.002:
            statements += self.long_loop(size)
        limits = {name: draw.choice(sizes) for name, sizes in LIMITS.items()}
        limits["block"] = max(limits["block"], size // 100)  # many blocks, but not thousands
        if draw.random() < 0.15:
            limits = {name: sizes[-1] for name, sizes in LIMITS.items()}
        return Program(
            self.seed, points, constants, weights, statements, kind, limits, self.shared,
            branches=self.branched, writes=self.writes,
        )  # fmt: skip

    def make_wild(self):
        """Draw a program that meets the ends of domains, and what lies beyond."""
        draw = self.draw
        self.tables, self.shared, self.complex = (WILD, WILD_BINARY), False, False
        kind, form = draw.choice(WILD_KINDS), draw.choice(FORMS)
        self.scalar = not form.startswith("array")
        size = draw.choice((1, 2, 3, 5, 9)) if draw.random() < 0.97 else 300
        self.arrays = inputs = draw.choice((1, 1, 2))
        self.branches = draw.random() < 0.2
        self.writes = not self.scalar and random.Random(f"writes {self.seed}").random() < 0.3
        special = draw.random() < 0.8

        def number():
            if special and draw.random() < 0.6:
                return draw.choice(SPECIAL)
            return draw.choice((draw.uniform(-2, 2), draw.uniform(0, 1), draw.gauss(0, 30)))

        def one():
            with np.errstate(all="ignore"):
                if form == "float":
                    return number()
                if self.scalar:
                    return getattr(np, form)(number())
                numbers = [number() for _ in range(size)]
                return np.array(numbers).astype(np.float32 if form == "array32" else np.float64)

        points = [[one() for _ in range(inputs)] for _ in range(2)]
        constants = [one(), one()]
        statements = self.body(draw.randint(1, 7), 0)
        limits = {name: draw.choice(sizes) for name, sizes in LIMITS.items()}
        weights = [np.ones_like(x) if not self.scalar else type(x)(1) for x in [points[0][0]] * 3]
        return Program(
            self.seed, points, constants, weights, statements, kind, limits, False, wild=True,
            branches=self.branched, writes=self.writes,
        )  # fmt: skip

    def _dtype(self):
        chance = self.draw.random()
        if chance < 0.1:
            return np.float32
        if chance < 0.14:
            return np.float16
        return np.complex128 if chance < 0.22 else np.float64

    def _size(self):
        chance = self.draw.random()
        if chance < 0.002:
            return self.draw.choice((4096, 4097, 5000, 16385, 20_000))
        return self.draw.randint(1, 12) if chance < 0.9 else self.draw.randint(13, 90)

    def body(self, count, depth):
        """Draw some statements."""
        return [self.statement(depth) for _ in range(count)]

    def array(self):
        """Draw an array: mostly a recent one."""
        recent = self.draw.random() < 0.6
        return self.draw.randrange(max(0, self.arrays - 3) if recent else 0, self.arrays)

    def to(self, depth):
        """Draw where a result goes: to a new variable, or in place of an old one."""
        if depth or self.draw.random() < 0.3:
            return self.array()
        self.arrays += 1
        return None

    def arithmetic(self):
        """Draw an operation of an array with a constant or a number."""
        if self.wild or self.complex:
            return self.draw.choice([*self.tables[1]])
        return self.draw.choice(("add", "sub", "mul", "div"))

    def statement(self, depth):
        """Draw one statement."""
        draw, chance = self.draw, self.draw.random()
        unary, binary = self.tables
        if self.writes and chance < 0.3:
            return self.write(depth)
        if chance < 0.5:
            i = self.array()
            return ("unary", draw.choice([*unary]), i, self.to(depth))
        if chance < 0.7:
            i, j = self.array(), self.array()
            return ("binary", draw.choice([*binary]), i, j, self.to(depth))
        if chance < 0.78:
            i, left = self.array(), draw.random() < 0.5
            return ("constant", self.arithmetic(), i, draw.randrange(2), left, self.to(depth))
        if chance < 0.84:
            i = self.array()
            return ("number", self.arithmetic(), i, draw.randrange(self.numbers), self.to(depth))
        if chance < 0.92 and not self.scalar:
            i = self.array()
            without = ORDERED if self.complex else ()
            moves = [move for move in MOVES if move not in without]
            return ("move", draw.choice(moves), i, self.to(depth))
        if chance < 0.97 and not depth and not self.scalar:
            self.numbers += 1
            without = ORDERED if self.complex else ()
            reductions = [reduction for reduction in REDUCE if reduction not in without]
            return ("reduce", draw.choice(reductions), self.array())
        if depth > 1 or not self.branches or self.complex:
            return ("unary", "minus" if self.complex else "tanh", self.array(), self.to(1))
        if chance < 0.985:
            self.shared, self.branched = False, True
            threshold = draw.uniform(-1, 1)
            yes, no = self.body(2, depth + 1), self.body(1, depth + 1)
            return ("branch", self.array(), threshold, yes, no)
        return ("loop", draw.randint(1, 6), [*self.body(2, depth + 1), self.damp()])

    def damp(self):
        """Keep numbers moderate."""
        i = self.array()
        return ("unary", "tanh", i, i)

    def write(self, depth):
        """Draw a write, or something that makes writes interesting."""
        self.shared = False
        chance = self.draw.random()
        if chance < 0.35 and not depth:
            name = self.draw.choice(("copy", "alias", "new", "copy"))
            i = self.array()
            self.arrays += 1
            return (name, i)
        number = self.draw.randrange(self.numbers)
        writes = UNORDERED_WRITES if self.complex else [*WRITES]
        return ("write", self.draw.choice(writes), self.array(), self.array(), number)

    def long_loop(self, size):
        """Draw a loop of hundreds of statements, for tapes that are freed in parts."""
        times = self.draw.choice((170, 251, 400, 600) if size <= 5000 else (130, 251))
        writes, self.writes = self.writes, False
        body = [*self.body(self.draw.randint(1, 2), 2), self.damp()]
        self.writes = writes
        return [("loop", times, body)] if not self.complex else []


def _random(numbers, shape, dtype, low=-1.0):
    """Draw an array of numbers up to 1, in both parts of complex ones."""
    found = numbers.uniform(low, 1, shape)
    if dtype is np.complex128:
        found = found + 1j * numbers.uniform(low, 1, shape)
    return found.astype(dtype)


def make(seed, wild=False):
    """Return the program of a seed."""
    return Maker(seed, wild).make()
