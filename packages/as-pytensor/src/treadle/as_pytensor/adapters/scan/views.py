"""map, reduce, foldl, foldr, filter: loops of common forms, by PyTensor's conventions."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from treadle.as_pytensor.adapters.scan.building import scan
from treadle.graph import GraphValueError

if TYPE_CHECKING:
    from collections.abc import Callable


def map(  # noqa: A001 - the documented name
    fn: Callable[..., object],
    sequences: object,
    non_sequences: object = None,
    truncate_gradient: int = -1,
    go_backwards: bool = False,
    mode: object = None,
    name: str | None = None,
    return_updates: bool = True,
) -> Any:
    """Call a function for each row of sequences; return its outputs, stacked (parameters as for `scan`)."""
    return scan(
        fn, sequences, [], non_sequences, None, truncate_gradient, go_backwards, mode, name,
        return_updates=return_updates,
    )  # fmt: skip


def reduce(
    fn: Callable[..., object],
    sequences: object,
    outputs_info: object,
    non_sequences: object = None,
    go_backwards: bool = False,
    mode: object = None,
    name: str | None = None,
    return_updates: bool = True,
) -> Any:
    """Call a function for each row of sequences, with states; return the last outputs (parameters as for `scan`)."""
    returned = scan(
        fn, sequences, outputs_info, non_sequences, None, -1, go_backwards, mode, name, return_updates=return_updates
    )
    outputs = returned[0] if return_updates else returned
    last = [x[-1] for x in outputs] if isinstance(outputs, list | tuple) else outputs[-1]
    return (last, returned[1]) if return_updates else last


def foldl(
    fn: Callable[..., object],
    sequences: object,
    outputs_info: object,
    non_sequences: object = None,
    mode: object = None,
    name: str | None = None,
    return_updates: bool = True,
) -> Any:
    """Reduce sequences from the first row to the last (parameters as for `reduce`)."""
    return reduce(fn, sequences, outputs_info, non_sequences, False, mode, name, return_updates)


def foldr(
    fn: Callable[..., object],
    sequences: object,
    outputs_info: object,
    non_sequences: object = None,
    mode: object = None,
    name: str | None = None,
    return_updates: bool = True,
) -> Any:
    """Reduce sequences from the last row to the first (parameters as for `reduce`)."""
    return reduce(fn, sequences, outputs_info, non_sequences, True, mode, name, return_updates)


def filter(  # noqa: A001 - the documented name
    fn: Callable[..., object],
    sequences: Any,
    non_sequences: object = None,
    go_backwards: bool = False,
    mode: object = None,
    name: str | None = None,
) -> Any:
    """Return the rows of sequences for which a function is true.

    Parameters
    ----------
    fn
        Returns a bool scalar for all sequences, or a list with one for each.
    sequences, non_sequences, go_backwards, mode, name
        As for `scan`.

    Raises
    ------
    GraphValueError
        If `fn` returns another number of scalars than there are sequences.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        chosen, _ = scan(fn, sequences, None, non_sequences, None, -1, go_backwards, mode, name)
    several = isinstance(sequences, list | tuple)
    if not isinstance(chosen, list | tuple):
        return [x[chosen] for x in sequences] if several else sequences[chosen]
    if not several or len(chosen) != len(sequences):
        count = len(sequences) if several else 1
        msg = f"filter: the function returned {len(chosen)} masks for {count} sequences. Return one, or one for each."
        raise GraphValueError(msg)
    return [x[mask] for x, mask in zip(sequences, chosen, strict=True)]
