"""Special functions that the C library lacks, composed of those that it has.

`NAME` stands for the name of the file. All compute in double precision.
"""

from __future__ import annotations

SPECIAL: dict[str, tuple[str, tuple[str, ...]]] = {}  # text, and the helpers it needs

SPECIAL["digamma"] = (
    """
/* The derivative of log gamma: moved to where its asymptotic series holds. */
static double NAME_digamma(double x)
{
    double moved = 0, y;
    if (x == 0) return copysign((double)INFINITY, -x);
    if (x < 0) {
        const double part = x - floor(x);
        if (part == 0) return (double)NAN;
        moved = -3.141592653589793 / tan(3.141592653589793 * part);
        x = 1 - x;
    }
    for (; x < 10; x += 1) moved -= 1 / x;
    y = 1 / (x * x);
    y *= 1 / 12. - y * (1 / 120. - y * (1 / 252. - y * (1 / 240. - y * (1 / 132. - y * (
        691 / 32760. - y / 12)))));
    return moved + log(x) - 0.5 / x - y;
}
""",
    (),
)
SPECIAL["zeta"] = (
    """
/* The sum of (q + k)^-s over k = 0, 1, ..., its tail by the formula of Euler and Maclaurin. */
static double NAME_zeta(double s, double q)
{
    static const double ratio[] = {  /* Bernoulli's numbers over (2k)! */
        1 / 12., -1 / 720., 1 / 30240., -1 / 1209600., 1 / 47900160.,
        -691 / 1307674368000., 1 / 74724249600., -3617 / 10670622842880000.
    };
    double sum = 0, term;
    int k;
    if (s == 1) return (double)INFINITY;
    if (s < 1 || (q <= 0 && q != floor(q) && s != floor(s))) return (double)NAN;
    if (q <= 0 && q == floor(q)) return (double)INFINITY;
    if (q < -1e4) {  /* the sum over all integers has the period 1 */
        const double part = q - floor(q), parity = fmod(s, 2) == 0 ? 1 : -1;
        return NAME_zeta(s, part) + parity * (NAME_zeta(s, 1 - part) - NAME_zeta(s, 1 - q));
    }
    for (; q < 12; q += 1) sum += pow(q, -s);
    term = pow(q, -s);
    sum += pow(q, 1 - s) / (s - 1) + term / 2;
    for (k = 0; k < 8; k++) {
        term *= (k ? s + 2 * k - 1 : 1) * (s + 2 * k) / (k ? q * q : q);
        sum += ratio[k] * term;
    }
    return sum;
}
""",
    (),
)
SPECIAL["polygamma"] = (
    """
/* The n-th derivative of digamma. */
static double NAME_polygamma(double n, double x)
{
    if (n == 0) return NAME_digamma(x);
    return (fmod(n, 2) == 0 ? -1 : 1) * tgamma(n + 1) * NAME_zeta(n + 1, x);
}
""",
    ("digamma", "zeta"),
)
SPECIAL["rgamma"] = (
    """
/* One over gamma, which is 0 at 0, -1, -2, ... */
static double NAME_rgamma(double x)
{
    if (x <= 0 && x == floor(x)) return 0;
    return x > 170 ? exp(-lgamma(x)) : 1 / tgamma(x);
}
""",
    (),
)
SPECIAL["exprel"] = (
    """
static double NAME_exprel(double x)
{
    return x == 0 ? 1 : x > 720 ? exp(x - log(x)) : expm1(x) / x;
}
""",
    (),
)
SPECIAL["log1prel"] = (
    """
static double NAME_log1prel(double x)
{
    return x == 0 ? 1 : log1p(x) / x;
}
""",
    (),
)
SPECIAL["cosm1"] = (
    """
static double NAME_cosm1(double x)
{
    const double s = sin(x / 2);
    return -2 * s * s;
}
""",
    (),
)
SPECIAL["rel_entr"] = (
    """
static double NAME_rel_entr(double x, double y)
{
    if (x != x || y != y) return x + y;
    if (x > 0 && y > 0) return x * log(x / y);
    return x == 0 && y >= 0 ? 0 : (double)INFINITY;
}
""",
    (),
)
SPECIAL["kl_div"] = (
    """
static double NAME_kl_div(double x, double y)
{
    if (x != x || y != y) return x + y;
    if (x > 0 && y > 0) return x * log(x / y) - x + y;
    return x == 0 && y >= 0 ? y : (double)INFINITY;
}
""",
    (),
)

# Relatives of the error function. ---------------------------------------------------------------

SPECIAL["erfcx"] = (
    """
/* exp(x * x) * erfc(x), by a continued fraction where erfc is small. */
static double NAME_erfcx(double x)
{
    const double near = (double)(float)x;
    double tail = 0;
    int k;
    if (x < 2) return x < -27 ? (double)INFINITY
                              : exp(near * near) * exp((x - near) * (x + near)) * erfc(x);
    for (k = 120; k > 0; k--) tail = 0.5 * k / (x + tail);
    return 0.5641895835477563 / (x + tail);
}
""",
    (),
)
SPECIAL["log_ndtr"] = (
    """
/* The logarithm of the normal distribution. */
static double NAME_log_ndtr(double x)
{
    const double size = fabs(x) * 0.7071067811865476;
    if (x > 0) return log1p(-0.5 * erfc(size));
    return x > -1 ? log(0.5 * erfc(size)) : log(0.5 * NAME_erfcx(size)) - 0.5 * x * x;
}
""",
    ("erfcx",),
)
SPECIAL["far_erfcinv"] = (
    """
/* Where erfc is p, far from 1: a first guess, and steps of Halley. */
static double NAME_far_erfcinv(double p)
{
    const double small = p < 1 ? p : 2 - p;
    double x, t;
    int k;
    if (!(p > 0 && p < 2)) return p == 0 || p == 2 ? (1 - p) * (double)INFINITY : (double)NAN;
    t = sqrt(-2 * log(small / 2));
    x = 0.7071067811865476 * (t - (2.30753 + t * 0.27061) / (1 + t * (0.99229 + t * 0.04481)));
    for (k = 0; k < 3; k++) {
        t = (erfc(x) - small) / (1.1283791670955126 * exp(-x * x));
        x += t / (1 - x * t);
    }
    return p < 1 ? x : -x;
}
""",
    (),
)
SPECIAL["erfinv"] = (
    """
/* Where erf is y. */
static double NAME_erfinv(double y)
{
    double x = 0.8862269254527580 * y, t;
    int k;
    if (!(fabs(y) < 0.5)) return y < 0 ? -NAME_far_erfcinv(1 + y) : NAME_far_erfcinv(1 - y);
    for (k = 0; k < 4; k++) {
        t = (erf(x) - y) / (1.1283791670955126 * exp(-x * x));
        x -= t / (1 + x * t);
    }
    return x;
}
""",
    ("far_erfcinv",),
)
SPECIAL["erfcinv"] = (
    """
/* Where erfc is p. */
static double NAME_erfcinv(double p)
{
    return p > 0.5 && p < 1.5 ? NAME_erfinv(1 - p) : NAME_far_erfcinv(p);
}
""",
    ("erfinv",),
)
SPECIAL["ndtri"] = (
    """
/* Where the normal distribution is p. */
static double NAME_ndtri(double p)
{
    if (p > 0.25 && p < 0.75) return 1.4142135623730951 * NAME_erfinv(2 * p - 1);
    return p < 0.5 ? -1.4142135623730951 * NAME_far_erfcinv(2 * p)
                   : 1.4142135623730951 * NAME_far_erfcinv(2 * (1 - p));
}
""",
    ("erfinv",),
)
