"""Schur forms of matrices and of pairs of matrices, by LAPACK."""

from __future__ import annotations

from treadle.link.numba import TABLE, GraphWriter
from treadle.tensor import TensorNode
from treadle.tensor.linalg.decompositions.schur import QZ, RealToComplexSchur, Schur
from treadle.tensor.linalg.lower.numba.matrices import MatrixBody, MatrixOperand, MatrixResult, write_matrices

# The rules take complex numbers too.
TAKES_COMPLEX = True

# The condition for an eigenvalue x + iy to come first.
_FIRST = {"lhp": "x < 0", "rhp": "x >= 0", "iuc": "libm_hypot_$R(x, y) <= 1", "ouc": "libm_hypot_$R(x, y) > 1"}
# The same for eigenvalues alpha / beta, by real part and absolute value, and for those with a beta of 0.
_RATIO_FIRST = {
    "lhp": ("x / b < 0", "False"),
    "rhp": ("x / b > 0", "False"),
    "iuc": ("size < 1", "False"),
    "ouc": ("size > 1", "libm_hypot_$R(x, y) > 0"),
}


@TABLE.register(Schur)
def lower_schur(op: Schur, node: TensorNode, writer: GraphWriter) -> None:
    """Call gees, and trsen if the eigenvalues are to be sorted."""
    is_complex = node.inputs[0].type.numpy_dtype.kind == "c"
    values, some = ("w", "best") if is_complex else ("wr, wi", "best, best")
    call, ld = '$lapack_gees("V", "N", 0, m', "max(m, 1)"
    query = f"{call}, best, {ld}, whole, {some}, best, {ld}, best, -1{', real' if is_complex else ''}, 0)"
    text = f"info = {call}, t, {ld}, found, {values}, z, {ld}, work, n_work{', rwork' if is_complex else ''}, 0)"
    if op.sort is not None:
        parts = ("re_$T(w[i])", "im_$T(w[i])") if is_complex else ("wr[i]", "wi[i]")
        test = f"""\
for i in range(m):
    x = {parts[0]}
    y = {parts[1]}
    flags[i] = i4(1) if {_FIRST[op.sort]} else i4(0)
"""
        order = f"t, {ld}, z, {ld}, {values}, found, some, some, work, n_work{'' if is_complex else ', found, 1'}"
        text = f"""
{text}
{test}
if info == 0 and m > 0:
    info = $lapack_trsen("N", "V", flags, m, {order})
# Rounding may have moved some eigenvalues across the boundary.
{test}
total = 0
for i in range(m):
    if i8(flags[i]) == 1:
        if total < i:
            info = 1
        total = total + 1
count[0] = total
"""
    numbers = {"w": "T m", "rwork": "R m"} if is_complex else {"wr": "T m", "wi": "T m"}
    body = MatrixBody(
        operands=[MatrixOperand("a", "columns", into=0)],
        results=[
            MatrixResult("t", "columns"),
            MatrixResult("z", "columns"),
            *([MatrixResult("count")] if op.sort is not None else []),
        ],
        query=f"{query}\nn_work = max(i8($re(best[0])), m, 1)",
        scratch={"work": "T n_work", **numbers, "flags": "int m", "found": "int 2", "some": "R 2"},
        text=text,
    )
    write_matrices(op, node, writer, body)


