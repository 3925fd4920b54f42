"""Folding of constants where it cannot hide a stable form."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from treadle.graph import Constant
from treadle.rewrite import Phase, RuleSet, fold
from treadle.tensor.elementwise.arithmetic import add, sub
from treadle.tensor.elementwise.elemwise import Elemwise
from treadle.tensor.rewrites.analysis.predicates import applies, constant_value, is_cast, kind_of
from treadle.tensor.shapes.broadcasting import Alloc
from treadle.tensor.types.conversion import tensors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import Apply, FunctionGraph, Variable
    from treadle.tensor.rewrites.analysis.predicates import NodeOf

RULES = RuleSet("folding")


@RULES.rule(Phase.CANONICALIZE, tags=("fast_run", "fast_compile"), needs_graph=True, depth=1)
def exact_constant_folding(fgraph: FunctionGraph, node: Apply) -> Sequence[Variable] | None:
    """f(constants) -> its value, for functions that cannot overflow or cancel.

    Elementwise functions of floats wait until stable forms are found, but for a sum or a difference of two numbers that
    is exact; an alloc stays, so that rules see its value.
    """
    for x in node.inputs:
        if not isinstance(x, Constant):
            return None
    if isinstance(node.op, Alloc):
        return None
    may_round = isinstance(node.op, Elemwise) and kind_of(tensors(node.outputs)[0]) not in "biu"
    if not may_round or is_cast(node):
        return fold(fgraph, node)
    return _exact(fold(fgraph, node), node) if applies(node, add, sub) and len(node.inputs) == 2 else None


def _exact(folded: Sequence[Variable] | None, node: NodeOf[Elemwise]) -> Sequence[Variable] | None:
    """Return a folded sum or difference of two numbers, or None if it was rounded."""
    if folded is None:
        return None
    total = constant_value(folded[0])
    numbers = [constant_value(x) for x in node.inputs]
    if kind_of(node.outputs[0]) != "f" or None in {total, *numbers} or not all(map(math.isfinite, [total, *numbers])):
        return None
    first, second = map(Fraction, numbers)
    return folded if (first + second if applies(node, add) else first - second) == Fraction(total) else None
