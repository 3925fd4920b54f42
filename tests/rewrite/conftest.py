"""Rules that fail are errors in tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from treadle.config import config

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def raising() -> Iterator[None]:
    """Raise what a rule raises."""
    with config.change_flags(on_opt_error="raise"):
        yield
