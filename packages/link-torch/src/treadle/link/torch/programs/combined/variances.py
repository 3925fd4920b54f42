"""Variances, standard deviations and what is normalized by them as PyTorch's own functions.

In a graph a variance is the sum of the squares of what the mean leaves, divided by the degrees of freedom: ten nodes,
each of which goes through the tensor or costs a call.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import TypeAlias

import torch

from treadle.config import dataclass
from treadle.graph import FunctionGraph, Variable
from treadle.link.torch.programs.patterns import both_orders, length_behind, made_by, number
from treadle.tensor import DimShuffle, Elemwise, Reduction, ShapeI, TensorVariable, tensors

# The function, the tensors that it takes, and the Python integers.
Spread: TypeAlias = tuple[Callable[..., torch.Tensor], tuple[Variable, ...], tuple[Variable, ...]]
# Along some of the axes PyTorch's own function takes three times as long for an element as its formula.
_FEW = 4096


@dataclass(frozen=True, slots=True)
class _Divisor:
    """What a sum is divided by: a number, or as much less than a length, but 0 at least."""

    length: Variable | None
    number: float


@dataclass(frozen=True, slots=True)
class _Variance:
    """A variance in a graph: of what, along which axes, and whether these are kept."""

    of: TensorVariable
    axes: tuple[int, ...]
    keeps: bool
    # What the mean's sum, and that of the squares, are divided by.
    count: _Divisor
    freedom: _Divisor
    # What the mean leaves, and what is computed of it for the variance alone.
    centred: TensorVariable
    inner: tuple[TensorVariable, ...]

    @property
    def is_of_itself(self) -> bool:
        """Whether both divisors are known to be the number of elements, by the tensor's own lengths."""
        length = self.count.length
        return length is not None and self.count == self.freedom and _counts(length, self.of, self.axes)


def variance(fgraph: FunctionGraph, out: TensorVariable) -> Spread | None:
    """Return a variance, of which nothing but itself is needed."""
    return _spread(fgraph, out, torch.var, lambda x: x)


def deviation(fgraph: FunctionGraph, out: TensorVariable) -> Spread | None:
    """Return a standard deviation, whose root is that of 1 where there is none to be differentiated at 0."""
    squared = squared_behind_root(out)
    if squared is None or len(fgraph.clients[squared]) != 3:
        return None
    return _spread(fgraph, squared, torch.std, torch.sqrt)


def squared_behind_root(out: TensorVariable) -> TensorVariable | None:
    """Return what a root is of that is itself at 0, where it has no derivative."""
    choice = made_by(out, "switch")
    root = made_by(choice[2], "sqrt") if choice else ()
    inner = made_by(root[0], "switch") if root else ()
    if not inner or inner[0] is not choice[0] or inner[2] is not choice[1] or number(inner[1]) is None:
        return None
    compared = made_by(choice[0], "eq")
    return choice[1] if compared and compared[0] is choice[1] and number(compared[1]) == 0 else None


def normalized(fgraph: FunctionGraph, out: TensorVariable) -> Spread | None:
    """Return what last axes are brought to mean 0 and variance 1, scaled and shifted by vectors of their own or not."""
    found = _standard(fgraph, out)
    if found is not None:
        return partial(_layer_norm, len(found[0].axes), found[1]), (found[0].of,), ()
    for scaled, shift in both_orders(made_by(out, "add")):
        for core, scale in both_orders(made_by(scaled, "mul")):
            found = _standard(fgraph, core) if len(fgraph.clients[scaled]) == len(fgraph.clients[core]) == 1 else None
            if found is None:
                continue
            given = [_unshuffled(v) for v in (scale, shift)]
            if {v.type.dtype for v in given} != {core.type.dtype}:
                continue
            count, ndim = len(found[0].axes), found[0].of.type.ndim
            order = (*("x" for _ in range(ndim - count)), *range(count))
            if all(v.owner is not None and v.owner.op == DimShuffle(order, count) for v in (scale, shift)):
                return partial(_layer_norm, count, found[1]), (found[0].of, *given), ()
    return None


