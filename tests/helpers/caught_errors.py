"""Functions that catch errors by numbers, with arguments of which some raise them."""

import warnings

import numpy as np
import scipy.linalg

GOOD, SINGULAR = np.array([[2.0, 0.5], [0.5, 1.0]]), np.ones((2, 2))
FINE, ZERO = np.array([2.0, 1.0]), np.array([0.0, 1.0])


def catch(error, compute, otherwise):
    def f(x):
        try:
            return np.sum(compute(x))
        except error:
            return otherwise(x)

    return f


def raising(x):
    with np.errstate(divide="raise"):
        return 1 / x


def warned(x):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return np.log(x)


LINALG = np.linalg.LinAlgError
CASES = {
    "cholesky": (catch(LINALG, np.linalg.cholesky, lambda a: 7 * np.trace(a)), [GOOD, -GOOD]),
    "inv": (catch(LINALG, np.linalg.inv, lambda a: 7 * np.trace(a)), [SINGULAR, GOOD, GOOD]),
    "solve": (catch(LINALG, lambda a: np.linalg.solve(a, FINE), np.trace), [GOOD, SINGULAR]),
    "scipy": (catch(LINALG, lambda a: scipy.linalg.cholesky(a), np.trace), [GOOD, -GOOD, GOOD]),
    "division": (catch(FloatingPointError, raising, lambda x: 3 * np.sum(x)), [FINE, ZERO]),
    "warning": (catch(RuntimeWarning, warned, lambda x: 5 * np.sum(x)), [FINE, ZERO, FINE]),
    "index": (catch(IndexError, lambda x: x[np.argmax(x) + 1], lambda x: 9 * x[0]), [FINE, ZERO]),
}
