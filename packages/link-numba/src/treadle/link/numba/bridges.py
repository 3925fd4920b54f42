"""Numba's side of calls between generated code and functions of its jit. Imported when one is compiled."""

# ruff: noqa: ARG001 - a function that writes a call takes four arguments, used or not

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.base import BaseContext
from numba.core.errors import NumbaError, TypingError
from numba.core.types import Type as NumbaType
from numba.core.typing.templates import Signature
from numba.extending import intrinsic, overload
from numba.np.numpy_support import as_dtype
from numpy.typing import NDArray

from treadle.graph import Apply, FunctionGraph, GraphTypeError, LoweringError
from treadle.link.numba.buffers import ALIGNMENT
from treadle.link.numba.dtypes import STORAGES
from treadle.link.numba.kinds import Kind, kind_of
from treadle.link.numba.primitives import find_primitive
from treadle.link.numba.program import ERRORS, NumbaProgram
from treadle.link.numba.text.entry import result_words, words_of
from treadle.link.vm import PythonLinker

Write = Callable[[BaseContext, ir.IRBuilder, Signature, Sequence[ir.Value]], ir.Value]
_WORD = ir.IntType(64)


@intrinsic  # type: ignore[untyped-decorator]  # numba has no types
def pointer_at(context: BaseContext, address: NumbaType) -> tuple[Signature, Write]:
    """An address as a pointer."""

    def write(context: BaseContext, builder: ir.IRBuilder, sig: Signature, args: Sequence[ir.Value]) -> ir.Value:
        return builder.inttoptr(args[0], cgutils.voidptr_t)

    return types.voidptr(types.int64), write


@intrinsic  # type: ignore[untyped-decorator]  # numba has no types
def owned(context: BaseContext, array: Any) -> tuple[Signature, Write]:
    """An array as its owner, which the caller is to release, its address and its lengths."""
    rank = array.ndim

    def write(context: BaseContext, builder: ir.IRBuilder, sig: Signature, args: Sequence[ir.Value]) -> ir.Value:
        context.nrt.incref(builder, sig.args[0], args[0])
        parts = context.make_array(sig.args[0])(context, builder, args[0])
        words = [
            builder.ptrtoint(parts.meminfo, _WORD),
            builder.ptrtoint(parts.data, _WORD),
            *cgutils.unpack_tuple(builder, parts.shape, rank),
        ]
        return context.make_tuple(builder, sig.return_type, words)

    return types.UniTuple(types.int64, 2 + rank)(array), write


def _compiled(name: str, text: str, scope: dict[str, Any]) -> Callable[..., Any]:
    namespace: dict[str, Any] = {"__name__": __name__, **scope}
    exec(compile(text, f"<treadle numba {name}>", "exec"), namespace)
    function: Callable[..., Any] = namespace[name]
    return function


def _tuple(names: Sequence[str]) -> str:
    return f"({', '.join(names)}{',' if len(names) == 1 else ''})"


def bridge(function: Callable[..., Any], takes: Sequence[Kind], returns: Sequence[Kind], name: str) -> Any:
    """Return the compiled code of a `JittedFunction`, in which `address` is where it is.

    Raises
    ------
    LoweringError
        If Numba does not compile it.
    """
    if not hasattr(function, "py_func"):
        function = numba.njit(function)
    at = 0
    lines = ["given = as_i8(words)"]
    for i, kind in enumerate(takes):
        lengths = _tuple([f"given[{at + 1 + d}]" for d in range(kind.ndim)])
        lines.append(f"x{i} = carray(pointer_at(given[{at}]), {lengths}, {kind.dtype})")
        at += 1 + kind.ndim
    arguments = ", ".join(f"x{i}" for i in range(len(takes)))
    lines += ["try:", f"    returned = function({arguments})", "except Exception:", "    return 1"]
    for i, kind in enumerate(returns):
        result = "returned" if len(returns) == 1 else f"returned[{i}]"
        lines.append(f"r{i} = result{i}({result})")
        lines.append(f"w{i} = owned(r{i})")
        lines += [f"given[{at + k}] = w{i}[{k}]" for k in range(2 + kind.ndim)]
        at += 2 + kind.ndim
    lines.append("return 0")
    text = "def bridge(words):\n" + "".join(f"    {line}\n" for line in lines)
    scope = {
        "function": function,
        "as_i8": find_primitive("as_i8"),
        "carray": numba.carray,
        "pointer_at": pointer_at,
        "owned": owned,
        **{f"result{i}": conversion(kind, is_result=True) for i, kind in enumerate(returns)},
        **{kind.dtype: np.dtype(kind.dtype).type for kind in (*takes, *returns)},
    }
    try:
        return numba.cfunc(types.int64(types.int64))(_compiled("bridge", text, scope))
    except NumbaError as error:
        kinds = ", ".join(f"{kind.dtype} of rank {kind.ndim}" for kind in takes)
        returned = ", ".join(f"{kind.dtype} of rank {kind.ndim}" for kind in returns)
        msg = (
            f"numba: the function of {name} does not compile for {kinds or 'no arguments'} with results {returned}: "
            f"{error}. Return what the node's outputs are, and use what Numba supports."
        )
        raise LoweringError(msg) from error


