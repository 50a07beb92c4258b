"""Matrix factorizations as C functions: by Jacobi rotations, and by reflections.

As in `c_helpers`, `NAME`, `REAL` and `KIND` stand for names and types; `EPSILON` is the distance
from 1 to the next number. Singular vectors and eigenvectors may have other signs than NumPy's: they
are a choice.
"""

from __future__ import annotations

from simpleautodiff.compiled.backends.c.c_helpers import HELPERS, Helper, use

__all__ = ["HELPERS", "use"]

HELPERS["turn"] = Helper("""
/* Turn two columns into each other, of n elements that lie `step` apart. */
static void NAME_turn_KIND(REAL *x, REAL *y, ptrdiff_t n, ptrdiff_t step, REAL c, REAL s)
{
    ptrdiff_t k;
    for (k = 0; k < n; k++) {
        const REAL one = x[k * step], other = y[k * step];
        x[k * step] = c * one - s * other;
        y[k * step] = s * one + c * other;
    }
}
""")
HELPERS["angle"] = Helper("""
/* Give the tangent of the smaller angle that makes two columns orthogonal. */
static REAL NAME_angle_KIND(REAL apart, REAL twice)
{
    const REAL ratio = apart / twice;
    return (REAL)((ratio < 0 ? -1 : 1) / (fabs(ratio) + sqrt(1 + ratio * ratio)));
}
""")
HELPERS["eigh"] = Helper(
    """
/* Give the eigenvalues of symmetric matrices, smallest first, and their vectors as columns, by
 * rotations of Jacobi; what is not wanted is NULL. The lower halves are read. */
static void NAME_eigh_KIND(const REAL *a, REAL *values, REAL *vectors, REAL *w, REAL *v,
                             ptrdiff_t count, ptrdiff_t n)
{
    ptrdiff_t i, j, k;
    for (; count > 0; count--, a += n * n) {
        int sweep, turned = 1;
        for (i = 0; i < n; i++) {
            for (j = 0; j < n; j++) {
                w[i * n + j] = i < j ? a[j * n + i] : a[i * n + j];
                v[i * n + j] = i == j;
            }
        }
        for (sweep = 0; sweep < 60 && turned; sweep++) {
            turned = 0;
            for (i = 0; i < n; i++) {
                for (j = i + 1; j < n; j++) {
                    const REAL off = w[i * n + j], gap = w[j * n + j] - w[i * n + i];
                    REAL t, c, s;
                    if (!(fabs(off) > EPSILON / 64 * fabs(w[i * n + i]))
                        && !(fabs(off) > EPSILON / 64 * fabs(w[j * n + j]))) continue;
                    if (off == 0 || off != off) continue;
                    turned = 1;
                    t = NAME_angle_KIND(gap, 2 * off);
                    c = (REAL)(1 / sqrt(1 + t * t));
                    s = c * t;
                    NAME_turn_KIND(w + i, w + j, n, n, c, s);
                    NAME_turn_KIND(w + i * n, w + j * n, n, 1, c, s);
                    w[i * n + j] = w[j * n + i] = 0;
                    NAME_turn_KIND(v + i, v + j, n, n, c, s);
                }
            }
        }
        for (i = 0; i < n; i++) {  /* the smallest that are left, one after the other */
            ptrdiff_t best = i;
            for (j = i + 1; j < n; j++) if (w[j * n + j] < w[best * n + best]) best = j;
            if (best != i) {
                const REAL value = w[i * n + i];
                w[i * n + i] = w[best * n + best];
                w[best * n + best] = value;
                NAME_turn_KIND(v + i, v + best, n, n, 0, 1);
            }
            if (values) values[i] = w[i * n + i];
            if (vectors) for (k = 0; k < n; k++) vectors[k * n + i] = v[k * n + i];
        }
        if (values) values += n;
        if (vectors) vectors += n * n;
    }
}
""",
    ("turn", "angle"),
)
HELPERS["complete"] = Helper("""
/* Make column j of a matrix of k columns a unit vector that is orthogonal to all others. */
static void NAME_complete_KIND(REAL *w, ptrdiff_t p, ptrdiff_t k, ptrdiff_t j)
{
    ptrdiff_t best = 0, i, r, c;
    REAL least = (REAL)INFINITY, size = 0;
    int again;
    for (r = 0; r < p; r++) {
        REAL sum = 0;
        for (c = 0; c < k; c++) if (c != j) sum += w[r * k + c] * w[r * k + c];
        if (sum < least) { least = sum; best = r; }
    }
    for (r = 0; r < p; r++) w[r * k + j] = r == best;
    for (again = 0; again < 2; again++) {
        for (c = 0; c < k; c++) {
            REAL inner = 0;
            if (c == j) continue;
            for (i = 0; i < p; i++) inner += w[i * k + c] * w[i * k + j];
            for (i = 0; i < p; i++) w[i * k + j] -= inner * w[i * k + c];
        }
    }
    for (i = 0; i < p; i++) size += w[i * k + j] * w[i * k + j];
    for (i = 0; i < p; i++) w[i * k + j] /= (REAL)sqrt(size);
}
""")
HELPERS["svd"] = Helper(
    """
/* Give U, the singular values as one row, largest first, and V, one below the other, for each of
 * `count` matrices of m rows and n columns: columns are turned until they are orthogonal. */
static void NAME_svd_KIND(const REAL *a, REAL *packed, REAL *w, REAL *v, REAL *sizes,
                            ptrdiff_t count, ptrdiff_t m, ptrdiff_t n)
{
    const ptrdiff_t p = m > n ? m : n, k = m > n ? n : m;
    ptrdiff_t i, j, r;
    for (; count > 0; count--, a += m * n, packed += (m + 1 + n) * k) {
        REAL *left = packed, *line = packed + m * k, *right = line + k, largest = 0;
        int sweep, turned = 1;
        for (i = 0; i < m * n; i++) if (fabs(a[i]) > largest) largest = (REAL)fabs(a[i]);
        if (!(largest > 0 && largest <= 1 / (EPSILON * EPSILON)
              && largest >= EPSILON * EPSILON)) largest = largest > 0 ? largest : 1;
        else largest = 1;
        for (i = 0; i < p; i++) {
            for (j = 0; j < k; j++) w[i * k + j] = (m < n ? a[j * n + i] : a[i * n + j]) / largest;
        }
        for (i = 0; i < k * k; i++) v[i] = i % (k + 1) == 0;
        for (sweep = 0; sweep < 60 && turned; sweep++) {
            turned = 0;
            for (i = 0; i < k; i++) {
                for (j = i + 1; j < k; j++) {
                    REAL one = 0, other = 0, inner = 0, t, c, s;
                    for (r = 0; r < p; r++) {
                        one += w[r * k + i] * w[r * k + i];
                        other += w[r * k + j] * w[r * k + j];
                        inner += w[r * k + i] * w[r * k + j];
                    }
                    if (!(fabs(inner) > EPSILON * sqrt(one) * sqrt(other))) continue;
                    turned = 1;
                    t = NAME_angle_KIND(other - one, 2 * inner);
                    c = (REAL)(1 / sqrt(1 + t * t));
                    s = c * t;
                    NAME_turn_KIND(w + i, w + j, p, k, c, s);
                    NAME_turn_KIND(v + i, v + j, k, k, c, s);
                }
            }
        }
        for (j = 0; j < k; j++) {
            REAL sum = 0;
            for (r = 0; r < p; r++) sum += w[r * k + j] * w[r * k + j];
            sizes[j] = (REAL)sqrt(sum);
            for (r = 0; r < p; r++) if (sum > 0) w[r * k + j] /= sizes[j];
        }
        for (j = 0; j < k; j++) {
            ptrdiff_t best = j;
            for (i = j + 1; i < k; i++) if (sizes[i] > sizes[best]) best = i;
            if (best != j) {
                const REAL size = sizes[j];
                sizes[j] = sizes[best];
                sizes[best] = size;
                NAME_turn_KIND(w + j, w + best, p, k, 0, 1);
                NAME_turn_KIND(v + j, v + best, k, k, 0, 1);
            }
            line[j] = sizes[j] * largest;
        }
        for (j = 0; j < k; j++) if (sizes[j] == 0) NAME_complete_KIND(w, p, k, j);
        memcpy(m < n ? right : left, w, (size_t)(p * k) * sizeof *w);
        memcpy(m < n ? left : right, v, (size_t)(k * k) * sizeof *v);
    }
}
""",
    ("turn", "angle", "complete"),
)
HELPERS["qr"] = Helper("""
/* Give Q, and R' below it, for each of `count` matrices of m rows and n columns, by reflections. */
static void NAME_qr_KIND(const REAL *a, REAL *packed, REAL *w, REAL *factor,
                           ptrdiff_t count, ptrdiff_t m, ptrdiff_t n)
{
    const ptrdiff_t k = m > n ? n : m;
    ptrdiff_t i, j, r;
    for (; count > 0; count--, a += m * n, packed += (m + n) * k) {
        memcpy(w, a, (size_t)(m * n) * sizeof *w);
        for (r = 0; r < k; r++) {
            const REAL first = w[r * n + r];
            REAL size = 0, end;
            for (i = r + 1; i < m; i++) size = (REAL)hypot(size, w[i * n + r]);
            factor[r] = 0;
            if (size == 0) continue;
            end = (REAL)(first < 0 ? hypot(first, size) : -hypot(first, size));
            factor[r] = (end - first) / end;
            for (i = r + 1; i < m; i++) w[i * n + r] /= first - end;
            w[r * n + r] = end;
            for (j = r + 1; j < n; j++) {
                REAL inner = w[r * n + j];
                for (i = r + 1; i < m; i++) inner += w[i * n + r] * w[i * n + j];
                inner *= factor[r];
                w[r * n + j] -= inner;
                for (i = r + 1; i < m; i++) w[i * n + j] -= w[i * n + r] * inner;
            }
        }
        for (i = 0; i < m; i++) for (j = 0; j < k; j++) packed[i * k + j] = i == j;
        for (r = k - 1; r >= 0; r--) {
            for (j = r; j < k; j++) {
                REAL inner = packed[r * k + j];
                for (i = r + 1; i < m; i++) inner += w[i * n + r] * packed[i * k + j];
                inner *= factor[r];
                packed[r * k + j] -= inner;
                for (i = r + 1; i < m; i++) packed[i * k + j] -= w[i * n + r] * inner;
            }
        }
        for (i = 0; i < n; i++) {
            for (j = 0; j < k; j++) packed[(m + i) * k + j] = j <= i ? w[j * n + i] : 0;
        }
    }
}
""")
HELPERS["singular"] = Helper(
    """
/* Tell of each of `count` matrices whether its smallest singular value is next to nothing. */
static void NAME_singular_KIND(const REAL *a, unsigned char *is, REAL *packed, REAL *w, REAL *v,
                                 REAL *sizes, ptrdiff_t count, ptrdiff_t n)
{
    ptrdiff_t k;
    for (k = 0; k < count; k++) {
        NAME_svd_KIND(a + k * n * n, packed, w, v, sizes, 1, n, n);
        is[k] = n > 0 && !(sizes[n - 1] > sizes[0] * (REAL)n * EPSILON);
    }
}
""",
    ("svd",),
)
