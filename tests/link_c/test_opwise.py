"""OpWiseCLinker: one node at a time, in C or in Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from tests.graph.arithmetic import inverse, number
from treadle.compile import Mode, function
from treadle.graph import FunctionGraph, LoweringError
from treadle.link.c import CLinker, OpWiseCLinker
from treadle.link.vm import VMProgram
from treadle.surface.thunks import WrapLinker


@pytest.mark.documents("OpWiseCLinker")
def test_each_node_is_a_program_of_its_own() -> None:
    x = tt.dvector("x")
    f = function([x], tt.exp(x) * 2 + tt.sum(x), mode=Mode(OpWiseCLinker()).excluding("fusion"))
    assert isinstance(f.program, VMProgram)
    np.testing.assert_allclose(f([0.0, 1.0]), [3.0, 2 * np.e + 1])


@pytest.mark.documents("OpWiseCLinker.fallback_on_perform", "error:LoweringError", "P14")
def test_nodes_without_a_rule_run_in_python_unless_that_is_forbidden() -> None:
    x = number("x")
    fgraph = FunctionGraph([x], [inverse(x)])
    assert list(OpWiseCLinker().link(fgraph)(4.0)) == [0.25]
    with pytest.raises(LoweringError, match="c: no lowering for"):
        OpWiseCLinker(fallback_on_perform=False).link(fgraph)


def test_thunks_of_c_and_of_python_run_side_by_side() -> None:
    seen: list[tuple[float, float]] = []

    def compare(_fgraph: Any, _i: int, _node: Any, mine: Any, theirs: Any) -> None:
        mine()
        theirs()
        seen.append((float(mine.outputs[0][0]), float(theirs.outputs[0][0])))

    x = tt.dscalar("x")
    f = function([x], tt.exp(x) - 1.0, mode=Mode(WrapLinker([OpWiseCLinker(), OpWiseCLinker()], compare), None))
    assert float(f(0.0)) == 0.0
    assert seen
    assert all(a == b for a, b in seen)


def test_linker_of_whole_graphs_has_its_documented_name() -> None:
    x = tt.dscalar("x")
    assert float(function([x], x * 2, mode=Mode(CLinker()))(2.0)) == 4.0
