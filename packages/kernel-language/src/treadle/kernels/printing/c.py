"""The text of a specialised kernel in C."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from treadle.kernels.kinds import NUMBERS, REAL, SHORT, SIZES, is_pointer, is_vector
from treadle.kernels.printing.c_types import stored_type, value_type
from treadle.kernels.printing.c_vectors import eight_function, vector_function
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

_WORDS: Mapping[str, str] = MappingProxyType({"and": "&&", "or": "||", "not": "!"})
PREFIX = "tr_k_"
_CLEAR = f"{PREFIX}clear"
_FUNCTIONS: Mapping[str, str] = MappingProxyType(
    {"power": "pow", "unsigned": "tr_f64_to_u64", "bits": f"{PREFIX}bits", "from_bits": f"{PREFIX}from_bits"}
)
# Functions of numbers one behind the other, by those of the C backend.
_EXTREMES: Mapping[str, str] = MappingProxyType({"largest": "max", "smallest": "min"})
_OF_EIGHTS = frozenset({"eight", "eights", "numbers", "which", "weave", "unweave"})
# Words of C that are no words of Python, and what compilers and headers define in small letters.
_KEYWORDS = frozenset(
    {
        "asm", "typeof", "linux", "unix", "errno", "complex",
        "auto", "case", "char", "const", "default", "do", "double", "enum", "extern", "goto", "inline", "int", "long",
        "register", "restrict", "short", "signed", "sizeof", "static", "struct", "switch", "typedef", "union",
        "unsigned", "void", "volatile", "float",
    }
)  # fmt: skip


def _passed_type(kind: str) -> str:
    """Return the C type of what a compiled function takes or returns."""
    if is_pointer(kind):
        return value_type(kind)
    return "_Bool" if kind == "bool" else stored_type(kind)


def _named(name: str) -> str:
    """Return the C name of a variable, which is none of C's own words; those in capitals are macros."""
    return f"{name}_" if name in _KEYWORDS or name.isupper() else name


def c_name(kernel: Specialised) -> str:
    """Return the name of a kernel's C function."""
    return f"{PREFIX}{kernel.name}"


def c_text(kernel: Specialised) -> str:
    """Return the definition of a kernel's C function; those of kernels that it calls come before it.

    Addresses of what is compiled elsewhere are further parameters (``void *``): those of `Specialised.routines`, then
    those of `Specialised.externals`.
    """
    parameters = [
        f"{value_type(p.kind)}{'restrict ' if is_pointer(p.kind) else ' '}{_named(p.name)}" for p in kernel.parameters
    ]
    parameters += [f"void *{name}" for name in _hidden(kernel)]
    head = f"{value_type(kernel.result)} {c_name(kernel)}({', '.join(parameters)})"
    printer = _Printer(kernel)
    body = printer.block(kernel.body, 1)
    how = "static inline __attribute__((always_inline)) " if kernel.inline else "static "
    start = printer.declarations()
    if printer.contracts:
        how, start = "static tr_k_contracting ", ["  tr_k_contract", *start]
    return "\n".join([f"/* {kernel.where} */", f"{how}{head} {{", *start, *body, "}", ""])


def _hidden(kernel: Specialised) -> list[str]:
    """Return the names of the parameters that addresses are passed by."""
    routines = [f"{r.library}_{r.name}" for r in kernel.routines]
    return [*routines, *(f"external_{e.name}" for e in kernel.externals)]


