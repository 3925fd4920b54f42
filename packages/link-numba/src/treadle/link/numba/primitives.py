"""The primitive functions of generated source, as Numba intrinsics. Imported when a unit is compiled."""

# ruff: noqa: ARG001, ARG005 - a function that writes a call takes four arguments, used or not

from __future__ import annotations

import inspect
import math
import struct
from collections.abc import Callable, Sequence
from functools import cache, partial

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.base import BaseContext
from numba.core.types import Type as NumbaType
from numba.core.typing.templates import Signature
from numba.extending import _Intrinsic as Intrinsic
from numba.extending import intrinsic
from numba.np.arrayobj import populate_array

from treadle.link.numba.buffers import ALIGNMENT
from treadle.link.numba.routines import calls, eights, halves, lanes
from treadle.link.numba.routines.externals import EXTERNALS, is_family
from treadle.link.numba.routines.symbols import ROUTINES, SORTS, SPECIAL
from treadle.link.numba.routines.vector_math import vector_forms

# A function that writes a call: it takes context, builder, signature and argument values, and returns the result.
Write = Callable[[BaseContext, ir.IRBuilder, Signature, Sequence[ir.Value]], ir.Value]


TYPES: dict[str, NumbaType] = {
    "b1": types.boolean,
    **{f"i{n}": getattr(types, f"int{8 * n}") for n in (1, 2, 4, 8)},
    **{f"u{n}": getattr(types, f"uint{8 * n}") for n in (1, 2, 4, 8)},
    "f4": types.float32,
    "f8": types.float64,
    "c8": types.complex64,
    "c16": types.complex128,
    **eights.KINDS,
}
_COMPLEX = {"f4": "c8", "f8": "c16"}
_REAL = {"c8": "f4", "c16": "f8"}
ITEMSIZE = {code: int(code[1:]) for code in TYPES}
_WORD = ir.IntType(64)


def type_of(code: str) -> NumbaType:
    """Return the Numba type of a code of `treadle.link.numba.text.unit.Unit.signature`."""
    return types.CPointer(TYPES[code[1:]]) if code.startswith("*") else TYPES[code]


def _primitive(write: Write, result: NumbaType | None, *takes: NumbaType | None) -> Intrinsic:
    """Return the intrinsic with a result type and parameter types; None stands for a type that they have in common."""

    def typing(context: BaseContext, *arguments: NumbaType) -> tuple[Signature, Write]:
        common = next(
            (kind for kind, parameter in zip(arguments, takes, strict=True) if parameter is None), arguments[0]
        )
        returned, *kinds = [common if kind is None else kind for kind in (result, *takes)]
        return returned(*kinds), write

    return _typed(typing, len(takes))


def _typed(typing: Callable[..., tuple[Signature, Write]], count: int) -> Intrinsic:
    """Return the intrinsic with `count` parameters whose types a function resolves."""
    # Numba counts the parameters of the signature, and passes arguments by position.
    names = ("context", *(f"x{k}" for k in range(count)))
    plain = inspect.Parameter.POSITIONAL_OR_KEYWORD
    typing.__signature__ = inspect.Signature([inspect.Parameter(name, plain) for name in names])  # type: ignore[attr-defined]
    built: Intrinsic = intrinsic(typing)
    return built


def _as_pointer(code: str) -> Intrinsic:
    """An address as a pointer to elements."""
    kind = types.CPointer(TYPES[code])
    return _primitive(
        lambda context, builder, sig, args: builder.inttoptr(args[0], context.get_value_type(kind)), kind, types.int64
    )


def _place(code: str) -> Intrinsic:
    """The address of a pointer's element."""
    return _primitive(
        lambda context, builder, sig, args: builder.ptrtoint(args[0], _WORD), types.int64, types.CPointer(TYPES[code])
    )


def _shifted(code: str) -> Intrinsic:
    """A pointer moved on by some elements."""
    kind = types.CPointer(TYPES[code])
    return _primitive(lambda context, builder, sig, args: builder.gep(args[0], [args[1]]), kind, kind, types.int64)


