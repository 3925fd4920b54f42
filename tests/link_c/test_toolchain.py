"""The compiler, its options, its failures, and what the cache saves."""

from __future__ import annotations

import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.cache import default_cache
from treadle.compile import function
from treadle.config import config
from treadle.link.c import BACKEND
from treadle.link.c.errors import BackendUnavailableError, CompileError
from treadle.link.c.text import simd
from treadle.link.c.text.simd import simd_functions
from treadle.link.c.toolchain import Toolchain, c_driver, c_library, find_toolchain

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


def test_constants_are_not_part_of_the_text(link: Callable[..., Any]) -> None:
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
    # For the program, for the helpers that it calls, to link these, and to find out where the C library is.
    assert log.read_text().split() == ["run"] * 4


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
    # Smaller products are done without BLAS.
    np.testing.assert_array_equal(program(np.zeros((5, 5)))[0], np.full((5, 5), 42.0))


def script(path: Path, text: str) -> Path:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_failure_names_the_node_and_its_line(link: Callable[..., Any]) -> None:
    x = tt.dvector("x")
    with (
        # A meaningless macro where the kernel reads its operand.
        config.change_flags(gcc__cxxflags="-Dx0=1.5.5"),
        pytest.raises(CompileError, match=r"(?s)C line \d+: .*x0.*This line belongs to .*Sqrt.*test_toolchain\.py"),
    ):
        link([x], [tt.sqrt(x) + x])


