"""The text of a specialised kernel in the small part of Python that link-numba turns into machine code.

Every type is a code there: ``i8`` is int64, ``f4`` float32, ``*u1`` a pointer to bytes. Functions are primitives of
that backend. Nothing here needs Numba.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from treadle.kernels.externals import External
from treadle.kernels.kinds import COMPLEX, MASKS, NUMBERS, REAL, SIZES, is_pointer, is_vector
from treadle.kernels.language import Status
from treadle.kernels.tree import (
    Apply,
    Assign,
    Binary,
    Call,
    CallExternal,
    CallRoutine,
    Choice,
    Convert,
    Do,
    Entry,
    Expression,
    For,
    If,
    Leave,
    Literal,
    Load,
    Local,
    Logic,
    Moved,
    Return,
    Specialised,
    Statement,
    Store,
    Table,
    Unary,
    Variable,
    While,
)

_INSTRUCTIONS: Mapping[str, str] = MappingProxyType(
    {"sqrt": "sqrt", "floor": "floor", "ceil": "ceil", "trunc": "trunc", "rint": "rint", "copysign": "copysign"}
)
_OF_VECTORS = frozenset({"team", "lanes", "vector", "filled", "fused", "first", "total"})
_OF_EIGHTS = frozenset({"eight", "eights", "numbers", "which", "weave", "unweave"})
_OPERATORS: Mapping[str, str] = MappingProxyType(
    {
        "+": "added", "-": "less", "*": "multiplied", "/": "divided", "-x": "negated", "&": "both", "|": "either",
        "^": "differ", "~x": "not", "==": "equal", "!=": "unequal", "<": "below", "<=": "most", ">": "above",
        ">=": "least",
    }
)  # fmt: skip
_LIBM: Mapping[str, str] = MappingProxyType({"power": "pow"})
_MEMORY: Mapping[str, str] = MappingProxyType({"bool": "u1", "float16": "u2"})


def memory_code(dtype: str) -> str:
    """Return the code of an element in memory.

    >>> memory_code("int32"), memory_code("bool"), memory_code("complex64")
    ('i4', 'u1', 'c8')
    """
    return _MEMORY.get(dtype) or f"{dtype[0]}{SIZES[dtype]}"


def value_code(kind: str) -> str:
    """Return the code of values of a kind, or of a pointer."""
    if is_pointer(kind):
        return f"*{memory_code(kind[1:])}"
    if kind in MASKS.values():
        return f"m{kind[4:6]}"
    return "b1" if kind == "bool" else f"{kind[0]}{SIZES[kind]}"


def numba_name(name: str) -> str:
    """Return the name of a variable, which is none of the backend's own."""
    return f"v_{name}"


def external_name(external: External) -> str:
    """Return the name of the parameter by which an address is passed, as an int."""
    return f"x_{external.name}"


def numba_lines(kernel: Specialised, name_of: Callable[[Specialised], str]) -> list[str]:
    """Return the lines of a kernel's body; the other kernels that it calls have the names that a function returns."""
    return _Printer(name_of).block(kernel.body, 0)


