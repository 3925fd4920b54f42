"""Vectors of kernels: a type of Numba's for LLVM's vectors, and the primitives that work on them."""

# ruff: noqa: ARG001, ARG005 - a function that writes a call takes four arguments, used or not

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.base import BaseContext
from numba.core.datamodel import models, register_default
from numba.core.typing.templates import Signature

from treadle.link.numba.routines.vector_math import SETS

_WORD = ir.IntType(64)

Write = Callable[[BaseContext, ir.IRBuilder, Signature, Sequence[ir.Value]], ir.Value]


@cache
def width() -> int:
    """Return how many bits the vectors of this processor have."""
    features = llvm.get_host_cpu_features()
    return next((64 * lanes for feature, _, lanes in SETS if features.get(feature)), 128)


class Lanes(types.Type):  # type: ignore[misc]  # Numba has no types
    """Vectors of some elements of a type; a mark tells those of one use from those of another."""

    def __init__(self, element: types.Type, count: int, mark: str = "") -> None:
        self.element = element
        self.count = count
        super().__init__(name=f"lanes({element}, {count}{mark})")


@register_default(Lanes)
class _Model(models.PrimitiveModel):  # type: ignore[misc]  # Numba has no types
    """A vector of LLVM's."""

    def __init__(self, dmm: Any, fe_type: Lanes) -> None:
        element = dmm.lookup(fe_type.element).get_value_type()
        super().__init__(dmm, fe_type, ir.VectorType(element, fe_type.count))


def filled(builder: ir.IRBuilder, count: int, value: ir.Value) -> ir.Value:
    """Write a vector of one number."""
    kind = ir.VectorType(value.type, count)
    one = builder.insert_element(ir.Constant(kind, ir.Undefined), value, ir.Constant(ir.IntType(32), 0))
    everywhere = ir.Constant(ir.VectorType(ir.IntType(32), count), [0] * count)
    return builder.shuffle_vector(one, ir.Constant(kind, ir.Undefined), everywhere)


def instruction(builder: ir.IRBuilder, name: str, args: Sequence[ir.Value]) -> ir.Value:
    """Write an instruction of LLVM's, such as ``sqrt.v8f64``, on vectors of one type."""
    kind = ir.FunctionType(args[0].type, [value.type for value in args])
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, f"llvm.{name}"), args)


def binary(name: str, kind: types.Type) -> tuple[Write, types.Type, tuple[types.Type, ...]]:
    """Return the primitive of two operands that a method of LLVM's builder writes."""
    return lambda context, builder, sig, args: getattr(builder, name)(*args), kind, (kind, kind)


def operations(element: types.Type) -> dict[str, tuple[Write, types.Type | None, tuple[types.Type, ...]]]:
    """Return the primitives of an element's vectors by name: what writes them, what they return and take."""
    kind = Lanes(element, width() // element.bitwidth)
    pointer, real = types.CPointer(element), isinstance(element, types.Float)
    size, letter = element.bitwidth // 8, "f" if real else ""

    def laned(context: BaseContext) -> ir.VectorType:
        return context.get_value_type(kind)

    def load(context: BaseContext, builder: ir.IRBuilder, sig: Signature, args: Sequence[ir.Value]) -> ir.Value:
        return builder.load(builder.bitcast(args[0], laned(context).as_pointer()), align=size)

    def put(context: BaseContext, builder: ir.IRBuilder, sig: Signature, args: Sequence[ir.Value]) -> ir.Value:
        builder.store(args[1], builder.bitcast(args[0], laned(context).as_pointer()), align=size)
        return context.get_dummy_value()

    def fused(context: BaseContext, builder: ir.IRBuilder, sig: Signature, args: Sequence[ir.Value]) -> ir.Value:
        if not real:
            return builder.add(builder.mul(*args[:2]), args[2])
        return instruction(builder, f"fmuladd.v{kind.count}f{element.bitwidth}", args)

    def first(context: BaseContext, builder: ir.IRBuilder, sig: Signature, args: Sequence[ir.Value]) -> ir.Value:
        numbers = ir.Constant(ir.VectorType(_WORD, kind.count), [*range(kind.count)])
        inside = builder.icmp_signed("<", numbers, filled(builder, kind.count, args[1]))
        return builder.select(inside, args[0], ir.Constant(laned(context), [0] * kind.count))

    def total(context: BaseContext, builder: ir.IRBuilder, sig: Signature, args: Sequence[ir.Value]) -> ir.Value:
        parts = [builder.extract_element(args[0], ir.Constant(ir.IntType(32), k)) for k in range(kind.count)]
        result = parts[0]
        for part in parts[1:]:
            result = builder.fadd(result, part) if real else builder.add(result, part)
        return result

    return {
        "lanes": (lambda *_: ir.Constant(_WORD, kind.count), types.int64, (types.int64,)),
        "vector": (load, kind, (pointer,)),
        "put": (put, types.none, (pointer, kind)),
        "filled": (lambda _, builder, __, args: filled(builder, kind.count, args[0]), kind, (element,)),
        "added": binary(f"{letter}add", kind),
        "less": binary(f"{letter}sub", kind),
        "multiplied": binary(f"{letter}mul", kind),
        "fused": (fused, kind, (kind, kind, kind)),
        "first": (first, kind, (kind, types.int64)),
        "total": (total, element, (kind,)),
    }
