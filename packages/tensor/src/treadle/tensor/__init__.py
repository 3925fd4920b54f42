"""treadle.tensor: tensor expressions with NumPy's names and meaning, and their gradients."""

from typing import TYPE_CHECKING

from treadle.config import package_folders, versioned_names
from treadle.graph import Constant, Variable
from treadle.tensor.elementwise import arithmetic as _arithmetic
from treadle.tensor.elementwise import cast as _cast
from treadle.tensor.elementwise import comparison as _comparison
from treadle.tensor.elementwise import complex_numbers as _complex_numbers
from treadle.tensor.elementwise import exponential as _exponential
from treadle.tensor.elementwise import logic as _logic
from treadle.tensor.elementwise import rounding as _rounding
from treadle.tensor.elementwise import trigonometric as _trigonometric
from treadle.tensor.elementwise.arithmetic import *  # noqa: F403 - the family's functions
from treadle.tensor.elementwise.arithmetic import abs_ as abs
from treadle.tensor.elementwise.arithmetic import divmod_ as divmod
from treadle.tensor.elementwise.cast import *  # noqa: F403 - the family's functions
from treadle.tensor.elementwise.comparison import *  # noqa: F403 - the family's functions
from treadle.tensor.elementwise.complex_numbers import *  # noqa: F403 - the family's functions
from treadle.tensor.elementwise.complex_numbers import complex_ as complex
from treadle.tensor.elementwise.composite import Composite, Step
from treadle.tensor.elementwise.elemwise import Elemwise
from treadle.tensor.elementwise.exponential import *  # noqa: F403 - the family's functions
from treadle.tensor.elementwise.exponential import pow_ as pow
from treadle.tensor.elementwise.logic import *  # noqa: F403 - the family's functions
from treadle.tensor.elementwise.rounding import *  # noqa: F403 - the family's functions
from treadle.tensor.elementwise.rounding import round_ as round
from treadle.tensor.elementwise.scalar_op import SCALAR_OPS, ScalarOp
from treadle.tensor.elementwise.trigonometric import *  # noqa: F403 - the family's functions
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
    MissingValueError,
    NotScalarConstantError,
    NullTypeGradError,
    NumpyFunctionError,
    ShapeError,
    TensorTypeError,
)
from treadle.tensor.families import FAMILIES, load_families
from treadle.tensor.indexing import indexing as _indexing
from treadle.tensor.indexing.expressions import (
    At,
    Entry,
    Gather,
    Positions,
    Span,
    Symbolic,
    filled_index,
    gather_plan,
    symbolic_count,
)
from treadle.tensor.indexing.indexing import *  # noqa: F403 - the family's ops and functions
from treadle.tensor.lazy import MODULES, NAMES, hint
from treadle.tensor.lengths.differences import constant_difference
from treadle.tensor.linking.scalar_table import ALL_KINDS, BLOCK_KERNELS, SCALAR_KERNELS, ScalarTable
from treadle.tensor.reductions import moments as _moments
from treadle.tensor.reductions import reduction as _reduction
from treadle.tensor.reductions.moments import *  # noqa: F403 - the family's functions
from treadle.tensor.reductions.reduction import *  # noqa: F403 - the family's ops and functions
from treadle.tensor.reductions.reduction import all_ as all
from treadle.tensor.reductions.reduction import amax as amax
from treadle.tensor.reductions.reduction import amin as amin
from treadle.tensor.reductions.reduction import any_ as any
from treadle.tensor.reductions.reduction import max_ as max
from treadle.tensor.reductions.reduction import min_ as min
from treadle.tensor.reductions.reduction import sum_ as sum
from treadle.tensor.shapes import broadcasting as _broadcasting
from treadle.tensor.shapes import dimshuffle as _dimshuffle
from treadle.tensor.shapes import shape as _shape
from treadle.tensor.shapes.broadcasting import *  # noqa: F403 - the family's ops and functions
from treadle.tensor.shapes.dimshuffle import *  # noqa: F403 - the family's ops and functions
from treadle.tensor.shapes.shape import *  # noqa: F403 - the family's ops and functions
from treadle.tensor.types.conversion import as_tensor, as_tensor_variable, constant, plain_arrays, tensors
from treadle.tensor.types.other_arrays import register_array
from treadle.tensor.types.registered_conversions import register_conversion
from treadle.tensor.types.tensor_type import CONVERTERS, DTYPES, TensorType
from treadle.tensor.variables.operators import Operators
from treadle.tensor.variables.sharing import shared
from treadle.tensor.variables.variable import (
    TensorConstant,
    TensorLike,
    TensorNode,
    TensorSharedVariable,
    TensorVariable,
)
from treadle.tensor.wiring import wire as _wire

