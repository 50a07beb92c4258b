"""HIPS autograd's transformations, where they differ from this library's."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from simpleautodiff.transforms.arguments import Argnums
from simpleautodiff.transforms.grad import grad, hvp, jvp, vjp
from simpleautodiff.values.pytree import flatten

F = Callable[..., Any]


def elementwise_grad(f: F, argnums: Argnums = 0, *, argnum: Argnums | None = None) -> F:
    """Return the derivative of each element of an elementwise function.

    It is the gradient of the sum of the result, so every element of the result must depend on one
    element of the argument only. `argnum` is the same as `argnums`.

    Examples
    --------
    >>> import numpy as np
    >>> import simpleautodiff as ad
    >>> ad.elementwise_grad(np.sin)(np.array([0.0, np.pi]))
    array([ 1., -1.])
    """

    def total(*args: Any, **kwargs: Any) -> Any:
        return sum(np.sum(leaf) for leaf in flatten(f(*args, **kwargs))[0])

    total.__wrapped__ = f  # type: ignore[attr-defined]
    return grad(total, argnums, argnum=argnum)


def _restrict_to(f: F, argnum: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[F, Any]:
    """Return a function of one of the arguments alone, and that argument."""
    before, x, behind = args[:argnum], args[argnum], args[argnum:][1:]
    return (lambda x: f(*before, x, *behind, **kwargs)), x


def make_vjp(f: F, argnum: int = 0) -> Callable[..., tuple[F, Any]]:
    """Return a function of the arguments that returns `(pullback, f(*args))` for one argument.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> pullback, value = ad.make_vjp(lambda x: x**2)(3.0)
    >>> pullback(1.0), value
    (6.0, 9.0)
    """

    def pullback_and_value(*args: Any, **kwargs: Any) -> tuple[F, Any]:
        value, pullback = vjp(*_restrict_to(f, argnum, args, kwargs))
        return (lambda seed: pullback(seed)[0]), value

    return pullback_and_value


def make_jvp(f: F, argnum: int = 0) -> Callable[..., F]:
    """Return a function of the arguments that returns the map from a tangent to `(value, tangent)`.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> ad.make_jvp(lambda x: x**2)(3.0)(1.0)
    (9.0, 6.0)
    """

    def push(*args: Any, **kwargs: Any) -> F:
        of_one, x = _restrict_to(f, argnum, args, kwargs)
        return lambda tangent: jvp(of_one, (x,), (tangent,))

    return push


def hessian_vector_product(f: F, argnum: int = 0) -> F:
    """Return a function of the arguments and a vector: one argument's Hessian times the vector.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> ad.hessian_vector_product(lambda x: x[0] ** 2 * x[1])([2.0, 5.0], [1.0, 0.0])
    [10.0, 4.0]
    >>> ad.hessian_vector_product(lambda a, x: a * x**3, 1)(2.0, 3.0, 1.0)
    36.0
    """

    def product(*args: Any, **kwargs: Any) -> Any:
        *given, vector = args
        of_one, x = _restrict_to(f, argnum, tuple(given), kwargs)
        return hvp(of_one, (x,), (vector,))

    return product


hessian_tensor_product = hessian_vector_product


def vector_jacobian_product(f: F, argnum: int = 0) -> F:
    """Return a function of the arguments and a seed of the result: the adjoint of one argument.

    Examples
    --------
    >>> import numpy as np
    >>> import simpleautodiff as ad
    >>> ad.vector_jacobian_product(lambda x: x**2)(np.array([1.0, 3.0]), np.array([1.0, 0.5]))
    array([2., 3.])
    """

    def product(*args: Any, **kwargs: Any) -> Any:
        *given, seed = args
        return make_vjp(f, argnum)(*given, **kwargs)[0](seed)

    return product


tensor_jacobian_product = vector_jacobian_product


def make_hvp(f: F, argnum: int = 0) -> Callable[..., tuple[F, Any]]:
    """Return a function that returns `(v -> Hessian times v, gradient)` for one argument.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> times, slope = ad.make_hvp(lambda x: x**3)(2.0)
    >>> times(1.0), slope
    (12.0, 12.0)
    """
    return make_vjp(grad(f, argnum), argnum)


def _half_square(x: Any) -> Any:
    return np.sum(x**2, axis=-1) / 2


def make_ggnvp(f: F, g: F = _half_square, f_argnum: int = 0) -> Callable[..., F]:
    """Return a function that returns v -> Jᵀ H J v, J the Jacobian of `f`, H the Hessian of `g`.

    That is the generalised Gauss-Newton matrix of g(f(x)) times a vector.

    Examples
    --------
    >>> import numpy as np
    >>> import simpleautodiff as ad
    >>> A = np.array([[1.0, 2.0], [0.0, 1.0]])
    >>> ad.make_ggnvp(lambda x: A @ x)(np.ones(2))(np.array([1.0, 0.0]))
    array([1., 2.])
    """

    def make_product(*args: Any, **kwargs: Any) -> F:
        of_one, x = _restrict_to(f, f_argnum, args, kwargs)

        def times(v: Any) -> Any:
            y, dot = jvp(of_one, (x,), (v,))
            return vjp(of_one, x)[1](hvp(g, (y,), (dot,)))[0]

        return times

    return make_product


def deriv(f: F, argnum: int = 0) -> F:
    """Return the derivative of each element of an elementwise function, in forward mode.

    Examples
    --------
    >>> import numpy as np
    >>> import simpleautodiff as ad
    >>> ad.deriv(np.sin)(np.array([0.0, np.pi]))
    array([ 1., -1.])
    """

    def slope(*args: Any, **kwargs: Any) -> Any:
        of_one, x = _restrict_to(f, argnum, args, kwargs)
        return jvp(of_one, (x,), (np.ones_like(x) if np.ndim(x) else 1.0,))[1]

    return slope


def holomorphic_grad(f: F, argnum: int = 0) -> F:
    """Return the complex derivative of a holomorphic function; `grad` checks that it is one.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> ad.holomorphic_grad(lambda z: z**2)(1 + 2j)
    (2+4j)
    """
    return grad(f, argnum)


def grad_and_aux(f: F, argnum: int = 0) -> F:
    """Return `grad` of a function that returns `(number, aux)`: its result is `(gradient, aux)`.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> ad.grad_and_aux(lambda x: (x**2, "square"))(3.0)
    (6.0, 'square')
    """
    return grad(f, argnum, has_aux=True)


def grad_named(f: F, argname: str) -> F:
    """Return `grad` with respect to the argument of a given name.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> ad.grad_named(lambda a, b: a * b**2, "b")(2.0, 3.0)
    12.0
    """
    return grad(f, argname)


def multigrad_dict(f: F) -> F:
    """Return a function that returns the gradients in all arguments, by name.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> ad.multigrad_dict(lambda a, b=2.0: a**2 * b)(3.0)
    {'a': 12.0, 'b': 9.0}
    """
    signature = inspect.signature(f)

    def gradients(*args: Any, **kwargs: Any) -> dict[str, Any]:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        given = dict(bound.arguments)

        def call_with_all(given: dict[str, Any]) -> Any:
            call = inspect.BoundArguments(signature, given)
            return f(*call.args, **call.kwargs)

        result: dict[str, Any] = grad(call_with_all)(given)
        return result

    return gradients
