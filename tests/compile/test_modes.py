"""Modes and backends, by name and by entry point."""

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import (
    BACKENDS,
    CVM,
    FAST_COMPILE,
    FAST_RUN,
    JAX,
    NUMBA,
    PYTORCH,
    VM,
    AddDestroyHandler,
    AddFeatureOptimizer,
    C,
    FunctionMaker,
    FunctionTypeError,
    MissingBackendError,
    Mode,
    MonitorMode,
    PrintCurrentFunctionGraph,
    ReadOnlyModeError,
    UnknownModeError,
    UnknownNameError,
    function,
    get_default_mode,
    get_mode,
    predefined_linkers,
    predefined_modes,
    predefined_optimizers,
    register_linker,
    register_mode,
    register_optimizer,
)
from treadle.compile.monitormode import detect_nan
from treadle.config import config
from treadle.graph import DestroyHandler, FunctionGraph, History
from treadle.rewrite import GraphRewriter, RewriteDatabaseQuery, SequenceDB
from treadle.surface.thunks import PerformLinker, VMLinker


@pytest.mark.parametrize("name", ["VM", "vm", "Vm", "FAST_COMPILE", "fast_compile", "Fast_Compile"])
def test_names_of_modes_are_read_in_any_case(name: str) -> None:
    assert get_mode(name).name == name.upper()


def test_mode_objects_are_modes() -> None:
    mode = Mode("vm", None)
    assert get_mode(mode) is mode
    assert get_mode(FAST_RUN) is FAST_RUN
    assert get_mode("fast_run") == FAST_RUN


@pytest.mark.documents("get_mode", "get_default_mode", "option:mode", "option:linker", "option:optimizer", "M10")
def test_default_mode_is_built_from_the_options() -> None:
    with config.change_flags(mode="Mode", linker="py", optimizer="fast_compile"):
        mode = get_default_mode()
        assert (mode.backend.name, mode.query) == ("vm", predefined_optimizers["fast_compile"])
    with config.change_flags(mode="fast_compile"):
        assert get_mode() == FAST_COMPILE
    with config.change_flags(linker="vm", optimizer="None"):
        assert (Mode().provided_linker, Mode().query) == ("vm", RewriteDatabaseQuery())


@pytest.mark.documents("BACKENDS")
def test_every_installed_backend_has_a_mode() -> None:
    assert {name.upper() for name in BACKENDS.names()} <= set(predefined_modes)


@pytest.mark.documents("error:UnknownModeError", "predefined_modes")
def test_unknown_mode_is_an_error_with_the_nearest_names_and_what_to_install() -> None:
    with pytest.raises(UnknownModeError) as caught:
        get_mode("fast_rum")
    message = str(caught.value)
    assert message.startswith("mode: no mode is called 'fast_rum'. Did you mean FAST_RUN")
    assert "pip install --find-links DIR 'compile[c]'" in message
    assert isinstance(caught.value, ValueError)


def test_mode_must_be_a_mode_or_a_name() -> None:
    with pytest.raises(FunctionTypeError, match="a Mode or the name of one is needed, got 3"):
        get_mode(3)


@pytest.mark.documents("error:MissingBackendError")
def test_unknown_linker_is_an_error_when_it_is_needed() -> None:
    with pytest.raises(MissingBackendError, match=r"mode 'numbr': no installed backend has this name\."):
        _ = Mode("numbr").backend


def test_unknown_set_of_rewrites_is_refused() -> None:
    with pytest.raises(FunctionTypeError, match=r"the optimizer must be .* one of None, .*, got 'fastest'"):
        Mode("vm", "fastest")


@pytest.mark.documents(
    "Mode.including", "Mode.excluding", "Mode.requiring", "Mode.query", "Mode.name", "M19", "M20", "M21"
)
def test_tags_can_be_included_excluded_and_required() -> None:
    mode = Mode("vm", RewriteDatabaseQuery(include=("a",)), name="MINE")
    changed = mode.including("b", "c").excluding("d").requiring("e")
    assert changed.query == RewriteDatabaseQuery(("a", "b", "c"), ("e",), ("d",))
    assert (changed.provided_linker, changed.name, str(changed)) == ("vm", "MINE", "MINE")
    assert mode.query == RewriteDatabaseQuery(("a",))


