"""Scan: a loop as one op, whose body is a graph of its own.

A step takes a row of each sequence, the carries of the step before and what stays the same, and makes new carries and a
row of each stacked result. All loops are this one: sequences and results with taps, loops that end on a condition,
derivatives of loops (see `treadle.tensor.loops.derivatives`).
"""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar

import numpy as np

from treadle.config import text_of
from treadle.graph import (
    Apply,
    Constant,
    FrozenFunctionGraph,
    FunctionGraph,
    GraphTypeError,
    GraphValueError,
    NodeError,
    Op,
    Variable,
    as_count,
    compile_inner,
    graph_replace,
    io_connection_pattern,
    toposort,
)
from treadle.tensor.control.assertion import CheckAndRaise
from treadle.tensor.elementwise.cast import cast, switch
from treadle.tensor.elementwise.comparison import gt
from treadle.tensor.elementwise.elemwise import Elemwise
from treadle.tensor.embedding.frozen_inner import HasFrozenGraph
from treadle.tensor.errors import ShapeError
from treadle.tensor.loops.batches import vectorized
from treadle.tensor.loops.derivatives import pulled_back, pushed_forward
from treadle.tensor.loops.draws import influences, over_steps, reasons
from treadle.tensor.loops.parts import LoopParts
from treadle.tensor.ops.known_values import known_value
from treadle.tensor.shape_inference.symbolic_shapes import SymbolicShapes
from treadle.tensor.shapes.broadcasting import Alloc
from treadle.tensor.shapes.shape import LENGTH, ShapeI, lengths
from treadle.tensor.types.conversion import as_tensor_variable, constant
from treadle.tensor.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from treadle.graph import Cell, SymbolicShape, Type, Value
    from treadle.tensor.ops.tensor_op import Derivatives, Variables
    from treadle.tensor.shape_inference.symbolic_shapes import Length
    from treadle.tensor.variables.variable import TensorNode, TensorVariable

__all__ = ["ENDLESS", "LoopInputs", "RowLengths", "Scan"]

T = TypeVar("T")
STEPS = TensorType(LENGTH, ())
# How often the lengths in a length are replaced by what they are computed from: they may be nested.
MOST_ROUNDS = 8
# The number of steps of a loop that only its condition ends.
ENDLESS = int(np.iinfo(LENGTH).max)
_DERIVED = (
    *("_fn", "_pattern", "_row_lengths", "_carry_lengths", "_depends", "_settled", "_kept_shapes", "_influences"),
    "_reasons",
)


class LoopInputs(NamedTuple):
    """The inputs of a loop, or of its body, by what they are.

    Attributes
    ----------
    sequences
        What a step takes one row of; in the body, the rows.
    carries
        What a step takes from the one before; outside, what the first takes.
    constants
        What is the same in all steps.
    """

    sequences: list[Any]
    carries: list[Any]
    constants: list[Any]


class RowLengths(NamedTuple):
    """How long the rows of stacked results are, or carries after a step, where their types do not say it.

    Attributes
    ----------
    fgraph
        From the inputs of the body to lengths, int64 scalars. Of rows of sequences it needs their shapes only, so that
        it may be evaluated for a loop of no steps, on any row of the shape.
    places
        For each stacked result or carry, for each dimension of its rows: the length where it is known, None where it
        depends on what a step computes, or the position among the graph's outputs as a tuple of one number.
    """

    fgraph: FrozenFunctionGraph
    places: tuple[tuple[int | tuple[int] | None, ...], ...]


