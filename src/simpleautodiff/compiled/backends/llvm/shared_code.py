"""A module in which equal functions are written once: a loop over time is full of them."""

from __future__ import annotations

from simpleautodiff.compiled.backends.llvm.module import Module


class Shared(Module):
    """A module of LLVM in writing that knows the functions it has."""

    def __init__(self, precise: bool = False, own: bool = True) -> None:
        super().__init__(precise, own)
        self._named: dict[str, str] = {}

    def function(self, kind: str, text: str, gives: str = "void") -> str:
        r"""Return the name of the function with a text, from its arguments on.

        Examples
        --------
        >>> module = Shared()
        >>> module.function("copy", "() {\n  ret void\n}")
        'copy0'
        >>> module.function("copy", "() {\n  ret void\n}")
        'copy0'
        """
        if text not in self._named:
            name = self._named[text] = f"{kind}{len(self._named)}"
            self.functions.append(f"define internal {gives} @{name}{text}")
        return self._named[text]