# After everything else: loading the package `scalar` would hide the constructor of that name.
# isort: split
from treadle.tensor.types import constructors
from treadle.tensor.types.constructors import *  # noqa: F403 - one name for each dtype and rank, listed there

_wire()

if TYPE_CHECKING:
    # What programs need besides tensors, some of it from distributions that need not be installed.
    from treadle.compile import FAST_COMPILE as FAST_COMPILE
    from treadle.compile import FAST_RUN as FAST_RUN
    from treadle.compile import Function as Function
    from treadle.compile import In as In
    from treadle.compile import Mode as Mode
    from treadle.compile import MonitorMode as MonitorMode
    from treadle.compile import Out as Out
    from treadle.compile import compiled as compiled
    from treadle.compile import function as function
    from treadle.compile import get_default_mode as get_default_mode
    from treadle.config import config as config
    from treadle.graph import debugprint as debugprint
    from treadle.graph import dprint as dprint
    from treadle.graph import latex as latex
    from treadle.graph import pprint as pprint
    from treadle.graph import register_tree_node as register_tree_node
    from treadle.graph import tree_flatten as tree_flatten
    from treadle.graph import tree_leaves as tree_leaves
    from treadle.graph import tree_map as tree_map
    from treadle.graph import tree_unflatten as tree_unflatten
    from treadle.graph import write_html as write_html

    # Modules that are public themselves.
    from treadle.tensor import fft as fft
    from treadle.tensor import linalg as linalg
    from treadle.tensor import nn as nn
    from treadle.tensor import optimize as optimize
    from treadle.tensor import random as random
    from treadle.tensor import signal as signal

