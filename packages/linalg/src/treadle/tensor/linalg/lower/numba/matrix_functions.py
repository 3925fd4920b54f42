"""Functions of matrices: products by BLAS, systems by LAPACK."""

from __future__ import annotations

from collections.abc import Sequence

from treadle.link.numba import TABLE, GraphWriter
from treadle.tensor import TensorNode
from treadle.tensor.linalg.functions.matrix_functions import Expm
from treadle.tensor.linalg.functions.matrix_sign import MatrixSign
from treadle.tensor.linalg.lower.numba.matrices import MatrixBody, MatrixOperand, MatrixResult, write_matrices

# The rules take complex numbers too.
TAKES_COMPLEX = True

# Coefficients of the Pade approximants of exp by power, relative to the first; the largest norms for each.
_PADE = (
    (120, 60, 12, 1),
    (30240, 15120, 3360, 420, 30, 1),
    (17297280, 8648640, 1995840, 277200, 25200, 1512, 56, 1),
    (17643225600, 8821612800, 2075673600, 302702400, 30270240, 2162160, 110880, 3960, 90, 1),
    (64764752532480000, 32382376266240000, 7771770303897600, 1187353796428800, 129060195264000, 10559470521600,
     670442572800, 33522128640, 1323241920, 40840800, 960960, 16380, 182, 1),
)  # fmt: skip
_LIMITS = (1.495585217958292e-2, 2.539398330063230e-1, 9.504178996162932e-1, 2.097847961257068)


def _product(a: str, b: str, out: str) -> str:
    """Return the call that multiplies matrices in column order."""
    return f'$blas_gemm("N", "N", n, n, n, $T(1), {a}, n, {b}, n, $T(0), {out}, n)'


def _norm(of: str, into: str) -> str:
    """Return the statements that compute the 1-norm: the largest sum of a column's absolute values."""
    return f"""\
{into} = 0.0
for i in range(n):
    total = 0.0
    for j in range(n):
        total = total + f8($cabs1({of}[i * n + j]))
    if not total <= {into}:
        {into} = total
"""


def _moved(text: str, steps: int) -> str:
    return "\n".join("    " * steps + line for line in text.splitlines()).lstrip()


def _coefficients(powers: Sequence[int]) -> str:
    lines = []
    for which, numbers in enumerate(_PADE):
        lines.append(f"if which == {which}:")
        for k in powers:
            value = numbers[k] / numbers[0] if k < len(numbers) else 0.0
            lines.append(f"    c[{k}] = $R({value!r})")
    return "\n".join(lines)


# Read by columns, a matrix in C order is its transpose, and f(A') = f(A)'. For complex numbers |re| + |im| replaces the
# absolute value, which makes norms larger by a factor of 1.4 at most.
_EXPM = f"""
diagonal = 1
for i in range(n):
    for j in range(n):
        x[i * n + j] = a[i * n + j]
        if i != j and a[i * n + j] != $T(0):
            diagonal = 0
if diagonal == 1:
    for i in range(n * n):
        e[i] = EXP(x[i]) if i % (n + 1) == 0 else $T(0)
else:
    {_moved(_norm("x", "norm"), 1)}
    which = 4
    {
    _moved(
        chr(10).join(f"if norm <= {limit!r}:{chr(10)}    which = min(which, {k})" for k, limit in enumerate(_LIMITS)), 1
    )
}
    halvings = 0
    if which == 4:
        # Scale to a norm of at most 1, so that powers do not overflow.
        power = exponent_f8(norm)
        for i in range(n * n):
            x[i] = x[i] * $R(ldexp_f8(1.0, -power))
        {_product("x", "x", "x2")}
        {_product("x2", "x2", "x4")}
        {_product("x2", "x4", "x6")}
        {_product("x4", "x4", "u")}
        {_product("x4", "x6", "w")}
        {_moved(_norm("x6", "by6"), 2)}
        {_moved(_norm("u", "by8"), 2)}
        {_moved(_norm("w", "by10"), 2)}
        by6 = libm_pow_f8(by6, 1.0 / 6)
        by8 = libm_pow_f8(by8, 1.0 / 8)
        by10 = libm_pow_f8(by10, 1.0 / 10)
        low = by6 if by6 > by8 else by8
        high = by8 if by8 > by10 else by10
        least = low if low < high else high
        needed = 0.0
        if least > 0:
            needed = ceil(libm_log2_f8(least / 4.25) + f8(power))
        if needed < 0:
            needed = 0.0
        # More halvings where the first neglected term, which the norm of |x|**27 bounds, would not be small enough.
        for i in range(n):
            sums[i] = 1.0
        for step in range(27):
            for j in range(n):
                total = 0.0
                for i in range(n):
                    total = total + sums[i] * f8($cabs1(x[j * n + i]))
                sums[n + j] = total
            for i in range(n):
                sums[i] = sums[n + i]
        most = 0.0
        for i in range(n):
            if sums[i] > most:
                most = sums[i]
        {_moved(_norm("x", "scaled"), 2)}
        if most > 0:
            term = most / scaled / 113250775606021113483283660800000000.0 / ($epsilon / 2)
            more = ceil(libm_log2_f8(term) / 26 + (f8(power) - needed))
            if more > 0:
                needed = needed + more
        halvings = i8(needed)
        scale = $R(ldexp_f8(1.0, power - halvings))
        square = scale * scale
        for i in range(n * n):
            x[i] = x[i] * scale
            x2[i] = x2[i] * square
            x4[i] = x4[i] * (square * square)
            x6[i] = x6[i] * (square * square * square)
    else:
        {_product("x", "x", "x2")}
        {_product("x2", "x2", "x4")}
        {_product("x2", "x4", "x6")}
    {_moved(_coefficients(range(14)), 1)}
    # e holds the even powers, w the odd ones divided by x.
    for i in range(n * n):
        one = $R(1) if i % (n + 1) == 0 else $R(0)
        w[i] = x2[i] * c[3] + x4[i] * c[5] + x6[i] * c[7] + $T(c[1] * one)
        e[i] = x2[i] * c[2] + x4[i] * c[4] + x6[i] * c[6] + $T(c[0] * one)
    if which == 3:
        {_product("x2", "x6", "u")}
        for i in range(n * n):
            w[i] = w[i] + u[i] * c[9]
            e[i] = e[i] + u[i] * c[8]
    if which == 4:
        for i in range(n * n):
            u[i] = x6[i] * c[13] + x4[i] * c[11] + x2[i] * c[9]
        $blas_gemm("N", "N", n, n, n, $T(1), x6, n, u, n, $T(1), w, n)
        for i in range(n * n):
            u[i] = x6[i] * c[12] + x4[i] * c[10] + x2[i] * c[8]
        $blas_gemm("N", "N", n, n, n, $T(1), x6, n, u, n, $T(1), e, n)
    {_product("x", "w", "u")}
    for i in range(n * n):
        odd = u[i]
        u[i] = e[i] - odd
        e[i] = e[i] + odd
    info = $lapack_gesv(n, n, u, n, pivots, e, n)
    for step in range(halvings):
        {_product("e", "e", "u")}
        for i in range(n * n):
            e[i] = u[i]
"""


