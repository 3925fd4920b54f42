"""Options of the C compiler: what is printed, kept, and which flags they change."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.cache import default_cache
from treadle.config import config
from treadle.link.c.errors import CompileError
from treadle.link.c.toolchain import Toolchain, find_toolchain

if TYPE_CHECKING:
    from collections.abc import Callable


def toolchain(**flags: Any) -> Toolchain:
    with config.change_flags(flags):
        compiler = find_toolchain()
    assert isinstance(compiler, Toolchain)
    return compiler


def test_optimisation_can_be_left_out() -> None:
    assert "-O1" in toolchain().flags
    compiler = toolchain(cmodule__remove_gxx_opt=True, gcc__cxxflags="-g -O3")
    assert [flag for flag in compiler.flags if flag.startswith("-O")] == []
    assert compiler.flags[-1] == "-g"


def test_debug_defines_a_macro() -> None:
    assert "-DDEBUG" not in toolchain().flags
    assert "-DDEBUG" in toolchain(cmodule__debug=True).flags


@pytest.mark.documents("P18")
@pytest.mark.parametrize("flags", [{"cmodule__remove_gxx_opt": True}, {"cmodule__debug": True}])
def test_other_flags_make_another_library_that_computes_the_same(
    link: Callable[..., Any], flags: dict[str, Any]
) -> None:
    x = tt.dvector("x")
    expression = tt.tanh(x * 1.5) + tt.exp(x).sum()
    value = np.linspace(-1.0, 1.0, 37)
    expected = link([x], [expression])(value)[0]
    count_before = default_cache().statistics.made
    with config.change_flags(flags):
        np.testing.assert_allclose(link([x], [expression])(value)[0], expected, rtol=1e-14)
    assert default_cache().statistics.made > count_before


def test_warnings_of_the_compiler_are_printed_on_demand(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "source.c"
    source.write_text("int f(void) { int unused; return 0; }\n")
    toolchain().compile(source, tmp_path / "a.so")
    assert capsys.readouterr().err == ""
    toolchain(cmodule__compilation_warning=True).compile(source, tmp_path / "a.so")
    printed = capsys.readouterr().err
    assert "unused" in printed
    assert str(source) in printed


def test_commands_are_printed_on_demand(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "source.c"
    source.write_text("int f(void) { return 0; }\n")
    with config.change_flags(compiler_verbose=True):
        toolchain().compile(source, tmp_path / "a.so")
    assert str(source) in capsys.readouterr().err
    assert default_cache().directory is not None


def test_refused_file_is_kept_on_demand(tmp_path: Path) -> None:
    source = tmp_path / "refused.c"
    source.write_text("nonsense\n")
    with pytest.raises(CompileError, match="Option nocleanup keeps the C file"):
        toolchain().compile(source, tmp_path / "a.so")
    default_cache().put("0" * 64, b"")  # the directory exists
    with config.change_flags(nocleanup=True), pytest.raises(CompileError, match="kept as") as caught:
        toolchain().compile(source, tmp_path / "a.so")
    kept = default_cache().directory / "failed-refused.c"
    assert str(kept) in str(caught.value)
    assert kept.read_text() == "nonsense\n"
