"""Rewriters under the names of PyTensor's rules: the rules of treadle's that do the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.graph.rewriting.basic import SequentialNodeRewriter
from treadle.rewrite import NodeRewriter, RewriteDatabase, optdb

if TYPE_CHECKING:
    from collections.abc import Iterator

    from treadle.rewrite.database import Entry

# Rules of treadle's by the name of a rule of PyTensor's that no tag of theirs says.
ALIASES = {
    "local_exp_over_1_plus_exp": "quotient_by_one_plus_exp reciprocal_of_one_plus_exp one_over_one_plus_exp",
}


def _entries(database: RewriteDatabase) -> Iterator[Entry]:
    for entry in database.entries():
        yield entry
        if isinstance(entry.member, RewriteDatabase):
            yield from _entries(entry.member)


def rule_named(name: str) -> NodeRewriter | None:
    """Return the rules that answer to a name of PyTensor's, as one; None if there are none."""
    names = {name, *ALIASES.get(name, "").split()}
    found = {
        entry.name: entry.member
        for entry in _entries(optdb)
        if isinstance(entry.member, NodeRewriter) and not names.isdisjoint({entry.name, *entry.tags})
    }
    if not found:
        return None
    made: NodeRewriter = next(iter(found.values())) if len(found) == 1 else SequentialNodeRewriter(*found.values())
    return made
