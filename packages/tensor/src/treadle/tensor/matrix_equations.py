"""Equations for matrices: Sylvester's."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from treadle.config import lazy_module
from treadle.graph import static_op
from treadle.tensor.broadcasting import sum_to
from treadle.tensor.conversion import tensors
from treadle.tensor.matrix_op import MatrixOp, as_on_error, require_finite
from treadle.tensor.product import adjoint

if TYPE_CHECKING:
    from collections.abc import Sequence

    import scipy.linalg

    from treadle.graph import Variable
else:
    scipy = lazy_module("scipy")

__all__ = ["Sylvester"]


@static_op
class Sylvester(MatrixOp):
    """The matrix X with A X + X B = Q.

    There is none, or no single one, where an eigenvalue of A is the negative of one of B. The computation is that of
    Bartels and Stewart (1972), by Schur forms.

    Parameters
    ----------
    on_error
        ``"nan"`` or ``"raise"``: what to do then.
    """

    signature = "(m,m),(n,n),(m,n)->(m,n)"
    check_finite: ClassVar[bool] = True
    on_error: str = "nan"

    def __post_init__(self) -> None:
        """Check the field."""
        as_on_error("Sylvester", self.on_error)

    def of_matrices(self, *matrices: np.ndarray) -> tuple[np.ndarray, ...]:
        """Compute with LAPACK."""
        require_finite(*matrices)
        a, b, q = matrices
        if not q.size:
            return (q,)
        form = "complex" if a.dtype.kind == "c" else "real"
        r, u = scipy.linalg.schur(a, output=form)
        s, v = scipy.linalg.schur(b, output=form)
        (solve,) = scipy.linalg.get_lapack_funcs(("trsyl",), (r, s, q))
        y, scale, info = solve(r, s, u.conj().T @ q @ v)
        if info or scale == 0:
            msg = "an eigenvalue of A is the negative of one of B, or too close to it"
            raise np.linalg.LinAlgError(msg)
        return (u @ (y / scale) @ v.conj().T,)

    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> Sequence[Variable | None]:
        """Solve the adjoint equation, A* W + W B* = cotangent: the gradients are W, -W X* and -X* W."""
        a, b, q = tensors(inputs)
        x, ct = tensors(outputs)[0], tensors(cotangents)[0]
        w = Sylvester()(adjoint(a), adjoint(b), ct)
        return [sum_to(-(w @ adjoint(x)), a), sum_to(-(adjoint(x) @ w), b), sum_to(w, q)]
