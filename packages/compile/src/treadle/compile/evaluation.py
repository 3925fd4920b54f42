"""``Variable.eval``: compile once, keep, call."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from treadle.compile.facade import function
from treadle.compile.mode import get_mode
from treadle.config import config
from treadle.graph import GraphTypeError, MissingInputError, Variable, explicit_graph_inputs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from treadle.compile.executor import Function


class EvaluationCache:
    """The functions compiled for the variables evaluated last."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._functions: OrderedDict[Any, Function] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Any) -> Function | None:
        """Return a function, marked as used last."""
        with self._lock:
            found = self._functions.get(key)
            if found is not None:
                self._functions.move_to_end(key)
            return found

    def put(self, key: Any, made: Function) -> None:
        """Keep a function, and drop the one used longest ago beyond the size."""
        with self._lock:
            self._functions[key] = made
            while len(self._functions) > self.size:
                self._functions.popitem(last=False)


CACHE = EvaluationCache(64)


def _by_variable(variable: Variable, values: Mapping[Any, Any]) -> dict[Variable, Any]:
    """Return the values by variable; names are looked up among the graph's inputs."""
    named = {v.name: v for v in explicit_graph_inputs([variable]) if v.name is not None}
    result: dict[Variable, Any] = {}
    for key, value in values.items():
        if isinstance(key, Variable):
            result[key] = value
        elif isinstance(key, str) and key in named:
            result[named[key]] = value
        else:
            msg = f"eval: {key!r} is no input of {variable}. Its named inputs are {', '.join(sorted(named)) or 'none'}."
            raise GraphTypeError(msg)
    return result


def evaluate(variable: Variable, values: Mapping[Any, Any], mode: Any = None, **kwargs: Any) -> Any:
    """Return a variable's value for values of its inputs (see `Variable.eval`).

    Raises
    ------
    MissingInputError
        If the value of an input is missing.
    """
    given = _by_variable(variable, values)
    missing = [v for v in explicit_graph_inputs([variable]) if v not in given]
    if missing and not given:
        msg = (
            f"eval: {variable} depends on {', '.join(f'{v} of type {v.type}' for v in missing)}. "
            "Pass a dictionary with their values."
        )
        raise MissingInputError(msg)
    chosen = get_mode(mode)
    # A function keeps the options it was made with, so other options ask for another function.
    key = (variable, tuple(given), chosen, config.snapshot(), tuple(sorted(kwargs.items())))
    compiled = CACHE.get(key)
    if compiled is None:
        compiled = function(list(given), variable, mode=chosen, **kwargs)
        CACHE.put(key, compiled)
    return compiled(*given.values())
