"""Functions of generated code that draw from Philox 4x32-10.

`treadle.tensor.random.generators.philox` and `.rejection` say how.

Words are int64 of 0 to 2**32 - 1, which LLVM multiplies on vector lanes. An attempt that is rejected is NaN or -1.
"""

from __future__ import annotations

_ROUNDS, _MULTIPLIERS, _INCREMENTS = 10, (0xD2511F53, 0xCD9E8D57), (0x9E3779B9, 0xBB67AE85)
_MASK = 0xFFFFFFFF
_ATTEMPTS = 128
_NEGLIGIBLE = 2.0**-60
_STIRLING_P = (
    0.083333333333626923,
    0.20956358390379048,
    0.30942812713265615,
    0.20627001145065293,
    0.064665274454646071,
    0.0011341159307551370,
)
_STIRLING_Q = (
    1.0,
    2.5147630082335210,
    3.7464707694399467,
    2.5590678267768793,
    0.89131225194177403,
    0.075193744990632432,
)


def _polynomial(coefficients: tuple[float, ...]) -> str:
    """Return the expression of a polynomial in t by Horner's scheme."""
    text = repr(coefficients[-1])
    for c in reversed(coefficients[:-1]):
        text = f"({text}) * t + {c!r}"
    return text


def _rounds() -> str:
    lines = []
    for r in range(_ROUNDS):
        k0, k1 = (f"((k{i} + {r * step & _MASK}) & {_MASK})" for i, step in enumerate(_INCREMENTS))
        lines += [
            f"    a = c0 * {_MULTIPLIERS[0]}",
            f"    b = c2 * {_MULTIPLIERS[1]}",
            f"    c0 = ((b >> 32) & {_MASK}) ^ c1 ^ {k0}",
            f"    c2 = ((a >> 32) & {_MASK}) ^ c3 ^ {k1}",
            f"    c1 = b & {_MASK}",
            f"    c3 = a & {_MASK}",
        ]
    return "\n".join(lines)


def drawn_from(name: str, parameters: str, kept: str, codes: str = "") -> str:
    """Return the function that draws one element from a given attempt on, until one is kept.

    The codes are those of the types of the parameters; f8 for each if none are given.
    """
    codes = codes or " ".join("f8" for _ in filter(None, parameters.split(", ")))
    return f"""
def {name}_from(first, at, stream, key, {parameters}):  # i8 i8 i8 i8 {codes}
    drawn = {name}_attempt(first, at, stream, key, {parameters})
    for k in range(first + 1, {_ATTEMPTS + 1}):
        if {kept}:
            return drawn
        drawn = {name}_attempt(k, at, stream, key, {parameters})
    return drawn
"""