class _Printer:
    def __init__(self, name_of: Callable[[Specialised], str]) -> None:
        self.name_of = name_of

    # Statements

    def block(self, body: Sequence[Statement], depth: int) -> list[str]:
        lines: list[str] = []
        for statement in body:
            lines += ["    " * depth + line for line in self.statement(statement)]
        return lines

    def statement(self, statement: Statement) -> list[str]:
        if isinstance(statement, Assign):
            return [f"{numba_name(statement.name)} = {self.text(statement.value)}"]
        if isinstance(statement, Store):
            if is_vector(statement.value.kind):
                code = memory_code(statement.pointer.kind[1:])
                place = f"shifted_{code}({self.text(statement.pointer)}, {self.text(statement.index)})"
                return [f"simd_put_{code}({place}, {self.text(statement.value)})"]
            place = f"{self.text(statement.pointer)}[{self.text(statement.index)}]"
            return [f"{place} = {self.stored(statement.pointer.kind[1:], statement.value)}"]
        if isinstance(statement, If):
            lines = [f"if {self.text(statement.test)}:", *(self.block(statement.body, 1) or ["    pass"])]
            return [*lines, "else:", *self.block(statement.orelse, 1)] if statement.orelse else lines
        if isinstance(statement, While):
            return [f"while {self.text(statement.test)}:", *(self.block(statement.body, 1) or ["    pass"])]
        if isinstance(statement, For):
            bounds = [self.text(statement.start), self.text(statement.stop)]
            step = [] if statement.step == 1 else [str(statement.step)]
            head = f"for {numba_name(statement.name)} in range({', '.join([*bounds, *step])}):"
            return [head, *(self.block(statement.body, 1) or ["    pass"])]
        if isinstance(statement, Return):
            return [f"return {self.text(statement.value)}"]
        if isinstance(statement, Leave):
            return [statement.word]
        if isinstance(statement, Do):
            return [self.text(statement.call)]
        assert isinstance(statement, CallRoutine)
        arguments = [
            _passed(a) if isinstance(a, Literal) and a.kind in {"char", "function"} else self.text(a)
            for a in statement.arguments
        ]
        call = f"{statement.routine.library}_{statement.routine.name}({', '.join(arguments)})"
        return [f"{numba_name(statement.target)} = {call}" if statement.target else call]

    # Expressions

    def stored(self, dtype: str, value: Expression) -> str:
        text = self.text(value)
        if dtype == "float16":
            return f"narrow_f2({text})"
        return text if memory_code(dtype) == value_code(value.kind) else f"{memory_code(dtype)}({text})"

    def text(self, x: Expression) -> str:  # noqa: C901 - one case for each kind of expressions
        """Return the text of an expression, in parentheses where operators around may bind closer."""
        if isinstance(x, Literal):
            return _literal(x)
        if isinstance(x, Variable):
            return numba_name(x.name)
        if isinstance(x, Load):
            dtype, place = x.pointer.kind[1:], f"{self.text(x.pointer)}[{self.text(x.index)}]"
            if dtype == "float16":
                return f"widen_f2({place})"
            if dtype == "bool":
                return f"({place} != 0)"
            return place if memory_code(dtype) == value_code(x.kind) else f"{value_code(x.kind)}({place})"
        if isinstance(x, Entry):
            return f"table_{struct.pack(f'<{len(x.numbers)}d', *x.numbers).hex()}({self.text(x.index)})"
        if isinstance(x, Moved):
            return f"shifted_{memory_code(x.kind[1:])}({self.text(x.pointer)}, {self.text(x.count)})"
        if isinstance(x, Local):
            return f"room_{memory_code(x.kind[1:])}_{x.count}(0)"
        if isinstance(x, Binary) and is_vector(x.kind):
            name = {"+": "added", "-": "less", "*": "multiplied"}[x.operator]
            return f"simd_{name}_{memory_code(x.kind[1:-1])}({self.text(x.left)}, {self.text(x.right)})"
        if isinstance(x, Binary) and (x.left.kind in NUMBERS or x.kind in MASKS.values()):
            of = value_code(x.left.kind if x.left.kind in NUMBERS else x.kind)
            return f"eights_{_OPERATORS[x.operator]}_{of}({self.text(x.left)}, {self.text(x.right)})"
        if isinstance(x, Unary) and (x.kind in NUMBERS or x.kind in MASKS.values()):
            return f"eights_{_OPERATORS[f'{x.operator}x']}_{value_code(x.kind)}({self.text(x.operand)})"
        if isinstance(x, Binary):
            right = self.text(x.right)
            if x.operator in {"<<", ">>"} and x.kind == "uint64":
                right = f"u8({right})"
            return f"({self.text(x.left)} {x.operator} {right})"
        if isinstance(x, Unary):
            return f"({x.operator}{' ' if x.operator == 'not' else ''}{self.text(x.operand)})"
        if isinstance(x, Logic):
            return f"({f' {x.operator} '.join(map(self.text, x.parts))})"
        if isinstance(x, Choice) and x.without_jump:
            return f"pick({', '.join(map(self.text, (x.test, x.first, x.second)))})"
        if isinstance(x, Choice):
            return f"({self.text(x.first)} if {self.text(x.test)} else {self.text(x.second)})"
        if isinstance(x, Convert):
            return f"{value_code(x.kind)}({self.text(x.operand)})"
        if isinstance(x, Call):
            hidden = map(external_name, x.kernel.externals)
            return f"{self.name_of(x.kernel)}({', '.join([*map(self.text, x.arguments), *hidden])})"
        if isinstance(x, CallExternal):
            return self._external(x)
        if isinstance(x, Table):
            return f"as_{memory_code(x.table.dtype)}({external_name(x.table)})"
        assert isinstance(x, Apply)
        if x.function in _OF_VECTORS and x.kind not in NUMBERS:
            return self._of_vectors(x)
        if x.function in _OF_EIGHTS or x.kind in NUMBERS:
            return self._of_eights(x)
        if x.function == "power" and x.kind in REAL:
            return f"libmc_pow_{value_code(x.kind)}({', '.join(map(self.text, x.arguments))})"
        arguments = ", ".join(map(self.text, x.arguments))
        if x.function == "bits" and x.arguments[0].kind == "float32":
            return f"i8(bits_f4_i4({arguments}))"
        if x.function in {"largest", "smallest"}:
            return f"{value_code(x.kind)}({x.function}_{memory_code(x.arguments[0].kind[1:])}({arguments}))"
        if x.function.startswith("wrapped_"):
            return f"i8({memory_code(x.function.removeprefix('wrapped_'))}({arguments}))"
        return f"{_function(x)}({arguments})"

    def _external(self, x: CallExternal) -> str:
        takes, result, arguments = "", _passed_code(x.function.result), []
        for kind, argument in zip(x.function.takes, x.arguments, strict=True):
            code, text = _passed_code(kind), self.text(argument)
            takes += code
            arguments.append(text if code == "p" or code == value_code(argument.kind) else f"{code}({text})")
        call = f"call_{takes}_{result}({', '.join([external_name(x.function), *arguments])})"
        return call if result == "none" or result == value_code(x.kind) else f"{value_code(x.kind)}({call})"

    def _of_eights(self, x: Apply) -> str:
        kinds = [k for k in (x.kind, *(a.kind for a in x.arguments)) if k in MASKS.values()]
        kinds += [k for k in (x.kind, *(a.kind for a in x.arguments)) if k.removeprefix("*") in NUMBERS]
        code = value_code(kinds[-1].removeprefix("*"))
        return f"eights_{x.function}_{code}({', '.join(map(self.text, x.arguments))})"

    def _of_vectors(self, x: Apply) -> str:
        if x.function == "team":
            # Threads are not shared here.
            return "1"
        if isinstance(x.arguments[0], Literal) and x.arguments[0].kind == "char":
            return f"simd_lanes_{memory_code(str(x.arguments[0].value))}(0)"
        of = x.kind if is_vector(x.kind) else x.arguments[0].kind
        code = memory_code(of[1:-1])
        arguments = [*map(self.text, x.arguments)]
        if x.function == "filled" and value_code(x.arguments[0].kind) != code:
            arguments = [f"{code}({arguments[0]})"]
        text = f"simd_{x.function}_{code}({', '.join(arguments)})"
        return text if x.function != "total" or value_code(x.kind) == code else f"{value_code(x.kind)}({text})"


