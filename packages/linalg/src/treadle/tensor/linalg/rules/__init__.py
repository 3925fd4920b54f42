"""Rules for linear algebra: systems, inverses, determinants and decompositions by the structure of their matrices.

They stand above the ops, and import what rules share from `treadle.tensor.rewrites`; an entry point loads them.
"""

from treadle.tensor.linalg.rules import facts
from treadle.tensor.linalg.rules.blocks import RULES as BLOCKS
from treadle.tensor.linalg.rules.determinants import RULES as DETERMINANTS
from treadle.tensor.linalg.rules.factors import RULES as FACTORS
from treadle.tensor.linalg.rules.inverses import RULES as INVERSES_OF_MATRICES
from treadle.tensor.linalg.rules.kronecker import RULES as KRONECKER
from treadle.tensor.linalg.rules.loops import RULES as LOOPS_SOLVING
from treadle.tensor.linalg.rules.products import RULES as STRUCTURED_PRODUCTS
from treadle.tensor.linalg.rules.sharing import RULES as SHARED_FACTORS
from treadle.tensor.linalg.rules.spectra import RULES as SPECTRA
from treadle.tensor.linalg.rules.systems import RULES as SYSTEMS

RULE_SETS = (
    STRUCTURED_PRODUCTS,
    BLOCKS,
    KRONECKER,
    SYSTEMS,
    INVERSES_OF_MATRICES,
    FACTORS,
    DETERMINANTS,
    SHARED_FACTORS,
    SPECTRA,
    LOOPS_SOLVING,
)

__all__ = ["RULE_SETS", "facts"]
