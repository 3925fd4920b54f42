"""Parts: the inputs and outputs of one sample in a compiled group, and the checks of its results."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import field, replace

import numpy as np

from treadle import tensor as tt
from treadle.config import dataclass
from treadle.tensor import TensorVariable
from treadle.testing.comparison import difference, fits_static_shape
from treadle.testing.domain import Array
from treadle.testing.finite_differences import mixed_slope, slope, slopes
from treadle.testing.sample import LAYOUTS, Sample

# Relative error allowed between derivatives and finite differences.
SLOPE_TOLERANCE = 2e-6


@dataclass(slots=True)
class Part:
    """One sample of a group: variables in, variables out."""

    # The record.
    sample: Sample
    # Dtype of the group.
    dtype: str
    # Variables.
    inputs: list[TensorVariable] = field(default_factory=list)
    outputs: list[TensorVariable] = field(default_factory=list)
    # The variants that are checked for this sample.
    variants: tuple[str, ...] = ()

    def arrays(self, variant: str) -> tuple[Array, ...]:
        """Return values of the inputs."""
        return self.sample.arrays(self.dtype, variant)

    def problems(self, variant: str, arrays: Sequence[Array], results: Sequence[Array]) -> list[str]:
        """Return the problems with the results."""
        signed = self.sample.signed_zeros and variant == "special"
        problems = []
        for var, result, expected in zip(self.outputs, results, self.sample.expected(arrays), strict=True):
            wrong = difference(result, expected, self.sample.tolerance(expected.dtype.name), signed)
            if wrong is None and var.dtype != expected.dtype.name:
                wrong = f"the variable has dtype {var.dtype}, expected {expected.dtype}"
            if wrong is None and not fits_static_shape(result, var.type.shape):
                wrong = f"shape {result.shape} does not fit the static shape {var.type.shape}"
            if wrong is not None:
                problems.append(wrong)
        return problems


def as_tuple(built: object) -> tuple[TensorVariable, ...]:
    """Return one variable or several as a tuple of tensors."""
    return tuple(tt.as_tensor(v) for v in (built if isinstance(built, tuple | list) else (built,)))


def variables(sample: Sample, dtype: str, known: bool) -> list[TensorVariable]:
    """Return input variables for a sample, with all lengths `known` or with as few as it needs."""
    return [
        tt.tensor(f"{sample.name}_{at}", dtype=operand.dtype or dtype, shape=operand.static_shape(known))
        for at, operand in enumerate(sample.operands)
    ]


def value_part(sample: Sample, dtype: str, known: bool = False) -> Part:
    """Return the part that checks values."""
    inputs = variables(sample, dtype, known)
    outputs = list(as_tuple(sample.build(*inputs)))
    variants = sample.variants if not known else tuple(v for v in sample.variants if v in {"plain", *LAYOUTS})
    return Part(sample, dtype, inputs, outputs, variants)


def scalar_part(sample: Sample, dtype: str) -> Part:
    """Return the part that checks values of an elementwise function at scalars."""
    operands = tuple(replace(operand, shapes={"plain": ()}) for operand in sample.operands)
    return value_part(replace(sample, operands=operands, variants=("plain",)), dtype)


class SlopePart(Part):
    """The part that checks derivatives against finite differences of the oracle.

    For a complex number a + ib, the direction has both parts, since a gradient is d/da + i d/db.
    """

    __slots__ = ("order",)

    def __init__(self, sample: Sample, order: int, dtype: str = "float64") -> None:
        super().__init__(sample, dtype)
        self.order = order
        self.variants = tuple(v for v in ("plain", "broadcast") if v in sample.variants)
        operands = variables(sample, dtype, known=False)
        results = [v for v in as_tuple(sample.build(*operands)) if v.type.numpy_dtype.kind in "fc"]
        weights = [tt.tensor(f"w{i}", dtype=_widest(v.dtype), ndim=v.ndim) for i, v in enumerate(results)]
        wrt = [operands[i] for i in sample.wrt]
        slopes = tt.grad(_dot(results, weights), wrt, disconnected_inputs="ignore")
        self.inputs = [*operands, *weights]
        self.outputs = slopes
        if order == 2:
            along = [v.type.make_variable(f"u{i}") for i, v in enumerate(wrt)]
            self.inputs += along
            self.outputs = tt.grad(_dot(slopes, along), wrt, disconnected_inputs="ignore")

    def arrays(self, variant: str) -> tuple[Array, ...]:
        """Return values of the inputs, weights of the results, and the first direction."""
        operands = self.sample.arrays(self.dtype, variant)
        rng = np.random.default_rng(zlib.crc32(f"{self.sample.name} {variant}".encode()))
        weights = [_drawn(rng, (0.5, 1.5), y) for y in self._floats(operands)]
        along = [_drawn(rng, (-1, 1), operands[i]) for i in self.sample.wrt] if self.order == 2 else []
        return (*operands, *weights, *along)

    def _floats(self, operands: Sequence[Array]) -> list[Array]:
        return [y for y in self.sample.expected(operands) if y.dtype.kind in "fc"]

    def problems(self, variant: str, arrays: Sequence[Array], results: Sequence[Array]) -> list[str]:
        """Return the derivatives that differ from their input in shape or dtype, or whose slope is wrong."""
        count = len(self.sample.operands)
        operands, weights_and_directions = list(arrays[:count]), arrays[count:]
        wrt = self.sample.wrt
        mismatches = [
            f"the derivative by operand {i} has dtype {r.dtype} and shape {r.shape}, "
            f"expected {operands[i].dtype} and {operands[i].shape}"
            for i, r in zip(wrt, results, strict=True)
            if r.dtype != operands[i].dtype or r.shape != operands[i].shape
        ]
        if mismatches:
            return mismatches
        weights = weights_and_directions[: len(self._floats(operands))]
        rng = np.random.default_rng(5)
        direction = {i: _drawn(rng, (-1, 1), operands[i]) for i in wrt}
        computed = sum(float(np.sum(r * direction[i].conj()).real) for i, r in zip(wrt, results, strict=True))
        size = 1.0 + sum(float(np.sum(np.abs(r * direction[i]))) for i, r in zip(wrt, results, strict=True))

        def cost(*values: Array) -> float:
            return sum(float(np.sum(y * w.conj()).real) for y, w in zip(self._floats(values), weights, strict=True))

        second = [direction.get(i) for i in range(count)]
        if self.order == 1:
            expected = slope(cost, operands, second)
        else:
            along = dict(zip(wrt, weights_and_directions[len(weights) :], strict=True))
            expected = mixed_slope(cost, operands, [along.get(i) for i in range(count)], second)
        if not abs(computed - expected) <= SLOPE_TOLERANCE * size:
            return [f"derivative {self.order} along a direction is {computed!r}, finite differences give {expected!r}"]
        return []


class ForwardPart(Part):
    """The part that checks directional derivatives of the results against finite differences of the oracle."""

    def __init__(self, sample: Sample, dtype: str = "float64") -> None:
        super().__init__(sample, dtype)
        self.variants = tuple(v for v in ("plain", "broadcast") if v in sample.variants)
        operands = variables(sample, dtype, known=False)
        results = [v for v in as_tuple(sample.build(*operands)) if v.type.numpy_dtype.kind in "fc"]
        wrt = [operands[i] for i in sample.wrt]
        along = [v.type.make_variable(f"u{i}") for i, v in enumerate(wrt)]
        self.inputs = [*operands, *along]
        self.outputs = tt.pushforward(results, wrt, along, disconnected_outputs="ignore")

    def arrays(self, variant: str) -> tuple[Array, ...]:
        """Return values of the inputs, and a direction."""
        operands = self.sample.arrays(self.dtype, variant)
        rng = np.random.default_rng(zlib.crc32(f"{self.sample.name} {variant}".encode()))
        return (*operands, *(_drawn(rng, (-1, 1), operands[i]).astype(operands[i].dtype) for i in self.sample.wrt))

    def problems(self, variant: str, arrays: Sequence[Array], results: Sequence[Array]) -> list[str]:
        """Return the derivatives that differ from their result in shape or dtype, or whose value is wrong."""
        count = len(self.sample.operands)
        # Finite differences are computed in double precision.
        moves = [d.astype(_widest(d.dtype.name)) for d in arrays[count:]]
        along = dict(zip(self.sample.wrt, moves, strict=True))

        def smooth(*values: Array) -> list[Array]:
            return [y for y in self.sample.expected(values) if y.dtype.kind in "fc"]

        operands = arrays[:count]
        expected = slopes(smooth, operands, [along.get(i) for i in range(count)])
        problems = []
        for at, (y, r, d) in enumerate(zip(smooth(*operands), results, expected, strict=True)):
            if r.dtype != y.dtype or r.shape != y.shape:
                problems.append(
                    f"the derivative of result {at} has dtype {r.dtype} and shape {r.shape}, "
                    f"expected {y.dtype} and {y.shape}"
                )
                continue
            allowed = SLOPE_TOLERANCE * (1.0 + np.abs(r).sum())
            if not np.all(np.abs(r - d) <= allowed):
                problems.append(f"result {at} moves by {r!r} along a direction, finite differences give {d!r}")
        return problems


def _dot(results: Sequence[TensorVariable], weights: Sequence[TensorVariable]) -> TensorVariable:
    total: TensorVariable = tt.constant(0.0, dtype="float64")
    for y, w in zip(results, weights, strict=True):
        total = total + tt.sum(y * w.conj()).real
    return total


def _widest(dtype: str) -> str:
    return "complex128" if dtype.startswith("complex") else "float64"


def _drawn(rng: np.random.Generator, limits: tuple[float, float], like: Array) -> Array:
    """Return random numbers with the shape of an array, complex ones if the array is complex."""
    drawn = np.asarray(rng.uniform(*limits, like.shape))
    return np.asarray(drawn + 1j * rng.uniform(*limits, like.shape)) if like.dtype.kind == "c" else drawn
