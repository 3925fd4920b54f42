"""The incomplete beta function: by its body, and its inverse."""

from __future__ import annotations

from functools import partial

import torch

from treadle.link.torch.scalars import SCALARS
from treadle.tensor import beta_tail_integral

SCALARS.register("beta_tail_moment", {"f": partial(beta_tail_integral, torch)})
