"""Phases: the stages that a graph goes through, in order."""

from __future__ import annotations

from enum import IntEnum


class Phase(IntEnum):
    """A stage of rewriting. Stages run in this order; the rules of one run together until none applies.

    In the first, ops that ask for it give way to the graphs that they are made of.
    """

    INLINE = 0
    CANONICALIZE = 1
    STABILIZE = 2
    SPECIALIZE = 3
    UNCANONICALIZE = 4
    FUSION = 5
    INPLACE = 6

    @property
    def tag(self) -> str:
        """The tag that every rule of the phase carries: the name of its database."""
        return self.name.lower()

    @property
    def position(self) -> float:
        """Where the phase stands in the default database, as documented."""
        return (-0.01, 1.0, 1.5, 2.0, 3.0, 49.0, 50.0)[self]

    @property
    def default_tags(self) -> tuple[str, ...]:
        """Tags of a rule that names none.

        Canonical forms and stable forms belong to every mode: a result must not depend on how much time was spent on
        compiling.
        """
        return ("fast_run", "fast_compile") if self <= Phase.STABILIZE else ("fast_run",)
