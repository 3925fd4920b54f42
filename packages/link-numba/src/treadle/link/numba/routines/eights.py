"""Eights of kernels: eight numbers, one of each of eight matrices, as LLVM's vectors, and masks of them."""

# ruff: noqa: ARG001, ARG005 - a function that writes a call takes four arguments, used or not

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir
from numba import types
from numba.core.base import BaseContext
from numba.core.typing.templates import Signature

from treadle.link.numba.routines.lanes import Lanes, Write, binary, filled, instruction

_WORD, _SHORT = ir.IntType(64), ir.IntType(32)
_COMPARED = {"equal": "==", "below": "<", "most": "<=", "above": ">", "least": ">="}
_TURNED = (([0, 4, 2, 6], [1, 5, 3, 7]), ([0, 1, 4, 5], [2, 3, 6, 7]))


def _shuffled(builder: ir.IRBuilder, a: ir.Value, b: ir.Value, places: Sequence[int]) -> ir.Value:
    return builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(_SHORT, len(places)), [*places]))


def _turned(builder: ir.IRBuilder, x: Sequence[ir.Value]) -> list[ir.Value]:
    """Write that four by four elements are turned."""
    first, second = _TURNED
    a, b, c, d = (_shuffled(builder, x[k], x[k + 1], places) for k in (0, 2) for places in first)
    return [_shuffled(builder, p, q, places) for places in second for p, q in ((a, c), (b, d))]


def _by_four(builder: ir.IRBuilder, pointer: ir.Value, at: ir.Value) -> ir.Value:
    """Write the place of four elements behind one."""
    place = builder.gep(pointer, [at])
    return builder.bitcast(place, ir.VectorType(place.type.pointee, 4).as_pointer())


def operations(
    number: types.Type, kind: Lanes, mask: Lanes
) -> dict[str, tuple[Write, types.Type | None, tuple[types.Type, ...]]]:
    """Return the primitives of eights by name: what writes them, what they return and take."""
    size = number.bitwidth // 8
    one, all_, words = types.CPointer(number), types.CPointer(kind), types.CPointer(types.int64)

    def compared(sign: str) -> tuple[Write, types.Type, tuple[types.Type, ...]]:
        return lambda context, builder, sig, args: builder.fcmp_ordered(sign, *args), mask, (kind, kind)

    def function(name: str) -> tuple[Write, types.Type, tuple[types.Type, ...]]:
        full_name = f"{name}.v8f{number.bitwidth}"
        return lambda context, builder, sig, args: instruction(builder, full_name, args), kind, (kind,)

    def eight(context: BaseContext, builder: ir.IRBuilder, sig: Signature, args: Sequence[ir.Value]) -> ir.Value:
        return builder.load(builder.bitcast(args[0], context.get_value_type(all_)), align=size)

    def begun(context: BaseContext, builder: ir.IRBuilder, sig: Signature, args: Sequence[ir.Value]) -> ir.Value:
        word = builder.add(builder.ptrtoint(args[0], _WORD), ir.Constant(_WORD, 63))
        return builder.inttoptr(builder.and_(word, ir.Constant(_WORD, -64)), context.get_value_type(all_))

    def weave(context: BaseContext, builder: ir.IRBuilder, sig: Signature, args: Sequence[ir.Value]) -> ir.Value:
        x, at, to = args
        halves = []
        for half in (0, 4):
            places = [builder.load(builder.gep(at, [ir.Constant(_WORD, half + k)])) for k in range(4)]
            halves.append(_turned(builder, [builder.load(_by_four(builder, x, p), align=size) for p in places]))
        for k, (low, high) in enumerate(zip(*halves, strict=True)):
            builder.store(_shuffled(builder, low, high, range(8)), builder.gep(to, [ir.Constant(_WORD, k)]))
        return context.get_dummy_value()

    def unweave(context: BaseContext, builder: ir.IRBuilder, sig: Signature, args: Sequence[ir.Value]) -> ir.Value:
        x, to, at = args
        woven = [builder.load(builder.gep(x, [ir.Constant(_WORD, k)])) for k in range(4)]
        for half in (0, 4):
            lines = _turned(builder, [_shuffled(builder, v, v, range(half, half + 4)) for v in woven])
            for k, line in enumerate(lines):
                place = builder.load(builder.gep(at, [ir.Constant(_WORD, half + k)]))
                builder.store(line, _by_four(builder, to, place), align=size)
        return context.get_dummy_value()

    return {
        "added": binary("fadd", kind),
        "less": binary("fsub", kind),
        "multiplied": binary("fmul", kind),
        "divided": binary("fdiv", kind),
        "negated": (lambda context, builder, sig, args: builder.fneg(args[0]), kind, (kind,)),
        **{name: compared(sign) for name, sign in _COMPARED.items()},
        "unequal": (lambda _, builder, __, args: builder.fcmp_unordered("!=", *args), mask, (kind, kind)),
        "filled": (lambda _, builder, __, args: filled(builder, 8, args[0]), kind, (number,)),
        "sqrt": function("sqrt"),
        "abs": function("fabs"),
        "select": (lambda _, builder, __, args: builder.select(*args), kind, (mask, kind, kind)),
        "eight": (eight, kind, (one,)),
        "eights": (begun, all_, (one,)),
        "numbers": (
            lambda context, builder, _, args: builder.bitcast(args[0], context.get_value_type(one)), one, (all_,)
        ),
        "weave": (weave, types.none, (one, words, all_)),
        "unweave": (unweave, types.none, (all_, one, words)),
    }  # fmt: skip


def of_masks(mask: Lanes) -> dict[str, tuple[Write, types.Type | None, tuple[types.Type, ...]]]:
    """Return the primitives of masks."""
    return {
        "both": binary("and_", mask),
        "either": binary("or_", mask),
        "differ": binary("xor", mask),
        "not": (lambda context, builder, sig, args: builder.not_(args[0]), mask, (mask,)),
        "which": (lambda _, b, __, args: b.zext(b.bitcast(args[0], ir.IntType(8)), _WORD), types.int64, (mask,)),
    }


# Eight numbers of one precision by their bytes, and masks of them.
KINDS: dict[str, types.Type] = {
    "f32": Lanes(types.float32, 8, " of eights"),
    "f64": Lanes(types.float64, 8, " of eights"),
    # Masks of eights of different sizes are of different types.
    "m32": Lanes(types.boolean, 8, " of float32"),
    "m64": Lanes(types.boolean, 8, " of float64"),
}


def find(name: str, code: str) -> tuple[Any, ...]:
    """Return a primitive of eights or masks by its name and their code: what writes it, what it returns and takes."""
    mask = KINDS[f"m{code[1:]}"]
    found = of_masks(mask) if code[0] == "m" else operations(KINDS[code].element, KINDS[code], mask)
    write, result, takes = found[name]
    return write, result, *takes
