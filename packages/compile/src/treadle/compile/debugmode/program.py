"""DebugProgram: computes a graph node by node, and checks everything that can be checked on the way."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

from treadle.compile.debugmode.demand import Values
from treadle.compile.debugmode.errors import InvalidValueError
from treadle.compile.debugmode.node_checks import NodeChecker, check_finite
from treadle.compile.debugmode.rewriting import RewriteCheck
from treadle.compile.debugmode.whole_program import WholeProgram
from treadle.graph import Constant, LoweringError, Output, Supervisor, memory_roots, roots_of
from treadle.link.vm import TABLE, Program, VMProgram

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from treadle.compile.debugmode.implementations import Implementations
    from treadle.compile.debugmode.node_checks import Checks
    from treadle.compile.debugmode.recording import Recorder
    from treadle.graph import FunctionGraph, Value, Variable
    from treadle.link.vm import ProgramLinker


class DebugProgram(Program):
    """A graph that is computed node by node, with every check of DebugMode.

    Parameters
    ----------
    fgraph
        The graph after rewriting.
    implementations
        The implementations of its nodes.
    checks
        What is checked of each node.
    linkers
        By name of the backend, what makes programs of the whole graph; one that refuses it is left out, except for the
        first.
    recorder
        What rewriting did to the graph; None if it was not rewritten.
    before
        The outputs of the graph before that.
    """

    def __init__(
        self,
        fgraph: FunctionGraph,
        implementations: Implementations,
        checks: Checks,
        linkers: Mapping[str, ProgramLinker] | None = None,
        recorder: Recorder | None = None,
        before: Sequence[Variable] = (),
    ) -> None:
        TABLE.load()
        self._scope = TABLE.scope or nullcontext
        self.fgraph = fgraph
        self._roots = memory_roots(fgraph.toposort())
        self.checks = checks
        self.checker = NodeChecker(implementations, checks, self._used_inside, self._is_constant)
        self._rewriting = None if recorder is None else RewriteCheck(recorder, before, self.checker)
        self._programs = self._link(linkers or {})

    def _link(self, linkers: Mapping[str, ProgramLinker]) -> list[WholeProgram]:
        protected = [v for f in self.fgraph.features if isinstance(f, Supervisor) for v in f.protected]
        guarded = any(isinstance(f, Supervisor) for f in self.fgraph.features)
        mutable = frozenset(self.fgraph.inputs).difference(protected) if guarded else frozenset()
        programs: list[WholeProgram] = []
        texts: set[str] = set()
        for name, linker in linkers.items():
            try:
                program = linker.link(self.fgraph)
            except LoweringError:
                if not programs:
                    raise
                continue
            text = getattr(program, "source", None)
            if text is not None and not isinstance(program, VMProgram):
                # Two backends may make the same program of a graph.
                if text in texts:
                    continue
                texts.add(text)
            programs.append(WholeProgram(name, linker, program, self.fgraph, mutable))
        return programs

    def _used_inside(self, var: Variable) -> bool:
        return any(not isinstance(node.op, Output) for node, _ in self.fgraph.clients.get(var, ()))

    def _is_constant(self, var: Variable) -> bool:
        return all(isinstance(root, Constant) for root in roots_of(var, self._roots))

    def __call__(self, *inputs: Value) -> Sequence[Value]:
        """Compute the outputs and check everything."""
        with self._scope():
            return self._checked(inputs)

    def _checked(self, inputs: Sequence[Value]) -> list[Value]:
        graph = self.fgraph
        arguments = {x: x.type.copy_value(v) for x, v in zip(graph.inputs, inputs, strict=True)}
        for x, value in arguments.items():
            self._check_input(x, value)
        if self._rewriting is not None:
            self._rewriting.check(arguments)
        values = Values(arguments, lambda node: node.inputs, self.checker.run)
        values.compute(graph.outputs)
        for program in self._programs:
            program.check(list(arguments.values()), values.known)
        return [out.type.copy_value(values[out]) for out in graph.outputs]

    def _check_input(self, var: Variable, value: Value) -> None:
        """Refuse an input's value that is not of its type, or not finite."""
        client = next((n for n, _ in self.fgraph.clients.get(var, ()) if not isinstance(n.op, Output)), None)
        try:
            var.type.accept(value, strict=True)
        except (TypeError, ValueError) as error:
            hint = f"the value of this input is none of its type ({error})"
            raise InvalidValueError(var, value, client, hint) from error
        if self.checks.finite:
            check_finite(var, value, "the value of this input is not finite", client)
