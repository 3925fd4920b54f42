"""rebuild_collect_shared: expressions copied with replacements, with the shared variables and updates they bring."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.compile.functions.replacements import read_givens, read_updates, shared_in, with_default_updates
from treadle.compile.io import Out, as_in, as_out
from treadle.graph import clone_get_equiv

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import Variable


def rebuild_collect_shared(
    outputs: Any,
    inputs: Sequence[Any] | None = None,
    replace: Any = None,
    updates: Any = None,
    rebuild_strict: bool = True,
    copy_inputs_over: bool = True,
    no_default_updates: Any = False,
    clone_inner_graphs: bool | None = None,
) -> tuple[list[Variable], Any, list[Any]]:
    """Copy expressions, with variables replaced, and collect the shared variables and updates that belong to them.

    Parameters
    ----------
    outputs
        A variable, an Out, a list of such, or None.
    inputs
        Variables, or In.
    replace, updates, rebuild_strict, no_default_updates
        As ``givens``, ``updates``, ``rebuild_strict`` and ``no_default_updates`` of `function`.
    copy_inputs_over
        Whether the inputs stay the same variables; else they are copied too.
    clone_inner_graphs
        Whether ops with an inner graph are copied with it.

    Returns
    -------
    The input variables, the outputs in the form they were given in, and a list of four: what stands for what; the new
    value of each shared variable, as given; the same after copying, as pairs; the shared variables that are read.

    Raises
    ------
    FunctionTypeError, FunctionValueError
        As for `function`.
    """
    ins = [as_in(i) for i in inputs or ()]
    single = outputs is not None and not isinstance(outputs, list | tuple)
    outs = [as_out(o) for o in ([outputs] if single else outputs or ())]
    replaced = read_givens(replace, ins, rebuild_strict)
    expressions = [o.variable for o in outs]
    variables = [i.variable for i in ins]
    new_values = with_default_updates(read_updates(updates), expressions, variables, replaced, no_default_updates)
    # Replacements are copied first, without replacements inside of them.
    equiv = clone_get_equiv(
        variables, list(replaced.values()), not copy_inputs_over, False, clone_inner_graphs=clone_inner_graphs
    )
    memo = {v: equiv[v] for v in variables} | {old: equiv[new] for old, new in replaced.items()}
    memo = clone_get_equiv(
        variables,
        [*expressions, *new_values.values()],
        not copy_inputs_over,
        False,
        memo,
        clone_inner_graphs,
        strict=rebuild_strict,
    )
    copied = [Out(memo[o.variable], o.borrow) if o.borrow else memo[o.variable] for o in outs]
    pairs = [(var, memo[new]) for var, new in new_values.items()]
    new_inputs = [memo[v] for v in variables]
    shared = shared_in([*(memo[v] for v in expressions), *(new for _, new in pairs)], new_inputs, {})
    return new_inputs, copied[0] if single else copied, [memo, new_values, pairs, shared]
