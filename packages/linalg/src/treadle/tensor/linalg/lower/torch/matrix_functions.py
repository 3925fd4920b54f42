"""Functions of matrices on PyTorch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch._higher_order_ops.while_loop import while_loop

from treadle.link.torch import TORCH, Checked
from treadle.tensor.linalg.functions.matrix_functions import Expm
from treadle.tensor.linalg.functions.matrix_sign import MatrixSign

if TYPE_CHECKING:
    from treadle.link.torch import Lowered
    from treadle.tensor import TensorNode

    State = tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]


@TORCH.register(Expm)
def expm(op: Expm, node: TensorNode) -> Lowered:
    """Lower to torch.linalg.matrix_exp."""

    def run(a: torch.Tensor) -> torch.Tensor:
        finite = torch.isfinite(a).all(-1, keepdim=True).all(-2, keepdim=True)
        return torch.where(finite, torch.linalg.matrix_exp(torch.where(finite, a, 0)), torch.nan)

    return run


@TORCH.register(MatrixSign)
def matrix_sign(op: MatrixSign, node: TensorNode) -> Lowered | Checked:
    """Lower to Newton's iteration, of all matrices at once; those that are done wait for the others."""

    def goes_on(k: torch.Tensor, z: torch.Tensor, close: torch.Tensor, done: torch.Tensor) -> torch.Tensor:
        del z, close
        return (k < op.steps) & ~done.all()

    def step(k: torch.Tensor, z: torch.Tensor, close: torch.Tensor, done: torch.Tensor) -> State:
        inverse, _ = torch.linalg.inv_ex(z)
        scale = torch.sqrt(_length(inverse) / _length(z))
        new = (scale * z + inverse / scale) / 2
        change = _length(new - z) <= torch.finfo(z.dtype).eps ** 0.5 * _length(new)
        return k + 1, torch.where(done, z, new), close | change, done | close | ~torch.isfinite(_length(new))

    def run(a: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        finite = torch.isfinite(a).flatten(-2).all(-1)[..., None, None]
        start = torch.zeros((), dtype=torch.int64, device=a.device)
        _, z, close, done = while_loop(goes_on, step, (start, a.clone(), torch.zeros_like(finite), ~finite))
        good = close & done & finite
        return ~good.all(), torch.where(good, z, torch.nan)

    def run_some(a: torch.Tensor) -> tuple[torch.Tensor | None, torch.Tensor]:
        return run(a) if a.numel() else (None, a)

    return Checked(run_some) if op.on_error == "raise" else lambda a: run_some(a)[1]


def _length(x: torch.Tensor) -> torch.Tensor:
    return torch.linalg.matrix_norm(x, keepdim=True)
