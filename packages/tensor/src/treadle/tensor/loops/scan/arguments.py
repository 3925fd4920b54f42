"""What `scan` is given: sequences with taps, states with taps, what stays the same, a number of steps."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from treadle.config import dataclass, text_of
from treadle.graph import GraphTypeError, Variable
from treadle.tensor.arguments.values import as_integer, known_integer
from treadle.tensor.elementwise.arithmetic import minimum
from treadle.tensor.elementwise.cast import cast
from treadle.tensor.errors import ArgumentError, ShapeError, TensorTypeError
from treadle.tensor.shapes.shape import LENGTH, lengths
from treadle.tensor.types.conversion import as_tensor_variable, constant
from treadle.tensor.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.tensor.variables.variable import TensorLike, TensorVariable

PythonNumber = bool | int | float | complex


@dataclass(frozen=True, slots=True)
class SequenceTaps:
    """A sequence, which of its rows a step takes (by distance from its own, in order), and its name in messages."""

    variable: TensorVariable
    taps: tuple[int, ...]
    label: str

    @property
    def before(self) -> int:
        """How many rows the first step needs before its own."""
        return -min(*self.taps, 0)

    @property
    def after(self) -> int:
        """How many rows a step needs after its own."""
        return max(*self.taps, 0)

    def cut(self, tap: int, backwards: bool) -> TensorVariable:
        """Return the rows that the steps take at one tap, the first step's first."""
        start, stop = self.before + tap, tap - self.after
        part: TensorVariable = self.variable
        if start or stop:
            part = part[start : stop or None]
        return part[::-1] if backwards else part

    def length(self) -> int | None:
        """Return for how many steps there are rows, where that is known."""
        known: int | None = self.variable.type.shape[0]
        return None if known is None else max(known - self.before - self.after, 0)


@dataclass(frozen=True, slots=True)
class StateTaps:
    """An output of the step function: a state that later steps take, or a result only.

    `initial` is the first value, or the values before the first step where taps reach further back; None for a result
    only. `number` is the Python number given for it, whose dtype adapts to what steps make. `taps` says how many steps
    back the values lie that a step takes, as negative numbers in order. `label` is its name in messages.
    """

    initial: Variable | None
    number: PythonNumber | None
    taps: tuple[int, ...]
    label: str

    @property
    def depth(self) -> int:
        """How many values it starts from."""
        return -min(self.taps, default=0)


def _items(argument: object) -> list[object]:
    if argument is None:
        return []
    return list(argument) if isinstance(argument, list | tuple) else [argument]


def _named(place: str, var: object) -> str:
    name = getattr(var, "name", None)
    return f"{place} ({name})" if name else place


def _taps(label: str, value: object) -> tuple[int, ...]:
    """Return taps as distinct integers."""
    items = list(value) if isinstance(value, list | tuple | range | np.ndarray) else [value]
    taps = tuple(as_integer(f"scan: {label}: a tap", tap) for tap in items)
    if not taps:
        msg = f"scan: {label}: taps must name one row at least, got none. Leave taps out for the row of the step."
        raise ArgumentError(msg)
    twice = sorted({tap for tap in taps if taps.count(tap) > 1})
    if twice:
        msg = f"scan: {label}: each tap can be given once, got {list(taps)}. Leave out the second {twice[0]}."
        raise ArgumentError(msg)
    return taps


def _checked_keys(label: str, options: Mapping[object, object], known: Sequence[str]) -> None:
    unknown = [key for key in options if key not in known]
    if unknown:
        msg = f"scan: {label}: the keys are {' and '.join(known)}, got {text_of(unknown[0])}. Leave it out."
        raise ArgumentError(msg)


def read_sequences(argument: object) -> list[SequenceTaps]:
    """Return the sequences with their taps."""
    sequences = []
    for i, item in enumerate(_items(argument)):
        place = f"sequences[{i}]"
        taps: object = (0,)
        value = item
        if isinstance(item, Mapping):
            _checked_keys(place, item, ("input", "taps"))
            value = item.get("input")
            taps = item.get("taps", taps)
            taps = (0,) if taps is None else taps
        if value is None:
            msg = (
                f"scan: {place} must be a tensor, got None. Pass the tensor, as it is or as dict(input=..., taps=...)."
            )
            raise GraphTypeError(msg)
        variable = _tensor(place, value)
        label = _named(place, variable)
        if variable.ndim == 0:
            msg = (
                f"scan: {label}: a sequence needs a first dimension to take rows of, got a scalar of type "
                f"{variable.type}. Pass what is the same in all steps in non_sequences."
            )
            raise ShapeError(msg)
        sequences.append(SequenceTaps(variable, _taps(label, taps), label))
    return sequences


