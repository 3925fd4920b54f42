"""Patterns: expressions with holes, written with the operators of expressions, and matched against graphs.

A pattern is compiled into flat lists of checks, one for each order in which commutative ops may hold their operands.
Checks work on numbered places: the inputs of the root node come first, then those of each inner node as it is
recognised. So matching neither recurses nor backtracks.
"""

from __future__ import annotations

import math
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

from treadle.graph import Apply, Op, Variable
from treadle.rewrite.errors import RuleDefinitionError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence


class Pattern:
    """A hole in an expression, or an op applied to patterns and numbers.

    Parameters
    ----------
    name
        Name of a hole; None for an applied op.

    Notes
    -----
    Calling an op on a pattern gives a pattern. A package with operators combines the class with them, as in
    ``class TensorPattern(Pattern, Operators)``.
    """

    def __init__(self, name: str | None = None) -> None:
        self.pattern_name = name
        self.pattern_op: Op | None = None
        self.pattern_args: tuple[Any, ...] = ()

    def __apply_op__(self, op: Op, inputs: Sequence[Any]) -> Pattern:
        """Return the pattern of an op applied to inputs, of which this pattern is one."""
        for x in inputs:
            if not isinstance(x, Pattern | bool | int | float | complex):
                msg = f"pattern of {op}: operands are patterns or numbers, got {x!r}. Use a pattern variable."
                raise RuleDefinitionError(msg)
        made = type(self)()
        made.pattern_op = op
        made.pattern_args = tuple(inputs)
        return made

    def __str__(self) -> str:
        """Show as an expression."""
        if self.pattern_op is None:
            return str(self.pattern_name)
        shown = ", ".join(str(x) for x in self.pattern_args)
        return f"{str(self.pattern_op).lower()}({shown})"

    __repr__ = __str__


# Kinds of check. A node is recognised by its op; a place holds the same variable as another; a place holds a number.
_NODE, _SAME, _NUMBER = range(3)


class _Check(NamedTuple):
    kind: int
    place: int
    wanted: Any


class _Program(NamedTuple):
    """One order of operands: the checks, and the place of each named variable."""

    checks: tuple[_Check, ...]
    places: tuple[tuple[str, int], ...]


# An operand order: the op with its operands' orders, or a leaf (a hole or a number).
_Order = tuple[Op, tuple[Any, ...]]


def _orders(pattern: Any, is_commutative: Callable[[Op], bool]) -> Iterator[Any]:
    """Yield the pattern with the operands of its commutative ops in every order."""
    if not isinstance(pattern, Pattern) or pattern.pattern_op is None:
        yield pattern
        return
    op = pattern.pattern_op
    swaps = len(pattern.pattern_args) == 2 and is_commutative(op)
    for args in product(*[list(_orders(x, is_commutative)) for x in pattern.pattern_args]):
        yield (op, args)
        if swaps:
            yield (op, args[::-1])


def _compile(order: _Order) -> _Program:
    """Return the checks of one order of operands."""
    nodes: list[_Check] = []
    others: list[_Check] = []
    places: dict[str, int] = {}
    pending: list[Any] = list(order[1])
    at = 0
    # `pending` grows as inner nodes are met, in the order in which matching lays out their inputs.
    while at < len(pending):
        item = pending[at]
        if isinstance(item, tuple):
            nodes.append(_Check(_NODE, at, item[0]))
            pending.extend(item[1])
        elif isinstance(item, Pattern):
            known = places.setdefault(str(item.pattern_name), at)
            if known != at:
                others.insert(0, _Check(_SAME, at, known))
        else:
            others.append(_Check(_NUMBER, at, item))
        at += 1
    return _Program((*nodes, *others), tuple(places.items()))


def _depth(pattern: Any) -> int:
    if not isinstance(pattern, Pattern) or pattern.pattern_op is None:
        return 0
    return 1 + max((_depth(x) for x in pattern.pattern_args), default=0)


def _names(pattern: Any) -> set[str]:
    if not isinstance(pattern, Pattern):
        return set()
    if pattern.pattern_op is None:
        return {str(pattern.pattern_name)}
    return set().union(*(_names(x) for x in pattern.pattern_args))