def _room(code: str, count: str) -> Intrinsic:
    """Room for some elements that lasts until the function returns; the number that it takes is not used."""
    kind = types.CPointer(TYPES[code])

    def write(context: BaseContext, builder: ir.IRBuilder, sig: Signature, args: Sequence[ir.Value]) -> ir.Value:
        element = context.get_data_type(TYPES[code])
        # Not by Numba's function, which would set all elements to 0.
        with builder.goto_entry_block():
            place = builder.alloca(ir.ArrayType(element, int(count)))
            if int(count) * int(code[1:]) >= ALIGNMENT:
                # Vectors that lie across two lines of the cache take twice the time.
                place.align = ALIGNMENT
        return builder.bitcast(place, context.get_value_type(kind))

    return _primitive(write, kind, types.int64)


def _explode(ndim: str) -> Intrinsic:
    """An array as its address, lengths, and strides in elements."""
    rank = int(ndim)

    def write(context: BaseContext, builder: ir.IRBuilder, sig: Signature, args: Sequence[ir.Value]) -> ir.Value:
        kind = sig.args[0]
        array = context.make_array(kind)(context, builder, args[0])
        size = context.get_abi_sizeof(context.get_data_type(kind.dtype))
        shift = ir.Constant(_WORD, size.bit_length() - 1)
        strides = cgutils.unpack_tuple(builder, array.strides, rank)
        words = [
            builder.ptrtoint(array.data, _WORD),
            *cgutils.unpack_tuple(builder, array.shape, rank),
            *(builder.ashr(stride, shift) for stride in strides),
        ]
        return context.make_tuple(builder, sig.return_type, words)

    return _primitive(write, types.UniTuple(types.int64, 1 + 2 * rank), None)


def _wrap(code: str, ndim: str) -> Intrinsic:
    """A buffer and a tuple of lengths as an array that owns the buffer, in C order."""
    rank, size = int(ndim), ITEMSIZE[code]
    kind = types.Array(TYPES[code], rank, "C")

    def write(context: BaseContext, builder: ir.IRBuilder, sig: Signature, args: Sequence[ir.Value]) -> ir.Value:
        dims = cgutils.unpack_tuple(builder, args[1], rank)
        array = context.make_array(kind)(context, builder)
        info = builder.inttoptr(args[0], cgutils.voidptr_t)
        data = builder.bitcast(context.nrt.meminfo_data(builder, info), array.data.type)
        step = ir.Constant(_WORD, size)
        strides: list[ir.Value] = []
        for n in reversed(dims):
            strides.insert(0, step)
            step = builder.mul(step, n)
        populate_array(array, data=data, shape=dims, strides=strides, itemsize=size, meminfo=info)
        return array._getvalue()

    return _primitive(write, kind, types.int64, None)


# Arithmetic without a Python operator


def _reordered(instruction: str) -> Intrinsic:
    """An addition or multiplication that may be reordered with others of its kind, but keeps NaN and infinity."""
    return _primitive(
        lambda context, builder, sig, args: getattr(builder, instruction)(*args, flags=("reassoc",)), None, None, None
    )


def _bits(source: str, target: str) -> Intrinsic:
    """The bits of a value as a value of another type of that size."""
    kind = TYPES[target]
    return _primitive(
        lambda context, builder, sig, args: builder.bitcast(args[0], context.get_value_type(kind)), kind, TYPES[source]
    )


def _instruction(name: str, nin: int = 1) -> Intrinsic:
    """A floating-point function that LLVM has as an instruction, such as ``llvm.floor``."""

    def write(context: BaseContext, builder: ir.IRBuilder, sig: Signature, args: Sequence[ir.Value]) -> ir.Value:
        kind = context.get_value_type(sig.return_type)
        function = builder.module.declare_intrinsic(f"llvm.{name}", [kind], ir.FunctionType(kind, [kind] * nin))
        return builder.call(function, args)

    return _primitive(write, None, *[None] * nin)


