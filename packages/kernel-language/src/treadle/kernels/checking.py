"""From a kernel's syntax to a typed tree: statements. What the language does not have is refused, with its line."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from treadle.kernels import language
from treadle.kernels.calls import Calls
from treadle.kernels.expressions import Unknown
from treadle.kernels.kinds import SIZES, WEAK, is_pointer, is_vector, real_dtype, shown, value_kind
from treadle.kernels.language import ELEMENTS
from treadle.kernels.tree import (
    Apply,
    Assign,
    Call,
    CallExternal,
    CallRoutine,
    Do,
    Expression,
    For,
    If,
    Leave,
    Literal,
    Local,
    Parameter,
    Return,
    Routine,
    Specialised,
    Statement,
    Store,
    Variable,
    While,
)

if TYPE_CHECKING:
    from treadle.kernels.definition import Argument
    from treadle.kernels.externals import External

_HOW = (language.independent, language.unrolled, language.shared)
_LIBRARIES = (language.lapack, language.blas, language.numpy)
_LETTERS = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}
# The variable of what a routine returns that a kernel returns at once.
RETURNED = "returned_info"
# The letters of functions that select eigenvalues, of so many numbers, for real and for complex matrices.
_SELECTS = {"gees": "21", "gges": "32"}
_PLAIN: Mapping[object, str] = {int: "int64", float: "float64", bool: "bool"}


class Checker(Calls):
    """Checks and types a kernel for certain dtypes and static values."""

    def specialised(self, name: str, parameters: Sequence[Parameter], arguments: Sequence[Argument]) -> Specialised:
        """Return the kernel's version."""
        tree = self.kernel.tree()
        self.result = self._result(tree)
        body = self._block(tree.body)
        if not self._returned:
            raise self.error(tree, "it may end without a return", "Return a value at its end")
        return Specialised(
            name=name,
            parameters=parameters,
            arguments=arguments,
            result=self.result,
            variables=self.variables,
            body=body,
            kernels=list(dict.fromkeys(self.kernels)),
            routines=list(dict.fromkeys([*self.routines, *(r for k in self.kernels for r in k.routines)])),
            externals=self._externals(tree),
            inline=self.kernel.inline,
            compact=self.kernel.compact,
            where=self.kernel.where,
        )

    def _externals(self, tree: ast.FunctionDef) -> list[External]:
        """Return what is compiled elsewhere, that of kernels that it calls included."""
        found = list(dict.fromkeys([*self.externals, *(e for k in self.kernels for e in k.externals)]))
        names = [each.name for each in found]
        for name in names:
            if names.count(name) > 1:
                raise self.error(tree, f"two functions or tables are named {name}", "Give each a name of its own")
        return found

    def _result(self, tree: ast.FunctionDef) -> str:
        kind = self.annotated(tree.returns)
        if kind is None:
            raise self.error(tree, "its result has no type", "Write -> int, float, bool, or a type parameter")
        return kind

    def annotated(self, node: ast.expr | None) -> str | None:
        """Return the kind of values that an annotation stands for, or None."""
        named = self.named(node) if isinstance(node, ast.Name) else None
        if isinstance(named, TypeVar):
            return value_kind(self.types[named.__name__]) if named.__name__ in self.types else None
        if named is None or isinstance(named, Unknown):
            return None
        dtype = ELEMENTS.get(named) or _PLAIN.get(named)
        return None if dtype is None else value_kind(dtype)

    def _block(self, body: Sequence[ast.stmt]) -> list[Statement]:
        self._returned = False
        statements: list[Statement] = []
        for at, node in enumerate(body):
            if self._returned and isinstance(body[at - 1], ast.If):
                # The branch that is known to be taken has returned: the rest is for other dtypes or static values.
                break
            if self._returned:
                raise self.error(node, "it is never reached", "Remove it")
            statements += self._statement(node)
        return statements

    def _statement(self, node: ast.stmt) -> list[Statement]:
        maker = getattr(self, f"_{type(node).__name__.lower()}", None)
        if maker is None:
            raise self.error(
                node, f"the language has no {type(node).__name__}", "Use assignments, if, for, while, return"
            )
        statements: list[Statement] = maker(node)
        return statements

    def _pass(self, node: ast.Pass) -> list[Statement]:
        del node
        return []

    def _expr(self, node: ast.Expr) -> list[Statement]:
        value = node.value
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            return []
        if self._is_routine(value):
            return [self._call_routine(value, None)]
        call = self.external_call(value) or self.expression(value)
        if not isinstance(call, Call | CallExternal) and call.kind != "nothing":
            raise self.error(node, "its value is not used", "Call a kernel or a routine, or assign the value")
        return [Do(call)]

    # Assignments

    def _assign(self, node: ast.Assign) -> list[Statement]:
        if len(node.targets) != 1:
            raise self.error(node, "two targets", "Write two assignments")
        target, value = node.targets[0], node.value
        if isinstance(value, ast.Call) and self.named(value.func) is language.vectors:
            return self._registers(node, target, value)
        return [self._assigned(node, target, value)]

    def _registers(self, node: ast.Assign, target: ast.expr, value: ast.Call) -> list[Statement]:
        """Return the assignments of zeros to vectors in registers."""
        count = self.statically(value.args[1]) if len(value.args) == 2 else None
        if not isinstance(target, ast.Name) or not isinstance(count, int) or count < 1:
            raise self.error(node, "vectors whose number is not known", "Write a = vectors(T, 4)")
        dtype = self.lane_dtype(node, self.dtype(value.args[0]))
        if self.registers.setdefault(target.id, (dtype, count)) != (dtype, count):
            raise self.error(node, f"{target.id} has other vectors already", "Take another name")
        zero = self.fitted(node, Literal("int", 0), value_kind(dtype))
        filled = Apply(f"[{dtype}]", "filled", [zero])
        return [self._set(node, f"{target.id}__{k}", filled) for k in range(count)]

    def _annassign(self, node: ast.AnnAssign) -> list[Statement]:
        kind = self.annotated(node.annotation)
        if kind is None or node.value is None or not isinstance(node.target, ast.Name):
            raise self.error(node, "a declaration without value or type", "Write name: int = value, or float, bool, T")
        return [self._set(node, node.target.id, self.fitted(node, self.expression(node.value), kind))]

    def _augassign(self, node: ast.AugAssign) -> list[Statement]:
        target = node.target
        if any(isinstance(part, ast.Call) for part in ast.walk(target)):
            raise self.error(node, "a call in the target", "Compute the index before")
        read = ast.copy_location(ast.parse(ast.unparse(target), mode="eval").body, node)
        for part in ast.walk(read):
            ast.copy_location(part, node)
        value = ast.copy_location(ast.BinOp(read, node.op, node.value), node)
        return [self._assigned(node, target, value)]

    def _assigned(self, node: ast.stmt, target: ast.expr, value: ast.expr) -> Statement:
        if isinstance(target, ast.Name):
            if self._is_routine(value):
                self._declare(node, target.id, "int64")
                return self._call_routine(value, target.id)
            return self._set(node, target.id, self.expression(value))
        if isinstance(target, ast.Subscript):
            register = self.register(target)
            if register is not None:
                return self._set(node, register.name, self.expression(value))
            pointer, index = self.element(target)
            stored = self.expression(value)
            kind = f"[{pointer.kind[1:]}]" if is_vector(stored.kind) else value_kind(pointer.kind[1:])
            return Store(pointer, index, self.fitted(node, stored, kind))
        raise self.error(node, "no variable and no element", "Assign to a name, or to x[i]; one at a time")

    def _set(self, node: ast.stmt, name: str, value: Expression) -> Statement:
        known = self.variables.get(name, self.parameters.get(name))
        if known is not None:
            value = self.fitted(node, value, known)
        elif value.kind in WEAK:
            value = self.fitted(node, value, "int64" if value.kind == "int" else "float64")
        elif value.kind == "bool" and isinstance(value, Literal):
            value = Literal("bool", value.value)
        self._declare(node, name, value.kind)
        if isinstance(value, Local) and self.depth:
            raise self.error(node, "room is made in a loop", "Make it before the loop")
        return Assign(name, value)

    def _declare(self, node: ast.stmt, name: str, kind: str) -> None:
        if name in self.static or (name in self.ranks and self.ranks[name] > 0):
            raise self.error(node, f"{name} is a static parameter or an array", "Take another name")
        if name in self.loops:
            raise self.error(node, f"{name} is the number of a loop", "Take another name, or while")
        if name in self.parameters:
            if self.parameters[name] != kind:
                raise self.error(node, f"{name} is {shown(self.parameters[name])}", "Take another name")
            return
        if self.variables.setdefault(name, kind) != kind:
            raise self.error(node, f"{name} is {shown(self.variables[name])}, and then {shown(kind)}", "Convert it")
        self.assigned.add(name)

    # Routines of libraries

    def _is_routine(self, node: ast.expr) -> bool:
        return (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
            and self.named(node.func.value) in _LIBRARIES
        )

    def _call_routine(self, node: ast.expr, target: str | None) -> Statement:
        assert isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)  # noqa: PT018 - for types
        library: str = self.named(node.func.value).name
        if target is not None and library == "blas":
            raise self.error(node, "routines of BLAS return nothing", "Call it without an assignment")
        arguments = [self._routine_argument(a) for a in node.args]
        arguments = [self.fitted(node, a, "int64") if a.kind == "int" else a for a in arguments]
        if library == "numpy":
            return self._call_numpy(node, target, arguments)
        main = [a.kind[1:] for a in arguments if is_pointer(a.kind) and a.kind[1:] in _LETTERS]
        first = next((kind for kind in main if "complex" in kind), main[0] if main else None)
        if first is None:
            raise self.error(node, "no argument is an array of numbers", "Pass pointers to float32, float64 or complex")
        letters = []
        for argument in arguments:
            element = argument.kind.removeprefix("*")
            if element == "char":
                letters.append("c")
            elif element == "function":
                letters.append(_SELECTS.get(node.func.attr, "11")["complex" in first])
            elif element == first:
                letters.append("x")
            elif element in {"int32", "int64"} and (element == "int32") == is_pointer(argument.kind):
                letters.append("i")
            elif element == real_dtype(first):
                letters.append("r")
            else:
                what = shown(argument.kind)
                raise self.error(node, f"an argument is {what}", f"Routines of {first} take its kinds, int and int32 *")
        routine = Routine(library, f"{_LETTERS[first]}{node.func.attr}", "".join(letters))
        self.routines.append(routine)
        return CallRoutine(target, routine, arguments)

    def _call_numpy(self, node: ast.Call, target: str | None, arguments: Sequence[Expression]) -> Statement:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        kinds = [a.kind for a in arguments]
        if name != "sort" or len(kinds) != 3 or kinds[0] != "char" or kinds[2] != "int64" or target is None:
            raise self.error(node, "no function of NumPy's", "Write failed = numpy.sort('f', x, n), or i or u for f")
        kind, element = arguments[0], kinds[1].removeprefix("*")
        if not isinstance(kind, Literal) or kind.value not in {"f", "i", "u"} or SIZES.get(element, 1) < 2:
            raise self.error(node, "no kind and pointer of numbers", "Pass f, i or u, and elements of 2 to 8 bytes")
        routine = Routine("numpy", f"sort_{kind.value}{8 * SIZES[element]}", "xi")
        self.routines.append(routine)
        return CallRoutine(target, routine, arguments[1:])

    def _routine_argument(self, node: ast.expr) -> Expression:
        """Return an argument of a routine: a letter, no function, or a value."""
        if isinstance(node, ast.Constant) and node.value is None:
            return Literal("function", 0)
        known = self.statically(node)
        return Literal("char", known) if isinstance(known, str) else self.expression(node)

    # Control

    def _if(self, node: ast.If) -> list[Statement]:
        known = self.statically(node.test)
        if not isinstance(known, Unknown):
            return self._block(node.body if known else node.orelse)
        test = self.truth(node.test)
        before = set(self.assigned)
        body = self._block(node.body)
        first, first_returned = self.assigned, self._returned
        self.assigned = set(before)
        orelse = self._block(node.orelse)
        second_returned = self._returned
        self.assigned = self.assigned if first_returned else first if second_returned else first & self.assigned
        self._returned = first_returned and second_returned
        return [If(test, body, orelse)]

    def _while(self, node: ast.While) -> list[Statement]:
        if node.orelse:
            raise self.error(node, "an else of a loop", "Use a variable")
        test = self.truth(node.test)
        return [While(test, self._looped(node.body))]

    def _looped(self, body: Sequence[ast.stmt]) -> list[Statement]:
        before = set(self.assigned)
        self.depth += 1
        statements = self._block(body)
        self.depth -= 1
        self.assigned = before
        self._returned = False
        return statements

    def _for(self, node: ast.For) -> list[Statement]:
        if node.orelse or not isinstance(node.target, ast.Name):
            raise self.error(node, "a loop of another form", "Write for i in range(...)")
        call, how, at_once = node.iter, None, 0
        if isinstance(call, ast.Call) and self.named(call.func) in _HOW:
            how = self.named(call.func)
            if len(call.args) == 2 and how is language.independent:
                at_once = self.statically(call.args[1])
                if not isinstance(at_once, int) or at_once < 0:
                    raise self.error(node, "how many steps at once is not known", "Use a constant")
            elif len(call.args) != 1:
                raise self.error(node, "a loop of another form", "Write for i in range(...)")
            call = call.args[0]
        if not (isinstance(call, ast.Call) and self.named(call.func) is range and 1 <= len(call.args) <= 3):
            raise self.error(node, "a loop over something else than a range", "Write for i in range(...)")
        name = node.target.id
        bounds = [self.fitted(node, self.expression(a), "int64") for a in call.args[:2]]
        step = self.statically(call.args[2]) if len(call.args) == 3 else 1
        if not isinstance(step, int) or step == 0:
            raise self.error(node, "the step of a range is not a known number", "Use a constant, or while")
        if how is language.unrolled:
            return self._unrolled(node, name, [self.statically(a) for a in call.args])
        if name in self.steps or name in self.parameters or name in self.variables:
            raise self.error(node, f"{name} is a variable already", "Take another name for the loop's number")
        start = bounds[0] if len(bounds) == 2 else Literal("int64", 0)
        self.loops.add(name)
        self.steps.add(name)
        body = self._looped(node.body)
        self.steps.discard(name)
        if how is language.shared and not all(isinstance(s, Assign) for s in body):
            raise self.error(node, "a shared loop does something else than set variables", "Call a kernel in it")
        return [For(name, start, bounds[-1], step, body, how is language.independent, how is language.shared, at_once)]

    def _unrolled(self, node: ast.For, name: str, bounds: Sequence[object]) -> list[Statement]:
        """Return the steps of a loop one after the other."""
        known = [b for b in bounds if isinstance(b, int)]
        if len(known) < len(bounds):
            raise self.error(node, "an unrolled loop of bounds that are not known", "Use constants, or range alone")
        if name in {*self.loops, *self.parameters, *self.variables, *self.static}:
            raise self.error(node, f"{name} is a variable already", "Take another name for the loop's number")
        if _is_left(node.body):
            raise self.error(node, "an unrolled loop is left", "Use a condition around the rest")
        around, statements = self.static, []
        for number in range(*known):
            self.static = {**around, name: number}
            statements += self._block(node.body)
        self.static = around
        return statements

    def _return(self, node: ast.Return) -> list[Statement]:
        if node.value is None:
            raise self.error(node, "a return without a value", "Return a value")
        statements: list[Statement] = []
        if self._is_routine(node.value):
            statements.append(self._call_routine(node.value, RETURNED))
            self.variables[RETURNED] = "int64"
            value = self.fitted(node, Variable("int64", RETURNED), self.result)
        else:
            value = self.fitted(node, self.expression(node.value), self.result)
        self._returned = True
        return [*statements, Return(value)]

    def _break(self, node: ast.Break) -> list[Statement]:
        return self._left(node, "break")

    def _continue(self, node: ast.Continue) -> list[Statement]:
        return self._left(node, "continue")

    def _left(self, node: ast.stmt, word: str) -> list[Statement]:
        if not self.depth:
            raise self.error(node, f"{word} outside of a loop", "Remove it")
        self._returned = True
        return [Leave(word)]


def _is_left(body: Sequence[ast.stmt]) -> bool:
    """Whether statements end the loop around them, or the kernel."""
    inner = [s for s in body if not isinstance(s, ast.For | ast.While)]
    parts = [part for s in inner for part in ast.walk(s)]
    returns = any(isinstance(part, ast.Return) for s in body for part in ast.walk(s))
    return returns or any(isinstance(part, ast.Break | ast.Continue) for part in parts)
