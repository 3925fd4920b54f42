"""Generated pages are fresh."""

from __future__ import annotations

from tools import lowerings, options, rules


def test_table_of_lowerings_is_up_to_date() -> None:
    assert lowerings.PAGE.read_text(encoding="utf-8") == lowerings.page(), "run python -m tools.lowerings"


def test_page_of_options_is_up_to_date() -> None:
    assert options.PAGE.read_text(encoding="utf-8") == options.page(), "run python -m tools.options"


def test_page_of_rules_is_up_to_date() -> None:
    assert rules.PAGE.read_text(encoding="utf-8") == rules.page(), "run python -m tools.rules"


def test_every_entry_of_the_reference_list_is_mapped() -> None:
    assert len(rules.rows()) == 577
