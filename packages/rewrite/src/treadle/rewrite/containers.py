"""Kinds of databases: what a query of each returns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.config import config
from treadle.rewrite.database import Entry, RewriteDatabase
from treadle.rewrite.errors import RewriterTypeError, RuleDefinitionError, require_kind
from treadle.rewrite.interface import GraphRewriter, NodeRewriter
from treadle.rewrite.ordering import in_order
from treadle.rewrite.query import RewriteDatabaseQuery, as_position
from treadle.rewrite.sequences import SequentialGraphRewriter, SequentialNodeRewriter
from treadle.rewrite.walking import EquilibriumGraphRewriter, WalkingGraphRewriter

if TYPE_CHECKING:
    from treadle.rewrite.run import Callback
    from treadle.rewrite.walking import Order


class EquilibriumDB(RewriteDatabase):
    """Its members run together until none changes anything: a query returns an `EquilibriumGraphRewriter`.

    Parameters
    ----------
    ignore_newtrees
        Whether nodes that come in are looked at after all others, instead of next.
    """

    def __init__(self, ignore_newtrees: bool = True) -> None:
        super().__init__()
        self.ignore_newtrees = ignore_newtrees

    def register(
        self,
        name: str,
        rewriter: Any,
        *tags: str,
        use_db_name_as_tag: bool = True,
        replace: bool = False,
        overwrite_existing: bool = False,
        final_rewriter: bool = False,
        cleanup: bool = False,
    ) -> None:
        """Register a rewriter or a database (parameters and errors as for any database).

        Parameters
        ----------
        final_rewriter
            Whether it runs where the others have come to rest.
        cleanup
            Whether it runs after each of these.

        Raises
        ------
        RuleDefinitionError
            If both are asked for.
        RewriterTypeError
            If one of them is asked for, and it is no rewriter of whole graphs.
        """
        traits = {"final": final_rewriter, "cleanup": cleanup}
        self._register(name, rewriter, tags, use_db_name_as_tag, replace or overwrite_existing, traits)

    def _checked_traits(self, name: str, member: Any, traits: dict[str, Any]) -> dict[str, Any]:
        if traits["final"] and traits["cleanup"]:
            msg = f"register {name!r}: a rewriter is either final_rewriter or cleanup, not both."
            raise RuleDefinitionError(msg)
        if (traits["final"] or traits["cleanup"]) and isinstance(member, NodeRewriter):
            msg = f"register {name!r}: a final or cleanup rewriter is one of whole graphs, got {member!r}."
            raise RewriterTypeError(msg)
        return traits

    def _made(self, query: RewriteDatabaseQuery, selected: list[tuple[Entry, Any]]) -> EquilibriumGraphRewriter:
        del query
        kinds: dict[str, list[Any]] = {"final": [], "cleanup": [], "usual": []}
        for entry, member in selected:
            kind = next((kind for kind in ("final", "cleanup") if entry.traits[kind]), "usual")
            kinds[kind] += member if isinstance(member, tuple) else [member]
        return EquilibriumGraphRewriter(
            in_order(kinds["usual"]),
            None,
            self.ignore_newtrees,
            float(config.optdb__max_use_ratio),
            in_order(kinds["final"]),
            in_order(kinds["cleanup"]),
            name=self.name,
        )


class SequenceDB(RewriteDatabase):
    """Its members run one after the other, by position: a query returns a `SequentialGraphRewriter`.

    Members of one position run in alphabetical order, subject to their before and after.
    """

    def register(
        self,
        name: str,
        rewriter: Any,
        *tags: str,
        use_db_name_as_tag: bool = True,
        replace: bool = False,
        overwrite_existing: bool = False,
        position: float | str = "last",
    ) -> None:
        """Register a rewriter of whole graphs or a database (parameters and errors as for any database).

        Parameters
        ----------
        position
            A number, or ``"last"`` for 1 after the last one.

        Raises
        ------
        RewriterTypeError
            If the position is something else, or the rewriter is one of nodes.
        """
        traits = {"position": as_position(f"register {name!r}", position)}
        self._register(name, rewriter, tags, use_db_name_as_tag, replace or overwrite_existing, traits)

    def _checked_traits(self, name: str, member: Any, traits: dict[str, Any]) -> dict[str, Any]:
        if isinstance(member, NodeRewriter):
            msg = (
                f"register {name!r}: members of a SequenceDB rewrite whole graphs, got {member!r}. Wrap it in in2out, "
                "or register it in a database of local rules, such as 'canonicalize'."
            )
            raise RewriterTypeError(msg)
        if traits["position"] == "last":
            taken = [entry.traits["position"] for entry in self._entries.values() if entry.name != name]
            return {**traits, "position": max(taken) + 1.0 if taken else 0.0}
        return traits

    def position(self, name: str) -> float:
        """Return the position of a member.

        Raises
        ------
        UnknownTagError
            If there is none of the name.
        """
        return float(self._entry(name).traits["position"])

    def _made(self, query: RewriteDatabaseQuery, selected: list[tuple[Entry, Any]]) -> SequentialGraphRewriter:
        cutoff = config.optdb__position_cutoff if query.position_cutoff is None else query.position_cutoff
        placed = [(entry.traits["position"], entry.name, member) for entry, member in selected]
        last = max((position for position, *_ in placed), default=-1.0)
        for rewriter, position in query.extra_rewrites:
            at = last + 1.0 if position == "last" else float(position)
            placed.append((at, str(rewriter), rewriter))
        placed = sorted((item for item in placed if item[0] < cutoff), key=lambda item: item[:2])
        ordered = []
        for at in dict.fromkeys(position for position, *_ in placed):
            ordered += in_order([member for position, _, member in placed if position == at])
        return SequentialGraphRewriter(*ordered, name=self.name)


class LocalGroupDB(RewriteDatabase):
    """Rewriters of nodes that are tried in order: a query returns a `SequentialNodeRewriter`.

    Parameters
    ----------
    apply_all_rewrites
        Whether to go on, with what a rewriter returned, until none of them changes anything.
    """

    def __init__(self, apply_all_rewrites: bool = False) -> None:
        super().__init__()
        self.apply_all_rewrites = apply_all_rewrites

    def _checked_traits(self, name: str, member: Any, traits: dict[str, Any]) -> dict[str, Any]:
        if isinstance(member, GraphRewriter):
            msg = f"register {name!r}: members of a LocalGroupDB rewrite nodes, got {member!r}."
            raise RewriterTypeError(msg)
        return traits

    def _made(self, query: RewriteDatabaseQuery, selected: list[tuple[Entry, Any]]) -> SequentialNodeRewriter:
        del query
        members: list[Any] = [member for _, member in selected]
        made = SequentialNodeRewriter(*in_order(members), apply_all_rewrites=self.apply_all_rewrites)
        made.name = self.name or made.name
        return made


class TopoDB(RewriteDatabase):
    """A database of rewriters of nodes, which are tried on every node once: a query walks over the graph.

    Parameters
    ----------
    db
        Where the rewriters are registered; a new `LocalGroupDB` if None.
    order
        ``"in_to_out"`` or ``"out_to_in"``.
    ignore_newtrees
        Whether nodes that come in are left alone.
    failure_callback
        Called with (error, run, node) where one fails, in place of what ``on_opt_error`` says.
    """

    def __init__(
        self,
        db: RewriteDatabase | None = None,
        order: Order = "in_to_out",
        ignore_newtrees: bool = False,
        failure_callback: Callback | None = None,
    ) -> None:
        super().__init__()
        self.db = LocalGroupDB() if db is None else db
        self.db._around.append(self)
        self.order: Order = order
        self.ignore_newtrees = ignore_newtrees
        self.failure_callback = failure_callback

    def register(self, name: str, rewriter: Any, *tags: str, **traits: Any) -> None:
        """Register a rewriter of nodes in the database inside (parameters and errors as for any database)."""
        if traits.get("use_db_name_as_tag", True) and self.name and not self.db.name:
            tags = (*tags, self.name)
        self.db.register(name, rewriter, *tags, **traits)

    def entries(self) -> list[Entry]:
        """Return what is registered in the database inside."""
        return self.db.entries()

    def _entry(self, tag: str) -> Entry:
        return self.db._entry(tag)

    def _made(self, query: RewriteDatabaseQuery, selected: list[tuple[Entry, Any]]) -> WalkingGraphRewriter:
        del selected
        node_rewriter = self.db.answer(query)
        return WalkingGraphRewriter(node_rewriter, self.order, self.ignore_newtrees, self.failure_callback, self.name)


class ProxyDB(RewriteDatabase):
    """Stands for another database, so that it can be registered in several places.

    Parameters
    ----------
    db
        The other database.
    """

    def __init__(self, db: RewriteDatabase) -> None:
        super().__init__()
        require_kind("ProxyDB", "a database to stand for", db, RewriteDatabase)
        self.db = db
        db._around.append(self)

    def register(self, name: str, rewriter: Any, *tags: str, **traits: Any) -> None:
        """Register in the other database."""
        self.db.register(name, rewriter, *tags, **traits)

    def entries(self) -> list[Entry]:
        """Return what is registered in the other database."""
        return self.db.entries()

    def _entry(self, tag: str) -> Entry:
        return self.db._entry(tag)

    def answer(self, query: RewriteDatabaseQuery) -> Any:
        """Return what the other database answers."""
        return self.db.answer(query)


def placed_entries(database: RewriteDatabase) -> list[Entry]:
    """Return what is registered in a database, by position where its members have one that counts."""
    entries = list(database.entries())
    return sorted(entries, key=lambda e: e.traits["position"]) if isinstance(database, SequenceDB) else entries
