"""QR factors and products of Householder reflections: the ops, and their functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from treadle.graph import as_flag, composed, static_op
from treadle.tensor.arguments.values import as_choice, as_integer
from treadle.tensor.arrangement.triangles import tril, triu
from treadle.tensor.elementwise.arithmetic import minimum, mul
from treadle.tensor.errors import ShapeError
from treadle.tensor.indexing.gathering import take_along_axis
from treadle.tensor.indexing.ranges import eye
from treadle.tensor.joins.joining import concatenate
from treadle.tensor.lazy import lazy_scipy_module
from treadle.tensor.linalg.matrix_op import REAL_OF, MatrixOp, as_matrices, as_on_error, require_finite
from treadle.tensor.linalg.triangular_systems import SolveTriangular
from treadle.tensor.ops.undefined_gradients import grad_undefined
from treadle.tensor.products.product import adjoint, matmul
from treadle.tensor.shapes.broadcasting import is_zeros
from treadle.tensor.shapes.dimshuffle import expand_dims
from treadle.tensor.shapes.shape import shape_i
from treadle.tensor.sorting.sorting import argsort
from treadle.tensor.types.conversion import cotangent_of, tensors

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from treadle.graph import Variable
    from treadle.tensor.variables.variable import TensorLike, TensorVariable

    QRFactors = TensorVariable | tuple[TensorVariable | tuple[TensorVariable, ...], ...]

__all__ = ["QR", "HouseholderProduct", "householder_product", "qr"]

linalg = lazy_scipy_module("linalg")

_CORES = {
    "full": "(m,m),(m,n)",
    "economic": "(m,min(m,n)),(min(m,n),n)",
    "r": "(m,n)",
    "raw": "(m,n),(min(m,n)),(min(m,n),n)",
}

# How NumPy, which takes whole stacks, calls the modes that it has too.
_OF_NUMPY: Mapping[str, Literal["complete", "reduced"]] = {"full": "complete", "economic": "reduced"}


@static_op
class QR(MatrixOp):
    """QR factors: ``A = Q R`` with orthonormal columns Q and upper triangular R, as LAPACK finds them.

    Outputs by mode: ``"full"``, a square Q and an R of the shape of A; ``"economic"``, as many columns of Q and rows of
    R as the smaller length of A; ``"r"``, only the R of ``"full"``; ``"raw"``, the Householder vectors with R above
    them, their factors tau, and the R of ``"economic"``. The diagonal of R is real; its signs are LAPACK's choice.

    Derivatives hold where the first columns, as many as the smaller length, are linearly independent. The columns that
    ``"full"`` adds to the Q of a tall matrix are an arbitrary basis: derivatives hold for results that depend on the
    space that they span only. Householder vectors have no derivative here.

    Parameters
    ----------
    mode
        What is returned: see above.
    pivoting
        Whether columns are exchanged so that the diagonal of R does not increase in absolute value; one output more,
        their positions in A, int32: ``A[:, P] = Q R``.
    on_error
        What becomes of matrices with elements that are not finite.
    overwrite_a
        Whether the matrix is overwritten, which rewriting decides.
    """

    mode: str = "full"
    pivoting: bool = False
    on_error: str = "nan"
    overwrite_a: bool = False

    check_finite = True

    def __post_init__(self) -> None:
        """Check the choices."""
        super().__post_init__()
        as_choice("QR: mode", self.mode, tuple(_CORES))

    @property
    def overwritable(self) -> Mapping[str, tuple[int, int | None]]:  # type: ignore[override]  # depends on the mode
        """The matrix: Householder vectors take its place, all else needs it as working memory."""
        return {"overwrite_a": (0, 0 if self.mode == "raw" else None)}

    @property
    def signature(self) -> str:  # type: ignore[override]  # depends on the mode
        """Core dimensions."""
        return f"(m,n)->{_CORES[self.mode]}" + (",(n)" if self.pivoting else "")

    def output_dtypes(self, dtype: str) -> Sequence[str]:
        """Return the dtype for all outputs but the positions."""
        kinds = super().output_dtypes(dtype)
        return [*kinds[:-1], "int32"] if self.pivoting else kinds

    def of_matrices(self, *matrices: np.ndarray) -> tuple[np.ndarray, ...]:
        """Factor one matrix with SciPy."""
        (a,) = matrices
        require_finite(a)
        first, *rest = linalg.qr(
            a, overwrite_a=self.overwrite_a and a.flags.writeable, mode=self.mode, pivoting=self.pivoting,
            check_finite=False,
        )  # fmt: skip
        return (*first, *rest) if self.mode == "raw" else (first, *rest)

    def of_stacks(self, *stacks: np.ndarray) -> tuple[np.ndarray, ...] | None:
        """Factor all matrices with NumPy, where it has the mode."""
        if self.pivoting or self.mode not in _OF_NUMPY:
            return None
        require_finite(*stacks)
        q, r = np.linalg.qr(stacks[0], _OF_NUMPY[self.mode])
        return q, r

    def promises(self, fact: str, output: Variable, holds: Callable[[str, Variable], bool]) -> bool:
        """Promise that a square Q is orthogonal."""
        return (
            fact == "orthogonal"
            and self.mode == "full"
            and output.owner is not None
            and output is output.owner.outputs[0]
        )

    @composed
    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> Sequence[Variable | None]:
        """Return the gradient (S. Walter, L. Lehmann, R. Lamour, 2012; of wide matrices D. and J. Roberts, 2020).

        With W = Q^H dQ - dR R^H it is ``(dQ - Q (triu(W, 1) + triu(W, 1)^H + Re diag(W))) R^-H`` for a matrix that is
        not wide. Further columns are linear in the first ones: ``A = [X Y]``, ``R = [U V]``, ``Y = Q V``.
        """
        (a,), factors, of_factors = tensors(inputs), tensors(outputs), tensors(cotangents)
        if self.mode == "raw" and not all(map(is_zeros, of_factors[:2])):
            return [grad_undefined(self, 0, a, "Householder vectors are not differentiated; take Q by another mode")]
        if self.mode in {"r", "raw"}:
            of_r = of_factors[0 if self.mode == "r" else 2]
            q, r, *order = QR("economic", self.pivoting, self.on_error)(a)
            of_q = None
        else:
            q, r, *order = factors
            of_q, of_r = None if is_zeros(of_factors[0]) else of_factors[0], of_factors[1]
        m, n = a.type.shape[-2:]
        k = min(m, n) if m is not None and n is not None else minimum(shape_i(a, a.ndim - 2), shape_i(a, a.ndim - 1))
        is_tall = m is None or n is None or m > n
        is_wide = m is None or n is None or m < n
        if is_tall and self.mode != "economic":
            of_r = of_r[..., :k, :]
            if self.mode == "full":
                r = r[..., :k, :]
                q, more = q[..., :k], q[..., k:]
                if of_q is not None:
                    # The further columns turn with the first ones, which they stay orthogonal to.
                    of_q = of_q[..., :k] - matmul(more, matmul(adjoint(of_q[..., k:]), q))
        of_u = of_r
        if is_wide:
            r, v = r[..., :k], r[..., k:]
            of_u, of_v = of_r[..., :k], of_r[..., k:]
            through_y = matmul(matmul(q, v), adjoint(of_v))
            of_q = through_y if of_q is None else of_q + through_y
        w = -matmul(of_u, adjoint(r))
        if of_q is not None:
            w = w + matmul(adjoint(q), of_q)
        above = triu(w, 1)
        diagonal = mul(w.real, eye(k, dtype=REAL_OF[a.dtype]))
        of_x = -matmul(q, above + adjoint(above) + diagonal)
        if of_q is not None:
            of_x = of_x + of_q
        # X R^-H is the adjoint of R^-1 X^H.
        gradient = adjoint(SolveTriangular(lower=False)(r, adjoint(of_x)))
        if is_wide:
            gradient = concatenate([gradient, matmul(q, of_v)], axis=-1)
        if order:
            gradient = take_along_axis(gradient, expand_dims(argsort(order[0]), -2), -1)
        return [cotangent_of(a, gradient)]


@static_op
class HouseholderProduct(MatrixOp):
    """The first columns of a product of Householder reflections, ``I - tau_i v_i v_i^H`` in this order.

    Inputs: matrices that hold the vectors v_i below the diagonal of their columns, with ones in their place on it; and
    at most as many factors tau as there are columns, which are at most as many as rows.
    """

    signature = "(m,n),(k)->(m,n)"

    def of_matrices(self, *matrices: np.ndarray) -> tuple[np.ndarray, ...]:
        """Multiply with LAPACK."""
        a, tau = matrices
        m, n = a.shape
        if not tau.size <= n <= m:
            msg = f"{self}: rows >= columns >= factors is needed, got the shapes {a.shape} and {tau.shape}."
            raise ShapeError(msg)
        if not tau.size:
            return (np.eye(m, n, dtype=a.dtype),)
        product = linalg.get_lapack_funcs("ungqr" if a.dtype.kind == "c" else "orgqr", (a, tau))
        return (product(a, tau)[0],)

    def decompose(self, *inputs: Variable) -> Sequence[Variable]:
        """Return ``I - V T V^H``, ``T = (I + diag(tau) triu(V^H V, 1))^-1 diag(tau)`` (C. Puglisi, 1992)."""
        a, tau = tensors(inputs)
        m, n, count = shape_i(a, a.ndim - 2), shape_i(a, a.ndim - 1), shape_i(tau, tau.ndim - 1)
        one = eye(m, n, dtype=a.dtype)
        v = tril(a, -1)[..., :count] + one[:, :count]
        scale = expand_dims(tau, -1)
        inner = mul(scale, triu(matmul(adjoint(v), v), 1))
        right = mul(scale, adjoint(v[..., :n, :]))
        solved = SolveTriangular(lower=False, unit_diagonal=True)(inner, right)
        return [one - matmul(v, solved)]


class QRResult(NamedTuple):
    """The two factors, named as in NumPy's result."""

    Q: TensorVariable
    R: TensorVariable


