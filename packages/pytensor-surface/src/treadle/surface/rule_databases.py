"""Documented databases that hold some of the rules of the default one, to be run alone, and a folding of constants."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.graph import Constant
from treadle.rewrite import EquilibriumDB, EquilibriumGraphRewriter, Phase, RewriteDatabaseQuery, fold, optdb
from treadle.surface.rewriters import in2out, node_rewriter

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from treadle.graph import Apply, FunctionGraph, Variable
    from treadle.rewrite.database import Entry

__all__ = [
    "infer_shape_db",
    "scan_eqopt1",
    "scan_eqopt2",
    "topo_unconditional_constant_folding",
    "unconditional_constant_folding",
]

SHAPES = "infer_shape"
# What rules about shapes carry, one tag at least, and further rules that make lengths of what they leave.
_ABOUT_SHAPES = frozenset(("ShapeOpt", "shape"))
_OF_LENGTHS = frozenset((
    *("element_of_shape", "subtensor_of_join", "exact_constant_folding", "canonical_positions", "constant_positions"),
    *("subtensor_of_subtensor", "subtensor_of_alloc", "read_of_write", "tensor_from_scalar_of_tensor"),
    *("cast_to_own_dtype", "useless_dimshuffle", "dimshuffle_of_dimshuffle", "join_of_constants"),
))  # fmt: skip


class RulesAlone(EquilibriumDB):
    """Some rules of the default database, which run together until none changes anything.

    They are taken from it when they are first asked for.

    Parameters
    ----------
    name
        Its name, and a tag of all its rules.
    phases
        The phases whose rules it takes.
    takes
        Which entries of these it takes.
    """

    def __init__(self, name: str, phases: Sequence[Phase], takes: Callable[[Entry], object]) -> None:
        super().__init__()
        self.name = name
        self._phases = tuple(phases)
        self._takes = takes
        self._is_filled = self._is_filling = False

    def _ensure(self) -> None:
        if self._is_filled:
            return
        with self._lock:
            if self._is_filled or self._is_filling:
                return
            self._is_filling = True
            try:
                self._fill()
                self._is_filled = True
            except BaseException:
                self._entries.clear()
                raise
            finally:
                self._is_filling = False

    def _fill(self) -> None:
        databases: Any = optdb
        for phase in self._phases:
            for entry in databases[phase.tag].entries():
                if entry.name not in self and self._takes(entry):
                    # The tags of its phase would bring in all of them.
                    tags = entry.tags - {entry.name, type(entry.member).__name__, *(p.tag for p in Phase)}
                    self.register(entry.name, entry.member, *sorted(tags))

    @property
    def default_query(self) -> EquilibriumGraphRewriter:
        """The rewriter of all its rules."""
        rewriter: EquilibriumGraphRewriter = self.query(RewriteDatabaseQuery(include=[self.name]))
        return rewriter


infer_shape_db = RulesAlone(
    SHAPES, [Phase.CANONICALIZE], lambda entry: entry.tags & _ABOUT_SHAPES or entry.name in _OF_LENGTHS
)
scan_eqopt1 = RulesAlone(
    "scan_eqopt1", [Phase.STABILIZE, Phase.CANONICALIZE], lambda entry: "scan_eqopt1" in entry.tags
)
scan_eqopt2 = RulesAlone(
    "scan_eqopt2", [Phase.STABILIZE, Phase.CANONICALIZE], lambda entry: "scan_eqopt2" in entry.tags
)


@node_rewriter(None, depth=1)
def unconditional_constant_folding(fgraph: FunctionGraph, node: Apply) -> Sequence[Variable] | None:
    """f(constants) -> its value, also where the op would rather stay, and where the value is large."""
    if not all(isinstance(x, Constant) for x in node.inputs):
        return None
    return fold(fgraph, node, always=True)


topo_unconditional_constant_folding = in2out(unconditional_constant_folding, name="topo_unconditional_constant_folding")
