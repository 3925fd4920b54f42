"""scan: a loop from a function of one step, with taps into past and future."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.config import text_of
from treadle.graph import GraphTypeError, as_flag
from treadle.tensor.loops.scan.building import build_loop

if TYPE_CHECKING:
    from collections.abc import Callable

    from treadle.tensor.variables.variable import TensorLike

__all__ = ["scan"]


def scan(
    fn: Callable[..., object],
    sequences: object = None,
    outputs_info: object = None,
    non_sequences: object = None,
    n_steps: TensorLike | None = None,
    truncate_gradient: int = -1,
    go_backwards: bool = False,
    mode: object = None,
    name: str | None = None,
    profile: object = False,
    allow_gc: bool | None = None,
    strict: bool = False,
    return_list: bool = False,
    return_updates: bool = True,
) -> Any:
    """Call a function for each step of a loop, with rows of sequences and with states of earlier steps.

    Parameters
    ----------
    fn
        The function of a step, called once to build the loop, or again where the dtype of a Python number in
        `outputs_info` has to follow what a step makes. It takes, in this order: for each sequence the rows at its taps;
        for each state the values at its taps; what `non_sequences` holds. It returns its outputs, one or a list;
        besides them, in any order, updates of shared variables (a dictionary, or a list of pairs) and a condition to
        end the loop, `until`.
    sequences
        A tensor or a list of them, whose first dimension is that of the steps: at step t the function takes row t. With
        taps: ``dict(input=x, taps=[-1, 0, 1])`` gives it rows t-1, t and t+1; the first step is then the first for
        which all of them exist, and the last one the last. The shortest sequence ends the loop.
    outputs_info
        What the outputs are, a list with one entry for each, or the only entry. None: a result, which later steps do
        not take. A variable or value: a state, and what the first step takes. ``dict(initial=x, taps=[-2, -1])``: a
        state of which a step takes those made two steps and one step before; the rows of ``initial`` are the states
        before the first step, the oldest first. Python numbers take on the dtype of what steps make. A state that is no
        tensor, such as a random generator, is not stacked: its last value is the result.
    non_sequences
        What is the same in all steps. What the function uses besides its arguments is found and passed on too. What it
        uses is computed within the loop where it depends on a shared variable that is updated there, such as the
        generator of a draw, even if the expression was built outside: pass in `non_sequences` what is to be computed
        once.
    n_steps
        The number of steps, an integer or an integer scalar; that of the shortest sequence if None. No sequence may be
        shorter.
    truncate_gradient
        Of how many steps, the last ones, the gradient is taken; -1 for all.
    go_backwards
        Whether to take the rows of the sequences from the last to the first; results are in the order of the steps.
    mode, profile, allow_gc
        Accepted and without effect: the loop is compiled, and measured, with the function that it becomes part of, in
        the mode of that function.
    name
        Shown when printed and in errors.
    strict
        Whether the function may use only those shared variables that `sequences`, `outputs_info` and `non_sequences`
        give it.
    return_list
        Whether to return a list where there is one output.
    return_updates
        Whether to return the updates besides the outputs.

    Returns
    -------
    The outputs of all steps, stacked along a new first dimension: one, a list of several, or None if there are none. If
    `return_updates`, the pair of them and a dictionary: for each shared variable that the steps update, its value after
    the loop, to be passed to `treadle.compile.function` as ``updates``. The generators of a `RandomStream` that is used
    in the function are among them. Where no updates are returned, the default updates of generators become their
    values after the loop.

    Raises
    ------
    TensorTypeError
        If a state changes its rank or dtype in a step, `fn` does not take the arguments, an argument is not a tensor.
    ShapeError
        If a sequence is a scalar or known to be too short, or there are too few initial values.
    ArgumentError
        If taps, the number of steps or another argument are wrong.
    GraphTypeError, GraphValueError
        If `fn` returns something else than what `outputs_info` says, or wrong updates.
    MissingInputError
        If the function uses a shared variable that it is not given, and `strict` is set.

    Examples
    --------
    >>> from treadle.tensor import dvector, scan
    >>> x = dvector("x")
    >>> sums, updates = scan(lambda row, total: total + row, sequences=x, outputs_info=0.0)
    >>> sums.eval({x: [1.0, 2.0, 3.0]}).tolist()
    [1.0, 3.0, 6.0]

    A state that reaches two steps back:

    >>> fibonacci = scan(lambda a, b: a + b, outputs_info=dict(initial=[0, 1], taps=[-2, -1]), n_steps=6)[0]
    >>> fibonacci.eval().tolist()
    [1, 2, 3, 5, 8, 13]
    """
    if not isinstance(mode, str | None) and not hasattr(type(mode), "including"):
        msg = f"scan: mode must be a mode or its name, got {text_of(mode)}. Leave it out."
        raise GraphTypeError(msg)
    as_flag("scan: profile", profile)
    if allow_gc is not None:
        as_flag("scan: allow_gc", allow_gc)
    loop = build_loop(
        "scan", fn, sequences, outputs_info, non_sequences, n_steps=n_steps, truncate_gradient=truncate_gradient,
        go_backwards=go_backwards, name=name, strict=strict,
    )  # fmt: skip
    return loop.result(loop.outputs, return_updates, as_flag("scan: return_list", return_list))
