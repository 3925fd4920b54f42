"""What the function of a step returns: outputs, updates of shared variables, a condition that ends the loop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING

from treadle.config import dataclass, text_of
from treadle.graph import GraphTypeError, GraphValueError, SharedVariable, Variable
from treadle.tensor.elementwise.cast import cast
from treadle.tensor.elementwise.comparison import neq
from treadle.tensor.errors import TensorTypeError
from treadle.tensor.types.conversion import as_tensor_variable
from treadle.tensor.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Iterable

    from treadle.tensor.variables.variable import TensorLike, TensorVariable

__all__ = ["until"]


class until:  # noqa: N801 - the documented name
    """Ends a loop: what the function of a step returns besides its outputs.

    The condition is checked after the step, whose results count.

    Parameters
    ----------
    condition
        A scalar; the loop ends where it is not zero.

    Raises
    ------
    TensorTypeError
        If it is not a scalar.

    Examples
    --------
    >>> from treadle.tensor import scan, until
    >>> powers = scan(lambda x: (2 * x, until(x > 20)), outputs_info=1, n_steps=100, return_updates=False)
    >>> powers.eval().tolist()
    [2, 4, 8, 16, 32, 64]
    """

    __slots__ = ("condition",)

    def __init__(self, condition: TensorLike) -> None:
        truth = as_tensor_variable(condition)
        if truth.ndim:
            msg = f"until: the condition must be a scalar, got {truth} of type {truth.type}. Reduce it with all or any."
            raise TensorTypeError(msg)
        self.condition: TensorVariable = truth if truth.dtype == "bool" else cast(neq(truth, 0), "bool")


class Updates(dict[SharedVariable, Variable]):
    """Updates as `scan` returns them besides the outputs: a dictionary with a helpful error where used as an output."""

    __slots__ = ()

    def __getattr__(self, name: str) -> object:
        """Refuse, and say what this is: dictionaries have their own attributes only."""
        msg = (
            f"the updates of a loop's shared variables have no attribute {name!r}. A loop returns its outputs and "
            "these: write outputs, updates = scan(...), or pass return_updates=False."
        )
        raise AttributeError(msg)


@dataclass(slots=True)
class StepResults:
    """What the function of a step returned: outputs in order, new values of shared variables, the condition to end."""

    outputs: list[object] = field(default_factory=list)
    updates: dict[SharedVariable, Variable] = field(default_factory=dict)
    condition: TensorVariable | None = None


def read_results(returned: object) -> StepResults:
    """Return the parts of what the function of a step returned, which may come in any order."""
    results = StepResults()
    outputs: list[object] = []
    parts = [returned] if _is_updates(returned) or not isinstance(returned, list | tuple) else returned
    for item in parts:
        if isinstance(item, until):
            if results.condition is not None:
                msg = "scan: a step can end the loop by one condition, got two. Join them with or_."
                raise GraphValueError(msg)
            results.condition = item.condition
        elif _is_updates(item):
            _add_updates(results.updates, item)  # type: ignore[arg-type]  # a mapping or pairs
        elif item is not None and not (isinstance(item, list | tuple) and not item):
            outputs.append(item)
    nested = [item for item in outputs if isinstance(item, list | tuple)]
    if len(outputs) == 1 and nested:
        outputs = list(nested[0])
    elif nested:
        msg = (
            f"scan: a step returns its outputs one by one or as one list, got a list next to other outputs: "
            f"{text_of(nested[0])}. Put all outputs into one list."
        )
        raise GraphValueError(msg)
    results.outputs = outputs
    return results


def _is_updates(item: object) -> bool:
    """Whether it is a mapping, or pairs whose first are shared variables."""
    if isinstance(item, Mapping):
        return True
    return (
        isinstance(item, list | tuple)
        and bool(item)
        and all(isinstance(x, tuple | list) and len(x) == 2 and isinstance(x[0], SharedVariable) for x in item)
    )


def _add_updates(
    updates: dict[SharedVariable, Variable], returned: Mapping[object, object] | Iterable[tuple[object, object]]
) -> None:
    for target, new in returned.items() if isinstance(returned, Mapping) else returned:
        if not isinstance(target, SharedVariable):
            msg = (
                f"scan: the updates that a step returns change shared variables, got {text_of(target)}. "
                "Carry other values as states, in outputs_info."
            )
            raise GraphTypeError(msg)
        if target in updates:
            msg = f"scan: a step returns two updates of {target}. Combine them into one."
            raise GraphValueError(msg)
        try:
            updates[target] = target.type.filter_variable(new)
        except TypeError as error:
            kind = f" of type {new.type}" if isinstance(new, Variable) else ""
            msg = (
                f"scan: the update of {target} must be of type {target.type}, got {text_of(new)}{kind}. "
                "Cast it, for instance with .astype(...)."
            )
            raise GraphTypeError(msg) from error


def as_output(place: str, value: object, start: Variable | None) -> Variable:
    """Return an output of a step as a variable; one that is not a state must be a tensor."""
    if isinstance(value, Variable) and start is not None and not isinstance(start.type, TensorType):
        return value
    try:
        return as_tensor_variable(value)  # type: ignore[arg-type]  # refuses anything else
    except TypeError as error:
        msg = (
            f"scan: output {place} of a step must be a tensor, got {text_of(value)} ({error}). Values of other types "
            "can be states, which outputs_info gives a start."
        )
        raise TensorTypeError(msg) from error
