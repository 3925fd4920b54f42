"""``Variable.eval``: compile once, keep, call."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Mapping
from numbers import Number
from typing import TYPE_CHECKING, Any

from treadle.compile.functions.facade import function
from treadle.compile.mode.mode import get_mode
from treadle.config import config, new_lock, text_of
from treadle.graph import GraphTypeError, MissingInputError, Variable, explicit_graph_inputs, reading_order

if TYPE_CHECKING:
    from treadle.compile.functions.function import Function
    from treadle.graph import Value


class EvaluationCache:
    """The functions compiled for the variables evaluated last."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._functions: OrderedDict[object, Function] = OrderedDict()
        self._lock = new_lock()

    def get(self, key: object) -> Function | None:
        """Return a function, marked as used last."""
        with self._lock:
            function = self._functions.get(key)
            if function is not None:
                self._functions.move_to_end(key)
            return function

    def put(self, key: object, function: Function) -> None:
        """Keep a function, and drop the one used longest ago beyond the size."""
        with self._lock:
            self._functions[key] = function
            while len(self._functions) > self.size:
                self._functions.popitem(last=False)


CACHE = EvaluationCache(64)


def _by_variable(variable: Variable, values: Mapping[Value, Value], unused: str) -> dict[Variable, Value]:
    """Return the values by variable; names are looked up among the graph's inputs, then among what it computes."""
    named: dict[str, list[Variable]] = {}
    for var in explicit_graph_inputs([variable]):
        if var.name is not None:
            named.setdefault(var.name, []).append(var)
    result: dict[Variable, Value] = {}
    for key, value in values.items():
        if isinstance(key, Variable):
            result[key] = value
            continue
        matches = named.get(key, []) if isinstance(key, str) else []
        if not matches and isinstance(key, str):
            matches = [var for var in reading_order([variable]) if var.name == key and var.owner is not None]
        if len(matches) > 1:
            kinds = "inputs" if key in named else "variables"
            msg = f"eval: {len(matches)} {kinds} of {variable} have the name {key!r}. Name the variables themselves."
            raise GraphTypeError(msg)
        if matches:
            result[matches[0]] = value
        elif not isinstance(key, str) or unused == "raise":
            names = ", ".join(sorted(named)) or "none"
            msg = f"eval: {text_of(key)} is no input of {variable}. Its named inputs are {names}."
            raise GraphTypeError(msg)
        elif unused == "warn":
            msg = f"eval: {key!r} is no input of {variable}; its value is not used."
            warnings.warn(msg, UserWarning, stacklevel=4)
    return result


def evaluate(variable: Variable, values: Mapping[Value, Value], mode: Any = None, **kwargs: Any) -> Value:
    """Return a variable's value for values of its inputs (see `Variable.eval`).

    Raises
    ------
    MissingInputError
        If the value of an input is missing.

    Examples
    --------
    >>> x = tt.dscalar("x")
    >>> treadle.compile.evaluate(x**2, {x: 3.0})
    array(9.)
    """
    inputs = list(explicit_graph_inputs([variable]))
    unused, givens = kwargs.get("on_unused_input"), kwargs.get("givens")
    if not inputs and unused is None and not givens:
        # The result may not depend on what the expression was built from, as for zeros_like of a fixed shape.
        unused = kwargs["on_unused_input"] = "ignore"
    by_variable = _by_variable(variable, values, config.on_unused_input if unused is None else unused)
    missing = {v for v in inputs if v not in by_variable}
    if missing and not by_variable and not givens:
        needed = [f"{v} of type {v.type}" for v in reading_order([variable]) if v in missing]
        msg = f"eval: {variable} depends on {', '.join(needed)}. Pass a dictionary with their values."
        raise MissingInputError(msg)
    resolved_mode = get_mode(mode)
    # A function keeps the options it was made with, so other options ask for another function.
    key = (variable, tuple(by_variable), resolved_mode, config.snapshot(), _frozen(kwargs))
    compiled = CACHE.get(key) if _is_hashable(key) else None
    if compiled is None:
        compiled = function(list(by_variable), variable, mode=resolved_mode, **kwargs)
        if _is_hashable(key):
            CACHE.put(key, compiled)
    return compiled(*by_variable.values())


def _frozen(value: Value) -> Value:
    """Return a hashable key that is equal only for arguments of `function` that mean the same."""
    if isinstance(value, Mapping):
        return dict, tuple((_frozen(k), _frozen(v)) for k, v in value.items())
    if isinstance(value, list | tuple):
        return type(value), tuple(map(_frozen, value))
    if isinstance(value, Number):
        # Numbers that are equal may be of different types, or zeros of different signs.
        return type(value), repr(value)
    return value


def _is_hashable(key: object) -> bool:
    try:
        hash(key)
    except TypeError:
        return False
    return True
