"""Linear algebra of small matrices as steps of a scalar program: elimination, rows exchanged.

The larger of two numbers becomes the pivot by a choice, not by a branch, so that the steps are the
same for all matrices. NumPy refuses a matrix if a pivot is 0 (or, by Cholesky, not positive), which
may be a matter of how its last bit was rounded. So a program requires that no pivot has lost nearly
all of its digits; NumPy itself decides about other matrices.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from simpleautodiff.compiled.scalar.operations import BOOL, FLOAT32, FLOAT64
from simpleautodiff.compiled.scalar.scalar_program import ScalarProgram

SMALL_SIZE = 4  # rows of a matrix; there are too many choices in a larger one

_DIGITS = {FLOAT64: 2.0**44, FLOAT32: 2.0**15}  # the reciprocal of 256 units in the last place
_Steps = list[int]  # the numbers of a row, or of a column


class _Factors(NamedTuple):
    """The triangles of a matrix, and when which rows were exchanged before those below vanished."""

    rows: list[_Steps]  # the upper triangle; below it, by what rows were multiplied
    exchanges: list[list[tuple[int, int]]]  # for each row, others and whether they were exchanged


class SmallMatrices:
    """Rows of linear algebra for matrices of steps; each matrix is factored once.

    Examples
    --------
    >>> flat = ScalarProgram()
    >>> a = np.array([[flat.input() for _ in range(2)] for _ in range(2)])
    >>> flat.outputs = SmallMatrices(flat).rows["inv"](a).ravel().tolist()
    >>> [round(float(x), 6) for x in flat.run([1.0, 2.0, 3.0, 4.0])]
    [-2.0, 1.0, 1.5, -0.5]
    """

    def __init__(self, flat: ScalarProgram) -> None:
        self.flat = flat
        self._factors: dict[tuple[int, ...], _Factors] = {}
        self.rows: dict[str, Callable[..., Any]] = {
            "inv": self._inverse,
            "solve": self._solve,
            "det": self._determinant,
            "logabsdet": self._log_of_determinant,
            "det_sign": self._sign,
            "is_singular": self._is_singular,
            "cholesky": self._cholesky,
        }

    # Factors. -------------------------------------------------------------------------------------

    def _factor(self, a: Any) -> tuple[_Factors, bool]:
        """Return the factors of a matrix or of its transpose, and whether of that."""
        for key, turned in ((a, False), (a.T, True)):
            found = self._factors.get(tuple(key.ravel().tolist()))
            if found is not None:
                return found, turned
        turned = all([self.flat.is_zero(x) for x in a[np.triu_indices(len(a), 1)].tolist()])
        a = a.T if turned else a  # the transpose of a lower triangle needs no elimination
        made = self._factors[tuple(a.ravel().tolist())] = self._eliminate(a.tolist())
        return made, turned

    def _eliminate(self, rows: list[_Steps]) -> _Factors:
        flat, exchanges = self.flat, []
        sizes = [self._size(column) for column in zip(*rows, strict=True)]
        for k, pivot in enumerate(rows):
            below = [i for i in range(k + 1, len(rows)) if not flat.is_zero(rows[i][k])]
            exchanges.append([(i, self._is_larger(rows[i][k], pivot[k])) for i in below])
            for i, exchanged in exchanges[-1]:
                for j in range(k, len(rows)):
                    pivot[j], rows[i][j] = self._exchange(exchanged, pivot[j], rows[i][j])
            self._require_digits(flat.make("abs", pivot[k]), sizes[k])
            for i in below:
                row = rows[i]
                row[k] = flat.div(row[k], pivot[k])
                self._subtract(row, row[k], pivot, range(k + 1, len(rows)))
        return _Factors(rows, exchanges)

    def _size(self, numbers: Sequence[int]) -> int:
        """Return the sum of the absolute values."""
        total, *others = [self.flat.make("abs", number) for number in numbers]
        for size in others:
            total = self.flat.add(total, size)
        return total

    def _require_digits(self, pivot: int, size: int) -> None:
        """Require that a positive number has digits in common with others of a known size."""
        flat, dtype = self.flat, self.flat.dtypes[size]
        least = flat.mul(size, flat.const(1 / _DIGITS[dtype], dtype))
        flat.require(flat.make("lt", least, pivot))

    def _is_larger(self, x: int, y: int) -> int:
        return self.flat.make("lt", self.flat.make("abs", y), self.flat.make("abs", x))

    def _exchange(self, exchanged: int, x: int, y: int) -> tuple[int, int]:
        select = self.flat.make
        return select("select", exchanged, y, x), select("select", exchanged, x, y)

    def _subtract(self, row: _Steps, factor: int, other: _Steps, places: Sequence[int]) -> None:
        for j in places:
            row[j] = self.flat.sub(row[j], self.flat.mul(factor, other[j]))

    # Rows of the table. ---------------------------------------------------------------------------

    def _solve(self, a: Any, b: Any) -> Any:
        """Return a⁻¹ b."""
        factors, turned = self._factor(a)
        x = b.tolist()
        (self._go_back_turned if turned else self._go_back)(factors, x)
        return np.array(x, np.int64).reshape(b.shape)

    def _go_back(self, factors: _Factors, x: list[_Steps]) -> None:
        """Do to some rows what was done to the matrix, and then solve with the upper triangle."""
        rows, n, columns = factors.rows, len(x), range(len(x[0]))
        for k in range(n):
            for i, exchanged in factors.exchanges[k]:
                for j in columns:
                    x[k][j], x[i][j] = self._exchange(exchanged, x[k][j], x[i][j])
            for i, _ in factors.exchanges[k]:
                self._subtract(x[i], rows[i][k], x[k], columns)
        for k in reversed(range(n)):
            for i in range(k + 1, n):
                self._subtract(x[k], rows[k][i], x[i], columns)
            x[k] = [self.flat.div(number, rows[k][k]) for number in x[k]]

    def _go_back_turned(self, factors: _Factors, x: list[_Steps]) -> None:
        """Solve with the transpose: the same in the opposite order."""
        rows, n, columns = factors.rows, len(x), range(len(x[0]))
        for k in range(n):
            for i in range(k):
                self._subtract(x[k], rows[i][k], x[i], columns)
            x[k] = [self.flat.div(number, rows[k][k]) for number in x[k]]
        for k in reversed(range(n)):
            for i, _ in factors.exchanges[k]:
                self._subtract(x[k], rows[i][k], x[i], columns)
            for i, exchanged in reversed(factors.exchanges[k]):
                for j in columns:
                    x[k][j], x[i][j] = self._exchange(exchanged, x[k][j], x[i][j])

    def _inverse(self, a: Any) -> Any:
        dtype = self.flat.dtypes[a[0, 0]]
        one, zero = self.flat.const(1, dtype), self.flat.zero(dtype)
        return self._solve(a, np.where(np.eye(len(a), dtype=bool), one, zero))

    def _log_of_determinant(self, a: Any) -> int:
        """Add up the logarithms of the pivots, as NumPy does."""
        flat, rows = self.flat, self._factor(a)[0].rows
        logs = [flat.make("log", flat.make("abs", row[k])) for k, row in enumerate(rows)]
        total = logs[0]
        for log in logs[1:]:
            total = flat.add(total, log)
        return total

    def _sign(self, a: Any) -> int:
        """Count exchanges and negative pivots."""
        flat, (factors, _), dtype = self.flat, self._factor(a), self.flat.dtypes[a[0, 0]]
        zero = flat.const(0, dtype)
        turns = [flat.make("lt", row[k], zero) for k, row in enumerate(factors.rows)]
        turns += [exchanged for each in factors.exchanges for _, exchanged in each]
        is_odd = flat.const(False, BOOL)
        for turn in turns:
            is_odd = flat.make("xor", is_odd, turn)
        return flat.make("select", is_odd, flat.const(-1, dtype), flat.const(1, dtype))

    def _determinant(self, a: Any) -> int:
        """Return the sign times the exponential of the logarithm, as NumPy does."""
        return self.flat.mul(self._sign(a), self.flat.make("exp", self._log_of_determinant(a)))

    def _is_singular(self, a: Any) -> int:
        """Return False, and require that the inverse shows that not all digits are lost.

        NumPy compares the smallest and the largest singular value, which take longer to find.
        """
        flat, dtype = self.flat, self.flat.dtypes[a[0, 0]]
        sizes = flat.mul(self._largest_sum(a), self._largest_sum(self._inverse(a)))
        most = flat.const(_DIGITS[dtype] / len(a) ** 2, dtype)
        flat.require(flat.make("lt", sizes, most))
        return flat.const(False, BOOL)

    def _largest_sum(self, a: Any) -> int:
        """Return the largest sum of the absolute values in a row."""
        largest, *others = [self._size(row) for row in a.tolist()]
        for total in others:
            largest = self.flat.make("maximum", largest, total)
        return largest

    def _cholesky(self, a: Any) -> Any:
        """Return the lower triangle."""
        flat, dtype = self.flat, self.flat.dtypes[a[0, 0]]
        lower = np.full(a.shape, flat.zero(dtype), np.int64)
        for j in range(len(a)):
            for i in range(j, len(a)):
                rest = int(a[i, j])
                for k in range(j):
                    rest = flat.sub(rest, flat.mul(int(lower[i, k]), int(lower[j, k])))
                if i == j:
                    self._require_digits(rest, flat.make("abs", int(a[j, j])))
                    lower[j, j] = flat.make("sqrt", rest)
                else:
                    lower[i, j] = flat.div(rest, int(lower[j, j]))
        return lower
