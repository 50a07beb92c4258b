"""Products of vectors and matrices as calls of BLAS, which SciPy provides.

BLAS stores matrices column by column, NumPy row by row: a matrix of one is the transpose for the
other, so the factors are exchanged. Transposing is an option of the call, not a copy.
"""

from __future__ import annotations

import math
from dataclasses import replace

from simpleautodiff.compiled.array.build_loops import MatrixProduct
from simpleautodiff.compiled.array.view_accesses import View, apart, find_matrix_layout, matrix_of
from simpleautodiff.compiled.backends.llvm.builder import Builder
from simpleautodiff.compiled.backends.llvm.instructions import BYTES, ELEMENT
from simpleautodiff.compiled.backends.llvm.module import ATTRIBUTES, Module
from simpleautodiff.compiled.backends.llvm.register_product import write_in_registers

_LETTER = {"d": "d", "f": "s"}


def write_product(module: Module, product: MatrixProduct, lanes: int) -> tuple[str, list[int]]:
    """Write a product as a function of the addresses of its buffers (see `write_loop`)."""
    slots = [product.left.root, product.right.root, product.number]
    if max(len(product.left.shape), len(product.right.shape)) > 2:
        return _write_stack(module, product, lanes), slots
    return _write_one(module, product, lanes), slots


def _write_stack(module: Module, product: MatrixProduct, lanes: int) -> str:
    """Write a loop over products of matrices."""
    views = (product.left, product.right)
    left, right = (matrix_of(view) for view in views)
    one = _write_one(module, replace(product, left=left, right=right), lanes)
    far = [apart(view) for view in views]
    far.append(math.prod(product.result[-2:]))
    builder, found = Builder(), []
    with builder.counted(math.prod(product.result[:-2])) as i:
        for base, step in zip(("%left.base", "%right.base", "%result"), far, strict=True):
            at = builder.new(f"mul i64 {i}, {step}")
            found.append(f"ptr {builder.address(base, at, ELEMENT[product.dtype])}")
        builder.line(f"call void @{one}({', '.join(found)})")
    opening, *rest = builder.body("ret void")
    head = f"(ptr %left.base, ptr %right.base, ptr %result) {ATTRIBUTES} {opening}"
    return module.function("products", "\n".join([head, *rest]))


def _write_one(module: Module, product: MatrixProduct, lanes: int) -> str:
    if product.is_in_registers:
        return write_in_registers(module, product, lanes)
    builder = BlasBuilder(module, product.dtype)
    for key, view in (("%left", product.left), ("%right", product.right)):
        offset = view.offset * BYTES[product.dtype]
        builder.line(f"{key} = getelementptr i8, ptr {key}.base, i64 {offset}", first=True)
    ranks = len(product.left.shape), len(product.right.shape)
    if ranks == (1, 1):
        _dot(builder, product)
    elif ranks == (2, 1):
        _by_vector(builder, product.left, "%left", product.right, "%right", product.adds, False)
    elif ranks == (1, 2):
        _by_vector(builder, product.right, "%right", product.left, "%left", product.adds, True)
    else:
        _by_matrix(builder, product)
    opening, *rest = builder.body("ret void")
    head = f"(ptr %left.base, ptr %right.base, ptr %result) {ATTRIBUTES} {opening}"
    return module.function("product", "\n".join([head, *rest]))


class BlasBuilder(Builder):
    """Writes calls of BLAS and LAPACK, which take the addresses of all numbers."""

    def __init__(self, module: Module, kind: str) -> None:
        super().__init__("v")
        self.module, self.dtype, self.element = module, kind, ELEMENT[kind]
        self._given = 0

    def by_address(self, kind: str, number: str) -> str:
        """Put a number into memory, where BLAS reads it."""
        self._given += 1
        name = f"%given{self._given}"
        self.line(f"{name} = alloca {kind}", first=True)
        self.line(f"store {kind} {number}, ptr {name}", first=True)
        return f"ptr {name}"

    def size(self, number: int) -> str:
        """Put a size into memory."""
        return self.by_address("i32", str(number))

    def letter(self, transposed: bool) -> str:
        """Put the option for a transposed or an untransposed matrix into memory."""
        return self.by_address("i8", str(ord("T" if transposed else "N")))

    def call(self, function: str, args: list[str], gives: str = "void") -> None:
        """Call a function of BLAS."""
        result = "" if gives == "void" else "%product = "
        self.line(f"{result}{self.call_text(function, args, gives)}")

    def call_text(self, function: str, args: list[str], gives: str = "void") -> str:
        """Return the text of a call."""
        function = _LETTER[self.dtype] + function
        kinds = ", ".join(["ptr"] * len(args))
        self.module.declare(f"{gives} @{function}({kinds})")
        return f"call {gives} @{function}({', '.join(args)})"


def _dot(builder: BlasBuilder, product: MatrixProduct) -> None:
    n = product.left.shape[0]
    steps = [builder.size(_layout_of(view)[1]) for view in (product.left, product.right)]
    args = [builder.size(n), "ptr %left", steps[0], "ptr %right", steps[1]]
    builder.call("dot", args, builder.element)
    builder.store(builder.element, "%product", "%result")


def _by_vector(
    builder: BlasBuilder, matrix: View, m: str, vector: View, v: str, adds: bool, turned: bool
) -> None:
    by_columns, apart = _layout_of(matrix)
    rows, columns = matrix.shape if by_columns else matrix.shape[::-1]
    one, before = (
        builder.by_address(builder.element, "1.0"),
        builder.by_address(builder.element, "1.0" if adds else "0.0"),
    )
    step = builder.size(_layout_of(vector)[1])
    sizes = [builder.size(rows), builder.size(columns)]
    head = [builder.letter(by_columns == turned), *sizes, one]
    rest = [
        f"ptr {m}",
        builder.size(apart),
        f"ptr {v}",
        step,
        before,
        "ptr %result",
        builder.size(1),
    ]
    builder.call("gemv", [*head, *rest])


def _by_matrix(builder: BlasBuilder, product: MatrixProduct) -> None:
    left, right = _layout_of(product.left), _layout_of(product.right)
    (rows, inner), columns = product.left.shape, product.right.shape[1]
    one, before = (
        builder.by_address(builder.element, "1.0"),
        builder.by_address(builder.element, "1.0" if product.adds else "0.0"),
    )
    letters = [builder.letter(right[0]), builder.letter(left[0])]
    sizes = [builder.size(n) for n in (columns, rows, inner)]
    factors = ["ptr %right", builder.size(right[1]), "ptr %left", builder.size(left[1])]
    result = [before, "ptr %result", builder.size(columns)]
    builder.call("gemm", [*letters, *sizes, one, *factors, *result])


def _layout_of(view: View) -> tuple[bool, int]:
    known = find_matrix_layout(view)
    assert known is not None  # otherwise it would have been copied
    return known
