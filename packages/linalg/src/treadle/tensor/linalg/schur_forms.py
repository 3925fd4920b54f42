"""Functions of Schur forms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, overload

from treadle.graph import as_flag
from treadle.tensor.arguments.values import as_choice, as_integer, check_flags
from treadle.tensor.elementwise.cast import cast
from treadle.tensor.linalg.ops.matrix_op import COMPLEX_OF, as_matrices, as_on_error, as_square_matrices
from treadle.tensor.linalg.ops.schur import QZ, SORTS, RealToComplexSchur, Schur
from treadle.tensor.types.conversion import tensors

if TYPE_CHECKING:
    from treadle.tensor.variables.variable import TensorLike, TensorVariable

    Two = tuple[TensorVariable, TensorVariable]
    Three = tuple[TensorVariable, TensorVariable, TensorVariable]
    Four = tuple[TensorVariable, TensorVariable, TensorVariable, TensorVariable]
    Six = tuple[TensorVariable, TensorVariable, TensorVariable, TensorVariable, TensorVariable, TensorVariable]

__all__ = ["ordqz", "qz", "rsf2csf", "schur"]


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
