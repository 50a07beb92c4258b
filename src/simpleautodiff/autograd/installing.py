"""`install_as_autograd`: for libraries that import autograd themselves."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from types import ModuleType, TracebackType

from simpleautodiff import autograd
from simpleautodiff.core.jet import Jet
from simpleautodiff.core.node import TapeNode

_NAME = autograd.__name__


class install_as_autograd:
    """Let `import autograd` find this library, here and in every module imported from now on.

    Modules that have imported autograd before keep it. Used in a `with` statement, it restores the
    original at the end.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> with ad.install_as_autograd():
    ...     import autograd.numpy as np
    ...     from autograd import grad
    >>> grad(lambda x: np.sum(x**2))(np.array([1.0, 2.0]))
    array([2., 4.])
    """

    def __init__(self) -> None:
        self.replaced = _modules_of("autograd")
        self.names = [(each, each.__module__, each.__qualname__) for each in (TapeNode, Jet)]
        for name in self.replaced:
            del sys.modules[name]
        for found in pkgutil.walk_packages(autograd.__path__, f"{_NAME}."):
            importlib.import_module(found.name)
        for name, module in _modules_of(_NAME).items():
            sys.modules["autograd" + name.removeprefix(_NAME)] = module
        for each, _, _ in self.names:  # clients compare str(type(x)) with the name of autograd's
            each.__module__, each.__qualname__ = "autograd.numpy.numpy_boxes", "ArrayBox"

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        for name in _modules_of("autograd"):
            del sys.modules[name]
        sys.modules.update(self.replaced)
        for each, module, name in self.names:
            each.__module__, each.__qualname__ = module, name


def _modules_of(package: str) -> dict[str, ModuleType]:
    """Return the loaded modules of a package, by name."""
    inside = f"{package}."
    return {k: m for k, m in sys.modules.items() if k == package or k.startswith(inside)}
