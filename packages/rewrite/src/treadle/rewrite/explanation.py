"""Explanations: which rules there are for an op, which changed a graph, and why one did not apply."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from treadle.config import dataclass, lazy_module
from treadle.graph import Apply, FunctionGraph, Op, Variable, html_comparison
from treadle.rewrite.database import Entry, RewriteDatabase
from treadle.rewrite.default import optdb
from treadle.rewrite.engine.interface import GraphRewriter, NodeRewriter, looks_at
from treadle.rewrite.engine.report import Report
from treadle.rewrite.engine.run import replacements
from treadle.rewrite.engine.tracked import OpClass, Tracked, class_of, class_tracked, is_among, is_tracked, name_of
from treadle.rewrite.errors import RewriterTypeError, UnknownTagError
from treadle.rewrite.pattern import Law
from treadle.rewrite.query import RewriteDatabaseQuery, as_query
from treadle.rewrite.rules import Rule

if TYPE_CHECKING:
    import difflib
    from collections.abc import Iterator, Sequence
else:
    difflib = lazy_module("difflib")


@dataclass(frozen=True, slots=True)
class RuleCard:
    """The description of a rule.

    Attributes
    ----------
    name
        Its id.
    law
        What it says, in one line.
    databases
        Where it is registered: the phases it runs in.
    tags
        By which queries find it.
    tracks
        Names of the ops and classes of ops it looks at; none if it looks at all, or at whole graphs.
    place
        File and line of its declaration.
    text
        Its whole docstring.
    """

    name: str
    law: str
    databases: tuple[str, ...]
    tags: tuple[str, ...]
    tracks: tuple[str, ...]
    place: str
    text: str = ""

    def __str__(self) -> str:
        lines = [
            self.name,
            f"  law        {self.law}",
            f"  runs in    {', '.join(self.databases)}",
            f"  looks at   {', '.join(self.tracks) or 'everything'}",
            f"  tags       {', '.join(self.tags)}",
            f"  declared   {self.place}",
        ]
        if self.text and self.text != self.law:
            lines += ["", *(f"  {line}".rstrip() for line in self.text.splitlines())]
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a rule applied to a node, or did not.

    Attributes
    ----------
    rule
        Id of the rule.
    applied
        Whether it did.
    reason
        The first condition that fails, or where it applied.
    """

    rule: str
    applied: bool
    reason: str

    def __str__(self) -> str:
        return f"{self.rule} {'applied' if self.applied else 'did not apply'}: {self.reason}"


def _registered(database: RewriteDatabase) -> Iterator[tuple[RewriteDatabase, Entry]]:
    """Return every rewriter with the database that it is registered in, in running order."""
    return ((home, entry) for home, entry in database.walk() if not isinstance(entry.member, RewriteDatabase))


def _tracked(rewriter: object) -> Sequence[Tracked]:
    tracked = rewriter.tracks() if isinstance(rewriter, NodeRewriter) else ()
    return () if tracked is None else tracked


def _card(name: str, registrations: Sequence[tuple[RewriteDatabase, Entry]]) -> RuleCard:
    rewriter = registrations[0][1].member
    text = rewriter.law if isinstance(rewriter, Rule) and isinstance(rewriter.apply, Law) else _text(rewriter)
    law = getattr(rewriter, "law", None)
    line = law if isinstance(law, str) else str(law) if law is not None else text.partition("\n")[0]
    tags = sorted({tag for _, entry in registrations for tag in entry.tags} - {name, type(rewriter).__name__})
    return RuleCard(
        name,
        line,
        tuple(dict.fromkeys(database.name or "top" for database, _ in registrations)),
        tuple(tags),
        tuple(map(name_of, _tracked(rewriter))),
        getattr(rewriter, "place", "") or registrations[0][1].place,
        text,
    )


def _text(rewriter: object) -> str:
    function = getattr(rewriter, "apply", None) if isinstance(rewriter, Rule) else getattr(rewriter, "fn", None)
    return inspect.getdoc(function if function is not None else rewriter) or ""


