"""Patterns: expressions with holes, written with the operators of expressions, and matched against graphs.

A pattern is compiled into flat lists of checks, one for each order in which commutative ops may hold their operands.
Checks work on numbered places: the inputs of the root node come first, then those of each inner node as it is
recognised. So matching neither recurses nor backtracks.
"""

from __future__ import annotations

import inspect
import math
from itertools import permutations, product
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

from treadle.graph import Apply, Constant, Op, Variable
from treadle.rewrite.engine.tracked import Tracked
from treadle.rewrite.errors import RuleDefinitionError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from treadle.graph import FunctionGraph

# Commutative ops with more operands than this are matched in the order written: they have too many orders.
MOST_OPERANDS = 4

# What a pattern applies an op to.
Part: TypeAlias = "Pattern | complex | Constant"

_Self = TypeVar("_Self", bound="Pattern")


class Pattern:
    """A hole in an expression, or an op applied to patterns and numbers.

    Parameters
    ----------
    name
        Name of a hole; None for an applied op.

    Notes
    -----
    Calling an op on a pattern gives a pattern. A package with operators combines the class with them, as in
    ``class TensorPattern(Pattern, Operators)``. Methods narrow what a pattern matches, each returning a new pattern:

    - ``x.that(f)``: only variables for which ``f(variable)`` is true;
    - ``x.valued(f)``: only variables known to hold one number, for which ``f(number)`` is true (any number, without f);
    - ``exp(x).only_used_once``: only if nothing but the node above uses the result;
    - ``split(x).output(1)``: that output of an op with several.
    """

    def __init__(self, name: str | None = None) -> None:
        self.pattern_name = name
        self.pattern_op: Any = None
        self.pattern_args: tuple[Part, ...] = ()
        self.pattern_tests: tuple[tuple[int, object], ...] = ()
        self.pattern_output: int | None = None

    def __apply_op__(self, op: Op, inputs: Sequence[object]) -> Pattern:
        """Return the pattern of an op applied to inputs, of which this pattern is one."""
        return self.pattern_of(op, inputs)

    @classmethod
    def pattern_of(cls: type[_Self], op: Tracked, inputs: Sequence[Any]) -> _Self:
        """Return the pattern of an op, or of any op of a class, applied to patterns, numbers and constants.

        Raises
        ------
        RuleDefinitionError
            If an input is something else.
        """
        for x in inputs:
            if not isinstance(x, Pattern | bool | int | float | complex | Constant):
                msg = f"pattern of {op}: operands are patterns or numbers, got {x!r}. Use a pattern variable."
                raise RuleDefinitionError(msg)
        pattern = cls()
        pattern.pattern_op = op
        pattern.pattern_args = tuple(inputs)
        return pattern

    def _narrowed(self: _Self, kind: int, test: object) -> _Self:
        pattern = type(self)(self.pattern_name)
        pattern.pattern_op, pattern.pattern_args = self.pattern_op, self.pattern_args
        pattern.pattern_output = self.pattern_output
        pattern.pattern_tests = (*self.pattern_tests, (kind, test))
        return pattern

    def that(self: _Self, test: Callable[[Variable], object]) -> _Self:
        """Return a pattern that matches only variables for which the test is true."""
        return self._narrowed(_TEST, test)

    def valued(self: _Self, test: Callable[[Any], object] | None = None) -> _Self:
        """Return a pattern that matches only variables that hold one known number, for which the test is true."""
        return self._narrowed(_VALUE, test)

    @property
    def only_used_once(self: _Self) -> _Self:
        """A pattern that matches only a result with a single use."""
        return self._narrowed(_ONCE, None)

    def output(self: _Self, i: int) -> _Self:
        """Return the pattern of another output of the op than its default one.

        Raises
        ------
        RuleDefinitionError
            If `i` is not a position.
        """
        if isinstance(i, bool) or not isinstance(i, int) or i < 0:
            msg = f"pattern {self}: output takes the position of an output, from 0 on, got {i!r}."
            raise RuleDefinitionError(msg)
        pattern = type(self)()
        pattern.pattern_op, pattern.pattern_args = self.pattern_op, self.pattern_args
        pattern.pattern_tests = self.pattern_tests
        pattern.pattern_output = i
        return pattern

    def __str__(self) -> str:
        if self.pattern_op is None:
            return str(self.pattern_name)
        arguments = ", ".join(str(x) for x in self.pattern_args)
        name = self.pattern_op.__name__ if isinstance(self.pattern_op, type) else str(self.pattern_op)
        output = "" if self.pattern_output is None else f"[{self.pattern_output}]"
        return f"{name.lower()}({arguments}){output}"

    __repr__ = __str__


