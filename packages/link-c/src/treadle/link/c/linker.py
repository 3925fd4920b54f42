"""CLinker and StepwiseLinker. Modules that write and compile C are imported to link a graph, not to load a program."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from treadle.cache import default_cache
from treadle.config import config
from treadle.graph import Apply, FunctionGraph
from treadle.link.c.loading import Recipe, restored
from treadle.link.c.program import CProgram
from treadle.link.c.support.libraries import SUPPORT
from treadle.link.c.table import TABLE
from treadle.link.c.toolchain import SUPPORT_FOLDER, find_toolchain
from treadle.link.vm import ExportRequest, Program, ProgramGraph, PythonLinker
from treadle.tensor import LoopLinker


class CLinker(LoopLinker):
    """Links graphs to C.

    Parameters
    ----------
    allow_gc
        Whether memory of intermediate results is freed at the end of a call; option ``allow_gc`` if None. If not, it is
        kept for the next call, and `CProgram.free` frees it.
    """

    table = TABLE

    def __init__(self, allow_gc: bool | None = None) -> None:
        self.allow_gc = allow_gc

    def check(self, node: Apply) -> None:
        """Refuse a node that has no rule or whose dtypes C does not have."""
        from treadle.link.c.checking import check

        check(node)

    def foresee(self, nodes: Sequence[Apply]) -> None:
        """Compile what all programs call while the cache is looked into, if the compile directory has nothing yet.

        Where there are shared folders, the program may well be in one of them.
        """
        if not config.cache__shared and not (default_cache().directory / SUPPORT_FOLDER).exists():
            from treadle.link.c.anticipation import foresee

            foresee(nodes)

    def anticipate(self, fgraph: FunctionGraph) -> None:
        """Compile helper functions that the program will probably call while the graph is rewritten."""
        from treadle.link.c.anticipation import anticipate

        anticipate(fgraph)

    def link(self, fgraph: FunctionGraph, native_outputs: frozenset[int] = frozenset()) -> Program:
        """Return a program for the graph; inputs of types that C does not have are passed on if no node reads them.

        All nodes without a rule, or with dtypes that C does not have, are refused together.
        """
        from treadle.link.c.linking import link_graph

        free = config.allow_gc if self.allow_gc is None else self.allow_gc
        return link_graph(fgraph, native_outputs, self, keeps_blocks=not free)

    def dump(self, program: Program) -> object:
        """Return the recipe of a program that is all C, or the steps of any other program, some of which are C."""
        return program.recipe if isinstance(program, CProgram) else PythonLinker().dump(program)

    def load(self, data: object, graph: ProgramGraph) -> Program:
        """Return the program of a recipe or of steps.

        Raises
        ------
        LookupError
            If a library is no longer in the compile cache.
        """
        if not isinstance(data, Recipe):
            return PythonLinker().load(data, graph)
        program = restored(graph, data)
        toolchain = find_toolchain()
        if not isinstance(toolchain, str):
            SUPPORT.begin(toolchain)
        return program

    def export(self, fgraph: FunctionGraph, request: ExportRequest, directory: Path) -> Path:
        """Write the graph as a C library of its own; see `treadle.link.c.export.export_graph`."""
        from treadle.link.c.export import export_graph

        return export_graph(self.expanded(fgraph), request, directory)


class StepwiseLinker(CLinker):
    """Links graphs to C where C has rules, and to steps of the Python VM elsewhere."""

    drives_in_python = True
    # PyTensor's word for a linker of C whose programs go from node to node without Python.
    use_cloop = True

    def link(self, fgraph: FunctionGraph, native_outputs: frozenset[int] = frozenset()) -> Program:
        """Return a program for the graph; each stretch of nodes between Python steps is a C program.

        Raises
        ------
        BackendUnavailableError
            If there is no compiler.
        CompileError
            If the compiler fails.
        """
        from treadle.link.c.linking import link_stretches

        del native_outputs
        return link_stretches(fgraph, CLinker(), self)

    # Where a class defines `link`, it also has to define how its programs are dumped and loaded.
    dump = CLinker.dump
    load = CLinker.load
