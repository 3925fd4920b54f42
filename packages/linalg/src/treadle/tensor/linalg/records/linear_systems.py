"""Records of solving linear systems."""

from __future__ import annotations

from typing import Unpack

import numpy as np

from treadle import tensor as tt
from treadle.testing.domain import UNIT, Array
from treadle.testing.operands import of_shape
from treadle.testing.sample import DISCRETE, FLOATS, Operand, Sample, Traits, costly

F = "linear_systems"
COMPLEX = ("complex64", "complex128")
LEFT_OUT = {tt.Solve: DISCRETE}
_VARIANTS = ("plain", "broadcast", "empty", "fortran", "strided", "reversed", "readonly")
_STACK = of_shape((2, 3, 3), broadcast=(1, 3, 3), empty=(2, 0, 0), domain=UNIT)
_MATRIX = of_shape((3, 3), domain=UNIT)
_RIGHT = of_shape((2, 3, 2), empty=(2, 0, 2))
_VECTOR = of_shape((3,))
# Added to matrices, it makes them regular and positive definite; it is of integers, to keep the dtype.
REGULAR = (4 * np.eye(3)).astype("int8")


def whole(x: Array, lower: bool, hermitian: bool) -> Array:
    """Return the symmetric or Hermitian matrices that a triangle represents."""
    half, beside = (np.tril(x), np.tril(x, -1)) if lower else (np.triu(x), np.triu(x, 1))
    if not hermitian:
        return half + beside.swapaxes(-1, -2)
    diagonal = (half - beside).real.astype(x.dtype)
    return diagonal + beside + beside.conj().swapaxes(-1, -2)


def _shifted(x: Array) -> Array:
    return x + REGULAR if x.shape[-1] else x


def _solve(name: str, *operands: Operand, assume_a: str = "gen", **record: Unpack[Traits]) -> Sample:
    is_lower, transposed = name.endswith("lower"), record.get("order") == 1

    def oracle(a: Array, b: Array) -> Array:
        a = _shifted(a)
        if assume_a != "gen":
            a = whole(a, is_lower, assume_a != "sym")
        return np.linalg.solve(a.swapaxes(-1, -2) if transposed else a, b)

    def build(a: tt.TensorVariable, b: tt.TensorVariable) -> tt.TensorVariable:
        regular = a + 4 * tt.eye(a.shape[-1], dtype="int8")
        on_error = "raise" if transposed else "nan"
        return tt.linalg.solve(regular, b, is_lower, assume_a=assume_a, transposed=transposed, on_error=on_error)

    traits: Traits = {"dtypes": (*FLOATS, *COMPLEX), "variants": _VARIANTS, "wrt": (0, 1), **record}
    traits["tolerances"] = {
        "float32": (1e-4, 1e-4), "complex64": (1e-4, 1e-4), "float64": (1e-11, 1e-11), "complex128": (1e-11, 1e-11),
    }  # fmt: skip
    return Sample(name, F, build, oracle, operands or (_STACK, _RIGHT), **traits)


SAMPLES: tuple[Sample, ...] = costly(
    ("pytorch-once",),
    _solve("solve"),
    _solve("solve_of_one", _MATRIX, _VECTOR, order=1),
    _solve("solve_symmetric", assume_a="sym", variants=("plain", "fortran")),
    _solve("solve_hermitian_lower", assume_a="her", variants=("plain", "broadcast")),
    _solve("solve_positive_definite_lower", assume_a="pos"),
    _solve("solve_positive_definite", _MATRIX, _VECTOR, assume_a="pos", order=1),
)
