"""Every package knows the version of its distribution, at no cost until it is asked for."""

import subprocess
import sys
from importlib import import_module
from importlib.metadata import version

import pytest

from tests.repo.tree import distributions
from tools import paths

# Distributions that only provide documented paths of names defined elsewhere have no version of their own.
PACKAGES = [(module, item.name) for item in distributions() for module in item.packages if module not in paths.table()]


@pytest.mark.parametrize(("module", "distribution"), PACKAGES)
def test_package_knows_its_version(module: str, distribution: str) -> None:
    assert import_module(module).__version__ == version(distribution)


def test_version_is_not_looked_up_at_import() -> None:
    looked_up = "['__version__' in vars(m) for m in (treadle.graph, treadle.config)]"
    program = f"import treadle.graph, treadle.config; print(*{looked_up})"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False False\n"
