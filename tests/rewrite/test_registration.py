"""Registering in databases of every kind, and the results of queries of each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.rewrite.toys import P, add, graph, inc, mul, neg, number, text
from treadle.config import config
from treadle.graph import DuplicateRegistrationError, explicit_graph_inputs
from treadle.rewrite import (
    AmbiguousTagError,
    EquilibriumDB,
    EquilibriumGraphRewriter,
    Phase,
    PhasedDatabase,
    RewriteDatabase,
    RewriteDatabaseQuery,
    RewriterTypeError,
    RuleDefinitionError,
    RuleSet,
    SequenceDB,
    SequentialGraphRewriter,
    UnknownTagError,
    optdb,
    rewrite_graph,
)
from treadle.surface.rewriters import (
    LocalGroupDB,
    ProxyDB,
    SequentialNodeRewriter,
    TopoDB,
    WalkingGraphRewriter,
    graph_rewriter,
    in2out,
    node_rewriter,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from treadle.graph import Apply, FunctionGraph, Variable


def rule(name: str, old: Any = neg, new: Any = inc) -> Any:
    """Return a rewriter of nodes that replaces one op by another."""

    @node_rewriter([old], depth=1)
    def swap(_fgraph: FunctionGraph, node: Apply) -> list[Variable]:
        """Swap two ops."""
        return [new(*node.inputs)]

    swap.name = name
    return swap


def whole(seen: list[str], name: str) -> Any:
    """Return a rewriter of whole graphs that records that it ran."""

    @graph_rewriter
    def note(_fgraph: FunctionGraph) -> None:
        """Nothing -> nothing."""
        seen.append(name)

    return note


def run(database: RewriteDatabase, *query: Any, var: Variable | None = None) -> str:
    wanted = neg(number("a")) if var is None else var
    fg = graph(list(explicit_graph_inputs([wanted])), wanted)
    database.query(*query).rewrite(fg)
    return text(fg.outputs[0])


# Names, tags, classes


def test_member_is_found_by_name_tag_and_class_name() -> None:
    database = EquilibriumDB()
    swap = rule("swap")
    database.register("swap", swap, "mine")
    for tag in ("swap", "mine", "FromFunctionNodeRewriter"):
        assert tag in database
        assert database[tag] is swap
    assert "other" not in database
    assert len(database) == 1
    assert list(database) == [swap]


def test_name_of_the_database_is_a_tag_of_its_members_unless_refused() -> None:
    outer, inner = SequenceDB(), EquilibriumDB()
    outer.register("inner", inner, "fast_run")
    inner.register("first", rule("first"))
    inner.register("second", rule("second", inc, neg), use_db_name_as_tag=False)
    assert [r.name for r in inner.select("inner")] == ["first"]


def test_member_without_the_name_and_an_ambiguous_tag_are_errors() -> None:
    database = EquilibriumDB()
    database.register("first", rule("first"), "both")
    database.register("second", rule("second", inc, neg), "both")
    with pytest.raises(UnknownTagError, match=r"no member has the name or tag 'frist'\. Did you mean first"):
        database["frist"]
    with pytest.raises(KeyError):
        database["frist"]
    with pytest.raises(AmbiguousTagError, match="several members carry the tag 'both': first, second"):
        database["both"]


def test_object_that_is_not_a_rewriter_is_refused() -> None:
    with pytest.raises(RewriterTypeError, match="a rewriter or a database is needed, got 3"):
        EquilibriumDB().register("three", 3)  # type: ignore[arg-type]  # what is tested
    with pytest.raises(TypeError, match="a name is a string, got 5"):
        EquilibriumDB().register(5, rule("x"))  # type: ignore[arg-type]  # what is tested


def test_tags_can_be_added_and_removed() -> None:
    database = EquilibriumDB()
    database.register("swap", rule("swap"), "old")
    database.add_tags("swap", "new")
    database.remove_tags("swap", "old", "swap")
    assert [r.name for r in database.select("new")] == ["swap"]
    assert "old" not in database
    assert "swap" in database
    with pytest.raises(UnknownTagError):
        database.select("old")


# Refused registrations leave everything as it was


def state(database: RewriteDatabase) -> Any:
    return [(e.name, e.member, e.tags, e.traits) for e in database.entries()], database.tags


@pytest.mark.parametrize(
    ("name", "tags", "options", "error", "message"),
    [
        ("taken", (), {}, DuplicateRegistrationError, r"'taken': the name is taken, registered at test_registration"),
        ("tag", (), {}, ValueError, "the tag 'tag' is already present in the database, carried by 'taken'"),
        ("fresh", ("taken",), {}, ValueError, "the tag 'taken' collides with an existing name"),
        ("fresh", (7,), {}, TypeError, "tags are strings, got 7"),
        ("fresh", ("ok",), {"position": "first"}, TypeError, "the position must be a number or 'last', got 'first'"),
        ("fresh", ("ok",), {"position": float("nan")}, TypeError, "position must be a number"),
        ("fresh", ("ok",), {"position": True}, TypeError, "position must be a number"),
    ],
)
def test_refused_registration_leaves_the_database_as_it_was(
    name: str, tags: Any, options: dict[str, Any], error: type[Exception], message: str
) -> None:
    database = SequenceDB()
    database.register("taken", in2out(rule("taken")), "tag")
    before = state(database)
    with pytest.raises(error, match=message):
        database.register(name, in2out(rule("other")), *tags, **options)
    assert state(database) == before
    assert run(database, "tag") == "inc(a)"
    assert ("fresh" in database, "ok" in database) == (False, False)


def test_taken_name_names_both_places() -> None:
    database = EquilibriumDB()
    database.register("swap", rule("swap"))
    with pytest.raises(
        DuplicateRegistrationError, match=r"registered at test_registration\.py:\d+ and again at test_registration\.py"
    ):
        database.register("swap", rule("swap"))


@pytest.mark.parametrize("word", ["replace", "overwrite_existing"])
def test_taken_name_may_be_replaced_when_asked(word: str) -> None:
    database = EquilibriumDB()
    database.register("swap", rule("swap"), "old")
    database.register("swap", rule("swap", neg, lambda x: mul(x, 2)), "new", **{word: True})
    assert "old" not in database
    assert run(database, "new") == "mul(a, 2)"
    assert len(database) == 1


def test_one_id_means_one_rule_in_all_databases_around() -> None:
    database = PhasedDatabase([])
    database["canonicalize"].register("swap", rule("swap"), "fast_run")
    with pytest.raises(DuplicateRegistrationError, match="'swap': another rule has this id"):
        database["stabilize"].register("swap", rule("other"), "fast_run")
    same = database["canonicalize"]["swap"]
    database["stabilize"].register("swap", same, "fast_run")
    assert database["stabilize"]["swap"] is same


def test_an_id_is_asked_of_each_database_once_however_many_rules_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    database = PhasedDatabase([])
    for i in range(50):
        database["canonicalize"].register(f"rule{i}", rule(f"rule{i}"), "fast_run")
    asked: list[RewriteDatabase] = []
    own = RewriteDatabase._registered

    def registered(self: RewriteDatabase, name: str) -> object:
        asked.append(self)
        return own(self, name)

    monkeypatch.setattr(RewriteDatabase, "_registered", registered)
    monkeypatch.setattr(RewriteDatabase, "entries", None)
    database["stabilize"].register("another", rule("another"), "fast_run")
    # The database of all phases, and those of the other phases.
    assert len(asked) == len({id(one) for one in asked}) == len(Phase)


def test_id_is_refused_in_a_database_that_was_registered_inside_another_later() -> None:
    outer, inner = EquilibriumDB(), EquilibriumDB()
    inner.register("swap", rule("swap"), "fast_run")
    outer.register("inner", inner)
    beside = EquilibriumDB()
    outer.register("beside", beside)
    with pytest.raises(DuplicateRegistrationError, match="'swap': another rule has this id"):
        beside.register("swap", rule("other"), "fast_run")
    outer.register("inner", rule("inner"), replace=True)
    beside.register("swap", rule("other"), "fast_run")


def test_rewriter_under_two_names_is_reported_by_the_one_that_ran() -> None:
    one = rule("swap")
    database = EquilibriumDB()
    database.register("first", one, "a")
    database.register("second", one, "b")
    a = number("a")
    assert database.query("a").rewrite(graph([a], neg(a))).fired() == ("first",)
    assert database.query("b").rewrite(graph([a], neg(a))).fired() == ("second",)


# Kinds of databases


def test_equilibrium_runs_to_a_fixed_point() -> None:
    database = EquilibriumDB()
    database.register("to_inc", rule("to_inc"), "run")
    database.register("to_mul", rule("to_mul", inc, lambda x: mul(x, 2)), "run")
    assert isinstance(database.query("run"), EquilibriumGraphRewriter)
    assert run(database, "run") == "mul(a, 2)"


def test_equilibrium_runs_final_rewriters_after_the_others_and_cleanup_after_each() -> None:
    seen: list[str] = []
    database = EquilibriumDB()

    @graph_rewriter
    def last(fgraph: FunctionGraph) -> None:
        """inc(x) -> x * 3."""
        seen.append("final")
        for node in fgraph.toposort():
            if node.op == inc:
                fgraph.replace(node.outputs[0], mul(node.inputs[0], 3))

    database.register("swap", rule("swap"), "run")
    database.register("last", last, "run", final_rewriter=True)
    database.register("clean", whole(seen, "cleanup"), "run", cleanup=True)
    assert run(database, "run") == "mul(a, 3)"
    assert seen[:3] == ["cleanup", "final", "cleanup"]


def test_final_and_cleanup_exclude_each_other_and_rewriters_of_nodes() -> None:
    database = EquilibriumDB()
    with pytest.raises(ValueError, match="either final_rewriter or cleanup"):
        database.register("x", whole([], "x"), final_rewriter=True, cleanup=True)
    with pytest.raises(RewriterTypeError, match="is one of whole graphs"):
        database.register("x", rule("x"), final_rewriter=True)
    assert len(database) == 0


def test_sequence_runs_by_position_then_name() -> None:
    seen: list[str] = []
    database = SequenceDB()
    for name, position in (("b", 2), ("late", "last"), ("a", 2), ("early", -1.5), ("mid", 1.7)):
        database.register(name, whole(seen, name), "run", position=position)
    database.query("run").rewrite(a_graph())
    assert seen == ["early", "mid", "a", "b", "late"]
    assert database.position("late") == 3.0


def a_graph() -> FunctionGraph:
    a = number("a")
    return graph([a], neg(a))


def test_position_of_the_first_member_is_zero() -> None:
    database = SequenceDB()
    database.register("one", whole([], "one"))
    assert database.position("one") == 0.0


def test_sequence_refuses_a_rewriter_of_nodes() -> None:
    with pytest.raises(RewriterTypeError, match="Wrap it in in2out"):
        SequenceDB().register("x", rule("x"), position=1)


@pytest.mark.parametrize(("cutoff", "expected"), [(0, []), (1, ["zero"]), (1.5, ["zero", "one"]), (None, None)])
def test_position_cutoff_of_a_query_holds_zero_too(cutoff: float | None, expected: list[str] | None) -> None:
    seen: list[str] = []
    database = SequenceDB()
    for position, name in enumerate(("zero", "one", "two")):
        database.register(name, whole(seen, name), "run", position=position)
    database.query(RewriteDatabaseQuery(["run"], position_cutoff=cutoff)).rewrite(a_graph())
    assert seen == (["zero", "one", "two"] if expected is None else expected)


def test_position_cutoff_is_read_from_the_option_unless_the_query_says_it() -> None:
    seen: list[str] = []
    database = SequenceDB()
    for position, name in enumerate(("zero", "one")):
        database.register(name, whole(seen, name), "run", position=position)
    with config.change_flags(optdb__position_cutoff=1.0):
        database.query("run").rewrite(a_graph())
        assert seen == ["zero"]
        database.query(RewriteDatabaseQuery(["run"], position_cutoff=5)).rewrite(a_graph())
    database.query("run").rewrite(a_graph())
    assert seen == ["zero", "zero", "one", "zero", "one"]


def test_local_group_takes_the_first_that_changes_something() -> None:
    database = LocalGroupDB()
    database.register("first", rule("first", inc, neg), "run")
    database.register("second", rule("second"), "run")
    rewriter = database.query("run")
    assert isinstance(rewriter, SequentialNodeRewriter)
    a = number("a")
    fg = graph([a], neg(a))
    in2out(rewriter, ignore_newtrees=True).rewrite(fg)
    assert text(fg.outputs[0]) == "inc(a)"
    with pytest.raises(RewriterTypeError, match="rewrite nodes"):
        database.register("whole", whole([], "x"))


def test_local_group_may_go_on_with_what_it_made() -> None:
    database = LocalGroupDB(apply_all_rewrites=True)
    database.register("first", rule("first"), "run")
    database.register("second", rule("second", inc, lambda x: mul(x, 2)), "run")
    a = number("a")
    fg = graph([a], neg(a))
    in2out(database.query("run"), ignore_newtrees=True).rewrite(fg)
    assert text(fg.outputs[0]) == "mul(a, 2)"


def test_topo_database_walks_over_the_graph() -> None:
    database = TopoDB(LocalGroupDB(), order="out_to_in", ignore_newtrees=True)
    database.register("swap", rule("swap"), "run")
    rewriter = database.query("run")
    assert isinstance(rewriter, WalkingGraphRewriter)
    assert (rewriter.order, "swap" in database, database["swap"].name) == ("out_to_in", True, "swap")
    outer = SequenceDB()
    outer.register("topo", database, "run", position=1)
    a = number("a")
    assert run(outer, "run", var=neg(neg(a))) == "inc(inc(a))"


def test_proxy_answers_as_the_database_it_stands_for() -> None:
    inner = EquilibriumDB()
    inner.register("swap", rule("swap"), "run")
    outer = SequenceDB()
    outer.register("inner", inner, "run", position=0)
    outer.register("again", ProxyDB(inner), "run", position=1)
    rewriter = outer.query("run")
    assert isinstance(rewriter, SequentialGraphRewriter)
    assert len(rewriter) == 2
    inner.register("more", rule("more", inc, lambda x: mul(x, 2)), "run")
    assert run(outer, "run") == "mul(a, 2)"
    with pytest.raises(RewriterTypeError, match="a database to stand for"):
        ProxyDB(3)  # type: ignore[arg-type]  # what is tested


# Queries


def nested() -> SequenceDB:
    outer, inner = SequenceDB(), EquilibriumDB()
    outer.register("inner", inner, "all", position=1)
    inner.register("to_inc", rule("to_inc"), "all", "a")
    inner.register("to_mul", rule("to_mul", inc, lambda x: mul(x, 2)), "all", "b")
    return outer


def test_require_keeps_what_carries_all_tags() -> None:
    assert run(nested(), "+all", "&a") == "inc(a)"
    assert run(nested(), RewriteDatabaseQuery(["all"], require=["a", "b"])) == "neg(a)"
    assert run(nested(), RewriteDatabaseQuery(["all"]).requiring("b")) == "neg(a)"
    assert run(nested(), "all", "-a") == "neg(a)"
    assert run(nested(), "a") == "inc(a)"
    assert run(nested(), "to_inc") == "inc(a)"


def test_excluded_database_is_left_out_with_its_members() -> None:
    assert run(nested(), "+all", "-inner") == "neg(a)"
    assert run(nested(), "+all", "-EquilibriumDB") == "neg(a)"


def test_subquery_takes_the_place_of_the_query_in_its_database() -> None:
    only_a = RewriteDatabaseQuery(["a"])
    assert run(nested(), RewriteDatabaseQuery(["all"], subquery={"inner": only_a})) == "inc(a)"
    assert run(nested(), RewriteDatabaseQuery(["all"])) == "mul(a, 2)"
    a = number("a")
    fg = graph([a], neg(a))
    nested().query("+all", inner=only_a).rewrite(fg)
    assert text(fg.outputs[0]) == "inc(a)"
    assert run(nested(), RewriteDatabaseQuery(["a"], subquery={"inner": only_a})) == "neg(a)"


def test_extra_rewrites_run_at_their_position() -> None:
    seen: list[str] = []
    query = RewriteDatabaseQuery(["all"]).register((whole(seen, "last"), "last"), (whole(seen, "first"), 0))
    assert run(nested(), query) == "mul(a, 2)"
    assert seen == ["first", "last"]
    with pytest.raises(RewriterTypeError, match=r"a pair \(GraphRewriter, position\)"):
        RewriteDatabaseQuery(["all"], extra_rewrites=[rule("x")])


def test_unknown_tag_is_refused_and_not_created() -> None:
    database = nested()
    for query in (("nosuch",), ("all", "-nosuch"), ("all", "&nosuch")):
        with pytest.raises(UnknownTagError, match="no rule carries the tag 'nosuch'"):
            database.query(*query)
    assert "nosuch" not in database
    assert "nosuch" not in database.tags
    database["inner"].register("nosuch", rule("nosuch", add, add), "all")
    assert "nosuch" in database.tags


def test_tags_of_databases_around_are_known_inside() -> None:
    database = nested()
    database.register("other", whole([], "x"), "elsewhere", position=3)
    assert [r.name for r in database["inner"].select("all", "-elsewhere")] == ["to_inc", "to_mul"]


@pytest.mark.parametrize("wrong", ["%a", "++a", "", "+", "- a"])
def test_tag_with_another_sign_is_refused(wrong: str) -> None:
    with pytest.raises(ValueError, match="a tag may have one of the signs"):
        nested().query(wrong)


def test_query_with_anything_beside_it_is_refused() -> None:
    for more in (("-a",), (RewriteDatabaseQuery(["a"]),)):
        with pytest.raises(TypeError, match="give one RewriteDatabaseQuery"):
            nested().query(RewriteDatabaseQuery(["all"]), *more)
    with pytest.raises(TypeError, match="give one RewriteDatabaseQuery"):
        nested().query(RewriteDatabaseQuery(["all"]), inner=RewriteDatabaseQuery(["a"]))
    with pytest.raises(TypeError, match="give one RewriteDatabaseQuery"):
        nested().query(3)  # type: ignore[arg-type]  # what is tested


def test_query_never_changes_and_compares_by_its_parts() -> None:
    query = RewriteDatabaseQuery(["a"], ["b"], ["c"], {"inner": RewriteDatabaseQuery(["d"])}, 3)
    assert query == RewriteDatabaseQuery(["a"], ["b"], ["c"], {"inner": RewriteDatabaseQuery(["d"])}, 3.0)
    assert query != query.including("x")
    assert hash(query) == hash(query.including("a"))
    assert query.excluding("e").position_cutoff == 3
    assert query.requiring("f").subquery == query.subquery
    with pytest.raises(AttributeError, match="never changes"):
        query.include = frozenset()
    with pytest.raises(AttributeError, match="never changes"):
        del query.include
    assert str(query) == "+a &b -c"


def test_same_query_gives_the_same_rewriter_until_something_is_registered() -> None:
    database = nested()
    first = database.query("all")
    assert database.query("+all") is first
    database["inner"].register("more", rule("more", mul, add), "all")
    assert database.query("all") is not first
    assert run(database, "all") == "add(a, 2)"


def test_groups_inside_an_equilibrium_take_part_in_it() -> None:
    database, group = EquilibriumDB(), LocalGroupDB()
    group.register("to_inc", rule("to_inc"), "run")
    database.register("group", group, "run")
    database.register("to_mul", rule("to_mul", inc, lambda x: mul(x, 2)), "run")
    a = number("a")
    report = database.query("run").rewrite(graph([a], neg(a)))
    assert report.fired() == ("to_inc", "to_mul")


# The default database


@pytest.fixture
def registered() -> Iterator[list[tuple[Any, str]]]:
    """Yield a list of (database, name) to take out of the default database afterwards."""
    done: list[tuple[Any, str]] = []
    yield done
    for database, name in done:
        del database._entries[name]
        database._changed()


def test_default_database_has_the_documented_databases_in_order() -> None:
    names = ("inline", "merge", "useless", "canonicalize", "stabilize", "BlasOpt", "specialize", "uncanonicalize")
    positions = [optdb.position(name) for name in (*names, "fusion", "inplace")]
    assert positions == [-0.01, 0, 0.6, 1, 1.5, 1.7, 2, 3, 49, 50]
    assert isinstance(optdb["canonicalize"], EquilibriumDB)
    assert isinstance(optdb["fusion"], SequenceDB)


def test_rules_of_rule_sets_are_members() -> None:
    rules = RuleSet("toys")
    rules.law("twice", neg(neg(P("x"))), P("x"), phase=(Phase.CANONICALIZE, Phase.SPECIALIZE))
    database = PhasedDatabase([rules])
    assert database["canonicalize"]["twice"] is rules["twice"]
    assert database["specialize"]["twice"] is rules["twice"]
    assert "twice" not in database["stabilize"]
    assert database["twice"] is rules["twice"]
    assert "constant_folding" in optdb["specialize"]


def test_registered_rules_and_passes_take_effect_in_the_next_query(registered: list[tuple[Any, str]]) -> None:
    a = number("a")
    assert text(rewrite_graph(neg(a), include=("fast_run",), clone=True)) == "neg(a)"
    optdb["canonicalize"].register("tests_swap", rule("tests_swap"), "fast_run")
    registered.append((optdb["canonicalize"], "tests_swap"))
    assert text(rewrite_graph(neg(a), include=("fast_run",), clone=True)) == "inc(a)"
    seen: list[str] = []
    optdb.register("tests_pass", whole(seen, "pass"), "fast_run", position=1.7)
    registered.append((optdb, "tests_pass"))
    assert text(rewrite_graph(neg(a), include=("fast_run",), exclude=("tests_swap",), clone=True)) == "neg(a)"
    assert seen == ["pass"]


def test_rule_set_may_be_added_later_and_clashes_are_refused() -> None:
    first, second = RuleSet("first"), RuleSet("second")
    first.law("twice", neg(neg(P("x"))), P("x"), phase=Phase.CANONICALIZE)
    second.law("twice", inc(neg(P("x"))), P("x"), phase=Phase.STABILIZE)
    database = PhasedDatabase([first])
    with pytest.raises(DuplicateRegistrationError, match=r"'twice'.*test_registration\.py:\d+.*test_registration"):
        database.add(second)
    third = RuleSet("third")
    third.law("other", inc(neg(P("x"))), P("x"), phase=Phase.STABILIZE, after=("twice",))
    database.add(third)
    assert {rule.name for rule in database.leaves()} == {"twice", "other"}


def test_definition_errors_are_value_errors_and_type_errors_are_type_errors() -> None:
    assert issubclass(RuleDefinitionError, ValueError)
    assert issubclass(RewriterTypeError, TypeError)
    assert issubclass(UnknownTagError, KeyError)
