"""Compiling backends compute complex numbers and float16 themselves: none is left to Python for its dtype."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.contract.backends import BACKENDS
from treadle.config import TreadleError
from treadle.graph import FunctionGraph, Unsupported
from treadle.testing import SAMPLES, Sample, find_backend
from treadle.testing.parts import value_part

if TYPE_CHECKING:
    from treadle.link.vm import TableLinker

# The VM computes with NumPy; the tracing backends have no Python steps at all.
COMPILING = [backend for backend in ("c", "numba") if backend in BACKENDS]


def _steps(linker: TableLinker, sample: Sample, dtype: str) -> set[str] | None:
    """Return the ops of a sample that a backend would leave to Python; None if they do not take the dtype."""
    try:
        part = value_part(sample, dtype)
    except TreadleError:
        return None
    steps = set()
    for node in linker.expanded(FunctionGraph(list(part.inputs), list(part.outputs), clone=True)).toposort():
        try:
            linker.check(node)
        except Unsupported:
            steps.add(type(node.op).__name__)
    return steps


@pytest.mark.parametrize("dtype", ["float16", "complex64", pytest.param("complex128", marks=pytest.mark.slow)])
@pytest.mark.parametrize("backend", COMPILING)
def test_no_op_is_left_to_python_for_its_dtype(backend: str, dtype: str) -> None:
    linker: TableLinker = find_backend(backend).linker()  # type: ignore[assignment]  # those of compiling backends are
    known: dict[str, set[str] | None] = {}
    differing = {}
    for sample in SAMPLES:
        steps = _steps(linker, sample, dtype)
        if steps:
            # What is left to Python in double precision too is a value of Python, or a user's function.
            known.setdefault(sample.name, _steps(linker, sample, "float64"))
            if steps - (known[sample.name] or set()):
                differing[sample.name] = steps
    assert not differing