class _Printer:
    def __init__(self, kernel: Specialised) -> None:
        self.kernel = kernel
        # Variables that are rooms for elements, which are declared where they are.
        self.rooms: set[str] = set()
        # Tables of numbers that are read, by their names.
        self.tables: dict[str, tuple[float, ...]] = {}
        # Whether it has fused operations.
        self.contracts = False
        self.takes_complex = any(p.kind in REAL for p in kernel.parameters)

    def declarations(self) -> list[str]:
        lines = [
            f"  static const double {table}[] = {{{', '.join(map(_float, numbers))}}};"
            for table, numbers in self.tables.items()
        ]
        for name, kind in self.kernel.variables.items():
            if name not in self.rooms:
                lines.append(f"  {value_type(kind)}{'' if is_pointer(kind) else ' '}{_named(name)};")
        return lines

    # Statements

    def block(self, body: Sequence[Statement], depth: int) -> list[str]:
        lines: list[str] = []
        for statement in body:
            lines += ["  " * depth + line for line in self.statement(statement)]
        return lines

    def statement(self, statement: Statement) -> list[str]:
        if isinstance(statement, Assign):
            if isinstance(statement.value, Local):
                self.rooms.add(statement.name)
                element = stored_type(statement.value.kind[1:])
                return [f"{element} {_named(statement.name)}[{statement.value.count}];"]
            return [f"{_named(statement.name)} = {self.bare(statement.value)};"]
        if isinstance(statement, Store):
            place = f"{self.text(statement.pointer)}[{self.bare(statement.index)}]"
            if is_vector(statement.value.kind):
                unaligned = f"tr_k_u_{SHORT[statement.pointer.kind[1:]]}"
                return [f"*({unaligned} *)&{place} = {self.bare(statement.value)};"]
            return [f"{place} = {self.stored(statement.pointer.kind[1:], statement.value)};"]
        if isinstance(statement, If):
            lines = [f"if ({self.bare(statement.test)}) {{", *self.block(statement.body, 1)]
            if statement.orelse:
                lines += ["} else {", *self.block(statement.orelse, 1)]
            return [*lines, "}"]
        if isinstance(statement, While):
            return [f"while ({self.bare(statement.test)}) {{", *self.block(statement.body, 1), "}"]
        if isinstance(statement, For):
            return self._for(statement)
        if isinstance(statement, Return):
            return [f"return {self.bare(statement.value)};"]
        if isinstance(statement, Leave):
            return [f"{statement.word};"]
        if isinstance(statement, Do):
            return [f"{self.text(statement.call)};"]
        assert isinstance(statement, CallRoutine)
        return self._routine(statement)

    def _for(self, loop: For) -> list[str]:
        name, stop = _named(loop.name), self.bare(loop.stop)
        simple = isinstance(loop.stop, Variable | Literal) and not self._assigned(loop)
        # The bound is computed once; a variable that the loop leaves alone is one already.
        bound = stop if simple else f"{name}_stop"
        first = f"int64_t {name} = {self.bare(loop.start)}" + ("" if simple else f", {bound} = {stop}")
        comparison, step = ("<", f"{name} += {loop.step}") if loop.step > 0 else (">", f"{name} -= {-loop.step}")
        step = {1: f"{name}++", -1: f"{name}--"}.get(loop.step, step)
        head = f"for ({first}; {name} {comparison} {bound}; {step}) {{"
        at_once = f" simdlen({loop.at_once})" if loop.at_once else ""
        pragma = [f"#pragma omp simd{at_once}{_reductions(loop.body)}"] if loop.independent else []
        if loop.shared:
            pragma = ["#ifdef _OPENMP", f"#pragma omp parallel for schedule(static) num_threads({bound})", "#endif"]
            pragma[1] += _reductions(loop.body) + _own(loop.body)
        if simple or not pragma:
            return [*pragma, head, *self.block(loop.body, 1), "}"]
        # A loop of OpenMP's has one variable only.
        head = f"for (int64_t {name} = {self.bare(loop.start)}; {name} {comparison} {bound}; {step}) {{"
        lines = [*pragma, head, *self.block(loop.body, 1), "}"]
        return ["{", *(f"  {line}" for line in [f"const int64_t {bound} = {stop};", *lines]), "}"]

    def _assigned(self, loop: For) -> bool:
        """Whether a loop assigns the variable that is its bound."""
        return isinstance(loop.stop, Variable) and loop.stop.name in _assigned_in(loop.body)

    def _routine(self, call: CallRoutine) -> list[str]:
        routine = call.routine
        if routine.library == "numpy":
            name, (x, n) = f"numpy_{routine.name}", map(self.text, call.arguments)
            # The address is 0 where NumPy's functions cannot be called.
            called = f"((int (*)(void *, intptr_t, void *)){name})({x}, {n}, 0)"
            return [f"{_named(call.target or '')} = {name} ? {called} : -1;"]
        kinds, arguments = [], []
        for argument in call.arguments:
            if is_pointer(argument.kind):
                kinds.append(value_type(argument.kind))
                arguments.append(self.text(argument))
            elif argument.kind == "function":
                kinds.append("void *")
                arguments.append("0")
            elif argument.kind == "char":
                kinds.append("char *")
                arguments.append(f'"{argument.value}"' if isinstance(argument, Literal) else "")
            else:
                kind = "int" if argument.kind == "int64" else value_type(argument.kind)
                kinds.append(f"{kind} *")
                arguments.append(f"&({kind}){{({kind})({self.text(argument)})}}")
        called = f"{routine.library}_{routine.name}"
        if routine.library == "blas":
            return [f"{_CLEAR}();", f"((void (*)({', '.join(kinds)})){called})({', '.join(arguments)});"]
        pointer = f"((void (*)({', '.join([*kinds, 'int *'])})){called})"
        result = [f"  {_named(call.target)} = tr_info;"] if call.target else []
        return [
            "{",
            "  int tr_info = 0;",
            f"  {_CLEAR}();",
            f"  {pointer}({', '.join([*arguments, '&tr_info'])});",
            *result,
            "}",
        ]

    # Expressions

    def stored(self, dtype: str, value: Expression) -> str:
        text = self.text(value)
        if dtype == "float16":
            return f"tr_f32_to_f16({text})"
        return text if stored_type(dtype) == value_type(value.kind) else f"({stored_type(dtype)})({text})"

    def text(self, x: Expression) -> str:  # noqa: C901 - one case for each kind of expressions
        """Return the C text of an expression, in parentheses where operators around may bind closer."""
        if isinstance(x, Literal):
            return _literal(x)
        if isinstance(x, Variable):
            return _named(x.name)
        if isinstance(x, Load):
            dtype, place = x.pointer.kind[1:], f"{self.text(x.pointer)}[{self.bare(x.index)}]"
            if dtype == "float16":
                return f"tr_f16_to_f32({place})"
            if dtype == "bool":
                return f"({place} != 0)"
            return place if stored_type(dtype) == value_type(x.kind) else f"(int64_t){place}"
        if isinstance(x, Entry):
            table = f"table{x.table}" if x.table.startswith("_") else f"table_{x.table}"
            self.tables[table] = x.numbers
            return f"{table}[{self.bare(x.index)}]"
        if isinstance(x, Moved):
            return f"({self.text(x.pointer)} + {self.text(x.count)})"
        if isinstance(x, Binary):
            return self._binary(x)
        if isinstance(x, Unary):
            return f"({_WORDS.get(x.operator, x.operator)}{self.text(x.operand)})"
        if isinstance(x, Logic):
            return f"({f' {_WORDS[x.operator]} '.join(map(self.text, x.parts))})"
        if isinstance(x, Choice):
            return f"({self.text(x.test)} ? {self.text(x.first)} : {self.text(x.second)})"
        if isinstance(x, Convert):
            return f"({value_type(x.kind)})({self.text(x.operand)})"
        if isinstance(x, Call):
            return f"{c_name(x.kernel)}({', '.join([*map(self.text, x.arguments), *_hidden(x.kernel)])})"
        if isinstance(x, CallExternal):
            return self._external(x)
        if isinstance(x, Table):
            return f"(({value_type(x.kind)})external_{x.table.name})"
        assert isinstance(x, Apply)
        return self._function(x)

    def _external(self, x: CallExternal) -> str:
        kinds = ", ".join(map(_passed_type, x.function.takes)) or "void"
        result = _passed_type(x.function.result) if x.function.result else "void"
        called = f"(({result} (*)({kinds}))external_{x.function.name})({', '.join(map(self.text, x.arguments))})"
        converted = "" if x.kind == "none" or result == value_type(x.kind) else f"({value_type(x.kind)})"
        # One pair of parentheses is left where `bare` takes the outer one away: commas bind less than assignments.
        return f"(({_CLEAR}(), {converted}{called}))"

    def bare(self, x: Expression) -> str:
        """Return the text of an expression without parentheses around all of it."""
        text = self.text(x)
        if not text.startswith("("):
            return text
        depth = 0
        for at, letter in enumerate(text):
            depth += (letter == "(") - (letter == ")")
            if not depth:
                return text[1:-1] if at == len(text) - 1 else text
        return text

    def _binary(self, x: Binary) -> str:
        left, right = self.text(x.left), self.text(x.right)
        if x.kind == "int64" and x.operator in {"//", "%"}:
            by = int(x.right.value) if isinstance(x.right, Literal) else 0
            if by & (by - 1) == 0:
                return f"({left} >> {by.bit_length() - 1})" if x.operator == "//" else f"({left} & {by - 1})"
            return f"{PREFIX}floor_{'div' if x.operator == '//' else 'mod'}({left}, {right})"
        if x.kind in REAL and x.operator in {"*", "/"} and x.right.kind == x.kind:
            return f"{PREFIX}{'times' if x.operator == '*' else 'over'}_{SHORT[x.kind]}({left}, {right})"
        if self.takes_complex and x.operator == "*" and x.kind in REAL.values():
            return f"{PREFIX}alone({left} * {right})"
        if x.operator == "<<":
            left = f"({value_type(x.kind)}){left}"
        return f"({left} {'/' if x.operator == '//' else x.operator} {right})"

    def _function(self, x: Apply) -> str:
        if x.function == "team":
            return f"tr_k_team({self.text(x.arguments[0])})"
        if x.function == "lanes" or any(is_vector(k) for k in (x.kind, *(a.kind for a in x.arguments))):
            self.contracts |= x.function == "fused"
            return vector_function(x, [] if x.function == "lanes" else [*map(self.text, x.arguments)])
        test = x.arguments[0] if x.arguments else None
        if isinstance(test, Binary) and test.left.kind in NUMBERS:
            # Each is one instruction, which gcc does not find.
            name = {"which": "equal"}.get(x.function) if test.operator == "==" else None
            if x.function == "select" and [test.left, test.right] == [*x.arguments[1:]]:
                name = {">": "larger", "<": "smaller"}.get(test.operator)
            if name:
                return f"tr_k_{name}_{SHORT[test.left.kind]}({self.text(test.left)}, {self.text(test.right)})"
        if x.function in _OF_EIGHTS or x.kind in NUMBERS:
            return eight_function(x, [*map(self.text, x.arguments)])
        arguments = ", ".join(map(self.text, x.arguments))
        if x.function in _EXTREMES:
            dtype = x.arguments[0].kind[1:]
            name = f"tr_{_EXTREMES[x.function]}{f'_{dtype[0]}{8 * SIZES[dtype]}' * 3}_run"
            return f"({value_type(x.kind)}){name}({arguments})"
        return self._of_numbers(x, arguments)

    def _of_numbers(self, x: Apply, arguments: str) -> str:
        name = x.function
        if name in {"min", "max"} or (name == "abs" and x.kind == "int64"):
            return f"{PREFIX}{name}{'_u64' if x.kind == 'uint64' else ''}({arguments})"
        if name in {"quotient", "remainder"}:
            left, right = map(self.text, x.arguments)
            return f"({left} {'/' if name == 'quotient' else '%'} {right})"
        if name == "address":
            return f"(int64_t){arguments}"
        if name == "half" or name.startswith("wrapped_"):
            held = f"(int64_t)({stored_type(name.removeprefix('wrapped_'))})"
            return f"{f'tr_f{x.arguments[0].kind[-2:]}_round_f16' if name == 'half' else held}({arguments})"
        if name == "fused_number":
            return f"tr_k_fused_{SHORT[x.kind]}({arguments})"
        if name.startswith("special_"):
            return f"tr_{name}_{SHORT[x.kind]}({arguments})"
        single = "f" if {"float32", "complex64"} & {x.kind, *(a.kind for a in x.arguments)} else ""
        if name in {"real", "imag"}:
            return f"(__{name}__ {arguments})"
        if name == "conj":
            return f"__builtin_conj{single}({arguments})"
        if name == "compose":
            return f"__builtin_complex({arguments})"
        if name == "power" and x.kind in REAL:
            return f"__builtin_cpow{single}({arguments})"
        return f"{'fabs' if name == 'abs' else _FUNCTIONS.get(name, name)}{single}({arguments})"


