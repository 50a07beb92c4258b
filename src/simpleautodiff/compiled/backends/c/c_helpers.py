"""C functions that programs may call: sorting, searching, matrix factorizations.

`NAME` stands for the name of the file, `REAL` for the number type, `KIND` for a word that tells
functions of one type from those of another. Matrices are stored row by row.
"""

from __future__ import annotations

from typing import NamedTuple

from simpleautodiff.compiled.backends.c.c_file import SINGULAR_CODE, CFile
from simpleautodiff.compiled.backends.c.c_special import SPECIAL
from simpleautodiff.compiled.backends.c.c_steps import TYPES

_EPSILON = {"d": "2.220446049250313e-16", "f": "1.1920929e-07f"}
_WORDS = {"d": "", "f": "_float", "l": "_whole", "?": "_truth"}


class Helper(NamedTuple):
    """The text of a function, and the functions it needs."""

    text: str
    needs: tuple[str, ...] = ()


def use(file: CFile, name: str, kind: str) -> str:
    """Return the name of a helper for a dtype; add it to the file if it is not there yet."""
    called = f"{file.name}_{name}{_WORDS[kind]}"
    if called not in file.helpers:
        helper = _LESS[kind in "df"] if name == "less" else HELPERS[name]
        for other in helper.needs:
            use(file, other, kind)
        text = helper.text.strip("\n").replace("NAME", file.name).replace("_KIND", _WORDS[kind])
        text = text.replace("EPSILON", _EPSILON.get(kind, ""))
        file.helpers[called] = text.replace("REAL", TYPES[kind])
    return called


_LESS = {
    True: Helper("""
/* Tell whether a comes before b; what is no number comes last. */
static int NAME_less_KIND(REAL a, REAL b)
{
    return a < b || (b != b && a == a);
}
"""),
    False: Helper("""
static int NAME_less_KIND(REAL a, REAL b)
{
    return a < b;
}
"""),
}
HELPERS: dict[str, Helper] = {name: Helper(text, needs) for name, (text, needs) in SPECIAL.items()}
HELPERS["argsort"] = Helper(
    """
/* Put the places of the n elements that lie `step` apart in order; equal ones stay as they are. */
static void NAME_sort_KIND(const REAL *x, int64_t *order, int64_t *work,
                             ptrdiff_t n, ptrdiff_t step)
{
    int64_t *from = work, *to = work + n, *other;
    ptrdiff_t width, begin, k;
    for (k = 0; k < n; k++) from[k] = k;
    for (width = 1; width < n; width *= 2) {
        for (begin = 0; begin < n; begin += 2 * width) {
            const ptrdiff_t middle = begin + width < n ? begin + width : n;
            const ptrdiff_t end = middle + width < n ? middle + width : n;
            ptrdiff_t i = begin, j = middle;
            for (k = begin; k < end; k++) {
                const int second = i == middle
                    || (j < end && NAME_less_KIND(x[from[j] * step], x[from[i] * step]));
                to[k] = second ? from[j++] : from[i++];
            }
        }
        other = from; from = to; to = other;
    }
    for (k = 0; k < n; k++) order[k * step] = from[k];
}

/* Sort along the middle one of three axes. */
static void NAME_argsort_KIND(const REAL *x, int64_t *order, int64_t *work,
                                ptrdiff_t outer, ptrdiff_t n, ptrdiff_t inner)
{
    ptrdiff_t i, j;
    for (i = 0; i < outer; i++) {
        for (j = 0; j < inner; j++) {
            const ptrdiff_t begin = i * n * inner + j;
            NAME_sort_KIND(x + begin, order + begin, work, n, inner);
        }
    }
}
""",
    ("less",),
)
for _name, _test in (
    ("argmax", "NAME_less_KIND(x[best * step], x[k * step])"),
    ("argmin", "x[k * step] != x[k * step] || NAME_less_KIND(x[k * step], x[best * step])"),
):
    HELPERS[_name] = Helper(
        f"""
/* Find the first extreme along the middle one of three axes; what is no number is one. */
static void NAME_{_name}_KIND(const REAL *all, int64_t *place,
                               ptrdiff_t outer, ptrdiff_t n, ptrdiff_t step)
{{
    ptrdiff_t i, j, k;
    for (i = 0; i < outer; i++) {{
        for (j = 0; j < step; j++) {{
            const REAL *x = all + i * n * step + j;
            ptrdiff_t best = 0;
            for (k = 1; k < n && x[best * step] == x[best * step]; k++) {{
                if ({_test}) best = k;
            }}
            place[i * step + j] = best;
        }}
    }}
}}
""",
        ("less",),
    )
