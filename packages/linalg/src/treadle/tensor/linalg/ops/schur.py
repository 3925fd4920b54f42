"""Schur forms of matrices and of pairs of them: the ops behind `treadle.tensor.linalg.schur`, `qz` and `ordqz`."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from treadle.config import lazy_module
from treadle.graph import static_op
from treadle.tensor.arguments.values import as_choice
from treadle.tensor.linalg.ops.matrix_op import COMPLEX_OF, MatrixOp, require_finite
from treadle.tensor.ops.undefined_gradients import grad_undefined

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import ModuleType

    from treadle.graph import Variable

    scipy_linalg: ModuleType
else:
    scipy_linalg = lazy_module("scipy.linalg")

__all__ = ["QZ", "RealToComplexSchur", "Schur"]

SORTS = ("lhp", "rhp", "iuc", "ouc", None)
_NO_GRADIENT = "an iteration decides about the order on the diagonal, and about signs; eig and expm have derivatives"


class _SchurForm(MatrixOp):
    """Base of ops that LAPACK computes of finite matrices by an iteration, and that have no derivative."""

    # LAPACK may not end with NaN.
    check_finite: ClassVar[bool] = True

    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> Sequence[Variable | None]:
        """Say that there is none."""
        return [grad_undefined(self, at, x, _NO_GRADIENT) for at, x in enumerate(inputs)]


@static_op
class Schur(_SchurForm):
    """Schur forms: T and a unitary Z with A = Z T Z^H.

    T is upper triangular for complex matrices; for real ones it has 2 x 2 blocks on its diagonal, one for each pair of
    complex eigenvalues.

    Parameters
    ----------
    sort
        Which eigenvalues come first on the diagonal: those in the left half-plane, ``"lhp"`` (real part below 0), or
        the right one, ``"rhp"``, inside the unit circle, ``"iuc"`` (or on it), or outside, ``"ouc"``. Their number is
        a third output then, int64. None for LAPACK's order.
    on_error
        What becomes of matrices that are not finite, for which LAPACK does not converge, or whose eigenvalues cannot
        be put into that order.
    """

    sort: str | None = None
    on_error: str = "nan"

    def __post_init__(self) -> None:
        """Check the choices."""
        super().__post_init__()
        as_choice("Schur: sort", self.sort, SORTS)

    @property
    def signature(self) -> str:  # type: ignore[override]  # one output more if sorted
        """Core dimensions."""
        return "(m,m)->(m,m),(m,m)" if self.sort is None else "(m,m)->(m,m),(m,m),()"

    def output_dtypes(self, dtype: str) -> Sequence[str]:
        """Return the dtype, and that of the number."""
        return [dtype, dtype, "int64"][: 2 if self.sort is None else 3]

    def of_matrices(self, *matrices: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return SciPy's form."""
        (a,) = matrices
        require_finite(a)
        form: tuple[np.ndarray, ...] = scipy_linalg.schur(
            a, "real" if a.dtype.kind == "f" else "complex", sort=self.sort
        )
        return form

    def promises(self, fact: str, output: Variable, holds: Callable[[str, Variable], bool]) -> bool:
        """Promise that Z is orthogonal, and that a complex T is triangular."""
        if output.owner is None or output not in output.owner.outputs[:2]:
            return False
        if output is output.owner.outputs[1]:
            return fact == "orthogonal"
        return fact == "upper_triangular" and output.type.numpy_dtype.kind == "c"  # type: ignore[attr-defined]