class Scan(Op, HasFrozenGraph):
    """A loop.

    The inputs of a node are the number of steps, an int64 scalar; the sequences, of which step i takes row i; the first
    values of the carries; the constants. Its outputs are the last values of the carries, the stacked results, and of a
    loop with a condition the number of steps it made, an int64 scalar. Sequences may be longer than the loop.

    The inputs of the body are rows of the sequences, carries and constants, in this order; its outputs new carries, of
    the types of those it takes, a row of each stacked result, and with a condition whether the loop ends after this
    step, a bool scalar. The rows of one result have one shape in all steps. A loop of no steps returns the first values
    of its carries, and results of length 0.

    Parameters
    ----------
    fgraph
        The body.
    n_sequences, n_carries, n_stacked
        Numbers of sequences, carries and stacked results.
    has_until
        Whether the last output of the body is a condition.
    truncate_gradient
        Of how many steps, the last ones, the gradient is taken; -1 for all.
    recomputes
        Whether the gradient computes again what a step computed from its inputs, in place of keeping all of it: the
        carries of every step are all that is kept then.
    name
        Shown when printed and in errors; loops that differ in it alone are equal.
    """

    _output_type_depends_on_input_value = True
    __props__: ClassVar[tuple[str, ...] | None] = (
        "fgraph",
        "n_sequences",
        "n_carries",
        "n_stacked",
        "has_until",
        "truncate_gradient",
        "recomputes",
    )

    def __init__(
        self,
        fgraph: FrozenFunctionGraph,
        n_sequences: int,
        n_carries: int,
        n_stacked: int,
        has_until: bool = False,
        truncate_gradient: int = -1,
        recomputes: bool = False,
        name: str | None = None,
    ) -> None:
        body: object = fgraph
        if not isinstance(body, FrozenFunctionGraph):
            msg = f"Scan: the body must be a FrozenFunctionGraph, got {text_of(fgraph)}. Freeze a graph."
            raise GraphTypeError(msg)
        n_sequences, n_carries, n_stacked = (
            as_count(f"Scan: {what}", n)
            for what, n in (("n_sequences", n_sequences), ("n_carries", n_carries), ("n_stacked", n_stacked))
        )
        self._graph = fgraph
        self.n_sequences = n_sequences
        self.n_carries = n_carries
        self.n_stacked = n_stacked
        self.has_until = has_until
        self.truncate_gradient = truncate_gradient
        self.recomputes = recomputes
        self.name = name
        expected = n_carries + n_stacked + has_until
        if len(fgraph.outputs) != expected or len(fgraph.inputs) < n_sequences + n_carries:
            msg = (
                f"Scan: the body has {len(fgraph.inputs)} inputs and {len(fgraph.outputs)} outputs, for {n_sequences} "
                f"sequences, {n_carries} carries and {n_stacked} stacked results"
                f"{' and a condition' if has_until else ''}. Give it one for each."
            )
            raise GraphValueError(msg)
        for carry, new in zip(fgraph.inputs[n_sequences:], fgraph.outputs[:n_carries], strict=False):
            if not carry.type.is_super(new.type):
                msg = (
                    f"{self}: the carry {carry} of type {carry.type} becomes {new} of type {new.type} in a step. "
                    "Convert it to the type that it starts with."
                )
                raise GraphTypeError(msg)

    @property
    def may_not_end(self) -> bool:
        """Whether values decide if the loop ends: rule checks do not run such a loop on samples."""
        return self.has_until

    # The body

    @property
    def inner(self) -> LoopInputs:
        """Inputs of the body, by what they are."""
        return self.sorted(self.fgraph.inputs)

    @property
    def new_carries(self) -> list[Variable]:
        """The carries that a step makes."""
        return self.inner_outputs[: self.n_carries]

    @property
    def rows(self) -> list[Variable]:
        """The rows of stacked results that a step makes."""
        return self.inner_outputs[self.n_carries : self.n_carries + self.n_stacked]

    @property
    def until(self) -> Variable | None:
        """Whether the loop ends after a step, as the body computes it, or None."""
        return self.fgraph.outputs[-1] if self.has_until else None

    def sorted(self, inputs: Sequence[T]) -> LoopInputs:
        """Return the inputs of the body, or those of a node without its number of steps, by what they are."""
        variables, first = list(inputs), self.n_sequences
        last = first + self.n_carries
        return LoopInputs(variables[:first], variables[first:last], variables[last:])

    def with_inner_graph(self, fgraph: FunctionGraph) -> Scan:
        """Return the op with another body that computes the same."""
        frozen = FrozenFunctionGraph(fgraph.inputs, fgraph.outputs)
        return Scan(
            frozen, self.n_sequences, self.n_carries, self.n_stacked, self.has_until, self.truncate_gradient,
            self.recomputes, self.name,
        )  # fmt: skip

    def __getstate__(self) -> dict[str, object]:
        """Leave out what is derived."""
        return {k: v for k, v in super().__getstate__().items() if k not in _DERIVED}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)

    # The node

    def make_node(self, *inputs: object) -> Apply:
        """Return the node.

        Raises
        ------
        GraphValueError
            If the number of inputs is wrong.
        GraphTypeError
            If one has not the type that the body takes, or the number of steps is not an integer scalar.
        ShapeError
            If a sequence is a scalar.
        """
        inner = self.fgraph.inputs
        if len(inputs) != 1 + len(inner):
            msg = f"{self}: {1 + len(inner)} inputs are needed, the number of steps first, got {len(inputs)}."
            raise GraphValueError(msg)
        steps = self._number(inputs[0])
        sequences = [self._sequence(row, x) for row, x in zip(self.inner.sequences, inputs[1:], strict=False)]
        others = [
            kind.type.filter_variable(x)
            for kind, x in zip(inner[self.n_sequences :], inputs[1 + self.n_sequences :], strict=True)
        ]
        count = known_value(steps) if not self.has_until else None
        if count is not None and count < 0:
            msg = f"{self}: the number of steps must not be negative, got {count}. Pass 0 or more."
            raise GraphValueError(msg)
        kinds: list[Type] = [x.type for x in self.inner.carries]
        kinds += [TensorType(row.type.dtype, (count, *row.type.shape)) for row in self.rows]  # type: ignore[attr-defined]  # tensors
        if self.has_until:
            kinds.append(STEPS)
        return Apply(self, [steps, *sequences, *others], [kind.make_variable() for kind in kinds])

    def _number(self, count: object) -> TensorVariable:
        steps = as_tensor_variable(count)  # type: ignore[arg-type]  # refuses anything else
        if steps.ndim or steps.type.numpy_dtype.kind not in "iu":
            msg = f"{self}: the number of steps must be an integer scalar, got {steps} of type {steps.type}."
            raise GraphTypeError(msg)
        return cast(steps, LENGTH)

    def _sequence(self, row: Variable, value: object) -> TensorVariable:
        x = as_tensor_variable(value)  # type: ignore[arg-type]  # refuses anything else
        if x.ndim == 0:
            msg = f"{self}: a sequence needs a dimension to take rows of, got {x} of type {x.type}. Pass a vector."
            raise ShapeError(msg)
        kind: Any = row.type
        try:
            # Rows whose lengths are not all known are checked when the loop runs, as other inputs are.
            checked: Any = TensorType(kind.dtype, (x.type.shape[0], *kind.shape)).filter_variable(x)
        except TypeError as error:
            msg = (
                f"{self}: the sequence {x} of type {x.type} has other rows than {row} of type {row.type}, which the "
                "body takes. Convert it."
            )
            raise GraphTypeError(msg) from error
        return checked  # type: ignore[no-any-return]  # a tensor

    def perform(self, node: Apply, inputs: Sequence[Value], output_storage: Sequence[Cell]) -> None:
        """Run the body once for each step."""
        count, arguments = int(inputs[0]), self.sorted(inputs[1:])
        self.check_lengths(count, arguments.sequences)
        fn, first, last = self.fn, self.n_carries, self.n_carries + self.n_stacked
        carries = arguments.carries
        stacked: list[list[Any]] = [[] for _ in range(self.n_stacked)]
        done = 0
        while done < count:
            try:
                outputs = fn(*[x[done, ...] for x in arguments.sequences], *carries, *arguments.constants)
            except NodeError as error:
                raise self.in_step(error, node, done) from error
            carries = list(outputs[:first])
            for rows, row in zip(stacked, outputs[first:last], strict=True):
                if rows and rows[0].shape != row.shape:
                    msg = f"a result has a row of shape {row.shape} in step {done}, and of {rows[0].shape} in step 0"
                    raise ValueError(msg)
                rows.append(np.array(row, copy=True))
            done += 1
            if self.has_until and outputs[-1]:
                break
        last_values = [
            x.type.copy_value(value) if any(value is y for y in arguments.carries) else value
            for x, value in zip(self.inner.carries, carries, strict=True)
        ]
        arrays = [np.stack(rows) for rows in stacked] if done else self.empty_results(arguments)
        results = [*last_values, *arrays, *([np.asarray(done, LENGTH)] if self.has_until else [])]
        for cell, value in zip(output_storage, results, strict=True):
            cell[0] = value

    def check_lengths(self, count: int, sequences: Sequence[np.ndarray]) -> None:
        """Refuse a number of steps that is negative, or larger than a sequence is long."""
        if count < 0:
            msg = f"the number of steps must not be negative, got {count}"
            raise ValueError(msg)
        for i, x in enumerate(sequences):
            if len(x) < count:
                msg = f"sequence {i} has length {len(x)}, and the loop {count} steps"
                raise ValueError(msg)

    def empty_results(self, arguments: LoopInputs) -> list[np.ndarray]:
        """Return the stacked results of a loop of no steps; lengths that depend on what steps compute are 0."""
        lengths = self.row_lengths
        known: Sequence[Any] = ()
        if lengths.fgraph.outputs:
            rows = [np.zeros(x.shape[1:], x.dtype) for x in arguments.sequences]
            known = compile_inner(lengths.fgraph.unfreeze())(*rows, *arguments.carries, *arguments.constants)
        results = []
        for row, places in zip(self.rows, lengths.places, strict=True):
            shape = [int(known[at[0]]) if isinstance(at, tuple) else at or 0 for at in places]
            results.append(np.empty((0, *shape), row.type.numpy_dtype))  # type: ignore[attr-defined]  # a tensor
        return results

    def in_step(self, error: NodeError, node: Apply, step: int) -> NodeError:
        """Return the error of a node of the body with the step and the loop that it happened in."""
        where = f" In step {step} of the loop {self}{node.where()}."
        located = copy(error)
        located.retold(f"{error}{where}")
        located.report = error.report._replace(text=f"{error.report.text}{where}") if error.report else None
        return located

    # Shapes

    @property
    def row_lengths(self) -> RowLengths:
        """How long rows of stacked results are, where their types do not say it; found once and kept."""
        return self.kept("_row_lengths", self._find_row_lengths)

    def _find_row_lengths(self) -> RowLengths:
        body = self.fgraph.unfreeze()
        shapes = SymbolicShapes()
        body.attach_feature(shapes)
        rows = body.outputs[self.n_carries : self.n_carries + self.n_stacked]
        return self._lengths_of([(row, shapes.of(row)) for row in rows], body, shapes)

    def _lengths_of(
        self, rows: Sequence[tuple[Any, Sequence[Length | None]]], body: FunctionGraph, shapes: SymbolicShapes
    ) -> RowLengths:
        """Return lengths of variables of a body, as far as they follow from what is known before the first step."""
        inputs = LoopInputs(*self.sorted(body.inputs))
        outputs: list[Variable] = []
        places: list[tuple[int | tuple[int] | None, ...]] = []
        for row, lengths_of_row in rows:
            own_places: list[int | tuple[int] | None] = []
            for n, length in zip(row.type.shape, lengths_of_row, strict=True):
                scalar: Variable | None = None if n is not None or length is None else shapes.variable(length, body)
                if scalar is not None:
                    scalar = _in_terms_of(scalar, {*body.inputs}, body, shapes)
                if scalar is not None and _is_known_before(scalar, inputs):
                    own_places.append((len(outputs),))
                    outputs.append(scalar)
                else:
                    own_places.append(n)
            places.append(tuple(own_places))
        return RowLengths(FrozenFunctionGraph(body.inputs, outputs), tuple(places))

    @property
    def carry_lengths(self) -> RowLengths:
        """How long carries are after a step, where a second one leaves them so; found once and kept."""
        return self.kept("_carry_lengths", self._find_carry_lengths)

    def _find_carry_lengths(self) -> RowLengths:
        once = self.fgraph.unfreeze()
        carries, new = self.sorted(once.inputs).carries, once.outputs[: self.n_carries]
        twice: list[Variable] = list(graph_replace(new, dict(zip(carries, new, strict=True)), strict=False))
        body = FunctionGraph(once.inputs, [*new, *twice], clone=False)
        shapes = SymbolicShapes()
        body.attach_feature(shapes)
        rows: list[tuple[Any, Sequence[Length | None]]] = []
        for first, second in zip(new, twice, strict=True):
            if isinstance(first.type, TensorType):
                pairs = zip(shapes.of(first), shapes.of(second), strict=True)
                rows.append((first, [a if a == b else None for a, b in pairs]))
        return self._lengths_of(rows, body, shapes)

    def infer_shape(self, node: Apply, shapes: Sequence[SymbolicShape | None]) -> Sequence[SymbolicShape | None]:
        """Return the shapes of what the loop starts with, and lengths of rows that follow from shapes."""
        fixed = self.keeps_shapes()
        count = node.outputs[-1] if self.has_until else node.inputs[0]
        result: list[SymbolicShape | None] = []
        for i, out in enumerate(node.outputs[: self.n_carries]):
            start = shapes[1 + self.n_sequences + i]
            own = start if i in fixed or start is None else self._lengths_after(node, i, start)
            result.append(own if own is not None else _own_lengths(out))
        for out, shape in zip(node.outputs[self.n_carries :], self.lengths_of_rows(node), strict=False):
            result.append((count, *(ShapeI(d)(out) if n is None else n for d, n in enumerate(shape, 1))))
        return [*result, ()] if self.has_until else result

    def _lengths_after(self, node: Apply, i: int, start: SymbolicShape) -> SymbolicShape | None:
        """Return the lengths of a carry after any number of steps; None if steps go on changing them."""
        at = sum(isinstance(x.type, TensorType) for x in self.inner.carries[:i])
        after = self._bound(self.carry_lengths, node)[at]
        if None in after:
            return None
        steps: Any = node.inputs[0]
        if isinstance(steps, Constant):
            return tuple(after) if int(steps.data) > 0 else start
        some = gt(steps, 0)
        return tuple(switch(some, n, before) for n, before in zip(after, start, strict=True))

    def lengths_of_rows(self, node: Apply) -> list[list[Any]]:
        """Return the lengths of the rows of each stacked result, None where they depend on what steps compute."""
        return self._bound(self.row_lengths, node)

    def _bound(self, known: RowLengths, node: Apply) -> list[list[Any]]:
        """Return lengths for the inputs of a node."""
        inputs = self.sorted(node.inputs[1:])
        # There may be no row: one that is never read takes its place.
        rows = [Alloc()(constant(0, dtype=x.type.dtype), *lengths(x)[1:]) for x in inputs.sequences]
        bound = known.fgraph.bind([*rows, *inputs.carries, *inputs.constants])
        return [[bound[at[0]] if isinstance(at, tuple) else at for at in places] for places in known.places]

    def keeps_shapes(self) -> frozenset[int]:
        """Return which carries are certain to keep the shape they start with; found once and kept."""
        return self.kept("_kept_shapes", self._find_kept_shapes)

    def _find_kept_shapes(self) -> frozenset[int]:
        body = self.fgraph.unfreeze()
        shapes = SymbolicShapes()
        body.attach_feature(shapes)
        carries = self.sorted(body.inputs).carries
        return frozenset(
            i
            for i, (old, new) in enumerate(zip(carries, body.outputs, strict=False))
            if isinstance(old.type, TensorType) and shapes.of(old) == shapes.of(new)
        )

    # Batches and derivatives

    def vectorize_node(self, node: TensorNode, *inputs: TensorVariable) -> list[Variable]:
        """Return the loop over batches."""
        return vectorized(self, node, inputs)

    def reach(self) -> list[list[bool]]:
        """Return for each input of the body, for each of its outputs, whether a gradient flows in one step."""
        return self.kept("_pattern", lambda: io_connection_pattern(self.fgraph.inputs, self.fgraph.outputs))

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Return for each input, for each output, whether a gradient flows in any number of steps."""
        rows = over_steps(self, self.reach())
        for row in rows:
            if self.has_until:
                row[-1] = False
        return [[False] * len(node.outputs), *rows]

    def influence_pattern(self, node: Apply) -> list[list[bool]]:
        """Return for each input, for each output, whether the value decides the output's in any number of steps."""
        return [[True] * len(node.outputs), *influences(self)]

    def undefined_derivatives(self, node: Apply) -> list[list[str | None]] | None:
        """Return why outputs jump as inputs move, by way of the draws of any number of steps."""
        rows = reasons(self, self.connection_pattern(node)[1:])
        return None if rows is None else [[None] * len(node.outputs), *rows]

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> Derivatives:
        """Return the gradients, by a loop that runs backwards."""
        return pulled_back(self, inputs, outputs, cotangents)

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Derivatives) -> Derivatives:
        """Return the directional derivatives, by a loop that carries both."""
        return pushed_forward(self, inputs, tangents)

    def __str__(self) -> str:
        return f"{'While' if self.has_until else 'Scan'}{{{text_of(self.name, str) if self.name else 'loop'}}}"

    __repr__ = __str__


