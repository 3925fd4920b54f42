"""Records of inverses of matrices."""

from __future__ import annotations

from functools import partial
from typing import Unpack

import numpy as np

from treadle import tensor as tt
from treadle.testing.domain import UNIT, Array
from treadle.testing.operands import of_shape
from treadle.testing.sample import DISCRETE, FLOATS, Operand, Sample, Traits

F = "inverse"
COMPLEX = ("complex64", "complex128")
LEFT_OUT = {tt.MatrixInverse: DISCRETE}
_VARIANTS = ("plain", "empty", "fortran", "strided", "reversed", "readonly")


def _oracle(x: Array) -> Array:
    return np.linalg.inv(x + (3 * np.eye(x.shape[-1])).astype("int8"))


def _inverse(name: str, operand: Operand, on_error: str, **record: Unpack[Traits]) -> Sample:
    inv = partial(tt.linalg.inv, on_error=on_error)
    traits: Traits = {"dtypes": (*FLOATS, *COMPLEX), "variants": _VARIANTS, "wrt": (0,), **record}
    traits["tolerances"] = {
        "float32": (1e-4, 1e-4), "complex64": (1e-4, 1e-4), "float64": (1e-11, 1e-11), "complex128": (1e-11, 1e-11),
    }  # fmt: skip
    return Sample(name, F, lambda x: inv(x + 3 * tt.eye(x.shape[-1], dtype="int8")), _oracle, (operand,), **traits)


SAMPLES: tuple[Sample, ...] = (
    _inverse("inv", of_shape((2, 3, 3), empty=(2, 0, 0), domain=UNIT), "nan"),
    _inverse("inv_of_one", of_shape((4, 4), empty=(0, 0), domain=UNIT), "raise", order=1),
)