def _standard(fgraph: FunctionGraph, out: TensorVariable) -> tuple[_Variance, float] | None:
    """Return the variance by whose root what its mean leaves is divided, along last axes, and what is added to it."""
    quotient = made_by(out, "true_div")
    root = made_by(quotient[1], "sqrt") if quotient else ()
    for spread, added in both_orders(made_by(root[0], "add")) if root else ():
        found, least = _variance_of(spread), number(added)
        if found is None or found.centred is not quotient[0] or not found.keeps or least is None or least <= 0:
            continue
        ndim = found.of.type.ndim
        if found.axes != (*range(ndim - len(found.axes), ndim),) or len(found.axes) == ndim or not found.is_of_itself:
            continue
        inner = {quotient[1], root[0], spread, *found.inner}
        if all(len(fgraph.clients[v]) == 1 for v in inner) and len(fgraph.clients[found.centred]) == 2:
            return found, least
    return None


def _layer_norm(count: int, least: float, x: torch.Tensor, *given: torch.Tensor) -> torch.Tensor:
    shape = x.shape[x.ndim - count :]
    if x.numel() > 0 and all(v.shape == shape for v in given) and not torch.compiler.is_compiling():
        return torch.layer_norm(x, shape, *given, eps=least)
    axes = [*range(x.ndim - count, x.ndim)]
    rest = x - torch.sum(x, axes, keepdim=True) / math.prod(shape)
    core = rest / torch.sqrt(torch.sum(torch.square(rest), axes, keepdim=True) / math.prod(shape) + least)
    return core * given[0] + given[1] if given else core


def _variance_of(out: TensorVariable) -> _Variance | None:
    total, freedom = _divided(out)
    summed = None if total is None else _summed(total)
    if total is None or freedom is None or summed is None:
        return None
    squares, axes, keeps = summed
    centred = made_by(squares, "sqr")
    parts = made_by(centred[0], "sub") if centred else ()
    if not parts or parts[0].type.dtype != out.type.dtype:
        return None
    x, mean = parts
    mean_total, count = _divided(mean)
    mean_summed = None if mean_total is None else _summed(mean_total)
    if count is None or mean_summed is None or mean_summed[0] is not x or mean_summed[1] != axes:
        return None
    if mean.type.ndim != x.type.ndim or not (mean_summed[2] or len(axes) == x.type.ndim):
        return None
    return _Variance(x, axes, keeps, count, freedom, centred[0], (total, _unshuffled(total), squares))


def _spread(
    fgraph: FunctionGraph,
    out: TensorVariable,
    of_library: Callable[..., torch.Tensor],
    finish: Callable[[torch.Tensor], torch.Tensor],
) -> Spread | None:
    found = _variance_of(out)
    if found is None or any(len(fgraph.clients[v]) != 1 for v in {*found.inner, found.centred}):
        return None
    x, axes, keeps = found.of, found.axes, found.keeps
    if found.is_of_itself:
        return _of_itself(of_library, finish, axes, keeps, len(axes) == x.type.ndim), (x,), ()
    divisors = (found.count, found.freedom)

    def run(x: torch.Tensor, *lengths: int) -> torch.Tensor:
        rest = iter(lengths)
        n, left = [d.number if d.length is None else max(next(rest) - d.number, 0) for d in divisors]
        # The library's own warns where no degrees of freedom are left.
        if left > 0 and n == math.prod([x.shape[d] for d in axes]) and _is_usual(x, len(axes) == x.ndim):
            return of_library(x, axes, correction=n - left, keepdim=keeps)
        return finish(_by_formula(x, axes, keeps, n) / left)

    return run, (x,), tuple(d.length for d in divisors if d.length is not None)


