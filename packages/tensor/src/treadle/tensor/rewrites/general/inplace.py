"""In-place work of tensor ops, a pass for each kind, so that modes may leave one out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.rewrite import IN_PLACE, Phase, RuleSet, overwrite

if TYPE_CHECKING:
    from treadle.graph import FunctionGraph

RULES = RuleSet("overwriting")

# The documented names of those who do this work, by which modes exclude it.
_WRITES = ("local_inplace_setsubtensor", "local_inplace_AdvancedIncSubtensor")
_ELEMWISE = ("inplace_elemwise", "inplace_elemwise_opt", "inplace_elemwise_optimizer")


@RULES.graph_pass(Phase.INPLACE, tags=(*IN_PLACE, *_WRITES), after=("cond_make_inplace",))
def write_in_place(fgraph: FunctionGraph) -> int:
    """x[i].set(y), x[i].inc(y) where nothing reads x afterwards -> the part written in x itself."""
    return overwrite(fgraph, "write_in_place")


@RULES.graph_pass(Phase.INPLACE, tags=(*IN_PLACE, *_ELEMWISE), after=("write_in_place",), before=("work_in_place",))
def elementwise_in_place(fgraph: FunctionGraph) -> int:
    """f(x) of each element where nothing reads x afterwards -> f(x) written over x."""
    return overwrite(fgraph, "elementwise_in_place")


@RULES.graph_pass(Phase.INPLACE, tags=IN_PLACE, before=("work_in_place",))
def random_make_inplace(fgraph: FunctionGraph) -> int:
    """Draw with a copy of a generator that nothing else needs -> draw with the generator itself.

    That is one made by the graph, or an input that may be changed: a shared generator stays as it was when a call
    fails.
    """
    return overwrite(fgraph, "random_make_inplace")
