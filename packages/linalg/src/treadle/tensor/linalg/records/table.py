"""The records of all modules, and the dtypes at which ops have none."""

from treadle.tensor.linalg.records import (
    banded,
    block_diagonal,
    cholesky,
    determinants,
    eigenvalues,
    inverse,
    least_squares,
    linear_systems,
    lu,
    matrix_equations,
    matrix_functions,
    qr,
    schur,
    svd,
    triangular,
)
from treadle.tensor.linalg.records.composed import functions, structured, systems
from treadle.tensor.linalg.records.composed import svd as composed_svd
from treadle.testing import LeftOut

_FAMILIES = (
    banded,
    block_diagonal,
    cholesky,
    determinants,
    eigenvalues,
    inverse,
    least_squares,
    linear_systems,
    lu,
    matrix_equations,
    matrix_functions,
    qr,
    schur,
    svd,
    triangular,
)
_COMPOSED = (functions, composed_svd, structured, systems)
RECORDS = (
    *(sample for module in (*_FAMILIES, *_COMPOSED) for sample in module.SAMPLES),
    *(LeftOut(op, dtypes) for module in _FAMILIES for op, dtypes in getattr(module, "LEFT_OUT", {}).items()),
)
