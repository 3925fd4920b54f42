"""Generated pages are fresh."""

from __future__ import annotations

from tools import documented, lowerings, options, rules


def test_table_of_lowerings_is_up_to_date() -> None:
    assert lowerings.PAGE.read_text(encoding="utf-8") == lowerings.page(), "run python -m tools.lowerings"


def test_page_of_options_is_up_to_date() -> None:
    assert options.PAGE.read_text(encoding="utf-8") == options.page(), "run python -m tools.options"


def test_page_of_rules_is_up_to_date() -> None:
    assert rules.PAGE.read_text(encoding="utf-8") == rules.page(), "run python -m tools.rules"


def test_every_entry_of_the_reference_list_is_mapped() -> None:
    assert len(rules.rows()) == 577


def test_page_of_what_pins_what_is_up_to_date() -> None:
    assert documented.PAGE.read_text(encoding="utf-8") == documented.page(), "run python -m tools.documented"


def test_every_documented_name_and_entry_is_pinned_by_a_test() -> None:
    assert documented.unpinned() == []
    assert [entry.number for entry in documented.entries()] == [
        f"{letter}{number}" for letter, count in (("M", 22), ("P", 22), ("F", 49)) for number in range(1, count + 1)
    ]


def test_no_marker_names_what_is_not_documented() -> None:
    assert documented.unknown() == []
