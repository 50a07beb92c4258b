"""Vectors of elements between memory and registers: side by side, apart, or where numbers say."""

from __future__ import annotations

from simpleautodiff.compiled.instructions import STORED, vector
from simpleautodiff.compiled.loops import Access
from simpleautodiff.compiled.module import Module

_SIZES = {"double": 8, "float": 4, "i8": 1, "i64": 8}
_ENDING = {"double": "f64", "float": "f32", "i8": "i8", "i64": "i64"}
_ALL = "splat (i1 true)"


class Vectors:
    """Writes what loads and stores vectors of one width.

    A mask is a name or a constant that says which lanes count; it is empty if all do.
    """

    def __init__(self, module: Module, width: int) -> None:
        self.module, self.width = module, width
        self.lines: list[str] = []
        self.rows: dict[Access, str] = {}  # where the elements of an access begin, in this row
        self.count = 0

    def new(self, text: str) -> str:
        """Write an instruction, and return the name of its result."""
        self.count += 1
        self.lines.append(f"  %t{self.count} = {text}")
        return f"%t{self.count}"

    def splat(self, number: str, element: str) -> str:
        """Put one number into all lanes."""
        if self.width == 1:
            return number
        kind = vector(element, self.width)
        first = self.new(f"insertelement {kind} poison, {element} {number}, i64 0")
        zeros = f"<{self.width} x i32> zeroinitializer"
        return self.new(f"shufflevector {kind} {first}, {kind} poison, {zeros}")

    def half(self, name: str, element: str, width: int, lanes: range) -> str:
        """Choose half of the lanes of a vector."""
        kind, chosen = vector(element, width), ", ".join([f"i32 {lane}" for lane in lanes])
        if width == 2:
            return self.new(f"extractelement {kind} {name}, i64 {lanes[0]}")
        mask = f"<{width // 2} x i32> <{chosen}>"
        return self.new(f"shufflevector {kind} {name}, {kind} poison, {mask}")

    def load(self, access: Access, j: str, mask: str) -> str:
        """Write what loads the elements from `j` on, and return their name."""
        stored, new = STORED[access.kind], self.new
        if access.step == 0 and not access.places:
            one = new(f"load {stored}, ptr {self.rows[access]}")
            found = self.splat(one, stored)
        elif access.step == 1 and not access.places:
            found = self._load_vector(stored, self._at(access, j), mask)
        else:
            found = self._gather(stored, self._all_places(access, j, mask), mask)
        if access.kind != "?":
            return found
        return new(f"icmp ne {vector(stored, self.width)} {found}, {_zero(self.width)}")

    def _load_vector(self, stored: str, at: str, mask: str) -> str:
        kind, size = vector(stored, self.width), _SIZES[stored]
        if not mask:
            return self.new(f"load {kind}, ptr {at}, align {size}")
        name = f"llvm.masked.load.v{self.width}{_ENDING[stored]}.p0"
        truth = vector("i1", self.width)
        self.module.declare(f"{kind} @{name}(ptr, i32, {truth}, {kind})")
        args = f"ptr {at}, i32 {size}, {truth} {mask}, {kind} zeroinitializer"
        return self.new(f"call {kind} @{name}({args})")

    def _gather(self, stored: str, where: str, mask: str) -> str:
        if self.width == 1:
            return self.new(f"load {stored}, ptr {where}")
        kind, truth = vector(stored, self.width), vector("i1", self.width)
        pointers = vector("ptr", self.width)
        name = f"llvm.masked.gather.v{self.width}{_ENDING[stored]}.v{self.width}p0"
        self.module.declare(f"{kind} @{name}({pointers}, i32, {truth}, {kind})")
        args = f"{pointers} {where}, i32 {_SIZES[stored]}, {truth} {mask or _ALL}"
        return self.new(f"call {kind} @{name}({args}, {kind} zeroinitializer)")

    def _all_places(self, access: Access, j: str, mask: str) -> str:
        """Write where each element of a vector is."""
        stored, whole = STORED[access.kind], vector("i64", self.width)
        if access.places:
            far = self.load(access.places, j, mask)
        else:
            numbers = ", ".join([f"i64 {lane * access.step}" for lane in range(self.width)])
            start = self.new(f"mul nsw i64 {j}, {access.step}")
            first = self.splat(start, "i64")
            far = self.new(f"add {whole} {first}, <{numbers}>") if self.width > 1 else start
        row = self.rows[access]
        return self.new(f"getelementptr {stored}, ptr {row}, {whole} {far}")

    def _at(self, access: Access, j: str) -> str:
        if j == "0":
            return self.rows[access]
        stored = STORED[access.kind]
        return self.new(f"getelementptr inbounds {stored}, ptr {self.rows[access]}, i64 {j}")

    def store(self, name: str, access: Access, j: str, mask: str) -> None:
        """Write what stores a vector from `j` on."""
        stored, width = STORED[access.kind], self.width
        kind, truth = vector(stored, width), vector("i1", width)
        if access.kind == "?":
            name = self.new(f"zext {truth} {name} to {kind}")
        if width == 1 or (access.step == 1 and not access.places and not mask):
            at = self._all_places(access, j, "") if access.places or width == 1 else ""
            at = at or self._at(access, j)
            self.lines.append(f"  store {kind} {name}, ptr {at}, align {_SIZES[stored]}")
        elif access.step == 1 and not access.places:
            function = f"llvm.masked.store.v{width}{_ENDING[stored]}.p0"
            self.module.declare(f"void @{function}({kind}, ptr, i32, {truth})")
            args = f"{kind} {name}, ptr {self._at(access, j)}, i32 {_SIZES[stored]}"
            self.lines.append(f"  call void @{function}({args}, {truth} {mask})")
        else:
            pointers = vector("ptr", width)
            function = f"llvm.masked.scatter.v{width}{_ENDING[stored]}.v{width}p0"
            self.module.declare(f"void @{function}({kind}, {pointers}, i32, {truth})")
            where = self._all_places(access, j, mask)
            args = f"{kind} {name}, {pointers} {where}, i32 {_SIZES[stored]}"
            self.lines.append(f"  call void @{function}({args}, {truth} {mask or _ALL})")


def _zero(width: int) -> str:
    return "0" if width == 1 else "zeroinitializer"
