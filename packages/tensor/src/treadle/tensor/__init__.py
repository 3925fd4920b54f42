"""treadle.tensor: tensor expressions with NumPy's names and meaning, and their gradients."""

from typing import TYPE_CHECKING

from treadle.config import versioned_names
from treadle.graph import Constant, Variable, shared
from treadle.tensor import broadcasting as _broadcasting
from treadle.tensor import dimshuffle as _dimshuffle
from treadle.tensor import indexing as _indexing
from treadle.tensor import moments as _moments
from treadle.tensor import reduction as _reduction
from treadle.tensor import shape as _shape
from treadle.tensor.broadcasting import *  # noqa: F403 - the family's ops and functions
from treadle.tensor.composite import Composite, Step
from treadle.tensor.conversion import as_tensor, as_tensor_variable, constant, tensors
from treadle.tensor.differences import constant_difference
from treadle.tensor.dimshuffle import *  # noqa: F403 - the family's ops and functions
from treadle.tensor.elemwise import Elemwise
from treadle.tensor.errors import (
    ArgumentError,
    AxisError,
    ConflictingAssumptionsError,
    DisconnectedInputError,
    DtypeError,
    GradientError,
    IndexingError,
    MaskedArrayError,
    MatrixError,
    MatrixShapeError,
    NotScalarConstantError,
    NullTypeGradError,
    NumpyFunctionError,
    ShapeError,
    TensorTypeError,
)
from treadle.tensor.families import FAMILIES, load_families
from treadle.tensor.from_graph import OpFromGraph
from treadle.tensor.index import At, Entry, Gather, Positions, Span, Symbolic, filled_index, gather_plan, symbolic_count
from treadle.tensor.indexing import *  # noqa: F403 - the family's ops and functions
from treadle.tensor.lazy import MODULES, NAMES
from treadle.tensor.moments import *  # noqa: F403 - the family's functions
from treadle.tensor.operators import Operators
from treadle.tensor.reduction import *  # noqa: F403 - the family's ops and functions
from treadle.tensor.reduction import all_ as all
from treadle.tensor.reduction import amax as amax
from treadle.tensor.reduction import amin as amin
from treadle.tensor.reduction import any_ as any
from treadle.tensor.reduction import max_ as max
from treadle.tensor.reduction import min_ as min
from treadle.tensor.reduction import sum_ as sum
from treadle.tensor.scalar import arithmetic as _arithmetic
from treadle.tensor.scalar import cast as _cast
from treadle.tensor.scalar import comparison as _comparison
from treadle.tensor.scalar import complex_numbers as _complex_numbers
from treadle.tensor.scalar import exponential as _exponential
from treadle.tensor.scalar import logic as _logic
from treadle.tensor.scalar import rounding as _rounding
from treadle.tensor.scalar import trigonometric as _trigonometric
from treadle.tensor.scalar.arithmetic import *  # noqa: F403 - the family's functions
from treadle.tensor.scalar.arithmetic import abs_ as abs
from treadle.tensor.scalar.arithmetic import divmod_ as divmod
from treadle.tensor.scalar.cast import *  # noqa: F403 - the family's functions
from treadle.tensor.scalar.comparison import *  # noqa: F403 - the family's functions
from treadle.tensor.scalar.complex_numbers import *  # noqa: F403 - the family's functions
from treadle.tensor.scalar.complex_numbers import complex_ as complex
from treadle.tensor.scalar.exponential import *  # noqa: F403 - the family's functions
from treadle.tensor.scalar.exponential import pow_ as pow
from treadle.tensor.scalar.logic import *  # noqa: F403 - the family's functions
from treadle.tensor.scalar.rounding import *  # noqa: F403 - the family's functions
from treadle.tensor.scalar.rounding import round_ as round
from treadle.tensor.scalar.trigonometric import *  # noqa: F403 - the family's functions
from treadle.tensor.scalar_op import SCALAR_OPS, ScalarOp
from treadle.tensor.scalar_table import ALL_KINDS, ScalarTable
from treadle.tensor.shape import *  # noqa: F403 - the family's ops and functions
from treadle.tensor.types import CONVERTERS, DTYPES, TensorType
from treadle.tensor.variable import (
    TensorConstant,
    TensorLike,
    TensorNode,
    TensorSharedVariable,
    TensorVariable,
)

# After everything else: loading the package `scalar` would hide the constructor of that name.
# isort: split
from treadle.tensor import constructors
from treadle.tensor.constructors import *  # noqa: F403 - one name for each dtype and rank, listed there

