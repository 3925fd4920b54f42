"""Bitwise and logical functions; nothing flows back through them."""

from __future__ import annotations

from treadle.config import alias
from treadle.graph import Infix, Precedence, Prefix
from treadle.tensor.elementwise.comparison import eq, neq
from treadle.tensor.elementwise.elemwise import Elemwise, elementwise

__all__ = [
    "and_", "bitwise_and", "bitwise_invert", "bitwise_left_shift", "bitwise_not", "bitwise_or", "bitwise_right_shift",
    "bitwise_xor", "invert", "left_shift", "logical_and", "logical_not", "logical_or", "logical_xor", "or_",
    "right_shift", "xor",
]  # fmt: skip


def _bitwise(
    name: str, operator: str, precedence: float, identity: int | None = None, zero_of: tuple[int, ...] = ()
) -> Elemwise:
    form = Infix(operator, precedence).form
    function = elementwise(
        name=name, ufunc=f"bitwise_{name}", cheap=True, form=form, commutative=True, associative=True,
        identity=identity, zero_of=zero_of,
    )  # fmt: skip
    return alias(function, f"bitwise_{name}")


bitwise_and = _bitwise("and", "&", Precedence.AND, zero_of=(0, 1))
bitwise_or = _bitwise("or", "|", Precedence.OR, identity=0)
bitwise_xor = _bitwise("xor", "^", Precedence.XOR, identity=0)
invert = elementwise(ufunc="invert", cheap=True, inverse="invert", form=Prefix("~").form)
left_shift = elementwise(ufunc="left_shift", cheap=True, form=Infix("<<", Precedence.SHIFT).form)
right_shift = elementwise(ufunc="right_shift", cheap=True, form=Infix(">>", Precedence.SHIFT).form)
logical_and = elementwise(
    ufunc="logical_and", cheap=True, commutative=True, body=lambda x, y: bitwise_and(neq(x, 0), neq(y, 0)),
    zero_of=(0, 1),
)  # fmt: skip
logical_or = elementwise(
    ufunc="logical_or", cheap=True, commutative=True, body=lambda x, y: bitwise_or(neq(x, 0), neq(y, 0))
)
logical_xor = elementwise(
    ufunc="logical_xor", cheap=True, commutative=True, body=lambda x, y: neq(neq(x, 0), neq(y, 0))
)
logical_not = elementwise(ufunc="logical_not", cheap=True, body=lambda x: eq(x, 0))

and_ = alias(bitwise_and, "and_")
or_ = alias(bitwise_or, "or_")
xor = alias(bitwise_xor, "xor")
bitwise_not = alias(invert, "bitwise_not")
bitwise_invert = alias(invert, "bitwise_invert")
bitwise_left_shift = alias(left_shift, "bitwise_left_shift")
bitwise_right_shift = alias(right_shift, "bitwise_right_shift")
