"""Random programs with loops, written twice: with those of Python, and with those of the package.

The second form has `ad.scan`, `ad.fori_loop`, `ad.while_loop`, `ad.cond` for `for`, `while`, `if`.

A program is the text of a function of one input, a number or an array of three. It carries two
numbers `a`, `b` and an array `v` through loops, nested ones among them, of no steps or some; a body
computes, decides, writes elements. Functions are taken as they are: at 0, inf, nan, outside of
their domains. What is asked of it, and where, follows from the seed, too.
"""

import linecache
import math
import random
from dataclasses import dataclass, field

import numpy as np

NUMBERS = (  # of numbers p and q
    "np.sqrt({p})", "np.log({p})", "1 / {p}", "{p} * {q}", "{p} + {q}", "{p} - {q}", "{p} / {q}",
    "np.where({p} > 0, np.sqrt({p}), {q})", "np.maximum({p}, {q})", "np.minimum({p}, {q})",
    "{p} * 0.5", "np.tanh({p})", "np.sin({p})", "np.exp(-{p})", "{p} ** 2", "np.abs({p})",
    "{p} * 0.0", "0.5 * {p} + 1", "np.where({p} > {q}, {p}, 0.0)", "{p}", "{q} - {p} * {q}",
    "np.cbrt({p})", "ad.stop_gradient({p})", "np.hypot({p}, {q})", "0.25",
)  # fmt: skip
ARRAYS = (  # of arrays v and w and a number p
    "np.sqrt({v})", "{v} * {p}", "{v} + {w}", "{v} * {w}", "np.where({v} > 0, np.log({v}), {p})",
    "np.cumsum({v})", "np.sin({v})", "{v} / {w}", "np.maximum({v}, {p})", "{v} * 0.5 + {p}",
    "{v}[::-1]", "np.where({v} > 0, {v}, 0.0)", "np.sqrt(np.abs({v}))", "{v}", "np.zeros(3)",
    "np.concatenate([{v}[1:], {w}[:1]])", "np.stack([{p}, {v}[0], {w}[2]])",
)  # fmt: skip
WRITES = (
    "v[{i}] = {p}", "v[{i}] += {p}", "v[{i}] *= {p}", "v[1:] = {w}[:-1]", "v[:] = {w}",
    "v[v > 0.5] = {p}", "v *= 0.5", "v[::2] = {p}", "v += {w}",
)  # fmt: skip
SPECIAL = (0.0, -0.0, 1.0, -1.0, 2.0, 0.5, -2.0, math.inf, -math.inf, math.nan, 4.0, 0.25)
STEPS = (0, 1, 2, 2, 3, 3, 5, 9)
OF_NUMBER = (
    "grad", "grad", "value", "value_and_grad", "jvp", "hessian", "jacfwd", "jacrev", "vmap grad",
    "twice", "hvp",
)  # fmt: skip
OF_ARRAY = ("jacfwd", "jacrev", "jvp", "vjp", "value", "vmap jvp", "jacfwd jacrev")


@dataclass
class LoopProgram:
    """A program in its two forms, the inputs, and what is asked of it."""

    seed: int
    python: list  # lines of the body of the function, with Python's loops
    loops: list  # the same with those of the package
    points: list
    kind: str
    names: dict = field(default_factory=dict)

    def function(self, ad, form="python", move=None):
        """Return the function of the program; `move` changes every number that it computes."""
        lines = self.python if form == "python" else self.loops
        text = "\n".join(["def f(x):", *[f"    {line}" for line in lines]]) + "\n"
        return compile_text(text, {"np": np, "ad": ad, "move": move or (lambda x: x)})

    def __str__(self):
        texts = "\n".join(["def f(x):", *[f"    {line}" for line in self.python]])
        again = "\n".join(["def f(x):", *[f"    {line}" for line in self.loops]])
        return f"# {self.seed}: {self.kind} at {self.points}\n{texts}\n{again}".replace("move", "")


def compile_text(text, names):
    """Compile the text of a function, so that its source is found."""
    file = f"<loops {hash(text)}>"
    linecache.cache[file] = len(text), None, text.splitlines(True), file
    exec(compile(text, file, "exec"), names)
    return names["f"]


