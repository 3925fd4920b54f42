"""Names that stand elsewhere, at the path that the documentation has them at; written by `./dev pages`."""

from treadle.config import lazy_names

__getattr__ = lazy_names(
    __name__,
    {
        "treadle.rewrite": (
            "EquilibriumGraphRewriter FromFunctionGraphRewriter FromFunctionNodeRewriter GraphRewriter "
            "MergeFeature MergeOptimizer MetaNodeRewriter NodeRewriter PatternNodeRewriter RemovalNodeRewriter "
            "Rewriter SequentialGraphRewriter SequentialNodeRewriter SubstitutionNodeRewriter WalkingGraphRewriter "
            "check_stack_trace copy_stack_trace graph_rewriter in2out inplace_graph_rewriter node_rewriter out2in "
            "walking_rewriter"
        ),
    },
)
