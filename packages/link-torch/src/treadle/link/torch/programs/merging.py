"""Nodes that one call of PyTorch's computes together with those that prepare their inputs.

In graphs a product with a vector is one of matrices between changes of rank, and a mean divides by a tensor that is
made of a length. PyTorch takes vectors, and Python's numbers, as they are: that spares two to four calls each. Other
functions of its own go through a tensor once where the graph's go through it twice or more often.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

import torch

from treadle.config import dataclass
from treadle.graph import Apply, DeepCopyOp, FunctionGraph, Variable
from treadle.link.torch.programs.arranging import Arranged, end_of_order, nested_join, reversed_copy, rotation, triangle
from treadle.link.torch.programs.combined.activations import activation
from treadle.link.torch.programs.combined.along_axis import picked_along, set_along
from treadle.link.torch.programs.combined.batches import summed_product
from treadle.link.torch.programs.combined.classes import through_log_softmax
from treadle.link.torch.programs.combined.moments import scaled_by_root, weighted_sum
from treadle.link.torch.programs.combined.variances import deviation, normalized, squared_behind_root, variance
from treadle.link.torch.programs.patterns import both_orders, length_behind, made_by, number
from treadle.link.torch.programs.storage import kind, working
from treadle.link.torch.table import Lowered
from treadle.tensor import (
    AdvancedIncSubtensor,
    AdvancedSubtensor,
    ArgReduction,
    ArgSort,
    DimShuffle,
    Elemwise,
    Join,
    MatMul,
    Reduction,
    Sort,
    Subtensor,
    SumTo,
    TensorVariable,
    tensors,
)

_NEW_FIRST, _NEW_LAST = ("x", 0), (0, "x")
# What of a product of matrices is left, by whether the first and the second factor is a vector made a matrix.
_LEFT = {(True, False): (1,), (False, True): (0,), (True, True): ()}
# What finds extrema, or the order of elements, with their positions.
_SEARCHES: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {"max": torch.max, "min": torch.min, "sort": partial(torch.sort, stable=True)}
)


def operands(node: Apply) -> Sequence[Variable]:
    """Return a node's inputs; those of elementwise functions without first dimensions that PyTorch adds by itself."""
    if not isinstance(node.op, Elemwise) or len(node.inputs) < 2:
        return node.inputs
    given = tensors(node.inputs)
    bare = [_without_first(v) for v in given]
    return bare if any(v.type.ndim == given[0].type.ndim for v in bare) else [given[0], *bare[1:]]


def _without_first(x: TensorVariable) -> TensorVariable:
    node = x.owner
    if node is None or not isinstance(node.op, DimShuffle):
        return x
    order, ndim = node.op.order, node.op.ndim
    (inner,) = tensors(node.inputs)
    return inner if order[len(order) - ndim :] == (*range(ndim),) else x


@dataclass(frozen=True, slots=True)
class Merged:
    """What a node is computed by: a function whose results are in new memory, of tensors and then Python integers.

    `others` are results of a later node, which the function returns after the node's own.
    """

    function: Lowered
    tensors: tuple[Variable, ...]
    numbers: tuple[Variable, ...] = ()
    others: tuple[Variable, ...] = ()


def merged(fgraph: FunctionGraph, node: Apply) -> Merged | None:
    """Return how a node is computed together with some of those that its inputs are made by; None for most."""
    if isinstance(node.op, DimShuffle):
        return _vector_product(fgraph, node.op, node)
    if isinstance(node.op, Join):
        return _stacked(node.op, node) or _arranged(rotation(node) or nested_join(fgraph, node))
    if isinstance(node.op, Subtensor):
        return _arranged(end_of_order(fgraph, node))
    if isinstance(node.op, DeepCopyOp):
        return _arranged(reversed_copy(node))
    if isinstance(node.op, SumTo):
        return _arranged(summed_product(fgraph, node.op, node))
    if isinstance(node.op, AdvancedSubtensor | AdvancedIncSubtensor):
        along = picked_along(node.op, node) if isinstance(node.op, AdvancedSubtensor) else set_along(node.op, node)
        return None if along is None else Merged(along[0], tuple(along[1]), tuple(along[2]))
    if not isinstance(node.op, Elemwise):
        return None
    (out,) = tensors(node.outputs[:1])
    if kind(out.type.dtype) != "f" or any(x.type.dtype != out.type.dtype for x in tensors(node.inputs[-2:])):
        return None
    if working(out.type.dtype) != out.type.dtype:
        return None
    spread = variance(fgraph, out) or deviation(fgraph, out) or normalized(fgraph, out)
    if spread is not None:
        return Merged(*spread)
    found = (
        activation(fgraph, out)
        or weighted_sum(fgraph, out)
        or scaled_by_root(fgraph, out)
        or through_log_softmax(fgraph, out)
    )
    if found is not None:
        return Merged(found[0], tuple(found[1]))
    return _arranged(triangle(out)) or _with_length(node.op, node) or _of_one(out)


def with_positions(nodes: Sequence[Apply]) -> dict[Apply, tuple[Apply, Merged]]:
    """Return values and their positions that one call finds: the first node of each pair, with the second."""
    found: dict[tuple[str, Variable, int], Apply] = {}
    pairs: dict[Apply, tuple[Apply, Merged]] = {}
    for node in nodes:
        about = _found_by(node)
        if about is None:
            continue
        first = found.setdefault(about, node)
        if type(first.op) is type(node.op) or first in pairs:
            continue
        search = partial(_SEARCHES[about[0]], dim=about[2])
        function = search if isinstance(first.op, Reduction | Sort) else partial(_swapped, search)
        pairs[first] = (node, Merged(function, (about[1],), others=tuple(node.outputs)))
    return pairs


