"""Kernels that read and change the elements that arrays of positions pick, in stretches of positions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeVar

from treadle.kernels import Kernel, TextKernels, kernel
from treadle.kernels.language import INDEX, OK, Number, Pointer, independent, int64, itemsize, local, select, uint64

P = TypeVar("P", bound=Number)
T = TypeVar("T", bound=Number)
# So many places are found before what is there is read or changed; few are found one by one.
STRETCH, FEW = 512, 16
# Elements of a stretch whose first and last are nearer than this, as those of a mask, are in the cache.
NEAR = 8192


@kernel(inline=True)
def from_start(p: Pointer[P], at: int, n: int) -> int:
    """Return a position counted from the start."""
    k = int(p[at])
    return select(k < 0, k + n, k)


@kernel(inline=True)
def find_places(
    p: Pointer[P], stride: int, n: int, step: int, count: int, places: Pointer[int64], *, first: bool
) -> int:
    """Write how far behind the first element others are that positions pick; unless first, add to what is written.

    Returns other than 0 if a position is out of bounds.
    """
    bad = 0
    if stride == 1:
        for i in independent(range(count)):
            at = from_start(p, i, n)
            bad += int(uint64(at) >= uint64(n))
            places[i] = at * step if first else places[i] + at * step
    elif stride == 0:
        single = from_start(p, 0, n)
        bad = int(uint64(single) >= uint64(n))
        for j in independent(range(count)):
            places[j] = single * step if first else places[j] + single * step
    else:
        for q in range(count):
            at = from_start(p, q * stride, n)
            bad += int(uint64(at) >= uint64(n))
            places[q] = at * step if first else places[q] + at * step
    return bad


@kernel(inline=True)
def read_near(places: Pointer[int64], m: int, source: Pointer[T], target: Pointer[T]) -> bool:
    """Read elements that are near each other one at a time; return whether they are, and are not written by vectors.

    Processors take a third to a half of the time that instructions which gather them take.
    """
    if itemsize(T) < 4:
        return False
    if abs(places[m - 1] - places[0]) >= NEAR:
        return False
    for i in range(m):
        target[i] = source[places[i]]
    return True


class Picking(NamedTuple):
    """What is done with the elements that arrays pick, and of how many arrays and dimensions."""

    # The text of an assignment to or of ``source[{a}]``, the other side of which is ``target[{b}]``, or a number ``y``.
    statement: str
    # Whether elements are only read: then no pick has to wait for those before it.
    reads: bool
    # How many arrays there are, how many dimensions they have together, and how many others there are.
    arrays: int
    picks: int
    others: int
    # Whether each element has a value of its own in an array ``y``.
    has_values: bool


_KERNELS = TextKernels()


def picking(how: Picking) -> Kernel:
    """Return the kernel.

    It takes for each array its pointer, its strides along the picks, and length and step of the dimension that it
    indexes; the lengths of the picks and of the other dimensions; the tensor's pointer, how far behind it the first
    element is, and its steps along the other dimensions; and y, with its strides along picks and other dimensions.
    """
    picks, others, arrays = range(how.picks), range(how.others), range(how.arrays)
    parameters = [
        text
        for k in arrays
        for text in (f"p{k}: Pointer[P{k}]", *_ints(f"p{k}_s", picks), f"p{k}_n: int", f"p{k}_step: int")
    ]
    parameters += [*_ints("count", picks), *_ints("n", others), "x: Pointer[T]", "shift: int", *_ints("x_s", others)]
    parameters += ["y: Pointer[T]", *_ints("y_p", picks), *_ints("y_s", others)] if how.has_values else ["y: T"]
    few, many = _indented(_one_by_one(how)), _indented(_in_stretches(how))
    lines = [f"if count{how.picks - 1} < {FEW}:", *few, "else:", *many]
    body = [f"places = local(int64, {STRETCH})", "source = x + shift", *_merging(how), *lines, "return OK"]
    text = "\n".join([f"def NAME({', '.join(parameters)}) -> int:", *_indented(body), ""])
    scope = {"find_places": find_places, "from_start": from_start, "local": local, "independent": independent}
    scope |= {"read_near": read_near, "int64": int64, "uint64": uint64, "Pointer": Pointer}
    scope |= {"OK": OK, "INDEX": INDEX, "T": T}
    types = {f"P{k}": TypeVar(f"P{k}", bound=Number) for k in arrays}
    return _KERNELS.get("picked", text, {**scope, **types})


def _in_stretches(how: Picking) -> list[str]:
    """Return the loops over picks, the innermost in stretches."""
    *outer, last = range(how.picks)
    lines = [f"m = min({STRETCH}, count{last} - start)", "bad = 0"]
    for k in range(how.arrays):
        place = _sum([*(f"at{d} * p{k}_s{d}" for d in outer), f"start * p{k}_s{last}"])
        found = f"find_places(p{k} + {place}, p{k}_s{last}, p{k}_n, p{k}_step, m, places, first={k == 0})"
        lines.append(f"bad += {found}")
    lines += ["if bad != 0:", "    return INDEX"]
    if how.has_values:
        lines.append(f"target = y + {_sum([*(f'at{d} * y_p{d}' for d in outer), f'start * y_p{last}'])}")
    head = "for i in independent(range(m)):" if how.reads and not how.others else "for i in range(m):"
    each = [head, *_indented(_changed(how, "places[i]", f"i * y_p{last}"))]
    if how.has_values and not how.others:
        packed = [head.replace("i in", "j in"), f"    {how.statement.format(a='places[j]', b='j')}"]
        if how.reads:
            packed = ["if not read_near(places, m, source, target):", *_indented(packed)]
        each = [f"if y_p{last} == 1:", *_indented(packed), "else:", *_indented(each)]
    lines += each
    lines = ["start = 0", f"while start < count{last}:", *_indented([*lines, f"start += {STRETCH}"])]
    for d in reversed(outer):
        lines = [f"for at{d} in range(count{d}):", *_indented(lines)]
    return lines


def _one_by_one(how: Picking) -> list[str]:
    """Return the loops over picks that find one place after another."""
    picks, lines = range(how.picks), []
    for k in range(how.arrays):
        place = " + ".join(f"to{d} * p{k}_s{d}" for d in picks)
        lines += [
            f"k{k} = from_start(p{k}, {place}, p{k}_n)",
            f"if uint64(k{k}) >= uint64(p{k}_n):",
            "    return INDEX",
        ]
    if how.has_values:
        lines.append(f"target = y + {_sum([f'to{d} * y_p{d}' for d in picks])}")
    lines += _changed(how, _sum([f"k{k} * p{k}_step" for k in range(how.arrays)]), "0")
    for d in reversed(picks):
        lines = [f"for to{d} in range(count{d}):", *_indented(lines)]
    return lines


def _merging(how: Picking) -> list[str]:
    """Return the statements that make one of the last dimensions, as far as they follow each other in memory."""
    last = how.others - 1
    lines: list[str] = []
    for d in range(last - 1, -1, -1):
        conditions = [*(f"n{e} == 1" for e in range(d + 1, last)), f"x_s{d} == n{last} * x_s{last}"]
        conditions += [f"y_s{d} == n{last} * y_s{last}"] if how.has_values else []
        lines += [f"if {' and '.join(conditions)}:", f"    n{last} = n{d} * n{last}", f"    n{d} = 1"]
    return lines


def _changed(how: Picking, a: str, b: str) -> list[str]:
    """Return the loops over the other dimensions, for one pick, whose first elements are at a and b."""
    last = how.others - 1
    if not how.others:
        return [how.statement.format(a=a, b=b)]
    lines = [f"a = {_sum([a, *(f'd{d} * x_s{d}' for d in range(last))])}"]
    if how.has_values:
        lines.append(f"b = {_sum([b, *(f'd{d} * y_s{d}' for d in range(last))])}")
    near = f"x_s{last} == 1 and y_s{last} == 1" if how.has_values else f"x_s{last} == 1"
    lines += [
        f"if {near}:",
        f"    for e in independent(range(n{last})):",
        f"        {how.statement.format(a='a + e', b='b + e')}",
        "else:",
        f"    for f in independent(range(n{last})):",
        f"        {how.statement.format(a=f'a + f * x_s{last}', b=f'b + f * y_s{last}')}",
    ]
    for d in range(last - 1, -1, -1):
        lines = [f"for d{d} in range(n{d}):", *_indented(lines)]
    return lines


def _ints(stem: str, dims: Sequence[int]) -> list[str]:
    return [f"{stem}{d}: int" for d in dims]


def _sum(terms: Sequence[str]) -> str:
    return f"({' + '.join(terms)})"


def _indented(lines: Sequence[str]) -> list[str]:
    return [f"    {line}" for line in lines]
