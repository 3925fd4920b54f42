"""Functions of generated code for NumPy's generators: their states, in memory as NumPy's samplers read them.

A block of `BLOCK` words holds NumPy's ``bitgen_t`` (the address of the state, four functions), from word 5 on the
structure of the state, at word 320 the numbers that some of these point to, at word 328 what binomials keep between
draws of equal parameters.
"""

from __future__ import annotations

BLOCK = 360
GENERATORS = """
def open_generator(functions, g, x, n):  # i8 i8 i8 i8
    # Make the state of n words, which start with the generator's kind. functions: four for each kind.
    w = as_i8(x)
    s = as_i8(g)
    if n < 1:
        return 1
    kind = w[0]
    if kind < 0 or kind > 4:
        return 1
    wanted = 6
    if kind == 3:
        wanted = 13
    if kind == 4:
        wanted = 314
    if n != wanted:
        return 1
    s[0] = g + 40
    for k in range(4):
        s[1 + k] = as_i8(functions)[4 * kind + k]
    for k in range(32):
        s[328 + k] = 0
    if kind == 4 or kind == 2:
        # Key and position, or numbers and the buffered half.
        for k in range(n - 1):
            s[5 + k] = w[1 + k]
        return 0
    s[5] = g + 2560
    for k in range(6):
        s[320 + k] = w[1 + k]
    if kind == 3:
        s[6] = g + 2592
        s[7] = w[11]
        for k in range(4):
            s[8 + k] = w[7 + k]
        s[12] = w[12]
        return 0
    s[6] = w[5]
    return 0

def close_generator(g, before, x, n):  # i8 i8 i8 i8
    # Write the words of the state; the words before say the kind.
    w = as_i8(x)
    s = as_i8(g)
    kind = as_i8(before)[0]
    w[0] = kind
    if kind == 4 or kind == 2:
        for k in range(n - 1):
            w[1 + k] = s[5 + k]
        return 0
    for k in range(4):
        w[1 + k] = s[320 + k]
    if kind == 3:
        w[5] = s[324]
        w[6] = s[325]
        for k in range(4):
            w[7 + k] = s[8 + k]
        w[11] = s[7] & 4294967295
        w[12] = s[12]
        return 0
    w[5] = s[6]
    return 0

def not_negative(x):  # f8
    return x != x or bits_f8_i8(x) >= 0

def not_zero_or_less(x):  # f8
    return x > 0 or x != x

def not_greater(x, y):  # f8 f8
    return x <= y or x != x or y != y

def is_finite(x):  # f8
    return x - x == 0

def is_multinomial(x, n):  # i8 i8
    # Whether numbers are shares as NumPy wants them; their sum without the last one is compensated.
    p = as_f8(x)
    if n == 0:
        return False
    for k in range(n):
        if not (p[k] >= 0 and p[k] <= 1):
            return False
    added = 0.0
    if n > 1:
        added = p[0]
    rest = 0.0
    for k in range(1, n - 1):
        y = p[k] - rest
        t = added + y
        rest = t - added - y
        added = t
    return added <= 1.0 + 1e-12

def total_of(address, n):  # i8 i8
    # -1: too many, or fewer than none.
    x = as_i8(address)
    added = 0
    for k in range(n):
        if x[k] < 0 or x[k] >= 1000000000:
            return -1
        added = added + x[k]
        if added >= 1000000000:
            return -1
    return added

def not_below_zero(address, n):  # i8 i8
    x = as_f8(address)
    for k in range(n):
        if x[k] < 0:
            return False
    return True

def draw_multinomial(g, count, p, y, n):  # i8 i8 i8 i8 i8
    for k in range(n):
        as_i8(y)[k] = 0
    sampler_random_multinomial(g, count, y, p, n, g + 2624)
    return 0

def draw_hypergeometric(g, colors, count, y, n):  # i8 i8 i8 i8 i8
    for k in range(n):
        as_i8(y)[k] = 0
    if n > 0:
        sampler_random_multivariate_hypergeometric_marginals(g, total_of(colors, n), n, colors, count, 1, y)
    return 0

def draw_dirichlet(g, address, place, n):  # i8 i8 i8 i8
    # Gamma draws over their sum, or where all parameters are small, pieces broken from a stick (as NumPy chooses).
    alpha = as_f8(address)
    y = as_f8(place)
    added = 0.0
    small = n > 0
    for k in range(n):
        small = small and alpha[k] < 0.1
    if not small:
        for k in range(n):
            y[k] = sampler_random_standard_gamma(g, alpha[k])
            added = added + y[k]
        factor = 1 / added
        for k in range(n):
            y[k] = y[k] * factor
        return 0
    # y[k] holds the sum of the parameters from k on until piece k is drawn.
    for k in range(n):
        added = added + alpha[n - 1 - k]
        y[n - 1 - k] = added
    left = 1.0
    going = added > 0
    for k in range(n - 1):
        rest = y[k + 1]
        part = 0.0
        if going:
            part = sampler_random_beta(g, alpha[k], rest)
        y[k] = left * part
        left = left * (1 - part)
        going = going and rest != 0
    if added > 0:
        y[n - 1] = left
    else:
        y[n - 1] = 0.0
    return 0

def draw_permutation(g, x, place, n):  # i8 i8 i8 i8
    y = as_i8(place)
    for k in range(n):
        y[k] = as_i8(x)[k]
    for k in range(1, n):
        i = n - k
        j = sampler_random_interval(g, i)
        held = y[j]
        y[j] = y[i]
        y[i] = held
    return 0
"""
