"""Automatic differentiation of Python functions, with every step to be seen.

Importing the package loads no other module of it: the imports below are read, not run, and each
name is loaded when it is first used.
"""

import ast
import importlib
import os
import sys
import typing

if typing.TYPE_CHECKING:
    from simpleautodiff.autograd.hips import (
        deriv as deriv,
        elementwise_grad as elementwise_grad,
        grad_and_aux as grad_and_aux,
        grad_named as grad_named,
        hessian_tensor_product as hessian_tensor_product,
        hessian_vector_product as hessian_vector_product,
        holomorphic_grad as holomorphic_grad,
        make_ggnvp as make_ggnvp,
        make_hvp as make_hvp,
        make_jvp as make_jvp,
        make_vjp as make_vjp,
        multigrad_dict as multigrad_dict,
        tensor_jacobian_product as tensor_jacobian_product,
        vector_jacobian_product as vector_jacobian_product,
    )
    from simpleautodiff.autograd.installing import install_as_autograd as install_as_autograd
    from simpleautodiff.compiled import jit as jit
    from simpleautodiff.core.linear import ZERO as ZERO, Linear as Linear
    from simpleautodiff.core.order import (
        execution_order as execution_order,
        topological_order as topological_order,
    )
    from simpleautodiff.core.primitive import Kink as Kink
    from simpleautodiff.display.code.source import (
        Source as Source,
        source as source,
    )
    from simpleautodiff.display.compare import (
        Comparison as Comparison,
        compare as compare,
    )
    from simpleautodiff.display.eliminate import (
        Elimination as Elimination,
        eliminate as eliminate,
    )
    from simpleautodiff.display.explorer.page import explore as explore
    from simpleautodiff.display.explorer.widget import widget as widget
    from simpleautodiff.display.figures.figure import (
        Figure as Figure,
        figure as figure,
    )
    from simpleautodiff.display.folding.fold import (
        Folded as Folded,
        fold as fold,
    )
    from simpleautodiff.display.stepper.stepper import (
        Stepper as Stepper,
        step as step,
    )
    from simpleautodiff.display.tables.tables import Table as Table
    from simpleautodiff.display.trace import (
        Trace as Trace,
        trace as trace,
    )
    from simpleautodiff.errors import (
        ArgumentError as ArgumentError,
        AutodiffError as AutodiffError,
        CheckError as CheckError,
        ConstantError as ConstantError,
        DifferenceWarning as DifferenceWarning,
        DomainError as DomainError,
        DomainWarning as DomainWarning,
        FloatError as FloatError,
        FormulaError as FormulaError,
        InputError as InputError,
        KinkError as KinkError,
        KinkWarning as KinkWarning,
        LostDerivativeError as LostDerivativeError,
        MatrixError as MatrixError,
        MissingExtraError as MissingExtraError,
        NotCompiledWarning as NotCompiledWarning,
        OrderError as OrderError,
        ResultError as ResultError,
        RuleError as RuleError,
        TraceError as TraceError,
        ValueKindError as ValueKindError,
    )
    from simpleautodiff.program.certify import (
        Certificate as Certificate,
        certify as certify,
    )
    from simpleautodiff.program.check_grad import (
        Check as Check,
        check_grad as check_grad,
    )
    from simpleautodiff.program.find_nan import (
        BadNumber as BadNumber,
        find_kinks as find_kinks,
        find_nan as find_nan,
    )
    from simpleautodiff.program.memory import (
        Memory as Memory,
        memory as memory,
    )
    from simpleautodiff.program.orders import (
        all_orders as all_orders,
        check_order as check_order,
        preorder as preorder,
        reachable as reachable,
    )
    from simpleautodiff.program.paper import (
        Node as Node,
        forward as forward,
        reverse as reverse,
    )
    from simpleautodiff.program.program import Program as Program
    from simpleautodiff.rules.branches import where as where
    from simpleautodiff.rules.scalar.arithmetic import (
        add as add,
        div as div,
        floor_divide as floor_divide,
        mod as mod,
        mul as mul,
        neg as neg,
        pos as pos,
        power as power,
        sub as sub,
    )
    from simpleautodiff.rules.scalar.complex_parts import (
        conj as conj,
        imag as imag,
        real as real,
    )
    from simpleautodiff.rules.scalar.exponential import (
        cbrt as cbrt,
        exp as exp,
        exp2 as exp2,
        expm1 as expm1,
        log as log,
        log1p as log1p,
        log2 as log2,
        log10 as log10,
        logaddexp as logaddexp,
        logaddexp2 as logaddexp2,
        reciprocal as reciprocal,
        sigmoid as sigmoid,
        softplus as softplus,
        sqrt as sqrt,
        square as square,
    )
    from simpleautodiff.rules.scalar.piecewise import (
        absolute as absolute,
        ceil as ceil,
        clip as clip,
        copysign as copysign,
        floor as floor,
        fmax as fmax,
        fmin as fmin,
        maximum as maximum,
        minimum as minimum,
        relu as relu,
        rint as rint,
        sign as sign,
        trunc as trunc,
    )
    from simpleautodiff.rules.scalar.special import (
        digamma as digamma,
        erf as erf,
        erfc as erfc,
        gamma as gamma,
        lgamma as lgamma,
        polygamma as polygamma,
        sinc as sinc,
    )
    from simpleautodiff.rules.scalar.trigonometric import (
        acos as acos,
        acosh as acosh,
        asin as asin,
        asinh as asinh,
        atan as atan,
        atan2 as atan2,
        atanh as atanh,
        cos as cos,
        cosh as cosh,
        deg2rad as deg2rad,
        hypot as hypot,
        rad2deg as rad2deg,
        sin as sin,
        sinh as sinh,
        tan as tan,
        tanh as tanh,
    )
    from simpleautodiff.transforms.black_box import (
        BlackBox as BlackBox,
        black_box as black_box,
    )
    from simpleautodiff.transforms.checkpoint import checkpoint as checkpoint
    from simpleautodiff.transforms.checkpoint_policies import (
        checkpoint_name as checkpoint_name,
        checkpoint_policies as checkpoint_policies,
    )
    from simpleautodiff.transforms.control_flow import (
        cond as cond,
        fori_loop as fori_loop,
        scan as scan,
        while_loop as while_loop,
    )
    from simpleautodiff.transforms.custom_primitive import primitive as primitive
    from simpleautodiff.transforms.grad import (
        derivative as derivative,
        grad as grad,
        hvp as hvp,
        jvp as jvp,
        linearize as linearize,
        stop_gradient as stop_gradient,
        value_and_grad as value_and_grad,
        vjp as vjp,
    )
    from simpleautodiff.transforms.hooks import on_adjoint as on_adjoint
    from simpleautodiff.transforms.jacobian import (
        hessian as hessian,
        jacfwd as jacfwd,
        jacobian as jacobian,
        jacrev as jacrev,
    )
    from simpleautodiff.transforms.kinks import KinkMet as KinkMet
    from simpleautodiff.transforms.snapshots import (
        Schedule as Schedule,
        loop as loop,
        schedule as schedule,
    )
    from simpleautodiff.transforms.sparse import (
        sparse_hessian as sparse_hessian,
        sparse_jacobian as sparse_jacobian,
        sparsity as sparsity,
    )
    from simpleautodiff.transforms.taylor import (
        jet as jet,
        taylor as taylor,
    )
    from simpleautodiff.transforms.vmap import vmap as vmap
    from simpleautodiff.values.functions import register_number as register_number
    from simpleautodiff.values.interval import Interval as Interval

