"""Handling of matrices without a result, for lowerings of ops on stacks of matrices."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import torch

from treadle.link.torch import Checked, Flag, Lowered, Results

# Whether each matrix of a stack has no result, and the results.
Found = tuple[torch.Tensor, *tuple[torch.Tensor, ...]]


def settled(on_error: str, run: Callable[..., Found]) -> Lowered:
    """Return a function with NaN in results of matrices that failed (0 in integers), or one that flags them.

    `on_error` is the op's. `run` returns for each matrix of the stack whether it has no result, as a bool or as another
    number than 0, then the results.
    """

    def filled(*stacks: torch.Tensor) -> Results:
        failed, *results = run(*stacks)
        # Through NumPy, which takes half the time.
        if can_look(failed) and not failed.numpy().any():
            return results[0] if len(results) == 1 else tuple(results)
        failed = failed != 0
        with_nan = tuple(
            torch.where(
                failed.reshape(*failed.shape, *[1] * (x.ndim - failed.ndim)),
                torch.full_like(x, torch.nan if x.is_floating_point() or x.is_complex() else 0),
                x,
            )
            for x in results
        )
        return with_nan[0] if len(with_nan) == 1 else with_nan

    def flagged(*stacks: torch.Tensor) -> tuple[Flag, Results]:
        failed, *results = run(*stacks)
        return failed.any(), results[0] if len(results) == 1 else tuple(results)

    return Checked(flagged) if on_error == "raise" else filled


def can_look(x: torch.Tensor) -> bool:
    """Whether a rule may ask for values: not where it is traced, or would wait for another device."""
    return type(x) is torch.Tensor and x.is_cpu and not torch.compiler.is_compiling()


def all_finite(x: torch.Tensor) -> bool:
    """Whether a tensor is known to have finite elements only; not where its values may not be asked for.

    A sum is not finite where an element is not, and takes a twentieth of the time of a look at each. Large elements may
    overflow in it: then the answer is False.
    """
    if not can_look(x):
        return False
    total = x.sum().item()
    return bool(total - total == 0)


def not_finite(*stacks: torch.Tensor) -> torch.Tensor:
    """Return for each matrix of stacks, broadcast together, whether it has NaN or infinities; one for all if none."""
    if all(map(all_finite, stacks)):
        return torch.zeros((), dtype=torch.bool)
    # Zero times an element is NaN for these alone.
    return reduce(torch.logical_or, (torch.isnan((x * 0).sum((-2, -1))) for x in stacks))


def finite(a: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return matrices with zeros for those that hold NaN or infinities, and which ones these are."""
    failed = not_finite(a)
    if failed.ndim < a.ndim - 2:
        return a, failed
    return torch.where(failed[..., None, None], torch.zeros((), dtype=a.dtype, device=a.device), a), failed
