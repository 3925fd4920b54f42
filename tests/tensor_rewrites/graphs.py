"""Rewriting expressions, showing them as text, and running them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from treadle.graph import Constant, FunctionGraph
from treadle.link.vm import PythonLinker
from treadle.rewrite import RewriteDatabaseQuery, default_database

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from treadle.graph import Variable
    from treadle.rewrite import Report

EVERYTHING = RewriteDatabaseQuery(["fast_run"], exclude=["fusion", "inplace"])


def text(var: Variable) -> str:
    """Return an expression as text: names, numbers, and ops in lower case."""
    if isinstance(var, Constant):
        data = np.asarray(var.data)
        return str(data.tolist())
    if var.owner is None:
        return str(var)
    return f"{str(var.owner.op).lower()}({', '.join(text(x) for x in var.owner.inputs)})"


def rewrite(
    inputs: Sequence[Variable], outputs: Sequence[Variable], query: Any = EVERYTHING
) -> tuple[FunctionGraph, Report]:
    """Return a rewritten copy of a graph, and the report."""
    fgraph = FunctionGraph(list(inputs), list(outputs), clone=True)
    report = default_database().query(query).rewrite(fgraph)
    fgraph.check_integrity()
    return fgraph, report


def program(fgraph: FunctionGraph) -> Callable[[Sequence[Any]], list[Any]]:
    """Return the program that computes a graph's outputs on the Python VM from values of its inputs."""
    linked = PythonLinker().link(fgraph)
    return lambda values: [np.asarray(v) for v in linked(*values)]


def run(fgraph: FunctionGraph, values: Sequence[Any]) -> list[Any]:
    """Compute a graph's outputs on the Python VM."""
    return program(fgraph)(values)


def assert_same(before: Sequence[Any], after: Sequence[Any], rtol: float = 1e-12) -> None:
    """Check dtype, shape and values: a NaN equals a NaN; float32 is compared more loosely."""
    for old, new in zip(before, after, strict=True):
        assert old.dtype == new.dtype
        assert old.shape == new.shape
        if old.dtype.kind in "fc":
            near = max(rtol, 1e-5) if old.dtype == np.float32 else rtol
            np.testing.assert_allclose(new, old, rtol=near, atol=near, equal_nan=True)
        else:
            np.testing.assert_array_equal(new, old)
