"""treadle.tensor.rewrites: the rules over tensors, one rule set for each family."""

from treadle.tensor.rewrites.algebra import RULES as ALGEBRA
from treadle.tensor.rewrites.arithmetic import RULES as ARITHMETIC
from treadle.tensor.rewrites.broadcasting import RULES as BROADCASTING
from treadle.tensor.rewrites.casts import RULES as CASTS
from treadle.tensor.rewrites.comparison import RULES as COMPARISON
from treadle.tensor.rewrites.complex_numbers import RULES as COMPLEX
from treadle.tensor.rewrites.conditional import RULES as CONDITIONAL
from treadle.tensor.rewrites.dimshuffle import RULES as DIMSHUFFLE
from treadle.tensor.rewrites.exponential import RULES as EXPONENTIAL
from treadle.tensor.rewrites.folding import RULES as FOLDING
from treadle.tensor.rewrites.from_graph import RULES as FROM_GRAPH
from treadle.tensor.rewrites.fusion import RULES as FUSION
from treadle.tensor.rewrites.increments import RULES as INCREMENTS
from treadle.tensor.rewrites.indexing import RULES as INDEXING
from treadle.tensor.rewrites.inplace import RULES as INPLACE
from treadle.tensor.rewrites.inverses import RULES as INVERSES
from treadle.tensor.rewrites.joining import RULES as JOINING
from treadle.tensor.rewrites.lengths import LengthTable
from treadle.tensor.rewrites.lifting import RULES as LIFTING
from treadle.tensor.rewrites.logarithms import RULES as LOGARITHMS
from treadle.tensor.rewrites.logic import RULES as LOGIC
from treadle.tensor.rewrites.logistic import RULES as LOGISTIC
from treadle.tensor.rewrites.normalization import RULES as NORMALIZATION
from treadle.tensor.rewrites.patterns import TensorPattern, constant_value, is_commutative, is_integer, is_real
from treadle.tensor.rewrites.powers import RULES as POWERS
from treadle.tensor.rewrites.product import RULES as PRODUCT
from treadle.tensor.rewrites.reduction import RULES as REDUCTION
from treadle.tensor.rewrites.reshape import RULES as RESHAPE
from treadle.tensor.rewrites.shape import RULES as SHAPE
from treadle.tensor.rewrites.sinking import RULES as SINKING
from treadle.tensor.rewrites.switch import RULES as SWITCH

RULE_SETS = (
    FOLDING,
    CASTS,
    DIMSHUFFLE,
    SHAPE,
    RESHAPE,
    BROADCASTING,
    INDEXING,
    LIFTING,
    SINKING,
    INCREMENTS,
    JOINING,
    ARITHMETIC,
    POWERS,
    INVERSES,
    COMPLEX,
    LOGIC,
    COMPARISON,
    SWITCH,
    CONDITIONAL,
    FROM_GRAPH,
    ALGEBRA,
    REDUCTION,
    PRODUCT,
    NORMALIZATION,
    EXPONENTIAL,
    LOGARITHMS,
    LOGISTIC,
    FUSION,
    INPLACE,
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
