"""Cholesky and QR factors, singular values, eigenvalues of Hermitian matrices, determinants."""

from __future__ import annotations

from typing import Any

from treadle.graph import Unsupported
from treadle.link.array_api import ARRAY_API
from treadle.tensor import TensorNode
from treadle.tensor.linalg.decompositions.cholesky import Cholesky
from treadle.tensor.linalg.decompositions.hermitian_eigenvalues import Eigh, Eigvalsh
from treadle.tensor.linalg.decompositions.qr import QR
from treadle.tensor.linalg.decompositions.svd import SVD
from treadle.tensor.linalg.determinants import Det, SLogDet
from treadle.tensor.linalg.lower.array_api.matrices import Arrays, settled, with_linalg


def _turned(xp: Any, x: Any) -> Any:
    """Return the conjugate transposes of matrices."""
    turned = xp.matrix_transpose(x)
    return xp.conj(turned) if xp.isdtype(x.dtype, "complex floating") else turned


def _whole(xp: Any, a: Any, lower: bool) -> Any:
    """Return Hermitian matrices of which one triangle is read."""
    read = xp.tril(a) if lower else xp.triu(a)
    return read + _turned(xp, xp.tril(a, k=-1) if lower else xp.triu(a, k=1))


@ARRAY_API.register(Cholesky)
def cholesky(op: Cholesky, node: TensorNode) -> Any:
    """Lower to linalg.cholesky."""
    lib = with_linalg()
    xp = lib.xp

    def run(a: Any) -> Arrays:
        factor = xp.linalg.cholesky(_whole(xp, a, op.lower))
        return (factor if op.lower else _turned(xp, factor),)

    def of_triangle(a: Any) -> Any:
        return checked(xp.tril(a) if op.lower else xp.triu(a))

    checked = settled(lib, op.on_error, op.check_finite, run)
    return of_triangle


@ARRAY_API.register(QR)
def qr(op: QR, node: TensorNode) -> Any:
    """Lower to linalg.qr."""
    if op.pivoting or op.mode == "raw":
        msg = "the standard has neither QR factors with exchanged columns nor Householder vectors"
        raise Unsupported(msg, "take qr without pivoting, and not raw")
    lib = with_linalg()
    xp = lib.xp

    def run(a: Any) -> Arrays:
        q, r = xp.linalg.qr(a, mode="reduced" if op.mode not in {"full", "r"} else "complete")
        return (r,) if op.mode == "r" else (q, r)

    return settled(lib, op.on_error, True, run)


@ARRAY_API.register(SVD)
def svd(op: SVD, node: TensorNode) -> Any:
    """Lower to linalg.svd, or svdvals."""
    lib = with_linalg()
    xp = lib.xp

    def run(a: Any) -> Arrays:
        return tuple(xp.linalg.svd(a, full_matrices=op.full_matrices)) if op.compute_uv else (xp.linalg.svdvals(a),)

    return settled(lib, op.on_error, True, run)


@ARRAY_API.register(Eigh, Eigvalsh)
def of_hermitian(op: Eigh | Eigvalsh, node: TensorNode) -> Any:
    """Lower to linalg.eigh, or eigvalsh, of matrices made whole: which triangle these read is not defined."""
    lib = with_linalg()
    xp, vectors = lib.xp, len(node.outputs) == 2

    def run(a: Any) -> Arrays:
        whole = _whole(xp, a, op.lower)
        return tuple(xp.linalg.eigh(whole)) if vectors else (xp.linalg.eigvalsh(whole),)

    def of_triangle(a: Any) -> Any:
        return checked(xp.tril(a) if op.lower else xp.triu(a))

    checked = settled(lib, op.on_error, True, run)
    return of_triangle


@ARRAY_API.register(Det)
def det(op: Det, node: TensorNode) -> Any:
    """Lower to linalg.det, or to the exponential of the logarithm where that over- or underflows."""
    xp = with_linalg().xp

    def run(a: Any) -> Any:
        product = xp.linalg.det(a)
        sign, log = xp.linalg.slogdet(a)
        return xp.where(xp.isfinite(product) & (product != 0), product, sign * xp.astype(xp.exp(log), product.dtype))

    return run


@ARRAY_API.register(SLogDet)
def slogdet(op: SLogDet, node: TensorNode) -> Any:
    """Lower to linalg.slogdet."""
    xp = with_linalg().xp
    return lambda a: tuple(xp.linalg.slogdet(a))
