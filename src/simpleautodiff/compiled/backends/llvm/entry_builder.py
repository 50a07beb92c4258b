"""Build an entry into compiled code: lines, names, branches, loops."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from simpleautodiff.compiled.backends.llvm.builder import Builder
from simpleautodiff.compiled.native.object_offsets import layout

UNROLLED = 8  # floats up to which reading and making them is unrolled
_NO_FLAG = (1 << 63) - 1  # masks the flag PY_VECTORCALL_ARGUMENTS_OFFSET


class EntryBuilder(Builder):
    """The function through which Python calls compiled code, under construction."""

    def __init__(self, name: str, arguments: int, *, named: bool = False) -> None:
        super().__init__("v")
        self.name = name
        self.constants: list[str] = []
        self.count_known = 0
        self.line("%root = alloca ptr", first=True)
        self.root("null")
        number = self.new(f"and i64 %flags, {_NO_FLAG}")
        self.require(f"icmp eq i64 {number}, {arguments}")
        if not named:  # refuse keyword arguments
            self.require("icmp eq ptr %names, null")

    def field(self, of: str, offset: int, kind: str) -> str:
        """Load a field of an object at a byte offset."""
        return self.load(kind, self.address(of, offset))

    def set_field(self, of: str, offset: int, kind: str, value: str) -> None:
        """Store a field of an object at a byte offset."""
        self.store(kind, value, self.address(of, offset))

    def plus(self, value: str, constant: int) -> str:
        """Add a constant to an index."""
        return self.new(f"add i64 {value}, {constant}")

    def items(self, container: str, is_list: bool = False) -> str:
        """Return the table of the items of a tuple, or of a list."""
        if is_list:
            return self.field(container, layout().table, "ptr")
        return self.address(container, layout().items)

    def known(self, number: int) -> str:
        """Return an object that was known when the code was made."""
        self.count_known = max(self.count_known, number + 1)
        return self.get(f"@{self.name}.known", number, "ptr")

    def replace(self, table: str, at: str, old: str, new: str) -> None:
        """Replace an object in a table, or fill an empty slot."""
        self.put(table, at, "ptr", new)
        self.line(f"call void @Py_DecRef(ptr {old})")

    def choose(self, condition: str, one: Callable[[], str], other: Callable[[], str]) -> str:
        """Return the pointer that one of two code paths computes, chosen by a condition."""
        cell = self.alloca("ptr")
        first, second, done = self.fresh(), self.fresh(), self.fresh()
        self.branch(self.new(condition), first, second)
        for label, find in ((first, one), (second, other)):
            self.label(label)
            self.store("ptr", find(), cell)
            self.jump(done)
        self.label(done)
        return self.load("ptr", cell)

    def either(
        self, old: str, make: str, made: Callable[[str], None], again: Callable[[], None]
    ) -> str:
        """Reuse an object if only one reference to it exists; otherwise make a new one."""

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
        """Set the reference count of the spare result to 2: for the slot and for the caller."""
        self.set_field(spare, layout().holders, "i64", "2")

    def spare(self) -> str:
        """Return one of the two results kept for reuse, alternately; null if there is none."""
        before = self.load("i64", f"@{self.name}.turn")
        self.turn = self.new(f"xor i64 {before}, 1")
        self.store("i64", self.turn, f"@{self.name}.turn")
        return self.get(f"@{self.name}.spare", self.turn, "ptr")

    def keep(self, made: str) -> None:
        """Let the slot keep a result instead of one that others hold."""
        keep, done = self.fresh(), self.fresh()
        kept = self.load("ptr", f"@{self.name}.kept")
        wanted = self.new(f"icmp ne ptr {kept}, null")
        self.branch(wanted, keep, done)
        self.label(keep)
        self.put(f"@{self.name}.spare", self.turn, "ptr", made)
        self.line(f"call void @Py_IncRef(ptr {made})")
        self.line(f"call i32 @PyList_SetItem(ptr {kept}, i64 {self.turn}, ptr {made})")
        self.jump(done)
        self.label(done)

    def root(self, value: str) -> None:
        """Remember the whole result, to be returned or freed."""
        self.store("ptr", value, "%root")

    def require(self, condition: str) -> None:
        """Jump to the next entry unless this holds."""
        self.go_on_if(self.new(condition), "miss")

    def need(self, made: str) -> None:
        """Return Python's error if an object could not be made."""
        self.go_on_if(self.new(f"icmp ne ptr {made}, null"), "fail")

    def constant(self, numbers: Sequence[int]) -> str:
        """Return a table of constants."""
        name = f"@{self.name}.{self.fresh()}"
        listed = ", ".join(f"i64 {number}" for number in numbers)
        self.constants.append(f"{name} = private constant [{len(numbers)} x i64] [{listed}]")
        return name

    def each(self, times: int, do: Callable[[str], None]) -> None:
        """Write `do` for each index, or as a loop if there are many."""
        if times <= UNROLLED:
            for index in range(times):
                do(str(index))
        else:
            with self.counted(times) as index_name:
                do(index_name)

    def call(self, body: str, guarded: bool, unlocked: bool = False) -> None:
        """Call the body, perhaps with Python's lock released; its guards validate the results."""
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
            self.go_on_if(self.new(f"icmp eq i32 {status}, 0"), "drop")

    def finish(self) -> str:
        """Return the whole entry."""
        name = self.name
        return "\n".join(
            [
                *self.constants,
                f"@{name}.next = global ptr @PyObject_Vectorcall",
                f"@{name}.slow = global ptr null",
                f"@{name}.kept = global ptr null",
                f"@{name}.known = global [{max(1, self.count_known)} x ptr] zeroinitializer",
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