def test_changed_mode_keeps_its_class_and_attributes() -> None:
    class Special(Mode):
        __slots__ = ("limit",)
        limit: int

    mode = Special("vm")
    mode.limit = 3
    changed = mode.excluding("fusion")
    assert isinstance(changed, Special)
    assert changed.limit == 3


@pytest.mark.documents("Mode.clone.linker")
def test_clone_changes_linker_or_rewrites() -> None:
    assert FAST_RUN.clone(linker="vm").backend.name == "vm"
    assert FAST_RUN.clone(optimizer="None").query == RewriteDatabaseQuery()
    assert FAST_RUN.clone() == FAST_RUN


def rewritten(mode: Any) -> int:
    x = tt.dscalar("x")
    return len(function([x], tt.neg(tt.neg(x)) + tt.exp(x * 1), mode=mode).fgraph)


# Every mode has the rules of this tag, one without rewrites too.
NOTHING = Mode("vm", None).excluding("minimum_compile")


def test_stable_forms_belong_to_every_mode() -> None:
    x = tt.dscalar("x")
    for optimizer in (None, "merge", "fast_compile", "fast_run"):
        f = function([x], tt.log(1 + tt.exp(x)), mode=Mode("vm", optimizer))
        assert f(800.0) == 800.0


@pytest.mark.documents("M20", "M21")
def test_excluded_rewrites_do_not_run() -> None:
    assert rewritten("VM") < rewritten(Mode("vm", None))
    assert rewritten(Mode("vm").excluding("fast_run")) == rewritten(NOTHING)
    assert rewritten(Mode("vm").requiring("fusion")) == rewritten(NOTHING)


@pytest.mark.parametrize("mode", ["VM", "FAST_COMPILE", FAST_COMPILE])
def test_named_modes_obey_the_option_that_excludes_tags(mode: Any) -> None:
    with config.change_flags(optimizer_excluding="fast_run:fast_compile"):
        assert rewritten(mode) == rewritten(NOTHING)
    with config.change_flags(optimizer_requiring="fusion"):
        assert rewritten(mode) == rewritten(NOTHING)


def test_option_adds_tags() -> None:
    with config.change_flags(optimizer_including="extra:more"):
        assert get_mode("VM").query.include == {"fast_run", "extra", "more"}


# What modes are made of


@pytest.mark.documents("Mode.linker", "Mode.optimizer", "M16", "M17", "M18")
def test_mode_has_a_linker_and_an_optimizer() -> None:
    mine = VMLinker(allow_gc=False)
    assert Mode(mine).linker is mine
    assert isinstance(Mode("py").linker, PerformLinker)
    assert isinstance(Mode(PerformLinker).linker, PerformLinker)
    assert Mode(BACKENDS.find("vm")).backend.name == "vm"
    assert isinstance(Mode("vm").optimizer, GraphRewriter)
    with pytest.raises(FunctionTypeError, match="the linker must be a name, a Backend or a Linker, got 3"):
        Mode(3)  # type: ignore[arg-type]


LINKERS = (
    *("py", "vm", "vm_nogc", "c", "c|py", "c|py_nogc", "cvm", "cvm_nogc"),
    *("numba", "jax", "pytorch", "array_api", "auto"),
)
MODES = (
    *("FAST_RUN", "FAST_COMPILE", "C", "CVM", "VM", "NUMBA", "JAX", "PYTORCH", "ARRAY_API"),
    *("DebugMode", "NanGuardMode", "MonitorMode", "Mode"),
)


