"""Records of singular values, and of functions of singular vectors that do not depend on signs and phases."""

from __future__ import annotations

from functools import partial
from typing import Any, Unpack

import numpy as np

from treadle import tensor as tt
from treadle.testing.domain import UNIT
from treadle.testing.operands import of_shape
from treadle.testing.sample import FLOATS, INTEGERS, Operand, Sample, Traits, costly

F = "svd"
COMPLEX = ("complex64", "complex128")
LEFT_OUT = dict.fromkeys((tt.SVD, tt.PolarFactor), ("bool", *INTEGERS))
_VARIANTS = ("plain", "broadcast", "empty", "fortran", "strided", "reversed", "readonly")


def _apart(m: int, n: int) -> np.ndarray:
    """Return a matrix that separates the singular values of small numbers when added, without changing the dtype."""
    return np.diag([3, 9, 6, 12])[:m, :n].astype("int8")


def _decomposed(functions: Any, m: int, n: int, x: Any, **options: Any) -> tuple[Any, ...]:
    u, s, vh = functions.svd(x + _apart(m, n), **options)
    k = min(m, n)
    u, v, more = u[..., :k], vh[..., :k, :].conj().swapaxes(-1, -2), vh[..., k:, :]
    row = s[..., None, :]
    of_all = [(u * row) @ u.conj().swapaxes(-1, -2), (u * row**2) @ v.conj().swapaxes(-1, -2), abs(v) ** 2]
    return s, *of_all, *([more.conj().swapaxes(-1, -2) @ more] if options.get("full_matrices", True) and m < n else [])


def _polar_factor(x: np.ndarray) -> np.ndarray:
    u, _, vh = np.linalg.svd(x, full_matrices=False)
    return np.asarray(u @ vh)


def _sample(name: str, m: int, n: int, operand: Operand, own: Any = None, **record: Unpack[Traits]) -> Sample:
    options: dict[str, Any] = {"full_matrices": False} if name == "thin" else {}
    traits: Traits = {
        "dtypes": (*FLOATS, *COMPLEX), "variants": _VARIANTS, "wrt": (0,), "order": 1, **record
    }  # fmt: skip
    traits["tolerances"] = {
        "float32": (1e-3, 1e-3), "complex64": (1e-3, 1e-3), "float64": (1e-10, 1e-10), "complex128": (1e-10, 1e-10),
    }  # fmt: skip
    build = partial(_decomposed, tt.linalg, m, n, **options, **(own or {}))
    return Sample(name, F, build, partial(_decomposed, np.linalg, m, n, **options), (operand,), **traits)


SAMPLES: tuple[Sample, ...] = costly(
    ("pytorch-once",),
    _sample("thin", 4, 3, of_shape((2, 4, 3), broadcast=(1, 4, 3), empty=(0, 4, 3), domain=UNIT)),
    _sample("wide", 2, 3, of_shape((2, 3), static=(2, 3), domain=UNIT), {"on_error": "raise"}, order=2),
    Sample("polar_factor", F, lambda x: tt.PolarFactor()(x + _apart(4, 3)), lambda x: _polar_factor(x + _apart(4, 3)),
           (of_shape((2, 4, 3), broadcast=(1, 4, 3), empty=(0, 4, 3), domain=UNIT),), (*FLOATS, *COMPLEX), (0,),
           order=1, variants=_VARIANTS),
    Sample("values", F, lambda x: tt.linalg.svdvals(x + _apart(3, 3)), lambda x: np.linalg.svdvals(x + _apart(3, 3)),
           (of_shape((3, 3), domain=UNIT),), (*FLOATS, *COMPLEX), (0,), variants=_VARIANTS,
           order=1),
)  # fmt: skip
