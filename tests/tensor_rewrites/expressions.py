"""What cases of rules are written with: the case, and the variables of its expression."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import treadle.tensor as tt


@dataclass(frozen=True)
class Case:
    """What rule, on which expression of the variables below, gives what text.

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
