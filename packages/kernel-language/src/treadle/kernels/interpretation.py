"""Kernels run as Python functions, on NumPy's arrays: the reference for compiled ones, some thousand times slower."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from treadle.kernels import language
from treadle.kernels.errors import KernelError
from treadle.kernels.kinds import EIGHTS, MASKS, is_pointer, is_vector, value_kind
from treadle.kernels.language import ARRAYS, Array, Pointer, as_value
from treadle.kernels.tree import Specialised

if TYPE_CHECKING:
    from treadle.kernels.definition import Argument, Kernel

_OF_RANK = {rank: kind for kind, rank in ARRAYS.items()}


def argument_of(value: Any, rank: int) -> tuple[Any, Argument]:
    """Return a value as a kernel's argument, and what is known of it."""
    if isinstance(value, Pointer):
        return value, (value.dtype, -1)
    if isinstance(value, Array):
        return value, (value.elements.dtype.name, value.ndim)
    if isinstance(value, np.ndarray) and rank == 0 and value.shape == (8,) and value.dtype.name in EIGHTS:
        return value, (EIGHTS[value.dtype.name], 0)
    if isinstance(value, np.ndarray) and value.ndim:
        if rank == -1:
            return Pointer(value.reshape(-1) if value.flags.c_contiguous else value), (value.dtype.name, -1)
        if value.ndim in _OF_RANK:
            return _OF_RANK[value.ndim](value), (value.dtype.name, value.ndim)
    kinds = {bool: "bool", int: "int64", float: "float64", complex: "complex128"}
    dtype = kinds.get(type(value)) or getattr(getattr(value, "dtype", None), "name", "")
    if not dtype:
        msg = f"kernel: a {type(value).__name__} is no argument. Pass numbers and arrays of NumPy's."
        raise KernelError(msg)
    return as_value(value_kind(dtype), value), (dtype, 0)


def run(kernel: Kernel, arguments: Sequence[Any], static: Mapping[str, Any]) -> Any:
    """Return the result of a kernel.

    Raises
    ------
    KernelError
        If the arguments do not fit, or the kernel is not in the language, or it leaves an array.
    """
    ranks = [d.rank for d in kernel.declared()]
    if len(ranks) != len(arguments):
        msg = f"kernel {kernel.name}: it takes {len(ranks)} arguments, got {len(arguments)}."
        raise KernelError(msg)
    pairs = [argument_of(value, rank) for value, rank in zip(arguments, ranks, strict=True)]
    known = [argument for _, argument in pairs]
    version = kernel.specialised(known, static)
    values = [
        as_value(value_kind(p.dtype), value) if p.rank == 0 and not p.free else value
        for (value, _), p in zip(pairs, kernel.declared(), strict=True)
    ]
    tree = _Typed(version, kernel).visit(_Shifts().visit(ast.parse(ast.unparse(_bare(kernel.tree())))))
    names = {**kernel.scope, **kernel.bound(known), "range": language.steps, "_as": as_value, "_by": _shift_by}
    exec(compile(ast.fix_missing_locations(tree), kernel.where, "exec"), names)
    with np.errstate(all="ignore"):
        return names[kernel.name](*values, **static)


def _bare(tree: ast.FunctionDef) -> ast.FunctionDef:
    """Return a function without decorators and annotations."""
    bare = ast.parse(ast.unparse(tree)).body[0]
    assert isinstance(bare, ast.FunctionDef)
    bare.decorator_list = []
    bare.returns = None
    for argument in (*bare.args.args, *bare.args.kwonlyargs):
        argument.annotation = None
    return bare


def _shift_by(value: Any, count: Any) -> Any:
    """Return by how much to shift, as a number of the value's own type: NumPy has no shifts of uint64 by int64."""
    return count if isinstance(value, int) else as_value(value.dtype.name, count)


class _Shifts(ast.NodeTransformer):
    """Makes the numbers that values are shifted by ones of their own type."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        """Convert the second operand."""
        self.generic_visit(node)
        if isinstance(node.op, ast.LShift | ast.RShift):
            node.right = ast.Call(ast.Name("_by", ast.Load()), [node.left, node.right], [])
        return node


class _Typed(ast.NodeTransformer):
    """Converts what variables are set to, and what is returned, to their kinds."""

    def __init__(self, version: Specialised, kernel: Kernel) -> None:
        self.result = version.result
        self.kinds = {**{p.name: p.kind for p in version.parameters}, **version.variables}
        self.kernel = kernel

    def _as(self, kind: str, value: ast.expr) -> ast.expr:
        if is_pointer(kind) or is_vector(kind) or kind in MASKS.values():
            return value
        return ast.Call(ast.Name("_as", ast.Load()), [ast.Constant(kind), value], [])

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        """Convert the value."""
        (target,) = node.targets
        if isinstance(target, ast.Name) and target.id in self.kinds:
            node.value = self._as(self.kinds[target.id], node.value)
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        """Convert the value."""
        assert isinstance(node.target, ast.Name) and node.value is not None  # noqa: PT018 - the checker looked
        kind = self.kinds.get(node.target.id)
        value = node.value if kind is None else self._as(kind, node.value)
        return ast.Assign([node.target], value)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        """Convert the value."""
        read = ast.parse(ast.unparse(node.target), mode="eval").body
        return self.visit_Assign(ast.Assign([node.target], ast.BinOp(read, node.op, node.value)))

    def visit_Return(self, node: ast.Return) -> ast.AST:
        """Convert the value."""
        assert node.value is not None
        return ast.Return(self._as(self.result, node.value))
