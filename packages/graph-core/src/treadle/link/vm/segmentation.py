"""Linking in segments: what a linker can lower runs as its programs, every other node as a step of the Python VM."""

from __future__ import annotations

import warnings
from types import MappingProxyType
from typing import TYPE_CHECKING

from treadle.config import TreadleError, TreadleWarning, config, user_depth
from treadle.graph import (
    Apply,
    Branching,
    Constant,
    DestroyHandler,
    DrivesInnerGraph,
    FunctionGraph,
    GraphTypeError,
    Op,
    clone_get_equiv,
)
from treadle.link.vm.interface import Later, ProgramGraph
from treadle.link.vm.machine import PythonLinker
from treadle.link.vm.programs import TABLE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from treadle.graph import Block, Cell, Type, Value, Variable
    from treadle.link.vm.interface import Program
    from treadle.link.vm.linker import ProgramLinker


NOTHING_BEFORE: Mapping[Apply, Sequence[Apply]] = MappingProxyType({})


class Segment(Op):
    """A stretch of a graph as one node, computed by a linked program.

    Parameters
    ----------
    fgraph
        The stretch.
    program
        What computes it.
    linker
        What linked it, which the compile cache asks how to keep the program.
    """

    def __init__(
        self, fgraph: FunctionGraph | Later[FunctionGraph], program: Program, linker: ProgramLinker | None = None
    ) -> None:
        self._fgraph = fgraph if isinstance(fgraph, Later) else Later.of(fgraph)
        self.program = program
        self.linker = linker

    @property
    def fgraph(self) -> FunctionGraph:
        """The stretch."""
        return self._fgraph.get()

    def __reduce__(self) -> tuple[object, ...]:
        data = None if self.linker is None else self.linker.dump(self.program)
        if data is None:
            msg = f"{self}: {type(self.program).__name__} has nothing to be kept by."
            raise GraphTypeError(msg)
        types = [v.type for v in self.fgraph.inputs], [v.type for v in self.fgraph.outputs]
        return _restored, (self._fgraph, self.linker, *types, data)

    def make_node(self, *inputs: Variable) -> Apply:
        """Return a node with the stretch's outputs."""
        return Apply(self, inputs, [out.type.make_variable(out.name) for out in self.fgraph.outputs])

    def perform(self, node: Apply, inputs: Sequence[Value], output_storage: Sequence[Cell]) -> None:
        """Run the program; what it raises names the node inside."""
        for cell, value in zip(output_storage, self.program(*inputs), strict=True):
            cell[0] = value

    def __str__(self) -> str:
        return f"Segment({len(self.fgraph)} nodes)"


@TABLE.register(Segment)
def run_segment(op: Segment, node: Apply) -> Callable[..., object]:
    """Return a function that runs the program, by its quicker caller where it has one."""
    program, single = op.program, len(node.outputs) == 1

    def plain(*values: object) -> object:
        results = program(*values)
        return results[0] if single else results

    call: Callable[..., object] = plain

    def take(quicker: Callable[..., object]) -> None:
        nonlocal call
        call = quicker

    def run(*values: object) -> object:
        return call(*values)

    program.offer_caller(plain, single, take)
    return run


class WrongLengthWarning(TreadleWarning):
    """An op that runs in Python made an array of other lengths than the type of its variable says."""


class LengthReport(Op):
    """The input itself; a warning tells if its lengths are not those that its type says.

    Parameters
    ----------
    maker
        The op that makes the value, and the user's line, for the warning.
    """

    __props__ = ("maker",)
    view_map: dict[int, list[int]] = {0: [0]}  # noqa: RUF012 - the documented contract of Op

    def __init__(self, maker: str) -> None:
        self.maker = maker

    def infer(self, *types: Type) -> Sequence[Type]:
        """Return the input's type."""
        return types

    def perform(self, node: Apply, inputs: Sequence[Value], output_storage: Sequence[Cell]) -> None:
        """Pass the value on."""
        (value,) = inputs
        kind = node.inputs[0].type
        if not kind.is_super(own := kind.narrowed(value)):
            msg = (
                f"{self.maker}: the result is of type {own}, but its variable is of type {kind}. Let make_node say "
                "lengths only where they are known (None elsewhere), or set the option on_wrong_length to ignore."
            )
            warnings.warn(msg, WrongLengthWarning, stacklevel=user_depth())
        output_storage[0][0] = value


def _restored(
    fgraph: Later[FunctionGraph], linker: ProgramLinker, inputs: Sequence[Type], outputs: Sequence[Type], data: object
) -> Segment:
    graph = ProgramGraph(inputs, outputs, frozenset(), fgraph.get)
    return Segment(fgraph, linker.load(data, graph), linker)


