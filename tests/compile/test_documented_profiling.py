"""Documented parameters and members of profiles that no other test covers."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest

import treadle.tensor as tt
from treadle.compile import Mode, ProfileStats, function
from treadle.config import config
from treadle.graph import Apply, Op, Variable

PROGRAM = """
import treadle.tensor as tt
from treadle.compile import ProfileStats, function
from treadle.compile.profiling import print_global_stats
from treadle.config import config
x = tt.dvector("x")
for name, counts in (("first", True), ("second", True), ("apart", False)):
    function([x], tt.exp(x), mode="VM", profile=ProfileStats(message=name, show_sum=counts))([1.0])
with config.change_flags(profiling__destination="stdout"):
    print_global_stats()
"""


@pytest.mark.documents("ProfileStats.show_sum", "print_global_stats")
def test_profile_may_stand_apart_from_the_sum_at_exit_and_counts_among_all_functions() -> None:
    environment = {**os.environ, "TREADLE_FLAGS": "profile=False"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, env=environment, timeout=120
    )
    assert [f"Message: {name}\n" in done.stderr for name in ("first", "second", "apart")] == [True] * 3
    assert "Sum of the 2 profiles printed at exit" in done.stderr
    assert done.stdout.startswith("Global stats: 3 functions, 3 calls\n")
    assert "Global stats" not in done.stderr


@pytest.mark.documents("ProfileStats.whole_calls_only", "ProfileStats.flag_time_thunks")
def test_profile_of_whole_calls_times_no_nodes_unless_it_is_told_to() -> None:
    x = tt.dvector("x")
    for whole, thunks, timed in ((False, None, 1), (True, None, 0), (True, True, 1), (False, False, 0)):
        stats = ProfileStats(atexit_print=False, whole_calls_only=whole, flag_time_thunks=thunks)
        function([x], tt.exp(x), mode="VM", profile=stats)([1.0])
        assert (stats.fct_callcount, len(stats.apply_callcount)) == (1, timed)


class OnlyInPython(Op):
    """An op that C has no rule for."""

    __props__ = ()

    def make_node(self, x: Variable) -> Apply:
        return Apply(self, [x], [x.type()])

    def perform(self, node: Apply, inputs: Any, output_storage: Any) -> None:
        output_storage[0][0] = inputs[0] + 1


@pytest.mark.documents("ProfileStats.apply_cimpl")
def test_profile_tells_compiled_nodes_from_steps_in_python() -> None:
    x = tt.dvector("x")
    stats = ProfileStats(atexit_print=False, flag_time_thunks=True)
    function([x], OnlyInPython()(tt.exp(x)), mode=Mode("c|py"), profile=stats)([1.0])
    compiled_by_op = {str(node.op): compiled for node, compiled in stats.apply_cimpl.items()}
    assert compiled_by_op.pop("OnlyInPython") is False
    assert set(compiled_by_op.values()) == {True}


@pytest.mark.documents("ProfileStats.import_time", "ProfileStats.validate_time")
def test_parts_of_the_compilation_are_within_the_whole() -> None:
    x = tt.dvector("x")
    stats = ProfileStats(atexit_print=False)
    # A function out of the compile cache is not rewritten.
    with config.change_flags(cache__functions=False):
        function([x], tt.exp(x) + tt.sin(x), mode=Mode("c|py"), profile=stats)
    assert 0 < stats.validate_time <= stats.rewriter_time < stats.compile_time
    assert 0 < stats.import_time <= stats.linker_time