# Kinds of check. A node is recognised by its op, its class of ops, or the output it gives; a place holds the same
# variable as another, a number, a constant; a variable passes a test, has a value that passes one, has one use.
_NODE, _CLASS, _SAME, _NUMBER, _CONSTANT, _TEST, _VALUE, _ONCE = range(8)


class _Check(NamedTuple):
    kind: int
    place: int
    expected: Any
    part: Any


class _Program(NamedTuple):
    """One order of operands: the checks, and the place of each named variable."""

    checks: tuple[_Check, ...]
    places: tuple[tuple[str, int], ...]


class _Order(NamedTuple):
    """An applied op with its operands in one order."""

    pattern: Pattern
    args: tuple[object, ...]


def _orders(pattern: object, is_commutative: Callable[[Op], bool]) -> Iterator[Any]:
    """Yield the pattern with the operands of its commutative ops in every order."""
    if not isinstance(pattern, Pattern) or pattern.pattern_op is None:
        yield pattern
        return
    op = pattern.pattern_op
    count = len(pattern.pattern_args)
    swaps = 2 <= count <= MOST_OPERANDS and not isinstance(op, type) and is_commutative(op)
    for args in product(*[list(_orders(x, is_commutative)) for x in pattern.pattern_args]):
        if swaps:
            yield from (_Order(pattern, order) for order in permutations(args))
        else:
            yield _Order(pattern, args)


def _compile(order: _Order) -> _Program:
    """Return the checks of one order of operands."""
    nodes: list[_Check] = []
    tests: list[_Check] = []
    places: dict[str, int] = {}
    pending: list[object] = list(order.args)
    place = 0
    # `pending` grows as inner nodes are met, in the order in which matching lays out their inputs.
    while place < len(pending):
        item = pending[place]
        if isinstance(item, _Order):
            part = item.pattern
            kind = _CLASS if isinstance(part.pattern_op, type) else _NODE
            expected = (part.pattern_op, part.pattern_output, len(item.args))
            nodes.append(_Check(kind, place, expected, part))
            pending.extend(item.args)
            tests += [_Check(test, place, expected, part) for test, expected in part.pattern_tests]
        elif isinstance(item, Pattern):
            first_place = places.setdefault(str(item.pattern_name), place)
            if first_place != place:
                tests.insert(0, _Check(_SAME, place, first_place, item))
            tests += [_Check(test, place, expected, item) for test, expected in item.pattern_tests]
        else:
            tests.append(_Check(_CONSTANT if isinstance(item, Constant) else _NUMBER, place, item, item))
        place += 1
    return _Program((*nodes, *tests), tuple(places.items()))


def _depth(pattern: object) -> int:
    if not isinstance(pattern, Pattern) or pattern.pattern_op is None:
        return 0
    return 1 + max((_depth(x) for x in pattern.pattern_args), default=0)


def _names(pattern: object) -> set[str]:
    if not isinstance(pattern, Pattern):
        return set()
    if pattern.pattern_op is None:
        return {str(pattern.pattern_name)}
    return set().union(*(_names(x) for x in pattern.pattern_args))


def _ops(pattern: object) -> Iterator[Tracked]:
    """Yield the ops that a pattern applies."""
    if isinstance(pattern, Pattern) and pattern.pattern_op is not None:
        yield pattern.pattern_op
        for part in pattern.pattern_args:
            yield from _ops(part)


def _counts_uses(pattern: object) -> bool:
    if not isinstance(pattern, Pattern):
        return False
    return any(kind == _ONCE for kind, _ in pattern.pattern_tests) or any(map(_counts_uses, pattern.pattern_args))


def same_number(value: Any, expected: complex) -> bool:
    """Whether a value is the number, the sign of a zero included."""
    if value is None or value != expected:
        return False
    if expected != 0 or isinstance(value, complex):
        return True
    return math.copysign(1.0, value) == math.copysign(1.0, float(expected.real))