def _picked(context: BaseContext, builder: ir.IRBuilder, sig: Signature, args: Sequence[ir.Value]) -> ir.Value:
    """Select one of two values, without a jump: LLVM makes one of a selection that it thinks can be foreseen."""
    chosen = builder.select(*args)
    if isinstance(chosen, ir.Instruction):
        chosen.set_metadata("unpredictable", builder.module.add_metadata([]))
    return chosen


def _libm(name: str, code: str) -> Intrinsic:
    """A function of the C library's libm; it carries the names of its vector forms, which LLVM then uses in loops."""
    symbol = name if code == "f8" else f"{name}f"
    forms = vector_forms().get(symbol, ())
    kind = TYPES[code]

    def write(context: BaseContext, builder: ir.IRBuilder, sig: Signature, args: Sequence[ir.Value]) -> ir.Value:
        module = builder.module
        element = context.get_value_type(kind)
        function = module.globals.get(symbol)
        if function is None:
            function = ir.Function(module, ir.FunctionType(element, [element] * len(args)), symbol)
            function.attributes.add("nounwind")
            # llvmlite checks the names of attributes and knows only some; the set itself takes any text.
            set.add(function.attributes, "memory(none)")
            if forms:
                variants = ",".join(f"{form.symbol}({form.symbol})" for form in forms)
                set.add(function.attributes, f'"vector-function-abi-variant"="{variants}"')
            for form in forms:
                _declare_vector_form(module, form.symbol, ir.VectorType(element, form.lanes), len(args))
        return builder.call(function, args)

    return _primitive(write, kind, *[kind] * (2 if name in {"pow", "atan2", "fmod", "hypot", "nextafter"} else 1))


def _special(name: str, code: str) -> Intrinsic:
    """A compiled function of SciPy, by its symbol: see `treadle.link.numba.routines.symbols`."""
    symbol, (used, nin) = SPECIAL.find(name, code)
    kind, computed = TYPES[code], TYPES[used]

    def write(context: BaseContext, builder: ir.IRBuilder, sig: Signature, args: Sequence[ir.Value]) -> ir.Value:
        element = context.get_value_type(computed)
        skip = ir.IntType(32)
        function = builder.module.globals.get(symbol)
        if function is None:
            function = ir.Function(builder.module, ir.FunctionType(element, [element] * len(args) + [skip]), symbol)
            function.attributes.add("nounwind")
        arguments = [context.cast(builder, x, kind, computed) for x in args]
        return context.cast(builder, builder.call(function, [*arguments, ir.Constant(skip, 0)]), computed, kind)

    return _primitive(write, kind, *[kind] * nin)


def _external(family: str, name: str) -> Intrinsic:
    """A compiled function that another package brings."""
    symbol, (_, takes, result) = EXTERNALS.find(family, name)
    kinds = {"d": types.float64, "f": types.float32, "": types.none}
    short = ir.IntType(8)

    def write(context: BaseContext, builder: ir.IRBuilder, sig: Signature, args: Sequence[ir.Value]) -> ir.Value:
        arguments = []
        for letter, value in zip(takes, args, strict=True):
            if letter == "p":
                arguments.append(builder.inttoptr(value, cgutils.voidptr_t))
            else:
                arguments.append(builder.trunc(value, short) if letter == "b" else value)
        returned = context.get_value_type(sig.return_type) if result else ir.VoidType()
        declared = ir.FunctionType(returned, [value.type for value in arguments])
        drawn = builder.call(cgutils.get_or_insert_function(builder.module, declared, symbol), arguments)
        return drawn if result else context.get_dummy_value()

    parameters = [kinds.get(letter, types.int64) for letter in takes]
    return _primitive(write, kinds.get(result, types.int64), *parameters)


def _called(takes: str, result: str) -> Intrinsic:
    """A function at an address; see `calls.by_address`."""
    write, returned, count = calls.by_address(takes, None if result == "none" else TYPES[result])
    return _typed(lambda context, *kinds: (returned(*kinds), write), count)


def _part(at: int, code: str) -> Intrinsic:
    """The real (0) or imaginary (1) part of a complex number."""
    return _primitive(
        lambda context, builder, sig, args: builder.extract_value(args[0], at), TYPES[_REAL[code]], TYPES[code]
    )


