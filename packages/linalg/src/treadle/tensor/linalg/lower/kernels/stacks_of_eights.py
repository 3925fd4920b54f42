"""The loop that runs a kernel for eight matrices of a stack at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

from treadle.config import dataclass
from treadle.kernels import Kernel

if TYPE_CHECKING:
    from treadle.tensor.linalg.lower.kernels.stacks import Part


@dataclass(frozen=True, slots=True)
class Eights:
    """A kernel for eight small matrices of real numbers at once, whose elements lie one behind the other.

    Its parameters are dimensions, operands and results, by their names; it returns a bit for each matrix without a
    result. Operands that go into a result are in its place; all may be written.
    """

    body: Kernel
    static: Mapping[str, Any] = field(default_factory=dict)
    # Operands by the results in whose place they are.
    into: Mapping[str, str] = field(default_factory=dict)
    # The largest number of rows and columns, and the smallest number of matrices.
    most: int = 24
    least: int = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """What the text of the loop says: see `text`."""

    # The loop for one matrix at a time, which is for all others, and what is passed to it.
    one: str
    passed: Sequence[str]
    batch: int
    several: bool
    raises: bool
    # Whether operands have to be finite.
    finite: bool
    # Rows and columns of each part, and the dimensions by their names.
    sizes: Mapping[str, tuple[str, str]]
    dims: Mapping[str, str]
    halves: Mapping[str, int]

    def text(self, eights: Eights, parts: Sequence[Part], parameters: Sequence[str]) -> str:
        """Return the text of the loop; the last parameter is the room for woven matrices."""
        names, room = ", ".join(self.passed), parameters[-1].partition(":")[0]
        total = " * ".join(f"count{d}" for d in range(self.batch))
        long = [n for n in dict.fromkeys(n for size in self.sizes.values() for n in size) if not n.isdigit()]
        small = [f"every_matrix < {eights.least}", *(f"{n} > {eights.most}" for n in long)]
        starts = [f"every_matrix = {total}", f"if {' or '.join(small)}:", f"    return {self.one}({names})"]
        starts += [f"memory = eights({room})", *self._places(eights, parts), "done = 0"]
        lanes = [line for part in parts for line in self._place(part)]
        lanes += ["if done + lane + 1 < every_matrix:", *_indented(self._next(self.batch - 1))]
        lines = ["now = min(8, every_matrix - done)", "for lane in range(8):", *_indented(lanes), "info = 0"]
        for part in parts:
            if part.operand is not None:
                size = ", ".join(self.sizes[part.name])
                stride = f"{part.name}_r, {part.name}_c"
                lines.append(f"woven({part.name}_x, {part.name}_at, {size}, {stride}, {part.name})")
        for part in parts:
            if part.operand is not None and self.finite and part.operand.checked:
                size = ", ".join(self.sizes[part.name])
                how = f"{self.halves[part.name]}, {int(part.operand.strict)}"
                lines.append(f"info = info | woven_infinite({part.name}, {size}, {how})")
        known = {**self.dims, **{part.name: part.name for part in parts}}
        arguments = [known[p.name] for p in eights.body.declared()]
        arguments += [f"{name}={value!r}" for name, value in eights.static.items()]
        lines.append(f"info = (info | {eights.body.name}({', '.join(arguments)})) & ((1 << now) - 1)")
        results = [part.name for part in parts if part.operand is None]
        sizes = {name: " * ".join(self.sizes[name]) for name in results}
        lines += [f"unwoven({name}, {name}_x, {name}_at, {sizes[name]})" for name in results]
        failing = [f"failed({name}_x + {name}_at[number], {sizes[name]})" for name in results]
        failing = ["for number in range(now):", "    if (info >> number) & 1 == 1:", *_indented(_indented(failing))]
        lines += ["if info != 0:", *_indented(["return MATRIX"] if self.raises else failing), "done += 8"]
        head = f"def NAME({', '.join(parameters)}) -> int:"
        return "\n".join(
            [head, *_indented([*starts, "while done < every_matrix:", *_indented(lines), "return OK"]), ""]
        )

    def _places(self, eights: Eights, parts: Sequence[Part]) -> list[str]:
        """Return where woven matrices are, and variables for places in memory."""
        lines = [f"at{d} = 0" for d in range(self.batch)]
        lines += [f"{part.name}_at = local(int64, 8)" for part in parts]
        at = ["0"]
        for part in sorted(parts, key=lambda part: part.name in eights.into):
            name = part.name
            if name in eights.into:
                lines.append(f"{name} = {eights.into[name]}")
            else:
                lines.append(f"{name} = memory + ({' + '.join(at)})")
                at.append(" * ".join(self.sizes[name]))
            if part.operand is not None and self.several:
                for d in range(self.batch):
                    lines.append(f"{name}_t{d} = {name}_s{d} if {name}_n{d} != 1 else 0")
        return lines

    def _place(self, part: Part) -> list[str]:
        name = part.name
        if part.operand is None:
            return [f"{name}_at[lane] = (done + min(lane, now - 1)) * ({' * '.join(self.sizes[name])})"]
        strides = "t" if self.several else "s"
        return [f"{name}_at[lane] = {' + '.join(f'at{d} * {name}_{strides}{d}' for d in range(self.batch))}"]

    def _next(self, d: int) -> list[str]:
        """Return the step to the next matrix."""
        lines = [f"at{d} += 1"]
        if d:
            lines += [f"if at{d} == count{d}:", f"    at{d} = 0", *_indented(self._next(d - 1))]
        return lines


def _indented(lines: Sequence[str]) -> list[str]:
    return [f"    {line}" for line in lines]
