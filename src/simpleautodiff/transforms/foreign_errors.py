"""What compiled code says of a node that it cannot take, in clear words: what to write instead."""

from __future__ import annotations

import re

from simpleautodiff.arrays.lost_derivatives import explain_compiled_scipy
from simpleautodiff.core.engine import engine
from simpleautodiff.errors import AutodiffError, LostDerivativeError, cite_line_of

_NODES = r"\b(TapeNode|Node|Jet|Batch|Symbol|Writable)\b"  # the classes of nodes, in messages
_PLAIN = (
    "this code takes plain numbers. Write x.value where no derivative is needed; else write it "
    "with functions of NumPy, or declare it with @simpleautodiff.primitive or "
    "simpleautodiff.black_box"
)
_ALTERNATIVES = {  # pattern of the error that compiled code raises for a node -> what to write
    "Iterator operand": "np.nditer gives plain numbers; write for i in np.ndindex(x.shape): x[i]",
    "Error setting single item of array": "y.flat[0] = x takes nodes if y was made inside the "
    "function, with np.zeros, np.array or np.copy: make it there, or a copy of it",
    "bytes-like object is required": "the memory of a node is not seen; use functions of NumPy",
    "must be numpy.ndarray, not ": "compiled code takes plain arrays. Factors that splu(A) "
    "and factorized(A) have made inside the function solve for nodes, too; other functions are "
    "declared with @simpleautodiff.primitive",
    "must be Tensor, not": "functions of PyTorch take tensors, and have derivatives of their own. "
    "Write np.tanh(x) for torch.tanh(x), simpleautodiff.relu(x) for F.relu(x): NumPy's functions "
    "take nodes that hold tensors, too. Or declare the function with @simpleautodiff.primitive",
    "number of diagonals": "a sparse matrix has plain elements; for scipy.sparse.diags(d) @ x "
    "write d * x",
    "not a proper array of floats": "compiled code takes plain numbers. Write "
    "simpleautodiff.plug.solve_root(f, x0, p), or solve_minimum for least squares, where f(x, p) "
    "takes what is differentiated as an argument",
    rf"descriptor '(?P<name>\w+)' .*{_NODES}": r"a method taken from a class takes its plain "
    r"values; write x.\g<name>(...)",
    rf"{_NODES} to Decimal|^argument must be int or float$": "a decimal.Decimal is a plain "
    "number: write decimal.Decimal(x.value). Derivatives in more digits are those of mpmath's "
    "numbers: grad(f)(mpmath.mpf(2))",
    "should be a string or a Rational": "a fractions.Fraction is a plain number: write "
    "fractions.Fraction(x.value). Exact derivatives are those at fractions: "
    "grad(f)(Fraction(1, 3))",
    "required argument is not a float": "struct.pack writes plain numbers: write x.value",
    rf"of type (float\w*|ndarray|{_NODES}) is not JSON": "json.dumps writes plain numbers: write "
    "x.value, and for arrays x.value.tolist()",
    rf"%\w format: .*{_NODES}": "this form of text takes integers: write int(x.value)",
    "expected a sequence of integers or a single integer": "A count is a plain integer: write "
    "np.zeros(int(n.value)), or leave n out of what is differentiated, by argnums",
    rf"(must be|required|cannot convert|conversion|unsupported type).*{_NODES}": _PLAIN,
}
_WRAPPING_ERRORS = (ValueError, TypeError, SystemError)  # NumPy may raise these from another error


def _find_cause(error: BaseException) -> AutodiffError | None:
    """Return the error of this library from which another one was raised, if there is one."""
    cause = error.__cause__
    while cause is not None and not isinstance(cause, AutodiffError):
        cause = cause.__cause__
    return cause


def explain_error(error: Exception) -> None:
    """Raise a clear error instead of one that compiled code raised because of a node."""
    cause = _find_cause(error) if isinstance(error, _WRAPPING_ERRORS) else None
    if cause is not None:  # NumPy and pandas hide the reason for which they refused a node
        raise cause.with_traceback(error.__traceback__) from None
    text = str(error)
    if isinstance(error, ValueError) and "read-only" in text and engine.is_locked():
        raise LostDerivativeError(
            f"{error}: an array that a recorded operation has used is written to before the "
            "derivative is computed. Use a copy in the operation, as in x * c.copy(), or write "
            "to another array"
        ) from error
    for message, alternative in _ALTERNATIVES.items():
        if found := re.search(message, text):
            alternative = explain_compiled_scipy(error) or found.expand(alternative)
            raise LostDerivativeError(f"{error}: {alternative}{cite_line_of(error)}") from error
