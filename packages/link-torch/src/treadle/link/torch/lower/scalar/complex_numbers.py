"""Parts of complex numbers, and complex numbers from their parts."""

from __future__ import annotations

import torch

from treadle.link.torch.scalars import SCALARS

# A part is a view, and a conjugate is only marked as one: results are tensors of their own.
SCALARS.register("real", {"c": lambda z: z.real.clone()})
SCALARS.register("imag", {"c": lambda z: z.imag.clone()})
SCALARS.register("conj", {"c": torch.conj_physical})
SCALARS.register("real", {"biuf": torch.clone})
SCALARS.register("imag", {"biuf": torch.zeros_like})
SCALARS.register("conj", {"iuf": torch.clone})
SCALARS.register("complex", {"f": torch.complex})
