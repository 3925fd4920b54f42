"""Programs that are timed."""

from __future__ import annotations

import itertools
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

from treadle.compile.upward import upward
from treadle.config import config, span
from treadle.graph import memory_roots, roots_of
from treadle.link.vm import Program, ProgramLinker, PythonLinker, ReferenceLinker, Segment, VMProgram, link_node_by_node

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from treadle.compile.functions.maker import FunctionMaker
    from treadle.compile.mode.mode import Mode
    from treadle.compile.profiling.recording import FunctionRecord
    from treadle.graph import Apply, Compute, FunctionGraph, Type, Value


class TimedProgram(Program):
    """A program whose runs are timed, which otherwise behaves as the program itself.

    `on_device` is the program that knows the device, where `program` runs another one's nodes one by one.
    """

    def __init__(self, program: Program, record: FunctionRecord, on_device: Program | None = None) -> None:
        self.program = program
        self.record = record
        self.host = program.host
        self.writes = program.writes
        self._run = record.timed_program(program, (on_device or program).device_memory)

    def __call__(self, *inputs: Value) -> Sequence[Value]:
        """Compute the outputs."""
        results: Sequence[Value] = self._run(*inputs)
        return results

    def device_form(self, kind: Type) -> tuple[type, Callable[[Value], Value]] | None:
        """Return the class of native values of a type, and a function that makes one."""
        return self.program.device_form(kind)

    def fetch(self, value: Value, type_: Type) -> Value:
        """Return an output in native form as a host value that the caller owns."""
        return self.program.fetch(value, type_)

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the program itself."""
        if name.startswith("__") or name == "program":
            raise AttributeError(name)
        return getattr(self.program, name)


class ComparedProgram(TimedProgram):
    """A program that runs node by node, compared with the backend's program of the whole graph.

    That is run in calls number 2 (to warm up), 4, 8, 16 and so on; results are those of the former.
    """

    def __init__(self, program: Program, record: FunctionRecord, whole_program: Program) -> None:
        super().__init__(program, record, whole_program)
        self.whole_program = whole_program
        self._calls = itertools.count(1)

    def __call__(self, *inputs: Value) -> Sequence[Value]:
        """Compute the outputs."""
        number = next(self._calls)
        if number > 1 and not number & (number - 1):
            self._compare(inputs, measured=number > 2)
        return super().__call__(*inputs)

    def _compare(self, inputs: Sequence[Value], *, measured: bool) -> None:
        start = perf_counter_ns()
        self.whole_program(*inputs)
        elapsed = perf_counter_ns() - start
        if measured:
            self.record.whole_program.add(elapsed, elapsed)


class _Noting(ProgramLinker):
    """A linker that notes whether it compiled the node it linked last, or made a Python step of it."""

    def __init__(self, linker: ProgramLinker) -> None:
        super().__init__()
        self._linker = linker
        self._compiled = False

    def link(self, fgraph: FunctionGraph, native_outputs: frozenset[int] = frozenset()) -> Program:
        program = self._linker.link(fgraph, native_outputs)
        self._compiled = not isinstance(program, VMProgram)
        return program

    def take(self) -> bool:
        """Return whether the node linked last was compiled, and forget it."""
        compiled, self._compiled = self._compiled, False
        return compiled


def instrumented(record: FunctionRecord, program: Program, maker: FunctionMaker) -> Program:
    """Return a program that does what a maker's program does, timed.

    Parameters
    ----------
    record
        Where its times go.
    program
        The maker's program.
    maker
        Its profile says whether nodes are timed, which then run one by one, or only whole runs.
    """
    mode, fgraph = maker.mode, maker.fgraph
    record.fgraph = fgraph
    record.report = maker.report
    record.backend = mode.backend.name
    profile = maker.profile
    record.with_memory = profile is not None and profile.measures_memory
    if not (record.with_memory or (profile is not None and profile.times_nodes)):
        return TimedProgram(program, record)
    linker = mode.make_node_linker()
    if linker.acts_at_nodes or type(maker).link is not upward.FunctionMaker.link:
        record.left_whole = True
        return TimedProgram(program, record)
    # Programs of the VM run node by node, unless they have segments that another backend made.
    record.segmented = not isinstance(program, VMProgram) or any(
        isinstance(node.op, Segment) for node in program.fgraph.apply_nodes
    )
    with span("linking node by node"):
        stepped = _stepped(record, fgraph, linker)
    if record.segmented and _is_comparable(program, mode) and not _overwrites_inputs(fgraph):
        return ComparedProgram(stepped, record, program)
    return TimedProgram(stepped, record, program)


def _stepped(record: FunctionRecord, fgraph: FunctionGraph, linker: ProgramLinker) -> Program:
    on_vm = isinstance(linker, PythonLinker) and not isinstance(linker, ReferenceLinker)
    noting = None if on_vm else _Noting(linker)

    def wrap(node: Apply, compute: Compute) -> Compute:
        compiled = noting is not None and noting.take()
        return record.timed_node(node, compute, record.backend if compiled else "py")

    frees = config.allow_gc if linker.allow_gc is None else linker.allow_gc
    return link_node_by_node(fgraph, noting, wrap, bool(frees))


def _is_comparable(program: Program, mode: Mode) -> bool:
    """Whether a program can be run once more for comparison.

    Python steps and linkers of the user's may do anything, so that running them twice is not as running them once. A
    program of the backend's own values is often compiled in its first call, which can take long.
    """
    return program.host and not isinstance(program, VMProgram) and not isinstance(mode.provided_linker, ProgramLinker)


def _overwrites_inputs(fgraph: FunctionGraph) -> bool:
    """Whether a node may overwrite memory of the graph's inputs."""
    order = fgraph.toposort()
    roots = memory_roots(order)
    graph_inputs = set(fgraph.inputs)
    overwritten = (node.inputs[i] for node in order for inputs in node.op.destroy_map.values() for i in inputs)
    return any(root in graph_inputs for var in overwritten for root in roots_of(var, roots))
