"""The rules about the ops of linear algebra, which are loaded once one of these is imported."""

from treadle.tensor.linalg.rules import facts
from treadle.tensor.linalg.rules.blocks import RULES as BLOCKS
from treadle.tensor.linalg.rules.determinants import RULES as DETERMINANTS
from treadle.tensor.linalg.rules.factors import RULES as FACTORS
from treadle.tensor.linalg.rules.inverses import RULES as INVERSES_OF_MATRICES
from treadle.tensor.linalg.rules.kronecker import RULES as KRONECKER
from treadle.tensor.linalg.rules.sharing import RULES as SHARED_FACTORS
from treadle.tensor.linalg.rules.spectra import RULES as SPECTRA
from treadle.tensor.linalg.rules.systems import RULES as SYSTEMS

RULE_SETS = (
    BLOCKS,
    KRONECKER,
    SYSTEMS,
    INVERSES_OF_MATRICES,
    FACTORS,
    DETERMINANTS,
    SHARED_FACTORS,
    SPECTRA,
)

__all__ = ["RULE_SETS", "facts"]
