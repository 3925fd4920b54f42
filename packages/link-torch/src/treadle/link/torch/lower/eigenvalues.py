"""Eigenvalues and eigenvectors on PyTorch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from treadle.link.torch.table import TORCH, Checked
from treadle.tensor import Eigh, Eigvalsh

if TYPE_CHECKING:
    from treadle.link.torch.table import Flag, Lowered, Results
    from treadle.tensor import TensorNode


@TORCH.register(Eigh)
@TORCH.register(Eigvalsh)
def of_hermitian(op: Eigh | Eigvalsh, node: TensorNode) -> Lowered:
    """Lower to torch.linalg.eigh, which raises for what is not finite."""
    vectors = len(node.outputs) == 2

    def run(a: torch.Tensor) -> tuple[Flag, Results]:
        read = torch.tril(a) if op.lower else torch.triu(a)
        failed = ~torch.isfinite(read).flatten(-2).all(-1)
        read = torch.where(failed[..., None, None], torch.zeros((), dtype=a.dtype, device=a.device), read)
        if not vectors:
            return failed.any(), _marked(torch.linalg.eigvalsh(read, UPLO=op.uplo), failed)
        w, v = torch.linalg.eigh(read, UPLO=op.uplo)
        return failed.any(), (_marked(w, failed), _marked(v, failed))

    return Checked(run) if op.on_error == "raise" else lambda a: run(a)[1]


def _marked(x: torch.Tensor, failed: torch.Tensor) -> torch.Tensor:
    """Return results with NaN for each matrix that has none."""
    return torch.where(failed.reshape(*failed.shape, *[1] * (x.ndim - failed.ndim)), torch.nan, x)
