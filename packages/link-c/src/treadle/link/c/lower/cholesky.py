"""Cholesky factors, and solutions by them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.link.c import small_matrices
from treadle.link.c.matrices import Made, MatrixBody, Taken, write_matrices
from treadle.link.c.substitution import ROUTINES, substituted
from treadle.link.c.table import TABLE
from treadle.tensor import Cholesky, CholeskySolve

if TYPE_CHECKING:
    from treadle.link.c.unit import Unit
    from treadle.tensor import TensorNode


@TABLE.register(Cholesky)
def cholesky(op: Cholesky, node: TensorNode, unit: Unit) -> None:
    """Write the call of potrf, on the memory of the result."""
    body = MatrixBody(
        takes=[Taken("a", into=0, half="lower" if op.lower else "upper")],
        makes=[Made("l")],
        routines={"potrf": "cixii"},
        text=f'$potrf("{"U" if op.lower else "L"}", &m, l, &ld_l, &info);',
        small=small_matrices.factored("l", op.lower) + small_matrices.cleared("l", op.lower),
        alone="m <= 24",
    )
    write_matrices(op, node, unit, body)


@TABLE.register(CholeskySolve)
def cholesky_solve(op: CholeskySolve, node: TensorNode, unit: Unit) -> None:
    """Write the two substitutions: with L and L^H, or with U^H and U."""
    body = MatrixBody(
        takes=[Taken("a", half="lower" if op.lower else "upper"), Taken("b", into=0)],
        makes=[Made("x")],
        routines=ROUTINES,
        text="if (m) {{\n  {}\n  {}\n  }}".format(
            *(substituted("a", "x", lower=op.lower, adjoint=adjoint) for adjoint in (not op.lower, op.lower))
        ),
        small=small_matrices.solved("a", "x", op.lower),
    )
    write_matrices(op, node, unit, body)