if TYPE_CHECKING:
    # Modules that are public themselves.
    from treadle.tensor import fft as fft
    from treadle.tensor import linalg as linalg
    from treadle.tensor import optimize as optimize
    from treadle.tensor import signal as signal

if TYPE_CHECKING:  # one line for each module of LAZY; type checkers take no names from the table
    from treadle.tensor.accumulation import *  # noqa: F403
    from treadle.tensor.array_functions import *  # noqa: F403
    from treadle.tensor.assertion import *  # noqa: F403
    from treadle.tensor.assumption import *  # noqa: F403
    from treadle.tensor.banded import *  # noqa: F403
    from treadle.tensor.block_diagonal import *  # noqa: F403
    from treadle.tensor.blockwise import *  # noqa: F403
    from treadle.tensor.calculus import *  # noqa: F403
    from treadle.tensor.cholesky import *  # noqa: F403
    from treadle.tensor.closeness import *  # noqa: F403
    from treadle.tensor.common_shapes import *  # noqa: F403
    from treadle.tensor.compiled_loops import *  # noqa: F403
    from treadle.tensor.conditional import *  # noqa: F403
    from treadle.tensor.constant_values import *  # noqa: F403
    from treadle.tensor.contraction import *  # noqa: F403
    from treadle.tensor.convolution import *  # noqa: F403
    from treadle.tensor.convolved import *  # noqa: F403
    from treadle.tensor.coordinates import *  # noqa: F403
    from treadle.tensor.counting import *  # noqa: F403
    from treadle.tensor.custom_gradients import *  # noqa: F403
    from treadle.tensor.derivatives import *  # noqa: F403
    from treadle.tensor.determinants import *  # noqa: F403
    from treadle.tensor.diagonals import *  # noqa: F403
    from treadle.tensor.editing import *  # noqa: F403
    from treadle.tensor.eigenvalues import *  # noqa: F403
    from treadle.tensor.einstein import *  # noqa: F403
    from treadle.tensor.external_op import *  # noqa: F403
    from treadle.tensor.filtering import *  # noqa: F403
    from treadle.tensor.fourier import *  # noqa: F403
    from treadle.tensor.from_function import *  # noqa: F403
    from treadle.tensor.functional import *  # noqa: F403
    from treadle.tensor.fused_reduction import *  # noqa: F403
    from treadle.tensor.gathering import *  # noqa: F403
    from treadle.tensor.gradient_control import *  # noqa: F403
    from treadle.tensor.gufunc import *  # noqa: F403
    from treadle.tensor.interpolate import *  # noqa: F403
    from treadle.tensor.inverse import *  # noqa: F403
    from treadle.tensor.jacobians import *  # noqa: F403
    from treadle.tensor.joined_axes import *  # noqa: F403
    from treadle.tensor.joining import *  # noqa: F403
    from treadle.tensor.least_squares import *  # noqa: F403
    from treadle.tensor.linear_systems import *  # noqa: F403
    from treadle.tensor.loop_parts import *  # noqa: F403
    from treadle.tensor.loops import *  # noqa: F403
    from treadle.tensor.lu import *  # noqa: F403
    from treadle.tensor.masks import *  # noqa: F403
    from treadle.tensor.mathematical_constants import *  # noqa: F403
    from treadle.tensor.matrix_equations import *  # noqa: F403
    from treadle.tensor.matrix_functions import *  # noqa: F403
    from treadle.tensor.matrix_op import *  # noqa: F403
    from treadle.tensor.nan_functions import *  # noqa: F403
    from treadle.tensor.normalization import *  # noqa: F403
    from treadle.tensor.norms import *  # noqa: F403
    from treadle.tensor.numeric_gradients import *  # noqa: F403
    from treadle.tensor.op_names import *  # noqa: F403
    from treadle.tensor.padding import *  # noqa: F403
    from treadle.tensor.plain_loops import *  # noqa: F403
    from treadle.tensor.polynomials import *  # noqa: F403
    from treadle.tensor.pooling import *  # noqa: F403
    from treadle.tensor.product import *  # noqa: F403
    from treadle.tensor.qr import *  # noqa: F403
    from treadle.tensor.quantiles import *  # noqa: F403
    from treadle.tensor.random.compiled_samplers import *  # noqa: F403
    from treadle.tensor.random.generator_draws import *  # noqa: F403
    from treadle.tensor.random.lanes import *  # noqa: F403
    from treadle.tensor.random.loop_states import *  # noqa: F403
    from treadle.tensor.random.portable_draws import *  # noqa: F403
    from treadle.tensor.random.portable_linker import *  # noqa: F403
    from treadle.tensor.ranges import *  # noqa: F403
    from treadle.tensor.rearrangement import *  # noqa: F403
    from treadle.tensor.repetition import *  # noqa: F403
    from treadle.tensor.reverse_mode import *  # noqa: F403
    from treadle.tensor.scalar.bessel_functions import *  # noqa: F403
    from treadle.tensor.scalar.entropy import *  # noqa: F403
    from treadle.tensor.scalar.error_functions import *  # noqa: F403
    from treadle.tensor.scalar.floating import *  # noqa: F403
    from treadle.tensor.scalar.gamma_functions import *  # noqa: F403
    from treadle.tensor.scalar.hypergeometric import *  # noqa: F403
    from treadle.tensor.scalar.incomplete_beta import *  # noqa: F403
    from treadle.tensor.scalar.incomplete_gamma import *  # noqa: F403
    from treadle.tensor.scalar.integers import *  # noqa: F403
    from treadle.tensor.scalar.stable_quotients import *  # noqa: F403
    from treadle.tensor.scalar.tail_moments import *  # noqa: F403
    from treadle.tensor.scalar_values import *  # noqa: F403
    from treadle.tensor.scan_chunks import *  # noqa: F403
    from treadle.tensor.scan_results import *  # noqa: F403
    from treadle.tensor.scanning import *  # noqa: F403
    from treadle.tensor.schur import *  # noqa: F403
    from treadle.tensor.searching import *  # noqa: F403
    from treadle.tensor.sets import *  # noqa: F403
    from treadle.tensor.shape_specification import *  # noqa: F403
    from treadle.tensor.slicing import *  # noqa: F403
    from treadle.tensor.sorting import *  # noqa: F403
    from treadle.tensor.spaced_numbers import *  # noqa: F403
    from treadle.tensor.splitting import *  # noqa: F403
    from treadle.tensor.stacking import *  # noqa: F403
    from treadle.tensor.staging import *  # noqa: F403
    from treadle.tensor.statistics import *  # noqa: F403
    from treadle.tensor.svd import *  # noqa: F403
    from treadle.tensor.symbolic_op import *  # noqa: F403
    from treadle.tensor.triangles import *  # noqa: F403
    from treadle.tensor.triangular import *  # noqa: F403
    from treadle.tensor.type_other import *  # noqa: F403
    from treadle.tensor.undefined_gradients import *  # noqa: F403
    from treadle.tensor.windows import *  # noqa: F403