@pytest.mark.documents("option:gcc__timeout")
@pytest.mark.parametrize("last", ["wait", "exit 0"])
def test_hanging_compiler_is_killed_with_its_children(last: str, link: Callable[..., Any], tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    driver = script(tmp_path / "hanging", f'sleep 600 &\necho "$! $$" > "{pids}"\n{last}')
    x = tt.dvector("x")
    with (
        config.change_flags(cxx=str(driver), gcc__timeout=0.5),
        pytest.raises(CompileError, match=r"did not end within 0\.5 seconds.*gcc__timeout"),
    ):
        link([x], [tt.exp(x) + 4])
    deadline = time.monotonic() + 20
    for pid in map(int, pids.read_text().split()):
        while runs(pid):
            assert time.monotonic() < deadline
            time.sleep(0.01)


def runs(pid: int) -> bool:
    """Whether a process runs; one that has ended but was not waited for does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def test_killed_compiler_is_reported_with_its_signal(link: Callable[..., Any], tmp_path: Path) -> None:
    driver = script(tmp_path / "killed", f"kill -{int(signal.SIGKILL)} $$")
    x = tt.dvector("x")
    with config.change_flags(cxx=str(driver)), pytest.raises(CompileError, match="was killed by SIGKILL"):
        link([x], [tt.exp(x) + 5])


def test_compiler_that_cannot_be_run_is_reported(link: Callable[..., Any], tmp_path: Path) -> None:
    driver = tmp_path / "text"
    driver.write_text("no program")
    driver.chmod(driver.stat().st_mode | stat.S_IXUSR)
    x = tt.dvector("x")
    with config.change_flags(cxx=str(driver)), pytest.raises(CompileError, match=r"cannot be run.*Set the option cxx"):
        link([x], [tt.exp(x) + 6])


@pytest.mark.documents("option:nocleanup")
def test_failed_compilation_leaves_nothing_behind(link: Callable[..., Any], tmp_path: Path) -> None:
    driver = script(tmp_path / "failing", "echo no way >&2; exit 3")
    x = tt.dvector("x")
    with config.change_flags(cxx=str(driver), base_compiledir=str(tmp_path / "dir")):
        for _ in range(2):
            with pytest.raises(CompileError, match=r"status 3.*(?s:.*)no way"):
                link([x], [x + 7])
        assert not [f for f in default_cache().directory.rglob("*") if f.suffix in {".so", ".c"}]
        with config.change_flags(nocleanup=True), pytest.raises(CompileError, match="The C file is kept as"):
            link([x], [x + 7])
        assert len(list(default_cache().directory.glob("failed-*.c"))) == 1
    with config.change_flags(base_compiledir=str(tmp_path / "dir")):
        assert link([x], [x + 7])(np.zeros(1))[0].tolist() == [7]


def test_folders_with_spaces_and_non_ascii_letters_work(link: Callable[..., Any], tmp_path: Path) -> None:
    place = tmp_path / "ein Ordner mit Ümläuten 目录"
    place.mkdir()
    driver = script(place / "mein cc", 'exec cc "$@"')
    x = tt.dvector("x")
    with config.change_flags(cxx=str(driver), base_compiledir=str(place / "dir")):
        assert link([x], [tt.exp(x) + 8])(np.zeros(1))[0].tolist() == [9]
        assert any(f.suffix == ".so" for f in default_cache().directory.rglob("*"))
        with (
            config.change_flags(gcc__cxxflags="-std=c89"),
            pytest.raises(CompileError, match=r"(?s)Ümläuten.*C line \d+"),
        ):
            link([x], [x + 9])


def test_messages_are_understood_in_any_language(link: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    monkeypatch.setenv("LANGUAGE", "de")
    x = tt.dvector("x")
    with config.change_flags(gcc__cxxflags="-std=c89"), pytest.raises(CompileError, match=r"error: .*(?s:.*)C line"):
        link([x], [x + 10])


def test_libraries_among_the_flags_come_after_the_file(tmp_path: Path) -> None:
    with config.change_flags(gcc__cxxflags=f"-O3 -L{tmp_path} -lmine -I{tmp_path}"):
        toolchain = find_toolchain()
    assert isinstance(toolchain, Toolchain)
    command = toolchain.command(Path("in.c"), Path("out.so"))
    at = command.index("in.c")
    assert command.index("-lmine") > at
    assert command.index(f"-L{tmp_path}") > at
    assert command.index(f"-I{tmp_path}") < at
    assert command.index("-O3") > command.index("-fPIC")


@pytest.mark.documents("option:cmodule__remove_gxx_opt", "option:cmodule__debug", "option:gcc__cxxflags")
def test_options_change_the_flags() -> None:
    with config.change_flags(cmodule__remove_gxx_opt=True, cmodule__debug=True, gcc__cxxflags="-g -O3"):
        toolchain = find_toolchain()
    assert isinstance(toolchain, Toolchain)
    assert not [flag for flag in toolchain.flags if flag.startswith("-O")]
    assert {"-g", "-DDEBUG"} <= set(toolchain.flags)


@pytest.mark.documents("option:compiler_verbose", "option:cmodule__compilation_warning")
def test_every_command_is_shown_if_asked_for(link: Callable[..., Any], capfd: pytest.CaptureFixture[str]) -> None:
    x = tt.dvector("x")
    with config.change_flags(compiler_verbose=True, gcc__cxxflags="-DSHOWN"):
        link([x], [x + 11])
    assert "-DSHOWN" in capfd.readouterr().err
    with config.change_flags(cmodule__compilation_warning=True, gcc__cxxflags="-Wunused-macros -DSHOWN2"):
        link([x], [x + 11])
    with config.change_flags(cmodule__compilation_warning=True, gcc__cxxflags="-Wundef -include /dev/null -Wpedantic"):
        link([x], [x + 12])
    assert "warning:" in capfd.readouterr().err


@pytest.mark.documents("option:cxx", "error:BackendWarning")
@pytest.mark.parametrize("cxx", ["", "no-such-compiler"])
def test_default_mode_warns_once_and_computes_without_a_compiler(cxx: str, tmp_path: Path) -> None:
    program = (
        "import warnings, numpy as np, treadle.tensor as tt\n"
        "from treadle.compile import function\n"
        "x = tt.dvector('x')\n"
        "with warnings.catch_warnings(record=True) as caught:\n"
        "    warnings.simplefilter('always')\n"
        "    for k in range(3): print(function([x], x + k)(np.zeros(1)).tolist())\n"
        "print(len(caught), *(f'{w.category.__name__}: {w.message}' for w in caught))\n"
        "try: function([x], x, mode='C')\n"
        "except Exception as error: print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "TREADLE_FLAGS": f"base_compiledir={tmp_path},cxx={cxx}"},
        capture_output=True,
        text=True,
        check=True,
    )
    *values, warned, refused = done.stdout.splitlines()
    assert values == ["[0.0]", "[1.0]", "[2.0]"]
    assert warned.startswith("1 BackendWarning: ")
    assert "no C compiler was found" in warned
    assert "no C compiler was found" in refused
    assert "install gcc or clang" in refused or "cxx names" in refused


def test_compiler_whose_library_lacks_functions_on_vectors_does_without(
    tmp_path: Path, link: Callable[..., Any]
) -> None:
    # As where a compiler comes with an older C library: the names are unknown when the code is loaded.
    driver = script(tmp_path / "oldcc", f'case "$*" in *-print-file-name=*) echo {tmp_path}/libm.so; exit;; esac\n'
                    'exec cc "$@" -D_ZGVdN4v_exp=no_such_name -D_ZGVeN8v_exp=no_such_name '
                    "-D_ZGVbN2v_exp=no_such_name")  # fmt: skip
    x = tt.dvector("x")
    with config.change_flags(cxx=str(driver)):
        toolchain = find_toolchain()
        assert isinstance(toolchain, Toolchain)
        assert simd_functions(toolchain) == frozenset()
        program = link([x], [tt.exp(x) + 13])
    np.testing.assert_allclose(program(np.ones(5))[0], np.e + 13)
    assert "_ZGV" not in program.source


@pytest.mark.skipif("glibc" not in c_library(), reason="only glibc has these functions")
def test_vector_functions_of_the_systems_library_are_found_without_compiling(
    commands: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    toolchain = find_toolchain()
    assert isinstance(toolchain, Toolchain)
    found = simd_functions.__wrapped__(toolchain)
    # What is known of the compiler is kept.
    assert simd_functions.__wrapped__(toolchain) == found
    assert [command[-1] for command in commands] == ["-print-file-name=libm.so"]
    monkeypatch.setattr(simd, "_links", lambda *_: False)
    assert simd_functions.__wrapped__(toolchain) == found
    assert len(commands) == 2


@pytest.mark.skipif(shutil.which("clang") is None, reason="clang is not installed on this machine")
def test_clang_compiles_a_graph_of_every_family(tmp_path: Path) -> None:
    x, w = tt.dmatrix("x"), tt.dvector("w")
    i = tt.lscalar("i")
    outputs = [
        tt.tanh(x @ w) + tt.exp(w[0]), tt.softmax(x, axis=1), tt.sum(x * x, axis=0), tt.max(x, axis=1),
        tt.concatenate([x, x])[i:], tt.argmax(x, axis=1), x.reshape((-1,)), tt.arange(i), x.T // 2, tt.mean(x > 0),
    ]  # fmt: skip
    data = [np.random.default_rng(3).normal(size=(5, 7)), np.linspace(-1, 1, 7), np.array(3)]
    expected = function([x, w, i], outputs, mode="VM")(*data)
    with config.change_flags(cxx="clang", base_compiledir=str(tmp_path)):
        results = function([x, w, i], outputs, mode="C")(*data)
        toolchain = find_toolchain()
    assert isinstance(toolchain, Toolchain)
    assert "clang" in toolchain.identity
    for a, b in zip(results, expected, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=1e-13)


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed on this machine")
def test_what_a_loop_carries_is_in_no_memory_though_a_function_is_called_now_and_then(tmp_path: Path) -> None:
    text = """\
int look(int i);
double steps(double x, double a, int n) {
  for (int i = 0; i < n;) {
    const int until = look(i);
    for (; i < until; i++) x = x * a + 1;
  }
  return x;
}
"""
    with config.change_flags(cxx="gcc", base_compiledir=str(tmp_path)):
        toolchain = find_toolchain()
    assert isinstance(toolchain, Toolchain)
    (tmp_path / "steps.c").write_text(text, encoding="utf-8")
    command = [toolchain.driver, *toolchain.flags, "-S", "-o", "-", str(tmp_path / "steps.c")]
    code = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    products = re.findall(r"^\s*v?f?muls?d?\s.*$", code, re.MULTILINE)
    assert products
    assert not any("(" in line or "[" in line for line in products)


@pytest.mark.parametrize("driver", ["gcc", "clang"])
def test_paths_may_have_spaces_and_non_ascii_letters(driver: str, tmp_path: Path, link: Callable[..., Any]) -> None:
    path = shutil.which(driver)
    if path is None:
        pytest.skip(f"{driver} is not installed on this machine")
    folder = tmp_path / "ein Ordner ü"
    folder.mkdir()
    compiler = folder / f"mein {driver}"
    compiler.symlink_to(path)
    (folder / "own.h").write_text("#define OWN 1\n")
    x = tt.dvector("x")
    flags = f"-I'{folder}' -include own.h"
    with config.change_flags(cxx=str(compiler), base_compiledir=str(folder / "kept"), gcc__cxxflags=flags):
        program = link([x], [tt.exp(x) + 14])
    np.testing.assert_allclose(program(np.ones(5))[0], np.e + 14)
    assert list((folder / "kept").rglob("*.so"))


def test_another_processor_or_c_library_is_another_key() -> None:
    toolchain = find_toolchain()
    assert isinstance(toolchain, Toolchain)
    text = "int x;"
    other = Toolchain(toolchain.driver, toolchain.identity, toolchain.flags, toolchain.libraries, "another one")
    moved = toolchain.extended([], ["-lmine"])
    assert len({toolchain.key(text), other.key(text), moved.key(text), toolchain.key("int y;")}) == 4
