"""Random programs on arrays, and what both engines, `jit` and JAX make of them.

A program is a list of statements that read and write a list of arrays of one shape, and a list of
numbers; all of it follows from a seed. Statements compute, take views, write in place, alias,
branch, loop; a program ends with several results. What is asked of it (a gradient, a pullback, a
Hessian-vector product, ...) and the limits of the fast engine follow from the seed, too.
"""

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
}

# Statements: (name, what they read and how), run as f(np, arrays, numbers, *arguments). ----------

UNARY = {
    "sin": lambda np, a: np.sin(a),
    "tanh": lambda np, a: np.tanh(a),
    "gauss": lambda np, a: np.exp(-a * a),
    "root": lambda np, a: np.sqrt(1 + a * a),
    "log": lambda np, a: np.log(1.5 + a * a),
    "square": lambda np, a: a**2 / 4,
    "cube": lambda np, a: np.tanh(a) ** 3,
    "minus": lambda np, a: -a,
    "half": lambda np, a: a * 0.5,
    "shift": lambda np, a: a + 1,
    "cos": lambda np, a: np.cos(a),
    "arctan": lambda np, a: np.arctan(a),
    "plus": lambda np, a: +a,
    "clip": lambda np, a: np.clip(a, -0.83, 0.91),
    "softplus": lambda np, a: np.logaddexp(a, 0.0),
}
BINARY = {
    "add": lambda np, a, b: a + b,
    "sub": lambda np, a, b: a - b,
    "mul": lambda np, a, b: a * b,
    "div": lambda np, a, b: a / (2 + np.sin(b)),
    "maximum": lambda np, a, b: np.maximum(a, b + 0.01),
    "logaddexp": lambda np, a, b: np.logaddexp(a, b),
    "hypot": lambda np, a, b: np.hypot(a, 1 + b * b),
    "where": lambda np, a, b: np.where(a > 0.17, a, b),
    "arctan2": lambda np, a, b: np.arctan2(a, 2 + b * b),
    "power": lambda np, a, b: (1.5 + np.tanh(a)) ** np.tanh(b),
}
MOVES = {  # views and copies that keep the shape
    "reverse": lambda np, a: a[::-1],
    "flatten": lambda np, a: a.reshape(-1).reshape(a.shape),
    "turn": lambda np, a: a.T.T,
    "roll": lambda np, a: np.roll(a, 1),
    "swap": lambda np, a: np.concatenate([a[1:], a[:1]]),
    "gather": lambda np, a: a[np.arange(a.shape[0]) // 2],
    "sort": lambda np, a: np.sort(a, axis=0),
    "cumsum": lambda np, a: np.cumsum(a, axis=0) / a.shape[0],
    "spread": lambda np, a: np.broadcast_to(a[:1], a.shape),
    "stack": lambda np, a: np.stack([a, a])[1],
}
REDUCE = {
    "sum": lambda np, a: np.sum(a) / a.size,
    "mean": lambda np, a: np.mean(a),
    "max": lambda np, a: np.max(a),
    "first": lambda np, a: a.reshape(-1)[0],
    "norm": lambda np, a: np.sqrt(1 + np.sum(a * a)),
    "product": lambda np, a: np.tanh(a.reshape(-1) @ a.reshape(-1)),
    "columns": lambda np, a: np.sum(np.sum(a, axis=0) ** 2) / a.size,
}
WRITES = {
    "set one": lambda np, a, b, s: _set(a, (0,) * a.ndim, s),
    "set part": lambda np, a, b, s: _set(
        a, slice(0, a.shape[0] // 2 + 1), b[: a.shape[0] // 2 + 1]
    ),
    "set all": lambda np, a, b, s: _set(a, ..., b * 0.7),
    "add to part": lambda np, a, b, s: _add(a, slice(1, None), b[1:] * 0.3),
    "add to one": lambda np, a, b, s: _add(a, (-1,) * a.ndim, s * 0.3),
    "add to view": lambda np, a, b, s: _add(a[::-1], slice(0, 1), s * 0.5),
    "add to mask": lambda np, a, b, s: _set(a, plain(a) > 0.4, s),
    "add to indices": lambda np, a, b, s: _add(a, [0, -1], s),
    "scale": lambda np, a, b, s: a.__imul__(0.9),
    "grow": lambda np, a, b, s: a.__iadd__(b * 0.2),
}


def _set(a, index, value):
    a[index] = value
    return a


def _add(a, index, value):
    a[index] += value
    return a


def plain(a):
    """Return the innermost array, by which a program branches."""
    while hasattr(a, "level") and not isinstance(a, np.ndarray):
        a = a.value
    return a


@dataclass
class Program:
    """Statements, the arrays they start from, and what is asked of them."""

    seed: int
    xs: list
    constants: list
    weights: list
    statements: list
    kind: str
    limits: dict = field(default_factory=dict)
    shared: bool = True  # whether its meaning is the same in JAX

    def results(self, np, xs):
        """Run the statements; return the last arrays and numbers."""
        arrays, numbers = list(xs), [0.3]
        run(np, self.statements, arrays, numbers, self.constants)
        return arrays[-3:], numbers[-2:]

    def total(self, np, xs):
        """Return one number that depends on all results."""
        arrays, numbers = self.results(np, xs)
        total = sum(numbers)
        for weight, array in zip(self.weights, arrays, strict=False):
            total = total + np.sum(weight * array)
        return total

    def __str__(self):
        x = self.xs[0]
        head = f"program {self.seed}: {self.kind} at {len(self.xs)} x {x.dtype}{x.shape}"
        lines = [f"  {statement}" for statement in self.statements]
        return "\n".join([head, f"  limits {self.limits}", *lines])


def run(np, statements, arrays, numbers, constants):
    """Run statements on arrays and numbers, which change."""
    for name, *arguments in statements:
        match name:
            case "unary":
                operation, i, to = arguments
                _put(arrays, to, UNARY[operation](np, arrays[i]))
            case "binary":
                operation, i, j, to = arguments
                _put(arrays, to, BINARY[operation](np, arrays[i], arrays[j]))
            case "constant":
                operation, i, k, left, to = arguments
                pair = (constants[k], arrays[i]) if left else (arrays[i], constants[k])
                _put(arrays, to, BINARY[operation](np, *pair))
            case "number":
                operation, i, s, to = arguments
                _put(arrays, to, BINARY[operation](np, arrays[i], numbers[s]))
            case "move":
                operation, i, to = arguments
                _put(arrays, to, MOVES[operation](np, arrays[i]))
            case "reduce":
                operation, i = arguments
                numbers.append(REDUCE[operation](np, arrays[i]))
            case "write":
                operation, i, j, s = arguments
                arrays[i] = WRITES[operation](np, arrays[i], arrays[j], numbers[s])
            case "copy":
                (i,) = arguments
                arrays.append(arrays[i].copy())
            case "alias":
                (i,) = arguments
                arrays.append(arrays[i])
            case "new":
                (i,) = arguments
                arrays.append(np.zeros_like(arrays[i]))
            case "branch":
                i, threshold, yes, no = arguments
                taken = yes if plain(arrays[i]).sum() > threshold else no
                run(np, taken, arrays, numbers, constants)
            case "loop":
                times, body = arguments
                for _ in range(times):
                    run(np, body, arrays, numbers, constants)


def _put(arrays, to, value):
    if to is None:
        arrays.append(value)
    else:
        arrays[to] = value


# Making them. -------------------------------------------------------------------------------------

KINDS = (*["gradient"] * 8, "pullback", "pullback", "hvp", "twice", "jvp", "vmap", "rows", "both")


class Maker:
    """A random program, from its seed."""

    def __init__(self, seed):
        self.draw = random.Random(seed)
        self.seed = seed
        self.arrays = 0
        self.numbers = 1
        self.shared = True

    def make(self):
        """Draw a program."""
        draw = self.draw
        size = self._size()
        kind = draw.choice(KINDS)
        if size > 100 and kind in ("vmap", "rows"):
            kind = "gradient"
        rank2 = draw.random() < 0.25 and size > 3
        shape = (size // 2, 2) if rank2 else (size,)
        dtype = np.float32 if draw.random() < 0.12 else np.float64
        self.shared = dtype is np.float64  # what float32 becomes with Python's numbers differs
        numbers = np.random.default_rng(self.seed)
        self.arrays = draw.choice((1, 1, 2))
        xs = [numbers.uniform(-1, 1, shape).astype(dtype) for _ in range(self.arrays)]
        constants = [numbers.uniform(0.2, 1, shape).astype(dtype) for _ in range(2)]
        constants[1] = constants[1][::-1]  # a view
        weights = [numbers.uniform(0.5, 1, shape).astype(dtype) for _ in range(3)]
        self.writes = draw.random() < 0.45 and kind != "vmap"
        self.branches = kind != "vmap"
        statements = self.body(draw.randint(2, 12), 0)
        if draw.random() < 0.01:
            statements += self.long_loop(size)
        limits = {name: draw.choice(sizes) for name, sizes in LIMITS.items()}
        if draw.random() < 0.15:
            limits = {name: sizes[-1] for name, sizes in LIMITS.items()}
        return Program(self.seed, xs, constants, weights, statements, kind, limits, self.shared)

    def _size(self):
        chance = self.draw.random()
        if chance < 0.005:
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

    def statement(self, depth):
        """Draw one statement."""
        draw, chance = self.draw, self.draw.random()
        if self.writes and chance < 0.3:
            return self.write(depth)
        if chance < 0.5:
            i = self.array()
            return ("unary", draw.choice([*UNARY]), i, self.to(depth))
        if chance < 0.7:
            i, j = self.array(), self.array()
            return ("binary", draw.choice([*BINARY]), i, j, self.to(depth))
        if chance < 0.78:
            i = self.array()
            operation = draw.choice(("add", "sub", "mul", "div"))
            return (
                "constant",
                operation,
                i,
                draw.randrange(2),
                draw.random() < 0.5,
                self.to(depth),
            )
        if chance < 0.84:
            i = self.array()
            operation = draw.choice(("add", "sub", "mul", "div"))
            return ("number", operation, i, draw.randrange(self.numbers), self.to(depth))
        if chance < 0.92:
            i = self.array()
            return ("move", draw.choice([*MOVES]), i, self.to(depth))
        if chance < 0.97 and not depth:
            self.numbers += 1
            return ("reduce", draw.choice([*REDUCE]), self.array())
        if depth > 1 or not self.branches:
            return ("unary", "tanh", self.array(), self.to(1))
        if chance < 0.985:
            self.shared = False
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
        return ("write", self.draw.choice([*WRITES]), self.array(), self.array(), number)

    def long_loop(self, size):
        """Draw a loop of hundreds of statements, for tapes that are freed in parts."""
        times = self.draw.choice((170, 251, 400, 600) if size <= 5000 else (130, 251))
        writes, self.writes = self.writes, False
        body = [*self.body(self.draw.randint(1, 2), 2), self.damp()]
        self.writes = writes
        return [("loop", times, body)]


def make(seed):
    """Return the program of a seed."""
    return Maker(seed).make()


# What is asked of them. ---------------------------------------------------------------------------


def ask(ad, program, np=np):
    """Compute what is asked of a program with one engine, as a list of arrays."""
    xs = [x.copy() for x in program.xs]
    count = len(xs)
    everything = tuple(range(count))
    total = lambda *xs: program.total(np, xs)
    directions = tuple(program.weights[i % 3] for i in everything)
    match program.kind:
        case "gradient" | "both":
            value, gradient = ad.value_and_grad(total, everything)(*xs)
            found = [value, *gradient]
            if program.kind == "both":
                found += ad.grad(total, everything)(*xs)
        case "pullback":
            f = lambda *xs: tuple([np.sum(part) for part in program.results(np, xs)[0]])
            values, pullback = ad.vjp(f, *xs)
            one = program.xs[0].dtype.type
            seeds = [tuple(one(i == k) for i in range(len(values))) for k in range(len(values))]
            found = [*values, *[adjoint for seed in seeds for adjoint in pullback(seed)]]
        case "hvp":
            found = ad.hvp(total, tuple(xs), directions)
            found = list(found) if count > 1 else [found]
        case "twice":
            slope = ad.grad(total)
            along = lambda x, *rest: np.sum(slope(x, *rest) * directions[0])
            found = list(ad.grad(along, everything)(*xs))
        case "jvp":
            found = list(ad.jvp(total, tuple(xs), directions))
        case "vmap":
            batch = [np.stack([x, x * 0.5, -x]) for x in xs]
            found = list(ad.vmap(ad.grad(total, everything))(*batch))
        case "rows":
            f = lambda x, *rest: program.results(np, (x, *rest))[0][-1].reshape(-1)[:3]
            found = [ad.jacrev(f)(*xs), ad.jacfwd(f)(*xs)]
    assert all(x.flags.writeable for x in xs)
    return [numpy_of(part) for part in found]


def numpy_of(part):
    return np.asarray(part)


def outcome(ad, program):
    """Return what an engine gives: arrays, or the error it raises."""
    try:
        with np.errstate(all="ignore"):
            return ask(ad, program)
    except Exception as error:
        return error


def compiled(ad, program):
    """Return the gradient of a program as `jit` computes it, from its third call."""
    if program.kind not in ("gradient", "both"):
        return outcome(ad, program)
    everything = tuple(range(len(program.xs)))
    function = ad.jit(ad.value_and_grad(lambda *xs: program.total(np, xs), everything))
    try:
        with np.errstate(all="ignore"):
            for _ in range(3):
                value, gradient = function(*[x.copy() for x in program.xs])
    except Exception as error:
        return error
    found = [numpy_of(value), *map(numpy_of, gradient)]
    return found if program.kind == "gradient" else [*found, *found[1:]]


def by_jax(program):
    """Return what JAX gives for a program that computes without writing."""
    import jax

    with jax.enable_x64(True):
        names = ("vmap", "grad", "value_and_grad", "vjp", "jvp", "jacrev", "jacfwd")
        ad = type("JAX", (), {name: staticmethod(getattr(jax, name)) for name in names})
        ad.hvp = lambda f, xs, directions: _jax_hvp(jax, f, xs, directions)
        try:
            return ask(ad, program, jax.numpy)
        except Exception as error:
            return error


def _jax_hvp(jax, f, xs, directions):
    gradient = jax.grad(f, tuple(range(len(xs))))
    found = jax.jvp(gradient, tuple(xs), directions)[1]
    return found if len(found) > 1 else found[0]


def with_limits(ad, program):
    """Return what the fast engine gives with the limits that a program asks for."""
    before = {name: getattr(ad.limits, name) for name in program.limits}
    for name, size in program.limits.items():
        setattr(ad.limits, name, size)
    try:
        return outcome(ad, program)
    finally:
        for name, size in before.items():
            setattr(ad.limits, name, size)


def is_refused(found):
    """Tell whether a write to an array that a recorded operation has used was refused.

    The fast engine locks large arrays where the plain one copies them; it refuses, with the reason.
    """
    return isinstance(found, Exception) and "a recorded operation has used" in str(found)


def difference(program, expected, found):
    """Say how two outcomes differ; an empty text if they do not, beyond rounding."""
    if is_refused(found):
        return ""
    errors = [isinstance(x, Exception) for x in (expected, found)]
    if any(errors):
        same = all(errors) and type(expected).__name__ == type(found).__name__
        return "" if same else f"{expected!r} and {found!r}"
    if len(expected) != len(found):
        return f"{len(expected)} and {len(found)} arrays"
    for k, (a, b) in enumerate(zip(expected, found, strict=True)):
        if a.shape != b.shape or a.dtype != b.dtype:
            return f"array {k} is {a.dtype}{a.shape} and {b.dtype}{b.shape}"
        bad = ~np.isfinite(a)
        if np.any(bad != ~np.isfinite(b)):
            return f"array {k} is finite at different elements"
        size = np.max(np.abs(a), where=~bad, initial=1e-3)
        digits = 2e-3 if program.xs[0].dtype == np.float32 else 1e-8
        off = np.max(np.abs(a - b), where=~bad, initial=0)
        if off > digits * size:
            return f"array {k} differs by {off} of {size}"
    return ""