def _never(op: Op) -> bool:
    del op
    return False


def _unknown(var: Variable) -> Any:
    del var


def same_number(value: Any, wanted: complex) -> bool:
    """Whether a value is the number, the sign of a zero included."""
    if value is None or value != wanted:
        return False
    if wanted != 0 or isinstance(value, complex):
        return True
    return math.copysign(1.0, value) == math.copysign(1.0, float(wanted.real))


class Law:
    """A rule given by two patterns; calling it with a node returns the replacement or None."""

    __slots__ = ("_lhs", "_name", "_programs", "_rhs", "_value_of", "_when", "depth", "inner", "op")

    def __init__(
        self,
        name: str,
        lhs: Pattern,
        rhs: Any,
        when: Callable[[Apply, Mapping[str, Variable]], bool] | None,
        is_commutative: Callable[[Op], bool] | None,
        value_of: Callable[[Variable], Any] | None,
    ) -> None:
        if not isinstance(lhs, Pattern) or lhs.pattern_op is None:
            msg = f"law {name!r}: the left side is an op applied to patterns, got {lhs!r}."
            raise RuleDefinitionError(msg)
        if isinstance(rhs, Pattern):
            unbound = _names(rhs) - _names(lhs)
            if unbound:
                msg = f"law {name!r}: the right side uses {', '.join(sorted(unbound))}, which the left side lacks."
                raise RuleDefinitionError(msg)
        elif not callable(rhs):
            msg = f"law {name!r}: the right side is a pattern or a function of (node, match), got {rhs!r}."
            raise RuleDefinitionError(msg)
        self._name = name
        self._lhs = lhs
        self._rhs = rhs
        self._when = when
        self._value_of = value_of or _unknown
        self._programs = tuple(dict.fromkeys(_compile(order) for order in _orders(lhs, is_commutative or _never)))
        self.op: Op = lhs.pattern_op
        self.depth = _depth(lhs)
        # An op that one of the node's inputs must be computed by, for those who choose which laws to try.
        below = [x.pattern_op for x in lhs.pattern_args if isinstance(x, Pattern) and x.pattern_op is not None]
        self.inner: Op | None = below[0] if below else None

    def __str__(self) -> str:
        """Show both sides."""
        right = str(self._rhs) if isinstance(self._rhs, Pattern) else getattr(self._rhs, "__name__", "…")
        return f"{self._lhs} -> {right}"

    def __call__(self, node: Apply) -> Variable | None:
        """Return what may take the place of the node's output, or None."""
        for program in self._programs:
            places = self._run(program, node)
            if places is None:
                continue
            match = {name: places[at] for name, at in program.places}
            if self._when is not None and not self._when(node, match):
                continue
            made = self._build(node, match)
            if made is not None and node.outputs[0].type.is_super(made.type):
                return made
        return None

    def _run(self, program: _Program, node: Apply) -> list[Variable] | None:
        places = list(node.inputs)
        for kind, at, wanted in program.checks:
            var = places[at]
            if kind == _NODE:
                owner = var.owner
                if owner is None or (owner.op is not wanted and owner.op != wanted):
                    return None
                if len(owner.outputs) > 1 and var.index != wanted.default_output:
                    return None
                places.extend(owner.inputs)
            elif kind == _SAME:
                if var is not places[wanted]:
                    return None
            elif not same_number(self._value_of(var), wanted):
                return None
        return places

    def _build(self, node: Apply, match: Mapping[str, Variable]) -> Variable | None:
        if not isinstance(self._rhs, Pattern):
            made: Variable | None = self._rhs(node, match)
            return made
        built = build(self._rhs, match)
        return built if isinstance(built, Variable) else None


def build(pattern: Any, match: Mapping[str, Variable]) -> Any:
    """Return the expression of a pattern, its holes filled from `match`."""
    if not isinstance(pattern, Pattern):
        return pattern
    if pattern.pattern_op is None:
        return match[str(pattern.pattern_name)]
    return pattern.pattern_op(*[build(x, match) for x in pattern.pattern_args])
