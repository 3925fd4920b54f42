"""Calls of compiled functions by their addresses, and of those of Python, Numba and the C library by name."""

# ruff: noqa: ARG001 - a function that writes a call takes four arguments, used or not

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.base import BaseContext
from numba.core.types import Type as NumbaType
from numba.core.typing.templates import Signature

Write = Callable[[BaseContext, ir.IRBuilder, Signature, Sequence[ir.Value]], ir.Value]
_INT = ir.IntType(32)


def by_address(takes: str, result: NumbaType | None) -> tuple[Write, NumbaType, int]:
    """Return what writes the call of a function, the type of its result, and how many arguments the call has.

    The first argument is the address, an int. `takes` has the codes of the others, ``p`` for pointers; the function
    returns nothing if `result` is None.
    """
    codes = re.findall(r"p|[a-z]\d", takes)
    returned = types.none if result is None else result

    def write(context: BaseContext, builder: ir.IRBuilder, sig: Signature, args: Sequence[ir.Value]) -> ir.Value:
        address, *values = args
        passed = []
        for code, value in zip(codes, values, strict=True):
            if code == "p":
                passed.append(builder.bitcast(value, cgutils.voidptr_t))
            else:
                # A _Bool is passed as an int.
                passed.append(builder.zext(value, _INT) if code == "b1" else value)
        plain = ir.VoidType() if result is None else context.get_value_type(returned)
        is_bool = result is types.boolean
        kind = ir.FunctionType(ir.IntType(8) if is_bool else plain, [value.type for value in passed])
        outcome = builder.call(builder.inttoptr(address, kind.as_pointer()), passed)
        if result is None:
            return context.get_dummy_value()
        return builder.trunc(outcome, plain) if is_bool else outcome

    return write, returned, 1 + len(codes)


def by_name(name: str, takes: str) -> Write:
    """Return what writes the call of a function by its name, which returns a word or nothing.

    `takes` has a letter for each argument: w for a word, i for an int; n is for a number that is not passed, since an
    intrinsic has to have a parameter.
    """

    def write(context: BaseContext, builder: ir.IRBuilder, sig: Signature, args: Sequence[ir.Value]) -> ir.Value:
        passed = [builder.trunc(x, _INT) if c == "i" else x for c, x in zip(takes, args, strict=True) if c != "n"]
        declared = ir.FunctionType(ir.IntType(64), [x.type for x in passed])
        return builder.call(cgutils.get_or_insert_function(builder.module, declared, name), passed)

    return write
