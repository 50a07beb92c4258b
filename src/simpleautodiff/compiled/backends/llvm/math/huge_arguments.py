"""The remainder of a huge number by π/2, with as many digits of 2/π as needed."""

from __future__ import annotations

from simpleautodiff.compiled.backends.llvm.math.coefficients import DOUBLE, TWO_OVER_PI_WORDS
from simpleautodiff.compiled.backends.llvm.math.lane_values import FORMATS, MathBuilder

NAME = "@sad_far_remainder"
RESULT = "{ double, double, i64 }"
DECLARATIONS = frozenset(
    {
        "declare i64 @llvm.fshl.i64(i64, i64, i64)",
        "declare i128 @llvm.ctlz.i128(i128, i1)",
        "declare double @llvm.fma.f64(double, double, double)",
        "declare double @llvm.fabs.f64(double)",
    }
)

# With |x| = whole · 2**s, the bits of 2/π before the place s - 2 give multiples of 4 quadrants and
# are left out. The next 192 bits times `whole`, modulo 2**192, are the quadrant (2 bits) and the
# part of a quadrant (190 bits), of which 126 are kept; a zero word in front serves s < 2. A
# small lane may accompany a huge one: its result is not used, but it must stay in the table.
REMAINDER_BODY = """
  %bits = bitcast double %x to i64
  %shifted = lshr i64 %bits, 52
  %e = and i64 %shifted, 2047
  %fraction = and i64 %bits, 4503599627370495
  %whole = or i64 %fraction, 4503599627370496
  %small = icmp ult i64 %e, 1013
  %known = select i1 %small, i64 1013, i64 %e
  %place = sub i64 %known, 1013
  %word = lshr i64 %place, 6
  %turn = and i64 %place, 63
  %p0 = getelementptr i64, ptr @sad_two_over_pi, i64 %word
  %p1 = getelementptr i64, ptr %p0, i64 1
  %p2 = getelementptr i64, ptr %p0, i64 2
  %p3 = getelementptr i64, ptr %p0, i64 3
  %a0 = load i64, ptr %p0
  %a1 = load i64, ptr %p1
  %a2 = load i64, ptr %p2
  %a3 = load i64, ptr %p3
  %w0 = call i64 @llvm.fshl.i64(i64 %a0, i64 %a1, i64 %turn)
  %w1 = call i64 @llvm.fshl.i64(i64 %a1, i64 %a2, i64 %turn)
  %w2 = call i64 @llvm.fshl.i64(i64 %a2, i64 %a3, i64 %turn)
  %m = zext i64 %whole to i128
  %w1wide = zext i64 %w1 to i128
  %w2wide = zext i64 %w2 to i128
  %low = mul i128 %m, %w2wide
  %carry = lshr i128 %low, 64
  %middle = mul i128 %m, %w1wide
  %lower = add i128 %middle, %carry
  %upper = mul i64 %whole, %w0
  %upperwide = zext i64 %upper to i128
  %top = shl i128 %upperwide, 64
  %all = add i128 %top, %lower
  %nudged = add i128 %all, 42535295865117307932921825928971026432
  %quadrantwide = lshr i128 %nudged, 126
  %quadrant = trunc i128 %quadrantwide to i64
  %quarters = shl i128 %quadrantwide, 126
  %part = sub i128 %all, %quarters
  %negative = icmp slt i128 %part, 0
  %minus = sub i128 0, %part
  %size = select i1 %negative, i128 %minus, i128 %part
  %zeros = call i128 @llvm.ctlz.i128(i128 %size, i1 false)
  %full = shl i128 %size, %zeros
  %highwide = lshr i128 %full, 75
  %high = trunc i128 %highwide to i64
  %restwide = lshr i128 %full, 11
  %rest = trunc i128 %restwide to i64
  %places = trunc i128 %zeros to i64
  %stored = sub i64 972, %places
  %scalebits = shl i64 %stored, 52
  %scale = bitcast i64 %scalebits to double
  %h0 = uitofp i64 %high to double
  %l0 = uitofp i64 %rest to double
  %l1 = fmul double %l0, 0x3BF0000000000000
  %signed = select i1 %negative, double -1.0, double 1.0
  %factor = fmul double %scale, %signed
  %h = fmul double %h0, %factor
  %l = fmul double %l1, %factor
  %r = fmul double %h, {first}
  %back = fneg double %r
  %lost = call double @llvm.fma.f64(double %h, double {first}, double %back)
  %more = call double @llvm.fma.f64(double %h, double {second}, double %lost)
  %rlow = call double @llvm.fma.f64(double %l, double {first}, double %more)
  %endless = icmp eq i64 %e, 2047
  %angle = select i1 %endless, double 0x7FF8000000000000, double %r
  %s0 = insertvalue {result} poison, double %angle, 0
  %s1 = insertvalue {result} %s0, double %rlow, 1
  %s2 = insertvalue {result} %s1, i64 %quadrant, 2
  ret {result} %s2
"""


def far_remainder() -> str:
    """Return the function that reduces one float64 of size 2**-10 or more."""
    words = ", ".join(f"i64 {word}" for word in (0, *TWO_OVER_PI_WORDS))
    count = len(TWO_OVER_PI_WORDS) + 1
    scalar = MathBuilder(1, FORMATS["double"])
    first, second = (scalar.number(part).text for part in DOUBLE["HALF_PI"][:2])
    body = (
        REMAINDER_BODY.replace("{first}", first)
        .replace("{second}", second)
        .replace("{result}", RESULT)
    )
    return (
        f"@sad_two_over_pi = internal constant [{count} x i64] [{words}]\n"
        f"define internal {RESULT} {NAME}(double %x) alwaysinline nounwind memory(none) {{"
        f"{body}}}\n"
    )