class Law:
    """A rule given by two patterns; calling it with a node returns the replacement or None.

    Parameters
    ----------
    name
        Id of the rule.
    lhs
        An op applied to patterns.
    rhs
        A pattern, a constant, a sequence of these (one for each output), or a function ``(node, match)``.
    when
        ``(node, match) -> bool``: a further condition.
    is_commutative
        Whether an op's operands may be exchanged.
    value_of
        The number that a variable is known to hold, or None.

    Attributes
    ----------
    op
        The op, or class of ops, at the root.
    depth
        How many levels of nodes the left side has.
    below
        An op, or a class of ops, that one of the node's inputs must be computed by; empty if there is no such op.
    number
        A number that one of the node's inputs must be known to hold; None if there is no such number.
    value_of
        The number that a variable is known to hold, or None.
    needs_graph
        Whether it counts uses, so that it must be called with the graph: ``law(fgraph, node)``.
    """

    __slots__ = (
        *("_is_commutative", "_known_programs", "_lhs", "_name", "_operands", "_rhs", "_when"),
        *("below", "depth", "needs_graph", "number", "op", "value_of"),
    )

    def __init__(
        self,
        name: str,
        lhs: object,
        rhs: object,
        when: Callable[..., bool] | None,
        is_commutative: Callable[[Op], bool] | None,
        value_of: Callable[[Variable], complex | None] | None,
    ) -> None:
        if not isinstance(lhs, Pattern) or lhs.pattern_op is None:
            msg = f"law {name!r}: the left side is an op applied to patterns, got {lhs!r}."
            raise RuleDefinitionError(msg)
        if lhs.pattern_output is not None:
            msg = f"law {name!r}: the left side is a whole node, got one output of it, {lhs}. Leave out `output`."
            raise RuleDefinitionError(msg)
        for part in rhs if isinstance(rhs, list | tuple) else (rhs,):
            self._check_right_side(name, lhs, part, rhs)
        self._name = name
        self._lhs = lhs
        self._operands = len(lhs.pattern_args)
        self._rhs = rhs
        self._when = when
        self.value_of = value_of or (lambda _var: None)
        self._is_commutative = is_commutative or (lambda _op: False)
        # Made when it is first tried: most laws of a process never are.
        self._known_programs: tuple[_Program, ...] = ()
        self.op: Any = lhs.pattern_op
        self.depth = _depth(lhs)
        # Known to the caller, which tries the law only where the op is.
        below = [x.pattern_op for x in lhs.pattern_args if isinstance(x, Pattern) and x.pattern_op is not None]
        self.below: tuple[Tracked, ...] = tuple(below[:1])
        self.number = next((x for x in lhs.pattern_args if isinstance(x, bool | int | float | complex)), None)
        self.needs_graph = _counts_uses(lhs)

    @property
    def _programs(self) -> tuple[_Program, ...]:
        if not self._known_programs:
            orders = _orders(self._lhs, self._is_commutative)
            self._known_programs = tuple(dict.fromkeys(map(_compile, orders)))
        return self._known_programs

    @staticmethod
    def _check_right_side(name: str, lhs: Pattern, part: object, rhs: object) -> None:
        if isinstance(part, Pattern):
            unbound = _names(part) - _names(lhs)
            if unbound:
                msg = f"law {name!r}: the right side uses {', '.join(sorted(unbound))}, which the left side lacks."
                raise RuleDefinitionError(msg)
            if any(isinstance(op, type) for op in _ops(part)):
                msg = f"law {name!r}: the right side applies a class of ops, in {part}. Name the op itself."
                raise RuleDefinitionError(msg)
        elif not callable(part) and part is rhs and not isinstance(part, Constant):
            msg = f"law {name!r}: the right side is a pattern or a function of (node, match), got {rhs!r}."
            raise RuleDefinitionError(msg)

    def __str__(self) -> str:
        if isinstance(self._rhs, list | tuple):
            return f"{self._lhs} -> {', '.join(map(str, self._rhs))}"
        right = str(self._rhs) if isinstance(self._rhs, Pattern | Constant) else _described(self._rhs)
        return f"{self._lhs} -> {right}"

    def __call__(self, *arguments: Any) -> Any:
        """Return what may take the place of the outputs of a node, or None: ``(node)``, or ``(fgraph, node)``."""
        node = arguments[-1]
        if len(node.inputs) != self._operands:
            return None
        fgraph = arguments[0] if len(arguments) > 1 else None
        for kind, expected in self._lhs.pattern_tests:
            out = standing_for(node)
            if out is None or not self._passes(kind, out, expected, [], fgraph):
                return None
        for program in self._programs:
            places = self._run(program, node, fgraph)
            if places is None:
                continue
            match = {name: places[at] for name, at in program.places}
            if self._when is not None and not self._when(node, match):
                continue
            answer = self._build(node, match)
            if answer is not None:
                return answer
        return None

    def _run(self, program: _Program, node: Apply, fgraph: FunctionGraph | None) -> list[Variable] | None:
        """Return the variables at the places of one order of operands, or None where a check fails."""
        places = list(node.inputs)
        for kind, at, expected, _ in program.checks:
            var = places[at]
            if kind == _NODE:
                owner = var.owner
                op, output, count = expected
                if owner is None or (owner.op is not op and owner.op != op) or len(owner.inputs) != count:
                    return None
                if not _is_output(var, owner, output):
                    return None
                places.extend(owner.inputs)
            elif kind == _SAME:
                if var is not places[expected]:
                    return None
            elif kind == _NUMBER:
                if not same_number(self.value_of(var), expected):
                    return None
            elif not self._passes(kind, var, expected, places, fgraph):
                return None
        return places

    def _passes(
        self, kind: int, var: Variable, expected: Any, places: list[Variable], fgraph: FunctionGraph | None
    ) -> bool:
        """Do a check of a kind that few laws have."""
        if kind == _CLASS:
            owner = var.owner
            op, output, count = expected
            if owner is None or not isinstance(owner.op, op) or len(owner.inputs) != count:
                return False
            if not _is_output(var, owner, output):
                return False
            places.extend(owner.inputs)
            return True
        if kind == _CONSTANT:
            return var is expected or (isinstance(var, Constant) and var.equals(expected))
        if kind == _TEST:
            return bool(expected(var))
        if kind == _VALUE:
            value = self.value_of(var)
            return value is not None and (expected is None or bool(expected(value)))
        return fgraph is not None and len(fgraph.clients.get(var, ())) == 1

    def _build(self, node: Apply, match: Mapping[str, Variable]) -> object:
        """Return the replacement, if its types are kept or refined."""
        rhs = self._rhs
        if isinstance(rhs, list | tuple):
            parts = [None if part is None else built(part, node, match) for part in rhs]
            return parts if fits(node, parts) else None
        replacement = built(rhs, node, match)
        if isinstance(replacement, list | tuple | dict):
            return replacement if isinstance(replacement, dict) or fits(node, replacement) else None
        old = standing_for(node)
        if old is None or not isinstance(replacement, Variable) or not old.type.is_super(replacement.type):
            return None
        return placed(node, replacement)

    def mismatch(self, node: Apply, fgraph: FunctionGraph | None = None) -> str | None:
        """Return the first condition that fails on a node, in the order of operands that comes furthest, or None."""
        if len(node.inputs) != self._operands:
            return f"the pattern has {self._operands} operands, the node {len(node.inputs)}"
        for kind, expected in self._lhs.pattern_tests:
            out = standing_for(node)
            if out is None:
                return f"the node has {len(node.outputs)} outputs, and none of them stands for it"
            if not self._passes(kind, out, expected, [], fgraph):
                return _explained(_Check(kind, 0, expected, self._lhs), out, [], self.value_of(out))
        best, text = (-1, -1), None
        for program in self._programs:
            reached, passing, failure = self._first_failure(program, node, fgraph)
            if failure is None:
                return None
            if (reached, passing) > best:
                best, text = (reached, passing), failure
        return text

    def _first_failure(
        self, program: _Program, node: Apply, fgraph: FunctionGraph | None
    ) -> tuple[int, int, str | None]:
        """Return how many checks pass, how many of those behind the failing one, and what that finds wrong."""
        for count, check in enumerate(program.checks):
            if self._run(_Program(program.checks[: count + 1], ()), node, fgraph) is None:
                places = self._run(_Program(program.checks[:count], ()), node, fgraph) or []
                later = [c for c in program.checks[count + 1 :] if c.kind in {_NUMBER, _CONSTANT, _TEST, _VALUE}]
                testable = [c for c in later if c.place < len(places)]
                passed = program.checks[:count]
                passing = sum(self._run(_Program((*passed, c), ()), node, fgraph) is not None for c in testable)
                text = _explained(check, places[check.place], places, self.value_of(places[check.place]))
                return count, passing, text
        places = self._run(program, node, fgraph) or []
        match = {name: places[at] for name, at in program.places}
        count = len(program.checks)
        if self._when is not None and not self._when(node, match):
            values = ", ".join(f"{name} = {var} of type {var.type}" for name, var in match.items())
            return count, 0, f"its condition {_name_of(self._when)} is false for {values}"
        if self._build(node, match) is None:
            return count + 1, 0, "the right side makes nothing that keeps or refines the type here"
        return count + 2, 0, None


