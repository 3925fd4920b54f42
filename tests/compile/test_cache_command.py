"""``treadle cache``: listing, checking, and explaining why a function was not found."""

import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import treadle.tensor as tt
from treadle.cache import default_cache
from treadle.compile import Function, Mode, function
from treadle.compile.command_line import main
from treadle.compile.stored.programs import FUNCTIONS, LOOKUPS
from treadle.config import config
from treadle.surface.thunks import VMLinker

Say = Callable[..., tuple[int, str]]


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A compile directory of the test's own."""
    FUNCTIONS.forget()
    with config.change_flags(base_compiledir=str(tmp_path)):
        yield default_cache().directory
    FUNCTIONS.forget()


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str], folder: Path, complaints: list[str]) -> Say:
    """Run ``treadle cache`` with arguments; return status and output."""
    del folder

    def run(*arguments: str) -> tuple[int, str]:
        capsys.readouterr()
        status = main(["cache", *arguments])
        out, errors = capsys.readouterr()
        complaints[:] = [errors]
        return status, out

    return run


@pytest.fixture
def complaints() -> list[str]:
    return []


@pytest.fixture
def last_complaint(complaints: list[str]) -> Callable[[], str]:
    """Return the error message of the last command."""
    return lambda: complaints[0]


def make(factor: float = 2.0, name: str = "scaled") -> Function:
    x = tt.dvector("x")
    return function([x], tt.exp(x) * factor, mode="VM", name=name)


def test_list_shows_what_entries_are_for(say: Say) -> None:
    make()
    status, text = say("list")
    assert status == 0
    assert "backend=vm function=scaled nodes=" in text
    assert "1 entries" in text


def test_verify_reports_damage_by_its_exit_status(say: Say, folder: Path) -> None:
    make()
    assert say("verify") == (0, f"{folder}: {say('list')[1].splitlines()[-1].partition(': ')[2]}, 0 damaged\n")
    (entry,) = folder.rglob("*.entry")
    entry.write_bytes(entry.read_bytes()[:-3])
    (folder / entry.parent.name / ".write-left").touch()
    status, text = say("verify")
    assert status == 1
    assert "1 damaged" in text
    assert f"{entry.stem}: damaged" in text
    assert ".write-left: was being written when a process ended" in text
    entry.unlink()
    assert say("verify")[0] == 0  # leftover files do no harm


@pytest.mark.documents("P19")
def test_clear_and_purge_remove_entries(say: Say, folder: Path) -> None:
    make()
    assert say("clear") == (0, "1 entries removed\n")
    FUNCTIONS.forget()
    make()
    assert say("purge")[0] == 0
    assert not folder.exists()


def test_key_is_explained_by_its_parts(say: Say, folder: Path) -> None:
    make()
    (entry,) = folder.rglob("*.entry")
    status, text = say("explain", entry.stem)
    assert status == 0
    assert "A request hits." in text
    assert "option floatX: 'float64'" in text
    assert "code of treadle.tensor: " in text


def test_last_lookup_is_explained_with_what_differs_from_the_nearest_entry(say: Say) -> None:
    make()
    with config.change_flags(floatX="float32"):
        make()
    LOOKUPS.write()
    status, text = say("explain", "--last")
    assert status == 0
    assert "the last function (scaled): a miss, its program was made and kept" in text
    assert "which differs in 1 parts:\n  option floatX: 'float64' there, 'float32' here" in text


def test_last_lookup_says_why_a_function_is_not_kept(say: Say) -> None:
    make()
    state = {"calls": 0}

    def hook(**_: object) -> None:
        state["calls"] += 1

    x = tt.dvector("x")
    function([x], x + 1, mode=Mode(VMLinker(callback=hook), "fast_run"))
    LOOKUPS.write()
    assert "not kept in the cache: compile cache:" in say("explain", "--last")[1]


