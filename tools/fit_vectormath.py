"""Write compiled/llvm/vectormath/coefficients.py (to be formatted) to standard output.

Every polynomial is a Chebyshev fit made here with mpmath; its degree is the least one whose error,
as a share of the function's value, is below a thirtieth of the last place.
"""

from mpmath import (
    cbrt,
    chebyfit,
    erfc,
    exp,
    fac,
    fac2,
    frexp,
    ldexp,
    ln,
    log,
    mp,
    mpf,
    nint,
    pi,
    polyval,
    sqrt,
)

mp.dps = 40
KINDS = {"double": 53, "float": 24}
TAIL_CENTRE, TAIL_SLOPE, ERF_END = mpf("3.5"), mpf("1.125"), mpf(1)


def rounded(x, bits):
    """Return x with that many bits."""
    fraction, exponent = frexp(x)
    return ldexp(nint(ldexp(fraction, bits)), exponent - bits)


def parts(x, bits, count=3, first=None):
    """Return numbers of that many bits (the first of as many as said) whose sum is x."""
    result = []
    for i in range(count):
        result.append(rounded(x, first if first and i == 0 else bits))
        x -= result[-1]
    return result


def fit(f, low, high, share, bits):
    """Return coefficients, highest first, of the shortest polynomial that is near enough."""
    for terms in range(2, 40):
        coefficients, error = chebyfit(f, [low, high], terms, error=True)
        if error * share < mpf(2) ** -(bits + 5):
            return [rounded(c, bits) for c in coefficients]
    raise ValueError(f)


def series(term, first, terms=70):
    """Return the function of z that is the sum of term(n) z**(n - first), n from first."""
    coefficients = [term(n) for n in range(first, first + terms)][::-1]
    return lambda z: polyval(coefficients, z)


def tail(centre, reach):
    """Return (1 + slope x) exp(x²) erfc(x) of t = (x - centre)/(x + centre), and the range of t."""

    def f(t):
        x = centre * (1 + t) / (1 - t)
        return (1 + TAIL_SLOPE * x) * exp(x * x) * erfc(x)

    return f, mpf(-1), (reach - centre) / (reach + centre)


def polynomials(bits):
    """Return the polynomials by name."""
    more = mpf("1.001")
    quarter, half = (pi / 4 * more) ** 2, (ln(2) / 2 * more) ** 2
    eighth, root = (sqrt(2) - 1) ** 2 * more, ((sqrt(2) - 1) / (sqrt(2) + 1)) ** 2 * more
    f, low, high = tail(TAIL_CENTRE, mpf(28 if bits == 53 else 11))
    terms = len(fit(f, low, high, 1, bits))
    far = chebyfit(f, [low, high], terms)
    sine = series(lambda n: mpf(-1) ** n / fac(2 * n + 1), 1)
    cosine = series(lambda n: mpf(-1) ** n / fac(2 * n), 2)
    sinh, cosh = series(lambda n: 1 / fac(2 * n + 1), 1), series(lambda n: 1 / fac(2 * n), 1)
    atan = series(lambda n: mpf(-1) ** n / (2 * n + 1), 1)
    asin = series(lambda n: fac2(2 * n - 1) / fac2(2 * n) / (2 * n + 1), 1)
    error = series(lambda n: 2 / sqrt(pi) * mpf(-1) ** n / fac(n) / (2 * n + 1) - (n == 0), 0)
    logarithm = [series(lambda n: mpf(2) / (2 * n + 1), first) for first in (1, 2)]
    return {
        "SIN": fit(sine, 0, quarter, quarter, bits),
        "COS": fit(cosine, 0, quarter, quarter**2, bits),
        "SINH": fit(sinh, 0, half, half, bits),
        "COSH": fit(cosh, 0, half, half, bits),
        "LOG": fit(logarithm[0], 0, root, root, bits),
        "LOG_PAIR": [
            rounded(c, bits) for c in fit(logarithm[1], 0, root, root**2 / 2, bits * 5 // 4)
        ],
        "ATAN": fit(atan, 0, eighth, eighth, bits),
        "ASIN": fit(asin, 0, mpf("0.25"), mpf("0.25"), bits),
        "ERF": fit(error, 0, ERF_END**2, 1, bits),
        "ERFC": [rounded(c, bits) for c in far[:-1]],
        "ERFC_FIRST": parts(far[-1], bits, 2),
        "CBRT": [rounded(c, bits) for c in chebyfit(lambda x: 1 / cbrt(x), [mpf("0.5"), 4], 6)],
    }


def numbers(bits):
    """Return the constants by name: a number as parts that sum to it."""
    whole = 42 if bits == 53 else 15
    return {
        "HALF_PI": parts(pi / 2, bits),
        "LN2": parts(ln(2), bits),
        "LN2_WHOLE": parts(ln(2), bits, 2, whole),
        "LOG10_2": parts(log(2, 10), bits, 2, whole),
        "LOG2_E": parts(1 / ln(2), bits, 2),
        "LOG10_E": parts(1 / ln(10), bits, 2),
        "TWO_THIRDS": parts(mpf(2) / 3, bits, 2),
        "TWO_OVER_PI": parts(2 / pi, bits, 1),
    }


def words(count=20):
    """Return the bits of 2/π behind the point, as words of 64 bits."""
    with mp.workprec(64 * count + 64):
        whole = int(mp.floor(ldexp(2 / mp.pi, 64 * count)))
    return [(whole >> (64 * (count - 1 - i))) & (2**64 - 1) for i in range(count)]


def main():
    """Print the module."""
    print('"""Constants of the vector mathematics, made by tools/fit_vectormath.py."""\n')
    print("from __future__ import annotations\n")
    print("Constants = dict[str, tuple[float, ...]]")
    for name, value in {"CENTRE": TAIL_CENTRE, "SLOPE": TAIL_SLOPE, "END": ERF_END}.items():
        print(f"ERF_{name} = {float(value)!r}")
    for kind, bits in KINDS.items():
        print(f"{kind.upper()}: Constants = {{")
        for name, values in (polynomials(bits) | numbers(bits)).items():
            print(f'    "{name}": (' + "".join(f"{float(v)!r}, " for v in values) + "),")
        print("}")
    print("# 2/π behind the point, as 64-bit words, highest first.")
    print("TWO_OVER_PI_WORDS = (" + ", ".join(hex(w) for w in words()) + ")")


if __name__ == "__main__":
    main()
