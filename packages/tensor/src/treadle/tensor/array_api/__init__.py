"""The array API standard, 2024.12: its names, each with the standard's parameters, on symbolic tensors.

``x.__array_namespace__()`` is this module. `treadle.tensor` has these functions too, with NumPy's parameters.
docs/array_api.md says how far a symbolic library can follow the standard.
"""

from treadle.tensor.array_api import creation as _creation
from treadle.tensor.array_api import dtypes as _dtypes
from treadle.tensor.array_api import elementwise as _elementwise
from treadle.tensor.array_api import fft as fft
from treadle.tensor.array_api import linalg as linalg
from treadle.tensor.array_api import manipulation as _manipulation
from treadle.tensor.array_api import selection as _selection
from treadle.tensor.array_api import statistics as _statistics
from treadle.tensor.array_api.creation import *  # noqa: F403
from treadle.tensor.array_api.dtypes import *  # noqa: F403
from treadle.tensor.array_api.elementwise import *  # noqa: F403
from treadle.tensor.array_api.linalg import matmul as matmul
from treadle.tensor.array_api.linalg import matrix_transpose as matrix_transpose
from treadle.tensor.array_api.linalg import tensordot as tensordot
from treadle.tensor.array_api.linalg import vecdot as vecdot
from treadle.tensor.array_api.manipulation import *  # noqa: F403
from treadle.tensor.array_api.selection import *  # noqa: F403
from treadle.tensor.array_api.statistics import *  # noqa: F403
from treadle.tensor.types.constants import e as e
from treadle.tensor.types.constants import inf as inf
from treadle.tensor.types.constants import nan as nan
from treadle.tensor.types.constants import newaxis as newaxis
from treadle.tensor.types.constants import pi as pi

__all__ = [
    "e", "fft", "inf", "linalg", "matmul", "matrix_transpose", "nan", "newaxis", "pi", "tensordot", "vecdot",
]  # fmt: skip
__all__ += _creation.__all__
__all__ += _dtypes.__all__
__all__ += _elementwise.__all__
__all__ += _manipulation.__all__
__all__ += _selection.__all__
__all__ += _statistics.__all__
