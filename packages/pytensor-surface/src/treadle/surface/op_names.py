"""Documented classes of single ops, for ``isinstance(op.scalar_op, Mul)`` and ``isinstance(op, Sum)``.

An elementwise function is a `ScalarOp` with a name, a reduction is a `Reduction` of a kind. The documentation has a
class for each: these are classes whose instances are recognised by name or kind.
"""

from __future__ import annotations

from dataclasses import dataclass
from inspect import signature
from typing import TYPE_CHECKING, Any

import numpy as np

from treadle.config import text_of
from treadle.tensor.arguments.values import as_choice
from treadle.tensor.elementwise.scalar_op import SCALAR_OPS, ScalarOp
from treadle.tensor.errors import TensorTypeError
from treadle.tensor.families import load_scalar_families
from treadle.tensor.ops.fields import fix_axes
from treadle.tensor.reductions.accumulation import Accumulation, cumprod, cumsum
from treadle.tensor.reductions.reduction import (
    ArgReduction,
    Reduction,
    all_,
    any_,
    argmax,
    argmin,
    max_,
    min_,
    prod,
    sum_,
)
from treadle.tensor.types.dtype_rules import float_like

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from treadle.graph import Apply, Op, Variable
    from treadle.tensor.variables.variable import TensorLike, TensorVariable

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
    """Metaclass of classes of scalar ops: their instances are the scalar ops of some names, or of some arity.

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
        """Return the scalar op, or make that of a class with an implementation; dtypes are those of real functions."""
        if hasattr(cls, "impl"):
            op = _declared(type.__call__(cls), name or cls.__name__.lower(), cls.nin)
            cls.names = (*cls.names, op.name)
            return op
        if len(cls.names) != 1 or not _is_known(cls.names[0]):
            msg = f"{cls.__name__}: the class stands for no single scalar op. Call the function of treadle.tensor."
            raise TensorTypeError(msg)
        return SCALAR_OPS[cls.names[0]]


def _is_known(name: str) -> bool:
    if name not in SCALAR_OPS:
        load_scalar_families()
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


# Documented classes, and the name of the scalar op where it is not that of the class in lower case.
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


@dataclass(frozen=True, slots=True)
class OpOfKind:
    """A kind of op with its axis, not yet applied: which op it is depends on the operand's rank and dtype.

    `of` is the class of the op. An axis of None stands for all axes, a dtype of None for one that fits the operand.
    """

    of: type[Op]
    kind: str
    axis: tuple[int, ...] | None = None
    dtype: str | None = None
    acc_dtype: str | None = None

    def __post_init__(self) -> None:
        """Bring the axes to one form."""
        if self.axis is not None:
            fix_axes(self, "axis")

    @property
    def mode(self) -> str:
        """The kind, by the name that accumulations have for it."""
        return {"sum": "add", "prod": "mul"}.get(self.kind, self.kind)

    def __call__(self, x: TensorLike, name: str | None = None) -> TensorVariable:
        """Apply it; name the result."""
        options = {n: v for n, v in (("dtype", self.dtype), ("acc_dtype", self.acc_dtype)) if v is not None}
        axis = self.axis if self.of is not Accumulation or self.axis is None else self.axis[0]
        result = _FUNCTIONS[self.of, self.kind](x, axis, **options)
        result.name = name
        return result

    def make_node(self, x: TensorLike) -> Apply:
        """Return the node of the op that fits the operand."""
        (node,) = self(x).get_parents()
        return node


_FUNCTIONS: Mapping[tuple[type[Op], str], Callable[..., TensorVariable]] = {
    (Reduction, "sum"): sum_,
    (Reduction, "prod"): prod,
    (Reduction, "max"): max_,
    (Reduction, "min"): min_,
    (Reduction, "all"): all_,
    (Reduction, "any"): any_,
    (ArgReduction, "argmax"): argmax,
    (ArgReduction, "argmin"): argmin,
    (Accumulation, "sum"): cumsum,
    (Accumulation, "prod"): cumprod,
}


class OpKind(type):
    """Metaclass of classes of ops of one kind: the instances of ``Sum`` are the reductions that sum.

    Calling such a class gives an `OpOfKind`, with the parameters that the documentation has for the class.
    """

    of: type[Op]
    kinds: tuple[str, ...]
    maker: Callable[..., OpOfKind]

    def __instancecheck__(cls, op: object) -> bool:
        """Whether something is an op of the class, of one of the kinds."""
        kind = op.of if isinstance(op, OpOfKind) else type(op)
        return issubclass(kind, cls.of) and getattr(op, "kind", None) in cls.kinds

    def __call__(cls, *args: object, **kwargs: object) -> OpOfKind:
        """Return the op; parameters that the class does not have are refused."""
        try:
            bound = signature(cls.maker).bind(cls, *args, **kwargs)
        except TypeError as error:
            needed = [str(p) for p in signature(cls.maker).parameters.values()][1:]
            msg = f"{cls.__name__}: the parameters are ({', '.join(needed)}), got {text_of((args, kwargs))}: {error}."
            raise TensorTypeError(msg) from None
        return cls.maker(*bound.args, **bound.kwargs)


def _summing(
    cls: OpKind,
    axis: tuple[int, ...] | None = None,
    dtype: str | None = None,
    acc_dtype: str | None = None,
    no_zeros_in_input: bool = False,
) -> OpOfKind:
    del no_zeros_in_input
    return OpOfKind(cls.of, cls.kinds[0], axis, dtype, acc_dtype)


def _comparing(cls: OpKind, axis: tuple[int, ...] | None = None) -> OpOfKind:
    return OpOfKind(cls.of, cls.kinds[0], axis)


def _accumulating(cls: OpKind, axis: tuple[int, ...] | None = None, mode: str = "add") -> OpOfKind:
    return OpOfKind(cls.of, {"add": "sum", "mul": "prod"}[as_choice("CumOp: mode", mode, ("add", "mul"))], axis)


_COMBINING = {"add": "sum", "mul": "prod", "maximum": "max", "minimum": "min", "and": "all", "or": "any"}


def _reducing(
    cls: OpKind,
    scalar_op: object,
    axis: tuple[int, ...] | None = None,
    dtype: str | None = None,
    acc_dtype: str | None = None,
    upcast_discrete_output: bool = True,
) -> OpOfKind:
    del upcast_discrete_output
    name = getattr(getattr(scalar_op, "scalar_op", scalar_op), "name", None)
    if name not in _COMBINING:
        names = ", ".join(_COMBINING)
        msg = f"CAReduce: the scalar op must be one of {names}, got {text_of(scalar_op)}. Write others as loops."
        raise TensorTypeError(msg)
    return OpOfKind(cls.of, _COMBINING[name], axis, dtype, acc_dtype)


def _kind(name: str, of: type[Op], kinds: str, maker: Callable[..., OpOfKind]) -> OpKind:
    text = f"`{of.__name__}` of kind {kinds.replace(' ', ', ')}."
    return OpKind(name, (), {"of": of, "kinds": tuple(kinds.split()), "maker": staticmethod(maker), "__doc__": text})


All = _kind("All", Reduction, "all", _comparing)
Any_ = _kind("Any", Reduction, "any", _comparing)
Argmax = _kind("Argmax", ArgReduction, "argmax", _comparing)
Argmin = _kind("Argmin", ArgReduction, "argmin", _comparing)
CAReduce = _kind("CAReduce", Reduction, "sum prod max min all any", _reducing)
CumOp = _kind("CumOp", Accumulation, "sum prod", _accumulating)
Max = _kind("Max", Reduction, "max", _comparing)
Min = _kind("Min", Reduction, "min", _comparing)
Prod = _kind("Prod", Reduction, "prod", _summing)
Sum = _kind("Sum", Reduction, "sum", _summing)


def __getattr__(name: str) -> Any:
    """Return the class of a scalar op, or the scalar op, by its documented name."""
    if name in SCALAR_CLASSES:
        return SCALAR_CLASSES[name]
    if not name.startswith("_") and _is_known(name):
        return SCALAR_OPS[name]
    msg = f"{__name__} has no attribute {name!r}"
    raise AttributeError(msg)


def upgrade_to_float_no_complex(*types: object) -> object:
    """Stand for the dtype rule of real functions in documented declarations of scalar ops."""
    return types
