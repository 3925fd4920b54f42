"""The text around a graph's statements: the function that Python calls, and the one that other compiled code calls."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from treadle.config import dataclass
from treadle.graph import FunctionGraph, overwritten_arguments
from treadle.link.numba.dtypes import STORAGES
from treadle.link.numba.routines.externals import FIXED_WORDS
from treadle.link.numba.routines.objects import SINGLE, TYPE, dtype_word
from treadle.link.numba.status import CHECK, MEMORY
from treadle.link.numba.text.library import LIBRARY
from treadle.link.numba.text.unit import Unit, indented, make_kernel
from treadle.tensor import SHORT_VECTOR, TensorType, locking_of, tensors

_LET_GO, _TAKE = "state = python_PyEval_SaveThread_n(0)", "python_PyEval_RestoreThread_w(state)"
# A frame of so many words at most stands on the stack.
_MOST_ON_STACK = 512


@dataclass(frozen=True, slots=True)
class Result:
    """An output of a graph: a buffer of its own with its lengths, or for rank 0 the expression of its value's place."""

    slot: int
    dims: tuple[str, ...]
    place: str = ""


def words_of(kinds: Sequence[TensorType]) -> list[int]:
    """Return where the words of inputs begin: for each an address, lengths, and strides in elements; then their end."""
    return [*accumulate((1 + 2 * kind.ndim for kind in kinds), initial=0)]


def result_words(kinds: Sequence[TensorType], first: int) -> list[int]:
    """Return where the words of outputs begin: for each a buffer and lengths, or for rank 0 its value; then their end.

    A value has two words.
    """
    return [*accumulate((1 + kind.ndim if kind.ndim else 2 for kind in kinds), initial=first)]


def performing(
    fgraph: FunctionGraph,
    graph: Unit,
    names: Sequence[str],
    results: Sequence[Result],
    lengths: Sequence[str],
    slots: int,
    words: int,
) -> Unit:
    """Return the function from a program's table and words of its arguments to a status, and words of its results.

    `graph` runs the statements in a frame of `slots` and `words`; it takes what `names` stand for, which are the words
    of the arguments, and returns `lengths`.
    """
    inputs, outputs = [v.type for v in tensors(fgraph.inputs)], [v.type for v in tensors(fgraph.outputs)]
    starts = words_of(inputs)
    # Rounded up, so that the frame's address is aligned as blocks of Numba's runtime are.
    words = -8 * (-words // 8)
    count = words + slots + 1
    on_stack = count <= _MOST_ON_STACK
    room = f"(place_i8(room_i8_{count + 8}(0)) + 63) // 64 * 64" if on_stack else "0"
    lines = [
        "given = as_i8(words)",
        f"frame = open_frame({slots}, {words}, as_i8(table)[{FIXED_WORDS - 1}], {room})",
        *([] if on_stack else ["if frame == 0:", f"    return {MEMORY}"]),
        *(f"{name} = given[{k}]" for k, name in enumerate(names)),
        f"{', '.join(['status', *lengths])} = {graph.name}({', '.join(['table', 'frame', *names])})",
    ]
    stores = []
    for kind, r, at in zip(outputs, results, result_words(outputs, starts[-1]), strict=False):
        if kind.ndim:
            stores.append(f"given[{at}] = take(frame, {r.slot})")
            stores += [f"given[{at + 1 + d}] = {n}" for d, n in enumerate(r.dims)]
        else:
            memory = STORAGES[kind.dtype].memory
            stores.append(f"as_{memory}(words + {8 * at})[0] = {r.place}")
    lines += [
        *(["if status == 0:", *indented(stores)] if stores else []),
        f"close_frame(frame, {slots})",
        "return status",
    ]
    return make_kernel(
        "perform", [("table", "i8"), ("words", "i8")], lines, (graph, *LIBRARY.used_by("\n".join(lines)))
    )


def entry(fgraph: FunctionGraph, perform: Unit) -> Unit:
    """Return the function that Python calls, with an array as what it belongs to: the program's table.

    It reads arrays, runs the graph, and makes arrays. With a number of arguments below 0, it is called by compiled
    code, with a table and words as for `performing`.
    """
    inputs, outputs = [v.type for v in tensors(fgraph.inputs)], [v.type for v in tensors(fgraph.outputs)]
    starts = words_of(inputs)
    ends = result_words(outputs, starts[-1])
    overwritten = overwritten_arguments(fgraph.inputs, fgraph.toposort())
    lines = [
        "if count < 0:",
        f"    return {perform.name}(self, args)",
        f"table = as_i8(self)[{object.__basicsize__ // 8}]",
        "t = as_i8(table)",
        f"given = room_i8_{ends[-1] + 1}(0)",
        "place = place_i8(given)",
        f"status = {CHECK}",
        f"if count == {len(inputs)} and names == 0:",
    ]
    checks = ["x = as_i8(args)", "wrong = 0"]
    for i, (kind, at) in enumerate(zip(inputs, starts, strict=False)):
        descr = f"t[{dtype_word(kind.dtype)}]"
        shift = STORAGES[kind.dtype].shift
        checks.append(f"wrong = wrong | entered(x[{i}], t[{TYPE}], {descr}, {kind.ndim}, {shift}, place + {8 * at})")
        known = [f"given[{at + 1 + d}] != {n}" for d, n in enumerate(kind.shape) if n is not None]
        if known:
            # What is not an array has not been read.
            checks.append(f"wrong = wrong | i8(wrong == 0 and ({' or '.join(known)}))")
        if i in overwritten:
            checks.append(f"wrong = wrong | i8(wrong == 0 and is_read_only(x[{i}]))")
    run = [f"status = {perform.name}(table, place)"]
    locking = locking_of(fgraph)
    is_long = [f"given[{at + 1}] > {SHORT_VECTOR}" for kind, at in zip(inputs, starts, strict=False) if kind.ndim]
    if locking == "release":
        run = [_LET_GO, *run, _TAKE]
    elif locking == "release if long" and is_long:
        run = ["state = 0", f"if {' or '.join(is_long)}:", f"    {_LET_GO}", *run, "if state != 0:", f"    {_TAKE}"]
    lines += [*indented([*checks, "if wrong == 0:", *indented(run)])]
    lines += ["if status != 0:", "    return refused(table, args, count, names, status)"]
    lines.append(f"made = room_i8_{len(outputs) + 1}(0)")
    for k, (kind, at) in enumerate(zip(outputs, ends, strict=False)):
        descr, size = f"t[{dtype_word(kind.dtype)}]", STORAGES[kind.dtype].itemsize
        maker = f"made_array(table, {descr}, {kind.ndim}," if kind.ndim else f"made_number(table, {descr},"
        lines.append(f"made[{k}] = {maker} place + {8 * at}, {size})")
    if len(outputs) == 1:
        lines += [f"if t[{SINGLE}] != 0:", "    return made[0]"]
    lines.append(f"return listed(place_i8(made), {len(outputs)})")
    params = [("self", "i8"), ("args", "i8"), ("count", "i8"), ("names", "i8")]
    return make_kernel("run", params, lines, (perform, *LIBRARY.used_by("\n".join(lines))))
