"""Loops of PyTensor's as loops of treadle's."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from treadle.as_pytensor.adapters.scan.buffers import StandsForGraph, first_rows, is_number_of, is_zero
from treadle.as_pytensor.adapters.scan.layout import ScanInfo, grouped
from treadle.config import dataclass
from treadle.graph import Variable, composing
from treadle.rewrite import rewrite_graph
from treadle.tensor import cast, join, maximum, neq, zeros
from treadle.tensor.elementwise.elemwise import Elemwise
from treadle.tensor.indexing.expressions import At, Span
from treadle.tensor.indexing.indexing import IncSubtensor, Subtensor
from treadle.tensor.loops.loops import Scan  # noqa: F401 - what parts of a loop are put together to
from treadle.tensor.loops.parts import LoopParts
from treadle.tensor.shapes.shape import LENGTH, lengths

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from treadle.graph import FrozenFunctionGraph, FunctionGraph
    from treadle.tensor.variables.variable import TensorVariable

# States that reach further back than this are kept as one array of their last values, others as that many carries.
MOST_CARRIES = 16


@dataclass(frozen=True)
class LoopArguments:
    """What goes into a loop, in treadle's terms.

    Attributes
    ----------
    steps
        The number of steps.
    sequences, untraced, constants
        Sequences, what states start with whose last value alone is kept, what is the same in all steps.
    starts
        For each other state, the values before the first step, the oldest first.
    sizes
        For each other state and then for each result, the number of rows that are kept; None if it is that of all.
    """

    steps: Variable
    sequences: tuple[Variable, ...]
    starts: tuple[Variable, ...]
    untraced: tuple[Variable, ...]
    sizes: tuple[Variable | None, ...]
    constants: tuple[Variable, ...]

    @classmethod
    def of(cls, info: ScanInfo, inputs: Sequence[Variable]) -> LoopArguments:
        """Return the arguments of a node with these inputs."""
        steps: Any = inputs[0]
        buffers = [*inputs[info.outer_inputs("mit_sot")], *inputs[info.outer_inputs("sit_sot")]]
        first = [first_rows(x, depth, steps) for x, depth in zip(buffers, depths(info), strict=True)]
        sizes = [None if one.is_exact else lengths(x)[0] for one, x in zip(first, buffers, strict=True)]
        stored = inputs[info.outer_inputs("nit_sot")]
        sizes += [None if is_number_of(x, steps) else cast(x, LENGTH) for x in stored]
        return cls(
            cast(steps, LENGTH), tuple(inputs[info.outer_inputs("seqs")]), tuple(one.rows for one in first),
            tuple(inputs[info.outer_inputs("untraced")]), tuple(sizes), tuple(inputs[info.outer_inputs("non_seqs")]),
        )  # fmt: skip

    @property
    def variables(self) -> list[Variable]:
        """What gradients may flow to: all but numbers of steps and rows."""
        return [*self.sequences, *self.starts, *self.untraced, *self.constants]

    def with_variables(self, variables: Iterable[Variable]) -> LoopArguments:
        """Return the same with others of `variables`."""
        rest = iter(variables)
        kinds = (self.sequences, self.starts, self.untraced, self.constants)
        sequences, starts, untraced, constants = (tuple(next(rest) for _ in kind) for kind in kinds)
        return replace(self, sequences=sequences, starts=starts, untraced=untraced, constants=constants)


def depths(info: ScanInfo) -> list[int]:
    """Return how many steps back each state reaches of which more than the last value is kept."""
    return [-min(taps) for taps in info.mit_sot_in_slices + info.sit_sot_in_slices]


@dataclass(frozen=True)
class LoopResult:
    """One of the results of a loop.

    Attributes
    ----------
    all
        All that PyTensor's loop returns of it: of a state also the first rows, of one of which the last value is kept
        that value.
    rows
        The rows that steps make; None if the last value alone is kept.
    last
        The last value of a state; None for others.
    start
        The number of rows in front of those that steps make.
    """

    all: Variable
    rows: Any = None
    last: Any = None
    start: int = 0


def results_of(
    info: ScanInfo, body: FrozenFunctionGraph, arguments: LoopArguments, truncate_gradient: int, name: str | None,
    rules: Sequence[str] = (),
) -> list[LoopResult]:  # fmt: skip
    """Return what PyTensor's loop returns, by one of treadle's; steps are rewritten by the rules that tags name."""
    with composing():
        inside: FunctionGraph = body.unfreeze()
        expand(inside)
        if rules:
            rewrite_graph(inside, include=("canonicalize", "stabilize", *rules))
        return _Loop(info, list(inside.inputs), list(inside.outputs), arguments, truncate_gradient, name).results()


class _Loop:
    """A loop of treadle's, being built."""

    def __init__(
        self, info: ScanInfo, inputs: list[Variable], outputs: list[Variable], arguments: LoopArguments,
        truncate_gradient: int, name: str | None,
    ) -> None:  # fmt: skip
        self.info, self.arguments = info, arguments
        self.outputs = outputs
        self.depths = depths(info)
        self.parts = LoopParts(arguments.steps, truncate_gradient=truncate_gradient, name=name)
        for x, row in zip(arguments.sequences, inputs[info.inner_inputs("seqs")], strict=True):
            self.parts.add_sequence(x, row)
        self.new_states = [*outputs[info.inner_outputs("mit_sot")], *outputs[info.inner_outputs("sit_sot")]]
        self.replaced: dict[Variable, Variable] = {}
        taps = info.mit_sot_in_slices + info.sit_sot_in_slices
        taken = grouped([*inputs[info.inner_inputs("mit_sot")], *inputs[info.inner_inputs("sit_sot")]], taps)
        self.carries = [
            self._add_state(*state) for state in zip(taken, taps, self.new_states, arguments.starts, strict=True)
        ]
        self.untraced = [
            self.parts.add_carry(*state)
            for state in zip(
                arguments.untraced, inputs[info.inner_inputs("untraced")], outputs[info.inner_outputs("untraced")],
                strict=True,
            )
        ]  # fmt: skip
        for given, inner in zip(arguments.constants, inputs[info.inner_inputs("non_seqs")], strict=True):
            self.parts.add_given(given, inner)

    def _add_state(
        self, taken: Sequence[Variable], taps: Sequence[int], new: Variable, start: Variable
    ) -> Callable[[Sequence[Variable]], Any]:
        """Add the carries of a state; return what gives its last value from the last values of carries."""
        depth, rows, parts = -min(taps), start, self.parts
        value: Any = rows
        if depth <= MOST_CARRIES:
            steps_back = dict(zip(taps, taken, strict=True))
            carries = [
                steps_back[-back] if -back in steps_back else new.type.make_variable() for back in range(1, depth + 1)
            ]
            after = [new, *carries[:-1]]
            first = parts.add_carry(value[depth - 1], carries[0], after[0])
            for back in range(2, depth + 1):
                parts.add_carry(value[depth - back], carries[back - 1], after[back - 1])
            return lambda last: last[first]
        window: Any = rows.type.make_variable()
        made: Any = new
        for tap, x in zip(taps, taken, strict=True):
            self.replaced[x] = x.type.filter_variable(window[depth + tap])
        at = parts.add_carry(rows, window, join(0, window[1:], made[None]))
        return lambda last: last[at][-1]  # type: ignore[index]  # a tensor

    def results(self) -> list[LoopResult]:
        """Return the results."""
        info, parts = self.info, self.parts
        parts.rows_out = [*self.new_states, *self.outputs[info.inner_outputs("nit_sot")]]
        if info.as_while:
            truth: Any = self.outputs[-1]
            parts.until = truth if truth.type.dtype == "bool" else cast(neq(truth, 0), "bool")
        if self.replaced:
            parts.replace(self.replaced)
        parts.widen()
        loop = parts.apply()
        steps: Any = parts.steps if loop.steps is None else loop.steps
        results = []
        for i, rows in enumerate(loop.stacked):
            size = self.arguments.sizes[i]
            if i < len(self.carries):
                depth = self.depths[i]
                start: Any = self.arguments.starts[i]
                known = start.type.shape[0]
                whole = join(0, start if known == depth else start[:depth], rows)
                kept = self._kept(whole, steps + depth, size)
                results.append(
                    LoopResult(kept, rows, self.carries[i](loop.carries), depth) if size is None else LoopResult(kept)
                )
            else:
                kept = self._kept(rows, steps, size)
                results.append(LoopResult(kept, rows if size is None else None))
        return [*results, *(LoopResult(loop.carries[at]) for at in self.untraced)]

    def _kept(self, rows: TensorVariable, count: Any, size: Any) -> TensorVariable:
        """Return the last rows, as many as there is room for; in a loop of known length, zeros where there is more."""
        if size is None:
            return rows
        if not self.info.as_while:
            rest = zeros((maximum(size - count, 0), *lengths(rows)[1:]), rows.dtype)
            rows = join(0, rows, rest)
        return rows[maximum(count - size, 0) :]


