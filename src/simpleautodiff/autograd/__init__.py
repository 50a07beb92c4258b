"""HIPS autograd under another name: `import simpleautodiff.autograd as autograd`.

The same modules are found as `simpleautodiff.numpy`, `.scipy`, `.extend` and others. For libraries
that import autograd themselves there is `simpleautodiff.install_as_autograd`.
"""

from simpleautodiff.autograd import numpy as numpy
from simpleautodiff.autograd.builtins import (
    dict as dict,
    isinstance as isinstance,
    list as list,
    tuple as tuple,
    type as type,
)
from simpleautodiff.autograd.deprecated import primitive as primitive
from simpleautodiff.autograd.differential_operators import (
    checkpoint as checkpoint,
    deriv as deriv,
    elementwise_grad as elementwise_grad,
    grad as grad,
    grad_and_aux as grad_and_aux,
    grad_named as grad_named,
    hessian as hessian,
    hessian_tensor_product as hessian_tensor_product,
    hessian_vector_product as hessian_vector_product,
    holomorphic_grad as holomorphic_grad,
    jacobian as jacobian,
    make_ggnvp as make_ggnvp,
    make_hvp as make_hvp,
    make_jvp as make_jvp,
    make_vjp as make_vjp,
    multigrad_dict as multigrad_dict,
    tensor_jacobian_product as tensor_jacobian_product,
    value_and_grad as value_and_grad,
    vector_jacobian_product as vector_jacobian_product,
)