def rules_for(op: object = None, tag: str | None = None, database: RewriteDatabase | None = None) -> list[RuleCard]:
    """Return the rules that look at an op, in the order in which they first run.

    Parameters
    ----------
    op
        An op, a class of ops, a node, a variable (of which the node counts), or a name as printed; all rules if None.
    tag
        Only rules that carry the tag.
    database
        Where they are registered; the default database if None.

    Raises
    ------
    UnknownTagError
        If no rule looks at an op of the name, or carries the tag; the message lists the nearest ones.
    """
    source = optdb if database is None else database
    registrations: dict[str, list[tuple[RewriteDatabase, Entry]]] = {}
    for home, entry in _registered(source):
        registrations.setdefault(entry.name, []).append((home, entry))
    if tag is not None:
        source.check_tags(RewriteDatabaseQuery([tag]))
        registrations = {n: f for n, f in registrations.items() if any(tag in entry.tags for _, entry in f)}
    if op is not None:
        ops = _op_of(op, [entry.member for entries in registrations.values() for _, entry in entries])
        registrations = {n: f for n, f in registrations.items() if any(_concerns(f[0][1].member, item) for item in ops)}
    return [_card(name, entries) for name, entries in registrations.items()]


def _op_of(op: object, rewriters: Sequence[object]) -> list[Tracked]:
    """Return the ops or classes of ops that are meant; several may have one name."""
    if isinstance(op, Variable):
        op = op.owner
    if isinstance(op, Apply):
        op = op.op
    if is_tracked(op):
        return [op]
    names: dict[str, list[Tracked]] = {}
    if isinstance(op, str):
        classes: list[Any] = [Op]
        for kind in classes:
            classes += kind.__subclasses__()
            names.setdefault(kind.__name__.lower(), []).append(kind)
    for item in (item for rewriter in rewriters for item in _tracked(rewriter)):
        names.setdefault(name_of(item).lower(), []).append(item)
    if not isinstance(op, str):
        msg = f"rules: an op, a class of ops, a node, a variable or a name is needed, got {op!r}."
        raise RewriterTypeError(msg)
    if op.lower() not in names:
        near = difflib.get_close_matches(op.lower(), names, n=4, cutoff=0.5)
        hint = f". Did you mean {', '.join(near)}?" if near else "."
        msg = f"rules: no op is called {op!r}{hint}"
        raise UnknownTagError(msg)
    return names[op.lower()]


def _concerns(rewriter: object, op: Tracked) -> bool:
    """Whether a rewriter of nodes looks at an op, or at ops of a class."""
    if not isinstance(rewriter, NodeRewriter):
        return False
    tracked = rewriter.tracks()
    if tracked is None:
        return True
    if isinstance(op, type):
        kind = class_of(op)
        return any(_is_for(kind, item) if not isinstance(item, Op) else isinstance(item, op) for item in tracked)
    return is_among(op, tracked) if isinstance(op, Op) else op in tracked


def _is_for(kind: type, item: Tracked) -> bool:
    """Whether something tracked stands for ops of a class."""
    return item.has(kind) if isinstance(item, OpClass) else issubclass(kind, class_tracked(item))


def show_rewrites(
    graph: object, query: RewriteDatabaseQuery | str = "fast_run", database: RewriteDatabase | None = None
) -> Report:
    """Return the report of which rules changed a graph, in order, with the user's lines.

    Parameters
    ----------
    graph
        A compiled function, whose own report is returned; a variable, a list of variables or a FunctionGraph, of
        which a copy is rewritten, the report keeping the nodes; or a report.
    query
        Which rules run on a copy.
    database
        Where they are found; the default one if None.
    """
    if isinstance(graph, Report):
        return graph
    maker = getattr(graph, "maker", None)
    if maker is not None:
        report: Report = maker.report
        return report
    rewriter: GraphRewriter = (optdb if database is None else database).query(query)
    return rewriter.rewrite(copy_of(graph)[0], keep_nodes=True)


