"""Linkers whose rules stand in a table: RuleLinker, and TableLinker, which leaves nodes without a rule to Python."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

from treadle.config import TreadleWarning, config, user_depth
from treadle.graph import DeepCopyOp, DrivesInnerGraph, LoweringTable, Unsupported, expand
from treadle.link.vm.interface import Program, ProgramGraph
from treadle.link.vm.linker import ProgramLinker
from treadle.link.vm.machine import KeptProgram, PythonLinker
from treadle.link.vm.segmentation import Segment, in_segments

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from treadle.graph import Apply, FunctionGraph, Type


class PythonStepWarning(TreadleWarning):
    """A compiled function runs an op in Python, because its backend has no rule for it."""


class RuleLinker(ProgramLinker):
    """A linker whose rules stand in a `LoweringTable`. Where it can, it replaces ops without a rule by simpler ones.

    Attributes
    ----------
    table
        The rules.
    """

    table: LoweringTable
    # Whether programs run searches of Python libraries between compiled parts, or take these ops' other form.
    drives_in_python: ClassVar[bool] = False

    def check(self, node: Apply) -> object:
        """Find out whether the rules lower a node.

        Raises
        ------
        Unsupported
            If they do not; by default, if there is none.
        """
        return self.table.rule(node)

    def lowers(self, node: Apply) -> bool:
        """Whether the rules lower a node."""
        try:
            self.check(node)
        except Unsupported:
            return False
        return True

    def expanded(self, fgraph: FunctionGraph, *, whole: bool = False) -> FunctionGraph:
        """Return the graph with simpler ops in place of what the rules do not lower (see `treadle.graph.expand`)."""
        return expand(fgraph, lambda node: self.drives(node) or self.lowers(node), whole=whole)

    def drives(self, node: Apply) -> bool:
        """Whether a node is a search in Python that calls compiled code."""
        return self.drives_in_python and isinstance(node.op, DrivesInnerGraph)

    def refuse(self, nodes: Iterable[Apply]) -> None:
        """Refuse nodes that the rules do not lower.

        Raises
        ------
        LoweringError
            If there are any; all are listed.
        """
        self.table.lower(nodes, self.check)


class TableLinker(RuleLinker):
    """A linker that compiles what its rules cover, and leaves other nodes to Python.

    An op without a rule is a user's own: it runs in Python, between programs of the nodes around it, with a warning
    that names it. Option ``on_python_step`` has it refused instead. Values that exist in Python only, such as those of
    a user's own type, are passed between the nodes that run there.

    Attributes
    ----------
    scalars
        Where elementwise functions are registered, by its public name.
    """

    scalars: str

    @abstractmethod
    def link_whole(self, fgraph: FunctionGraph, native_outputs: frozenset[int]) -> Program:
        """Return a program for a graph of nodes that all have rules, and of inputs and outputs that it holds.

        Raises
        ------
        LoweringError
            If rules refuse nodes; all are listed.
        """

    @abstractmethod
    def dump_whole(self, program: Program) -> Any:
        """Return what `load_whole` needs to make a program of `link_whole` again, or None if it cannot be kept."""

    @abstractmethod
    def load_whole(self, data: Any, graph: ProgramGraph) -> Program:
        """Return the program of what `dump_whole` returned."""

    @abstractmethod
    def is_array(self, kind: Type) -> bool:
        """Whether rules are about values of a type; nodes with values of other types run in Python."""

    def holds(self, kind: Type) -> bool:
        """Whether programs take and return values of a type; by default all arrays."""
        return self.is_array(kind)

    def lacks_rule(self, node: Apply) -> bool:
        """Whether nothing was registered for a node: a linker whose rules look further up asks there too."""
        return self.table.find(node.op) is None

    def inside(self, node: Apply) -> Iterable[Apply]:
        """Return the nodes that are compiled as part of a node, those of a loop's body; by default none."""
        return ()

    def runs_in_python(self, node: Apply) -> bool:
        """Whether a node is left to Python; with a node that is part of it, it is as a whole."""
        if self.lacks_rule(node) or passes_by(node, self.holds):
            return True
        if not all(self.is_array(v.type) for v in (*node.inputs, *node.outputs)):
            return True
        return any(map(self.runs_in_python, self.inside(node)))

    def without_rule(self, nodes: Iterable[Apply]) -> list[Apply]:
        """Return the nodes that nothing was registered for, parts of nodes among them."""
        ruleless = []
        for node in nodes:
            is_expected = node.op.on_host or node.op.may_run_on_host or self.drives(node)
            if self.lacks_rule(node) and not is_expected:
                ruleless.append(node)
            ruleless += self.without_rule(self.inside(node))
        return ruleless

    def to_native(self, value: Any, kind: Type) -> Any:
        """Return a host value in the backend's own form."""
        return value

    def device_form(self, kind: Type) -> tuple[type, Callable[[Any], Any]] | None:
        """Return what `Program.device_form` does for the linker's programs; None by default."""
        return None

    def link(self, fgraph: FunctionGraph, native_outputs: frozenset[int] = frozenset()) -> Program:
        """Return a program for the graph, which calls compiled ones where nodes run in Python.

        Raises
        ------
        LoweringError
            If rules refuse nodes, or option ``on_python_step`` says that nodes without a rule are; all are listed.
        """
        program = self._link_expanded(self.expanded(fgraph), native_outputs)
        program.whole = self, ProgramGraph.of(fgraph)
        return program

    def _link_expanded(self, fgraph: FunctionGraph, native_outputs: frozenset[int]) -> Program:
        order = fgraph.toposort()
        steps = {node for node in order if self.runs_in_python(node)}
        if not steps and all(self.holds(v.type) for v in (*fgraph.inputs, *fgraph.outputs)):
            return self.link_whole(fgraph, native_outputs)
        ruleless = [(node, self._missing(node)) for node in self.without_rule(order)]
        may_run = config.on_python_step != "raise"
        self.table.lower((node for node in order if node not in steps), self.check, () if may_run else ruleless)
        self.tell(node for node in order if node in steps)
        program = PythonLinker().link(in_segments(fgraph, self, lambda node: node not in steps))
        return self._with_native_ends(program, ProgramGraph.of(fgraph, native_outputs))

    def dump(self, program: Program) -> Any:
        """Return what `load` needs: of a program with Python steps, the nodes and the dumps of the programs."""
        inner = program.inner if isinstance(program, NativeEnds) else program
        return PythonLinker().dump(inner) or self.dump_whole(inner)

    def load(self, data: Any, graph: ProgramGraph) -> Program:
        """Return the program.

        Raises
        ------
        LookupError
            If something that it needs is not in the compile cache any more.
        """
        if isinstance(data, KeptProgram):
            self.tell(node for node in data.steps.values() if not isinstance(node.op, Segment))
            program = self._with_native_ends(PythonLinker().load(data, graph), graph)
        else:
            program = self.load_whole(data, graph.changed(self.expanded))
        program.whole = self, graph
        return program

    def _missing(self, node: Apply) -> Unsupported:
        """Return what is missing for a node to be compiled."""
        option = "set the option on_python_step to warn, which lets it run in Python"
        if self.table.find(node.op) is None:
            return Unsupported("", option)
        return Unsupported(
            "its elementwise function is not known here", f"register the function in {self.scalars}, or {option}"
        )

    def _with_native_ends(self, program: Program, graph: ProgramGraph) -> Program:
        return NativeEnds(program, graph, self) if graph.native_outputs else program

    def tell(self, nodes: Iterable[Apply]) -> None:
        """Warn of nodes that run in Python because they have no rule."""
        if config.on_python_step != "warn":
            return
        lines = dict.fromkeys(f"{node.op}{node.where()}" for node in self.without_rule(nodes))
        if lines:
            name = self.table.backend
            msg = (
                f"{name}: no lowering for {'; '.join(lines)}. Each runs in Python between compiled parts, with the "
                f"loop that it is in, and arrays pass through NumPy. Register a rule for it with {name}'s table of "
                f"lowerings (an elementwise function in {self.scalars}), or set the option on_python_step to ignore or "
                "raise."
            )
            warnings.warn(msg, PythonStepWarning, stacklevel=user_depth())


