"""Records of determinants."""

from __future__ import annotations

from typing import Unpack

import numpy as np

from treadle import tensor as tt
from treadle.testing.domain import UNIT, Array
from treadle.testing.operands import of_shape
from treadle.testing.sample import DISCRETE, FLOATS, Function, Sample, Traits, costly

F = "determinants"
COMPLEX = ("complex64", "complex128")
LEFT_OUT = dict.fromkeys((tt.Det, tt.SLogDet, tt.SingularCofactors), DISCRETE)
_VARIANTS = ("plain", "empty", "fortran", "strided", "reversed", "readonly")
_STACK = of_shape((2, 3, 3), empty=(2, 0, 0), domain=UNIT)
# Added to matrices, it makes determinants of either sign.
_SIGNS = np.diag([2, -2, 2]).astype("int8")


def _determinant(name: str, build: Function, oracle: Function, **record: Unpack[Traits]) -> Sample:
    traits: Traits = {"dtypes": (*FLOATS, *COMPLEX), "variants": _VARIANTS, "wrt": (0,), **record}
    traits["tolerances"] = {
        "float32": (1e-4, 1e-4), "complex64": (1e-4, 1e-4), "float64": (1e-11, 1e-11), "complex128": (1e-11, 1e-11),
    }  # fmt: skip
    return Sample(name, F, build, oracle, (_STACK,), **traits)


def _slogdet(x: Array) -> tuple[Array, ...]:
    return tuple(np.linalg.slogdet(x + _SIGNS if x.shape[-1] else x))


def _cofactors(x: Array) -> Array:
    cofactors: Array = np.linalg.det(x)[..., None, None] * np.swapaxes(np.linalg.inv(x), -1, -2)
    return cofactors.astype(x.dtype)


SAMPLES: tuple[Sample, ...] = costly(
    ("pytorch-once",),
    # The derivative has another formula for up to three rows.
    _determinant("det", tt.linalg.det, np.linalg.det, fixed_shapes=True),
    _determinant("slogdet", lambda x: tuple(tt.linalg.slogdet(x + _SIGNS)), _slogdet, variants=("plain", "fortran")),
    # Determinants of singular matrices have their own tests.
    _determinant("cofactors", tt.SingularCofactors(), _cofactors),
)