if TYPE_CHECKING:  # written by `./dev pages`
    from treadle.tensor.arguments.signatures import *  # noqa: F403
    from treadle.tensor.arrangement.array_functions import *  # noqa: F403
    from treadle.tensor.arrangement.diagonals import *  # noqa: F403
    from treadle.tensor.arrangement.joined_axes import *  # noqa: F403
    from treadle.tensor.arrangement.rearrangement import *  # noqa: F403
    from treadle.tensor.arrangement.repetition import *  # noqa: F403
    from treadle.tensor.arrangement.spaced_numbers import *  # noqa: F403
    from treadle.tensor.arrangement.triangles import *  # noqa: F403
    from treadle.tensor.batches.blockwise import *  # noqa: F403
    from treadle.tensor.batches.gufunc_loops import *  # noqa: F403
    from treadle.tensor.control.assertion import *  # noqa: F403
    from treadle.tensor.control.assumption import *  # noqa: F403
    from treadle.tensor.control.conditional import *  # noqa: F403
    from treadle.tensor.control.gradient_control import *  # noqa: F403
    from treadle.tensor.differentiation.custom_gradients import *  # noqa: F403
    from treadle.tensor.differentiation.jacobians import *  # noqa: F403
    from treadle.tensor.elementwise.floating import *  # noqa: F403
    from treadle.tensor.elementwise.integers import *  # noqa: F403
    from treadle.tensor.embedding.external_op import *  # noqa: F403
    from treadle.tensor.embedding.from_function import *  # noqa: F403
    from treadle.tensor.embedding.from_graph import *  # noqa: F403
    from treadle.tensor.embedding.functional import *  # noqa: F403
    from treadle.tensor.embedding.symbolic_op import *  # noqa: F403
    from treadle.tensor.fft.fourier import *  # noqa: F403
    from treadle.tensor.gradients.derivatives import *  # noqa: F403
    from treadle.tensor.gradients.gradient import *  # noqa: F403
    from treadle.tensor.gradients.numeric import *  # noqa: F403
    from treadle.tensor.indexing.coordinates import *  # noqa: F403
    from treadle.tensor.indexing.gathering import *  # noqa: F403
    from treadle.tensor.indexing.masks import *  # noqa: F403
    from treadle.tensor.indexing.nonzero import *  # noqa: F403
    from treadle.tensor.indexing.ranges import *  # noqa: F403
    from treadle.tensor.indexing.searching import *  # noqa: F403
    from treadle.tensor.indexing.slice_values import *  # noqa: F403
    from treadle.tensor.indexing.slices import *  # noqa: F403
    from treadle.tensor.joins.common_shapes import *  # noqa: F403
    from treadle.tensor.joins.joining import *  # noqa: F403
    from treadle.tensor.joins.splitting import *  # noqa: F403
    from treadle.tensor.joins.stacking import *  # noqa: F403
    from treadle.tensor.library.calculus import *  # noqa: F403
    from treadle.tensor.library.closeness import *  # noqa: F403
    from treadle.tensor.library.editing import *  # noqa: F403
    from treadle.tensor.library.interpolate import *  # noqa: F403
    from treadle.tensor.library.labels import *  # noqa: F403
    from treadle.tensor.library.nan_functions import *  # noqa: F403
    from treadle.tensor.library.padding import *  # noqa: F403
    from treadle.tensor.library.statistics import *  # noqa: F403
    from treadle.tensor.linalg.decompositions.cholesky import Cholesky as Cholesky
    from treadle.tensor.linalg.decompositions.cholesky import CholeskyPullback as CholeskyPullback
    from treadle.tensor.linalg.decompositions.cholesky import CholeskySolve as CholeskySolve
    from treadle.tensor.linalg.decompositions.eigenvalues import Eig as Eig
    from treadle.tensor.linalg.decompositions.eigenvalues import Eigvals as Eigvals
    from treadle.tensor.linalg.decompositions.hermitian_eigenvalues import Eigh as Eigh
    from treadle.tensor.linalg.decompositions.hermitian_eigenvalues import Eigvalsh as Eigvalsh
    from treadle.tensor.linalg.decompositions.lu import LU as LU
    from treadle.tensor.linalg.decompositions.lu import LUFactor as LUFactor
    from treadle.tensor.linalg.decompositions.lu import LUSolve as LUSolve
    from treadle.tensor.linalg.decompositions.lu import PivotToPermutations as PivotToPermutations
    from treadle.tensor.linalg.decompositions.qr import QR as QR
    from treadle.tensor.linalg.decompositions.qr import HouseholderProduct as HouseholderProduct
    from treadle.tensor.linalg.decompositions.schur import QZ as QZ
    from treadle.tensor.linalg.decompositions.schur import RealToComplexSchur as RealToComplexSchur
    from treadle.tensor.linalg.decompositions.schur import Schur as Schur
    from treadle.tensor.linalg.decompositions.svd import SVD as SVD
    from treadle.tensor.linalg.decompositions.svd import PolarFactor as PolarFactor
    from treadle.tensor.linalg.determinants import Det as Det
    from treadle.tensor.linalg.determinants import SingularCofactors as SingularCofactors
    from treadle.tensor.linalg.determinants import SLogDet as SLogDet
    from treadle.tensor.linalg.functions.matrix_equations import Riccati as Riccati
    from treadle.tensor.linalg.functions.matrix_equations import Sylvester as Sylvester
    from treadle.tensor.linalg.functions.matrix_functions import Expm as Expm
    from treadle.tensor.linalg.functions.matrix_functions import Logm as Logm
    from treadle.tensor.linalg.functions.matrix_functions import Sqrtm as Sqrtm
    from treadle.tensor.linalg.functions.matrix_sign import MatrixSign as MatrixSign
    from treadle.tensor.linalg.inverses import MatrixInverse as MatrixInverse
    from treadle.tensor.linalg.least_squares import Lstsq as Lstsq
    from treadle.tensor.linalg.least_squares import MatrixPinv as MatrixPinv
    from treadle.tensor.linalg.linear_systems import Solve as Solve
    from treadle.tensor.linalg.linear_systems import SolveBanded as SolveBanded
    from treadle.tensor.linalg.linear_systems import SolveHermitianBanded as SolveHermitianBanded
    from treadle.tensor.linalg.matrix_op import *  # noqa: F403
    from treadle.tensor.linalg.norms import *  # noqa: F403
    from treadle.tensor.linalg.structured.block_diagonal import BlockDiagonal as BlockDiagonal
    from treadle.tensor.linalg.triangular_systems import SolveTriangular as SolveTriangular
    from treadle.tensor.linalg.tridiagonal_systems import LUFactorTridiagonal as LUFactorTridiagonal
    from treadle.tensor.linalg.tridiagonal_systems import SolveLUFactorTridiagonal as SolveLUFactorTridiagonal
    from treadle.tensor.linking.array_functions import *  # noqa: F403
    from treadle.tensor.linking.array_rules import *  # noqa: F403
    from treadle.tensor.linking.basic_parts import *  # noqa: F403
    from treadle.tensor.linking.device_linker import *  # noqa: F403
    from treadle.tensor.linking.devices import *  # noqa: F403
    from treadle.tensor.linking.lengths import *  # noqa: F403
    from treadle.tensor.linking.locking import *  # noqa: F403
    from treadle.tensor.linking.loop_linker import *  # noqa: F403
    from treadle.tensor.linking.portable_linker import *  # noqa: F403
    from treadle.tensor.loops.loops import *  # noqa: F403
    from treadle.tensor.loops.parts import *  # noqa: F403
    from treadle.tensor.loops.plain import *  # noqa: F403
    from treadle.tensor.loops.scan.checkpoints import *  # noqa: F403
    from treadle.tensor.loops.scan.results import *  # noqa: F403
    from treadle.tensor.loops.scan.scanning import *  # noqa: F403
    from treadle.tensor.ops.undefined_gradients import *  # noqa: F403
    from treadle.tensor.products.contraction import *  # noqa: F403
    from treadle.tensor.products.einstein import *  # noqa: F403
    from treadle.tensor.products.product import *  # noqa: F403
    from treadle.tensor.random.generators.compiled_samplers import *  # noqa: F403
    from treadle.tensor.random.generators.generator_draws import *  # noqa: F403
    from treadle.tensor.random.generators.lanes import *  # noqa: F403
    from treadle.tensor.random.generators.portable_draws import *  # noqa: F403
    from treadle.tensor.reductions.accumulation import *  # noqa: F403
    from treadle.tensor.reductions.fused_reduction import *  # noqa: F403
    from treadle.tensor.reductions.normalization import *  # noqa: F403
    from treadle.tensor.shapes.shape_specification import *  # noqa: F403
    from treadle.tensor.signal.convolution import *  # noqa: F403
    from treadle.tensor.signal.convolved import *  # noqa: F403
    from treadle.tensor.signal.filtering import *  # noqa: F403
    from treadle.tensor.signal.polynomials import *  # noqa: F403
    from treadle.tensor.signal.pooling import *  # noqa: F403
    from treadle.tensor.signal.windows import *  # noqa: F403
    from treadle.tensor.sorting.counting import *  # noqa: F403
    from treadle.tensor.sorting.quantiles import *  # noqa: F403
    from treadle.tensor.sorting.sets import *  # noqa: F403
    from treadle.tensor.sorting.sorting import *  # noqa: F403
    from treadle.tensor.special_functions.bessel_functions import *  # noqa: F403
    from treadle.tensor.special_functions.entropy import *  # noqa: F403
    from treadle.tensor.special_functions.error_functions import *  # noqa: F403
    from treadle.tensor.special_functions.gamma_functions import *  # noqa: F403
    from treadle.tensor.special_functions.hypergeometric import *  # noqa: F403
    from treadle.tensor.special_functions.incomplete_beta import *  # noqa: F403
    from treadle.tensor.special_functions.incomplete_gamma import *  # noqa: F403
    from treadle.tensor.special_functions.stable_quotients import *  # noqa: F403
    from treadle.tensor.special_functions.tail_moments import *  # noqa: F403
    from treadle.tensor.staging.constant_values import *  # noqa: F403
    from treadle.tensor.staging.stages import *  # noqa: F403
    from treadle.tensor.types.constants import *  # noqa: F403
    from treadle.tensor.types.none_and_slices import *  # noqa: F403

