"""The C backend where files cannot be written, or a compiler produces something else: its own error, or none."""

import math
import resource
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from tests.cache.killing import in_child
from treadle.compile import function
from treadle.compile.stored.programs import FUNCTIONS
from treadle.config import OptionValueError, config
from treadle.link.c.conventions.abi import BRIDGE
from treadle.link.c.errors import CompileError


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A compile directory of the test's own."""
    FUNCTIONS.forget()
    with config.change_flags(base_compiledir=str(tmp_path / "compiled"), c__support_libraries=False):
        yield tmp_path
    FUNCTIONS.forget()


@pytest.mark.filterwarnings("ignore:compile cache")
@pytest.mark.parametrize("limit", [0, 1000, 20_000])
def test_limit_on_the_size_of_files_is_the_backends_own_error(folder: Path, limit: int) -> None:
    def work() -> bool:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        x = tt.dvector("x")
        try:
            return bool(function([x], tt.exp(x) * 3, mode="C")(np.zeros(1))[0] == 3)
        except CompileError as error:
            return str(error).startswith("c: ")

    del folder
    assert in_child(work) == 0


def test_library_of_another_program_is_refused(folder: Path) -> None:
    script = folder / "cc"
    script.write_text(
        '#!/bin/sh\nfor word; do [ "$before" = -o ] && out=$word; before=$word; done\n'
        'echo "int other(void) { return 0; }" | gcc -xc - -shared -fPIC -o "$out"\n'
    )
    script.chmod(0o755)
    x = tt.dvector("x")
    with config.change_flags(cxx=str(script)), pytest.raises(CompileError, match="something else than its text"):
        function([x], tt.exp(x) * 4, mode="C")
    assert function([x], tt.exp(x) * 4, mode="C")([0.0]) == [4.0]


@pytest.mark.parametrize("value", [math.nan, math.inf, -1.0, 1e300])
def test_time_limit_is_a_number_of_seconds(value: float) -> None:
    with pytest.raises(OptionValueError, match="gcc__timeout"), config.change_flags(gcc__timeout=value):
        pass


@pytest.mark.parametrize("option", ["gcc__cxxflags", "blas__ldflags"])
@pytest.mark.parametrize("text", ["-DX='1", '-L"a', "-DX=\\"])
def test_flags_that_no_shell_could_split_are_refused_by_name(option: str, text: str) -> None:
    with pytest.raises(OptionValueError, match=option), config.change_flags(**{option: text}):
        pass


def test_directory_whose_name_is_not_text_costs_one_warning(tmp_path: Path) -> None:
    x = tt.dvector("x")
    name = str(tmp_path) + "/caf\udce9"
    FUNCTIONS.forget()
    with config.change_flags(compiledir=name), pytest.warns(UserWarning, match="cannot be used") as caught:
        assert function([x], tt.exp(x) * 5, mode="C")([0.0]) == [5.0]
    assert [warning.filename for warning in caught] == [__file__]


def test_library_that_is_removed_before_it_is_loaded_is_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    x = tt.dvector("x")
    opened: list[Path] = []
    open_ = BRIDGE.open

    def removed_first(file: Path) -> Any:
        opened.append(file)
        if len(opened) == 1:
            file.unlink()
        return open_(file)

    monkeypatch.setattr(BRIDGE, "open", removed_first)
    run = function([x], tt.cos(x) * 3.53 + 0.1, mode="C")
    monkeypatch.undo()
    assert len(opened) == 2
    np.testing.assert_allclose(run(np.zeros(2)), 3.63)
