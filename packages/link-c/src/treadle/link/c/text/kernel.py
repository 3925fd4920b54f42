"""The C function that computes an expression for a run of elements.

A run is cut into blocks that stay in the first-level cache. In each block, loops of plain arithmetic alternate with
calls of functions on whole blocks; values that a later loop needs are stored in buffers of one block.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import field

from treadle.config import dataclass
from treadle.link.c.conventions.dtypes import CTYPES, loaded, stored
from treadle.link.c.text.expression import Expression, Operation

# The largest number of operations in a loop, since compilers take more than linear time for long loop bodies.
LOOP_LENGTH = 120
# If there are more loops than this, groups of this many become separate functions, for the same reason.
LOOPS_TOGETHER = 8
# Loops with more operations than this are left to the compiler's judgement, which takes less time to compile.
ASK_FOR_VECTORS = 2000
CACHE_BYTES = 24 * 1024
# Integer functions of which there is one for loops.
_DIVISION = re.compile(r"\btr_(floor_div|mod)_(?=i|u(?!64))")


@dataclass(slots=True)
class _Loop:
    """Operations that one loop does for each element, or functions on blocks that are called one after another."""

    blocks: bool
    members: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Kernel:
    """Writes the C function of an expression."""

    # The operations.
    expression: Expression
    # The inputs that are single numbers, the same for all elements.
    scalars: frozenset[int]

    def text(self) -> str:
        """Return the function's body, in braces: ``(int64_t n, char *const *p, const int64_t *s)``.

        If it is long, functions that it calls precede it, each with a form feed behind it; an @ in their names stands
        for the function's own name.
        """
        loops, home, places = self._plan()
        buffers = 1 + max((int(p[1:]) for p in places.values() if p[0] == "t"), default=-1)
        count = buffers + sum(i not in self.scalars for i in range(len(self.expression.inputs)))
        each = 8 * self._words() * max(1, count)
        size = max(64, min(512, 1 << max(6, (CACHE_BYTES // each).bit_length() - 1)))
        lines = ["{"]
        if any(o.check for o in self.expression.operations):
            lines.append("  int bad = 0;")
        lines += self._openings(size, buffers)
        lines += [
            f"  for (int64_t i = 0; i < n; i += {size}) {{",
            f"    const int64_t m = n - i < {size} ? n - i : {size};",
        ]
        lines += self._pointers()
        whole = [self._takes_whole_vectors(loop, places) for loop in loops]
        if any(whole):
            lines += [f"    if (m < {size}) memset((char *)t{k} + m * {self._size()}, 0, 64);" for k in range(buffers)]
        written = [
            self._block_calls(loop, places) if loop.blocks else self._loop(at, loop, places, home, whole[at])
            for at, loop in enumerate(loops)
        ]
        before = ""
        if len(loops) > 2 * LOOPS_TOGETHER:
            before, written = self._parts(loops, written, buffers)
        lines += [line for part in written for line in part]
        lines += self._copies(places)
        if any(o.check for o in self.expression.operations):
            lines.append("    if (bad) return TR_POWER;")
        return before + "\n".join([*lines, "  }", "  return 0;", "}"])

    def _parts(
        self, loops: Sequence[_Loop], written: Sequence[Sequence[str]], buffers: int
    ) -> tuple[str, list[list[str]]]:
        """Put groups of loops into functions; return these, and the calls that replace the loops."""
        count, functions, calls = len(self.expression.inputs), [], []
        arrays = [i for i in sorted(self._used_inputs()) if i not in self.scalars]
        results = range(len(self.expression.outputs))
        temporaries = [f"t{k}" for k in range(buffers)]
        arguments = "".join(
            f", {name}" for name in ("p", *(f"x{i}" for i in arrays), *(f"y{k}" for k in results), *temporaries)
        )
        for number, start in enumerate(range(0, len(loops), LOOPS_TOGETHER)):
            end = start + LOOPS_TOGETHER
            members = [self._operation(v) for loop in loops[start:end] for v in loop.members]
            checks = any(o.check for o in members)
            used = sorted({a for o in members for a in o.args if a in self.scalars})
            types = ["char *const *p"]
            types += [f"const {CTYPES[self.expression.inputs[i]].computed} *x{i}" for i in arrays]
            types += [f"{CTYPES[self.expression.dtype(self.expression.outputs[k])].stored} *y{k}" for k in results]
            types += [f"double *{name}" for name in temporaries]
            body = [self._scalar(i) for i in used if i < count]
            lines = [line for part in written[start:end] for line in part]
            functions.append(
                "\n".join(
                    [
                        f"static int __attribute__((noinline)) @_{number}(int64_t m, {', '.join(types)}) {{",
                        *(["  int bad = 0;"] if checks else []),
                        *body,
                        *lines,
                        f"  return {'bad' if checks else '0'};",
                        "}\n",
                    ]
                )
            )
            call = f"@_{number}(m{arguments});"
            calls.append([f"    {'bad |= ' if checks else ''}{call}"])
        return "".join(f"{function}\f" for function in functions), calls

    def _scalar(self, i: int, letter: str = "c") -> str:
        """Return the declaration of an input that is a single number."""
        ctype = CTYPES[self.expression.inputs[i]]
        value = loaded(self.expression.inputs[i], f"*(const {ctype.stored} *)p[{i}]")
        return f"  const {ctype.computed} {letter}{i} = {value};"

    def scalar_text(self) -> str:
        """Return the function's body for single numbers: one statement for each operation, without a loop."""
        count = len(self.expression.inputs)
        lines = ["{", "  (void)n; (void)s;"]
        lines += [self._scalar(i, "r") for i in sorted(self._used_inputs())]
        names = [f"r{i}" for i in range(count)]
        lines += (f"  {text}" for text in on_numbers(self.expression, names, "r", "return TR_POWER;"))
        for k, value in enumerate(self.expression.outputs):
            dtype = self.expression.dtype(value)
            lines.append(f"  *({CTYPES[dtype].stored} *)p[{count + k}] = {stored(dtype, f'r{value}')};")
        return "\n".join([*lines, "  return 0;", "}"])

    def may_overwrite(self) -> list[set[int]]:
        """Return, for each result, the inputs whose memory it may use, since all reads come before the first write."""
        loops, home, places = self._plan()
        end = len(loops)
        reads: dict[int, int] = {}
        for at, loop in enumerate(loops):
            for value in loop.members:
                reads.update((a, at) for a in self._operation(value).args if a not in home)
        writes: list[int] = []
        for k, value in enumerate(self._written()):
            if places.get(value) == f"y{k}":
                loop = loops[home[value]]
                # Only a single function on blocks reads each number before it writes to the same place.
                writes.append(home[value] - (loop.blocks and len(loop.members) > 1))
            else:
                writes.append(end + k)
                if value not in home:
                    reads[value] = end + k
        arrays = [i for i in range(len(self.expression.inputs)) if i not in self.scalars]
        return [{i for i in arrays if reads.get(i, -1) <= at} for at in writes]

    # Cutting into loops

    def _plan(self) -> tuple[list[_Loop], dict[int, int], dict[int, str]]:
        """Return the loops, the loop that computes each value, and the places of the values."""
        loops = self._loops()
        home = {v: at for at, loop in enumerate(loops) for v in loop.members}
        return loops, home, self._places(loops, home)

    def _loops(self) -> list[_Loop]:
        """Put every operation into the earliest stage that has its operands; even stages are loops, odd ones calls."""
        count = len(self.expression.inputs)
        stage: dict[int, int] = {}
        stages: dict[int, list[int]] = {}
        needed = {*self._written(), *(a for o in self.expression.operations for a in o.args)}
        for k, operation in enumerate(self.expression.operations):
            if operation.block == "half" and count + k not in needed:
                continue
            parity = 1 if operation.block else 0
            at = max((self._ready(a, parity, stage) for a in operation.args), default=parity)
            stage[count + k] = at
            stages.setdefault(at, []).append(count + k)
        loops: list[_Loop] = []
        for at in sorted(stages):
            members = stages[at]
            if at % 2:
                loops.append(_Loop(True, members))
            else:
                loops += [_Loop(False, members[i : i + LOOP_LENGTH]) for i in range(0, len(members), LOOP_LENGTH)]
        return loops

    def _ready(self, value: int, parity: int, stage: dict[int, int]) -> int:
        if value < len(self.expression.inputs):
            return parity
        at = stage[value]
        return at if at % 2 == parity else at + 1

    # Where values live: r<k> a variable of one loop, t<k> a buffer, y<k> a result, x<k> an input, c<k> a single number

    def _places(self, loops: Sequence[_Loop], home: dict[int, int]) -> dict[int, str]:
        """Return the buffer or result that holds each value which a later loop or a function on blocks reads."""
        last = self._last_uses(loops, home)
        # The first result of each value.
        results = {value: k for k, value in reversed([*enumerate(self.expression.outputs)])}
        places: dict[int, str] = {}
        free: list[int] = []
        ending: dict[int, list[int]] = {}
        used = 0
        for at, loop in enumerate(loops):
            for value in loop.members:
                direct = results.get(value)
                if direct is not None and self.expression.dtype(value) != "float16":
                    places[value] = f"y{direct}"
                elif last.get(value, at) > at or loop.blocks:
                    if not free:
                        free.append(used)
                        used += 1
                    number = free.pop()
                    places[value] = f"t{number}"
                    ending.setdefault(max(last.get(value, at), at), []).append(number)
            free += ending.pop(at, [])
        return places

    def _last_uses(self, loops: Sequence[_Loop], home: dict[int, int]) -> dict[int, int]:
        """Return the last loop that reads each value; results are copied out after the last loop."""
        last: dict[int, int] = {}
        for at, loop in enumerate(loops):
            for value in loop.members:
                for arg in self._operation(value).args:
                    if arg in home:
                        last[arg] = at
        for value, result in zip(self._written(), self.expression.outputs, strict=True):
            if value in home and self.expression.dtype(result) == "float16":
                last[value] = len(loops)
        return last

    def _written(self) -> list[int]:
        """Return the values that results are copies of: what is rounded to float16 for a result only is so there."""
        count = len(self.expression.inputs)
        used = {a for o in self.expression.operations for a in o.args}
        return [
            self._operation(value).args[0]
            if value >= count and value not in used and self._operation(value).block == "half"
            else value
            for value in self.expression.outputs
        ]

    def _operation(self, value: int) -> Operation:
        return self.expression.operations[value - len(self.expression.inputs)]

    # Writing

    def _openings(self, size: int, buffers: int) -> list[str]:
        lines = []
        for i, dtype in enumerate(self.expression.inputs):
            ctype = CTYPES[dtype]
            if i in self.scalars:
                lines.append(self._scalar(i))
            elif i in self._used_inputs():
                lines.append(f"  {ctype.computed} b{i}[{size}] __attribute__((aligned(64)));")
        # Behind the last element is room for a vector: see `_takes_whole_vectors`.
        lines += [f"  double t{k}[{size * self._words() + 8}] __attribute__((aligned(64)));" for k in range(buffers)]
        return lines

    def _words(self) -> int:
        """Return the number of 8-byte words in an element of a buffer."""
        return 2 if any(o.dtype == "complex128" for o in self.expression.operations) else 1

    def _size(self) -> int:
        """Return the bytes of an element, if all operations are on floats of one type that vectors have, else 0."""
        kinds = {o.dtype for o in self.expression.operations}
        return next((n for dtype, n in (("float64", 8), ("float32", 4)) if kinds == {dtype}), 0)

    def _takes_whole_vectors(self, loop: _Loop, places: dict[int, str]) -> bool:
        """Whether a loop may go on to the end of the last vector, which spares the compiler a loop for what remains.

        So may loops that read buffers and single numbers only, and write buffers. There, zeros follow the last element.
        """
        count = len(self.expression.inputs)
        reads = {a for v in loop.members for a in self._operation(v).args}
        return bool(
            self._size()
            and not loop.blocks
            and all(a >= count or a in self.scalars for a in reads)
            and all(places.get(v, "t")[0] == "t" for v in (*loop.members, *(a for a in reads if a >= count)))
        )

    def _used_inputs(self) -> set[int]:
        used = {a for o in self.expression.operations for a in o.args} | set(self.expression.outputs)
        return {v for v in used if v < len(self.expression.inputs)}

    def _pointers(self) -> list[str]:
        lines = []
        for i, dtype in enumerate(self.expression.inputs):
            if i not in self.scalars and i in self._used_inputs():
                ctype = CTYPES[dtype]
                block = "tr_block_half" if dtype == "float16" else f"tr_block{ctype.size}"
                lines.append(f"    const {ctype.computed} *x{i} = {block}(p[{i}], s[{i}], i, m, b{i});")
        for k, value in enumerate(self.expression.outputs):
            ctype = CTYPES[self.expression.dtype(value)]
            lines.append(f"    {ctype.stored} *y{k} = ({ctype.stored} *)p[{len(self.expression.inputs) + k}] + i;")
        return lines

    def _memory(self, value: int, places: dict[int, str]) -> str:
        """Return the C pointer to a value's block."""
        if value < len(self.expression.inputs):
            return f"x{value}"
        place = places[value]
        return place if place[0] == "y" else f"(({CTYPES[self.expression.dtype(value)].computed} *){place})"

    def _block_calls(self, loop: _Loop, places: dict[int, str]) -> list[str]:
        lines = []
        for value in loop.members:
            operation = self._operation(value)
            short = CTYPES[operation.dtype].short
            arguments: list[str] = []
            for a in operation.args:
                if a in self.scalars:
                    # Repeat a single number in a block.
                    ctype = CTYPES[self.expression.inputs[a]].computed
                    name = f"w{value}_{len(arguments)}"
                    lines += [f"    {ctype} {name}[512];", f"    for (int64_t j = 0; j < m; j++) {name}[j] = c{a};"]
                    arguments.append(name)
                else:
                    arguments.append(self._memory(a, places))
            target = self._memory(value, places)
            lines.append(f"    tr_v_{operation.block}_{short}(m, {', '.join(arguments)}, {target});")
        return lines

    def _loop(self, at: int, loop: _Loop, places: dict[int, str], home: dict[int, int], whole: bool) -> list[str]:
        pragma = len(self.expression.operations) <= ASK_FOR_VECTORS
        checked = [self._operation(v) for v in loop.members if self._operation(v).check]
        lines = ["#pragma omp simd"] if pragma and not checked else []
        lanes = 64 // self._size() if whole else 1
        lines.append(f"    for (int64_t j = 0; j < {f'((m + {lanes - 1}) & -{lanes})' if whole else 'm'}; j++) {{")
        # Results may lie in the memory of inputs, so all reads precede the first write.
        used = {a for v in loop.members for a in self._operation(v).args}
        for i in sorted(a for a in used if a < len(self.expression.inputs) and a not in self.scalars):
            dtype = self.expression.inputs[i]
            lines.append(f"      const {CTYPES[dtype].computed} e{i} = x{i}[j];")
        writes = []
        for value in loop.members:
            operation = self._operation(value)
            operands = [self._operand(a, at, places, home) for a in operation.args]
            ctype = CTYPES[operation.dtype].computed
            text = _DIVISION.sub(r"tr_\1_many_", operation.text)
            lines.append(f"      const {ctype} r{value} = ({ctype})({_filled(text, operands)});")
            if operation.check:
                lines.append(f"      bad |= {_filled(operation.check, operands)};")
            if value in places:
                writes.append(f"      {self._memory(value, places)}[j] = r{value};")
        lines += [*writes, "    }"]
        return lines if loop.members else []

    def _operand(self, value: int, at: int, places: dict[int, str], home: dict[int, int]) -> str:
        if value in self.scalars:
            return f"c{value}"
        if value < len(self.expression.inputs):
            return f"e{value}"
        return f"r{value}" if home[value] == at else f"{self._memory(value, places)}[j]"

    def _copies(self, places: dict[int, str]) -> list[str]:
        """Write copies of the results that no operation wrote in place."""
        lines = []
        for k, value in enumerate(self._written()):
            if places.get(value) == f"y{k}":
                continue
            dtype = self.expression.dtype(self.expression.outputs[k])
            if dtype == "float16" and value not in self.scalars:
                lines.append(f"    tr_narrowed(m, {self._memory(value, places)}, y{k});")
                continue
            source = stored(dtype, f"c{value}") if value in self.scalars else f"{self._memory(value, places)}[j]"
            lines.append(f"    for (int64_t j = 0; j < m; j++) y{k}[j] = {source};")
        return lines


def on_numbers(expression: Expression, names: list[str], prefix: str, failing: str) -> list[str]:
    """Return the statements that compute the values of an expression for single numbers.

    `names` has the C names of the inputs; those of the computed values, `prefix` and a number, are appended.
    `failing` is the statement for an operation that fails.
    """
    lines = []
    for value, operation in enumerate(expression.operations, start=len(names)):
        operands = [names[a] for a in operation.args]
        ctype, name = CTYPES[operation.dtype], f"{prefix}{value}"
        names.append(name)
        if operation.block and not operation.text:
            pointers = "".join(f"&{a}, " for a in operands)
            lines.append(f"{ctype.computed} {name};")
            lines.append(f"tr_v_{operation.block}_{ctype.short}(1, {pointers}&{name});")
            continue
        if operation.check:
            lines.append(f"if ({_filled(operation.check, operands)}) {failing}")
        lines.append(f"const {ctype.computed} {name} = ({ctype.computed})({_filled(operation.text, operands)});")
    return lines


def _filled(text: str, operands: Sequence[str]) -> str:
    for k, operand in enumerate(operands):
        text = text.replace(f"{{{k}}}", operand)
    return text