def segments(
    order: Iterable[Apply],
    accepts: Callable[[Apply], bool],
    before: Mapping[Apply, Sequence[Apply]] = NOTHING_BEFORE,
) -> list[tuple[bool, list[Apply]]]:
    """Group nodes into stretches that a linker accepts and stretches that it does not, in an order of evaluation.

    Parameters
    ----------
    order
        The nodes, each after those it needs.
    accepts
        Whether the linker lowers a node.
    before
        For some nodes, others that must run before them, such as those that read what the node overwrites.

    Notes
    -----
    A node's level counts how often the way to it from the inputs changes between accepted and other nodes; those that
    are accepted start at 1, so that they share a stretch with those after the first others. Nodes of one level and kind
    form one stretch: a way out of a stretch and back into it would have raised the level.

    A conditional is accepted if all nodes of its branches are; they then stand in one stretch with it. The branches of
    any other conditional have stretches of their own, so that the one not taken does not run.
    """
    nodes = list(order)
    return _grouped(Branching(nodes, _ends(nodes), before), accepts, before)


def _ends(order: Sequence[Apply]) -> list[Variable]:
    """Return the results that no node uses."""
    used = {x for node in order for x in node.inputs}
    return [out for node in order for out in node.outputs if out not in used]


def _accepted_conditionals(branching: Branching, accepts: Callable[[Apply], bool]) -> set[Apply]:
    """Return the conditionals that are accepted with all of their branches."""
    accepted: dict[Block, bool] = {}
    conditionals = set()
    for block in branching.blocks:
        accepted[block] = True
        for node in block.nodes:
            branches = branching.inside.get(node)
            is_accepted = accepts(node) and (branches is None or all(accepted[inner] for inner in branches))
            if is_accepted and branches is not None:
                conditionals.add(node)
            accepted[block] = accepted[block] and is_accepted
    return conditionals


def _grouped(
    branching: Branching, accepts: Callable[[Apply], bool], before: Mapping[Apply, Sequence[Apply]]
) -> list[tuple[bool, list[Apply]]]:
    """Group the nodes of a graph in blocks; see `segments`."""
    accepted = _accepted_conditionals(branching, accepts)
    # The outermost accepted conditional that a block belongs to.
    leader: dict[Block, Apply | None] = {}
    for block in reversed(branching.blocks):
        owner = block.owner
        leader[block] = None if owner not in accepted or owner is None else leader[branching.home[owner]] or owner
    level: dict[Apply, int] = {}
    kinds: dict[Apply, bool] = {}
    members_of: dict[Apply, list[Apply]] = {}
    unit_of: dict[Apply, Apply] = {}
    for node in branching.linear():
        unit = unit_of[node] = leader[branching.home[node]] or node
        members_of.setdefault(unit, []).append(node)
        kind = kinds[unit] = unit in accepted or (node not in branching.inside and accepts(node))
        needed = [*(x.owner for x in node.inputs), *before.get(node, ())]
        units = {unit_of[n] for n in needed if n is not None and n in unit_of} - {unit}
        at = max((level[u] + (kinds[u] is not kind) for u in units), default=int(kind))
        level[unit] = max(at, level.get(unit, 0))
    groups: dict[tuple[int, bool, int, Block | None], list[Apply]] = {}
    for unit, members in members_of.items():
        home = branching.home[unit]
        key = (level[unit], True, home.depth, home) if kinds[unit] else (level[unit], False, 0, None)
        groups.setdefault(key, []).extend(members)
    return [(key[1], groups[key]) for key in sorted(groups, key=lambda key: key[:3])]


def _boundary(group: Sequence[Apply], fgraph: FunctionGraph) -> tuple[list[Variable], list[Variable]]:
    """Return the variables that a stretch takes from outside, constants apart, and those used outside of it."""
    inside = set(group)
    entering = dict.fromkeys(x for node in group for x in node.inputs if x.owner not in inside)
    leaving = [
        out for node in group for out in node.outputs if any(client not in inside for client, _ in fgraph.clients[out])
    ]
    return [x for x in entering if not isinstance(x, Constant)], leaving


def link_in_segments(
    fgraph: FunctionGraph,
    linker: ProgramLinker,
    accepts: Callable[[Apply], bool],
    whole: ProgramLinker | None = None,
) -> Program:
    """Return a program for the graph: the linker's own if it accepts every node, else the VM's, which calls it.

    Parameters
    ----------
    fgraph
        The graph; it is left as it is.
    linker
        Links the stretches of nodes that it accepts.
    accepts
        Whether the linker lowers a node.
    whole
        Links the graphs inside ops that drive them from Python; `linker` if None.
    """
    groups = _groups_of(fgraph, accepts)
    if all(kind for kind, _ in groups):
        return linker.link(fgraph)
    return PythonLinker().link(_outer_graph(fgraph, linker, groups, whole or linker))