def _composed(code: str) -> Intrinsic:
    """The complex number with two given parts."""
    return _primitive(
        lambda context, builder, sig, args: cgutils.pack_struct(builder, args),
        TYPES[_COMPLEX[code]], TYPES[code], TYPES[code],
    )  # fmt: skip


def _complex_times(context: BaseContext, builder: ir.IRBuilder, sig: Signature, args: Sequence[ir.Value]) -> ir.Value:
    """Multiply complex numbers, or a complex number by a real one."""
    (ar, ai), b = _parts(builder, args[0]), args[1]
    if not isinstance(sig.args[1], types.Complex):
        return cgutils.pack_struct(builder, [builder.fmul(ar, b), builder.fmul(ai, b)])
    br, bi = _parts(builder, b)
    real = builder.fsub(builder.fmul(ar, br), builder.fmul(ai, bi))
    return cgutils.pack_struct(builder, [real, builder.fadd(builder.fmul(ar, bi), builder.fmul(ai, br))])


def _complex_over(context: BaseContext, builder: ir.IRBuilder, sig: Signature, args: Sequence[ir.Value]) -> ir.Value:
    """Divide complex numbers by Smith's algorithm (1962), or a complex number by a real one."""
    (ar, ai), b = _parts(builder, args[0]), args[1]
    if not isinstance(sig.args[1], types.Complex):
        return cgutils.pack_struct(builder, [builder.fdiv(ar, b), builder.fdiv(ai, b)])
    br, bi = _parts(builder, b)
    size = builder.module.declare_intrinsic("llvm.fabs", [br.type], ir.FunctionType(br.type, [br.type]))
    straight = builder.fcmp_ordered(">=", builder.call(size, [br]), builder.call(size, [bi]))
    # If |br| < |bi|, divide i a by i b = -bi + i br instead, whose real part is the larger one.
    turned = [builder.fneg(ai), ar, builder.fneg(bi), br]
    ar, ai, br, bi = (builder.select(straight, x, y) for x, y in zip((ar, ai, br, bi), turned, strict=True))
    low = builder.fdiv(bi, br)
    scale = builder.fadd(br, builder.fmul(bi, low))
    real = builder.fdiv(builder.fadd(ar, builder.fmul(ai, low)), scale)
    return cgutils.pack_struct(builder, [real, builder.fdiv(builder.fsub(ai, builder.fmul(ar, low)), scale)])


def _parts(builder: ir.IRBuilder, value: ir.Value) -> tuple[ir.Value, ir.Value]:
    return builder.extract_value(value, 0), builder.extract_value(value, 1)


def _libm_complex(name: str, code: str) -> Intrinsic:
    """A function of libm on complex numbers, which are passed as pairs of doubles."""
    symbol, kind, wide, count = f"c{name}", TYPES[code], types.complex128, 2 if name == "pow" else 1

    def write(context: BaseContext, builder: ir.IRBuilder, sig: Signature, args: Sequence[ir.Value]) -> ir.Value:
        real = ir.DoubleType()
        declared = ir.FunctionType(ir.LiteralStructType([real, real]), [real] * (2 * count))
        function = cgutils.get_or_insert_function(builder.module, declared, symbol)
        passed = [context.cast(builder, x, kind, wide) for x in args]
        returned = builder.call(function, [builder.extract_value(x, at) for x in passed for at in (0, 1)])
        return context.cast(builder, returned, wide, kind)

    return _primitive(write, kind, *[kind] * count)


def _declare_vector_form(module: ir.Module, symbol: str, kind: ir.Type, nin: int) -> None:
    """Declare a vector function, and keep the declaration until LLVM's vectoriser looks for it."""
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


