"""Loads and stores of vectors: contiguous, strided, gathered and scattered, with masks."""

from __future__ import annotations

from collections.abc import Iterator

from simpleautodiff.compiled.array.loops import Access
from simpleautodiff.compiled.backends.llvm.builder import Builder
from simpleautodiff.compiled.backends.llvm.instructions import STORED, vector
from simpleautodiff.compiled.backends.llvm.module import Module

_SIZES = {"double": 8, "float": 4, "i8": 1, "i64": 8}
_ENDING = {"double": "f64", "float": "f32", "i8": "i8", "i64": "i64"}
_ALL = "splat (i1 true)"


class VectorAccess(Builder):
    """Writes loads and stores of vectors of one width.

    A mask is a name or a constant that says which lanes are active; it is empty if all are.
    """

    def __init__(self, module: Module, width: int) -> None:
        super().__init__()
        self.module, self.width = module, width
        self.rows: dict[Access, str] = {}  # the start of each access in this row
        self.in_rows: dict[Access, str] = {}  # whether this row is in the box of each access
        self.size = 0  # length of the last axis
        self.span: tuple[int, int] | None = None  # the piece of it that is written

    def splat(self, number: str, element: str) -> str:
        """Put one number into all lanes."""
        if self.width == 1:
            return number
        kind = vector(element, self.width)
        first = self.new(f"insertelement {kind} poison, {element} {number}, i64 0")
        zeros = f"<{self.width} x i32> zeroinitializer"
        return self.new(f"shufflevector {kind} {first}, {kind} poison, {zeros}")

    def half(self, name: str, element: str, width: int, lanes: range) -> str:
        """Select half of the lanes of a vector."""
        kind, chosen = vector(element, width), ", ".join([f"i32 {lane}" for lane in lanes])
        if width == 2:
            return self.new(f"extractelement {kind} {name}, i64 {lanes[0]}")
        mask = f"<{width // 2} x i32> <{chosen}>"
        return self.new(f"shufflevector {kind} {name}, {kind} poison, {mask}")

    def load_elements(self, access: Access, j: str, mask: str) -> str:
        """Write a load of the elements from `j` on, and return their name."""
        found = self._bytes(access, j, mask)
        if access.dtype != "?":
            return found
        kind = vector(STORED[access.dtype], self.width)
        return self.new(f"icmp ne {kind} {found}, {_zero(self.width)}")

    def _bytes(self, access: Access, j: str, mask: str) -> str:
        """Write a load of elements in the type they are stored in."""
        stored = STORED[access.dtype]
        if access.is_same:
            return self.splat(self.new(f"load {stored}, ptr {self.rows[access]}"), stored)
        if self._is_outside(access):
            return self._below(access, j, mask)
        inside = self._inside(access, j, mask)
        other = _zero(self.width, stored) if inside == mask else self._below(access, j, mask)
        if self.width == 1:
            return self._load_one(access, j, inside, other)
        if access.step == 0 and not access.places:
            return self._load_same(access, inside, other)
        if access.step == 1 and not access.is_apart:
            return self.load_vector(stored, self._at(access, j), inside, other)
        if not inside:
            return self._load_apart(access, j)
        return self._gather(stored, self._all_places(access, j, inside), inside, other)

    def _below(self, access: Access, j: str, mask: str) -> str:
        """Write a load of the elements under a box: zeros, if there are none."""
        if access.under:
            return self._bytes(access.under, j, mask)
        return _zero(self.width, STORED[access.dtype])

    def _is_outside(self, access: Access) -> bool:
        """Tell whether the piece that is written now is outside the box of an access."""
        if not access.box:
            return False
        (first, last), span = access.box[-1], self.span
        return self.in_rows[access] == "false" or bool(
            span and (span[0] >= last or span[1] <= first)
        )

    def _inside(self, access: Access, j: str, mask: str) -> str:
        """Write the mask of the active lanes that are in the box of an access."""
        if not access.box:
            return mask
        row, (first, last) = self.in_rows[access], access.box[-1]
        if row == "true" and self.span and first <= self.span[0] and self.span[1] <= last:
            return mask
        whole, truth = vector("i64", self.width), vector("i1", self.width)
        inside = self.splat(row, "i1") if row != "true" else _all(self.width)
        if (first, last) != (0, self.size):
            start = self.splat(self.new(f"sub i64 {j}, {first}"), "i64")
            if self.width > 1:
                start = self.new(f"add {whole} {start}, {numbers_of_lanes(self.width)}")
            size = f"splat (i64 {last - first})" if self.width > 1 else str(last - first)
            within = self.new(f"icmp ult {whole} {start}, {size}")
            inside = self.new(f"and {truth} {inside}, {within}")
        return self.new(f"and {truth} {inside}, {mask}") if mask else inside

    def _load_one(self, access: Access, j: str, inside: str, other: str) -> str:
        """Load a single element; one outside the box is not read."""
        stored, at = STORED[access.dtype], self._all_places(access, j, "")
        if not inside:
            return self.new(f"load {stored}, ptr {at}")
        at = self.new(f"select i1 {inside}, ptr {at}, ptr %base0")
        found = self.new(f"load {stored}, ptr {at}")
        return self.new(f"select i1 {inside}, {stored} {found}, {stored} {other}")

    def _load_same(self, access: Access, inside: str, other: str) -> str:
        """Load one element for all lanes inside the box; if none is, it is not read."""
        stored, at = STORED[access.dtype], self.rows[access]
        if self.in_rows[access] != "true":
            at = self.new(f"select i1 {self.in_rows[access]}, ptr {at}, ptr %base0")
        kind = vector(stored, self.width)
        found = self.splat(self.new(f"load {stored}, ptr {at}"), stored)
        if not inside:
            return found
        return self.new(
            f"select {vector('i1', self.width)} {inside}, {kind} {found}, {kind} {other}"
        )

    def load_vector(self, stored: str, at: str, mask: str, other: str) -> str:
        """Write a load of contiguous elements; lanes that are not active have another value."""
        kind, size = vector(stored, self.width), _SIZES[stored]
        if not mask:
            return self.new(f"load {kind}, ptr {at}, align {size}")
        name = f"llvm.masked.load.v{self.width}{_ENDING[stored]}.p0"
        truth = vector("i1", self.width)
        self.module.declare(f"{kind} @{name}(ptr, i32, {truth}, {kind})")
        args = f"ptr {at}, i32 {size}, {truth} {mask}, {kind} {other}"
        return self.new(f"call {kind} @{name}({args})")

    def _load_apart(self, access: Access, j: str) -> str:
        """Load elements one by one: sooner than a gather, which processors do slowly."""
        stored, name = STORED[access.dtype], "poison"
        for lane, at in enumerate(self._each_place(access, j)):
            one = self.new(f"load {stored}, ptr {at}")
            kind = vector(stored, self.width)
            name = self.new(f"insertelement {kind} {name}, {stored} {one}, i64 {lane}")
        return name

    def _each_place(self, access: Access, j: str) -> Iterator[str]:
        """Write the address of each element of a vector, one after another."""
        stored, row = STORED[access.dtype], self._row_of(access)
        if access.is_apart and access.places:
            far = self.load_elements(access.places, j, "")
            for lane in range(self.width):
                one = self.new(f"extractelement {vector('i64', self.width)} {far}, i64 {lane}")
                yield self.new(f"getelementptr {stored}, ptr {row}, i64 {one}")
            return
        start = self.new(f"mul nsw i64 {j}, {access.step}")
        first = self.new(f"getelementptr {stored}, ptr {row}, i64 {start}")
        for lane in range(self.width):
            yield self.new(f"getelementptr {stored}, ptr {first}, i64 {lane * access.step}")

    def _gather(self, stored: str, where: str, mask: str, other: str) -> str:
        kind, truth = vector(stored, self.width), vector("i1", self.width)
        pointers = vector("ptr", self.width)
        name = f"llvm.masked.gather.v{self.width}{_ENDING[stored]}.v{self.width}p0"
        self.module.declare(f"{kind} @{name}({pointers}, i32, {truth}, {kind})")
        args = f"{pointers} {where}, i32 {_SIZES[stored]}, {truth} {mask or _ALL}"
        return self.new(f"call {kind} @{name}({args}, {kind} {other})")

    def _all_places(self, access: Access, j: str, mask: str) -> str:
        """Write the address of each element of a vector."""
        stored, whole = STORED[access.dtype], vector("i64", self.width)
        if access.is_apart and access.places:
            far = self.load_elements(access.places, j, mask)
        else:
            start = self.new(f"mul nsw i64 {j}, {access.step}")
            far = self.splat(start, "i64")
            if self.width > 1:
                far = self.new(f"add {whole} {far}, {numbers_of_lanes(self.width, access.step)}")
        return self.new(f"getelementptr {stored}, ptr {self._row_of(access)}, {whole} {far}")

    def _row_of(self, access: Access) -> str:
        """Write the address of the first element of this row."""
        row = self.rows[access]
        if access.places is None or access.is_apart:
            return row
        far = self.new(f"load i64, ptr {self.rows[access.places]}")
        return self.new(f"getelementptr {STORED[access.dtype]}, ptr {row}, i64 {far}")

    def _at(self, access: Access, j: str) -> str:
        row = self._row_of(access)
        if j == "0":
            return row
        return self.new(f"getelementptr {STORED[access.dtype]}, ptr {row}, i64 {j}")

    def store_elements(self, name: str, access: Access, j: str, mask: str) -> None:
        """Write a store of a vector from `j` on."""
        stored, width = STORED[access.dtype], self.width
        kind, truth = vector(stored, width), vector("i1", width)
        if access.dtype == "?":
            name = self.new(f"zext {truth} {name} to {kind}")
        if width == 1:
            self.store_vector(stored, name, self._all_places(access, j, ""), "")
        elif access.step == 1 and not access.is_apart:
            self.store_vector(stored, name, self._at(access, j), mask)
        elif not mask:
            for lane, at in enumerate(self._each_place(access, j)):
                one = self.new(f"extractelement {kind} {name}, i64 {lane}")
                self.line(f"store {stored} {one}, ptr {at}, align {_SIZES[stored]}")
        else:
            pointers = vector("ptr", width)
            function = f"llvm.masked.scatter.v{width}{_ENDING[stored]}.v{width}p0"
            self.module.declare(f"void @{function}({kind}, {pointers}, i32, {truth})")
            where = self._all_places(access, j, mask)
            args = f"{kind} {name}, {pointers} {where}, i32 {_SIZES[stored]}"
            self.line(f"call void @{function}({args}, {truth} {mask or _ALL})")

    def store_vector(self, stored: str, name: str, at: str, mask: str) -> None:
        """Write a store of contiguous elements."""
        kind, size = vector(stored, self.width), _SIZES[stored]
        if not mask:
            self.line(f"store {kind} {name}, ptr {at}, align {size}")
            return
        function = f"llvm.masked.store.v{self.width}{_ENDING[stored]}.p0"
        truth = vector("i1", self.width)
        self.module.declare(f"void @{function}({kind}, ptr, i32, {truth})")
        self.line(f"call void @{function}({kind} {name}, ptr {at}, i32 {size}, {truth} {mask})")


def _zero(width: int, stored: str = "i8") -> str:
    one = "0.0" if stored in ("double", "float") else "0"
    return one if width == 1 else "zeroinitializer"


def _all(width: int) -> str:
    return "true" if width == 1 else _ALL


def numbers_of_lanes(width: int, step: int = 1) -> str:
    """Write the indices of the lanes, times a step."""
    return f"<{', '.join([f'i64 {lane * step}' for lane in range(width)])}>"
