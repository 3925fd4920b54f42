"""The kinds of databases that the default one does not use, and its documented places beside the phases."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.rewrite import GraphRewriter, RewriteDatabase, RewriterTypeError, SequenceDB
from treadle.rewrite.database import Entry
from treadle.rewrite.errors import require_kind
from treadle.rewrite.ordering import in_order
from treadle.surface.rewriters.walking import SequentialNodeRewriter, WalkingGraphRewriter

if TYPE_CHECKING:
    from treadle.rewrite import DefaultDatabase, RewriteDatabaseQuery, Rewriter
    from treadle.rewrite.database import Member, Selected, Traits
    from treadle.rewrite.engine.run import Callback
    from treadle.surface.rewriters.walking import Order


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

    def _checked_traits(self, name: str, member: Member, traits: Traits) -> Traits:
        if isinstance(member, GraphRewriter):
            msg = f"register {name!r}: members of a LocalGroupDB rewrite nodes, got {member!r}."
            raise RewriterTypeError(msg)
        return traits

    def _made(self, query: RewriteDatabaseQuery, selected: Selected) -> SequentialNodeRewriter:
        rewriter = SequentialNodeRewriter(
            *in_order([member for _, member in selected]), apply_all_rewrites=self.apply_all_rewrites
        )
        rewriter.name = self.name or rewriter.name
        return rewriter


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

    def register(self, name: str, rewriter: Rewriter | RewriteDatabase, *tags: str, **traits: Any) -> None:
        """Register a rewriter of nodes in the database inside (parameters and errors as for any database)."""
        if traits.get("use_db_name_as_tag", True) and self.name and not self.db.name:
            tags = (*tags, self.name)
        self.db.register(name, rewriter, *tags, **traits)

    def entries(self) -> list[Entry]:
        """Return what is registered in the database inside."""
        return self.db.entries()

    def _registered(self, name: str) -> Entry | None:
        return self.db._registered(name)

    def _databases(self) -> list[RewriteDatabase]:
        return self.db._databases()

    def _entry(self, tag: str) -> Entry:
        return self.db._entry(tag)

    def _made(self, query: RewriteDatabaseQuery, selected: Selected) -> WalkingGraphRewriter:
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

    def register(self, name: str, rewriter: Rewriter | RewriteDatabase, *tags: str, **traits: Any) -> None:
        """Register in the other database."""
        self.db.register(name, rewriter, *tags, **traits)

    def entries(self) -> list[Entry]:
        """Return what is registered in the other database."""
        return self.db.entries()

    def _registered(self, name: str) -> Entry | None:
        return self.db._registered(name)

    def _databases(self) -> list[RewriteDatabase]:
        return self.db._databases()

    def _entry(self, tag: str) -> Entry:
        return self.db._entry(tag)

    def answer(self, query: RewriteDatabaseQuery) -> object:
        """Return what the other database answers."""
        return self.db.answer(query)


def register_documented_places(database: DefaultDatabase) -> None:
    """Give the default database two places beside the phases: ``useless`` (0.6) and ``BlasOpt`` (1.7)."""
    database.register("useless", TopoDB(), "fast_run", position=0.6)
    database.register("BlasOpt", SequenceDB(), "fast_run", "fast_compile", position=1.7)
