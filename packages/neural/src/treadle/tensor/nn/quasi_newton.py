"""L-BFGS: steps of a quasi-Newton method with a line search, as updates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treadle.graph import composed, graph_replace, shared
from treadle.tensor.arguments.values import as_integer
from treadle.tensor.elementwise.arithmetic import minimum
from treadle.tensor.elementwise.cast import cast, switch
from treadle.tensor.elementwise.comparison import ge, gt, isinf, le, lt
from treadle.tensor.elementwise.logic import and_, invert
from treadle.tensor.errors import ArgumentError
from treadle.tensor.gradients.gradient import grad
from treadle.tensor.joins.joining import concatenate
from treadle.tensor.loops.plain import while_loop
from treadle.tensor.nn.optimizers import parameters
from treadle.tensor.reductions.reduction import sum_
from treadle.tensor.shapes.dimshuffle import expand_dims
from treadle.tensor.shapes.shape import lengths, reshape
from treadle.tensor.types.conversion import as_tensor_variable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.tensor.nn.optimizers import Updates
    from treadle.tensor.variables.variable import TensorLike, TensorSharedVariable, TensorVariable

__all__ = ["lbfgs"]


class _Point:
    """A cost and its gradient as functions of all parameters in one vector."""

    def __init__(self, cost: TensorVariable, params: list[TensorSharedVariable]) -> None:
        self.params = params
        self.dtype = np.result_type(*(param.dtype for param in params)).name
        self.shapes = [lengths(param) for param in params]
        self.counts = [param.size for param in params]
        self.start = self.joined(params)
        slopes = grad(cost, params, disconnected_inputs="ignore")
        self.value = cast(cost, self.dtype)
        self.slope = self.joined(slopes)

    def joined(self, parts: Sequence[TensorVariable]) -> TensorVariable:
        return concatenate([cast(reshape(part, (-1,), ndim=1), self.dtype) for part in parts])

    def parts(self, vector: TensorVariable) -> list[TensorVariable]:
        """Return a vector cut into values of the parameters."""
        cut, at = [], as_tensor_variable(0)
        for param, shape, count in zip(self.params, self.shapes, self.counts, strict=True):
            piece = reshape(vector[at : at + count], shape, ndim=param.ndim)
            cut.append(cast(piece, param.dtype))
            at = at + count
        return cut

    def at(self, vector: TensorVariable) -> list[TensorVariable]:
        """Return the cost and its gradient at other parameters."""
        by_param = dict(zip(self.params, self.parts(vector), strict=True))
        return [as_tensor_variable(x) for x in graph_replace([self.value, self.slope], by_param, strict=False)]


def _direction(
    point: _Point, steps: TensorVariable, changes: TensorVariable, weights: TensorVariable, memory: int
) -> TensorVariable:
    """Return the direction of the two-loop recursion; pairs with a weight of 0 do nothing."""
    q = point.slope
    shares: dict[int, TensorVariable] = {}
    for i in reversed(range(memory)):
        shares[i] = weights[i] * sum_(steps[i] * q)
        q = q - shares[i] * changes[i]
    newest = sum_(changes[memory - 1] ** 2)
    known = gt(weights[memory - 1], 0)
    first = minimum(1, 1 / sum_(abs(point.slope)))
    scale = switch(known, 1 / switch(known, weights[memory - 1] * newest, 1), first)
    q = scale * q
    for i in range(memory):
        q = q + steps[i] * (shares[i] - weights[i] * sum_(changes[i] * q))
    return -q


@composed
def lbfgs(
    cost: TensorLike, params: object, memory: int = 10, max_evaluations: int = 25, armijo: float = 1e-4,
    curvature: float = 0.9,
) -> Updates:  # fmt: skip
    """Return the updates of one step of L-BFGS, with a line search that evaluates the cost as often as it needs.

    The method of SciPy's ``L-BFGS-B`` and torch.optim.LBFGS, for costs without noise.

    Parameters
    ----------
    cost
        A float scalar, computed from the parameters.
    params
        Shared variables, nested as you like.
    memory
        How many pairs of steps and changes of the gradient are kept.
    max_evaluations
        How often the cost is evaluated in a step at most.
    armijo, curvature
        What a step must fulfil: the cost falls by `armijo` of what the slope promises, and the slope along the step
        rises to `curvature` of what it was (Wolfe's conditions); 0 < armijo < curvature < 1.

    Returns
    -------
    New values by shared variable. A step that finds no smaller cost leaves the parameters as they are.

    Raises
    ------
    ArgumentError
        If a parameter is not a shared variable or there is none, or a number is out of its range.

    Notes
    -----
    J. Nocedal, "Updating Quasi-Newton Matrices with Limited Storage", 1980. The line search is by bisection and
    doubling (A. S. Lewis and M. L. Overton, "Nonsmooth optimization via quasi-Newton methods", 2013).

    Examples
    --------
    >>> import treadle.tensor as tt
    >>> x = tt.shared([-1.2, 1.0], name="x")
    >>> rosenbrock = 100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2
    >>> step = tt.function([], rosenbrock, updates=tt.nn.lbfgs(rosenbrock, x))
    >>> costs = [float(step()) for _ in range(60)]
    >>> costs[-1] < 1e-12, x.get_value().round(6).tolist()
    (True, [1.0, 1.0])
    """
    leaves = parameters("lbfgs", params)
    pairs, most = as_integer("lbfgs: memory", memory), as_integer("lbfgs: max_evaluations", max_evaluations)
    if not leaves or pairs < 1 or most < 1 or not 0 < armijo < curvature < 1:
        msg = (
            "lbfgs: at least one parameter, one pair and one evaluation are needed, and 0 < armijo < curvature < 1, "
            f"got {len(leaves)}, {pairs}, {most}, {armijo} and {curvature}."
        )
        raise ArgumentError(msg)
    point = _Point(as_tensor_variable(cost), leaves)
    count = sum(int(np.size(leaf.get_value(borrow=True))) for leaf in leaves)
    kind = point.dtype
    steps = shared(np.zeros((pairs, count), kind), name="lbfgs_steps")
    changes = shared(np.zeros((pairs, count), kind), name="lbfgs_changes")
    weights = shared(np.zeros(pairs, kind), name="lbfgs_weights")

    direction = _direction(point, steps, changes, weights, pairs)
    descends = lt(sum_(direction * point.slope), 0)
    direction = switch(descends, direction, -point.slope)
    promise = sum_(direction * point.slope)
    zero, one = as_tensor_variable(np.asarray(0, kind)), as_tensor_variable(np.asarray(1, kind))
    begin = {
        "step": one, "low": zero, "high": as_tensor_variable(np.asarray(np.inf, kind)),
        "done": as_tensor_variable(False), "count": as_tensor_variable(0), "best": zero, "slope": point.slope,
    }  # fmt: skip

    def tried(carry: dict[str, TensorVariable]) -> dict[str, TensorVariable]:
        step = carry["step"]
        value, slope = point.at(point.start + step * direction)
        falls = le(value, point.value + armijo * step * promise)
        rises = ge(sum_(slope * direction), curvature * promise)
        high = switch(falls, carry["high"], step)
        low = switch(falls, step, carry["low"])
        done = and_(falls, rises)
        following = switch(isinf(high), 2 * step, (low + high) / 2)
        return {
            "step": cast(switch(done, step, following), kind), "low": cast(low, kind), "high": cast(high, kind),
            "done": done, "count": carry["count"] + 1, "best": cast(switch(falls, step, carry["best"]), kind),
            "slope": switch(falls, slope, carry["slope"]),
        }  # fmt: skip

    last = while_loop(
        lambda carry: and_(invert(carry["done"]), lt(carry["count"], most)), tried, begin, name="line_search"
    )
    moved = last["best"] * direction
    change = last["slope"] - point.slope
    product = sum_(moved * change)
    is_kept = gt(product, np.finfo(kind).eps * sum_(change**2))
    updates: Updates = dict(zip(leaves, point.parts(point.start + moved), strict=True))
    for kept, new in ((steps, moved), (changes, change)):
        updates[kept] = switch(is_kept, concatenate([kept[1:], expand_dims(new, 0)]), kept)
    weight = expand_dims(1 / switch(is_kept, product, 1), 0)
    updates[weights] = cast(switch(is_kept, concatenate([weights[1:], cast(weight, kind)]), weights), kind)
    return updates