def _found_by(node: Apply) -> tuple[str, Variable, int] | None:
    """Return the search that finds values, or their positions: its name, of what, and along which axis."""
    op = node.op
    if not isinstance(op, Reduction | ArgReduction | Sort | ArgSort):
        return None
    (x,) = tensors(node.inputs)
    dtype = x.type.dtype
    if isinstance(op, Sort | ArgSort):
        return ("sort", x, op.axis) if kind(dtype) in "fi" else None
    name = op.kind.removeprefix("arg")
    if len(op.axes) != 1 or name not in _SEARCHES or (isinstance(op, Reduction) and op.dtype != dtype):
        return None
    return (name, x, op.axes[0]) if kind(dtype) == "f" and working(dtype) == dtype else None


def _swapped(search: Callable[..., Sequence[torch.Tensor]], x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    values, positions = search(x)
    return positions, values


def _arranged(found: Arranged | None) -> Merged | None:
    return None if found is None else Merged(found[0], tuple(found[1]), tuple(found[2]))


def _stacked(op: Join, node: Apply) -> Merged | None:
    """Return a join of tensors along a dimension that each of them was given for it."""
    makers = [x.owner for x in node.inputs]
    ndim = tensors(node.outputs)[0].type.ndim
    order = (*range(op.axis), "x", *range(op.axis, ndim - 1))
    parts = [maker.inputs[0] for maker in makers if maker is not None and maker.op == DimShuffle(order, ndim - 1)]
    if len(parts) < len(makers) or len({x.type.dtype for x in tensors(parts)}) > 1:
        return None
    return Merged(partial(_stack, op.axis), tuple(parts))


def _stack(axis: int, *parts: torch.Tensor) -> torch.Tensor:
    return torch.stack(parts, axis)


def _of_one(out: TensorVariable) -> Merged | None:
    """Return a function of one tensor that PyTorch has."""
    return _clipped(out) or _cubed(out) or _norm(out) or _without_nan(out)


def _clipped(out: TensorVariable) -> Merged | None:
    """Return the clipping of a tensor to two numbers."""
    for outer, inner in (("minimum", "maximum"), ("maximum", "minimum")):
        for bounded, last in both_orders(made_by(out, outer)):
            for x, first in both_orders(made_by(bounded, inner)):
                ends = (number(first), number(last))
                low, high = ends if outer == "minimum" else ends[::-1]
                if low is not None and high is not None and low <= high and x.type.ndim == out.type.ndim:
                    return Merged(partial(torch.clamp, min=low, max=high), (x,))
    return None


def _cubed(out: TensorVariable) -> Merged | None:
    for x, square in both_orders(made_by(out, "mul")):
        if (*made_by(square, "sqr"),) == (x,):
            return Merged(partial(torch.pow, exponent=3), (x,))
    return None


def _without_nan(out: TensorVariable) -> Merged | None:
    """Return a tensor with numbers in place of infinities and NaN."""
    chosen: list[float] = []
    of: list[TensorVariable] = []
    x = out
    for name in ("isneginf", "isposinf", "isnan"):
        choice = made_by(x, "switch")
        asked = made_by(choice[0], name) if choice else ()
        value = number(choice[1]) if choice else None
        if not asked or value is None:
            return None
        chosen.append(value)
        of.append(asked[0])
        x = choice[2]
    if any(asked is not x for asked in of) or x.type.ndim != out.type.ndim:
        return None
    return Merged(partial(torch.nan_to_num, neginf=chosen[0], posinf=chosen[1], nan=chosen[2]), (x,))


def _norm(out: TensorVariable) -> Merged | None:
    """Return a Euclidean norm, whose root is that of 1 where there is none to be differentiated at 0."""
    total = squared_behind_root(out)
    node = None if total is None else total.owner
    if node is None or not isinstance(node.op, Reduction) or node.op.kind != "sum" or not node.op.axes:
        return None
    squared = made_by(node.inputs[0], "sqr")
    if not squared or squared[0].type.dtype != out.type.dtype:
        return None
    return Merged(partial(torch.linalg.vector_norm, dim=list(node.op.axes)), (squared[0],))


def _vector_product(fgraph: FunctionGraph, op: DimShuffle, node: Apply) -> Merged | None:
    """Return a product of a matrix and a vector, or of vectors, of floats or complex numbers of one dtype."""
    (matrix,) = node.inputs
    product = matrix.owner
    if product is None or not isinstance(product.op, MatMul) or op.ndim != 2 or len(fgraph.clients[matrix]) != 1:
        return None
    dtypes = {x.type.dtype for x in tensors([*product.inputs, matrix])}
    (dtype, *others) = dtypes
    if others or kind(dtype) not in "fc" or working(dtype) != dtype:
        return None
    a, b = product.inputs
    row, column = _vector_behind(a, _NEW_FIRST), _vector_behind(b, _NEW_LAST)
    if op.order != _LEFT.get((row is not None, column is not None)):
        return None
    return Merged(torch.matmul, (a if row is None else row, b if column is None else column))


def _vector_behind(x: Variable, order: tuple[int | str, ...]) -> Variable | None:
    node = x.owner
    return node.inputs[0] if node is not None and node.op == DimShuffle(order, 1) else None


def _with_length(op: Elemwise, node: Apply) -> Merged | None:
    """Return a float tensor divided by a length, or multiplied by one."""
    if op.scalar_op.name not in {"true_div", "mul"}:
        return None
    x, y = tensors(node.inputs)
    length = length_behind(y)
    if length is not None:
        return Merged(torch.true_divide if op.scalar_op.name == "true_div" else torch.mul, (x,), (length,))
    length = length_behind(x) if op.scalar_op.name == "mul" else None
    return None if length is None else Merged(torch.mul, (y,), (length,))
