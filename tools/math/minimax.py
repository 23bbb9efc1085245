#!/usr/bin/env python3
"""Computes the polynomial coefficients in core/scalar/coefficients.h.

    python3 tools/math/minimax.py > core/scalar/coefficients.h

Every table is a weighted minimax (Chebyshev) fit: coefficients c of sum_k c_k x^k on an interval such that
max |weight(x) * (target(x) - sum_k c_k x^k)| is least, found by the Remez exchange algorithm (Remez 1934; Cheney,
Introduction to Approximation Theory, 1966) in 50-digit arithmetic. Coefficients are then rounded to the type that the
code computes in; floats are moved by single units in the last place to the best neighbour. The error of the rounded
polynomial stands in the comment over its table. Needs mpmath.
"""

import math
import struct
import sys

from mpmath import mp, mpf

mp.dps = 50
GRID = 800  # points of the fit; errors between them are checked on a grid of four times as many


def chebyshev_grid(low, high, count):
    """Points of [low, high], denser towards its ends."""
    low, high = mpf(low), mpf(high)
    return [(low + high) / 2 - (high - low) / 2 * mp.cos(mp.pi * i / (count - 1)) for i in range(count)]


def evaluate(coefficients, x):
    result = 0
    for c in reversed(coefficients):
        result = result * x + c
    return result


def local_extrema(errors):
    """Indices of the largest |error| in each run of one sign."""
    best, result = 0, []
    for i, e in enumerate(errors):
        if (e > 0) != (errors[best] > 0):
            result.append(best)
            best = i
        elif abs(e) > abs(errors[best]):
            best = i
    return result + [best]


def remez(xs, targets, weights, powers):
    """Minimax coefficients of sum_j c_j x^powers[j] to targets on the points xs."""
    n = len(powers)
    if n == 0:
        return []
    heavy = [i for i, w in enumerate(weights) if w > max(weights) / 50]  # others start the exchange badly
    points = [heavy[round(i * (len(heavy) - 1) / n)] for i in range(n + 1)]
    columns = [[x**p for p in powers] for x in xs]
    for _ in range(60):
        matrix, right = mp.matrix(n + 1, n + 1), mp.matrix(n + 1, 1)
        for row, i in enumerate(points):
            for j in range(n):
                matrix[row, j] = columns[i][j]
            matrix[row, n] = (-1) ** row / weights[i]
            right[row] = targets[i]
        solution = mp.lu_solve(matrix, right)
        c = [solution[j] for j in range(n)]
        errors = [w * (t - sum(a * b for a, b in zip(c, col))) for w, t, col in zip(weights, targets, columns)]
        extrema = local_extrema(errors)
        while len(extrema) > n + 1:  # drop from the end with the smaller error
            extrema.pop(0 if abs(errors[extrema[0]]) < abs(errors[extrema[-1]]) else -1)
        if len(extrema) < n + 1:
            raise ArithmeticError("the error does not alternate")
        points = extrema
        largest = max(abs(e) for e in errors)
        if largest <= abs(solution[n]) * mpf("1.001"):
            break
    return c


def round_coefficients(coefficients, kind):
    """Every coefficient rounded to 'f' (float) or 'd' (double)."""
    return [mpf(struct.unpack(kind, struct.pack(kind, float(c)))[0]) for c in coefficients]


def improve(coefficients, xs, targets, weights, split=None):
    """Moves float coefficients by an ulp or two, one or two at a time, while the largest error falls.

    Those from index `split` on belong to a denominator.
    """
    samples = [(float(x), float(t), float(w)) for x, t, w in zip(xs, targets, weights)]

    def worst(c, limit=math.inf):
        largest = 0.0
        numerator, denominator = c[:split], c[split:] if split else [1.0]
        for x, target, weight in samples:
            error = abs(weight * (target - evaluate(numerator, x) / evaluate(denominator, x)))
            if error > largest:
                largest = error
                if largest >= limit:
                    break
        return largest

    def moved(value, ulps):
        bits = struct.unpack("i", struct.pack("f", value))[0]
        return struct.unpack("f", struct.pack("i", bits + ulps))[0]

    best = [float(c) for c in coefficients]
    error = worst(best)
    moves = [(i, a, j, b) for i in range(len(best)) for a in (-2, -1, 1, 2) for j in range(i, len(best))
             for b in ((0,) if i == j else (-2, -1, 1, 2))]
    found = True
    while found:
        found = False
        for i, a, j, b in moves:
            trial = list(best)
            trial[i] = moved(trial[i], a)
            trial[j] = moved(trial[j], b)
            trial_error = worst(trial, error)
            if trial_error < error:
                best, error, found = trial, trial_error, True
    return [mpf(c) for c in best]