class StandsForLoop(StandsForGraph):
    """An op whose place a loop of treadle's takes."""

    @abstractmethod
    def results(self, node_inputs: Sequence[Variable]) -> list[LoopResult]:
        """Return what a node with these inputs computes, by a loop of treadle's."""

    def decompose(self, *inputs: Variable) -> list[Variable]:
        """Return the outputs as a loop of treadle's computes them."""
        return [result.all for result in self.results(inputs)]


def expand(fgraph: FunctionGraph) -> int:
    """Put the graphs that ops stand for into their places; return how many."""
    changes = 0
    # Loops come before the buffers that they start with, which they look at.
    for node in reversed(fgraph.toposort()):
        op = node.op
        if isinstance(op, StandsForLoop):
            results = op.results(node.inputs)
            for out, result in zip(node.outputs, results, strict=True):
                _replace_parts(fgraph, out, result)
            _replace(fgraph, node.outputs, [result.all for result in results])
            changes += 1
        elif isinstance(op, StandsForGraph):
            _replace(fgraph, node.outputs, op.decompose(*node.inputs) or ())
            changes += 1
    return changes


def _replace(fgraph: FunctionGraph, outputs: Sequence[Variable], results: Sequence[Variable]) -> None:
    pairs = [
        (old, old.type.filter_variable(new))
        for old, new in zip(outputs, results, strict=True)
        if fgraph.clients.get(old)
    ]
    fgraph.replace_all(pairs, "loops_of_pytensor")


