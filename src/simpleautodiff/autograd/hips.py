"""HIPS autograd's transformations, where they differ from this library's."""

from __future__ import annotations

import inspect
import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from simpleautodiff.autograd.leaf_packing import is_node
from simpleautodiff.autograd.wrap_util import restrict_to
from simpleautodiff.core.level import to_plain
from simpleautodiff.errors import ResultError
from simpleautodiff.rules.array.shapes import shape_of
from simpleautodiff.transforms import grad as transforms
from simpleautodiff.transforms.arguments import Argnums, name_of
from simpleautodiff.transforms.grad import jvp, vjp
from simpleautodiff.transforms.jacobian import jacobian
from simpleautodiff.values.functions import is_complex
from simpleautodiff.values.pytree import flatten, map_leaves

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
    return grad(total, argnums if argnum is None else argnum)


def pull_back(f: F, x: Any) -> tuple[F, Any]:
    """Return `(pullback, f(x))`, where `pullback(seed)` is the adjoint of x."""
    value, pullback = vjp(_give_numbers(f), x)
    return (lambda seed: pullback(_give_shape(seed, value))[0]), value


def push_forward(f: F, x: Any) -> F:
    """Return the map from a tangent of x to `(f(x), its tangent)`."""
    return lambda tangent: jvp(_give_numbers(f), (x,), (_give_shape(tangent, x),))


def _give_shape(seed: Any, like: Any) -> Any:
    """Return a seed of one number in the shape of the number it belongs to."""
    if shape_of(seed) == shape_of(like) or math.prod(shape_of(like)) != 1:
        return seed
    return np.reshape(seed, shape_of(like)) if math.prod(shape_of(seed)) == 1 else seed


def note_independence(f: F) -> F:
    """Return f, with a warning where its result does not depend on its arguments."""

    def noting(*args: Any, **kwargs: Any) -> Any:
        result = f(*args, **kwargs)
        if not is_node(result) and not any(map(is_node, flatten(result)[0])):
            warnings.warn("Output seems independent of input.", stacklevel=2)
        return result

    noting.__wrapped__ = f  # type: ignore[attr-defined]
    return noting


def _give_numbers(f: F) -> F:
    """Return f with True and False among its results converted to numbers."""
    noting = note_independence(f)

    def give_numbers(x: Any) -> Any:
        result = noting(x)
        return result * 1.0 if isinstance(result, (bool, np.bool_)) else result

    give_numbers.__wrapped__ = noting  # type: ignore[attr-defined]
    return give_numbers


def _as_number(result: Any) -> Any:
    """Return a result of shape (1,), (1, 1), ... as a number."""
    shape = shape_of(result)
    if is_complex(to_plain(result)):
        raise ResultError(
            "grad of autograd is that of real results; use holomorphic_grad, or simpleautodiff.grad"
        )
    return np.reshape(result, ()) if shape and math.prod(shape) == 1 else result


def value_and_grad(f: F, argnum: Argnums = 0) -> F:
    """Return the function that gives `(f(*args), gradient)`; see `grad`.

    Examples
    --------
    >>> import numpy as np
    >>> from simpleautodiff.autograd import value_and_grad
    >>> value_and_grad(lambda x: x[:1] ** 2)(np.array([3.0, 1.0]))
    (array([9.]), array([6., 0.]))
    """
    noting = note_independence(f)

    def number_and_result(*args: Any, **kwargs: Any) -> Any:
        result = noting(*args, **kwargs)
        return _as_number(result), result

    number_and_result.__wrapped__ = f  # type: ignore[attr-defined]
    both = transforms.value_and_grad(number_and_result, argnum, has_aux=True)

    def result_and_gradient(*args: Any, **kwargs: Any) -> Any:
        (_, result), gradient = both(*args, **kwargs)
        return result, gradient

    return transforms.name_after(result_and_gradient, "value_and_grad", f)


def grad(f: F, argnum: Argnums = 0) -> F:
    """Return the function that gives the gradient of `f`; its result may have the shape (1,).

    Examples
    --------
    >>> import numpy as np
    >>> from simpleautodiff.autograd import grad
    >>> grad(lambda x: np.dot(x, x).reshape(1, 1))(np.array([3.0, 1.0]))
    array([6., 2.])
    """
    noting = note_independence(f)

    def number(*args: Any, **kwargs: Any) -> Any:
        return _as_number(noting(*args, **kwargs))

    number.__name__ = name_of(f)
    number.__wrapped__ = f  # type: ignore[attr-defined]
    return transforms.grad(number, argnum)


