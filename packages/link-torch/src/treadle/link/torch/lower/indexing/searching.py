"""Searches: positions of true elements, binary search, and counts of integers."""

from __future__ import annotations

import math

import torch

from treadle.link.torch.looking import has_no_nan
from treadle.link.torch.programs.storage import SIGN_BIT
from treadle.link.torch.table import TORCH, Lowered
from treadle.tensor import BinCount, Nonzero, RowOrder, SearchSorted, TensorNode


@TORCH.register(Nonzero)
def nonzero(op: Nonzero, node: TensorNode) -> Lowered:
    """Lower to torch.nonzero."""
    if len(node.outputs) == 1:
        return lambda mask: torch.nonzero(mask, as_tuple=True)[0]
    return lambda mask: torch.nonzero(mask, as_tuple=True)


def _ordered(a: torch.Tensor, dtype: str) -> torch.Tensor:
    """Return integers that are ordered as stored values of a dtype are."""
    if a.dtype == torch.bool:
        return a.to(torch.uint8)
    if not a.is_floating_point():
        return torch.bitwise_xor(a, SIGN_BIT) if dtype == "uint64" else a
    # By their bits: NaN then comes after every number, unlike in PyTorch's search, and there is one zero.
    wide = torch.int64 if a.dtype == torch.float64 else torch.int32
    most = torch.iinfo(wide).max
    bits = ((a if wide == torch.int64 else a.to(torch.float32)) + 0.0).view(wide)
    return torch.where(torch.isnan(a), most, torch.where(bits < 0, torch.bitwise_xor(bits, most), bits))


@TORCH.register(SearchSorted)
def search_sorted(op: SearchSorted, node: TensorNode) -> Lowered:
    """Lower to torch.searchsorted; a batch is made one dimension, and values searched for too."""
    dtype, batch = node.inputs[0].type.dtype, node.inputs[0].type.ndim - 1
    right = op.side == "right"
    # As long as there is no NaN.
    in_own_order = batch == 0 and dtype in {"float32", "float64"}

    def run(among: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
        if in_own_order and among.numel() and has_no_nan(among) and has_no_nan(values):
            # It warns of elements that are not in one block.
            return torch.searchsorted(among.contiguous(), values.contiguous(), right=right)
        low, key = _ordered(among, dtype), _ordered(values, dtype)
        rows = math.prod(low.shape[:batch])
        if batch and low.shape[:batch] != key.shape[:batch]:
            msg = "the batches of sorted values and of values searched for differ"
            raise ValueError(msg)
        if key.numel() == 0 or low.numel() == 0:
            return torch.zeros(values.shape, dtype=torch.int64, device=values.device)
        flat = key.reshape(rows, key.numel() // rows).contiguous()
        positions = torch.searchsorted(low.reshape(rows, low.shape[-1]).contiguous(), flat, right=right)
        return positions.reshape(values.shape)

    return run


@TORCH.register(BinCount)
def bin_count(op: BinCount, node: TensorNode) -> Lowered:
    """Lower to torch.bincount where data decides the number of bins, else to a sum by positions."""
    dtype = torch.float64 if op.weighted else torch.int64

    def bounded(x: torch.Tensor, bins: int, *weights: torch.Tensor) -> torch.Tensor:
        added = weights[0] if weights else torch.ones_like(x)
        # What is out of bounds goes to a bin of its own.
        places = torch.where((x >= 0) & (x < bins), x, bins)
        return torch.zeros(bins + 1, dtype=dtype, device=x.device).scatter_add(0, places, added)[:bins]

    def unbounded(x: torch.Tensor, least: torch.Tensor, *weights: torch.Tensor) -> torch.Tensor:
        # Which refuses negative numbers.
        return torch.bincount(x, *weights, minlength=int(least)).to(dtype)

    return bounded if op.bounded else unbounded


@TORCH.register(RowOrder)
def row_order(op: RowOrder, node: TensorNode) -> Lowered:
    """Lower to a stable sort by each column, the last one first."""
    dtype = node.inputs[0].type.dtype

    def run(x: torch.Tensor) -> torch.Tensor:
        keys = _ordered(x, dtype)
        order = torch.arange(x.shape[0], dtype=torch.int64, device=x.device)
        for j in range(x.shape[1] - 1, -1, -1):
            order = order[torch.argsort(keys[order, j], stable=True)]
        return order

    return run
