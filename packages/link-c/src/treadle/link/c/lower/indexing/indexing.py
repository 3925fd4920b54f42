"""Indexing: writing into views, gathering and scattering for arrays of positions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from treadle.link.c.conventions.dtypes import CTYPES, ctype
from treadle.link.c.table import TABLE
from treadle.link.c.text.kernels import CSite
from treadle.link.c.text.unit import Unit
from treadle.tensor import (
    AdvancedIncSubtensor,
    AdvancedSubtensor,
    Entry,
    IncSubtensor,
    Positions,
    Span,
    Symbolic,
    TensorNode,
    TensorVariable,
    basic_part,
    gather_plan,
)

Split = tuple[list[TensorVariable], list[TensorVariable]]


@TABLE.register(IncSubtensor)
def inc_subtensor(op: IncSubtensor, node: TensorNode, unit: Unit) -> None:
    """Write a copy, and an assignment of the values to a view of it."""
    x, y, *parts = node.inputs
    kind = x.type.dtype
    size = CTYPES[kind].size
    values, o, part = unit.slot(y), unit.owns(node.outputs[0]), unit.scratch()
    _write_target(node, unit, o)
    _view(unit, node, op.entries, o, part, iter(parts))
    part_rank = sum(isinstance(e, Span) for e in op.entries)
    kernel = f"tr_move{size}" if op.set else f"tr_add_{CTYPES[kind].short}"
    unit.call(f"tr_transfer(v + {part}, {part_rank}, v + {values}, {y.type.ndim}, {kernel})")


def _write_target(node: TensorNode, unit: Unit, o: int) -> None:
    """Write the array that is changed: the tensor itself if nothing else needs its block, otherwise a copy."""
    op: IncSubtensor | AdvancedIncSubtensor = node.op  # type: ignore[assignment]  # the rules are those of these
    x = node.inputs[0]
    ends = op.inplace or (node.inputs.count(x) == 1 and unit.dying(x, node.inputs))
    make, size = "tr_adopt" if ends else "tr_copy", ctype(x).size
    unit.call(f"{make}(v + {o}, v + {unit.slot(x)}, {x.type.ndim}, {size}, tr_move{size})")


def _view(
    unit: Unit, node: TensorNode, entries: Sequence[Entry], x: int, o: int, bounds: Iterator[TensorVariable]
) -> None:
    """Write the view that slices and positions pick, without the dimensions that arrays of positions index."""
    site = CSite(node, unit)
    axes, shift = basic_part(site, site.layout_at(x, len(entries)), entries, bounds)
    site.view_at(o, x, [axis for entry, axis in axes if not isinstance(entry, Positions)], shift)


@TABLE.register(AdvancedSubtensor)
def advanced_subtensor(op: AdvancedSubtensor, node: TensorNode, unit: Unit) -> None:
    """Write the computation of the places that the arrays pick, then a copy from each of them."""
    x, *parts = node.inputs
    o = unit.owns(node.outputs[0])
    arrays, bounds = _arrays(op.entries, parts)
    if len(arrays) == 1 and arrays[0].type.ndim == 1:
        _take(unit, node, op.entries, arrays[0], bounds)
        return
    _gather(unit, node, op.entries, unit.slot(x), parts, _Result(o, x.type.dtype, node.outputs[0].type.ndim), "")


@TABLE.register(AdvancedIncSubtensor)
def advanced_inc_subtensor(op: AdvancedIncSubtensor, node: TensorNode, unit: Unit) -> None:
    """Write a copy, the computation of the places in it that the arrays pick, then a change of each of them."""
    x, y, *parts = node.inputs
    kind = x.type.dtype
    size = CTYPES[kind].size
    values, o = unit.slot(y), unit.owns(node.outputs[0])
    _write_target(node, unit, o)
    arrays, _ = _arrays(op.entries, parts)
    plan = gather_plan(op.entries, [a.type.ndim for a in arrays])
    rank = plan.array_ndim + sum(isinstance(e, Span) for e in op.entries)
    spread = unit.scratch()
    fill = f"tr_fill_to(v + {spread}, {rank}, v + {values}, {y.type.ndim}, {size}, tr_move{size})"
    kernel = f"tr_move{size}" if op.set else f"tr_add_{CTYPES[kind].short}"
    _gather(unit, node, op.entries, o, parts, _Result(spread, kind, rank, fill), kernel)


def _take(
    unit: Unit,
    node: TensorNode,
    entries: Sequence[Entry],
    positions: TensorVariable,
    bounds: Sequence[TensorVariable],
) -> None:
    """Write a read with one vector of positions, and slices in other dimensions."""
    x, out = node.inputs[0], node.outputs[0]
    source, picked, o, part = unit.slot(x), unit.slot(positions), unit.owns(out), unit.scratch()
    (d,) = (i for i, e in enumerate(entries) if isinstance(e, Positions))
    rank, size = out.type.ndim, CTYPES[x.type.dtype].size
    _view(unit, node, entries, source, part, iter(bounds))
    other_dims = [k for k in range(rank) if k != d]
    unit.line("{")
    unit.line(f"int64_t xs[TR_ND], rs[TR_ND], n[TR_ND]; v[{o}].n[{d}] = v[{picked}].n[0];")
    for at, k in enumerate(other_dims):
        unit.line(f"v[{o}].n[{k}] = n[{at}] = v[{part}].n[{at}]; xs[{at}] = v[{part}].s[{at}];")
    unit.call(f"tr_alloc(v + {o}, {rank}, {size})")
    for at, k in enumerate(other_dims):
        unit.line(f"rs[{at}] = v[{o}].s[{k}];")
    length, stride = f"v[{source}].n[{d}]", f"v[{source}].s[{d}]"
    unit.call(
        f"tr_take_rows(v + {picked}, {length}, {stride}, tr_place_{ctype(positions).short}, v[{part}].p, v[{o}].p, "
        f"v[{o}].s[{d}], {rank - 1}, n, xs, rs, tr_move{size}, tr_pick{size})"
    )
    unit.line("(void)n; (void)xs; (void)rs; }")


class _Result(NamedTuple):
    """The array that the picked elements are copied to, or from."""

    slot: int
    dtype: str
    rank: int
    prepare: str = ""


def _arrays(entries: Sequence[Entry], parts: Sequence[TensorVariable]) -> Split:
    """Split index inputs into arrays of positions and bounds of slices."""
    inputs = iter(parts)
    arrays: list[TensorVariable] = []
    bounds: list[TensorVariable] = []
    for entry in entries:
        if isinstance(entry, Positions):
            arrays.append(next(inputs))
        elif isinstance(entry, Span):
            bounds += [next(inputs) for b in (entry.start, entry.stop, entry.step) if isinstance(b, Symbolic)]
    return arrays, bounds


def _gather(
    unit: Unit,
    node: TensorNode,
    entries: Sequence[Entry],
    x: int,
    parts: Sequence[TensorVariable],
    result: _Result,
    scatter: str,
) -> None:
    arrays, bounds = _arrays(entries, parts)
    plan = gather_plan(entries, [a.type.ndim for a in arrays])
    sliced = sum(isinstance(e, Span) for e in entries)
    size = CTYPES[result.dtype].size
    part, o = unit.scratch(), result.slot
    unit.ask_rank(result.rank)
    _view(unit, node, entries, x, part, iter(bounds))
    places = unit.table("int", [unit.slot(a) for a in arrays])
    ranks = unit.table("int", [a.type.ndim for a in arrays])
    dims = unit.table("int", plan.indexed)
    kernels = unit.table("tr_placing", [f"tr_place_{ctype(a).short}" for a in arrays])
    middle = plan.array_ndim
    unit.line("{")
    unit.line("int64_t *offsets = 0, n[TR_ND + 1], rs[TR_ND + 1], os = 0, count = 1;")
    unit.line(f"r = tr_place(v, {places}, {ranks}, {len(arrays)}, {dims}, {kernels}, v + {x}, {middle}, n, &offsets);")
    unit.line(f"for (int d = 0; !r && d < {middle}; d++) {{ v[{o}].n[{plan.place} + d] = n[d]; count *= n[d]; }}")
    unit.line(f"for (int d = 0; d < {sliced}; d++) v[{o}].n[d < {plan.place} ? d : d + {middle}] = v[{part}].n[d];")
    prepare = result.prepare or f"tr_alloc(v + {o}, {result.rank}, {size})"
    unit.line(f"if (!r) r = {prepare};")
    unit.line(f"for (int d = 0; d < {sliced}; d++) rs[d] = v[{o}].s[d < {plan.place} ? d : d + {middle}];")
    # A new array is contiguous, so the dimensions of the index arrays can be walked as one.
    unit.line(f"for (int d = {middle} - 1; d >= 0 && os == 0; d--) os = v[{o}].s[{plan.place} + d];")
    kernel = scatter or f"tr_move{size}"
    points = kernel.replace("tr_move", "tr_put" if scatter else "tr_pick").replace("tr_add_", "tr_add_points_")
    unit.line(
        f"if (!r) r = tr_gather(count, offsets, v[{part}].p, v[{o}].p, os, {sliced}, v[{part}].n, v[{part}].s, rs, "
        f"{int(bool(scatter))}, {kernel}, {points});"
    )
    unit.line("free(offsets);")
    unit.check()
    unit.line("}")
