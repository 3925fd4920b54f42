"""Folding of constants where it cannot hide a stable form."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from treadle.rewrite import Phase, RuleSet, fold
from treadle.tensor.elementwise.arithmetic import add, mul, sub
from treadle.tensor.elementwise.elemwise import Elemwise
from treadle.tensor.rewrites.analysis.predicates import applies, constant_value, is_cast, kind_of
from treadle.tensor.shapes.broadcasting import Alloc
from treadle.tensor.types.conversion import tensors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import Apply, FunctionGraph, Variable
    from treadle.tensor.rewrites.analysis.predicates import NodeOf

RULES = RuleSet("folding")


@RULES.rule(Phase.CANONICALIZE, tags=("fast_run", "fast_compile"), needs_graph=True, depth=1, constants="all")
def exact_constant_folding(fgraph: FunctionGraph, node: Apply) -> Sequence[Variable] | None:
    """f(constants) -> its value, for functions that cannot overflow or cancel.

    Elementwise functions of floats wait until stable forms are found, but for a sum or a difference of two numbers that
    is exact, and so do sums and products of integers that wrap around; an alloc stays, so that rules see its value.
    """
    if isinstance(node.op, Alloc):
        return None
    may_round = isinstance(node.op, Elemwise) and kind_of(tensors(node.outputs)[0]) not in "biu"
    if may_round and not is_cast(node):
        return _exact(fold(fgraph, node), node) if applies(node, add, sub) else None
    folded = fold(fgraph, node)
    return _exact(folded, node, otherwise=folded) if applies(node, add, sub, mul) else folded


def _exact(
    folded: Sequence[Variable] | None, node: NodeOf[Elemwise], otherwise: Sequence[Variable] | None = None
) -> Sequence[Variable] | None:
    """Return a folded sum, difference or product of numbers, or None if it was rounded or wrapped around.

    `otherwise` is for arrays, whose elements are not looked at.
    """
    if folded is None:
        return None
    numbers = [constant_value(x) for x in (*node.inputs, *folded)]
    if any(isinstance(number, bool) or not isinstance(number, int | float) for number in numbers):
        return otherwise
    if not all(map(math.isfinite, numbers)):
        return None
    *operands, result = map(Fraction, numbers)
    if applies(node, sub):
        expected = operands[0] - operands[1]
    else:
        expected = sum(operands, Fraction(0)) if applies(node, add) else math.prod(operands, start=Fraction(1))
    return folded if expected == result else None
