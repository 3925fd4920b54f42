"""Linking a graph: refusals, C text, compiler, program."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, TypeVar

from treadle.config import config, phase
from treadle.graph import Apply, expand_inner_graphs, inner_graph, missing_lowerings
from treadle.link.c.abi import object_layout
from treadle.link.c.companions import COMPANIONS
from treadle.link.c.dtypes import CTYPES
from treadle.link.c.errors import BackendUnavailableError, CompileError
from treadle.link.c.expression import unsupported
from treadle.link.c.layout import Layout
from treadle.link.c.lower import (
    broadcasting,
    conditional,
    copying,
    dimshuffle,
    elemwise,
    from_graph,
    fused,
    indexing,
    joining,
    normalization,
    product,
    reduction,
    shape,
)
from treadle.link.c.parts import Parts, assemble, open_library, parts_of, restored
from treadle.link.c.program import CProgram
from treadle.link.c.runtime import Library
from treadle.link.c.simd import simd_functions
from treadle.link.c.table import TABLE
from treadle.link.c.toolchain import find_toolchain
from treadle.link.c.unit import NO_NODE, Unit, dtype, marked_node, ndim
from treadle.link.vm import Linker, ProgramGraph, VMLinker, link_in_segments
from treadle.tensor import Elemwise, FusedReduction, TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from treadle.graph import FunctionGraph, Variable
    from treadle.link.c.toolchain import Toolchain
    from treadle.link.vm import ExportRequest, Program

FAMILIES = (
    broadcasting,
    conditional,
    copying,
    dimshuffle,
    elemwise,
    from_graph,
    fused,
    indexing,
    joining,
    normalization,
    product,
    reduction,
    shape,
)


class _Libraries:
    """The runtime libraries, one for each set of functions on vectors and use of threads; each is made once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[tuple[frozenset[str], int], Library] = {}

    def get(self, toolchain: Toolchain) -> Library:
        key = (simd_functions(toolchain), toolchain.threads)
        with self._lock:
            if key not in self._known:
                self._known[key] = Library(key[0], threads=key[1])
            return self._known[key]


_LIBRARIES = _Libraries()
U = TypeVar("U", bound=Unit)
_INITIALISING = threading.Lock()


class CLinker(Linker):
    """Links graphs to C.

    Parameters
    ----------
    allow_gc
        Whether memory of intermediate results is given back at the end of a call; option ``allow_gc`` if None. Where
        it is not, it is kept for the next call; `CProgram.free` gives it back.
    """

    def __init__(self, allow_gc: bool | None = None) -> None:
        self.allow_gc = allow_gc

    def link(self, fgraph: FunctionGraph, native_outputs: frozenset[int] = frozenset()) -> CProgram:
        """Return a program for the graph.

        Raises
        ------
        LoweringError
            If there are nodes without a rule, or of dtypes that C lacks; all are listed.
        BackendUnavailableError
            If there is no compiler.
        CompileError
            If the compiler fails.
        """
        fgraph = expand_inner_graphs(fgraph, TABLE)
        order = Layout(fgraph).order
        _refuse(order)
        toolchain = find_toolchain()
        if isinstance(toolchain, str):
            msg = f"c: {toolchain}. Or pick another mode."
            raise BackendUnavailableError(msg)
        free = config.allow_gc if self.allow_gc is None else self.allow_gc
        with phase("code generation"):
            unit, outputs = write_unit(fgraph, order, keeps_blocks=not free, kind=Unit)
            source = unit.text(outputs, _LIBRARIES.get(toolchain))
        file, key = compile_unit(toolchain, unit, source, order)
        parts = parts_of(unit, key, source, order)
        program = assemble(ProgramGraph.of(fgraph, native_outputs), open_library(file, parts), parts)
        COMPANIONS.begin(toolchain)
        return program

    def dump(self, program: Program) -> Any:
        """Return the parts of a program; its library is in the compile cache already."""
        return program.parts if isinstance(program, CProgram) else None

    def load(self, data: Any, graph: ProgramGraph) -> CProgram:
        """Return the program of parts.

        Raises
        ------
        LookupError
            If its library is not in the compile cache any more.
        """
        program = restored(graph, data)
        toolchain = find_toolchain()
        if not isinstance(toolchain, str):
            COMPANIONS.begin(toolchain)
        return program

    def export(self, fgraph: FunctionGraph, request: ExportRequest, directory: Path) -> Path:
        """Write the graph as a C library of its own; see `treadle.link.c.export.export_graph`."""
        from treadle.link.c.export import export_graph

        return export_graph(fgraph, request, directory)


