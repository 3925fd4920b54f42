"""From a kernel's syntax to a typed tree: calls of kernels, of functions of the language, and of compiled functions."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from treadle.kernels import language
from treadle.kernels.eights import function_of_eights
from treadle.kernels.expressions import Expressions, Unknown
from treadle.kernels.externals import External, ExternalFunction
from treadle.kernels.kinds import (
    COMPLEX,
    EIGHTS,
    FLOATS,
    INTEGERS,
    MASKS,
    NUMBERS,
    REAL,
    WEAK,
    is_pointer,
    is_vector,
    shown,
    value_kind,
)
from treadle.kernels.tree import (
    Apply,
    Binary,
    Call,
    CallExternal,
    Choice,
    Convert,
    Expression,
    Literal,
    Load,
    Local,
    Variable,
)

if TYPE_CHECKING:
    from treadle.kernels.definition import Kernel

_REAL_FUNCTIONS = {
    getattr(language, name): (name, count)
    for count, names in (
        (1, "sqrt floor ceil trunc rint exp expm1 log log1p log2 sin cos tan tanh atan lgamma"),
        (2, "power hypot atan2 copysign fmod"),
    )
    for name in names.split()
}
# Functions that begin with a type, and how many arguments they take.
_OF_TYPES = {language.lanes: 1, language.filled: 2}


class Calls(Expressions):
    """Types the calls of a kernel."""

    def _of_call(self, node: ast.Call) -> Expression:
        called = self._called(node)
        if isinstance(called, type(self.kernel)):
            return self._of_kernel(node, called)
        if node.keywords:
            raise self.error(node, "arguments by name", "Only static parameters of kernels are passed by name")
        external = self.external_call(node)
        if external is not None:
            return external
        of = node.args[0].id if len(node.args) == 1 and isinstance(node.args[0], ast.Name) else ""
        if called is len and self.ranks.get(of, 0) > 0:
            return Variable("int64", f"{of}_n0")
        if called is language.local and len(node.args) == 2:
            count = self.statically(node.args[1])
            if isinstance(count, int) and count > 0:
                return Local(f"*{self.dtype(node.args[0])}", count)
            raise self.error(node, "room for a number of elements that is not known", "Use a constant or static number")
        if called is language.convert and len(node.args) == 2:
            return self._converted(node, value_kind(self.dtype(node.args[0])), self.expression(node.args[1]))
        if called is language.element and len(node.args) == 2:
            return self._element(node, self.dtype(node.args[0]), self.expression(node.args[1]))
        if called in _OF_TYPES and len(node.args) == _OF_TYPES[called]:
            return self._of_type(node, called)
        arguments = [self.expression(a) for a in node.args]
        if called is language.address and len(arguments) == 1 and is_pointer(arguments[0].kind):
            return Apply("int64", "address", arguments)
        if isinstance(node.func, ast.Attribute) and self.named(node.func.value) is language.special:
            return self._of_special(node, node.func.attr, arguments)
        found = self._of_function(node, called, arguments) or self._of_vectors(node, called, arguments)
        if found is None:
            raise self.error(node, "a call of something else", "Call kernels and functions of treadle.kernels.language")
        return found

    def _of_function(self, node: ast.Call, called: Any, arguments: list[Expression]) -> Expression | None:
        count = len(arguments)
        if called in _REAL_FUNCTIONS and count == _REAL_FUNCTIONS[called][1]:
            arguments = self._common(node, arguments)
            if (
                arguments[0].kind in FLOATS
                or (arguments[0].kind in REAL and called is language.power)
                or (arguments[0].kind in NUMBERS and called is language.sqrt)
            ):
                return Apply(arguments[0].kind, _REAL_FUNCTIONS[called][0], arguments)
            raise self.error(node, f"a function of real numbers, got {shown(arguments[0].kind)}", "Convert it")
        kinds = {int: "int64", float: "float64", language.uint64: "uint64", language.float32: "float32"}
        if called in kinds and count == 1:
            return self._converted(node, kinds[called], arguments[0])
        if called in (min, max) and count >= 2:
            arguments = self._common(node, arguments)
            if arguments[0].kind in INTEGERS:
                first = arguments[0]
                for other in arguments[1:]:
                    first = Apply(first.kind, called.__name__, [first, other])
                return first
            raise self.error(node, "min and max of other numbers than integers", "Compare them: NaN needs a decision")
        if called in (language.quotient, language.remainder) and count == 2:
            arguments = [self.fitted(node, a, "int64") for a in arguments]
            return Apply("int64", called.__name__, arguments)
        return self._of_number(node, called, arguments)

    def _of_special(self, node: ast.Call, name: str, arguments: list[Expression]) -> Expression:
        if not arguments or (arguments := self._common(node, arguments))[0].kind not in FLOATS:
            raise self.error(node, "a function of SciPy's of other than real numbers", "Convert them")
        return Apply(arguments[0].kind, f"special_{name}", arguments)

    def lane_dtype(self, node: ast.AST, dtype: str) -> str:
        """Return a dtype that there are vectors of."""
        if dtype in REAL or dtype in NUMBERS or dtype in {"bool", "float16"}:
            raise self.error(node, f"vectors of {dtype}", "Use integers, float32 or float64")
        return dtype

    def _of_type(self, node: ast.Call, called: Any) -> Expression:
        dtype = self.lane_dtype(node, self.dtype(node.args[0]))
        if called is language.lanes:
            return Apply("int64", "lanes", [Literal("char", dtype)])
        return Apply(f"[{dtype}]", "filled", [self.fitted(node, self.expression(node.args[1]), value_kind(dtype))])

    def _of_vectors(self, node: ast.Call, called: Any, arguments: list[Expression]) -> Expression | None:
        kinds = [a.kind for a in arguments]
        if called is language.fused and len(kinds) == 3 and not any(map(is_vector, kinds)):
            numbers = self._common(node, arguments)
            return Apply(numbers[0].kind, "fused_number", numbers) if numbers[0].kind in FLOATS else None
        of_eights = function_of_eights(called, arguments, lambda values: self._common(node, values))
        if of_eights is not None:
            return of_eights
        if called is language.team and len(kinds) == 1:
            return Apply("int64", "team", [self.fitted(node, arguments[0], "int64")])
        if called is language.vector and len(kinds) == 1 and is_pointer(kinds[0]):
            return Apply(f"[{self.lane_dtype(node, kinds[0][1:])}]", "vector", arguments)
        if called in (language.largest, language.smallest) and len(kinds) == 2 and is_pointer(kinds[0]):
            dtype = self.lane_dtype(node, kinds[0][1:])
            return Apply(value_kind(dtype), called.__name__, [arguments[0], self.fitted(node, arguments[1], "int64")])
        if not kinds or not is_vector(kinds[0]):
            return None
        if called is language.fused and len(kinds) == 3 and len(set(kinds)) == 1:
            return Apply(kinds[0], "fused", arguments)
        if called is language.first and len(kinds) == 2:
            return Apply(kinds[0], "first", [arguments[0], self.fitted(node, arguments[1], "int64")])
        if called is language.total and len(kinds) == 1:
            return Apply(value_kind(kinds[0][1:-1]), "total", arguments)
        return None

    def _of_number(self, node: ast.Call, called: Any, arguments: list[Expression]) -> Expression | None:
        """Return a call of a function of numbers of any kind."""
        if called is language.compose and len(arguments) == 2:
            arguments = self._common(node, arguments)
            if arguments[0].kind in COMPLEX:
                return Apply(COMPLEX[arguments[0].kind], "compose", arguments)
        if called is language.select and len(arguments) == 3 and arguments[0].kind not in MASKS.values():
            first, second = self._common(node, arguments[1:])
            return Choice(first.kind, self.truth(node.args[0]), first, second, without_jump=True)
        if len(arguments) != 1:
            return None
        (x,) = self._common(node, arguments)
        if called is language.bits and x.kind in FLOATS:
            return Apply("int64", "bits", [x])
        if called is language.from_bits and x.kind in INTEGERS:
            return Apply("float64", "from_bits", [x])
        if called is abs and x.kind in {"int64", *FLOATS, *NUMBERS}:
            return Apply(x.kind, "abs", [x])
        if called is abs and x.kind in REAL:
            return Apply(REAL[x.kind], "hypot", [Apply(REAL[x.kind], part, [x]) for part in ("real", "imag")])
        if called is language.isnan and x.kind in FLOATS:
            return Binary("bool", "!=", x, x)
        if called in (language.real, language.imag, language.conj):
            if x.kind in REAL:
                return Apply(x.kind if called is language.conj else REAL[x.kind], called.__name__, [x])
            if (x.kind in FLOATS or x.kind in NUMBERS) and called is not language.imag:
                return x
        return None

    def _converted(self, node: ast.AST, kind: str, x: Expression) -> Expression:
        if x.kind in WEAK:
            if kind in INTEGERS and x.kind == "float" and isinstance(x, Literal):
                return Literal(kind, int(x.value))
            if kind == "bool" and isinstance(x, Literal):
                return Literal(kind, bool(x.value))
            return self.fitted(node, x, kind)
        if x.kind == kind:
            return x
        if EIGHTS.get(x.kind) == kind:
            return Apply(kind, "filled", [x])
        numbers = {*INTEGERS, *FLOATS, "bool"}
        if kind in REAL and x.kind in numbers:
            re = self._converted(node, REAL[kind], x)
            return Apply(kind, "compose", [re, Literal(re.kind, 0.0)])
        if kind in REAL and x.kind in REAL:
            parts = [self._converted(node, REAL[kind], Apply(REAL[x.kind], part, [x])) for part in ("real", "imag")]
            return Apply(kind, "compose", parts)
        if kind == "bool" and x.kind in numbers:
            return Binary("bool", "!=", x, self.fitted(node, Literal("int", 0), x.kind))
        if x.kind not in numbers or (kind == "uint64" and x.kind in FLOATS):
            raise self.error(node, f"{shown(x.kind)} as {shown(kind)}", "Use real, imag, or a conversion to int first")
        return Convert(kind, x)

    def _element(self, node: ast.AST, dtype: str, x: Expression) -> Expression:
        """Return a number as an element of a dtype holds it; one that is read from such an element is."""
        if isinstance(x, Load) and x.pointer.kind == f"*{dtype}":
            return x
        if dtype == "float16":
            wide = x if x.kind == "float64" else self._converted(node, "float32", x)
            return Apply("float32", "half", [wide])
        if dtype == "uint64" and x.kind in FLOATS:
            return Apply("uint64", "unsigned", [self._converted(node, "float64", x)])
        value = self._converted(node, value_kind(dtype), x)
        return Apply("int64", f"wrapped_{dtype}", [value]) if value.kind == "int64" != dtype else value

    def _passed(self, node: ast.expr) -> Any:
        """Return the value of a static argument, which may be a kernel."""
        known = self.statically(node)
        if isinstance(known, Unknown) and isinstance(node, ast.Name):
            named = self.static.get(node.id, self.named(node))
            known = named if isinstance(named, type(self.kernel) | External) else known
        return known

    def _called(self, node: ast.Call) -> Any:
        """Return what a call calls."""
        if isinstance(node.func, ast.Name) and node.func.id in self.static:
            return self.static[node.func.id]
        return self.named(node.func)

    def external_call(self, node: ast.expr) -> CallExternal | None:
        """Return the call of a compiled function, of kind ``none`` if it returns nothing; None for anything else."""
        called = self._called(node) if isinstance(node, ast.Call) else None
        if not isinstance(called, ExternalFunction) or not isinstance(node, ast.Call) or node.keywords:
            return None
        if len(node.args) != len(called.takes):
            wrong = f"{called.name} takes {len(called.takes)} arguments, got {len(node.args)}"
            raise self.error(node, wrong, "Pass as many as are declared")
        arguments = []
        for part, kind in zip(node.args, called.takes, strict=True):
            value = self.expression(part)
            if value.kind in WEAK and not is_pointer(kind):
                value = self.fitted(part, value, value_kind(kind))
            if value.kind != (kind if is_pointer(kind) else value_kind(kind)):
                wrong = f"{called.name} takes {shown(kind)}, got {shown(value.kind)}"
                raise self.error(part, wrong, "Convert it, or declare another type")
            arguments.append(value)
        self.externals.append(called)
        return CallExternal(value_kind(called.result) if called.result else "none", called, arguments)

    def _of_kernel(self, node: ast.Call, called: Kernel) -> Expression:
        arguments: list[Expression] = []
        given: list[tuple[str, int]] = []
        declared = called.declared()
        for at, part in enumerate(node.args):
            rank = self.ranks.get(part.id, 0) if isinstance(part, ast.Name) else 0
            if isinstance(part, ast.Name) and rank > 0:
                kind = self.parameters[part.id]
                given.append((kind[1:], rank))
                arguments.append(Variable(kind, part.id))
                arguments += [Variable("int64", f"{part.id}_{p}{d}") for p in "ns" for d in range(rank)]
                continue
            value = self.expression(part)
            if value.kind in WEAK:
                wanted = declared[at] if at < len(declared) else None
                kind = value_kind(wanted.dtype) if wanted is not None and not wanted.free else ""
                (value,) = [self.fitted(part, value, kind)] if kind else self._common(part, [value])
            given.append((value.kind.removeprefix("*"), -1 if is_pointer(value.kind) else 0))
            arguments.append(value)
        static = {}
        for keyword in node.keywords:
            known = self._passed(keyword.value)
            if keyword.arg is None or isinstance(known, Unknown):
                raise self.error(node, f"{keyword.arg} is not known when the kernel is compiled", "Pass a constant")
            static[keyword.arg] = known
        if called is self.kernel:
            raise self.error(node, "a kernel calls itself", "Use a loop")
        version = called.specialised(given, static)
        self.kernels.append(version)
        return Call(version.result, version, arguments)