def python_function(node: Apply) -> Any:
    """Return a node that runs in Python as a function of Numba's, which takes the interpreter's lock."""
    returns = [kind_of(v, node) for v in node.outputs]
    inputs = [v.type.make_variable() for v in node.inputs]
    program = PythonLinker().link(FunctionGraph(inputs, node.op.make_node(*inputs).outputs, clone=False))
    empty = [np.zeros((0,) * kind.ndim, kind.dtype) for kind in returns]

    def compute(*values: Any) -> tuple[Any, ...]:
        try:
            results = [np.require(x, like.dtype, "C") for x, like in zip(program(*values), empty, strict=True)]
        except Exception:  # noqa: BLE001 - Numba cannot pass it on: the program is run again in Python, and raises it
            return (False, *empty)
        fits = all(x.ndim == like.ndim for x, like in zip(results, empty, strict=True))
        return (True, *results) if fits else (False, *empty)

    names = [f"r{i}" for i in range(len(returns))]
    arguments = ", ".join(f"x{i}" for i in range(len(inputs)))
    described = ", ".join(["fine='boolean'", *(f"{name}=k{name}" for name in names)])
    # Numba finds the names in a block of object mode only where they are variables of a function around.
    scope: dict[str, Any] = {"compute": compute}
    for name, kind in zip(names, returns, strict=True):
        scope[f"k{name}"] = types.Array(numba.from_dtype(np.dtype(kind.dtype)), kind.ndim, "C")
    text = (
        f"def around({', '.join(scope)}):\n"
        f"    def run({arguments}):\n"
        f"        with objmode({described}):\n"
        f"            fine, {', '.join(names)} = compute({arguments})\n"
        "        if not fine:\n"
        "            raise RuntimeError('a Python step failed')\n"
        f"        return {names[0] if len(names) == 1 else _tuple(names)}\n"
        "    return run\n"
    )
    return numba.njit(_compiled("around", text, {"objmode": numba.objmode})(**scope))


def called_at(code: int, count: int) -> Any:
    """Return a program's machine code, by its address, as a function that other code of Numba's calls.

    It takes a table, words, and so many arrays that the words are of: they live until it returns.
    """

    def write(context: BaseContext, builder: ir.IRBuilder, sig: Signature, args: Sequence[ir.Value]) -> ir.Value:
        kind = ir.FunctionType(_WORD, [_WORD] * 4)
        # Not a constant: Numba then keeps no machine code in a cache that holds an address of this process.
        at = builder.bitcast(context.add_dynamic_addr(builder, code, info="treadle"), kind.as_pointer())
        return builder.call(at, [*args[:2], ir.Constant(_WORD, -1), ir.Constant(_WORD, 0)])

    names = ", ".join(["table", "words", *(f"x{i}" for i in range(count))])
    text = f"def typing(context, {names}):\n    return int64({names}), write\n"
    return intrinsic(_compiled("typing", text, {"int64": types.int64, "write": write}))


@cache
def conversion(kind: Kind, is_result: bool = False) -> Any:
    """Return what turns a value in compiled code into an array of a dtype and rank.

    That of results returns a new array in C order. That of arguments may return what it is given, and takes only dtypes
    that the type holds.
    """
    dtype = np.dtype(kind.dtype)
    target, scalar = numba.from_dtype(dtype), dtype.type

    def convert(x: object) -> object:
        raise NotImplementedError

    @overload(convert, strict=False)  # type: ignore[untyped-decorator]  # numba has no types
    def overloaded(x: Any) -> Callable[..., object]:
        ndim, given = _described(x)
        if ndim != kind.ndim or given is None or not (is_result or np.can_cast(as_dtype(given), dtype)):
            what = "a result" if is_result else "an argument"
            msg = f"treadle: {what} is of rank {kind.ndim} and dtype {kind.dtype}, got {x}. Convert it."
            raise TypingError(msg)
        if not isinstance(x, types.Array):
            return lambda x: np.full((), x, scalar)
        if is_result and kind.ndim:
            return lambda x: np.ascontiguousarray(x).astype(scalar)
        if not is_result and given == target and x.aligned:
            return lambda x: x
        return lambda x: x.astype(scalar)

    return convert