def make_vjp(f: F, argnum: Argnums = 0) -> Callable[..., tuple[F, Any]]:
    """Return a function of the arguments that returns `(pullback, f(*args))` for one argument.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> pullback, value = ad.make_vjp(lambda x: x**2)(3.0)
    >>> pullback(1.0), value
    (6.0, 9.0)
    """

    def pullback_and_value(*args: Any, **kwargs: Any) -> tuple[F, Any]:
        return pull_back(*restrict_to(f, argnum, args, kwargs))

    return pullback_and_value


def make_jvp(f: F, argnum: Argnums = 0) -> Callable[..., F]:
    """Return a function of the arguments that returns the map from a tangent to `(value, tangent)`.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> ad.make_jvp(lambda x: x**2)(3.0)(1.0)
    (9.0, 6.0)
    """

    def push(*args: Any, **kwargs: Any) -> F:
        return push_forward(*restrict_to(f, argnum, args, kwargs))

    return push


def hessian_vector_product(f: F, argnum: Argnums = 0) -> F:
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
        of_one, x = restrict_to(f, argnum, tuple(given), kwargs)
        return push_forward(grad(of_one), x)(vector)[1]

    return product


hessian_tensor_product = hessian_vector_product


def vector_jacobian_product(f: F, argnum: Argnums = 0) -> F:
    """Return a function of the arguments and a seed of the result: the adjoint of one argument.

    A seed with fewer axes than the result is that of its first axes.

    Examples
    --------
    >>> import numpy as np
    >>> import simpleautodiff as ad
    >>> ad.vector_jacobian_product(lambda x: x**2)(np.array([1.0, 3.0]), np.array([1.0, 0.5]))
    array([2., 3.])
    """

    def product(*args: Any, **kwargs: Any) -> Any:
        *given, seed = args
        of_one, x = restrict_to(f, argnum, tuple(given), kwargs)
        pullback, value = pull_back(of_one, x)
        if np.ndim(seed) == np.ndim(value):
            return pullback(seed)
        return jacobian(lambda x: np.tensordot(seed, of_one(x), np.ndim(seed)))(x)

    return product


tensor_jacobian_product = vector_jacobian_product


def make_hvp(f: F, argnum: Argnums = 0) -> Callable[..., tuple[F, Any]]:
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


def make_ggnvp(f: F, g: F = _half_square, f_argnum: Argnums = 0) -> Callable[..., F]:
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
        of_one, x = restrict_to(f, f_argnum, args, kwargs)

        def times(v: Any) -> Any:
            y, dot = jvp(of_one, (x,), (v,))
            return vjp(of_one, x)[1](push_forward(grad(g), y)(dot)[1])[0]

        return times

    return make_product


def deriv(f: F, argnum: Argnums = 0) -> F:
    """Return the derivative of each element of an elementwise function, in forward mode.

    Examples
    --------
    >>> import numpy as np
    >>> import simpleautodiff as ad
    >>> ad.deriv(np.sin)(np.array([0.0, np.pi]))
    array([ 1., -1.])
    """

    def slope(*args: Any, **kwargs: Any) -> Any:
        of_one, x = restrict_to(f, argnum, args, kwargs)
        return push_forward(of_one, x)(map_leaves(lambda leaf: 1.0 + 0 * leaf, x))[1]

    return slope


def holomorphic_grad(f: F, argnum: Argnums = 0) -> F:
    """Return the complex derivative of a holomorphic function; it checks that it is one.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> ad.holomorphic_grad(lambda z: z**2)(1 + 2j)
    (2+4j)
    """
    of_complex = transforms.grad(f, argnum)
    of_real = grad(lambda *args, **kwargs: np.real(f(*args, **kwargs)), argnum)

    def slope(*args: Any, **kwargs: Any) -> Any:
        _, x = restrict_to(f, argnum, args, kwargs)
        if any(is_complex(to_plain(leaf)) for leaf in flatten(x)[0]):
            return of_complex(*args, **kwargs)
        warnings.warn("Input to holomorphic_grad is not complex", stacklevel=2)
        return of_real(*args, **kwargs)

    return slope


def grad_and_aux(f: F, argnum: Argnums = 0) -> F:
    """Return `grad` of a function that returns `(number, aux)`: its result is `(gradient, aux)`.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> ad.grad_and_aux(lambda x: (x**2, "square"))(3.0)
    (6.0, 'square')
    """
    return transforms.grad(f, argnum, has_aux=True)


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
