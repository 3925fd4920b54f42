"""The user's lines of nodes, carried over from the nodes that they replace."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from treadle.graph import Apply, FunctionGraph, Op, Variable
from treadle.rewrite import MissingTraceError, RewriterTypeError, RewriteWarning
from treadle.rewrite.engine.tracked import is_among

if TYPE_CHECKING:
    from collections.abc import Sequence

_Variables = TypeVar("_Variables")


def _variables(one_or_several: Any) -> list[Variable]:
    return [one_or_several] if isinstance(one_or_several, Variable) else list(one_or_several)


def copy_stack_trace(from_var: Variable | Sequence[Variable], to_var: _Variables) -> _Variables:
    """Copy the user's line of variables' nodes, and ``tag.trace``, to other variables.

    Parameters
    ----------
    from_var
        A variable or several: the first one with a line decides, their traces are joined.
    to_var
        A variable or several.

    Returns
    -------
    `to_var`.
    """
    sources = _variables(from_var)
    line = next((var.user_line for var in sources if var.user_line is not None), None)
    traces: list[object] = []
    for var in sources:
        traces += list(getattr(var.tag, "trace", ())) if var._tag is not None else []
    for var in _variables(to_var):
        if line is not None and var.owner is not None:
            var.owner.user_line = line
        if traces:
            own_trace = list(getattr(var.tag, "trace", ())) if var._tag is not None else []
            var.tag.trace = [*own_trace, *traces]
    return to_var


def check_stack_trace(
    f_or_fgraph: object, ops_to_check: object = "last", bug_print: Literal["raise", "warn", "ignore"] = "raise"
) -> bool:
    """Whether nodes know the user's line that they come from.

    Parameters
    ----------
    f_or_fgraph
        A compiled function, or a FunctionGraph.
    ops_to_check
        ``"last"``: the nodes of the outputs; ``"all"``: all nodes; an op, a class of ops, or several of these; or a
        function of the op.
    bug_print
        Whether to ``raise``, ``warn`` or ``ignore`` where a line is missing.

    Raises
    ------
    MissingTraceError
        If a line is missing and `bug_print` is ``raise``.
    RewriterTypeError
        If an argument is of another kind.
    """
    fgraph = f_or_fgraph if isinstance(f_or_fgraph, FunctionGraph) else getattr(f_or_fgraph, "fgraph", None)
    if not isinstance(fgraph, FunctionGraph) or bug_print not in {"raise", "warn", "ignore"}:
        msg = (
            f"check_stack_trace: takes a function or a graph, and raise, warn or ignore, got {f_or_fgraph!r} and "
            f"{bug_print!r}."
        )
        raise RewriterTypeError(msg)
    missing = [node for node in _chosen(fgraph, ops_to_check) if node.user_line is None]
    if missing and bug_print != "ignore":
        op = missing[0].op
        msg = f"{op}: the node does not know the user's line. Use copy_stack_trace in the rewrite that made it."
        if bug_print == "raise":
            raise MissingTraceError(msg)
        warnings.warn(msg, RewriteWarning, stacklevel=2)
    return not missing


def _chosen(fgraph: FunctionGraph, ops: object) -> list[Apply]:
    if ops == "last":
        return [out.owner for out in fgraph.outputs if out.owner is not None]
    nodes = fgraph.toposort()
    if ops == "all":
        return nodes
    if isinstance(ops, Op | type):
        ops = [ops]
    if callable(ops):
        return [node for node in nodes if ops(node.op)]
    if not isinstance(ops, list | tuple | set | frozenset):
        msg = f"check_stack_trace: ops_to_check is 'last', 'all', ops, classes of ops or a function, got {ops!r}."
        raise RewriterTypeError(msg)
    return [node for node in nodes if is_among(node.op, ops)]
