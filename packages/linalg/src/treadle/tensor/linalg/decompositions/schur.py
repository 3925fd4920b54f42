"""Schur forms of matrices and of pairs of matrices: the ops, and their functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal, overload

import numpy as np

from treadle.config import lazy_module
from treadle.graph import as_flag, static_op
from treadle.tensor.arguments.values import as_choice, as_integer, check_flags
from treadle.tensor.elementwise.cast import cast
from treadle.tensor.linalg.matrix_op import (
    COMPLEX_OF,
    MatrixOp,
    as_matrices,
    as_on_error,
    as_square_matrices,
    require_finite,
)
from treadle.tensor.ops.undefined_gradients import grad_undefined
from treadle.tensor.types.conversion import tensors

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import ModuleType

    from treadle.graph import Variable

    scipy_linalg: ModuleType
    from treadle.tensor.variables.variable import TensorLike, TensorVariable

    Two = tuple[TensorVariable, TensorVariable]
    Three = tuple[TensorVariable, TensorVariable, TensorVariable]
    Four = tuple[TensorVariable, TensorVariable, TensorVariable, TensorVariable]
    Six = tuple[TensorVariable, TensorVariable, TensorVariable, TensorVariable, TensorVariable, TensorVariable]
else:
    scipy_linalg = lazy_module("scipy.linalg")

__all__ = ["QZ", "RealToComplexSchur", "Schur", "ordqz", "qz", "rsf2csf", "schur"]

SORTS = ("lhp", "rhp", "iuc", "ouc", None)

_NO_GRADIENT = "an iteration decides about the order on the diagonal, and about signs; eig and expm have derivatives"


class _SchurForm(MatrixOp):
    """Base of ops that LAPACK computes of finite matrices by an iteration, and that have no derivative."""

    # LAPACK may not terminate for matrices with NaN.
    check_finite: ClassVar[bool] = True

    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> Sequence[Variable | None]:
        """Say that there is no derivative."""
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
        """Return the dtype of both matrices, and int64 for the number of selected eigenvalues."""
        return [dtype, dtype, "int64"][: 2 if self.sort is None else 3]

    def of_matrices(self, *matrices: np.ndarray) -> tuple[np.ndarray, ...]:
        """Compute with SciPy."""
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
        """Return the dtype, and the complex one for alpha."""
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
    """Return alpha and beta; for real matrices LAPACK returns real and imaginary parts of alpha separately."""
    *alpha, beta = parts
    if len(alpha) == 1:
        return alpha[0], beta
    alphas = alpha[0].astype(COMPLEX_OF[beta.dtype.name])
    alphas.imag = alpha[1]
    return alphas, beta


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
        """Convert with SciPy."""
        require_finite(*matrices)
        form: tuple[np.ndarray, ...] = scipy_linalg.rsf2csf(*matrices)
        return form


@overload
def schur(
    A: TensorLike,
    output: str = "real",
    sort: None = None,
    *,
    lwork: int | None = None,
    overwrite_a: bool = False,
    check_finite: bool = True,
    on_error: str = "nan",
) -> Two: ...


@overload
def schur(
    A: TensorLike,
    output: str = "real",
    *,
    sort: str,
    lwork: int | None = None,
    overwrite_a: bool = False,
    check_finite: bool = True,
    on_error: str = "nan",
) -> Three: ...


def schur(
    A: TensorLike,
    output: str = "real",
    sort: str | None = None,
    *,
    lwork: int | None = None,
    overwrite_a: bool = False,
    check_finite: bool = True,
    on_error: str = "nan",
) -> Two | Three:
    """Return T and a unitary Z with A = Z T Z^H, where T is upper triangular (as scipy.linalg.schur).

    There is no derivative. JAX has no order of the eigenvalues and runs on the CPU only, PyTorch has no Schur form.

    Parameters
    ----------
    A
        Square matrices; integers are converted to float64.
    output
        ``"real"`` (``"r"``) leaves real matrices real: T then has 2 x 2 blocks on its diagonal, one for each pair of
        complex eigenvalues. ``"complex"`` (``"c"``) makes them complex first.
    sort
        Which eigenvalues come first on the diagonal: ``"lhp"``, those with real parts below 0, ``"rhp"``, the others,
        ``"iuc"``, those of size 1 at most, ``"ouc"``, the others; None for LAPACK's order. If it is not None, a third
        result says how many they are.
    lwork, overwrite_a, check_finite
        As in SciPy, without effect: backends decide, and matrices are always checked.
    on_error
        What becomes of a matrix that is not finite, for which LAPACK does not converge, or whose eigenvalues cannot be
        put into that order: ``"nan"`` fills its results with NaN, ``"raise"`` raises a `MatrixError`.

    Raises
    ------
    ArgumentError
        For a choice that there is not.

    Examples
    --------
    >>> [x.eval() for x in tt.linalg.schur([[2.0, 0.0], [0.0, 3.0]])]
    [array([[2., 0.],
           [0., 3.]]), array([[1., 0.],
           [0., 1.]])]
    """
    if lwork is not None:
        as_integer("schur: lwork", lwork)
    check_flags("schur", overwrite_a=overwrite_a, check_finite=check_finite)
    op = Schur(as_choice("schur: sort", sort, SORTS), as_on_error("schur", on_error))
    matrices = _of_output("schur", output, as_square_matrices("schur", A))
    return tuple(tensors(op(matrices, return_list=True)))  # type: ignore[return-value]  # two, or three if sorted


def rsf2csf(T: TensorLike, Z: TensorLike, check_finite: bool = True, *, on_error: str = "nan") -> Two:
    """Return the complex Schur form for the real one T, Z (as scipy.linalg.rsf2csf); there is no derivative.

    Parameters
    ----------
    T, Z
        What `schur` returns.
    check_finite
        As in SciPy, without effect: matrices are always checked.
    on_error
        What becomes of what is not finite: ``"nan"`` fills its results with NaN, ``"raise"`` raises a `MatrixError`.

    Examples
    --------
    >>> T, Z = tt.linalg.rsf2csf(np.eye(2), np.eye(2))
    >>> T.eval()
    array([[1.+0.j, 0.+0.j],
           [0.+0.j, 1.+0.j]])
    """
    check_flags("rsf2csf", check_finite=check_finite)
    pair = as_matrices("rsf2csf", as_square_matrices("rsf2csf", T), as_square_matrices("rsf2csf", Z))
    triangular, turned = RealToComplexSchur(as_on_error("rsf2csf", on_error))(*pair)
    return triangular, turned


@overload
def qz(
    A: TensorLike,
    B: TensorLike,
    output: str = "real",
    sort: str | None = None,
    return_eigenvalues: Literal[False] = False,
    *,
    lwork: int | None = None,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    on_error: str = "nan",
) -> Four: ...


@overload
def qz(
    A: TensorLike,
    B: TensorLike,
    output: str = "real",
    sort: str | None = None,
    *,
    return_eigenvalues: Literal[True],
    lwork: int | None = None,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    on_error: str = "nan",
) -> Six: ...


def qz(
    A: TensorLike,
    B: TensorLike,
    output: str = "real",
    sort: str | None = None,
    return_eigenvalues: bool = False,
    *,
    lwork: int | None = None,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    on_error: str = "nan",
) -> Four | Six:
    """Return S, T and unitary Q, Z with A = Q S Z^H and B = Q T Z^H, S and T upper triangular (as scipy.linalg.qz).

    There is no derivative. JAX and PyTorch have no such form.

    Parameters
    ----------
    A, B
        Square matrices; integers are converted to float64.
    output
        ``"real"`` (``"r"``) leaves real matrices real: S then has 2 x 2 blocks on its diagonal, one for each pair of
        complex eigenvalues. ``"complex"`` (``"c"``) makes them complex first.
    sort
        Which eigenvalues alpha / beta come first on the diagonals: ``"lhp"``, those with real parts below 0, ``"rhp"``,
        those with real parts above 0, ``"iuc"``, those of a size below 1, ``"ouc"``, those of a size above 1, to which
        infinite ones belong. None for LAPACK's order.
    return_eigenvalues
        Whether to return S, T, alpha, beta, Q, Z, with alpha complex, as `ordqz`.
    lwork, overwrite_a, overwrite_b, check_finite
        As in SciPy, without effect: backends decide, and matrices are always checked.
    on_error
        What becomes of a pair that is not finite, for which LAPACK does not converge, or whose eigenvalues cannot be
        put into that order: ``"nan"`` fills its results with NaN, ``"raise"`` raises a `MatrixError`.

    Raises
    ------
    ArgumentError
        For a choice that there is not.

    Examples
    --------
    >>> len(tt.linalg.qz(np.eye(2), np.eye(2)))
    4
    """
    if lwork is not None:
        as_integer("qz: lwork", lwork)
    check_flags("qz", overwrite_a=overwrite_a, overwrite_b=overwrite_b, check_finite=check_finite)
    s, t, alpha, beta, q, z = _generalised("qz", A, B, output, sort, on_error)
    return (s, t, alpha, beta, q, z) if as_flag("qz: return_eigenvalues", return_eigenvalues) else (s, t, q, z)


def ordqz(
    A: TensorLike,
    B: TensorLike,
    sort: str | None = None,
    output: str = "real",
    *,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    on_error: str = "nan",
) -> Six:
    """Return S, T, alpha, beta, Q, Z with A = Q S Z^H and B = Q T Z^H, in an order (as scipy.linalg.ordqz).

    Parameters are those of `qz`; `sort` is ``"lhp"`` in SciPy unless given, and None here.

    Examples
    --------
    >>> len(tt.linalg.ordqz(np.eye(2), np.eye(2)))
    6
    """
    check_flags("ordqz", overwrite_a=overwrite_a, overwrite_b=overwrite_b, check_finite=check_finite)
    return _generalised("ordqz", A, B, output, sort, on_error)


def _generalised(what: str, a: TensorLike, b: TensorLike, output: str, sort: str | None, on_error: str) -> Six:
    op = QZ(as_choice(f"{what}: sort", sort, SORTS), as_on_error(what, on_error))
    pair = as_matrices(what, as_square_matrices(what, a), as_square_matrices(what, b))
    s, t, alpha, beta, q, z = op(*(_of_output(what, output, x) for x in pair))
    return s, t, alpha, beta, q, z


def _of_output(what: str, output: str, x: TensorVariable) -> TensorVariable:
    """Return matrices as complex ones if the form is to be complex."""
    chosen = as_choice(f"{what}: output", output, ("real", "complex", "r", "c"))
    return cast(x, COMPLEX_OF[x.dtype]) if chosen in {"complex", "c"} else x
