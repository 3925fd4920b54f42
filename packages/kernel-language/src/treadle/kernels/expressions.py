"""From a kernel's syntax to a typed tree: expressions."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from treadle.kernels import language
from treadle.kernels.errors import KernelError
from treadle.kernels.externals import External, ExternalTable
from treadle.kernels.kinds import (
    FLOATS,
    INTEGERS,
    MASKS,
    NUMBERS,
    REAL,
    WEAK,
    is_pointer,
    is_vector,
    real_dtype,
    shown,
    value_kind,
)
from treadle.kernels.language import Status
from treadle.kernels.tree import (
    Apply,
    Binary,
    Choice,
    Entry,
    Expression,
    Literal,
    Load,
    Logic,
    Moved,
    Routine,
    Specialised,
    Table,
    Unary,
    Variable,
)

if TYPE_CHECKING:
    from treadle.kernels.definition import Kernel

_BINARY: dict[type[ast.operator], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.BitAnd: "&",
    ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>",
}  # fmt: skip
_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
}  # fmt: skip
_OF_FLOATS = {"+", "-", "*", "/"}
_OF_BITS = {"&", "|", "^"}
_SHIFTS = {"<<", ">>"}
_STATIC = (language.is_complex, language.is_floating, language.itemsize, language.epsilon)
_BUILTINS = {"abs": abs, "bool": bool, "float": float, "int": int, "len": len, "max": max, "min": min, "range": range}


class Unknown:
    """Not a value that is known when a kernel is compiled."""


UNKNOWN = Unknown()


class Expressions:
    """Types expressions of a kernel for certain dtypes and static values.

    Attributes
    ----------
    types, static
        The dtypes that type parameters stand for, and the values of static parameters.
    parameters, variables
        Kinds of parameters, as compilers see them, and of local variables.
    ranks
        Ranks of the arguments by name.
    assigned, depth
        Variables that have a value here, and how many loops there are around.
    loops, steps
        The names of all loops' numbers, and those of loops around.
    kernels, routines, externals
        What it calls, and the tables that it reads.
    """

    def __init__(
        self,
        kernel: Kernel,
        types: Mapping[str, str],
        static: Mapping[str, Any],
        parameters: Mapping[str, str],
        ranks: Mapping[str, int],
    ) -> None:
        self.kernel = kernel
        self.types = types
        self.static = dict(static)
        self.parameters = parameters
        self.ranks = ranks
        self.variables: dict[str, str] = {}
        self.assigned: set[str] = set()
        self.loops: set[str] = set()
        self.steps: set[str] = set()
        self.depth = 0
        # By name, the dtype and number of vectors that are kept in variables of their own.
        self.registers: dict[str, tuple[str, int]] = {}
        self.kernels: list[Specialised] = []
        self.routines: list[Routine] = []
        self.externals: list[External] = []
        self.result = ""
        self._returned = False

    def error(self, node: ast.AST, wrong: str, advice: str) -> KernelError:
        """Return the error for a part of the kernel."""
        line = getattr(node, "lineno", "?")
        text = ast.unparse(node).split("\n")[0]
        return KernelError(f"kernel {self.kernel.name}: {wrong}, in line {line}: {text}. {advice}.")

    def named(self, node: ast.expr) -> Any:
        """Return what a name that is not a variable stands for, `UNKNOWN` for anything else."""
        if not isinstance(node, ast.Name) or any(
            node.id in own for own in (self.parameters, self.variables, self.loops)
        ):
            return UNKNOWN
        return self.kernel.scope.get(node.id, _BUILTINS.get(node.id, UNKNOWN))

    # What is known when the kernel is compiled

    def statically(self, node: ast.expr) -> Any:
        """Return the value of an expression that is known when the kernel is compiled, otherwise `UNKNOWN`."""
        found: Any = UNKNOWN
        if isinstance(node, ast.Constant):
            found = node.value
        elif isinstance(node, ast.Name):
            found = self.static[node.id] if node.id in self.static else self.named(node)
            found = found if isinstance(found, bool | int | float | str) else UNKNOWN
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "math":
            found = {"inf": math.inf, "nan": math.nan, "pi": math.pi}.get(node.attr, UNKNOWN)
        elif isinstance(node, ast.Call) and self.named(node.func) in _STATIC and len(node.args) == 1:
            function: Callable[[str], Any] = self.named(node.func)
            found = function(self.dtype(node.args[0]))
        elif isinstance(node, ast.BoolOp):
            found = self._logic_statically(node)
        elif isinstance(node, ast.Subscript):
            table, at = self.named(node.value), self.statically(node.slice)
            if isinstance(table, tuple) and isinstance(at, int) and 0 <= at < len(table):
                found = table[at]
        else:
            parts = [p for p in ast.iter_child_nodes(node) if isinstance(p, ast.expr)]
            folds = ast.BinOp | ast.UnaryOp | ast.Compare | ast.IfExp
            if isinstance(node, folds) and parts and not any(self.statically(p) is UNKNOWN for p in parts):
                if any(isinstance(self.statically(p), Status) for p in parts):
                    return UNKNOWN
                found = self._folded(node)
            elif isinstance(node, ast.IfExp) and self.statically(node.test) is not UNKNOWN:
                found = self.statically(node.body if self.statically(node.test) else node.orelse)
        return found

    def _logic_statically(self, node: ast.BoolOp) -> Any:
        stops = isinstance(node.op, ast.Or)
        values = [self.statically(part) for part in node.values]
        for value in values:
            if value is UNKNOWN:
                # A later part that decides is not looked at: those before it may have to be computed.
                return UNKNOWN
            if bool(value) is stops:
                return stops
        return not stops

    def _folded(self, node: ast.expr) -> Any:
        known = {}
        for name in ast.walk(node):
            if isinstance(name, ast.Name) and isinstance(self.named(name), tuple):
                known[name.id] = self.named(name)
            elif isinstance(name, ast.Name) and not isinstance(self.statically(name), Unknown):
                known[name.id] = self.statically(name)
        known |= {"math": math}
        for function in _STATIC:
            known[function.__name__] = function
        known |= self.types
        try:
            return eval(compile(ast.Expression(node), "kernel", "eval"), {"__builtins__": {}}, known)
        except (ArithmeticError, TypeError, ValueError) as error:
            raise self.error(node, f"it has no value ({error})", "Check the constants") from error

    def dtype(self, node: ast.expr) -> str:
        """Return the dtype that an expression in the place of a type stands for."""
        named = self.named(node)
        if isinstance(named, TypeVar) and named.__name__ in self.types:
            return self.types[named.__name__]
        if isinstance(node, ast.Call) and self.named(node.func) is language.real_of and len(node.args) == 1:
            return real_dtype(self.dtype(node.args[0]))
        if named in language.ELEMENTS:
            return language.ELEMENTS[named]
        raise self.error(node, "no type", "Use a type parameter of the kernel's arguments, real_of(T), int32 …")

    # Kinds

    def fitted(self, node: ast.AST, value: Expression, kind: str) -> Expression:
        """Return a value of a kind: literals take any that holds them.

        Raises
        ------
        KernelError
            If the value is of another kind.
        """
        if value.kind == kind:
            return value
        if NUMBERS.get(kind) == value.kind:
            return Apply(kind, "filled", [value])
        if isinstance(value, Literal) and value.kind in WEAK and not is_pointer(kind):
            number = value.value
            if kind in NUMBERS:
                return Apply(kind, "filled", [Literal(NUMBERS[kind], float(number))])
            fits = value.kind == "int" or kind in FLOATS or kind in REAL
            if fits and kind != "bool":
                if kind in INTEGERS:
                    low, high = (0, 2**64) if kind == "uint64" else (-(2**63), 2**63)
                    if not low <= int(number) < high:
                        raise self.error(node, f"{number} is not an {kind}", "Use uint64 or a smaller number")
                    return Literal(kind, number)
                real = Literal(REAL.get(kind, kind), float(number))
                return Apply(kind, "compose", [real, Literal(real.kind, 0.0)]) if kind in REAL else real
        wanted, given = shown(kind), shown(value.kind)
        raise self.error(node, f"{wanted} is needed, got {given}", "Convert it, by int, float, convert(T, x) …")

    def truth(self, node: ast.expr) -> Expression:
        """Return a condition."""
        test = self.expression(node)
        if test.kind != "bool":
            raise self.error(node, f"a condition is {shown(test.kind)}", "Compare it, as in n != 0")
        return test

    def _common(self, node: ast.AST, values: Sequence[Expression]) -> list[Expression]:
        """Return values of one kind, which those that are no literals have in common."""
        strong = [v.kind for v in values if v.kind not in WEAK]
        if strong:
            return [self.fitted(node, v, strong[0]) for v in values]
        kind = "float64" if any(v.kind == "float" for v in values) else "int64"
        return [self.fitted(node, v, kind) for v in values]

    # Expressions

    def expression(self, node: ast.expr) -> Expression:
        """Return a typed expression.

        Raises
        ------
        KernelError
            If the language does not have it.
        """
        if isinstance(self.named(node), Status):
            return Literal("int64", self.named(node).name)
        known = self.statically(node)
        if not isinstance(known, Unknown):
            kind = {bool: "bool", int: "int", float: "float"}.get(type(known))
            if kind is None:
                raise self.error(node, f"a {type(known).__name__}", "Use numbers; letters only in calls of routines")
            return Literal(kind, known)
        maker = getattr(self, f"_of_{type(node).__name__.lower()}", None)
        if maker is None:
            raise self.error(
                node, f"the language has no {type(node).__name__}", "Use numbers, variables, elements, calls"
            )
        found: Expression = maker(node)
        if found.kind == "none":
            raise self.error(node, "it returns nothing", "Call it in a line of its own")
        return found

    def _of_name(self, node: ast.Name) -> Expression:
        name = node.id
        if self.ranks.get(name, 0) > 0:
            raise self.error(node, f"{name} is an array", "Use its elements, x.pointer, or pass it to a kernel")
        if name in self.parameters:
            return Variable(self.parameters[name], name)
        if name in self.steps:
            return Variable("int64", name)
        if name in self.variables:
            if name not in self.assigned:
                raise self.error(node, f"{name} may have no value here", "Give it one on every path")
            return Variable(self.variables[name], name)
        if name in self.loops:
            raise self.error(node, f"{name} is the number of a loop that has ended", "Keep it in a variable")
        table = self.static.get(name, self.named(node))
        if isinstance(table, ExternalTable):
            self.externals.append(table)
            return Table(f"*{table.dtype}", table)
        raise self.error(node, f"{name} is not known", "Use parameters, variables, numbers of the module, kernels")

    def _of_binop(self, node: ast.BinOp) -> Expression:
        operator = _BINARY.get(type(node.op), "")
        left, right = self.expression(node.left), self.expression(node.right)
        if is_pointer(left.kind) and operator == "+":
            return Moved(left.kind, left, self.fitted(node, right, "int64"))
        if operator in _SHIFTS:
            (left,) = self._common(node, [left])
            right = self.fitted(node, right, "int64")
            if left.kind in INTEGERS:
                return Binary(left.kind, operator, left, right)
        kinds = {left.kind, right.kind}
        if operator in {"*", "/"} and any(kinds == {z, r} for z, r in REAL.items()) and right.kind in REAL.values():
            return Binary(left.kind, operator, left, right)
        if operator == "*" and any(kinds == {z, r} for z, r in REAL.items()):
            return Binary(right.kind, operator, right, left)
        left, right = self._common(node, [left, right])
        kind = left.kind
        takes = (is_vector(kind) and operator in {"+", "-", "*"}) or (
            (operator in _OF_FLOATS and (kind in FLOATS or kind in REAL or kind in NUMBERS))
            or (operator in {"+", "-", "*"} and kind in INTEGERS)
            or (operator in _OF_BITS and (kind in INTEGERS or kind == "bool" or kind in MASKS.values()))
            or (operator in {"//", "%"} and self._divides(node, kind, right))
        )
        if not takes:
            raise self.error(node, f"{type(node.op).__name__} of {shown(kind)}", "Convert, or use a function")
        return Binary(kind, operator, left, right)

    def _divides(self, node: ast.AST, kind: str, by: Expression) -> bool:
        """Whether a kind has // and %: uint64, and int64 by numbers that are known and positive."""
        if kind == "int64" and not (isinstance(by, Literal) and isinstance(by.value, int) and by.value > 0):
            raise self.error(
                node,
                "a quotient by an int that is not a positive constant",
                "Use quotient or remainder, which round to 0",
            )
        return kind in INTEGERS

    def _of_unaryop(self, node: ast.UnaryOp) -> Expression:
        if isinstance(node.op, ast.Not):
            return Unary("bool", "not", self.truth(node.operand))
        operator = {ast.USub: "-", ast.Invert: "~"}.get(type(node.op), "")
        operand = self.expression(node.operand)
        takes = operand.kind in ({"int64", *MASKS.values()} if operator == "~" else {"int64", *FLOATS, *REAL, *NUMBERS})
        if not operator or not takes:
            raise self.error(node, f"{type(node.op).__name__} of {shown(operand.kind)}", "Convert it")
        return Unary(operand.kind, operator, operand)

    def _of_compare(self, node: ast.Compare) -> Expression:
        operands = [self.expression(x) for x in (node.left, *node.comparators)]
        tests: list[Expression] = []
        for op, a, b in zip(node.ops, operands, operands[1:], strict=False):
            operator = _COMPARISONS.get(type(op))
            a, b = self._common(node, [a, b])  # noqa: PLW2901 - of one kind
            orders = a.kind in INTEGERS or a.kind in FLOATS or a.kind in NUMBERS
            if operator is None or is_pointer(a.kind) or not (orders or operator in {"==", "!="}):
                raise self.error(node, f"{type(op).__name__} of {shown(a.kind)}", "Compare numbers")
            if a.kind in MASKS and len(node.ops) > 1:
                raise self.error(node, "two comparisons of eights in one", "Join masks by &")
            tests.append(Binary(MASKS.get(a.kind, "bool"), operator, a, b))
        return tests[0] if len(tests) == 1 else Logic("bool", "and", tests)

    def _of_boolop(self, node: ast.BoolOp) -> Expression:
        word = "or" if isinstance(node.op, ast.Or) else "and"
        parts = []
        for part in node.values:
            known = self.statically(part)
            if isinstance(known, Unknown):
                parts.append(self.truth(part))
            elif bool(known) is (word == "or"):
                parts.append(Literal("bool", bool(known)))
                break
        return parts[0] if len(parts) == 1 else Logic("bool", word, parts)

    def _of_ifexp(self, node: ast.IfExp) -> Expression:
        known = self.statically(node.test)
        if not isinstance(known, Unknown):
            return self.expression(node.body if known else node.orelse)
        test = self.truth(node.test)
        first, second = self._common(node, [self.expression(node.body), self.expression(node.orelse)])
        return Choice(first.kind, test, first, second)

    def element(self, node: ast.Subscript) -> tuple[Expression, Expression]:
        """Return the pointer and the index of an element."""
        indices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        at = [self.fitted(node, self.expression(i), "int64") for i in indices]
        name = node.value.id if isinstance(node.value, ast.Name) else ""
        rank = self.ranks.get(name, 0)
        if rank > 0:
            if len(at) != rank:
                raise self.error(node, f"{name} has rank {rank}", f"Use {rank} indices")
            place: Expression | None = None
            for d, i in enumerate(at):
                term = Binary("int64", "*", i, Variable("int64", f"{name}_s{d}"))
                place = term if place is None else Binary("int64", "+", place, term)
            assert place is not None
            return Variable(self.parameters[name], name), place
        pointer = self.expression(node.value)
        if not is_pointer(pointer.kind) or len(at) != 1:
            raise self.error(
                node, f"an element of {shown(pointer.kind)}", "Index pointers by one number, arrays by all"
            )
        return pointer, at[0]

    def register(self, node: ast.expr) -> Variable | None:
        """Return the variable of a vector in a register, None for other elements."""
        name = node.value.id if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) else ""
        if name not in self.registers or not isinstance(node, ast.Subscript):
            return None
        dtype, count = self.registers[name]
        at = self.statically(node.slice)
        if not isinstance(at, int) or not 0 <= at < count:
            raise self.error(node, "a vector by a number that is not known", f"Use 0 to {count - 1}, or unrolled loops")
        return Variable(f"[{dtype}]", f"{name}__{at}")

    def _of_subscript(self, node: ast.Subscript) -> Expression:
        part = node.value
        register = self.register(node)
        if register is not None:
            return register
        if isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name) and part.attr in {"shape", "strides"}:
            name, d = part.value.id, self.statically(node.slice)
            if isinstance(d, int) and 0 <= d < self.ranks.get(name, 0):
                return Variable("int64", f"{name}_{'n' if part.attr == 'shape' else 's'}{d}")
            raise self.error(
                node, "no length or stride of an array", "Use x.shape[0] with a known number of a dimension"
            )
        if isinstance(part, ast.Name) and isinstance(self.named(part), tuple):
            return self._of_table(node, part.id, self.named(part))
        pointer, index = self.element(node)
        return Load(value_kind(pointer.kind[1:]), pointer, index)

    def _of_table(self, node: ast.Subscript, name: str, table: tuple[Any, ...]) -> Expression:
        if not all(isinstance(number, float) for number in table):
            raise self.error(node, f"{name} has more than floats", "Use a tuple of floats, or an index that is known")
        return Entry("float64", name, table, self.fitted(node, self.expression(node.slice), "int64"))

    def _of_attribute(self, node: ast.Attribute) -> Expression:
        name = node.value.id if isinstance(node.value, ast.Name) else ""
        if node.attr == "pointer" and self.ranks.get(name, 0) > 0:
            return Variable(self.parameters[name], name)
        raise self.error(node, "an attribute", "Arrays have x.shape, x.strides and x.pointer")
