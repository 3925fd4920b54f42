"""PyTensor's rules by name: as tags of the rules of treadle's that do the same, and as rewriters.

The table ``rules.tsv`` has a row for each name in PyTensor's databases, with the names of treadle's rules. There are
none where treadle does it otherwise: when an expression is built, when it is lowered, or for another backend.
"""

from __future__ import annotations

import zlib
from contextlib import suppress
from functools import cached_property
from importlib import resources
from typing import TYPE_CHECKING

from treadle.graph.rewriting.basic import SequentialNodeRewriter
from treadle.rewrite import NodeRewriter, Rewriter, UnknownTagError, optdb

if TYPE_CHECKING:
    from collections.abc import Callable

    from treadle.rewrite import DefaultDatabase, RewriteDatabase


class RuleNames:
    """The table of rules."""

    @cached_property
    def _text(self) -> str:
        return (resources.files("treadle.as_pytensor") / "rules.tsv").read_text(encoding="utf-8")

    @cached_property
    def rules(self) -> dict[str, tuple[str, ...]]:
        """The names of treadle's rules for each name of PyTensor's."""
        rows = (line.partition("\t") for line in self._text.splitlines())
        return {name: tuple(rules.split()) for name, _, rules in rows}

    def publish(self) -> None:
        """Let queries for rules take PyTensor's names from now on."""
        optdb.extend(self._extension, self._tag)

    def withdraw(self) -> None:
        """Let queries refuse PyTensor's names again."""
        with suppress(UnknownTagError):  # nothing was published
            optdb.withdraw(self._extension)

    @cached_property
    def _extension(self) -> str:
        return f"names of rules {zlib.crc32(self._text.encode()):08x}"

    def _tag(self, database: DefaultDatabase) -> Callable[[], None]:
        tags: dict[str, list[str]] = {}
        for name, rules in self.rules.items():
            for rule in rules:
                tags.setdefault(rule, []).append(name)
        added: list[tuple[RewriteDatabase, str, list[str]]] = []
        taken: dict[RewriteDatabase, set[str]] = {}
        for home, entry in list(database.walk()):
            if entry.name not in tags:
                continue
            if home not in taken:
                taken[home] = {other.name for other in home.entries()}
            fresh = [tag for tag in tags[entry.name] if tag not in entry.tags and tag not in taken[home]]
            if fresh:
                home.add_tags(entry.name, *fresh)
                added.append((home, entry.name, fresh))
        database.declare(*self.rules)

        def take_back() -> None:
            for home, name, tags in added:
                home.remove_tags(name, *tags)
            database.retract(*self.rules)

        return take_back

    @cached_property
    def _by_tag(self) -> dict[str, dict[str, Rewriter]]:
        """The rewriters of treadle's by each of their tags, and by their names."""
        index: dict[str, dict[str, Rewriter]] = {}
        for _, entry in optdb.walk():
            if isinstance(entry.member, Rewriter):
                for tag in entry.tags:
                    index.setdefault(tag, {})[entry.name] = entry.member
        return index

    def rewriter(self, name: str) -> Rewriter | None:
        """Return the rules that answer to a name of PyTensor's, as one; None if there is no rule of the name."""
        self.publish()
        found = self._by_tag.get(name, {})
        if not found and name not in self.rules:
            return None
        return _as_one(name, list(found.values()))


def _as_one(name: str, members: list[Rewriter]) -> Rewriter:
    """Return rewriters as one: the rules of nodes among them, or else a pass over whole graphs."""
    if len(members) == 1:
        return members[0]
    of_nodes = [member for member in members if isinstance(member, NodeRewriter)]
    if members and not of_nodes:
        return members[0]
    joined = SequentialNodeRewriter(*of_nodes)
    joined.name = name
    return joined


RULES = RuleNames()
