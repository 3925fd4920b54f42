"""RewriteDatabaseQuery: which rules to run, by tag."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from treadle.rewrite.engine.interface import GraphRewriter
from treadle.rewrite.errors import RewriterTypeError, RuleDefinitionError
from treadle.rewrite.tags import NOT_IEEE, STRICT_IEEE


class RewriteDatabaseQuery:
    """Every rule that carries an included tag, carries all required ones, and carries no excluded one.

    A query never changes, and may be a key of dictionaries. One that names the tag ``strict_ieee``, wherever it names
    it, excludes the rules that carry ``not_ieee``.

    Parameters
    ----------
    include
        Tags; ids of rules, names of databases and names of classes of rewriters count as tags.
    require
        Tags that every rule must carry.
    exclude
        Tags that no rule may carry. An excluded database is left out with all that is in it.
    subquery
        Queries for databases inside the database, by name, in place of this one.
    position_cutoff
        Members at this position or a later one are left out; option ``optdb__position_cutoff`` if None.
    extra_rewrites
        Pairs (rewriter of whole graphs, position) to run besides what the database holds. The position ``"last"``
        is after everything else.

    Raises
    ------
    RuleDefinitionError
        If tags are not a collection of strings, or an extra rewrite is not such a pair.
    """

    __slots__ = ("_key", "exclude", "extra_rewrites", "include", "position_cutoff", "require", "subquery")

    include: frozenset[str]
    require: frozenset[str]
    exclude: frozenset[str]
    subquery: Mapping[str, RewriteDatabaseQuery]
    position_cutoff: float | None
    extra_rewrites: tuple[tuple[GraphRewriter, float | str], ...]
    _key: tuple[object, ...]

    def __init__(
        self,
        include: Iterable[str] | None = None,
        require: Iterable[str] | None = None,
        exclude: Iterable[str] | None = None,
        subquery: Mapping[str, RewriteDatabaseQuery] | None = None,
        position_cutoff: float | None = None,
        extra_rewrites: Iterable[tuple[GraphRewriter, float | str]] | None = None,
    ) -> None:
        for name, tags in (("include", include), ("require", require), ("exclude", exclude)):
            object.__setattr__(self, name, _tags(name, tags))
        if STRICT_IEEE in self.tags:
            for name in ("include", "require", "exclude"):
                object.__setattr__(self, name, getattr(self, name) - {STRICT_IEEE})
            object.__setattr__(self, "exclude", self.exclude | {NOT_IEEE})
        object.__setattr__(self, "subquery", MappingProxyType(dict(subquery or {})))
        object.__setattr__(self, "position_cutoff", None if position_cutoff is None else float(position_cutoff))
        object.__setattr__(self, "extra_rewrites", tuple(_extra(pair) for pair in extra_rewrites or ()))
        subs = tuple(sorted(self.subquery.items(), key=lambda item: item[0]))
        key = (self.include, self.require, self.exclude, subs, self.position_cutoff, self.extra_rewrites)
        object.__setattr__(self, "_key", key)

    def __setattr__(self, name: str, value: object) -> None:
        msg = f"RewriteDatabaseQuery: a query never changes, so {name} cannot be set. Use including, excluding …"
        raise AttributeError(msg)

    def __delattr__(self, name: str) -> None:
        msg = f"RewriteDatabaseQuery: a query never changes, so {name} cannot be deleted."
        raise AttributeError(msg)

    def __eq__(self, other: object) -> bool:
        """Compare all parts; extra rewrites by identity."""
        return isinstance(other, RewriteDatabaseQuery) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __reduce__(self) -> tuple[object, ...]:
        subquery = dict(self.subquery)
        return RewriteDatabaseQuery, (
            *(sorted(self.include), sorted(self.require), sorted(self.exclude)),
            *(subquery, self.position_cutoff, self.extra_rewrites),
        )

    def _with(self, **changes: Any) -> RewriteDatabaseQuery:
        names = ("include", "require", "exclude", "subquery", "position_cutoff", "extra_rewrites")
        return RewriteDatabaseQuery(**{name: changes.get(name, getattr(self, name)) for name in names})

    def including(self, *tags: str) -> RewriteDatabaseQuery:
        """Return the query with further tags included."""
        return self._with(include=self.include.union(tags))

    def excluding(self, *tags: str) -> RewriteDatabaseQuery:
        """Return the query with further tags excluded."""
        return self._with(exclude=self.exclude.union(tags))

    def requiring(self, *tags: str) -> RewriteDatabaseQuery:
        """Return the query with further tags required."""
        return self._with(require=self.require.union(tags))

    def register(self, *rewrites: tuple[GraphRewriter, float | str]) -> RewriteDatabaseQuery:
        """Return the query with extra rewrites: pairs (rewriter of whole graphs, position)."""
        return self._with(extra_rewrites=(*self.extra_rewrites, *rewrites))

    def without_extras(self) -> RewriteDatabaseQuery:
        """Return the query without extra rewrites, as databases inside a database are asked it."""
        return self._with(extra_rewrites=()) if self.extra_rewrites else self

    @property
    def tags(self) -> frozenset[str]:
        """Every tag that the query names."""
        return self.include | self.require | self.exclude

    def __str__(self) -> str:
        signed = [("+", self.include), ("&", self.require), ("-", self.exclude)]
        return " ".join(f"{sign}{tag}" for sign, tags in signed for tag in sorted(tags))

    def __repr__(self) -> str:
        return f"RewriteDatabaseQuery({str(self)!r})"


def _tags(name: str, tags: Any) -> frozenset[str]:
    if isinstance(tags, str):
        msg = f"RewriteDatabaseQuery: {name} is a collection of tags, got {tags!r}. Put it into a list."
        raise RuleDefinitionError(msg)
    collected = frozenset(tags or ())
    for tag in collected:
        if not isinstance(tag, str):
            msg = f"RewriteDatabaseQuery: {name} holds tags, which are strings, got {tag!r}."
            raise RewriterTypeError(msg)
    return collected


def _extra(pair: object) -> tuple[GraphRewriter, float | str]:
    if not isinstance(pair, tuple | list) or len(pair) != 2 or not isinstance(pair[0], GraphRewriter):
        msg = f"RewriteDatabaseQuery: an extra rewrite is a pair (GraphRewriter, position), got {pair!r}."
        raise RewriterTypeError(msg)
    return pair[0], as_position("extra rewrite", pair[1])


def as_position(subject: str, position: object) -> float | str:
    """Return a position, a number or ``"last"``; refuse anything else."""
    if position == "last":
        return "last"
    if isinstance(position, bool) or not isinstance(position, int | float) or position != position:
        msg = f"{subject}: the position must be a number or 'last', got {position!r}."
        raise RewriterTypeError(msg)
    return float(position)


def as_query(*parts: RewriteDatabaseQuery | str, **subqueries: RewriteDatabaseQuery) -> RewriteDatabaseQuery:
    """Return a query as it is, or one made from tags: ``"fast_run"``, ``"+stabilize"``, ``"&useless"``, ``"-fusion"``.

    Queries for databases inside the database may follow by name.

    Raises
    ------
    RewriterTypeError
        If a query is given together with something else.
    RuleDefinitionError
        If a tag is malformed.
    """
    if len(parts) == 1 and isinstance(parts[0], RewriteDatabaseQuery) and not subqueries:
        return parts[0]
    tags: dict[str, list[str]] = {"+": [], "&": [], "-": []}
    for part in parts:
        if not isinstance(part, str):
            msg = f"query: give one RewriteDatabaseQuery, or tags such as 'fast_run' and '-fusion', got {part!r}."
            raise RewriterTypeError(msg)
        sign = part[:1] if part[:1] in tags else "+"
        tag = part.removeprefix(sign)
        if not tag or not (tag[0].isalnum() or tag[0] == "_"):
            msg = f"query: a tag may have one of the signs + & - in front, got {part!r}."
            raise RuleDefinitionError(msg)
        tags[sign].append(tag)
    return RewriteDatabaseQuery(tags["+"], tags["&"], tags["-"], subqueries)
