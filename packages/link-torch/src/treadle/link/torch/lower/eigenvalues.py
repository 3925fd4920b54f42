"""Eigenvalues and eigenvectors on PyTorch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from treadle.link.torch.table import TORCH, Checked
from treadle.tensor import Eig, Eigh, Eigvals, Eigvalsh

if TYPE_CHECKING:
    from collections.abc import Callable

    from treadle.link.torch.table import Flag, Lowered, Results
    from treadle.tensor import MatrixOp, TensorNode


@TORCH.register(Eigh)
@TORCH.register(Eigvalsh)
def of_hermitian(op: Eigh | Eigvalsh, node: TensorNode) -> Lowered:
    """Lower to torch.linalg.eigh."""
    del node

    def read(a: torch.Tensor) -> torch.Tensor:
        return torch.tril(a) if op.lower else torch.triu(a)

    if isinstance(op, Eigvalsh):
        return _guarded(op, lambda a: (torch.linalg.eigvalsh(a, UPLO=op.uplo),), read)
    return _guarded(op, lambda a: tuple(torch.linalg.eigh(a, UPLO=op.uplo)), read)


@TORCH.register(Eig)
def eig(op: Eig, node: TensorNode) -> Lowered:
    """Lower to torch.linalg.eig."""
    del node
    return _guarded(op, lambda a: tuple(torch.linalg.eig(a)))


@TORCH.register(Eigvals)
def eigvals(op: Eigvals, node: TensorNode) -> Lowered:
    """Lower to torch.linalg.eigvals."""
    del node
    return _guarded(op, lambda a: (torch.linalg.eigvals(a),))


def _guarded(
    op: MatrixOp,
    run: Callable[[torch.Tensor], tuple[torch.Tensor, ...]],
    read: Callable[[torch.Tensor], torch.Tensor] = lambda a: a,
) -> Lowered:
    """Return a function with NaN, or a flag, for matrices that are not finite in what is `read`: PyTorch raises."""

    def guarded(a: torch.Tensor) -> tuple[Flag, Results]:
        part = read(a)
        failed = ~torch.isfinite(part).flatten(-2).all(-1)
        found = run(torch.where(failed[..., None, None], torch.zeros((), dtype=a.dtype, device=a.device), part))
        marked = tuple(
            torch.where(failed.reshape(*failed.shape, *[1] * (x.ndim - failed.ndim)), torch.nan, x) for x in found
        )
        return failed.any(), marked if len(marked) > 1 else marked[0]

    return Checked(guarded) if op.on_error == "raise" else lambda a: guarded(a)[1]
