"""Searches: positions of true elements, binary search, and counts of integers."""

from __future__ import annotations

import math

from treadle.link.array_api.libraries import library
from treadle.link.array_api.lower.indexing.indexing import scattered
from treadle.link.array_api.table import ARRAY_API, Array, Lowered
from treadle.tensor import BinCount, Nonzero, RowOrder, SearchSorted, TensorNode

# Positions are int64, and one for the end is needed too: libraries let a larger number wrap around.
_MOST_BINS = 2**63 - 2


@ARRAY_API.register(Nonzero)
def nonzero(op: Nonzero, node: TensorNode) -> Lowered:
    """Lower to nonzero."""
    lib, single = library(), len(node.outputs) == 1

    def run(mask: Array) -> Array:
        positions = tuple(lib.astype(p, "int64") for p in lib.xp.nonzero(mask))
        return positions[0] if single else positions

    return run


@ARRAY_API.register(SearchSorted)
def search_sorted(op: SearchSorted, node: TensorNode) -> Lowered:
    """Lower to searchsorted, which takes one vector at a time."""
    lib, batch = library(), node.inputs[0].type.ndim - 1
    xp, dtype = lib.xp, node.inputs[0].type.dtype
    side = "right" if op.side == "right" else "left"
    inner = "uint8" if dtype == "bool" else dtype

    def run(among: Array, values: Array) -> Array:
        among, values = lib.astype(among, inner), lib.astype(values, inner)
        batches = among.shape[:batch]
        if values.shape[:batch] != batches:
            msg = "the batches of sorted values and of values searched for differ"
            raise ValueError(msg)
        if not math.prod(values.shape) or not among.shape[-1]:
            return lib.full(values.shape, 0, "int64")
        count = math.prod(batches)
        low, key = xp.reshape(among, (count, among.shape[-1])), xp.reshape(values, (count, -1))
        rows = [(lib.owned(low[i, :]), lib.owned(key[i, :])) for i in range(count)]
        found = [lib.astype(xp.searchsorted(a, v, side=side), "int64") for a, v in rows]
        return xp.reshape(xp.stack(found), values.shape)

    return run


@ARRAY_API.register(BinCount)
def bin_count(op: BinCount, node: TensorNode) -> Lowered:
    """Lower to adding at positions; without weights to a difference of positions in the sorted integers."""
    lib = library()
    xp = lib.xp

    def run(x: Array, least: Array, *weights: Array) -> Array:
        bins = int(least)
        if bins < 0 or (weights and weights[0].shape != x.shape):
            msg = "the number of bins is negative, or there are not as many weights as integers"
            raise ValueError(msg)
        if not op.bounded and x.shape[0]:
            if bool(xp.any(x < 0)):
                msg = "negative integers cannot be counted"
                raise ValueError(msg)
            bins = max(bins, int(xp.max(x)) + 1)
        if bins > _MOST_BINS:
            msg = f"{bins} bins are more than an array can have"
            raise ValueError(msg)
        if weights:
            # What is out of bounds goes to a bin of its own.
            places = xp.where((x >= 0) & (x < bins), x, xp.full_like(x, bins))
            return scattered(lib, lib.full((bins + 1,), 0, "float64"), places, weights[0], add=True)[:bins]
        ends = xp.searchsorted(xp.sort(x), lib.arange(bins + 1), side="left")
        return lib.astype(ends[1:] - ends[:-1], "int64")

    return run


@ARRAY_API.register(RowOrder)
def row_order(op: RowOrder, node: TensorNode) -> Lowered:
    """Lower to a stable sort by each column, the last one first."""
    lib = library()
    inner = "uint8" if node.inputs[0].type.dtype == "bool" else node.inputs[0].type.dtype

    def run(x: Array) -> Array:
        keys, order = lib.astype(x, inner), lib.arange(x.shape[0])
        for j in range(x.shape[1] - 1, -1, -1):
            order = lib.xp.take(order, lib.astype(lib.xp.argsort(lib.xp.take(keys[:, j], order), stable=True), "int64"))
        return order

    return run
