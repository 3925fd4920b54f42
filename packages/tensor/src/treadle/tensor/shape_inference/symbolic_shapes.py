"""Symbolic shapes: what the length of each dimension of each variable is equal to, in terms of the inputs.

A dimension's length is a set of atoms, small integers, that it is the broadcast of: the empty set is 1, and two lengths
are certain to be equal if their sets are. An atom stands for a description, such as ``("known", 3)``,
``("length", x, 0)`` or ``("sum", a, b)``. Rules compare lengths (`SymbolicShapes.of`), and build scalars of them from
what is still in the graph (`SymbolicShapes.variable`). Our ops say the lengths of their results by `symbolic_shape`,
other ops by `infer_shape`.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any

from treadle.graph import Constant, Feature, Variable
from treadle.rewrite import feature_of
from treadle.tensor.control.assertion import checked_length
from treadle.tensor.elementwise.arithmetic import add
from treadle.tensor.elementwise.cast import switch
from treadle.tensor.elementwise.comparison import lt
from treadle.tensor.lengths.numbers import (
    as_scalar,
    broadcast_number,
    diagonal_length,
    number,
    plus,
    range_length,
    slice_length,
    times,
    whole_quotient,
)
from treadle.tensor.shape_inference.shape_rules import (
    below_check,
    inferred,
    measured,
    needed_by,
    rule_of,
    scalar_tree,
    slice_of,
    stripped,
)
from treadle.tensor.shapes.shape import length_op
from treadle.tensor.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from treadle.graph import Apply, FunctionGraph
    from treadle.tensor.indexing.expressions import Span
    from treadle.tensor.lengths.numbers import Number
    from treadle.tensor.variables.variable import TensorVariable

# A length: the atoms that it is the broadcast of. None of them means 1; two lengths with the same atoms are equal.
Length = frozenset[int]
Lengths = tuple[Length, ...]
ONE: Length = frozenset()
# A length that is the broadcast of more atoms than this becomes an atom of its own, so that sets stay small.
MOST_ATOMS = 8
# Sums and products of more parts than this are not looked into.
MOST_PARTS = 32


class SymbolicShapes(Feature):
    """Feature that says what each length is equal to: lazily, and once for each variable.

    An atom is a known number, the length of one dimension of a variable about which nothing more is known, an integer
    scalar, or a formula (a sum, a product, the length of a slice …) of lengths. Rewriting keeps values, and so lengths:
    what was found once stays true.
    """

    def __init__(self) -> None:
        self._atoms: dict[tuple[object, ...], int] = {}
        self._described: list[tuple[Any, ...]] = []
        self._natural: list[bool] = []
        self._known: dict[Variable, Lengths] = {}
        self._heirs: dict[Variable, Variable] = {}
        self._built: dict[Length, TensorVariable] = {}
        # What the infer_shape of users' ops returned, by node.
        self.own_shapes: dict[Apply, Sequence[Any]] = {}
        self.fgraph: FunctionGraph | None = None
        # How many variables were looked at: work is counted in tests.
        self.computed = 0

    def on_attach(self, fgraph: FunctionGraph) -> None:
        """Note the graph, which infer_shape of users' ops is given."""
        self.fgraph = fgraph

    def on_change_input(
        self, fgraph: FunctionGraph, node: object, i: int, var: Variable, new_var: Variable, reason: str | None = None
    ) -> None:
        """Note what has taken a variable's place: lengths that were found in terms of the old one still hold."""
        if new_var is not var:
            self._heirs[var] = new_var

    # Atoms

    def atom(self, *description: object, natural: bool = True) -> Length:
        """Return the length that a description stands for."""
        at = self._atoms.setdefault(description, len(self._described))
        if at == len(self._described):
            self._described.append(description)
            self._natural.append(natural)
        return frozenset((at,))

    def fixed(self, n: int) -> Length:
        """Return a length that is known."""
        return ONE if n == 1 else self.atom("known", n, natural=n >= 0)

    def value(self, length: Length) -> int | None:
        """Return the number that a length is known to be, or None."""
        if not length:
            return 1
        if len(length) > 1:
            return None
        kind, *details = self._described[next(iter(length))]
        return int(details[0]) if kind == "known" else None

    def is_natural(self, length: Length) -> bool:
        """Whether a length is certain not to be negative: a scalar may hold the -1 that reshape understands."""
        return all(self._natural[at] for at in length)

    def broadcast(self, lengths: Sequence[Length]) -> Length:
        """Return the length that lengths broadcast to."""
        distinct = set(lengths)
        if len(distinct) == 1:
            return lengths[0]
        merged: Length = frozenset().union(*distinct)
        if len(merged) > 1:
            for at in merged:
                if self._described[at][0] == "known":
                    # The others can only be the same, or 1.
                    return frozenset((at,))
        return merged if len(merged) <= MOST_ATOMS else self.atom("broadcast", *_in_order(distinct))

    def joined(self, parts: Sequence[Length]) -> Length:
        """Return the sum of lengths; equal ones are counted."""
        counts: dict[Length, int] = {}
        known = 0
        for part in (item for length in parts for item in self.parts("sum", length)):
            value = self.value(part)
            if value is not None:
                known += value
                continue
            factors = self.parts("product", part)
            times = self.value(factors[-1])
            base = part if times is None else self.multiplied(factors[:-1])
            counts[base] = counts.get(base, 0) + (1 if times is None else times)
        terms = [base if n == 1 else self.multiplied((base, self.fixed(n))) for base, n in counts.items()]
        return self._combined("sum", [*terms, self.fixed(known)], 0, int.__add__)

    def multiplied(self, parts: Sequence[Length]) -> Length:
        """Return the product of lengths."""
        return self._combined("product", parts, 1, int.__mul__)

    def _combined(self, kind: str, parts: Sequence[Length], neutral: int, combine: Callable[[int, int], int]) -> Length:
        """Return a sum or product: nested ones made flat, what is known combined, the rest in a fixed order."""
        total, unknown = neutral, []
        for part in parts:
            for item in self.parts(kind, part):
                known = self.value(item)
                if known is None:
                    unknown.append(item)
                else:
                    total = combine(total, known)
        if kind == "product" and total == 0:
            return self.fixed(0)
        if not unknown:
            return self.fixed(total)
        unknown = _in_order(unknown)
        if total != neutral:
            unknown.append(self.fixed(total))
        if len(unknown) == 1:
            return unknown[0]
        return self.atom(kind, *unknown, natural=all(map(self.is_natural, unknown)))

    def parts(self, kind: str, length: Length) -> Sequence[Length]:
        """Return what a length is the sum or product of: itself alone, if nothing else."""
        if len(length) == 1:
            described = self._described[next(iter(length))]
            if described[0] == kind and len(described) <= MOST_PARTS:
                return described[1:]
        return (length,)

    def divided(self, above: Sequence[Length], below: Sequence[Length]) -> Length:
        """Return the quotient of two products of lengths, which is a whole number."""
        upper = [p for length in above for p in self.parts("product", length)]
        lower = [p for length in below for p in self.parts("product", length)]
        for p in list(lower):
            if p in upper:
                upper.remove(p)
                lower.remove(p)
        over, under = self.multiplied(upper), self.multiplied(lower)
        n, d = self.value(over), self.value(under)
        if d == 1:
            return over
        if n is not None and d is not None:
            return self.fixed(n // d if d else 0)
        return self.atom("quotient", over, under)

    def sliced(self, span: Span, length: Length, parts: Iterator[Variable]) -> Length | None:
        """Return the length of a slice of a dimension; its symbolic bounds are the next of the parts."""
        return slice_of(self, span, length, parts)

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
            waiting = [x for x in needed_by(current, self) if x not in self._known]
            if waiting:
                stack.extend(waiting)
            else:
                stack.pop()
                self._known[current] = self._compute(current)
        return self._known[var]

    def _compute(self, var: Variable) -> Lengths:
        self.computed += 1
        kind = var.type
        if not isinstance(kind, TensorType):
            return ()
        inferred_lengths: Sequence[Length | None] = [None] * kind.ndim
        if var.owner is not None and None in kind.shape:
            rule = rule_of(var.owner.op)
            inferred_lengths = inferred(self, var.owner, var) if rule is None else rule(var.owner, var, self)
        result = []
        for d, n in enumerate(kind.shape):
            length = self.fixed(n) if n is not None else inferred_lengths[d]
            result.append(self.atom("length", var, d) if length is None else length)
        return tuple(result)

    # Scalars that stand for lengths

    def of_scalar(self, var: Variable) -> Length:
        """Return the length that an integer scalar stands for: sums and products of lengths are seen through."""
        order, leaves = scalar_tree(var)
        lengths: dict[Variable, Length] = {leaf: self._of_leaf(leaf) for leaf in leaves}
        for item in order:
            node: Apply = item.owner  # type: ignore[assignment]  # a sum or product
            operands = [lengths[stripped(x)[0]] for x in node.inputs]
            lengths[item] = self.joined(operands) if node.op is add else self.multiplied(operands)
        return lengths[stripped(var)[0]]

    def given(self, var: Variable) -> Length:
        """Return the length that an op was given as a scalar: computing it is an error where that is negative.

        Only the op itself would complain, and what needs the lengths alone does not compute it.
        """
        length = self.of_scalar(var)
        return length if self.is_natural(length) else self.atom("given", length)

    def unchecked(self, length: Length) -> Length:
        """Return a length without the check that it is not negative, for an op that complains itself."""
        described = [self._described[at] for at in length]
        return described[0][1] if len(described) == 1 and described[0][0] == "given" else length

    def _of_leaf(self, var: Variable) -> Length:
        if isinstance(var, Constant):
            return self.fixed(int(var.data.item()))
        below = below_check(var)
        if below is not None:
            return self.given(below)
        source = measured(var)
        if source is not None:
            return self.of(source[0])[source[1]]
        return self.atom("scalar", var, natural=False)

    # Back to variables

    def variables(
        self, lengths: Iterable[Length], fgraph: FunctionGraph, avoid: Variable | None = None
    ) -> list[TensorVariable] | None:
        """Return scalars that hold lengths, or None if one of them cannot be built (see `variable`)."""
        scalars = []
        for length in lengths:
            scalar = self.variable(length, fgraph, avoid)
            if scalar is None:
                return None
            scalars.append(scalar)
        return scalars

    def variable(self, length: Length, fgraph: FunctionGraph, avoid: Variable | None = None) -> TensorVariable | None:
        """Return a scalar that holds a length, built from what is in the graph.

        None if that needs a variable that is not in the graph any more, or the one to avoid.
        """
        # A length that is known as that of the variable only.
        if any(self._described[at][0] == "length" and self._described[at][1] is avoid for at in length):
            return None
        ready = self._built.get(length)
        if ready is not None and ready in fgraph:
            return ready
        built: dict[Length, Number] = {}
        stack = [length]
        while stack:
            current = stack[-1]
            described = [self._described[at] for at in sorted(current)]
            waiting = [p for _, *parts in described for p in parts if isinstance(p, frozenset) and p not in built]
            if waiting:
                stack.extend(waiting)
                continue
            stack.pop()
            numbers = []
            for item in described:
                scalar = self._number(item, fgraph, avoid, built)
                if scalar is None:
                    return None
                numbers.append(scalar)
            built[current] = broadcast_number(numbers) if numbers else 1
        number_ = built[length]
        result = as_scalar(number_)
        self._built[length] = result
        return result

    def _number(
        self, described: tuple[Any, ...], fgraph: FunctionGraph, avoid: Variable | None, built: dict[Length, Number]
    ) -> Number | None:
        kind, *details = described
        formula = _FORMULAS.get(kind)
        if formula is not None:
            return formula(*(built[p] if isinstance(p, frozenset) else p for p in details))
        if kind == "known":
            return details[0]  # type: ignore[no-any-return]  # a number
        if kind == "made":
            # A scalar that an op's own infer_shape returned.
            return details[0] if all(x is not avoid and x in fgraph for x in details[1:]) else None
        parts: list[Any] = [self._present(x, fgraph) if isinstance(x, Variable) else x for x in details]
        if any(x is None or x is avoid for x in parts):
            return None
        if kind == "range":
            return range_length(*parts)
        var = parts[0]
        if kind == "scalar":
            return number(var if var.type.ndim == 0 else var.dimshuffle())
        known = var.type.shape[details[1]]
        length: Number | None = length_op(details[1])(var) if known is None else known
        return length

    def _present(self, var: Variable, fgraph: FunctionGraph) -> Variable | None:
        """Return a variable, or what took its place in the graph, if that is there."""
        seen = 0
        current: Variable | None = var
        while current is not None and current not in fgraph and not isinstance(current, Constant):
            current = self._heirs.get(current)
            seen += 1
            if seen > MOST_PARTS:
                return None
        return current


def _in_order(lengths: Iterable[Length]) -> list[Length]:
    return sorted(lengths, key=sorted)


# How the kinds of atoms that are formulas of other lengths are computed.
_FORMULAS: Mapping[str, Callable[..., Number]] = {
    "sum": lambda *numbers: reduce(plus, numbers),
    "product": lambda *numbers: reduce(times, numbers),
    "quotient": whole_quotient,
    "broadcast": lambda *numbers: broadcast_number(numbers),
    "diagonal": diagonal_length,
    "slice": slice_length,
    "given": lambda n: n if isinstance(n, int) else checked_length(n),
    # A length that was given, or what -1 stands for.
    "either": lambda length, otherwise: switch(lt(length, 0), otherwise, length),
}


def shapes_of(fgraph: FunctionGraph) -> SymbolicShapes:
    """Return what is known of the shapes in a graph; nothing yet where the rules' features are not attached."""
    return feature_of(fgraph, SymbolicShapes) or SymbolicShapes()


def same_shape(shapes: SymbolicShapes, a: TensorVariable, b: TensorVariable) -> bool:
    """Whether two tensors are certain to have one shape."""
    return a.type.ndim == b.type.ndim and shapes.of(a) == shapes.of(b)
