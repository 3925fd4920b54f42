"""Where the elements of a tensor matter to a gradient: everywhere, or only where the conditions of switches hold.

What flows back to the branch that a switch does not take is zero, but zero times an infinite derivative is not: NaN
would come out of ``switch(x > 0, sqrt(x), 0)`` at 0. So where something flows from an expression that matters only
under a mask to a variable that matters elsewhere too, it is set to zero outside of the mask. Inside, all values are
those of IEEE arithmetic.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from treadle.graph import Constant
from treadle.tensor.elementwise.cast import cast as converted
from treadle.tensor.elementwise.cast import second, switch
from treadle.tensor.elementwise.comparison import gt
from treadle.tensor.elementwise.elemwise import Elemwise, never_broadcasts
from treadle.tensor.elementwise.logic import logical_and, logical_not, logical_or
from treadle.tensor.gradients.demand import ALWAYS, Conditions
from treadle.tensor.reductions.reduction import OverAxes, Reduction, any_
from treadle.tensor.shapes.broadcasting import SumTo, sum_to
from treadle.tensor.shapes.dimshuffle import DimShuffle, dimshuffle
from treadle.tensor.shapes.shape import Reshape, Shape, ShapeI, lengths, reshape
from treadle.tensor.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from treadle.graph import Apply, Variable
    from treadle.tensor.gradients.demand import Clause, Demand
    from treadle.tensor.variables.variable import TensorVariable

    Pull = Callable[[Apply, Sequence[Variable | None]], Sequence[Variable | None]]

# The variables that give an expression its shape are not followed beyond this number.
MOST_SOURCES = 8
_BOOL = TensorType("bool", ())


def is_switch(node: Apply) -> bool:
    """Whether a node chooses between elements."""
    return node.op == switch


class Masks(Conditions):
    """Under which conditions of switches the elements of each variable matter.

    `order` has the nodes in order of evaluation; `patterns`, of those that a gradient flows through, which outputs are
    connected to each input; `everywhere`, variables whose elements all matter: where gradients begin, and those that
    they are asked for. `pull` returns what flows back to the inputs of a node.
    """

    def __init__(
        self,
        order: Sequence[Apply],
        patterns: Mapping[Apply, Sequence[Sequence[bool]]],
        everywhere: Collection[Variable],
        pull: Pull,
    ) -> None:
        super().__init__(everywhere)
        self._pull = pull
        self._masks: dict[tuple[Clause, ...], TensorVariable] = {}
        self._sources: dict[Variable, frozenset[Variable] | None] = {}
        # Variables whose cotangent may be NaN outside of their mask.
        self._dirty: set[Variable] = set()
        # Of nodes that move or combine elements, where those of an input matter; the nodes of masks that are not made
        # yet, and the masks that are.
        self._earlier: dict[tuple[Apply, int], Demand] = {}
        self._later: dict[Variable, tuple[Apply, int, Demand]] = {}
        self._ready: dict[Variable, TensorVariable] = {}
        for node in reversed(order):
            pattern = patterns.get(node)
            if pattern is not None:
                for x, row, through in zip(node.inputs, pattern, self._through(node), strict=True):
                    if any(row) and self._counts(x):
                        self._add(x, through)

    def _counts(self, x: Variable) -> bool:
        """Whether an input matters: nothing flows to integers and truth values, such as the conditions of switches."""
        return not isinstance(x.type, TensorType) or x.type.numpy_dtype.kind in "fc"

    def _through(self, node: Apply) -> list[Demand]:
        """Return for each input where its elements matter to this node."""
        if isinstance(node.op, Shape | ShapeI):
            return [self.never]
        if not _is_pointwise(node):
            return [self._narrowed(node, i) for i in range(len(node.inputs))]
        (out,) = cast("list[TensorVariable]", node.outputs)
        demand = self.of(out)
        own = [demand] * len(node.inputs)
        if is_switch(node):
            own[1:] = [self.within(demand, node.inputs[0], taken) for taken in (True, False)]
        elif node.op == second:
            own[0] = self.never  # its shape alone matters
        kinds = [cast("TensorVariable", x).type for x in node.inputs]
        return [
            d if kind.shape == out.type.shape else self._narrowed(node, i)
            for i, (d, kind) in enumerate(zip(own, kinds, strict=True))
        ]

    def _narrowed(self, node: Apply, i: int) -> Demand:
        """Return where the elements of an input matter to a node whose result has them at other places.

        That is where any of those elements of the result matter that they go into; the mask is made when asked for.
        """
        demand = self.of(node.outputs[0])
        if len(node.outputs) == 1 and not demand:
            return demand  # nothing flows back to it
        if demand is ALWAYS or not _has_masks_of_inputs(node, i):
            return ALWAYS
        narrowed = self._earlier.get((node, i))
        if narrowed is None:
            mask = _BOOL.make_variable()
            self._later[mask] = (node, i, demand)
            narrowed = self._earlier[node, i] = self.within(ALWAYS, mask, True)
        return narrowed

    def _resolved(self, condition: Variable) -> Variable:
        """Return a condition, with the mask computed now where it stands for one of a node's input."""
        if condition not in self._later:
            return condition
        mask = self._ready.get(condition)
        if mask is None:
            node, i, demand = self._later[condition]
            mask = _mask_of_input(node, i, self._mask_over(demand, node.outputs[0]))
            self._sources[mask] = frozenset()  # no larger than the input
            self._ready[condition] = mask
        return mask

    def pulled_back(self, node: Apply, cotangents: Sequence[Variable | None]) -> Sequence[Variable | None]:
        """Return what flows back to the inputs of a node."""
        demands = [self.of(out) for out in node.outputs]
        if all(d is ALWAYS or not d for d in demands):
            return self._pull(node, cotangents)
        through = self._through(node)
        # The inputs whose elements matter elsewhere too, or gather what flows back to several places.
        leaving = [
            d is ALWAYS or self.of(x) is not d or (node, i) in self._earlier
            for i, (x, d) in enumerate(zip(node.inputs, through, strict=True))
        ]
        keeps_zeros = is_switch(node) or not isinstance(node.op, Elemwise)
        if not _is_pointwise(node) or (keeps_zeros and any(leaving)):
            cotangents = [
                self._masked(ct, d, out) if ct is not None and out in self._dirty else ct
                for ct, d, out in zip(cotangents, demands, node.outputs, strict=True)
            ]
            terms = self._pull(node, cotangents)
            if isinstance(node.op, Reduction) and node.op.kind == "prod" and through[0] and terms[0] is not None:
                return [self._masked(terms[0], through[0], node.inputs[0]) if through[0] is not ALWAYS else terms[0]]
            return terms
        (ct,), (out,) = cotangents, node.outputs
        terms = list(self._pull(node, cotangents))
        wide: Sequence[Variable | None] | None = None
        for i, (x, term) in enumerate(zip(node.inputs, terms, strict=True)):
            if term is None or ct is None or not isinstance(term.type, TensorType):
                continue
            if out not in self._dirty and _is_finite_multiple(term, ct, node):
                continue
            if not leaving[i]:
                self._dirty.add(x)
                continue
            if wide is None:
                wide = self._wide_terms(node, ct, terms)
            terms[i] = sum_to(self._masked(cast("Variable", wide[i]), demands[0], out), x)
        return terms

    def _wide_terms(self, node: Apply, ct: Variable, terms: Sequence[Variable | None]) -> Sequence[Variable | None]:
        """Return the terms of an elementwise node, not summed back to inputs that were broadcast."""
        (out,) = node.outputs
        wide = [x if isinstance(x, Constant) or self._spans(x, out) else second(out, x) for x in node.inputs]
        if all(a is b for a, b in zip(wide, node.inputs, strict=True)):
            return terms
        return self._pull(node.op.make_node_like(node, wide), [ct])

    def _masked(self, term: Variable, demand: Demand, out: Variable) -> TensorVariable:
        """Return a term of the shape of a variable, and zeros where the variable does not matter."""
        return switch(self._mask_over(demand, out), term, 0)

    def _mask_over(self, demand: Demand, out: Variable) -> TensorVariable:
        """Return a demand as truth values of no larger shape than a variable's."""
        mask = self._mask(demand)
        if not self._spans(out, mask):
            # A length of 1 that is only known at run time: what any of the elements that it stands for needs.
            mask = gt(sum_to(converted(second(out, mask), "int64"), out), 0)
        return mask

    def _mask(self, demand: Demand) -> TensorVariable:
        """Return a demand as truth values."""
        clauses = tuple(sorted(demand, key=len))
        mask = self._masks.get(clauses)
        if mask is None:
            for clause in clauses:
                holds: TensorVariable | None = None
                for outcome, taken in clause:
                    condition = self._resolved(outcome)
                    test = converted(condition, "bool") if taken else logical_not(condition)
                    holds = test if holds is None else logical_and(holds, test)
                mask = holds if mask is None else logical_or(mask, holds)
            if mask is None:
                raise AssertionError
            self._masks[clauses] = mask
        return mask

    def _spans(self, x: Variable, y: Variable) -> bool:
        """Whether a tensor is certain to be as large as another one of its rank that broadcasts with it."""
        if never_broadcasts(cast("TensorVariable", y)):
            return True
        of_x, of_y = self._shaped_by(x), self._shaped_by(y)
        return of_x is not None and of_y is not None and of_y <= of_x

    def _shaped_by(self, var: Variable) -> frozenset[Variable] | None:
        """Return the variables that broadcast together to the shape of an elementwise expression; None if too many."""
        pending = [var]
        known = self._sources
        while pending:
            v = pending[-1]
            kind = v.type
            if v in known or not isinstance(kind, TensorType) or never_broadcasts(cast("TensorVariable", v)):
                known.setdefault(v, frozenset())
                pending.pop()
                continue
            if v.owner is None or not isinstance(v.owner.op, Elemwise):
                known[v] = frozenset((v,))
                pending.pop()
                continue
            missing = [x for x in v.owner.inputs if x not in known]
            if missing:
                pending += missing
                continue
            pending.pop()
            sources: frozenset[Variable] | None = frozenset()
            for x in v.owner.inputs:
                own = known[x]
                sources = None if own is None or sources is None else sources | own
            known[v] = sources if sources is not None and len(sources) <= MOST_SOURCES else None
        return known[var]