__all__ = [
    "ALL_KINDS",
    "CONVERTERS",
    "DTYPES",
    "FAMILIES",
    "SCALAR_OPS",
    "ArgumentError",
    "At",
    "AxisError",
    "Composite",
    "ConflictingAssumptionsError",
    "Constant",
    "DisconnectedInputError",
    "DtypeError",
    "Elemwise",
    "Entry",
    "Gather",
    "GradientError",
    "IndexingError",
    "MaskedArrayError",
    "MatrixError",
    "MatrixShapeError",
    "NotScalarConstantError",
    "NullTypeGradError",
    "NumpyFunctionError",
    "OpFromGraph",
    "Operators",
    "Positions",
    "ScalarOp",
    "ScalarTable",
    "ShapeError",
    "Span",
    "Step",
    "Symbolic",
    "TensorConstant",
    "TensorLike",
    "TensorNode",
    "TensorSharedVariable",
    "TensorType",
    "TensorTypeError",
    "TensorVariable",
    "Variable",
    "abs",
    "all",
    "amax",
    "amin",
    "any",
    "as_tensor",
    "as_tensor_variable",
    "complex",
    "constant",
    "constant_difference",
    "divmod",
    "filled_index",
    "gather_plan",
    "load_families",
    "max",
    "min",
    "pow",
    "round",
    "shared",
    "sum",
    "symbolic_count",
    "tensors",
]
__all__ += constructors.__all__
__all__ += _broadcasting.__all__
__all__ += _dimshuffle.__all__
__all__ += _indexing.__all__
__all__ += _moments.__all__
__all__ += _reduction.__all__
__all__ += _shape.__all__
__all__ += _arithmetic.__all__
__all__ += _cast.__all__
__all__ += _comparison.__all__
__all__ += _complex_numbers.__all__
__all__ += _exponential.__all__
__all__ += _logic.__all__
__all__ += _rounding.__all__
__all__ += _trigonometric.__all__

__all__ += list(NAMES)

if TYPE_CHECKING:
    __version__: str
else:
    __getattr__ = versioned_names(__name__, "tensor", MODULES)
