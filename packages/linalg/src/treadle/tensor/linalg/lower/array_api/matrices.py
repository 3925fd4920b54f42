"""Handling of matrices without a result, for rules of ops on stacks of matrices."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from treadle.graph import Unsupported
from treadle.link.array_api import Library, library

Arrays = tuple[Any, ...]


def with_linalg() -> Library:
    """Return the library, which must have the standard's extension for linear algebra."""
    lib = library()
    if not hasattr(lib.xp, "linalg"):
        msg = f"{lib.name} has no functions of linear algebra"
        raise Unsupported(msg, "name another library with the option array_api__namespace")
    return lib


def settled(lib: Library, on_error: str, check: bool, run: Callable[..., Arrays]) -> Callable[..., Any]:
    """Return a function with NaN in results of matrices that have none, or one that raises for them.

    Libraries raise for a whole stack, or return NaN: where one raises, and the op's `on_error` is not to, each matrix
    is computed by itself. With `check`, matrices with NaN or infinities have no result.
    """
    xp = lib.xp

    def computed(*stacks: Any) -> Any:
        bad: Any = _not_finite(xp, stacks) if check else None
        wrong = bad is not None and bool(xp.any(bad))
        if wrong and on_error == "raise":
            msg = "a matrix has NaN or infinities"
            raise ValueError(msg)
        if wrong:
            stacks = tuple(xp.where(bad[..., None, None], xp.zeros_like(x), x) for x in _broadcast(xp, stacks))
        try:
            results = run(*stacks)
        except Exception:
            if on_error == "raise":
                raise
            results = _one_by_one(xp, run, _broadcast(xp, stacks))
        if on_error == "raise" and _lost(xp, stacks, results):
            msg = "a matrix has no result"
            raise ValueError(msg)
        if wrong:
            results = tuple(_filled(xp, bad, x) for x in results)
        return results[0] if len(results) == 1 else results

    return computed


def _not_finite(xp: Any, stacks: Sequence[Any]) -> Any:
    found = [~xp.all(xp.isfinite(x), axis=(-2, -1)) for x in stacks]
    first = found[0]
    for other in found[1:]:
        first = first | other
    return first


def _lost(xp: Any, stacks: Sequence[Any], results: Sequence[Any]) -> bool:
    """Whether results have NaN that no operand has."""
    return any(_has_nan(xp, x) for x in results) and not any(_has_nan(xp, x) for x in stacks)


def _has_nan(xp: Any, x: Any) -> bool:
    return bool(xp.any(xp.isnan(x))) if xp.isdtype(x.dtype, ("real floating", "complex floating")) else False


def _filled(xp: Any, bad: Any, x: Any) -> Any:
    """Return a stack with NaN in place of what is bad."""
    wide = xp.reshape(bad, (*bad.shape, *(1 for _ in range(x.ndim - bad.ndim))))
    return xp.where(wide, xp.full_like(x, math.nan), x)


def _broadcast(xp: Any, stacks: Sequence[Any]) -> Arrays:
    if len(stacks) == 1:
        return tuple(stacks)
    batches = xp.broadcast_arrays(
        *[x[..., 0, 0] if 0 not in x.shape[-2:] else xp.sum(x, axis=(-2, -1)) for x in stacks]
    )
    return tuple(xp.broadcast_to(x, (*batches[0].shape, *x.shape[-2:])) for x in stacks)


def _one_by_one(xp: Any, run: Callable[..., Arrays], stacks: Sequence[Any]) -> Arrays:
    """Return results of stacks, NaN for matrices that the library raises for."""
    batch = stacks[0].shape[:-2]
    flat = [xp.reshape(x, (-1, *x.shape[-2:])) for x in stacks]
    found: list[Arrays | None] = []
    for i in range(math.prod(batch)):
        try:
            found.append(run(*[x[i, :, :] for x in flat]))
        except Exception:  # noqa: BLE001 - each library has an error of its own
            found.append(None)
    good = next((x for x in found if x is not None), None)
    # Of the identity every decomposition has its results.
    like = good or run(*[xp.eye(x.shape[-2], x.shape[-1], dtype=x.dtype) for x in stacks])
    nothing = tuple(xp.full_like(x, math.nan) for x in like)
    rows = [x if x is not None else nothing for x in found]
    return tuple(xp.reshape(xp.stack(parts), (*batch, *parts[0].shape)) for parts in zip(*rows, strict=True))
