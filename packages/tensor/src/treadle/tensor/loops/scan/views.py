"""map, reduce, foldl, foldr and filter: shorter forms of `scan` for common loops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.graph import GraphValueError
from treadle.tensor.errors import ArgumentError, TensorTypeError
from treadle.tensor.loops.scan.arguments import read_sequences
from treadle.tensor.loops.scan.building import build_loop

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["filter", "foldl", "foldr", "map", "reduce"]


def map(
    fn: Callable[..., object],
    sequences: object,
    non_sequences: object = None,
    truncate_gradient: int = -1,
    go_backwards: bool = False,
    mode: object = None,
    name: str | None = None,
    return_updates: bool = True,
) -> Any:
    """Call a function for each row of sequences, and stack what it returns.

    Parameters
    ----------
    fn
        Takes a row of each sequence, then `non_sequences`; returns an output or a list of them.
    sequences, non_sequences, truncate_gradient, go_backwards, mode, name, return_updates
        As for `treadle.tensor.scan`.

    Returns
    -------
    As `treadle.tensor.scan` does.

    Raises
    ------
    TreadleError
        As by `treadle.tensor.scan`.

    Examples
    --------
    >>> from treadle.scan import map
    >>> from treadle.tensor import dvector
    >>> x = dvector("x")
    >>> squares, updates = map(lambda row: row**2, x)
    >>> squares.eval({x: [1.0, 2.0, 3.0]}).tolist()
    [1.0, 4.0, 9.0]
    """
    del mode
    loop = build_loop(
        "map", fn, sequences, None, non_sequences, truncate_gradient=truncate_gradient, go_backwards=go_backwards,
        name=name,
    )  # fmt: skip
    return loop.result(loop.outputs, return_updates)


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
    """Combine the rows of sequences by a function, from left to right; return the last value.

    Parameters
    ----------
    fn
        Takes a row of each sequence, the states, then `non_sequences`; returns the new states.
    outputs_info
        What the states start with; without rows this is the result.
    sequences, non_sequences, go_backwards, mode, name, return_updates
        As for `treadle.tensor.scan`.

    Returns
    -------
    The last value of each output: one, or a list of several. If `return_updates`, the pair of that and the updates.

    Raises
    ------
    ArgumentError
        If there is no state.
    TreadleError
        As by `treadle.tensor.scan`.

    Examples
    --------
    >>> from treadle.scan import reduce
    >>> from treadle.tensor import dvector
    >>> x = dvector("x")
    >>> total, updates = reduce(lambda row, total: row + total, x, 0.0)
    >>> float(total.eval({x: [1.0, 2.0, 3.0]}))
    6.0
    """
    del mode
    return _reduced("reduce", fn, sequences, outputs_info, non_sequences, go_backwards, name, return_updates)


def foldl(
    fn: Callable[..., object],
    sequences: object,
    outputs_info: object,
    non_sequences: object = None,
    mode: object = None,
    name: str | None = None,
    return_updates: bool = True,
) -> Any:
    """Combine the rows of sequences by a function, from left to right: `reduce` forwards.

    Examples
    --------
    >>> treadle.scan.foldl(lambda x, total: total + x, tt.arange(4), tt.constant(0), return_updates=False).eval()
    array(6)
    """
    del mode
    return _reduced("foldl", fn, sequences, outputs_info, non_sequences, False, name, return_updates)


def foldr(
    fn: Callable[..., object],
    sequences: object,
    outputs_info: object,
    non_sequences: object = None,
    mode: object = None,
    name: str | None = None,
    return_updates: bool = True,
) -> Any:
    """Combine the rows of sequences by a function, from right to left: `reduce` backwards.

    Examples
    --------
    >>> treadle.scan.foldr(lambda x, total: 2 * total + x, tt.arange(4), tt.constant(0), return_updates=False).eval()
    array(34)
    """
    del mode
    return _reduced("foldr", fn, sequences, outputs_info, non_sequences, True, name, return_updates)


def _reduced(
    subject: str, fn: Callable[..., object], sequences: object, outputs_info: object, non_sequences: object,
    go_backwards: bool, name: str | None, return_updates: bool,
) -> Any:  # fmt: skip
    if outputs_info is None:
        msg = f"{subject}: outputs_info must say what the states start with, got None. Pass a value, or use map."
        raise ArgumentError(msg)
    loop = build_loop(subject, fn, sequences, outputs_info, non_sequences, go_backwards=go_backwards, name=name)
    return loop.result(loop.last(), return_updates)


def filter(
    fn: Callable[..., object],
    sequences: object,
    non_sequences: object = None,
    go_backwards: bool = False,
    mode: object = None,
    name: str | None = None,
) -> Any:
    """Return the rows of sequences for which a condition holds.

    Parameters
    ----------
    fn
        Takes a row of each sequence, then `non_sequences`; returns a scalar, which is not zero for the rows to keep.
    sequences
        A tensor or a list of them; the shortest decides how many rows are looked at.
    non_sequences, go_backwards, mode, name
        As for `treadle.tensor.scan`.

    Returns
    -------
    The rows that are kept: a tensor, or a list of them, as there are sequences.

    Raises
    ------
    ArgumentError
        If a sequence has taps.
    GraphValueError, TensorTypeError
        If the condition is not one scalar, or steps update shared variables.
    TreadleError
        As by `treadle.tensor.scan`.

    Examples
    --------
    >>> from treadle.scan import filter
    >>> from treadle.tensor import dvector
    >>> x = dvector("x")
    >>> filter(lambda row: row > 1, x).eval({x: [1.0, 2.0, 3.0]}).tolist()
    [2.0, 3.0]
    """
    del mode
    with_taps = read_sequences(sequences)
    for x in with_taps:
        if x.taps != (0,):
            msg = f"filter: {x.label} must have no taps, since whole rows are kept, got {list(x.taps)}. Leave them out."
            raise ArgumentError(msg)
    loop = build_loop("filter", fn, sequences, None, non_sequences, go_backwards=go_backwards, name=name)
    if len(loop.outputs) != 1:
        msg = f"{loop.subject}: the function must return one condition, got {len(loop.outputs)} outputs. Join them."
        raise GraphValueError(msg)
    test = loop.result(loop.outputs, return_updates=False)
    if test.ndim != 1:
        msg = f"{loop.subject}: the condition must be a scalar, got rank {test.ndim - 1}. Reduce it with all or any."
        raise TensorTypeError(msg)
    kept = []
    for x in with_taps:
        rows: Any = x.cut(0, bool(go_backwards))
        kept.append(rows[: test.shape[0]][test if test.dtype == "bool" else test.astype("bool")])
    return kept if isinstance(sequences, list | tuple) else kept[0]
