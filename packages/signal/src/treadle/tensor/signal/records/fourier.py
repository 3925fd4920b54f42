"""Records of Fourier transforms."""

from __future__ import annotations

from typing import Unpack

import numpy as np

from treadle import tensor as tt
from treadle.testing.domain import SMALL
from treadle.testing.operands import of_shape
from treadle.testing.sample import FLOATS, INTEGERS, Function, Sample, Traits

F = "fourier"
COMPLEX = ("complex64", "complex128")
LEFT_OUT = {tt.FourierTransform: ("bool", *INTEGERS)}
_VARIANTS = ("plain", "long", "fortran", "strided", "reversed", "readonly")


def _transform(name: str, build: Function, oracle: Function, **record: Unpack[Traits]) -> Sample:
    traits: Traits = {"dtypes": (*FLOATS, *COMPLEX), "variants": _VARIANTS, "wrt": (0,), "optional": True, **record}
    traits["tolerances"] = {
        "float32": (1e-3, 1e-3), "complex64": (1e-3, 1e-3), "float64": (1e-10, 1e-10), "complex128": (1e-10, 1e-10),
    }  # fmt: skip
    return Sample(name, F, build, oracle, (of_shape((3, 4), long=(11, 97), domain=SMALL),), **traits)


SAMPLES: tuple[Sample, ...] = (
    _transform("fft", lambda x: tt.fft.fft(x, axis=0), lambda x: np.fft.fft(x, axis=0)),
    _transform("ifft", lambda x: tt.fft.ifft(x, norm="forward"), lambda x: np.fft.ifft(x, norm="forward")),
    _transform("rfft", tt.fft.rfft, np.fft.rfft, dtypes=FLOATS),
    _transform("irfft_even", tt.fft.irfft, np.fft.irfft),
    _transform("irfft_odd", lambda x: tt.fft.irfft(x, 7, 0), lambda x: np.fft.irfft(x, 7, 0)),
)
