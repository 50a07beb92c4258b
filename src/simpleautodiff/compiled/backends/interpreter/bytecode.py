"""The code of the interpreter: a scalar program as an array of steps on the cells of a work array.

A step is one to five int32: the opcode, the cell to write, and the cells to read. The first cells
of the work array are the addresses of the leaves, inputs first; the others are reused as soon as
their number is not needed any more, so that they stay few. In cells, float32 numbers are float64,
and bools are integers.

Loads and constants are delayed until they are first used, results are stored at once. In a long
program, nearby steps with the same opcode are grouped, as far as their arguments allow: a processor
predicts the next opcode from the ones before, and a misprediction costs more than a step. (In a
short program it remembers all.)
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simpleautodiff.compiled.scalar.kernel import Kernel, Leaf
from simpleautodiff.compiled.scalar.operations import (
    BOOL,
    FLOAT32,
    FLOAT64,
    INT64,
    OPERATION_TABLE,
    OPERATIONS,
)
from simpleautodiff.compiled.scalar.scalar_program import ScalarProgram
from simpleautodiff.errors import ValueKindError

Numbers = NDArray[Any]

# Operations with opcodes of their own, because of how numbers are stored in cells.
_CONVERSIONS = {  # the opcodes for the dtypes d, f, ?, l
    "select": ("select",) * 4,
    "to_float64": ("copy", "copy", "int_to_double", "int_to_double"),
    "to_float32": ("round", "copy", "int_to_float", "int_to_float"),
    "to_int64": ("double_to_int", "double_to_int", "copy", "copy"),
    "input": ("load.d", "load.f", "load.?", "load.l"),
    "const": ("const", "const", "const", "const"),
}


def _operation_opcodes() -> dict[tuple[str, str], str]:
    """Name the opcodes of the operations on each dtype; equal instructions share one.

    Float32 numbers are computed as float64, and rounded where that is not exact; bools are
    integers.
    """
    found: dict[tuple[str, str], str] = {}
    shared: dict[str, str] = {}
    for dtype in (FLOAT64, FLOAT32, INT64, BOOL):
        for row in reversed(OPERATION_TABLE) if dtype == BOOL else OPERATION_TABLE:
            code = row.code(dtype)
            if code is None or row.name in _CONVERSIONS:
                continue
            rounds = row.gives == "same" and not row.exact
            if dtype in (FLOAT64, FLOAT32):
                found[row.name, dtype] = f"{row.name}.{dtype if rounds else FLOAT64}"
            else:
                found[row.name, dtype] = shared.setdefault(code.llvm, f"{row.name}.{dtype}")
    return found


OPERATION_OPCODES = _operation_opcodes()
# All opcodes; the letter after the dot is the dtype of the arguments.
OPCODES: tuple[str, ...] = (
    *dict.fromkeys(OPERATION_OPCODES.values()),
    *("select", "muladd", "copy", "round", "int_to_double", "int_to_float", "double_to_int"),
    *(f"{verb}.{dtype}" for verb in ("load", "store") for dtype in "df?l"),
    *("const", "guard", "halt"),
)
OPCODE_NUMBER = {name: number for number, name in enumerate(OPCODES)}

_NAMES = (*OPERATIONS, "input", "const")
_ROW = {name: row for row, name in enumerate(_NAMES)}
_LETTERS = "df?l"
_KIND = np.zeros(128, np.int64)
_KIND[[ord(letter) for letter in _LETTERS]] = range(4)
_SHAPES = {  # the words after an opcode: cells to write or to read, plain numbers
    **dict.fromkeys(("select", "muladd"), "wrrr"),
    **dict.fromkeys(("load", "const"), "wii"),
    **dict.fromkeys(("store",), "rii"),
    **dict.fromkeys(("guard",), "ri"),
    **dict.fromkeys(("halt",), ""),
    **dict.fromkeys(("copy", "round", "int_to_double", "int_to_float", "double_to_int"), "wr"),
    **{name: "w" + "r" * row.arity for name, row in OPERATIONS.items() if name != "select"},
}
SHORT = 2500  # steps up to which the order is kept
WINDOW = 1024  # steps among which those with the same opcode are grouped


def _opcode(name: str, letter: str) -> int:
    if name in _CONVERSIONS:
        return OPCODE_NUMBER[_CONVERSIONS[name][_LETTERS.index(letter)]]
    return OPCODE_NUMBER.get(OPERATION_OPCODES.get((name, letter), ""), -1)


def describe_words(opcode: str) -> str:
    """Return the kinds of words after an opcode: `w` and `r` are cells, `i` is a plain number."""
    return _SHAPES[opcode.partition(".")[0]]


_READS = np.array([[letter == "r" for letter in describe_words(name).ljust(4)] for name in OPCODES])
_WRITES = np.array([describe_words(name).startswith("w") for name in OPCODES])
_LENGTH = np.array([1 + len(describe_words(name)) for name in OPCODES])
_WAITS = np.array([describe_words(name) == "wii" for name in OPCODES])
_ROUND = len(OPCODES)
_TABLE = np.array([[_opcode(name, letter) for letter in _LETTERS] for name in _NAMES])


class Bytecode(NamedTuple):
    """The code of a kernel, its number of steps, and the number of eight-byte cells it needs."""

    code: NDArray[np.int32]
    length: int
    cells: int


class _Steps(NamedTuple):
    """Steps whose words still refer to steps of the scalar program, not to cells."""

    opcodes: Numbers
    words: Numbers

    def select(self, which: Numbers) -> _Steps:
        return _Steps(self.opcodes[which], self.words[which])


def to_bytecode(kernel: Kernel) -> Bytecode:
    """Translate a kernel to bytecode.

    Examples
    --------
    >>> from simpleautodiff.compiled.scalar.scalar_program import ScalarProgram
    >>> from simpleautodiff.compiled.scalar.kernel import Kernel, Leaf
    >>> flat = ScalarProgram()
    >>> x = flat.input()
    >>> flat.outputs = [flat.mul(flat.make("sin", x), x)]
    >>> print(format_bytecode(to_bytecode(Kernel(flat, (Leaf("d", 1),), (Leaf("d", 1),)))))
    load.d 2 0 0
    sin.d 3 2
    mul.d 3 2 3
    store.d 3 1 0
    halt
    """
    places = len(kernel.program.steps)
    steps = _fuse_products(_append_ends(_compute_steps(kernel), kernel))
    steps = steps.select(np.argsort(_keys(steps, places), kind="stable"))
    return _encode(steps, places, len(kernel.inputs) + len(kernel.outputs))


def format_bytecode(tape: Bytecode) -> str:
    """Write bytecode as text, one step a line."""
    lines, at, code = [], 0, tape.code.tolist()
    while at < len(code):
        length = int(_LENGTH[code[at]])
        lines.append(" ".join([OPCODES[code[at]], *map(str, code[at + 1 : at + length])]))
        at += length
    return "\n".join(lines)


# Steps of the program. ----------------------------------------------------------------------------


def _compute_steps(kernel: Kernel) -> _Steps:
    """Return one step for each of the program, in its order."""
    flat = kernel.program
    count = len(flat.steps)
    rows = np.fromiter(map(_ROW.__getitem__, [step[0] for step in flat.steps]), np.int64, count)
    first = np.array([step[1] for step in flat.steps], np.int64)
    last = np.array([step[-1] for step in flat.steps], np.int64)
    dtypes = _KIND[np.frombuffer("".join(flat.dtypes).encode(), np.uint8)]
    is_leaf = rows >= len(OPERATIONS)
    opcodes = _TABLE[rows, np.where(is_leaf, dtypes, dtypes[np.where(is_leaf, 0, last)])]
    _refuse(flat, opcodes)
    words = np.stack([np.arange(count), first, last, last], axis=1)
    for place in np.flatnonzero(_READS[opcodes].sum(axis=1) == 3).tolist():
        words[place, 1:] = flat.steps[place][1:]
    _fill_constants(words, rows == _ROW["const"], dtypes)
    is_input = rows == _ROW["input"]
    words[is_input, 1:3] = _leaf_and_index(kernel.inputs, 0)[words[is_input, 1]]
    return _Steps(opcodes, words)


def _refuse(flat: ScalarProgram, opcodes: Numbers) -> None:
    wrong = np.flatnonzero(opcodes < 0)
    if wrong.size:
        name, *args = flat.steps[wrong[0]]
        dtype = {"l": "integers", "?": "bools"}[flat.dtypes[args[-1]]]
        raise ValueKindError(
            f"{name} of {dtype} has no machine code: convert them to floats first."
        )


def _fill_constants(words: Numbers, is_const: Numbers, dtypes: Numbers) -> None:
    """Write the two halves of each constant after its cell, float32 as float64."""
    bits = words[is_const, 1].copy()
    is_float = dtypes[is_const] == _LETTERS.index("f")
    singles = bits[is_float].astype(np.int32).view(np.float32)
    bits[is_float] = singles.astype(np.float64).view(np.int64)
    words[is_const, 1:3] = bits.view(np.int32).reshape(-1, 2)


def _leaf_and_index(leaves: tuple[Leaf, ...], start: int) -> Numbers:
    """Return for each number of the leaves the index of its leaf, and its index in it."""
    sizes = [leaf.size for leaf in leaves]
    number = np.repeat(np.arange(start, start + len(leaves)), sizes)
    begin = np.repeat(np.cumsum([0, *sizes])[:-1], sizes)
    return np.stack([number, np.arange(len(number)) - begin], axis=1)


def _fuse_products(steps: _Steps) -> _Steps:
    """Fuse a product with the only sum that needs it: one step, still rounded twice."""
    opcodes, words = steps
    uses = np.bincount(words[_READS[opcodes]], minlength=len(opcodes))
    joinable = (opcodes == OPCODE_NUMBER["mul.d"]) & (uses == 1)
    sums = np.flatnonzero(opcodes == OPCODE_NUMBER["add.d"])
    gone = np.zeros(len(opcodes), bool)
    for one, other in ((2, 1), (1, 2)):
        found = sums[joinable[words[sums, one]]]
        products, others = words[found, one], words[found, other]
        opcodes[found] = OPCODE_NUMBER["muladd"]
        words[found, 1:] = np.column_stack([words[products, 1:3], others])
        gone[products] = True
        sums = np.setdiff1d(sums, found, assume_unique=True)
    return steps.select(~gone)


def _append_ends(steps: _Steps, kernel: Kernel) -> _Steps:
    """Add the steps that check conditions and store results."""
    flat = kernel.program
    guards = np.zeros((len(flat.checks), 4), np.int64)
    guards[:, 0] = [place for _, place, _ in flat.checks]
    guards[:, 1] = [2 * status + expected for status, _, expected in flat.checks]
    stores = np.zeros((len(flat.outputs), 4), np.int64)
    stores[:, 0] = flat.outputs
    stores[:, 1:3] = _leaf_and_index(kernel.outputs, len(kernel.inputs))
    verbs = [
        OPCODE_NUMBER["guard"],
        *(OPCODE_NUMBER[f"store.{leaf.dtype}"] for leaf in kernel.outputs),
    ]
    opcodes = np.repeat(verbs, [len(guards), *(leaf.size for leaf in kernel.outputs)])
    return _Steps(
        np.concatenate([steps.opcodes, opcodes]), np.concatenate([steps.words, guards, stores])
    )


# Their order, and their cells. --------------------------------------------------------------------


def _keys(steps: _Steps, places: int) -> Numbers:
    """Return the keys by which the steps are sorted.

    Each window cycles through all opcodes: loads and constants come in the first round, then each
    step at the first turn of its opcode at which its arguments are ready; results are stored in the
    last round. Guards are checked in their order, because what follows a failed one has no meaning.
    """
    opcodes, words = steps
    is_computed = _WRITES[opcodes] & ~_WAITS[opcodes]
    keys = _keys_of_computed(steps.select(is_computed), places)[words[:, 0]]
    is_guard = opcodes == OPCODE_NUMBER["guard"]
    turns = keys[is_guard] + (OPCODE_NUMBER["guard"] - keys[is_guard]) % _ROUND
    keys[is_guard] = np.maximum.accumulate(turns)
    is_store = ~_WRITES[opcodes] & ~is_guard
    keys[is_store] = (keys[is_store] // _span() + 1) * _span() - _ROUND + opcodes[is_store]
    waits = _WAITS[opcodes]
    keys[waits] = _first_windows(steps, keys, places)[words[waits, 0]] * _span() + opcodes[waits]
    return keys


def _span() -> int:
    return _ROUND * (WINDOW + 4)  # a step waits at most for all others of its window


def _keys_of_computed(steps: _Steps, places: int) -> Numbers:
    opcodes, words = steps
    if len(words) <= SHORT:
        in_order = np.zeros(places, np.int64)
        in_order[words[:, 0]] = _ROUND + _span() * np.arange(len(words))
        return in_order
    keys = [0] * places
    for start in range(0, len(words), WINDOW):
        base, part = start // WINDOW * _span() + _ROUND, slice(start, start + WINDOW)
        for (place, x, y, z), opcode in zip(
            words[part].tolist(), opcodes[part].tolist(), strict=True
        ):
            ready = max(base, keys[x], keys[y], keys[z])
            keys[place] = ready + (opcode - ready) % _ROUND
    return np.array(keys)


def _first_windows(steps: _Steps, keys: Numbers, places: int) -> Numbers:
    """Return the first window in which each number is used."""
    first = np.full(places, places)
    for column in range(4):
        which = _READS[steps.opcodes][:, column]
        np.minimum.at(first, steps.words[which, column], keys[which] // _span())
    return first


def _encode(steps: _Steps, places: int, leaves: int) -> Bytecode:
    """Assign a cell to every number, and write the words one after another."""
    opcodes, words = steps
    cells, size = _cells(steps, places, leaves)
    is_cell = _READS[opcodes]
    is_cell[:, 0] |= _WRITES[opcodes]
    words[is_cell] = cells[words[is_cell]]
    lengths = _LENGTH[opcodes]
    begin = np.cumsum(lengths) - lengths
    code = np.full(int(lengths.sum()) + 1, OPCODE_NUMBER["halt"], np.int32)
    code[begin] = opcodes
    for column in range(4):
        which = lengths > column + 1
        code[begin[which] + column + 1] = words[which, column]
    return Bytecode(code, len(opcodes) + 1, size)


def _cells(steps: _Steps, places: int, leaves: int) -> tuple[Numbers, int]:
    """Return the cell of each number, and the number of cells.

    The cell that was freed last is reused first: it is still in the nearest cache.
    """
    opcodes, words = steps
    writes, reads, times = _WRITES[opcodes], _READS[opcodes], np.arange(len(opcodes))
    last = np.full(places, -1)
    last[words[writes, 0]] = times[writes] + 1
    for column in range(4):
        which = reads[:, column]
        np.maximum.at(last, words[which, column], times[which])
    dying = np.argsort(last, kind="stable")[np.count_nonzero(last < 0) :]
    deaths = np.bincount(last[last >= 0], minlength=len(opcodes))
    results = np.where(writes, words[:, 0], -1)
    return _assign_cells(results.tolist(), deaths.tolist(), dying.tolist(), places, leaves)


def _assign_cells(
    results: list[int], deaths: list[int], dying: list[int], places: int, size: int
) -> tuple[Numbers, int]:
    """Assign cells: after each step as many numbers die as `deaths` says, as `dying` lists."""
    cells, free, dead = [0] * places, [], 0
    for result, count in zip(results, deaths, strict=False):
        if count:
            free += [cells[place] for place in dying[dead : dead + count]]
            dead += count
        if result >= 0:
            if not free:
                free.append(size)
                size += 1
            cells[result] = free.pop()
    return np.array(cells), size
