"""What is known about lengths: for each dimension of each variable, what it is equal to in terms of the inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.graph import Apply, Constant, Feature, Variable
from treadle.rewrite import feature_of
from treadle.tensor.broadcasting import Alloc, SumTo
from treadle.tensor.conversion import constant
from treadle.tensor.dimshuffle import DimShuffle
from treadle.tensor.elemwise import Elemwise
from treadle.tensor.index import At, Span
from treadle.tensor.indexing import AdvancedIncSubtensor, IncSubtensor, Subtensor
from treadle.tensor.joining import Join
from treadle.tensor.normalization import LogSoftmax, LogSumExp, Softmax
from treadle.tensor.product import MatMul
from treadle.tensor.reduction import ArgReduction, Reduction
from treadle.tensor.scalar.arithmetic import add
from treadle.tensor.scalar.cast import CASTS, switch
from treadle.tensor.scalar.comparison import eq
from treadle.tensor.shape import LENGTH, Reshape, Shape, ShapeI
from treadle.tensor.types import TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import FunctionGraph

# A length: the atoms that it is the broadcast of. None of them means 1; two lengths with the same atoms are equal.
Length = frozenset[int]
Lengths = tuple[Length, ...]
ONE: Length = frozenset()
# A length that is the broadcast of more atoms than this becomes an atom of its own, so that sets stay small.
MOST_ATOMS = 8

_CAST_TO_LENGTH = CASTS[LENGTH]


class LengthTable(Feature):
    """Feature that says what each length is equal to.

    An atom is a known length, the length of one dimension of a variable about which nothing more is known, an integer
    scalar, or a sum of lengths. Rewriting keeps values, lengths too, so what was found once stays true.
    """

    def __init__(self) -> None:
        self._atoms: dict[tuple[Any, ...], int] = {}
        self._described: list[tuple[Any, ...]] = []
        self._known: dict[Variable, Lengths] = {}

    # Atoms

    def _atom(self, *description: Any) -> Length:
        number = self._atoms.setdefault(description, len(self._described))
        if number == len(self._described):
            self._described.append(description)
        return frozenset((number,))

    def _fixed(self, n: int) -> Length:
        return ONE if n == 1 else self._atom("known", n)

    def broadcast(self, lengths: Sequence[Length]) -> Length | None:
        """Return the length that lengths broadcast to; None where too little is known to say it shortly."""
        merged = lengths[0] if len(set(lengths)) == 1 else frozenset().union(*lengths)
        if len(merged) > 1:
            for number in merged:
                if self._described[number][0] == "known":
                    # The others can only be the same, or 1.
                    return frozenset((number,))
        return merged if len(merged) <= MOST_ATOMS else None

    # Lengths of variables

    def of(self, var: Variable) -> Lengths:
        """Return the length of each dimension of a tensor."""
        known = self._known.get(var)
        if known is not None:
            return known
        stack = [var]
        while stack:
            current = stack[-1]
            if current in self._known:
                stack.pop()
                continue
            waiting = [x for x in _needs(current) if x not in self._known]
            if waiting:
                stack.extend(waiting)
            else:
                stack.pop()
                self._known[current] = self._compute(current)
        return self._known[var]

    def of_scalar(self, var: Variable) -> Length:
        """Return the length that an integer scalar stands for."""
        scalar = var
        while var.owner is not None and (var.owner.op is _CAST_TO_LENGTH or isinstance(var.owner.op, DimShuffle)):
            if var.owner.op is _CAST_TO_LENGTH and getattr(var.owner.inputs[0].type, "dtype", "") == "uint64":
                break
            var = var.owner.inputs[0]
            scalar = var if getattr(var.type, "ndim", 0) == 0 else scalar
        if isinstance(var, Constant):
            return self._fixed(int(var.data.item()))
        source = _measured(var)
        if source is not None:
            return self.of(source[0])[source[1]]
        return self._atom("scalar", scalar)

    def _compute(self, var: Variable) -> Lengths:
        kind: Any = var.type
        found: Sequence[Length | None] = [None] * kind.ndim
        if var.owner is not None and None in kind.shape:
            rule = _RULES.get(type(var.owner.op))
            if rule is not None:
                found = rule(self, var.owner, var)
        result = []
        for d, n in enumerate(kind.shape):
            length = self._fixed(n) if n is not None else found[d]
            result.append(self._atom("length", var, d) if length is None else length)
        return tuple(result)

    def joined(self, parts: Sequence[Length]) -> Length:
        """Return the sum of lengths."""
        fixed = [self._value(p) for p in parts]
        if None not in fixed:
            return self._fixed(sum(n for n in fixed if n is not None))
        return self._atom("sum", *parts)

    def _value(self, length: Length) -> int | None:
        if not length:
            return 1
        description = self._described[next(iter(length))]
        return int(description[1]) if len(length) == 1 and description[0] == "known" else None

    def is_natural(self, length: Length) -> bool:
        """Whether a length is certain not to be negative: a scalar may hold the -1 that reshape understands."""
        value = self._value(length)
        if value is not None:
            return value >= 0
        return all(self._described[number][0] != "scalar" for number in length)

    # Back to variables

    def variable(self, length: Length, fgraph: FunctionGraph, avoid: Variable | None = None) -> Variable | None:
        """Return a scalar that holds a length, built from what is in the graph.

        None if that needs a variable that is not in the graph any more, or the one to avoid.
        """
        made: dict[Length, Any] = {}
        stack = [length]
        while stack:
            current = stack[-1]
            described = [self._described[number] for number in current]
            waiting = [p for kind, *parts in described if kind == "sum" for p in parts if p not in made]
            if waiting:
                stack.extend(waiting)
                continue
            stack.pop()
            scalars = [self._scalar(number, fgraph, avoid, made) for number in sorted(current)]
            if any(s is None for s in scalars):
                return None
            made[current] = _broadcast_scalars(scalars)
        result: Variable = made[length]
        return result

    def _scalar(self, number: int, fgraph: FunctionGraph, avoid: Variable | None, made: dict[Length, Any]) -> Any:
        kind, *rest = self._described[number]
        if kind == "known":
            return constant(rest[0], dtype=LENGTH)
        if kind == "sum":
            total: Any = made[rest[0]]
            for part in rest[1:]:
                total = add(total, made[part])
            return total
        var = rest[0]
        if var is avoid or var not in fgraph:
            return None
        if kind == "scalar":
            return var if var.type.dtype == LENGTH else _CAST_TO_LENGTH(var)
        return ShapeI(rest[1])(var)


def table_of(fgraph: FunctionGraph) -> LengthTable:
    """Return the graph's table of lengths; a fresh one where the rules' features are not attached."""
    return feature_of(fgraph, LengthTable) or LengthTable()


def _broadcast_scalars(scalars: Sequence[Any]) -> Any:
    """Return the length that lengths broadcast to: each is the result, or 1."""
    if not scalars:
        return constant(1, dtype=LENGTH)
    result = scalars[0]
    for n in scalars[1:]:
        result = switch(eq(result, 1), n, result)
    return result


def _measured(var: Variable) -> tuple[Variable, int] | None:
    """Return the variable and dimension whose length a scalar is, or None."""
    node = var.owner
    if node is None:
        return None
    if isinstance(node.op, ShapeI):
        return node.inputs[0], node.op.axis
    if isinstance(node.op, Subtensor) and len(node.op.entries) == 1 and isinstance(node.op.entries[0], At):
        source, at = node.inputs[0].owner, node.op.entries[0].value
        if source is not None and isinstance(source.op, Shape) and isinstance(at, int):
            x = source.inputs[0]
            ndim = getattr(x.type, "ndim", 0)
            return x, at % ndim if ndim else at
    return None


def _needs(var: Variable) -> Sequence[Variable]:
    """Return the variables whose lengths must be known first."""
    kind: Any = var.type
    node = var.owner
    if node is None or None not in kind.shape or type(node.op) not in _RULES:
        return ()
    if not isinstance(node.op, Alloc | SumTo | Reshape):
        return node.inputs
    needed = []
    for scalar in node.inputs[1:]:
        x = scalar
        while x.owner is not None and (x.owner.op is _CAST_TO_LENGTH or isinstance(x.owner.op, DimShuffle)):
            x = x.owner.inputs[0]
        source = _measured(x)
        if source is not None:
            needed.append(source[0])
    return needed


# How each op makes lengths from those of its inputs


def _elementwise(table: LengthTable, node: Apply, out: Variable) -> Sequence[Length | None]:
    del out
    each = [table.of(x) for x in node.inputs]
    return [table.broadcast(lengths) for lengths in zip(*each, strict=True)]


def _rearranged(table: LengthTable, node: Apply, out: Variable) -> Sequence[Length | None]:
    del out
    own = table.of(node.inputs[0])
    op: Any = node.op
    return [own[d] if isinstance(d, int) else ONE for d in op.order]


def _given(table: LengthTable, node: Apply, out: Variable) -> Sequence[Length | None]:
    del out
    return [table.of_scalar(x) for x in node.inputs[1:]]


def _reshaped(table: LengthTable, node: Apply, out: Variable) -> Sequence[Length | None]:
    del out
    lengths = [table.of_scalar(x) for x in node.inputs[1:]]
    return [n if table.is_natural(n) else None for n in lengths]


def _reduced(table: LengthTable, node: Apply, out: Variable) -> Sequence[Length | None]:
    del out
    op: Any = node.op
    return [n for d, n in enumerate(table.of(node.inputs[0])) if d not in op.axes]


def _unchanged(table: LengthTable, node: Apply, out: Variable) -> Sequence[Length | None]:
    del out
    return table.of(node.inputs[0])


def _multiplied(table: LengthTable, node: Apply, out: Variable) -> Sequence[Length | None]:
    del out
    a, b = (table.of(x) for x in node.inputs)
    batch = [table.broadcast(pair) for pair in zip(a[:-2], b[:-2], strict=True)]
    return [*batch, a[-2], b[-1]]


def _joined(table: LengthTable, node: Apply, out: Variable) -> Sequence[Length | None]:
    del out
    each = [table.of(x) for x in node.inputs]
    op: Any = node.op
    first: list[Length | None] = list(each[0])
    first[op.axis] = table.joined([lengths[op.axis] for lengths in each])
    return first


def _taken(table: LengthTable, node: Apply, out: Variable) -> Sequence[Length | None]:
    del out
    op: Any = node.op
    spans = [(e, n) for e, n in zip(op.entries, table.of(node.inputs[0]), strict=True) if isinstance(e, Span)]
    return [n if e.is_full else None for e, n in spans]


_RULES: Any = {
    Elemwise: _elementwise,
    DimShuffle: _rearranged,
    Alloc: _given,
    SumTo: _given,
    Reshape: _reshaped,
    Reduction: _reduced,
    ArgReduction: _reduced,
    LogSumExp: _reduced,
    Softmax: _unchanged,
    LogSoftmax: _unchanged,
    IncSubtensor: _unchanged,
    AdvancedIncSubtensor: _unchanged,
    MatMul: _multiplied,
    Join: _joined,
    Subtensor: _taken,
}


def same_lengths(table: LengthTable, a: Variable, b: Variable) -> bool:
    """Whether two tensors are certain to have one shape."""
    kind_a: TensorType | Any = a.type
    kind_b: TensorType | Any = b.type
    return kind_a.ndim == kind_b.ndim and table.of(a) == table.of(b)