def standing_for(node: Apply) -> Variable | None:
    """Return the output that stands for a node; None where it has several, and its op names no default one."""
    return node.default_output() if len(node.outputs) == 1 or node.op.default_output is not None else None


def placed(node: Apply, replacement: object) -> object:
    """Return one replacement of a node, for several outputs as that of the output that stands for it, or None."""
    if not isinstance(replacement, Variable) or len(node.outputs) == 1:
        return replacement
    old = standing_for(node)
    return None if old is None else {old: replacement}


def _is_output(var: Variable, owner: Apply, output: int | None) -> bool:
    """Whether a variable is the output of its node that a pattern means."""
    if output is not None:
        return var.index == output
    return len(owner.outputs) == 1 or var.index == owner.op.default_output


def fits(node: Apply, replacements: Sequence[object]) -> bool:
    """Whether variables, one for each output of a node, keep or refine the outputs' types."""
    return len(replacements) == len(node.outputs) and all(
        new is None or (isinstance(new, Variable) and old.type.is_super(new.type))
        for old, new in zip(node.outputs, replacements, strict=True)
    )


def _described(function: object) -> str:
    """Return the first line of a function's docstring, as the right side of a law."""
    text = (inspect.getdoc(function) or "…").partition("\n")[0].rstrip(".")
    return text[:1].lower() + text[1:]


