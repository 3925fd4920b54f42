"""Ops on stacks of matrices: a rule says what happens to one matrix, in loops or in calls of LAPACK and BLAS."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from string import Template
from textwrap import dedent
from types import MappingProxyType

from treadle.link.numba import (
    LIBRARY,
    MATRIX,
    MEMORY,
    SHAPE,
    STORAGES,
    GraphWriter,
    Storage,
    Unit,
    indented,
    is_literal,
    make_kernel,
    nest,
)
from treadle.tensor import TensorNode
from treadle.tensor.linalg.matrix_op import MatrixOp

_NOTHING: Mapping[str, str] = MappingProxyType({})
_LETTERS = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}
_LETTER = re.compile(r'"(\w)"')
# Up to this length plain loops are faster than LAPACK, and a known length is written into the text as a number.
SMALL = 16


@dataclass(frozen=True, slots=True)
class MatrixOperand:
    """One operand of a body: the pointer to its matrix, and how the matrix has to lie in memory.

    A matrix that already lies like this is read in place; any other is copied first. A vector is a matrix of one row,
    and a number a matrix of one element.
    """

    # The pointer to its first element. The matrix lies without gaps.
    name: str
    # ``"rows"`` if rows are to run through memory, as in NumPy; ``"columns"`` as in LAPACK; ``"either"`` as they
    # do: ``t_<name>`` then is 1 if columns run through memory, else 0.
    order: str = "rows"
    # Whether the body overwrites it, which then is a copy.
    writes: bool = False
    # The result, by number, in whose memory it is put: of the same shape, dtype and order. The body overwrites it
    # with that result; `name` is not defined.
    into: int | None = None
    # ``"lower"`` or ``"upper"`` if the body reads only this triangle: a copy has zeros on the other side, and
    # only this one has to be finite.
    half: str = ""
    # Whether the body does not read the triangle's diagonal.
    strict: bool = False


@dataclass(frozen=True, slots=True)
class MatrixResult:
    """One result of a body: the pointer to its matrix, which the body writes by ``"rows"`` or by ``"columns"``."""

    name: str
    order: str = "rows"


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixBody:
    """The computation on one matrix of each operand.

    `text` and `query` are statements of the small part of Python that `treadle.link.numba.text.emission` writes: every
    variable of one type, no ``break``. Dimensions are variables with the names that the op's signature has for them;
    matrices are pointers with the names in `operands` and `results`. ``$T`` is the type code of the first operand's
    elements, ``$R`` that of real numbers of this precision. ``$conj``, ``$re``, ``$abs`` and ``$cabs1`` take the
    conjugate, the real part, the absolute value of an element, and the sum of those of its parts; ``$epsilon`` and
    ``$tiny`` are the precision, and a number whose reciprocal can be represented. A routine is called by
    ``$lapack_potrf(...)``, which returns its ``info``, or ``$blas_trsm(...)``; ``"U"`` in its arguments is a letter.

    The integer ``info`` is 0 at the start. A body that sets another value has no result: NaN or an error takes its
    place, as the op's `on_error` says. If the op has a field `check_finite` that is true, the same holds for operands
    with NaN or infinity, and the body is not run.

    LAPACK sees a matrix in C order as its transpose: a lower triangle is its ``"U"``.
    """

    # Its operands and results, in the order of the op's signature.
    operands: Sequence[MatrixOperand]
    results: Sequence[MatrixResult]
    # The statements.
    text: str
    # Working arrays of the body: names, each with the type of its elements (``T``, ``R``, ``int`` or a code) and,
    # after a space, the expression of their number. They are made once for the whole stack.
    scratch: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    # Whether operands have to be finite; None if the op's field says it.
    finite: bool | None = None
    # Statements that run once before it, to ask a routine for the best size of an array: at the pointers
    # ``best``, ``real`` and ``whole`` there is room for numbers of all three types.
    query: str = ""


class _Words(dict[str, str]):
    """What each name after ``$`` in a body's text is replaced by."""

    def __init__(self, storage: Storage) -> None:
        t, r = storage.code, storage.real
        is_complex = storage.kind == "c"
        self._letter = _LETTERS.get(storage.dtype, "")
        super().__init__(
            T=t,
            R=r,
            conj=f"conj_{t}" if is_complex else "",
            re=f"re_{t}" if is_complex else "",
            abs=f"size_{t}" if is_complex else "fabs",
            cabs1=f"cabs1_{t}" if is_complex else "fabs",
            tiny="1e-37" if r == "f4" else "1e-307",
            epsilon="1.1920928955078125e-07" if r == "f4" else "2.220446049250313e-16",
        )

    def __missing__(self, name: str) -> str:
        library, _, routine = name.partition("_")
        if library not in {"lapack", "blas"}:
            raise KeyError(name)
        return f"{library}_{self._letter}{routine}"


