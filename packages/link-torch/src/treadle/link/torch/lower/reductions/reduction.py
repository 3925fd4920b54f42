"""Reductions over axes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import torch

from treadle.graph import Apply, Unsupported
from treadle.link.torch.programs.storage import SIGN_BIT, converter, kind, to_output_dtype, working
from treadle.link.torch.table import TORCH
from treadle.tensor import Reduction, tensors

Reducer = Callable[..., torch.Tensor]


def total(x: torch.Tensor, axes: Sequence[int], dtype: str) -> torch.Tensor:
    """Return the sum of a stored tensor over one axis or more; integers are added in int64, for the caller to wrap."""
    if dtype == "bool":
        return torch.any(x, dim=axes)
    wide = {"f": torch.float32 if dtype == "float16" else None, "c": None}.get(kind(dtype), torch.int64)
    return torch.sum(x, dim=axes, dtype=wide)


def _product(x: torch.Tensor, axes: Sequence[int], dtype: str) -> torch.Tensor:
    if dtype == "bool":
        return torch.all(x, dim=axes)
    if kind(dtype) in "iu":
        x = x.to(torch.int64)
    for axis in reversed(axes):
        x = torch.prod(x, dim=axis)
    return x


def _extremum(reduce: Reducer, of_bool: Reducer) -> Reducer:
    def extremum(x: torch.Tensor, axes: Sequence[int], dtype: str) -> torch.Tensor:
        if dtype == "bool":
            return of_bool(x, dim=axes)
        if dtype == "uint64":
            return torch.bitwise_xor(reduce(torch.bitwise_xor(x, SIGN_BIT), dim=axes), SIGN_BIT)
        return reduce(x, dim=axes)

    return extremum


def _truths(x: torch.Tensor) -> torch.Tensor:
    return x if x.dtype == torch.bool else x != 0


# By kind of reduction: functions of a stored tensor, axes and the dtype.
_REDUCERS: Mapping[str, Reducer] = MappingProxyType(
    {
        "sum": total,
        "prod": _product,
        "max": _extremum(torch.amax, torch.any),
        "min": _extremum(torch.amin, torch.all),
        "all": lambda x, axes, _: torch.all(_truths(x), dim=axes),
        "any": lambda x, axes, _: torch.any(_truths(x), dim=axes),
    }
)
# Of floats, without conversions.
_OF_FLOATS: Mapping[str, Reducer] = MappingProxyType(
    {"sum": torch.sum, "prod": torch.prod, "max": torch.amax, "min": torch.amin}
)


def _along(function: Reducer, axes: Sequence[int | Sequence[int]]) -> Reducer:
    return (lambda x: function(x, *axes)) if axes else function


def refuse_complex(dtype: str) -> None:
    """Refuse to order complex numbers."""
    if kind(dtype) == "c":
        msg = "complex numbers have no order in PyTorch"
        raise Unsupported(msg, "compare their abs()")


@TORCH.register(Reduction)
def reduction(op: Reduction, node: Apply) -> Callable[[torch.Tensor], torch.Tensor]:
    """Lower to PyTorch's reductions, in the accumulator's dtype."""
    acc = working(op.acc_dtype)
    first = converter(tensors(node.inputs)[0].type.dtype, acc)
    axes = list(op.axes)
    if not axes:
        last = converter(acc, op.dtype)
        return lambda x: last(first(x))
    if op.kind in {"max", "min"}:
        refuse_complex(acc)
    reduce = _REDUCERS.get(op.kind)
    if reduce is None:
        msg = f"the kind of reduction {op.kind!r} is unknown"
        raise Unsupported(msg)
    of_all = len(axes) == tensors(node.inputs)[0].type.ndim
    is_plain = {tensors(node.inputs)[0].type.dtype, acc, op.dtype} == {acc} and kind(acc) == "f"
    if is_plain and op.kind in _OF_FLOATS and (op.kind != "prod" or of_all or len(axes) == 1):
        is_total = op.kind in {"sum", "prod"} and of_all
        # A number takes less time than a list of it.
        return _along(_OF_FLOATS[op.kind], () if is_total else (axes[0] if len(axes) == 1 else axes,))
    # The accumulated value is one of the accumulator's dtype, before it becomes one of the result's.
    middle = "bool" if op.kind in {"all", "any"} else acc
    to_output, last = to_output_dtype(middle), converter(middle, op.dtype)

    def run(x: torch.Tensor) -> torch.Tensor:
        return last(to_output(reduce(first(x), axes, acc)))

    return run
