"""Loops on JAX: ``lax.scan`` where the number of steps is known while tracing, ``lax.while_loop`` elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field
from typing import TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from treadle.config import dataclass
from treadle.graph import Constant, FunctionGraph, Unsupported, Variable, graph_inputs
from treadle.link.jax.errors import CarryShapeError
from treadle.link.jax.mapped_axes import carried
from treadle.link.jax.programs.staging import stage_graph
from treadle.link.jax.programs.tracing import StagedGraph, Trace
from treadle.link.jax.table import JAX, Array, Assumed, Checked, TakesAssumed
from treadle.tensor import DimShuffle, Elemwise, LoopInputs, Scan, ShapeI, Span, Subtensor, TensorNode, TensorType

Arrays: TypeAlias = tuple[jax.Array, ...]
# An input of a loop: what decides shapes is known.
Given: TypeAlias = jax.Array | np.ndarray | Assumed
# Whether values were invalid, whether what was assumed did not hold, and the carries.
State: TypeAlias = tuple[jax.Array, jax.Array, Arrays]


# Of loops over scalars, XLA makes several steps at a time faster (measured: 1.6 to 4 times): those that read and write
# up to 1,024 bytes in all of its kernels it compiles as one. Loops over
# arrays are left alone: most became slower, and take longer to compile.
_UNROLLED = 4
_SMALL = 1024
_LARGEST_NUMBER = 8

# Functions that XLA computes in the same way where an operand is a number in the code.
_ROUNDED_ALIKE = {"add", "sub", "mul", "maximum", "minimum", "switch", "lt", "le", "gt", "ge", "eq", "neq"}

# So many steps may change the shapes of carries before the others, which all keep them, run as a loop.
_MOST_AHEAD = 4


@JAX.register(Scan)
def scan(op: Scan, node: TensorNode) -> TakesAssumed:
    """Lower to a loop whose number of steps is part of the compiled code only where it decides a shape."""
    if op.has_until and op.n_stacked:
        results = ", ".join(str(out) for out in node.outputs[op.n_carries : -1])
        msg = f"its condition decides how long its results ({results}) are, and XLA has lengths known before it runs"
        raise Unsupported(msg, "carry what is needed of the results, or fix the number of steps")
    body = op.fgraph.unfreeze()
    inner = op.sorted(body.inputs)
    staged = stage_graph(body, {*inner.sequences, *inner.carries})
    deciding = tuple(1 + at for at in staged.by_value)
    flipped = sum(map(_is_reversed, op.sorted(node.inputs[1:]).sequences))
    loop = Loop(op, node, staged, 2 * flipped > op.n_sequences, _unrolled(body, inner), _numbers(op, node, body))
    if op.n_stacked:
        return TakesAssumed(loop, (0, *deciding))
    return TakesAssumed(loop, deciding, where_known=() if op.has_until else (0,))


def _is_reversed(sequence: Variable) -> bool:
    node = sequence.owner
    if node is None or not isinstance(node.op, Subtensor):
        return False
    first = node.op.entries[0]
    return isinstance(first, Span) and first.step == -1


def _numbers(op: Scan, node: TensorNode, body: FunctionGraph) -> dict[int, np.ndarray]:
    """Return the constants that are numbers, of which XLA makes better loops than of what is read in each step.

    Not those that something is divided by: it would multiply by their reciprocals.
    """
    inner, outer = op.sorted(body.inputs).constants, op.sorted(node.inputs[1:]).constants
    return {
        at: value.data
        for at, (var, value) in enumerate(zip(inner, outer, strict=True))
        if isinstance(value, Constant)
        and value.data.size == 1
        and all(
            isinstance(client.op, Elemwise) and {x.name for x in client.op.scalar_ops} <= _ROUNDED_ALIKE
            for client, _ in body.clients[var]
        )
    }


def _unrolled(body: FunctionGraph, inner: LoopInputs) -> int:
    """Return how many steps to make at a time."""
    results = [v for node in body.apply_nodes for v in node.outputs]
    if any(not isinstance(v.type, TensorType) or v.type.ndim for v in (*inner.sequences, *inner.carries, *results)):
        return 1
    if not all(isinstance(node.op, Elemwise | DimShuffle | Subtensor | ShapeI) for node in body.apply_nodes):
        return 1
    # Each output is a kernel, which reads what it depends on; a row takes its position too.
    rows = set(inner.sequences)
    touched = sum(2 + len(needed) + len(rows & needed) for needed in map(_needed, body.outputs))
    counts = [n for n in (_UNROLLED, 2) if (n * touched + 8) * _LARGEST_NUMBER <= _SMALL]
    return counts[0] if counts else 1


def _needed(out: Variable) -> set[Variable]:
    """Return the inputs that an output depends on."""
    return {x for x in graph_inputs([out]) if not isinstance(x, Constant)}


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop, as a function of its number of steps and its other inputs."""

    op: Scan
    node: TensorNode
    body: StagedGraph
    # Whether to take the rows from the last to the first. Sequences and results are reversed then: XLA drops this
    # together with the reversal that they have been, or will be, through.
    backwards: bool
    # How many steps to make at a time.
    unrolled: int
    # Constants that are written into the compiled code, by their places among those of the body.
    numbers: dict[int, np.ndarray]

    def __call__(self, steps: Given, *inputs: Given) -> Checked[tuple[Array, ...]]:
        """Return the outputs."""
        arguments = self.op.sorted(inputs)
        inner = self.op.sorted(self.body.inputs)
        body = Body(self, {c: c.data for c in self.body.constants})
        for at, (var, x) in enumerate(zip(inner.constants, arguments.constants, strict=True)):
            if isinstance(x, Assumed):
                body.values[var], body.actual[var] = x.value, x.actual
            else:
                body.values[var] = self.numbers.get(at, x)
        state = jnp.asarray(False), jnp.asarray(False), _typed(arguments.carries, inner.carries)
        if isinstance(steps, jax.Array):
            return body.counted(steps, arguments.sequences, state)
        outputs = body.repeated(int(steps.value if isinstance(steps, Assumed) else steps), arguments.sequences, state)
        assumed = ((steps.value, steps.actual),) if isinstance(steps, Assumed) else ()
        return Checked(outputs.value, outputs.failed, (*assumed, *outputs.assumptions))


