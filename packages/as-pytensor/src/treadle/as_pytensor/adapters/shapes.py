"""The op of shapes: in treadle one op gives all lengths and another one of them, and both stand for it."""

from __future__ import annotations

from treadle import tensor


class ShapeKind(type(tensor.Shape)):  # type: ignore[misc]  # the metaclass of ops
    """Metaclass of `Shape`: its instances are the ops that give lengths."""

    def __instancecheck__(cls, op: object) -> bool:
        return isinstance(op, tensor.Shape | tensor.ShapeI)


class Shape(tensor.Shape, metaclass=ShapeKind):
    """The shape of a tensor, or one of its lengths."""
