"""Functions of numbers that Numba compiles, by names that generated code calls them by."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import numba

from treadle.as_pytensor.adapters.backends.registration import Function
from treadle.link.numba import External

# What the names begin with: the entry point of the group ``treadle.externals.numba``.
FAMILY = "funcified"
_KINDS = {"f4": (numba.float32, "f"), "f8": (numba.float64, "d")}


class _ScalarFunctions:
    """The functions by name, with their numbers of arguments, and what is compiled of them."""

    def __init__(self) -> None:
        self._functions: dict[str, tuple[Function, int]] = {}
        self._compiled: dict[str, Any] = {}

    def add(self, function: Function, nin: int) -> str:
        """Return a name for a function; it is another one in each process, since machine code that holds it is kept."""
        name = uuid4().hex[:16]
        self._functions[name] = function if hasattr(function, "py_func") else numba.njit(function), nin
        return name

    def external(self, name: str) -> External:
        """Return the function of a name and a type, such as ``name_f8``, compiled.

        Raises
        ------
        LookupError
            If there is none: machine code that another process has kept calls it.
        """
        stem, _, code = name.rpartition("_")
        function, nin = self._functions[stem]
        kind, letter = _KINDS[code]
        if name not in self._compiled:
            scope: dict[str, object] = {"function": function}
            arguments = ", ".join(f"x{i}" for i in range(nin))
            exec(f"def call({arguments}):\n    return function({arguments})\n", scope)
            self._compiled[name] = numba.cfunc(kind(*[kind] * nin))(scope["call"])
        return External(self._compiled[name].address, letter * nin, letter)


SCALAR_FUNCTIONS = _ScalarFunctions()


def external(name: str) -> External:
    """Return a registered function by its name in generated code."""
    return SCALAR_FUNCTIONS.external(name)
