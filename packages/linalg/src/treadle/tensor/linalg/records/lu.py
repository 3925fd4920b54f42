"""Records of LU factors, of solving with them, and of permutations from pivots."""

from __future__ import annotations

from functools import partial
from typing import Unpack

import numpy as np
from scipy import linalg as scipy_linalg

from treadle import tensor as tt
from treadle.testing.domain import UNIT, Array
from treadle.testing.operands import of_shape, positions
from treadle.testing.sample import DISCRETE, FLOATS, NUMBERS, Function, Operand, Sample, Traits, costly

F = "lu"
COMPLEX = ("complex64", "complex128")
LEFT_OUT = {
    **dict.fromkeys((tt.LU, tt.LUFactor, tt.LUSolve), DISCRETE),
    tt.PivotToPermutations: tuple(dtype for dtype in ("bool", *NUMBERS) if dtype not in {"int32", "int64"}),
}
_VARIANTS = ("plain", "empty", "fortran", "strided")
_STACK = of_shape((2, 3, 3), empty=(2, 0, 0), domain=UNIT)
_TALL = of_shape((4, 3), empty=(4, 0), domain=UNIT)
_WIDE = of_shape((2, 2, 4), empty=(2, 0, 4), domain=UNIT)
_PIVOTS = np.array([2, 1, 2], "int32")
_ORDER = [2, 1, 0]


def _regular(x: Array) -> Array:
    return np.asarray(x + (3 * np.eye(x.shape[-1])).astype("int8"))


def _sample(name: str, build: Function, oracle: Function, *operands: Operand, **record: Unpack[Traits]) -> Sample:
    traits: Traits = {"dtypes": (*FLOATS, *COMPLEX), "variants": _VARIANTS, "wrt": (0,), **record}
    traits["tolerances"] = {
        "float32": (1e-4, 1e-4), "complex64": (1e-4, 1e-4), "float64": (1e-10, 1e-10), "complex128": (1e-10, 1e-10),
    }  # fmt: skip
    return Sample(name, F, build, lambda *x: _tuple(oracle(*x)), operands, **traits)


def _tuple(factors: object) -> object:
    """Return SciPy's results as a tuple; for stacks it returns a list."""
    return tuple(factors) if isinstance(factors, list) else factors


def _solved(factor: Array, b: Array, trans: int = 0) -> Array:
    low = np.tril(factor, -1) + np.eye(3, dtype=factor.dtype)
    a = (low @ np.triu(factor))[..., _ORDER, :]
    return np.linalg.solve(a.swapaxes(-1, -2) if trans == 1 else a, b)


def _solve(name: str, trans: int, **record: Unpack[Traits]) -> Sample:
    def build(x: tt.TensorVariable, b: tt.TensorVariable) -> object:
        return tt.linalg.lu_solve((x + 3 * tt.eye(3, dtype="int8"), _PIVOTS), b, trans)

    operands = of_shape((2, 3, 3), broadcast=(1, 3, 3), domain=UNIT), of_shape((2, 3, 2))
    record = {"variants": ("plain", "broadcast", "fortran"), "wrt": (0, 1), **record}
    return _sample(name, build, lambda x, b: _solved(_regular(x), b, trans), *operands, **record)


SAMPLES: tuple[Sample, ...] = costly(
    ("pytorch-once",),
    _sample("lu", tt.linalg.lu, scipy_linalg.lu, _STACK, order=1),
    _sample("lu_of_wide", partial(tt.linalg.lu, p_indices=True), partial(scipy_linalg.lu, p_indices=True), _WIDE,
            order=1),
    _sample("lu_of_tall", partial(tt.linalg.lu, permute_l=True, on_error="raise"),
            partial(scipy_linalg.lu, permute_l=True), _TALL, order=1),
    _sample("lu_factor", tt.linalg.lu_factor, scipy_linalg.lu_factor, _STACK),
    _sample("lu_factor_of_tall", tt.linalg.lu_factor, scipy_linalg.lu_factor, _TALL, order=1),
    _sample("lu_factor_of_wide", tt.linalg.lu_factor, scipy_linalg.lu_factor, _WIDE, order=1),
    _solve("lu_solve", 0),
    _solve("lu_solve_transposed", 1, order=1),
    Sample("pivot_to_permutation", F, tt.linalg.pivot_to_permutation, lambda _: np.array([3, 2, 0, 1]),
           (positions(2, 3, 3, 3, dtype="int32"),), dtypes=("int32",), variants=("plain", "strided")),
    Sample("pivot_to_permutation_inverse", F, tt.PivotToPermutations(inverse=True), lambda _: np.array([2, 3, 1, 0]),
           (positions(2, 3, 3, 3),), dtypes=("int64",), variants=("plain",)),
)  # fmt: skip