def _replace_parts(fgraph: FunctionGraph, out: Variable, result: LoopResult) -> None:
    """Take what is read of a state after its first values from the rows, and what is read of the last one from that."""
    if result.last is None:
        return
    for client, _ in list(fgraph.clients.get(out, ())):
        if isinstance(client.op, Subtensor):
            first, *rest = client.op.entries
            if first == At(-1):
                part: Any = Subtensor(tuple(rest))(result.last, *client.inputs[1:]) if rest else result.last
            elif first == Span(result.start):
                part = Subtensor((Span(), *rest))(result.rows, *client.inputs[1:])
            else:
                continue
            _replace(fgraph, client.outputs, [part])


def seeds_of(result: LoopResult, cotangent: Any) -> list[tuple[Variable, Any]]:
    """Return what a cotangent of all that a loop returns of a state says of its rows, or of the last of them."""
    node = cotangent.owner
    if result.last is not None and node is not None:
        if isinstance(node.op, Elemwise) and node.op.scalar_op.name == "add":
            terms = [x for x in node.inputs if x.type.ndim == cotangent.type.ndim]
            if len(terms) == len(node.inputs) and all(x.type == cotangent.type for x in terms):
                return [seed for x in terms for seed in seeds_of(result, x)]
        if isinstance(node.op, IncSubtensor) and is_zero(node.inputs[0]) and len(node.inputs) == 2:
            first, *rest = node.op.entries
            is_whole = all(isinstance(entry, Span) and entry.is_full for entry in rest)
            part = node.inputs[1]
            if is_whole and first == Span(result.start) and part.type.ndim == result.rows.type.ndim:
                return [(result.rows, part)]
            if is_whole and first == At(-1) and part.type.ndim == result.last.type.ndim:
                return [(result.last, part)]
    return [(result.all, cotangent)]
