"""What cases of rules are written with: the case, the variables of its expression, and the rewritten forms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

import treadle.tensor as tt
from tests.tensor_rewrites.graphs import program, rewrite
from treadle.graph import FunctionGraph, explicit_graph_inputs

if TYPE_CHECKING:
    from treadle.rewrite import Report


@dataclass(frozen=True)
class Case:
    """A rule, an expression of the variables below, and the text of the result.

    `exact`: both sides agree everywhere. Otherwise they agree where the expression as written is computed well, and
    where an operand is NaN, unless `keeps_nan` is False: then they agree where the expression as written is finite.
    """

    rule: str
    build: Callable[[Any], Any]
    expected: str
    exact: bool = True
    keeps_nan: bool = True
    rtol: float = 1e-12


class Variables:
    """Inputs by name; the reals may be of another dtype, and so may the vector of integers."""

    def __init__(self, real: str = "float64", whole: str = "int64") -> None:
        self.x, self.y = (tt.tensor(name, dtype=real, shape=(None,)) for name in "xy")
        self.m, self.k = (tt.tensor(name, dtype=real, shape=(None, None)) for name in "mk")
        self.s = tt.tensor("s", dtype=real, shape=())
        self.i = tt.tensor("i", dtype=whole, shape=(None,))
        self.n = tt.lscalar("n")
        self.f = tt.fvector("f")
        self.b = tt.tensor("b", dtype="bool", shape=(None,))
        self.short = tt.tensor("short", dtype="int16", shape=(None,))
        self.three = tt.tensor("three", dtype=real, shape=(3,))
        self.row = tt.tensor("row", dtype="float64", shape=(1, None))
        self.grid = tt.tensor("grid", dtype="float64", shape=(6,))
        self.thin = tt.tensor("thin", dtype="float64", shape=(50, 2))
        self.cube = tt.dtensor3("cube")
        self.idx = tt.lvector("idx")

    def all(self) -> list[Any]:
        """Return the inputs in order of their names."""
        return [getattr(self, name) for name in sorted(vars(self))]


class Rewritten:
    """An expression as written and as rewritten: both graphs, and the report of the rules.

    Parameters
    ----------
    expression
        What is rewritten, by all rules but fusion.
    """

    def __init__(self, expression: Any) -> None:
        self.expression = expression
        self.inputs: list[Any] = list(explicit_graph_inputs([expression]))
        self.plain = FunctionGraph(self.inputs, [expression], clone=True)
        self.report: Report
        self.fgraph, self.report = rewrite(self.inputs, [expression])

    @cached_property
    def before(self) -> Callable[..., list[Any]]:
        """The program of the expression as written."""
        return program(self.plain)

    @cached_property
    def after(self) -> Callable[..., list[Any]]:
        """The program of the expression as rewritten."""
        return program(self.fgraph)


@cache
def rewritten(case: Case) -> Rewritten:
    """Return both forms of a case: each is rewritten once, whichever tests use it."""
    return Rewritten(case.build(Variables()))
