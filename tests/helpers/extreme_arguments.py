"""Compute functions of formulas, and their derivatives, at extreme arguments, and time each call.

Run as a script with names of functions: it prints each call before it is made, so that one that
never ends is known, and each one that took longer than a second, or raised what is no error of
the library's.
"""

import importlib
import itertools
import random
import sys
import time
import warnings

import simpleautodiff as ad
from simpleautodiff.core.level import apply
from simpleautodiff.errors import AutodiffError
from simpleautodiff.rules.row import TABLE

SECONDS = 1.0
EXTREMES = [0.0, -0.0, 1e-300, -1e-300, 1e16, -1e16, 1e300, -1e300]
EXTREMES += [float("inf"), float("-inf"), float("nan"), -1.0, 2.5]
HALVES = [-1e9 + 0.5, 1e9 + 0.5, -1e5, 1e12]  # where series have a term for each unit

COMPLEX = {"lambertw", "wofz"}  # functions whose results are


def points(arity):
    """Give every tuple of extreme numbers, or 300 of them if there are more."""
    numbers = EXTREMES + HALVES
    if arity < 3:
        return list(itertools.product(numbers, repeat=arity))
    draw = random.Random(arity)
    return [tuple(draw.choice(numbers) for _ in range(arity)) for _ in range(300)]


def calls(name):
    """Give each call of a function and of its first and second derivatives: what, where, and it."""
    row = TABLE[name]

    def f(*xs):
        return apply(row, *xs)

    for point in points(row.arity):
        yield "value", point, lambda point=point: f(*point)
        for k in range(row.arity):
            yield f"slope in {k}", point, lambda point=point, k=k: ad.grad(f, k)(*point)
            yield f"second in {k}", point, lambda point=point, k=k: ad.derivative(f, 2, k)(*point)


def complain(name):
    """Make all calls of a function; return those that took too long, failed or are not real."""
    found = []
    for what, point, call in calls(name):
        text = f"{name} {what} at {point}"
        print(text, flush=True)
        start = time.process_time()
        try:
            answer = call()
            if isinstance(answer, complex) and name not in COMPLEX:
                found.append(f"{text}: {answer} for real numbers")
        except AutodiffError:
            pass
        except Exception as error:
            found.append(f"{text}: {type(error).__name__}: {error}")
        took = time.process_time() - start
        if took > SECONDS:
            found.append(f"{text}: {took:.2f} s")
    return found


def warm_up():
    """Load what the first call of all would load."""
    ad.grad(ad.sin)(1.0)
    ad.derivative(ad.lgamma, 2)(1.5)
    importlib.import_module("scipy.stats")  # for densities


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    warm_up()
    found = [line for name in sys.argv[1:] for line in complain(name)]
    print("\n".join(found), file=sys.stderr)
