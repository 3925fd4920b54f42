"""Sums of two tensors by constant weights, and quotients by roots: the steps of optimizers, in the memory of one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

import torch

from treadle.graph import FunctionGraph, Variable
from treadle.link.torch.programs.patterns import both_orders, made_by, number
from treadle.tensor import TensorVariable

# A function, and the tensors that it takes.
Found: TypeAlias = tuple[Callable[..., torch.Tensor], Sequence[Variable]]


def weighted_sum(fgraph: FunctionGraph, out: TensorVariable) -> Found | None:
    """Return a sum of two tensors, each times a number."""
    terms = [_scaled(fgraph, v, out) for v in made_by(out, "add")]
    if len(terms) != 2 or terms[0] is None or terms[1] is None:
        return None
    (x, first), (y, second) = terms[0], terms[1]
    squared = made_by(y, "sqr")
    # A smaller weight of one factor makes nothing overflow.
    if squared and len(fgraph.clients[y]) == 1 and abs(second) <= 1 and squared[0].type.dtype == out.type.dtype:
        return partial(_with_square, first, second), (x, squared[0])
    return partial(_weighted, first, second), (x, y)


def _scaled(fgraph: FunctionGraph, x: TensorVariable, out: TensorVariable) -> tuple[TensorVariable, float] | None:
    """Return a tensor and the number that it is multiplied by, for the sum alone."""
    for of, factor in both_orders(made_by(x, "mul")):
        weight = number(factor)
        is_like = (of.type.dtype, of.type.ndim) == (out.type.dtype, out.type.ndim) and number(of) is None
        if weight is not None and is_like and factor.type.dtype == of.type.dtype and len(fgraph.clients[x]) == 1:
            return of, weight
    return None


def _weighted(first: float, second: float, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    scaled = torch.mul(x, first)
    return scaled.add_(y, alpha=second) if x.shape == y.shape else torch.add(scaled, y, alpha=second)


def _with_square(first: float, second: float, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    if x.shape == y.shape:
        return torch.mul(x, first).addcmul_(y, y, value=second)
    return _weighted(first, second, x, torch.square(y))


def scaled_by_root(fgraph: FunctionGraph, out: TensorVariable) -> Found | None:
    """Return r m / (sqrt(v) / s + e), where e is a number and r and s are of one element."""
    quotient = made_by(out, "true_div")
    shifted = made_by(quotient[1], "add") if quotient and _is_alone(fgraph, quotient[1]) else ()
    product = made_by(quotient[0], "mul") if shifted and _is_alone(fgraph, quotient[0]) else ()
    for corrected, small in both_orders(shifted):
        least = number(small)
        scale = made_by(corrected, "true_div") if least is not None and _is_alone(fgraph, corrected) else ()
        root = made_by(scale[0], "sqrt") if scale and _is_alone(fgraph, scale[0]) else ()
        for rate, mean in both_orders(product):
            if least is not None and root and _is_one(scale[1]) and _is_one(rate):
                variables = (mean, root[0], rate, scale[1])
                if {(v.type.dtype, v.type.ndim) for v in variables} == {(out.type.dtype, out.type.ndim)}:
                    return partial(_by_root, least), variables
    return None


def _is_alone(fgraph: FunctionGraph, x: TensorVariable) -> bool:
    return len(fgraph.clients[x]) == 1


def _is_one(x: TensorVariable) -> bool:
    return all(n == 1 for n in x.type.shape)


def _by_root(
    least: float, mean: torch.Tensor, square: torch.Tensor, rate: torch.Tensor, scale: torch.Tensor
) -> torch.Tensor:
    divisor = torch.sqrt(square).div_(scale).add_(least)
    scaled = torch.mul(mean, rate)
    return scaled.div_(divisor) if mean.shape == square.shape else torch.div(scaled, divisor)
