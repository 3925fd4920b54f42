"""Stacks of matrices: a kernel says what happens to one matrix of each operand, and a loop around it is written here.

What the loop does for each matrix: it finds the matrices of the operands, or copies them to where the kernel wants
them; it looks for numbers that are not finite, where the op is to; it runs the kernel; and it turns results that the
kernel leaves by columns, or writes what stands for a missing one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

from treadle.config import dataclass
from treadle.kernels import Given, Kernel, Length, Site, TextKernels, language, real_dtype
from treadle.kernels.blocks import common_length
from treadle.kernels.language import MATRIX, OK, TOO_LONG, Pointer
from treadle.tensor.linalg.lower.kernels import matrices
from treadle.tensor.linalg.lower.kernels import woven as weaving
from treadle.tensor.linalg.lower.kernels.matrices import (
    LOWER,
    MOST,
    UPPER,
    WHOLE,
    copy_size,
    either_copy_size,
    if_equal,
    if_positive,
    length_around,
    matrix_extent,
    shortened,
    smaller,
)
from treadle.tensor.linalg.lower.kernels.stacks_of_eights import Eights
from treadle.tensor.linalg.lower.kernels.stacks_of_eights import Loop as LoopOfEights

if TYPE_CHECKING:
    from treadle.graph import Variable
    from treadle.tensor import TensorNode
    from treadle.tensor.linalg.matrix_op import MatrixOp

_NOTHING: Mapping[str, tuple[str, Length | int | None]] = MappingProxyType({})
# Lengths up to this one that are known are written into loops as numbers.
_SHORT = 16
_HALVES = {"": WHOLE, "lower": LOWER, "upper": UPPER}


@dataclass(frozen=True, slots=True)
class Operand:
    """How a kernel wants one of its matrices.

    A matrix that already lies like this is read in place; any other is copied first. A vector is a matrix of one row,
    and a number a matrix of one element.
    """

    # ``"rows"`` if rows are to run through memory, as in NumPy; ``"columns"`` as in LAPACK; ``"either"`` as they
    # do: ``t_<name>`` then is 1 if columns run through memory, else 0.
    order: str = "rows"
    # Whether the kernel overwrites it: a copy, or an operand that nothing needs after.
    writes: bool = False
    # The result in whose memory it is put, of the same shape, dtype and order; the kernel overwrites it with that.
    into: str = ""
    # ``"lower"`` or ``"upper"`` if the kernel reads only this triangle: a copy has zeros on the other side, and
    # only this one has to be finite.
    half: str = ""
    # Whether the kernel does not read the triangle's diagonal.
    strict: bool = False
    # Whether all of it has to be finite where the op's `check_finite` is true; a kernel that reads only parts of it
    # looks at these itself.
    checked: bool = True


LOOPS = TextKernels()


@dataclass(slots=True)
class Part:
    """An operand or a result: what is passed of it, and the names that its matrix has in a loop."""

    name: str
    given: Given
    # How many of its dimensions are a matrix's, and its number of rows and columns.
    core: int
    rows: Length
    columns: Length
    operand: Operand | None = None
    # Of a result: ``"rows"`` or ``"columns"``.
    order: str = "rows"
    # 1 where its memory may be overwritten, or has become that of a result.
    spare: Length = field(default_factory=lambda: Length("0"))


class Stack:
    """A node of an op on matrices, with the operands that its kernel gets and the results that it writes.

    The Cholesky factor of each matrix::

        @kernel(inline=True)
        def factored(m: int, l: Pointer[T], ld_l: int) -> int:
            return lapack.potrf("U", m, l, ld_l)

        @TABLE.register(Cholesky)
        def cholesky(op: Cholesky, node: TensorNode, site: Site) -> None:
            stack = Stack(op, node, site, {"a": Operand(into="l", half="lower")}, {"l": "rows"})
            stack.run(factored)

    A kernel's parameters say what it gets: dimensions by the names that the op's signature has for them, pointers by
    the names of operands, results and `rooms`, ``ld_<name>``, the distance of a matrix's rows (or columns), and
    ``t_<name>``. It returns 0, or another number if there is no result; then NaN or an error takes its place, as the
    op's `on_error` says. If the op has a field `check_finite` that is true, the same holds for operands with NaN or
    infinity, and the kernel is not run.

    LAPACK sees a matrix in C order as its transpose: a lower triangle is its ``"U"``.
    """

    def __init__(
        self, op: MatrixOp, node: TensorNode, site: Site, operands: Mapping[str, Operand], results: Mapping[str, str]
    ) -> None:
        self.op = op
        self.site = site
        input_cores, output_cores = op.cores
        # Dimensions by their names.
        self.lengths: dict[str, Length] = {}
        self._computed: dict[str, Length] = {}
        arrays = [site.array(x) if x.type.ndim else site.packed(x) for x in node.inputs]
        self._batch = batch = node.inputs[0].type.ndim - len(input_cores[0])
        for array, core in zip(arrays, input_cores, strict=True):
            self._measure(array.shape[batch : batch + len(core)], core)
        self._counts = [self._broadcast([array.shape[d] for array in arrays]) for d in range(batch)]
        self._parts: dict[str, Part] = {}
        for (name, operand), x, array, core in zip(operands.items(), node.inputs, arrays, input_cores, strict=True):
            self._parts[name] = part = Part(name, array, len(core), *self._matrix(core), operand)
            if operand.writes:
                part.spare = self._spare(x, array, part)
        takers = {operand.into: name for name, operand in operands.items() if operand.into}
        for (name, order), out, core in zip(results.items(), node.outputs, output_cores, strict=True):
            shape = [*self._counts, *map(self.length, core)]
            if name in takers:
                x = node.inputs[list(operands).index(takers[name])]
                given, self._parts[takers[name]].spare = site.output_over(out, shape, x)
            else:
                given = site.output(out, shape)
            self._parts[name] = Part(name, given.pointer, len(core), *self._matrix(core), None, order)
        self._element = arrays[0].dtype

    # Lengths

    def _measure(self, shape: Sequence[Length], core: Sequence[str]) -> None:
        for n, name in zip(shape, core, strict=True):
            known = Length(name) if name.isdigit() else self.lengths.get(name)
            if known is not None:
                self.site.same(n, known)
            if known is None or n.text.isdigit():
                self.lengths[name] = n

    def _broadcast(self, lengths: Sequence[Length]) -> Length:
        n, *others = lengths
        for m in others:
            if n.text == "1":
                n = m
            elif m.text not in {"1", n.text}:
                n = self.site.compute(common_length, n, m)
                self.site.stop_if(n < 0)
        return n

    def length(self, dim: str) -> Length:
        """Return a core dimension of the signature, such as ``min(m,n)``."""
        if dim not in self._computed:
            self._computed[dim] = self._compute(dim)
        return self._computed[dim]

    def _compute(self, dim: str) -> Length:
        if dim.isdigit():
            return Length(dim)
        if dim in self.lengths:
            return self.lengths[dim]
        if "+" in dim:
            first, *others = (self.lengths[name] for name in dim.split("+"))
            for n in others:
                first += n
            return first
        if "-" in dim:
            name, less = dim.split("-")
            return self.site.compute(shortened, self.lengths[name], int(less))
        n, m = (self.lengths[name] for name in dim.removeprefix("min(").removesuffix(")").split(","))
        if n.text.isdigit() and m.text.isdigit():
            return Length(str(min(int(n.text), int(m.text))))
        return n if n.text == m.text else self.site.compute(smaller, n, m)

    def _matrix(self, core: Sequence[str]) -> tuple[Length, Length]:
        rows, columns = [Length("1")] * (2 - len(core)) + [self.length(dim) for dim in core]
        return rows, columns

    def _spare(self, x: Variable, array: Given, part: Part) -> Length:
        """Return 1 where an operand's matrices may be overwritten, none of which stands for several of the stack."""
        spare = self.site.spare(x)
        if spare.text == "0":
            return spare
        for n, count in zip(array.shape, self._counts, strict=False):
            if n.text != count.text:
                spare = self.site.compute(if_equal, spare, n, count)
        if self.op.destroy_map:
            # An argument or a view may be of any strides, such as 0.
            by_row, by_column = [Length("0")] * (2 - part.core) + [*array.strides[self._batch :]]
            extent = self.site.compute(matrix_extent, part.rows, part.columns, by_row, by_column)
            for d in range(self._batch - 1, -1, -1):
                extent = self.site.compute(length_around, extent, array.shape[d], array.strides[d])
            spare = self.site.compute(if_positive, spare, extent)
        return spare

    # For rules

    def run(
        self,
        body: Kernel,
        rooms: Mapping[str, tuple[str, Length | int | None]] = _NOTHING,
        *,
        finite: bool | None = None,
        eights: Eights | None = None,
        **static: Any,
    ) -> None:
        """Write the loop that runs a kernel.

        `rooms` are working arrays, made once for the whole stack: their dtypes (``"T"`` for that of the first operand,
        ``"R"`` for real numbers like it) and lengths, which the parameters ``n_<name>`` get. With None, the kernel is
        asked for the length, as LAPACK is: called with ``n_<name>`` of -1, it writes it to the array's first element,
        and leaves all other arrays alone but for their first two elements. `finite` says whether operands have to be,
        if the op has no field for it. `eights` is a kernel for stacks of small matrices of real numbers, eight of
        them at once.
        """
        kinds = {name: {"T": self._element, "R": real_dtype(self._element)}.get(d, d) for name, (d, _) in rooms.items()}
        loop = _Loop(self, list(self._parts.values()), self._counts)
        for name, (_, count) in rooms.items():
            length = self._asked(body, name, kinds, static) if count is None else count
            loop.room(name, self.site.room(kinds[name], length), length)
        text = loop.text(body, static, getattr(self.op, "check_finite", False) if finite is None else finite)
        scope = {**vars(matrices), **loop.scope, body.name: body, "__name__": __name__}
        # Loops over lengths that are known are unrolled.
        kernel = LOOPS.get(body.name, text, scope, compact=not loop.has_known)
        if eights is not None and self._may_be_small(eights.most):
            room = self.site.compute(
                weaving.woven_size, self._woven_elements(eights), len(self._parts) * eights.most**2
            )
            kernel = loop.of_eights(kernel, eights, self.site.room(self._element, room))
        self.site.run(kernel, *loop.arguments)

    def _may_be_small(self, most: int) -> bool:
        """Whether eight can be computed at once: real numbers of one dtype, and no length known to be large."""
        kinds = {part.given.dtype for part in self._parts.values()}
        lengths = [int(n.text) for p in self._parts.values() for n in (p.rows, p.columns) if n.text.isdigit()]
        return (
            bool(self._counts)
            and len(kinds) == 1
            and kinds <= {"float32", "float64"}
            and max(lengths, default=0) <= most
        )

    def _woven_elements(self, eights: Eights) -> Length:
        sizes = [part.rows * part.columns for name, part in self._parts.items() if name not in eights.into]
        total = sizes[0]
        for size in sizes[1:]:
            total += size
        return total

    def _asked(self, body: Kernel, room: str, kinds: Mapping[str, str], static: Mapping[str, Any]) -> Length:
        """Return the length of a working array that a kernel asks for."""
        dims = [name for name in self.lengths if not name.isdigit()]
        kinds = {**{name: part.given.dtype for name, part in self._parts.items()}, **kinds}
        lines, arguments = [f"ld = max({', '.join(dims)}, 1)"], []
        for name in (p.name for p in body.declared()):
            if name in kinds:
                lines += [f"{name} = local({kinds[name]}, 2)", f"{name}[0] = 1"]
            standing = {"ld_": "ld", "n_": "-1", "t_": "0"}
            arguments.append(next((text for start, text in standing.items() if name.startswith(start)), name))
        arguments += [f"{name}={value!r}" for name, value in static.items()]
        lines += [f"{body.name}({', '.join(arguments)})", f"return max(int(real({room}[0])), 1)"]
        if not kinds[room].startswith(("f", "c")):
            lines[-1] = f"return max({room}[0], 1)"
        head = f"def NAME({', '.join(f'{name}: int' for name in dims)}) -> int:"
        scope = {kind: getattr(language, kind) for kind in kinds.values()}
        scope |= {"local": language.local, "real": language.real, body.name: body, "__name__": __name__}
        kernel = LOOPS.get(f"{body.name}_room", "\n".join([head, *_indented(lines), ""]), scope)
        return self.site.compute(kernel, *(self.lengths[name] for name in dims))


