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
from treadle.tensor.shapes.broadcasting import SumTo, sum_to
from treadle.tensor.shapes.shape import Shape, ShapeI
from treadle.tensor.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from treadle.graph import Apply, Variable
    from treadle.tensor.gradients.demand import Clause, Demand
    from treadle.tensor.variables.variable import TensorVariable

    Pull = Callable[[Apply, Sequence[Variable | None]], Sequence[Variable | None]]

# Of more variables than this, it is not looked at which give an expression its shape.
MOST_SOURCES = 8


def is_switch(node: Apply) -> bool:
    """Whether a node chooses between elements."""
    return node.op == switch


class Masks(Conditions):
    """Under which conditions of switches the elements of each variable matter.

    Parameters
    ----------
    order
        The nodes, each after those it needs.
    patterns
        Of the nodes that a gradient flows through, which outputs are connected to each input.
    everywhere
        Variables whose elements all matter: where gradients begin, and those that they are asked for.
    pull
        Returns what flows back to the inputs of a node.
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
        for node in reversed(order):
            pattern = patterns.get(node)
            if pattern is not None:
                for x, row, through in zip(node.inputs, pattern, self._through(node), strict=True):
                    if any(row):
                        self._add(x, through)

    def _through(self, node: Apply) -> list[Demand]:
        """Return for each input where its elements matter to this node."""
        if not _is_pointwise(node):
            return [ALWAYS] * len(node.inputs)
        (out,) = cast("list[TensorVariable]", node.outputs)
        demand = self.of(out)
        own = [demand] * len(node.inputs)
        if is_switch(node):
            own[1:] = [self.within(demand, node.inputs[0], taken) for taken in (True, False)]
        kinds = [cast("TensorVariable", x).type for x in node.inputs]
        return [d if kind.shape == out.type.shape else ALWAYS for d, kind in zip(own, kinds, strict=True)]

    def pulled_back(self, node: Apply, cotangents: Sequence[Variable | None]) -> Sequence[Variable | None]:
        """Return what flows back to the inputs of a node."""
        demands = [self.of(out) for out in node.outputs]
        if all(d is ALWAYS or not d for d in demands):
            return self._pull(node, cotangents)
        through = self._through(node)
        # Of which inputs elements matter elsewhere too.
        leaving = [d is ALWAYS or self.of(x) is not d for x, d in zip(node.inputs, through, strict=True)]
        keeps_zeros = is_switch(node) or not isinstance(node.op, Elemwise)
        if not _is_pointwise(node) or (keeps_zeros and any(leaving)):
            cotangents = [
                self._masked(ct, d, out) if ct is not None and out in self._dirty else ct
                for ct, d, out in zip(cotangents, demands, node.outputs, strict=True)
            ]
            return self._pull(node, cotangents)
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
        mask = self._mask(demand)
        if not self._spans(out, mask):
            # A length of 1 that is only known at run time: what any of the elements that it stands for needs.
            mask = gt(sum_to(converted(second(out, mask), "int64"), out), 0)
        return switch(mask, term, 0)

    def _mask(self, demand: Demand) -> TensorVariable:
        """Return a demand as truth values."""
        clauses = tuple(sorted(demand, key=len))
        found = self._masks.get(clauses)
        if found is None:
            for clause in clauses:
                holds: TensorVariable | None = None
                for condition, taken in clause:
                    test = converted(condition, "bool") if taken else logical_not(condition)
                    holds = test if holds is None else logical_and(holds, test)
                found = holds if found is None else logical_or(found, holds)
            if found is None:
                raise AssertionError
            self._masks[clauses] = found
        return found

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
            found: frozenset[Variable] | None = frozenset()
            for x in v.owner.inputs:
                own = known[x]
                found = None if own is None or found is None else found | own
            known[v] = found if found is not None and len(found) <= MOST_SOURCES else None
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


def _is_finite_multiple(term: Variable, ct: Variable, node: Apply) -> bool:
    """Whether a term is the cotangent times constants, so that it is zero where the cotangent is."""
    given = {*node.inputs, *node.outputs}
    pending = [term]
    while pending:
        var = pending.pop()
        if var is ct or isinstance(var, Constant):
            continue
        if var.owner is None or (var in given and not all(isinstance(x, Constant) for x in var.owner.inputs)):
            return False
        if not isinstance(var.owner.op, Shape | ShapeI):
            pending += var.owner.inputs
    return True