def _is_pointwise(node: Apply) -> bool:
    """Whether each element of the result depends on the elements of the inputs at its own place only.

    A sum back to the shape of another tensor is taken to do nothing, as it nearly always does. Where lengths differ
    when the program runs, masks broadcast, and are wider than need be.
    """
    if isinstance(node.op, SumTo):
        first, out = cast("TensorVariable", node.inputs[0]), cast("TensorVariable", node.outputs[0])
        return first.type.shape == out.type.shape
    return isinstance(node.op, Elemwise) and len(node.outputs) == 1


class Uses(Masks):
    """Under which conditions of switches the elements of each variable matter to the values of those `everywhere`."""

    def __init__(self, order: Sequence[Apply], everywhere: Collection[Variable]) -> None:
        super().__init__(order, {node: [[True]] * len(node.inputs) for node in order}, everywhere, _no_pull)

    def _counts(self, x: Variable) -> bool:
        return True

    def masked(self, var: Variable) -> Variable:
        """Return a variable with zeros where it does not matter."""
        demand = self.of(var)
        return self._masked(var, demand, var) if demand and demand is not ALWAYS else var


def _no_pull(node: Apply, cotangents: Sequence[Variable | None]) -> Sequence[Variable | None]:
    raise AssertionError(node, cotangents)


