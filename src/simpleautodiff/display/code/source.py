"""`source`: a derivative as straight-line Python with the paper's names, or as LaTeX.

The function is run once on recording nodes. The sweep of a derivative is recorded one level down,
so each line of the text is a step that really happened.
"""

from __future__ import annotations

import html
import inspect
import keyword
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np

from simpleautodiff.core.engine import engine
from simpleautodiff.core.jet import Jet
from simpleautodiff.core.level import to_plain
from simpleautodiff.core.node import NODES
from simpleautodiff.display.code.recorded_sweeps import SourceTape, WatchedLevel, WatchedTape
from simpleautodiff.display.code.statements import Statements
from simpleautodiff.display.tables.formats import check_format, dump_json
from simpleautodiff.errors import ArgumentError, ResultError
from simpleautodiff.program.python_code import module_text
from simpleautodiff.program.recorded_run import input_names
from simpleautodiff.program.typed_graphs import as_function
from simpleautodiff.program.written_numbers import latex_name
from simpleautodiff.rules.array.dtypes import astype
from simpleautodiff.transforms.arguments import Selection, call, check_function, name_of, select
from simpleautodiff.transforms.grad import FirstDerivative, run_jets
from simpleautodiff.transforms.recorded_call import RecordedCall
from simpleautodiff.transforms.results import unwrap_results
from simpleautodiff.values.functions import check_value, is_complex, optional, shape, to_type_of
from simpleautodiff.values.pytree import flatten, parts_of, paths


class Source:
    """A function as text: `str(source)` is Python, `source.latex` is LaTeX.

    `source.function()` is the function that the text defines.
    """

    def __init__(self, name: str, python: str, write_latex: Callable[[], str]) -> None:
        self.name = name
        self.python = python
        self._write_latex = write_latex

    @cached_property
    def latex(self) -> str:
        """The function in LaTeX, written when it is asked for."""
        return self._write_latex()

    def __reduce__(self) -> tuple[Any, ...]:
        return Source, (self.name, self.python, partial(str, self.latex))

    def __str__(self) -> str:
        """Return the text of a Python module."""
        return self.python

    def __repr__(self) -> str:
        return f"<Source of {self.name}, {len(self.python.splitlines())} lines>"

    def function(self) -> Callable[..., Any]:
        """Run the text and return the function it defines."""
        space: dict[str, Any] = {}
        exec(compile(self.python, f"<source of {self.name}>", "exec"), space)
        made: Callable[..., Any] = space[self.name]
        return made

    def to(self, format: str) -> str:
        """Return the text as python, latex, html or json."""
        check_format(format, ("python", "text", "latex", "html", "json"))
        match format:
            case "latex":
                return self.latex
            case "html":
                return f'<pre class="simpleautodiff"><code>{html.escape(self.python)}</code></pre>'
            case "json":
                return dump_json({"name": self.name, "python": self.python, "latex": self.latex})
        return self.python

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/plain": self.python, "text/markdown": f"```python\n{self.python}\n```"}


def source(
    function: Callable[..., Any],
    *args: Any,
    simplify: bool = False,
    names: Sequence[str] | None = None,
) -> Source:
    r'''Write down what `function` does at a point: straight-line Python that can be imported.

    Parameters
    ----------
    function
        A function, or a derivative of one. The lines have the paper's names: v1, v2, ... for the
        values; v1_bar, ... for the adjoints of `grad(f)` and `value_and_grad(f)`; v1_dot, ... for
        the tangents of `derivative(f)`. Other derivatives are functions like any: for a `jvp` write
        ``lambda x: jvp(f, (x,), (1.0,))``.
    args
        A point. Loops, branches and shapes are those of this point, so the text is valid wherever
        they are the same; a function without them is valid everywhere. Where numbers decided on a
        branch, or on indices (``np.any(x > 0)``, ``np.argsort(x)``), the text asks them again, and
        refuses another answer. Conditions on arrays are evaluated again:
        ``np.where(x > 0, x, -x)``, ``np.maximum(x, y)``; what is computed from conditions alone, as
        ``np.where(x > 0, 1, 2)`` and much of a second derivative, is to be as it was, or is
        refused. At the point itself the text gives the same numbers to the last bit.
        Without a point each parameter gets a number.
    simplify
        Use SymPy's symbols instead of the numbers, and write the simplified formula.
    names
        The names of the arguments; by default the parameters of the function.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> f = lambda x1, x2: ad.log(x1) + x1 * x2 - ad.sin(x2)
    >>> text = ad.source(ad.grad(f), 2.0, 5.0)
    >>> print(text)
    def grad_of_lambda(x1, x2):
        """Compute the grad of <lambda>, as at (2.0, 5.0)."""
        v5_bar = 1.0
        v4_bar = v5_bar                      # from v5 = v4 - v3
        v1_bar = v4_bar                      # from v4 = v1 + v2
        v2_bar = v4_bar                      # from v4 = v1 + v2
        x1_bar = v2_bar * x2                 # from v2 = x1 × x2
        x1_bar = x1_bar + v1_bar * (1 / x1)  # from v1 = log(x1)
        return x1_bar
    >>> text.function()(2.0, 5.0)
    5.5
    >>> print(ad.source(ad.grad(f), 2.0, 5.0, simplify=True).latex)
    x_{2} + \frac{1}{x_{1}}
    '''
    function, args = as_function(function, args)
    check_function(function)
    signature = Signature(function, args or _make_point(function), names)
    return _simplify_source(signature) if simplify else _record_source(signature)


