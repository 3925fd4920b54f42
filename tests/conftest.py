"""A compile directory for each run, no time limits, and large graphs under a low recursion limit."""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

_FLAGS = "TREADLE_FLAGS"


def _fresh_compile_directory() -> str | None:
    """Make an empty compile directory, unless one is named already; workers and child processes share it.

    Runs neither read nor fill the user's, and nothing that an earlier run compiled can make a test pass.
    """
    flags = os.environ.get(_FLAGS, "")
    if "compiledir" in flags:
        return None
    parent = Path(__file__).parent.parent / ".cache"
    parent.mkdir(exist_ok=True)
    folder = tempfile.mkdtemp(prefix="tests-", dir=parent)
    os.environ[_FLAGS] = f"{flags},base_compiledir={folder}".lstrip(",")
    return folder


_OWN_FOLDER = _fresh_compile_directory()


def pytest_unconfigure() -> None:
    """Remove what the run compiled: only the process that made the folder knows its name."""
    if _OWN_FOLDER is not None:
        shutil.rmtree(_OWN_FOLDER, ignore_errors=True)


# The time that a test takes depends more on the load of the machine than on the test.
settings.register_profile("treadle", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("treadle")


# Frames that a walk over a graph may use, however large the graph is.
FRAMES = 250


def _depth() -> int:
    depth, frame = 0, sys._getframe()
    while frame.f_back is not None:
        depth, frame = depth + 1, frame.f_back
    return depth


@pytest.fixture(params=["thousands", pytest.param("hundred_thousand", marks=pytest.mark.slow)])
def huge(request: pytest.FixtureRequest) -> Iterator[bool]:
    """Lower the recursion limit, so that recursion over 5,000 nodes fails; return whether to take 100,000."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(_depth() + FRAMES)
    yield request.param == "hundred_thousand"
    sys.setrecursionlimit(limit)


@pytest.fixture
def length(huge: bool) -> int:
    """Return how many nodes a long chain has."""
    return 100_000 if huge else 5_000


@pytest.fixture
def width(huge: bool) -> int:
    """Return how many inputs a wide node or a wide sum has."""
    return 20_000 if huge else 2_000


@pytest.fixture
def quick_xla() -> Iterator[None]:
    """Let XLA leave out what takes half of its time: most of what makes its programs fast."""
    import jax

    jax.config.update("jax_disable_most_optimizations", True)  # type: ignore[no-untyped-call]
    yield
    jax.config.update("jax_disable_most_optimizations", False)  # type: ignore[no-untyped-call]
