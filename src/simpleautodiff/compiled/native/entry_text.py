"""An entry into compiled code while it is written: lines, names, branches, loops."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from simpleautodiff.compiled.native.object_offsets import layout

UNROLLED = 8  # so many floats are read or made one after the other; more of them in a loop
_NO_FLAG = (1 << 63) - 1  # Python marks in the number of arguments that it may be written before


class EntryText:
    """An entry while it is written."""

    def __init__(self, name: str, arguments: int, *, named: bool = False) -> None:
        self.name = name
        self.first: list[str] = []  # room on the stack, which belongs into the first block
        self.lines: list[str] = []
        self.constants: list[str] = []
        self.count = 0
        self.line("%root = alloca ptr", first=True)
        self.root("null")
        number = self.new(f"and i64 %flags, {_NO_FLAG}")
        self.require(f"icmp eq i64 {number}, {arguments}")
        if not named:  # nothing is given by its name
            self.require("icmp eq ptr %names, null")

    def line(self, line: str, *, first: bool = False) -> None:
        """Add a line, or one among the first."""
        (self.first if first else self.lines).append(f"  {line}")

    def fresh(self) -> str:
        """Return a name that was not used yet."""
        self.count += 1
        return f"v{self.count}"

    def new(self, expression: str, *, first: bool = False) -> str:
        """Name the value of an expression."""
        name = f"%{self.fresh()}"
        self.line(f"{name} = {expression}", first=first)
        return name

    def field(self, of: str, offset: int, kind: str) -> str:
        """Read what stands so many bytes into an object."""
        place = self.new(f"getelementptr i8, ptr {of}, i64 {offset}")
        return self.new(f"load {kind}, ptr {place}")

    def get(self, table: str, at: str, kind: str) -> str:
        """Read an element of a table."""
        place = self.new(f"getelementptr {kind}, ptr {table}, i64 {at}")
        return self.new(f"load {kind}, ptr {place}")

    def put(self, table: str, at: str, kind: str, value: str) -> None:
        """Write an element of a table."""
        place = self.new(f"getelementptr {kind}, ptr {table}, i64 {at}")
        self.line(f"store {kind} {value}, ptr {place}")

    def plus(self, value: str, constant: int) -> str:
        """Add a constant to an index."""
        return self.new(f"add i64 {value}, {constant}")

    def items(self, tuple_: str) -> str:
        """Return the table of the items of a tuple."""
        return self.new(f"getelementptr i8, ptr {tuple_}, i64 {layout().items}")

    def store(self, of: str, offset: int, value: str) -> None:
        """Write what stands so many bytes into an object."""
        place = self.new(f"getelementptr i8, ptr {of}, i64 {offset}")
        self.line(f"store {value}, ptr {place}")

    def replace(self, table: str, at: str, old: str, new: str) -> None:
        """Put an object in the place of another, or of none."""
        self.put(table, at, "ptr", new)
        self.line(f"call void @Py_DecRef(ptr {old})")

    def choose(self, condition: str, one: Callable[[], str], other: Callable[[], str]) -> str:
        """Return the pointer that one of two pieces of text finds, by a condition."""
        cell = self.new("alloca ptr", first=True)
        first, second, done = self.fresh(), self.fresh(), self.fresh()
        self.line(f"br i1 {self.new(condition)}, label %{first}, label %{second}")
        for label, find in ((first, one), (second, other)):
            self.lines.append(f"{label}:")
            self.line(f"store ptr {find()}, ptr {cell}")
            self.line(f"br label %{done}")
        self.lines.append(f"{done}:")
        return self.new(f"load ptr, ptr {cell}")

    def either(
        self, old: str, make: str, made: Callable[[str], None], again: Callable[[], None]
    ) -> str:
        """Take an object again if it is held in one place only; if not, or for none, make one."""

        def other() -> str:
            new = self.new(make)
            self.need(new)
            made(new)
            return new

        def same() -> str:
            again()
            return old

        def present() -> str:
            holders = self.field(old, layout().holders, "i64")
            return self.choose(f"icmp eq i64 {holders}, 1", same, other)

        return self.choose(f"icmp eq ptr {old}, null", other, present)

    def hold(self, spare: str) -> None:
        """Count the caller among those who hold the spare result: two."""
        self.store(spare, layout().holders, "i64 2")

    def spare(self) -> str:
        """Return one of the two results that are kept, by turns, or null."""
        before = self.new(f"load i64, ptr @{self.name}.turn")
        self.turn = self.new(f"xor i64 {before}, 1")
        self.line(f"store i64 {self.turn}, ptr @{self.name}.turn")
        return self.get(f"@{self.name}.spare", self.turn, "ptr")

    def keep(self, made: str) -> None:
        """Let the slot keep a result in the place of one that others hold."""
        keep, done = self.fresh(), self.fresh()
        kept = self.new(f"load ptr, ptr @{self.name}.kept")
        wanted = self.new(f"icmp ne ptr {kept}, null")
        self.line(f"br i1 {wanted}, label %{keep}, label %{done}")
        self.lines.append(f"{keep}:")
        self.put(f"@{self.name}.spare", self.turn, "ptr", made)
        self.line(f"call void @Py_IncRef(ptr {made})")
        self.line(f"call i32 @PyList_SetItem(ptr {kept}, i64 {self.turn}, ptr {made})")
        self.line(f"br label %{done}")
        self.lines.append(f"{done}:")

    def root(self, value: str) -> None:
        """Remember the whole result, to be returned or dropped."""
        self.line(f"store ptr {value}, ptr %root")

    def go(self, condition: str, otherwise: str) -> None:
        """Go on if a condition holds, else to a block."""
        onward = self.fresh()
        self.line(f"br i1 {condition}, label %{onward}, label %{otherwise}")
        self.lines.append(f"{onward}:")

    def require(self, condition: str) -> None:
        """Try the next entry unless this holds."""
        self.go(self.new(condition), "miss")

    def need(self, made: str) -> None:
        """Leave with Python's error if an object could not be made."""
        self.go(self.new(f"icmp ne ptr {made}, null"), "fail")

    def constant(self, numbers: Sequence[int]) -> str:
        """Return a table of constants."""
        name = f"@{self.name}.{self.fresh()}"
        listed = ", ".join(f"i64 {number}" for number in numbers)
        self.constants.append(f"{name} = private constant [{len(numbers)} x i64] [{listed}]")
        return name

    def each(self, times: int, do: Callable[[str], None]) -> None:
        """Write `do` for each index, or a loop over them where there are many."""
        if times <= UNROLLED:
            for index in range(times):
                do(str(index))
        else:
            with self.loop(times) as index_name:
                do(index_name)

    @contextmanager
    def loop(self, times: int) -> Iterator[str]:
        """Repeat what is written meanwhile; the index counts from 0."""
        counter = self.new("alloca i64", first=True)
        top, after = self.fresh(), self.fresh()
        self.line(f"store i64 0, ptr {counter}")
        self.line(f"br label %{top}")
        self.lines.append(f"{top}:")
        index = self.new(f"load i64, ptr {counter}")
        yield index
        following = self.plus(index, 1)
        self.line(f"store i64 {following}, ptr {counter}")
        more = self.new(f"icmp ult i64 {following}, {times}")
        self.line(f"br i1 {more}, label %{top}, label %{after}")
        self.lines.append(f"{after}:")

    def call(self, body: str, guarded: bool, unlocked: bool = False) -> None:
        """Call the body, perhaps without Python's lock; guards say whether the results count."""
        call = f"@{body}(ptr %in, ptr %out)"
        if unlocked:
            thread = self.new("call ptr @PyEval_SaveThread()")
        if guarded:
            status = self.new(f"call i32 {call}")
        else:
            self.line(f"call void {call}")
        if unlocked:
            self.line(f"call void @PyEval_RestoreThread(ptr {thread})")
        if guarded:
            self.go(self.new(f"icmp eq i32 {status}, 0"), "drop")

    def finished(self) -> str:
        """Return the whole entry."""
        name = self.name
        return "\n".join(
            [
                *self.constants,
                f"@{name}.next = global ptr @PyObject_Vectorcall",
                f"@{name}.slow = global ptr null",
                f"@{name}.kept = global ptr null",
                f"@{name}.spare = internal global [2 x ptr] zeroinitializer",
                f"@{name}.turn = internal global i64 0",
                f"define ptr @{name}(ptr %self, ptr %args, i64 %flags, ptr %names) nounwind {{",
                *self.first,
                *self.lines,
                "  %result = load ptr, ptr %root",
                "  ret ptr %result",
                "drop:",
                "  %dropped = load ptr, ptr %root",
                "  call void @Py_DecRef(ptr %dropped)",
                "  br label %miss",
                "miss:",
                f"  %next = load ptr, ptr @{name}.next",
                f"  %slow = load ptr, ptr @{name}.slow",
                "  %other = musttail call ptr %next(ptr %slow, ptr %args, i64 %flags, ptr %names)",
                "  ret ptr %other",
                "fail:",
                "  %partial = load ptr, ptr %root",
                "  call void @Py_DecRef(ptr %partial)",
                "  ret ptr null",
                "}",
                "",
            ]
        )
