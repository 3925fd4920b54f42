"""CLinker and StepwiseLinker. What writes and compiles C is imported when a graph is linked, not when one is loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.config import config
from treadle.graph import HasInnerGraph, IfElse
from treadle.link.c.loading import Recipe, restored
from treadle.link.c.program import CProgram
from treadle.link.c.support.libraries import SUPPORT
from treadle.link.c.table import TABLE
from treadle.link.c.toolchain import find_toolchain
from treadle.link.vm import PythonLinker, RuleLinker

if TYPE_CHECKING:
    from pathlib import Path

    from treadle.graph import Apply, FunctionGraph
    from treadle.link.vm import ExportRequest, Program, ProgramGraph


class CLinker(RuleLinker):
    """Links graphs to C.

    Parameters
    ----------
    allow_gc
        Whether memory of intermediate results is given back at the end of a call; option ``allow_gc`` if None. Where
        it is not, it is kept for the next call; `CProgram.free` gives it back.
    """

    table = TABLE

    def __init__(self, allow_gc: bool | None = None) -> None:
        self.allow_gc = allow_gc

    def check(self, node: Apply) -> None:
        """Refuse a node without a rule, or of dtypes that C lacks."""
        from treadle.link.c.checking import check

        check(node)

    def expanded(self, fgraph: FunctionGraph, *, whole: bool = False) -> FunctionGraph:
        """Return the graph with simpler ops in place of what the rules do not lower, in bodies of loops too."""
        made = super().expanded(fgraph, whole=whole)
        if not any(isinstance(node.op, HasInnerGraph | IfElse) for node in made.apply_nodes):
            return made
        from treadle.tensor import expand_generators

        with_loops = expand_generators(made, lambda body: self.expanded(body, whole=whole))
        # A draw from what a loop made of a generator finds its state only now.
        return made if with_loops is made else super().expanded(with_loops, whole=whole)

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
        from treadle.link.c.linking import link_graph

        free = config.allow_gc if self.allow_gc is None else self.allow_gc
        return link_graph(fgraph, native_outputs, self, keeps_blocks=not free)

    def dump(self, program: Program) -> object:
        """Return the recipe of a program that is all in C; of any other, its steps, among them the programs in C."""
        return program.recipe if isinstance(program, CProgram) else PythonLinker().dump(program)

    def load(self, data: object, graph: ProgramGraph) -> Program:
        """Return the program of a recipe, or of steps.

        Raises
        ------
        LookupError
            If a library is not in the compile cache any more.
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
    """Links graphs to C where C has rules, and to steps of the Python VM where it has none."""

    drives_in_python = True

    def link(self, fgraph: FunctionGraph, native_outputs: frozenset[int] = frozenset()) -> Program:
        """Return a program for the graph; stretches between Python steps are C programs of their own.

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

    # A class with a `link` of its own says with it what keeps the programs.
    dump = CLinker.dump
    load = CLinker.load
