"""The ways of differentiating a function of arrays that are compared.

A run starts from arrays of the library itself and ends with them: nobody pays for conversions. All
numbers have 64 bits.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from array_workloads import ArrayAnswer, ArrayFunction, ArrayWorkload
from contestants import Autograd, Jax, Library, Ours, Torch

ArrayRun = Callable[[], ArrayAnswer]


class ArrayContestant(Library):
    """One way of computing a value and gradients of arrays."""

    limit = 10**7  # elements

    @abstractmethod
    def run(self, workload: ArrayWorkload) -> ArrayRun:
        """Return the call that is timed."""


class ArrayOurs(ArrayContestant):
    """`value_and_grad` of NumPy code."""

    name, package = Ours.name, Ours.package

    @classmethod
    def version(cls) -> str:
        return Ours.version()

    def __init__(self) -> None:
        self.value_and_grad = Ours().ad.value_and_grad

    def run(self, workload: ArrayWorkload) -> ArrayRun:
        return _run(self.value_and_grad, np, workload)


class ArrayAutograd(ArrayContestant):
    """HIPS autograd, which has a NumPy of its own."""

    name, package = Autograd.name, Autograd.package

    def __init__(self) -> None:
        import autograd.numpy

        self.value_and_grad, self.numpy = Autograd().value_and_grad, autograd.numpy

    def run(self, workload: ArrayWorkload) -> ArrayRun:
        return _run(self.value_and_grad, self.numpy, workload)


def _run(value_and_grad: Any, xp: Any, workload: ArrayWorkload) -> ArrayRun:
    """Differentiate in all parameters; the data are found where the function was written."""
    f, parameters, data = workload.f, workload.parameters, workload.data
    both = value_and_grad(lambda *ps: f(xp, ps, data), tuple(range(len(parameters))))
    return lambda: both(*parameters)


class HandWritten(ArrayContestant):
    """The gradient written by hand."""

    name = "NumPy by hand"
    package = "numpy"

    def run(self, workload: ArrayWorkload) -> ArrayRun:
        return lambda: workload.hand(workload.parameters, workload.data)


class Plain(HandWritten):
    """The value alone, which is no contestant: what is more than this is overhead."""

    name = "NumPy, value alone"

    def run(self, workload: ArrayWorkload) -> ArrayRun:
        return lambda: (workload.f(np, workload.parameters, workload.data), ())


class ArrayTorch(ArrayContestant):
    """PyTorch, eager, on the processor."""

    name, package = Torch.name, Torch.package

    def __init__(self) -> None:
        self.torch = Torch().torch

    def run(self, workload: ArrayWorkload) -> ArrayRun:
        torch, xp = self.torch, _TorchNumpy(self.torch)
        data = tuple(map(torch.tensor, workload.data))
        inputs = tuple(torch.tensor(array, requires_grad=True) for array in workload.parameters)

        def backward() -> ArrayAnswer:
            y = workload.f(xp, inputs, data)
            gradient = torch.autograd.grad(y, inputs)
            return y.detach(), gradient

        return backward


class _TorchNumpy:
    """PyTorch's functions, with NumPy's arguments where these differ."""

    def __init__(self, torch: Any) -> None:
        self.torch = torch
        self.zero = torch.zeros((), dtype=torch.float64)

    def __getattr__(self, name: str) -> Any:
        function = getattr(self.torch, name)
        setattr(self, name, function)  # found at once the next time
        return function

    def logaddexp(self, a: float, b: Any) -> Any:
        """Take a number, too; it is 0 here."""
        return self.torch.logaddexp(self.zero + a, b)


class ArrayJax(ArrayContestant):
    """JAX without jit."""

    name, package = Jax.name, Jax.package
    limit = 10**6
    why_limited = "to keep the benchmark short"

    def __init__(self) -> None:
        self.jax = Jax().jax

    def transformed(self, workload: ArrayWorkload) -> Any:
        """Return the function of parameters and data that gives the value and the gradient."""
        return self.value_and_grad(workload.f)

    def value_and_grad(self, f: ArrayFunction) -> Any:
        """Differentiate a function in all its parameters."""
        return self.jax.value_and_grad(lambda ps, data: f(self.jax.numpy, ps, data))

    def run(self, workload: ArrayWorkload) -> ArrayRun:
        both = self.transformed(workload)
        given = tuple(
            tuple(map(self.jax.numpy.asarray, arrays))
            for arrays in (workload.parameters, workload.data)
        )
        return lambda: self.jax.block_until_ready(both(*given))


class ArrayJaxJit(ArrayJax):
    """JAX with jit: compiled at the first run, which is not timed."""

    name = "JAX jit, compiled before"
    limit = 10**7

    def transformed(self, workload: ArrayWorkload) -> Any:
        return self.jax.jit(self.value_and_grad(workload.compiled or workload.f))


FOR_OVERHEAD: list[type[ArrayContestant]] = [ArrayOurs, ArrayAutograd, ArrayTorch, ArrayJax]
FOR_ARRAYS: list[type[ArrayContestant]] = [
    ArrayOurs,
    HandWritten,
    ArrayAutograd,
    ArrayTorch,
    ArrayJax,
    ArrayJaxJit,
]
FOR_PEAK: list[type[ArrayContestant]] = [ArrayOurs, HandWritten, ArrayAutograd]
