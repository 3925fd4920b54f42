"""Modes and backends that other distributions publish."""

import pickle
import sys
from pathlib import Path

import pytest

import treadle.tensor as tt
from treadle import compile
from treadle.compile import (
    FunctionTypeError,
    MissingBackendError,
    Mode,
    UnknownModeError,
    function,
    get_mode,
    predefined_modes,
)
from treadle.config import config


def test_backend_of_a_third_party_is_a_mode(acme: str) -> None:
    x = tt.dscalar("x")
    assert function([x], x + 1, mode="Acme")(1.0) == 2.0
    assert sys.modules[acme].Linker.linked == 1


def test_mode_of_a_third_partys_backend_has_a_name_as_any_other(acme: str) -> None:
    mode = get_mode("acme")
    assert compile.ACME is compile.mode.ACME is predefined_modes["ACME"] is mode
    assert pickle.loads(pickle.dumps(mode)) is mode
    assert acme not in sys.modules
    with pytest.raises(AttributeError, match="has no 'ACMEE'"):
        _ = compile.ACMEE


def test_backend_is_loaded_only_when_it_is_used(acme: str) -> None:
    assert "ACME" in predefined_modes
    assert acme not in sys.modules


def test_backend_is_known_to_option_linker_by_its_aliases(acme: str) -> None:
    assert sys.modules.get(acme) is None
    with config.change_flags(linker="acme|py"):
        assert Mode().backend.name == "acme"


@pytest.mark.documents("error:MissingBackendError")
def test_backend_that_cannot_work_says_why(acme: str) -> None:
    assert acme
    with pytest.raises(MissingBackendError, match="backend broken cannot be used here: its engine is missing"):
        function([], [], mode="BROKEN")


def test_unknown_name_near_a_third_partys_is_hinted_at(acme: str) -> None:
    assert acme
    with pytest.raises(UnknownModeError, match="Did you mean ACME"):
        get_mode("acmee")


PUBLISHED = """
from treadle.compile import Mode

FAST = Mode("vm", "fast_run", name="Acme_Fast")


def small():
    return Mode("vm", None, name="acme_small")


WRONG = 3
"""


@pytest.fixture
def acme_modes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install a distribution with three modes, one of which is not a mode."""
    name = f"acme_modes_{tmp_path.name}"
    (tmp_path / f"{name}.py").write_text(PUBLISHED)
    info = tmp_path / "acme_modes-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-modes\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        f"[treadle.modes]\nAcme_Fast = {name}:FAST\nacme_small = {name}:small\nacme_wrong = {name}:WRONG\n"
    )
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])


@pytest.mark.usefixtures("acme_modes")
def test_modes_of_a_third_party_have_names() -> None:
    x = tt.dscalar("x")
    assert function([x], x + 1, mode="ACME_FAST")(1.0) == 2.0
    assert get_mode("Acme_Small").name == "acme_small"
    with config.change_flags(mode="acme_fast"):
        assert get_mode().name == "Acme_Fast"
    with config.change_flags(optimizer_excluding="fusion"):
        assert "fusion" in get_mode("acme_fast").query.exclude
    with pytest.raises(UnknownModeError, match="Did you mean Acme_Fast"):
        get_mode("acme_fas")
    with pytest.raises(FunctionTypeError, match=r"mode acme_wrong: entry point .*:WRONG of acme-modes must be a Mode"):
        get_mode("acme_wrong")
