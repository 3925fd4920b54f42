"""Documented classes of single ops, for ``isinstance(op.scalar_op, Mul)`` and ``isinstance(op, Sum)``.

An elementwise function is a scalar op of a class of its own; the documentation has other names for some of these
classes. A reduction is a `Reduction` of a kind: see `treadle.surface.ops.op_kinds`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.surface.ops.declared_scalar_ops import BinaryScalarOp, UnaryScalarOp, is_known
from treadle.surface.ops.op_kinds import All, Any_, Argmax, Argmin, CAReduce, CumOp, Max, Min, Prod, Sum
from treadle.tensor.elementwise.scalar_op import SCALAR_OPS

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "All",
    "Any_",
    "Argmax",
    "Argmin",
    "BinaryScalarOp",
    "CAReduce",
    "CumOp",
    "Max",
    "Min",
    "Prod",
    "Sum",
    "UnaryScalarOp",
]

# Documented classes, and the name of a scalar op of theirs where it is not that of the class in lower case.
_NAMED: dict[str, str] = {
    "AND": "and",
    "Cast": "cast_float64",
    "GammaLn": "gammaln",
    "IntDiv": "floor_div",
    "OR": "or",
    "Psi": "digamma",
    "RoundHalfAwayFromZero": "round_half_away_from_zero",
    "RoundHalfToEven": "round_half_to_even",
    "TriGamma": "tri_gamma",
    "TrueDiv": "true_div",
    "XOR": "xor",
    "NdtriExp": "ndtri_exp",
    "Owens_t": "owens_t",
}
_SAME = (
    "Abs Add Angle ArcCos ArcCosh ArcSin ArcSinh ArcTan ArcTan2 ArcTanh BetaInc BetaIncInv Ceil Clip Complex Conj Cos "
    "Cosh Deg2Rad EQ Erf Erfc Erfcinv Erfcx Erfinv Exp Exp2 Expm1 Floor GE GT Gamma GammaInc GammaIncC GammaIncCInv "
    "GammaIncInv Hyp2F1 I0 I1 Identity Imag Invert IsInf IsNan Iv Ive J0 J1 Jv Kv Kve LE LT Log Log10 Log1mexp Log1p "
    "Log2 Maximum Minimum Mod Mul NEQ Neg PolyGamma Pow Rad2Deg Real Reciprocal Second Sigmoid Sign Sin Sinh Softplus "
    "Sqr Sqrt Sub Switch Tan Tanh Trunc"
)
SCALAR_CLASSES: Mapping[str, str] = _NAMED | {name: name.lower() for name in _SAME.split()}


def __getattr__(name: str) -> Any:
    """Return the class of a scalar op, or the scalar op, by its documented name."""
    if name in SCALAR_CLASSES and is_known(SCALAR_CLASSES[name]):
        return type(SCALAR_OPS[SCALAR_CLASSES[name]])
    if not name.startswith("_") and is_known(name):
        return SCALAR_OPS[name]
    msg = f"{__name__} has no attribute {name!r}"
    raise AttributeError(msg)


def upgrade_to_float_no_complex(*types: object) -> object:
    """Stand for the dtype rule of real functions in documented declarations of scalar ops."""
    return types
