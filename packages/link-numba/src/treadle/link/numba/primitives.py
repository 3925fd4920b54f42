"""The functions that generated source is made of, as Numba intrinsics. Imported when a graph is linked."""

# ruff: noqa: ARG001 - Numba calls these functions with parameters that it fixes, used or not

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import populate_array

from treadle.config import new_lock
from treadle.link.numba.vector_math import VECTOR_MATH

if TYPE_CHECKING:
    from collections.abc import Callable

TYPES = {
    "b1": types.boolean,
    **{f"i{n}": getattr(types, f"int{8 * n}") for n in (1, 2, 4, 8)},
    **{f"u{n}": getattr(types, f"uint{8 * n}") for n in (1, 2, 4, 8)},
    "f4": types.float32,
    "f8": types.float64,
}
ITEMSIZE = {code: int(code[1:]) for code in TYPES}
ALIGNMENT = 64


def type_of(code: str) -> Any:
    """Return the Numba type of a code of `treadle.link.numba.unit.Unit.signature`."""
    if code.startswith("*"):
        return types.CPointer(TYPES[code[1:]])
    if code.startswith("array:"):
        _, element, ndim = code.split(":")
        return types.Array(TYPES[element], int(ndim), "A", readonly=True)
    return TYPES[code]


def _as_pointer(code: str) -> Any:
    """An address as a pointer to elements."""
    kind = types.CPointer(TYPES[code])

    def typing(context: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            return builder.inttoptr(args[0], context.get_value_type(kind))

        return kind(address), generate

    return intrinsic(typing)


def _shifted(code: str) -> Any:
    """A pointer moved on by some elements."""
    kind = types.CPointer(TYPES[code])

    def typing(context: Any, pointer: Any, count: Any) -> Any:
        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            return builder.gep(args[0], [args[1]])

        return kind(kind, types.int64), generate

    return intrinsic(typing)


def _explode(ndim: int) -> Any:
    """An array as its address, lengths, and strides in elements."""

    def typing(context: Any, array: Any) -> Any:
        result = types.UniTuple(types.int64, 1 + 2 * ndim)

        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            kind = sig.args[0]
            found = context.make_array(kind)(context, builder, args[0])
            size = context.get_abi_sizeof(context.get_data_type(kind.dtype))
            words = [builder.ptrtoint(found.data, ir.IntType(64))]
            words += cgutils.unpack_tuple(builder, found.shape, ndim)
            shift = ir.Constant(ir.IntType(64), size.bit_length() - 1)
            words += [builder.ashr(s, shift) for s in cgutils.unpack_tuple(builder, found.strides, ndim)]
            return context.make_tuple(builder, sig.return_type, words)

        return result(array), generate

    return intrinsic(typing)


def _wrap(code: str, ndim: int) -> Any:
    """A buffer and a tuple of lengths as an array that owns the buffer, in C order."""
    kind = types.Array(TYPES[code], ndim, "C")
    size = ITEMSIZE[code]

    def typing(context: Any, buffer: Any, lengths: Any) -> Any:
        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            dims = cgutils.unpack_tuple(builder, args[1], ndim)
            made = context.make_array(kind)(context, builder)
            info = builder.inttoptr(args[0], cgutils.voidptr_t)
            data = builder.bitcast(context.nrt.meminfo_data(builder, info), made.data.type)
            step = ir.Constant(ir.IntType(64), size)
            strides: list[Any] = []
            for n in reversed(dims):
                strides.insert(0, step)
                step = builder.mul(step, n)
            populate_array(made, data=data, shape=dims, strides=strides, itemsize=size, meminfo=info)
            return made._getvalue()

        return kind(buffer, lengths), generate

    return intrinsic(typing)


# Buffers: reference-counted blocks of Numba's runtime, as integers, so that an array can own one.


def _buffer_new(context: Any, nbytes: Any) -> Any:
    """A new buffer, 0 if there is no memory."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        made = context.nrt.meminfo_alloc_aligned_unchecked(builder, args[0], ALIGNMENT)
        return builder.ptrtoint(made, ir.IntType(64))

    return types.int64(types.int64), generate


def _buffer_data(context: Any, buffer: Any) -> Any:
    """The address of a buffer's first byte."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        info = builder.inttoptr(args[0], cgutils.voidptr_t)
        return builder.ptrtoint(context.nrt.meminfo_data(builder, info), ir.IntType(64))

    return types.int64(types.int64), generate


def _buffer_free(context: Any, buffer: Any) -> Any:
    """Give a buffer back; 0 is none."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        info = builder.inttoptr(args[0], cgutils.voidptr_t)
        context.nrt.decref(builder, types.MemInfoPointer(types.voidptr), info)
        return context.get_dummy_value()

    return types.none(types.int64), generate


# Arithmetic that Python's operators do not spell


def _pick(context: Any, condition: Any, a: Any, b: Any) -> Any:
    """One of two values, without a branch."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.select(args[0], args[1], args[2])

    return a(types.boolean, a, a), generate


def _reordered(name: str) -> Any:
    """An addition or multiplication that may be reordered with others of its kind, but keeps NaN and infinity."""

    def typing(context: Any, a: Any, b: Any) -> Any:
        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            return getattr(builder, name)(args[0], args[1], flags=("reassoc",))

        return a(a, a), generate

    return intrinsic(typing)


def _bits(source: str, target: str) -> Any:
    """The bits of a value as a value of another type of that size."""
    kind = TYPES[target]

    def typing(context: Any, value: Any) -> Any:
        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            return builder.bitcast(args[0], context.get_value_type(kind))

        return kind(TYPES[source]), generate

    return intrinsic(typing)


def _instruction(name: str, nin: int) -> Any:
    """A floating-point function that LLVM has as an instruction, such as ``llvm.floor``."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        kind = context.get_value_type(sig.return_type)
        function = builder.module.declare_intrinsic(name, [kind], ir.FunctionType(kind, [kind] * nin))
        return builder.call(function, args)

    def typing_one(context: Any, a: Any) -> Any:
        return a(a), generate

    def typing_two(context: Any, a: Any, b: Any) -> Any:
        return a(a, a), generate

    return intrinsic(typing_one if nin == 1 else typing_two)


def _libm(name: str, code: str) -> Any:
    """A function of the C library's libm; it carries the name of its vector form, which LLVM then uses in loops."""
    symbol = name if code == "f8" else f"{name}f"
    vector = VECTOR_MATH.form(symbol)
    kind = TYPES[code]
    nin = 2 if name in {"pow", "atan2", "fmod"} else 1

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        module = builder.module
        element = context.get_value_type(kind)
        function = module.globals.get(symbol)
        if function is None:
            function = ir.Function(module, ir.FunctionType(element, [element] * nin), symbol)
            function.attributes.add("nounwind")
            # llvmlite knows only some attributes by name; the set takes any text.
            set.add(function.attributes, "memory(none)")
            if vector is not None:
                set.add(function.attributes, f'"vector-function-abi-variant"="{vector.symbol}({vector.symbol})"')
                _declare_vector_form(module, vector.symbol, ir.VectorType(element, vector.lanes), nin)
        return builder.call(function, args)

    def typing_one(context: Any, a: Any) -> Any:
        return kind(kind), generate

    def typing_two(context: Any, a: Any, b: Any) -> Any:
        return kind(kind, kind), generate

    return intrinsic(typing_one if nin == 1 else typing_two)


def _declare_vector_form(module: Any, symbol: str, kind: Any, nin: int) -> None:
    """Declare a vector function so that it is still there when LLVM's vectoriser looks for it."""
    function = ir.Function(module, ir.FunctionType(kind, [kind] * nin), symbol)
    pointer = ir.PointerType(ir.IntType(8))
    kept = module.globals.get("llvm.compiler.used")
    entries = [*(() if kept is None else kept.initializer.constant), function.bitcast(pointer)]
    array = ir.ArrayType(pointer, len(entries))
    if kept is None:
        kept = ir.GlobalVariable(module, array, "llvm.compiler.used")
        kept.linkage = "appending"
        kept.section = "llvm.metadata"
    kept.value_type = array
    kept.type = ir.PointerType(array)
    kept.initializer = ir.Constant(array, entries)


# BLAS: functions with Fortran's convention, every argument by address


def _by_address(builder: Any, value: Any) -> Any:
    place = cgutils.alloca_once_value(builder, value)
    return builder.bitcast(place, cgutils.voidptr_t)


def _call_fortran(builder: Any, address: Any, places: list[Any]) -> None:
    kind = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t] * len(places))
    builder.call(builder.inttoptr(address, kind.as_pointer()), places)


