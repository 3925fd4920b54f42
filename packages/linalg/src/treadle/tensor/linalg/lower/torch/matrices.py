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

    `on_error` is the op's. `run` returns for each matrix of the stack whether it has no result, then the results.
    """

    def filled(*stacks: torch.Tensor) -> Results:
        failed, *results = run(*stacks)
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


def not_finite(*stacks: torch.Tensor) -> torch.Tensor:
    """Return for each matrix of stacks, broadcast together, whether it has NaN or infinities."""
    return reduce(torch.logical_or, (~torch.isfinite(x).flatten(-2).all(-1) for x in stacks))


def finite(a: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return matrices with zeros for those that hold NaN or infinities, and which ones these are."""
    failed = not_finite(a)
    return torch.where(failed[..., None, None], torch.zeros((), dtype=a.dtype, device=a.device), a), failed
