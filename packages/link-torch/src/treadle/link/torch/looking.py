"""Whether values are there to be looked at, so that what is rare need not be computed, and quick looks at them."""

from __future__ import annotations

import torch

# So many elements are added up in less time by Python.
_FEW = 32


def can_look(x: torch.Tensor) -> bool:
    """Whether a rule may ask for values: not where it is traced, or would wait for another device."""
    return type(x) is torch.Tensor and x.is_cpu and not torch.compiler.is_compiling()


def _total(x: torch.Tensor) -> float:
    """Return the sum of floats."""
    if x.ndim == 1 and x.shape[0] <= _FEW:
        total: float = sum(x.tolist())
        return total
    number: float = (x.sum() if x.ndim else x).item()
    return number


def all_finite(x: torch.Tensor) -> bool:
    """Whether floats are known to be finite; not where their values may not be asked for.

    A sum is not finite where an element is not, and takes a twentieth of the time of a look at each. Large elements may
    overflow in it: then the answer is False.
    """
    if not can_look(x):
        return False
    total = _total(x)
    return total - total == 0


def has_no_nan(x: torch.Tensor) -> bool:
    """Whether floats are known not to be NaN; infinities of both signs make the answer False, too."""
    if not can_look(x):
        return False
    total = _total(x)
    return total == total


def all_positive(x: torch.Tensor) -> bool:
    """Whether integers are known to be 1 or more; through NumPy, whose minimum takes a tenth of the time."""
    return can_look(x) and x.numel() > 0 and bool(x.numpy().min() > 0)
