"""Names that stand elsewhere, at the path that the documentation has them at; written by `./dev pages`."""

from typing import TYPE_CHECKING

from treadle.config import lazy_names

if TYPE_CHECKING:
    from treadle.surface.assumption_keys import *  # noqa: F403
    from treadle.tensor import *  # noqa: F403
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "treadle.tensor": "ConflictingAssumptionsError SpecifyAssumptions assume",
            "treadle.surface.assumption_keys": (
                "AssumptionFeature AssumptionKey DIAGONAL FactState LOWER_TRIANGULAR ORTHOGONAL PERMUTATION "
                "POSITIVE_DEFINITE SELECTION SYMMETRIC UNIQUE_INDICES UPPER_TRIANGULAR assumption_tags "
                "check_assumption register_assumption register_constant_inference register_implies "
                "specify_assumption_rule summarize_assumptions"
            ),
        },
    )
