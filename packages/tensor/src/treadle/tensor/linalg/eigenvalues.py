"""Functions of eigenvalues and eigenvectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, overload

from treadle.config import text_of
from treadle.graph import as_flag
from treadle.tensor.arguments import as_choice, as_integer, as_items
from treadle.tensor.eigenvalues import Eigh, Eigvalsh
from treadle.tensor.errors import ArgumentError
from treadle.tensor.matrix_op import as_matrices, as_on_error

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.tensor.variable import TensorLike, TensorVariable

__all__ = ["eigh", "eigvalsh"]

_STANDARD = ("ev", "evd", "evr", "evx")
_GENERALISED = ("gv", "gvd", "gvx")


class EighResult(NamedTuple):
    """Eigenvalues, and matrices of which each column is an eigenvector."""

    eigenvalues: TensorVariable
    eigenvectors: TensorVariable


@overload
def eigh(
    a: TensorLike,
    b: TensorLike | str | None = None,
    lower: bool = True,
    UPLO: str | None = None,  # noqa: N803 - NumPy's name
    driver: str | None = "evr",
    *,
    eigvals_only: Literal[False] = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    type: int = 1,
    check_finite: bool = True,
    subset_by_index: Sequence[int] | None = None,
    subset_by_value: None = None,
    on_error: str = "nan",
) -> EighResult: ...


@overload
def eigh(
    a: TensorLike,
    b: TensorLike | str | None = None,
    lower: bool = True,
    UPLO: str | None = None,  # noqa: N803 - NumPy's name
    driver: str | None = "evr",
    *,
    eigvals_only: Literal[True],
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    type: int = 1,
    check_finite: bool = True,
    subset_by_index: Sequence[int] | None = None,
    subset_by_value: None = None,
    on_error: str = "nan",
) -> TensorVariable: ...


def eigh(
    a: TensorLike,
    b: TensorLike | str | None = None,
    lower: bool = True,
    UPLO: str | None = None,  # noqa: N803 - NumPy's name
    driver: str | None = "evr",
    *,
    eigvals_only: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    type: int = 1,
    check_finite: bool = True,
    subset_by_index: Sequence[int] | None = None,
    subset_by_value: None = None,
    on_error: str = "nan",
) -> EighResult | TensorVariable:
    """Return the eigenvalues and eigenvectors of symmetric or Hermitian matrices (as scipy.linalg.eigh).

    The eigenvalues are real and ascend; ``v[..., :, i]`` is the eigenvector of ``w[..., i]``, of length 1. Signs,
    phases, and the basis where eigenvalues coincide are LAPACK's choice; derivatives hold for what does not depend on
    it (see `Eigh`).

    Parameters
    ----------
    a
        Matrices; integers are converted to float64.
    b
        A letter here is taken for `UPLO`, which stands second in numpy.linalg.eigh.
    lower
        Whether the lower triangle of the matrices is read, or the upper one. What is not read has gradient 0.
    UPLO
        ``"L"`` or ``"U"``, in place of `lower`.
    driver, overwrite_a, overwrite_b, check_finite
        As in SciPy, without effect: backends choose the routine, and what is read is always checked.
    eigvals_only
        Whether to return the eigenvalues alone, as `eigvalsh`.
    type
        Which generalised problem.
    subset_by_index
        The first and the last of the eigenvalues wanted, counted from 0; all if None.
    subset_by_value
        None: how many eigenvalues lie between two values is known only when the program runs.
    on_error
        What becomes of a matrix that is not finite in what is read, or for which LAPACK does not converge: ``"nan"``
        fills its results with NaN, ``"raise"`` raises a `MatrixError`.

    Raises
    ------
    ArgumentError
        For a choice that there is not.

    Examples
    --------
    >>> import numpy as np
    >>> w, v = eigh(np.array([[2.0, 1.0], [1.0, 2.0]]))
    >>> w.eval()
    array([1., 3.])
    """
    del overwrite_a, overwrite_b, check_finite
    matrices, low = _arguments("eigh", a, b, lower, UPLO, driver)
    del type
    chosen = _subset("eigh", subset_by_index, subset_by_value, matrices.type.shape[-1])
    failing = as_on_error("eigh", on_error)
    if as_flag("eigh: eigvals_only", eigvals_only):
        values: TensorVariable = Eigvalsh(low, failing)(matrices)
        return values if chosen is None else values[..., chosen]
    w, v = Eigh(low, failing)(matrices)
    return EighResult(w, v) if chosen is None else EighResult(w[..., chosen], v[..., chosen])


def eigvalsh(
    a: TensorLike,
    b: TensorLike | str | None = None,
    lower: bool = True,
    UPLO: str | None = None,  # noqa: N803 - NumPy's name
    *,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    type: int = 1,
    check_finite: bool = True,
    subset_by_index: Sequence[int] | None = None,
    subset_by_value: None = None,
    driver: str | None = None,
    on_error: str = "nan",
) -> TensorVariable:
    """Return the eigenvalues of symmetric or Hermitian matrices, ascending (as scipy.linalg.eigvalsh).

    Parameters are those of `eigh`.
    """
    return eigh(
        a, b, lower, UPLO, driver, eigvals_only=True, overwrite_a=overwrite_a, overwrite_b=overwrite_b, type=type,
        check_finite=check_finite, subset_by_index=subset_by_index, subset_by_value=subset_by_value, on_error=on_error,
    )  # fmt: skip


def _arguments(
    what: str, a: TensorLike, b: TensorLike | str | None, lower: bool, uplo: str | None, driver: str | None
) -> tuple[TensorVariable, bool]:
    """Return the matrices, and whether their lower triangles are read."""
    if b is not None and not isinstance(b, str):
        msg = f"{what}: the generalised problem is not computed yet, got b={text_of(b)}. Use inv(b) @ a with eig."
        raise ArgumentError(msg)
    letter = b if isinstance(b, str) else uplo
    if isinstance(letter, str):
        letter = letter.upper()
    chosen = as_choice(f"{what}: UPLO", letter, ("L", "U", None))
    as_choice(f"{what}: driver", driver, (*_STANDARD, *_GENERALISED, None))
    (matrices,) = as_matrices(what, a)
    return matrices, as_flag(f"{what}: lower", lower) if chosen is None else chosen == "L"


def _subset(what: str, by_index: Sequence[int] | None, by_value: object, n: int | None) -> slice | None:
    """Return which eigenvalues are wanted, None for all."""
    if by_value is not None:
        msg = (
            f"{what}: how many eigenvalues lie between two values is known only when the program runs, got "
            f"subset_by_value={text_of(by_value)}. Compute all, and select among them."
        )
        raise ArgumentError(msg)
    if by_index is None:
        return None
    ends = [as_integer(f"{what}: subset_by_index", k) for k in as_items(f"{what}: subset_by_index", by_index)]
    if len(ends) != 2 or not 0 <= ends[0] <= ends[1] or (n is not None and ends[1] >= n):
        most = "less than their number" if n is None else f"{n - 1} at most"
        msg = f"{what}: subset_by_index must be two positions in ascending order, from 0, {most}, got {ends}."
        raise ArgumentError(msg)
    return slice(ends[0], ends[1] + 1)