def test_process_of_which_no_function_has_a_key_is_explained(tmp_path: Path) -> None:
    program = (
        "import treadle.tensor as tt\nfrom treadle.compile import function\nx = tt.dvector('x')\n"
        "function([x], tt.wrap_py([tt.dvector], [tt.dvector])(lambda x: x)(x), name='own')"
    )
    environment = {**os.environ, "TREADLE_FLAGS": f"base_compiledir={tmp_path}"}
    subprocess.run([sys.executable, "-W", "ignore", "-c", program], env=environment, check=True)
    command = (
        "import sys; from treadle.compile.command_line import main; sys.exit(main(['cache', 'explain', '--last']))"
    )
    done = subprocess.run([sys.executable, "-c", command], env=environment, capture_output=True, text=True, check=True)
    assert "the last function (own): not kept in the cache: " in done.stdout
    assert "<lambda>" in done.stdout


def test_without_lookups_there_is_nothing_to_explain(say: Say) -> None:
    assert say("explain", "--last")[0] == 2
    assert say("explain")[0] == 2


def test_pickled_function_is_explained_without_being_made(say: Say, tmp_path: Path) -> None:
    file = tmp_path / "f.pickle"
    file.write_bytes(pickle.dumps(make(3.0)))
    status, text = say("explain", "--trust", str(file))
    assert status == 0
    assert "A request hits." in text
    say("clear")
    FUNCTIONS.forget()
    make(4.0)
    before = FUNCTIONS.counts
    status, text = say("explain", "--trust", str(file))
    assert FUNCTIONS.counts == before
    assert "It was never made under this key" in text
    assert "\n  graph: " in text


def test_file_is_not_read_unless_it_is_trusted(say: Say, last_complaint: Callable[[], str], tmp_path: Path) -> None:
    file = tmp_path / "f.pickle"
    file.write_bytes(pickle.dumps(make(3.0)))
    assert say("explain", str(file)) == (2, "")
    assert "is read with --trust only: loading it may run any code in it" in last_complaint()


def test_pickle_of_something_else_is_not_run(say: Say, tmp_path: Path) -> None:
    class Evil:
        def __reduce__(self) -> tuple[object, ...]:
            return os.mkdir, (str(tmp_path / "made"),)

    for number, thing in enumerate((Evil(), [Evil()], (Evil(), make()))):
        file = tmp_path / f"evil{number}"
        file.write_bytes(pickle.dumps(thing))
        assert say("explain", "--trust", str(file)) == (2, "")
    assert not (tmp_path / "made").exists()
    several = tmp_path / "several"
    several.write_bytes(pickle.dumps([make(), make(7.0)]))
    assert say("explain", "--trust", str(several))[0] == 0


def test_file_that_holds_no_function_is_reported(say: Say, last_complaint: Callable[[], str], tmp_path: Path) -> None:
    (tmp_path / "other").write_bytes(pickle.dumps([1, 2]))
    assert say("explain", "--trust", str(tmp_path / "other")) == (2, "")
    assert last_complaint() == f"cache explain: {tmp_path / 'other'} holds no function\n"
    for content in b"no pickle", b"", b"\x80\xff.", b"ctreadle.no_such\nthing\n.":
        (tmp_path / "text").write_bytes(content)
        assert say("explain", "--trust", str(tmp_path / "text"))[0] == 2
    assert say("explain", "--trust", str(tmp_path / "absent"))[0] == 2


def test_command_runs_by_itself_and_reads_what_the_last_process_looked_up(folder: Path, tmp_path: Path) -> None:
    program = (
        "import treadle.tensor as tt\nfrom treadle.compile import function\n"
        "x = tt.dvector('x'); function([x], x + 1, mode='VM', name='other')"
    )
    environment = {**os.environ, "TREADLE_FLAGS": f"base_compiledir={tmp_path}"}
    file = tmp_path / "program.py"
    file.write_text(program)
    subprocess.run([sys.executable, "-W", "ignore", str(file)], env=environment, check=True)
    command = [sys.executable, "-c", "import sys; from treadle.compile.command_line import main; sys.exit(main())"]
    done = subprocess.run(
        [*command, "cache", "explain", "--last"], env=environment, capture_output=True, text=True, check=True
    )
    assert "the last function (other): a miss" in done.stdout
    assert (folder / "last-lookup.json").is_file()
