"""VM: an object that runs the thunks of a graph on their storage, all in order (Loop) or as they are needed (Stack)."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from treadle.graph import GraphValueError
from treadle.link.vm import vm_scope
from treadle.surface.thunks.containers import spare_outputs
from treadle.surface.thunks.node_thunks import get_destroy_dependencies, raise_with_op

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from treadle.graph import Apply, Cell, FunctionGraph, Value, Variable
    from treadle.surface.thunks.containers import StorageMap

    ComputeMap = Mapping[Variable, list[bool]]


class VM(ABC):
    """Base of objects that run a graph's thunks; a call takes values from the inputs' cells and fills the outputs'.

    Parameters
    ----------
    fgraph
        The graph.
    nodes, thunks
        The nodes in order, and what computes each.
    pre_call_clear
        Cells to empty before each call.

    Attributes
    ----------
    need_update_inputs
        Whether the caller must put new values of updated inputs into their cells after a call.
    time_thunks
        Whether calls note how long each thunk takes.
    call_times, call_counts
        Seconds and number of runs of each thunk; the times only where `time_thunks` is set.
    """

    need_update_inputs = True

    def __init__(
        self,
        fgraph: FunctionGraph,
        nodes: Sequence[Apply],
        thunks: Sequence[Callable[[], object]],
        pre_call_clear: Iterable[Cell],
    ) -> None:
        if len(nodes) != len(thunks):
            msg = f"{type(self).__name__}: a thunk for each node is needed, got {len(thunks)} for {len(nodes)} nodes."
            raise GraphValueError(msg)
        self.fgraph = fgraph
        self.nodes = list(nodes)
        self.thunks = list(thunks)
        self.pre_call_clear = list(pre_call_clear)
        self.time_thunks = False
        self.call_times = [0.0] * len(self.nodes)
        self.call_counts = [0] * len(self.nodes)

    @abstractmethod
    def __call__(self, output_subset: Sequence[int] | None = None) -> list[Value]:
        """Compute outputs.

        Parameters
        ----------
        output_subset
            Positions of the outputs to compute, beside updates; all if None.

        Returns
        -------
        The values of all outputs; None for those that were not computed.
        """

    def clear_storage(self) -> None:
        """Empty the cells that are emptied before each call."""
        for cell in self.pre_call_clear:
            cell[0] = None


class UpdatingVM(VM):
    """A VM that puts new values of updated inputs into the inputs' cells itself.

    Parameters
    ----------
    fgraph, nodes, thunks, pre_call_clear
        As for `VM`.
    storage_map
        Cell of each variable.
    input_storage, output_storage
        Cells of inputs and outputs.
    update_vars
        For each updated input, the variable of its new value.
    allow_gc
        Whether values are dropped once nothing needs them.
    dying
        For each node, the cells to empty once it has run.
    callback, callback_input
        What to call after each node, and for each input and constant before them (see `VMLinker`).
    compute_map
        Flags of what is computed, kept up to date.
    """

    need_update_inputs = False

    def __init__(
        self,
        fgraph: FunctionGraph,
        nodes: Sequence[Apply],
        thunks: Sequence[Callable[[], object]],
        pre_call_clear: Iterable[Cell],
        storage_map: StorageMap,
        input_storage: Sequence[Cell],
        output_storage: Sequence[Cell],
        update_vars: Mapping[Variable, Variable],
        *,
        compute_map: ComputeMap | None = None,
        allow_gc: bool = False,
        dying: Sequence[Sequence[Cell]] | None = None,
        callback: Callable[..., object] | None = None,
        callback_input: Callable[..., object] | None = None,
    ) -> None:
        super().__init__(fgraph, nodes, thunks, pre_call_clear)
        self.storage_map = storage_map
        self.input_storage = list(input_storage)
        self.output_storage = list(output_storage)
        self.update_vars = dict(update_vars)
        self.compute_map: ComputeMap = {v: [False] for v in storage_map} if compute_map is None else compute_map
        self.allow_gc = allow_gc
        self.dying = [list(cells) for cells in dying] if dying is not None else [[] for _ in self.nodes]
        self.callback = callback
        self.callback_input = callback_input
        self._at = {node: i for i, node in enumerate(self.nodes)}
        self._spare = spare_outputs(fgraph, self.output_storage, storage_map)

    def __call__(self, output_subset: Sequence[int] | None = None) -> list[Value]:
        """Compute outputs, all of them or a subset."""
        self.clear_storage()
        for flag in self.compute_map.values():
            flag[0] = True
        for node in self.nodes:
            for var in node.outputs:
                self.compute_map[var][0] = False
        self._tell_inputs()
        positions = self._wanted(output_subset)
        with vm_scope():
            self._compute([self.fgraph.outputs[i] for i in positions])
        self.copy_spare_outputs()
        chosen = set(positions)
        results = [cell[0] if i in chosen else None for i, cell in enumerate(self.output_storage)]
        self.perform_updates()
        return results

    @abstractmethod
    def _compute(self, outputs: Sequence[Variable]) -> None:
        """Run what the outputs need."""

    def _wanted(self, output_subset: Sequence[int] | None) -> list[int]:
        count = len(self.fgraph.outputs)
        if output_subset is None:
            return list(range(count))
        wrong = [i for i in output_subset if not 0 <= i < count]
        if wrong:
            msg = f"output_subset: there are outputs 0 to {count - 1}, got {wrong}."
            raise GraphValueError(msg)
        return sorted({*output_subset, *(self.fgraph.update_mapping or {})})

    def _tell_inputs(self) -> None:
        if self.callback_input is None:
            return
        for var, cell in self.storage_map.items():
            if var.owner is None:
                self.callback_input(var, cell[0])

    def run_thunk_of_node(self, node: Apply) -> Any:
        """Run the thunk of one node, time it and call the callback; return what it returned.

        Raises
        ------
        NodeError
            If it fails; the message names the op and the user's line.
        """
        at = self._at[node]
        thunk = self.thunks[at]
        started = time.perf_counter() if self.time_thunks else 0.0
        try:
            needed = thunk()
        except Exception:  # noqa: BLE001 - whatever it is, it is raised again with the node's name
            raise_with_op(self.fgraph, node, thunk, storage_map=self.storage_map)
        if self.time_thunks:
            self.call_times[at] += time.perf_counter() - started
        self.call_counts[at] += 1
        if needed and getattr(thunk, "lazy", False):
            return needed
        for var in node.outputs:
            self.compute_map[var][0] = True
        if self.callback is not None:
            self.callback(node=node, thunk=thunk, storage_map=self.storage_map, compute_map=self.compute_map)
        return None

    def copy_spare_outputs(self) -> None:
        """Copy the outputs that are inputs, constants or the same as others into cells of their own."""
        for var, cell in self._spare:
            value = self.storage_map[var][0]
            cell[0] = None if value is None else var.type.copy_value(value)

    def perform_updates(self) -> None:
        """Put the new values of updated inputs into their cells."""
        new = [(self.storage_map[var], self.storage_map[new_var][0]) for var, new_var in self.update_vars.items()]
        for cell, value in new:
            cell[0] = value

    def update_profile(self, profile: Any) -> None:
        """Add the times and counts of thunks to a profile's ``apply_time`` and ``apply_callcount``, and forget them."""
        for at, node in enumerate(self.nodes):
            key = (self.fgraph, node)
            profile.apply_time[key] = profile.apply_time.get(key, 0.0) + self.call_times[at]
            profile.apply_callcount[key] = profile.apply_callcount.get(key, 0) + self.call_counts[at]
            self.call_times[at], self.call_counts[at] = 0.0, 0


