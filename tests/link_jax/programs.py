"""Linking by hand, for the tests of this folder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import treadle.tensor as tt
from treadle.graph import FunctionGraph
from treadle.link.jax.linker import JAXLinker
from treadle.link.vm import PythonLinker

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from treadle.link.jax.programs.program import JaxProgram


def link(inputs: Sequence[Any], outputs: Sequence[Any], native: Iterable[int] = ()) -> JaxProgram:
    program: Any = JAXLinker().link(FunctionGraph(list(inputs), list(outputs)), frozenset(native))
    return program  # type: ignore[no-any-return]  # a JaxProgram, as no node runs in Python


def assert_like_vm(inputs: Sequence[Any], outputs: Sequence[Any], *values: Any) -> None:
    """Check values, dtypes and ownership of every output against the Python VM."""
    graph = FunctionGraph(list(inputs), list(outputs))
    expected = PythonLinker().link(graph)(*values)
    results = JAXLinker().link(graph)(*values)
    for var, got, wanted in zip(outputs, results, expected, strict=True):
        assert type(got) is np.ndarray
        assert got.flags.writeable
        assert tt.TensorType.values_eq_approx(got, wanted), (var, got, wanted)
