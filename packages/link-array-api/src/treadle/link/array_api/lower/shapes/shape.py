"""Shapes as values, and Reshape."""

from __future__ import annotations

from treadle.link.array_api.libraries import library
from treadle.link.array_api.table import ARRAY_API, Array, Lowered
from treadle.tensor import Reshape, Shape, ShapeI, TensorNode


@ARRAY_API.register(Shape)
def shape(op: Shape, node: TensorNode) -> Lowered:
    """Lower to a vector of lengths."""
    lib = library()
    return lambda x: lib.xp.asarray(list(x.shape), dtype=lib.xp.int64, device=lib.device)


@ARRAY_API.register(ShapeI)
def shape_i(op: ShapeI, node: TensorNode) -> Lowered:
    """Lower to one length."""
    lib, axis = library(), op.axis
    return lambda x: lib.full((), x.shape[axis], "int64")


@ARRAY_API.register(Reshape)
def reshape(op: Reshape, node: TensorNode) -> Lowered:
    """Lower to reshape, which works out a length of -1."""
    xp = library().xp

    def run(x: Array, *lengths: Array) -> Array:
        return xp.reshape(x, tuple(int(n) for n in lengths))

    return run
