"""The database: queries by tag, order of rules, clashes."""

from __future__ import annotations

import pytest

from tests.rewrite.toys import P, graph, inc, neg, number, text
from treadle.config import config
from treadle.graph import DuplicateRegistrationError, FunctionGraph
from treadle.rewrite import (
    Phase,
    PhasedDatabase,
    RewriteDatabaseQuery,
    RewriteWarning,
    RuleDefinitionError,
    RuleSet,
    UnknownTagError,
    default_database,
)

X = P("x")


def rules() -> RuleSet:
    toys = RuleSet("toys", declares=("someday",))
    toys.law("negative_of_negative", neg(neg(X)), X, phase=Phase.CANONICALIZE)
    toys.law("inc_of_negative", inc(neg(X)), neg(X), phase=Phase.SPECIALIZE, tags=("fast_run", "unsafe"))

    @toys.graph_pass(Phase.FUSION, tags=("fast_run", "fusion"))
    def count(fgraph: FunctionGraph) -> int:
        """Nothing -> nothing."""
        return 0 * len(fgraph)

    return toys


def selected(*parts: RewriteDatabaseQuery | str) -> list[str]:
    return [item.name for item in PhasedDatabase([rules()]).select(*parts)]


def test_include_require_and_exclude_combine() -> None:
    everything = ["negative_of_negative", "inc_of_negative", "count"]
    assert selected("fast_run") == everything
    assert selected("fast_compile") == ["negative_of_negative"]
    assert selected("fast_run", "&unsafe") == ["inc_of_negative"]
    assert selected("+fast_run", "-unsafe") == ["negative_of_negative", "count"]
    query = RewriteDatabaseQuery(["fast_run"])
    assert selected(query.excluding("fusion")) == everything[:2]
    assert selected(query.requiring("fusion")) == ["count"]
    assert selected(RewriteDatabaseQuery(["unsafe"]).including("fusion")) == everything[1:]


def test_ids_phases_and_set_names_are_tags() -> None:
    assert selected("negative_of_negative") == ["negative_of_negative"]
    assert selected("specialize") == ["inc_of_negative"]
    assert selected("toys", "-count") == ["negative_of_negative", "inc_of_negative"]


def test_what_is_printed_is_what_is_excluded() -> None:
    a = number("a")
    database = PhasedDatabase([rules()])
    fg = graph([a], neg(neg(a)))
    report = database.query("fast_run").rewrite(fg)
    assert report.fired() == ("negative_of_negative",)
    again = graph([a], neg(neg(a)))
    query = RewriteDatabaseQuery(["fast_run"], exclude=report.fired())
    assert database.query(query).rewrite(again).fired() == ()
    assert text(again.outputs[0]) == "neg(neg(a))"


def test_empty_query_selects_nothing() -> None:
    assert selected(RewriteDatabaseQuery()) == []


def test_unknown_tag_is_refused_with_near_matches() -> None:
    with pytest.raises(UnknownTagError, match=r"'negative_of_negativ'\. Did you mean negative_of_negative"):
        selected("negative_of_negativ")
    with pytest.raises(UnknownTagError, match="fast_run"):
        selected("fast_run", "-fastrun")
    with pytest.raises(UnknownTagError, match="no member has the name or tag 'confusion'"):
        PhasedDatabase([rules()])["confusion"]


def test_unknown_tag_is_warned_about_or_ignored_as_the_option_says() -> None:
    with (
        config.change_flags(rewrite__unknown_names="warn"),
        pytest.warns(RewriteWarning, match="Did you mean fast_run"),
    ):
        assert selected("fast_run", "-fastrun") == selected("fast_run")
    with config.change_flags(rewrite__unknown_names="ignore"):
        assert selected("fast_run", "nonsense") == selected("fast_run")


def test_documented_and_declared_tags_may_be_named_though_no_rule_carries_them() -> None:
    assert selected("fast_run", "-inplace", "-BlasOpt", "-someday") == selected("fast_run")


def test_membership_covers_ids_and_tags() -> None:
    database = PhasedDatabase([rules()])
    assert "count" in database
    assert "unsafe" in database
    assert "nonsense" not in database
    assert {"count", "unsafe", "toys", "fusion"} <= database.tags


def test_two_sets_with_one_id_are_refused_naming_both_places() -> None:
    with pytest.raises(DuplicateRegistrationError, match=r"test_database\.py:\d+ and again at test_database\.py:\d+"):
        PhasedDatabase([rules(), rules()])


def test_query_mixed_with_tags_is_refused() -> None:
    with pytest.raises(RuleDefinitionError, match="give one RewriteDatabaseQuery"):
        selected(RewriteDatabaseQuery(["fast_run"]), "-fusion")


def test_query_of_a_bare_string_is_refused() -> None:
    with pytest.raises(RuleDefinitionError, match="include is a collection of tags, got 'fast_run'"):
        RewriteDatabaseQuery("fast_run")


def test_order_is_that_of_declaration_under_before_and_after() -> None:
    toys = RuleSet("toys")
    toys.law("last", neg(neg(X)), X, after=("middle",))
    toys.law("second", inc(inc(X)), X)
    toys.law("middle", inc(neg(X)), X)
    toys.law("first", neg(inc(X)), X, before=("second", "last"))
    assert PhasedDatabase([toys]).query("toys").rules == ("middle", "first", "last", "second")


def test_contradicting_order_is_refused_naming_the_rules() -> None:
    toys = RuleSet("toys")
    toys.law("a", neg(neg(X)), X, before=("b",))
    toys.law("b", inc(inc(X)), X, before=("a",))
    with pytest.raises(RuleDefinitionError, match="rules a, b: their before and after contradict"):
        PhasedDatabase([toys]).query("toys")


def test_order_by_an_unknown_rule_is_refused() -> None:
    toys = RuleSet("toys")
    toys.law("a", neg(neg(X)), X, before=("nobody",))
    with pytest.raises(RuleDefinitionError, match=r"'a'.* is ordered by 'nobody', which is no rule"):
        PhasedDatabase([toys])


def test_same_query_gives_the_same_rewriter() -> None:
    database = PhasedDatabase([rules()])
    assert database.query("fast_run", "-unsafe") is database.query(
        RewriteDatabaseQuery(["fast_run"], exclude=["unsafe"])
    )


def test_default_database_holds_our_own_rules_and_the_installed_ones() -> None:
    database = default_database()
    assert "merge" in database
    assert "constant_folding" in database
    assert "elementwise_fusion" in database
    assert database is default_database()
