"""A tiny type and tiny ops, to test the engine without tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from treadle.graph import Apply, FunctionGraph, Op, Type, Variable, explicit_graph_inputs, static_op
from treadle.rewrite import EquilibriumGraphRewriter, Pattern

if TYPE_CHECKING:
    from collections.abc import Sequence


class Number(Type):
    """Integers; a bound, where known, refines the type."""

    __props__: ClassVar[tuple[str, ...]] = ("bound",)

    def __init__(self, bound: int | None = None) -> None:
        self.bound = bound

    def filter(self, data: Any, strict: bool = False, allow_downcast: bool | None = None) -> Any:
        del strict, allow_downcast
        if not isinstance(data, int):
            raise TypeError(data)
        return data

    def is_super(self, other: Type) -> bool:
        return isinstance(other, Number) and self.bound in {None, other.bound}

    def nbytes(self, value: Any) -> int:
        return max(1, int(value).bit_length() // 8)


class Word(Type):
    """Strings: a type that no number can replace."""

    __props__: ClassVar[tuple[str, ...]] = ()

    def filter(self, data: Any, strict: bool = False, allow_downcast: bool | None = None) -> Any:
        del strict, allow_downcast
        return data


class _Toy(Op):
    """Base: numbers in, one number out; Python integers become constants."""

    def as_input(self, value: Any) -> Variable:
        return value if isinstance(value, Variable) else Number().make_constant(value)

    def infer(self, *types: Type) -> Sequence[Type]:
        bounds = [t.bound for t in types if isinstance(t, Number)]
        return [Number(None if None in bounds else max(b for b in bounds if b is not None))]


@static_op
class Binary(_Toy):
    """A function of two numbers."""

    name: str
    commutes: bool = False

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        del node
        a, b = inputs
        if self.name == "add":
            output_storage[0][0] = a + b
        elif self.name == "mul":
            output_storage[0][0] = a * b
        elif self.name == "div":
            output_storage[0][0] = a // b
        else:
            output_storage[0][0] = a**b

    def __str__(self) -> str:
        return self.name


@static_op
class Unary(_Toy):
    """A function of one number."""

    name: str

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        del node
        output_storage[0][0] = -inputs[0] if self.name == "neg" else inputs[0] + 1

    def __str__(self) -> str:
        return self.name


@static_op
class Split(_Toy):
    """Quotient and remainder by ten."""

    def infer(self, *types: Type) -> Sequence[Type]:
        del types
        return [Number(), Number()]

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        del node
        output_storage[0][0], output_storage[1][0] = divmod(inputs[0], 10)


add = Binary("add", commutes=True)
mul = Binary("mul", commutes=True)
div = Binary("div")
power = Binary("pow")
neg = Unary("neg")
inc = Unary("inc")
split = Split()


def is_commutative(op: Op) -> bool:
    return isinstance(op, Binary) and op.commutes


def value_of(var: Variable) -> Any:
    return getattr(var, "data", None)


class P(Pattern):
    """Patterns with the operators the tests use."""

    def __add__(self, other: Any) -> Any:
        return add(self, other)

    def __radd__(self, other: Any) -> Any:
        return add(other, self)

    def __mul__(self, other: Any) -> Any:
        return mul(self, other)

    def __rmul__(self, other: Any) -> Any:
        return mul(other, self)

    def __neg__(self) -> Any:
        return neg(self)


def number(name: str, bound: int | None = None) -> Variable:
    return Number(bound).make_variable(name)


def text(var: Variable) -> str:
    """Return an expression as text."""
    if var.owner is None:
        return str(var)
    which = f".{var.index}" if len(var.owner.outputs) > 1 else ""
    return f"{var.owner.op}({', '.join(text(x) for x in var.owner.inputs)}){which}"


def graph(inputs: Sequence[Variable], *outputs: Variable) -> FunctionGraph:
    return FunctionGraph(list(inputs), list(outputs), clone=False)


def graph_of(*outputs: Variable) -> FunctionGraph:
    """Return the graph of expressions, whose inputs are found."""
    return graph(list(explicit_graph_inputs(list(outputs))), *outputs)


def rewritten_text(rewriter: Any, var: Variable) -> str:
    """Return an expression as text, after a rewriter of nodes was tried everywhere until nothing changed."""
    fg = graph_of(var)
    EquilibriumGraphRewriter([rewriter]).rewrite(fg)
    fg.check_integrity()
    return text(fg.outputs[0])
