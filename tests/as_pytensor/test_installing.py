"""Taking PyTensor's place in a process, and giving it back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.as_pytensor.processes import printed

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """A folder with a package pytensor that is not treadle's."""
    (tmp_path / "pytensor").mkdir()
    (tmp_path / "pytensor" / "__init__.py").write_text("REAL = True\n", encoding="utf-8")
    return tmp_path


def test_installed_pytensor_is_not_used_which_a_warning_says_once(other: Path) -> None:
    code = """
import warnings
import treadle.as_pytensor as placed
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    placed.install()
    placed.install()
import pytensor
print(len(caught), caught[0].category.__name__, "not" in str(caught[0].message), hasattr(pytensor, "REAL"))
"""
    assert printed(code, path=other) == "1 AsPyTensorWarning True False\n"


def test_place_is_refused_once_pytensor_itself_is_imported(other: Path) -> None:
    code = """
import pytensor
import treadle.as_pytensor as placed
try:
    placed.install()
except placed.AsPyTensorError as error:
    print(str(error).startswith("as_pytensor.install: pytensor is imported already, from "), placed.is_installed())
"""
    assert printed(code, path=other) == "True False\n"


def test_place_is_given_back_with_the_options(other: Path) -> None:
    code = """
import warnings
warnings.simplefilter("ignore")
import treadle.as_pytensor as placed
from treadle.config import config
names = ("cast_policy", "numpy_functions", "accumulation", "gradient_at_ties", "nondifferentiable",
         "rewrite__unknown_names", "absent_gradients")
before = [getattr(config, name) for name in names]
placed.install()
import pytensor.tensor
from pytensor.tensor.rewriting.math import local_add_canonizer
during = [getattr(config, name) for name in names]
placed.uninstall()
import pytensor
after = [getattr(config, name) for name in names]
from treadle.rewrite import optdb
print(during, before == after, all(a != b for a, b in zip(before, during)), pytensor.REAL, placed.is_installed())
print("local_add_canonizer" in optdb, optdb.changes())
"""
    during = "['custom', 'objects', 'wide', 'first', 'zero', 'ignore', 'disconnected']"
    assert printed(code, path=other) == f"{during} True True True False\nFalse ()\n"


def test_constants_may_stay_exact() -> None:
    code = """
import treadle.as_pytensor as placed
from treadle.config import config
config.as_pytensor__constants = "exact"
placed.install()
import pytensor.tensor as pt
print(pt.log(10).dtype, config.cast_policy)
"""
    assert printed(code) == "float64 numpy\n"


def test_names_of_rules_are_published_with_the_first_import_of_pytensor() -> None:
    code = """
import treadle.as_pytensor as placed
from treadle.rewrite import optdb
placed.install()
print(len(optdb.changes()))
import pytensor
print(len(optdb.changes()))
"""
    assert printed(code) == "0\n1\n"
