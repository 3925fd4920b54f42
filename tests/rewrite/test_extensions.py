"""What other packages tag and register in the default database, and queries that name what is not there."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from treadle.config import config
from treadle.rewrite import DefaultDatabase, RewriteDatabaseQuery, RewriterTypeError, UnknownTagError


def tag_folding(database: DefaultDatabase) -> None:
    database["specialize"].add_tags("constant_folding", "folded_by_others")
    database.declare("known_to_others")


@pytest.mark.parametrize("is_filled", [False, True])
def test_extension_tags_rules_now_or_when_the_database_is_filled(is_filled: bool) -> None:
    database = DefaultDatabase()
    if is_filled:
        assert len(database) > 0
    database.extend("folding 1", tag_folding)
    database.extend("folding 1", tag_folding)
    assert database.changes() == ((None, "folding 1"),)
    names = [str(rule) for rule in database.select(RewriteDatabaseQuery(["folded_by_others"]))]
    assert names == ["constant_folding"]
    assert database.select("known_to_others") == []
    assert database.changes() == ((None, "folding 1"),)


@pytest.mark.parametrize("is_filled", [False, True])
def test_extension_is_taken_back_as_its_function_says(is_filled: bool) -> None:
    database = DefaultDatabase()
    if is_filled:
        assert len(database) > 0

    def tag(database: DefaultDatabase) -> Callable[[], None]:
        tag_folding(database)

        def take_back() -> None:
            database["specialize"].remove_tags("constant_folding", "folded_by_others")
            database.retract("known_to_others")

        return take_back

    database.extend("folding 1", tag)
    if is_filled:
        assert "folded_by_others" in database.tags
    database.withdraw("folding 1")
    assert database.tags.isdisjoint({"folded_by_others", "known_to_others"})
    assert database.changes() == ()
    with pytest.raises(UnknownTagError, match="folding 1"):
        database.withdraw("folding 1")


def test_extension_that_cannot_be_taken_back_stays() -> None:
    database = DefaultDatabase()
    database.extend("folding 1", tag_folding)
    assert "folded_by_others" in database.tags
    with pytest.raises(RewriterTypeError, match="folding 1"):
        database.withdraw("folding 1")
    assert database.changes() == ((None, "folding 1"),)


def test_what_a_user_tags_counts_as_a_change_beside_an_extension() -> None:
    database = DefaultDatabase()
    database["specialize"].add_tags("constant_folding", "mine")
    database.extend("folding 1", tag_folding)
    changes = database.changes()
    assert changes[0] == (None, "folding 1")
    assert len(changes) == 2
    assert "mine" in changes[1][1]


def test_unknown_tags_are_refused_or_taken_for_tags_of_no_rule() -> None:
    database = DefaultDatabase()
    with pytest.raises(UnknownTagError, match="no_such_rule"):
        database.select("fast_run", "-no_such_rule")
    with config.change_flags(rewrite__unknown_names="ignore"):
        assert database.select("no_such_rule") == []
        assert database.select("fast_run", "-no_such_rule") == database.select("fast_run")
