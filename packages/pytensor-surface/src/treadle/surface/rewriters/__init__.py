"""The documented interface of rewriting that treadle itself does not use: adapters over the engine."""

from treadle.surface.rewriters.databases import LocalGroupDB, ProxyDB, TopoDB
from treadle.surface.rewriters.functions import (
    FromFunctionGraphRewriter,
    FromFunctionNodeRewriter,
    graph_rewriter,
    inplace_graph_rewriter,
    node_rewriter,
)
from treadle.surface.rewriters.graphs import get_clients_at_depth, rewrite_subgraph
from treadle.surface.rewriters.meta import MetaNodeRewriter
from treadle.surface.rewriters.substitution import PatternNodeRewriter, RemovalNodeRewriter, SubstitutionNodeRewriter
from treadle.surface.rewriters.traces import check_stack_trace, copy_stack_trace
from treadle.surface.rewriters.walking import (
    SequentialNodeRewriter,
    WalkingGraphRewriter,
    in2out,
    out2in,
    walking_rewriter,
)

__all__ = [
    "FromFunctionGraphRewriter",
    "FromFunctionNodeRewriter",
    "LocalGroupDB",
    "MetaNodeRewriter",
    "PatternNodeRewriter",
    "ProxyDB",
    "RemovalNodeRewriter",
    "SequentialNodeRewriter",
    "SubstitutionNodeRewriter",
    "TopoDB",
    "WalkingGraphRewriter",
    "check_stack_trace",
    "copy_stack_trace",
    "get_clients_at_depth",
    "graph_rewriter",
    "in2out",
    "inplace_graph_rewriter",
    "node_rewriter",
    "out2in",
    "rewrite_subgraph",
    "walking_rewriter",
]