for _name, _test in (
    ("search_left", "NAME_less_KIND(sorted[middle], x[k])"),
    ("search_right", "!NAME_less_KIND(x[k], sorted[middle])"),
):
    HELPERS[_name] = Helper(
        f"""
/* Find where numbers would have to be put among sorted ones. */
static void NAME_{_name}_KIND(const REAL *sorted, ptrdiff_t n, const REAL *x,
                               int64_t *place, ptrdiff_t count)
{{
    ptrdiff_t k;
    for (k = 0; k < count; k++) {{
        ptrdiff_t low = 0, high = n;
        while (low < high) {{
            const ptrdiff_t middle = low + (high - low) / 2;
            if ({_test}) low = middle + 1;
            else high = middle;
        }}
        place[k] = low;
    }}
}}
""",
        ("less",),
    )

# Matrices. ----------------------------------------------------------------------------------------

HELPERS["lu"] = Helper("""
/* Factor a matrix in place, its largest pivots first; return the sign of the order of the rows,
 * or 0 if the matrix is singular. */
static int NAME_lu_KIND(REAL *a, int64_t *order, ptrdiff_t n)
{
    ptrdiff_t i, j, k;
    int sign = 1;
    for (k = 0; k < n; k++) order[k] = k;
    for (k = 0; k < n; k++) {
        ptrdiff_t best = k;
        for (i = k + 1; i < n; i++) {
            if (fabs(a[i * n + k]) > fabs(a[best * n + k])) best = i;
        }
        if (best != k) {
            const int64_t row = order[k];
            order[k] = order[best];
            order[best] = row;
            for (j = 0; j < n; j++) {
                const REAL element = a[k * n + j];
                a[k * n + j] = a[best * n + j];
                a[best * n + j] = element;
            }
            sign = -sign;
        }
        if (a[k * n + k] == 0) return 0;
        for (i = k + 1; i < n; i++) {
            const REAL factor = a[i * n + k] / a[k * n + k];
            a[i * n + k] = factor;
            for (j = k + 1; j < n; j++) a[i * n + j] -= factor * a[k * n + j];
        }
    }
    return sign;
}
""")
HELPERS["lower"] = Helper("""
/* Solve L x = x in place for the m columns of x, the diagonal of L being ones if `unit`. */
static int NAME_lower_KIND(const REAL *a, REAL *x, ptrdiff_t n, ptrdiff_t m, int unit)
{
    ptrdiff_t i, j, k;
    for (i = 0; i < n; i++) {
        for (k = 0; k < i; k++) {
            for (j = 0; j < m; j++) x[i * m + j] -= a[i * n + k] * x[k * m + j];
        }
        if (unit) continue;
        if (a[i * n + i] == 0) return 0;
        for (j = 0; j < m; j++) x[i * m + j] /= a[i * n + i];
    }
    return 1;
}
""")
HELPERS["upper"] = Helper("""
/* Solve U x = x in place for the m columns of x, the diagonal of U being ones if `unit`. */
static int NAME_upper_KIND(const REAL *a, REAL *x, ptrdiff_t n, ptrdiff_t m, int unit)
{
    ptrdiff_t i, j, k;
    for (i = n - 1; i >= 0; i--) {
        for (k = i + 1; k < n; k++) {
            for (j = 0; j < m; j++) x[i * m + j] -= a[i * n + k] * x[k * m + j];
        }
        if (unit) continue;
        if (a[i * n + i] == 0) return 0;
        for (j = 0; j < m; j++) x[i * m + j] /= a[i * n + i];
    }
    return 1;
}
""")
HELPERS["solve"] = Helper(
    f"""
/* Solve A x = b for each of `count` matrices; without b, x is the inverse. */
static int NAME_solve_KIND(const REAL *a, const REAL *b, REAL *x, REAL *lu, int64_t *order,
                             ptrdiff_t count, ptrdiff_t n, ptrdiff_t m)
{{
    ptrdiff_t i, j, k;
    for (k = 0; k < count; k++, a += n * n, x += n * m) {{
        memcpy(lu, a, (size_t)(n * n) * sizeof *lu);
        if (!NAME_lu_KIND(lu, order, n)) return {SINGULAR_CODE};
        for (i = 0; i < n; i++) {{
            for (j = 0; j < m; j++) {{
                x[i * m + j] = b ? b[(k * n + order[i]) * m + j] : (REAL)(order[i] == j);
            }}
        }}
        NAME_lower_KIND(lu, x, n, m, 1);
        NAME_upper_KIND(lu, x, n, m, 0);
    }}
    return 0;
}}
""",
    ("lu", "lower", "upper"),
)
HELPERS["determinant"] = Helper(
    """
/* Give the determinants of `count` matrices (det), or their signs and the logarithms of their
 * sizes; what is not wanted is NULL. */
static void NAME_determinant_KIND(const REAL *a, REAL *det, REAL *signs, REAL *logs,
                                    REAL *lu, int64_t *order, ptrdiff_t count, ptrdiff_t n)
{
    ptrdiff_t i, k;
    for (k = 0; k < count; k++) {
        REAL sign, product, log_size = 0;
        memcpy(lu, a + k * n * n, (size_t)(n * n) * sizeof *lu);
        product = sign = (REAL)NAME_lu_KIND(lu, order, n);
        if (sign == 0) log_size = -(REAL)INFINITY;
        for (i = 0; i < n && sign != 0; i++) {
            const REAL pivot = lu[i * n + i];
            product *= pivot;
            sign = pivot < 0 ? -sign : pivot > 0 ? sign : pivot;
            log_size += (REAL)log(fabs(pivot));
        }
        if (det) det[k] = product;
        if (signs) signs[k] = sign;
        if (logs) logs[k] = log_size;
    }
}
""",
    ("lu",),
)
HELPERS["cholesky"] = Helper(f"""
/* Give L with L L' = A for each of `count` matrices, of which the lower half is read. */
static int NAME_cholesky_KIND(const REAL *a, REAL *l, ptrdiff_t count, ptrdiff_t n)
{{
    ptrdiff_t i, j, k;
    for (; count > 0; count--, a += n * n, l += n * n) {{
        for (i = 0; i < n; i++) {{
            for (j = 0; j < n; j++) {{
                REAL rest = a[i * n + j];
                if (j > i) {{
                    l[i * n + j] = 0;
                    continue;
                }}
                for (k = 0; k < j; k++) rest -= l[i * n + k] * l[j * n + k];
                if (i == j && !(rest > 0)) return {SINGULAR_CODE};
                l[i * n + j] = i == j ? (REAL)sqrt(rest) : rest / l[j * n + j];
            }}
        }}
    }}
    return 0;
}}
""")
HELPERS["triangular"] = Helper(
    f"""
/* Solve A x = b for each of `count` matrices, of which one triangle is read. */
static int NAME_triangular_KIND(const REAL *a, const REAL *b, REAL *x, ptrdiff_t count,
                                  ptrdiff_t n, ptrdiff_t m, int is_lower, int unit)
{{
    memcpy(x, b, (size_t)(count * n * m) * sizeof *x);
    for (; count > 0; count--, a += n * n, x += n * m) {{
        const int solved = is_lower ? NAME_lower_KIND(a, x, n, m, unit)
                                    : NAME_upper_KIND(a, x, n, m, unit);
        if (!solved) return {SINGULAR_CODE};
    }}
    return 0;
}}
""",
    ("lower", "upper"),
)