@static_op
class QZ(_SchurForm):
    """Generalised Schur forms of pairs of matrices: A = Q S Z^H and B = Q T Z^H with unitary Q and Z.

    Outputs: S, T, alpha, beta, Q, Z. T is upper triangular, and S as the T of `Schur`. The eigenvalues of the pair are
    alpha / beta, which may be infinite; alpha is complex.

    Parameters
    ----------
    sort
        Which eigenvalues come first on the diagonals, as for `Schur`, but none on the imaginary axis or the unit circle
        does. Infinite ones lie outside of it, and in no half-plane.
    on_error
        What becomes of pairs that are not finite, for which LAPACK does not converge, or whose eigenvalues cannot be
        put into that order.
    """

    sort: str | None = None
    on_error: str = "nan"

    signature = "(m,m),(m,m)->(m,m),(m,m),(m),(m),(m,m),(m,m)"

    def __post_init__(self) -> None:
        """Check the choices."""
        super().__post_init__()
        as_choice("QZ: sort", self.sort, SORTS)

    def output_dtypes(self, dtype: str) -> Sequence[str]:
        """Return the dtype, but for alpha its complex one."""
        return [dtype, dtype, COMPLEX_OF[dtype], dtype, dtype, dtype]

    def of_matrices(self, *matrices: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return the form by LAPACK's gges, sorted by its tgsen."""
        a, b = matrices
        require_finite(a, b)
        if not a.size:
            return a, b, np.zeros(0, COMPLEX_OF[a.dtype.name]), np.zeros(0, a.dtype), a, b
        gges, tgsen = scipy_linalg.get_lapack_funcs(("gges", "tgsen"), (a, b))
        s, t, _, *values, q, z, _, info = gges(lambda *_: None, a, b, sort_t=0)
        if info:
            msg = "the QZ iteration did not converge"
            raise np.linalg.LinAlgError(msg)
        if self.sort is not None:
            first = self.selected(*_values(values))
            work = {"lwork": 4 * len(a) + 16} if a.dtype.kind == "f" else {"lwork": 1}
            s, t, *values, q, z, _, _, _, _, info = tgsen(first, s, t, q, z, ijob=0, liwork=1, **work)
        if info:
            msg = "the eigenvalues cannot be put into the order that is wanted"
            raise np.linalg.LinAlgError(msg)
        return s, t, *_values(values), q, z

    def selected(self, alpha: np.ndarray, beta: np.ndarray) -> np.ndarray:
        """Return which eigenvalues come first."""
        with np.errstate(all="ignore"):
            ratio = alpha / beta
        size: np.ndarray = abs(ratio)
        regular = {"lhp": ratio.real < 0, "rhp": ratio.real > 0, "iuc": size < 1, "ouc": size > 1}[self.sort or "lhp"]
        first: np.ndarray = np.where(beta == 0, (alpha != 0) & (self.sort == "ouc"), regular)
        return first

    def promises(self, fact: str, output: Variable, holds: Callable[[str, Variable], bool]) -> bool:
        """Promise that Q and Z are orthogonal, and T triangular."""
        if output.owner is None:
            return False
        at = output.owner.outputs.index(output)
        return (fact == "orthogonal" and at >= 4) or (fact == "upper_triangular" and at == 1)


def _values(parts: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return alpha and beta; LAPACK has the parts of alpha apart for real matrices."""
    *alpha, beta = parts
    if len(alpha) == 1:
        return alpha[0], beta
    whole = alpha[0].astype(COMPLEX_OF[beta.dtype.name])
    whole.imag = alpha[1]
    return whole, beta


@static_op
class RealToComplexSchur(_SchurForm):
    """Complex Schur forms made of real ones, T and Z, by a rotation for each 2 x 2 block on the diagonal.

    Parameters
    ----------
    on_error
        What becomes of matrices that are not finite.
    """

    on_error: str = "nan"

    signature = "(m,m),(m,m)->(m,m),(m,m)"

    def output_dtypes(self, dtype: str) -> Sequence[str]:
        """Return the complex dtype."""
        return [COMPLEX_OF[dtype]] * 2

    def of_matrices(self, *matrices: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return what SciPy makes of them."""
        require_finite(*matrices)
        form: tuple[np.ndarray, ...] = scipy_linalg.rsf2csf(*matrices)
        return form
