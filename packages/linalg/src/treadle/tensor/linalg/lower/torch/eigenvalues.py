"""Eigenvalues and eigenvectors on PyTorch."""

from __future__ import annotations

import torch

from treadle.link.torch import TORCH, Lowered
from treadle.tensor import TensorNode
from treadle.tensor.linalg.decompositions.eigenvalues import Eig, Eigvals
from treadle.tensor.linalg.decompositions.hermitian_eigenvalues import Eigh, Eigvalsh
from treadle.tensor.linalg.lower.torch.matrices import Found, finite, settled


@TORCH.register(Eigh)
@TORCH.register(Eigvalsh)
def of_hermitian(op: Eigh | Eigvalsh, node: TensorNode) -> Lowered:
    """Lower to torch.linalg.eigh, or eigvalsh."""
    vectors = len(node.outputs) == 2

    def run(a: torch.Tensor) -> Found:
        read, failed = finite(torch.tril(a) if op.lower else torch.triu(a))
        if vectors:
            return (failed, *torch.linalg.eigh(read, UPLO=op.uplo))
        return failed, torch.linalg.eigvalsh(read, UPLO=op.uplo)

    return settled(op.on_error, run)


@TORCH.register(Eig)
@TORCH.register(Eigvals)
def of_square(op: Eig | Eigvals, node: TensorNode) -> Lowered:
    """Lower to torch.linalg.eig, or eigvals."""
    vectors = len(node.outputs) == 2

    def run(a: torch.Tensor) -> Found:
        read, failed = finite(a)
        return (failed, *torch.linalg.eig(read)) if vectors else (failed, torch.linalg.eigvals(read))

    return settled(op.on_error, run)
