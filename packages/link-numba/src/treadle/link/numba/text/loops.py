"""Loop nests: the text of kernels that visit every element of arrays broadcast together."""

from __future__ import annotations

import re
from collections.abc import Sequence

from treadle.config import dataclass
from treadle.link.numba.dtypes import Storage
from treadle.link.numba.text.unit import indented
from treadle.link.numba.text.values import ArrayValue

# Sums, and what is computed of many numbers at once, are made in blocks of so many elements.
BLOCK = 512
_IN_BLOCKS = re.compile(r"(\w+) = in_blocks_(\w+)\((\w+), (\w+)\)$")


@dataclass(frozen=True, slots=True)
class Array:
    """An array parameter of a kernel."""

    # Its name; strides are called ``<name>_s0`` and so on.
    name: str
    # Its dtype.
    storage: Storage
    # For each dimension, whether its stride is known to be zero.
    still: tuple[bool, ...]

    def stride(self, d: int) -> str:
        """Return the stride along a dimension."""
        return "0" if self.still[d] else f"{self.name}_s{d}"

    def params(self) -> list[tuple[str, str]]:
        """Return the parameters: address, then the strides that are not known to be zero."""
        strides = [(self.stride(d), "i8") for d, zero in enumerate(self.still) if not zero]
        return [(self.name, f"*{self.storage.memory}"), *strides]

    def arguments(self, address: str, strides: Sequence[str], *, as_address: bool = False) -> list[str]:
        """Return the arguments that belong to `params`; for functions that share loops, an address for the pointer."""
        moving = [s for s, zero in zip(strides, self.still, strict=True) if not zero]
        return [address if as_address else f"as_{self.storage.memory}({address})", *moving]


def lengths(ndim: int) -> list[tuple[str, str]]:
    """Return the parameters for the lengths of a nest: ``n0``, ``n1`` and so on."""
    return [(f"n{d}", "i8") for d in range(ndim)]


def offset(array: Array, dims: Sequence[int], index: str = "d") -> str:
    """Return the expression of an element's offset, from the indices along `dims`."""
    terms = [f"{index}{d} * {array.stride(d)}" for d in dims if not array.still[d]]
    return " + ".join(terms) or "0"


def in_order_of_memory(deciding: Sequence[Array], arrays: Sequence[Array], ndim: int) -> list[str]:
    """Return statements that sort dimensions by the steps of arrays, where all that decide agree, the largest first."""
    if any(any(a.still) for a in arrays):
        return []
    words, lines = ("n", *(f"{a.name}_s" for a in arrays)), list[str]()
    for d in (d for end in range(ndim - 1, 0, -1) for d in range(end)):
        lines.append("if " + " and ".join(f"abs({a.name}_s{d}) < abs({a.name}_s{d + 1})" for a in deciding) + ":")
        lines += [f"    {word}{d}, {word}{d + 1} = {word}{d + 1}, {word}{d}" for word in words]
    return lines


def merging(arrays: Sequence[Array], ndim: int) -> list[str]:
    """Return statements that merge dimensions, from the last on, where one loop can walk all arrays."""
    lines: list[str] = []
    last = ndim - 1
    for d in range(ndim - 2, -1, -1):
        if any(a.still[d] != a.still[last] for a in arrays):
            break
        conditions = [f"n{e} == 1" for e in range(d + 1, last)]
        conditions += [f"{a.stride(d)} == n{last} * {a.stride(last)}" for a in arrays if not a.still[last]]
        joining = [f"n{last} = n{d} * n{last}", f"n{d} = 1"]
        lines += [f"if {' and '.join(conditions)}:", *indented(joining)] if conditions else joining
    return lines


def steps(last: int, body: Sequence[str], start: str = "", stop: str = "") -> list[str]:
    """Return the loop over the last dimension, from a start to a stop if they are named, of `BLOCK` steps at most then.

    Statements ``y = in_blocks_f8(unit, x)`` compute y of x for all steps of a block at once: the others are written
    before and after it, as far as they are needed.
    """
    calls = [(at, call) for at, line in enumerate(body) if (call := _IN_BLOCKS.match(line))]
    if not calls:
        return [f"for d{last} in range({f'{start}, {stop}' if start else f'n{last}'}):", *indented(body)]
    lines: list[str] = []
    rest = list(body)
    for k, (at, call) in enumerate(calls):
        name, code, unit, operand = call.groups()
        # Results go to another place: pointers that a kernel is given do not overlap.
        lines += [
            f"block{k} = room_{code}_{BLOCK}(0)",
            f"found{k} = room_{code}_{BLOCK}(0)",
            f"for d{last} in range(start, stop):",
            *indented([*rest[:at], f"block{k}[d{last} - start] = {operand}"]),
            f"{unit}(stop - start, block{k}, found{k})",
        ]
        rest[at] = f"{name} = found{k}[d{last} - start]"
    lines += [f"for d{last} in range(start, stop):", *indented(rest)]
    return lines if start else in_blocks(last, lines)


def in_blocks(last: int, block: Sequence[str], size: object = BLOCK) -> list[str]:
    """Return the loop over the blocks of the last dimension, from ``start`` to ``stop`` each."""
    inside = [f"stop = min(n{last}, start + {size})", *block, "start = stop"]
    return ["start = 0", f"while start < n{last}:", *indented(inside)]


def nest(ndim: int, body: Sequence[str], index: str = "d", length: str = "n") -> list[str]:
    """Return loops over `ndim` dimensions."""
    lines = list(body)
    for d in range(ndim - 1, -1, -1):
        lines = [f"for {index}{d} in range({length}{d}):", *indented(lines)]
    return lines


def still_where(value: ArrayValue, dims: Sequence[str]) -> tuple[bool, ...]:
    """Return for each dimension whether an operand is known to be broadcast along it."""
    return tuple(n == "1" and m != "1" for n, m in zip(value.dims, dims, strict=True))