PHILOX = f"""
def philox(at, attempt, stream, key):  # i8 i8 i8 i8 inlined
    c0 = at & {_MASK}
    c1 = (at >> 32) & {_MASK}
    c2 = stream & {_MASK}
    c3 = attempt
    k0 = key & {_MASK}
    k1 = (key >> 32) & {_MASK}
{_rounds()}
    return c0, c1, c2, c3

def unit_f8(low, high):  # i8 i8 inlined
    return f8(((low | (high << 32)) >> 11) & 9007199254740991) * {2.0**-53!r}

def unit_f4(word):  # i8 inlined
    return f4(i4(word >> 8)) * f4({2.0**-24!r})

def stirling(z):  # f8 inlined
    t = 1.0 / z
    above = {_polynomial(_STIRLING_P)}
    below = {_polynomial(_STIRLING_Q)}
    return t * above / below

def gamma_shift(z, d):  # f8 f8 inlined
    return (z + d - 0.5) * libm_log1p_f8(d / z) - d + (stirling(z + d) - stirling(z))

def gamma_normal(k, at, stream, key, alpha):  # i8 i8 i8 i8 f8 inlined
    # By how much an attempt misses to be accepted, the logarithm and the excess over 1 of the cube, and the scale.
    w0, w1, w2, w3 = philox(at, k, stream, key)
    radius = sqrt(-2.0 * libm_log_f8(1.0 - unit_f8(w0, w1)))
    x = radius * libm_cos_f8(6.283185307179586 * (f8(w2) * {2.0**-32!r}))
    d = pick(alpha < 1.0, alpha + 1.0, alpha) - 0.3333333333333333
    t = x / sqrt(9.0 * d)
    cube = 3.0 * libm_log1p_f8(t)
    v = t * (3.0 + t * (3.0 + t))
    bound = 0.5 * x * x + d * (cube - v)
    missed = libm_log_f8((f8(w3) + 0.5) * {2.0**-32!r}) - bound
    return pick(t <= -1.0, INF, missed), cube, v, d

def standard_gamma_attempt(k, at, stream, key, alpha):  # i8 i8 i8 i8 f8 inlined
    missed, cube, v, d = gamma_normal(k, at, stream, key, alpha)
    return pick(missed > 0.0, INF - INF, d * (1.0 + v))

def log_standard_gamma_attempt(k, at, stream, key, alpha):  # i8 i8 i8 i8 f8 inlined
    missed, cube, v, d = gamma_normal(k, at, stream, key, alpha)
    return pick(missed > 0.0, INF - INF, libm_log_f8(d) + cube)

def gamma_boost(at, stream, key, alpha):  # i8 i8 i8 f8 inlined
    w0, w1, w2, w3 = philox(at, 0, stream, key)
    return -libm_log_f8(1.0 - unit_f8(w0, w1)) / alpha

def standard_gamma_boosted(drawn, at, stream, key, alpha):  # f8 i8 i8 i8 f8 inlined
    return pick(alpha == 0.0, 0.0, drawn * libm_exp_f8(-gamma_boost(at, stream, key, alpha)))

def log_standard_gamma_boosted(drawn, at, stream, key, alpha):  # f8 i8 i8 i8 f8 inlined
    lowest = -1.7976931348623157e308
    made = drawn - gamma_boost(at, stream, key, alpha)
    return pick(alpha == 0.0, -INF, pick(made < lowest, lowest, made))

def vonmises_attempt(k, at, stream, key, kappa):  # i8 i8 i8 i8 f8 inlined
    w0, w1, w2, w3 = philox(at, k, stream, key)
    b = 1.0 / (sqrt(1.0 + 4.0 * kappa * kappa) + 2.0 * kappa)
    e = 2.0 * b / (1.0 + b)
    t = sqrt(b) * libm_tan_f8(3.141592653589793 * (unit_f8(w0, w1) - 0.5))
    c = 2.0 - 2.0 / (1.0 + t * t)
    bound = kappa * (e - c) + libm_log_f8((e + (1.0 - e) * c) / (e * (2.0 - e)))
    return pick(libm_log_f8(unit_f8(w2, w3)) > bound, INF - INF, 2.0 * libm_atan_f8(t))

def zipf_attempt(k, at, stream, key, a):  # i8 i8 i8 i8 f8 inlined
    w0, w1, w2, w3 = philox(at, k, stream, key)
    b = a - 1.0
    ln2 = 0.6931471805599453
    power = -libm_log1p_f8(unit_f8(w0, w1) * libm_expm1_f8(-63.0 * ln2 * b)) / b
    n = floor(libm_exp_f8(power))
    x = libm_log1p_f8(1.0 / n)
    bound = libm_exp_f8(b * (x - ln2))
    slow = unit_f8(w2, w3) * n * (libm_expm1_f8(b * x) / libm_expm1_f8(b * ln2)) > bound
    return pick((n >= {2.0**63!r}) | ((n > 1.0) & slow), -1.0, n)

def poisson_attempt(k, at, stream, key, lam):  # i8 i8 i8 i8 f8 inlined
    w0, w1, w2, w3 = philox(at, k, stream, key)
    u = unit_f8(w0, w1) - 0.5
    v = unit_f8(w2, w3)
    b = 0.931 + 2.53 * sqrt(lam)
    a = -0.059 + 0.02483 * b
    s = 0.5 - fabs(u)
    n = floor((2.0 * a / s + b) * u + lam + 0.43)
    quick = (s >= 0.07) & (v <= 0.9277 - 3.6224 / (b - 2.0))
    y = (n + 1.0 - lam) / lam
    log = libm_log1p_f8(y)
    bound = -lam * ((1.0 + y) * log - y) + log
    bound = bound - 0.5 * libm_log_f8(6.283185307179586 * (n + 1.0)) - stirling(n + 1.0)
    slow = libm_log_f8(v * (1.1239 + 1.1328 / (b - 3.4)) / (a / (s * s) + b)) > bound
    return pick((n < 0.0) | (slow & (not quick)), -1.0, n)

def poisson_search(u, p, lam):  # f8 f8 f8 inlined
    # From 0 on, whose probability is p.
    total = p
    n = 0
    while u >= total and p > {_NEGLIGIBLE!r}:
        n = n + 1
        p = p * (lam / f8(n))
        total = total + p
    return n

def binomial_attempt(k, at, stream, key, n, q):  # i8 i8 i8 i8 f8 f8 inlined
    w0, w1, w2, w3 = philox(at, k, stream, key)
    u = unit_f8(w0, w1) - 0.5
    v = unit_f8(w2, w3)
    r = sqrt(n * q * (1.0 - q))
    b = 1.15 + 2.53 * r
    a = -0.0873 + 0.0248 * b + 0.01 * q
    s = 0.5 - fabs(u)
    x = floor((2.0 * a / s + b) * u + n * q + 0.5)
    quick = (s >= 0.07) & (v <= 0.92 - 4.2 / b)
    m = floor((n + 1.0) * q)
    d = x - m
    bound = d * libm_log_f8(q / (1.0 - q) * ((n - m + 1.0) / (m + 1.0)))
    bound = bound - gamma_shift(m + 1.0, d) - gamma_shift(n - m + 1.0, -d)
    slow = libm_log_f8(v * ((2.83 + 5.1 / b) * r) / (a / (s * s) + b)) > bound
    return pick((x < 0.0) | (x > n) | (slow & (not quick)), -1.0, x)

def binomial_search(u, p, n, odds):  # f8 f8 f8 f8 inlined
    total = p
    x = 0.0
    while u >= total and p > {_NEGLIGIBLE!r}:
        p = p * ((n - x) / (x + 1.0) * odds)
        x = x + 1.0
        total = total + p
    return pick(x > n, n, x)

def hypergeometric_attempt(k, at, stream, key, g, c, h):  # i8 i8 i8 i8 f8 f8 f8 inlined
    w0, w1, w2, w3 = philox(at, k, stream, key)
    u = 1.0 - unit_f8(w0, w1)
    total = g + h
    w = h - c
    spread = sqrt((total - c) * c / total * (g / total) * (h / (total - 1.0)) + 0.5)
    s = 1.7155277699214135 * spread + 0.8989161620588988
    x = floor(c * (g / total) + 0.5 + s * (unit_f8(w2, w3) - 0.5) / u)
    m = floor((c + 1.0) * ((g + 1.0) / (total + 2.0)))
    d = x - m
    bound = d * libm_log_f8((g - m + 1.0) / (m + 1.0) * ((c - m + 1.0) / (w + m + 1.0)))
    bound = bound - gamma_shift(m + 1.0, d) - gamma_shift(g - m + 1.0, -d)
    bound = bound - gamma_shift(c - m + 1.0, -d) - gamma_shift(w + m + 1.0, d)
    return pick((x < 0.0) | (x > g) | (x > c) | (2.0 * libm_log_f8(u) > bound), -1.0, x)

def hypergeometric_none(x, y, total):  # f8 f8 f8
    # The probability that none of x things is among y of all.
    z = total + 1.0
    return libm_exp_f8(x * libm_log1p_f8(-y / z) + gamma_shift(z, -x) - gamma_shift(z - y, -x))

def hypergeometric_search(u, p, x, y, w):  # f8 f8 f8 f8 f8 inlined
    total = p
    n = 0.0
    while u >= total and p > {_NEGLIGIBLE!r}:
        p = p * ((x - n) / (n + 1.0) * ((y - n) / (w + n + 1.0)))
        n = n + 1.0
        total = total + p
    return pick(n > x, x, n)

def hypergeometric_of(drawn, good, bad, sample):  # i8 i8 i8 i8
    # The draw from all of the good ones, by that of a smaller sample or from the smaller part.
    taken = min(sample, good + bad - sample)
    x = pick(good > bad, taken - drawn, drawn)
    return pick(sample > taken, good - x, x)

def integers_attempt(k, at, stream, key, m):  # i8 i8 i8 i8 i8
    # Whether the attempt is rejected, and what is added to the least integer.
    w0, w1, w2, w3 = philox(at, k, stream, key)
    if 0 <= m and m < 2147483648:
        a = w0 * (m + 1)
        b = w1 * (m + 1) + ((a >> 32) & {_MASK})
        # 2**64 modulo the number of integers.
        excess = (9223372036854775807 % (m + 1) * 2 + 2) % (m + 1)
        return i8(b & {_MASK} == 0) & i8((a & {_MASK}) < excess), b >> 32
    mask = m
    for j in range(6):
        mask = mask | (mask >> (1 << j))
    x = (w0 | (w1 << 32)) & mask
    least = -9223372036854775807 - 1
    return i8((x ^ least) > (m ^ least)), x

def integers_draw(at, stream, key, m):  # i8 i8 i8 i8
    rejected, x = integers_attempt(1, at, stream, key, m)
    k = 2
    while rejected == 1 and k <= {_ATTEMPTS}:
        rejected, x = integers_attempt(k, at, stream, key, m)
        k = k + 1
    return x
""" + "".join(
    drawn_from(name, parameters, kept)
    for name, parameters, kept in (
        ("standard_gamma", "alpha", "drawn == drawn or alpha != alpha"),
        ("log_standard_gamma", "alpha", "drawn == drawn or alpha != alpha"),
        ("vonmises", "kappa", "drawn == drawn or kappa != kappa"),
        ("zipf", "a", "drawn >= 0"),
        ("poisson", "lam", "drawn >= 0"),
        ("binomial", "n, q", "drawn >= 0"),
        ("hypergeometric", "g, c, h", "drawn >= 0"),
    )
)
