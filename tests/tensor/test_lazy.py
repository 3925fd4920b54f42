"""The tables of names that load late agree with their modules, and `dir` shows them."""

import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import treadle.compile
import treadle.graph
import treadle.rewrite
import treadle.tensor as tt
from tools import names
from treadle.tensor import linalg, random, special

PACKAGES = (tt, linalg, random, special, treadle.compile, treadle.graph, treadle.rewrite)


@pytest.mark.parametrize(("path", "text"), names.texts().items(), ids=lambda x: x.name if isinstance(x, Path) else "")
def test_what_names_are_read_from_is_up_to_date(path: Path, text: str) -> None:
    assert path.read_text(encoding="utf-8") == text, "run ./dev pages"


@pytest.mark.parametrize("package", [tt, linalg], ids=lambda package: package.__name__)
def test_every_exported_name_is_found(package: ModuleType) -> None:
    assert len(set(package.__all__)) == len(package.__all__)
    assert all(hasattr(package, name) for name in package.__all__)


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_dir_lists_public_names_that_exist_and_nothing_internal(package: ModuleType) -> None:
    listed = [name for name in dir(package) if not name.startswith("__")]
    assert [name for name in listed if name.startswith("_")] == []
    assert [name for name in listed if not hasattr(package, name)] == []


def test_dir_of_a_fresh_process_shows_what_nothing_has_loaded_and_loads_nothing() -> None:
    program = (
        "import sys, treadle.tensor as tt; loaded = set(sys.modules); shown = set(dir(tt)); "
        "assert {'softmax', 'exp', 'scan', 'linalg', 'gammainc', 'OpFromGraph'} <= shown; "
        "assert not {'conversion', 'wiring', 'upward', 'names', 'joins'} & shown; "
        "assert {'cholesky', 'Solve'} <= set(dir(tt.linalg)); assert 'normal' in dir(tt.random); "
        "assert 'conv2d' in dir(tt); late = set(sys.modules) - loaded; "
        "print(sorted(name for name in late if name.count('.') > 2 and not name.endswith(('.lazy', '.names'))))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
