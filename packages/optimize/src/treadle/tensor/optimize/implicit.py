"""ImplicitSolution: what ops have in common whose result solves equations, and its derivatives.

Where F(x, a) = 0 defines x as a function of a, a cotangent v of x flows back to a as -w dF/da with w dF/dx = v, and a
tangent da moves x by -(dF/dx)^-1 dF/da da (Griewank and Walther, Evaluating Derivatives, 2008, chapter 15).
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from treadle.graph import (
    Apply,
    Constant,
    DisconnectedType,
    FrozenFunctionGraph,
    NullType,
    Op,
    Variable,
    graph_replace,
    io_connection_pattern,
    truncated_graph_inputs,
)
from treadle.tensor.batches.batching import batch_lengths, spread
from treadle.tensor.control.gradient_control import disconnected_grad
from treadle.tensor.differentiation.jacobians import jacobian
from treadle.tensor.elementwise.arithmetic import abs_, maximum, neg, true_div
from treadle.tensor.elementwise.cast import cast, switch
from treadle.tensor.elementwise.comparison import isfinite
from treadle.tensor.embedding.frozen_inner import HasFrozenGraph
from treadle.tensor.gradients.derivatives import pullback
from treadle.tensor.gradients.forward_mode import jvp
from treadle.tensor.indexing.ranges import eye
from treadle.tensor.joins.joining import join
from treadle.tensor.linalg.linear_systems import solve
from treadle.tensor.loops.plain import scan_with_carry
from treadle.tensor.reductions.reduction import all_, max_
from treadle.tensor.shapes.batch_dims import most_batch
from treadle.tensor.shapes.dimshuffle import transpose
from treadle.tensor.shapes.shape import lengths, reshape
from treadle.tensor.types.conversion import tensors
from treadle.tensor.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import FunctionGraph, SymbolicShape
    from treadle.tensor.variables.variable import TensorNode, TensorVariable

_SUCCESS = TensorType("bool", ())


class ImplicitSolution(Op, HasFrozenGraph):
    """A root, minimum or fixed point of an expression of x, near a start; and whether it was found.

    Inputs: the start, then what else the expression depends on. Outputs: the solution, of the start's type, and
    success, a bool scalar. No gradient flows to the start.

    Where nothing was found, derivatives are those of the point where the search ended, with a small multiple of the
    unit matrix added to dF/dx, so that they are finite; they are 0 if that point is not finite.

    Parameters
    ----------
    fgraph
        Inputs are those of the op; the first output is the expression.
    """

    __props__: ClassVar[tuple[str, ...] | None] = ("fgraph",)

    def __init__(self, fgraph: FrozenFunctionGraph) -> None:
        self._graph = fgraph
        # What derivatives are taken of: a rewritten graph may hold ops that have none.
        self.written = fgraph

    def with_inner_graph(self, fgraph: FunctionGraph) -> ImplicitSolution:
        """Return the op with an equivalent inner graph."""
        new = object.__new__(type(self))
        new.__dict__.update(self.__getstate__())
        new._graph = FrozenFunctionGraph(fgraph.inputs, fgraph.outputs)
        return new

    def with_inputs_inside(self, inputs: Sequence[Variable]) -> tuple[ImplicitSolution, list[Variable]] | None:
        """Return the op with the constants among its inputs in the graph, one variable for equal ones, and the inputs.

        The first, where the search starts, stays. None if there is nothing to do.
        """
        kept: dict[Variable, Variable] = {}
        pairs: dict[Variable, Variable] = {}
        for inner, outer in zip(self.written.inputs[1:], inputs[1:], strict=True):
            if isinstance(outer, Constant):
                pairs[inner] = outer
            elif outer in kept:
                pairs[inner] = kept[outer]
            else:
                kept[outer] = inner
        if not pairs:
            return None
        inside = [self.written.inputs[0], *kept.values()]
        new = object.__new__(type(self))
        new.__dict__.update(self.__getstate__())
        new._graph = new.written = FrozenFunctionGraph(
            inside, graph_replace(list(self.written.outputs), pairs, strict=False)
        )
        return new, [inputs[0], *kept]

    @abstractmethod
    def residual(self) -> TensorVariable:
        """Return what is zero at the solution, of the shape of x, in variables of the inner graph."""

    def make_node(self, *inputs: object) -> Apply:
        """Return the node."""
        inner = self.fgraph.inputs
        variables = [kind.type.filter_variable(x) for kind, x in zip(inner, inputs, strict=True)]
        return Apply(self, variables, [inner[0].type.make_variable(), _SUCCESS.make_variable("success")])

    def infer_shape(self, node: Apply, shapes: Sequence[SymbolicShape | None]) -> Sequence[SymbolicShape | None]:
        """Return the start's shape, and that of a scalar."""
        return [shapes[0], ()]

    def vectorize_node(self, node: TensorNode, *inputs: TensorVariable) -> list[Variable]:
        """Return the solutions for a batch, one by one."""
        pairs = list(zip(node.inputs, inputs, strict=True))
        batch, rank = batch_lengths(pairs), most_batch(pairs)
        core = lengths(inputs[0])[inputs[0].ndim - node.inputs[0].ndim :]
        moving = [new.ndim > old.ndim for old, new in pairs]
        rows = [
            reshape(spread(old, new, batch), (-1, *lengths(new)[new.ndim - old.ndim :]), ndim=1 + old.ndim)
            for (old, new), moves in zip(pairs, moving, strict=True)
            if moves
        ]

        def one(carry: None, row: list[TensorVariable]) -> tuple[None, list[Variable]]:
            remaining = iter(row)
            row_inputs = [next(remaining) if moves else x for x, moves in zip(inputs, moving, strict=True)]
            return carry, self(*row_inputs, return_list=True)

        stacked = scan_with_carry(one, None, rows)[1]
        shapes = ((*batch, *core), tuple(batch))
        return [reshape(x, to, ndim=rank + x.ndim - 1) for x, to in zip(stacked, shapes, strict=True)]

    # Derivatives

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Connect what the expression depends on to the solution."""
        rows = io_connection_pattern(self.written.inputs, self.written.outputs)
        return [[False, False], *([row[0], False] for row in rows[1:])]

    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> Sequence[Variable | None]:
        """Apply the implicit function theorem at the solution.

        Through `decompose`: the gradient of all steps of the search, which must be kept, and of the last guess rather
        than the solution.
        """
        _, *rest = self.written.inputs
        if not rest or isinstance(cotangents[0].type, DisconnectedType):
            return [DisconnectedType()() for _ in inputs]
        cotangent = tensors(cotangents)[0]
        at, is_finite = self._place(inputs, outputs)
        weight = neg(self._weight(at, tensors(outputs), switch(is_finite, cotangent, 0)))
        zero = self.residual()
        seed = zero.type.make_variable("weight")
        terms = pullback(
            zero, rest, seed, disconnected_inputs="ignore", return_disconnected="disconnected",
        )  # fmt: skip
        there = {**at, seed: weight}
        gradients = [
            term if isinstance(term.type, DisconnectedType | NullType) else graph_replace(term, there, strict=False)
            for term in terms
        ]
        return [DisconnectedType()(), *gradients]

    def pushforward(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], tangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """Apply the implicit function theorem at the solution.

        Through `decompose`: the derivative of all steps of the search, and of the last guess rather than the solution.
        """
        _, *rest = self.written.inputs
        (move,) = jvp([self.residual()], rest, tangents[1:]) if rest else (None,)
        if move is None or isinstance(move.type, DisconnectedType | NullType):
            return [move, None]
        at, is_finite = self._place(inputs, outputs)
        moved = tensors(graph_replace([move], at, strict=False))[0]
        return [neg(self._moved(at, tensors(outputs), switch(is_finite, moved, 0))), None]

    def _place(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable]
    ) -> tuple[dict[Variable, Variable], TensorVariable]:
        """Return the point of the derivatives, by inner inputs, and whether it is the solution: that it is finite."""
        solution = tensors(outputs)[0]
        is_finite = all_(isfinite(solution))
        point = switch(is_finite, solution, disconnected_grad(tensors(inputs)[0]))
        return dict(zip(self.written.inputs, [point, *inputs[1:]], strict=True)), is_finite

    def _weight(
        self, at: dict[Variable, Variable], outputs: Sequence[TensorVariable], cotangent: TensorVariable
    ) -> TensorVariable:
        """Return w with w dF/dx = the cotangent."""
        return _solved(self._slope(at), outputs, cotangent, turned=True)

    def _moved(
        self, at: dict[Variable, Variable], outputs: Sequence[TensorVariable], move: TensorVariable
    ) -> TensorVariable:
        """Return how x moves so that dF/dx times that move is the given move of F."""
        return _solved(self._slope(at), outputs, move, turned=False)

    def _slope(self, at: dict[Variable, Variable]) -> TensorVariable:
        slope = jacobian(self.residual(), self.written.inputs[0], disconnected_inputs="ignore")
        return tensors(graph_replace([slope], at, strict=False))[0]


def _solved(
    slope: TensorVariable, outputs: Sequence[TensorVariable], right_side: TensorVariable, *, turned: bool
) -> TensorVariable:
    """Solve a linear system whose matrix has the dimensions of x twice."""
    success = outputs[1]
    kind = right_side.type.numpy_dtype
    least = float(np.finfo(kind).eps) ** 0.5
    if right_side.ndim == 0:
        shift = cast(switch(success, 0.0, least * maximum(abs_(slope), 1.0)), kind.name)
        return true_div(right_side, slope + shift)
    shape = lengths(right_side)
    flat = reshape(right_side, (-1,))
    count = lengths(flat)[0]
    matrix = reshape(slope, (count, count))
    size = max_(abs_(matrix), initial=1.0)
    shift = cast(switch(success, 0.0, least * size), kind.name)
    matrix = matrix + shift * eye(count, dtype=kind.name)
    solution = solve(transpose(matrix) if turned else matrix, flat)
    return reshape(solution, shape, ndim=right_side.ndim)


def problem(
    expression: TensorVariable, x: Variable, derivatives: Sequence[Variable]
) -> tuple[FrozenFunctionGraph, list[Variable]]:
    """Return the graph of a search, and the inputs of the expression besides x."""
    outputs = [expression, *derivatives]
    rest = [var for var in truncated_graph_inputs(outputs, [x]) if var is not x and not isinstance(var, Constant)]
    plain = [var.type.make_variable(var.name) for var in (x, *rest)]
    inner = graph_replace(outputs, dict(zip((x, *rest), plain, strict=True)), strict=False)
    return FrozenFunctionGraph(plain, inner), rest


def flat(items: Sequence[TensorVariable]) -> TensorVariable:
    """Return the elements of several tensors as one vector."""
    vector: TensorVariable = join(0, *(reshape(x, (-1,)) for x in items))
    return vector


def parts(flat: TensorVariable, like: Sequence[TensorVariable]) -> list[TensorVariable]:
    """Split a vector into tensors of the shapes of `like`, one after the other."""
    tensors_ = []
    at: Any = 0
    for x in like:
        end = at + x.size
        tensors_.append(reshape(flat[at:end], lengths(x), ndim=x.ndim))
        at = end
    return tensors_
