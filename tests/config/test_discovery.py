"""Entry points: found without imports, loaded lazily, claimed once."""

import math
import os
import sys
import threading
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from treadle.config import (
    Config,
    DiscoveryError,
    EntryPointLoadError,
    OptionDefinitionError,
    OptionWarning,
    lazy_names,
)
from treadle.config.discovery import EntryPointTable, discover, installed_version


def install(folder: Path, distribution: str, entry_points: str, version: str = "1.0") -> None:
    info = folder / f"{distribution}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "entry_points.txt").write_text(entry_points)


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "packages"
    folder.mkdir()
    monkeypatch.setattr(sys, "path", [str(folder), str(tmp_path / "missing"), *sys.path])
    return folder


def test_entry_points_come_in_name_order_with_their_distribution(path: Path) -> None:
    install(path, "zeta_pack", "[demo.group]\nb = os.path:join\n# note\n[other]\nc = os\n")
    install(path, "alpha", "[demo.group]\nc=os : sep [extra]\na = os\n")
    references = discover("demo.group")
    assert [(ref.name, ref.distribution) for ref in references.values()] == [
        ("a", "alpha"),
        ("b", "zeta-pack"),
        ("c", "alpha"),
    ]
    assert references["b"].load() is os.path.join
    assert references["a"].load() is os


def test_second_claim_to_a_name_names_both_distributions(path: Path) -> None:
    install(path, "one", "[demo.group]\na = os\n")
    install(path, "two", "[demo.group]\na = sys\n")
    with pytest.raises(DiscoveryError, match=r"claimed by two distributions, one \(os\) and two \(sys\)"):
        discover("demo.group")


def test_first_distribution_of_a_name_on_the_path_counts(path: Path, tmp_path: Path) -> None:
    install(path, "one", "[demo.group]\na = os\n")
    install(tmp_path / "later", "One", "[demo.group]\na = sys\n", version="2.0")
    sys.path.insert(1, str(tmp_path / "later"))
    assert discover("demo.group")["a"].value == "os"
    assert installed_version("one") == "1.0"
    assert installed_version("no-such-distribution") is None


def test_table_is_read_again_only_when_a_folder_changes(path: Path) -> None:
    table = EntryPointTable()
    assert table.discover("demo.group") == {}
    table.discover("other.group")
    assert table.scans == 1
    install(path, "one", "[demo.group]\na = os\n")
    os.utime(path, ns=(1, 1))  # clocks of file systems are coarse
    assert list(table.discover("demo.group")) == ["a"]
    assert table.scans == 2


def test_other_files_in_a_folder_on_the_path_change_nothing(path: Path) -> None:
    install(path, "one", "[demo.group]\na = os\n")
    table = EntryPointTable()
    assert list(table.discover("demo.group")) == ["a"]
    (path / "results.csv").write_text("1, 2\n")
    os.utime(path, ns=(1, 1))
    assert list(table.discover("demo.group")) == ["a"]
    assert table.scans == 1
    # An installer replaces the folder of a distribution, if only by an equal one.
    (path / "one-1.0.dist-info" / "entry_points.txt").write_text("[demo.group]\nb = os\n")
    os.utime(path, ns=(2, 2))
    assert list(table.discover("demo.group")) == ["b"]


def test_frozen_block_looks_once_and_again_when_the_path_changes(path: Path, tmp_path: Path) -> None:
    table = EntryPointTable()
    with table.frozen():
        assert table.discover("demo.group") == {}
        install(path, "one", "[demo.group]\na = os\n")
        os.utime(path, ns=(1, 1))
        assert table.discover("demo.group") == {}
        install(tmp_path / "later", "two", "[demo.group]\nb = os\n")
        sys.path.insert(1, str(tmp_path / "later"))
        assert list(table.discover("demo.group")) == ["a", "b"]
    assert list(table.discover("demo.group")) == ["a", "b"]


def test_answer_is_the_callers_own(path: Path) -> None:
    install(path, "one", "[demo.group]\na = os\n")
    discover("demo.group").clear()
    assert list(discover("demo.group")) == ["a"]