_MODES = {"reduced": "economic", "complete": "full"}


@composed
def qr(
    A: TensorLike,
    mode: str = "full",
    overwrite_a: bool = False,
    pivoting: bool = False,
    lwork: int | None = None,
    *,
    check_finite: bool = True,
    on_error: str = "nan",
) -> QRFactors:
    """Return the QR factors of matrices: ``A = Q @ R`` (as scipy.linalg.qr, and numpy.linalg.qr by its modes' names).

    The last two dimensions are the matrices'.

    Parameters
    ----------
    A
        Matrices ``(..., m, n)``; k is the smaller length.
    mode
        ``"full"`` or ``"complete"``: Q ``(..., m, m)`` and R ``(..., m, n)``; ``"economic"`` or ``"reduced"``: Q
        ``(..., m, k)`` and R ``(..., k, n)``; ``"r"``: R ``(..., m, n)`` alone; ``"raw"``: ``((qr, tau), R)``, where
        ``qr`` and ``tau`` are what `householder_product` takes and R is ``(..., k, n)``.
    pivoting
        Whether to exchange columns so that the diagonal of R does not increase in absolute value. Their positions P,
        int32, are the last result then: ``A[:, P] = Q @ R``.
    overwrite_a, lwork, check_finite
        Taken for SciPy's sake, without effect: rewriting decides where results are computed.
    on_error
        What becomes of a matrix with NaN or infinities: ``"nan"``, NaN for its results; ``"raise"``, a `MatrixError`.

    Notes
    -----
    By Householder reflections of LAPACK: the diagonal of R may be negative. Derivatives (S. Walter, L. Lehmann and R.
    Lamour, 2012; D. and J. Roberts, 2020) are defined where the first k columns are linearly independent; through the
    last m - k columns of a full Q, of results that depend on the space alone which they span; through ``qr`` and
    ``tau`` there are none.

    Examples
    --------
    >>> [x.eval().shape for x in tt.linalg.qr(np.ones((3, 2)), mode="economic")]
    [(3, 2), (2, 2)]
    """
    if lwork is not None:
        as_integer("qr: lwork", lwork)
    for name, flag in (("overwrite_a", overwrite_a), ("check_finite", check_finite)):
        as_flag(f"qr: {name}", flag)
    kind = as_choice("qr: mode", mode, ("full", "economic", "r", "raw", "complete", "reduced"))
    (a,) = as_matrices("qr", A)
    op = QR(_MODES.get(kind, kind), as_flag("qr: pivoting", pivoting), as_on_error("qr", on_error))
    factors = tensors(op(a, return_list=True))
    if op.mode == "raw":
        return (tuple(factors[:2]), *factors[2:])
    if len(factors) == 1:
        return factors[0]
    return tuple(factors) if op.pivoting else QRResult(*factors)


@composed
def householder_product(A: TensorLike, tau: TensorLike) -> TensorVariable:
    """Return the first n columns of products of k Householder reflections (as torch.linalg.householder_product).

    Parameters
    ----------
    A
        Matrices ``(..., m, n)`` that hold the reflections' vectors below the diagonal, as ``qr(a, mode="raw")`` returns
        them; at least as many rows as columns.
    tau
        Their factors ``(..., k)``, at most n of them.

    Raises
    ------
    ShapeError
        If known lengths are not m >= n >= k.

    Examples
    --------
    >>> tt.linalg.householder_product(np.eye(2), np.zeros(2)).eval()
    array([[ 1.,  0.],
           [-0.,  1.]])
    """
    a, factors = as_matrices("householder_product", A, tau, core=(2, 1))
    m, n, k = *a.type.shape[-2:], factors.type.shape[-1]
    known = [length for length in (m, n, k) if length is not None]
    if sorted(known, reverse=True) != known:
        msg = f"householder_product: rows >= columns >= factors is needed, got {a.type} and {factors.type}. Slice them."
        raise ShapeError(msg)
    result: TensorVariable = HouseholderProduct()(a, factors)
    return result
