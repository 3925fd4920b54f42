"""Records of least squares and pseudo-inverses."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np

from treadle import tensor as tt
from treadle.testing.domain import UNIT
from treadle.testing.operands import of_shape
from treadle.testing.sample import FLOATS, INTEGERS, Function, Operand, Sample, Traits, costly

F = "least_squares"
COMPLEX = ("complex64", "complex128")
LEFT_OUT = dict.fromkeys((tt.Lstsq, tt.MatrixPinv), ("bool", *INTEGERS))
_VARIANTS = ("plain", "broadcast", "empty", "fortran", "strided", "reversed", "readonly")
# Added to small numbers, they keep singular values away from 0, without changing the dtype.
_TALL, _SQUARE = (np.diag([2, 5, 3, 4])[:, :n].astype("int8") for n in (3, 4))


def _sample(name: str, build: Function, oracle: Function, *operands: Operand, **record: Unpack[Traits]) -> Sample:
    traits: Traits = {
        "dtypes": (*FLOATS, *COMPLEX), "variants": _VARIANTS, "wrt": (0,), "order": 1, **record
    }  # fmt: skip
    traits["tolerances"] = {
        "float32": (1e-3, 1e-3), "complex64": (1e-3, 1e-3), "float64": (1e-10, 1e-10), "complex128": (1e-10, 1e-10),
    }  # fmt: skip
    return Sample(name, F, build, oracle, operands, **traits)


def _solutions(a: np.ndarray, b: np.ndarray) -> tuple[Any, ...]:
    """Return NumPy's results for each of a stack of problems."""
    count = max(len(a), len(b)) if len(a) and len(b) else 0
    stacks = np.broadcast_to(a + _TALL, (count, 4, 3)), np.broadcast_to(b, (count, *b.shape[1:]))
    results = [np.linalg.lstsq(*problem) for problem in zip(*stacks, strict=True)]
    shapes = (3, b.shape[-1]), b.shape[-1:], (), (3,)
    kinds = a.dtype, a.real.dtype, np.dtype("int32"), a.real.dtype
    return tuple(
        np.array([result[i] for result in results], kind).reshape(count, *shape)
        for i, (shape, kind) in enumerate(zip(shapes, kinds, strict=True))
    )


SAMPLES: tuple[Sample, ...] = costly(
    ("pytorch-once",),
    _sample("lstsq", lambda a, b: tt.linalg.lstsq(a + _TALL, b), _solutions,
            of_shape((2, 4, 3), broadcast=(1, 4, 3), empty=(0, 4, 3), domain=UNIT),
            of_shape((2, 4, 2), empty=(0, 4, 2), domain=UNIT), wrt=(0, 1)),
    _sample("lstsq_wide", lambda a, b: tt.linalg.lstsq(a + _TALL.T, b, rcond=1e-3, on_error="raise"),
            lambda a, b: np.linalg.lstsq(a + _TALL.T, b, rcond=1e-3),
            of_shape((3, 4), static=(3, 4), domain=UNIT), of_shape((3,), static=(3,), domain=UNIT), wrt=(0, 1),
            order=2),
    _sample("pinv", lambda a: tt.linalg.pinv(a + _TALL), lambda a: np.linalg.pinv(a + _TALL),
            of_shape((2, 4, 3), broadcast=(1, 4, 3), empty=(0, 4, 3), domain=UNIT), order=2),
    _sample("pinv_hermitian", lambda a: tt.linalg.pinv(a + _SQUARE, hermitian=True, rtol=None, on_error="raise"),
            lambda a: np.linalg.pinv(a + _SQUARE, hermitian=True),
            of_shape((4, 4), static=(4, 4), domain=UNIT)),
)  # fmt: skip