@dataclass(slots=True)
class Body:
    """The body of a loop in one trace."""

    loop: Loop
    # What is the same in all steps, as in `Trace`.
    values: dict[Variable, Array]
    actual: dict[Variable, Array] = field(default_factory=dict)
    # Whether values can be invalid, and whether something is assumed that may not hold, as far as was traced.
    can_fail: bool = False
    assumes: bool = False

    def step(self, state: State, rows: Iterable[jax.Array]) -> tuple[State, Arrays, jax.Array | None]:
        """Trace one step; return the state after it, rows of the results, and whether the loop ends."""
        op, body = self.loop.op, self.loop.body
        failed, differs, carries = state
        inner = op.sorted(body.inputs)
        varying = dict(zip((*inner.sequences, *inner.carries), (*rows, *carries), strict=True))
        trace = Trace(self.values | varying, dict(self.actual))
        trace.run(body.steps)
        outputs = _typed([trace.present(v) for v in body.outputs], body.outputs)
        flags = trace.failed(), trace.differs()
        # A flag that stays as it is XLA drops.
        if flags[0] is not None:
            self.can_fail, failed = True, failed | flags[0]
        if flags[1] is not None:
            self.assumes, differs = True, differs | flags[1]
        last = op.n_carries + op.n_stacked
        until = outputs[last] if op.has_until else None
        return (failed, differs, outputs[: op.n_carries]), outputs[op.n_carries : last], until

    def kept(self, before: State, after: State) -> State:
        """Return the state after a step, whose carries must have the shapes of those before."""
        loop = self.loop
        names = loop.op.sorted(loop.body.inputs).carries
        for var, old, new in zip(names, before[2], after[2], strict=True):
            if old.shape != new.shape:
                msg = (
                    f"{loop.op}: the carry {var} changes its shape in a step from {old.shape} to {new.shape}, and XLA "
                    f"needs one{loop.node.where()}. Start with a value of the shape that steps make, or pick another "
                    "mode."
                )
                raise CarryShapeError(msg)
        return after

    def repeated(self, steps: int, sequences: Sequence[jax.Array], state: State) -> Checked[tuple[Array, ...]]:
        """Return the outputs for a number of steps that is known."""
        count = max(0, min([steps, *(len(x) for x in sequences)]))
        if self.loop.op.has_until:
            return self.counted(jnp.asarray(steps), sequences, state)
        ahead: list[Arrays] = []
        stacked: Arrays = ()
        if count == 0:
            stacked = self._empty(sequences, state)
        while len(ahead) < count:
            remaining = [x[len(ahead) : count] for x in sequences]
            if count - len(ahead) > 1:
                try:
                    state, stacked = self._scanned(count - len(ahead), remaining, state)
                    break
                except CarryShapeError:
                    if len(ahead) == _MOST_AHEAD:
                        raise
            state, rows, _ = self.step(state, [x[0] for x in remaining])
            ahead.append(rows)
        if ahead:
            first = [jnp.stack(rows) for rows in zip(*ahead, strict=True)]
            stacked = (
                tuple(jnp.concatenate(pair) for pair in zip(first, stacked, strict=True)) if stacked else tuple(first)
            )
        return self._checked(state, stacked, None if count == steps else jnp.asarray(True))

    def _scanned(self, count: int, sequences: Sequence[jax.Array], state: State) -> tuple[State, Arrays]:
        def step(before: State, rows: Arrays) -> tuple[State, Arrays]:
            after, stacked, _ = self.step(before, rows)
            return self.kept(before, after), stacked

        backwards = self.loop.backwards
        rows = _flipped(sequences, backwards)
        state = carried(lambda state: self.step(state, [x[0] for x in rows])[0], state)
        state, stacked = lax.scan(step, state, rows, length=count, reverse=backwards, unroll=self.loop.unrolled)
        return state, _flipped(stacked, backwards)

    def _empty(self, sequences: Sequence[jax.Array], state: State) -> Arrays:
        """Return the results of no steps; lengths that depend on what a step computes are 0."""
        op = self.loop.op
        rows = [jnp.zeros(x.shape[1:], x.dtype) for x in sequences]
        shapes = jax.eval_shape(lambda *rows: self.step(state, rows)[1], *rows) if op.n_stacked else ()
        return tuple(
            jnp.zeros((0, *(0 if at is None else n for n, at in zip(row.shape, places, strict=True))), row.dtype)
            for row, places in zip(shapes, op.row_lengths.places, strict=True)
        )

    def counted(self, steps: jax.Array, sequences: Sequence[jax.Array], state: State) -> Checked[tuple[Array, ...]]:
        """Return the outputs for a number of steps that is a value; there are no stacked results."""
        shortest = min((len(x) for x in sequences), default=None)
        if shortest == 0:
            # There is no row to trace a step with.
            return self._checked(state, (jnp.zeros((), "int64"),) if self.loop.op.has_until else (), steps != 0)
        limit = steps if shortest is None else jnp.minimum(steps, shortest)

        def goes_on(loop: tuple[jax.Array, jax.Array, State]) -> jax.Array:
            at, ended, (failed, differs, _) = loop
            return (at < limit) & ~(ended | failed | differs)

        def step(loop: tuple[jax.Array, jax.Array, State]) -> tuple[jax.Array, jax.Array, State]:
            at, ended, before = loop
            after, _, until = self.step(before, [lax.dynamic_index_in_dim(x, at, keepdims=False) for x in sequences])
            return at + 1, ended if until is None else until, self.kept(before, after)

        start = carried(step, (jnp.zeros((), "int64"), jnp.asarray(False), state))
        made_steps, _, state = lax.while_loop(goes_on, step, start)
        return self._checked(state, (made_steps,) if self.loop.op.has_until else (), (steps < 0) | (steps != limit))

    def _checked(self, state: State, further: Arrays, wrong: jax.Array | None) -> Checked[tuple[Array, ...]]:
        """Return the outputs with the flags; `wrong` says whether the number of steps is."""
        failed, differs, carries = state
        flags = [flag for flag in (wrong, failed if self.can_fail else None) if flag is not None]
        assumed = ((np.asarray(False), differs),) if self.assumes else ()
        return Checked((*carries, *further), jnp.stack(flags).any() if flags else None, assumed)


def _typed(values: Iterable[Array], variables: Iterable[Variable]) -> Arrays:
    """Return values as arrays of exactly the dtypes of their types."""
    return tuple(
        jnp.asarray(x, dtype=v.type.numpy_dtype)  # type: ignore[attr-defined]  # a tensor
        for x, v in zip(values, variables, strict=True)
    )


def _flipped(arrays: Iterable[jax.Array], backwards: bool) -> Arrays:
    return tuple(lax.rev(x, (0,)) if backwards else x for x in arrays)