__all__ = [
    "ALL_KINDS", "BLOCK_KERNELS", "CONVERTERS", "DTYPES", "FAMILIES", "SCALAR_KERNELS", "SCALAR_OPS", "ArgumentError",
    "At", "AxisError", "Composite", "ConflictingAssumptionsError", "Constant", "DisconnectedInputError", "DtypeError",
    "Elemwise", "Entry", "Gather", "GradientError", "IndexingError", "MaskedArrayError", "MatrixError",
    "MatrixShapeError", "MissingValueError", "NotScalarConstantError", "NullTypeGradError", "NumpyFunctionError",
    "Operators", "Positions", "ScalarOp", "ScalarTable", "ShapeError", "Span", "Step", "Symbolic",
    "TensorConstant", "TensorLike", "TensorNode", "TensorSharedVariable", "TensorType",
    "TensorTypeError", "TensorVariable", "Variable", "abs", "all", "amax", "amin", "any", "as_tensor",
    "as_tensor_variable", "complex", "constant", "constant_difference", "divmod", "filled_index", "gather_plan",
    "load_families", "max", "min", "plain_arrays", "pow", "register_array", "register_conversion", "round", "shared",
    "sum", "symbolic_count", "tensors",
]  # fmt: skip
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
    # Packages that are found as attributes, whichever distribution brings them.
    from treadle.tensor import fft as fft
    from treadle.tensor import linalg as linalg
    from treadle.tensor import optimize as optimize
    from treadle.tensor import random as random
    from treadle.tensor import signal as signal
    from treadle.tensor import special as special

    __version__: str
else:
    __getattr__ = versioned_names(__name__, "tensor", MODULES, hint)

# Other distributions may bring modules of the package.
__path__ = package_folders(__name__)