class StepwiseLinker(Linker):
    """Links graphs to C where C has rules, and to steps of the Python VM where it has none."""

    def link(self, fgraph: FunctionGraph, native_outputs: frozenset[int] = frozenset()) -> Program:
        """Return a program for the graph; stretches between Python steps are C programs of their own.

        Raises
        ------
        BackendUnavailableError
            If there is no compiler.
        CompileError
            If the compiler fails.
        """
        del native_outputs
        fgraph = expand_inner_graphs(fgraph, TABLE, lambda node: lowering_gap(node) is None)
        return link_in_segments(fgraph, CLinker(), lambda node: lowering_gap(node) is None)

    def dump(self, program: Program) -> Any:
        """Return the parts of a program that is all in C; of any other, its steps, among them the programs in C."""
        whole = CLinker().dump(program)
        return VMLinker().dump(program) if whole is None else whole

    def load(self, data: Any, graph: ProgramGraph) -> Program:
        """Return the program of parts, or of steps.

        Raises
        ------
        LookupError
            If a library is not in the compile cache any more.
        """
        return CLinker().load(data, graph) if isinstance(data, Parts) else VMLinker().load(data, graph)

    def export(self, fgraph: FunctionGraph, request: ExportRequest, directory: Path) -> Path:
        """As `CLinker.export`: a program without Python has no Python steps."""
        return CLinker().export(fgraph, request, directory)


def compile_unit(toolchain: Toolchain, unit: Unit, source: str, order: Sequence[Apply]) -> tuple[Path, str]:
    """Compile a unit's text, or find it in the cache; return the library, and the key that it is kept under.

    Raises
    ------
    CompileError
        If the compiler fails, with the node that the line belongs to.
    """
    needs = unit.requirements
    chosen = toolchain.extended(needs.flags, needs.libraries)
    try:
        return chosen.library(source), chosen.key(source)
    except CompileError as error:
        at = marked_node(source, error.line) if error.line else NO_NODE
        if not 0 <= at < len(order):
            raise
        msg = f"{error}\nThis line belongs to {order[at].op}{order[at].where()}."
        raise CompileError(msg, error.line) from error


def write_unit(
    fgraph: FunctionGraph,
    order: Sequence[Apply],
    keeps_blocks: bool = False,
    *,
    kind: type[U],
) -> tuple[U, list[tuple[Variable, int]]]:
    """Write a graph's C text into a unit of a kind; return it, with each output's array."""
    made = {out for node in order for out in node.outputs}
    given = set(fgraph.inputs)
    constants = [v for v in fgraph.variables if v not in made and v not in given]
    type_at, head = object_layout()
    last = {x: index for index, node in enumerate(order) for x in (*node.outputs, *node.inputs)}
    last.update(dict.fromkeys(fgraph.outputs, len(order)))
    own_blas = bool(config.blas__ldflags)
    unit = kind(fgraph, constants, type_at, head, own_blas=own_blas, last=last, keeps_blocks=keeps_blocks)
    unit.layout = Layout(fgraph)
    for var in (*fgraph.inputs, *constants):
        unit.slot(var)
    for index, node in enumerate(order):
        unit.begin(index)
        TABLE.find(node.op)(node.op, node, unit)  # type: ignore[misc]  # refused above if there is none
    return unit, _outputs(fgraph, unit, made, len(order))


def _outputs(fgraph: FunctionGraph, unit: Unit, made: set[Variable], after: int) -> list[tuple[Variable, int]]:
    """Give every output an array of its own: one that is an input, a constant, a view or named twice is copied."""
    unit.begin(after)
    outputs: list[tuple[Variable, int]] = []
    taken: set[Variable] = set()
    for var in fgraph.outputs:
        size = CTYPES[dtype(var)].size
        if var in made and var not in taken and unit.may_have_own_block(var):
            taken.add(var)
            outputs.append((var, unit.slots[var]))
            if not unit.has_own_block(var):
                unit.call(f"tr_materialise(v + {unit.slot(var)}, {ndim(var)}, {size}, tr_move{size})")
            continue
        target = unit.scratch()
        unit.call(f"tr_copy(v + {target}, v + {unit.slot(var)}, {ndim(var)}, {size}, tr_move{size})")
        outputs.append((var, target))
    return outputs


def _refuse(order: Sequence[Apply]) -> None:
    gaps = []
    for node in order:
        reason = lowering_gap(node)
        if reason is not None:
            gaps.append((node, reason))
    if gaps:
        raise missing_lowerings(TABLE.backend, gaps)


def _gap_inside(node: Apply) -> str | None:
    """Return which node of an inner graph cannot be lowered, None if all can."""
    graphs: list[Any] = [node.op]
    while graphs:
        for inner in graphs.pop().fgraph.apply_nodes:
            if TABLE.find(inner.op) is inner_graph:
                graphs.append(inner.op)
            elif lowering_gap(inner) is not None:
                return f"inside of it is {inner.op}, for which C has no rule"
    return None


def lowering_gap(node: Apply) -> str | None:
    """Return why a node cannot be lowered, None if it can."""
    rule = TABLE.find(node.op)
    if rule is None:
        return ""
    if rule is inner_graph:
        return _gap_inside(node)
    for var in (*node.inputs, *node.outputs):
        if not isinstance(var.type, TensorType):
            return f"C has no values of type {var.type}"
        if var.type.dtype not in CTYPES:
            return f"C has no {var.type.dtype}"
    if isinstance(node.op, Elemwise | FusedReduction):
        op = node.op if isinstance(node.op, Elemwise) else node.op.elementwise
        return unsupported(op, node) or None
    return None
