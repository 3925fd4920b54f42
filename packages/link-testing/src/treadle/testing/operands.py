"""Making records of structured ops: operands by shape."""

from __future__ import annotations

import numpy as np

from treadle.testing.domain import REAL, Array, Domain
from treadle.testing.sample import Function, Operand

Shape = tuple[int, ...]
# Variants of ops whose operands have no special values or other shapes.
SAME_SHAPE = ("plain", "fortran", "strided", "reversed", "readonly")
NO_SPECIAL = ("plain", "broadcast", "empty", "long", "fortran", "strided", "reversed", "readonly")


def of_shape(
    plain: Shape,
    *,
    broadcast: Shape | None = None,
    empty: Shape | None = None,
    long: Shape | None = None,
    domain: Domain = REAL,
    dtype: str | None = None,
    static: tuple[int | None, ...] = (),
) -> Operand:
    """Return an operand with a shape for each variant, which is the plain one by default."""
    by_variant = {"plain": plain, "broadcast": broadcast, "empty": empty, "long": long}
    shapes = {variant: shape for variant, shape in by_variant.items() if shape is not None}
    return Operand(shapes, domain, dtype, static=static)


def positions(*values: int, dtype: str = "int64", shape: Shape | None = None) -> Operand:
    """Return an operand with fixed integers: a vector, or an array of a shape."""

    def array(rng: np.random.Generator, drawn_shape: Shape) -> object:
        del rng, drawn_shape
        return list(values) if shape is None else _nested(list(values), shape)

    return Operand({"plain": (len(values),) if shape is None else shape}, dtype=dtype, values=array)


def number(value: float, dtype: str = "int64") -> Operand:
    """Return a scalar operand with a fixed value."""
    return Operand({"plain": ()}, dtype=dtype, values=lambda *_: value)


def _nested(values: list[int], shape: Shape) -> object:
    if not shape:
        return values[0]
    step = len(values) // shape[0]
    return [_nested(values[i * step : (i + 1) * step], shape[1:]) for i in range(shape[0])]


def in_dtype_of(function: Function) -> Function:
    """Return an oracle that computes in float64 and rounds to the dtype of its first float array, if there is one."""

    def oracle(*arrays: Array) -> object:
        dtype = arrays[0].dtype if arrays[0].dtype.kind == "f" else "float64"
        return np.asarray(function(*(x.astype("float64") for x in arrays))).astype(dtype)

    return oracle
