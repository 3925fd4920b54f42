"""scan_checkpoints: a loop whose gradient keeps few states and computes the others again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.graph import GraphValueError, as_flag, composed
from treadle.tensor.arguments.values import as_callable, as_integer, known_integer
from treadle.tensor.elementwise.arithmetic import floor_div, minimum, mul, sub
from treadle.tensor.errors import ArgumentError
from treadle.tensor.indexing.ranges import arange
from treadle.tensor.joins.joining import join
from treadle.tensor.loops.scan.arguments import number_of_steps, read_sequences, read_states
from treadle.tensor.loops.scan.building import build_loop
from treadle.tensor.loops.scan.results import read_results
from treadle.tensor.shapes.broadcasting import zeros
from treadle.tensor.shapes.shape import lengths
from treadle.tensor.types.conversion import constant

if TYPE_CHECKING:
    from collections.abc import Callable

    from treadle.tensor.loops.scan.arguments import SequenceTaps
    from treadle.tensor.variables.variable import TensorLike, TensorVariable

__all__ = ["scan_checkpoints"]


@composed
def scan_checkpoints(
    fn: Callable[..., object],
    sequences: object = None,
    outputs_info: object = None,
    non_sequences: object = None,
    name: str = "checkpointscan_fn",
    n_steps: TensorLike | None = None,
    save_every_N: int = 10,  # noqa: N803 - the documented name
    padding: bool = True,
    return_updates: bool = True,
) -> Any:
    """Call a function for each step of a loop, and keep every k-th state only.

    The gradient computes the steps between two kept states again, so that of n steps it holds n/k states and k steps at
    a time, for one more run of the loop. The least memory takes k near to the root of n.

    Parameters
    ----------
    fn, non_sequences, n_steps, return_updates
        As for `treadle.tensor.scan`.
    sequences
        A tensor or a list of them, without taps.
    outputs_info
        The first values of states, without taps, and None for outputs that are not states.
    name
        Shown when printed and in errors.
    save_every_N
        The number k of steps between two kept states.
    padding
        Whether sequences whose length is not a multiple of k are copied, with rows added which no step takes. Without,
        such sequences are an error of the run.

    Returns
    -------
    The outputs of steps k, 2k, ... and of the last step, stacked: one, a list of several, or None if there are none. If
    `return_updates`, the pair of them and the updates.

    Raises
    ------
    ArgumentError
        If there are taps, or `save_every_N` is less than 1; if the number of steps is known to be no multiple of it and
        `padding` is False.
    GraphValueError
        If the function returns a condition to end the loop.
    TreadleError
        As by `treadle.tensor.scan`.

    Examples
    --------
    >>> from treadle.tensor import arange, scan_checkpoints
    >>> sums, updates = scan_checkpoints(lambda row, total: row + total, arange(7), 0, save_every_N=3)
    >>> sums.eval().tolist()
    [3, 15, 21]
    """
    as_callable("scan_checkpoints: fn", fn)
    size = as_integer("scan_checkpoints: save_every_N", save_every_N, 1)
    padded = as_flag("scan_checkpoints: padding", padding)
    with_taps, states = read_sequences(sequences), read_states(outputs_info)
    for label, taps, plain in [*((x.label, x.taps, 0) for x in with_taps), *((s.label, s.taps, -1) for s in states)]:
        if taps and taps != (plain,):
            msg = (
                f"scan_checkpoints: {label} must have no taps, got {list(taps)}. Leave them out, and carry what a step "
                "needs of earlier ones in states of their own."
            )
            raise ArgumentError(msg)
    steps = number_of_steps(n_steps, with_taps)
    known = known_integer(steps)
    is_multiple = known is not None and known % size == 0
    if known is not None and not is_multiple and not padded:
        msg = (
            f"scan_checkpoints: {known} steps are no multiple of save_every_N, {size}, and padding is False. Leave out "
            "padding=False, or choose another save_every_N."
        )
        raise ArgumentError(msg)
    even = is_multiple or not padded
    count = floor_div(steps if even else steps + (size - 1), size)
    starts = mul(arange(count), size)

    def step(*arguments: object) -> object:
        returned = fn(*arguments)
        if read_results(returned).condition is not None:
            msg = "scan_checkpoints: the number of steps is fixed, and the function returned until. Use scan."
            raise GraphValueError(msg)
        return returned

    initial: list[Any] = [state.initial for state in states]
    if any(state.number is not None for state in states):
        # Numbers take on the dtype of what steps make.
        trial = build_loop("scan_checkpoints", step, sequences, outputs_info, non_sequences, n_steps=steps, name=name)
        for i, state in enumerate(states):
            if state.number is not None:
                initial[i] = constant(state.number, dtype=trial.outputs[i].dtype)
    n_sequences, n_states = len(with_taps), sum(state.initial is not None for state in states)

    def chunk(start: TensorVariable, *values: Any) -> object:
        rows, carried, constants = (
            values[:n_sequences],
            values[n_sequences:][:n_states],
            values[n_sequences + n_states :],
        )
        current = iter(carried)
        own = [None if s.initial is None else next(current) for s in states] or None
        inner = build_loop(
            "scan_checkpoints", step, list(rows), own, list(constants),
            n_steps=size if even else minimum(sub(steps, start), size), name=name,
        )  # fmt: skip
        last = inner.last()
        inner.result(last, return_updates=True)
        return last, {var: new for var, new in inner.updates.items() if var in inner.explicit}

    outer = build_loop(
        "scan_checkpoints", chunk, [starts, *(_chunks(x, steps, count, size, even) for x in with_taps)],
        initial or None, non_sequences, name=name, recomputes=True,
    )  # fmt: skip
    return outer.result(outer.outputs, return_updates)


def _chunks(x: SequenceTaps, steps: TensorVariable, count: TensorVariable, size: int, even: bool) -> TensorVariable:
    """Return the rows of a sequence in chunks, along a new first dimension."""
    rows: Any = x.variable[:steps]
    own = lengths(rows)[1:]
    if not even:
        rows = join(0, rows, zeros([sub(mul(count, size), steps), *own], dtype=rows.dtype))
    chunks: TensorVariable = rows.reshape([count, size, *own])
    return chunks
