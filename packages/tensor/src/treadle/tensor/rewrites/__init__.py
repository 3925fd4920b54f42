"""treadle.tensor.rewrites: the rules over tensors: by family of ops, over elementwise functions, and general ones."""

from treadle.tensor.arrangement.rules.diagonals import RULES as DIAGONALS
from treadle.tensor.batches.rules.blockwise import RULES as BLOCKWISE
from treadle.tensor.control.rules.assertion import RULES as ASSERTION
from treadle.tensor.control.rules.assumption import RULES as ASSUMPTION
from treadle.tensor.control.rules.conditional import RULES as CONDITIONAL
from treadle.tensor.control.rules.gradient_control import RULES as GRADIENT_CONTROL
from treadle.tensor.elementwise.rules.algebra import RULES as ALGEBRA
from treadle.tensor.elementwise.rules.arithmetic import RULES as ARITHMETIC
from treadle.tensor.elementwise.rules.cast import RULES as CASTS
from treadle.tensor.elementwise.rules.comparison import RULES as COMPARISON
from treadle.tensor.elementwise.rules.complex_numbers import RULES as COMPLEX
from treadle.tensor.elementwise.rules.exponential import RULES as EXPONENTIAL
from treadle.tensor.elementwise.rules.inverses import RULES as INVERSES
from treadle.tensor.elementwise.rules.logic import RULES as LOGIC
from treadle.tensor.elementwise.rules.logistic import RULES as LOGISTIC
from treadle.tensor.elementwise.rules.powers import RULES as POWERS
from treadle.tensor.elementwise.rules.switch import RULES as SWITCH
from treadle.tensor.embedding.rules.from_graph import RULES as FROM_GRAPH
from treadle.tensor.indexing.rules.masks import RULES as MASKS
from treadle.tensor.indexing.rules.set_subtensor import RULES as INCREMENTS
from treadle.tensor.indexing.rules.subtensor import RULES as INDEXING
from treadle.tensor.joins.rules.joining import RULES as JOINING
from treadle.tensor.loops.rules.bodies import RULES as LOOPS_BODIES
from treadle.tensor.loops.rules.cleanup import RULES as LOOPS_CLEANUP
from treadle.tensor.loops.rules.hoisting import RULES as LOOPS_HOISTING
from treadle.tensor.loops.rules.merging import RULES as LOOPS_MERGING
from treadle.tensor.loops.rules.rings import RULES as LOOPS_RINGS
from treadle.tensor.loops.rules.sums import RULES as LOOPS_SUMS
from treadle.tensor.loops.rules.traces import RULES as LOOPS_TRACES
from treadle.tensor.loops.rules.unrolling import RULES as LOOPS_UNROLLING
from treadle.tensor.products.rules.product import RULES as PRODUCT
from treadle.tensor.reductions.rules.log_sum_exp import RULES as LOGARITHMS
from treadle.tensor.reductions.rules.rearranged import RULES as REARRANGED
from treadle.tensor.reductions.rules.reduction import RULES as REDUCTION
from treadle.tensor.reductions.rules.softmax import RULES as NORMALIZATION
from treadle.tensor.rewrites.analysis.fact_rules import RULES as FACT_RULES
from treadle.tensor.rewrites.analysis.facts import Facts, facts_of, holds
from treadle.tensor.rewrites.analysis.patterns import TensorPattern, is_commutative, is_integer, is_real
from treadle.tensor.rewrites.analysis.predicates import constant_value
from treadle.tensor.rewrites.general.folding import RULES as FOLDING
from treadle.tensor.rewrites.general.fusion import RULES as FUSION
from treadle.tensor.rewrites.general.gathered_numbers import RULES as GATHERED_NUMBERS
from treadle.tensor.rewrites.general.inplace import RULES as INPLACE
from treadle.tensor.rewrites.general.lifting import RULES as LIFTING
from treadle.tensor.shape_inference.symbolic_shapes import SymbolicShapes
from treadle.tensor.shapes.rules.broadcasting import RULES as BROADCASTING
from treadle.tensor.shapes.rules.dimshuffle import RULES as DIMSHUFFLE
from treadle.tensor.shapes.rules.shape import RULES as SHAPE
from treadle.tensor.shapes.rules.shape_specification import RULES as SPECIFICATION
from treadle.tensor.special_functions.rules.gamma_functions import RULES as GAMMA_FUNCTIONS
from treadle.tensor.special_functions.rules.special_functions import RULES as SPECIAL_FUNCTIONS

RULE_SETS = (
    FOLDING,
    GATHERED_NUMBERS,
    CASTS,
    DIMSHUFFLE,
    SHAPE,
    SPECIFICATION,
    DIAGONALS,
    BROADCASTING,
    INDEXING,
    LIFTING,
    MASKS,
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
    ASSERTION,
    BLOCKWISE,
    FROM_GRAPH,
    GRADIENT_CONTROL,
    ASSUMPTION,
    ALGEBRA,
    REDUCTION,
    PRODUCT,
    REARRANGED,
    NORMALIZATION,
    EXPONENTIAL,
    GAMMA_FUNCTIONS,
    LOGARITHMS,
    LOGISTIC,
    SPECIAL_FUNCTIONS,
    LOOPS_CLEANUP,
    LOOPS_MERGING,
    LOOPS_BODIES,
    LOOPS_HOISTING,
    LOOPS_SUMS,
    LOOPS_TRACES,
    LOOPS_RINGS,
    LOOPS_UNROLLING,
    FUSION,
    INPLACE,
)

__all__ = [
    "FACT_RULES", "RULE_SETS", "Facts", "SymbolicShapes", "TensorPattern", "constant_value", "facts_of", "holds",
    "is_commutative", "is_integer", "is_real",
]  # fmt: skip