def write_matrices(op: MatrixOp, node: TensorNode, writer: GraphWriter, body: MatrixBody) -> None:
    """Write the call of a body for each matrix of a stack; most rules of ops on matrices are this and the body.

    The Cholesky factor of each matrix, with zeros in the other triangle::

        body = MatrixBody(
            operands=[MatrixOperand("a", into=0, half="lower")],
            results=[MatrixResult("l")],
            text='info = $lapack_potrf("U", m, l, max(m, 1))',
        )
    """
    input_cores, output_cores = op.cores
    values = [writer.array(x) for x in node.inputs]
    nd = values[0].ndim - len(input_cores[0])
    lengths: dict[str, str] = {}
    for value, core in zip(values, input_cores, strict=True):
        for name, n in zip(core, value.dims[nd:], strict=True):
            known = name if name.isdigit() else lengths.get(name)
            length = n if known is None else writer.same(known, n)
            if not name.isdigit():
                lengths[name] = length
    batch = writer.broadcast_dims([value.dims[:nd] for value in values], node.outputs[0].type.shape[:nd])
    arguments = ["frame", str(writer.scratch(2)), *batch]
    arguments += [n for n in lengths.values() if not _is_small(n)]
    for value in values:
        arguments += [f"as_{value.storage.memory}({value.address})"]
        arguments += [*writer.strides_in(value, (*batch, *value.dims[nd:]))]
    results = []
    for out, core in zip(node.outputs, output_cores, strict=True):
        dims = (*batch, *(writer.let(_length(dim, lengths), "n") for dim in core))
        result = writer.new_output(out, dims) if dims else writer.allocate(["1"], writer.storage(out))
        results.append(result)
        arguments.append(f"as_{result.storage.memory}({result.address})")
    kernel = _Kernel(op, body, [v.storage for v in values], [r.storage for r in results], nd)
    writer.call(kernel.unit(lengths), arguments, checked=True)
    for out, result in zip(node.outputs, results, strict=True):
        if not out.type.ndim:
            writer.bind_scalar(out, result.storage.loaded(f"as_{result.storage.memory}({result.address})[0]"))


def _is_small(length: str) -> bool:
    return is_literal(length) and int(length) <= SMALL


def _length(dim: str, lengths: Mapping[str, str]) -> str:
    """Return the expression of a core dimension of a result."""
    if dim.isdigit():
        return dim
    if dim in lengths:
        return lengths[dim]
    if "+" in dim:
        return " + ".join(lengths[name] for name in dim.split("+"))
    terms = [lengths[name] for name in dim.removeprefix("min(").removesuffix(")").split(",")]
    return str(min(map(int, terms))) if all(map(is_literal, terms)) else f"min({', '.join(terms)})"