class _Loop:
    """Writes the text of a loop, with the arguments that it is called with."""

    def __init__(self, stack: Stack, parts: Sequence[Part], counts: Sequence[Length]) -> None:
        self.site = stack.site
        self.op = stack.op
        self.parts = [*parts]
        self.results = [part for part in self.parts if part.operand is None]
        self.batch = len(counts)
        self.several = len(self.parts) - len(self.results) > 1
        self.arguments: list[Given | Length] = []
        self.parameters: list[str] = []
        # Statements before the loop, and those for each matrix.
        self.starts: list[str] = []
        self.lines: list[str] = []
        self.scope: dict[str, Any] = {"Pointer": Pointer, "OK": OK, "MATRIX": MATRIX, "TOO_LONG": TOO_LONG}
        # What the kernel's parameters are called with.
        self.values: dict[str, str] = {}
        self.dims: dict[str, str] = {}
        # Whether a length other than 1 is a number in the text.
        self.has_known = False
        for d, count in enumerate(counts):
            self._integer(f"count{d}", count)
        for name, length in stack.lengths.items():
            if not name.isdigit():
                self.values[name] = self._dim(name, length)
        long = [n for n in self.values.values() if not n.isdigit()]
        if long:
            self.starts += [f"if {' or '.join(f'{n} > {MOST}' for n in long)}:", "    return TOO_LONG"]

    # Parameters

    def room(self, name: str, room: Given, length: Length | int) -> None:
        """Pass a working array, and its length."""
        self._pointer(name, room)
        self._integer(f"n_{name}", Length(str(length)))
        self.values |= {name: name, f"n_{name}": f"n_{name}"}

    def _integer(self, name: str, value: Length) -> None:
        self.parameters.append(f"{name}: int")
        self.arguments.append(value)

    def _pointer(self, name: str, given: Given) -> None:
        kind = f"T_{given.dtype}"
        self.scope[kind] = TypeVar(kind)
        self.parameters.append(f"{name}: Pointer[{kind}]")
        self.arguments.append(given.pointer)

    def _dim(self, name: str, length: Length) -> str:
        """Return a length as the loop's text has it; short ones that are known are numbers."""
        if length.text.isdigit() and int(length.text) <= _SHORT:
            self.has_known |= length.text != "1"
            return length.text
        if length.text not in self.dims:
            self.dims[length.text] = name
            self._integer(name, length)
        return self.dims[length.text]

    # The text

    def text(self, body: Kernel, static: Mapping[str, Any], finite: bool) -> str:
        """Return the loop around a kernel."""
        self.lines.append("info = 0")
        for part in self.results:
            self._place(part)
        for part in self.parts:
            if part.operand is not None:
                self._take(part, part.operand, finite)
        arguments = [self.values[p.name] for p in body.declared()]
        arguments += [f"{name}={value!r}" for name, value in static.items()]
        call = f"info = {body.name}({', '.join(arguments)})"
        self.lines += ["if info == 0:", f"    {call}"] if finite else [call]
        self._finish()
        lines = self.lines
        for d in range(self.batch - 1, -1, -1):
            lines = [f"for at{d} in range(count{d}):", *_indented(lines)]
        head = f"def NAME({', '.join(self.parameters)}) -> int:"
        return "\n".join([head, *_indented([*self.starts, *lines, "return OK"]), ""])

    def of_eights(self, one: Kernel, eights: Eights, room: Given) -> Kernel:
        """Return the loop that computes eight small matrices at once, and calls that for one where they are not."""
        parts = self.parts
        sizes = {
            p.name: (self._dim(f"{p.name}_rows", p.rows), self._dim(f"{p.name}_columns", p.columns)) for p in parts
        }
        halves = {p.name: _HALVES[p.operand.half] for p in parts if p.operand is not None}
        loop = LoopOfEights(
            one=one.name, passed=[p.partition(":")[0] for p in self.parameters], batch=self.batch, several=self.several,
            raises=self.op.on_error == "raise", finite=getattr(self.op, "check_finite", False), sizes=sizes,
            dims=self.values, halves=halves,
        )  # fmt: skip
        self._pointer("woven_room", room)
        text = loop.text(eights, parts, self.parameters)
        scope = {**vars(matrices), **vars(weaving), **self.scope, one.name: one, eights.body.name: eights.body}
        scope |= {"int64": language.int64, "local": language.local, "eights": language.eights, "__name__": __name__}
        return LOOPS.get(f"{eights.body.name}_stack", text, scope)

    def _place(self, part: Part) -> None:
        """Say where a result's matrix is written."""
        name = part.name
        rows, columns = self._dim(f"{name}_rows", part.rows), self._dim(f"{name}_columns", part.columns)
        self._pointer(f"{name}_x", part.given)
        self.starts.append(f"{name}_q = 0")
        if part.order == "columns":
            self._pointer(f"{name}_p", self.site.room(part.given.dtype, part.rows * part.columns))
            self.lines.append(f"{name} = {name}_p")
        else:
            self.lines.append(f"{name} = {name}_x + {name}_q")
        self.starts.append(f"{name}_ld = max({rows if part.order == 'columns' else columns}, 1)")
        self.values |= {name: name, f"ld_{name}": f"{name}_ld"}

    def _take(self, part: Part, operand: Operand, finite: bool) -> None:
        """Find an operand's matrix, or copy it."""
        name, given = part.name, part.given
        rows, columns = self._dim(f"{name}_rows", part.rows), self._dim(f"{name}_columns", part.columns)
        self._pointer(f"{name}_x", given)
        place = []
        for d in range(self.batch):
            self._integer(f"{name}_s{d}", given.strides[d])
            if self.several:
                self._integer(f"{name}_n{d}", given.shape[d])
                self.starts.append(f"{name}_t{d} = {name}_s{d} if {name}_n{d} != 1 else 0")
            place.append(f"at{d} * {name}_{'t' if self.several else 's'}{d}")
        strides = [Length("0")] * (2 - part.core) + [*given.strides[self.batch : self.batch + part.core]]
        by_row, by_column = (f"{name}_r", f"{name}_c")
        for parameter, stride in ((by_row, strides[0]), (by_column, strides[1])):
            self._integer(parameter, stride)
        # Its lines, their number of elements, the distances of both, and the half that is wanted.
        how = [rows, columns, by_row, by_column]
        half = str(_HALVES[operand.half])
        given_how: list[Length] = [part.rows, part.columns, strides[0], strides[1]]
        if operand.order == "columns":
            how = [columns, rows, by_column, by_row]
            given_how = [part.columns, part.rows, strides[1], strides[0]]
            half = str((3 - int(half)) % 3)
        if operand.order == "either":
            turned = f"{name}_turned"
            self.starts.append(f"{turned} = is_turned({', '.join(how)})")
            self.values[f"t_{name}"] = turned
            for k, other in enumerate([columns, rows, by_column, by_row]):
                self.starts.append(f"{name}_h{k} = {other} if {turned} == 1 else {how[k]}")
            how = [f"{name}_h{k}" for k in range(4)]
            if half != "0":
                self.starts.append(f"{name}_half = {3 - int(half)} if {turned} == 1 else {half}")
                half = f"{name}_half"
        self.lines.append(f"{name}_q = {' + '.join(place) or '0'}")
        source = f"{name}_x + {name}_q"
        checked = finite and operand.checked and given.dtype.startswith(("f", "c"))
        to = operand.into or f"{name}_p"
        ld = f"{operand.into or name}_ld"
        rest = f"{ld}, {half}, {int(operand.strict)}"
        copy = f"matrix_copied({source}, {', '.join(how)}, {to}, {rest}, checked={checked})"
        check = f"infinite_count({operand.into or name}, {how[0]}, {how[1]}, {rest})"
        there = [f"info = info + {check}"] if checked else []
        if half != "0" and (operand.into or operand.writes):
            there.append(f"cleared_beside({operand.into or name}, {how[0]}, {how[1]}, {ld}, {half})")
        copies = [f"info = info + {copy}" if checked else copy]
        if operand.into:
            self._put(part, operand, copies, there)
        else:
            self._stay(part, operand, source, how, given_how, copies, there)

    def _put(self, part: Part, operand: Operand, copies: Sequence[str], there: Sequence[str]) -> None:
        """Copy an operand to a result's place, unless it is there."""
        result = next(other for other in self.results if other.name == operand.into)
        if part.spare.text == "0" or result.order == "columns":
            self.lines += copies
            return
        self._integer(f"{part.name}_spare", part.spare)
        self.lines += [f"if {part.name}_spare == 0:", *_indented(copies)]
        if there:
            self.lines += ["else:", *_indented(there)]

    def _stay(
        self,
        part: Part,
        operand: Operand,
        source: str,
        how: Sequence[str],
        given_how: Sequence[Length],
        copies: Sequence[str],
        there: Sequence[str],
    ) -> None:
        """Leave an operand where it lies well, unless it is written and needed after; otherwise copy it."""
        name = part.name
        stays = part.spare if operand.writes else Length("1")
        if stays.text == "0":
            size = part.rows * part.columns
            self.starts.append(f"{name}_ld = max({how[1]}, 1)")
        else:
            ask = either_copy_size if operand.order == "either" else copy_size
            size = self.site.compute(ask, *given_how, stays)
            self.starts.append(f"{name}_there = line_distance({', '.join(how)})")
            if stays.text != "1":
                self._integer(f"{name}_spare", stays)
                self.starts += [f"if {name}_spare == 0:", f"    {name}_there = 0"]
            self.starts.append(f"{name}_ld = {name}_there if {name}_there > 0 else max({how[1]}, 1)")
        self._pointer(f"{name}_p", self.site.room(part.given.dtype, size))
        if not operand.writes and self.several and self.batch:
            # One matrix may stand for several of the stack.
            self.starts += [f"{name}_known = -1", f"{name}_bad = 0"]
            line = f"{name}_bad = {copies[0].removeprefix('info = info + ')}"
            copies = [f"if {name}_q != {name}_known:", f"    {line}", f"    {name}_known = {name}_q"]
            copies.append(f"info = info + {name}_bad")
        if stays.text == "0":
            self.lines += [f"{name} = {name}_p", *copies]
        else:
            self.lines += [f"{name} = {source}", f"if {name}_there == 0:", f"    {name} = {name}_p", *_indented(copies)]
            if there:
                self.lines += ["else:", *_indented(there)]
        self.values |= {name: name, f"ld_{name}": f"{name}_ld"}

    def _finish(self) -> None:
        """Put results in their places, or what stands for them."""
        sizes, turns = [], []
        for part in self.results:
            name = part.name
            rows, columns = self._dim(f"{name}_rows", part.rows), self._dim(f"{name}_columns", part.columns)
            sizes.append(f"{rows} * {columns}")
            if part.order == "columns":
                turns.append(
                    f"matrix_copied({name}, {rows}, {columns}, 1, {name}_ld, {name}_x + {name}_q, "
                    f"{columns}, {WHOLE}, 0, checked=False)"
                )
        if self.op.on_error == "raise":
            lines = ["return MATRIX"]
        else:
            lines = [f"failed({p.name}_x + {p.name}_q, {n})" for p, n in zip(self.results, sizes, strict=True)]
        self.lines += ["if info != 0:", *_indented(lines)]
        if turns:
            self.lines += ["else:", *_indented(turns)]
        self.lines += [f"{p.name}_q = {p.name}_q + {n}" for p, n in zip(self.results, sizes, strict=True)]


def _indented(lines: Sequence[str]) -> list[str]:
    return [f"    {line}" for line in lines]