class Maker:
    """A random program with loops, from its seed."""

    def __init__(self, seed):
        self.draw = random.Random(f"loops {seed}")
        self.seed = seed
        self.count = 0  # of loops, each of which has names of its own

    def make(self):
        """Draw a program."""
        draw = self.draw
        self.is_array = draw.random() < 0.5
        self.has_array = draw.random() < 0.6
        self.checkpoint = draw.choice((None, None, None, 1, 2, 3))
        self.form = draw.choice(("tuple", "dict", "nested"))
        self.rows = []  # names of arrays of results
        begin = [f"a = {self.first()}", f"b = {self.first()}"]
        if self.has_array:
            begin.append(f"v = {self.first_array()}")
        python, loops = [], []
        for _ in range(draw.choice((1, 1, 2))):
            one, other = self.loop(0, self.names_outside())
            python += one
            loops += other
        result, of_array = self.result()
        end = [f"return {result}"]
        number = draw.choice((float, float, np.float64))
        points = [self.point(number) for _ in range(3)]
        kind = draw.choice(OF_ARRAY if of_array else OF_NUMBER)
        return LoopProgram(
            self.seed,
            [*begin, *python, *end],
            [*begin, *loops, *end],
            points,
            kind,
        )

    def point(self, number):
        """Draw an input."""
        draw = self.draw
        special = draw.random() < 0.7

        def one():
            if special and draw.random() < 0.5:
                return draw.choice(SPECIAL)
            return draw.choice((draw.uniform(-2, 2), draw.uniform(0, 1)))

        return np.array([one() for _ in range(3)]) if self.is_array else number(one())

    def names_outside(self):
        """Return the numbers that can be read outside of a loop."""
        return ["x[0]", "x[2]"] if self.is_array else ["x"]

    def first(self):
        """Draw the first value of a number."""
        return self.draw.choice(["0.0", "1.0", "0.5", *3 * self.names_outside()])

    def first_array(self):
        """Draw the first value of the array."""
        whole = ["x * 1.0", "x.copy()"] if self.is_array else ["x * np.ones(3)", "np.full(3, x)"]
        return self.draw.choice(
            ["np.zeros(3)", "np.ones(3)", "np.array([0.0, 1.0, 4.0])", *2 * whole]
        )

    def result(self):
        """Draw what is returned, and whether it is an array."""
        numbers = ["a", "b", "a + b", "a * b"]
        arrays = ["np.stack([a, b])", "np.stack([a, b, a])"]
        if self.has_array:
            numbers += ["np.sum(v)", "v[1]", "a + np.sum(v)"]
            arrays += ["v", "v * a"]
        for rows in self.rows:
            numbers += [f"np.sum({rows})", f"{rows}[0] + a"]
            arrays += [rows]
        of_array = self.draw.random() < 0.45
        return self.draw.choice(arrays if of_array else numbers), of_array

    def loop(self, depth, outside):
        """Draw a loop; return its lines in both forms."""
        draw = self.draw
        self.count += 1
        kind = draw.choice(("fori", "fori", "scan", "while"))
        steps = draw.choice(STEPS if depth == 0 else (0, 1, 2, 3))
        return getattr(self, f"loop_{kind}")(depth, steps, outside)

    def state(self, *more):
        """Return the state as it is written for a loop, and the lines that take it apart."""
        names = ["a", "b", *(["v"] if self.has_array else []), *more]
        if self.form == "dict":
            whole = "{" + ", ".join(f'"{name}": {name}' for name in names) + "}"
            return whole, [f'{name} = state["{name}"]' for name in names]
        if self.form == "nested":
            whole = f'(a, {{"rest": [{", ".join(names[1:])}]}})'
            return whole, ["a, rest = state", f'[{", ".join(names[1:])}] = rest["rest"]']
        return f"({', '.join(names)})", [f"{', '.join(names)} = state"]

    def options(self):
        """Return the option that says how many states reverse mode keeps."""
        return f", checkpoint={self.checkpoint}" if self.checkpoint else ""

    def loop_fori(self, depth, steps, outside):
        """Draw a loop that counts."""
        number = self.count
        whole, apart = self.state()
        i = f"i{number}"
        body = self.body(depth, [*outside, f"({i} + 1)"], i)
        python = [f"for {i} in range({steps}):", *indent(body[0])]
        loops = [
            f"def body{number}({i}, state):", *indent([*apart, *body[1], f"return {whole}"]),
            f"state = ad.fori_loop(0, {steps}, body{number}, {whole}{self.options()})", *apart,
        ]  # fmt: skip
        return python, loops

    def loop_scan(self, depth, steps, outside):
        """Draw a loop over rows; sometimes from the last one, or with rows for results."""
        draw, number = self.draw, self.count
        t, rows = f"t{number}", f"xs{number}"
        over = (
            "x" if self.is_array and draw.random() < 0.6 else f"np.arange({steps}) * {outside[0]}"
        )
        steps = 3 if over == "x" else steps
        back = draw.random() < 0.3
        whole, apart = self.state()
        body = self.body(depth, [*outside, t, t], None)
        y = self.number([*outside, "a", "b", t]) if steps and draw.random() < 0.5 else None
        places = f"range({steps})[::-1]" if back else f"range({steps})"
        make = [f"{rows} = {over}"]
        collect = [f"ys{number}.append({y})"] if y else []
        python = [
            *make, *([f"ys{number} = []"] if y else []), f"for k{number} in {places}:",
            *indent([f"{t} = {rows}[k{number}]", *body[0], *collect]),
            *([f"ys{number} = np.stack(ys{number}{'[::-1]' if back else ''})"] if y else []),
        ]  # fmt: skip
        order = ", reverse=True" if back else ""
        loops = [
            *make, f"def step{number}(state, {t}):",
            *indent([*apart, *body[1], f"return {whole}, {y}"]),
            f"state, ys{number} = ad.scan(step{number}, {whole}, {rows}{order}{self.options()})",
            *apart,
        ]  # fmt: skip
        if y and depth == 0:
            self.rows.append(f"ys{number}")
        return python, loops

    def loop_while(self, depth, steps, outside):
        """Draw a loop that ends by its numbers."""
        draw, number = self.draw, self.count
        k = f"k{number}"
        whole, apart = self.state(k)
        test = f"({k} < {steps})"
        if draw.random() < 0.6:
            name, sign = draw.choice("ab"), draw.choice("<>")
            test += f" & ({name} {sign} {draw.choice((0.0, 0.7, -1.5, 3.0))})"
        body = self.body(depth, outside, None)
        python = [f"{k} = 0", f"while {test}:", *indent([*body[0], f"{k} = {k} + 1"])]
        loops = [
            f"{k} = 0", f"def going{number}(state):", *indent([*apart, f"return {test}"]),
            f"def body{number}(state):",
            *indent([*apart, *body[1], f"{k} = {k} + 1", f"return {whole}"]),
            f"state = ad.while_loop(going{number}, body{number}, {whole}{self.options()})", *apart,
        ]  # fmt: skip
        return python, loops

    def number(self, names):
        """Draw an expression for a number."""
        draw = self.draw
        read = ["a", "b", *names]
        if self.has_array:
            read += ["v[0]", "v[-1]"]
        p, q = draw.choice(read), draw.choice(read)
        return "move(" + draw.choice(NUMBERS).format(p=p, q=q) + ")"

    def array(self, names):
        """Draw an expression for an array."""
        draw = self.draw
        arrays = ["v", "v", *(["x"] if self.is_array else [])]
        v, w, p = draw.choice(arrays), draw.choice(arrays), draw.choice(["a", "b", *names])
        return "move(" + draw.choice(ARRAYS).format(v=v, w=w, p=p) + ")"

    def body(self, depth, names, i):
        """Draw some statements; return them in both forms."""
        python, loops = [], []
        for _ in range(self.draw.choice((1, 1, 2, 2, 3))):
            one, other = self.statement(depth, names, i)
            python += one
            loops += other
        return python, loops

    def statement(self, depth, names, i):
        """Draw one statement."""
        draw, chance = self.draw, self.draw.random()
        if chance < 0.12 and depth == 0:
            return self.loop(1, names)
        if chance < 0.27:
            return self.branch(names)
        if self.has_array and chance < 0.42:
            return [[f"v = {self.array(names)}"]] * 2
        if self.has_array and chance < 0.57:
            write = draw.choice(WRITES).format(
                i=draw.choice([0, 2, -1, *([f"{i} % 3"] if i else [])]),
                p=draw.choice(["a", "b", "0.0", *names]),
                w=draw.choice(["v", "v"] + ["x"] * self.is_array),
            )
            return [[*draw.choice(([], ["v = v.copy()"])), write]] * 2
        return [[f"{draw.choice('ab')} = {self.number(names)}"]] * 2

    def branch(self, names):
        """Draw a decision."""
        draw = self.draw
        test = (
            f"{draw.choice(['a', 'b', *names])} {draw.choice('<>')} {draw.choice((0.0, 0.5, 1.0))}"
        )
        yes, no, to = self.number(names), self.number(names), draw.choice("ab")
        python = [f"if {test}:", f"    {to} = {yes}", "else:", f"    {to} = {no}"]
        if draw.random() < 0.3:
            return python, python
        return python, [f"{to} = ad.cond({test}, lambda: {yes}, lambda: {no})"]


def indent(lines):
    """Return lines moved to the right."""
    return [f"    {line}" for line in lines]


def make(seed):
    """Return the program of a seed."""
    return Maker(seed).make()
