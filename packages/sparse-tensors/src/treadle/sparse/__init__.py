"""treadle.sparse: SciPy's sparse matrices in the formats CSR and CSC as symbolic variables, with ops and gradients.

A sparse variable stands for a matrix of SciPy's. Where a graph is compiled, it is its three arrays, which are plain
tensors: the ops on them (`treadle.sparse.kernels`) have rules for C and Numba, and simpler forms for other backends.
"""

from typing import TYPE_CHECKING

from treadle.config import package_folders, versioned_names
from treadle.sparse.names import NAMES

if TYPE_CHECKING:
    from treadle.sparse.elementwise.arithmetic import *  # noqa: F403
    from treadle.sparse.elementwise.comparison import *  # noqa: F403
    from treadle.sparse.elementwise.functions import *  # noqa: F403
    from treadle.sparse.errors import *  # noqa: F403
    from treadle.sparse.forms.dense import *  # noqa: F403
    from treadle.sparse.forms.parts import *  # noqa: F403
    from treadle.sparse.joins import *  # noqa: F403
    from treadle.sparse.products import *  # noqa: F403
    from treadle.sparse.reductions import *  # noqa: F403
    from treadle.sparse.selection.cleaning import *  # noqa: F403
    from treadle.sparse.selection.indexing import *  # noqa: F403
    from treadle.sparse.types.conversion import *  # noqa: F403
    from treadle.sparse.types.sparse_type import *  # noqa: F403
    from treadle.sparse.types.variable import *  # noqa: F403
    from treadle.sparse.verification import *  # noqa: F403

    __version__: str
else:
    __getattr__ = versioned_names(__name__, "sparse-tensors", NAMES)

# Other distributions may bring modules of the package.
__path__ = package_folders(__name__)