def _has_masks_of_inputs(node: Apply, i: int) -> bool:
    """Whether `_mask_of_input` knows which elements of a result an element of an input goes into."""
    op = node.op
    x, out = node.inputs[i].type, node.outputs[0].type
    if not isinstance(x, TensorType) or not isinstance(out, TensorType):
        return False
    if isinstance(op, Elemwise):
        return _is_broadcast(x.shape, out.shape)
    if isinstance(op, DimShuffle):
        return all(d != "x" or n == 1 for d, n in zip(op.order, out.shape, strict=True))
    return i == 0 and isinstance(op, OverAxes | Reshape) and len(node.outputs) == 1


def _is_broadcast(shape: Sequence[int | None], wide: Sequence[int | None]) -> bool:
    """Whether a static shape differs from another one in lengths of 1 only."""
    return len(shape) == len(wide) and all(n in {m, 1} for n, m in zip(shape, wide, strict=True))


def _mask_of_input(node: Apply, i: int, mask: TensorVariable) -> TensorVariable:
    """Return where any element of the result matters that an element of an input goes into."""
    x = cast("TensorVariable", node.inputs[i])
    op = node.op
    if isinstance(op, Elemwise):
        return any_(mask, axis=tuple(d for d, n in enumerate(x.type.shape) if n == 1), keepdims=True)
    if isinstance(op, DimShuffle):
        places = {d: at for at, d in enumerate(op.order)}
        return dimshuffle(mask, *(places.get(d, "x") for d in range(x.ndim)))
    if isinstance(op, OverAxes):
        if mask.ndim == x.ndim:
            return any_(mask, axis=op.axes, keepdims=True)
        kept = iter(range(mask.ndim))
        return dimshuffle(mask, *("x" if d in op.axes else next(kept) for d in range(x.ndim)))
    return reshape(second(node.outputs[0], mask), lengths(x))


def _is_finite_multiple(term: Variable, ct: Variable, node: Apply) -> bool:
    """Whether a term is the cotangent times constants, so that it is zero where the cotangent is."""
    own = {*node.inputs, *node.outputs}
    pending = [term]
    while pending:
        var = pending.pop()
        if var is ct or isinstance(var, Constant):
            continue
        if var.owner is None or (var in own and not all(isinstance(x, Constant) for x in var.owner.inputs)):
            return False
        if not isinstance(var.owner.op, Shape | ShapeI):
            pending += var.owner.inputs
    return True