def lawson(xs, targets, weights, m, n):
    """Numerator (degree m) and denominator (degree n, constant 1) of a nearly minimax rational fit on the points xs.

    Lawson's method: least squares whose weights grow where the error is large; the denominator of the step before
    makes each step linear (Loeb).
    """
    emphasis, denominators = [mpf(1)] * len(xs), [mpf(1)] * len(xs)
    best = None
    for _ in range(80):
        matrix, right = mp.matrix(m + n + 1, m + n + 1), mp.matrix(m + n + 1, 1)
        for x, t, w, e, d in zip(xs, targets, weights, emphasis, denominators):
            row = [x**j for j in range(m + 1)] + [-t * x**k for k in range(1, n + 1)]
            g = e * (w / d) ** 2
            for i, a in enumerate(row):
                right[i] += g * a * t
                for j, b in enumerate(row):
                    matrix[i, j] += g * a * b
        solution = list(mp.lu_solve(matrix, right))
        p, q = solution[: m + 1], [mpf(1)] + solution[m + 1 :]
        denominators = [evaluate(q, x) for x in xs]
        errors = [abs(w * (t - evaluate(p, x) / d)) for x, t, w, d in zip(xs, targets, weights, denominators)]
        largest = max(errors)
        if best is None or largest < best[0]:
            best = largest, p, q
        emphasis = [e * (error / largest) + mpf("1e-6") for e, error in zip(emphasis, errors)]
    return best[1:]


