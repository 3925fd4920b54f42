"""MonitorMode and detect_nan."""

from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import (
    FunctionTypeError,
    MonitorMode,
    function,
    shared,
)
from treadle.compile.monitormode import detect_nan
from treadle.graph import FunctionGraph


@pytest.mark.parametrize("linker", ["vm", "py", "c", "c|py", "numba", "jax", None])
@pytest.mark.documents("mode:MonitorMode", "MonitorMode.pre_func", "MonitorMode.post_func", "MonitorMode.linker")
def test_hooks_are_called_around_every_node(linker: str | None) -> None:
    seen: list[Any] = []

    def before(fgraph: FunctionGraph, i: int, node: Any, fn: Any) -> None:
        assert node in fgraph.apply_nodes
        seen.append(("before", i, [cell[0].shape for cell in fn.inputs], fn.outputs[0][0]))

    def after(fgraph: FunctionGraph, i: int, node: Any, fn: Any) -> None:
        assert node in fgraph.apply_nodes
        seen.append(("after", i, [cell[0].tolist() for cell in fn.outputs]))

    x = tt.dvector("x")
    mode = MonitorMode(before, after, linker=linker).excluding("fusion", "inplace")
    f = function([x], tt.exp(x) + x, mode=mode)
    assert f([0.0]).tolist() == [1.0]
    assert [event[:2] for event in seen] == [(when, i) for i in range(len(f.fgraph)) for when in ("before", "after")]
    assert seen[0] == ("before", 0, [(1,)], None)
    assert seen[1] == ("after", 0, [[1.0]])


def test_hook_may_replace_values() -> None:
    def double(_fgraph: Any, _i: int, _node: Any, fn: Any) -> None:
        for cell in fn.outputs:
            cell[0] = cell[0] * 2

    x = tt.dscalar("x")
    assert float(function([x], x + 1, mode=MonitorMode(post_func=double, linker="vm", optimizer=None))(1.0)) == 4.0
    with pytest.raises(FunctionTypeError, match="MonitorMode: pre_func must be a function"):
        MonitorMode(3)  # type: ignore[arg-type]


@pytest.mark.documents("detect_nan")
def test_detect_nan_prints_the_node_that_makes_one(capsys: pytest.CaptureFixture[str]) -> None:
    x = tt.dvector("x")
    mode = MonitorMode(post_func=detect_nan).excluding("fusion", "inplace")
    f = function([x], [tt.log(x) * x], mode=mode)
    f([1.0])
    assert capsys.readouterr().out == ""
    f([-1.0])
    printed = capsys.readouterr().out
    assert printed.startswith("*** NaN detected ***\n")
    assert "Inputs : [array([-1.])]" in printed
    assert "Outputs: [array([nan])]" in printed


def test_failing_hook_fails_the_call_and_changes_no_state() -> None:
    def refuse(*_: Any) -> None:
        msg = "no"
        raise ValueError(msg)

    x, state = tt.dscalar("x"), shared(np.array(1.0))
    f = function([x], x + 1, updates={state: state * 2}, mode=MonitorMode(refuse, linker="vm"))
    with pytest.raises(ValueError, match="no"):
        f(1.0)
    assert float(state.get_value()) == 1.0