def _function(x: Apply) -> str:
    name, code = x.function, value_code(x.kind)
    if name in {"min", "max", "quotient", "remainder"}:
        return name
    if name == "fused_number":
        return "fused"
    if name == "unsigned":
        return "u8_of_f8"
    if name == "half":
        return f"half_{value_code(x.arguments[0].kind)}"
    if name == "address":
        return f"place_{memory_code(x.arguments[0].kind[1:])}"
    if name == "bits":
        return "bits_f8_i8"
    if name == "from_bits":
        return f"bits_{value_code(x.arguments[0].kind)}_f8"
    if name.startswith("special_"):
        return f"{name}_{code}"
    if name == "abs":
        return "abs" if x.kind == "int64" else "fabs"
    if name in {"real", "imag"}:
        return f"{name[:2]}_{value_code(COMPLEX[x.kind])}"
    if name == "conj":
        return f"conj_{code}"
    if name == "compose":
        return f"compose_{value_code(REAL[x.kind])}"
    return _INSTRUCTIONS.get(name) or f"libm_{_LIBM.get(name, name)}_{code}"


def _passed_code(kind: str) -> str:
    """Return the code of what a compiled function takes or returns."""
    if is_pointer(kind):
        return "p"
    return "none" if not kind else "b1" if kind == "bool" else memory_code(kind)


def _passed(x: Literal) -> str:
    return str(ord(str(x.value))) if x.kind == "char" else "0"


def _literal(x: Literal) -> str:
    value = x.value
    if isinstance(value, str):
        return str(int(Status[value]))
    if isinstance(value, bool):
        return str(value)
    if x.kind == "uint64":
        number = int(value)
        return f"u8({number if number < 2**63 else number - 2**64})"
    if x.kind == "int64":
        return str(value) if int(value) >= 0 else f"({value})"
    number_text = _float(float(value))
    return f"f4({number_text})" if x.kind == "float32" else number_text


def _float(value: float) -> str:
    if math.isnan(value):
        return "(INF - INF)"
    if math.isinf(value):
        return "(-INF)" if value < 0 else "INF"
    return f"({value!r})" if math.copysign(1, value) < 0 else repr(value)
