"""Test values: sample values that run along while a graph is built (option ``compute_test_value``)."""

from __future__ import annotations

import sys
import warnings
from typing import TYPE_CHECKING

from treadle.config import config, lazy_module
from treadle.graph.diagnostics.failure import raise_node_error
from treadle.graph.errors import GraphTypeError, TestValueError
from treadle.graph.ir.sharing import CONVERTERS
from treadle.graph.ir.thunk import made_thunk
from treadle.graph.ir.variable import Constant, Variable

if TYPE_CHECKING:
    import pdb

    from treadle.graph.ir.apply import Apply
    from treadle.graph.ir.thunk import Value
else:
    pdb = lazy_module("pdb")


def get_test_value(var: object) -> Value:
    """Return the value a variable has while the graph is built.

    Constants and shared variables have their own; others the value in ``tag.test_value``, checked against the type.

    Parameters
    ----------
    var
        A variable; or a plain value, which is returned as a value of the type that a registered converter gives it.

    Raises
    ------
    TestValueError
        If the variable has none.
    GraphTypeError
        If the test value is not of the variable's type, or no converter knows the plain value.

    Examples
    --------
    >>> x = tt.dscalar("x")
    >>> x.tag.test_value = 2.0
    >>> get_test_value(x)
    array(2.)
    """
    if not isinstance(var, Variable):
        return CONVERTERS.type_of(var).filter(var)
    if isinstance(var, Constant):
        return var.data
    container = getattr(var, "container", None)
    if container is not None:
        return container.read_host()
    if not hasattr(var.tag, "test_value"):
        msg = f"test value: {var} of type {var.type} has none{_where(var)}. Set var.tag.test_value to a sample value."
        raise TestValueError(msg)
    try:
        return var.type.filter(var.tag.test_value)
    except (TypeError, ValueError) as error:
        msg = f"test value: that of {var}{_where(var)} is not of its type: {error}"
        raise GraphTypeError(msg) from error


def _where(var: Variable) -> str:
    return "" if var.owner is None else var.owner.where()


def missing_test_message(text: str) -> None:
    """Report a missing test value as option ``compute_test_value`` says.

    ``off`` and ``ignore``: not at all; ``warn``: a UserWarning; ``raise``: an error; ``pdb``: the debugger opens at the
    caller's frame, then an error.

    Raises
    ------
    TestValueError
        If the option is ``raise`` or ``pdb``.
    """
    action = config.compute_test_value
    if action == "warn":
        warnings.warn(text, UserWarning, stacklevel=3)
    elif action in {"raise", "pdb"}:
        error = TestValueError(text)
        if action == "pdb":
            _debug(error)
        raise error


def _debug(error: Exception) -> None:
    """Open the debugger where an error was raised; where it was not yet, at the code that is about to raise it."""
    trace = error.__traceback__
    if trace is not None:
        pdb.post_mortem(trace)
        return
    debugger = pdb.Pdb()
    debugger.reset()
    debugger.interaction(sys._getframe(2), None)


def get_test_values(*args: object) -> list[Value]:
    """Return ``[values]`` if every argument has a test value, else report the missing one and return ``[]``.

    Meant for ``for a, b in get_test_values(x, y): ...``, which runs once or not at all. One argument gives its value,
    several a tuple. With the option ``compute_test_value`` at ``off`` the list is empty.

    Raises
    ------
    TestValueError
        If a value is missing and the option is ``raise``.

    Examples
    --------
    >>> x = tt.dscalar("x")
    >>> x.tag.test_value = 2.0
    >>> with treadle.config.config.change_flags(compute_test_value="raise"):
    ...     print(get_test_values(x))
    [array(2.)]
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

    Inputs that the op overwrites are copied first. A missing input value is reported as the option says, and nothing is
    set.

    Raises
    ------
    TestValueError
        If an input has no test value and the option ``compute_test_value`` is ``raise``.
    NodeError
        If the op fails on the values: shapes that do not fit, for instance. It names op, values and the user's line.

    Examples
    --------
    >>> x = tt.dscalar("x")
    >>> x.tag.test_value = 2.0
    >>> y = tt.exp2(x)
    >>> compute_test_value(y.owner)
    >>> y.tag.test_value
    array(4.)
    """
    values = []
    for i, var in enumerate(node.inputs):
        try:
            values.append(get_test_value(var))
        except TestValueError as error:
            line = "" if node.user_line is None else f" The node was built at {node.user_line}."
            missing_test_message(f"{node.op}: input {i}: {error}{line}")
            return
    run = node.with_distinct_inputs()
    overwritten = {i for inputs in node.op.destroy_map.values() for i in inputs}
    storage: dict[Variable, list[object]] = {var: [None] for var in run.outputs}
    computed: dict[Variable, list[bool]] = {var: [False] for var in run.outputs}
    for i, (var, value) in enumerate(zip(run.inputs, values, strict=True)):
        storage[var] = [var.type.copy_value(value) if i in overwritten else value]
        computed[var] = [True]
    try:
        made_thunk(run, storage, computed, [])()
    except Exception as error:  # noqa: BLE001 - it is raised again
        if config.compute_test_value == "pdb":
            _debug(error)
        raise_node_error(node, error, values)
    for var, computed_var in zip(node.outputs, run.outputs, strict=True):
        var.tag.test_value = storage[computed_var][0]