def comparison_page(
    graph: object,
    query: RewriteDatabaseQuery | str = "fast_run",
    database: RewriteDatabase | None = None,
    *,
    title: str | None = None,
) -> str:
    """Return an HTML page that shows a graph before and after rewriting, with the rules that led from one to the other.

    Parameters
    ----------
    graph
        A variable, a list of variables or a FunctionGraph; it stays as it is.
    query, database
        As for `show_rewrites`.
    title
        Title of the page.

    Raises
    ------
    DrawingLibraryError
        If the library that draws is not installed; the message says how to install it.
    """
    rewriter: GraphRewriter = (optdb if database is None else database).query(query)
    fgraph, equiv = copy_of(graph)
    report = rewriter.rewrite(fgraph, keep_nodes=True)
    # The page of the graph before shows its own nodes, not those of the copy that was rewritten.
    own = {copied: node for node, copied in equiv.items()}
    report.firings = [firing._replace(before=own.get(firing.before, firing.before)) for firing in report.firings]
    return html_comparison(graph, fgraph, report, title=title)


def copy_of(graph: object) -> tuple[FunctionGraph, dict[Any, Any]]:
    """Return a copy of a graph, and which of its nodes and variables stands for which."""
    if isinstance(graph, FunctionGraph):
        return graph.clone_get_equiv(attach_feature=False)
    outputs = [graph] if isinstance(graph, Variable) else graph
    if not isinstance(outputs, list | tuple) or not all(isinstance(out, Variable) for out in outputs):
        msg = f"show_rewrites: takes a function, a graph, variables or a report, got {graph!r}."
        raise RewriterTypeError(msg)
    return FunctionGraph(outputs=list(outputs), clone=False).clone_get_equiv(attach_feature=False)


def why_not(
    rule: str,
    node: object,
    query: RewriteDatabaseQuery | str = "fast_run",
    database: RewriteDatabase | None = None,
    graph: object = None,
) -> Explanation:
    """Say why a rule does not apply to a node, by the first condition that fails; or that it does.

    Parameters
    ----------
    rule
        Id of the rule.
    node
        A node, or a variable, of which the node counts.
    query
        Which rules run.
    database
        Where they are found; the default one if None.
    graph
        The variables or the FunctionGraph that the node is part of; what else uses its results counts for some rules.
        The node's own outputs if None.

    Raises
    ------
    UnknownTagError
        If there is no rule of the id; the message lists the nearest ones.
    RewriterTypeError
        If something else than a node is given, or the rule is one of whole graphs.
    """
    source = optdb if database is None else database
    selection = as_query(query)
    target = node.owner if isinstance(node, Variable) else node
    if not isinstance(target, Apply):
        msg = f"why: a node is needed, or a variable that one computes, got {node!r}."
        raise RewriterTypeError(msg)
    context = list(target.outputs) if graph is None else graph
    homes = [(home, entry) for home, entry in _registered(source) if entry.name == rule]
    if not homes:
        msg = f"why: no rule has the id {rule!r}{source.near(rule)}"
        raise UnknownTagError(msg)
    unselected = _unselected(source, homes, selection)
    if unselected is not None:
        return Explanation(rule, False, unselected)
    rewriter = homes[0][1].member
    if not isinstance(rewriter, NodeRewriter):
        return _explain_pass(rule, target, source.query(selection), context)
    if not looks_at(rewriter, target):
        tracked = ", ".join(map(name_of, _tracked(rewriter)))
        return Explanation(rule, False, f"it looks at {tracked}, and the node is {target.op}{target.where()}")
    return _explain_rule(rule, rewriter, target, source.query(selection), context)


