"""Site: where a rule writes that a node of a graph is computed by kernels, the same for all compiling backends."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import wraps
from typing import TYPE_CHECKING, Any, Protocol

from treadle.config import dataclass
from treadle.graph import LoweringTable, may_use_input
from treadle.kernels.kinds import SIZES
from treadle.kernels.language import SHAPE, Status

if TYPE_CHECKING:
    from treadle.graph import Apply, Op, Variable
    from treadle.kernels.definition import Argument, Kernel
    from treadle.kernels.tree import Specialised

    Rule = Callable[[Any, Any, "Site"], None]


@dataclass(frozen=True, slots=True)
class Comparison:
    """A condition of generated code."""

    text: str


@dataclass(frozen=True, slots=True)
class Length:
    """An integer of generated code, mostly a length: sums, differences, products and comparisons are such too."""

    text: str

    def __str__(self) -> str:
        """Return the text, in parentheses where operators around may bind closer."""
        return self.text

    @property
    def value(self) -> int | None:
        """The integer, where it is a literal."""
        return int(self.text) if self.text.lstrip("-").isdigit() else None

    def _with(self, operator: str, other: Length | int, left: bool = True) -> Length:
        a, b = (self, other) if left else (other, self)
        return Length(f"({a} {operator} {b})")

    def __add__(self, other: Length | int) -> Length:
        """Return the sum."""
        return self._with("+", other)

    def __sub__(self, other: Length | int) -> Length:
        """Return the difference."""
        return self._with("-", other)

    def __mul__(self, other: Length | int) -> Length:
        """Return the product."""
        return self._with("*", other)

    def __lt__(self, other: Length | int) -> Comparison:
        """Return the condition that it is smaller."""
        return Comparison(f"{self} < {other}")

    def __gt__(self, other: Length | int) -> Comparison:
        """Return the condition that it is larger."""
        return Comparison(f"{self} > {other}")

    def differs(self, other: Length | int) -> Comparison:
        """Return the condition that it is another number."""
        return Comparison(f"{self} != {other}")


@dataclass(frozen=True, slots=True)
class Given:
    """What a kernel is called with: an array, a pointer or a number of generated code."""

    dtype: str
    # -1 for a pointer, 0 for a number.
    rank: int
    # The pointer to the first element, or the number.
    text: str
    # Of an array: its lengths, and its strides in elements.
    shape: tuple[Length, ...] = ()
    strides: tuple[Length, ...] = ()

    @property
    def pointer(self) -> Given:
        """The pointer to the first element."""
        return replace(self, rank=-1, shape=(), strides=())

    @property
    def argument(self) -> Argument:
        """What a kernel knows of it."""
        return self.dtype, self.rank

    @property
    def texts(self) -> list[str]:
        """What is passed."""
        return [self.text, *map(str, (*self.shape, *self.strides))]


# A dimension of a view: the operand's of a number, a new one of length 1, or one of a length and a step.
Axis = int | tuple[Length, Length] | None


class Site(ABC):
    """Writes the statements that compute a node; a rule ``rule(op, node, site)`` calls its methods.

    A rule asks for its operands, has results and working memory made, of lengths that are known by then, and calls
    kernels. Whatever it writes runs in order. Results are not set to 0.
    """

    # The node whose statements are written.
    node: Apply

    def is_overwritten(self, x: Variable) -> bool:
        """Whether the op says that it overwrites an operand, which rewriting allows; a rule that asks does so."""
        found = self.node.inputs.count(x) == 1 and self.node.inputs.index(x) in overwritten_inputs(self.node)
        if found and may_use_input(x):
            self.note_overwriting()
        return found

    @abstractmethod
    def note_overwriting(self) -> None:
        """Note that the program overwrites arguments."""

    @abstractmethod
    def array(self, x: Variable) -> Given:
        """Return a variable of rank 1 or more, as it lies in memory."""

    @abstractmethod
    def packed(self, x: Variable) -> Given:
        """Return a variable of any rank as an array in C order, copied if it is none; a number as one of length 1."""

    @abstractmethod
    def bits(self, given: Given) -> Given:
        """Return an array whose elements are read as unsigned integers of their size; complex128 as two of them."""

    @abstractmethod
    def integer(self, x: Variable) -> Length:
        """Return the value of an integer variable of rank 0."""

    @abstractmethod
    def number(self, x: Variable) -> Given:
        """Return a variable of rank 0, for a kernel's number."""

    @abstractmethod
    def layout(self, x: Variable) -> tuple[Sequence[Length], Sequence[Length]]:
        """Return the lengths of a variable of any rank, and its steps along them, in a unit of the backend's own."""

    @abstractmethod
    def view(self, out: Variable, x: Variable, axes: Sequence[Axis], shift: Length | None = None) -> None:
        """Make a result a view of an operand, whose first element lies behind the operand's by `shift` (a step)."""

    @abstractmethod
    def copy(self, out: Variable, x: Variable) -> None:
        """Make a result a copy of an operand in C order, or give it memory of the operand that nothing needs after."""

    @abstractmethod
    def choose(self, condition: Comparison, first: Length, second: Length) -> Length:
        """Return the first integer where a condition holds, else the second."""

    @abstractmethod
    def position(self, at: Length, n: Length) -> Length:
        """Return a position in a length, counted from the start as Python does, -1 if it is out of bounds."""

    @abstractmethod
    def span(self, n: Length, start: Length, stop: Length, step: Length, present: int) -> tuple[Length, Length]:
        """Return the first position and the length of a slice of a length, which is below 0 where the step is 0.

        `present` is 1 if there is a start, plus 2 if there is a stop.
        """

    @abstractmethod
    def write_lengths(self, out: Variable, lengths: Sequence[Length]) -> None:
        """Make a result of integers: a vector, or the one integer where its rank is 0."""

    @abstractmethod
    def fill(
        self,
        out: Variable,
        x: Variable,
        part: tuple[Sequence[Axis], Length | None] | None = None,
        *,
        adds: bool = False,
    ) -> None:
        """Copy an operand, broadcast, into a result that is made, or add it; the node fails where it does not fit.

        `part` is the view of the result that is written to, as the last arguments of `view`; else all of it is.
        """

    @abstractmethod
    def output(self, out: Variable, lengths: Sequence[Length | int]) -> Given:
        """Return a result of the node in C order, made here with some lengths; of rank 0 as an array of length 1."""

    def spare(self, x: Variable) -> Length:
        """Return 1 where the node may overwrite an operand, which nothing needs after, else 0.

        An operand that the op's `destroy_map` names may be of any strides, which may let its elements overlap.
        """
        del x
        return Length("0")

    def output_over(self, out: Variable, lengths: Sequence[Length | int], x: Variable) -> tuple[Given, Length]:
        """Return a result, and 1 where it has taken the memory of an operand of the same shape, elements included."""
        del x
        return self.output(out, lengths), Length("0")

    @abstractmethod
    def room(self, dtype: str, count: Length | int) -> Given:
        """Return a pointer to working memory for a number of elements, which lasts for the node."""

    @abstractmethod
    def stop_if(self, condition: Comparison, status: Status = SHAPE) -> None:
        """Write that the node fails where a condition holds."""

    @abstractmethod
    def write(self, version: Specialised, arguments: Sequence[str], keeps: bool) -> Length | None:
        """Write the call of a kernel's version, whose result is a status unless it is kept."""

    def run(self, kernel: Kernel, *arguments: Given | Length | int, **static: Any) -> None:
        """Write the call of a kernel that returns a status; the node fails where it is not `OK`."""
        self._write(kernel, arguments, static, keeps=False)

    def compute(self, kernel: Kernel, *arguments: Given | Length | int, **static: Any) -> Length:
        """Write the call of a kernel that returns an integer, and return that."""
        number = self._write(kernel, arguments, static, keeps=True)
        return Length("0") if number is None else number

    def _write(
        self, kernel: Kernel, arguments: Sequence[Given | Length | int], static: dict[str, Any], keeps: bool
    ) -> Length | None:
        given = [a if isinstance(a, Given) else Given("int64", 0, str(a)) for a in arguments]
        version = kernel.specialised([g.argument for g in given], static)
        return self.write(version, [text for g in given for text in g.texts], keeps)

    def same(self, first: Length, second: Length | int, status: Status = SHAPE) -> None:
        """Write that the node fails where two lengths differ."""
        if str(first) != str(second):
            self.stop_if(first.differs(second), status)

    def close(self) -> None:  # noqa: B027 - not all backends have something to do then
        """End the node; backends call it."""


