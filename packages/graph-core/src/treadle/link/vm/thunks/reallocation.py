"""Which scalars may share a cell, because the one is dead before the other is computed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.link.vm.thunks.node_thunks import gc_helper

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from treadle.graph import Apply, Cell, FunctionGraph, Variable


def calculate_reallocate_info(
    order: Sequence[Apply],
    fgraph: FunctionGraph,
    storage_map: Mapping[Variable, Cell],
    compute_map_re: Mapping[Variable, Sequence[int]] | None = None,
    dependencies: Mapping[Variable, Sequence[Variable]] | None = None,
) -> dict[Variable, list[Variable]]:
    """Return pairs of computed scalars of one type that may use the same cell.

    A variable that a node may view or overwrite takes no part, nor does an input, a constant or an output.

    Parameters
    ----------
    order
        The nodes, in the order in which they run.
    fgraph
        The graph.
    storage_map
        Cell of each variable; one that holds a value already is not shared.
    compute_map_re, dependencies
        Accepted for the documented signature: the order says what they would.

    Returns
    -------
    For each variable that has a partner, a list of two: the variable whose cell it uses, and itself.
    """
    del compute_map_re, dependencies
    computed, last_user = gc_helper(order)
    shared = _in_shared_memory(order)
    barred = {*shared, *fgraph.outputs, *fgraph.inputs}
    free: dict[object, list[Variable]] = {}
    pairs: dict[Variable, list[Variable]] = {}
    home: dict[Variable, Variable] = {}

    def fits(var: Variable) -> bool:
        return var in computed and var not in barred and getattr(var.type, "ndim", None) == 0

    for node in order:
        for out in node.outputs:
            if not fits(out):
                continue
            cell = storage_map.get(out)
            waiting = free.get(out.type)
            if waiting and (cell is None or cell[0] is None):
                partner = waiting.pop()
                pairs[out] = [partner, out]
                home[out] = partner
        for var in dict.fromkeys(node.inputs):
            if fits(var) and last_user[var] is node:
                free.setdefault(var.type, []).append(home.get(var, var))
    return pairs


def _in_shared_memory(order: Sequence[Apply]) -> set[Variable]:
    """Return the variables that use another one's memory, and those whose memory is used."""
    found: set[Variable] = set()
    for node in order:
        for out, inputs in (*node.op.view_map.items(), *node.op.destroy_map.items()):
            found.add(node.outputs[out])
            found.update(node.inputs[i] for i in inputs)
    return found
