"""A small arithmetic on Python floats, written from the documented contract of Type and Op alone."""

from collections.abc import Sequence
from typing import Any, ClassVar

from treadle.graph import Apply, GraphTypeError, Op, Type, Variable, static_op


class Number(Type):
    """Type of Python floats, with a unit."""

    __props__: ClassVar[tuple[str, ...]] = ("unit",)

    def __init__(self, unit: str = "1") -> None:
        self.unit = unit

    def filter(self, data: Any, strict: bool = False, allow_downcast: bool | None = None) -> float:
        if type(data) is not float and (strict or not isinstance(data, int)):
            msg = f"Number: a float is needed, got {data!r}. Convert it."
            raise GraphTypeError(msg)
        return float(data)

    def __str__(self) -> str:
        return f"Number({self.unit})"


NUMBER = Number()


def number(name: str | None = None) -> Variable:
    """Return a new variable."""
    return NUMBER(name)


class Arithmetic(Op):
    """Base of the ops: numbers become constants."""

    def as_input(self, value: Any) -> Variable:
        return value if isinstance(value, Variable) else NUMBER.make_constant(value)

    def infer(self, *types: Type) -> Sequence[Type]:
        return [types[0]]


@static_op
class Binary(Arithmetic):
    """Sum or product of two numbers."""

    symbol: str

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        x, y = inputs
        output_storage[0][0] = x + y if self.symbol == "+" else x * y

    def __str__(self) -> str:
        return {"+": "add", "*": "mul"}[self.symbol]


class Inverse(Arithmetic):
    """One over a number: fails at run time for zero."""

    __props__ = ()

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        output_storage[0][0] = 1.0 / inputs[0]


class DivMod(Arithmetic):
    """Quotient and remainder: an op with two outputs."""

    __props__ = ()

    def infer(self, *types: Type) -> Sequence[Type]:
        return [types[0], types[0]]

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        x, y = inputs
        quotient, rest = divmod(x, y)
        output_storage[0][0] = quotient
        output_storage[1][0] = rest


class Same(Arithmetic):
    """The number itself, declared as a view."""

    __props__ = ()
    view_map = {0: [0]}  # noqa: RUF012 - as the documentation writes it

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        output_storage[0][0] = inputs[0]


add = Binary("+")
mul = Binary("*")
inverse = Inverse()
div_mod = DivMod()
same = Same()


def chain(start: Variable, length: int) -> Variable:
    """Return ``start + start + ...``, a chain of nodes."""
    out: Variable = start
    for _ in range(length):
        out = add(out, start)
    return out
