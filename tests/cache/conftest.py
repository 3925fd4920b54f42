"""A cache in a folder of its own."""

from pathlib import Path

import pytest

from treadle.cache import Cache


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache", wait=0.05, timeout=60)
