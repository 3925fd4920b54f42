"""A compile directory of the tests' own, so that they neither read nor fill the user's; no limits of time."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

_FLAGS = "TREADLE_FLAGS"


def _keep_apart() -> None:
    """Name a folder of the checkout as compile directory, unless one is named already; workers and children share it.

    It stays from one run to the next: what was compiled once is loaded, as it is in use. Fresh runs begin with
    ``git clean -xdf .cache``.
    """
    given = os.environ.get(_FLAGS, "")
    if "compiledir" in given:
        return
    folder = Path(__file__).parent.parent / ".cache" / "tests"
    os.environ[_FLAGS] = f"{given},base_compiledir={folder}".lstrip(",")


_keep_apart()

# How long a test takes says more about what else the machine does than about the test.
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
    """Lower the recursion limit, so that what recurses over 5,000 nodes fails; return whether to take 100,000."""
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
