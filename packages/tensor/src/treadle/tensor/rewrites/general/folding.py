"""Folding of constants where it cannot hide a stable form."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.graph import Constant
from treadle.rewrite import Phase, RuleSet, fold
from treadle.tensor.elementwise.elemwise import Elemwise
from treadle.tensor.rewrites.analysis.predicates import is_cast, kind_of
from treadle.tensor.shapes.broadcasting import Alloc
from treadle.tensor.types.conversion import tensors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import Apply, FunctionGraph, Variable

RULES = RuleSet("folding")


@RULES.rule(Phase.CANONICALIZE, tags=("fast_run", "fast_compile"), needs_graph=True, depth=1)
def exact_constant_folding(fgraph: FunctionGraph, node: Apply) -> Sequence[Variable] | None:
    """f(constants) -> its value, for functions that cannot overflow or cancel.

    Elementwise functions of floats wait until stable forms are found; an alloc stays, so that rules see its value.
    """
    for x in node.inputs:
        if not isinstance(x, Constant):
            return None
    if isinstance(node.op, Alloc):
        return None
    may_round = isinstance(node.op, Elemwise) and kind_of(tensors(node.outputs)[0]) not in "biu"
    return None if may_round and not is_cast(node) else fold(fgraph, node)
