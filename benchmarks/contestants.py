"""The libraries that are compared. Each is imported when it is asked for, and not before.

A contestant turns a function and a point into a run: a call without arguments that starts from
Python floats and ends with Python floats, the value and the gradient. What happens only once,
before the first run, is said in the contestant's name.
"""

from __future__ import annotations

import gc
from abc import ABC, abstractmethod
from collections.abc import Callable
from importlib import metadata
from typing import Any

from workloads import Answer, F, Point

Run = Callable[[], Answer]


class Library(ABC):
    """What is compared. Making one imports it."""

    name: str  # as tables show it
    package: str  # as it is installed
    limit: int  # the largest size to try
    why_limited: str = ""

    @classmethod
    def version(cls) -> str:
        """Return the installed version of the library."""
        return metadata.version(cls.package)


class Contestant(Library):
    """One way of computing a value and a gradient."""

    limit = 10**6  # nodes
    log: Callable[[Any], Any]  # for the paper's function; micrograd has neither
    sin: Callable[[Any], Any]

    @abstractmethod
    def run(self, f: F, point: Point) -> Run:
        """Return the call that is timed."""


class Ours(Contestant):
    """`value_and_grad`, which is also what `grad` calls."""

    name = "simpleautodiff"
    package = "simpleautodiff"

    def __init__(self) -> None:
        import simpleautodiff as ad

        self.ad, self.log, self.sin = ad, ad.log, ad.sin

    @classmethod
    def version(cls) -> str:
        """Return the version; this library may be on the path without being installed."""
        import simpleautodiff

        return str(simpleautodiff.__version__)

    def run(self, f: F, point: Point) -> Run:
        both = self.ad.value_and_grad(f, tuple(range(len(point))))
        return lambda: both(*point)


class ByHand(Ours):
    """A graph typed by hand, as in the paper: `Node(...)`, then `reverse(y)`."""

    name = "simpleautodiff by hand"
    limit = 10**5
    why_limited = "to keep the benchmark short"

    def run(self, f: F, point: Point) -> Run:
        node, reverse = self.ad.Node, self.ad.reverse

        def by_hand() -> Answer:
            inputs = [node(x) for x in point]
            y = f(*inputs)
            derivatives = reverse(y)
            return y.value, tuple(derivatives[x] for x in inputs)

        return by_hand


class Micrograd(Contestant):
    """The smallest library for teaching. It has neither log nor sin."""

    name = "micrograd"
    package = "micrograd"
    limit = 10**5
    why_limited = "its backward() recurses once per node"

    def __init__(self) -> None:
        from micrograd.engine import Value

        self.value = Value

    def run(self, f: F, point: Point) -> Run:
        make = self.value

        def backward() -> Answer:
            inputs = [make(x) for x in point]
            y = f(*inputs)
            y.backward()
            return y.data, tuple(x.grad for x in inputs)

        return backward


class MicrogradUncollected(Micrograd):
    """micrograd with Python's garbage collector off while it runs, as it is while ours does.

    Its graphs are cyclic, so the collector frees them afterwards, at the end of the turn.
    """

    name = "micrograd, no collector"

    def run(self, f: F, point: Point) -> Run:
        collected = super().run(f, point)

        def uncollected() -> Answer:
            gc.disable()
            try:
                return collected()
            finally:
                gc.enable()

        return uncollected


class Autograd(Contestant):
    """HIPS autograd."""

    name = "autograd"
    package = "autograd"
    limit = 10**5
    why_limited = "to keep the benchmark short"

    def __init__(self) -> None:
        import autograd
        import autograd.numpy as anp

        self.value_and_grad, self.log, self.sin = autograd.value_and_grad, anp.log, anp.sin

    def run(self, f: F, point: Point) -> Run:
        both = self.value_and_grad(f, tuple(range(len(point))))

        def run() -> Answer:
            value, gradient = both(*point)
            return float(value), tuple(map(float, gradient))

        return run


class Torch(Contestant):
    """PyTorch, eager, with 0-dimensional float64 tensors."""

    name = "PyTorch"
    package = "torch"
    limit = 10**5
    why_limited = "to keep the benchmark short"

    def __init__(self) -> None:
        import torch

        torch.set_num_threads(1)
        self.torch, self.log, self.sin = torch, torch.log, torch.sin

    def run(self, f: F, point: Point) -> Run:
        tensor, float64 = self.torch.tensor, self.torch.float64

        def backward() -> Answer:
            inputs: list[Any] = [tensor(x, dtype=float64, requires_grad=True) for x in point]
            y = f(*inputs)
            y.backward()
            return y.item(), tuple(x.grad.item() for x in inputs)

        return backward


class Jax(Contestant):
    """JAX without jit: every operation is dispatched as it is met."""

    name = "JAX eager"
    package = "jax"
    limit = 10**3
    why_limited = "to keep the benchmark short"

    def __init__(self) -> None:
        import jax

        config: Any = jax.config
        config.update("jax_enable_x64", True)
        self.jax, self.log, self.sin = jax, jax.numpy.log, jax.numpy.sin

    def transformed(self, f: F, point: Point) -> F:
        """Return the function that gives JAX's value and gradient."""
        gradient: F = self.jax.value_and_grad(f, tuple(range(len(point))))
        return gradient

    def run(self, f: F, point: Point) -> Run:
        both = self.transformed(f, point)

        def run() -> Answer:
            value, gradient = both(*point)
            return float(value), tuple(map(float, gradient))

        return run


class JaxJit(Jax):
    """JAX with jit: compiled at the first run, which is not timed."""

    name = "JAX jit, compiled before"

    def transformed(self, f: F, point: Point) -> F:
        compiled: F = self.jax.jit(super().transformed(f, point))
        return compiled


class Casadi(Contestant):
    """CasADi's SX graphs: built, differentiated and evaluated in every run."""

    name = "CasADi SX"
    package = "casadi"
    limit = 10**5
    why_limited = "to keep the benchmark short"

    def __init__(self) -> None:
        import casadi

        self.casadi, self.log, self.sin = casadi, casadi.log, casadi.sin

    def function(self, f: F, point: Point) -> F:
        """Build the graph of `f` and of its gradient."""
        casadi = self.casadi
        inputs = [casadi.SX.sym(f"x{i}") for i in range(len(point))]
        y = f(*inputs)
        gradient = casadi.gradient(y, casadi.vertcat(*inputs))
        built: F = casadi.Function("f", inputs, [y, gradient])
        return built

    def run(self, f: F, point: Point) -> Run:
        def run() -> Answer:
            value, gradient = self.function(f, point)(*point)
            return float(value), tuple(gradient.nonzeros())

        return run


class CasadiBuilt(Casadi):
    """CasADi's SX graphs: built and differentiated before; a run is one evaluation."""

    name = "CasADi SX, built before"

    def run(self, f: F, point: Point) -> Run:
        built = self.function(f, point)

        def run() -> Answer:
            value, gradient = built(*point)
            return float(value), tuple(gradient.nonzeros())

        return run


FOR_PAPER: list[type[Contestant]] = [Ours, ByHand, Autograd, Torch, Jax, JaxJit, CasadiBuilt]
FOR_GRAPHS: list[type[Contestant]] = [
    Ours,
    ByHand,
    Micrograd,
    MicrogradUncollected,
    Autograd,
    Torch,
    Jax,
    Casadi,
]
FOR_MEMORY: list[type[Contestant]] = [Ours, ByHand, Micrograd, Autograd, Torch, Casadi]