def _gemm(code: str) -> Any:
    """C = op(a) op(b), column-major, by the routine at an address; its letters N and T say what op is."""
    kind = TYPES[code]

    def typing(
        context: Any, routine: Any, ta: Any, tb: Any, m: Any, n: Any, k: Any,
        a: Any, lda: Any, b: Any, ldb: Any, c: Any, ldc: Any,
    ) -> Any:  # fmt: skip
        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            routine, ta, tb, m, n, k, a, lda, b, ldb, c, ldc = args
            real = context.get_value_type(kind)
            letters = [_by_address(builder, builder.trunc(x, ir.IntType(8))) for x in (ta, tb)]
            m, n, k, lda, ldb, ldc = (
                _by_address(builder, builder.trunc(x, ir.IntType(32))) for x in (m, n, k, lda, ldb, ldc)
            )
            one, zero = (_by_address(builder, ir.Constant(real, x)) for x in (1.0, 0.0))
            a, b, c = (builder.inttoptr(x, cgutils.voidptr_t) for x in (a, b, c))
            _call_fortran(builder, routine, [*letters, m, n, k, one, a, lda, b, ldb, zero, c, ldc])
            return context.get_dummy_value()

        return types.none(*[types.int64] * 12), generate

    return intrinsic(typing)


def _gemv(code: str) -> Any:
    """Y = op(a) x for a column-major matrix, by the routine at an address."""
    kind = TYPES[code]

    def typing(
        context: Any, routine: Any, ta: Any, m: Any, n: Any, a: Any, lda: Any, x: Any, incx: Any, y: Any, incy: Any
    ) -> Any:
        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            routine, ta, m, n, a, lda, x, incx, y, incy = args
            real = context.get_value_type(kind)
            letter = _by_address(builder, builder.trunc(ta, ir.IntType(8)))
            m, n, lda, incx, incy = (
                _by_address(builder, builder.trunc(v, ir.IntType(32))) for v in (m, n, lda, incx, incy)
            )
            one, zero = (_by_address(builder, ir.Constant(real, v)) for v in (1.0, 0.0))
            a, x, y = (builder.inttoptr(v, cgutils.voidptr_t) for v in (a, x, y))
            _call_fortran(builder, routine, [letter, m, n, one, a, lda, x, incx, zero, y, incy])
            return context.get_dummy_value()

        return types.none(*[types.int64] * 10), generate

    return intrinsic(typing)


