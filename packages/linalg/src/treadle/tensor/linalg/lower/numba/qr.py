"""QR factors and products of Householder reflections, by LAPACK."""

from __future__ import annotations

from treadle.link.numba import SHAPE, TABLE, GraphWriter, indented
from treadle.tensor import TensorNode
from treadle.tensor.linalg.decompositions.qr import QR, HouseholderProduct
from treadle.tensor.linalg.lower.numba.matrices import MatrixBody, MatrixOperand, MatrixResult, write_matrices

# The rules take complex numbers too.
TAKES_COMPLEX = True


@TABLE.register(QR)
def lower_qr(op: QR, node: TensorNode, writer: GraphWriter) -> None:
    """Call geqrf or geqp3 in a copy, take R from it, and call orgqr for Q."""
    is_complex = node.inputs[0].type.numpy_dtype.kind == "c"
    raw, makes_q = op.mode == "raw", op.mode in {"full", "economic"}
    a = "h" if raw else "a"
    ld = "max(m, 1)"
    if op.pivoting:
        query = f"$lapack_geqp3(m, n, best, {ld}, whole, best, best, -1{', real' if is_complex else ''})"
        factor = f"$lapack_geqp3(m, n, {a}, {ld}, order, tau, work, n_work{', rwork' if is_complex else ''})"
    else:
        query = f"$lapack_geqrf(m, n, best, {ld}, best, best, -1)"
        factor = f"$lapack_geqrf(m, n, {a}, {ld}, tau, work, n_work)"
    query = f"k = min(m, n)\n{query}\nn_work = max(i8($re(best[0])), 1)\n"
    width = "m" if op.mode == "full" else "k"
    product = f"$lapack_{'un' if is_complex else 'or'}gqr(m, {width}, k, {{}}, {ld}, {{}})"
    lines = []
    if op.pivoting:
        lines += ["for j in range(n):", "    order[j] = i4(0)"]
    lines += ["if k > 0:", f"    info = {factor}"]
    if op.pivoting:
        lines += ["for j in range(n):", "    order[j] = i4(i8(order[j]) - 1) if k > 0 else i4(j)"]
    rows = "k" if op.mode in {"economic", "raw"} else "m"
    lines += [
        f"for i in range({rows}):",
        "    for j in range(n):",
        f"        r[i * n + j] = {a}[j * m + i] if i <= j else $T(0)",
    ]
    if makes_q:
        query += f"{product.format('best', 'best, best, -1')}\nn_work = max(n_work, i8($re(best[0])))"
        lines += [
            "for i in range(m * k):",
            "    q[i] = a[i]",
            *(["for i in range(m * k, m * m):", "    q[i] = $T(1) if i % (m + 1) == 0 else $T(0)"] * (width == "m")),
            f"if info == 0 and {width} > 0 and k > 0:",
            f"    info = {product.format('q', 'tau, work, n_work')}",
        ]
    results = {
        "raw": [MatrixResult("h", "columns"), MatrixResult("tau"), MatrixResult("r")],
        "r": [MatrixResult("r")],
    }.get(op.mode, [MatrixResult("q", "columns"), MatrixResult("r")])
    body = MatrixBody(
        operands=[MatrixOperand("a", "columns", into=0) if raw else MatrixOperand("a", "columns", writes=True)],
        results=[*results, *([MatrixResult("order")] if op.pivoting else [])],
        finite=True,
        query=query,
        scratch={
            "work": "T n_work",
            **({} if raw else {"tau": "T k"}),
            **({"rwork": "R 2 * n"} if is_complex and op.pivoting else {}),
        },
        text="\n".join(lines),
    )
    write_matrices(op, node, writer, body)


@TABLE.register(HouseholderProduct)
def lower_householder_product(op: HouseholderProduct, node: TensorNode, writer: GraphWriter) -> None:
    """Call orgqr in place."""
    is_complex = node.inputs[0].type.numpy_dtype.kind == "c"
    call = f"$lapack_{'un' if is_complex else 'or'}gqr(m, n, k, {{}}, max(m, 1), {{}})"
    checked = ["if k > n or n > m:", f"    return {SHAPE}"]
    asked = [call.format("best", "best, best, -1"), "n_work = max(i8($re(best[0])), 1)"]
    body = MatrixBody(
        operands=[MatrixOperand("a", "columns", into=0), MatrixOperand("tau")],
        results=[MatrixResult("q", "columns")],
        query="\n".join([*checked, *asked]),
        scratch={"work": "T n_work"},
        text="\n".join(["if n > 0:", *indented([f"info = {call.format('q', 'tau, work, n_work')}"])]),
    )
    write_matrices(op, node, writer, body)
