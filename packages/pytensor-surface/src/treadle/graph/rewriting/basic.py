"""Names that stand elsewhere, at the path that the documentation has them at; written by `./dev pages`."""

from typing import TYPE_CHECKING

from treadle.config import lazy_names

if TYPE_CHECKING:
    from treadle.rewrite import *  # noqa: F403
    from treadle.surface.rewriters import *  # noqa: F403
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "treadle.rewrite": (
                "EquilibriumGraphRewriter GraphRewriter MergeFeature MergeOptimizer NodeRewriter Rewriter "
                "SequentialGraphRewriter"
            ),
            "treadle.surface.rewriters": (
                "FromFunctionGraphRewriter FromFunctionNodeRewriter MetaNodeRewriter PatternNodeRewriter "
                "RemovalNodeRewriter SequentialNodeRewriter SubstitutionNodeRewriter WalkingGraphRewriter "
                "check_stack_trace copy_stack_trace graph_rewriter in2out inplace_graph_rewriter node_rewriter out2in "
                "walking_rewriter"
            ),
        },
    )
