"""DebugMaker: makes functions that check themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.compile.debugmode.implementations import Implementations
from treadle.compile.debugmode.node_checks import Checks
from treadle.compile.debugmode.program import DebugProgram
from treadle.compile.debugmode.recording import Recorder, outline
from treadle.compile.debugmode.rewriting import check_stability
from treadle.compile.functions.maker import FunctionMaker
from treadle.config import config
from treadle.graph import FunctionGraph

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from treadle.compile.debugmode.mode import DebugMode
    from treadle.graph import AbstractFunctionGraph, Compute, Variable
    from treadle.link.vm import Program
    from treadle.rewrite import Report


class DebugMaker(FunctionMaker):
    """Makes functions in DebugMode: records how the graph is rewritten, several times, and checks every call.

    Nothing of it goes through the compile cache.
    """

    mode: DebugMode
    _recorder: Recorder | None = None
    _before: Sequence[Variable] = ()

    def prepare_fgraph(self, fgraph: FunctionGraph) -> Report:
        """Rewrite the graph and record it, then rewrite equal graphs to see whether the same comes out."""
        before = list(fgraph.outputs)
        recorder = Recorder()
        report = self._recorded(fgraph, recorder)
        self._recorder, self._before = recorder, before
        first = [*recorder.script(), *outline(fgraph)]
        quiet = {"optimizer_verbose": False, "profile_optimizer": False}
        with config.change_flags(**quiet):
            for number in range(2, self.mode.stability_patience + 1):
                other_recorder, other_graph = Recorder(), self.create_fgraph()
                self._recorded(other_graph, other_recorder)
                check_stability(recorder, first, [*other_recorder.script(), *outline(other_graph)], number)
        return report

    def _recorded(self, fgraph: FunctionGraph, recorder: Recorder) -> Report:
        fgraph.attach_feature(recorder)
        try:
            return super().prepare_fgraph(fgraph)
        finally:
            fgraph.remove_feature(recorder)

    def link(self, fgraph: FunctionGraph) -> Program:
        """Return the program that computes node by node, and compares with programs of the whole graph."""
        mode = self.mode
        checks = mode.checks()
        backends = mode.backends_to_check()
        implementations = Implementations(backends, mode.check_py_code, self._checked_inner(checks))
        linkers = {mode.backend.name: mode.make_linker(), **{b.name: b.linker() for b in backends}}
        return DebugProgram(fgraph, implementations, checks, linkers, self._recorder, self._before)

    def _checked_inner(self, checks: Checks) -> Callable[[AbstractFunctionGraph], Compute]:
        """Return a function that turns inner graphs into programs that check themselves."""
        backends, python = self.mode.backends_to_check(), self.mode.check_py_code

        def make(fgraph: AbstractFunctionGraph) -> DebugProgram:
            # A copy, since an op's graph may be a frozen one, which has no clients and features.
            own = FunctionGraph(fgraph.inputs, fgraph.outputs, clone=True)
            return DebugProgram(own, Implementations(backends, python, make), checks)

        return make
