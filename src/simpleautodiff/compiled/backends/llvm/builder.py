"""The builder of LLVM text: instructions with unique names, blocks, loops.

All code that writes a function of LLVM is a `Builder`, or uses one. A builder holds the lines of
one function; subclasses add what is special about a kind of function (vectors of a loop, tuples of
Python, calls of LAPACK).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class Builder:
    """The instructions of one function under construction.

    Parameters
    ----------
    prefix
        How the generated names begin, without LLVM's `%`.
    lines
        The list to append to, if the instructions follow others.

    Attributes
    ----------
    first : list of str
        The instructions of the first block: stack allocations.
    lines : list of str
        All other instructions and labels.

    Examples
    --------
    >>> builder = Builder()
    >>> total = builder.new("fadd double %x, %y")
    >>> builder.store("double", total, "%result")
    >>> print(builder.text("void @add(double %x, double %y, ptr %result)", "ret void"))
    define void @add(double %x, double %y, ptr %result) {
      %t1 = fadd double %x, %y
      store double %t1, ptr %result
      ret void
    }
    """

    def __init__(self, prefix: str = "t", lines: list[str] | None = None) -> None:
        self.prefix = prefix
        self.first: list[str] = []
        self.lines: list[str] = [] if lines is None else lines
        self.count = 0

    def fresh(self) -> str:
        """Return an unused name, for a value or a block."""
        self.count += 1
        return f"{self.prefix}{self.count}"

    def line(self, text: str, *, first: bool = False) -> None:
        """Write an instruction, or one in the first block."""
        (self.first if first else self.lines).append(f"  {text}")

    def new(self, text: str, *, first: bool = False) -> str:
        """Write an instruction, and return the name of its result."""
        self.count += 1
        name = f"%{self.prefix}{self.count}"
        (self.first if first else self.lines).append(f"  {name} = {text}")
        return name

    def label(self, name: str) -> None:
        """Begin a block."""
        self.lines.append(f"{name}:")

    def address(self, of: str, offset: int | str, type_: str = "i8") -> str:
        """Write the address of an element of a table, or of a byte offset."""
        return self.new(f"getelementptr {type_}, ptr {of}, i64 {offset}")

    def load(self, type_: str, pointer: str) -> str:
        """Write a load of a value."""
        return self.new(f"load {type_}, ptr {pointer}")

    def get(self, table: str, at: int | str, type_: str) -> str:
        """Write a load of an element of a table."""
        return self.load(type_, self.address(table, at, type_))

    def store(self, type_: str, value: str, pointer: str) -> None:
        """Write a store of a value."""
        self.line(f"store {type_} {value}, ptr {pointer}")

    def put(self, table: str, at: int | str, type_: str, value: str) -> None:
        """Write a store to an element of a table."""
        self.store(type_, value, self.address(table, at, type_))

    def alloca(self, type_: str) -> str:
        """Allocate memory on the stack."""
        return self.new(f"alloca {type_}", first=True)

    def jump(self, block: str) -> None:
        """Jump to a block."""
        self.line(f"br label %{block}")

    def branch(self, condition: str, yes: str, no: str) -> None:
        """Branch to one of two blocks."""
        self.line(f"br i1 {condition}, label %{yes}, label %{no}")

    def go_on_if(self, condition: str, otherwise: str) -> None:
        """Continue if a condition holds, otherwise jump to a block."""
        onward = self.fresh()
        self.branch(condition, onward, otherwise)
        self.label(onward)

    @contextmanager
    def counted(
        self, stop: int | str, start: int | str = 0, step: int = 1, name: str = ""
    ) -> Iterator[str]:
        """Write a loop, run at least once, around what the context writes; yield its index."""
        name = name or self.fresh()
        self.line(f"%{name}.at = alloca i64", first=True)
        self.store("i64", str(start), f"%{name}.at")
        self.jump(f"{name}.again")
        self.label(f"{name}.again")
        self.line(f"%{name} = load i64, ptr %{name}.at")
        yield f"%{name}"
        self.line(f"%{name}.next = add nuw nsw i64 %{name}, {step}")
        self.store("i64", f"%{name}.next", f"%{name}.at")
        self.line(f"%{name}.more = icmp slt i64 %{name}.next, {stop}")
        self.branch(f"%{name}.more", f"{name}.again", f"{name}.done")
        self.label(f"{name}.done")

    def body(self, *last: str) -> list[str]:
        """Return all lines from the opening brace on; `last` are the last instructions."""
        return ["{", *self.first, *self.lines, *[f"  {line}" for line in last], "}"]

    def text(self, head: str, *last: str) -> str:
        """Return the whole function; `head` has its result type, its name and its parameters."""
        opening, *rest = self.body(*last)
        return "\n".join([f"define {head} {opening}", *rest])
