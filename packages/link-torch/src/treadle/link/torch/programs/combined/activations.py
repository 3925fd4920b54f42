"""Activations of networks and their gradients, which are choices in graphs, by PyTorch's own functions.

These go through a tensor once, without a branch for each element. All give the values of the choice bit for bit, at
NaN, infinities and zeros with a sign too, but for the rounding of exponentials.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

import numpy as np
import torch

from treadle.graph import Constant, FunctionGraph, Variable
from treadle.link.torch.programs.patterns import both_orders, made_by, number
from treadle.tensor import TensorVariable

# A function, and the tensors that it takes.
Found: TypeAlias = tuple[Callable[..., torch.Tensor], Sequence[Variable]]

_thresholded = torch.ops.aten.threshold_backward
_leaked = torch.ops.aten.leaky_relu_backward


def activation(fgraph: FunctionGraph, out: TensorVariable) -> Found | None:
    """Return an activation of floats, or a gradient through one."""
    return (
        _within_bounds(out)
        or _kept_beyond(out)
        or _leaky(out)
        or _exponential(out)
        or _gated(fgraph, out)
        or _gelu(out)
    )


def _choice(out: Variable, comparison: str) -> tuple[TensorVariable, float, TensorVariable, TensorVariable] | None:
    """Return what is compared with which number, and what is chosen where that is true, and where not."""
    choice = made_by(out, "switch")
    compared = made_by(choice[0], comparison) if choice else ()
    if not compared:
        return None
    (x, bound), (_, first, second) = compared, choice
    limit = number(bound)
    kinds = {(v.type.dtype, v.type.ndim) for v in (x, bound, first, second)}
    return (x, limit, first, second) if limit is not None and len(kinds) == 1 else None


def _is_zero(x: TensorVariable) -> bool:
    return number(x) == 0 and not _is_negative(x)


def _is_negative(x: TensorVariable) -> bool:
    return isinstance(x, Constant) and math.copysign(1, float(x.data.item())) < 0


def _kept_beyond(out: TensorVariable) -> Found | None:
    """Return a number where a tensor is small and the tensor elsewhere, or zero where it is small or large."""
    below = _choice(out, "le")
    if below is not None:
        x, bound, least, kept = below
        value = number(least)
        if kept is x and value is not None:
            return partial(torch.threshold, threshold=bound, value=value), (x,)
        return (partial(_beyond, bound), (kept, x)) if _is_zero(least) else None
    above = _choice(out, "ge")
    if above is None or not _is_zero(above[2]):
        return None
    return partial(_before, -above[1]), (above[3], above[0])


def _beyond(bound: float, kept: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    result: torch.Tensor = _thresholded(kept, x, bound)
    return result


def _before(bound: float, kept: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    result: torch.Tensor = _thresholded(kept, torch.neg(x), bound)
    return result


def _within_bounds(out: TensorVariable) -> Found | None:
    """Return a tensor brought between two numbers by choices."""
    below = _choice(out, "le")
    above = None if below is None else _choice(below[3], "ge")
    if below is None or above is None:
        return None
    x, low, least, _ = below
    same, high, most, kept = above
    if same is not x or kept is not x or number(least) != low or number(most) != high or not low < high:
        return None
    if _is_negative(least) != (low < 0) or _is_negative(most) != (high < 0):
        return None
    return partial(_clamped if low and high else _clamped_at_zero, low, high), (x,)


def _clamped(low: float, high: float, x: torch.Tensor) -> torch.Tensor:
    return torch.clamp(x, low, high)


def _clamped_at_zero(low: float, high: float, x: torch.Tensor) -> torch.Tensor:
    # Of two zeros the bound may not be the one that is kept: those with a sign lose it.
    return torch.clamp(x, low, high).add_(0.0)


def _leaky(out: TensorVariable) -> Found | None:
    """Return a tensor where another is positive, and a multiple of it elsewhere."""
    choice = _choice(out, "gt")
    if choice is None or choice[1] != 0:
        return None
    x, _, kept, scaled = choice
    for same, factor in both_orders(made_by(scaled, "mul")):
        slope = number(factor)
        if same is kept and slope is not None:
            if kept is x:
                return partial(torch.nn.functional.leaky_relu, negative_slope=slope), (x,)
            return partial(_leaking, slope), (kept, x)
    return None


def _leaking(slope: float, kept: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    result: torch.Tensor = _leaked(kept, x, slope, False)
    return result


def _exponential(out: TensorVariable) -> Found | None:
    """Return a tensor where it is positive, and a multiple of exp(x) - 1 elsewhere."""
    choice = _choice(out, "gt")
    if choice is None or choice[1] != 0 or choice[2] is not choice[0]:
        return None
    x, _, _, other = choice
    for power, factor in ((other, 1.0), *((p, number(f)) for p, f in both_orders(made_by(other, "mul")))):
        limited = made_by(power, "expm1")
        for same, zero in both_orders(made_by(limited[0], "minimum") if limited else ()):
            # PyTorch has a NaN of its own for other factors.
            if same is x and number(zero) == 0 and factor is not None and 0 < factor < math.inf:
                return partial(torch.nn.functional.elu, alpha=factor), (x,)
    return None


def _gated(fgraph: FunctionGraph, out: TensorVariable) -> Found | None:
    """Return a tensor times its logistic function, where that is needed for nothing else."""
    for x, gate in both_orders(made_by(out, "mul")):
        if (*made_by(gate, "sigmoid"),) == (x,) and len(fgraph.clients[gate]) == 1:
            return torch.nn.functional.silu, (x,)
    return None


def _gelu(out: TensorVariable) -> Found | None:
    """Return the approximation of x Phi(x) by the hyperbolic tangent, (x / 2) (1 + tanh(c x (1 + d x^2)))."""
    for half, shifted in both_orders(made_by(out, "mul")):
        x = _times(half, 0.5, out)
        curve = _plus_one(shifted)
        inner = made_by(curve, "tanh") if x is not None and curve is not None else ()
        for scaled, raised in both_orders(made_by(inner[0], "mul") if inner else ()):
            square = _plus_one(raised)
            squared = None if square is None else _times(square, 0.044715, out)
            if squared is None or x is None or _times(scaled, math.sqrt(2 / math.pi), out) is not x:
                continue
            if (*made_by(squared, "sqr"),) == (x,) and x.type.ndim == out.type.ndim:
                return partial(torch.nn.functional.gelu, approximate="tanh"), (x,)
    return None


def _times(product: TensorVariable, factor: float, out: TensorVariable) -> TensorVariable | None:
    """Return what is multiplied by a number, rounded to the dtype of the result."""
    rounded = float(np.dtype(out.type.dtype).type(factor))
    return next((of for of, by in both_orders(made_by(product, "mul")) if number(by) == rounded), None)


def _plus_one(total: TensorVariable) -> TensorVariable | None:
    return next((of for of, one in both_orders(made_by(total, "add")) if number(one) == 1), None)
