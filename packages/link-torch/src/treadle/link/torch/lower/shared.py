"""The rules that PyTorch shares with other libraries (`treadle.tensor.ArrayRules`), on stored tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import torch

from treadle.link.torch.lower.reductions.accumulation import stepped
from treadle.link.torch.lower.reductions.reduction import refuse_complex, total
from treadle.link.torch.programs.storage import SIGN_BIT, Convert, converter, to_output_dtype
from treadle.link.torch.table import TORCH, Checked, Flag, Lowered, Results
from treadle.tensor import ArgReduction, ArrayRules, DimShuffle, LinearRecurrence, TensorNode, enter_array_rules


class _Functions:
    """PyTorch's functions by the standard's names."""

    permute_dims = staticmethod(torch.permute)
    reshape = staticmethod(torch.reshape)
    concat = staticmethod(torch.cat)
    stack = staticmethod(torch.stack)
    any = staticmethod(torch.any)
    logical_not = staticmethod(torch.logical_not)
    argmax = staticmethod(torch.argmax)
    argmin = staticmethod(torch.argmin)
    diagonal = staticmethod(torch.diagonal)

    @staticmethod
    def squeeze(x: torch.Tensor, axis: Sequence[int]) -> torch.Tensor:
        for d in reversed(axis):
            x = x.select(d, 0)
        return x

    @staticmethod
    def expand_dims(x: torch.Tensor, axis: Sequence[int]) -> torch.Tensor:
        for at in axis:
            x = x.unsqueeze(at)
        return x

    @staticmethod
    def broadcast_to(x: torch.Tensor, shape: Sequence[int]) -> torch.Tensor:
        for n in shape:
            # PyTorch takes -1 for "as it is".
            if n < 0:
                msg = "a length must be 0 or more"
                raise ValueError(msg)
        return x.expand(shape)


class _Rules(ArrayRules):
    """The rules, with what differs on PyTorch. Lengths are Python integers, or symbolic ones, already."""

    def converter(self, source: str, target: str) -> Convert:
        return converter(source, target)

    def dimshuffle(self, op: DimShuffle, node: TensorNode) -> Lowered:
        """Lower to one call where only a dimension is new or dropped, or only their order."""
        kept = [d for d in op.order if isinstance(d, int)]
        if len(op.dropped) == 1 and kept == sorted(kept) and len(kept) == len(op.order):
            (axis,) = op.dropped

            def without(x: torch.Tensor) -> torch.Tensor:
                if x.shape[axis] != 1:
                    msg = "a dropped dimension must have length 1"
                    raise ValueError(msg)
                return x.select(axis, 0)

            return without
        if op.dropped or len(op.order) - len(kept) > (kept == sorted(kept)):
            lowered: Lowered = super().dimshuffle(op, node)
            return lowered
        if len(kept) == len(op.order):
            return lambda x: x.permute(kept)
        at = next(d for d, name in enumerate(op.order) if not isinstance(name, int))
        return lambda x: x.unsqueeze(at)

    def lengths(self, values: Sequence[Any]) -> Sequence[int]:
        return values

    def total(self, x: torch.Tensor, axes: tuple[int, ...], dtype: str) -> torch.Tensor:
        return to_output_dtype(dtype)(total(x, axes, dtype))

    def checked(self, run: Callable[..., tuple[Flag, Results]]) -> Checked:
        return Checked(run)

    def copied(self, x: torch.Tensor) -> torch.Tensor:
        return x.clone()

    def comparable(self, dtype: str) -> Convert:
        if dtype == "uint64":
            return lambda x: torch.bitwise_xor(x, SIGN_BIT)
        wide = {"bool": torch.uint8, "float16": torch.float32}.get(dtype)
        return super().comparable(dtype) if wide is None else lambda x: x.to(wide)

    def arg_reduction(self, op: ArgReduction, node: TensorNode) -> Lowered:
        refuse_complex(node.inputs[0].type.dtype)
        lowered: Lowered = super().arg_reduction(op, node)
        return lowered

    def linear_recurrence(self, op: LinearRecurrence, node: TensorNode) -> Lowered:
        doubled = cast("Callable[..., torch.Tensor]", super().linear_recurrence(op, node))
        return doubled if node.outputs[0].type.dtype == "float16" else stepped(doubled, op.axis)


_RULES = _Rules(_Functions)
enter_array_rules(TORCH, lambda: _RULES)
