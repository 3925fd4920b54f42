"""RewriteDatabase: rewriters and further databases, registered by name and found by tag."""

from __future__ import annotations

import copy
import sys
import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict

from treadle.config import config, dataclass, discover, lazy_module, new_lock
from treadle.graph import DuplicateRegistrationError
from treadle.rewrite.engine.interface import Rewriter
from treadle.rewrite.errors import AmbiguousTagError, RewriterTypeError, RewriteWarning, UnknownTagError
from treadle.rewrite.query import RewriteDatabaseQuery, as_query
from treadle.rewrite.rules import GraphPass, Rule
from treadle.rewrite.tags import DOCUMENTED_TAGS

if TYPE_CHECKING:
    import difflib
    from collections.abc import Iterator, Sequence
    from types import FrameType
else:
    difflib = lazy_module("difflib")

# What a database holds; and what a query selects: members, each with itself or a database's answer.
Member: TypeAlias = "Rewriter | RewriteDatabase"
Selected: TypeAlias = "list[tuple[Entry, Any]]"

# After this many distinct queries, the answers are forgotten.
MOST_KEPT = 64


class Traits(TypedDict, total=False):
    """What kinds of databases note about a member, and where it was declared, if that is known."""

    place: str
    position: float
    final: bool
    cleanup: bool
    # Tags by which queries exclude it but do not find it.
    silent: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """What is registered under one name."""

    name: str
    member: Member
    tags: frozenset[str]  # its name, the names of its class, and the tags given
    place: str  # file and line of the registration
    traits: Traits  # what the kind of database adds: a position, for instance

    @property
    def found_by(self) -> frozenset[str]:
        """The tags by which queries that include them find it: all but those that only leave it out."""
        silent = self.traits.get("silent")
        return self.tags.difference(silent) if silent else self.tags


class _Moves:
    """Counts how often a database has come into another one, or left it."""

    def __init__(self) -> None:
        self._lock = new_lock()
        self.count = 0

    def note(self) -> None:
        with self._lock:
            self.count += 1


_MOVES = _Moves()