def bits_of(given: Given) -> tuple[str, tuple[Length, ...]]:
    """Return the dtype of an array's elements for `Site.bits`, and its strides in these."""
    size = SIZES[given.dtype]
    return (f"uint{8 * size}", given.strides) if size <= 8 else ("uint64", tuple(s * 2 for s in given.strides))


def overwritten_inputs(node: Apply) -> frozenset[int]:
    """Return the positions of the inputs that a node's op overwrites, where rewriting has made it work in place."""
    return frozenset(i for places in node.op.destroy_map.values() for i in places)


def takes_real_only(rule: Callable[..., object]) -> bool:
    """Whether a rule takes no complex numbers, which the module that defines it says by ``REAL_ONLY = True``.

    Its ops are expanded into simpler ones where numbers are complex, or run as a Python step.
    """
    return bool(getattr(sys.modules.get(rule.__module__), "REAL_ONLY", False))


# Rules ``rule(op, node, site)`` for all compiling backends: those of the groups ``treadle.lowerings.kernels``.
TABLE = LoweringTable("kernels")


class HasSites(Protocol):
    """What a backend's rules write to."""

    def site(self, node: Apply) -> Site:
        """Return the site of a node."""


def at_site(rule: Rule) -> Callable[[Op, Apply, HasSites], None]:
    """Return a rule of `TABLE` as one of a backend, whose builder of text makes the site."""

    @wraps(rule)
    def adapted(op: Op, node: Apply, builder: HasSites) -> None:
        site = builder.site(node)
        rule(op, node, site)
        site.close()

    return adapted
