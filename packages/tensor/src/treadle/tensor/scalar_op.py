"""ScalarOp: an elementwise function, and the table of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from treadle.graph import DuplicateRegistrationError, tagged
from treadle.tensor.errors import DtypeError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from treadle.graph import Form, Variable

Dtype = np.dtype[Any]
# A dtype, or one of the classes int, float, complex: a Python number, whose dtype follows the other operands.
Operand = Dtype | type
# Operands in; the dtypes to compute with, one for each operand, and the dtype of the result out.
Signature = tuple[tuple[Dtype, ...], Dtype]
Resolve = "Callable[[Sequence[Operand]], Signature]"
Pullback = "Callable[[Variable, Variable, Sequence[Variable]], Sequence[Variable | None]]"


class ScalarOpTable:
    """All scalar ops by name: they are pickled, compared and hashed by it."""

    __slots__ = ("_scalar_ops",)

    def __init__(self) -> None:
        self._scalar_ops: dict[str, ScalarOp] = {}

    def add(self, scalar_op: ScalarOp) -> None:
        """Add a scalar op; a second one of the same name is an error."""
        if scalar_op.name in self._scalar_ops:
            msg = f"scalar: a scalar op named {scalar_op.name!r} exists already. Choose another name."
            raise DuplicateRegistrationError(msg)
        self._scalar_ops[scalar_op.name] = scalar_op

    def __getitem__(self, name: str) -> ScalarOp:
        """Return a scalar op by name."""
        return self._scalar_ops[name]

    def names(self) -> list[str]:
        """Return the names of all scalar ops."""
        return list(self._scalar_ops)


SCALAR_OPS = ScalarOpTable()


@dataclass(frozen=True, slots=True, eq=False)
class ScalarOp:
    """An elementwise function and everything treadle knows about it.

    Parameters
    ----------
    name
        Its name, which is its identity.
    nin
        Number of operands.
    resolve
        Dtype rule: operands to (dtypes to compute with, dtype of the result).
    impl
        The function on NumPy arrays of the dtypes to compute with: the reference for every backend.
    c
        C text by kind of the first operand's computing dtype: a mapping whose keys list kinds (``"f"``, ``"iu"``,
        ``"b"``). ``{0}`` ``{1}`` ``{2}`` are the operands, ``{s}`` is the suffix of C's math functions (``f`` for
        float32), ``{t}`` the short name of the dtype (``f64``, ``i8`` …).
    pullback
        ``(cotangent, output, inputs) -> one term for each input``, broadcast like the output; a term may be None
        where nothing flows back. None for a function whose value never changes smoothly.
    ufunc
        Name of the NumPy ufunc that the function is, if it is one.
    commutative, associative
        Algebraic traits.
    identity
        Value e with f(x, e) = x, if there is one.
    idempotent
        Whether f(f(x)) = f(x).
    discrete
        Whether the result is constant in pieces for real operands, so that its derivative is zero wherever it exists.
    holomorphic
        Whether it is a differentiable function of complex operands, as far as it takes them: its pullback is then
        the formula for real numbers, and `Elemwise` conjugates. The pullback of any other function is written for
        complex operands too.
    cost
        Rough cost for one element, an addition being 1.
    form
        How a formula shows it, where it is no call of a function with this name: ``Infix("+", Precedence.SUM).form``.
    """

    name: str
    nin: int
    resolve: Callable[[Sequence[Operand]], Signature]
    impl: Callable[..., Any]
    c: Mapping[str, str]
    pullback: Callable[[Variable, Variable, Sequence[Variable]], Sequence[Variable | None]] | None = None
    ufunc: str | None = None
    commutative: bool = False
    associative: bool = False
    identity: float | None = None
    idempotent: bool = False
    discrete: bool = False
    holomorphic: bool = True
    cost: int = 1
    form: Callable[[Sequence[Variable]], Form] | None = None
    _signatures: dict[tuple[Operand, ...], Signature] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        """Enter the scalar op into the table."""
        SCALAR_OPS.add(self)

    def signature(self, operands: Sequence[Operand]) -> Signature:
        """Return the dtypes to compute with and the dtype of the result.

        Raises
        ------
        DtypeError
            If the function does not take these dtypes.
        """
        key = tuple(operands)
        found = self._signatures.get(key)
        if found is None:
            try:
                found = self.resolve(key)
            except DtypeError:
                raise
            except TypeError as error:
                shown = ", ".join(getattr(d, "name", getattr(d, "__name__", str(d))) for d in key)
                msg = f"{self.name}: the function does not take operands of dtype {shown}. Cast one of them first."
                raise DtypeError(msg) from error
            self._signatures[key] = found
        return found

    def c_text(self, kind: str) -> str | None:
        """Return the C text for a kind of dtype (``f``, ``i``, ``u`` or ``b``), or None."""
        for kinds, text in self.c.items():
            if kind in kinds:
                return text
        return None

    def canonical(self) -> bytes:
        """Return the canonical encoding: the name."""
        return tagged("scalar_op", self.name.encode())

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by name."""
        return _scalar_op_named, (self.name,)

    def __str__(self) -> str:
        """Show the name."""
        return self.name


