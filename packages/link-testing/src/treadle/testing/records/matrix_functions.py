"""Records of functions of matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import linalg

from treadle import tensor as tt
from treadle.testing.domain import UNIT
from treadle.testing.records.structured import of_shape
from treadle.testing.sample import DISCRETE, FLOATS, Sample

if TYPE_CHECKING:
    from typing import Unpack

    from treadle.testing.sample import Function, Operand, Traits

F = "matrix_functions"
COMPLEX = ("complex64", "complex128")
LEFT_OUT = {tt.Expm: DISCRETE, tt.MatrixSign: DISCRETE}
_VARIANTS = ("plain", "empty", "fortran", "reversed")
_MATRICES = of_shape((2, 3, 3), empty=(2, 0, 0), domain=UNIT)


def _function(name: str, build: Function, oracle: Function, *operands: Operand, **record: Unpack[Traits]) -> Sample:
    given: Traits = {"dtypes": (*FLOATS, *COMPLEX), "variants": _VARIANTS, "wrt": (0,), "optional": True, **record}
    given["tolerances"] = {
        "float32": (1e-4, 1e-5), "complex64": (1e-4, 1e-5), "float64": (1e-10, 1e-11), "complex128": (1e-10, 1e-11),
    }  # fmt: skip
    return Sample(name, F, build, oracle, operands, **given)


SAMPLES: tuple[Sample, ...] = (
    _function("expm", tt.linalg.expm, linalg.expm, _MATRICES),
    _function("expm_of_one", tt.linalg.expm, linalg.expm, of_shape((4, 4), empty=(0, 0)), order=1),
    _function(
        "signm",
        tt.linalg.signm,
        np.vectorize(linalg.signm, signature="(n,n)->(n,n)"),
        _MATRICES,
        variants=("plain", "fortran"),
    ),
)