def _own_lengths(out: Variable) -> SymbolicShape | None:
    kind = out.type
    if not isinstance(kind, TensorType):
        return None
    return tuple(ShapeI(d)(out) if n is None else n for d, n in enumerate(kind.shape))


def _in_terms_of(
    scalar: Variable, inputs: Collection[Variable], body: FunctionGraph, shapes: SymbolicShapes
) -> Variable:
    """Return a length in terms of those of the inputs of a body, as far as it can be written so."""
    for _ in range(MOST_ROUNDS):
        pairs: dict[Variable, Variable] = {}
        for node in toposort([scalar], inputs):
            if isinstance(node.op, ShapeI) and node.inputs[0] not in inputs:
                length = shapes.variable(shapes.of(node.inputs[0])[node.op.axis], body)
                if length is not None and length is not node.outputs[0]:
                    pairs[node.outputs[0]] = length
        if not pairs:
            break
        (scalar,) = graph_replace([scalar], pairs, strict=False)
    return scalar


def _is_known_before(scalar: Variable, inputs: LoopInputs) -> bool:
    """Whether a scalar follows from shapes, and from values that are known before the first step."""
    available = {*inputs.sequences, *inputs.carries, *inputs.constants}
    needs_value = set()
    for node in toposort([scalar], available):
        if isinstance(node.op, ShapeI):
            if node.inputs[0] not in available:
                return False
        elif isinstance(node.op, Elemwise | CheckAndRaise):  # lengths that are given are checked
            needs_value.update(node.inputs)
        else:
            return False
    return not needs_value.intersection(inputs.sequences) and scalar not in available.intersection(inputs.sequences)


LoopParts.loop_type = Scan
