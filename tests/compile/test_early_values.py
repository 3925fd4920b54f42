"""Values that the user's code computes while a program is made: the key depends on all that the code reads then."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from tests.compile import reading, redefined
from treadle.compile import OpFromGraph, function
from treadle.compile.stored.programs import FUNCTIONS, LOOKUPS
from treadle.config import config
from treadle.graph import Apply, Op
from treadle.link.vm import TABLE


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A compile directory of the test's own."""
    monkeypatch.setenv("TREADLE_TEST_VALUE", "0")
    monkeypatch.setattr(redefined, "FACTOR", redefined.FACTOR)
    with config.change_flags(base_compiledir=str(tmp_path)):
        yield tmp_path
    FUNCTIONS.forget()


def values(op: Any, wanted: str, folder: Path, mode: str) -> list[float]:
    """Return the results of functions made one after the other, each as if in a new process."""
    numbers = []
    for value in (2.0, 3.0, 3.0):
        reading.set_all(value, folder)
        FUNCTIONS.forget()
        x = tt.dvector("x")
        outputs = {"folded": x[:1] * op()(tt.constant(np.ones(1))), "run": op()(x)[:1], "shape": op()(x).shape[:1]}
        numbers.append(float(function([x], outputs[wanted], mode=mode)(np.ones(5))[0]))
    return numbers


@pytest.mark.parametrize("wanted", ["folded", "run", "shape"])
@pytest.mark.parametrize("kind", reading.KINDS)
def test_program_holds_nothing_that_an_earlier_process_read(folder: Path, kind: str, wanted: str) -> None:
    assert values(reading.KINDS[kind], wanted, folder, "VM") == [2.0, 3.0, 3.0]


@pytest.mark.parametrize("mode", ["CVM", "JAX"])
def test_backends_hold_nothing_that_an_earlier_process_read(folder: Path, mode: str) -> None:
    assert values(reading.FromDict, "folded", folder, mode) == [2.0, 3.0, 3.0]


def test_op_inside_an_inner_graph_is_seen(folder: Path) -> None:
    def inner() -> Any:
        a = tt.dvector()
        return OpFromGraph([a], [reading.FromDict()(a) + 0.0])

    assert values(inner, "folded", folder, "VM") == [2.0, 3.0, 3.0]


def test_what_a_length_reads_is_part_of_the_key(folder: Path) -> None:
    x = tt.dvector("x")
    loaded = FUNCTIONS.counts.loaded
    for count in range(2):
        reading.set_all(2.0, folder)
        FUNCTIONS.forget()
        function([x], reading.FromDict()(x).shape, mode="VM")
        assert FUNCTIONS.counts.loaded == loaded + count


@pytest.mark.usefixtures("folder")
def test_function_with_a_folded_op_of_the_users_is_not_kept() -> None:
    x = tt.dvector("x")
    function([x], x[:1] + reading.FromPlain()(tt.constant(np.ones(1))), mode="VM")
    assert (LOOKUPS.last()["outcome"], "FromPlain" in LOOKUPS.last()["reason"]) == ("not kept", True)


@pytest.mark.usefixtures("folder")
def test_function_whose_folded_ops_are_treadles_is_kept() -> None:
    x = tt.dvector("x")
    f = function([x], x + tt.exp(tt.constant(np.ones(1))), mode="VM")
    assert [str(node.op) for node in f.maker.fgraph.apply_nodes] == ["Add"]
    assert LOOKUPS.last()["outcome"] == "made"


class Slotted(Op):
    """Has a slot."""

    __props__ = ()
    __slots__ = ("factor",)

    def __init__(self, factor: float) -> None:
        self.factor = factor

    def make_node(self, x: Any) -> Apply:
        return Apply(self, [x], [x.type()])

    def perform(self, node: Apply, inputs: Any, outputs: Any) -> None:
        outputs[0][0] = inputs[0] * self.factor


@pytest.mark.usefixtures("folder")
def test_op_with_slots_keeps_them_in_the_cache() -> None:
    x = tt.dvector("x")
    loaded = FUNCTIONS.counts.loaded
    for _ in range(2):
        FUNCTIONS.forget()
        assert function([x], Slotted(4.0)(x), mode="VM")([1.0]) == [4.0]
    assert FUNCTIONS.counts.loaded == loaded + 1


@pytest.mark.usefixtures("folder")
def test_op_of_a_namespace_without_a_name_is_used_and_not_kept() -> None:
    space: dict[str, Any] = {"Apply": Apply, "Op": Op}
    exec(
        "class Triple(Op):\n"
        "    __props__ = ()\n"
        "    def make_node(self, x): return Apply(self, [x], [x.type()])\n"
        "    def perform(self, node, inputs, outputs): outputs[0][0] = 3 * inputs[0]\n",
        space,
    )
    x = tt.dvector("x")
    unkept = FUNCTIONS.counts.unkept
    assert function([x], space["Triple"]()(x), mode="VM")([1.0]) == [3.0]
    assert FUNCTIONS.counts.unkept == unkept + 1


@pytest.mark.usefixtures("folder")
def test_lowering_without_a_module_affects_no_other_function() -> None:
    space: dict[str, Any] = {"Op": Op, "TABLE": TABLE}
    exec("class Own(Op):\n    def perform(self, *arguments): pass\nTABLE.register(Own)(lambda op, node: None)", space)
    x = tt.dvector("x")
    assert function([x], x + 5, mode="VM")([1.0]) == [6.0]
    assert LOOKUPS.last()["outcome"] == "made"


@pytest.mark.usefixtures("folder")
def test_reason_why_a_function_is_not_kept_shows_no_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_SECRET", "sesame")
    x = tt.dvector("x")
    function([x], reading.FromEnvironment()(x).shape, mode="VM")
    assert "not kept" in LOOKUPS.last()["outcome"]
    assert "sesame" not in str(LOOKUPS.last())
