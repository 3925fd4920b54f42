"""The compiler, its options, its failures; and what the cache saves."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.cache import default_cache
from treadle.config import config
from treadle.link.c import BACKEND
from treadle.link.c.errors import BackendUnavailableError, CompileError
from treadle.link.c.toolchain import Toolchain, c_driver, find_toolchain

if TYPE_CHECKING:
    from collections.abc import Callable


def test_no_compiler_is_a_reason_and_an_error(link: Callable[..., Any]) -> None:
    x = tt.dvector("x")
    for cxx in ("", "no-such-compiler"):
        with config.change_flags(cxx=cxx):
            reason = BACKEND.unavailable()
            assert reason is not None
            assert "no C compiler was found" in reason
            with pytest.raises(BackendUnavailableError, match="no C compiler was found"):
                link([x], [x + 1])


def test_installed_compiler_makes_the_backend_available() -> None:
    assert BACKEND.unavailable() is None
    assert isinstance(find_toolchain(), Toolchain)


@pytest.mark.parametrize(
    ("named", "meant"),
    [
        ("g++", "gcc"), ("/usr/bin/g++-12", "/usr/bin/gcc-12"), ("clang++", "clang"), ("c++", "cc"), ("gcc", "gcc"),
    ],
)  # fmt: skip
def test_driver_of_cxx_stands_for_the_one_of_c(named: str, meant: str) -> None:
    assert c_driver(named) == meant


def test_failure_shows_command_message_and_line(link: Callable[..., Any]) -> None:
    x = tt.dvector("x")
    with (
        config.change_flags(gcc__cxxflags="-std=c89"),
        pytest.raises(CompileError, match=r"(?s)-std=c89.*error: .*\nC line \d+: .*for \(int"),
    ):
        link([x], [x + 1])


def test_second_link_does_not_compile(link: Callable[..., Any]) -> None:
    x = tt.dvector("x")
    link([x], [x * 3.5 + 1])
    before = default_cache().statistics.made
    link([x], [x * 3.5 + 1])
    assert default_cache().statistics.made == before


def test_constants_are_no_part_of_the_text(link: Callable[..., Any]) -> None:
    x = tt.dvector("x")
    first, second = (link([x], [x * value]) for value in (2.0, 3.0))
    assert first.source == second.source
    data = np.arange(3.0)
    np.testing.assert_array_equal(first(data)[0] * 3, second(data)[0] * 2)


def test_new_process_does_not_run_the_compiler(tmp_path: Path) -> None:
    log = tmp_path / "log"
    driver = tmp_path / "mycc"
    driver.write_text(f'#!/bin/sh\necho run >> "{log}"\nexec cc "$@"\n')
    driver.chmod(driver.stat().st_mode | stat.S_IXUSR)
    program = (
        "import numpy as np, treadle.tensor as tt\n"
        "from treadle.graph import FunctionGraph\n"
        "from treadle.link.c.linker import CLinker\n"
        "x = tt.dvector('x')\n"
        "print(CLinker().link(FunctionGraph([x], [tt.exp(x)]))(np.zeros(2))[0].tolist())\n"
    )
    flags = f"base_compiledir={tmp_path / 'dir'},cxx={driver}"
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "TREADLE_FLAGS": flags},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.strip() == "[1.0, 1.0]"
    assert log.read_text().split() == ["run"]


def test_importing_the_package_loads_no_library() -> None:
    program = "import treadle.link.c, sys; print([m for m in ('cffi', '_cffi_backend', 'numpy') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_own_blas_is_linked(link: Callable[..., Any], tmp_path: Path) -> None:
    source = tmp_path / "blas.c"
    source.write_text(
        "void dgemm_(char *a, char *b, int *l, int *m, int *k, double *one, double *x, int *lx, double *y, int *ly,"
        "            double *zero, double *o, int *lo) { for (int i = 0; i < *l * *m; i++) o[i] = 42; }\n"
        "void dgemv_(void) {}\n"
    )
    library = tmp_path / "libfake.so"
    subprocess.run(["cc", "-shared", "-fPIC", str(source), "-o", str(library)], check=True)
    a = tt.dmatrix("a")
    with config.change_flags(blas__ldflags=str(library)):
        program = link([a], [a @ a])
    np.testing.assert_array_equal(program(np.zeros((2, 2)))[0], np.full((2, 2), 42.0))
