"""Parts of complex numbers, and complex numbers from their parts."""

from __future__ import annotations

from typing import Any

import torch

from treadle.link.torch.lower.scalar.kernels import KERNELS


def _angle(x: Any) -> Any:
    """The angle of a real number: that of numpy.angle, which looks at the sign of zero too."""
    return torch.atan2(torch.zeros_like(x), x)


# A part is a view, and a conjugate is only marked as one: results are tensors of their own.
KERNELS.function("real", "c", lambda z: z.real.clone())
KERNELS.function("imag", "c", lambda z: z.imag.clone())
KERNELS.function("conj", "c", torch.conj_physical)
KERNELS.function("angle", "c", lambda z: torch.atan2(z.imag, z.real))
KERNELS.function("real", "biuf", torch.clone)
KERNELS.function("imag", "biuf", torch.zeros_like)
KERNELS.function("conj", "iuf", torch.clone)
KERNELS.function("angle", "f", _angle)
KERNELS.function("complex", "f", torch.complex)
