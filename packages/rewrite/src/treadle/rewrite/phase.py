"""Phases: the stages that a graph goes through, in order."""

from __future__ import annotations

from enum import IntEnum


class Phase(IntEnum):
    """A stage of rewriting. Stages run in this order; the rules of one run together until none applies."""

    CANONICALIZE = 1
    STABILIZE = 2
    SPECIALIZE = 3
    UNCANONICALIZE = 4
    FUSION = 5
    INPLACE = 6

    @property
    def tag(self) -> str:
        """The tag that every rule of the phase carries."""
        return self.name.lower()

    @property
    def default_tags(self) -> tuple[str, ...]:
        """Tags of a rule that names none.

        Canonical forms and stable forms belong to every mode: a result must not depend on how much time was spent on
        compiling.
        """
        return ("fast_run", "fast_compile") if self <= Phase.STABILIZE else ("fast_run",)


# Tags that queries may name although no rule may carry them at the moment: modes and backends exclude them.
DOCUMENTED_TAGS = frozenset(
    {
        "fast_run", "fast_compile", "minimum_compile", "merge", "useless", "fusion", "elemwise_fusion", "inplace",
        "BlasOpt", "cxx_only", "py_only", "shape_unsafe", "scan", "local_careduce_fusion", "add_mul_fusion",
        *(phase.tag for phase in Phase),
    }
)  # fmt: skip