class _Kernel:
    """Writes the kernel that runs a body for a stack with `nd` batch dimensions, given the element types."""

    def __init__(
        self, op: MatrixOp, body: MatrixBody, sources: Sequence[Storage], targets: Sequence[Storage], nd: int
    ) -> None:
        self.op = op
        self.body = body
        self.nd = nd
        input_cores, output_cores = op.cores
        self.operands = list(zip(body.operands, input_cores, sources, strict=True))
        self.results = list(zip(body.results, output_cores, targets, strict=True))
        self.words = _Words(sources[0] if sources else STORAGES["float64"])
        self.finite = getattr(op, "check_finite", False) if body.finite is None else body.finite

    def unit(self, lengths: Mapping[str, str]) -> Unit:
        """Return the kernel; known small lengths are written into its text."""
        nd = self.nd
        params = [("frame", "i8"), ("slot", "i8"), *((f"count{d}", "i8") for d in range(nd))]
        params += [(name, "i8") for name, n in lengths.items() if not _is_small(n)]
        for operand, core, storage in self.operands:
            name = operand.name
            params.append((f"{name}_x", f"*{storage.memory}"))
            params += [(f"{name}_s{d}", "i8") for d in range(nd)]
            params += [(f"{name}_{'rc'[2 - len(core) :][d]}", "i8") for d in range(len(core))]
        params += [(f"{result.name}_x", f"*{storage.memory}") for result, _, storage in self.results]
        starts = [f"{name} = {n}" for name, n in lengths.items() if _is_small(n)]
        large = [name for name, n in lengths.items() if not _is_small(n)]
        if large:
            starts += [f"if {' or '.join(f'{name} > 2147483647' for name in large)}:", f"    return {SHAPE}"]
        starts += [f"{result.name}_q = 0" for result, _, _ in self.results]
        lines = [*starts, *self._scratch(), *nest(nd, [], self._matrix(), length="count"), "return 0"]
        text = _LETTER.sub(lambda match: str(ord(match[1])), Template("\n".join(lines)).substitute(self.words))
        stem = "".join(c if c.isalnum() else "_" for c in type(self.op).__name__.lower())
        return make_kernel(stem, params, text.split("\n"), LIBRARY.used_by(text))

    def _scratch(self) -> list[str]:
        """Return the statements that allocate the working arrays, in one piece of memory."""
        needs = dict(self.body.scratch)
        for operand, core, storage in self.operands:
            if operand.into is None:
                needs[f"{operand.name}_p"] = f"{storage.memory} {_size(core)}"
        for result, core, storage in self.results:
            if result.order == "columns":
                needs[result.name] = f"{storage.memory} {_size(core)}"
        if not needs:
            return []
        lines = []
        if self.body.query:
            lines = [
                "asked = new(frame, slot + 1, 64)",
                "if asked == 0:",
                f"    return {MEMORY}",
                "best = as_$T(asked)",
                "real = as_$R(asked + 16)",
                "whole = as_i4(asked + 32)",
                *_statements(self.body.query),
            ]
        codes = {"T": self.words["T"], "R": self.words["R"], "int": "i4"}
        at = "0"
        pointers = []
        for k, (name, need) in enumerate(needs.items()):
            kind, number = need.split(" ", 1)
            code = codes.get(kind, kind)
            pointers.append(f"{name} = as_{code}(block + {at})")
            lines.append(f"end_{k} = {at} + (({number}) * {code[1:]} + 127) // 64 * 64")
            at = f"end_{k}"
        return [*lines, f"block = new(frame, slot, {at})", "if block == 0:", f"    return {MEMORY}", *pointers]

    def _matrix(self) -> list[str]:
        """Return the statements for one matrix of the stack."""
        lines = ["info = 0"]
        for result, _, storage in self.results:
            if result.order == "rows":
                lines.append(f"{result.name} = shifted_{storage.memory}({result.name}_x, {result.name}_q)")
        if self.finite:
            lines.append("finite = True")
        for operand, core, storage in self.operands:
            place = " + ".join(f"d{d} * {operand.name}_s{d}" for d in range(self.nd)) or "0"
            lines += [f"{operand.name}_q = {place}", *self._take(operand, core, storage)]
        text = _statements(self.body.text)
        lines += ["if finite:", *indented(text), "else:", "    info = 1"] if self.finite else text
        failed = [f"return {MATRIX}"] if self.op.on_error == "raise" else []
        for result, core, storage in [] if failed else self.results:
            nan = f"{storage.real}(INF - INF)"
            nothing = f"compose_{storage.real}({nan}, {storage.real}(0))" if storage.kind == "c" else nan
            if storage.kind not in "fc":
                nothing = storage.stored("False") if storage.kind == "b" else f"{storage.memory}(0)"
            failed += [f"for i in range({_size(core)}):", f"    {result.name}[i] = {nothing}"]
        lines += ["if info != 0:", *indented(failed)]
        for result, core, _ in self.results:
            name = result.name
            if result.order == "columns":
                rows, columns = core
                lines += [
                    f"for i in range({rows}):",
                    f"    for j in range({columns}):",
                    f"        {name}_x[{name}_q + i * {columns} + j] = {name}[j * {rows} + i]",
                ]
            lines.append(f"{name}_q = {name}_q + {_size(core)}")
        return lines

    def _take(self, operand: MatrixOperand, core: Sequence[str], storage: Storage) -> list[str]:
        """Return the statements that locate or copy one operand's matrix."""
        name = operand.name
        rows, columns = ["1"] * (2 - len(core)) + list(core)
        strides = ["0"] * (2 - len(core)) + [f"{name}_{k}" for k in "rc"[2 - len(core) :]]
        element = f"{name}_x[{name}_q + i * {strides[0]} + j * {strides[1]}]"
        start, stop = "0", columns
        outside: list[str] = []
        if operand.half == "lower":
            stop = f"min({columns}, i)" if operand.strict else f"min({columns}, i + 1)"
            outside = [f"for j in range({stop}, {columns}):"]
        elif operand.half:
            start = "i + 1" if operand.strict else "i"
            outside = [f"for j in range(min({start}, {columns})):"]
        check = (
            [f"finite = finite & ({name}_v - {name}_v == {name}_v - {name}_v)"]
            if self.finite and storage.kind in "fc"
            else []
        )

        def walk(inside: Sequence[str], beside: str = "") -> list[str]:
            lines = [f"for i in range({rows}):", f"    for j in range({start}, {stop}):", *indented(inside, 2)]
            if outside and beside:
                lines += [f"    {outside[0]}", f"        {beside}"]
            return lines

        target = f"{name}_p" if operand.into is None else self.body.results[operand.into].name
        index = f"j * {rows} + i" if operand.order == "columns" else f"i * {columns} + j"
        place = f"{target}[{index}]"
        copied = walk([f"{name}_v = {element}", f"{place} = {name}_v", *check], f"{place} = {storage.code}(0)")
        if operand.into is not None:
            return copied
        copied = [*copied, f"{name} = {name}_p"]
        if operand.writes:
            return copied
        by_rows = f"({columns} == 1 or {strides[1]} == 1) and ({rows} == 1 or {strides[0]} == {columns})"
        by_columns = f"({rows} == 1 or {strides[0]} == 1) and ({columns} == 1 or {strides[1]} == {rows})"
        there = [f"{name} = shifted_{storage.memory}({name}_x, {name}_q)"]
        if check:
            there += walk([f"{name}_v = {element}", *check])
        test = by_columns if operand.order == "columns" else by_rows
        if operand.order != "either":
            return [f"if {test}:", *indented(there), "else:", *indented(copied)]
        turned = [f"t_{name} = 1", f"if not ({by_rows}) and {by_columns}:", *indented(there), "else:"]
        straight = [f"t_{name} = 0", f"if {by_rows}:", *indented(there), "else:", *indented(copied)]
        return [*turned, *indented(straight)]


def _size(core: Sequence[str]) -> str:
    return " * ".join(f"({dim})" if "+" in dim else dim for dim in core) or "1"


def _statements(text: str) -> list[str]:
    return [line for line in dedent(text).split("\n") if line.strip()]
