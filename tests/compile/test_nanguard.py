"""NanGuardMode: which values it checks, what it refuses, and what it does then."""

import pdb
import pickle
from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import FunctionValueError, function, shared
from treadle.compile.nanguardmode import NanGuardError, NanGuardMode, NanGuardWarning
from treadle.config import config
from treadle.graph import IfElse


def guarded(*args: Any, mode: Any = None, **options: Any) -> Any:
    options["mode"] = NanGuardMode(linker="vm") if mode is None else mode
    return function(*args, **options)


@pytest.mark.documents("mode:NanGuardMode", "NanGuardMode.linker", "M8")
@pytest.mark.parametrize("backend", ["vm", "c", "cvm", "numba", "jax", "pytorch"])
def test_intermediate_values_are_looked_at_on_every_backend(backend: str) -> None:
    if backend in {"numba", "jax", "pytorch"}:
        pytest.importorskip({"pytorch": "torch"}.get(backend, backend))
    x = tt.dvector("x")
    # The NaN is gone again in the output.
    f = guarded([x], tt.switch(x > 0, tt.log(x), 0.0) + 1, mode=NanGuardMode(linker=backend))
    np.testing.assert_allclose(f([1.0, np.e]), [1.0, 2.0])
    with pytest.raises(NanGuardError, match=r"NaN in output 0 of [Ll]og") as caught:
        f([1.0, -1.0])
    for part in ("test_nanguard.py", "x of type", "Graph from the output"):
        assert part in str(caught.value)


@pytest.mark.documents("NanGuardMode.nan_is_error", "NanGuardMode.inf_is_error", "NanGuardMode.big_is_error")
@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        (np.nan, "nan", "NaN"),
        (np.inf, "inf", "an infinity"),
        (-np.inf, "inf", "an infinity"),
        (-2e10, "big", "1e[+]10"),
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
def test_each_kind_of_value_is_checked_unless_told_otherwise(value: float, kind: str, text: str, dtype: str) -> None:
    x = tt.vector("x", dtype=dtype)
    values = np.array([1.0, value], dtype)
    with pytest.raises(NanGuardError, match=f"{text}.* in the input x"):
        guarded([x], x * 1)(values)
    alone: Any = {f"{name}_is_error": name == kind for name in ("nan", "inf", "big")}
    with pytest.raises(NanGuardError, match=text):
        guarded([x], x * 1, mode=NanGuardMode(linker="vm", **alone))(values)
    others: Any = {f"{name}_is_error": name != kind for name in ("nan", "inf", "big")}
    free = NanGuardMode(linker="vm", optimizer=None, **others)
    np.testing.assert_array_equal(guarded([x], -x, mode=free)(values), -values)


@pytest.mark.documents("option:NanGuardMode__nan_is_error", "option:NanGuardMode__inf_is_error")
@pytest.mark.documents("option:NanGuardMode__big_is_error")
def test_options_decide_what_is_not_given() -> None:
    with config.change_flags(NanGuardMode__nan_is_error=False, NanGuardMode__big_is_error=False):
        mode = NanGuardMode(linker="vm")
    assert (mode.nan_is_error, mode.inf_is_error, mode.big_is_error) == (False, True, False)
    with config.change_flags(NanGuardMode__inf_is_error=False):
        assert NanGuardMode(inf_is_error=True).inf_is_error


def test_integers_count_if_they_are_big() -> None:
    n, small, flag = tt.lvector("n"), tt.ivector("small"), tt.scalar("flag", dtype="bool")
    f = guarded([n, small, flag], [n + 1, small + 1, ~flag])
    assert f([1, 2], [2**31 - 2], True)[0].tolist() == [2, 3]
    with pytest.raises(NanGuardError, match="beyond"):
        f([-(2**40)], [0], True)


def test_empty_arrays_pass() -> None:
    x = tt.dvector("x")
    assert guarded([x], x * 2)(np.zeros(0)).shape == (0,)


def test_shared_variables_and_updates_are_looked_at_and_state_is_kept() -> None:
    x = tt.dscalar("x")
    total = shared(np.float64(1.0), "total")
    f = guarded([x], [], updates={total: total / x})
    with pytest.raises(NanGuardError, match=r"an infinity in output 0 of "):
        f(0.0)
    assert total.get_value() == 1.0
    f(2.0)
    assert total.get_value() == 0.5
    total.set_value(np.nan)
    with pytest.raises(NanGuardError, match="NaN in the shared variable total"):
        f(1.0)