def _literal(x: Literal) -> str:
    value = x.value
    if isinstance(value, str):
        return "0" if value == "OK" else f"TR_{ {'VALUE': 'LENGTH'}.get(value, value) }"
    if isinstance(value, bool):
        return str(int(value))
    if x.kind in {"int64", "uint64"}:
        number = int(value)
        if x.kind == "uint64":
            return f"UINT64_C({number})"
        if number == -(2**63):
            return "INT64_MIN"
        text = f"INT64_C({abs(number)})" if abs(number) >= 2**31 else str(abs(number))
        return f"(-{text})" if number < 0 else text
    number_text = _float(float(value))
    return f"(float){number_text}" if x.kind == "float32" else number_text


def _float(value: float) -> str:
    if math.isnan(value):
        return "(double)NAN"
    if math.isinf(value):
        return f"({'-' if value < 0 else ''}(double)INFINITY)"
    return f"({value!r})" if math.copysign(1, value) < 0 else repr(value)


def _reductions(body: Sequence[Statement]) -> str:
    """Return the clauses for integers that the steps of a loop add up, or take the extremes of."""
    clauses = []
    for statement in body:
        if not isinstance(statement, Assign) or statement.value.kind != "int64":
            continue
        value, name = statement.value, statement.name
        if isinstance(value, Binary) and value.operator == "+" and value.left == Variable("int64", name):
            clauses.append(f" reduction(+: {_named(name)})")
        elif (
            isinstance(value, Apply)
            and value.function in {"min", "max"}
            and value.arguments[0] == Variable("int64", name)
        ):
            clauses.append(f" reduction({value.function}: {_named(name)})")
    return "".join(clauses)


def _own(body: Sequence[Statement]) -> str:
    """Return the clause for variables that each step of a loop has for itself."""
    reduced = {name.strip() for clause in _reductions(body).split(")") for name in clause.partition(":")[2].split(",")}
    own = [_named(name) for name in sorted(_assigned_in(body)) if _named(name) not in reduced]
    return f" private({', '.join(own)})" if own else ""


def _assigned_in(body: Sequence[Statement]) -> set[str]:
    """Return the variables that statements assign."""
    names: set[str] = set()
    for statement in body:
        if isinstance(statement, Assign):
            names.add(statement.name)
        elif isinstance(statement, CallRoutine) and statement.target:
            names.add(statement.target)
        elif isinstance(statement, If):
            names |= _assigned_in(statement.body) | _assigned_in(statement.orelse)
        elif isinstance(statement, While | For):
            names |= _assigned_in(statement.body)
    return names
