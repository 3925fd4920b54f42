"""RewriteDatabase: all rules that are installed, by tag."""

from __future__ import annotations

import difflib
import threading
from typing import TYPE_CHECKING

from treadle.config import discover
from treadle.graph import DuplicateRegistrationError
from treadle.rewrite.builtin import RULES as CORE
from treadle.rewrite.errors import RuleDefinitionError, UnknownTagError
from treadle.rewrite.ordering import in_order
from treadle.rewrite.phase import DOCUMENTED_TAGS, Phase
from treadle.rewrite.query import RewriteDatabaseQuery, as_query
from treadle.rewrite.rewriter import Rewriter, Stage
from treadle.rewrite.rules import GraphPass, Rule, RuleSet

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from treadle.graph import Feature, FunctionGraph
    from treadle.rewrite.report import Report


class RewriteDatabase:
    """Rules of several rule sets, found by tag. A rule's id and the names of its phases are tags of it too.

    Parameters
    ----------
    rule_sets
        The sets, in an order that decides between rules that no before or after orders.

    Raises
    ------
    DuplicateRegistrationError
        If two rules have one id; the message names both places.
    RuleDefinitionError
        If a rule is to come before or after one that does not exist.
    """

    def __init__(self, rule_sets: Iterable[RuleSet] = (CORE,)) -> None:
        self._sets: list[RuleSet] = []
        self._items: dict[str, Rule | GraphPass] = {}
        self._tags: set[str] = set(DOCUMENTED_TAGS)
        self._rewriters: dict[RewriteDatabaseQuery, Rewriter] = {}
        for rules in rule_sets:
            self._add(rules)
        for item in self:
            for name in (*item.before, *item.after):
                if name not in self._items:
                    msg = (
                        f"rule {item.name!r} ({item.place}): is ordered by {name!r}, which is no rule{self._near(name)}"
                    )
                    raise RuleDefinitionError(msg)

    def _add(self, rules: RuleSet) -> None:
        self._sets.append(rules)
        self._tags.update(rules.declares)
        self._tags.add(rules.name)
        for item in rules:
            rival = self._items.get(item.name)
            if rival is not None:
                msg = (
                    f"rule {item.name!r}: declared at {rival.place} and again at {item.place} (rule set "
                    f"{rules.name!r}). Rename one of them."
                )
                raise DuplicateRegistrationError(msg)
            self._items[item.name] = item
            self._tags.update(item.tags)

    def __iter__(self) -> Iterator[Rule | GraphPass]:
        """Iterate over all rules and passes, in order of registration."""
        return iter(self._items.values())

    def __contains__(self, tag: object) -> bool:
        """Whether there is a rule of this id, or a tag of this name."""
        return tag in self._items or tag in self._tags

    def __getitem__(self, name: str) -> Rule | GraphPass:
        """Return the rule of an id.

        Raises
        ------
        UnknownTagError
            If there is none.
        """
        if name not in self._items:
            msg = f"rewrite database: no rule has the id {name!r}{self._near(name)}"
            raise UnknownTagError(msg)
        return self._items[name]

    @property
    def tags(self) -> frozenset[str]:
        """Every tag that a query may name, ids of rules included."""
        return frozenset(self._tags | set(self._items))

    def _near(self, name: str) -> str:
        near = difflib.get_close_matches(name, sorted(self.tags), n=4, cutoff=0.5)
        return f". Did you mean {', '.join(near)}?" if near else ". See the database's `tags`."

    def select(self, *parts: RewriteDatabaseQuery | str) -> list[Rule | GraphPass]:
        """Return the rules and passes that a query selects, in order of registration.

        Raises
        ------
        UnknownTagError
            If the query names a tag that does not exist; the message lists the nearest ones.
        """
        query = as_query(*parts)
        for tag in sorted(query.tags):
            if tag not in self:
                msg = f"rewrite query: no rule carries the tag {tag!r}{self._near(tag)}"
                raise UnknownTagError(msg)
        chosen = []
        for item in self:
            tags = item.tags | {item.name}
            if tags & query.include and query.require <= tags and not tags & query.exclude:
                chosen.append(item)
        return chosen

    def query(self, *parts: RewriteDatabaseQuery | str) -> Rewriter:
        """Return what runs the selected rules: by phase, in each in a fixed order.

        Parameters
        ----------
        parts
            One `RewriteDatabaseQuery`, or tags: ``"fast_run"``, ``"&tag"`` to require, ``"-tag"`` to exclude.

        Raises
        ------
        UnknownTagError
            If the query names a tag that does not exist.
        """
        query = as_query(*parts)
        known = self._rewriters.get(query)
        if known is not None:
            return known
        chosen = self.select(query)
        stages = []
        for phase in Phase:
            # A rule of a phase that is excluded as a whole may still be wanted in another of its phases.
            items = [item for item in chosen if phase in item.phases]
            rules = in_order([item for item in items if isinstance(item, Rule)])
            passes = in_order([item for item in items if isinstance(item, GraphPass)])
            if items:
                stages.append(Stage(phase, tuple(rules), tuple(passes)))
        features: dict[type[Feature], None] = {}
        for rules_of in self._sets:
            if any(item.name in rules_of.names for item in chosen):
                features.update(dict.fromkeys(rules_of.features))
        return self._rewriters.setdefault(query, Rewriter(tuple(stages), tuple(features)))


class DatabaseSlot:
    """The database of all installed rules, made when it is first asked for."""

    __slots__ = ("_database", "_lock")

    def __init__(self) -> None:
        self._database: RewriteDatabase | None = None
        self._lock = threading.Lock()

    def get(self) -> RewriteDatabase:
        """Return the database: our own rules, then those of entry-point group ``treadle.rules`` in name order."""
        with self._lock:
            if self._database is None:
                sets: list[RuleSet] = [CORE]
                for entry in discover("treadle.rules").values():
                    sets.extend(entry.load())
                self._database = RewriteDatabase(sets)
            return self._database


_DEFAULT = DatabaseSlot()


def default_database() -> RewriteDatabase:
    """Return the database of all installed rules."""
    return _DEFAULT.get()


def rewrite_graph(
    fgraph: FunctionGraph,
    query: RewriteDatabaseQuery | str = "fast_run",
    database: RewriteDatabase | None = None,
) -> Report:
    """Rewrite a graph in place.

    Parameters
    ----------
    fgraph
        The graph.
    query
        Which rules: a query, or one tag.
    database
        Where the rules are found; all installed ones if None.

    Returns
    -------
    What was done.

    Raises
    ------
    UnknownTagError
        If the query names a tag that does not exist.
    RewriteError
        If a rule fails and option ``on_opt_error`` is ``raise``.
    """
    return (database or default_database()).query(query).rewrite(fgraph)