@pytest.mark.parametrize("name", MODES)
@pytest.mark.documents(
    "function.mode",
    "option:mode",
    "mode:FAST_RUN",
    "mode:FAST_COMPILE",
    "mode:C",
    "mode:CVM",
    "mode:VM",
    "mode:NUMBA",
    "mode:JAX",
    "mode:PYTORCH",
    "mode:ARRAY_API",
    "mode:DebugMode",
    "mode:NanGuardMode",
    "mode:MonitorMode",
    "mode:Mode",
    "M1",
    "P1",
    "M7",
)
def test_every_named_mode_computes(name: str) -> None:
    x = tt.dvector("x")
    with config.change_flags(torch__compile=False):
        f = function([x], tt.exp(x) * 2, mode=name)
        assert np.asarray(f([0.0])).tolist() == [2.0]
    with config.change_flags(mode=name, torch__compile=False):
        assert str(function([x], tt.exp(x) * 2).maker.mode) == str(f.maker.mode) == name


@pytest.mark.parametrize("name", LINKERS)
@pytest.mark.documents(
    "option:linker",
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
    "linker:auto",
)
def test_every_documented_linker_computes(name: str) -> None:
    assert name in predefined_linkers
    x = tt.dvector("x")
    with config.change_flags(linker=name, torch__compile=False):
        for mode in (Mode(name), "Mode"):
            f = function([x], tt.exp(x) * 2, mode=mode)
            assert np.asarray(f([0.0])).tolist() == [2.0]
    assert predefined_linkers[name.upper()].allow_gc is (False if name.endswith("_nogc") else None)


