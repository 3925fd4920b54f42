"""QR factors and products of Householder reflections in C, by LAPACK."""

from __future__ import annotations

from treadle.link.c import TABLE, Unit
from treadle.tensor import TensorNode
from treadle.tensor.linalg.decompositions.qr import QR, HouseholderProduct
from treadle.tensor.linalg.lower.c.writing.matrices import MatrixBody, MatrixOperand, MatrixResult, write_matrices

# The rules take complex numbers too.
TAKES_COMPLEX = True

# Copies the upper triangle of the factored matrix, with zeros below it.
_TRIANGLE = """
  for (int64_t j = 0; j < n; j++) for (int64_t i = 0; i < {rows}; i++)
    r[j * ld_r + i] = i <= j ? {a}[j * ld_{a} + i] : 0;"""
_VECTORS = """
  for (int64_t j = 0; j < k; j++) memcpy(q + j * ld_q, a + j * ld_a, (size_t)m * sizeof *a);
  ${product}(&m, &{columns}, &k, q, &ld_q, tau, work, &n_work, &info);"""


@TABLE.register(QR)
def qr(op: QR, node: TensorNode, unit: Unit) -> None:
    """Write the calls of geqrf or geqp3, and of orgqr or ungqr for vectors."""
    is_complex = node.inputs[0].type.numpy_dtype.kind == "c"
    product = "ungqr" if is_complex else "orgqr"
    # The array that the matrix is factored in.
    a = {"r": "r", "raw": "h"}.get(op.mode, "a")
    results = [MatrixResult(name, "columns") for name in {"r": "r", "raw": "h tau r"}.get(op.mode, "q r").split()]
    query = "int ask = -1, at = 0, k = m < n ? m : n; $T best = 1, more = 1; $R real = 1;"
    query += "\n    (void)at, (void)k, (void)more, (void)real;\n    "
    scratch = {"work": "T (int)($re(best) > $re(more) ? $re(best) : $re(more))"}
    text = "int k = m < n ? m : n;\n  (void)k;\n  "
    asked, worked = f"&m, &n, &best, &ld_{a}", f"&m, &n, {a}, &ld_{a}"
    if op.pivoting:
        results.append(MatrixResult("order"))
        routines = {"geqp3": "iixiixxiri" if is_complex else "iixiixxii"}
        query += f"$geqp3({asked}, &at, &best, &best, &ask{', &real' if is_complex else ''}, &info);"
        call = f"$geqp3({worked}, order, tau, work, &n_work{', rwork' if is_complex else ''}, &info);"
        # Zeros allow any column to come first.
        text += f"for (int j = 0; j < n; j++) order[j] = 0;\n  {call}\n  for (int j = 0; j < n; j++) order[j]--;"
        if is_complex:
            scratch["rwork"] = "R 2 * (int64_t)n"
    else:
        routines = {"geqrf": "iixixxii"}
        query += f"$geqrf({asked}, &best, &best, &ask, &info);"
        text += f"$geqrf({worked}, tau, work, &n_work, &info);"
    if op.mode != "raw":
        scratch["tau"] = "T k"
    rows = {"full": "m", "r": "m"}.get(op.mode, "k")
    text += _TRIANGLE.format(a=a, rows=rows)
    if op.mode in {"full", "economic"}:
        routines[product] = "iiixixxii"
        query += f"\n    ${product}(&m, &{rows}, &k, &best, &ld_q, &best, &more, &ask, &info);"
        text += _VECTORS.format(product=product, columns=rows)
    body = MatrixBody(
        operands=[MatrixOperand("a", "columns", writes=True, into=None if a == "a" else 0)],
        results=results,
        routines=routines,
        query=query,
        scratch=scratch,
        text=text,
    )
    write_matrices(op, node, unit, body)


@TABLE.register(HouseholderProduct)
def householder_product(op: HouseholderProduct, node: TensorNode, unit: Unit) -> None:
    """Write the call of orgqr or ungqr, in the memory of the result."""
    product = "ungqr" if node.inputs[0].type.numpy_dtype.kind == "c" else "orgqr"
    body = MatrixBody(
        operands=[MatrixOperand("a", "columns", into=0), MatrixOperand("tau")],
        results=[MatrixResult("q", "columns")],
        routines={product: "iiixixxii"},
        query=f"int ask = -1; $T best = 1;\n    ${product}(&m, &n, &k, &best, &ld_q, &best, &best, &ask, &info);",
        scratch={"work": "T (int)$re(best)"},
        text=f"${product}(&m, &n, &k, q, &ld_q, tau, work, &n_work, &info);",
    )
    write_matrices(op, node, unit, body)
