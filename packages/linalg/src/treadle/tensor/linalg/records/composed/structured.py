"""Records of structured matrices, and of functions on triangular, banded and positive definite ones."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Unpack

from scipy import linalg as scipy_linalg

from treadle import tensor as tt
from treadle.tensor.linalg.records.matrix_domains import DOMINANT, POSITIVE_DEFINITE
from treadle.testing.expressions import APART, CUBE, MATRIX, POINTS, SCALAR, VECTOR, apart
from treadle.testing.operands import of_shape
from treadle.testing.sample import Operand, Sample, Traits

linalg = tt.linalg
_apart = partial(apart, "composed.linear_algebra_structured")
_LONGER = of_shape((6,), empty=(2,), domain=APART)
_PAIRS = of_shape((2, 4), domain=APART)
_SYSTEM, _POSITIVE = of_shape((3, 3), domain=DOMINANT), of_shape((3, 3), domain=POSITIVE_DEFINITE)
_SIDE = of_shape((3,), domain=APART)


def _both(name: str, *operands: Operand, **traits: Unpack[Traits]) -> Sample:
    """Return a record of a function that has the same name in SciPy."""
    oracle: Callable[..., Any] = getattr(scipy_linalg, name)
    all_traits: Traits = {"wrt": tuple(range(len(operands))), **traits}
    return _apart(f"{name}_{len(operands)}", getattr(linalg, name), oracle, *operands, **all_traits)


_NAMED: tuple[tuple[str, tuple[object, ...]], ...] = (
    ("hilbert", (3,)), ("invhilbert", (3,)), ("helmert", (3, True)), ("pascal", (3, "lower", False)),
    ("invpascal", (3,)), ("dft", (3, "sqrtn")), ("hadamard", (4,)),
)  # fmt: skip


def _named(library: object, x: Any) -> tuple[object, ...]:
    """Return all special matrices that depend only on their size, times a number."""
    return tuple(x * getattr(library, name)(*arguments) for name, arguments in _NAMED)


SAMPLES: tuple[Sample, ...] = (
    _both("toeplitz", VECTOR),
    _both("toeplitz", MATRIX, _LONGER, variants=("plain",)),
    _both("circulant", CUBE),
    _both("hankel", VECTOR),
    _both("hankel", VECTOR, _LONGER),
    _both("companion", _PAIRS, variants=("plain",)),
    _both("fiedler_companion", POINTS, variants=("plain",)),
    _both("leslie", POINTS, of_shape((4,), domain=APART), variants=("plain",)),
    _apart("fiedler", linalg.fiedler, scipy_linalg.fiedler, of_shape((4,), domain=APART), variants=("plain",)),
    _apart("convolution_matrix", lambda x: linalg.convolution_matrix(x, 3, "same"),
           lambda x: scipy_linalg.convolution_matrix(x, 3, "same"), POINTS, variants=("plain",), wrt=(0,)),
    _apart("named_matrices", partial(_named, linalg), partial(_named, scipy_linalg), SCALAR, variants=("plain",),
           kinds=("rewritten",)),
    _apart("cho_factor", lambda a: linalg.cho_factor(a)[0], scipy_linalg.cholesky, _POSITIVE,
           variants=("plain",), wrt=(0,)),
    _apart("solve_triangular_of_vectors", lambda a, b: linalg.solve_triangular(a, b, 1, b_ndim=1),
           lambda a, b: scipy_linalg.solve_triangular(a, b, 1), _SYSTEM, _SIDE, variants=("plain",), wrt=(0, 1)),
)  # fmt: skip
