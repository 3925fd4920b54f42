"""Generated pages are fresh."""

from __future__ import annotations

from tools.lowerings import PAGE, page


def test_table_of_lowerings_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run python -m tools.lowerings"
