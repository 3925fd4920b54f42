"""Options of the contract tests."""

from collections.abc import Iterator

import pytest

from tests.contract.backends import BACKENDS
from treadle.config import config


@pytest.fixture(autouse=True)
def eager_pytorch() -> Iterator[None]:
    """Run PyTorch without its compiler, which takes seconds for a function: tests that need it turn it on."""
    if "pytorch" not in BACKENDS:
        yield
        return
    with config.change_flags(torch__compile=False):
        yield