@TABLE.register(QZ)
def lower_qz(op: QZ, node: TensorNode, writer: GraphWriter) -> None:
    """Call gges, and tgsen if the eigenvalues are to be sorted."""
    is_complex = node.inputs[0].type.numpy_dtype.kind == "c"
    values, some = ("alpha, beta", "best, best") if is_complex else ("wr, wi, beta", "best, best, best")
    call, ld = '$lapack_gges("V", "V", "N", 0, m', "max(m, 1)"
    query = (
        f"{call}, best, {ld}, best, {ld}, whole, {some}, best, {ld}, best, {ld}, best, -1"
        f"{', real' if is_complex else ''}, 0)"
    )
    text = (
        f"info = {call}, s, {ld}, t, {ld}, found, {values}, q, {ld}, z, {ld}, work, n_work"
        f"{', rwork' if is_complex else ''}, 0)"
    )
    if op.sort is not None:
        regular, infinite = _RATIO_FIRST[op.sort]
        x, y = ("re_$T(alpha[i])", "im_$T(alpha[i])") if is_complex else ("wr[i]", "wi[i]")
        order = f"s, {ld}, t, {ld}, {values}, q, {ld}, z, {ld}, found, parts, parts, parts, work, n_work, found, 1"
        text += f"""
for i in range(m):
    x = {x}
    y = {y}
    b = $re(beta[i])
    size = libm_hypot_$R(x, y) / fabs(b)
    first = {regular}
    if b == 0:
        first = {infinite}
    flags[i] = i4(1) if first else i4(0)
if info == 0 and m > 0:
    info = $lapack_tgsen(0, 1, 1, flags, m, {order})
"""
    if not is_complex:
        text += "\nfor i in range(m):\n    alpha[i] = compose_$R(wr[i], wi[i])"
    numbers = {"rwork": "R 8 * m"} if is_complex else {"wr": "T m", "wi": "T m"}
    body = MatrixBody(
        operands=[MatrixOperand("a", "columns", into=0), MatrixOperand("b", "columns", into=1)],
        results=[
            *(MatrixResult("s", "columns"), MatrixResult("t", "columns"), MatrixResult("alpha"), MatrixResult("beta")),
            *(MatrixResult("q", "columns"), MatrixResult("z", "columns")),
        ],
        query=f"{query}\nn_work = max(i8($re(best[0])), 4 * m + 16)",
        scratch={"work": "T n_work", **numbers, "flags": "int m", "found": "int 2", "parts": "R 4"},
        text=text,
    )
    write_matrices(op, node, writer, body)


# A rotation for each 2 x 2 block, from the last to the first, makes the element below the diagonal 0; the first
# eigenvalue of a pair is the one above the real axis.
_ROTATIONS = """
for i in range(m * m):
    made[i] = COMPLEX(t[i])
    turned[i] = COMPLEX(z[i])
for step in range(1, m):
    k = m - step
    up = (k - 1) * m
    low = k * m
    first = c16(made[up + k - 1])
    last = c16(made[low + k])
    beside = c16(made[low + k - 1])
    if size_c16(beside) > 2.220446049250313e-16 * (size_c16(first) + size_c16(last)):
        half = (first - last) * 0.5
        square = half * half + c16(made[up + k]) * beside
        if im_c16(square) == 0:
            square = compose_f8(re_c16(square), 0.0)
        shift = half + libmc_sqrt(square)
        length = libm_hypot_f8(size_c16(shift), size_c16(beside))
        c = COMPLEX(shift / length)
        s = COMPLEX(beside / length)
        cc = conj_COMPLEX(c)
        sc = conj_COMPLEX(s)
        for j in range(k - 1, m):
            x = made[up + j]
            y = made[low + j]
            made[up + j] = cc * x + s * y
            made[low + j] = c * y - s * x
        for i in range(k + 1):
            x = made[i * m + k - 1]
            y = made[i * m + k]
            made[i * m + k - 1] = x * c + y * sc
            made[i * m + k] = y * cc - x * s
        for i in range(m):
            x = turned[i * m + k - 1]
            y = turned[i * m + k]
            turned[i * m + k - 1] = x * c + y * sc
            turned[i * m + k] = y * cc - x * s
    made[low + k - 1] = COMPLEX(0)
"""


@TABLE.register(RealToComplexSchur)
def lower_real_to_complex(op: RealToComplexSchur, node: TensorNode, writer: GraphWriter) -> None:
    """Make the matrix triangular by one complex rotation for each 2 x 2 block."""
    text = _ROTATIONS.replace("COMPLEX", writer.storage(node.outputs[0]).code)
    operands, results = [MatrixOperand("t"), MatrixOperand("z")], [MatrixResult("made"), MatrixResult("turned")]
    write_matrices(op, node, writer, MatrixBody(operands=operands, results=results, text=text))
