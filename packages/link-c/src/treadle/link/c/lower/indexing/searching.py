"""Searches: positions of true elements, binary search, and counts of integers."""

from __future__ import annotations

from treadle.link.c.conventions.dtypes import ctype
from treadle.link.c.table import TABLE
from treadle.link.c.text.unit import Unit
from treadle.tensor import BinCount, CheckMask, Nonzero, RowOrder, SearchSorted, TensorNode


@TABLE.register(CheckMask)
def check_mask(op: CheckMask, node: TensorNode, unit: Unit) -> None:
    """Write a check of the lengths, and a view."""
    mask, *expected = node.inputs
    source, o = unit.slot(mask), unit.views(node.outputs[0], mask)
    lengths = ", ".join(map(unit.integer, expected))
    rank = mask.type.ndim
    unit.call(f"tr_check_mask(v + {o}, v + {source}, {rank}, {rank - len(expected)}, (const int64_t[]){{{lengths}}})")


@TABLE.register(Nonzero)
def nonzero(op: Nonzero, node: TensorNode, unit: Unit) -> None:
    """Write the search for true elements."""
    (mask,) = node.inputs
    source = unit.slot(mask)
    outs = unit.table("int", [unit.owns(out) for out in node.outputs])
    unit.call(f"tr_nonzero(v, {outs}, v + {source}, {mask.type.ndim})")


@TABLE.register(SearchSorted)
def search_sorted(op: SearchSorted, node: TensorNode, unit: Unit) -> None:
    """Write a call of binary search, with the values searched for in C order."""
    x, v = node.inputs
    kind, rank = ctype(x), v.type.ndim
    source, searched, o, packed = unit.slot(x), unit.slot(v), unit.owns(node.outputs[0]), unit.scratch()
    unit.line(f"const tr_var *values = v + {searched};".replace("values", f"values{o}"))
    unit.line(f"if (!tr_is_contiguous(values{o}, {rank}, {kind.size})) {{")
    unit.call(f"tr_copy(v + {packed}, values{o}, {rank}, {kind.size}, tr_move{kind.size})")
    unit.line(f"values{o} = v + {packed}; }}")
    right = int(op.side == "right")
    unit.call(f"tr_search_{kind.short}(v + {o}, v + {source}, values{o}, {rank}, {x.type.ndim - 1}, {right})")


@TABLE.register(BinCount)
def bin_count(op: BinCount, node: TensorNode, unit: Unit) -> None:
    """Write the call that counts."""
    x, least, *weights = node.inputs
    source, o = unit.slot(x), unit.owns(node.outputs[0])
    weighted = f"v + {unit.slot(weights[0])}" if weights else "0"
    unit.call(f"tr_bincount(v + {o}, v + {source}, {weighted}, {unit.integer(least)}, {int(op.bounded)})")


@TABLE.register(RowOrder)
def row_order(op: RowOrder, node: TensorNode, unit: Unit) -> None:
    """Write the call that finds the sorted order of the rows."""
    (x,) = node.inputs
    source, o = unit.slot(x), unit.owns(node.outputs[0])
    unit.call(f"tr_row_order_{ctype(x).short}(v + {o}, v + {source})")
