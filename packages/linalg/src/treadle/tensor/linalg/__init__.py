"""treadle.tensor.linalg: linear algebra, by NumPy's and SciPy's names; each function takes stacks of matrices.

The room may import `treadle.tensor` up to `variables`; `signal`, `random` and `optimize` may import it, `tensor` itself
finds it by entry points. An op and its functions stand in one module by subject: `decompositions`, `functions` of
matrices and `structured` matrices are folders. `rules`, `lower` and `records` hold its rewrite rules, lowerings and
sample records, which are loaded by entry points only.
"""

from typing import TYPE_CHECKING

from treadle.config import lazy_names
from treadle.tensor.linalg.lazy import MODULES

if TYPE_CHECKING:
    from treadle.tensor import *  # noqa: F403

if TYPE_CHECKING:  # written by `./dev pages`
    from treadle.tensor.linalg.decompositions.cholesky import *  # noqa: F403
    from treadle.tensor.linalg.decompositions.eigenvalues import *  # noqa: F403
    from treadle.tensor.linalg.decompositions.hermitian_eigenvalues import *  # noqa: F403
    from treadle.tensor.linalg.decompositions.lu import *  # noqa: F403
    from treadle.tensor.linalg.decompositions.qr import *  # noqa: F403
    from treadle.tensor.linalg.decompositions.schur import *  # noqa: F403
    from treadle.tensor.linalg.decompositions.svd import *  # noqa: F403
    from treadle.tensor.linalg.determinants import *  # noqa: F403
    from treadle.tensor.linalg.functions.matrix_equations import *  # noqa: F403
    from treadle.tensor.linalg.functions.matrix_functions import *  # noqa: F403
    from treadle.tensor.linalg.functions.matrix_sign import *  # noqa: F403
    from treadle.tensor.linalg.inverses import *  # noqa: F403
    from treadle.tensor.linalg.least_squares import *  # noqa: F403
    from treadle.tensor.linalg.linear_systems import *  # noqa: F403
    from treadle.tensor.linalg.matrix_diagonals import *  # noqa: F403
    from treadle.tensor.linalg.structured.block_diagonal import *  # noqa: F403
    from treadle.tensor.linalg.structured.from_vectors import *  # noqa: F403
    from treadle.tensor.linalg.structured.named_matrices import *  # noqa: F403
    from treadle.tensor.linalg.triangular_systems import *  # noqa: F403
    from treadle.tensor.linalg.tridiagonal_systems import *  # noqa: F403
else:
    __getattr__ = lazy_names(__name__, MODULES)
