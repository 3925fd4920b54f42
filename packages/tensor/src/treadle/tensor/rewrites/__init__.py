"""treadle.tensor.rewrites: the rules over tensors, one rule set for each family."""

from treadle.tensor.rewrites.arithmetic import RULES as ARITHMETIC
from treadle.tensor.rewrites.broadcasting import RULES as BROADCASTING
from treadle.tensor.rewrites.casts import RULES as CASTS
from treadle.tensor.rewrites.dimshuffle import RULES as DIMSHUFFLE
from treadle.tensor.rewrites.exponential import RULES as EXPONENTIAL
from treadle.tensor.rewrites.folding import RULES as FOLDING
from treadle.tensor.rewrites.fusion import RULES as FUSION
from treadle.tensor.rewrites.indexing import RULES as INDEXING
from treadle.tensor.rewrites.lengths import LengthTable
from treadle.tensor.rewrites.normalization import RULES as NORMALIZATION
from treadle.tensor.rewrites.patterns import TensorPattern, constant_value, is_commutative, is_integer, is_real
from treadle.tensor.rewrites.reduction import RULES as REDUCTION
from treadle.tensor.rewrites.shape import RULES as SHAPE

RULE_SETS = (
    FOLDING,
    CASTS,
    DIMSHUFFLE,
    SHAPE,
    BROADCASTING,
    INDEXING,
    ARITHMETIC,
    REDUCTION,
    NORMALIZATION,
    EXPONENTIAL,
    FUSION,
)

__all__ = [
    "RULE_SETS",
    "LengthTable",
    "TensorPattern",
    "constant_value",
    "is_commutative",
    "is_integer",
    "is_real",
]
