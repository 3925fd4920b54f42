"""Scalar ops that users declare by classes with methods, and the documented classes of scalar ops by arity."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from treadle import tensor
from treadle.config import lazy_module
from treadle.tensor import special
from treadle.tensor.elementwise.elemwise import Elemwise
from treadle.tensor.elementwise.scalar_op import SCALAR_OPS, ScalarOp, ScalarOpKind
from treadle.tensor.errors import TensorTypeError
from treadle.tensor.families import load_scalar_families
from treadle.tensor.types.dtype_rules import float_like

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from treadle.graph import Variable
    from treadle.tensor.variables.variable import TensorVariable

__all__ = ["BinaryScalarOp", "UnaryScalarOp"]

scipy_special = lazy_module("scipy.special")


def is_known(name: str) -> bool:
    """Whether a scalar op has this name."""
    if name not in SCALAR_OPS:
        load_scalar_families()
    return name in SCALAR_OPS


class ScalarOpClass(type):
    """Metaclass of the classes of scalar ops of some arity: their instances are all scalar ops of that arity.

    A class derived from one with a method ``impl`` declares a scalar op of its own: calling it makes that, of the
    class's gradient (``grad``, ``L_op`` or ``pullback``), and that is its instance.
    """

    names: tuple[str, ...]
    nin: int | None

    def __instancecheck__(cls, op: object) -> bool:
        """Whether something is a scalar op that the class declares, or one of its arity."""
        if not isinstance(op, ScalarOp):
            return False
        return op.name in cls.names if cls.names or hasattr(cls, "impl") else op.nin == cls.nin

    def __subclasscheck__(cls, kind: type) -> bool:
        """Whether the instances of a class are instances of this one, as those of ``Exp`` are unary."""
        if isinstance(kind, ScalarOpKind) and kind.names:
            return all(isinstance(SCALAR_OPS[name], cls) for name in kind.names)
        return super().__subclasscheck__(kind)

    def __call__(cls, *args: object, name: str | None = None, **kwargs: object) -> ScalarOp:
        """Return the scalar op that the class declares; dtypes are those of real functions."""
        if not hasattr(cls, "impl"):
            msg = f"{cls.__name__}: the class stands for no single scalar op. Call the function of treadle.tensor."
            raise TensorTypeError(msg)
        op = _declared(type.__call__(cls), name or cls.__name__.lower(), cls.nin or 1)
        cls.names = (*cls.names, op.name)
        return op


def _declared(owner: Any, name: str, nin: int) -> ScalarOp:
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

    unique = f"{type(owner).__module__}.{name}" if is_known(name) else name
    has_gradient = any(hasattr(owner, method) for method in ("grad", "L_op", "pullback"))
    implemented = _documented_function(owner, nin) or known_function(owner.impl, nin)
    if implemented is not None:
        return ScalarOp(
            name=unique,
            nin=nin,
            dtypes=float_like,
            body=implemented,
            pullback=pullback if has_gradient else None,
        )
    each = np.frompyfunc(owner.impl, nin, 1)
    return ScalarOp(
        name=unique,
        nin=nin,
        dtypes=float_like,
        impl=lambda *operands: np.asarray(each(*operands), operands[0].dtype),
        pullback=pullback if has_gradient else None,
    )


def _documented_function(owner: Any, nin: int) -> Elemwise | None:
    """Return the elementwise function of treadle's that a class names by ``nfunc_spec``: (function, inputs, outputs).

    Nothing is imported to find out.
    """
    match getattr(owner, "nfunc_spec", None):
        case (str() as path, inputs, 1) if inputs == nin:
            library, _, name = path.rpartition(".")
            return _elementwise({"": tensor, "numpy": tensor, "scipy.special": special}.get(library), name, nin)
    return None


def _elementwise(functions: object, name: str, nin: int) -> Elemwise | None:
    """Return an elementwise function of a module's, None where it has no such function of so many operands."""
    function = getattr(functions, name, None)
    is_one = isinstance(function, Elemwise) and isinstance(function.scalar_op, ScalarOp) and function.nin == nin
    return function if is_one else None


class _Operand:
    """Stands for an operand of an implementation, and notes which function of NumPy's or SciPy's it is given to."""

    __slots__ = ()

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *operands: object, **options: object) -> object:
        if method != "__call__" or options:
            return NotImplemented
        return _Call(ufunc, operands)


class _Call:
    """The result of a function of NumPy's or SciPy's, which nothing can be done with but to return it."""

    __slots__ = ("operands", "ufunc")
    __array_ufunc__ = None

    def __init__(self, ufunc: np.ufunc, operands: Sequence[object]) -> None:
        self.ufunc = ufunc
        self.operands = operands


def known_function(implementation: Callable[..., object], nin: int) -> Elemwise | None:
    """Return the elementwise function of treadle's that an implementation computes by one call of SciPy's or NumPy's.

    The implementation is called with objects that stand for its operands. Where all it does is hand them to a function
    of ``scipy.special`` or of NumPy, in their order, and return what comes back, that function is its meaning; anything
    else that it does with them fails.

    Parameters
    ----------
    implementation
        The function, or the ufunc itself.
    nin
        Number of operands.
    """
    operands = [_Operand() for _ in range(nin)]
    try:
        result = implementation(*operands)
    except Exception:  # noqa: BLE001 - a user's function of numbers, which it was not given, may raise anything
        return None
    if not isinstance(result, _Call) or len(result.operands) != nin:
        return None
    if any(given is not operand for given, operand in zip(result.operands, operands, strict=True)):
        return None
    name = result.ufunc.__name__
    for library, functions in ((scipy_special, special), (np, tensor)):
        function = _elementwise(functions, name, nin) if getattr(library, name, None) is result.ufunc else None
        if function is not None:
            return function
    return None


class UnaryScalarOp(metaclass=ScalarOpClass):
    """Scalar ops of one operand."""

    names = ()
    nin = 1


class BinaryScalarOp(metaclass=ScalarOpClass):
    """Scalar ops of two operands."""

    names = ()
    nin = 2