from simpleautodiff.core.engine import engine as _engine
from simpleautodiff.values.solvers import Solvers as _Solvers

__version__ = "0.1.0"
__path__.append(os.path.join(__path__[0], "autograd"))  # simpleautodiff.numpy, .extend, ...
_MODULES = ("errors", "extend", "learn", "micrograd", "misc", "numpy", "plug", "scipy")
_AUTOGRAD_BUILTINS = ("dict", "isinstance", "list", "tuple", "type")  # `import *` leaves them out


def _read_imports() -> dict[str, str]:
    """Return the module of each public name, from the imports above, which are not run."""
    with open(__file__, encoding="utf-8") as file:
        tree = ast.parse(file.read())
    block = next(node for node in tree.body if isinstance(node, ast.If))
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    return {alias.name: str(node.module) for node in imports for alias in node.names}


def _install_engine(primitive: typing.Any) -> typing.Any:
    """Install the engine when the first row is made; then the row is made by it."""
    from simpleautodiff.fast import install

    install()
    return _engine.wrap and _engine.wrap(primitive)


def _find_solver(name: str) -> typing.Any:
    """Return a function that carries derivatives through a solver of SciPy; arrays call it."""
    from simpleautodiff.plug import scipy_calls

    return getattr(scipy_calls, name)


_Solvers.find = staticmethod(_find_solver)
_chosen = os.environ.get("SIMPLEAUTODIFF_ENGINE", "fast")
if _chosen not in ("fast", "plain"):
    raise ImportError(f"SIMPLEAUTODIFF_ENGINE is 'fast' or 'plain', not {_chosen!r}")
if _chosen == "fast" and os.path.isdir(os.path.join(__path__[0], "fast")):  # it may be deleted
    _engine.wrap = _install_engine

_MODULE_OF = _read_imports()
__all__ = list(_MODULE_OF)

if not typing.TYPE_CHECKING:  # a checker of types would take every name for one of the package

    def __getattr__(name):
        """Load a public name when it is first used."""
        if name in _MODULE_OF:
            importlib.import_module(f"{__name__}.arrays")  # which gives nodes their methods
            globals()[name] = getattr(importlib.import_module(_MODULE_OF[name]), name)
            return globals()[name]
        if name in _MODULES:
            return importlib.import_module(f"{__name__}.{name}")
        if name in _AUTOGRAD_BUILTINS:
            return getattr(importlib.import_module(f"{__name__}.builtins"), name)
        text = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(text, name=name, obj=sys.modules[__name__])


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return sorted([*__all__, *_MODULES, "__all__", "__doc__", "__version__"])
