"""Functions with ops around plain Python functions are kept in the compile cache if others can find those."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import function
from treadle.compile.stored.programs import FUNCTIONS, LOOKUPS

OFFSET = 1.0


def shifted(x: Any) -> Any:
    return np.sin(x) + OFFSET


def slope(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    del outputs
    return [cotangents[0] * tt.cos(inputs[0])]


@tt.wrap_py([tt.dvector], [tt.dvector])
def decorated(x: Any) -> Any:
    return x * OFFSET + 2.0


def wrapped(call: Any, **options: Any) -> Any:
    return tt.wrap_py([tt.dvector], [tt.dvector], **options)(call)


def outcome(op: Any, *, by_gradient: bool = False, mode: str = "VM") -> tuple[str, list[float]]:
    """Return the outcome of the look-up of a new function, as a new process would see it, and its value at 0.5."""
    FUNCTIONS.forget()
    x = tt.dvector("x")
    y = tt.grad(op(x).sum(), x) if by_gradient else op(x) * 2.0
    values = function([x], y, mode=mode)([0.5]).tolist()
    return LOOKUPS.last()["outcome"], values


@pytest.mark.parametrize("mode", ["VM", "CVM"])
def test_functions_of_a_module_are_found_again(mode: str) -> None:
    for make in (
        lambda: wrapped(shifted),
        lambda: wrapped(np.sin),
        lambda: decorated,
        lambda: tt.as_op([tt.dvector], [tt.dvector])(shifted),
    ):
        first = outcome(make(), mode=mode)
        second = outcome(make(), mode=mode)
        assert first[0] in {"made", "hit"}
        assert second == ("hit", first[1])
    graded = [outcome(wrapped(shifted, pullback=slope), by_gradient=True, mode=mode) for _ in range(2)]
    assert graded[1][0] == "hit"
    assert graded[1][1] == pytest.approx([np.cos(0.5)])


def test_what_a_function_reads_of_its_module_is_part_of_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    for op in wrapped(shifted), decorated:
        before = outcome(op)
        monkeypatch.setitem(globals(), "OFFSET", 3.0)
        after = outcome(op)
        assert after[0] == "made"
        assert after[1] != before[1]
        monkeypatch.undo()
        assert outcome(op) == ("hit", before[1])


def test_types_and_gradients_tell_functions_apart() -> None:
    plain = wrapped(shifted)
    outcome(plain)
    assert outcome(wrapped(shifted, pullback=slope))[0] != "hit"
    one = tt.wrap_py([tt.dvector], [tt.tensor(dtype="float64", shape=(1,)).type])(shifted)
    assert outcome(one)[0] != "hit"


def test_functions_that_others_cannot_find_say_so() -> None:
    factor = 2.0

    def local(x: Any) -> Any:
        return x * factor

    for function_of_here in local, lambda x: x:
        assert outcome(wrapped(function_of_here))[0] == "not kept"
        assert "module level" in LOOKUPS.last()["reason"]
