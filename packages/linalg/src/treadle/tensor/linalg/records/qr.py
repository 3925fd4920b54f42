"""Records of QR factors."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np
import scipy.linalg

from treadle import tensor as tt
from treadle.testing.domain import UNIT
from treadle.testing.operands import of_shape
from treadle.testing.sample import FLOATS, INTEGERS, Function, Operand, Sample, Traits, costly

F = "qr"
COMPLEX = ("complex64", "complex128")
LEFT_OUT = dict.fromkeys((tt.QR, tt.HouseholderProduct), ("bool", *INTEGERS))
_VARIANTS = ("plain", "broadcast", "empty", "fortran", "strided", "reversed", "readonly")


def _sample(name: str, build: Function, oracle: Function, *operands: Operand, **record: Unpack[Traits]) -> Sample:
    traits: Traits = {
        "dtypes": (*FLOATS, *COMPLEX), "variants": _VARIANTS, "wrt": (0,), "order": 1, **record
    }  # fmt: skip
    traits["tolerances"] = {
        "float32": (1e-4, 1e-4), "complex64": (1e-4, 1e-4), "float64": (1e-10, 1e-10), "complex128": (1e-10, 1e-10),
    }  # fmt: skip
    return Sample(name, F, build, oracle, operands, **traits)


def _apart(m: int, n: int) -> np.ndarray:
    """Return a matrix that makes columns of small numbers independent when added, without changing the dtype."""
    return np.diag([2, 5, 3, 4, 6])[:m, :n].astype("int8")


def _full(functions: Any, x: Any) -> tuple[Any, ...]:
    """Return a function of the additional columns of Q that does not depend on their choice."""
    q, r = functions.qr(x + _apart(4, 2), mode="complete")
    more = q[..., 2:]
    return q[..., :2], r, more @ more.conj().swapaxes(-1, -2)


def _raw(x: Any) -> tuple[Any, ...]:
    (vectors, tau), r = scipy.linalg.qr(x + _apart(4, 3), mode="raw")
    return vectors, tau, r


def _raw_built(x: Any) -> tuple[Any, ...]:
    (vectors, tau), r = tt.linalg.qr(x + _apart(4, 3), mode="raw")
    return vectors, tau, r


def _product(a: np.ndarray, tau: np.ndarray) -> np.ndarray:
    """Multiply the reflections."""
    product = np.eye(*a.shape, dtype=a.dtype)
    for i in reversed(range(tau.size)):
        v = np.concatenate([np.zeros(i), np.ones(1), a[i + 1 :, i]]).astype(a.dtype)
        product = product - tau[i] * np.outer(v, v.conj() @ product)
    return product.astype(a.dtype)


SAMPLES: tuple[Sample, ...] = costly(
    ("pytorch-once",),
    _sample("tall", lambda x: tt.linalg.qr(x + _apart(4, 3), mode="economic"),
            lambda x: tuple(np.linalg.qr(x + _apart(4, 3))),
            of_shape((2, 4, 3), broadcast=(1, 4, 3), empty=(0, 4, 3), domain=UNIT)),
    _sample("wide", lambda x: tt.linalg.qr(x + _apart(2, 4), on_error="raise"),
            lambda x: tuple(np.linalg.qr(x + _apart(2, 4))),
            of_shape((2, 4), static=(2, 4), domain=UNIT), order=2),
    _sample("complete", lambda x: _full(tt.linalg, x), lambda x: _full(np.linalg, x),
            of_shape((4, 2), static=(4, 2), domain=UNIT)),
    _sample("factor", lambda x: tt.linalg.qr(x + _apart(4, 3), mode="r"),
            lambda x: scipy.linalg.qr(x + _apart(4, 3), mode="r")[0], of_shape((4, 3), static=(4, 3), domain=UNIT)),
    _sample("raw", _raw_built, _raw, of_shape((4, 3), domain=UNIT), wrt=()),
    # PyTorch has no column pivoting.
    _sample("pivoting", lambda x: tt.linalg.qr(x + _apart(3, 4), mode="economic", pivoting=True),
            lambda x: scipy.linalg.qr(x + _apart(3, 4), mode="economic", pivoting=True),
            of_shape((3, 4), static=(3, 4), domain=UNIT), optional=True),
    _sample("householder", tt.linalg.householder_product, _product, of_shape((4, 3), domain=UNIT),
            of_shape((2,), domain=UNIT), wrt=(0, 1)),
)  # fmt: skip