class Loop(UpdatingVM):
    """Runs all thunks one after the other; with a subset of the outputs, those that these need."""

    def _compute(self, outputs: Sequence[Variable]) -> None:
        needed = None if len(outputs) == len(self.fgraph.outputs) else self._needed(outputs)
        for node, cells in zip(self.nodes, self.dying, strict=True):
            if needed is not None and node not in needed:
                continue
            self.run_thunk_of_node(node)
            if self.allow_gc:
                for cell in cells:
                    cell[0] = None

    def _needed(self, outputs: Sequence[Variable]) -> set[Apply]:
        before = get_destroy_dependencies(self.fgraph)
        needed: set[Apply] = set()
        pending = [var.owner for var in outputs if var.owner is not None]
        while pending:
            node = pending.pop()
            if node in needed:
                continue
            needed.add(node)
            pending += [x.owner for x in (*node.inputs, *before.get(node, ())) if x.owner is not None]
        return needed


class Stack(UpdatingVM):
    """Runs the nodes that the outputs need, and of those that a lazy node may need only those that it asks for.

    A thunk whose attribute ``lazy`` is true is called before its inputs are there; it returns the positions of those
    that it needs first, or nothing once its outputs are computed.
    """

    def _compute(self, outputs: Sequence[Variable]) -> None:
        before = get_destroy_dependencies(self.fgraph)
        pending = [var.owner for var in reversed(outputs) if var.owner is not None]
        while pending:
            node = pending[-1]
            if all(self.compute_map[out][0] for out in node.outputs):
                pending.pop()
                continue
            lazy = getattr(self.thunks[self._at[node]], "lazy", False)
            missing = self._missing((*before.get(node, ()), *(() if lazy else node.inputs)))
            if not missing:
                positions = self.run_thunk_of_node(node)
                missing = self._missing([node.inputs[i] for i in positions]) if positions else []
            pending += reversed(missing)
        # Which values nothing needs any more is not known before the end: a branch may still be asked for.
        for cells in self.dying if self.allow_gc else ():
            for cell in cells:
                cell[0] = None

    def _missing(self, variables: Iterable[Variable]) -> list[Apply]:
        return [x.owner for x in variables if x.owner is not None and not self.compute_map[x][0]]