def _unselected(
    database: RewriteDatabase, homes: Sequence[tuple[RewriteDatabase, Entry]], query: RewriteDatabaseQuery
) -> str | None:
    """Return why a query does not select a rule, or None if it does."""
    database.check_tags(query)
    if any(entry.member in database.select(query) for _, entry in homes):
        return None
    for home, entry in homes:
        holders = [entry, *(e for e in database.entries() if e.member is home)]
        for item in holders:
            excluded = sorted(item.tags & query.exclude)
            if excluded:
                return f"the query excludes {', '.join(excluded)}, carried by {item.name}"
        missing = sorted(query.require - entry.tags)
        if missing:
            return f"the query requires {', '.join(missing)}, and it carries {', '.join(sorted(entry.tags))}"
    entry = homes[0][1]
    carried = ", ".join(sorted(entry.found_by))
    kind = "carries" if entry.found_by == entry.tags else "is found by no tag but"
    return f"the query includes {', '.join(sorted(query.include)) or 'nothing'}, and it {kind} {carried}"


def _explain_pass(rule: str, target: Apply, rewriter: GraphRewriter, graph: object) -> Explanation:
    """Say whether a rewriter of whole graphs replaced a node."""
    fgraph, equiv = copy_of(graph)
    report = rewriter.rewrite(fgraph, keep_nodes=True)
    firings = [firing for firing in report.firings if firing.rule == rule]
    if any(firing.before is equiv.get(target) for firing in firings):
        return Explanation(rule, True, f"it replaced {target.op}{target.where()}")
    return Explanation(
        rule, False, f"it rewrites whole graphs, and made {len(firings)} changes of this one, none of them at the node"
    )


def _explain_rule(
    rule: str, rewriter: NodeRewriter, target: Apply, full_run: GraphRewriter, graph: object
) -> Explanation:
    """Try a rule on a node as it is written, and look whether it applied in a whole run."""
    fgraph, equiv = copy_of(graph)
    written, written_equiv = copy_of(graph)
    report = full_run.rewrite(fgraph, keep_nodes=True)
    copied = equiv.get(target)
    if copied is None:
        msg = f"why: {target.op}{target.where()} is not part of the graph given."
        raise RewriterTypeError(msg)
    for firing in report.firings:
        if firing.rule == rule and firing.before is copied:
            phase = f" in phase {firing.phase}" if firing.phase else ""
            return Explanation(rule, True, f"it replaced {target.op}{target.where()}{phase}")
    reason = _obstacle(rewriter, written, written_equiv[target])
    first = next((firing for firing in report.firings if firing.before is copied), None)
    if reason is None:
        by = f"rule {first.rule!r} ({first.phase}) replaced it first" if first else "what it looks at changed first"
        return Explanation(rule, False, f"it fits the node as it is written, but {by}")
    elsewhere = sum(firing.rule == rule for firing in report.firings)
    more = f"; it applied {elsewhere} times elsewhere in the graph" if elsewhere else ""
    later = f"; the node was replaced by rule {first.rule!r} ({first.phase})" if first is not None else ""
    return Explanation(rule, False, f"{reason}{later}{more}")


def _obstacle(rewriter: NodeRewriter, fgraph: FunctionGraph, node: Apply) -> str | None:
    """Return why a rule does not change a node, or None if it does."""
    mismatch = rewriter.mismatch(fgraph, node)
    if isinstance(rewriter, Rule):
        for kind in rewriter.features:
            fgraph.attach_feature(kind())
        if isinstance(rewriter.apply, Law):
            mismatch = rewriter.apply.mismatch(node, fgraph)
    if mismatch is not None:
        return mismatch
    try:
        answer = rewriter.transform(fgraph, node)
        if answer is None or answer is False:
            place = getattr(rewriter, "place", "")
            return f"its own conditions are not met{f' (see {place})' if place else ''}"
        pairs, _ = replacements(rewriter.name, node, answer)
    except Exception as error:  # noqa: BLE001 - a rule may raise anything, which is the answer
        return f"it fails: {type(error).__name__}: {error}"
    for old, new in pairs:
        if fgraph.as_replacement(old, new) is None:
            return f"its replacement has type {new.type}, which neither equals nor refines {old.type}"
    return None if any(new is not old for old, new in pairs) else "it gives back the node itself"
