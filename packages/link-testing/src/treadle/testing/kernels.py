"""Kernels of `treadle.kernels` by themselves: run by a backend, and compared with what Python makes of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import treadle.tensor as tt
from treadle.compile import function
from treadle.config import config
from treadle.graph import Apply, Op, static_op
from treadle.kernels import TABLE, Kernel, Site, kernel
from treadle.kernels.blocks import copied
from treadle.kernels.language import (
    ASSERTION,
    INDEX,
    MATRIX,
    MEMORY,
    OK,
    PARAMETER,
    SHAPE,
    TOO_LONG,
    VALUE,
    Pointer,
    Status,
    int64,
)
from treadle.tensor import TensorType
from treadle.testing.errors import ContractError

if TYPE_CHECKING:
    from treadle.graph import Cell, Type, Value


@kernel
def written(o: Pointer[int64], value: int) -> int:
    """Keep a result."""
    o[0] = value
    return OK


@kernel
def reported(o: Pointer[int64], status: int) -> int:
    """Return a status, which has a number of its own on each backend."""
    o[0] = status
    if status == 1:
        return SHAPE
    if status == 2:
        return INDEX
    if status == 3:
        return VALUE
    if status == 4:
        return MEMORY
    if status == 5:
        return ASSERTION
    if status == 6:
        return MATRIX
    if status == 8:
        return TOO_LONG
    if status == 9:
        return PARAMETER
    return OK


# By number, what ops run: a kernel and its static arguments.
_CASES: list[tuple[Kernel, dict[str, Any]]] = []


@static_op
class RunsKernel(Op):
    """The result of a kernel, and what its pointers point to afterwards."""

    case: int

    def infer(self, *types: Type) -> Sequence[Type]:
        """Return a number, and copies of what the kernel's pointers point to."""
        ranks = [d.rank for d in _CASES[self.case][0].declared()]
        kept = [t for t, rank in zip(types, ranks, strict=True) if rank == -1]
        return [TensorType("int64", (1,)), *kept]

    def perform(self, node: Apply, inputs: Sequence[Value], output_storage: Sequence[Cell]) -> None:
        """Run the kernel in Python."""
        called, static = _CASES[self.case]
        result, kept = _in_python(called, inputs, static)
        output_storage[0][0] = np.array([result], "int64")
        for cell, value in zip(output_storage[1:], kept, strict=True):
            cell[0] = value


def _in_python(called: Kernel, inputs: Sequence[Any], static: dict[str, Any]) -> tuple[Any, list[np.ndarray]]:
    """Return a kernel's result, a `Status` where it returns one, and copies of what pointers point to afterwards."""
    ranks = [d.rank for d in called.declared()]
    values = [x.copy() if rank == -1 else x for x, rank in zip(inputs, ranks, strict=True)]
    result = called(*values, **static)
    return result, [x for x, rank in zip(values, ranks, strict=True) if rank == -1]


@TABLE.register(RunsKernel)
def run_kernel(op: RunsKernel, node: Apply, site: Site) -> None:
    """Copy what may be written, and call the kernel."""
    called, static = _CASES[op.case]
    results = iter(node.outputs)
    status = site.output(next(results), [1])
    arguments = []
    for x, declared in zip(node.inputs, called.declared(), strict=True):
        if declared.rank == 0:
            arguments.append(site.number(x))
        elif declared.rank > 0:
            arguments.append(site.array(x))
        else:
            source = site.packed(x)
            copy = site.output(next(results), source.shape).pointer
            site.run(copied, source.pointer, copy, source.shape[0])
            arguments.append(copy)
    site.run(written, status.pointer, site.compute(called, *arguments, **static))


def compiled_kernel(called: Kernel, *arguments: Any, mode: str, **static: Any) -> tuple[int, list[np.ndarray]]:
    """Return an integer kernel's result on a backend, and what its pointers point to afterwards.

    Parameters
    ----------
    called
        The kernel.
    arguments
        Numbers, and arrays of NumPy's: of rank 1 for pointers. They are not changed.
    mode
        The mode to compile with: ``"C"``, ``"NUMBA"``, or ``"VM"``, which runs the kernel as a function of Python.
    static
        The kernel's static arguments.

    Raises
    ------
    ContractError
        If the kernel takes another number of arguments.
    """
    names = [d.name for d in called.declared()]
    if len(arguments) != len(names):
        msg = (
            f"kernel {called.name}: {len(names)} arguments are needed ({', '.join(names)}), got {len(arguments)}. "
            "Pass one for each parameter, and static ones by name."
        )
        raise ContractError(msg)
    _CASES.append((called, static))
    values = [np.asarray(a) for a in arguments]
    inputs = [tt.tensor(dtype=v.dtype.name, shape=(None,) * v.ndim) for v in values]
    op = RunsKernel(len(_CASES) - 1)
    outputs = op.make_node(*inputs).outputs
    # The number of a case says nothing of its kernel: in another process it stands for another one.
    with config.change_flags(cache__functions=False):
        f = function(inputs, outputs, mode=mode)
    result, *kept = f(*values)
    return int(result[0]), kept


def check_kernel(
    called: Kernel, *arguments: Any, modes: Sequence[str] = ("C", "NUMBA"), rtol: float = 0.0, **static: Any
) -> None:
    """Compare a kernel on backends with the kernel as a function of Python.

    Numbers have to be equal, or as near as `rtol` says: quotients of complex numbers may differ from NumPy's in their
    last bits, and functions of the C library from NumPy's own. A kernel that fails has to fail with the same status.

    Raises
    ------
    ContractError
        If a result, or what a pointer points to, differs.
    """
    expected, kept = compiled_kernel(called, *arguments, mode="VM", **static)
    status, _ = _in_python(called, [np.asarray(a) for a in arguments], static)
    fails = isinstance(status, Status) and status is not OK
    for mode in modes:
        result, others = compiled_kernel(called, *arguments, mode=mode, **static)
        own = compiled_kernel(reported, np.zeros(1, "int64"), expected, mode=mode)[0] if fails else expected
        if result != own:
            said = f"fails with {status.name}" if fails else f"returns {expected}"
            msg = f"{mode}: kernel {called.name} returns {result}; in Python it {said}. Check the kernel."
            raise ContractError(msg)
        for k, (a, b) in enumerate(zip(kept, others, strict=True)):
            near = np.abs(a - b) <= rtol * np.abs(a) if rtol else a == b
            same = near | (a == b) | ((a != a) & (b != b))
            if not np.all(same):
                at = int(np.flatnonzero(~same)[0])
                msg = (
                    f"{mode}: kernel {called.name} leaves {b[at]!r} at {at} of pointer {k}, and {a[at]!r} in Python. "
                    "Check the kernel."
                )
                raise ContractError(msg)