def _routine(library: str, name: str) -> Intrinsic:
    """A routine of LAPACK or BLAS, by a symbol that `treadle.link.numba.routines.symbols` binds to its address.

    Pointers are passed as they are; numbers, and letters as numbers, are passed by address. The call returns the value
    of a LAPACK routine's last parameter, ``info``, and 0 for BLAS.
    """
    symbol, kinds = ROUTINES.find(library, name)
    says = library == "lapack" and kinds.endswith("i")
    passed = kinds[:-1] if says else kinds

    def write(context: BaseContext, builder: ir.IRBuilder, sig: Signature, args: Sequence[ir.Value]) -> ir.Value:
        short = ir.IntType(32)
        places = []
        for kind, argument_type, value in zip(passed, sig.args, args, strict=True):
            if isinstance(argument_type, types.CPointer):
                place = value
            elif kind == "s":
                place = builder.inttoptr(value, cgutils.voidptr_t)
            elif kind == "x":
                place = cgutils.alloca_once_value(builder, value)
            else:
                place = cgutils.alloca_once(builder, ir.IntType(8) if kind == "c" else short)
                builder.store(builder.trunc(value, place.type.pointee), place)
            places.append(builder.bitcast(place, cgutils.voidptr_t))
        info = cgutils.alloca_once_value(builder, ir.Constant(short, 0))
        if says:
            builder.store(ir.Constant(short, 0), info)
            places.append(builder.bitcast(info, cgutils.voidptr_t))
        declared = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t] * len(places))
        builder.call(cgutils.get_or_insert_function(builder.module, declared, symbol), places)
        return builder.sext(builder.load(info), _WORD)

    def typing(context: BaseContext, *argument_types: NumbaType) -> tuple[Signature, Write]:
        wrong = [
            f"parameter {k} is {type_}"
            for k, (kind, type_) in enumerate(zip(passed, argument_types, strict=True))
            if not isinstance(type_, types.CPointer) and (kind == "x") == (type_ == types.int64)
        ]
        if wrong:
            msg = f"numba: {library}'s {name}: {', '.join(wrong)}. Pass a pointer, or a number of the routine's type."
            raise TypeError(msg)
        return types.int64(*argument_types), write

    return _typed(typing, len(passed))


def _numpy_sort(short: str) -> Intrinsic:
    """NumPy's function that sorts the numbers at a pointer; other than 0 where it cannot be called."""
    (symbol, _), short_int = SORTS.find(short), ir.IntType(32)
    kind = types.CPointer(TYPES[f"u{int(short[1:]) // 8}"])

    def write(context: BaseContext, builder: ir.IRBuilder, sig: Signature, args: Sequence[ir.Value]) -> ir.Value:
        declared = ir.FunctionType(short_int, [cgutils.voidptr_t, _WORD, cgutils.voidptr_t])
        function = cgutils.get_or_insert_function(builder.module, declared, symbol)
        numbers = builder.bitcast(args[0], cgutils.voidptr_t)
        return builder.sext(builder.call(function, [numbers, args[1], cgutils.voidptr_t(None)]), _WORD)

    return _primitive(write, types.int64, kind, types.int64)


def _of_vectors(name: str, code: str) -> Intrinsic:
    """A function of vectors, by the code of their elements."""
    write, result, takes = lanes.operations(TYPES[code])[name]
    return _primitive(write, result, *takes)


def _from_table(code: str) -> Intrinsic:
    """The number at a position of a constant table, whose numbers are in the name as hexadecimal bytes."""
    values = struct.unpack(f"<{len(code) // 16}d", bytes.fromhex(code))

    def write(context: BaseContext, builder: ir.IRBuilder, sig: Signature, args: Sequence[ir.Value]) -> ir.Value:
        constant = ir.Constant(ir.ArrayType(ir.DoubleType(), len(values)), list(values))
        table = cgutils.global_constant(builder, "treadle_table", constant)
        return builder.load(builder.gep(table, [ir.Constant(_WORD, 0), args[0]]))

    return _primitive(write, types.float64, types.int64)


# Words that threads share, and buffers


def _atomic(instruction: str) -> Intrinsic:
    """A change of the word at an address, ``xchg`` or ``add``; what stood there is returned."""

    def write(context: BaseContext, builder: ir.IRBuilder, sig: Signature, args: Sequence[ir.Value]) -> ir.Value:
        return builder.atomic_rmw(instruction, builder.inttoptr(args[0], _WORD.as_pointer()), args[1], "seq_cst")

    return _primitive(write, types.int64, types.int64, types.int64)


