"""Signals along named dimensions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import treadle.tensor as plain
from treadle.config import text_of
from treadle.graph import static_op
from treadle.named.conversion import as_xtensor
from treadle.named.errors import DimsError
from treadle.named.ops.named_op import Lowered, XOp
from treadle.named.types.casts import aligned
from treadle.named.types.named_type import Input, as_dims, joined_lengths
from treadle.named.vectorization import check_cores

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.named.variables import XTensorVariable

Mode = Literal["full", "valid", "same"]


@static_op
class Convolve1d(XOp):
    """The convolution of two tensors along one dimension of each.

    Parameters
    ----------
    mode
        Which part of it.
    dims
        The dimension of the first, which the result has, and that of the second.
    """

    mode: Mode
    dims: tuple[str, str]

    def lower(self, *inputs: Input) -> Sequence[Lowered]:
        """Return the convolution along the last axes."""
        first, second = self.dims
        cores = ((first,), (second,))
        every = check_cores("convolve1d", inputs, cores)
        batch = tuple(d for d in joined_lengths("convolve1d", [x.type for x in inputs]) if d not in every)
        tensors = [aligned(x, (*batch, *core)) for x, core in zip(inputs, cores, strict=True)]
        return [Lowered(plain.signal.convolve1d(tensors[0], tensors[1], mode=self.mode), (*batch, first))]


def convolve1d(in1: object, in2: object, mode: Mode = "full", *, dims: tuple[str, str]) -> XTensorVariable:
    """Return the convolution of two tensors along one dimension of each.

    Parameters
    ----------
    in1, in2
        The tensors; their other dimensions are a batch.
    mode
        ``full`` for all of it, ``valid`` for what does not reach beyond the ends, ``same`` for as much as `in1` has.
    dims
        The dimension of `in1`, which the result has, and that of `in2`.

    Raises
    ------
    DimsError
        If the dimensions are not two different ones, or a tensor lacks its own or has the other's; for another mode.
    """
    names = as_dims("convolve1d", dims)
    if len(names) != 2:
        msg = f"convolve1d: one dimension of each tensor is needed, got {names}. Name two."
        raise DimsError(msg)
    if mode not in {"full", "valid", "same"}:
        msg = f"convolve1d: mode must be full, valid or same, got {text_of(mode)}."
        raise DimsError(msg)
    result: XTensorVariable = Convolve1d(mode, (names[0], names[1]))(as_xtensor(in1), as_xtensor(in2))
    return result


__all__ = ["convolve1d"]
