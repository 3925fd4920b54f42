"""Primitives of generated source for memory and threads: buffers of Numba's runtime, pages, words that are shared."""

# ruff: noqa: ARG001 - a function that writes a call takes four arguments, used or not

from __future__ import annotations

import mmap
from collections.abc import Sequence

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.base import BaseContext
from numba.core.typing.templates import Signature

from treadle.link.numba.routines.calls import Write

ALIGNMENT = 64
_WORD = ir.IntType(64)
_SHORT = ir.IntType(32)
_POINTER = cgutils.voidptr_t
# Blocks of at least two of these are made of huge pages, which the system clears at once.
_HUGE_PAGE = 1 << 21
_PAGE = 4096


# Buffers: reference-counted blocks of Numba's runtime, as integers, so that an array can own one; 0 is none.


def buffer_new(context: BaseContext, builder: ir.IRBuilder, sig: Signature, args: Sequence[ir.Value]) -> ir.Value:
    """Make a buffer of so many bytes; 0 if memory runs out."""
    return builder.ptrtoint(context.nrt.meminfo_alloc_aligned_unchecked(builder, args[0], ALIGNMENT), _WORD)


def buffer_around(context: BaseContext, builder: ir.IRBuilder, sig: Signature, args: Sequence[ir.Value]) -> ir.Value:
    """Make a buffer of memory at an address, of so many bytes; 0 if memory runs out.

    The last two are the address of a function of the memory's address, its size and a word, that releases it, and that
    word. Numba's own buffers of other allocators are filled with a pattern when they are made and when they end, which
    costs as much as a cheap loop over them.
    """
    data, size, release, word = args
    made = builder.ptrtoint(context.nrt.meminfo_alloc_unchecked(builder, ir.Constant(_WORD, 0)), _WORD)
    with builder.if_then(builder.icmp_unsigned("!=", made, ir.Constant(_WORD, 0))):
        info = builder.inttoptr(made, _WORD.as_pointer())
        for at, value in ((1, release), (2, word), (3, data), (4, size)):
            builder.store(value, builder.gep(info, [ir.Constant(_WORD, at)]))
    return made


def buffer_data(context: BaseContext, builder: ir.IRBuilder, sig: Signature, args: Sequence[ir.Value]) -> ir.Value:
    """Return the address of a buffer's memory."""
    info = builder.inttoptr(args[0], _POINTER)
    return builder.ptrtoint(context.nrt.meminfo_data(builder, info), _WORD)


def buffer_size(context: BaseContext, builder: ir.IRBuilder, sig: Signature, args: Sequence[ir.Value]) -> ir.Value:
    """Return the size of a buffer: the fifth word of its header in Numba's runtime.

    Before it stand the number of references, the function that ends it and the word for that, and the memory's address.
    """
    info = builder.inttoptr(args[0], _WORD.as_pointer())
    return builder.load(builder.gep(info, [ir.Constant(_WORD, 4)]))


def buffer_free(context: BaseContext, builder: ir.IRBuilder, sig: Signature, args: Sequence[ir.Value]) -> ir.Value:
    """Release a buffer."""
    info = builder.inttoptr(args[0], _POINTER)
    context.nrt.decref(builder, types.MemInfoPointer(types.voidptr), info)
    return context.get_dummy_value()


# Pages


def pages_new(context: BaseContext, builder: ir.IRBuilder, sig: Signature, args: Sequence[ir.Value]) -> ir.Value:
    """Return the address of new memory, of huge pages if it is large; 0 if memory runs out."""
    (size,) = args
    place = cgutils.alloca_once_value(builder, ir.Constant(_WORD, 0))
    builder.store(ir.Constant(_WORD, 0), place)
    is_large = builder.icmp_unsigned(">=", size, ir.Constant(_WORD, 2 * _HUGE_PAGE))
    alignment = builder.select(is_large, ir.Constant(_WORD, _HUGE_PAGE), ir.Constant(_WORD, _PAGE))
    kind = ir.FunctionType(_SHORT, [place.type, _WORD, _WORD])
    failed = builder.call(
        cgutils.get_or_insert_function(builder.module, kind, "posix_memalign"), [place, alignment, size]
    )
    fails = builder.icmp_signed("!=", failed, ir.Constant(_SHORT, 0))
    block = builder.select(fails, ir.Constant(_WORD, 0), builder.load(place))
    with builder.if_then(builder.and_(is_large, builder.not_(fails))):
        kind = ir.FunctionType(_SHORT, [_WORD, _WORD, _SHORT])
        advise = cgutils.get_or_insert_function(builder.module, kind, "madvise")
        builder.call(advise, [block, size, ir.Constant(_SHORT, getattr(mmap, "MADV_HUGEPAGE", 14))])
    return block


# Threads


def thread_start(context: BaseContext, builder: ir.IRBuilder, sig: Signature, args: Sequence[ir.Value]) -> ir.Value:
    """Begin a thread that runs a function of a word; its id is stored at an address. Returns 0, or what went wrong."""
    kind = ir.FunctionType(_SHORT, [_WORD] * 4)
    function = cgutils.get_or_insert_function(builder.module, kind, "pthread_create")
    place, run, given = args
    return builder.sext(builder.call(function, [place, ir.Constant(_WORD, 0), run, given]), _WORD)


# Words that threads share


def atomic(instruction: str) -> Write:
    """Return what writes a change of the word at an address, ``xchg`` or ``add``; what stood there is returned."""

    def write(context: BaseContext, builder: ir.IRBuilder, sig: Signature, args: Sequence[ir.Value]) -> ir.Value:
        return builder.atomic_rmw(instruction, builder.inttoptr(args[0], _WORD.as_pointer()), args[1], "seq_cst")

    return write


def exchange_if(context: BaseContext, builder: ir.IRBuilder, sig: Signature, args: Sequence[ir.Value]) -> ir.Value:
    """Write a word at an address if another one stands there; return what stood there."""
    place = builder.inttoptr(args[0], _WORD.as_pointer())
    return builder.extract_value(builder.cmpxchg(place, args[1], args[2], "seq_cst"), 0)
