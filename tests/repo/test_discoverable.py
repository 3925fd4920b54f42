"""What completion, `dir` and editors show of the public modules, in a process that has asked for nothing yet."""

from __future__ import annotations

import csv
import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

TABLE = Path(__file__).with_name("public_names.tsv")
# Each module's names that `dir` shows and that rlcompleter offers, and its ``__all__``, which loads what it names.
SURVEY = """
import importlib, json, rlcompleter, sys
shown, offered, exported = {}, {}, {}
paths = json.loads(sys.argv[1])
for path in paths:
    module = importlib.import_module(path)
    shown[path] = [name for name in dir(module) if not name.startswith("__")]
    names, state = set(), 0
    complete = rlcompleter.Completer({"module": module}).complete
    while match := complete("module.", state):
        names.add(match.removeprefix("module.").removesuffix("()").removesuffix("("))
        state += 1
    offered[path] = sorted(names)
print(json.dumps([shown, offered]))
"""
LOADED = "import treadle.tensor as tt, treadle.compile, treadle.scan, sys; "
IPYTHON = """
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.completer import provisionalcompleter
shell = InteractiveShell()
shell.Completer.use_jedi = {jedi}
shell.run_cell("import treadle.tensor as tt, treadle.compile, treadle.scan")
with provisionalcompleter():
    for text in {texts}:
        found = {{c.text.rpartition(".")[2] for c in shell.Completer.completions(text, len(text))}}
        print(text, *sorted(found))
"""
# What a user types, and a name that must be among what is offered.
TYPED = {
    "tt.jac": "jacobian",
    "tt.lin": "linspace",
    "tt.linalg.chol": "cholesky",
    "tt.random.nor": "normal",
    "tt.special.bet": "betainc",
    "tt.optimize.mini": "minimize",
    "treadle.compile.func": "function",
    "treadle.scan.sca": "scan",
}


def public() -> dict[str, set[str]]:
    """Return the names that were public once, by path."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        return {row["path"]: set(row["names"].split()) for row in csv.DictReader(file, delimiter="\t")}


@pytest.fixture(scope="module")
def surveyed() -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    if importlib.util.find_spec("torch") is None:
        pytest.skip("completion loads every name, and those of link-torch need PyTorch")
    command = [sys.executable, "-W", "ignore", "-c", SURVEY, json.dumps(list(public()))]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    shown, offered = json.loads(done.stdout)
    return shown, offered


def test_dir_of_every_public_module_shows_its_public_names(surveyed: tuple[dict[str, list[str]], ...]) -> None:
    lacking = {path: sorted(names - set(surveyed[0][path])) for path, names in public().items()}
    hidden = {path: [name for name in names if not name.startswith("_")] for path, names in lacking.items()}
    assert {path: names for path, names in hidden.items() if names} == {}


def test_dir_shows_nothing_internal(surveyed: tuple[dict[str, list[str]], ...]) -> None:
    # The last three are public in treadle.config, for packages.
    of_packages = {"lazy_names", "versioned_names", "package_folders"}
    internal = {"annotations", "TYPE_CHECKING", "ModuleType", *of_packages}
    for path, names in surveyed[0].items():
        wrong = internal - of_packages if path == "treadle.config" else internal
        assert [name for name in names if name.startswith("_") or name in wrong] == [], path


def test_completion_of_the_plain_prompt_offers_what_dir_shows(surveyed: tuple[dict[str, list[str]], ...]) -> None:
    shown, offered = surveyed
    assert {
        path: sorted(set(shown[path]) - set(names)) for path, names in offered.items() if set(shown[path]) - set(names)
    } == {}


@pytest.mark.parametrize("jedi", [True, False], ids=["jedi", "without jedi"])
def test_completion_of_ipython_offers_names_that_nothing_has_loaded(jedi: bool) -> None:
    pytest.importorskip("IPython")
    program = IPYTHON.format(jedi=jedi, texts=list(TYPED))
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, check=True)
    offered = {words[0]: words[1:] for words in map(str.split, done.stdout.splitlines())}
    assert {text: name for text, name in TYPED.items() if name not in offered[text]} == {}
    assert not [name for names in offered.values() for name in names if name.startswith("_")]
