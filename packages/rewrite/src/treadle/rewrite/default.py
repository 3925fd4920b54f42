"""The default database: phases as databases in a sequence, filled with the rule sets of all installed packages."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from treadle.config import discover, is_imported, modules_awaited
from treadle.rewrite.builtin import RULES as CORE
from treadle.rewrite.containers import EquilibriumDB, SequenceDB
from treadle.rewrite.database import Entry, RewriteDatabase
from treadle.rewrite.engine.interface import Rewriter
from treadle.rewrite.engine.merging import MergeOptimizer
from treadle.rewrite.errors import RewriterTypeError, RuleDefinitionError, UnknownTagError
from treadle.rewrite.inplace import RULES as INPLACE
from treadle.rewrite.ordering import in_order
from treadle.rewrite.phase import Phase
from treadle.rewrite.query import as_query
from treadle.rewrite.rules import GraphPass, Rule, RuleSet
from treadle.rewrite.tags import DOCUMENTED_TAGS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    from treadle.config import EntryPointRef
    from treadle.rewrite.database import Member, Traits
    from treadle.rewrite.query import RewriteDatabaseQuery

    Extension = Callable[["DefaultDatabase"], Callable[[], None] | None]

_BOTH = ("fast_run", "fast_compile")
# Tags of the phases' databases beside their names.
_TAGS = {
    Phase.INLINE: _BOTH,
    Phase.CANONICALIZE: (*_BOTH, "canonicalize_db"),
    Phase.STABILIZE: _BOTH,
    Phase.SPECIALIZE: _BOTH,
    Phase.UNCANONICALIZE: ("fast_run",),
    Phase.FUSION: ("fast_run", "elemwise_fusion", "FusionOptimizer", "local_elemwise_fusion"),
    Phase.INPLACE: ("fast_run",),
}
# In these phases, passes over whole graphs run one after the other; in the others, after the local rules.
_SEQUENCES = (Phase.FUSION, Phase.INPLACE)


class PhasedDatabase(SequenceDB):
    """A sequence of databases, one for each phase, filled with rule sets.

    After the first phase it holds ``merge`` (position 0), if the rules for every graph are among the sets.

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

    # Whether rules may be ordered only by rules that are here.
    _is_whole = True

    def __init__(self, rule_sets: Iterable[RuleSet] = (CORE,)) -> None:
        super().__init__()
        self._declared: set[str] = set()
        self._fill(list(rule_sets))

    def _fill(self, rule_sets: list[RuleSet]) -> None:
        for phase in Phase:
            kind = SequenceDB() if phase in _SEQUENCES else EquilibriumDB(ignore_newtrees=False)
            self.register(phase.tag, kind, *_TAGS[phase], position=phase.position)
        if CORE in rule_sets:
            self.register("merge", MergeOptimizer(), *_BOTH, "merge1", position=0)
        self.add(*rule_sets)

    def add(self, *rule_sets: RuleSet) -> None:
        """Register the rules of sets in the databases of their phases."""
        items = [item for rules in rule_sets for item in rules]
        known = {item.name for item in (*items, *self.leaves())} if self._is_whole else set()
        for item in items:
            for name in (*item.before, *item.after):
                if self._is_whole and name not in known:
                    msg = (
                        f"rule {item.name!r} ({item.place}): is ordered by {name!r}, which is no rule{self.near(name)}"
                    )
                    raise RuleDefinitionError(msg)
        for rules in rule_sets:
            self._declared.update((rules.name, *rules.declares))
        local = [item for item in items if isinstance(item, Rule)]
        passes = [item for item in items if isinstance(item, GraphPass)]
        ordered: list[Rule | GraphPass] = [*local, *in_order(passes)]
        for rule in ordered:
            for phase in rule.phases:
                self._place(phase, rule)

    def _place(self, phase: Phase, item: Rule | GraphPass) -> None:
        database = self[phase.tag]
        if phase in _SEQUENCES and isinstance(item, Rule):
            inner = f"{phase.tag}_rules"
            if inner not in database:
                database.register(inner, EquilibriumDB(ignore_newtrees=False), position=-1)
            database = database[inner]
        # In each phase, a rule carries the tag of that phase only.
        tags = sorted(item.tags.difference(other.tag for other in item.phases if other is not phase) - {item.name})
        traits: Traits = {"final": False, "cleanup": False, "place": item.place}
        if isinstance(item, Rule) and item.asked_by is not None:
            traits["silent"] = tuple(sorted(item.tags.union((type(item).__name__,)) - item.asked_by))
        database._register(item.name, item, tuple(tags), False, False, traits)

    def leaves(self) -> Iterator[Rewriter]:
        """Return all rules and other rewriters, each once, in the order of the phases."""
        members = {id(entry.member): entry.member for _, entry in self.walk()}
        return (rewriter for rewriter in members.values() if isinstance(rewriter, Rewriter))

    def __contains__(self, tag: object) -> bool:
        """Whether there is something of this name, or a tag of this name, here or in a database inside."""
        return tag in self.own_tags

    def declare(self, *tags: str) -> None:
        """Let queries name tags, whether or not a rule carries them."""
        self._declared.update(tags)

    def retract(self, *tags: str) -> None:
        """Let queries no longer name tags that no rule carries; tags that were not declared do not matter."""
        self._declared.difference_update(tags)

    @property
    def own_tags(self) -> frozenset[str]:
        """Every tag that something registered carries, and those that are declared."""
        return super().own_tags | self._declared

    def _entry(self, tag: str) -> Entry:
        """Return what has a name or, alone, a tag here; failing that, what has the name in a database inside."""
        try:
            return super()._entry(tag)
        except UnknownTagError:
            for _, entry in self.walk():
                if entry.name == tag:
                    return entry
            raise


