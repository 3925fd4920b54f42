"""rewrite_graph: rewriting of variables and graphs without compiling them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.graph import FunctionGraph, Variable
from treadle.rewrite.compound import EquilibriumGraphRewriter
from treadle.rewrite.default import optdb
from treadle.rewrite.engine.interface import GraphRewriter, NodeRewriter
from treadle.rewrite.errors import RewriterTypeError
from treadle.rewrite.query import RewriteDatabaseQuery

if TYPE_CHECKING:
    from collections.abc import Iterable

    from treadle.rewrite.database import RewriteDatabase


def rewrite_graph(
    graph: Any,
    include: Iterable[str] = ("canonicalize",),
    custom_rewrite: GraphRewriter | NodeRewriter | None = None,
    clone: bool = False,
    *,
    database: RewriteDatabase | None = None,
    checks: bool = False,
    **query: Any,
) -> Any:
    """Rewrite a variable, variables or a graph.

    Parameters
    ----------
    graph
        A variable, a list of variables, or a FunctionGraph.
    include
        Tags of the rules to run.
    custom_rewrite
        A rewriter to run after them.
    clone
        Whether to work on a copy. Otherwise the nodes themselves are changed; what they compute stays the same.
    database
        Where the rules are found; the default one if None.
    checks
        Whether to evaluate each change before and after it, on sample values of the inputs.
    query
        Further parts of a `RewriteDatabaseQuery`: ``exclude``, ``require``, ``subquery``, ``position_cutoff``,
        ``extra_rewrites``.

    Returns
    -------
    What was passed, rewritten: a variable, a list of variables, or the graph.

    Raises
    ------
    RewriterTypeError
        If something else is given.
    UnknownTagError
        If a tag does not exist.
    RewriteError
        If a rule fails and option ``on_opt_error`` is ``raise``.
    RuleFaultError
        If `checks` finds that a rule changed a value, a shape or a dtype.
    """
    rewriters = [(optdb if database is None else database).query(RewriteDatabaseQuery(include, **query))]
    if custom_rewrite is not None:
        rewriters.append(_as_graph_rewriter(custom_rewrite))
    if isinstance(graph, FunctionGraph):
        fgraph = graph.clone() if clone else graph
        outputs = None
    else:
        outputs = [graph] if isinstance(graph, Variable) else graph
        if not isinstance(outputs, list | tuple) or not all(isinstance(out, Variable) for out in outputs):
            msg = f"rewrite_graph: takes a variable, a list of variables or a FunctionGraph, got {graph!r}."
            raise RewriterTypeError(msg)
        fgraph = FunctionGraph(outputs=list(outputs), clone=clone, copy_inputs=False)
    for rewriter in rewriters:
        rewriter.rewrite(fgraph, checks=checks)
    if outputs is None:
        return fgraph
    return fgraph.outputs[0] if isinstance(graph, Variable) else list(fgraph.outputs)


def _as_graph_rewriter(rewriter: object) -> GraphRewriter:
    """Return a rewriter of whole graphs as it is, one of nodes as one of whole graphs."""
    if isinstance(rewriter, GraphRewriter):
        return rewriter
    if isinstance(rewriter, NodeRewriter):
        return EquilibriumGraphRewriter([rewriter], name=str(rewriter))
    msg = f"rewrite_graph: custom_rewrite must be a rewriter, got {rewriter!r}. Decorate it with graph_rewriter."
    raise RewriterTypeError(msg)
