"""The command ``treadle``."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from treadle import tensor as tt
from treadle.compile.cli import doctor
from treadle.compile.command_line import main
from treadle.config import config


def printed(capsys: pytest.CaptureFixture[str]) -> str:
    return " ".join(capsys.readouterr().out.split())


def test_backends_are_listed_with_their_state(
    acme: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    assert acme
    assert main(["backends"]) == 0
    text = printed(capsys)
    assert "acme │ ACME │ works" in text
    assert "broken │ BROKEN │ its engine is missing" in text
    assert "vm │ VM │ works" in text


def test_options_are_listed_with_value_and_source(capsys: pytest.CaptureFixture[str]) -> None:
    with config.change_flags(optimizer="merge"):
        assert main(["options", "optimizer"]) == 0
    text = printed(capsys)
    assert "optimizer = 'merge' (from change_flags" in text
    assert "linker =" not in text


def test_cache_is_listed_explained_and_cleared(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with config.change_flags(base_compiledir=str(tmp_path)):
        assert main(["cache", "directory"]) == 0
        assert str(tmp_path) in capsys.readouterr().out.replace("\n", "")
        assert main(["cache", "list"]) == 0
        assert printed(capsys).endswith("0 entries, 0 bytes")
        assert main(["cache", "clear"]) == 0
        assert printed(capsys) == "0 entries removed"
        assert main(["cache", "purge"]) == 0
        assert printed(capsys).endswith("files removed")
        assert main(["cache", "explain", "0" * 64]) == 0
        assert printed(capsys) != ""
        assert main(["cache", "explain"]) == 2
        assert "the key of an entry is needed" in capsys.readouterr().err


def test_backends_are_listed_as_json(acme: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["backends", "--json"]) == 0
    rows = {row["backend"]: row for row in json.loads(capsys.readouterr().out)}
    assert acme
    assert rows["acme"] == {"backend": "acme", "mode": "ACME", "state": "works"}
    assert rows["broken"]["state"] == "its engine is missing"


def test_versions_of_all_distributions_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    lines = capsys.readouterr().out.splitlines()
    folders = {folder.name for folder in (Path(__file__).parents[2] / "packages").iterdir() if folder.is_dir()}
    assert {line.partition(" ")[0] for line in lines} == folders
    assert all(line.partition(" ")[2][0].isdigit() for line in lines)


def test_command_is_needed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([])
    assert "a command is needed" in capsys.readouterr().err


def run_in_new_process(*arguments: str, flags: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "ignore", "-m", "treadle.compile", *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, "TREADLE_FLAGS": flags}
    )


@pytest.mark.parametrize("command", ["backends", "config", "cache list", "cache clear", "rewrites list"])
def test_wrong_flag_is_reported_in_one_line_by_every_command(command: str) -> None:
    done = run_in_new_process(*command.split(), flags="nonsense=1")
    assert done.returncode == 2
    text = "option 'nonsense' in TREADLE_FLAGS 'nonsense=1': does not exist. print(config) lists all options."
    assert done.stderr == f"treadle {command.partition(' ')[0]}: {text}\n"


def test_command_runs_as_a_module() -> None:
    done = run_in_new_process("--version", flags="")
    assert done.returncode == 0
    assert done.stdout.startswith("compile ")


def test_command_must_be_known(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["cash"])
    assert "invalid choice: 'cash'" in capsys.readouterr().err


def test_library_is_imported_without_what_only_the_command_needs() -> None:
    heavy = ["rich", "argparse", "scipy"]
    program = f"import sys, treadle.compile, treadle.tensor; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def examined(capsys: pytest.CaptureFixture[str], status: int, *backends: str) -> dict[str, tuple[str, str]]:
    """Return what the doctor finds, by subject."""
    assert main(["doctor", "--json", *backends]) == status
    return {row["subject"]: (row["state"], row["text"]) for row in json.loads(capsys.readouterr().out)}


def test_doctor_tries_every_backend(acme: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert acme
    with config.change_flags(base_compiledir=str(tmp_path)):
        findings = examined(capsys, 0, "broken", "c", "VM")
    assert findings["backend broken"] == ("absent", "its engine is missing")
    assert findings["backend vm"] == ("ok", "mode: VM")
    assert main(["doctor", "nosuch"]) == 2
    assert "no backend has the name 'nosuch'. The installed ones are acme, " in capsys.readouterr().err
    assert findings["backend c"][0] == "ok"
    assert "compiler: " in findings["backend c"][1]
    state, text = findings["compile directory"]
    assert state == "ok"
    assert str(tmp_path) in text


def test_doctor_tells_wrong_values_and_a_directory_that_cannot_be_written(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    x = tt.dvector("x")
    wrong: list[tuple[SelfTest, str]] = [
        (("a sum", [x], [x.sum()], [np.ones(3)], [4.0]), "a sum: got 3.0, not 4.0"),
        (("a cast", [x], [x], ["text"], [0.0]), "a cast: CallError: function: argument 0, x"),
    ]
    for case, text in wrong:
        monkeypatch.setattr(doctor, "discover", lambda _, case=case: {"own": Entry(case)})
        state, told = examined(capsys, 1, "vm")["backend vm"]
        assert state == "fault"
        assert told.startswith(text)
    (tmp_path / "file").write_text("")
    with config.change_flags(base_compiledir=str(tmp_path / "file")):
        state, told = examined(capsys, 1, "vm")["compile directory"]
    assert state == "fault"
    assert "base_compiledir" in told


SelfTest = tuple[str, list[Any], list[Any], list[Any], list[Any]]


class Entry(NamedTuple):
    """An entry point of one case."""

    case: SelfTest

    def load(self) -> Callable[[], list[SelfTest]]:
        return lambda: [self.case]


@pytest.mark.parametrize(
    ("call", "told"),
    [
        ("cash", "treadle: argument COMMAND: invalid choice: 'cash'"),
        ("cache lst", "Did you mean list? See treadle cache --help."),
        ("backends --jsn", "treadle backends: unrecognized arguments: --jsn. Did you mean --json?"),
        ("config --jsno floatX", "Did you mean --json?"),
        ("rewrites show", "treadle rewrites show: the following arguments are required"),
        ("cache list extra", "treadle cache list: unrecognized arguments: extra."),
        ("completion bsh", "Did you mean bash?"),
    ],
)
def test_wrong_call_is_told_in_one_line(call: str, told: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(call.split())
    error = capsys.readouterr().err
    assert (caught.value.code, error.count("\n")) == (2, 1)
    assert told in error


def test_exit_statuses_are_told_by_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    assert "Exit status: 0 if all is well; 1 if" in printed(capsys)


def test_options_are_listed_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    with config.change_flags(optimizer="merge"):
        assert main(["config", "--json", "optimizer"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["optimizer"]["value"] == "merge"
    assert rows["optimizer"]["source"].startswith("change_flags")
    assert all(name.startswith("optimizer") for name in rows)


def test_cache_and_rules_are_listed_as_json(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with config.change_flags(base_compiledir=str(tmp_path)):
        assert main(["cache", "list", "--json"]) == 0
        assert json.loads(capsys.readouterr().out) == []
        assert main(["cache", "verify", "--json"]) == 0
    capsys.readouterr()
    assert main(["rewrites", "list", "--json", "--op", "exp"]) == 0
    assert {"name", "law", "databases", "tags", "place"} == set(json.loads(capsys.readouterr().out)[0])


def test_compile_directory_that_cannot_be_read_is_reported(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with config.change_flags(base_compiledir=str(tmp_path / "file")):
        for action in ("list", "verify", "clear", "purge"):
            assert main(["cache", action]) == 2
            assert "cannot be read (Not a directory). The option base_compiledir" in capsys.readouterr().err


def test_errors_are_explained(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "shapeerror"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("# ShapeError\n")
    assert text.count("Mended:") >= 3
    assert main(["explain"]) == 0
    assert "ShapeError            " in capsys.readouterr().out
    assert main(["explain", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)) > 80
    assert main(["explain", "ShapError"]) == 2
    assert "Did you mean ShapeError" in capsys.readouterr().err


def test_command_runs_as_a_module_of_the_namespace() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "treadle", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("compile ")


def completed(script: str, *words: str) -> list[str]:
    """Return what bash completes words to."""
    typed = " ".join(f"'{word}'" for word in words)
    program = f'{script}\nCOMP_WORDS=({typed}); COMP_CWORD={len(words) - 1}; _treadle; echo "${{COMPREPLY[@]}}"'
    done = subprocess.run(["bash", "-c", program], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_bash_completes_commands_options_and_names(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "bash"]) == 0
    script = capsys.readouterr().out
    assert completed(script, "treadle", "ca") == ["cache"]
    assert completed(script, "treadle", "cache", "li") == ["list"]
    assert completed(script, "treadle", "cache", "list", "--j") == ["--json"]
    assert completed(script, "treadle", "explain", "ShapeE") == ["ShapeError"]
    assert completed(script, "treadle", "options", "floa") == ["floatX"]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_get_a_script_with_every_command(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert all(f'"treadle {words}"' in script for words in ("cache", "cache list", "rewrites why", "explain"))
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=script, text=True, check=True)
