"""Loop nests that compute elements and reduce them as they are made: the text of their kernels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from treadle.config import dataclass
from treadle.link.numba.dtypes import Storage
from treadle.link.numba.text.library import LIBRARY
from treadle.link.numba.text.loops import Array, in_blocks, in_order_of_memory, lengths, merging, nest, offset, steps
from treadle.link.numba.text.unit import Unit, indented, make_kernel


def identity(kind: str, storage: Storage) -> str:
    """Return the value that a reduction starts from, as an expression."""
    if kind in {"sum", "any"}:
        return "False" if storage.kind == "b" else f"{storage.code}(0)"
    if kind in {"prod", "all"}:
        return "True" if storage.kind == "b" else f"{storage.code}(1)"
    if storage.kind == "b":
        return "False" if kind == "max" else "True"
    if storage.kind == "f":
        return f"{storage.code}({'-' if kind == 'max' else ''}INF)"
    info = np.iinfo(storage.dtype)
    return f"{storage.code}({info.min if kind == 'max' else info.max})"


def combined(kind: str, storage: Storage, a: str, b: str) -> str:
    """Return the expression that combines two elements."""
    if kind in {"all", "any"} or storage.kind == "b":
        return f"{a} {'|' if kind in {'any', 'sum', 'max'} else '&'} {b}"
    if storage.kind == "c":
        return f"{a} {'+' if kind == 'sum' else '*'} {b}"
    if storage.kind == "f":
        return {
            "sum": f"{a} + {b}",
            "prod": f"mul_any({a}, {b})",
            "max": f"larger({a}, {b})",
            "min": f"smaller({a}, {b})",
        }[kind]
    text = {
        "sum": f"{a} + {b}",
        "prod": f"{a} * {b}",
        "max": f"pick({a} > {b}, {a}, {b})",
        "min": f"pick({a} < {b}, {a}, {b})",
    }[kind]
    return f"{storage.code}({text})"


@dataclass(frozen=True, slots=True)
class Reduced:
    """A reduction of the elements that a kernel computes."""

    # Its name, that of the array of results too, unless they are single numbers.
    name: str
    kind: str
    # The dtype that it works in.
    storage: Storage
    # The element, as an expression of that dtype.
    element: str
    # Whether it was converted: its bits are fewer, and a sum of such needs no blocks.
    is_converted: bool = False

    @property
    def has_blocks(self) -> bool:
        """Whether it is a sum with rounding errors, which is made of sums of blocks."""
        return self.kind == "sum" and self.storage.kind in "fc" and not self.is_converted

    @property
    def is_compensated(self) -> bool:
        """Whether what rounding loses is added up too, where blocks are put together."""
        return self.has_blocks and self.storage.kind == "f"

    def step(self) -> str:
        """Return the statement that takes in an element."""
        into = f"{self.name}_block" if self.has_blocks else f"{self.name}_total"
        if self.kind == "sum" and self.storage.kind == "f":
            return f"{into} = add_any({into}, {self.element})"
        return f"{into} = {combined(self.kind, self.storage, into, self.element)}"

    def start(self) -> list[str]:
        """Return the statements before the first element."""
        lines = [f"{self.name}_total = {identity(self.kind, self.storage)}"]
        return [*lines, f"{self.name}_lost = {self.storage.code}(0)"] if self.is_compensated else lines

    def before_block(self) -> list[str]:
        """Return the statements before a block."""
        return [f"{self.name}_block = {identity(self.kind, self.storage)}"] if self.has_blocks else []

    def after_block(self) -> list[str]:
        """Return the statements that add a block, and what rounding loses (Neumaier 1974)."""
        block, total, lost = (f"{self.name}_{part}" for part in ("block", "total", "lost"))
        if not self.is_compensated:
            return [f"{total} = {total} + {block}"] if self.has_blocks else []
        moved = f"{self.name}_moved"
        smaller = f"({total} - {moved}) + {block}, ({block} - {moved}) + {total}"
        return [
            f"{moved} = {total} + {block}",
            f"{lost} = {lost} + pick(fabs({total}) >= fabs({block}), {smaller})",
            f"{total} = {moved}",
        ]

    def end(self) -> list[str]:
        """Return the statements after the last element."""
        if not self.is_compensated:
            return []
        total = f"{self.name}_total"
        return [f"{total} = pick(fabs({total}) < {self.storage.code}(INF), {total} + {self.name}_lost, {total})"]


def reducing(
    stem: str,
    ndim: int,
    axes: Sequence[int],
    arrays: Sequence[Array],
    scalars: Sequence[tuple[str, str]],
    outputs: Sequence[Array],
    body: Sequence[str],
    reduced: Sequence[Reduced],
    checks: bool = False,
) -> Unit:
    """Return the kernel that runs statements for every element and reduces results of theirs over axes, or over none.

    The operands are arrays of rank `ndim`, whose elements the body reads from variables with the array's name followed
    by ``_x``, and scalars, each with its type code. It sets the variables of the outputs, which are stored as a whole,
    and, with `checks`, ``bad`` where values are refused. If all axes are reduced, the kernel returns the reductions'
    values (with `checks`, after ``bad``). Otherwise it returns ``bad`` or 0, and takes an array for each reduction, of
    which the elements on the kept axes are computed; unless the reduced axes are the last ones, they hold the values to
    start from.
    """
    last = ndim - 1
    is_whole = len(axes) == ndim
    results = [] if is_whole else [Array(r.name, r.storage, tuple(d in axes for d in range(ndim))) for r in reduced]
    every = [*arrays, *outputs]
    # The loops over the dimensions from here on are in one reduction.
    depth = next((d + 1 for d in range(last, -1, -1) if d not in axes), 0)
    lines = ["bad = 0"] if checks else []
    if is_whole and not outputs:
        lines += in_order_of_memory(arrays, arrays, ndim)
    # Transposed operands are read in strips of their rows, so that lines of memory are read once.
    across = [f"({a.name}_s{last - 1} == 1 and abs({a.name}_s{last}) > 8)" for a in arrays if not any(a.still)]
    strips = bool(across) and last > 0 and not axes and not any("= in_blocks_" in line for line in body)
    if strips:
        lines += [*in_order_of_memory(arrays, every, last), f"wide = 16 if {' or '.join(across)} else n{last}"]
    lines += merging([*every, *results], ndim)
    starts = [f"{a.name}_q = {offset(a, range(last))}" for a in every]
    loads, loads_before = _loads(arrays, last)
    elements = [*loads, *body, *_stores(outputs, last)]
    places = [_at(r, last) for r in results]
    starts_of_results = [f"{r.name}_q = {offset(r, range(last))}" for r in results]
    if depth > last:
        joined = [
            _combine(r, f"{array.name}[{place}]", r.element)
            for r, array, place in zip(reduced, results, places, strict=True)
        ]
        ends = ("start", "stop") if strips else ()
        inside = [*starts, *starts_of_results, *loads_before, *steps(last, [*elements, *joined], *ends)]
    else:
        inside = [*starts, *loads_before, *blocks(last, elements, reduced)]
        for d in range(last - 1, depth - 1, -1):
            inside = [f"for d{d} in range(n{d}):", *indented(inside)]
        inside = [*(line for r in reduced for line in r.start()), *inside, *(line for r in reduced for line in r.end())]
        inside += starts_of_results
        is_only = depth == ndim - len(axes)
        for r, array in zip(reduced, results, strict=False):
            place, total = f"{array.name}[{array.name}_q]", f"{r.name}_total"
            inside.append(f"{place} = {r.storage.stored(total)}" if is_only else _combine(r, place, total))
    returned = [*(["bad"] if checks else []), *(f"{r.name}_total" for r in reduced if is_whole)]
    loops = nest(min(depth, last), inside)
    lines += [*(in_blocks(last, loops, "wide") if strips else loops), f"return {', '.join(returned) or '0'}"]
    params = [*lengths(ndim), *(p for a in (*every, *results) for p in a.params()), *scalars]
    return make_kernel(stem, params, lines, LIBRARY.used_by("\n".join(lines)))


def _loads(arrays: Sequence[Array], last: int) -> tuple[list[str], list[str]]:
    """Return the statements that read the elements, in the innermost loop and before it."""
    loads: list[str] = []
    before: list[str] = []
    for a in arrays:
        load = f"{a.name}_x = " + a.storage.loaded(f"{a.name}[{_at(a, last)}]")
        (before if a.still[last] else loads).append(load)
    return loads, before


def _stores(outputs: Sequence[Array], last: int) -> list[str]:
    """Return the statements that write the elements of the results."""
    return [f"{o.name}[{_at(o, last)}] = " + o.storage.stored(f"{o.name}_x") for o in outputs]


def _at(a: Array, last: int) -> str:
    """Return the position of an element in the innermost loop."""
    return f"{a.name}_q" if a.still[last] else f"{a.name}_q + d{last} * {a.stride(last)}"


def blocks(last: int, elements: Sequence[str], reduced: Sequence[Reduced]) -> list[str]:
    """Return the loop over the last dimension, in which statements compute the elements of reductions."""
    inner = [*elements, *(r.step() for r in reduced)]
    if not any(r.has_blocks for r in reduced):
        return steps(last, inner)
    before = [line for r in reduced for line in r.before_block()]
    after = [line for r in reduced for line in r.after_block()]
    return in_blocks(last, [*before, *steps(last, inner, "start", "stop"), *after])


def _combine(r: Reduced, place: str, value: str) -> str:
    loaded = f"({r.storage.loaded(place)})"
    return f"{place} = {r.storage.stored(combined(r.kind, r.storage, loaded, value))}"
