"""The array API standard's own suite; `./dev array-api SUITE` runs it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tools.array_api import LENGTHS, exceptions, run

pytestmark = pytest.mark.array_api


@pytest.mark.parametrize("lengths", LENGTHS)
def test_the_suite_passes_but_for_the_exceptions(lengths: str) -> None:
    suite = os.environ.get("ARRAY_API_SUITE")
    assert suite, "ARRAY_API_SUITE must name a checkout of data-apis/array-api-tests"
    outcome = run(Path(suite), lengths, int(os.environ.get("ARRAY_API_EXAMPLES", "30")))
    assert outcome.tests
    assert outcome.unexpected(exceptions()) == []
