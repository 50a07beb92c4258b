"""Automatic differentiation of Python functions, with every step to be seen."""

import sys
import typing

# These give nodes their ways of being copied, NumPy's methods, and their operators.
from simpleautodiff import builtins as builtins
from simpleautodiff import copying as copying
from simpleautodiff import dispatch as dispatch
from simpleautodiff import operators as operators
from simpleautodiff.check import Check as Check
from simpleautodiff.check import check_grad as check_grad
from simpleautodiff.checkpointing import checkpoint as checkpoint
from simpleautodiff.compiled import jit as jit
from simpleautodiff.custom import primitive as primitive
from simpleautodiff.diagnose import BadNumber as BadNumber
from simpleautodiff.diagnose import find_kinks as find_kinks
from simpleautodiff.diagnose import find_nan as find_nan
from simpleautodiff.display.compare import Comparison as Comparison
from simpleautodiff.display.compare import compare as compare
from simpleautodiff.display.explorer.page import explore as explore
from simpleautodiff.display.figure import Figure as Figure
from simpleautodiff.display.figure import figure as figure
from simpleautodiff.display.fold import Folded as Folded
from simpleautodiff.display.fold import fold as fold
from simpleautodiff.display.source import Source as Source
from simpleautodiff.display.source import source as source
from simpleautodiff.display.stepper import Stepper as Stepper
from simpleautodiff.display.stepper import step as step
from simpleautodiff.display.tables import Table as Table
from simpleautodiff.display.trace import Trace as Trace
from simpleautodiff.display.trace import trace as trace
from simpleautodiff.display.widget import widget as widget
from simpleautodiff.errors import ArgumentError as ArgumentError
from simpleautodiff.errors import AutodiffError as AutodiffError
from simpleautodiff.errors import CheckError as CheckError
from simpleautodiff.errors import DomainError as DomainError
from simpleautodiff.errors import DomainWarning as DomainWarning
from simpleautodiff.errors import FloatError as FloatError
from simpleautodiff.errors import FormulaError as FormulaError
from simpleautodiff.errors import InputError as InputError
from simpleautodiff.errors import KinkError as KinkError
from simpleautodiff.errors import KinkWarning as KinkWarning
from simpleautodiff.errors import LostDerivativeError as LostDerivativeError
from simpleautodiff.errors import MatrixError as MatrixError
from simpleautodiff.errors import MissingExtraError as MissingExtraError
from simpleautodiff.errors import OrderError as OrderError
from simpleautodiff.errors import PathLimitError as PathLimitError
from simpleautodiff.errors import ResultError as ResultError
from simpleautodiff.errors import RuleError as RuleError
from simpleautodiff.errors import TraceError as TraceError
from simpleautodiff.errors import ValueKindError as ValueKindError
from simpleautodiff.hips import deriv as deriv
from simpleautodiff.hips import elementwise_grad as elementwise_grad
from simpleautodiff.hips import grad_and_aux as grad_and_aux
from simpleautodiff.hips import grad_named as grad_named
from simpleautodiff.hips import hessian_tensor_product as hessian_tensor_product
from simpleautodiff.hips import hessian_vector_product as hessian_vector_product
from simpleautodiff.hips import holomorphic_grad as holomorphic_grad
from simpleautodiff.hips import make_ggnvp as make_ggnvp
from simpleautodiff.hips import make_hvp as make_hvp
from simpleautodiff.hips import make_jvp as make_jvp
from simpleautodiff.hips import make_vjp as make_vjp
from simpleautodiff.hips import multigrad_dict as multigrad_dict
from simpleautodiff.hips import tensor_jacobian_product as tensor_jacobian_product
from simpleautodiff.hips import vector_jacobian_product as vector_jacobian_product
from simpleautodiff.jacobians import hessian as hessian
from simpleautodiff.jacobians import jacfwd as jacfwd
from simpleautodiff.jacobians import jacobian as jacobian
from simpleautodiff.jacobians import jacrev as jacrev
from simpleautodiff.kinks import KinkMet as KinkMet
from simpleautodiff.linear import ZERO as ZERO
from simpleautodiff.linear import Linear as Linear
from simpleautodiff.mapping import vmap as vmap
from simpleautodiff.node import Node as Node
from simpleautodiff.number import register_number as register_number
from simpleautodiff.order import all_orders as all_orders
from simpleautodiff.order import check_order as check_order
from simpleautodiff.order import execution_order as execution_order
from simpleautodiff.order import preorder as preorder
from simpleautodiff.order import reachable as reachable
from simpleautodiff.order import topological_order as topological_order
from simpleautodiff.paper import forward as forward
from simpleautodiff.paper import reverse as reverse
from simpleautodiff.primitives import Kink as Kink
from simpleautodiff.program import Program as Program
from simpleautodiff.rules.arithmetic import add as add
from simpleautodiff.rules.arithmetic import div as div
from simpleautodiff.rules.arithmetic import floor_divide as floor_divide
from simpleautodiff.rules.arithmetic import mod as mod
from simpleautodiff.rules.arithmetic import mul as mul
from simpleautodiff.rules.arithmetic import neg as neg
from simpleautodiff.rules.arithmetic import pos as pos
from simpleautodiff.rules.arithmetic import power as power
from simpleautodiff.rules.arithmetic import sub as sub
from simpleautodiff.rules.complexes import conj as conj
from simpleautodiff.rules.complexes import imag as imag
from simpleautodiff.rules.complexes import real as real
from simpleautodiff.rules.elementary import cbrt as cbrt
from simpleautodiff.rules.elementary import exp as exp
from simpleautodiff.rules.elementary import exp2 as exp2
from simpleautodiff.rules.elementary import expm1 as expm1
from simpleautodiff.rules.elementary import log as log
from simpleautodiff.rules.elementary import log1p as log1p
from simpleautodiff.rules.elementary import log2 as log2
from simpleautodiff.rules.elementary import log10 as log10
from simpleautodiff.rules.elementary import logaddexp as logaddexp
from simpleautodiff.rules.elementary import logaddexp2 as logaddexp2
from simpleautodiff.rules.elementary import reciprocal as reciprocal
from simpleautodiff.rules.elementary import sigmoid as sigmoid
from simpleautodiff.rules.elementary import softplus as softplus
from simpleautodiff.rules.elementary import sqrt as sqrt
from simpleautodiff.rules.elementary import square as square
from simpleautodiff.rules.piecewise import absolute as absolute
from simpleautodiff.rules.piecewise import ceil as ceil
from simpleautodiff.rules.piecewise import clip as clip
from simpleautodiff.rules.piecewise import copysign as copysign
from simpleautodiff.rules.piecewise import floor as floor
from simpleautodiff.rules.piecewise import fmax as fmax
from simpleautodiff.rules.piecewise import fmin as fmin
from simpleautodiff.rules.piecewise import maximum as maximum
from simpleautodiff.rules.piecewise import minimum as minimum
from simpleautodiff.rules.piecewise import relu as relu
from simpleautodiff.rules.piecewise import rint as rint
from simpleautodiff.rules.piecewise import sign as sign
from simpleautodiff.rules.piecewise import trunc as trunc
from simpleautodiff.rules.piecewise import where as where
from simpleautodiff.rules.special import digamma as digamma
from simpleautodiff.rules.special import erf as erf
from simpleautodiff.rules.special import erfc as erfc
from simpleautodiff.rules.special import gamma as gamma
from simpleautodiff.rules.special import lgamma as lgamma
from simpleautodiff.rules.special import polygamma as polygamma
from simpleautodiff.rules.special import sinc as sinc
from simpleautodiff.rules.trigonometric import acos as acos
from simpleautodiff.rules.trigonometric import acosh as acosh
from simpleautodiff.rules.trigonometric import asin as asin
from simpleautodiff.rules.trigonometric import asinh as asinh
from simpleautodiff.rules.trigonometric import atan as atan
from simpleautodiff.rules.trigonometric import atan2 as atan2
from simpleautodiff.rules.trigonometric import atanh as atanh
from simpleautodiff.rules.trigonometric import cos as cos
from simpleautodiff.rules.trigonometric import cosh as cosh
from simpleautodiff.rules.trigonometric import deg2rad as deg2rad
from simpleautodiff.rules.trigonometric import hypot as hypot
from simpleautodiff.rules.trigonometric import rad2deg as rad2deg
from simpleautodiff.rules.trigonometric import sin as sin
from simpleautodiff.rules.trigonometric import sinh as sinh
from simpleautodiff.rules.trigonometric import tan as tan
from simpleautodiff.rules.trigonometric import tanh as tanh
from simpleautodiff.transform import derivative as derivative
from simpleautodiff.transform import grad as grad
from simpleautodiff.transform import hvp as hvp
from simpleautodiff.transform import jvp as jvp
from simpleautodiff.transform import linearize as linearize
from simpleautodiff.transform import stop_gradient as stop_gradient
from simpleautodiff.transform import value_and_grad as value_and_grad
from simpleautodiff.transform import vjp as vjp

