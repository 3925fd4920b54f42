"""Systems of linear equations."""

from __future__ import annotations

from treadle.link.c import TABLE, Unit, ctype
from treadle.tensor import TensorNode
from treadle.tensor.linalg.linear_systems import Solve
from treadle.tensor.linalg.lower.c.writing import small_matrices
from treadle.tensor.linalg.lower.c.writing.matrices import MatrixBody, MatrixOperand, MatrixResult, write_matrices
from treadle.tensor.linalg.lower.c.writing.substitution import EXCHANGE, ROUTINES, substituted

# The rules take complex numbers too.
TAKES_COMPLEX = True


@TABLE.register(Solve)
def solve(op: Solve, node: TensorNode, unit: Unit) -> None:
    """Write the factorisation that the assumed structure of A allows, and the substitutions."""
    if op.assume_a == "gen":
        body = _GENERAL
    elif op.assume_a == "pos":
        body = _positive(op.lower)
    else:
        hermitian = op.assume_a == "her" and ctype(node.inputs[0]).kind == "c"
        body = _symmetric(op.lower, "hesv" if hermitian else "sysv")
    write_matrices(op, node, unit, body)


# A matrix in C order, which LAPACK sees as its transpose, is factored as it lies: A^T = P L U, A = U^T L^T P^T.
_GENERAL = MatrixBody(
    operands=[MatrixOperand("a", "either", writes=True), MatrixOperand("b", into=0)],
    results=[MatrixResult("x")],
    routines={"getrf": "iixiii", "getrs": "ciixiixii", "blas:trsm": "cccciixxixi"},
    scratch={"pivots": "int m"},
    before=EXCHANGE,
    text="""\
$getrf(&m, &m, a, &ld_a, pivots, &info);
  if (info || !n || !m) return info;
  $T one = 1;
  if (n == 1) {
    $getrs(t_a ? "N" : "T", &m, &n, a, &ld_a, pivots, x, &m, &info);
  } else if (t_a) {
    @_exchange(x, ld_x, n, pivots, 1, m, 0);
    $trsm("R", "L", "T", "U", &n, &m, &one, a, &ld_a, x, &ld_x);
    $trsm("R", "U", "T", "N", &n, &m, &one, a, &ld_a, x, &ld_x);
  } else {
    $trsm("R", "U", "N", "N", &n, &m, &one, a, &ld_a, x, &ld_x);
    $trsm("R", "L", "N", "U", &n, &m, &one, a, &ld_a, x, &ld_x);
    @_exchange(x, ld_x, n, pivots, 1, m, 1);
  }""",
    small=small_matrices.eliminated("a", x="x") + small_matrices.substituted("a", "x", lower=False),
    alone="n == 1 ? m <= 20 : m <= 8",
)


def _positive(lower: bool) -> MatrixBody:
    both = [substituted("a", "x", lower=lower, adjoint=adjoint) for adjoint in (not lower, lower)]
    return MatrixBody(
        operands=[MatrixOperand("a", writes=True, half="lower" if lower else "upper"), MatrixOperand("b", into=0)],
        results=[MatrixResult("x")],
        routines={"potrf": "cixii", **ROUTINES},
        text=f'$potrf("{"U" if lower else "L"}", &m, a, &ld_a, &info);\n  if (!info && m) {{ {" ".join(both)} }}',
        small=small_matrices.factored("a", lower) + small_matrices.solved("a", "x", lower),
        alone="m <= 8",
    )


def _symmetric(lower: bool, routine: str) -> MatrixBody:
    letter = "L" if lower else "U"
    return MatrixBody(
        operands=[
            MatrixOperand("a", "columns", writes=True, half="lower" if lower else "upper"),
            MatrixOperand("b", "columns", into=0),
        ],
        results=[MatrixResult("x", "columns")],
        routines={routine: "ciixiixixii"},
        query=f"int none, ask = -1; $T best = 1;"
        f'${routine}("{letter}", &m, &n, &best, &ld_a, &none, &best, &ld_x, &best, &ask, &info);',
        scratch={"pivots": "int m", "work": "T (int)$re best"},
        text=f'${routine}("{letter}", &m, &n, a, &ld_a, pivots, x, &ld_x, work, &n_work, &info);',
    )
