"""Primitives of generated source for float16, whose bits are uint16: conversions by processors that have them."""

# ruff: noqa: ARG001 - a function that writes a call takes four arguments, used or not

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from llvmlite import ir
from numba import types
from numba.core.base import BaseContext
from numba.core.typing.templates import Signature

_BITS = ir.IntType(16)


def _are_here(context: BaseContext) -> bool:
    features: str = context.codegen().magic_tuple()[2]
    return "+f16c" in features.split(",")


def _here(context: BaseContext, builder: ir.IRBuilder, sig: Signature, args: Sequence[ir.Value]) -> ir.Value:
    """Return whether the processor converts; the number that it takes is not used."""
    return context.get_constant(types.boolean, _are_here(context))


def _narrowed(context: BaseContext, builder: ir.IRBuilder, sig: Signature, args: Sequence[ir.Value]) -> ir.Value:
    """Round a float32 to the nearest float16, ties to even."""
    if not _are_here(context):
        return ir.Constant(_BITS, 0)
    return builder.bitcast(builder.fptrunc(args[0], ir.HalfType()), _BITS)


def _widened(context: BaseContext, builder: ir.IRBuilder, sig: Signature, args: Sequence[ir.Value]) -> ir.Value:
    """Return a float16 as a float32."""
    if not _are_here(context):
        return ir.Constant(ir.FloatType(), 0.0)
    return builder.fpext(builder.bitcast(args[0], ir.HalfType()), ir.FloatType())


# What writes each, its result, and what it takes.
OPERATIONS: Mapping[str, tuple[Any, ...]] = MappingProxyType(
    {
        "here": (_here, types.boolean, types.int64),
        "narrowed": (_narrowed, types.uint16, types.float32),
        "widened": (_widened, types.float32, types.uint16),
    }
)