__version__ = "0.1.0"
__all__ = [
    "ZERO",
    "ArgumentError",
    "AutodiffError",
    "BadNumber",
    "Check",
    "CheckError",
    "Comparison",
    "DomainError",
    "DomainWarning",
    "Figure",
    "FloatError",
    "Folded",
    "FormulaError",
    "InputError",
    "Kink",
    "KinkError",
    "KinkMet",
    "KinkWarning",
    "Linear",
    "LostDerivativeError",
    "MatrixError",
    "MissingExtraError",
    "Node",
    "OrderError",
    "PathLimitError",
    "Program",
    "ResultError",
    "RuleError",
    "Source",
    "Stepper",
    "Table",
    "Trace",
    "TraceError",
    "ValueKindError",
    "absolute",
    "acos",
    "acosh",
    "add",
    "all_orders",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "cbrt",
    "ceil",
    "check_grad",
    "check_order",
    "checkpoint",
    "clip",
    "compare",
    "conj",
    "copysign",
    "cos",
    "cosh",
    "deg2rad",
    "deriv",
    "derivative",
    "digamma",
    "div",
    "elementwise_grad",
    "erf",
    "erfc",
    "execution_order",
    "exp",
    "exp2",
    "explore",
    "expm1",
    "figure",
    "find_kinks",
    "find_nan",
    "floor",
    "floor_divide",
    "fmax",
    "fmin",
    "fold",
    "forward",
    "gamma",
    "grad",
    "grad_and_aux",
    "grad_named",
    "hessian",
    "hessian_tensor_product",
    "hessian_vector_product",
    "holomorphic_grad",
    "hvp",
    "hypot",
    "imag",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jit",
    "jvp",
    "lgamma",
    "linearize",
    "log",
    "log1p",
    "log2",
    "log10",
    "logaddexp",
    "logaddexp2",
    "make_ggnvp",
    "make_hvp",
    "make_jvp",
    "make_vjp",
    "maximum",
    "minimum",
    "mod",
    "mul",
    "multigrad_dict",
    "neg",
    "polygamma",
    "pos",
    "power",
    "preorder",
    "primitive",
    "rad2deg",
    "reachable",
    "real",
    "reciprocal",
    "register_number",
    "relu",
    "reverse",
    "rint",
    "sigmoid",
    "sign",
    "sin",
    "sinc",
    "sinh",
    "softplus",
    "source",
    "sqrt",
    "square",
    "step",
    "stop_gradient",
    "sub",
    "tan",
    "tanh",
    "tensor_jacobian_product",
    "topological_order",
    "trace",
    "trunc",
    "value_and_grad",
    "vector_jacobian_product",
    "vjp",
    "vmap",
    "where",
    "widget",
]


if not typing.TYPE_CHECKING:  # a checker of types would take every name for one of the package

    def __getattr__(name):
        """Return what HIPS autograd calls `list`, `isinstance`, ...; `import *` leaves them out."""
        if name in builtins.__all__:
            return getattr(builtins, name)
        text = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(text, name=name, obj=sys.modules[__name__])