def _name_of(function: object) -> str:
    name = getattr(function, "__name__", None) or type(function).__name__
    code = getattr(function, "__code__", None)
    return name if code is None else f"{name} (line {code.co_firstlineno} of {code.co_filename.rpartition('/')[2]})"


def _explained(check: _Check, var: Variable, places: Sequence[Variable], value: object) -> str:
    """Return in words why a check fails."""
    if check.kind in {_NODE, _CLASS}:
        meets = f"{var}, which no op computes" if var.owner is None else f"the result of {var.owner.op}"
        return f"the pattern's part {check.part} meets {meets}"
    if check.kind == _SAME:
        return f"{check.part} stands for {places[check.expected]} already and meets {var}, another variable"
    if check.kind in {_NUMBER, _CONSTANT}:
        value_text = "which is not known to hold one number" if value is None else f"which holds {value}"
        return f"the number {check.part} meets {var}, {value_text}"
    if check.kind == _TEST:
        return f"the condition {_name_of(check.expected)} on {check.part} is false for {var} of type {var.type}"
    if check.kind == _VALUE:
        value_text = "which is not known to hold one number" if value is None else f"whose value {value} is not wanted"
        return f"{check.part} meets {var}, {value_text}"
    return f"the result of the pattern's part {check.part} is used more than once"


def built(part: object, node: Apply, match: Mapping[str, Variable]) -> object:
    """Return what a part of a right side, a pattern or a function of (node, match), makes."""
    return part(node, match) if callable(part) and not isinstance(part, Pattern) else build(part, match)


def build(pattern: Any, match: Mapping[str, Variable]) -> Any:
    """Return the expression of a pattern, its holes filled from `match`."""
    if not isinstance(pattern, Pattern):
        return pattern
    if pattern.pattern_op is None:
        return match[str(pattern.pattern_name)]
    arguments = [build(x, match) for x in pattern.pattern_args]
    for part, x in zip(pattern.pattern_args, arguments, strict=True):
        if isinstance(x, list):
            msg = f"pattern {pattern}: {part} has {len(x)} outputs and no default one. Name one by its `output`."
            raise RuleDefinitionError(msg)
    if pattern.pattern_output is None:
        return pattern.pattern_op(*arguments)
    outputs = pattern.pattern_op(*arguments, return_list=True)
    if pattern.pattern_op.default_output is not None:
        outputs = outputs[0].owner.outputs
    if pattern.pattern_output >= len(outputs):
        msg = f"pattern {pattern}: {pattern.pattern_op} gives {len(outputs)} outputs. Name one of them by its `output`."
        raise RuleDefinitionError(msg)
    return outputs[pattern.pattern_output]
