"""Scan: a loop as PyTensor has it, which clients take apart and put together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from treadle.as_pytensor.adapters.scan.layout import ScanInfo, ScanMethodsMixin
from treadle.as_pytensor.adapters.scan.loops import (
    LoopArguments,
    LoopResult,
    StandsForLoop,
    depths,
    results_of,
    seeds_of,
)
from treadle.compile import get_mode
from treadle.config import text_of
from treadle.graph import (
    Apply,
    Constant,
    DisconnectedType,
    FrozenFunctionGraph,
    FunctionGraph,
    GraphTypeError,
    GraphValueError,
    MissingInputError,
    SharedVariable,
    Variable,
    composing,
    graph_inputs,
    graph_replace,
    vectorize_graph,
)
from treadle.rewrite import RewriteDatabaseQuery
from treadle.tensor import as_tensor_variable, cast, set_subtensor, zeros_like
from treadle.tensor.embedding.from_graph import OpFromGraph
from treadle.tensor.embedding.frozen_inner import HasFrozenGraph
from treadle.tensor.gradients.forward_mode import jvp
from treadle.tensor.gradients.reverse_mode import gradients_of_parts, is_absent
from treadle.tensor.shapes.shape import LENGTH, lengths
from treadle.tensor.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import Cell, SymbolicShape, Type, Value
    from treadle.tensor.ops.tensor_op import Derivatives, Variables

# What modes include whose steps need no rules of their own.
_USUAL = {"fast_run", "fast_compile"}
_DERIVED = ("_fn", "_whole", "_compiled")


class Scan(StandsForLoop, HasFrozenGraph, ScanMethodsMixin):
    """A loop as PyTensor has it.

    The inputs of a node are the number of steps; the sequences; for each state a buffer, whose first rows are the
    values before the first step; what those states start with whose last value alone is kept; for each result that
    later steps do not take the number of rows to keep; and what is the same in all steps. Its outputs are the filled
    buffers, the results, and the last values. `ScanInfo` says how many there are of each.

    The inputs of the graph inside are rows of the sequences, the values of states at their taps, and what is the same
    in all steps; its outputs new values of states, rows of results, and the condition if there is one.

    A loop of treadle's takes its place when a function is compiled, and gives the derivatives.

    Parameters
    ----------
    inputs, outputs
        Those of the graph inside.
    info
        How many there are of each kind, and the taps.
    mode
        Of a mode, only the rules that it includes by name are heeded: the steps are rewritten by them. A loop is
        compiled with the function that it is part of.
    typeConstructor, profile, allow_gc, strict
        Kept, and without effect.
    truncate_gradient
        Of how many steps, the last ones, the gradient is taken; -1 for all.
    name
        Shown when printed.

    Raises
    ------
    GraphTypeError
        If `info` is not a `ScanInfo`, or a step makes a state of another dtype or rank than it takes.
    GraphValueError
        If the numbers of inputs or outputs are not those of `info`.
    MissingInputError
        If an output needs a variable that is not among the inputs.
    NotImplementedError
        For states that a step writes to more than once, which only PyTensor's gradients have.
    """

    __props__: ClassVar[tuple[str, ...] | None] = ("fgraph", "info", "truncate_gradient", "rules")
    destroy_map: ClassVar[dict[int, list[int]]] = {}  # type: ignore[misc]

    def __init__(
        self,
        inputs: Sequence[Variable],
        outputs: Sequence[Variable],
        info: ScanInfo,
        mode: object = None,
        typeConstructor: object = None,  # noqa: N803 - the documented name
        truncate_gradient: int = -1,
        name: str | None = None,
        profile: object = None,
        allow_gc: object = True,
        strict: bool = True,
    ) -> None:
        del typeConstructor
        counts: object = info
        if not isinstance(counts, ScanInfo):
            msg = f"Scan: info must be a ScanInfo, got {text_of(info)}. Take that of ScanArgs."
            raise GraphTypeError(msg)
        if info.mit_mot_in_slices or info.mit_mot_out_slices:
            msg = (
                "Scan: states that a step writes to more than once (mit-mot) are not supported; only PyTensor's "
                "gradients of loops have them. Derive the loop with treadle's grad."
            )
            raise NotImplementedError(msg)
        if len(inputs) != info.n_inner_inputs or len(outputs) != info.n_inner_outputs:
            msg = (
                f"Scan: the graph inside has {len(inputs)} inputs and {len(outputs)} outputs, and info asks for "
                f"{info.n_inner_inputs} and {info.n_inner_outputs}. Give one for each."
            )
            raise GraphValueError(msg)
        _check_closed(inputs, outputs)
        self._graph = FrozenFunctionGraph(list(inputs), list(outputs))
        self.info = info
        self.truncate_gradient = int(truncate_gradient)
        self.name = name or "scan_fn"
        # Of modes that are no equal objects, such as copies, what counts here may be the same.
        self.rules = _rules_of(mode)
        self.mode, self.profile, self.allow_gc, self.strict = mode, profile, allow_gc, strict
        self.validate_inner_graph()

    def validate_inner_graph(self) -> None:
        """Refuse a step that makes a state of another dtype or rank than it takes."""
        taken = [*self.inner_mitsot_grouped(self.inner_inputs), *([x] for x in self.inner_sitsot(self.inner_inputs))]
        new = [*self.inner_mitsot_outs(self.inner_outputs), *self.inner_sitsot_outs(self.inner_outputs)]
        for olds, out in zip(taken, new, strict=True):
            for old in olds:
                a: Any = old.type
                b: Any = out.type
                if (a.dtype, a.ndim) != (b.dtype, b.ndim):
                    msg = (
                        f"Scan {self.name!r}: a step takes the state {old} of type {a} and makes {out} of type {b}. "
                        "Cast what it makes, or start with a value of the type that steps make."
                    )
                    raise GraphTypeError(msg)

    # The parts

    @property
    def output_types(self) -> list[Type]:
        """The types of the outputs of a node."""
        kinds: list[Any] = [x.type for x in self.inner_outputs[: self.info.outer_outputs("untraced").stop]]
        stacked = self.info.outer_outputs("untraced").start
        return [TensorType(kind.dtype, (None, *kind.shape)) if i < stacked else kind for i, kind in enumerate(kinds)]

    @property
    def mintaps(self) -> list[int]:
        """The oldest tap of each state, 0 for each result."""
        return [-depth for depth in depths(self.info)] + [0] * self.info.n_nit_sot

    @property
    def n_outer_inputs(self) -> int:
        """Number of inputs of a node."""
        return self.info.n_outer_inputs

    @property
    def n_outer_outputs(self) -> int:
        """Number of outputs of a node."""
        return self.info.n_outer_outputs

    @property
    def n_tap_outs(self) -> int:
        """Number of states of which more than the last value is kept."""
        return self.info.n_mit_sot + self.info.n_sit_sot

    def with_inner_graph(self, fgraph: FunctionGraph) -> Scan:
        """Return the op with another graph inside that computes the same."""
        new = object.__new__(type(self))
        new.__dict__.update(self.__getstate__())
        new._graph = FrozenFunctionGraph(fgraph.inputs, fgraph.outputs)
        return new

    def __getstate__(self) -> dict[str, object]:
        """Leave out what is derived."""
        return {k: v for k, v in super().__getstate__().items() if k not in _DERIVED}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)

    # The node

    def make_node(self, *inputs: Any) -> Apply:
        """Return the node.

        Raises
        ------
        GraphTypeError
            If inputs are no variables, or not of the types that the graph inside takes.
        GraphValueError
            If their number is wrong.
        """
        for x in inputs:
            if not isinstance(x, Variable):
                msg = f"{self}: inputs must be variables, got {text_of(x)}. Convert it to one."
                raise GraphTypeError(msg)
        if len(inputs) != self.info.n_outer_inputs:
            msg = (
                f"{self}: {self.info.n_outer_inputs} inputs are needed, got {len(inputs)}. Give the number of steps, "
                "sequences, states, numbers of rows, and what is the same in all steps."
            )
            raise GraphValueError(msg)
        inner = self.inner_inputs
        info = self.info
        firsts = [taken[0] for taken in self.inner_mitsot_grouped(inner)]
        variables: list[Variable] = [
            self._count(inputs[0]),
            *map(self._rows, self.outer_seqs(inputs), self.inner_seqs(inner)),
            *map(self._rows, self.outer_mitsot(inputs), firsts),
            *map(self._rows, self.outer_sitsot(inputs), self.inner_sitsot(inner)),
            *map(self._value, inputs[info.outer_inputs("untraced")], inner[info.inner_inputs("untraced")]),
            *map(self._count, self.outer_nitsot(inputs)),
            *map(self._value, self.outer_non_seqs(inputs), self.inner_non_seqs(inner)),
        ]
        return Apply(self, variables, [kind.make_variable() for kind in self.output_types])

    def _count(self, number: Variable) -> Variable:
        count = as_tensor_variable(number)
        if count.ndim or count.type.numpy_dtype.kind not in "iu":
            msg = f"{self}: numbers of steps and of rows must be integer scalars, got {count} of type {count.type}."
            raise GraphTypeError(msg)
        return count

    def _rows(self, outer: Variable, row: Variable) -> Variable:
        """Return a sequence or a buffer, in the dtype of its rows inside."""
        x = as_tensor_variable(outer)
        kind: Any = row.type
        if x.ndim != kind.ndim + 1:
            msg = (
                f"{self}: {x} of type {x.type} must have one dimension more than the {row} of type {kind} that a step "
                "takes of it. Add one in front, for instance with shape_padleft."
            )
            raise GraphTypeError(msg)
        return TensorType(kind.dtype, (x.type.shape[0], *kind.shape)).filter_variable(cast(x, kind.dtype))

    def _value(self, outer: Variable, inner: Variable) -> Variable:
        kind = inner.type
        if isinstance(kind, TensorType) and isinstance(outer.type, TensorType):
            outer = cast(outer, kind.dtype)
        try:
            return kind.filter_variable(outer)
        except TypeError as error:
            msg = f"{self}: {outer} of type {outer.type} does not fit {inner} of type {kind}, which a step takes."
            raise GraphTypeError(msg) from error

    def results(self, node_inputs: Sequence[Variable]) -> list[LoopResult]:
        """Return what a node with these inputs computes, by a loop of treadle's."""
        return self._results(LoopArguments.of(self.info, node_inputs))

    def _results(self, arguments: LoopArguments) -> list[LoopResult]:
        return results_of(self.info, self.fgraph, arguments, self.truncate_gradient, self.name, self.rules)

    @property
    def _as_graph(self) -> OpFromGraph:
        """An op of the graph that a node of this one stands for, whatever its inputs are computed by."""
        return self.kept("_whole", self._make_graph)

    def _make_graph(self) -> OpFromGraph:
        node = self.make_node(*[kind.make_variable() for kind in self._input_types()])
        return OpFromGraph(node.inputs, self.decompose(*node.inputs))

    def _input_types(self) -> list[Type]:
        inner: list[Any] = [x.type for x in self.inner_inputs]
        stacked = [
            *self.inner_seqs(inner), *(taken[0] for taken in self.inner_mitsot_grouped(inner)),
            *self.inner_sitsot(inner),
        ]  # fmt: skip
        number = TensorType(LENGTH, ())
        return [
            number,
            *(TensorType(kind.dtype, (None, *kind.shape)) for kind in stacked),
            *inner[self.info.inner_inputs("untraced")],
            *[number] * self.info.n_nit_sot,
            *self.inner_non_seqs(inner),
        ]

    def perform(self, node: Apply, inputs: Sequence[Value], output_storage: Sequence[Cell]) -> None:
        """Run the loop."""
        inputs = [x.astype(LENGTH) if i in self._numbers else x for i, x in enumerate(inputs)]
        for cell, value in zip(output_storage, self._as_graph.fn(*inputs), strict=True):
            cell[0] = value

    @property
    def _numbers(self) -> set[int]:
        stored = self.info.outer_inputs("nit_sot")
        return {0, *range(stored.start, stored.stop)}

    def infer_shape(self, node: Apply, shapes: Sequence[SymbolicShape | None]) -> Sequence[SymbolicShape | None] | None:
        """Return the shapes of buffers, and those of rows as far as they follow from shapes."""
        known: list[SymbolicShape | None] = []
        results = self.results(node.inputs)
        buffers = [*self.outer_mitsot(shapes), *self.outer_sitsot(shapes)]
        stored = list(self.outer_nitsot(node.inputs))
        for i, result in enumerate(results):
            if i < len(buffers) and not self.info.as_while:
                known.append(buffers[i])
            elif not isinstance(result.all.type, TensorType):
                known.append(None)
            else:
                own: Any = lengths(result.all)
                at = i - len(buffers)
                if not self.info.as_while and 0 <= at < len(stored):
                    own = [cast(stored[at], LENGTH), *own[1:]]
                known.append(tuple(own))
        return known

    def vectorize_node(self, node: Apply, *inputs: Variable) -> list[Variable]:
        """Return the loop over batches."""
        arguments = LoopArguments.of(self.info, node.inputs)
        own = [x.type.make_variable() for x in node.inputs]
        whole = LoopArguments.of(self.info, own)
        sizes = [None if old is None else new for old, new in zip(arguments.sizes, whole.sizes, strict=True)]
        fresh = LoopArguments(whole.steps, whole.sequences, whole.starts, whole.untraced, tuple(sizes), whole.constants)
        results = [result.all for result in self._results(fresh)]
        batched: list[Variable] = vectorize_graph(results, list(zip(own, inputs, strict=True)))
        return batched

    # Derivatives

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Return for each input, for each output, whether a gradient flows in any number of steps."""
        rows = self._as_graph.connection_pattern(node)
        numbers = self._numbers
        return [[False] * len(row) if i in numbers else list(row) for i, row in enumerate(rows)]

    def influence_pattern(self, node: Apply) -> list[list[bool]]:
        """Return for each input, for each output, whether the value decides the output's."""
        return self._as_graph.influence_pattern(node)

    def undefined_derivatives(self, node: Apply) -> list[list[str | None]] | None:
        """Return why outputs jump as inputs move, by way of the draws of any number of steps."""
        return self._as_graph.undefined_derivatives(node)

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> Derivatives:
        """Return the gradients, by treadle's loop that runs backwards."""
        arguments = LoopArguments.of(self.info, inputs)
        with composing():
            own = [x.type.make_variable() for x in arguments.variables]
            results = self._results(arguments.with_variables(own))
            seeds: dict[Variable, Any] = {}
            for result, flowing in zip(results, cotangents, strict=True):
                for var, term in () if is_absent(flowing) else seeds_of(result, flowing):
                    seeds[var] = seeds[var] + term if var in seeds else term
            if not seeds:
                return [None] * len(inputs)
            gradients = gradients_of_parts(
                seeds, own, disconnected_inputs="ignore", return_disconnected="disconnected",
                null_gradients="return", add_names=False,
            )  # fmt: skip
            present = [term for term in gradients if not is_absent(term)]
            pairs = dict(zip(own, arguments.variables, strict=True))
            replaced = iter(graph_replace(present, pairs, strict=False))
            terms = arguments.with_variables(term if is_absent(term) else next(replaced) for term in gradients)
            buffers = [*self.outer_mitsot(inputs), *self.outer_sitsot(inputs)]
            starts = [
                term if is_absent(term) else _put_first(buffer, depth, term)
                for buffer, depth, term in zip(buffers, depths(self.info), terms.starts, strict=True)
            ]
        nothing = DisconnectedType()
        return [
            nothing(), *terms.sequences, *starts, *terms.untraced, *(nothing() for _ in range(self.info.n_nit_sot)),
            *terms.constants,
        ]  # fmt: skip

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Derivatives) -> Derivatives:
        """Return the directional derivatives, by treadle's loop that carries both."""
        arguments = LoopArguments.of(self.info, inputs)
        info = self.info
        with composing():
            own = [x.type.make_variable() for x in arguments.variables]
            results = [result.all for result in self._results(arguments.with_variables(own))]
            moving = [*tangents[info.outer_inputs("mit_sot")], *tangents[info.outer_inputs("sit_sot")]]
            starts = [
                t if t is None or is_absent(t) else t[:depth]  # type: ignore[index]  # a tensor
                for t, depth in zip(moving, depths(info), strict=True)
            ]
            moves = [
                *tangents[info.outer_inputs("seqs")], *starts, *tangents[info.outer_inputs("untraced")],
                *tangents[info.outer_inputs("non_seqs")],
            ]  # fmt: skip
            moved = jvp(results, own, moves)
            present = [term for term in moved if term is not None and not is_absent(term)]
            pairs = dict(zip(own, arguments.variables, strict=True))
            replaced = iter(graph_replace(present, pairs, strict=False))
        return [term if term is None or is_absent(term) else next(replaced) for term in moved]

    def __str__(self) -> str:
        return f"Scan{{{self.name}, while_loop={self.info.as_while}, inplace=none}}"

    __repr__ = __str__


def _put_first(buffer: Any, count: int, rows: Any) -> Variable:
    """Return zeros of the shape of a buffer, with the first rows set."""
    blank = zeros_like(buffer)
    placed: Variable = set_subtensor(blank[:count], rows)
    return placed


def _rules_of(mode: object) -> tuple[str, ...]:
    """Return the tags that a mode includes beside those of all its kind."""
    query = None if mode is None else get_mode(mode).provided_optimizer
    return tuple(sorted(query.include - _USUAL)) if isinstance(query, RewriteDatabaseQuery) else ()


def _check_closed(inputs: Sequence[Variable], outputs: Sequence[Variable]) -> None:
    """Refuse a graph that needs more than its inputs and constants."""
    known = set(inputs)
    for var in graph_inputs(outputs, inputs):
        if var not in known and not isinstance(var, Constant):
            shared = "the shared variable " if isinstance(var, SharedVariable) else ""
            msg = (
                f"Scan: a step needs {shared}{var} of type {var.type}, which is not among its inputs. Pass it in "
                "non_sequences."
            )
            raise MissingInputError(msg)
