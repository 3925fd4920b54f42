"""Sylvester, Lyapunov and Riccati equations: the ops, and their functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from treadle.config import lazy_module
from treadle.graph import composed, static_op
from treadle.tensor.arguments.values import as_choice, check_flags
from treadle.tensor.errors import ShapeError
from treadle.tensor.indexing.ranges import eye
from treadle.tensor.joins.common_shapes import common_lengths
from treadle.tensor.joins.joining import concatenate
from treadle.tensor.linalg.decompositions.qr import QR
from treadle.tensor.linalg.functions.matrix_sign import MatrixSign
from treadle.tensor.linalg.linear_systems import Solve
from treadle.tensor.linalg.matrix_op import (
    MatrixOp,
    as_matrices,
    as_on_error,
    require_finite,
    settled,
)
from treadle.tensor.products.product import adjoint
from treadle.tensor.shapes.broadcasting import broadcast_to, sum_to, zeros_like
from treadle.tensor.shapes.dimshuffle import NEW, dimshuffle
from treadle.tensor.shapes.shape import lengths, reshape, shape_i
from treadle.tensor.types.conversion import as_tensor_variable, tensors

if TYPE_CHECKING:
    from collections.abc import Sequence

    import scipy.linalg

    from treadle.graph import Variable
    from treadle.tensor.variables.variable import TensorLike, TensorVariable
else:
    scipy = lazy_module("scipy")

__all__ = [
    "Riccati", "Sylvester", "solve_continuous_are", "solve_continuous_lyapunov", "solve_discrete_are",
    "solve_discrete_lyapunov", "solve_sylvester",
]  # fmt: skip


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


@static_op
class Riccati(MatrixOp):
    """The stabilizing solution X of an algebraic Riccati equation with Hermitian Q and R.

    Inputs are A, B, Q and R. ``"discrete"``: A* X A - X - A* X B (R + B* X B)**-1 B* X A + Q = 0, where A - B K has
    its eigenvalues inside the unit circle; ``"continuous"``: X A + A* X - X B R**-1 B* X + Q = 0, where those of
    A - B K have negative real parts. K is the gain, (R + B* X B)**-1 B* X A or R**-1 B* X.

    Parameters
    ----------
    time
        ``"discrete"`` or ``"continuous"``.
    on_error
        ``"nan"`` or ``"raise"``: what to do where there is no such solution.
    """

    signature = "(n,n),(n,m),(n,n),(m,m)->(n,n)"
    check_finite: ClassVar[bool] = True
    time: str
    on_error: str = "nan"

    def __post_init__(self) -> None:
        """Check the fields."""
        super().__post_init__()
        as_choice("Riccati: time", self.time, ("discrete", "continuous"))

    def of_matrices(self, *matrices: np.ndarray) -> tuple[np.ndarray, ...]:
        """Compute with SciPy, which orders a Schur form of a pencil of matrices (Van Dooren 1981)."""
        require_finite(*matrices)
        if not matrices[0].size:
            return (matrices[0],)
        solve = scipy.linalg.solve_discrete_are if self.time == "discrete" else scipy.linalg.solve_continuous_are
        dtype = matrices[0].dtype
        try:
            solution = solve(*(x.astype("complex128" if dtype.kind == "c" else "float64") for x in matrices))
        except ValueError as error:
            raise np.linalg.LinAlgError(str(error).rstrip(".")) from error
        return (solution.astype(dtype),)

    def decompose(self, *inputs: Variable) -> Sequence[Variable]:
        """Return X from the sign of a matrix (Roberts 1980), which gives its stable subspace."""
        a, b, q, r = _of_one_batch(tensors(inputs))
        n = shape_i(a, -1)
        one = zeros_like(a) + eye(n, dtype=a.dtype)
        spread = b @ Solve(on_error=self.on_error)(r, adjoint(b))
        if self.time == "continuous":
            hamiltonian = _blocks(a, -spread, -q, -adjoint(a))
        else:
            # The Cayley transform of the pencil: it maps the unit circle, which divides the eigenvalues, to the
            # imaginary axis.
            left, right = _blocks(a, zeros_like(a), -q, one), _blocks(one, spread, zeros_like(a), adjoint(a))
            hamiltonian = Solve(on_error=self.on_error)(left + right, left - right)
        sign = MatrixSign(self.on_error)(hamiltonian)
        # [[I], [X]] spans the space that the sign maps to its negative.
        orthogonal, triangle = QR("economic")(concatenate([sign[..., :n, n:], sign[..., n:, n:] + one], axis=-2))
        right_side = concatenate([sign[..., :n, :n] + one, sign[..., n:, :n]], axis=-2)
        x = Solve(on_error=self.on_error)(triangle, -(adjoint(orthogonal) @ right_side))
        return settled(self, inputs, [(x + adjoint(x)) / 2])

    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> Sequence[Variable | None]:
        """Solve a Lyapunov equation of the closed loop (Kao and Hennequin 2020).

        Through `decompose`: 208 nodes in place of 66.
        """
        a, b, q, r = tensors(inputs)
        x, ct = tensors(outputs)[0], tensors(cotangents)[0]
        ct = (ct + adjoint(ct)) / 2
        if self.time == "discrete":
            gain = Solve()(r + adjoint(b) @ x @ b, adjoint(b) @ x @ a)
            loop = a - b @ gain
            w = stein(loop, ct)
            by_a = 2 * (x @ loop @ w)
        else:
            gain = Solve()(r, adjoint(b) @ x)
            loop = a - b @ gain
            w = Sylvester()(loop, adjoint(loop), -ct)
            by_a = 2 * (x @ w)
        by_b = -(by_a @ adjoint(gain))
        by_r = gain @ w @ adjoint(gain)
        return [sum_to(term, to) for term, to in zip((by_a, by_b, w, by_r), (a, b, q, r), strict=True)]


def _of_one_batch(stacks: Sequence[TensorVariable]) -> list[TensorVariable]:
    if stacks[0].ndim == 2:
        return list(stacks)
    batch = common_lengths("Riccati", [lengths(x)[:-2] for x in stacks])
    return [broadcast_to(x, [*batch, *lengths(x)[-2:]]) for x in stacks]


def _blocks(a: TensorVariable, b: TensorVariable, c: TensorVariable, d: TensorVariable) -> TensorVariable:
    return concatenate([concatenate([a, b], axis=-1), concatenate([c, d], axis=-1)], axis=-2)


def stein(a: TensorVariable, q: TensorVariable, on_error: str = "nan") -> TensorVariable:
    """Return X with X = A X A* + Q, by a Lyapunov equation for the Cayley transform of A (Popov 1964)."""
    one = eye(shape_i(a, -1), dtype=a.dtype)
    turned = Solve(on_error=on_error)(a + one, a - one)
    half = Solve(on_error=on_error)(a + one, q)
    scaled = adjoint(Solve(on_error=on_error)(a + one, adjoint(half)))
    result: TensorVariable = Sylvester(on_error)(turned, adjoint(turned), -2 * scaled)
    return result


def solve_sylvester(A: TensorLike, B: TensorLike, Q: TensorLike, *, on_error: str = "nan") -> TensorVariable:
    """Return X with A X + X B = Q (as scipy.linalg.solve_sylvester), for each of a stack.

    The gradient solves the adjoint equation. PyTorch, and JAX for small matrices, solve one linear system for all
    elements of X, which takes memory for the square of their number.

    Parameters
    ----------
    A, B
        Square matrices, or stacks of them.
    Q
        A matrix with the rows of A and the columns of B.
    on_error
        What becomes of X where there is no single one, an eigenvalue of A being the negative of one of B, and where
        matrices hold NaN or infinities: ``"nan"`` or ``"raise"``.

    Raises
    ------
    ShapeError
        If the shapes are known not to fit.

    Examples
    --------
    >>> tt.linalg.solve_sylvester([[1.0]], [[1.0]], [[4.0]]).eval()
    array([[2.]])
    """
    result: TensorVariable = Sylvester(on_error)(*as_matrices("solve_sylvester", A, B, Q))
    return result


def solve_continuous_lyapunov(A: TensorLike, Q: TensorLike, *, on_error: str = "nan") -> TensorVariable:
    """Return X with A X + X A* = Q (as scipy.linalg.solve_continuous_lyapunov), for each of a stack.

    Parameters
    ----------
    A, Q
        Square matrices of one length, or stacks of them.
    on_error
        What becomes of X where there is no single one, two eigenvalues of A adding up to 0, and where matrices hold
        NaN or infinities: ``"nan"`` or ``"raise"``.

    Raises
    ------
    ShapeError
        If the shapes are known not to fit.

    Examples
    --------
    >>> tt.linalg.solve_continuous_lyapunov([[1.0]], [[4.0]]).eval()
    array([[2.]])
    """
    a, q = as_matrices("solve_continuous_lyapunov", A, Q)
    result: TensorVariable = Sylvester(on_error)(a, adjoint(a), q)
    return result


@composed
def solve_discrete_lyapunov(
    A: TensorLike, Q: TensorLike, method: str | None = "bilinear", *, on_error: str = "nan"
) -> TensorVariable:
    """Return X with A X A* - X + Q = 0 (as scipy.linalg.solve_discrete_lyapunov), for each of a stack.

    Parameters
    ----------
    A, Q
        Square matrices of one length, or stacks of them.
    method
        ``"bilinear"``: by a continuous equation (Popov 1964); ``"direct"``: by one linear system for all elements of X,
        which takes memory for the square of their number. None takes the latter below 10 rows, as SciPy does.
    on_error
        What becomes of X where there is no single one, the product of two eigenvalues of A being 1, and where matrices
        hold NaN or infinities: ``"nan"`` or ``"raise"``.

    Raises
    ------
    ShapeError
        If the shapes are known not to fit.
    ArgumentError
        If `method` is something else.

    Examples
    --------
    >>> tt.linalg.solve_discrete_lyapunov([[0.5]], [[3.0]]).eval()
    array([[4.]])
    """
    kind = as_choice("solve_discrete_lyapunov: method", method, (None, "direct", "bilinear"))
    as_on_error("solve_discrete_lyapunov", on_error)
    a, q = as_matrices("solve_discrete_lyapunov", A, Q)
    sides = [n for x in (a, q) for n in x.type.shape[-2:] if n is not None]
    if len(set(sides)) > 1:
        msg = f"solve_discrete_lyapunov: square matrices of one length are needed, got {a.type} and {q.type}."
        raise ShapeError(msg)
    if kind == "bilinear" or (kind is None and sides and sides[0] >= 10):
        return stein(a, q, on_error)
    batch = range(a.ndim - 2)
    n = shape_i(a, -1)
    left = dimshuffle(a, *batch, a.ndim - 2, NEW, a.ndim - 1, NEW)
    right = dimshuffle(a.conj(), *batch, NEW, a.ndim - 2, NEW, a.ndim - 1)
    product = reshape(left * right, [*lengths(a)[:-2], n * n, n * n])
    elements = reshape(q, [*lengths(q)[:-2], n * n, 1])
    x = Solve(on_error=on_error)(eye(n * n, dtype=a.dtype) - product, elements)
    return reshape(x, [*lengths(x)[:-2], n, n])


def solve_discrete_are(
    A: TensorLike,
    B: TensorLike,
    Q: TensorLike,
    R: TensorLike,
    e: TensorLike | None = None,
    s: TensorLike | None = None,
    balanced: bool = True,
    *,
    on_error: str = "nan",
) -> TensorVariable:
    """Return the stabilizing solution of the discrete Riccati equation (as scipy.linalg.solve_discrete_are).

    It is the X with A* X A - X - A* X B (R + B* X B)**-1 B* X A + Q = 0 for which A - B K has its eigenvalues inside
    the unit circle, where K = (R + B* X B)**-1 B* X A. The gradient solves a Lyapunov equation (Kao and Hennequin
    2020). Backends other than the Python VM need an R that has an inverse.

    Parameters
    ----------
    A, B
        A square matrix and one of as many rows, or stacks of them.
    Q, R
        Hermitian matrices, of the lengths of the rows and the columns of B; their Hermitian parts are taken.
    e, s
        A square matrix and one of the shape of B, in A* X A - E* X E - (A* X B + S) (R + B* X B)**-1 (B* X A + S*) + Q.
    balanced
        Without effect.
    on_error
        What becomes of X where there is no such solution: ``"nan"`` or ``"raise"``.

    Raises
    ------
    ShapeError
        If the shapes are known not to fit.

    Examples
    --------
    >>> tt.linalg.solve_discrete_are([[0.0]], [[1.0]], [[1.0]], [[1.0]]).eval().round(6)
    array([[1.]])
    """
    check_flags("solve_discrete_are", balanced=balanced)
    return _riccati("solve_discrete_are", "discrete", (A, B, Q, R, e, s), on_error)


def solve_continuous_are(
    A: TensorLike,
    B: TensorLike,
    Q: TensorLike,
    R: TensorLike,
    e: TensorLike | None = None,
    s: TensorLike | None = None,
    balanced: bool = True,
    *,
    on_error: str = "nan",
) -> TensorVariable:
    """Return the stabilizing solution of the continuous Riccati equation (as scipy.linalg.solve_continuous_are).

    It is the X with X A + A* X - X B R**-1 B* X + Q = 0 for which the eigenvalues of A - B R**-1 B* X have negative
    real parts. The gradient solves a Lyapunov equation (Kao and Hennequin 2020).

    Parameters
    ----------
    A, B
        A square matrix and one of as many rows, or stacks of them.
    Q, R
        Hermitian matrices, of the lengths of the rows and the columns of B; their Hermitian parts are taken.
    e, s
        A square matrix and one of the shape of B, in E* X A + A* X E - (E* X B + S) R**-1 (B* X E + S*) + Q = 0.
    balanced
        Without effect.
    on_error
        What becomes of X where there is no such solution: ``"nan"`` or ``"raise"``.

    Raises
    ------
    ShapeError
        If the shapes are known not to fit.

    Examples
    --------
    >>> tt.linalg.solve_continuous_are([[0.0]], [[1.0]], [[1.0]], [[1.0]]).eval().round(6)
    array([[1.]])
    """
    check_flags("solve_continuous_are", balanced=balanced)
    return _riccati("solve_continuous_are", "continuous", (A, B, Q, R, e, s), on_error)


# How many matrices an equation of Riccati's always has.
_NEEDED = 4


@composed
def _riccati(what: str, time: str, matrices: Sequence[TensorLike | None], on_error: str) -> TensorVariable:
    """Return the solution; E and S, where they are passed, are absorbed into the other matrices."""
    *_, e, s = matrices
    # Only the last two may be left out.
    needed = [as_tensor_variable(x) for x in matrices[:_NEEDED]]  # type: ignore[arg-type]  # refuses None
    operands = as_matrices(what, *needed, *(x for x in (e, s) if x is not None))
    a, b, q, r = operands[:4]
    q, r = ((x + adjoint(x)) / 2 for x in (q, r))
    solve = Solve()
    if e is not None:
        e_adjoint = adjoint(operands[4])
        a = adjoint(solve(e_adjoint, adjoint(a)))
        q = adjoint(solve(e_adjoint, adjoint(solve(e_adjoint, q))))
    if s is not None:
        mixed = solve(adjoint(operands[4]), operands[-1]) if e is not None else operands[-1]
        share = solve(r, adjoint(mixed))
        a, q = a - b @ share, q - mixed @ share
    result: TensorVariable = Riccati(time, on_error)(a, b, q, r)
    return result