def test_constants_are_not_looked_at() -> None:
    x = tt.dvector("x")
    f = guarded([x], tt.minimum(x, tt.constant(np.array(np.inf))), mode=NanGuardMode(linker="vm", optimizer=None))
    assert f([1.0]).tolist() == [1.0]


def test_variables_can_be_left_out_by_a_tag() -> None:
    x = tt.dvector("x")
    y = tt.log(x)
    y.tag.nan_guard_mode_check = False
    f = guarded([x], tt.switch(x > 0, y, 0.0), mode=NanGuardMode(linker="vm", optimizer=None))
    assert f([-1.0]).tolist() == [0.0]
    z = tt.dvector("z")
    z.tag.nan_guard_mode_check = False
    assert guarded([z], tt.isnan(z))([np.nan]).tolist() == [True]


def test_input_that_the_node_overwrote_is_not_shown_as_given() -> None:
    x = tt.dvector("x")
    f = guarded([x], tt.log(x.sum(axis=0, keepdims=True) - 5), mode=NanGuardMode(linker="vm"))
    with pytest.raises(NanGuardError, match=r"output 0 of Log\{0->0\}(?s:.*)0: .*: overwritten by the node\n"):
        f([1.0, 2.0])


def test_only_the_branch_taken_is_looked_at() -> None:
    c, x = tt.scalar("c", dtype="int8"), tt.dvector("x")
    f = guarded([c, x], IfElse(1)(c, x + 1, tt.log(x)))
    assert f(1, [-1.0]).tolist() == [0.0]
    with pytest.raises(NanGuardError, match=r"[Ll]og"):
        f(0, [-1.0])


@pytest.mark.documents("NanGuardMode.optimizer")
def test_fusion_hides_no_value_unless_it_is_asked_for() -> None:
    x = tt.dvector("x")
    y = tt.switch(x > 0, tt.log(x), 0.0) * 2 + 1
    with pytest.raises(NanGuardError):
        guarded([x], y, mode=NanGuardMode(linker="cvm"))([-1.0])
    fused = guarded([x], y, mode=NanGuardMode(linker="cvm").including("fusion"))
    assert fused([-1.0]).tolist() == [1.0]


@pytest.mark.documents("option:NanGuardMode__action", "error:NanGuardWarning")
def test_action_warn_goes_on() -> None:
    x = tt.dvector("x")
    with config.change_flags(NanGuardMode__action="warn"):
        f = guarded([x], tt.log(x))
    with pytest.warns(NanGuardWarning, match="NaN in output 0"):
        assert np.isnan(f([-1.0])[0])


def test_action_pdb_starts_the_debugger(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    started: list[int] = []
    monkeypatch.setattr(pdb, "set_trace", lambda: started.append(1))
    x = tt.dvector("x")
    with config.change_flags(NanGuardMode__action="pdb"):
        f = guarded([x], tt.log(x))
    f([-1.0])
    assert started == [1]
    assert "NaN in output 0" in capsys.readouterr().out


def test_parameters_are_kept_when_tags_are_added_or_the_mode_travels() -> None:
    mode = NanGuardMode(nan_is_error=True, inf_is_error=False, big_is_error=False, linker="vm")
    derived: Any
    for derived in (mode.including("inplace"), mode.excluding("fusion"), pickle.loads(pickle.dumps(mode))):
        assert (derived.nan_is_error, derived.inf_is_error, derived.big_is_error) == (True, False, False)
    x = tt.dvector("x")
    f = pickle.loads(pickle.dumps(guarded([x], 1 / x, mode=mode.excluding("fusion"))))
    assert f([0.0]).tolist() == [np.inf]
    with pytest.raises(NanGuardError):
        f([np.nan])


def test_mode_that_checks_nothing_is_refused() -> None:
    with pytest.raises(FunctionValueError, match="nothing is looked for"):
        NanGuardMode(nan_is_error=False, inf_is_error=False, big_is_error=False)


@pytest.mark.documents("error:NanGuardError")
def test_error_is_an_assertion_error_as_documented() -> None:
    assert issubclass(NanGuardError, AssertionError)