def fit_rational(target, m, n, points, weight):
    """Float coefficients of the numerator and of the denominator, and the largest weighted error; `points` makes a
    grid of so many points."""

    def sampled(count):
        xs = points(count)
        return xs, [mpf(target(x)) for x in xs], [mpf(weight(x)) for x in xs]

    p, q = lawson(*sampled(GRID // 4), m, n)
    c = improve(round_coefficients(p + q, "f"), *sampled(GRID // 4), m + 1)
    p, q = c[: m + 1], c[m + 1 :]
    error = max(w * abs(t - evaluate(p, x) / evaluate(q, x)) for x, t, w in zip(*sampled(GRID)))
    return p, q, error


def fit(target, low, high, degree, weight=lambda x: 1, kind="f"):
    """Coefficients c_0..c_degree in float ('f') or double ('d') and their largest weighted error."""

    def sampled(count):
        xs = [x for x in chebyshev_grid(low, high, count) if weight(x) != 0]
        return xs, [mpf(target(x)) for x in xs], [abs(mpf(weight(x))) for x in xs]

    exact = remez(*sampled(GRID), list(range(degree + 1)))
    coefficients = round_coefficients(exact, kind)
    if kind == "f":
        coefficients = improve(coefficients, *sampled(GRID // 4))
    error = max(w * abs(t - evaluate(coefficients, x)) for x, t, w in zip(*sampled(4 * GRID)))
    return coefficients, error


def ratio(numerator, denominator):
    """x -> numerator(x) / denominator(x), by a limit where both vanish."""

    def value(x):
        x = x if abs(x) > mpf("1e-12") else mpf("1e-12")
        return numerator(x) / denominator(x)

    return value


def odd_tail(f):
    """u -> (f(x)/x - 1)/u with u = x*x: the tail P of f(x) = x + x^3 P(x^2)."""
    return ratio(lambda u: f(mp.sqrt(u)) / mp.sqrt(u) - 1, lambda u: u)


def odd_weight(f):
    """The weight that makes the error of odd_tail relative to f."""
    return ratio(lambda u: u * mp.sqrt(u), lambda u: f(mp.sqrt(u)))


def erfcx(t):
    return mp.exp(t * t) * mp.erfc(t)


def erfinv_over(w):
    """erfinv(x)/x where w = -log(1 - x^2): x near 1 leaves no digits of 1 - x but in w."""
    if w == 0:
        return mp.sqrt(mp.pi) / 2
    x = mp.sqrt(-mp.expm1(-w))
    rest, z, step = mp.exp(-w) / (1 + x), mp.sqrt(w) * mpf("0.9"), 1
    while abs(step) > mpf(10) ** -40:  # Newton's method for log(erfc(z)) = log(1 - x)
        step = mp.log(mp.erfc(z) / rest) * erfcx(z) * mp.sqrt(mp.pi) / 2
        z += step
    return z / x


def bessel_series(order):
    """u -> I_n(x) over (x/2)^n, where u = x^2/4."""
    return lambda u: mp.besseli(order, 2 * mp.sqrt(u)) / mp.sqrt(u) ** order if u > mpf("1e-30") else mpf(1)


def bessel_tail(order):
    """t -> sqrt(x) e^-x I_n(x), where t = 16/x - 1."""

    def value(t):
        x = 16 / max(t + 1, mpf("1e-20"))
        return mp.besseli(order, x) * mp.exp(-x) * mp.sqrt(x)

    return value


def erfcx_over(t):
    """(1 + 2x) erfcx(x), where t = (x - 3)/(x + 3)."""
    x = 3 * (1 + t) / max(1 - t, mpf("1e-20"))
    return (1 + 2 * x) * erfcx(x)


LN2_2 = mp.log(2) / 2 + mpf("1e-5")
SQRT2 = mp.sqrt(2)
SINE_END = (mp.pi / 4) ** 2 * mpf("1.0001")


def tables():
    """(name, comment, type, coefficients, error) of every table."""
    f, d = "float", "double"

    def exponential(degree, kinds):
        return fit(
            ratio(lambda r: mp.exp(r) - 1 - r, lambda r: r * r), -LN2_2, LN2_2, degree,
            ratio(lambda r: r * r, lambda r: mp.exp(r) - 1), kinds)

    yield "kExpTail", "(e^r - 1 - r)/r^2, |r| <= ln(2)/2, error relative to e^r - 1", f, *exponential(4, "f")
    yield "kExpTailShort", "A term less than kExpTail, error relative to e^r", f, *fit(
        ratio(lambda r: mp.exp(r) - 1 - r, lambda r: r * r), -LN2_2, LN2_2, 3, lambda r: r * r / mp.exp(r))
    yield "kExpTailDouble", "kExpTail for double arithmetic", d, *exponential(5, "d")
    yield "kExp2", "(2^r - 1)/r, |r| <= 1/2, error relative to 2^r", f, *fit(
        ratio(lambda r: 2**r - 1, lambda r: r), -0.5, 0.5, 5, lambda r: abs(r) / 2**r)
    yield "kExp2Double", "kExp2 for double arithmetic", d, *fit(
        ratio(lambda r: 2**r - 1, lambda r: r), -0.5, 0.5, 6, lambda r: abs(r) / 2**r, "d")
    yield "kLogTail", "(log(1 + f) - f + f^2/2)/f^3, sqrt(1/2) <= 1 + f <= sqrt(2), error relative to log(1 + f)", f, *fit(
        ratio(lambda x: mp.log1p(x) - x + x * x / 2, lambda x: x**3), 1 / SQRT2 - 1, SQRT2 - 1, 7,
        ratio(lambda x: x**3, mp.log1p))
    yield "kLog2Double", "log2((1 + s)/(1 - s))/s in s^2, sqrt(1/2) <= (1 + s)/(1 - s) <= sqrt(2), relative", d, *fit(
        ratio(lambda u: 2 * mp.atanh(mp.sqrt(u)) / mp.log(2), mp.sqrt), 0, ((SQRT2 - 1) / (SQRT2 + 1)) ** 2, 5,
        ratio(lambda u: mp.sqrt(u) * mp.log(2), lambda u: 2 * mp.atanh(mp.sqrt(u))), "d")
    yield "kSinTail", "(sin(r)/r - 1)/r^2 in r^2, |r| <= pi/4, error relative to sin", f, *fit(
        odd_tail(mp.sin), 0, SINE_END, 3, odd_weight(mp.sin))
    yield "kCosTail", "(cos(r) - 1 + r^2/2)/r^4 in r^2, |r| <= pi/4, error of cos", f, *fit(
        ratio(lambda u: mp.cos(mp.sqrt(u)) - 1 + u / 2, lambda u: u * u), 0, SINE_END, 2, lambda u: u * u)
    yield "kTanTail", "(tan(r)/r - 1)/r^2 in r^2, |r| <= pi/4, error relative to tan", f, *fit(
        odd_tail(mp.tan), 0, SINE_END, 6, odd_weight(mp.tan))
    yield "kAtanTail", "(atan(t)/t - 1)/t^2 in t^2, |t| <= 1, error relative to atan", f, *fit(
        odd_tail(mp.atan), 0, 1, 8, odd_weight(mp.atan))
    yield "kAsinTail", "(asin(t)/t - 1)/t^2 in t^2, |t| <= 1/2, error relative to asin", f, *fit(
        odd_tail(mp.asin), 0, mpf("0.25"), 4, odd_weight(mp.asin))
    yield "kSinhTail", "(sinh(t)/t - 1)/t^2 in t^2, |t| <= 1, error relative to sinh", f, *fit(
        odd_tail(mp.sinh), 0, 1, 3, odd_weight(mp.sinh))
    yield "kTanhTail", "(tanh(t)/t - 1)/t^2 in t^2, |t| <= 0.7, error relative to tanh", f, *fit(
        odd_tail(mp.tanh), 0, mpf("0.49"), 4, odd_weight(mp.tanh))
    yield "kErfSmall", "erf(t)/t - 1 in t^2, |t| <= 0.9, error relative to erf", f, *fit(
        ratio(lambda u: mp.erf(mp.sqrt(u)) / mp.sqrt(u) - 1, lambda u: 1), 0, mpf("0.81"), 5,
        ratio(mp.sqrt, lambda u: mp.erf(mp.sqrt(u))))
    yield "kErfLarge", "log(erfc(t)), 0.9 <= t <= 4, error relative to erf", f, *fit(
        lambda t: mp.log(mp.erfc(t)), mpf("0.9"), 4, 6, lambda t: mp.erfc(t) / mp.erf(t))
    yield "kErfcTail", "(t + 3) e^(t^2) erfc(t) in 1/(t + 3), 0 <= t <= 10.1, relative", d, *fit(
        lambda w: erfcx(1 / w - 3) / w, 1 / mpf("13.1"), mpf(1) / 3, 9, lambda w: w / erfcx(1 / w - 3), "d")

    for name, low, high, degree in (("kErfinvSmall", 0, 6.25, 12), ("kErfinvLarge", 2.5, 4.1, 9), ("kErfinvFar", 4, 6.2, 5)):
        of = erfinv_over if low == 0 else lambda s: erfinv_over(s * s)
        variable = "w" if low == 0 else "sqrt(w)"
        yield name, f"erfinv(x)/x in {variable} from {low} to {high}, where w = -log(1 - x^2), relative", d, *fit(
            of, low, mpf(high), degree, lambda t, of=of: 1 / of(t), "d")

    # For floats that are computed in double: all beside what is rounded at the end.
    yield "kLogTailDouble", "(log((1 + s)/(1 - s))/s - 2)/s^2 in s^2, as kLog2Double, error relative to log", d, *fit(
        ratio(lambda u: 2 * mp.atanh(mp.sqrt(u)) / mp.sqrt(u) - 2, lambda u: u), mpf("1e-9"), ((SQRT2 - 1) / (SQRT2 + 1)) ** 2, 8,
        lambda u: u * mp.sqrt(u) / (2 * mp.atanh(mp.sqrt(u))), "d")
    yield "kSinPi", "sin(pi r)/r in r^2, |r| <= 1/2, relative", d, *fit(
        lambda u: mp.pi * mp.sincpi(mp.sqrt(u)), 0, mpf("0.25"), 8, lambda u: 1 / (mp.pi * mp.sincpi(mp.sqrt(u))), "d")
    yield "kCosPi", "cos(pi r) in r^2, |r| <= 1/2", d, *fit(lambda u: mp.cospi(mp.sqrt(u)), 0, mpf("0.25"), 8, kind="d")
    near_zeros = lambda t: mp.loggamma(t + mpf("1.75")) / ((t + mpf("0.75")) * (t - mpf("0.25")))
    yield "kLgammaNear", "log(gamma(x))/((x - 1)(x - 2)) in x - 1.75, |x - 1.75| <= 1, relative", d, *fit(
        near_zeros, -1, 1, 19, lambda t: 1 / near_zeros(t), "d")

    yield "kErfcx", "(1 + 2x) e^(x^2) erfc(x) in (x - 3)/(x + 3), x >= 0, relative", d, *fit(
        erfcx_over, -1, 1, 24, lambda t: 1 / erfcx_over(t), "d")
    for order in (0, 1):
        name, near, far = f"I{order}", bessel_series(order), bessel_tail(order)
        over = "" if order == 0 else " over x/2"
        yield f"k{name}Series", f"The Bessel function {name}(x){over} in x^2/4, |x| <= 8, relative", d, *fit(
            near, 0, 16, 15, lambda u, near=near: 1 / near(u), "d")
        yield f"k{name}Tail", f"sqrt(x) e^-x {name}(x) in 16/x - 1, x >= 8, relative", d, *fit(
            far, -1, 1, 22, lambda t, far=far: 1 / far(t), "d")


def normal_tail_points(count):
    """Points of [0, 14.5], denser towards 0."""
    return [1 / w - 3 for w in chebyshev_grid(mpf(1) / mpf("17.5"), mpf(1) / 3, count)]


def turns():
    """Rows of 1/(2 pi) in three parts, less the bits that make whole turns of every multiple of 2^(27 row)."""
    with mp.workdps(120):
        rows = []
        for row in range(4):
            rest = mp.ldexp(1 / (2 * mp.pi), 27 * row)
            rest -= mp.floor(rest)
            parts = []
            for bits in (29, 57):
                parts.append(mp.ldexp(mp.floor(mp.ldexp(rest, bits)), -bits))
                rest -= parts[-1]
            parts.append(rest)
            rows.append([float(mp.ldexp(part, -27 * row)) for part in parts])
        return rows


def array(name, kind, values):
    digits, suffix = (9, "f") if kind == "float" else (17, "")
    text = ", ".join(f"{float(c):.{digits - 1}e}{suffix}" for c in values)
    return f"inline constexpr {kind} {name}[] = {{{text}}};\n"


def main():
    print("#pragma once\n\n// Made by tools/math/minimax.py: change that program, not this file.\n")
    print("namespace aorta::scalar::coefficients {\n")
    for name, comment, kind, coefficients, error in tables():
        print(f"// {comment}: 2^{math.log2(error):.1f}.")
        print(array(name, kind, coefficients), flush=True)

    tail = lambda t: mp.exp(t * t / 2) * mp.erfc(t / mp.sqrt(2)) / 2
    p, q, error = fit_rational(tail, 4, 5, normal_tail_points, lambda t: 1 / tail(t))
    print(f"// e^(t^2/2) times the upper tail of the normal distribution, 0 <= t <= 14.5, relative: 2^{math.log2(error):.1f}.")
    print(array("kNormalTailNumerator", "float", p))
    print(array("kNormalTailDenominator", "float", q))

    print("// Row b: 1/(2 pi) less the bits that make whole turns of multiples of 2^(27b): 29 bits, 28 bits, the rest.")
    rows = ", ".join("{" + ", ".join(part.hex() for part in row) + "}" for row in turns())
    print(f"inline constexpr double kTurns[4][3] = {{{rows}}};\n")
    print("}  // namespace aorta::scalar::coefficients")


if __name__ == "__main__":
    main()
