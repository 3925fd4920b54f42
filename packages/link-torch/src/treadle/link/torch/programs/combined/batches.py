"""Sums over a batch of products of matrices, such as gradients of weights, by one product."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

import torch

from treadle.graph import Apply, Constant, FunctionGraph, Variable
from treadle.link.torch.programs.storage import kind, working
from treadle.link.torch.table import TORCH
from treadle.tensor import MatMul, SumTo, tensors

# A function, the tensors that it takes, and the Python integers.
Found: TypeAlias = tuple[Callable[..., torch.Tensor], Sequence[Variable], Sequence[Variable]]


def summed_product(fgraph: FunctionGraph, op: SumTo, node: Apply) -> Found | None:
    """Return the sum over a batch of products of matrices of floats, kept as a dimension of length 1."""
    if len(node.inputs) != 4:
        return None
    (products,) = tensors(node.inputs[:1])
    made, first = products.owner, node.inputs[1]
    if made is None or not isinstance(made.op, MatMul) or products.type.ndim != 3 or len(fgraph.clients[products]) != 1:
        return None
    is_sum = isinstance(first, Constant) and first.data.item() == 1
    dtype = products.type.dtype
    alike = {v.type.dtype for v in tensors(made.inputs)} == {dtype} and kind(dtype) == "f" and working(dtype) == dtype
    if not is_sum or not alike or any(v.type.ndim != 3 for v in tensors(made.inputs)):
        return None
    return partial(_folded, partial(_by_rule, op, node)), made.inputs, node.inputs[1:]


def _by_rule(op: SumTo, node: Apply, *args: Any) -> torch.Tensor:
    rule: Any = TORCH.rule(node)(op, node)
    result: torch.Tensor = rule(*args)
    return result


def _folded(general: Callable[..., torch.Tensor], a: torch.Tensor, b: torch.Tensor, *lengths: int) -> torch.Tensor:
    batch, rows, inner = a.shape
    columns = b.shape[2]
    if b.shape[:2] != (batch, inner) or lengths != (1, rows, columns):
        return general(torch.matmul(a, b), *lengths).clone()
    left = a.transpose(0, 1).reshape(rows, batch * inner)
    return torch.matmul(left, b.reshape(batch * inner, columns)).unsqueeze(0)