def _made(name: str) -> Any:
    """Make the primitive of a name, None if there is none."""
    if name in TYPES:
        return TYPES[name]
    stem, _, rest = name.partition("_")
    if stem in _FAMILIES and rest:
        return _FAMILIES[stem](*rest.rsplit("_", 1) if "_" in rest else (rest,))
    return None


_FAMILIES: dict[str, Callable[..., Any]] = {
    "as": _as_pointer,
    "shifted": _shifted,
    "explode": lambda ndim: _explode(int(ndim)),
    "wrap": lambda code, ndim: _wrap(code, int(ndim)),
    "libm": _libm,
    "gemm": _gemm,
    "gemv": _gemv,
    "bits": _bits,
}
_SINGLE: dict[str, Callable[[], Any]] = {
    "INF": lambda: math.inf,
    "buffer_new": lambda: intrinsic(_buffer_new),
    "buffer_data": lambda: intrinsic(_buffer_data),
    "buffer_free": lambda: intrinsic(_buffer_free),
    "pick": lambda: intrinsic(_pick),
    "add_any": lambda: _reordered("fadd"),
    "mul_any": lambda: _reordered("fmul"),
    "fabs": lambda: _instruction("llvm.fabs", 1),
    "sqrt": lambda: _instruction("llvm.sqrt", 1),
    "floor": lambda: _instruction("llvm.floor", 1),
    "ceil": lambda: _instruction("llvm.ceil", 1),
    "trunc": lambda: _instruction("llvm.trunc", 1),
    "rint": lambda: _instruction("llvm.rint", 1),
    "half_away": lambda: _instruction("llvm.round", 1),
    "larger": lambda: _instruction("llvm.maximum", 2),
    "smaller": lambda: _instruction("llvm.minimum", 2),
    "copysign": lambda: _instruction("llvm.copysign", 2),
}


class Primitives:
    """The primitives by name, each made at its first use."""

    def __init__(self) -> None:
        self._lock = new_lock()
        self._made: dict[str, Any] = {}

    def find(self, name: str) -> Any:
        """Return the primitive of a name, None if there is none."""
        if name not in self._made:
            with self._lock:
                if name not in self._made:
                    self._made[name] = _SINGLE[name]() if name in _SINGLE else _made(name)
        return self._made[name]


PRIMITIVES = Primitives()