@pytest.mark.parametrize("value", ["no_such_module_here:x", "os:no_such_thing"])
def test_entry_point_that_does_not_load_names_its_distribution(path: Path, value: str) -> None:
    install(path, "broken", f"[demo.group]\na = {value}\n")
    with pytest.raises(EntryPointLoadError, match="Reinstall broken"):
        discover("demo.group")["a"].load()


def test_malformed_entry_point_is_an_error(path: Path) -> None:
    install(path, "broken", "[demo.group]\nnonsense\n")
    with pytest.raises(DiscoveryError, match="malformed entry point 'nonsense'"):
        discover("demo.group")


def declare(path: Path, package: str, text: str) -> None:
    (path / package).mkdir()
    (path / package / "__init__.py").write_text("raise RuntimeError('the package must not be imported')\n")
    (path / package / "options.py").write_text(text)
    install(path, package, f"[treadle.options]\n{package} = {package}.options:OPTIONS\n")


GOOD = "from treadle.config import Option\nOPTIONS = (Option.integer('acme__size', default=3, doc='A size.'),)\n"


def test_options_of_a_package_are_found_without_importing_it(path: Path) -> None:
    declare(path, "acme_one", GOOD)
    settings = Config({"TREADLE_FLAGS": "acme__size=4"})
    assert settings.acme__size == 4
    assert next(option for option in settings.options() if option.name == "acme__size").owner == "acme-one"
    assert "acme_one" not in sys.modules


def test_two_packages_cannot_declare_one_option(path: Path) -> None:
    declare(path, "acme_one", GOOD)
    declare(path, "acme_two", GOOD)
    with pytest.raises(OptionDefinitionError, match="declared twice, by acme-one and by acme-two"):
        Config({}).options()


def test_package_whose_options_cannot_be_imported_costs_a_warning(path: Path) -> None:
    declare(path, "acme_one", "import no_such_module_here\n")
    settings = Config({})
    with pytest.warns(OptionWarning, match="Reinstall acme-one"):
        assert settings.compile__wait == 5


def test_declarations_that_are_not_a_tuple_of_options_are_refused(path: Path) -> None:
    declare(path, "acme_one", "OPTIONS = [3]\n")
    with pytest.raises(OptionDefinitionError, match="not a tuple of Option"):
        Config({}).options()


def test_options_module_must_not_read_options(path: Path) -> None:
    declare(path, "acme_one", "from treadle.config import config\nOPTIONS = (config.compile__wait,)\n")
    program = "from treadle.config import config; config.compile__wait"
    import subprocess

    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": str(path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "while the options themselves were being loaded" in done.stderr


# Names that other distributions add to packages.

NAMES = 'NAMES = {"treadle.weft": {"math": "sqrt"}}\n'


def test_names_are_waited_for_while_another_thread_imports_them(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gates = ModuleType("gates")
    begun, goes_on = threading.Event(), threading.Event()
    vars(gates).update(begun=begun, goes_on=goes_on)
    monkeypatch.setitem(sys.modules, "gates", gates)
    (path / "slow_names.py").write_text(f"import gates\ngates.begun.set()\ngates.goes_on.wait(60)\n{NAMES}")
    install(path, "slow", "[treadle.names]\nslow = slow_names:NAMES\n")
    assert discover("treadle.names")["slow"].value == "slow_names:NAMES"
    values: list[object] = []
    importing = threading.Thread(target=lambda: import_module("slow_names"))
    asking = threading.Thread(target=lambda: values.append(lazy_names("treadle.weft", {})("sqrt")))
    importing.start()
    assert begun.wait(60)
    asking.start()
    asking.join(1)  # long enough for an answer that does not wait
    goes_on.set()
    asking.join(60)
    importing.join(60)
    assert values == [math.sqrt]


def test_a_package_may_ask_for_names_while_it_is_imported(path: Path) -> None:
    ask = 'from treadle.config import lazy_names\ntry:\n    lazy_names("treadle.weft", {})("sqrt")\n'
    (path / "early_names.py").write_text(f"{ask}except AttributeError as error:\n    answer = str(error)\n{NAMES}")
    install(path, "early", "[treadle.names]\nearly = early_names:NAMES\n")
    assert "no attribute 'sqrt'" in import_module("early_names").answer
    assert lazy_names("treadle.weft", {})("sqrt") is math.sqrt
