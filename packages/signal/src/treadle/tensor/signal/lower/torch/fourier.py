"""Fourier transforms on PyTorch."""

from __future__ import annotations

import torch

from treadle.link.torch import TORCH, Lowered
from treadle.tensor import TensorNode
from treadle.tensor.fft.fourier import FourierTransform


@TORCH.register(FourierTransform)
def fourier_transform(op: FourierTransform, node: TensorNode) -> Lowered:
    """Lower to torch.fft, without scale."""
    axis = op.axis
    if op.kind == "fft":
        return lambda x: torch.fft.fft(x, dim=axis)
    if op.kind == "ifft":
        return lambda x: torch.fft.ifft(x, dim=axis, norm="forward")
    if op.kind == "rfft":
        return lambda x: torch.fft.rfft(x, dim=axis)

    def run(x: torch.Tensor, n: int) -> torch.Tensor:
        if x.shape[axis] != n // 2 + 1:
            msg = f"{n} numbers have {n // 2 + 1} coefficients, got {x.shape[axis]}"
            raise ValueError(msg)
        return torch.fft.irfft(x, n, dim=axis, norm="forward")

    return run
