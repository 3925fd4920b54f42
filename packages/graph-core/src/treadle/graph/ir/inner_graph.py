"""HasInnerGraph: the contract of ops that hold a graph of their own."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from treadle.graph.ir.evaluator import INNER_COMPILER

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Self

    from treadle.graph.ir.variable import Variable


class HasInnerGraph(ABC):
    """Mixin of ops that hold a graph of their own: ``class Loop(Op, HasInnerGraph)``.

    Printing, traversal and rewriting reach the inner graph through these members.

    Attributes
    ----------
    fgraph
        The inner graph; an op sets it, or has a property of the name.
    """

    if TYPE_CHECKING:

        @property
        def fgraph(self) -> Any:
            """The inner graph."""

    @property
    @abstractmethod
    def inner_inputs(self) -> list[Variable]:
        """Inputs of the inner graph."""

    @property
    @abstractmethod
    def inner_outputs(self) -> list[Variable]:
        """Outputs of the inner graph."""

    @property
    def fn(self) -> Callable[..., Sequence[Any]]:
        """The inner graph as a function: one value for each inner input in, one for each inner output out.

        It is compiled at the first use (see `treadle.graph.compile_inner`) and kept.
        """
        known: Callable[..., Sequence[object]] | None = self.__dict__.get("_fn")
        if known is None:
            known = self.__dict__["_fn"] = INNER_COMPILER.get()(self.fgraph)
        return known

    def clone(self) -> Self:
        """Return a copy of the op with an inner graph of its own, so that editing the one leaves the other alone.

        Every attribute that is the inner graph is replaced by a copy. An op that keeps more of it overrides this.
        """
        new = copy.copy(self)
        own = self.fgraph
        # Ops are often frozen dataclasses: their attributes are exchanged in the dictionary.
        for name, value in self.__dict__.items():
            if value is own:
                new.__dict__[name] = own.clone()
        for derived in ("_fn", "_canonical", "_hash"):
            new.__dict__.pop(derived, None)
        return new
