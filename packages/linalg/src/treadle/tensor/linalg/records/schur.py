"""Records of Schur forms, by functions that do not depend on the signs that LAPACK chooses."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from types import ModuleType
from typing import Unpack

import scipy.linalg

from treadle import tensor as tt
from treadle.testing.domain import SMALL, Array
from treadle.testing.operands import of_shape
from treadle.testing.sample import FLOATS, INTEGERS, Function, Operand, Sample, Traits

Options = Mapping[str, object] | None


F = "schur"
LEFT_OUT = dict.fromkeys((tt.QZ, tt.RealToComplexSchur, tt.Schur), ("bool", *INTEGERS))
_VARIANTS = ("plain", "fortran", "strided", "reversed", "readonly")
_STACK = of_shape((2, 3, 3), domain=SMALL)
_MATRIX = of_shape((3, 3), domain=SMALL)


def _schur(xp: ModuleType, a: Array, **options: object) -> tuple[Array, ...]:
    t, z, *count = xp.schur(a, **options)
    return abs(t), z @ t @ z.conj().swapaxes(-1, -2), *count


def _complex_schur(xp: ModuleType, a: Array) -> tuple[Array, Array]:
    t, z = xp.rsf2csf(*xp.schur(a))
    return abs(t), z @ t @ z.conj().swapaxes(-1, -2)


def _qz(xp: ModuleType, a: Array, b: Array, **options: object) -> tuple[Array, ...]:
    s, t, q, z = xp.qz(a, b, **options)
    back = z.conj().swapaxes(-1, -2)
    return abs(s), abs(t), q @ s @ back, q @ t @ back


def _ordqz(xp: ModuleType, a: Array, b: Array, **options: object) -> tuple[Array, ...]:
    s, t, alpha, beta, _, _ = xp.ordqz(a, b, **options)
    return abs(s), abs(t), alpha / beta


def _sample(name: str, make: Function, *operands: Operand, own: Options = None, **record: Unpack[Traits]) -> Sample:
    traits: Traits = {"dtypes": (*FLOATS, "complex64", "complex128"), "variants": _VARIANTS, "optional": True, **record}
    traits["tolerances"] = {
        "float32": (1e-3, 1e-3), "complex64": (1e-3, 1e-3), "float64": (1e-9, 1e-9), "complex128": (1e-9, 1e-9),
    }  # fmt: skip
    return Sample(name, F, partial(make, tt.linalg, **(own or {})), partial(make, scipy.linalg), operands, **traits)


SAMPLES: tuple[Sample, ...] = (
    _sample("schur", _schur, _STACK),
    _sample("schur_sorted", partial(_schur, sort="iuc"), _MATRIX, own={"on_error": "raise"}, dtypes=("float64",)),
    _sample("schur_complex", partial(_schur, output="complex", sort="lhp"), _MATRIX, dtypes=("float32", "float64")),
    _sample("rsf2csf", _complex_schur, _STACK),
    _sample("qz", _qz, _STACK, _MATRIX, own={"on_error": "raise"}),
    _sample("ordqz", partial(_ordqz, sort="ouc"), _STACK, _STACK),
)
