"""Functions of generated code for special functions that SciPy does not offer as compiled code, in double.

The algorithms and their numbers are those of the C backend and of `treadle.tensor.special_functions.tail_moments`.
"""

from __future__ import annotations

SPECIAL = """
def tri_gamma(x):  # f8
    # Shifted up by the recurrence, then the asymptotic series (DLMF 5.15.1 and 5.15.8); 5.15.6 below 0.
    pi = 3.14159265358979323846
    # Next to a pole the distance to it, which is exact.
    rest = x - floor(x)
    rest = pick(rest > 0.5, ceil(x) - x, rest)
    if x <= 0 and (rest == 0 or x == -INF):
        return INF
    q = pick(x <= 0, 1 - x, x)
    total = 0.0
    while q < 12:
        total = total + 1 / (q * q)
        q = q + 1
    r = 1 / (q * q)
    series = 1 / 30.0 - r * (5 / 66.0 - r * (691 / 2730.0 - r * 7 / 6))
    series = 1 / 6.0 - r * (1 / 30.0 - r * (1 / 42.0 - r * series))
    total = total + (1 + 0.5 / q + r * series) / q
    if x > 0 or x != x:
        return total
    sine = libm_sin_f8(pi * rest)
    return pi * pi / (sine * sine) - total

def zeta(s, q):  # f8 f8
    # Euler and Maclaurin's sum from 12 on (DLMF 25.11.7 at a = 0); each term holds the one before.
    total = 0.0
    while q < 12:
        total = total + libm_pow_f8(q, -s)
        q = q + 1
    if q == INF:
        return total
    power = libm_pow_f8(q, -s)
    total = total + libm_pow_f8(q, 1 - s) / (s - 1) + power * 0.5
    c = s * power / q
    r = 1 / (q * q)
    total = total + c / 12
    c = c * (s + 1) * (s + 2) * r
    total = total - c / 720
    c = c * (s + 3) * (s + 4) * r
    total = total + c / 30240
    c = c * (s + 5) * (s + 6) * r
    total = total - c / 1209600
    c = c * (s + 7) * (s + 8) * r
    total = total + c / 47900160
    c = c * (s + 9) * (s + 10) * r
    total = total - c * 691 / 1307674368000
    c = c * (s + 11) * (s + 12) * r
    total = total + c / 74724249600
    c = c * (s + 13) * (s + 14) * r
    return total - c * 3617 / 10670622842880000

def polygamma(n, x):  # f8 f8
    # By Hurwitz's zeta function (DLMF 25.11.12); below 0 by its sum over both sides, which has period 1.
    s = n + 1
    sign = libm_pow_f8(-1.0, s)
    if n < 1 or n == INF or n != floor(n) or x != x:
        return INF - INF
    # The distances to both poles, which are exact next to them; between them the largest terms may cancel.
    rest = x - floor(x)
    other = ceil(x) - x
    if x <= 0 and (rest == 0 or x == -INF):
        return sign * INF
    total = 0.0
    if x > 0:
        total = zeta(s, x)
    else:
        total = (zeta(s, 1 + rest) + sign * zeta(s, 1 + other)) - sign * zeta(s, 1 - x)
        total = (libm_pow_f8(rest, -s) + sign * libm_pow_f8(other, -s)) + total
    return sign * special_gamma_f8(s) * total

def gammaln(x):  # f8
    # SciPy's result is infinite for numbers whose inverse is not finite.
    size = pick(x < 0, -x, x)
    if 0 < size and size < 2.2250738585072014e-308:
        return -libm_log_f8(size)
    return special_gammaln_f8(x)

def hyp2f1_series_slope(by, a, b, c, z, end):  # f8 f8 f8 f8 f8 f8
    # The derivative of Gauss's series by a (by = 0) or c, term by term; near 1 continued as the scalar op says.
    term = 1.0
    slope = 0.0
    f = 1.0
    df = 0.0
    s = 0.0
    ds = 0.0
    n = 0.0
    # Up to `turn` a factor may be next to 0, or a divisor, and terms that were small may grow again.
    turn = pick(-a > -b, -a, -b)
    turn = pick(turn > -c, turn, -c)
    if not (z >= 0 and end > 0 and turn < 100000 and a - a == 0 and b - b == 0 and c - c == 0):
        return INF - INF
    w = pick(z > 0.99, 0.9, z)
    unsettled = True
    while unsettled:
        if n == 100000:
            return INF - INF
        rest = (b + n) / (c + n) * w / (n + 1)
        slope = pick(by == 0, slope * (a + n) + term, (slope - term / (c + n)) * (a + n)) * rest
        term = term * (a + n) * rest
        n = n + 1
        f = f + term
        df = df + n * term
        s = s + slope
        ds = ds + n * slope
        # A slope may happen to be 0 while the terms go on.
        size = n * pick(fabs(slope) > fabs(term), fabs(slope), fabs(term))
        grows = n - 1 < turn or fabs((a + n - 1) * rest) >= 1
        unsettled = size > 0 and size < INF and (grows or size > 1e-17 * fabs(ds))
    if z <= 0.99:
        return s
    df = df / w
    ds = ds / w
    left = 100000
    away = 1 - w
    while away > end:
        at = 1 - away
        h = pick(away - end < away / 2, away - end, away / 2)
        f0 = f
        f1 = df * h
        s0 = s
        s1 = ds * h
        f = f + f1
        s = s + s1
        df = f1
        ds = s1
        k = 0.0
        small = 0
        while small < 2:
            if left == 0:
                return INF - INF
            left = left - 1
            scale = at * away * (k + 1) * (k + 2) / h
            drag = ((2 * away - 1) * k + c - (a + b + 1) * at) * (k + 1)
            pull = (k + a) * (k + b) * h
            own = pick(by == 0, (k + b) * h * f0 + at * (k + 1) * f1, -(k + 1) * f1)
            f2 = (pull * f0 - drag * f1) / scale
            s2 = (pull * s0 - drag * s1 + own) / scale
            f0 = f1
            f1 = f2
            s0 = s1
            s1 = s2
            f = f + f1
            df = df + (k + 2) * f1
            s = s + s1
            ds = ds + (k + 2) * s1
            # One of them may happen to be 0 while the others go on.
            size = (k + 2) * pick(fabs(f1) > fabs(s1), fabs(f1), fabs(s1))
            small = pick(size > 1e-17 * fabs(ds), 0, small + 1)
            k = k + 1
        df = df / h
        ds = ds / h
        away = away - h
    return s

def gamma_exponent(u, side, slope, x):  # f8 f8 f8 f8
    v = side * u
    part = v + libm_expm1_f8(-v)
    if u < 0.05:
        part = 1 / 120.0 - v * (1 / 720.0 - v * (1 / 5040.0 - v / 40320.0))
        part = v * v * (1 / 2.0 - v * (1 / 6.0 - v * (1 / 24.0 - v * part)))
    return slope * u + x * part

def gamma_tail_moment(k, a, x):  # f8 f8 f8
    side = pick(x <= a, 1.0, -1.0)
    slope = fabs(a - x)
    end = 80.0 / (slope + sqrt(slope * slope + 80.0 * x))
    for i in range(12):
        step = slope - side * x * libm_expm1_f8(-side * end)
        end = end - (gamma_exponent(end, side, slope, x) - 40.0) / step
    total = 0.0
    for i in range(48):
        u = end * quadrature_node(i)
        power = pick(k == 0, 1.0, pick(k == 1, u, u * u))
        total = total + quadrature_weight(i) * power * libm_exp_f8(-gamma_exponent(u, side, slope, x))
    return end * total

def cumulant(q, p, u):  # f8 f8 f8
    c = q * p
    if fabs(u) >= 0.003:
        return libm_log1p_f8(q * libm_expm1_f8(u)) - q * u
    series = c * (p - q) * (1 - 12 * c) / 120 + u * (c * (1 - 30 * c * (1 - 4 * c)) / 720)
    return u * u * (c / 2 + u * (c * (p - q) / 6 + u * (c * (1 - 6 * c) / 24 + u * series)))

def beta_exponent(u, a, b, x, y):  # f8 f8 f8 f8 f8
    return (a * y - b * x) * u + a * cumulant(y, x, u) + b * cumulant(x, y, -u)

def beta_tail_moment(j, k, a, b, x, y):  # f8 f8 f8 f8 f8 f8
    slope = a * y - b * x
    end = 80.0 / (slope + sqrt(slope * slope + 80.0 * (a + b) * x * y))
    end = pick(end < 700, end, 700.0)
    for i in range(12):
        growth = libm_exp_f8(end)
        step = (a * y * growth - b * x) / (x + y * growth)
        end = end - (beta_exponent(end, a, b, x, y) - 40.0) / step
    total = 0.0
    for i in range(48):
        u = end * quadrature_node(i)
        f = libm_log1p_f8(y * libm_expm1_f8(u))
        g = -libm_log1p_f8(x * libm_expm1_f8(-u))
        power = pick(j == 0, 1.0, pick(j == 1, f, f * f)) * pick(k == 0, 1.0, pick(k == 1, g, g * g))
        total = total + quadrature_weight(i) * power * libm_exp_f8(-beta_exponent(u, a, b, x, y))
    return end * total
"""