def _exchange_if(context: BaseContext, builder: ir.IRBuilder, sig: Signature, args: Sequence[ir.Value]) -> ir.Value:
    """Write a word at an address if another one stands there; return what stood there."""
    place = builder.inttoptr(args[0], _WORD.as_pointer())
    return builder.extract_value(builder.cmpxchg(place, args[1], args[2], "seq_cst"), 0)


def _buffer_free(context: BaseContext, builder: ir.IRBuilder, sig: Signature, args: Sequence[ir.Value]) -> ir.Value:
    """Release a buffer of Numba's runtime; 0 is none."""
    info = builder.inttoptr(args[0], cgutils.voidptr_t)
    context.nrt.decref(builder, types.MemInfoPointer(types.voidptr), info)
    return context.get_dummy_value()


# Families of primitives by the stem of their names; the rest of a name gives the types.
_FAMILIES: dict[str, Callable[..., Intrinsic]] = {
    "as": _as_pointer,
    "shifted": _shifted,
    "place": _place,
    "call": _called,
    # Functions of Python, of Numba's runtime and of the C library.
    **dict.fromkeys(
        ("python", "library"),
        lambda name, takes: _primitive(calls.by_name(name, takes), types.int64, *[types.int64] * len(takes)),
    ),
    "explode": _explode,
    "room": _room,
    "table": _from_table,
    "wrap": _wrap,
    "libm": _libm,
    "special": _special,
    "bits": _bits,
    "re": lambda code: _part(0, code),
    "im": lambda code: _part(1, code),
    "compose": _composed,
    "libmc": _libm_complex,
    "lapack": lambda name: _routine("lapack", name),
    "simd": _of_vectors,
    "eights": lambda name, code: _primitive(*eights.find(name, code)),
    "f16c": lambda name: _primitive(*halves.OPERATIONS[name]),
    "numpy": lambda _, short: _numpy_sort(short),
    "blas": lambda name: _routine("blas", name),
}
_SINGLE: dict[str, Callable[[], Intrinsic | float]] = {
    "INF": lambda: math.inf,
    "buffer_free": lambda: _primitive(_buffer_free, types.none, types.int64),
    "exchange": lambda: _atomic("xchg"),
    "add_to": lambda: _atomic("add"),
    "exchange_if": lambda: _primitive(_exchange_if, types.int64, *[types.int64] * 3),
    "pick": lambda: _primitive(_picked, None, types.boolean, None, None),
    # Multiply or divide a complex number by a complex number, or by a real one of the same precision.
    "times": lambda: _typed(lambda context, a, b: (a(a, b), _complex_times), 2),
    "over": lambda: _typed(lambda context, a, b: (a(a, b), _complex_over), 2),
    # Quotients of integers as processors compute them: rounded toward 0, by anything but 0.
    "quotient": lambda: _primitive(lambda context, b, sig, args: b.sdiv(*args), None, None, None),
    "remainder": lambda: _primitive(lambda context, b, sig, args: b.srem(*args), None, None, None),
    "add_any": lambda: _reordered("fadd"),
    "mul_any": lambda: _reordered("fmul"),
    **{name: partial(_instruction, name) for name in ("fabs", "sqrt", "floor", "ceil", "trunc", "rint", "ctpop")},
    "larger": lambda: _instruction("maximum", 2),
    "smaller": lambda: _instruction("minimum", 2),
    "copysign": lambda: _instruction("copysign", 2),
    "fused": lambda: _instruction("fmuladd", 3),
}


@cache
def find_primitive(name: str) -> Intrinsic | NumbaType | float | None:
    """Return the primitive with a name, built at its first use, or None if there is none."""
    if name in _SINGLE or name in TYPES:
        return _SINGLE[name]() if name in _SINGLE else TYPES[name]
    stem, _, rest = name.partition("_")
    if rest and is_family(stem):
        return _external(stem, rest)
    if stem not in _FAMILIES or not rest:
        return None
    return _FAMILIES[stem](*rest.rsplit("_", 1))
