"""Products of matrices in registers, without BLAS.

A block of the result is a few rows by a few vectors. All its sums stay in registers, while rows of
the right factor, one after the other, are multiplied by columns of the left factor. Both are read
where they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from simpleautodiff.compiled.array.build_loops import MatrixProduct
from simpleautodiff.compiled.backends.llvm.instructions import ELEMENT, vector
from simpleautodiff.compiled.backends.llvm.module import ATTRIBUTES, Module
from simpleautodiff.compiled.backends.llvm.vector_access import VectorAccess

REGISTERS = {8: 24}  # vectors of sums that a processor with so many lanes keeps in registers
FEWER_REGISTERS = 12  # that others keep
WIDE = 4  # vectors of a row of a block


def write_in_registers(module: Module, product: MatrixProduct, lanes: int) -> str:
    """Write a product as a function of the addresses of both factors and of the result."""
    builder = _Product(module, product, lanes)
    builder.write()
    opening, *rest = builder.body("ret void")
    head = f"(ptr %left, ptr %right, ptr %result) {ATTRIBUTES} {opening}"
    return module.function("product", "\n".join([head, *rest]))


class _Product(VectorAccess):
    """Writes the function of one product."""

    def __init__(self, module: Module, product: MatrixProduct, lanes: int) -> None:
        self.product, self.element = product, ELEMENT[product.dtype]
        (rows, self.inner), columns = product.left.shape, product.right.shape[1]
        most = 2 * lanes if product.dtype == "f" else lanes
        super().__init__(module, min(most, 1 << (columns - 1).bit_length()))
        self.kind = vector(self.element, self.width)
        self.shape = rows, columns
        wide = min(WIDE, -(-columns // self.width))
        tall = REGISTERS.get(lanes, FEWER_REGISTERS) // wide
        tall = -(-rows // -(-rows // tall))  # so that blocks are nearly of the same height
        self.block = tall, wide * self.width

    def write(self) -> None:
        """Write the loops over blocks: the larger factor is read once, the other one stays."""
        (rows, columns), (tall, wide) = self.shape, self.block
        if rows > columns:
            for row in self._cut(rows, tall):
                for column in self._cut(columns, wide):
                    self._write_block(row, column)
        else:
            for column in self._cut(columns, wide):
                for row in self._cut(rows, tall):
                    self._write_block(row, column)

    def _cut(self, count: int, size: int) -> Iterator[tuple[str, int]]:
        """Write a loop over pieces, and the rest; yield where a piece begins, and its size."""
        rest = count % size
        if count - rest > size:
            with self.counted(count - rest, 0, size) as first:
                yield first, size
        elif count >= size:
            yield "0", size
        if rest:
            yield str(count - rest), rest

    def _write_block(self, row: tuple[str, int], column: tuple[str, int]) -> None:
        """Write the code for one block of the result."""
        left, right, columns = self.product.left, self.product.right, self.shape[1]
        masks = {k: self._mask(column[1] - k) for k in range(0, column[1], self.width)}
        corner = self._move("%result", (row[0], columns), (column[0], 1))
        with self._sums(corner, row[1], masks) as sums:
            across = self._move("%left", (str(left.offset), 1), (row[0], left.strides[0]))
            above = self._move("%right", (str(right.offset), 1), (column[0], 1))
            with self.counted(self.inner) as n:
                self._multiply(
                    self._move(across, (n, left.strides[1])),
                    self._move(above, (n, right.strides[0])),
                    sums,
                    masks,
                )

    @contextmanager
    def _sums(
        self, corner: str, rows: int, masks: dict[int, str]
    ) -> Iterator[dict[tuple[int, int], str]]:
        """Write the code before and after that of the sums of a block; yield where they are."""
        sums, columns = {}, self.shape[1]
        zero = "0.0" if self.width == 1 else "zeroinitializer"
        for i in range(rows):
            for k, mask in masks.items():
                first = zero
                if self.product.adds:
                    place = self.address(corner, i * columns + k, self.element)
                    first = self.load_vector(self.element, place, mask, zero)
                sums[i, k] = self.alloca(self.kind)
                self.store(self.kind, first, sums[i, k])
        yield sums
        for (i, k), where in sums.items():
            place = self.address(corner, i * columns + k, self.element)
            self.store_vector(self.element, self.load(self.kind, where), place, masks[k])

    def _multiply(
        self, column: str, row: str, sums: dict[tuple[int, int], str], masks: dict[int, str]
    ) -> None:
        """Write the sum with a column of the left factor times a row of the right one."""
        found = {
            k: self.load_vector(
                self.element, self.address(row, k, self.element), mask, "zeroinitializer"
            )
            for k, mask in masks.items()
        }
        factors: dict[int, str] = {}
        for (i, k), where in sums.items():
            if i not in factors:
                at = self.address(column, i * self.product.left.strides[0], self.element)
                factors[i] = self.splat(self.load(self.element, at), self.element)
            product = self.new(f"fmul contract {self.kind} {factors[i]}, {found[k]}")
            before = self.load(self.kind, where)
            after = self.new(f"fadd contract {self.kind} {before}, {product}")
            self.store(self.kind, after, where)

    def _move(self, base: str, *moves: tuple[str, int]) -> str:
        """Write the address of the element at some indices, each times a stride."""
        for index, stride in moves:
            if index != "0":
                base = self.address(base, self.new(f"mul nsw i64 {index}, {stride}"), self.element)
        return base

    def _mask(self, left: int) -> str:
        """Write the mask of a vector of which so many elements are left."""
        if left >= self.width:
            return ""
        return f"<{', '.join([f'i1 {int(lane < left)}' for lane in range(self.width)])}>"
