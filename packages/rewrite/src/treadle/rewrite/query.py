"""RewriteDatabaseQuery: which rules to run, by tag."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from treadle.rewrite.errors import RuleDefinitionError


@dataclass(frozen=True, slots=True)
class RewriteDatabaseQuery:
    """Every rule that carries an included tag, carries all required ones, and carries no excluded one.

    Parameters
    ----------
    include
        Tags; ids of rules and names of phases count as tags.
    require
        Tags that every rule must carry.
    exclude
        Tags that no rule may carry.
    """

    include: frozenset[str]
    require: frozenset[str]
    exclude: frozenset[str]

    def __init__(
        self,
        include: Iterable[str] | None = None,
        require: Iterable[str] | None = None,
        exclude: Iterable[str] | None = None,
    ) -> None:
        for name, given in (("include", include), ("require", require), ("exclude", exclude)):
            if isinstance(given, str):
                msg = f"RewriteDatabaseQuery: {name} is a collection of tags, got {given!r}. Put it into a list."
                raise RuleDefinitionError(msg)
            object.__setattr__(self, name, frozenset(given or ()))

    def including(self, *tags: str) -> RewriteDatabaseQuery:
        """Return the query with further tags included."""
        return replace_tags(self, include=self.include | set(tags))

    def excluding(self, *tags: str) -> RewriteDatabaseQuery:
        """Return the query with further tags excluded."""
        return replace_tags(self, exclude=self.exclude | set(tags))

    def requiring(self, *tags: str) -> RewriteDatabaseQuery:
        """Return the query with further tags required."""
        return replace_tags(self, require=self.require | set(tags))

    @property
    def tags(self) -> frozenset[str]:
        """Every tag that the query names."""
        return self.include | self.require | self.exclude

    def __str__(self) -> str:
        """Show as tags with their signs."""
        signed = [("+", self.include), ("&", self.require), ("-", self.exclude)]
        return " ".join(f"{sign}{tag}" for sign, tags in signed for tag in sorted(tags))


def replace_tags(query: RewriteDatabaseQuery, **changes: frozenset[str]) -> RewriteDatabaseQuery:
    """Return the query with some of its sets of tags changed."""
    return replace(query, **changes)


def as_query(*parts: RewriteDatabaseQuery | str) -> RewriteDatabaseQuery:
    """Return a query given as one, or as tags: ``"fast_run"``, ``"+stabilize"``, ``"&useless"``, ``"-fusion"``.

    Raises
    ------
    RuleDefinitionError
        If a query is given together with something else.
    """
    if len(parts) == 1 and isinstance(parts[0], RewriteDatabaseQuery):
        return parts[0]
    tags: dict[str, list[str]] = {"+": [], "&": [], "-": []}
    for part in parts:
        if not isinstance(part, str) or not part.strip("+&-"):
            msg = f"query: give one RewriteDatabaseQuery, or tags such as 'fast_run' and '-fusion', got {part!r}."
            raise RuleDefinitionError(msg)
        sign = part[0] if part[0] in tags else "+"
        tags[sign].append(part.removeprefix(sign))
    return RewriteDatabaseQuery(tags["+"], tags["&"], tags["-"])
