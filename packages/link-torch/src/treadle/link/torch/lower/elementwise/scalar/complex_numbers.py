"""Functions of complex numbers; those of PyTorch that need no care are in `elementary`."""

from __future__ import annotations

import math

import torch

from treadle.link.torch.lower.elementwise.scalar.array_functions import FUNCTIONS
from treadle.link.torch.scalars import SCALARS, TensorFunction

# A part is a view, and a conjugate is only marked as one: results are tensors of their own.
SCALARS.register("real", {"c": lambda z: z.real.clone(), "biuf": torch.clone})
SCALARS.register("imag", {"c": lambda z: z.imag.clone(), "biuf": torch.zeros_like})
SCALARS.register("conj", {"c": torch.conj_physical, "iuf": torch.clone})
SCALARS.register("complex", {"f": torch.complex})

for _name, _function in FUNCTIONS.of_complex_numbers().items():
    SCALARS.register(_name, {"c": _function})


# PyTorch's own sums multiply one operand by a factor, which makes NaN of infinite parts and loses signs of zeros.


def _by_parts(function: TensorFunction) -> TensorFunction:
    return lambda *zs: torch.view_as_complex(function(*(torch.view_as_real(z) for z in zs)))


SCALARS.register("add", {"c": _by_parts(torch.add)})
SCALARS.register("sub", {"c": _by_parts(torch.sub)})
SCALARS.register("neg", {"c": _by_parts(torch.neg)})


# What PyTorch has for real numbers only, from the parts.


def _scaled(z: torch.Tensor, by: float) -> torch.Tensor:
    return torch.complex(z.real * by, z.imag * by)


@SCALARS.function("expm1", kinds="c")
def expm1(z: torch.Tensor) -> torch.Tensor:
    """Compute e^z - 1 without the cancellation near 0."""
    half = torch.sin(z.imag / 2)
    return torch.complex(
        torch.expm1(z.real) * torch.cos(z.imag) - 2 * half * half, torch.exp(z.real) * torch.sin(z.imag)
    )


@SCALARS.function("log1p", kinds="c")
def log1p(z: torch.Tensor) -> torch.Tensor:
    """Compute log(1 + z)."""
    moved = z.real + 1
    return torch.complex(torch.log(torch.hypot(moved, z.imag)), torch.atan2(z.imag, moved))


SCALARS.register("log2", {"c": lambda z: _scaled(torch.log(z), 1 / math.log(2))})
SCALARS.register("round_half_to_even", {"c": lambda z: torch.complex(torch.round(z.real), torch.round(z.imag))})
for _name in ("sin", "cos", "tan", "sinh", "cosh", "tanh"):
    SCALARS.register(f"arc{_name}", {"c": getattr(torch, f"a{_name}")})
