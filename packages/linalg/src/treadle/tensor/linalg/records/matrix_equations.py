"""Records of matrix equations."""

from __future__ import annotations

from typing import Unpack

import numpy as np
from scipy import linalg

from treadle import tensor as tt
from treadle.testing.domain import UNIT, Array
from treadle.testing.operands import of_shape
from treadle.testing.sample import DISCRETE, FLOATS, Function, Operand, Sample, Traits, costly

F = "matrix_equations"
COMPLEX = ("complex64", "complex128")
LEFT_OUT = {tt.Riccati: DISCRETE, tt.Sylvester: DISCRETE}
_VARIANTS = ("plain", "empty", "fortran", "reversed")


def _above_zero(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Return matrices whose eigenvalues have positive real parts."""
    return 3 * np.eye(shape[-1]) + UNIT.draw(rng, np.dtype("float64"), shape)


def _of_batch(solve: Function) -> Function:
    """Return SciPy's solver for broadcast batches; it is not called for matrices without elements."""
    vectorized = np.vectorize(solve, signature="(m,m),(n,n),(m,n)->(m,n)")
    return lambda *arrays: vectorized(*arrays) if arrays[2].size else arrays[2]


def _riccati(solve: Function) -> Function:
    """Return SciPy's solver, applied to the Hermitian parts of q and r, in the dtype of the operands."""

    def oracle(a: Array, b: Array, q: Array, r: Array) -> Array:
        solution = solve(a, b, (q + q.conj().T) / 2, (r + r.conj().T) / 2)
        return np.asarray(solution).astype(a.dtype)

    vectorized = np.vectorize(oracle, signature="(n,n),(n,m),(n,n),(m,m)->(n,n)")
    return lambda *arrays: vectorized(*arrays) if arrays[0].size else arrays[0]


def _equation(name: str, build: Function, oracle: Function, *operands: Operand, **record: Unpack[Traits]) -> Sample:
    traits: Traits = {"dtypes": (*FLOATS, *COMPLEX), "variants": _VARIANTS, **record}
    traits["tolerances"] = {
        "float32": (1e-3, 1e-4), "complex64": (1e-3, 1e-4), "float64": (1e-11, 1e-11), "complex128": (1e-11, 1e-11),
    }  # fmt: skip
    return Sample(name, F, build, oracle, operands, **traits)


_SYSTEM = (
    of_shape((2, 3, 3), empty=(2, 0, 0), domain=UNIT), of_shape((1, 3, 2), empty=(1, 0, 2), domain=UNIT),
    Operand({"plain": (1, 3, 3), "empty": (1, 0, 0)}, values=_above_zero),
    Operand({"plain": (2, 2, 2)}, values=_above_zero),
)  # fmt: skip
SAMPLES: tuple[Sample, ...] = costly(
    ("pytorch-once",),
    _equation(
        "sylvester", tt.linalg.solve_sylvester, _of_batch(linalg.solve_sylvester),
        Operand({"plain": (2, 3, 3), "empty": (2, 0, 0)}, values=_above_zero),
        Operand({"plain": (1, 2, 2)}, values=_above_zero), of_shape((2, 3, 2), empty=(2, 0, 2), domain=UNIT),
        wrt=(0, 1, 2),
    ),
    _equation(
        "sylvester_raise", lambda *args: tt.linalg.solve_sylvester(*args, on_error="raise"), linalg.solve_sylvester,
        Operand({"plain": (3, 3)}, values=_above_zero), Operand({"plain": (3, 3)}, values=_above_zero),
        of_shape((3, 3), domain=UNIT), variants=("plain",),
    ),
    _equation("discrete_are", tt.linalg.solve_discrete_are, _riccati(linalg.solve_discrete_are), *_SYSTEM,
              wrt=(0, 1, 2, 3), order=1, variants=("plain", "empty")),
    _equation("continuous_are", tt.linalg.solve_continuous_are, _riccati(linalg.solve_continuous_are), *_SYSTEM,
              wrt=(0, 1, 2, 3), order=1, variants=("plain",)),
)  # fmt: skip
