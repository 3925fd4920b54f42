"""Thunks: callables without arguments that compute one node, several nodes or a graph on storage cells."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NoReturn

from treadle.graph import GraphValueError, is_thunk_type, raise_node_error

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Mapping, Sequence
    from types import TracebackType
    from typing import TextIO

    from treadle.graph import Apply, Cell, Compute, FunctionGraph, ThunkType, Variable
    from treadle.link.vm import Program
    from treadle.surface.thunks.containers import StorageMap


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
    sharing: set[Variable] = set()
    for node in order:
        for out, inputs in (*node.op.view_map.items(), *node.op.destroy_map.items()):
            sharing.add(node.outputs[out])
            sharing.update(node.inputs[i] for i in inputs)
    return sharing


def thunk_of(
    node: Apply,
    run: Compute,
    storage_map: StorageMap,
    compute_map: Mapping[Variable, list[bool]] | None = None,
    no_recycling: Container[Variable] = (),
) -> ThunkType:
    """Return a thunk that computes a node with a function of its input values."""
    inputs = [storage_map[var] for var in node.inputs]
    outputs = [storage_map[var] for var in node.outputs]
    flags = [] if compute_map is None else [compute_map[var] for var in node.outputs]
    emptied = [storage_map[var] for var in node.outputs if var in no_recycling]

    def compute() -> None:
        for cell in emptied:
            cell[0] = None
        result = run(*[cell[0] for cell in inputs])
        if len(outputs) == 1:
            outputs[0][0] = result
        else:
            for cell, value in zip(outputs, result, strict=True):
                cell[0] = value
        for flag in flags:
            flag[0] = True

    thunk = is_thunk_type(compute)
    thunk.inputs, thunk.outputs, thunk.lazy = inputs, outputs, False
    return thunk


class ProgramThunk:
    """A whole graph as one thunk: runs a program on the cells of inputs and outputs; other values have no cells."""

    lazy = False

    def __init__(
        self,
        program: Program,
        fgraph: FunctionGraph,
        inputs: list[Cell],
        outputs: list[Cell],
        storage_map: StorageMap,
    ) -> None:
        self.program = program
        self.fgraph = fgraph
        self.inputs = inputs
        self.outputs = outputs
        self.storage_map = storage_map
        self.allow_gc = True

    def __call__(self) -> None:
        """Compute the outputs."""
        results = self.program(*[cell[0] for cell in self.inputs])
        for cell, value in zip(self.outputs, results, strict=True):
            cell[0] = value


def raise_with_op(
    fgraph: FunctionGraph,
    node: Apply,
    thunk: Callable[[], object] | None = None,
    exc_info: tuple[type[BaseException], BaseException, TracebackType | None] | None = None,
    storage_map: Mapping[Variable, Cell] | None = None,
) -> NoReturn:
    """Raise again what a node raised, as an error that names the op, the user's line and the shapes of the inputs.

    Parameters
    ----------
    fgraph
        The graph; kept for the documented signature.
    node
        The node that failed.
    thunk
        Its thunk, whose cells hold the inputs' values, if there is one.
    exc_info
        What `sys.exc_info` returned; the error being handled if None.
    storage_map
        Where the values are, if there is no thunk.

    Raises
    ------
    NodeError
        Of the kind of what was raised; what is no Exception (an interrupt) is raised as it is.
    GraphValueError
        If there is no error.
    """
    del fgraph
    error = sys.exc_info()[1] if exc_info is None else exc_info[1]
    if error is None:
        msg = "raise_with_op: no error is being handled. Call it in an except clause, or pass exc_info."
        raise GraphValueError(msg)
    if not isinstance(error, Exception):
        raise error
    values = None
    cells = getattr(thunk, "inputs", None)
    if cells is None and storage_map is not None and all(var in storage_map for var in node.inputs):
        cells = [storage_map[var] for var in node.inputs]
    if cells is not None:
        values = [cell[0] for cell in cells]
    raise_node_error(node, error, values)


def streamline(
    fgraph: FunctionGraph,
    thunks: Sequence[Callable[[], object]],
    order: Sequence[Apply],
    post_thunk_old_storage: Sequence[Iterable[Cell]] | None = None,
    no_recycling: Iterable[Cell] | None = None,
    nice_errors: bool = True,
) -> Callable[[], None]:
    """Return a thunk that runs thunks one after the other.

    Parameters
    ----------
    fgraph
        The graph.
    thunks, order
        The thunks, and the node that each computes.
    post_thunk_old_storage
        For each thunk, the cells to empty once it has run.
    no_recycling
        Cells to empty before each run.
    nice_errors
        Whether an error names the node and the user's line.

    Raises
    ------
    GraphValueError
        If there are not as many thunks, or lists of cells, as nodes.
    """
    _check_lengths(len(order), thunks=thunks, post_thunk_old_storage=post_thunk_old_storage)
    emptied = list(no_recycling or ())
    dead = [list(cells) for cells in post_thunk_old_storage or [()] * len(thunks)]
    steps = list(zip(order, thunks, dead, strict=True))

    def run() -> None:
        for cell in emptied:
            cell[0] = None
        for node, thunk, cells in steps:
            try:
                thunk()
            except Exception:
                if nice_errors:
                    raise_with_op(fgraph, node, thunk)
                raise
            for cell in cells:
                cell[0] = None

    return run


def _check_lengths(count: int, **lists: Sequence[object] | None) -> None:
    from_graph = f"one for each of the {count} nodes"
    for name, items in lists.items():
        if items is not None and len(items) != count:
            msg = f"{name}: {from_graph} is needed, got {len(items)}. Take nodes and thunks from one call of make_all."
            raise GraphValueError(msg)


def gc_helper(node_list: Iterable[Apply]) -> tuple[set[Variable], dict[Variable, Apply]]:
    """Return the computed variables, and for each variable the last node that uses it.

    Parameters
    ----------
    node_list
        The nodes, in the order in which they run.
    """
    last_user: dict[Variable, Apply] = {}
    computed: set[Variable] = set()
    for node in node_list:
        last_user.update((var, node) for var in node.inputs)
        computed.update(node.outputs)
    return computed, last_user


def cells_to_free(fgraph: FunctionGraph, order: Sequence[Apply], storage_map: StorageMap) -> list[list[Cell]]:
    """Return for each node the cells of computed values that nothing needs once it has run; outputs are kept."""
    computed, last_user = gc_helper(order)
    lasting = set(fgraph.outputs)
    unused = {var: var.owner for var in computed if var not in last_user and var not in lasting}
    dying: dict[Apply, list[Cell]] = {}
    for var, node in (*last_user.items(), *unused.items()):
        if var in computed and var not in lasting and node is not None:
            dying.setdefault(node, []).append(storage_map[var])
    return [dying.get(node, []) for node in order]


def get_destroy_dependencies(fgraph: FunctionGraph) -> dict[Apply, list[Variable]]:
    """Return for each node the results that must be computed before it: those of nodes that read what it overwrites."""
    orderings = fgraph.orderings()
    return {node: [out for n in orderings.get(node, ()) for out in n.outputs] for node in fgraph.toposort()}


def register_thunk_trace_excepthook(handler: TextIO | None = None) -> None:
    """Let the interpreter print, with an error of a node that ends the program, the node's types and frames.

    Parameters
    ----------
    handler
        Where to print; standard error if None.
    """
    before = sys.excepthook

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        before(kind, error, trace)
        report = getattr(error, "report", None)
        if report is not None:
            (sys.stderr if handler is None else handler).write(f"{report.message('medium')}\n")

    sys.excepthook = hook
