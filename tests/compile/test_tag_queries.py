"""Tags in queries have the effect that their documented names promise, or are reported to have none."""

from __future__ import annotations

import random
import warnings
from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import FunctionWarning, function, get_mode
from treadle.compile.mode import Mode
from treadle.rewrite import DOCUMENTED_TAGS, optdb


def overwriting(*excluded: str) -> set[str]:
    """Return the classes of ops that work in place in a graph where both kinds can."""
    x, i = tt.dmatrix("x"), tt.lscalar("i")
    mode = Mode("vm", "fast_run").excluding(*excluded)
    f = function([x, i], tt.log((tt.exp(x) @ x)[i].set(1.0)) * 2, mode=mode)
    wanted = np.exp(np.eye(3))
    wanted[0] = 1.0
    np.testing.assert_allclose(f(np.eye(3), 0), 2 * np.log(wanted))
    return {type(node.op).__name__ for node in f.maker.fgraph.apply_nodes if node.op.destroy_map}


@pytest.mark.parametrize("tag", ["inplace_elemwise", "inplace_elemwise_opt", "inplace_elemwise_optimizer"])
def test_documented_names_keep_elementwise_nodes_from_working_in_place(tag: str) -> None:
    assert "Elemwise" in overwriting()
    assert overwriting(tag) == overwriting() - {"Elemwise"}


@pytest.mark.parametrize("tag", ["local_inplace_setsubtensor", "local_inplace_AdvancedIncSubtensor"])
def test_documented_names_keep_writes_from_working_in_place(tag: str) -> None:
    assert overwriting() - {"Elemwise"} != set()
    assert overwriting(tag) == {"Elemwise"}


@pytest.mark.parametrize("tag", ["inplace", "add_destroy_handler"])
def test_all_work_in_place_can_be_left_out(tag: str) -> None:
    assert overwriting(tag) == set()


def test_tag_that_the_linker_keeps_out_is_said_to_have_no_effect() -> None:
    with pytest.warns(FunctionWarning, match="VM: including 'fusion' has no effect, as linker vm excludes it"):
        get_mode("VM").including("fusion")
    with pytest.warns(FunctionWarning, match="including 'inplace' has no effect, as the mode excludes it"):
        Mode("vm", "o3").including("inplace")


# Random queries of documented tags and of names of rules.


def _selected(mode: Mode) -> set[Any]:
    return set(optdb.select(mode.query))


def _kept(excluded: list[str]) -> set[Any]:
    """Return what is registered without any of the tags: a rule of two phases carries in each the tag of that one."""
    return {entry.member for _, entry in optdb.walk() if not entry.tags.intersection(excluded)}


@pytest.mark.parametrize("seed", range(150))
def test_random_query_selects_what_its_tags_say(seed: int) -> None:
    rng = random.Random(seed)
    known = sorted(optdb.own_tags | DOCUMENTED_TAGS)
    excluded = rng.sample(known, k=rng.randrange(4))
    included = rng.sample(known, k=rng.randrange(3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FunctionWarning)
        mode = Mode("vm", "fast_run").including(*included).excluding(*excluded)
        whole = _selected(Mode("vm", "fast_run").including(*[t for t in included if t not in mode.query.exclude]))
    chosen = _selected(mode)
    assert chosen <= whole
    assert chosen <= _kept(excluded), excluded


def test_rule_of_two_phases_runs_in_the_one_that_is_not_excluded() -> None:
    phases = ("canonicalize", "specialize")
    rule = optdb["canonicalize"]["useless_reduction"]
    assert optdb["specialize"]["useless_reduction"] is rule
    for phase in phases:
        assert rule in _selected(Mode("vm", "fast_run").excluding(phase))
    assert rule not in _selected(Mode("vm", "fast_run").excluding(*phases))


@pytest.mark.parametrize("excluded", [(), ("symbolic_op_recognition",)])
def test_documented_name_keeps_formulas_from_being_recognized(excluded: tuple[str, ...]) -> None:
    x, y = tt.dvector("x"), tt.dscalar("y")
    formulas = [tt.log(tt.sum(tt.exp(x))), tt.exp(x) / tt.sum(tt.exp(x)), tt.log(tt.exp(y) + tt.exp(2 * y))]
    f = function([x, y], formulas, mode=Mode("vm", "fast_run").excluding(*excluded))
    shown = " ".join(str(node.op) for node in f.maker.fgraph.apply_nodes)
    recognized = [name for name in ("LogSumExp", "Softmax", "LogAddExp") if name.lower() in shown.lower()]
    assert recognized == ([] if excluded else ["LogSumExp", "Softmax", "LogAddExp"])
