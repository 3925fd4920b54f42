"""Documented modes, sets of rewrites and queries that no other test covers."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import (
    OPT_FAST_COMPILE,
    OPT_FAST_RUN,
    OPT_FAST_RUN_STABLE,
    OPT_MERGE,
    OPT_MINIMUM,
    OPT_NONE,
    OPT_O2,
    OPT_O3,
    OPT_STABILIZE,
    OPT_UNSAFE,
    Mode,
    MonitorMode,
    UnknownModeError,
    function,
    get_mode,
    predefined_linkers,
    predefined_optimizers,
)
from treadle.compile.debugmode import DebugMaker, DebugMode, DebugProgram
from treadle.compile.nanguardmode import NanGuardError, NanGuardMode
from treadle.config import config
from treadle.graph import FunctionGraph
from treadle.link.vm import VMProgram
from treadle.rewrite import GraphRewriter, RewriteDatabaseQuery, SequenceDB


class Noting(GraphRewriter):
    """Changes nothing, and records that it ran."""

    def __init__(self, name: str, ran: list[str]) -> None:
        self.name = name
        self.ran = ran

    def apply(self, fgraph: FunctionGraph) -> None:
        del fgraph
        self.ran.append(self.name)


def noting_database(ran: list[str], **tags: tuple[str, ...]) -> SequenceDB:
    database = SequenceDB()
    for position, (name, own) in enumerate(tags.items()):
        database.register(name, Noting(name, ran), *own, position=position)
    return database


def what_runs(mode: Mode) -> set[str]:
    x = tt.dvector("x")
    ran: list[str] = []
    kinds = ("cxx_only", "BlasOpt", "fusion", "inplace")
    database = noting_database(ran, plain=("fast_run",), **{f"is_{k}": ("fast_run", k) for k in kinds})
    mode.clone(db=database).optimizer.rewrite(FunctionGraph([x], [x + 1]))
    return {name.removeprefix("is_") for name in ran}


@pytest.mark.documents("M11", "M12", "M13")
@pytest.mark.parametrize(
    ("name", "takes"),
    [
        ("C", {"plain", "cxx_only", "BlasOpt", "fusion", "inplace"}),
        ("NUMBA", {"plain", "fusion", "inplace"}),
        ("JAX", {"plain"}),
        ("PYTORCH", {"plain"}),
    ],
)
def test_backends_take_the_rewrites_that_are_of_use_to_them(name: str, takes: set[str]) -> None:
    assert what_runs(get_mode(name)) == takes


BACKEND_OF = {
    "FAST_RUN": "link.c",
    "FAST_COMPILE": "link.vm",
    "C": "link.c",
    "CVM": "link.c",
    "VM": "link.vm",
    "NUMBA": "link.numba",
    "JAX": "link.jax",
    "PYTORCH": "link.torch",
    "ARRAY_API": "link.array_api",
}


@pytest.mark.documents(
    "mode:FAST_RUN",
    "mode:FAST_COMPILE",
    "mode:C",
    "mode:CVM",
    "mode:VM",
    "mode:NUMBA",
    "mode:JAX",
    "mode:PYTORCH",
    "mode:ARRAY_API",
    "M3",
    "M4",
    "M5",
    "M6",
)
@pytest.mark.parametrize("name", BACKEND_OF)
def test_named_mode_makes_one_program_of_the_graph_on_its_backend(name: str) -> None:
    x = tt.dvector("x")
    with config.change_flags(torch__compile=False):
        f = function([x], tt.exp(x).sum() * 2, mode=name)
        assert np.asarray(f([0.0, 0.0])) == 4.0
    assert type(f.program).__module__.startswith(f"treadle.{BACKEND_OF[name]}.")
    assert get_mode(name).query == (OPT_FAST_COMPILE if name == "FAST_COMPILE" else OPT_FAST_RUN)


@pytest.mark.documents(
    "linker:auto",
    "linker:py",
    "linker:vm",
    "linker:vm_nogc",
    "linker:c",
    "linker:c|py",
    "linker:c|py_nogc",
    "linker:cvm",
    "linker:cvm_nogc",
    "linker:numba",
    "linker:jax",
    "linker:pytorch",
    "linker:array_api",
)
def test_names_of_linkers_stand_for_those_of_their_backends() -> None:
    kinds: dict[str, tuple[str, ...]] = {
        "PerformLinker": ("py",),
        "VMLinker": ("vm", "vm_nogc"),
        "CLinker": ("c",),
        "StepwiseLinker": ("auto", "c|py", "c|py_nogc", "cvm", "cvm_nogc"),
        "NumbaLinker": ("numba",),
        "JAXLinker": ("jax",),
        "TorchLinker": ("pytorch",),
        "ArrayAPILinker": ("array_api",),
    }
    for kind, names in kinds.items():
        for name in names:
            for linker in (predefined_linkers[name], Mode(name).linker):
                assert type(linker).__name__ == kind
                assert linker.allow_gc is (False if name.endswith("_nogc") else None)
    assert {name for names in kinds.values() for name in names} == set(predefined_linkers)


@pytest.mark.documents("M14", "M15")
@pytest.mark.parametrize("name", ["FAST_COMPILE", "FAST_RUN"])
def test_named_modes_are_attributes_of_their_documented_module(name: str) -> None:
    mode = getattr(import_module("treadle.compile.mode"), name)
    assert isinstance(mode, Mode)
    assert get_mode(name) is mode
    x = tt.dscalar("x")
    assert function([x], x * 2, mode=mode)(2.0) == 4.0


@pytest.mark.documents("M2")
def test_fast_compile_rewrites_little_and_runs_in_python() -> None:
    x = tt.dvector("x")
    # Fusion would make one node of them, and exp(x) * exp(x) would become exp(2 x).
    out = tt.sin(tt.exp(x) + tt.cos(x)) * 2
    quick, whole = (function([x], out, mode=name) for name in ("FAST_COMPILE", "FAST_RUN"))
    assert type(quick.program) is VMProgram
    assert quick.maker.mode.query == OPT_FAST_COMPILE
    assert len(quick.maker.fgraph) > len(whole.maker.fgraph)
    with config.change_flags(linker="numba"):
        assert type(function([x], out, mode="FAST_COMPILE").program) is VMProgram


@pytest.mark.documents("M22")
def test_queries_choose_rewrites_by_tags_positions_and_parts_of_the_database() -> None:
    x = tt.dvector("x")
    ran: list[str] = []
    inner = noting_database(ran, low=("a",), high=("b",))
    database = noting_database(ran, first=("a", "c"), second=("a",), third=("b",))
    database.register("part", inner, "a", "b", position=10)
    extra = Noting("extra", ran)
    cases: list[tuple[RewriteDatabaseQuery, list[str]]] = [
        (RewriteDatabaseQuery(include=["a"]), ["first", "second", "low"]),
        (RewriteDatabaseQuery(include=["a", "b"], exclude=["c"]), ["second", "third", "low", "high"]),
        (RewriteDatabaseQuery(include=["a", "b"], require=["c"]), ["first"]),
        (RewriteDatabaseQuery(include=["a", "b"], position_cutoff=2), ["first", "second"]),
        (
            RewriteDatabaseQuery(include=["a"], subquery={"part": RewriteDatabaseQuery(include=["b"])}),
            ["first", "second", "high"],
        ),
        (RewriteDatabaseQuery(include=["c"], extra_rewrites=[(extra, -1)]), ["extra", "first"]),
        (RewriteDatabaseQuery(include=["second"]), ["second"]),
    ]
    for query, wanted in cases:
        ran.clear()
        # The rules that every mode has are not in a database of the user's.
        function([x], x + 1, mode=Mode("vm", query, db=database))
        assert ran == wanted, query


@pytest.mark.documents(
    "OPT_FAST_COMPILE",
    "OPT_FAST_RUN",
    "OPT_FAST_RUN_STABLE",
    "OPT_MERGE",
    "OPT_MINIMUM",
    "OPT_NONE",
    "OPT_O2",
    "OPT_O3",
    "OPT_STABILIZE",
    "OPT_UNSAFE",
    "optimizer:None",
    "optimizer:merge",
    "optimizer:minimum_compile",
    "optimizer:fast_compile",
    "optimizer:fast_run",
    "optimizer:fast_run_stable",
    "optimizer:stabilize",
    "optimizer:o1",
    "optimizer:o2",
    "optimizer:o3",
    "optimizer:o4",
    "optimizer:unsafe",
)
def test_constants_of_sets_of_rewrites_are_those_of_the_table_and_run_what_they_name() -> None:
    named = {
        "None": (OPT_NONE, set()),
        "minimum_compile": (OPT_MINIMUM, {"minimum"}),
        "merge": (OPT_MERGE, {"merge"}),
        "fast_compile": (OPT_FAST_COMPILE, {"merge", "fast_compile"}),
        "o2": (OPT_O2, {"merge", "fast_compile", "fusion"}),
        "fast_run": (OPT_FAST_RUN, {"merge", "stable", "late", "inplace"}),
        "o3": (OPT_O3, {"merge", "stable", "late"}),
        "unsafe": (OPT_UNSAFE, {"merge", "stable", "late", "unsafe"}),
        "fast_run_stable": (OPT_FAST_RUN_STABLE, {"stable"}),
        "stabilize": (OPT_STABILIZE, {"merge", "stable"}),
    }
    named |= {"o1": named["fast_compile"], "o4": named["fast_run"]}
    assert set(named) == set(predefined_optimizers)
    x = tt.dvector("x")
    for name, (query, wanted) in named.items():
        assert predefined_optimizers[name] == query
        ran: list[str] = []
        database = SequenceDB()
        for position, rule, tags in (
            (0, "merge_rule", ("merge", "fast_compile", "fast_run")),
            (0.1, "minimum_rule", ("minimum_compile",)),
            (1, "fast_compile_rule", ("fast_compile",)),
            (1.5, "stable_rule", ("stable", "fast_run")),
            (2, "late_rule", ("fast_run",)),
            (3, "fusion_rule", ("fusion",)),
            (4, "unsafe_rule", ("unsafe",)),
            (5, "inplace_rule", ("inplace", "fast_run")),
        ):
            database.register(rule, Noting(rule, ran), *tags, position=position)
        database.query(query).rewrite(FunctionGraph([x], [x + 1]))
        assert {rule.removesuffix("_rule") for rule in ran} == wanted, name


@pytest.mark.documents("DebugMode.name", "NanGuardMode.name", "MonitorMode.name", "Mode.name")
@pytest.mark.parametrize("kind", [Mode, DebugMode, NanGuardMode, MonitorMode])
def test_modes_are_named_in_messages_as_given(kind: type[Mode]) -> None:
    x = tt.dscalar("x")
    f = function([x], x + 1, mode=kind(linker="vm", name="mine"))
    assert str(f.maker.mode) == f.maker.mode.name == "mine"
    assert " on mine (vm)" in repr(f)
    assert kind(linker="vm").name == ("Mode(vm)" if kind is Mode else kind.__name__)


@pytest.mark.documents("MonitorMode.optimizer")
def test_hooks_see_the_graph_as_it_was_rewritten() -> None:
    x = tt.dscalar("x")
    counts: dict[Any, int] = {}
    for optimizer in ("None", "fast_run"):
        seen: list[int] = []
        mode = MonitorMode(post_func=lambda _g, i, *_, seen=seen: seen.append(i), optimizer=optimizer, linker="vm")
        assert function([x], tt.neg(tt.neg(x)) + x * 1, mode=mode)(1.0) == 2.0
        counts[optimizer] = len(seen)
    assert counts["fast_run"] < counts["None"]


@pytest.mark.documents("DebugMaker", "DebugProgram", "M7")
def test_debug_mode_makes_functions_of_a_kind_of_its_own() -> None:
    x = tt.dvector("x")
    mode = DebugMode(linker="vm", check_c_code=False, stability_patience=1)
    f = function([x], tt.exp(x), mode=mode)
    assert (mode.function_maker, type(f.maker), type(f.program)) == (DebugMaker, DebugMaker, DebugProgram)
    assert f([0.0]).tolist() == [1.0]


@pytest.mark.documents("M8", "F11")
def test_modes_are_given_by_name_or_as_objects_and_others_are_refused() -> None:
    x = tt.dscalar("x")
    for mode in ("NanGuardMode", "nanguardmode", NanGuardMode(linker="vm"), get_mode("NanGuardMode")):
        f = function([x], tt.log(x), mode=mode)
        assert f(1.0) == 0.0
        with pytest.raises(NanGuardError, match="NaN"):
            f(-1.0)
    with pytest.raises(UnknownModeError, match=r"no mode is called 'NanGuard'\. Did you mean NanGuardMode"):
        function([x], x, mode="NanGuard")