def _scalar_op_named(name: str) -> ScalarOp:
    """Return a scalar op by name: how a pickled scalar op is found again."""
    return SCALAR_OPS[name]


# Dtype rules


def of_ufunc(name: str) -> Callable[[Sequence[Operand]], Signature]:
    """Return the dtype rule of a NumPy ufunc, exactly (Python numbers are weak, as in NumPy 2)."""
    ufunc = getattr(np, name)

    def resolve(operands: Sequence[Operand]) -> Signature:
        *ins, out = ufunc.resolve_dtypes((*operands, None))
        if any(d.kind not in "biufc" for d in (*ins, out)):
            msg = f"{name}: no numeric loop"
            raise TypeError(msg)
        return tuple(ins), out

    return resolve


def promote(operands: Sequence[Operand]) -> Dtype:
    """Return the dtype that NumPy gives a mixture of operands; Python numbers alone become the default dtypes."""
    weak = {bool: False, int: 0, float: 0.0, complex: 0j}
    return np.result_type(*(weak[d] if isinstance(d, type) else d for d in operands))


def check_conversion(what: str, source: Dtype, target: Dtype) -> None:
    """Refuse to make real numbers of complex ones; whether one is zero, as bool, is clear.

    Parameters
    ----------
    what
        Subject of the message.
    source, target
        Dtypes from and to which something is converted.

    Raises
    ------
    DtypeError
        If only the first is complex.
    """
    if source.kind == "c" and target.kind not in "cb":
        msg = (
            f"{what}: a complex number does not become {target.name} by itself, got dtype {source.name}. "
            "Take its real(), imag(), angle() or abs() first."
        )
        raise DtypeError(msg)


def same(operands: Sequence[Operand]) -> Signature:
    """Dtype rule: all operands promoted together; the result has that dtype too."""
    dtype = promote(operands)
    return (dtype,) * len(operands), dtype


def float_like(operands: Sequence[Operand]) -> Signature:
    """Dtype rule of a function of one real operand: integers become the float that holds them."""
    (loop, _), out = of_ufunc("logaddexp")((*operands, *operands))
    return (loop,), out


def real_or_error(operands: Sequence[Operand]) -> Signature:
    """Dtype rule of predicates on real numbers: any of these in, bool out."""
    (dtype,), out = float_or_error(operands)
    if dtype.kind == "c":
        msg = "no order among complex numbers"
        raise TypeError(msg)
    return (dtype,), out


def float_or_error(operands: Sequence[Operand]) -> Signature:
    """Dtype rule of predicates on floats: any number in, bool out."""
    (dtype,), _ = same(operands)
    return (dtype,), np.dtype(bool)
