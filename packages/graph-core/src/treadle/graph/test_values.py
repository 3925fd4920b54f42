"""Test values: sample values that run along while a graph is built (option ``compute_test_value``)."""

from __future__ import annotations

import copy
import warnings
from typing import TYPE_CHECKING, Any

from treadle.config import config
from treadle.graph.errors import TestValueError
from treadle.graph.variable import Constant, Variable

if TYPE_CHECKING:
    from treadle.graph.apply import Apply


def get_test_value(var: Any) -> Any:
    """Return the value a variable has while the graph is built.

    Constants and shared variables have their own; others the value in ``tag.test_value``, checked against the type.

    Raises
    ------
    TestValueError
        If the variable has none.
    """
    if not isinstance(var, Variable):
        return var
    if isinstance(var, Constant):
        return var.data
    container = getattr(var, "container", None)
    if container is not None:
        return container.read_host()
    if not hasattr(var.tag, "test_value"):
        msg = f"test value: {var} of type {var.type} has none. Set var.tag.test_value to a sample value."
        raise TestValueError(msg)
    return var.type.filter(var.tag.test_value)


def missing_test_message(text: str) -> None:
    """Report a missing test value as option ``compute_test_value`` says: nothing, a warning, or an error.

    Raises
    ------
    TestValueError
        If the option is ``raise``.
    """
    action = config.compute_test_value
    if action == "raise":
        raise TestValueError(text)
    if action == "warn":
        warnings.warn(text, UserWarning, stacklevel=3)


def get_test_values(*args: Any) -> list[Any]:
    """Return ``[values]`` if every argument has a test value, else report the missing one and return ``[]``.

    Meant for ``for a, b in get_test_values(x, y): ...``, which runs once or not at all. With the option
    ``compute_test_value`` at ``off`` the list is empty.
    """
    if config.compute_test_value == "off":
        return []
    values = []
    for i, arg in enumerate(args):
        try:
            values.append(get_test_value(arg))
        except TestValueError as error:
            missing_test_message(f"test values: argument {i}: {error}")
            return []
    return [values[0] if len(values) == 1 else tuple(values)]


def compute_test_value(node: Apply) -> None:
    """Set ``tag.test_value`` of a node's outputs from those of its inputs, by running the node's own thunk.

    Destroyed inputs are copied first. A missing input value is reported as the option says, and ends the matter.
    """
    storage: dict[Variable, list[Any]] = {}
    computed: dict[Variable, list[bool]] = {}
    destroyed = {i for inputs in node.op.destroy_map.values() for i in inputs}
    for i, var in enumerate(node.inputs):
        try:
            value = get_test_value(var)
        except TestValueError as error:
            missing_test_message(f"{node.op}: input {i}: {error}")
            return
        storage[var] = [copy.copy(value) if i in destroyed else value]
        computed[var] = [True]
    for var in node.outputs:
        storage[var] = [None]
        computed[var] = [False]
    node.op.make_thunk(node, storage, computed, no_recycling=[])()
    for var in node.outputs:
        var.tag.test_value = storage[var][0]
