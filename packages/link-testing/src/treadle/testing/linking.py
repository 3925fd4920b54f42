"""Backends by name, and linking graphs by them: directly, or through `treadle.compile.function`."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence

from treadle.compile import function
from treadle.config import discover
from treadle.graph import FunctionGraph, Variable
from treadle.link.vm import Backend
from treadle.testing.domain import Array
from treadle.testing.errors import UnknownBackendError

# A linked graph; the contract checks that the results are arrays.
Program = Callable[..., Sequence[Array]]
Link = Callable[[str, Sequence[Variable], Sequence[Variable]], Program]


GROUP = "treadle.backends"


def backend_names() -> list[str]:
    """Return the names of all installed backends."""
    return list(discover(GROUP))


def find_backend(name: str) -> Backend:
    """Return an installed backend.

    Raises
    ------
    UnknownBackendError
        If there is no backend with that name.
    """
    backends = discover(GROUP)
    if name not in backends:
        near = difflib.get_close_matches(name, backends) or list(backends)
        msg = f"testing: no backend named {name!r} is installed; there are {', '.join(near)}. Install it, or pick one."
        raise UnknownBackendError(msg)
    backend: Backend = backends[name].load()
    return backend


def linked(backend: str, inputs: Sequence[Variable], outputs: Sequence[Variable]) -> Program:
    """Return the graph as a program of a backend, without rewriting.

    The graph is a copy, so that its variables may be used again.
    """
    fgraph = FunctionGraph(list(inputs), list(outputs), clone=True)
    program = find_backend(backend).linker().link(fgraph)

    def run(*values: object) -> Sequence[Array]:
        return program(*(v.type.filter(x) for v, x in zip(inputs, values, strict=True)))

    return run


def compiled(backend: str, inputs: Sequence[Variable], outputs: Sequence[Variable]) -> Program:
    """Return the graph as a function in the backend's mode, rewriting included."""
    return function(list(inputs), list(outputs), mode=backend.upper(), on_unused_input="ignore")
