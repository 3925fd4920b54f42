"""Records of eigenvalues, and of functions of eigenvectors that do not depend on their signs and phases."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from types import ModuleType
from typing import Unpack

import numpy as np
import scipy.linalg

from treadle import tensor as tt
from treadle.testing.domain import SMALL, Array
from treadle.testing.operands import of_shape
from treadle.testing.sample import COMPOSED, FLOATS, INTEGERS, Function, Operand, Sample, Traits

Options = Mapping[str, object] | None


F = "eigenvalues"
COMPLEX = ("complex64", "complex128")
LEFT_OUT = dict.fromkeys((tt.Eig, tt.Eigh, tt.Eigvals, tt.Eigvalsh), ("bool", *INTEGERS))
_VARIANTS = ("plain", "empty", "fortran", "strided", "reversed", "readonly")
_STACK = of_shape((2, 3, 3), empty=(0, 3, 3), domain=SMALL)
_MATRIX = of_shape((3, 3), domain=SMALL)
# Added to matrices, it separates their eigenvalues; it is of integers, to keep the dtype.
_APART = np.diag([-3, 1, 6]).astype("int8")


def _hermitian(xp: ModuleType, x: Array, **options: object) -> tuple[Array, Array]:
    w, v = xp.eigh(x + _APART, **options)
    return w, (v * w[..., None, :] ** 2) @ v.conj().swapaxes(-1, -2)


def _square(xp: ModuleType, x: Array, **options: object) -> tuple[Array, Array]:
    w, v = xp.eig(x + _APART, **options)
    # NumPy returns real numbers if all eigenvalues are real.
    return w + 0j, (v * v.conj()).real


def _of_pair(xp: ModuleType, a: Array, b: Array) -> tuple[Array, Array]:
    w, v = xp.eigh(a + _APART, b + 8 * np.eye(3, dtype="int8"), lower=False, type=2)
    return w, abs(v)


def _sample(
    name: str,
    make: Function,
    *operands: Operand,
    options: Options = None,
    own: Options = None,
    **record: Unpack[Traits],
) -> Sample:
    traits: Traits = {"dtypes": (*FLOATS, *COMPLEX), "variants": _VARIANTS, "wrt": (0,), **record}
    traits["tolerances"] = {
        "float32": (1e-4, 1e-4), "complex64": (1e-4, 1e-4), "float64": (1e-10, 1e-10), "complex128": (1e-10, 1e-10),
    }  # fmt: skip
    theirs = options or {}
    build, oracle = partial(make, tt.linalg, **{**theirs, **(own or {})}), partial(make, np.linalg, **theirs)
    return Sample(name, F, build, oracle, operands or (_STACK,), **traits)


# A single matrix, the other triangle, and errors instead of NaN; stacks are checked for everything else.
_ALONE: Traits = {"dtypes": ("float64",), "wrt": (), "variants": ("plain",), "kinds": ("values",)}
_RAISE = {"on_error": "raise"}

SAMPLES: tuple[Sample, ...] = (
    _sample("eigh", _hermitian),
    _sample("eigh_upper", _hermitian, _MATRIX, options={"UPLO": "U"}, own=_RAISE, **_ALONE),
    Sample("eigh_generalised", F, partial(_of_pair, tt.linalg), partial(_of_pair, scipy.linalg), (_STACK, _MATRIX),
           dtypes=("float64", "complex128"), wrt=(0, 1), variants=("plain",), kinds=COMPOSED),
    _sample("eigvalsh", lambda xp, x: xp.eigvalsh(x + _APART), order=1),
    _sample("eigvalsh_upper", lambda xp, x, **options: xp.eigvalsh(x + _APART, UPLO="U", **options), _MATRIX,
            own=_RAISE, **_ALONE),
    _sample("eig", _square),
    _sample("eig_of_matrix", _square, _MATRIX, own=_RAISE, **_ALONE),
    _sample("eigvals", lambda xp, x: xp.eigvals(x + _APART) + 0j, order=1),
    _sample("eigvals_of_matrix", lambda xp, x, **options: xp.eigvals(x + _APART, **options) + 0j, _MATRIX, own=_RAISE,
            **_ALONE),
)  # fmt: skip