def passes_by(node: Apply, holds: Callable[[Type], bool]) -> bool:
    """Whether a node only passes on a value of a type that a backend does not support."""
    return node.op.on_host or (isinstance(node.op, DeepCopyOp) and not all(holds(v.type) for v in node.inputs))


class NativeEnds(Program):
    """A program of host values, whose outputs are returned in a backend's own form where that is asked for.

    Parameters
    ----------
    inner
        The program.
    graph
        Which outputs these are.
    linker
        Makes their form.
    """

    host = False

    def __init__(self, inner: Program, graph: ProgramGraph, linker: TableLinker) -> None:
        self.inner = inner
        self._graph = graph
        self._linker = linker

    @property
    def fgraph(self) -> FunctionGraph:
        """The graph."""
        return self._graph.get()

    def device_form(self, kind: Type) -> tuple[type, Callable[[Any], Any]] | None:
        """Return the form of the linker's programs."""
        return self._linker.device_form(kind)

    def __call__(self, *inputs: Any) -> Sequence[Any]:
        """Compute the outputs."""
        graph = self._graph
        outputs = self.inner(*[kind.to_host(x) for kind, x in zip(graph.inputs, inputs, strict=True)])
        return [
            self._linker.to_native(x, kind) if i in graph.native_outputs else x
            for i, (x, kind) in enumerate(zip(outputs, graph.outputs, strict=True))
        ]