@pytest.mark.parametrize("name", predefined_optimizers)
@pytest.mark.documents(
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
def test_every_predefined_set_of_rewrites_keeps_values(name: str) -> None:
    x = tt.dvector("x")
    f = function([x], tt.log(1 + tt.exp(x)) + x * 1 - 0, mode=Mode("vm", name))
    np.testing.assert_allclose(f([1.0, 2.0]), np.log1p(np.exp([1.0, 2.0])) + np.array([1.0, 2.0]))


def test_predefined_sets_are_as_documented() -> None:
    assert predefined_optimizers["o4"] == predefined_optimizers["fast_run"]
    assert predefined_optimizers["o1"] == predefined_optimizers["fast_compile"]
    assert str(predefined_optimizers["unsafe"]) == "+fast_run +unsafe -inplace"
    assert str(predefined_optimizers["o2"]) == "+fast_compile +fusion"
    assert str(predefined_optimizers["o3"]) == "+fast_run -inplace"
    assert str(predefined_optimizers["fast_run_stable"]) == "+fast_run &stable"
    stabilize = predefined_optimizers["stabilize"]
    assert isinstance(stabilize, RewriteDatabaseQuery)
    assert stabilize.position_cutoff == 1.5000001
    assert predefined_optimizers["None"] == predefined_optimizers.get(None) == RewriteDatabaseQuery()  # type: ignore[call-overload]
    with config.change_flags(optimizer="unsafe"):
        assert get_mode("Mode").query == predefined_optimizers["unsafe"]


class Nothing(GraphRewriter):
    """Changes nothing, and counts."""

    def __init__(self) -> None:
        self.runs = 0

    def apply(self, fgraph: FunctionGraph) -> None:
        del fgraph
        self.runs += 1


def test_rewriter_of_the_modes_own_runs_alone() -> None:
    mine = Nothing()
    mode = Mode("vm", mine)
    x = tt.dscalar("x")
    assert len(function([x], tt.neg(tt.neg(x)), mode=mode).fgraph) > 1
    assert (mine.runs, mode.optimizer, mode.provided_optimizer) == (1, mine, mine)
    with pytest.raises(FunctionTypeError, match=r"including: the mode rewrites with Nothing, which has no tags"):
        mode.including("fusion")
    with config.change_flags(optimizer_excluding="fusion"):
        assert get_mode(mode) is mode


@pytest.mark.documents("Mode.register")
def test_rewriters_are_registered_at_a_position() -> None:
    mine = Nothing()
    mode = FAST_RUN.register((mine, 49.5)).clone(linker="vm")
    x = tt.dscalar("x")
    function([x], x + 1, mode=mode)
    assert mine.runs == 1
    with pytest.raises(TypeError, match="an extra rewrite is a pair"):
        FAST_RUN.register(mine)  # type: ignore[arg-type]


@pytest.mark.documents("Mode.db", "optdb")
def test_mode_may_ask_another_database() -> None:
    mine, database = Nothing(), SequenceDB()
    database.register("mine", mine, "fast_run", position=1)
    mode = Mode("vm", "fast_run", db=database).including("merge").excluding("inplace")
    x = tt.dscalar("x")
    assert len(function([x], tt.neg(tt.neg(x)), mode=mode).fgraph) > 1
    assert (mine.runs, mode.db) == (1, database)
    with pytest.raises(FunctionTypeError, match="db must be a RewriteDatabase, got 'mine'"):
        Mode("vm", "fast_run", "mine")  # type: ignore[arg-type]


@pytest.mark.documents("error:ReadOnlyModeError")
def test_modes_do_not_change() -> None:
    with pytest.raises(ReadOnlyModeError, match="FAST_RUN: modes do not change, got name = 'x'"):
        FAST_RUN.name = "x"
    assert isinstance(ReadOnlyModeError("x"), AttributeError)


def test_modes_made_alike_are_equal() -> None:
    assert Mode("py", "fast_run") == Mode("py", "fast_run")
    assert len({Mode("py", "fast_run"), Mode("py", "fast_run"), Mode("vm", "fast_run")}) == 2
    assert Mode("py", "fast_run") != Mode("py", "fast_compile")
    assert Mode("py", None, name="a") != "a"


@pytest.mark.documents("Mode.clone", "Mode.clone.link_kwargs", "Mode.clone.optimizer")
def test_clone_passes_arguments_to_the_linker() -> None:
    kept = Mode("vm").clone(link_kwargs={"allow_gc": False})
    assert (kept.linker.allow_gc, kept.backend.name, Mode("vm").linker.allow_gc) == (False, "vm", None)
    assert kept.including("merge").linker.allow_gc is False
    assert Mode("vm", "fast_run").clone(optimizer=None).query == RewriteDatabaseQuery()
    assert FAST_RUN.clone(name="mine").name == "mine"
    with pytest.raises(FunctionTypeError, match=r"Mode\.clone: there is no nonsense to change. It has db, name, query"):
        FAST_RUN.clone(nonsense=3)
    with pytest.raises(FunctionTypeError, match=r"is not linked with the options \{'nonsense': 1\}"):
        assert Mode("vm").clone(link_kwargs={"nonsense": 1}).linker


@pytest.mark.documents("Mode.make_linker")
def test_changing_a_subclass_keeps_all_that_it_has() -> None:
    class Limited(Mode):
        def __init__(self, limit: int, **options: Any) -> None:
            super().__init__("vm", **options)
            self.limit = limit

        def make_linker(self) -> Any:
            return VMLinker(allow_gc=bool(self.limit))

    changes: tuple[Any, ...] = (
        Limited(3).including("merge"),
        Limited(3).excluding("a"),
        Limited(3).requiring("b"),
        Limited(3).clone(optimizer=None),
        Limited(3).register((Nothing(), 1)),
        copy.copy(Limited(3)),
        copy.deepcopy(Limited(3)),
    )
    for changed in changes:
        assert (type(changed), changed.limit, changed.linker.allow_gc) == (Limited, 3, True)
    assert Limited(3) == Limited(3) != Limited(4)
    assert Limited(3).clone(limit=0).linker.allow_gc is False


@pytest.mark.documents("Mode.function_maker")
def test_subclass_may_name_the_class_that_makes_functions() -> None:
    class Twice(FunctionMaker):
        def create(self) -> Any:
            function = super().create()
            return lambda *args: [function(*args), function(*args)]

    class Doubled(Mode):
        function_maker = Twice

    x = tt.dscalar("x")
    assert [float(v) for v in function([x], x + 1, mode=Doubled("vm").excluding("fusion"))(1.0)] == [2.0, 2.0]


@pytest.mark.parametrize("mode", [FAST_RUN, FAST_COMPILE, C, CVM, VM, NUMBA, JAX, PYTORCH])
def test_predefined_mode_is_pickled_by_its_name(mode: Mode) -> None:
    assert pickle.loads(pickle.dumps(mode)) is mode
    assert predefined_modes[mode.name] is get_mode(mode.name) is mode


def test_other_modes_are_pickled_by_what_they_are() -> None:
    for mode in (
        FAST_RUN.excluding("inplace"),
        Mode(BACKENDS.find("numba"), "o3", name="mine"),
        Mode("c|py").clone(link_kwargs={"allow_gc": False}),
        Mode("vm", RewriteDatabaseQuery(["a"], ["b"], ["c"], position_cutoff=3)),
        get_mode("NanGuardMode"),
        get_mode("DebugMode").including("fusion"),
        MonitorMode(post_func=detect_nan, linker="vm"),
    ):
        again = pickle.loads(pickle.dumps(mode))
        assert (type(again), again.name, str(again.query)) == (type(mode), mode.name, str(mode.query))
        assert again.backend.name == mode.backend.name
        assert type(again.linker) is type(mode.linker)
    linker = pickle.loads(pickle.dumps(Mode(VMLinker(allow_gc=False)))).linker
    assert (type(linker), linker.allow_gc) == (VMLinker, False)


# Names


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget after the test what it has registered."""
    for table in (predefined_modes, predefined_linkers, predefined_optimizers):
        monkeypatch.setattr(table, "_items", dict(table._items))


@pytest.mark.usefixtures("tables")
@pytest.mark.documents("register_mode", "register_linker", "register_optimizer")
def test_modes_linkers_and_sets_of_rewrites_can_be_registered() -> None:
    mine = Mode("vm", None, name="mine")
    register_mode("Mine", mine)
    register_linker("keeping", VMLinker(allow_gc=False))
    register_optimizer("few", RewriteDatabaseQuery(["merge"]))
    assert get_mode("mine") is get_mode("MINE") is mine
    with config.change_flags(mode="Mine"):
        assert get_mode() is mine
    with config.change_flags(linker="keeping"):
        assert get_mode("Mode").linker.allow_gc is False
    assert Mode("Keeping", "few").linker.allow_gc is False
    assert str(Mode("vm", "few").query) == "+merge"
    assert "Mine" in list(predefined_modes)


@pytest.mark.usefixtures("tables")
@pytest.mark.parametrize("name", ["fast_run", "VM", "debugmode", "numba"])
def test_name_of_a_mode_is_not_taken_twice(name: str) -> None:
    with pytest.raises(ValueError, match=f"register_mode {name!r}: the name is taken"):
        register_mode(name, FAST_RUN)


@pytest.mark.usefixtures("tables")
def test_wrong_registrations_are_refused() -> None:
    with pytest.raises(ValueError, match=r"register_linker 'c\|py': the name is taken"):
        register_linker("c|py", VMLinker())
    with pytest.raises(ValueError, match="register_optimizer 'o4': the name is taken"):
        register_optimizer("o4", RewriteDatabaseQuery())
    with pytest.raises(FunctionTypeError, match="register_mode 'x': a Mode is needed, got 'FAST_RUN'"):
        register_mode("x", "FAST_RUN")  # type: ignore[arg-type]
    with pytest.raises(FunctionTypeError, match="register_linker 'x': a Linker is needed"):
        register_linker("x", VMLinker)  # type: ignore[arg-type]
    with pytest.raises(FunctionTypeError, match="register_optimizer 'x': a RewriteDatabaseQuery or a GraphRewriter"):
        register_optimizer("x", "fast_run")  # type: ignore[arg-type]
    with pytest.raises(FunctionTypeError, match="register_mode: the name must be a string, got 3"):
        register_mode(3, FAST_RUN)  # type: ignore[arg-type]


@pytest.mark.documents("error:UnknownNameError", "predefined_linkers", "predefined_optimizers")
def test_tables_name_what_is_near_to_an_unknown_name() -> None:
    with pytest.raises(UnknownNameError, match=r"optimizer: none is called 'fast_rn'\. Did you mean fast_run"):
        predefined_optimizers["fast_rn"]
    with pytest.raises(KeyError, match="no installed backend has this name"):
        predefined_linkers["nosuch"]
    with pytest.raises(KeyError, match="no mode is called 'nosuch'"):
        predefined_modes["nosuch"]
    assert predefined_modes.get("nosuch") is None
    assert (len(predefined_modes), len(predefined_linkers)) == (
        len(list(predefined_modes)),
        len(list(predefined_linkers)),
    )


@pytest.mark.documents("mode:DEBUG_MODE", "M9")
def test_old_name_of_debug_mode_is_deprecated() -> None:
    with pytest.warns(DeprecationWarning, match="mode DEBUG_MODE: the name is deprecated, write DebugMode") as caught:
        mode = get_mode("debug_mode")
    assert len(caught) == 1
    assert mode == get_mode("DebugMode")


@pytest.mark.parametrize("name", ["FAST_RUN", "C", "CVM", "VM", "NUMBA", "JAX", "PYTORCH", "DebugMode", "NanGuardMode"])
@pytest.mark.documents("option:optimizer_excluding", "option:optimizer_including", "option:optimizer_requiring")
def test_every_named_mode_obeys_the_options_that_name_tags(name: str) -> None:
    with config.change_flags(optimizer_excluding="a:b", optimizer_including="c", optimizer_requiring="d"):
        query = get_mode(name).query
    assert {"a", "b"} <= query.exclude
    assert "c" in query.include
    assert query.require == {"d"}
    with config.change_flags(optimizer_excluding="a"):
        assert get_mode(get_mode(name)).query.exclude >= {"a"}


# Rewriters


@pytest.mark.documents("AddFeatureOptimizer", "AddDestroyHandler", "AddFeatureOptimizer.feature")
def test_feature_is_attached_by_a_rewriter() -> None:
    mode = Mode("vm", None).register((AddFeatureOptimizer(History()), 49.5), (AddDestroyHandler(), 49.6))
    x = tt.dscalar("x")
    kinds = [type(feature) for feature in function([x], x + 1, mode=mode).fgraph.features]
    assert kinds.count(History) == 1
    assert kinds.count(DestroyHandler) == 1
    with pytest.raises(FunctionTypeError, match="AddFeatureOptimizer: a Feature is needed, got"):
        AddFeatureOptimizer(History)  # type: ignore[arg-type]


@pytest.mark.documents("PrintCurrentFunctionGraph", "PrintCurrentFunctionGraph.header")
def test_graph_is_printed_when_its_turn_comes(capsys: pytest.CaptureFixture[str]) -> None:
    x = tt.dscalar("x")
    function([x], tt.exp(x), mode=Mode("vm", None).register((PrintCurrentFunctionGraph("half way"), 1.21)))
    printed = capsys.readouterr().out
    assert printed.startswith("PrintCurrentFunctionGraph: half way\n")
    assert "Exp" in printed


@pytest.mark.parametrize("name", ["C", "NUMBA", "VM"])
def test_mode_of_the_linker_of_another_mode_can_do_what_its_backend_can(name: str) -> None:
    other = Mode(linker=get_mode(name).linker)
    assert other.backend.capabilities == get_mode(name).backend.capabilities
    x = tt.dscalar("x")
    assert len(function([x], x, mode=other).maker.fgraph.toposort()) == 1


def test_linker_that_does_not_exist_is_refused_when_the_mode_is_made() -> None:
    with pytest.raises(MissingBackendError, match="'nosuch': no installed backend has this name"):
        Mode(linker="nosuch")
    with pytest.raises(MissingBackendError, match=r"'numbaa'.* Did you mean NUMBA"):
        Mode("numbaa", "fast_run")
    assert Mode("C|PY").linker is not None
