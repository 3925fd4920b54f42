"""Classes that stand for ops which are one class here: ``isinstance(op.scalar_op, Mul)``, ``isinstance(op, Sum)``.

An elementwise function is a `ScalarOp` with a name, a reduction is a `Reduction` of a kind. The documentation has a
class for each: these are classes whose instances are told by name or kind.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from treadle.config import text_of
from treadle.tensor.accumulation import Accumulation
from treadle.tensor.dtype_rules import float_like
from treadle.tensor.errors import TensorTypeError
from treadle.tensor.families import load_families
from treadle.tensor.reduction import ArgReduction, Reduction
from treadle.tensor.scalar_op import SCALAR_OPS, ScalarOp

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from treadle.graph import Op, Variable
    from treadle.tensor.variable import TensorVariable

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


class ScalarOpClass(type):
    """The class of classes of scalar ops: an instance is a scalar op of one of some names, or of some arity.

    Calling such a class gives the scalar op. A class derived from one with a method ``impl`` declares a scalar op of
    its own: calling that makes it, of the class's gradient (``grad``, ``L_op`` or ``pullback``).
    """

    names: tuple[str, ...]
    nin: int | None

    def __instancecheck__(cls, op: object) -> bool:
        """Whether something is a scalar op of the names, or of the arity."""
        if not isinstance(op, ScalarOp):
            return False
        return op.name in cls.names if cls.names else cls.nin is None or op.nin == cls.nin

    def __call__(cls, *args: object, name: str | None = None, **kwargs: object) -> ScalarOp:
        """Return the scalar op, or make that of a class with an implementation; dtypes are those of real functions.

        Raises
        ------
        TensorTypeError
            If the class stands for several scalar ops.
        """
        del args, kwargs
        if hasattr(cls, "impl"):
            made = _declared(type.__call__(cls), name or cls.__name__.lower(), cls.nin)
            cls.names = (*cls.names, made.name)
            return made
        if len(cls.names) != 1 or not _is_known(cls.names[0]):
            msg = f"{cls.__name__}: the class stands for no single scalar op. Call the function of treadle.tensor."
            raise TensorTypeError(msg)
        return SCALAR_OPS[cls.names[0]]


def _is_known(name: str) -> bool:
    if name not in SCALAR_OPS:
        load_families("treadle.tensor.scalar")
    return name in SCALAR_OPS


def _declared(owner: Any, name: str, nin: int | None) -> ScalarOp:
    """Return the scalar op that a user's class declares by its methods."""

    def pullback(
        cotangent: TensorVariable, output: TensorVariable, inputs: Sequence[TensorVariable]
    ) -> Sequence[Variable | None]:
        terms: Sequence[Variable | None]
        if hasattr(owner, "grad"):
            terms = owner.grad(inputs, [cotangent])
        else:
            rule = owner.pullback if hasattr(owner, "pullback") else owner.L_op
            terms = rule(inputs, [output], [cotangent])
        return terms

    unique = f"{type(owner).__module__}.{name}" if _is_known(name) else name
    has_gradient = any(hasattr(owner, method) for method in ("grad", "L_op", "pullback"))
    each = np.frompyfunc(owner.impl, nin or 1, 1)
    return ScalarOp(
        name=unique,
        nin=nin or 1,
        dtypes=float_like,
        impl=lambda *operands: np.asarray(each(*operands), operands[0].dtype),
        pullback=pullback if has_gradient else None,
    )


class UnaryScalarOp(metaclass=ScalarOpClass):
    """Scalar ops of one operand."""

    names = ()
    nin = 1


class BinaryScalarOp(metaclass=ScalarOpClass):
    """Scalar ops of two operands."""

    names = ()
    nin = 2


# The documented class of each scalar op: by the name of the op, where it is another than that of the class in small
# letters.
_NAMED: dict[str, str] = {
    "AND": "and",
    "Cast": " ".join(name for name in SCALAR_OPS.names() if name.startswith("cast_")),
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
SCALAR_CLASSES: Mapping[str, ScalarOpClass] = {
    name: ScalarOpClass(name, (), {"names": tuple(ops.split()), "nin": None, "__doc__": f"The scalar op {ops}."})
    for name, ops in (_NAMED | {name: name.lower() for name in _SAME.split()}).items()
}


class OpKind(type):
    """The class of classes of ops of one kind of a class: ``Sum`` are the reductions that sum."""

    of: type[Op]
    kinds: tuple[str, ...]

    def __instancecheck__(cls, op: object) -> bool:
        """Whether something is an op of the class, of one of the kinds."""
        return isinstance(op, cls.of) and getattr(op, "kind", None) in cls.kinds

    def __call__(cls, *args: object, **kwargs: object) -> Op:
        """Refuse: the axes of such an op depend on what it is applied to.

        Raises
        ------
        TensorTypeError
            Always.
        """
        msg = (
            f"{cls.__name__}: the op is made when it is applied, got {text_of(args or kwargs)}. Call the function of "
            f"treadle.tensor, as in {cls.kinds[0]}(x, axis)."
        )
        raise TensorTypeError(msg)


def _kind(name: str, of: type[Op], kinds: str) -> OpKind:
    text = f"`{of.__name__}` of kind {kinds.replace(' ', ', ')}."
    return OpKind(name, (), {"of": of, "kinds": tuple(kinds.split()), "__doc__": text})


All = _kind("All", Reduction, "all")
Any_ = _kind("Any", Reduction, "any")
Argmax = _kind("Argmax", ArgReduction, "argmax")
Argmin = _kind("Argmin", ArgReduction, "argmin")
CAReduce = _kind("CAReduce", Reduction, "sum prod max min all any")
CumOp = _kind("CumOp", Accumulation, "sum prod")
Max = _kind("Max", Reduction, "max")
Min = _kind("Min", Reduction, "min")
Prod = _kind("Prod", Reduction, "prod")
Sum = _kind("Sum", Reduction, "sum")


def __getattr__(name: str) -> Any:
    """Return the class of a scalar op, or the scalar op, by its documented name."""
    if name in SCALAR_CLASSES:
        return SCALAR_CLASSES[name]
    if not name.startswith("_") and _is_known(name):
        return SCALAR_OPS[name]
    msg = f"{__name__} has no attribute {name!r}"
    raise AttributeError(msg)


def upgrade_to_float_no_complex(*types: Any) -> Any:
    """Stand for the dtype rule of real functions, in declarations of scalar ops as the documentation has them."""
    return types
