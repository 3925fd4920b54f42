"""Names that stand elsewhere, at the path that the documentation has them at; written by `./dev pages`."""

from typing import TYPE_CHECKING

from treadle.config import lazy_names

if TYPE_CHECKING:
    from treadle.surface.assumption_keys import *  # noqa: F403
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "treadle.surface.assumption_keys": (
                "AssumptionFeature AssumptionKey DIAGONAL FactState LOWER_TRIANGULAR ORTHOGONAL PERMUTATION "
                "POSITIVE_DEFINITE SELECTION SYMMETRIC UPPER_TRIANGULAR check_assumption register_assumption "
                "register_constant_inference register_implies"
            ),
            "treadle.tensor": "ConflictingAssumptionsError",
        },
    )
