"""Linking a graph: refusals, C text, compiler, program."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from treadle.config import config, new_lock, span
from treadle.graph import Apply, expand_inner_graphs
from treadle.link.c.companions import COMPANIONS
from treadle.link.c.errors import BackendUnavailableError, CompileError
from treadle.link.c.layout import Layout
from treadle.link.c.parts import Parts, assemble, open_library, parts_of, restored
from treadle.link.c.program import CProgram
from treadle.link.c.runtime import Library
from treadle.link.c.simd import simd_functions
from treadle.link.c.table import TABLE
from treadle.link.c.toolchain import find_toolchain
from treadle.link.c.unit import NO_NODE, Unit, marked_node
from treadle.link.c.writing import has_type, lowering_gap, refuse, write_unit
from treadle.link.vm import Linker, ProgramGraph, VMLinker, in_segments, link_in_segments, passes_by
from treadle.tensor import Elemwise, FusedReduction

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from treadle.graph import FunctionGraph
    from treadle.link.c.toolchain import Toolchain
    from treadle.link.vm import ExportRequest, Program


# How gcc and clang name a function that was not declared.
_UNKNOWN = re.compile(r"(?:implicit declaration of function|undeclared function) ['\u2018](\w+)['\u2019]")


class _Libraries:
    """The runtime libraries, one for each set of functions on vectors and use of threads; each is made once."""

    def __init__(self) -> None:
        self._lock = new_lock()
        self._known: dict[tuple[frozenset[str], int], Library] = {}

    def get(self, toolchain: Toolchain) -> Library:
        key = (simd_functions(toolchain), toolchain.threads)
        with self._lock:
            if key not in self._known:
                self._known[key] = Library(key[0], threads=key[1])
            return self._known[key]


_LIBRARIES = _Libraries()


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

    def link(self, fgraph: FunctionGraph, native_outputs: frozenset[int] = frozenset()) -> Program:
        """Return a program for the graph; values that C lacks, and no node takes, pass by a program in C.

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
        refuse(node for node in order if not passes_by(node, has_type))
        if not all(has_type(v.type) for v in (*fgraph.inputs, *fgraph.outputs)):
            return VMLinker().link(in_segments(fgraph, self, lambda node: not passes_by(node, has_type)))
        toolchain = find_toolchain()
        if isinstance(toolchain, str):
            msg = f"c: {toolchain}. Or pick another mode."
            raise BackendUnavailableError(msg)
        free = config.allow_gc if self.allow_gc is None else self.allow_gc
        with span("code generation"):
            unit, outputs = write_unit(fgraph, order, keeps_blocks=not free, kind=Unit)
            source = unit.text(outputs, _LIBRARIES.get(toolchain), divide=not toolchain.threads)
        file, key = compile_unit(toolchain, unit, source, order)
        parts = parts_of(unit, key, source, order)
        program = assemble(ProgramGraph.of(fgraph, native_outputs), open_library(file, parts), parts)
        COMPANIONS.begin(toolchain)
        return program

    def dump(self, program: Program) -> Any:
        """Return the parts of a program that is all in C; of any other, its steps, among them the programs in C."""
        return program.parts if isinstance(program, CProgram) else VMLinker().dump(program)

    def load(self, data: Any, graph: ProgramGraph) -> Program:
        """Return the program of parts, or of steps.

        Raises
        ------
        LookupError
            If a library is not in the compile cache any more.
        """
        if not isinstance(data, Parts):
            return VMLinker().load(data, graph)
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
        """Return what `CLinker.dump` does."""
        return CLinker().dump(program)

    def load(self, data: Any, graph: ProgramGraph) -> Program:
        """Return what `CLinker.load` does."""
        return CLinker().load(data, graph)

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
        msg = f"{error}\nThis line belongs to {order[at].op}{order[at].where()}.{_undeclared_in(str(error), order[at])}"
        raise CompileError(msg, error.line) from error


def _undeclared_in(said: str, node: Apply) -> str:
    """Return which elementwise functions of a node name a C function that the compiler does not know."""
    op = node.op.elementwise if isinstance(node.op, FusedReduction) else node.op
    scalar_ops = op.scalar_ops if isinstance(op, Elemwise) else ()
    unknown = set(_UNKNOWN.findall(said))
    found = sorted(
        f"its scalar op {s.name!r} calls {name}"
        for s in scalar_ops
        for name in unknown
        if any(re.search(rf"\b{name.removesuffix('f')}f?\b", text.replace("{s}", "")) for text in (s.c or {}).values())
    )
    return f" C has no such function: {', '.join(found)}. Correct the parameter c of its ScalarOp." if found else ""
