"""Derivatives of whole ops under JAX's transformations: those of treadle's pullbacks and pushforwards.

JAX would differentiate the functions and simpler ops that they are lowered to: by way of inverses that do not exist,
through loops and choices.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.custom_derivatives import SymbolicZero

import treadle.tensor as tt
from treadle.config import text_of
from treadle.graph import (
    Apply,
    Constant,
    FunctionGraph,
    IfElse,
    NodeTypeError,
    NodeValueError,
    Op,
    Value,
    Variable,
    graph_replace,
)
from treadle.link.jax.casting import convert
from treadle.link.jax.external_op import JAXOp
from treadle.link.jax.jacobian_products import Arrays, Linear, Product
from treadle.link.jax.linker import JAXLinker
from treadle.link.jax.open_lengths import as_traced, is_open
from treadle.link.jax.programs.staging import stage_graph
from treadle.link.jax.scalars import DERIVATIVES
from treadle.link.jax.table import JAX, Array, Assumed, TakesAssumed
from treadle.tensor import Elemwise, Scan, TensorType

# The steps of elementwise functions have derivatives of their own; that of a loop, a choice and a function of JAX's is
# that of what is inside; checks pass on their inputs.
_DIFFERENTIATED_INSIDE = (Elemwise, Scan, IfElse, JAXOp, tt.CheckAndRaise)


class TracedGraph:
    """A graph as a function of JAX arrays, computed or traced in 64-bit mode.

    Parameters
    ----------
    graph
        The graph.
    differentiated
        Whether JAX may differentiate it, and is told treadle's derivatives.
    """

    def __init__(self, graph: FunctionGraph, *, differentiated: bool = True) -> None:
        self._differentiated = differentiated
        with self._told():
            self._staged = stage_graph(_Linker().with_states(graph))
        self._constants = tuple(c.data for c in self._staged.arguments)
        self.inputs: Sequence[Variable] = self._staged.inputs
        self.by_value = frozenset(self._staged.by_value)

    def __call__(self, *args: Value) -> Arrays:
        """Return the outputs."""
        with jax.enable_x64(True), self._told():
            values = {self.inputs[i]: _value(self.inputs[i], args[i]) for i in self.by_value}
            taken = [_taken(var, x) for var, x in zip(self.inputs, args, strict=True)]
            return self._staged.traceable(values, [])(*taken, *map(jnp.asarray, self._constants))[0]

    @contextmanager
    def _told(self) -> Iterator[None]:
        before = DERIVATIVES.set(_with_derivative if self._differentiated else None)
        try:
            yield
        finally:
            DERIVATIVES.reset(before)


class _Linker(JAXLinker):
    """Leaves ops whole whose derivatives JAX is told."""

    def lowers(self, node: Apply) -> bool:
        """Whether there is a rule for a node, or one is made that holds its derivative."""
        return (DERIVATIVES.get() is not None and _is_told(node)) or super().lowers(node)


def _is_told(node: Apply) -> bool:
    """Whether JAX is told the derivative of a node as a whole.

    It is not told where the op has none but that of what it decomposes into, and JAX gets that; nor where JAX has to be
    right: of ops that are linear in one operand, or in each.
    """
    op: Any = node.op
    if isinstance(op, _DIFFERENTIATED_INSIDE) or getattr(op, "linear", None) is not None:
        return False
    if isinstance(op, tt.OpFromGraph) and not op.has_own_derivatives:
        return False
    if type(op).pullback is Op.pullback and (type(op).decompose is Op.decompose or JAX.find(op) is None):
        return False
    if not all(isinstance(v.type, TensorType) for v in (*node.inputs, *node.outputs)):
        return False
    return any(map(_is_smooth, node.inputs)) and any(map(_is_smooth, node.outputs))


def _with_derivative(node: Apply) -> TakesAssumed | None:
    """Lower a node to a function of JAX arrays that has treadle's derivative; None where JAX is told none."""
    if not _is_told(node):
        return None
    function = _WithDerivative(node)
    return TakesAssumed(function, static=function.static)