def _make_point(function: Callable[..., Any]) -> tuple[float, ...]:
    """Return a number for each argument that a function needs."""
    parameters = inspect.signature(function).parameters.values()
    return tuple(
        0.5 + 0.25 * k
        for k, p in enumerate(parameters)
        if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    )


class Signature:
    """A function with its arguments: their names, and the paths of their leaves."""

    def __init__(
        self, function: Callable[..., Any], args: tuple[Any, ...], names: Sequence[str] | None
    ) -> None:
        self.function, self.args = function, args
        self.name = _identifier(name_of(function))
        if names is None:
            self.parameters = _parameters(function, args)
            self.paths = input_names(function, args)
        else:
            self.parameters = list(names)
            pairs = zip(names, args, strict=True)
            self.paths = [path for name, arg in pairs for path in paths(arg, name)]
        self.variables = _identifiers(self.paths)

    def head(self, what: str) -> list[str]:
        """Return the first lines: the name, the docstring, and the unpacking of the arguments."""
        name = re.sub(r'["\\]', "", name_of(self.function))
        pairs = zip(self.variables, self.paths, strict=True)
        return [
            f"def {self.name}({', '.join(self.parameters)}):",
            f'    """Compute {"the " * (" of " in name)}{name}, {what}."""',
            *[f"    {variable} = {path}" for variable, path in pairs if variable != path],
        ]


def _record_source(signature: Signature) -> Source:
    function, args = signature.function, signature.args
    tape = SourceTape()
    leaves, rebuild = flatten(args)
    try:
        with engine.recording() as use, use, tape:
            what = f"an argument of {name_of(function)}"
            inputs = [tape.input(check_value(leaf, what)) for leaf in leaves]
            result = _run(function, rebuild(iter(inputs)), tape)
            inputs = tape[: len(inputs)]  # as they were, even if the function writes to them
            _, results, _ = unwrap_results(result, tape, function)
        text = Statements(tape, inputs, signature.variables, results)
        return _source(signature, text, result)
    finally:
        tape.clear()


def _run(function: Callable[..., Any], args: tuple[Any, ...], tape: SourceTape) -> Any:
    """Run the function; for a derivative, record the node of each tangent or adjoint."""
    first = getattr(function, "first", None)
    if first is None or any(is_complex(to_plain(leaf)) for leaf in flatten(args)[0]):
        return call(function, Selection(args), args)
    selection = select(first.f, first.argnums, args, {})
    swept = _forward if first.what == "derivative" else _backward
    result = swept(first, selection, tape)
    if result is None:  # nothing to sweep, or not a scalar result
        tape.forget()
        return call(function, Selection(args), args)
    return result


def _forward(first: FirstDerivative, selection: Selection, tape: SourceTape) -> Any:
    """Sweep forward from the one number that is differentiated."""
    x = selection.trees[0]
    if not selection.single or type(x) not in NODES or shape(to_plain(x)):
        return None
    level = WatchedLevel(tape)
    seed = tape.input(1 if type(to_plain(x)) is int else to_type_of(1, to_plain(x)))
    tape.change(x, None, seed)
    jet = Jet(x, [seed], level)
    value, (tangent,), _ = run_jets(first.f, selection._replace(trees=(jet,)), level, False)
    if type(value) not in NODES or is_complex(to_plain(value)):
        return None
    tape.end, tape.accent = value, "dot"
    return tangent


