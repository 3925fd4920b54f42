"""Reductions over axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from treadle.graph import Unsupported
from treadle.link.torch.storage import SIGN_BIT, converted, converter, kind, to_output_dtype, working
from treadle.link.torch.table import TORCH
from treadle.tensor import ArgReduction, Reduction

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from treadle.graph import Apply


def total(x: Any, axes: Sequence[int], dtype: str) -> Any:
    """Return the sum of a stored tensor over one axis or more; integers are added in int64, for the caller to wrap."""
    of = kind(dtype)
    if of == "b":
        return torch.any(x, dim=axes)
    if of in "iu":
        return torch.sum(x, dim=axes, dtype=torch.int64)
    if dtype == "float16":
        return torch.sum(x, dim=axes, dtype=torch.float32)
    return torch.sum(x, dim=axes)


def _product(x: Any, axes: Sequence[int], dtype: str) -> Any:
    of = kind(dtype)
    if of == "b":
        return torch.all(x, dim=axes)
    if of in "iu":
        x = x.to(torch.int64)
    for axis in reversed(axes):
        x = torch.prod(x, dim=axis)
    return x


def _extremum(largest: bool) -> Callable[[Any, Sequence[int], str], Any]:
    reduce = torch.amax if largest else torch.amin

    def extremum(x: Any, axes: Sequence[int], dtype: str) -> Any:
        if dtype == "bool":
            return torch.any(x, dim=axes) if largest else torch.all(x, dim=axes)
        if dtype == "uint64":
            return torch.bitwise_xor(reduce(torch.bitwise_xor(x, SIGN_BIT), dim=axes), SIGN_BIT)
        return reduce(x, dim=axes)

    return extremum


def _all(x: Any, axes: Sequence[int], dtype: str) -> Any:
    del dtype
    return torch.all(x != 0, dim=axes)


def _any(x: Any, axes: Sequence[int], dtype: str) -> Any:
    del dtype
    return torch.any(x != 0, dim=axes)


def _reducer(which: str, dtype: str) -> Callable[[Any, Sequence[int], str], Any]:
    if which in {"max", "min"}:
        if kind(dtype) == "c":
            msg = "complex numbers have no order in PyTorch"
            raise Unsupported(msg)
        return _extremum(which == "max")
    found: Callable[[Any, Sequence[int], str], Any] | None = {
        "sum": total,
        "prod": _product,
        "all": _all,
        "any": _any,
    }.get(which)
    if found is None:
        msg = f"the kind of reduction {which!r} is unknown"
        raise Unsupported(msg)
    return found


@TORCH.register(Reduction)
def reduction(op: Reduction, node: Apply) -> Callable[..., Any]:
    """Lower to PyTorch's reductions, in the accumulator's dtype."""
    kind_of: Any = node.inputs[0].type
    acc = working(op.acc_dtype)
    first = converter(kind_of.dtype, acc)
    axes = list(op.axes)
    if not axes:
        last = converter(acc, op.dtype)
        return lambda x: converted(converted(x, first), last)
    reduce = _reducer(op.kind, acc)
    # The accumulated value is one of the accumulator's dtype, before it becomes one of the result's.
    middle = "bool" if op.kind in {"all", "any"} else acc
    to_output, last = to_output_dtype(middle), converter(middle, op.dtype)

    def run(x: Any) -> Any:
        return converted(to_output(reduce(converted(x, first), axes, acc)), last)

    return run


@TORCH.register(ArgReduction)
def arg_reduction(op: ArgReduction, node: Apply) -> Callable[..., Any]:
    """Lower to argmax and argmin over the axes joined into one; both take the first, and a NaN before all others."""
    kind_of: Any = node.inputs[0].type
    dtype = kind_of.dtype
    if kind(dtype) == "c":
        msg = "complex numbers have no order in PyTorch"
        raise Unsupported(msg)
    search = torch.argmax if op.kind == "argmax" else torch.argmin
    kept = [d for d in range(kind_of.ndim) if d not in op.axes]
    order = [*kept, *op.axes]

    def run(x: Any) -> Any:
        if dtype == "bool":
            x = x.to(torch.uint8)
        elif dtype == "uint64":
            x = torch.bitwise_xor(x, SIGN_BIT)
        elif dtype == "float16":
            x = x.to(torch.float32)
        x = x.permute(order)
        count = 1
        for n in x.shape[len(kept) :]:
            count = count * n
        if count == 0:
            msg = "there is no element to find"
            raise ValueError(msg)
        return search(x.reshape((*x.shape[: len(kept)], count)), dim=-1)

    return run
