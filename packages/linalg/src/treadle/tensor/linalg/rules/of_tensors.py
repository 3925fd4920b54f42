"""The rules about ops of `treadle.tensor` on matrices of some structure, and about loops: they import no other op."""

from treadle.tensor.linalg.rules.kronecker_products import RULES as KRONECKER_PRODUCTS
from treadle.tensor.linalg.rules.loops import RULES as LOOPS_SOLVING
from treadle.tensor.linalg.rules.products import RULES as STRUCTURED_PRODUCTS

RULE_SETS = (STRUCTURED_PRODUCTS, KRONECKER_PRODUCTS, LOOPS_SOLVING)
