"""Fourier transforms of real numbers as PyTensor has them: complex numbers are pairs of reals in a last dimension.

The first dimension is that of a batch, and the transforms are over all others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.tensor import as_tensor_variable, prod, sqrt, stack
from treadle.tensor import complex as complex_
from treadle.tensor.fft import irfftn
from treadle.tensor.fft import rfftn as rfftn_of_reals

if TYPE_CHECKING:
    from treadle.tensor import TensorLike, TensorVariable

_NORMS = (None, "ortho", "no_norm")


def _checked(what: str, norm: str | None) -> str | None:
    if norm not in _NORMS:
        msg = f"{what}: norm must be None, 'ortho' or 'no_norm', got {norm!r}."
        raise ValueError(msg)
    return norm


def rfft(inp: TensorLike, norm: str | None = None) -> TensorVariable:
    """Return the transforms of the real tensors ``inp[i]``, over all of their dimensions.

    Parameters
    ----------
    inp
        A tensor ``(m, ..., n)``.
    norm
        None and ``no_norm``: sums are not scaled; ``ortho``: they are divided by the root of the number of elements.

    Returns
    -------
    A real tensor ``(m, ..., n // 2 + 1, 2)``: real and imaginary parts stand in the last dimension.
    """
    x = as_tensor_variable(inp)
    scaled = _checked("rfft", norm) == "ortho"
    y = rfftn_of_reals(x, axes=tuple(range(1, x.ndim)), norm="ortho" if scaled else "backward")
    return stack([y.real, y.imag], axis=-1)


def irfft(inp: TensorLike, norm: str | None = None, is_odd: bool = False) -> TensorVariable:
    """Return the real tensors that `rfft` transforms.

    Parameters
    ----------
    inp
        A real tensor ``(m, ..., n // 2 + 1, 2)``: real and imaginary parts stand in the last dimension.
    norm
        None: sums are divided by the number of elements; ``ortho``: by its root; ``no_norm``: not at all.
    is_odd
        Whether n is odd.
    """
    x = as_tensor_variable(inp)
    if is_odd not in {True, False}:
        msg = f"irfft: is_odd must be True or False, got {is_odd!r}."
        raise ValueError(msg)
    norm = _checked("irfft", norm)
    z = complex_(x[..., 0], x[..., 1])
    lengths = [z.shape[d] for d in range(1, z.ndim)]
    lengths[-1] = (lengths[-1] - 1) * 2 + int(is_odd)
    y = irfftn(z, lengths, axes=tuple(range(1, z.ndim)))
    if norm is None:
        return y.astype(x.dtype)
    count = prod(stack(lengths)).astype(x.dtype)
    return (y * (sqrt(count) if norm == "ortho" else count)).astype(x.dtype)
