"""Specialised kernels: typed trees of what a kernel does for certain dtypes, which printers turn into text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import TYPE_CHECKING

from treadle.config import dataclass

if TYPE_CHECKING:
    from treadle.kernels.externals import External, ExternalFunction, ExternalTable

# A kind is a kind of values (see `treadle.kernels.kinds`), or ``*float64`` for a pointer to such elements.


@dataclass(frozen=True, slots=True)
class Expression:
    """Anything with a value."""

    kind: str


@dataclass(frozen=True, slots=True)
class Literal(Expression):
    """A number, or the name of a status; for routines also a letter (``char``) or no ``function``."""

    value: bool | int | float | str


@dataclass(frozen=True, slots=True)
class Variable(Expression):
    """A parameter or a local variable."""

    name: str


@dataclass(frozen=True, slots=True)
class Binary(Expression):
    """An operator of two operands: arithmetic, of one kind but for shifts and real factors; or a comparison."""

    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Unary(Expression):
    """``-``, ``~`` or ``not``."""

    operator: str
    operand: Expression


@dataclass(frozen=True, slots=True)
class Logic(Expression):
    """``and`` or ``or`` of booleans, no more of which are computed than needed."""

    operator: str
    parts: Sequence[Expression]


@dataclass(frozen=True, slots=True)
class Choice(Expression):
    """One of two values."""

    test: Expression
    first: Expression
    second: Expression
    # Whether both are computed, and taken without a jump.
    without_jump: bool = False


@dataclass(frozen=True, slots=True)
class Load(Expression):
    """The value of an element."""

    pointer: Expression
    index: Expression


@dataclass(frozen=True, slots=True)
class Entry(Expression):
    """A number of a table: of a tuple of the kernel's module."""

    table: str
    numbers: tuple[float, ...]
    index: Expression


@dataclass(frozen=True, slots=True)
class Moved(Expression):
    """A pointer to a later element."""

    pointer: Expression
    count: Expression


@dataclass(frozen=True, slots=True)
class Local(Expression):
    """Room for elements that lasts until the kernel returns."""

    count: int


@dataclass(frozen=True, slots=True)
class Convert(Expression):
    """A value converted to another kind."""

    operand: Expression


@dataclass(frozen=True, slots=True)
class Apply(Expression):
    """A function of the language, by its name there; a compiled function of SciPy's as ``special_psi``."""

    function: str
    arguments: Sequence[Expression]


@dataclass(frozen=True, slots=True)
class Call(Expression):
    """A call of another kernel, with an argument for each of its parameters."""

    kernel: Specialised
    arguments: Sequence[Expression]


@dataclass(frozen=True, slots=True)
class CallExternal(Expression):
    """A call of a compiled function, of kind ``none`` if it returns nothing."""

    function: ExternalFunction
    arguments: Sequence[Expression]


@dataclass(frozen=True, slots=True)
class Table(Expression):
    """A pointer to the elements of a table that is compiled elsewhere."""

    table: ExternalTable


@dataclass(frozen=True, slots=True)
class Routine:
    """A routine of LAPACK, BLAS or NumPy as a kernel calls it."""

    library: str
    # With the letter of the type, ``dpotrf``; of NumPy with the type, ``sort_f64``.
    name: str
    # A letter for each argument: c for a character, i for an integer, x for an element, r for a real number of that
    # precision, or a pointer to such; 1 to 3 for a function that selects by that many numbers. ``info`` of LAPACK is
    # not among them.
    parameters: str


@dataclass(frozen=True, slots=True)
class Statement:
    """Anything that is done."""


@dataclass(frozen=True, slots=True)
class Assign(Statement):
    """A variable gets a value of its kind."""

    name: str
    value: Expression


@dataclass(frozen=True, slots=True)
class Store(Statement):
    """An element gets a value of its dtype's kind."""

    pointer: Expression
    index: Expression
    value: Expression


@dataclass(frozen=True, slots=True)
class CallRoutine(Statement):
    """A routine is called; a variable gets ``info``, if there is a target. Characters are literals of kind ``char``."""

    target: str | None
    routine: Routine
    arguments: Sequence[Expression]


@dataclass(frozen=True, slots=True)
class Do(Statement):
    """A kernel or a compiled function is called, and its result is not used."""

    call: Expression


@dataclass(frozen=True, slots=True)
class If(Statement):
    """A choice."""

    test: Expression
    body: Sequence[Statement]
    orelse: Sequence[Statement]


@dataclass(frozen=True, slots=True)
class While(Statement):
    """A loop while a condition holds."""

    test: Expression
    body: Sequence[Statement]


@dataclass(frozen=True, slots=True)
class For(Statement):
    """A loop over a range, whose bounds are computed once."""

    name: str
    start: Expression
    stop: Expression
    step: int
    body: Sequence[Statement]
    independent: bool
    # Whether each step may have a thread of its own.
    shared: bool = False
    # How many steps at once are best, if it is independent; 0 if that is left to the compiler.
    at_once: int = 0


@dataclass(frozen=True, slots=True)
class Return(Statement):
    """The end of the kernel, with its value."""

    value: Expression


@dataclass(frozen=True, slots=True)
class Leave(Statement):
    """``break`` or ``continue``."""

    word: str


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter as compilers see it: an array is a pointer, lengths ``<name>_n0`` and strides ``<name>_s0``."""

    name: str
    kind: str


@dataclass(frozen=True, slots=True, eq=False)
class Specialised:
    """A kernel for certain dtypes and values of its static parameters."""

    # A name that no other has: the kernel's, static values, and short names of dtypes.
    name: str
    parameters: Sequence[Parameter]
    # The dtype of each argument, and its rank: 0 for a number, -1 for a pointer.
    arguments: Sequence[tuple[str, int]]
    result: str
    # Local variables and their kinds, but for the numbers of loops.
    variables: dict[str, str]
    body: Sequence[Statement]
    # Kernels that it calls; routines, and what else is compiled elsewhere, that of these kernels included.
    kernels: Sequence[Specialised] = ()
    routines: Sequence[Routine] = field(default_factory=tuple)
    externals: Sequence[External] = ()
    # Whether it becomes a part of its callers.
    inline: bool = False
    # Whether its loops need not be unrolled.
    compact: bool = False
    # Where it is defined, for comments.
    where: str = ""
