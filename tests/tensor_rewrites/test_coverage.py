"""Every rule fires somewhere in the tests."""

from __future__ import annotations

from tests.tensor_rewrites.coverage import hits


def test_every_rule_and_pass_fires_on_some_case() -> None:
    assert [name for name, count in hits().items() if count == 0] == []