def _backward(first: FirstDerivative, selection: Selection, tape: SourceTape) -> Any:
    """Sweep back from the result."""
    graph = RecordedCall(first.f, selection, tape=WatchedTape(tape))
    value = graph.result.value if graph.has_recorded(graph.result) else None
    if type(value) not in NODES or shape(to_plain(value)) or is_complex(to_plain(value)):
        return None
    tape.end, tape.accent = value, "bar"
    whole_numbers = all(type(to_plain(node)) is int for node in graph.inputs)
    seed = 1 if whole_numbers else to_type_of(1, to_plain(value))
    slopes = graph.gradients(graph.result, tape.input(seed))
    pairs = zip(slopes, graph.inputs, strict=True)
    whole = graph.rebuild_arguments(
        [_convert_to_type(slope, to_plain(node.value)) for slope, node in pairs]
    )
    return (value, whole) if first.what == "value_and_grad" else whole


def _convert_to_type(slope: Any, like: Any) -> Any:
    """Convert a derivative to the type of its input, as a recorded step."""
    kind, wanted = (getattr(to_plain(x), "dtype", None) for x in (slope, like))
    return slope if kind is None or wanted is None or kind == wanted else astype(slope, wanted)


def _source(signature: Signature, text: Statements, result: Any) -> Source:
    finals = [text.final(leaf) for leaf in flatten(result)[0]]
    body = text.lines(_write_tree(result, iter(finals)))
    leaves = flatten(signature.args)[0]
    point = ", ".join(map(_shorten, leaves[:4])) + ", ..." * (len(leaves) > 4)
    code = "\n".join([*signature.head(f"as at ({point})"), *body])
    constants = [f"{constant} = {value}" for value, constant in text.constants.items()]
    return Source(signature.name, module_text(code, constants), text.latex)


def _shorten(leaf: Any) -> str:
    return f"{leaf.dtype}{leaf.shape}" if isinstance(leaf, np.ndarray) else repr(leaf)


def _write_tree(tree: Any, leaves: Iterator[str]) -> str:
    """Write the structure of a result around the code of its leaves."""
    parts = parts_of(tree)
    if parts is None:
        return next(leaves)
    inside = [_write_tree(part, leaves) for _, part in parts]
    match tree:
        case None:
            return "None"
        case dict():
            pairs = zip(tree, inside, strict=True)
            return f"{{{', '.join(f'{key!r}: {value}' for key, value in pairs)}}}"
        case list():
            return f"[{', '.join(inside)}]"
        case tuple() if not hasattr(tree, "_make"):
            return f"({', '.join(inside)}{',' * (len(inside) == 1)})"
    raise ResultError(
        f"source code is written for dicts, lists and tuples, not for {type(tree).__name__}"
    )


def _parameters(function: Callable[..., Any], args: tuple[Any, ...]) -> list[str]:
    """Return the parameters that are given, with a star before one that takes several."""
    try:
        signature = inspect.signature(function)
        given = signature.bind(*args).arguments
    except (TypeError, ValueError):
        return [f"x{i}" for i in range(1, len(args) + 1)]
    kinds = signature.parameters
    several = inspect.Parameter.VAR_POSITIONAL
    return [f"*{name}" if kinds[name].kind is several else name for name in given]


def _identifiers(paths: list[str]) -> list[str]:
    """Name the inputs: by a parameter, or by the path inside it: ``p['w'][0]`` as p_w_0."""
    taken: set[str] = set()
    names = []
    for path in paths:
        name = path if path.isidentifier() else _identifier(path)
        while name in taken or _RESERVED.fullmatch(name):
            name += "_"
        taken.add(name)
        names.append(name)
    return names


_RESERVED = re.compile(
    r"t\d+|C\d+|np|math|ad|rows|base64|Fraction|put|scatter|set_item|.*_(bar|dot)"
)


def _identifier(text: str) -> str:
    name = re.sub(r"\W+", "_", text).strip("_") or "f"
    return f"{name}_" if keyword.iskeyword(name) or name[0].isdigit() else name


def _simplify_source(signature: Signature) -> Source:
    """Differentiate SymPy's symbols, and write the simplified formula."""
    sympy = optional("sympy", "source(..., simplify=True)")
    leaves, rebuild = flatten(signature.args)
    if any(shape(leaf) for leaf in leaves):
        raise ArgumentError("simplify=True takes single numbers, which become symbols; not arrays")
    symbols = [sympy.Symbol(name, real=True) for name in signature.variables]
    result = signature.function(*rebuild(iter(symbols)))
    formulas = [sympy.simplify(leaf) for leaf in flatten(result)[0]]
    value = _write_tree(result, iter([sympy.pycode(formula) for formula in formulas]))
    code = "\n".join([*signature.head("simplified"), f"    return {value}"])
    named = {symbol: latex_name(str(symbol)) for symbol in symbols}
    latex = r", \quad ".join(sympy.latex(formula, symbol_names=named) for formula in formulas)
    return Source(signature.name, module_text(code), lambda: latex)
