"""Databases whose members run together until nothing changes, or one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.config import config
from treadle.rewrite.compound import EquilibriumGraphRewriter, SequentialGraphRewriter
from treadle.rewrite.database import Entry, RewriteDatabase
from treadle.rewrite.engine.interface import NodeRewriter
from treadle.rewrite.errors import RewriterTypeError, RuleDefinitionError
from treadle.rewrite.ordering import in_order
from treadle.rewrite.query import as_position

if TYPE_CHECKING:
    from treadle.rewrite.database import Member, Selected, Traits
    from treadle.rewrite.engine.interface import Rewriter
    from treadle.rewrite.query import RewriteDatabaseQuery


class EquilibriumDB(RewriteDatabase):
    """Its members run together until none changes anything: a query returns an `EquilibriumGraphRewriter`.

    Parameters
    ----------
    ignore_newtrees
        Whether new nodes are looked at after all others, instead of next.
    """

    def __init__(self, ignore_newtrees: bool = True) -> None:
        super().__init__()
        self.ignore_newtrees = ignore_newtrees

    def register(
        self,
        name: str,
        rewriter: Rewriter | RewriteDatabase,
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
            If one of them is asked for, and it is not a rewriter of whole graphs.
        """
        traits: Traits = {"final": final_rewriter, "cleanup": cleanup}
        self._register(name, rewriter, tags, use_db_name_as_tag, replace or overwrite_existing, traits)

    def _checked_traits(self, name: str, member: Member, traits: Traits) -> Traits:
        if traits["final"] and traits["cleanup"]:
            msg = f"register {name!r}: a rewriter is either final_rewriter or cleanup, not both."
            raise RuleDefinitionError(msg)
        if (traits["final"] or traits["cleanup"]) and isinstance(member, NodeRewriter):
            msg = f"register {name!r}: a final or cleanup rewriter is one of whole graphs, got {member!r}."
            raise RewriterTypeError(msg)
        return traits

    def _made(self, query: RewriteDatabaseQuery, selected: Selected) -> EquilibriumGraphRewriter:
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
        rewriter: Rewriter | RewriteDatabase,
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
        at = as_position(f"register {name!r}", position)
        traits: Traits = {} if at == "last" else {"position": float(at)}
        self._register(name, rewriter, tags, use_db_name_as_tag, replace or overwrite_existing, traits)

    def _checked_traits(self, name: str, member: Member, traits: Traits) -> Traits:
        if isinstance(member, NodeRewriter):
            msg = (
                f"register {name!r}: members of a SequenceDB rewrite whole graphs, got {member!r}. Wrap it in in2out, "
                "or register it in a database of local rules, such as 'canonicalize'."
            )
            raise RewriterTypeError(msg)
        if "position" not in traits:
            positions = [entry.traits["position"] for entry in self._entries.values() if entry.name != name]
            return {**traits, "position": max(positions) + 1.0 if positions else 0.0}
        return traits

    def in_running_order(self) -> list[Entry]:
        """Return what is registered, by position."""
        return sorted(self.entries(), key=lambda entry: entry.traits["position"])

    def position(self, name: str) -> float:
        """Return the position of a member.

        Raises
        ------
        UnknownTagError
            If there is none of the name.
        """
        return float(self._entry(name).traits["position"])

    def _made(self, query: RewriteDatabaseQuery, selected: Selected) -> SequentialGraphRewriter:
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