@TABLE.register(Expm)
def lower_expm(op: Expm, node: TensorNode, writer: GraphWriter) -> None:
    """Scale and square (Higham 2005; Al-Mohy and Higham 2009)."""
    is_complex = node.inputs[0].type.numpy_dtype.kind == "c"
    exponential = "$T(libmc_exp(c16(x[i])))" if is_complex else "libm_exp_$T(x[i])"
    body = MatrixBody(
        operands=[MatrixOperand("a")],
        results=[MatrixResult("e")],
        scratch={
            **dict.fromkeys(("x", "x2", "x4", "x6", "w", "u"), "T n * n"),
            "sums": "f8 2 * n", "c": "R 14", "pivots": "int n",
        },
        text=_EXPM.replace("EXP(x[i])", exponential),
    )  # fmt: skip
    write_matrices(op, node, writer, body)


def _frobenius(of: str, into: str) -> str:
    return f"""\
{into} = 0.0
for i in range(m * m):
    size = f8($abs({of}[i]))
    {into} = {into} + size * size
{into} = sqrt({into})
"""


_INVERSE = """\
for i in range(m * m):
    inverse[i] = z[i]
info = $lapack_getrf(m, m, inverse, m, pivots)
if info == 0:
    info = $lapack_getri(m, inverse, m, pivots, work, n_work)
"""
_SIGN = f"""
close = 0
steps = 0
if m == 0:
    close = 1
while close == 0 and info == 0:
    {_moved(_INVERSE, 1)}
    {_moved(_frobenius("inverse", "first"), 1)}
    {_moved(_frobenius("z", "second"), 1)}
    ratio = sqrt(first / second)
    for i in range(m * m):
        new = z[i] * $R(0.5 * ratio) + inverse[i] * $R(0.5 / ratio)
        inverse[i] = new - z[i]
        z[i] = new
    {_moved(_frobenius("inverse", "first"), 1)}
    {_moved(_frobenius("z", "second"), 1)}
    steps = steps + 1
    if info == 0 and first <= sqrt($epsilon) * second:
        close = 1
        {_moved(_INVERSE, 2)}
        for i in range(m * m):
            z[i] = (z[i] + inverse[i]) * $R(0.5)
    elif steps == STEPS:
        info = 1
"""


@TABLE.register(MatrixSign)
def lower_matrix_sign(op: MatrixSign, node: TensorNode, writer: GraphWriter) -> None:
    """Iterate (Higham 2008, chapter 5); the sign of a transpose is the transpose of the sign."""
    body = MatrixBody(
        operands=[MatrixOperand("a", into=0)],
        results=[MatrixResult("z")],
        query="$lapack_getri(m, best, max(m, 1), whole, best, -1)\nn_work = max(i8($re(best[0])), 1)",
        scratch={"inverse": "T m * m", "work": "T n_work", "pivots": "int m"},
        text=_SIGN.replace("STEPS", str(op.steps)),
    )
    write_matrices(op, node, writer, body)