def is_needed(entry: EntryPointRef) -> bool:
    """Whether what an entry point names is needed: it awaits no modules, or one of them is imported."""
    modules = modules_awaited(entry)
    return not modules or is_imported(modules)


_CHANGES = ("changes",)  # among the answers that are forgotten when something changes


class DefaultDatabase(PhasedDatabase):
    """The database that compiling uses: our own rules, then those of entry-point group ``treadle.rules``.

    It is filled when it is first used. Functions published under ``treadle.databases`` are called with it before the
    rules come in: they register databases of their own beside the phases.

    Queries need not fill it: while rule sets await modules that nobody has imported (see
    `treadle.config.modules_awaited`), no graph has an op that they are about, and a smaller database answers, which
    has the other sets.

    Parameters
    ----------
    published
        The names of the entry points whose rule sets it has; all of them if None.
    """

    def __init__(self, published: Iterable[str] | None = None) -> None:
        SequenceDB.__init__(self)
        self._names = None if published is None else frozenset(published)
        self._is_whole = published is None
        self._smaller: DefaultDatabase | None = None
        self._published: dict[int, tuple[Member | None, str]] = {}
        self._declared = set()
        self._filled = False
        self._filling = False
        self._extensions: dict[str, Extension] = {}
        self._withdrawals: dict[str, Callable[[], None] | None] = {}

    def extend(self, name: str, function: Extension) -> None:
        """Call a function with the database once the rules of all packages are in it: now, or when it is filled.

        What the function tags and registers counts as published: the keys of stored programs hold the name, and nothing
        else of it.

        Parameters
        ----------
        name
            What the function does, and in which version. A second function of a name is not called.
        function
            It adds tags (`add_tags`, `declare`) or registers rewriters, by calls on the database or on those in it. It
            may return a function of no arguments that takes all of this back (see `withdraw`).
        """
        with self._lock:
            if name in self._extensions:
                return
            self._extensions[name] = function
            if not self._filled:
                return
            with self._publishing():
                self._withdrawals[name] = function(self)

    def withdraw(self, name: str) -> None:
        """Take back what the function of an extension did.

        Raises
        ------
        UnknownTagError
            If there is no extension of this name.
        RewriterTypeError
            If its function did not say how it is taken back.
        """
        with self._lock:
            if name not in self._extensions:
                msg = f"withdraw: no extension has the name {name!r}."
                raise UnknownTagError(msg)
            withdrawal = self._withdrawals.get(name)
            if withdrawal is None and self._filled:
                msg = f"withdraw: extension {name!r} cannot be taken back. Let its function return one that does it."
                raise RewriterTypeError(msg)
            if withdrawal is not None:
                with self._publishing():
                    withdrawal()
            del self._extensions[name]
            self._withdrawals.pop(name, None)
            self._changed()

    @contextmanager
    def _publishing(self) -> Iterator[None]:
        """Count what is registered and tagged meanwhile as published, but for what users had changed before."""
        before = self._described()
        yield
        published = self._published
        now = self._described().items()
        self._published = published | {k: pair for k, pair in now if before.get(k) == published.get(k)}
        self._changed()

    def query(self, *parts: RewriteDatabaseQuery | str, **subqueries: RewriteDatabaseQuery) -> Any:
        """Return what runs the selected members, as any database does, without rules that no graph needs as yet."""
        query = as_query(*parts, **subqueries)
        smaller = self._smaller_one()
        if smaller is not None and smaller.knows(query):
            return smaller.answer(query)
        self.check_tags(query)
        return self.answer(query)

    def knows(self, query: RewriteDatabaseQuery) -> bool:
        """Whether something here carries each of the tags that a query names, or they are documented."""
        tags = query.tags.union(*(sub.tags for sub in query.subquery.values())) - DOCUMENTED_TAGS
        return not tags or tags <= self.tags

    def _smaller_one(self) -> DefaultDatabase | None:
        """Return a database of the rule sets that graphs may need; None where these are all, or this one is filled."""
        with self._lock:
            # What users register and tag is here only.
            if self._filled or self._filling or self._extensions or self._names is not None:
                return None
            published = discover("treadle.rules")
            names = frozenset(name for name, entry in published.items() if is_needed(entry))
            if len(names) == len(published):
                self._smaller = None
            elif self._smaller is None or self._smaller._names != names:
                self._smaller = DefaultDatabase(names)
            return self._smaller

    def _ensure(self) -> None:
        if self._filled:
            return
        with self._lock:
            if self._filled or self._filling:
                return
            sets: list[RuleSet] = [CORE, INPLACE]
            for name, entry in discover("treadle.rules").items():
                if self._names is None or name in self._names:
                    sets.extend(entry.load())
            self._filling = True
            try:
                for entry in discover("treadle.databases").values():
                    entry.load()(self)
                self._fill(in_order(sets))
                for name, function in self._extensions.items():
                    self._withdrawals[name] = function(self)
                # Nothing is changed as yet, if nobody else registers meanwhile, which would make new answers.
                answers = self._answers
                self._published = self._described()
                answers[_CHANGES] = tuple((None, name) for name in self._extensions)
                self._filled = True
            except BaseException:
                self._entries.clear()
                self._inside.clear()
                raise
            finally:
                self._filling = False

    def changes(self) -> tuple[tuple[Member | None, str], ...]:
        """Return what was registered or tagged other than by the installed packages' rule sets.

        Each is a pair of the member, None where it was removed, and a text of its name, tags and position; an extension
        counts by its name. Nothing is loaded to find out.
        """
        extensions = tuple((None, name) for name in self._extensions)
        if not self._filled:
            return extensions
        answers = self._answers
        changes: tuple[tuple[Member | None, str], ...] | None = answers.get(_CHANGES)
        if changes is None:
            now, published = self._described(), self._published
            changed = [pair for key, pair in now.items() if key not in published or published[key][1] != pair[1]]
            removed = [(None, text) for key, (_, text) in published.items() if key not in now]
            changes = answers[_CHANGES] = (*extensions, *changed, *removed)
        return changes

    def _described(self) -> dict[int, tuple[Member | None, str]]:
        """Return every registration with a text of its name, tags and position, by identity of the member."""
        texts: dict[int, tuple[Member, list[str]]] = {}
        pending: list[RewriteDatabase] = [self]
        seen = {id(self)}
        while pending:
            database = pending.pop()
            # Not `entries`, which would begin to fill this database.
            for entry in list(database._entries.values()):
                traits = sorted((name, str(value)) for name, value in entry.traits.items())
                text = f"{database.name}:{entry.name} {sorted(entry.tags)} {traits}"
                texts.setdefault(id(entry.member), (entry.member, []))[1].append(text)
                if isinstance(entry.member, RewriteDatabase) and id(entry.member) not in seen:
                    seen.add(id(entry.member))
                    pending.append(entry.member)
        return {key: (member, "\n".join(registrations)) for key, (member, registrations) in texts.items()}


optdb = DefaultDatabase()


def default_database() -> DefaultDatabase:
    """Return the database of all installed rules."""
    return optdb
