"""Parts of complex numbers, and complex numbers from their parts."""

from __future__ import annotations

import math

import torch

from treadle.link.torch.scalars import SCALARS, TensorFunction

# A part is a view, and a conjugate is only marked as one: results are tensors of their own.
SCALARS.register("real", {"c": lambda z: z.real.clone()})
SCALARS.register("imag", {"c": lambda z: z.imag.clone()})
SCALARS.register("conj", {"c": torch.conj_physical})
SCALARS.register("real", {"biuf": torch.clone})
SCALARS.register("imag", {"biuf": torch.zeros_like})
SCALARS.register("conj", {"iuf": torch.clone})
SCALARS.register("complex", {"f": torch.complex})


# PyTorch's own sums multiply one operand by a factor, which makes NaN of infinite parts and loses signs of zeros.


def _by_parts(function: TensorFunction) -> TensorFunction:
    return lambda *zs: torch.view_as_complex(function(*(torch.view_as_real(z) for z in zs)))


SCALARS.register("add", {"c": _by_parts(torch.add)})
SCALARS.register("sub", {"c": _by_parts(torch.sub)})
SCALARS.register("neg", {"c": _by_parts(torch.neg)})


@SCALARS.function("sign", kinds="c")
def sign(z: torch.Tensor) -> torch.Tensor:
    """Compute z / |z|: 0 at 0, a unit where one part is infinite."""
    size = torch.abs(z)
    directed = torch.view_as_complex(
        torch.where(torch.isinf(torch.view_as_real(z)), torch.sign(torch.view_as_real(z)), 0.0)
    )
    both = torch.isinf(z.real) & torch.isinf(z.imag)
    nan = torch.full_like(z, complex(math.nan, math.nan))
    unit = torch.complex(z.real / size, z.imag / size)
    found = torch.where(torch.isinf(size), torch.where(both, nan, directed), torch.where(torch.isnan(size), nan, unit))
    return torch.where(z == 0, torch.zeros_like(z), found)


@SCALARS.function("reciprocal", kinds="c")
def reciprocal(z: torch.Tensor) -> torch.Tensor:
    """Compute 1 / z; NaN at 0."""
    return torch.where(z == 0, torch.full_like(z, complex(math.nan, math.nan)), torch.reciprocal(z))


@SCALARS.function("pow", kinds="c")
def power(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Raise to a power; of 0 it is 0 where the exponent's real part is positive, 1 at 0, else NaN."""
    nan = torch.full_like(a, complex(math.nan, math.nan))
    of_zero = torch.where(b.real > 0, torch.zeros_like(a), nan)
    raised = torch.where(a == 0, of_zero, torch.pow(a, b))
    return torch.where(b == 0, torch.ones_like(raised), raised)


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


SCALARS.register("exp2", {"c": lambda z: torch.exp(_scaled(z, math.log(2)))})
SCALARS.register("log2", {"c": lambda z: _scaled(torch.log(z), 1 / math.log(2))})
SCALARS.register("round_half_to_even", {"c": lambda z: torch.complex(torch.round(z.real), torch.round(z.imag))})
for _name in ("sin", "cos", "tan", "sinh", "cosh", "tanh"):
    SCALARS.register(f"arc{_name}", {"c": getattr(torch, f"a{_name}")})


# In the order of the real parts, then of the imaginary ones; nothing is larger than what has a NaN, nor smaller.


@SCALARS.function("gt", kinds="c")
def above(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Whether a comes after b."""
    numbers = (a.imag == a.imag) & (b.imag == b.imag)
    return ((a.real > b.real) & numbers) | ((a.real == b.real) & (a.imag > b.imag))


@SCALARS.function("ge", kinds="c")
def reaches(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Whether a comes after b or is equal."""
    numbers = (a.imag == a.imag) & (b.imag == b.imag)
    return ((a.real > b.real) & numbers) | ((a.real == b.real) & (a.imag >= b.imag))


def _taken(a: torch.Tensor, b: torch.Tensor, first: torch.Tensor) -> torch.Tensor:
    return torch.where(first | torch.isnan(a), a, b)


SCALARS.register("lt", {"c": lambda a, b: above(b, a)})
SCALARS.register("le", {"c": lambda a, b: reaches(b, a)})
SCALARS.register("maximum", {"c": lambda a, b: _taken(a, b, reaches(a, b))})
SCALARS.register("minimum", {"c": lambda a, b: _taken(a, b, reaches(b, a))})