def _tensor(place: str, value: object) -> TensorVariable:
    try:
        return as_tensor_variable(value)  # type: ignore[arg-type]  # refuses anything else
    except TypeError as error:
        msg = f"scan: {_named(place, value)}: a tensor is needed, got {text_of(value)} ({error})"
        raise TensorTypeError(msg) from error


def read_states(argument: object) -> list[StateTaps]:
    """Return the initial values and taps of the outputs of the step function; plain results have no taps."""
    states = []
    for i, item in enumerate(_items(argument)):
        place = f"outputs_info[{i}]"
        taps: object = None
        value = item
        if isinstance(item, Mapping):
            _checked_keys(place, item, ("initial", "taps"))
            value, taps = item.get("initial"), item.get("taps")
            if value is None and taps is not None:
                msg = f"scan: {place}: taps {text_of(taps)} need a value to start from, got none. Pass initial."
                raise ArgumentError(msg)
        if value is None:
            states.append(StateTaps(None, None, (), place))
            continue
        number = value if isinstance(value, PythonNumber) and not isinstance(value, np.generic) else None
        initial = value if isinstance(value, Variable) else _tensor(place, value)
        label = _named(place, initial)
        steps = (-1,) if taps is None else _taps(label, taps)
        if max(steps) >= 0:
            msg = (
                f"scan: {label}: a step can take states of earlier steps only, so taps must be negative, got "
                f"{list(steps)}. Number the states back from the step: -1 is the last one."
            )
            raise ArgumentError(msg)
        state = StateTaps(initial, number, steps, label)
        _check_depth(state, initial)
        states.append(state)
    return states


def _check_depth(state: StateTaps, initial: Variable) -> None:
    """Refuse initial values that are too few for the taps."""
    if state.depth == 1:
        return
    kind = initial.type
    need = f"scan: {state.label}: taps {list(state.taps)} need the {state.depth} values before the first step"
    if not isinstance(kind, TensorType) or kind.ndim == 0:
        msg = f"{need}, as rows of the initial value, got one of type {kind}. Stack them, the oldest first."
        raise ShapeError(msg)
    known = kind.shape[0]
    if known is not None and known < state.depth:
        msg = f"{need}, got {known}. Pass {state.depth - known} more, the oldest first."
        raise ShapeError(msg)


def read_constants(argument: object) -> list[Variable]:
    """Return what is the same in all steps as variables."""
    return [
        item if isinstance(item, Variable) else _tensor(f"non_sequences[{i}]", item)
        for i, item in enumerate(_items(argument))
    ]


def number_of_steps(n_steps: TensorLike | None, sequences: Sequence[SequenceTaps]) -> TensorVariable:
    """Return the number of steps: the one given, else that of the shortest sequence."""
    if n_steps is not None:
        return _given_steps(n_steps, sequences)
    if not sequences:
        msg = "scan: the number of steps is not known. Pass sequences, or n_steps."
        raise ArgumentError(msg)
    distinct = {(x.variable, x.before, x.after): x for x in sequences}
    own = [lengths(x.cut(x.taps[0], backwards=False))[0] for x in distinct.values()]
    return reduce(minimum, own)


def _given_steps(n_steps: TensorLike, sequences: Sequence[SequenceTaps]) -> TensorVariable:
    number = known_integer(n_steps)
    if number is None:
        steps = _tensor("n_steps", n_steps)
        if steps.ndim or steps.type.numpy_dtype.kind not in "iu":
            msg = (
                f"scan: n_steps must be an integer scalar, got {text_of(n_steps)} of type {steps.type}. "
                "Pass an integer, or cast it to int64."
            )
            raise TensorTypeError(msg)
        return cast(steps, LENGTH)
    if number < 0:
        msg = (
            f"scan: n_steps must not be negative, got {number}. To go from the last row to the first, set go_backwards."
        )
        raise ArgumentError(msg)
    for x in sequences:
        length = x.length()
        if length is not None and length < number:
            taps = f" with taps {list(x.taps)}" if x.taps != (0,) else ""
            msg = (
                f"scan: {x.label} of type {x.variable.type} has rows for {length} steps{taps}, and n_steps is "
                f"{number}. Pass a longer sequence or a smaller number."
            )
            raise ShapeError(msg)
    return constant(number, dtype=LENGTH)