class _WithDerivative:
    """An op as a function of JAX arrays with treadle's derivative."""

    def __init__(self, node: Apply) -> None:
        inputs = [x if isinstance(x, Constant) else x.type.make_variable() for x in node.inputs]
        self._node = node.clone_with_new_inputs(inputs)
        self._at = [at for at, x in enumerate(inputs) if not isinstance(x, Constant)]
        self._inputs = [inputs[at] for at in self._at]
        # Stand for the outputs in derivatives, which take them from the call.
        self._results = [v.type.make_variable() for v in self._node.outputs]
        self._smooth = [at for at, v in enumerate(self._results) if _is_smooth(v)]
        self._function = TracedGraph(FunctionGraph(self._inputs, self._node.outputs), differentiated=False)
        self._forward = cache(self._pushforward)
        self._backward = cache(self._pullback)
        self.static = tuple(self._at[i] for i in self._function.by_value)

    def __call__(self, *values: Array | Assumed) -> Arrays:
        """Return the outputs."""
        given = [values[at] for at in self._at]
        known = {i: x.value if isinstance(x, Assumed) else np.asarray(x) for i, x in enumerate(given) if self._takes(i)}
        places = [i for i in range(len(given)) if i not in known]
        run = jax.custom_jvp(lambda *free: self._function(*_merged(known, places, free)))

        @partial(run.defjvp, symbolic_zeros=True)
        def push(free: Arrays, tangents: Sequence[jax.Array | SymbolicZero]) -> tuple[Arrays, tuple[Any, ...]]:
            results = run(*free)
            moving = {
                i: tangent
                for i, tangent in zip(places, tangents, strict=True)
                if _is_smooth(self._inputs[i]) and not isinstance(tangent, SymbolicZero)
            }
            moved: list[jax.Array | SymbolicZero] = [SymbolicZero(jax.typeof(y).to_tangent_aval()) for y in results]
            if moving:
                product = self._product(known, places, tuple(moving))
                kinds = [jax.typeof(results[at]) for at in self._smooth]
                derived = product.applied([*free, *results], list(moving.values()), kinds)
                for at, tangent in zip(self._smooth, derived, strict=True):
                    moved[at] = tangent
            return results, tuple(moved)

        outputs: Arrays = run(*[given[i] for i in places])
        return outputs

    def _takes(self, i: int) -> bool:
        """Whether the function takes the value of an input, which decides a shape."""
        return i in self._function.by_value

    def _product(self, known: Mapping[int, np.ndarray], places: Sequence[int], moving: tuple[int, ...]) -> Product:
        """Return the derivative by some of the inputs."""

        def operands(fixed: Arrays) -> list[Array]:
            count = len(places)
            return [*_merged(known, places, fixed[:count]), *fixed[count:]]

        def forward(fixed: Arrays, tangents: Linear) -> Arrays:
            return self._forward(moving)(*operands(fixed), *tangents)

        def backward(fixed: Arrays, cotangents: Linear) -> Arrays:
            given = {at: c for at, c in zip(self._smooth, cotangents, strict=True) if c is not None}
            # A gradient is d/da + i d/db here, and its conjugate in JAX.
            gradients = self._backward(moving, tuple(given))(*operands(fixed), *map(jnp.conj, given.values()))
            return tuple(map(jnp.conj, gradients))

        return Product(forward, backward)

    def _pushforward(self, moving: tuple[int, ...]) -> TracedGraph:
        """Return how the outputs move, as a function of inputs, outputs, and tangents of inputs."""
        wrt = [self._inputs[i] for i in moving]
        tangents = [x.type.make_variable() for x in wrt]
        outputs = [self._node.outputs[at] for at in self._smooth]
        return self._derivative(tt.pushforward(outputs, wrt, tangents, disconnected_outputs="ignore"), tangents)

    def _pullback(self, moving: tuple[int, ...], present: tuple[int, ...]) -> TracedGraph:
        """Return gradients, as a function of inputs, outputs, and cotangents of the outputs that are present."""
        outputs = [self._node.outputs[at] for at in present]
        cotangents = [v.type.make_variable() for v in outputs]
        wrt = [self._inputs[i] for i in moving]
        return self._derivative(tt.pullback(outputs, wrt, cotangents, disconnected_inputs="ignore"), cotangents)

    def _derivative(self, derivatives: Sequence[Variable], further: Sequence[Variable]) -> TracedGraph:
        pairs = dict(zip(self._node.outputs, self._results, strict=True))
        graph = FunctionGraph(
            [*self._inputs, *self._results, *further], graph_replace(list(derivatives), pairs, strict=False)
        )
        return TracedGraph(graph)


def _is_smooth(var: Variable) -> bool:
    """Whether a tensor has a derivative."""
    return var.type.numpy_dtype.kind in "fc"  # type: ignore[attr-defined]  # a tensor


def _merged(known: Mapping[int, np.ndarray], places: Sequence[int], free: Sequence[jax.Array]) -> list[Array]:
    """Return all values in order, of which some are known and the others stand at places."""
    every: dict[int, Array] = {**known, **dict(zip(places, free, strict=True))}
    return [every[i] for i in range(len(every))]


def _taken(var: Variable, value: Value) -> Array:
    """Return an argument as an array of the input's type."""
    kind = var.type
    if is_open(value):
        return as_traced(value)
    if not isinstance(kind, TensorType):
        return value  # type: ignore[no-any-return]  # values of other types are passed on as they are
    try:
        array = jnp.asarray(value)
    except (TypeError, ValueError) as error:
        msg = (
            f"jax_function: input {var} is of type {kind}, got {text_of(value)}, of which JAX makes no array. Pass an "
            "array; of a generator, its state."
        )
        raise NodeTypeError(msg) from error
    fits = array.ndim == kind.ndim and all(n in (None, m) for n, m in zip(kind.shape, array.shape, strict=True))
    if not fits:
        msg = f"jax_function: input {var} is of type {kind}, got an array of shape {array.shape}. Reshape it."
        raise NodeValueError(msg)
    if _rank_of(array.dtype) > _rank_of(kind.numpy_dtype):
        msg = (
            f"jax_function: input {var} is of type {kind}, got an array of {array.dtype}, of which a part would "
            "be lost. Convert it before."
        )
        raise NodeTypeError(msg)
    return convert(array, kind.dtype)


def _rank_of(dtype: np.dtype) -> int:
    """Return which kind of numbers a dtype has: each can hold those before."""
    kinds = (jnp.bool_, jnp.integer, jnp.floating, jnp.complexfloating)
    return next((at for at, kind in enumerate(kinds) if jnp.issubdtype(dtype, kind)), len(kinds))


def _value(var: Variable, value: Value) -> np.ndarray:
    """Return an argument that decides a shape, as a NumPy array."""
    if isinstance(value, jax.core.Tracer):
        msg = (
            f"jax_function: a shape depends on the value of input {var}, which is traced. Pass it as a number from "
            "outside of what JAX transforms (jax.jit: static_argnums)."
        )
        raise NodeTypeError(msg)
    if is_open(value):
        return value  # type: ignore[no-any-return]  # an array
    return np.asarray(value, var.type.dtype)  # type: ignore[attr-defined]  # a tensor
