"""The rule for vectors of scalars: backends and other rules have them as joins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.rewrite import Phase, RuleSet
from treadle.surface.values.vectors import MakeVector
from treadle.tensor.rewrites.analysis.patterns import BOTH

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import Variable
    from treadle.tensor.rewrites.analysis.predicates import NodeOf

RULES = RuleSet("vectors")


# Canonical forms keep the op, for programs that look for it.
@RULES.rule((Phase.INLINE, Phase.SPECIALIZE), MakeVector, tags=BOTH, depth=1)
def join_of_make_vector(node: NodeOf[MakeVector]) -> Sequence[Variable] | None:
    """make_vector(x, y) -> stack([x, y])."""
    return node.op.decompose(*node.inputs)
