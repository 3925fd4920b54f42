"""Handling of matrices without a result, for lowerings of ops on stacks of matrices."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Literal, TypeAlias, TypeVar

import torch

from treadle.link.torch import Checked, Flag, Lowered, Results, all_finite, can_look

F = TypeVar("F", bound=Callable[..., object])
# Whether each matrix of a stack has no result, as a bool or as another number than 0; False if all have.
Failed: TypeAlias = torch.Tensor | Literal[False]
# That, and the results.
Found = tuple[Failed, *tuple[torch.Tensor, ...]]


def settled(on_error: str, run: Callable[..., Found]) -> Lowered:
    """Return a function with NaN in results of matrices that failed (0 in integers), or one that flags them.

    `on_error` is the op's.
    """

    def filled(*stacks: torch.Tensor) -> Results:
        failed, *results = run(*stacks)
        # Through NumPy, which takes half the time, and as a number, which takes a tenth.
        if failed is False or (can_look(failed) and not (failed.numpy().any() if failed.ndim else failed.item())):
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
        return None if failed is False else failed.any(), results[0] if len(results) == 1 else tuple(results)

    return Checked(in_new_memory(flagged)) if on_error == "raise" else in_new_memory(filled)


def in_new_memory(run: F) -> F:
    """Mark a function whose results, which the library's own functions make, have each a block of memory of its own."""
    run.makes_new_memory = True  # type: ignore[attr-defined]  # functions may have it
    return run


def or_not_finite(failed: Failed, *stacks: torch.Tensor) -> Failed:
    """Return whether each matrix failed, or those of some stacks, broadcast together, are not finite."""
    return failed if all(map(all_finite, stacks)) else not_finite(*stacks) | failed


def not_finite(*stacks: torch.Tensor) -> torch.Tensor:
    """Return for each matrix of stacks, broadcast together, whether it has NaN or infinities."""
    # Zero times an element is NaN for these alone.
    return reduce(torch.logical_or, (torch.isnan((x * 0).sum((-2, -1))) for x in stacks))


def finite(a: torch.Tensor) -> tuple[torch.Tensor, Failed]:
    """Return matrices with zeros for those that hold NaN or infinities, and which ones these are."""
    if all_finite(a):
        return a, False
    failed = not_finite(a)
    return torch.where(failed[..., None, None], torch.zeros((), dtype=a.dtype, device=a.device), a), failed
