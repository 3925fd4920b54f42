"""Helper functions that a graph's program will probably call: they are compiled while the graph is still rewritten.

On a machine whose compile directory has none, their compilation takes longer than that of the program's own text. Which
ones it will be is told from the ops of the graph before rewriting. A guess may be wrong: what is missing then is
compiled with the program, as all helpers are without a guess.
"""

from __future__ import annotations

import contextlib
from collections import defaultdict
from typing import TYPE_CHECKING

from treadle.config import TreadleError, new_lock
from treadle.graph import Constant, DeepCopyOp, FunctionGraph, HasInnerGraph, Unsupported
from treadle.kernels import TABLE as KERNELS
from treadle.link.c.assembly import Assembly, helper_head
from treadle.link.c.checking import has_type
from treadle.link.c.conventions.dtypes import CTYPES
from treadle.link.c.linking import ANTICIPATED, LINKS_HELPERS, helper_library
from treadle.link.c.lower.reductions.reduction import reducer_name
from treadle.link.c.objects import OBJECTS, Source
from treadle.link.c.support.prebuilt import PREBUILT
from treadle.link.c.text.expression import expression
from treadle.link.c.text.prelude import HEADERS
from treadle.link.c.text.unit import FEWEST_OPERANDS, rounded_rank, write_unit
from treadle.link.c.toolchain import Toolchain, find_toolchain, support_cache
from treadle.tensor import (
    AdvancedIncSubtensor,
    AdvancedSubtensor,
    AllocDiag,
    DimShuffle,
    Elemwise,
    IncSubtensor,
    Join,
    LogSoftmax,
    LogSumExp,
    MatMul,
    Reduction,
    Scan,
    ShapeI,
    Softmax,
    SumTo,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from treadle.graph import Apply, Op, Variable

    # The nodes that read each variable, and at which place.
    Clients = Mapping[Variable, Collection[tuple[Apply, int]]]

# What every program calls, and what programs call that have more than one loop.
_EACH = ("tr_execute", "tr_block8", "tr_vectors")
_LOOPS = ("tr_alloc", "tr_release", "tr_scalars", "tr_transfer", "tr_move8", "tr_fused")
_SUMMED = ("tr_sum_to", "tr_keep", "tr_reduce")
# What loops call; those of numbers the first two.
_STEPS = ("tr_rows_begin", "tr_watch", "tr_adopt", "tr_copy", "tr_drop", "tr_pass", "tr_rows_put")


class _Anticipation:
    """Begins the compilation of helpers, once for those that are told from a kind of graph."""

    def __init__(self) -> None:
        self._lock = new_lock()
        self._asked: set[tuple[Path, Toolchain, str, tuple[str, ...]]] = set()
        # Compile directories in which nothing was when this process came.
        self._new: set[Path] = set()

    def begin_first(self, nodes: Sequence[Apply]) -> None:
        """Begin what is told without the tables of functions, and is in no other package."""
        self._new.add(support_cache().directory)
        if all(map(_has_types, nodes)):
            nodes = _with_inner(nodes)
            self._begin(_rank(nodes), [*_simple(nodes), *_of_ops(nodes, _clients(nodes))], first=True)

    def begin(self, fgraph: FunctionGraph) -> None:
        if all(has_type(v.type) for v in (*fgraph.inputs, *fgraph.outputs)):
            nodes = _with_inner(fgraph.apply_nodes)
            clients, rank = _clients(nodes) | fgraph.clients, _rank(nodes)
            ANTICIPATED[fgraph] = rank
            names = [*_simple(nodes), *_of_ops(nodes, clients), *_of_functions(nodes, clients)]
            self._begin(rank, names, first=False)
            if support_cache().directory in self._new:
                self._begin(rank, _of_kernels(nodes, clients), first=False)

    def _begin(self, rank: int, names: Sequence[str], *, first: bool) -> None:
        toolchain = find_toolchain()
        if isinstance(toolchain, str) or not LINKS_HELPERS or toolchain.threads:
            return
        # The definitions that the helpers will probably have in front of them.
        head = HEADERS + helper_head(rounded_rank(rank), FEWEST_OPERANDS)
        names = tuple(dict.fromkeys(names))
        question = support_cache().directory, toolchain, head, names
        with self._lock:
            if question in self._asked:
                return
            self._asked.add(question)
        library = helper_library(toolchain, complete=not first)
        linked = tuple(library.closed(filter(library.is_linked, library.linked(" ".join(names)))))
        source = Source("", head, library, linked)
        prebuilt = PREBUILT.archives(toolchain, linked, lambda name: source.object_text([name]))
        missing = [name for name in linked if name not in prebuilt]
        # Many are compiled by two runs at once.
        simple = {*library.closed((*_EACH, *_LOOPS, *_SUMMED))}
        for part in ([n for n in missing if n in simple], [n for n in missing if n not in simple]):
            OBJECTS.begin(toolchain, Source("", head, library, tuple(part)))


_ANTICIPATION = _Anticipation()


def foresee(nodes: Sequence[Apply]) -> None:
    """Begin to compile those helpers in the background that programs of any ops call, for the nodes of a graph."""
    with contextlib.suppress(TreadleError, OSError, RuntimeError):
        _ANTICIPATION.begin_first(nodes)


def anticipate(fgraph: FunctionGraph) -> None:
    """Begin to compile helpers in the background that a program for a graph will probably call, if none has them."""
    # What is wrong comes again when the graph is linked, with the node that it is about; a process that ends starts no
    # threads.
    with contextlib.suppress(TreadleError, OSError, RuntimeError):
        _ANTICIPATION.begin(fgraph)


def _with_inner(nodes: Iterable[Apply]) -> list[Apply]:
    """Return nodes with those of the graphs that they hold."""
    found = [*nodes]
    for node in found:
        if isinstance(node.op, HasInnerGraph):
            found += node.op.fgraph.apply_nodes
    return found


def _clients(nodes: Iterable[Apply]) -> defaultdict[Variable, list[tuple[Apply, int]]]:
    clients: defaultdict[Variable, list[tuple[Apply, int]]] = defaultdict(list)
    for node in nodes:
        for at, x in enumerate(node.inputs):
            clients[x].append((node, at))
    return clients


def _rank(nodes: Iterable[Apply]) -> int:
    """Return the most dimensions: a program asks for so many, since helpers for fewer would be compiled after it."""
    variables = (x for node in nodes for x in (*node.inputs, *node.outputs))
    return max((x.type.ndim for x in variables if has_type(x.type)), default=1)  # type: ignore[attr-defined]  # tensors


def _simple(nodes: Iterable[Apply]) -> Iterator[str]:
    """Yield the names of helpers that programs of any ops call."""
    yield from _EACH
    for node in nodes:
        if isinstance(node.op, Reduction | SumTo | MatMul | AdvancedSubtensor | AdvancedIncSubtensor):
            yield from _LOOPS
        if isinstance(node.op, SumTo):
            yield _SUMMED[0]
        elif isinstance(node.op, Reduction):
            made = node.inputs[0].owner
            # Reductions of elementwise functions become one loop with them.
            if made is None or not isinstance(made.op, Elemwise):
                yield from _SUMMED


def _of_ops(nodes: Iterable[Apply], clients: Clients) -> Iterator[str]:
    """Yield the names of further helpers, but for those of functions of elements."""
    for node in nodes:
        if isinstance(node.op, Reduction):
            if node.op.kind in {"sum", "max", "any", "all"} and has_type(node.inputs[0].type):
                yield reducer_name(node.op, node.inputs[0].type.dtype)  # type: ignore[attr-defined]  # a tensor's
            if _is_normalized(node, clients):
                yield from ("tr_keep", f"tr_normalize_{_short(node.outputs[0])}")
        elif isinstance(node.op, MatMul):
            yield from _of_product(node, clients)
        elif isinstance(node.op, AdvancedSubtensor | AdvancedIncSubtensor | IncSubtensor):
            yield "tr_adopt"
        elif isinstance(node.op, Softmax | LogSoftmax | LogSumExp) and has_type(node.outputs[0].type):
            yield from ("tr_keep", f"tr_normalize_{_short(node.outputs[0])}")
        elif isinstance(node.op, Join):
            yield "tr_join"
        elif isinstance(node.op, AllocDiag):
            yield from ("tr_adopt", "tr_reshape")
        elif isinstance(node.op, Scan):
            is_of_numbers = all(has_type(x.type) and not x.type.ndim for x in node.op.fgraph.inputs)  # type: ignore[attr-defined]  # tensors
            yield from _STEPS[:2] if is_of_numbers else _STEPS


def _of_functions(nodes: Iterable[Apply], clients: Clients) -> Iterator[str]:
    """Yield the names of the functions on blocks that elementwise nodes call."""
    for node in nodes:
        if not isinstance(node.op, Elemwise) or _is_replaced(node, clients) or not _has_types(node):
            continue
        with contextlib.suppress(Unsupported):
            blocks = [x for x in expression(node.op, node).operations if x.block]
            yield from (f"tr_v_{x.block}_{CTYPES[x.dtype].short}" for x in blocks)


def _is_replaced(node: Apply, clients: Clients) -> bool:
    """Whether something else will take the place of a node: of a constant power, or of exponentials and their sum."""
    name = _scalar_name(node.op)
    if name == "pow":
        made = node.inputs[1].owner
        exponent = made.inputs[0] if made is not None and isinstance(made.op, DimShuffle) else node.inputs[1]
        return isinstance(exponent, Constant)
    uses = [client for client, _ in clients[node.outputs[0]]]
    return (
        name == "exp" and bool(uses) and all(isinstance(x.op, Reduction) and _is_normalized(x, clients) for x in uses)
    )


def _is_normalized(node: Apply, clients: Clients) -> bool:
    """Whether a node is the sum of exponentials that a softmax, its logarithm or a logsumexp is made of."""
    (x,), (total,) = node.inputs, node.outputs
    if node.op.kind != "sum" or x.owner is None or _scalar_name(x.owner.op) != "exp" or not has_type(total.type):  # type: ignore[attr-defined]  # a reduction's
        return False
    uses = [client.op for client, _ in clients[total]]
    uses += [
        further.op
        for client, _ in clients[total]
        if isinstance(client.op, DimShuffle)
        for further, _ in clients[client.outputs[0]]
    ]
    return any(_scalar_name(op) in {"log", "true_div"} for op in uses)


def _of_product(node: Apply, clients: Clients) -> Iterator[str]:
    kind = node.outputs[0].type
    if not _has_types(node):
        return
    short = _short(node.outputs[0])
    yield f"tr_matmul_{short}"
    if 1 not in kind.shape:  # type: ignore[attr-defined]  # as above
        yield from ("tr_elemwise", "tr_block1")
        readers = [client for client, _ in clients[node.outputs[0]] if client.outputs]
        steps = [client for x in readers if _scalar_name(x.op) == "mul" for client, _ in clients[x.outputs[0]]]
        sums = [x for x in readers if all(_scalar_name(client.op) == "add" for client, _ in clients[x.outputs[0]])]
        if any(_scalar_name(x.op) in {"add", "sub"} for x in (*steps, *sums)):
            # A step along a gradient, or what a loop adds up.
            yield f"tr_accumulate_{short}"


def _of_kernels(nodes: Iterable[Apply], clients: Clients) -> list[str]:
    """Return the names of kernels, told by writing each node of an op that has some alone."""
    library = helper_library(find_toolchain())  # type: ignore[arg-type]  # there is one
    written: dict[tuple[object, ...], Sequence[str]] = {}
    for node in nodes:
        if node.op.view_map or KERNELS.find(node.op) is None or not _has_types(node):
            continue
        spare = tuple(_is_spare(x, clients) for x in node.inputs)
        kind = node.op, *(x if isinstance(x, Constant) else x.type for x in node.inputs), spare
        if kind not in written:
            written[kind] = ()
            with contextlib.suppress(TreadleError, Unsupported):
                unit = write_unit(_alone(node, spare))
                written[kind] = Assembly(unit).source(library, link=True).helpers
    return [name for names in written.values() for name in names if name.startswith("tr_k_")]


def _is_spare(x: Variable, clients: Clients) -> bool:
    """Whether a variable is a result, or a view of one, that nothing but one node reads, its shape apart."""
    while x.owner is not None and sum(not isinstance(client.op, ShapeI) for client, _ in clients[x]) == 1:
        if not x.owner.op.view_map:
            return True
        x = x.owner.inputs[0]
    return False


def _alone(node: Apply, spare: Sequence[bool]) -> FunctionGraph:
    """Return a graph of one node, which may overwrite the inputs that are `spare`."""
    given = [x if isinstance(x, Constant) else x.type.make_variable() for x in node.inputs]
    read = [DeepCopyOp()(x) if is_spare else x for x, is_spare in zip(given, spare, strict=True)]
    return FunctionGraph([x for x in given if not isinstance(x, Constant)], node.op.make_node(*read).outputs)


def _has_types(node: Apply) -> bool:
    return all(has_type(x.type) for x in (*node.inputs, *node.outputs))


def _short(var: Variable) -> str:
    return CTYPES[var.type.dtype].short  # type: ignore[attr-defined]  # a tensor's


def _scalar_name(op: Op) -> str:
    return getattr(op.scalar_op, "name", "") if isinstance(op, Elemwise) else ""
