"""Modes and backends, by name and by entry point."""

import sys
from typing import Any

import pytest

import treadle.tensor as tt
from treadle.compile import (
    BACKENDS,
    FAST_COMPILE,
    FAST_RUN,
    OPTIMIZERS,
    FunctionTypeError,
    MissingBackendError,
    Mode,
    UnknownModeError,
    function,
    get_default_mode,
    get_mode,
    predefined_modes,
)
from treadle.config import config
from treadle.rewrite import RewriteDatabaseQuery


@pytest.mark.parametrize("name", ["VM", "vm", "Vm", "FAST_COMPILE", "fast_compile", "Fast_Compile"])
def test_names_of_modes_are_read_in_any_case(name: str) -> None:
    assert get_mode(name).name == name.upper()


def test_mode_objects_are_modes() -> None:
    mode = Mode("vm", None)
    assert get_mode(mode) is mode
    assert get_mode(FAST_RUN) is FAST_RUN
    assert get_mode("fast_run") == FAST_RUN


def test_default_mode_is_built_from_the_options() -> None:
    with config.change_flags(mode="Mode", linker="py", optimizer="fast_compile"):
        mode = get_default_mode()
        assert (mode.backend.name, mode.query) == ("vm", OPTIMIZERS["fast_compile"])
    with config.change_flags(mode="fast_compile"):
        assert get_mode() == FAST_COMPILE
    with config.change_flags(linker="vm", optimizer="None"):
        assert (Mode().linker, Mode().query) == ("vm", RewriteDatabaseQuery())


def test_every_installed_backend_has_a_mode() -> None:
    assert set(predefined_modes()) == {"FAST_RUN", "FAST_COMPILE", *(name.upper() for name in BACKENDS.names())}


def test_unknown_mode_is_an_error_with_the_nearest_names_and_what_to_install() -> None:
    with pytest.raises(UnknownModeError) as caught:
        get_mode("fast_rum")
    message = str(caught.value)
    assert message.startswith("mode: no mode is called 'fast_rum'. Did you mean FAST_RUN")
    assert "pip install 'compile[c]'" in message
    assert isinstance(caught.value, ValueError)


def test_mode_must_be_a_mode_or_a_name() -> None:
    with pytest.raises(FunctionTypeError, match="a Mode or the name of one is needed, got 3"):
        get_mode(3)


def test_unknown_linker_is_an_error_when_it_is_needed() -> None:
    with pytest.raises(MissingBackendError, match=r"mode 'numbr': no installed backend has this name\."):
        _ = Mode("numbr").backend


def test_unknown_set_of_rewrites_is_refused() -> None:
    with pytest.raises(FunctionTypeError, match=r"the optimizer must be a query or one of fast_run, .*, got 'fastest'"):
        Mode("vm", "fastest")


def test_tags_can_be_included_excluded_and_required() -> None:
    mode = Mode("vm", RewriteDatabaseQuery(include=("a",)), "MINE")
    changed = mode.including("b", "c").excluding("d").requiring("e")
    assert changed.query == RewriteDatabaseQuery(("a", "b", "c"), ("e",), ("d",))
    assert (changed.linker, changed.name, str(changed)) == ("vm", "MINE", "MINE")
    assert mode.query == RewriteDatabaseQuery(("a",))


def test_changed_mode_keeps_its_class_and_attributes() -> None:
    class Special(Mode):
        __slots__ = ("limit",)
        limit: int

    mode = Special("vm")
    object.__setattr__(mode, "limit", 3)
    changed = mode.excluding("fusion")
    assert isinstance(changed, Special)
    assert changed.limit == 3


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


# A third party's


def test_backend_of_a_third_party_is_a_mode(acme: str) -> None:
    x = tt.dscalar("x")
    assert function([x], x + 1, mode="Acme")(1.0) == 2.0
    assert sys.modules[acme].Linker.linked == 1


def test_backend_is_loaded_only_when_it_is_used(acme: str) -> None:
    assert "ACME" in predefined_modes()
    assert acme not in sys.modules


def test_backend_is_known_to_option_linker_by_its_aliases(acme: str) -> None:
    assert sys.modules.get(acme) is None
    with config.change_flags(linker="acme|py"):
        assert Mode().backend.name == "acme"


def test_backend_that_cannot_work_says_why(acme: str) -> None:
    assert acme
    with pytest.raises(MissingBackendError, match="backend broken cannot be used here: its engine is missing"):
        function([], [], mode="BROKEN")


def test_unknown_name_near_a_third_partys_is_hinted_at(acme: str) -> None:
    assert acme
    with pytest.raises(UnknownModeError, match="Did you mean ACME"):
        get_mode("acmee")