def _described(kind: Any) -> tuple[int, NumbaType | None]:
    """Return the rank and the dtype of arrays and of numbers; None in place of the dtype for anything else."""
    if isinstance(kind, types.Array):
        return kind.ndim, kind.dtype
    number = types.unliteral(kind)
    return 0, number if isinstance(number, types.Number | types.Boolean) else None


def callable_program(program: NumbaProgram, table: tuple[NDArray[np.int64], Sequence[np.ndarray]]) -> Any:
    """Return a program as a function of Numba's (see `treadle.link.numba.jit_function`).

    `table` are the words that its code reads, and what they point to.

    Raises
    ------
    GraphTypeError
        If it takes or returns arrays that Numba does not have.
    """
    inputs, outputs = program.ends
    for kind in (*inputs, *outputs):
        if kind.dtype == "float16":
            msg = f"jit_function: Numba has no arrays of {kind}. Cast inputs and outputs of the function to float32."
            raise GraphTypeError(msg)
    starts = words_of(inputs)
    ends = result_words(outputs, starts[-1])
    scope: dict[str, Any] = {
        "table": int(table[0].ctypes.data),
        "compiled": called_at(program.code, len(inputs)),
        "kept": (table, program),
    }
    names = [f"x{i}" for i in range(len(inputs))]
    results = [f"r{i}" for i in range(len(outputs))]
    lines = [f"given = room_i8_{ends[-1] + 1}(0)"]
    for i, (name, kind, at) in enumerate(zip(names, inputs, starts, strict=False)):
        scope[f"convert{i}"] = conversion(Kind(kind.dtype, kind.ndim))
        lines.append(f"a{i} = convert{i}({name})")
        for d, length in enumerate(kind.shape):
            if length is not None:
                lines += [
                    f"if a{i}.shape[{d}] != {length}:",
                    f"    raise ValueError('treadle: axis {d} of argument {i} must have {length} elements')",
                ]
        lines.append(f"p{i} = explode_{kind.ndim}(a{i})")
        lines += [f"given[{at + k}] = p{i}[{k}]" for k in range(1 + 2 * kind.ndim)]
    arguments = ", ".join(["table", "place_i8(given)", *(f"a{i}" for i in range(len(inputs)))])
    lines += [f"status = compiled({arguments})", "if status != 0:"]
    for status, (error, text) in ERRORS.items():
        scope[f"error{status}"] = error
        lines += [f"    if status == {status}:", f"        raise error{status}({f'numba: {text}.'!r})"]
    lines.append("    raise RuntimeError('numba: a compiled graph stopped.')")
    for name, kind, at in zip(results, outputs, ends, strict=False):
        storage = STORAGES[kind.dtype]
        code = "b1" if storage.dtype == "bool" else storage.memory
        lengths = _tuple([f"given[{at + 1 + d}]" for d in range(kind.ndim)])
        if not kind.ndim:
            number = f"as_{storage.memory}(place_i8(given) + {8 * at})[0]"
            lines.append(f"b{name} = library_NRT_MemInfo_alloc_aligned_wi(16, {ALIGNMENT})")
            lines.append(f"as_{storage.memory}(as_i8(b{name})[3])[0] = {number}")
        owner = f"given[{at}]" if kind.ndim else f"b{name}"
        lines.append(f"{name} = wrap_{code}_{kind.ndim}({owner}, {lengths})")
    lines.append(f"return {_tuple(results)}")
    text = f"def jit_function({', '.join(names)}):\n" + "".join(f"    {line}\n" for line in lines)
    for name in set(re.findall(r"[A-Za-z_]\w*", text)).difference(scope):
        primitive = find_primitive(name)
        if primitive is not None:
            scope[name] = primitive
    return numba.njit(nogil=True, no_cfunc_wrapper=True)(_compiled("jit_function", text, scope))
