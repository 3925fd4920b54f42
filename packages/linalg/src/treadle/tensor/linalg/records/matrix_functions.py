"""Records of functions of matrices."""

from __future__ import annotations

from typing import Unpack

import numpy as np
from scipy import linalg

from treadle import tensor as tt
from treadle.testing.domain import UNIT, Array
from treadle.testing.operands import of_shape
from treadle.testing.sample import DISCRETE, FLOATS, Function, Operand, Sample, Traits, costly

F = "matrix_functions"
COMPLEX = ("complex64", "complex128")
LEFT_OUT = dict.fromkeys((tt.Expm, tt.Logm, tt.MatrixSign, tt.Sqrtm), DISCRETE)
_VARIANTS = ("plain", "empty", "fortran", "reversed")
_BATCH_OF_ONE = "(n,n)->(n,n)"
_MATRICES = of_shape((2, 3, 3), empty=(2, 0, 0), domain=UNIT)


def _function(name: str, build: Function, oracle: Function, *operands: Operand, **record: Unpack[Traits]) -> Sample:
    traits: Traits = {"dtypes": (*FLOATS, *COMPLEX), "variants": _VARIANTS, "wrt": (0,), **record}
    traits["tolerances"] = {
        "float32": (1e-4, 1e-5), "complex64": (1e-4, 1e-5), "float64": (1e-10, 1e-11), "complex128": (1e-10, 1e-11),
    }  # fmt: skip
    return Sample(name, F, build, oracle, operands, **traits)


def _far_from_zero(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Return matrices whose eigenvalues have positive real parts."""
    return 3 * np.eye(shape[-1]) + UNIT.draw(rng, np.dtype("float64"), shape)


def _in_dtype(function: Function) -> Function:
    """Return a SciPy function whose result is converted to the dtype of its operand."""
    return lambda a: np.asarray(function(a)).astype(a.dtype)


_PRINCIPAL = Operand({"plain": (2, 3, 3)}, values=_far_from_zero)
SAMPLES: tuple[Sample, ...] = costly(
    ("pytorch-once",),
    _function("expm", tt.linalg.expm, linalg.expm, _MATRICES),
    _function("expm_of_one", tt.linalg.expm, linalg.expm, of_shape((4, 4), empty=(0, 0)), order=1),
    _function(
        "signm",
        tt.linalg.signm,
        np.vectorize(linalg.signm, signature=_BATCH_OF_ONE),
        _MATRICES,
        variants=("plain", "fortran"),
    ),
    _function("sqrtm", tt.linalg.sqrtm, linalg.sqrtm, _PRINCIPAL, order=1, variants=("plain", "fortran")),
    _function(
        "logm",
        tt.linalg.logm,
        _in_dtype(np.vectorize(linalg.logm, signature=_BATCH_OF_ONE)),
        _PRINCIPAL,
        dtypes=(*FLOATS, "complex128"),
        wrt=(),
        variants=("plain",),
    ),
)
