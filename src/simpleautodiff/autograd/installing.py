"""`install_as_autograd`: for libraries that import autograd themselves."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from types import ModuleType, TracebackType

from simpleautodiff import autograd

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
        for name in self.replaced:
            del sys.modules[name]
        for found in pkgutil.walk_packages(autograd.__path__, f"{_NAME}."):
            importlib.import_module(found.name)
        for name, module in _modules_of(_NAME).items():
            sys.modules["autograd" + name.removeprefix(_NAME)] = module

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


def _modules_of(package: str) -> dict[str, ModuleType]:
    """Return the loaded modules of a package, by name."""
    inside = f"{package}."
    return {k: m for k, m in sys.modules.items() if k == package or k.startswith(inside)}