def _of_itself(
    of_library: Callable[..., torch.Tensor],
    finish: Callable[[torch.Tensor], torch.Tensor],
    axes: tuple[int, ...],
    keeps: bool,
    of_all: bool,
) -> Callable[[torch.Tensor], torch.Tensor]:
    """Return the function for divisors that are the number of elements."""

    def run(x: torch.Tensor) -> torch.Tensor:
        if _is_usual(x, of_all):
            return of_library(x, axes, correction=0, keepdim=keeps)
        n = math.prod([x.shape[d] for d in axes])
        return finish(_by_formula(x, axes, keeps, n) / n)

    return run


def _is_usual(x: torch.Tensor, of_all: bool) -> bool:
    """Whether PyTorch's own function takes the least time; what is compiled has a formula of its own."""
    return x.numel() > 0 and (of_all or x.numel() <= _FEW) and not torch.compiler.is_compiling()


def _by_formula(x: torch.Tensor, axes: tuple[int, ...], keeps: bool, n: float) -> torch.Tensor:
    rest = x - torch.sum(x, axes, keepdim=True) / n
    return torch.sum(rest.square_(), axes, keepdim=keeps)


def _counts(length: Variable, x: TensorVariable, axes: tuple[int, ...]) -> bool:
    """Whether a length is known to be the number of elements along axes."""
    found: list[int] = []
    left = [length]
    while left:
        node = left.pop().owner
        if node is None or not isinstance(node.op, ShapeI | Elemwise):
            return False
        if not isinstance(node.op, ShapeI):
            factors = both_orders(made_by(node.outputs[0], "mul"))
            if not factors:
                return False
            left.extend(factors[0])
        elif node.inputs[0] is not x:
            return False
        else:
            found.append(node.op.axis)
    return sorted(found) == sorted(axes)


def _divided(x: TensorVariable) -> tuple[TensorVariable | None, _Divisor | None]:
    """Return what is divided by a number, or by a length or less, and the divisor."""
    quotient = made_by(x, "true_div")
    if quotient:
        return quotient[0], _divisor(quotient[1])
    for total, factor in both_orders(made_by(x, "mul")):
        share = number(factor)
        if share:
            return total, _Divisor(None, round(1 / share) if round(1 / share) * share == 1 else 1 / share)
    return None, None


def _divisor(x: TensorVariable) -> _Divisor | None:
    constant = number(x)
    if constant is not None:
        return _Divisor(None, constant)
    length = length_behind(x)
    if length is not None:
        return _Divisor(length, 0)
    while x.owner is not None and isinstance(x.owner.op, DimShuffle) and x.owner.op.ndim == 0:
        (x,) = tensors(x.owner.inputs)
    for less, least in both_orders(made_by(x, "maximum")):
        difference = made_by(less, "sub") if number(least) == 0 else ()
        length = length_behind(difference[0]) if difference else None
        taken_off = number(difference[1]) if difference else None
        if length is not None and taken_off is not None:
            return _Divisor(length, taken_off)
    return None


def _unshuffled(x: TensorVariable) -> TensorVariable:
    node = x.owner
    return tensors(node.inputs)[0] if node is not None and isinstance(node.op, DimShuffle) else x


def _summed(x: TensorVariable) -> tuple[TensorVariable, tuple[int, ...], bool] | None:
    """Return what a sum is of, along which axes, and whether these are kept as dimensions of length 1."""
    bare = _unshuffled(x)
    node, outer = bare.owner, x.owner
    if outer is None or node is None or not isinstance(node.op, Reduction) or node.op.kind != "sum" or not node.op.axes:
        return None
    (of,) = tensors(node.inputs)
    axes = tuple(node.op.axes)
    if {node.op.dtype, node.op.acc_dtype} != {of.type.dtype}:
        return None
    if node is outer:
        return of, axes, False
    others = iter(range(of.type.ndim))
    order = tuple("x" if d in axes else next(others) for d in range(of.type.ndim))
    return (of, axes, True) if getattr(outer.op, "order", ()) == order else None