class RewriteDatabase:
    """Rewriters and databases by name and tag. Kinds of databases differ in what a query of them returns.

    It may be changed and queried from any number of threads.

    Attributes
    ----------
    name
        Set when it is registered in another database.
    """

    def __init__(self) -> None:
        self.name = ""
        self._entries: dict[str, Entry] = {}
        # The databases among the members, and every tag that a member carries or has carried.
        self._inside: dict[str, RewriteDatabase] = {}
        self._seen_tags: set[str] = set()
        self._around: list[RewriteDatabase] = []
        # The family, and how many databases had moved when it was found.
        self._relatives: tuple[int, Sequence[RewriteDatabase]] | None = None
        self._lock = new_lock()
        self._answers: dict[object, Any] = {}

    # Registering

    def register(
        self,
        name: str,
        rewriter: Rewriter | RewriteDatabase,
        *tags: str,
        use_db_name_as_tag: bool = True,
        replace: bool = False,
        overwrite_existing: bool = False,
    ) -> None:
        """Register a rewriter or a database.

        Parameters
        ----------
        name
            Its id, a tag of its own.
        rewriter
            The rewriter or database. Its name is set, where it has none.
        tags
            By which queries find it.
        use_db_name_as_tag
            Whether the name of this database is a tag of it too.
        replace, overwrite_existing
            Whether it may take the place of what has the name already.

        Raises
        ------
        RewriterTypeError
            If something else is given, or a tag is not a string.
        DuplicateRegistrationError
            If the name is taken, or a tag is another's name; the message names both places. Nothing has changed then.
        """
        self._register(name, rewriter, tags, use_db_name_as_tag, replace or overwrite_existing, {})

    def _register(
        self,
        name: str,
        member: Member,
        tags: tuple[str, ...],
        use_db_name_as_tag: bool,
        may_replace: bool,
        traits: Traits,
    ) -> None:
        self._ensure()
        self._check_kind(name, member)
        place = traits.pop("place", None) or caller()
        own = {name, type(member).__name__, *tags}
        if use_db_name_as_tag and self.name:
            own.add(self.name)
        with self._lock:
            self._check_free(name, tags, place, may_replace)
            self._check_elsewhere(name, member, place, may_replace)
            member = _named(name, member)
            traits = self._checked_traits(name, member, traits)
            old = self._entries.get(name)
            self._entries[name] = Entry(name, member, frozenset(own), place, traits)
            self._seen_tags |= own
            if old is not None and isinstance(old.member, RewriteDatabase):
                old.member._around.remove(self)
                del self._inside[name]
                _MOVES.note()
            if isinstance(member, RewriteDatabase):
                member._around.append(self)
                self._inside[name] = member
                _MOVES.note()
            self._changed()

    def _ensure(self) -> None:
        """Fill the database, if it is one of those that are filled when they are first used."""

    def _check_kind(self, name: object, member: object) -> None:
        """Refuse what is not a rewriter or database, and what is not a name."""
        if not isinstance(name, str) or not name:
            msg = f"register: a name is a string, got {name!r}."
            raise RewriterTypeError(msg)
        if not isinstance(member, Rewriter | RewriteDatabase):
            msg = (
                f"register {name!r}: a rewriter or a database is needed, got {member!r}. Decorate a function with "
                "node_rewriter or graph_rewriter."
            )
            raise RewriterTypeError(msg)

    def _checked_traits(self, name: str, member: Member, traits: Traits) -> Traits:
        """Return what the kind of database notes about a member; refuse what it cannot take."""
        return traits

    def _check_free(self, name: str, tags: tuple[str, ...], place: str, may_replace: bool) -> None:
        """Refuse a name that is taken, a name that is a tag, a tag that is a name."""
        rival = self._entries.get(name)
        if rival is not None and not may_replace:
            msg = (
                f"register {name!r}: the name is taken, registered at {rival.place} and again at {place}. "
                "Choose another one, or pass replace=True."
            )
            raise DuplicateRegistrationError(msg)
        if rival is None and name in self._seen_tags:
            holder = next((e for e in self._entries.values() if name in e.tags), None)
            if holder is not None:
                msg = (
                    f"register {name!r} at {place}: the tag {name!r} is already present in the database, carried by "
                    f"{holder.name!r} ({holder.place}). Choose another name."
                )
                raise DuplicateRegistrationError(msg)
        for tag in tags:
            if not isinstance(tag, str) or not tag:
                msg = f"register {name!r}: tags are strings, got {tag!r}."
                raise RewriterTypeError(msg)
            if tag in self._entries and tag != name:
                msg = (
                    f"register {name!r} at {place}: the tag {tag!r} collides with an existing name "
                    f"({self._entries[tag].place}). Choose another tag."
                )
                raise DuplicateRegistrationError(msg)

    def _check_elsewhere(self, name: str, member: Member, place: str, may_replace: bool) -> None:
        """Refuse an id that another rule has in the databases around: reports and queries go by it."""
        if may_replace and name in self._entries:
            return
        for database in self._family():
            entry = database._registered(name)
            if entry is not None and entry.member is not member:
                msg = (
                    f"register {name!r}: another rule has this id, registered at {entry.place} and again at {place}. "
                    "Choose another name."
                )
                raise DuplicateRegistrationError(msg)

    def _family(self) -> Sequence[RewriteDatabase]:
        """Return the databases around, and those inside them, which are looked for again once any has moved."""
        moves = _MOVES.count
        if self._relatives is None or self._relatives[0] != moves:
            self._relatives = moves, self._find_family()
        return self._relatives[1]

    def _find_family(self) -> Sequence[RewriteDatabase]:
        pending: list[RewriteDatabase] = list(self._around)
        found: dict[int, RewriteDatabase] = {id(self): self}
        while pending:
            database = pending.pop()
            if id(database) not in found:
                found[id(database)] = database
                pending += (*database._around, *database._databases())
        return list(found.values())[1:]

    def _registered(self, name: str) -> Entry | None:
        """Return what is registered under a name, None where nothing is."""
        self._ensure()
        with self._lock:
            return self._entries.get(name)

    def _databases(self) -> list[RewriteDatabase]:
        """Return the databases registered here, in order of registration."""
        self._ensure()
        with self._lock:
            return list(self._inside.values())

    def add_tags(self, name: str, *tags: str) -> None:
        """Let something registered carry further tags.

        Raises
        ------
        UnknownTagError
            If nothing has the name.
        DuplicateRegistrationError
            If a tag is another's name.
        """
        with self._lock:
            entry = self._entry(name)
            self._check_free(name, tags, caller(), True)
            traits = entry.traits
            if "silent" in traits:
                traits = {**traits, "silent": tuple(tag for tag in traits["silent"] if tag not in tags)}
            self._entries[name] = replace(entry, tags=entry.tags.union(tags), traits=traits)
            self._seen_tags.update(tags)
            self._changed()

    def remove_tags(self, name: str, *tags: str) -> None:
        """Take tags from something registered; its own name stays.

        Raises
        ------
        UnknownTagError
            If nothing has the name.
        """
        with self._lock:
            entry = self._entry(name)
            self._entries[name] = replace(entry, tags=entry.tags.difference(tags) | {name})
            self._changed()

    def _changed(self) -> None:
        """Forget answers, here and in the databases around."""
        self._answers = {}
        for database in self._around:
            database._changed()

    # Finding

    def entries(self) -> list[Entry]:
        """Return what is registered, in order of registration."""
        self._ensure()
        with self._lock:
            return list(self._entries.values())

    def in_running_order(self) -> list[Entry]:
        """Return what is registered, in the order in which it runs as far as that is fixed."""
        return self.entries()

    def walk(self) -> Iterator[tuple[RewriteDatabase, Entry]]:
        """Yield what is registered here and in the databases inside, in running order, each with its database."""
        for entry in self.in_running_order():
            yield self, entry
            if isinstance(entry.member, RewriteDatabase):
                yield from entry.member.walk()

    def __contains__(self, tag: object) -> bool:
        """Whether a member has this name or carries this tag."""
        return any(tag in entry.tags for entry in self.entries())

    def __iter__(self) -> Iterator[Member]:
        return iter([entry.member for entry in self.entries()])

    def __len__(self) -> int:
        return len(self.entries())

    def __bool__(self) -> bool:
        """Return True, for an empty database too."""
        return True

    def _entry(self, tag: str) -> Entry:
        self._ensure()
        with self._lock:
            named = self._entries.get(tag)
        if named is not None:
            return named
        carrying = [entry for entry in self.entries() if tag in entry.tags]
        if len(carrying) == 1:
            return carrying[0]
        if carrying:
            names = ", ".join(entry.name for entry in carrying[:6])
            more = f" and {len(carrying) - 6} more" if len(carrying) > 6 else ""
            msg = f"{self}: several members carry the tag {tag!r}: {names}{more}. Ask for one by its name."
            raise AmbiguousTagError(msg)
        msg = f"{self}: no member has the name or tag {tag!r}{self.near(tag)}"
        raise UnknownTagError(msg)

    def __getitem__(self, tag: str) -> Any:
        """Return the member of a name, or the only one that carries a tag.

        Raises
        ------
        UnknownTagError
            If there is none.
        AmbiguousTagError
            If several carry the tag.
        """
        return self._entry(tag).member

    @property
    def own_tags(self) -> frozenset[str]:
        """Every tag that something registered here, or in a database inside, carries."""
        inside = (entry.member.own_tags for entry in self.entries() if isinstance(entry.member, RewriteDatabase))
        return frozenset().union(*(entry.tags for entry in self.entries()), *inside)

    @property
    def tags(self) -> frozenset[str]:
        """Every tag that a query may name: also those around, documented ones, and names of backends."""
        known = self.own_tags | DOCUMENTED_TAGS | frozenset(discover("treadle.backends"))
        for database in self._around:
            known |= database.tags
        return known

    def near(self, tag: str) -> str:
        """Return the end of a message about an unknown tag: the nearest ones."""
        near = difflib.get_close_matches(tag, sorted(self.tags), n=4, cutoff=0.5)
        return f". Did you mean {', '.join(near)}?" if near else ". See the database's `tags`."

    def check_tags(self, query: RewriteDatabaseQuery) -> None:
        """Refuse a query that names a tag which nothing carries, or do what the option rewrite__unknown_names says.

        Raises
        ------
        UnknownTagError
            The message lists the nearest tags.
        """
        action = config.rewrite__unknown_names
        if action == "ignore":
            return
        known: frozenset[str] | None = None
        for tag in sorted(query.tags):
            if tag in DOCUMENTED_TAGS:
                continue
            known = self.tags if known is None else known
            if tag not in known:
                msg = f"rewrite query: no rule carries the tag {tag!r}{self.near(tag)}"
                if action == "raise":
                    raise UnknownTagError(msg)
                warnings.warn(msg, RewriteWarning, stacklevel=2)
        for sub in query.subquery.values():
            self.check_tags(sub)

    def selected(self, query: RewriteDatabaseQuery) -> Selected:
        """Return the members that a query selects, each with itself, or with a database's answer.

        A database is entered unless it is excluded; its answer counts if it has selected something. If the query has a
        subquery of its name, the database must carry the query's own tags.
        """
        members: Selected = []
        for entry in self.entries():
            if entry.tags & query.exclude:
                continue
            carries = bool(entry.found_by & query.include) and query.require <= entry.tags
            member = entry.member
            if not isinstance(member, RewriteDatabase):
                if carries:
                    members.append((entry, member))
                continue
            sub = query.subquery.get(entry.name)
            if sub is not None and not carries:
                continue
            inner_query = query.without_extras() if sub is None else sub
            if member.finds(inner_query):
                members.append((entry, member.answer(inner_query)))
        return members

    def finds(self, query: RewriteDatabaseQuery) -> bool:
        """Whether a query selects anything here."""
        return bool(self.selected(query))

    def select(self, *parts: RewriteDatabaseQuery | str, **subqueries: RewriteDatabaseQuery) -> list[Rewriter]:
        """Return the rewriters that a query selects, here and in databases inside, each once.

        Raises
        ------
        UnknownTagError
            If the query names a tag that does not exist; the message lists the nearest ones.
        """
        query = as_query(*parts, **subqueries)
        self.check_tags(query)
        return list(dict.fromkeys(self._leaves(query)))

    def _leaves(self, query: RewriteDatabaseQuery) -> Iterator[Rewriter]:
        for entry, _ in self.selected(query):
            if isinstance(entry.member, RewriteDatabase):
                yield from entry.member._leaves(query.subquery.get(entry.name, query.without_extras()))
            else:
                yield entry.member

    def query(self, *parts: RewriteDatabaseQuery | str, **subqueries: RewriteDatabaseQuery) -> Any:
        """Return what runs the selected members.

        Parameters
        ----------
        parts
            One `RewriteDatabaseQuery`, or tags: ``"fast_run"``, ``"&tag"`` to require, ``"-tag"`` to exclude.
        subqueries
            Queries for databases inside, by name.

        Raises
        ------
        UnknownTagError
            If the query names a tag that does not exist; the message lists the nearest ones.
        RewriterTypeError
            If a query is given together with something else.
        """
        query = as_query(*parts, **subqueries)
        self.check_tags(query)
        return self.answer(query)

    def answer(self, query: RewriteDatabaseQuery) -> Any:
        """Return what runs the members that a query selects; its tags are known to exist."""
        self._ensure()
        key = (query, self._options())
        # A change meanwhile puts another dictionary in place of this one, so that an old answer is not kept.
        answers = self._answers
        answer = answers.get(key)
        if answer is None:
            answer = self._made(query, self.selected(query))
            if len(answers) >= MOST_KEPT:
                answers.clear()
            answers[key] = answer
        return answer

    def _options(self) -> object:
        """Return the options that an answer depends on, also through databases inside."""
        return config.optdb__position_cutoff, config.optdb__max_use_ratio

    def _made(self, query: RewriteDatabaseQuery, selected: Selected) -> Any:
        """Return the rewriters selected; kinds of databases make one rewriter of them."""
        return tuple(dict.fromkeys(answer for _, answer in selected))

    def __str__(self) -> str:
        return f"rewrite database {self.name!r}" if self.name else type(self).__name__

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}, {len(self._entries)} members>"


def _named(name: str, member: Member) -> Member:
    """Return a member under the name it is registered by."""
    if isinstance(member, Rule | GraphPass):
        return member if member.name == name else replace(member, name=name)
    if isinstance(member, RewriteDatabase) and member.name:
        # Its members carry its first name as a tag.
        return member
    if isinstance(member, Rewriter):
        # One rewriter under two names is two rules: each report names the one that ran.
        if member.registered_as not in {"", name}:
            member = copy.copy(member)
        member.registered_as = name
    member.name = name
    return member


def caller() -> str:
    """Return file and line of the innermost frame outside this package."""
    frame: FrameType | None = sys._getframe(1)
    own = str(Path(__file__).parent)
    while frame is not None and frame.f_code.co_filename.startswith(own):
        frame = frame.f_back
    return "" if frame is None else f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"
