"""ScalarOp: an elementwise function, and the table of them."""

from __future__ import annotations

import copyreg
import inspect
import math
from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from treadle.config import dataclass
from treadle.graph import DuplicateRegistrationError, GraphTypeError, tagged
from treadle.tensor.errors import DtypeError, TensorTypeError
from treadle.tensor.families import load_scalar_families
from treadle.tensor.types.dtype_rules import check_conversion, float_like, of_ufunc

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from treadle.graph import Apply, Form, Variable
    from treadle.tensor.elementwise.composite import Composite
    from treadle.tensor.elementwise.elemwise import Elemwise
    from treadle.tensor.types.dtype_rules import Dtype, DtypeRule, Operand, Signature
    from treadle.tensor.variables.variable import TensorLike, TensorVariable

    Body = Callable[..., TensorLike]
    Impl = Callable[..., Any]
    Parity = Literal["even", "odd"]
    Inputs = Sequence[TensorVariable]
    Terms = Sequence[Variable | None]
    Pullback = Callable[[TensorVariable, TensorVariable, Inputs], Terms]

INFINITY = float("inf")


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
        return self._scalar_ops[name]

    def __contains__(self, name: str) -> bool:
        return name in self._scalar_ops

    def names(self) -> list[str]:
        """Return the names of all scalar ops."""
        return list(self._scalar_ops)


SCALAR_OPS = ScalarOpTable()


def _derived(*operands: Any) -> Any:
    """Stand for a dtype rule or an implementation that follows from the ufunc or the body."""
    raise NotImplementedError(operands)