def in_segments(fgraph: FunctionGraph, linker: ProgramLinker, accepts: Callable[[Apply], bool]) -> FunctionGraph:
    """Return the graph with one node for each stretch of nodes that a linker accepts, linked (see `Segment`).

    Parameters are those of `link_in_segments`.
    """
    return _outer_graph(fgraph, linker, _groups_of(fgraph, accepts), linker)


def _groups_of(fgraph: FunctionGraph, accepts: Callable[[Apply], bool]) -> list[tuple[bool, list[Apply]]]:
    before = fgraph.orderings()
    return _grouped(Branching(fgraph.toposort(), fgraph.outputs, before), accepts, before)


def _outer_graph(
    fgraph: FunctionGraph,
    linker: ProgramLinker,
    groups: Sequence[tuple[bool, Sequence[Apply]]],
    inner_linker: ProgramLinker,
) -> FunctionGraph:
    driven: dict[Op, Op] = {}
    copies: dict[Variable, Variable] = {x: x.clone() for x in fgraph.inputs}
    for kind, group in groups:
        if kind:
            _add_segment(fgraph, linker, group, copies)
            continue
        for node in group:
            step = node.clone_with_new_inputs([copies.get(x, x) for x in node.inputs])
            if isinstance(node.op, DrivesInnerGraph):
                if node.op not in driven:
                    inner = node.op.fgraph.unfreeze()
                    driven[node.op] = node.op.with_program(Segment(inner, inner_linker.link(inner), inner_linker))
                step.op = driven[node.op]
            copies.update(zip(node.outputs, step.outputs, strict=True))
    return FunctionGraph([copies[x] for x in fgraph.inputs], [copies.get(x, x) for x in fgraph.outputs], clone=False)


def _add_segment(
    fgraph: FunctionGraph, linker: ProgramLinker, group: Sequence[Apply], copies: dict[Variable, Variable]
) -> None:
    """Link a stretch and add its node to the graph being made."""
    inputs, outputs = _boundary(group, fgraph)
    # What comes from other nodes may be of other lengths than its type says, if that is no error.
    loose = {} if config.on_wrong_length == "raise" else _without_lengths(inputs, group, fgraph)
    inner = FunctionGraph(*_rebuilt(inputs, outputs, loose), clone=not loose)
    if any(node.op.destroy_map for node in group):
        inner.attach_feature(DestroyHandler())
    if config.on_wrong_length == "warn":
        _report_lengths(loose, copies)
    segment = Segment(inner, linker.link(inner), linker)
    # Whatever is known inside, the variables of the graph keep their types.
    step = Apply(segment, [copies.get(x, x) for x in inputs], [x.type.make_variable(x.name) for x in outputs])
    step.user_line = group[-1].user_line
    copies.update(zip(outputs, step.outputs, strict=True))


def _without_lengths(
    inputs: Iterable[Variable], group: Sequence[Apply], fgraph: FunctionGraph
) -> dict[Variable, Variable]:
    """Return for variables that nodes compute, and of which lengths are known, others of which none is.

    Ops may need a length, such as that of a generator's state: what they take stays as it is.
    """
    given = set(fgraph.inputs)
    types = {x: x.type.without_lengths() for x in inputs if x not in given and x.owner is not None}
    loose = {x: kind.make_variable(x.name) for x, kind in types.items() if kind != x.type}
    for node in group:
        taken = [x for x in node.inputs if x in loose]
        if taken and not _takes([loose.get(x, x) for x in node.inputs], node):
            for x in taken:
                loose.pop(x, None)
    return loose


def _takes(inputs: Sequence[Variable], node: Apply) -> bool:
    """Whether an op takes other inputs than a node's."""
    try:
        node.clone_with_new_inputs(inputs, strict=False)
    except TreadleError:
        return False
    return True


def _rebuilt(
    inputs: Sequence[Variable], outputs: Sequence[Variable], loose: Mapping[Variable, Variable]
) -> tuple[list[Variable], list[Variable]]:
    """Return inputs and outputs of a stretch whose nodes are made anew for other inputs, if there are any."""
    if not loose:
        return list(inputs), list(outputs)
    copies = clone_get_equiv(inputs, outputs, memo=dict(loose), strict=False)
    return [copies[x] for x in inputs], [copies[x] for x in outputs]


def _report_lengths(variables: Iterable[Variable], copies: dict[Variable, Variable]) -> None:
    """Let values that are computed in Python be looked at before compiled parts take them."""
    for x in variables:
        maker = copies[x].owner
        if maker is not None and not isinstance(maker.op, Segment | LengthReport):
            copies[x] = LengthReport(f"{maker.op}{maker.where()}")(copies[x])
