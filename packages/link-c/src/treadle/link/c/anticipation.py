"""Helper functions that a graph's program will probably call: they are compiled while the graph is still rewritten.

On a machine whose compile directory has none, their compilation takes longer than that of the program's own text. Which
ones it will be is told from the ops of the graph before rewriting. A guess may be wrong: what is missing then is
compiled with the program, as all helpers are without a guess.
"""

from __future__ import annotations

import contextlib
from functools import partial
from typing import TYPE_CHECKING

from treadle.config import TreadleError, new_lock
from treadle.graph import Constant
from treadle.link.c.assembly import helper_head
from treadle.link.c.background import BACKGROUND
from treadle.link.c.checking import has_type
from treadle.link.c.conventions.dtypes import CTYPES
from treadle.link.c.linking import LINKS_HELPERS, helper_library
from treadle.link.c.lower.reductions.reduction import reducer_name
from treadle.link.c.objects import OBJECTS, Source
from treadle.link.c.runtime.vectors import BLOCK_FUNCTIONS
from treadle.link.c.support.prebuilt import PREBUILT
from treadle.link.c.text.prelude import HEADERS
from treadle.link.c.text.simd import simd_functions
from treadle.link.c.text.unit import FEWEST_SPARES, rounded_count, rounded_rank
from treadle.link.c.toolchain import Toolchain, find_toolchain, support_cache
from treadle.tensor import (
    AdvancedIncSubtensor,
    AdvancedSubtensor,
    DimShuffle,
    Elemwise,
    MatMul,
    Reduction,
    SumTo,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from treadle.graph import Apply, FunctionGraph, Op

# What every program calls, and what programs call that have more than one loop.
_EACH = ("tr_execute", "tr_block8", "tr_vectors")
_LOOPS = ("tr_alloc", "tr_release", "tr_scalars", "tr_transfer", "tr_move8", "tr_fused", "tr_ahead")
_SUMMED = ("tr_sum_to", "tr_keep", "tr_reduce")
_TAKEN = ("tr_take_rows", "tr_gather", "tr_pick8", "tr_adopt", "tr_place", "tr_place_i64")


class _Anticipation:
    """Begins the compilation of helpers, once for those that are told from a kind of graph."""

    def __init__(self) -> None:
        self._lock = new_lock()
        self._asked: set[tuple[Path, Toolchain, str, tuple[str, ...]]] = set()

    def begin(self, fgraph: FunctionGraph) -> None:
        toolchain = find_toolchain()
        if isinstance(toolchain, str) or not LINKS_HELPERS or toolchain.threads or not _is_taken(fgraph):
            return
        head, names = HEADERS + _head(fgraph), tuple(dict.fromkeys(_names(fgraph)))
        question = support_cache().directory, toolchain, head, names
        with self._lock:
            if question in self._asked:
                return
            self._asked.add(question)
        library = helper_library(toolchain)
        linked = tuple(filter(library.is_linked, library.linked(" ".join(names))))
        source = Source("", head, library, linked)
        prebuilt = PREBUILT.archives(toolchain, linked, lambda name: source.object_text([name]))
        missing = [name for name in linked if name not in prebuilt]
        # Many are compiled by two runs at once.
        simple = {*_EACH, *_LOOPS, *_SUMMED}
        parts = ([n for n in missing if n in simple], [n for n in missing if n not in simple])
        for part in parts:
            OBJECTS.begin(toolchain, Source("", head, library, tuple(part)))
        if any(_scalar_name(node.op) in BLOCK_FUNCTIONS for node in fgraph.apply_nodes):
            # Whether the C library has them is found out by a run of the compiler, too.
            BACKGROUND.start(partial(simd_functions, toolchain), "probe")


_ANTICIPATION = _Anticipation()


def anticipate(fgraph: FunctionGraph) -> None:
    """Begin to compile helpers in the background that a program for a graph will probably call, if none has them."""
    # What is wrong comes again when the graph is linked, with the node that it is about; a process that ends starts no
    # threads.
    with contextlib.suppress(TreadleError, OSError, RuntimeError):
        _ANTICIPATION.begin(fgraph)


def _is_taken(fgraph: FunctionGraph) -> bool:
    return all(has_type(v.type) for v in (*fgraph.inputs, *fgraph.outputs))


def _names(fgraph: FunctionGraph) -> Iterator[str]:
    """Yield names of helpers."""
    yield from _EACH
    for node in fgraph.apply_nodes:
        if isinstance(node.op, Reduction):
            yield from (*_LOOPS, *_SUMMED)
            if node.op.kind in {"sum", "max"} and has_type(node.inputs[0].type):
                yield reducer_name(node.op, node.inputs[0].type.dtype)  # type: ignore[attr-defined]  # a tensor's
        elif isinstance(node.op, SumTo):
            yield from (*_LOOPS, *_SUMMED)
        elif isinstance(node.op, MatMul):
            yield from _LOOPS
            yield from _of_product(node, fgraph)
        elif isinstance(node.op, AdvancedSubtensor | AdvancedIncSubtensor):
            yield from (*_LOOPS, *_TAKEN)


def _of_product(node: Apply, fgraph: FunctionGraph) -> Iterator[str]:
    kind = node.outputs[0].type
    if not has_type(kind) or not all(has_type(x.type) for x in node.inputs):
        return
    short = CTYPES[kind.dtype].short  # type: ignore[attr-defined]  # a tensor's
    yield f"tr_matmul_{short}"
    if 1 not in kind.shape:  # type: ignore[attr-defined]  # as above
        yield from ("tr_elemwise_runs", "tr_block1")
        scaled = [client for client, _ in fgraph.clients[node.outputs[0]] if _scalar_name(client.op) == "mul"]
        uses = (client.op for each in scaled for client, _ in fgraph.clients[each.outputs[0]])
        if any(_scalar_name(op) in {"add", "sub"} for op in uses):
            # A step along a gradient.
            yield f"tr_accumulate_{short}"


def _scalar_name(op: Op) -> str:
    return getattr(op.scalar_op, "name", "") if isinstance(op, Elemwise) else ""


def _head(fgraph: FunctionGraph) -> str:
    """Return the definitions that the helpers will probably have in front of them."""
    rank = max((v.type.ndim for v in fgraph.variables if has_type(v.type)), default=1)  # type: ignore[attr-defined]  # tensors
    leaves = {
        x.data.tobytes() if isinstance(x, Constant) and has_type(x.type) else x
        for node in fgraph.apply_nodes
        for x in node.inputs
        if x.owner is None
    }
    # Loops end where something else is computed than elements.
    is_one = all(isinstance(node.op, Elemwise | DimShuffle) for node in fgraph.apply_nodes)
    operands = len(leaves) if is_one else len(leaves) // 2
    return helper_head(rounded_rank(rank), rounded_count(operands), FEWEST_SPARES)