class ScalarOpKind(type):
    """Metaclass of the classes of scalar ops: a scalar op is the one instance of a class, or shares it with others.

    ``ScalarOp(name="exp", ...)`` makes the class, so that ``type(op.scalar_op)`` tells functions apart: as a key of
    dictionaries, in ``isinstance`` and in ``match`` statements. Calling the class gives the scalar op.
    """

    # Names of the scalar ops that are instances of the class.
    names: tuple[str, ...]

    def __call__(cls, *args: object, **kwargs: object) -> Any:
        """Return the scalar op; one of several chosen by the arguments."""
        return cls.named(*args)

    def named(cls, *parameters: object) -> ScalarOp:
        """Return the scalar op of the class; a class of several chooses by the parameters."""
        if len(cls.names) != 1:
            msg = f"{cls.__name__}: the class stands for no single scalar op. Call the function of treadle.tensor."
            raise TensorTypeError(msg)
        return SCALAR_OPS[cls.names[0]]

    def made(cls, **fields: Any) -> ScalarOp:
        """Make a scalar op that is an instance of this class; the fields are those of `ScalarOp`."""
        scalar_op: ScalarOp = type.__call__(cls, **fields)
        return scalar_op


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ScalarOp:
    """An elementwise function and everything treadle knows about it.

    Most are a NumPy ufunc, whose name gives `name`, `nin`, `dtypes` and `impl`. Each is of a class of its own, which
    ``type(scalar_op)`` is. Called on tensors, it is applied to their elements.

    Parameters
    ----------
    name
        Its name, which is its identity.
    nin
        Number of operands; without a ufunc that of the parameters of the body, or else of `impl`, that have no default.
    ufunc
        Name of the NumPy ufunc that the function is, if it is one.
    dtypes
        Dtype rule: operands to (dtypes to compute with, dtype of the result). Without a ufunc it is that of a function
        of real numbers, `treadle.tensor.types.dtype_rules.float_like`.
    body
        The function in terms of others, applied to tensors: what backends compute, unless they take the scalar op
        itself. It is computed in the dtypes of the rule, float32 in place of float16, and so has to be stable there.
        A scalar op without a body is a primitive: each backend has a text or function for it.
    expansion
        The function as an expression of tensors, which need not be elementwise: what backends compute that neither take
        a primitive themselves nor have it fused, such as a quadrature.
    impl
        The function on NumPy arrays of the dtypes to compute with: the reference for every backend. Without a ufunc
        it is the body.
    pullback
        ``(cotangent, output, inputs) -> one term for each input``, broadcast like the output; a term may be None
        where nothing flows back. Without one it is the body's; without a body too, nothing flows back at all, or zero
        if the function is `discrete`.
    form
        How a formula shows it, if not as a call of a function with this name: ``Infix("+", Precedence.SUM).form``.
    latex
        How LaTeX shows it, if not as what follows from the form: text in which ``#1``, ``#2`` … are the operands.
    commutative, associative, anticommutative
        Algebraic traits of a function of two operands; anticommutative is f(y, x) = -f(x, y).
    identity
        Value e with f(x, e) = x, if there is one.
    idempotent
        Whether f(f(x)) = f(x).
    inverse
        Name of the function g with g(f(x)) = x for every real x in the domain of f, if there is one.
    converse, negation
        Names of the comparison that this one is with its operands exchanged, and of the one that holds where this one
        does not, unless an operand is NaN; other functions have none.
    monotone
        Whether the result grows or falls with the operand (or stays), over the whole domain.
    parity
        ``even`` if f(-x) = f(x), ``odd`` if f(-x) = -f(x); of several operands, where all of them change their sign.
        A tuple says it of each operand alone, None where neither is so: that of a product is ``("odd", "odd")``. It
        is about floats and complex numbers, and about integers if the function `wraps`: -x of others may be x.
    linear
        Places of the operands that it is linear in, the others being fixed: f(x + y, c) = f(x, c) + f(y, c), and
        f(a x, c) = a f(x, c) for real a.
    exponent
        The number p with f(x) = x**p, if there is one.
    exponential
        Whether f(x + y) = f(x) f(y).
    zero_of
        Places of the operands each of which makes the result 0 (or NaN) where it is 0, whatever the others are.
    domain, image
        The least interval of real operands outside of which the result is NaN; and the one that results lie in, those
        that are floats. That the image begins at -0.0 says that a result may be a negative zero.
    nonzero
        Whether the result is 0 for no finite operands, unless it is too small for its dtype.
    keeps_positive
        Whether the result is above 0 where all operands are, and 0 or more where they are 0 or more; of real numbers:
        integers may wrap around, and what is too small for its dtype is 0.
    selective
        Whether the result is one of the operands.
    bound
        ``upper`` if the result is as large as every operand at least, ``lower`` if it is as small, ``between`` if it
        lies between the last two of three; NaN if one is NaN.
    wraps
        Whether the result of integers is that of unbounded integers, wrapped around: that of sums and products is.
    conjugates
        Whether f(conj(x)) = conj(f(x)) for complex operands, all of them conjugated: of real ones the result is real.
    cheap
        Whether it takes hardly longer to compute than its operands take to read, as a sum does.
    discrete
        Whether the result is constant in pieces for real operands, so that its derivative is zero wherever it exists.
    holomorphic
        Whether it is a differentiable function of complex operands, as far as it takes them: its pullback is then
        the formula for real numbers, and `Elemwise` conjugates. The pullback of any other function is written for
        complex operands too.
    """

    # The body for operands of some dtypes, as steps. Set by `treadle.tensor.elementwise.composite`, made of scalar ops.
    formula_for: ClassVar[Callable[[ScalarOp, Sequence[str]], Composite]]
    # The class of the op that applies it to tensors. Set by `treadle.tensor.elementwise.elemwise`, made of scalar ops.
    op_class: ClassVar[type[Elemwise]]
    # Whether None may stand for an operand, which a call then spells otherwise (see `respelled`).
    takes_none: ClassVar[bool] = False
    # Names of the operands, for messages, where calls may use them.
    parameters: ClassVar[tuple[str, ...]] = ()

    name: str = ""
    nin: int = 0
    ufunc: str | None = None
    latex: str | None = None
    dtypes: DtypeRule = _derived
    body: Body | None = None
    expansion: Body | None = None
    impl: Impl = _derived
    pullback: Pullback | None = None
    form: Callable[[Sequence[Variable]], Form] | None = None
    commutative: bool = False
    associative: bool = False
    anticommutative: bool = False
    identity: float | None = None
    idempotent: bool = False
    inverse: str | None = None
    converse: str | None = None
    negation: str | None = None
    monotone: Literal["increasing", "decreasing"] | None = None
    parity: Parity | tuple[Parity | None, ...] | None = None
    linear: tuple[int, ...] = ()
    exponent: float | None = None
    exponential: bool = False
    zero_of: tuple[int, ...] = ()
    domain: tuple[float, float] = (-INFINITY, INFINITY)
    image: tuple[float, float] = (-INFINITY, INFINITY)
    nonzero: bool = False
    keeps_positive: bool = False
    selective: bool = False
    bound: Literal["upper", "lower", "between"] | None = None
    wraps: bool = False
    conjugates: bool = False
    cheap: bool = False
    discrete: bool = False
    holomorphic: bool = True
    # The body for operands of some dtypes, see `treadle.tensor.elementwise.composite`.
    formulas: dict[tuple[str, ...], Composite] = field(default_factory=dict, repr=False, init=False)
    evaluators: dict[tuple[Dtype, ...], Impl] = field(default_factory=dict, repr=False, init=False)
    _signatures: dict[tuple[Operand, ...], Signature] = field(default_factory=dict, repr=False, init=False)

    def __new__(cls, **fields: Any) -> ScalarOp:
        """Make the class of a scalar op that has none yet."""
        if cls is not ScalarOp:
            return object.__new__(cls)
        words = str(fields.get("name") or fields.get("ufunc")).split("_")
        title = "".join(word[:1].upper() + word[1:] for word in words)
        own: Any = ScalarOpKind(title, (ScalarOp,), {"__slots__": (), "names": ()})
        scalar_op: ScalarOp = object.__new__(own)
        return scalar_op

    def __post_init__(self) -> None:
        """Fill in what follows from the ufunc, and enter the scalar op into the table and its class."""
        ufunc: np.ufunc | None = None if self.ufunc is None else getattr(np, self.ufunc, None)
        if self.ufunc is not None and not isinstance(ufunc, np.ufunc):
            msg = f"{self.name or self.ufunc}: ufunc must name a ufunc of NumPy, got {self.ufunc!r}. Pass impl or body."
            raise TensorTypeError(msg)
        self._derive("name", self.name or self.ufunc)
        if self.body is None and self.impl is _derived and ufunc is None:
            msg = f"{self.name}: a scalar op needs a ufunc, an impl or a body, got none. Pass one."
            raise TensorTypeError(msg)
        self._derive("nin", self.nin or (ufunc.nin if ufunc else self._arity()))
        if self.dtypes is _derived:
            self._derive("dtypes", float_like if self.ufunc is None else of_ufunc(self.ufunc))
        if self.impl is _derived:
            self._derive("impl", ufunc or partial(_evaluated, self))
        SCALAR_OPS.add(self)
        kind: object = type(self)
        if isinstance(kind, ScalarOpKind):
            kind.names = (*kind.names, self.name)

    def sign_of(self, changed: Sequence[bool]) -> int:
        """Return the factor of the result where operands change their sign: 1, -1, or 0 if `parity` tells neither."""
        if not isinstance(self.parity, tuple):
            return {"even": 1, "odd": -1}.get(self.parity or "", 0) if all(changed) else 0
        signs = {"even": 1, "odd": -1, None: 0}
        return math.prod(signs[parity] for parity, is_changed in zip(self.parity, changed, strict=True) if is_changed)

    def _arity(self) -> int:
        """Return the number of operands that the body, or else the implementation, needs."""
        parameters = inspect.signature(self.body or self.impl).parameters.values()
        if any(p.kind is p.VAR_POSITIONAL for p in parameters):
            msg = f"{self.name}: the number of operands does not follow from a function of any number. Pass nin."
            raise TensorTypeError(msg)
        return sum(p.default is p.empty and p.kind in {p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD} for p in parameters)

    def _derive(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    def signature(self, operands: Sequence[Operand]) -> Signature:
        """Return the dtypes to compute with and the dtype of the result.

        Raises
        ------
        DtypeError
            If the function does not take these dtypes.
        TensorTypeError
            If the body does more than apply elementwise functions.
        """
        key = tuple(operands)
        resolved = self._signatures.get(key)
        if resolved is None:
            try:
                resolved = self.dtypes(key)
            except DtypeError:
                raise
            except TypeError as error:
                names = ", ".join(getattr(d, "name", getattr(d, "__name__", str(d))) for d in key)
                msg = f"{self.name}: the function does not take operands of dtype {names}. Cast one of them first."
                raise DtypeError(msg) from error
            if self.body is not None:
                # What is wrong with a body is said where the scalar op is first applied.
                composite = self.formula_for([d.name for d in resolved[0]])
                source = np.dtype(composite.value_dtypes[composite.outputs[0]])
                check_conversion(f"{self.name}: result of the body", source, resolved[1])
            self._signatures[key] = resolved
        return resolved

    def respelled(self, op: Elemwise, operands: Sequence[Any], named: dict[str, Any]) -> Apply:
        """Return the node of a call that does not give the operands one by one: a class may have one of its own.

        Raises
        ------
        TensorTypeError, GraphTypeError
            If the function has no such call.
        """
        if named:
            msg = (
                f"{op}: the call got an unexpected keyword argument {next(iter(named))!r}. Pass operands, and of named "
                "arguments those that it takes."
            )
            raise GraphTypeError(msg)
        msg = f"{op.name}: {self.nin} operands are needed, got {len(operands)}."
        raise TensorTypeError(msg)

    def __call__(self, *operands: TensorLike) -> TensorVariable:
        """Apply the function to tensors, elementwise."""
        return self.op_class(self)(*operands)

    def canonical(self) -> bytes:
        """Return the canonical encoding: the name."""
        return tagged("scalar_op", self.name.encode())

    def __reduce__(self) -> tuple[Callable[[str], ScalarOp], tuple[str]]:
        return _scalar_op_named, (self.name,)

    def __str__(self) -> str:
        return self.name


def _scalar_op_named(name: str) -> ScalarOp:
    """Return a scalar op by name: how a pickled one is found again, in a family that loads late too."""
    if name not in SCALAR_OPS:
        load_scalar_families()
    try:
        return SCALAR_OPS[name]
    except KeyError:
        msg = f"pickle: no scalar op is named {name!r} here. Import the module that declares it first."
        raise TensorTypeError(msg) from None


def _kind_of(name: str) -> type[ScalarOp]:
    """Return the class of a scalar op: how a pickled one is found again."""
    return type(_scalar_op_named(name))


def _reduced(kind: ScalarOpKind) -> tuple[Callable[[str], type[ScalarOp]], tuple[str]]:
    """Return how a class is pickled: by the name of a scalar op of it."""
    return _kind_of, (kind.names[0],)


copyreg.pickle(ScalarOpKind, _reduced)  # type: ignore[arg-type]  # classes are looked up there too


def _evaluator(scalar_op: ScalarOp, dtypes: Sequence[np.dtype]) -> Callable[..., np.ndarray]:
    """Return the body of a scalar op as a function of arrays of some dtypes, computed with NumPy."""
    results = scalar_op.formula_for([d.name for d in dtypes]).evaluator()

    def run(*operands: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            return results(*operands)[0]

    return run


def _evaluated(scalar_op: ScalarOp, *operands: np.ndarray) -> np.ndarray:
    """Return the value of a scalar op's body, computed with NumPy."""
    key = tuple([x.dtype for x in operands])
    if key not in scalar_op.evaluators:
        scalar_op.evaluators[key] = _evaluator(scalar_op, key)
    result: np.ndarray = scalar_op.evaluators[key](*operands)
    return result
