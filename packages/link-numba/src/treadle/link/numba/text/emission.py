"""From generated text directly to LLVM, without Numba's analysis of Python functions.

Generated text is a small part of Python: numbers and pointers, every variable of one type, loops over ranges. Operators
and primitives keep Numba's meaning: its typing context resolves types and its implementations write code, each looked
up once. Numba's frontend would take a hundred times as long for a line.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import NamedTuple

from llvmlite import ir
from numba import types
from numba.core import cgutils, typing
from numba.core.base import BaseContext
from numba.core.codegen import JITCodeLibrary
from numba.core.types import Type as NumbaType
from numba.core.typing import BaseContext as TypingContext
from numba.core.typing.templates import Signature
from numba.extending import _Intrinsic

from treadle.link.numba.primitives import TYPES, find_primitive
from treadle.link.numba.routines.vector_math import vector_attributes
from treadle.link.numba.text.parsing import lasting_names, parsed
from treadle.link.numba.text.unit import Unit

Write = Callable[[ir.IRBuilder], ir.Value]
Statement = Callable[[ir.IRBuilder], None]

_BINARY: dict[type, Callable[..., object]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.BitAnd: operator.and_, ast.BitOr: operator.or_,
    ast.BitXor: operator.xor, ast.LShift: operator.lshift, ast.RShift: operator.rshift,
}  # fmt: skip
_UNARY: dict[type, Callable[..., object]] = {
    ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Invert: operator.invert, ast.Not: operator.not_,
}  # fmt: skip
_COMPARISONS: dict[type, Callable[..., object]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}  # fmt: skip
_OF_COMPLEX: dict[type, str] = {ast.Mult: "times", ast.Div: "over"}
_REAL = {types.complex64: types.float32, types.complex128: types.float64}
_EXTREMES = {"max": ">", "min": "<"}


class BeyondError(Exception):
    """The text is beyond the part of Python that is emitted directly."""


class Emitted(NamedTuple):
    """A unit's function, which takes and returns plain values and raises nothing."""

    # Its symbol.
    name: str
    signature: Signature
    # None where its machine code is there already.
    library: JITCodeLibrary | None


Callees = Mapping[str, Emitted]


class Value(NamedTuple):
    """A typed expression: its Numba type, and the function that writes it."""

    kind: NumbaType
    write: Write


class Resolved(NamedTuple):
    """Numba's implementation of an operator for some types: its signature, and the function that writes the call."""

    signature: Signature
    write: Callable[[ir.IRBuilder, Sequence[ir.Value]], ir.Value]


class Target:
    """Numba's contexts for one setting of the compiler, and the implementations resolved in them."""

    def __init__(self, typing_context: TypingContext, context: BaseContext) -> None:
        self.typing = typing_context
        # This one is specific to the flags.
        self.context = context
        self._resolved: dict[tuple[object, tuple[NumbaType, ...]], Resolved] = {}

    def resolve(self, function: Callable[..., object], kinds: tuple[NumbaType, ...]) -> Resolved:
        """Return Numba's implementation of an operator or builtin function for types."""
        key = (function, kinds)
        resolved = self._resolved.get(key)
        if resolved is None:
            kind = self.typing.resolve_value_type(function)
            signature = self.typing.resolve_function_type(kind, kinds, {})
            if signature is None:
                msg = f"{function} of {kinds}"
                raise BeyondError(msg)
            resolved = self._resolved[key] = Resolved(signature, self.context.get_function(kind, signature))
        return resolved

    def primitive(self, primitive: _Intrinsic, kinds: tuple[NumbaType, ...]) -> Resolved:
        """Return one of treadle's primitives for types."""
        key = (primitive, kinds)
        resolved = self._resolved.get(key)
        if resolved is None:
            signature, generate = primitive._defn(self.typing, *kinds)
            context = self.context

            def write(builder: ir.IRBuilder, args: Sequence[ir.Value]) -> ir.Value:
                return generate(context, builder, signature, args)

            resolved = self._resolved[key] = Resolved(signature, write)
        return resolved

    def call(self, resolved: Resolved, arguments: Sequence[Value]) -> Value:
        """Return the call of a resolved implementation."""
        cast, parameters = self.context.cast, resolved.signature.args
        # A tuple of types for variable arguments stands for any number.
        kinds = parameters if len(parameters) == len(arguments) else [a.kind for a in arguments]

        def write(builder: ir.IRBuilder) -> ir.Value:
            args = [
                value if a.kind == kind else cast(builder, value, a.kind, kind)
                for a, kind in zip(arguments, kinds, strict=True)
                for value in (a.write(builder),)
            ]
            return resolved.write(builder, args)

        return Value(resolved.signature.return_type, write)

    def as_boolean(self, value: Value) -> Value:
        """Return a value converted to a boolean."""
        if value.kind == types.boolean:
            return value
        return Value(types.boolean, lambda builder: self.context.is_true(builder, value.kind, value.write(builder)))


class Emitter:
    """Types a unit's text, then writes it.

    `kinds` are the types of its parameters, `callees` the functions of the units it calls.
    """

    def __init__(self, target: Target, unit: Unit, kinds: Sequence[NumbaType], callees: Callees) -> None:
        function = parsed(unit.source)
        if not isinstance(function, ast.FunctionDef):
            raise BeyondError(unit.name)
        self.target = target
        self.callees = callees
        names = [a.arg for a in function.args.args]
        self._lasting = lasting_names(function)
        self._kinds: dict[str, NumbaType] = dict(zip(names, kinds, strict=True))
        self._values: dict[str, ir.Value] = {}
        self._places: dict[str, ir.Value] = {}
        self.returned: NumbaType | None = None
        self.parameters = names
        # While the function is written: for each loop around, where its next step begins and what follows it.
        self._loops: list[tuple[ir.Block, ir.Block]] = []
        self._body = self._block(function.body)
        if self.returned is None:
            raise BeyondError(unit.name)

    def write(self, builder: ir.IRBuilder, arguments: Sequence[ir.Value]) -> None:
        """Write the function's body; the builder is in its entry block."""
        context = self.target.context
        for name, kind in self._kinds.items():
            if name in self._lasting:
                self._places[name] = cgutils.alloca_once(builder, context.get_value_type(kind), name=name)
        for name, value in zip(self.parameters, arguments, strict=True):
            self._store(builder, name, value)
        self._body(builder)
        if not builder.block.is_terminated:
            builder.unreachable()

    def _store(self, builder: ir.IRBuilder, name: str, value: ir.Value) -> None:
        place = self._places.get(name)
        if place is None:
            self._values[name] = value
        else:
            builder.store(value, place)

    # Statements

    def _block(self, body: Sequence[ast.stmt]) -> Statement:
        statements = [self._statement(s) for s in body]

        def write(builder: ir.IRBuilder) -> None:
            for statement in statements:
                if builder.block.is_terminated:
                    break
                statement(builder)

        return write

    def _statement(self, node: ast.stmt) -> Statement:
        maker = getattr(self, f"_{type(node).__name__.lower()}", None)
        if maker is None:
            raise BeyondError(ast.dump(node))
        statement: Statement = maker(node)
        return statement

    def _expr(self, node: ast.Expr) -> Statement:
        if isinstance(node.value, ast.Constant):
            return lambda _: None
        value = self.value(node.value)

        def write(builder: ir.IRBuilder) -> None:
            value.write(builder)

        return write

    def _declare(self, name: str, kind: NumbaType) -> None:
        if self._kinds.setdefault(name, kind) != kind:
            msg = f"{name} is of several types"
            raise BeyondError(msg)

    def _assign(self, node: ast.Assign) -> Statement:
        (target,) = node.targets
        if isinstance(target, ast.Subscript):
            parts = [self.value(target.value), self.value(target.slice), self.value(node.value)]
            resolved = self.target.resolve(operator.setitem, tuple(p.kind for p in parts))
            call = self.target.call(resolved, parts)
            return lambda builder: call.write(builder) and None
        value = self.value(node.value)
        if isinstance(target, ast.Tuple):
            return self._assign_tuple([_name(t) for t in target.elts], value)
        name = _name(target)
        self._declare(name, value.kind)
        return lambda builder: self._store(builder, name, value.write(builder))

    def _assign_tuple(self, names: Sequence[str], value: Value) -> Statement:
        if not isinstance(value.kind, types.BaseTuple) or len(value.kind) != len(names):
            msg = f"{value.kind} is not a tuple of {len(names)}"
            raise BeyondError(msg)
        for name, kind in zip(names, value.kind, strict=True):
            self._declare(name, kind)

        def write(builder: ir.IRBuilder) -> None:
            parts = cgutils.unpack_tuple(builder, value.write(builder), len(names))
            for name, part in zip(names, parts, strict=True):
                self._store(builder, name, part)

        return write

    def _return(self, node: ast.Return) -> Statement:
        if node.value is None:
            msg = "a return without a value"
            raise BeyondError(msg)
        value = self.value(node.value)
        if self.returned not in {None, value.kind}:
            msg = f"{self.returned} and {value.kind} are returned"
            raise BeyondError(msg)
        self.returned = value.kind

        def write(builder: ir.IRBuilder) -> None:
            builder.ret(value.write(builder))

        return write

    def _if(self, node: ast.If) -> Statement:
        test = self.target.as_boolean(self.value(node.test))
        first, second = self._block(node.body), self._block(node.orelse)

        def write(builder: ir.IRBuilder) -> None:
            yes, after = builder.append_basic_block("then"), builder.append_basic_block("after")
            no = builder.append_basic_block("else") if node.orelse else after
            builder.cbranch(test.write(builder), yes, no)
            for block, part in ((yes, first), *(((no, second),) if node.orelse else ())):
                builder.position_at_end(block)
                part(builder)
                if not builder.block.is_terminated:
                    builder.branch(after)
            builder.position_at_end(after)

        return write

    def _while(self, node: ast.While) -> Statement:
        if node.orelse:
            raise BeyondError(ast.dump(node))
        test = self.target.as_boolean(self.value(node.test))
        return self._loop(test.write, self._block(node.body))

    def _for(self, node: ast.For) -> Statement:
        call, name = node.iter, _name(node.target)
        if not (isinstance(call, ast.Call) and _name(call.func) == "range" and 1 <= len(call.args) <= 3) or node.orelse:
            raise BeyondError(ast.dump(node))
        bounds = [self.value(a) for a in call.args[:2]]
        step = _known_step(call.args[2]) if len(call.args) == 3 else 1
        if any(b.kind != types.int64 for b in bounds):
            msg = "a range of other numbers than int64"
            raise BeyondError(msg)
        self._declare(name, types.int64)
        body = self._block(node.body)
        word = ir.IntType(64)

        def write(builder: ir.IRBuilder) -> None:
            start = bounds[0].write(builder) if len(bounds) == 2 else ir.Constant(word, 0)
            stop = bounds[-1].write(builder)
            place = cgutils.alloca_once(builder, word, name=f"{name}.next")
            builder.store(start, place)

            def test(builder: ir.IRBuilder) -> ir.Value:
                return builder.icmp_signed("<" if step > 0 else ">", builder.load(place), stop)

            def run(builder: ir.IRBuilder) -> None:
                at = builder.load(place)
                builder.store(builder.add(at, ir.Constant(word, step), flags=("nsw",)), place)
                self._store(builder, name, at)
                body(builder)

            self._loop(test, run)(builder)

        return write

    def _loop(self, test: Write, body: Statement) -> Statement:
        def write(builder: ir.IRBuilder) -> None:
            head, inside, after = (builder.append_basic_block(n) for n in ("head", "body", "after"))
            builder.branch(head)
            builder.position_at_end(head)
            builder.cbranch(test(builder), inside, after)
            builder.position_at_end(inside)
            self._loops.append((head, after))
            body(builder)
            self._loops.pop()
            if not builder.block.is_terminated:
                builder.branch(head)
            builder.position_at_end(after)

        return write

    def _continue(self, node: ast.Continue) -> Statement:
        del node
        return lambda builder: builder.branch(self._loops[-1][0]) and None

    def _break(self, node: ast.Break) -> Statement:
        del node
        return lambda builder: builder.branch(self._loops[-1][1]) and None

    def _pass(self, node: ast.Pass) -> Statement:
        del node
        return lambda _: None

    # Expressions

    def value(self, node: ast.expr) -> Value:
        """Return a typed expression."""
        maker = getattr(self, f"_value_{type(node).__name__.lower()}", None)
        if maker is None:
            raise BeyondError(ast.dump(node))
        value: Value = maker(node)
        return value

    def _constant(self, kind: NumbaType, value: object) -> Value:
        constant = self.target.context.get_constant(kind, value)
        return Value(kind, lambda _: constant)

    def _value_constant(self, node: ast.Constant) -> Value:
        kinds = {bool: types.boolean, int: types.int64, float: types.float64}
        kind, value = kinds.get(type(node.value)), node.value
        if kind is types.int64 and not -(2**63) <= int(value) < 2**63:  # type: ignore[arg-type]  # an int
            kind = types.uint64 if 0 < int(value) < 2**64 else None  # type: ignore[arg-type]  # an int
        if kind is None:
            raise BeyondError(ast.dump(node))
        return self._constant(kind, node.value)

    def _value_name(self, node: ast.Name) -> Value:
        name = node.id
        kind = self._kinds.get(name)
        if kind is None:
            number = find_primitive(name)
            if not isinstance(number, float):
                raise BeyondError(name)
            return self._constant(types.float64, number)

        def read(builder: ir.IRBuilder) -> ir.Value:
            place = self._places.get(name)
            return self._values[name] if place is None else builder.load(place)

        return Value(kind, read)

    def _operation(self, function: Callable[..., object] | None, *arguments: Value) -> Value:
        if function is None:
            msg = "an operator that generated text has no need of"
            raise BeyondError(msg)
        resolved = self.target.resolve(function, tuple(a.kind for a in arguments))
        return self.target.call(resolved, arguments)

    def _value_binop(self, node: ast.BinOp) -> Value:
        left, right = self.value(node.left), self.value(node.right)
        name = _OF_COMPLEX.get(type(node.op))
        if name is not None and types.Complex in {type(left.kind), type(right.kind)}:
            return self._of_complex(name, left, right)
        return self._operation(_BINARY.get(type(node.op)), left, right)

    def _of_complex(self, name: str, left: Value, right: Value) -> Value:
        """Return a product or quotient of complex numbers; Numba's own need the calling convention of its frontend."""
        if name == "times" and not isinstance(left.kind, types.Complex):
            left, right = right, left
        kind = left.kind if isinstance(left.kind, types.Complex) else right.kind
        left = self._cast(kind, left)
        right = self._cast(kind if isinstance(right.kind, types.Complex) else _REAL[kind], right)
        primitive = find_primitive(name)
        return self.target.call(self.target.primitive(primitive, (kind, right.kind)), [left, right])

    def _value_unaryop(self, node: ast.UnaryOp) -> Value:
        operand = node.operand
        if isinstance(node.op, ast.USub) and isinstance(operand, ast.Constant):
            return self._value_constant(ast.Constant(-operand.value))  # type: ignore[operator]  # a number
        return self._operation(_UNARY.get(type(node.op)), self.value(operand))

    def _value_compare(self, node: ast.Compare) -> Value:
        operands = [self.value(x) for x in (node.left, *node.comparators)]
        tests = [
            self._operation(_COMPARISONS.get(type(op)), a, b)
            for op, a, b in zip(node.ops, operands, operands[1:], strict=False)
        ]
        return tests[0] if len(tests) == 1 else self._shortcut(tests, stops_at=False)

    def _value_boolop(self, node: ast.BoolOp) -> Value:
        parts = [self.value(x) for x in node.values]
        if any(p.kind != types.boolean for p in parts):
            raise BeyondError(ast.dump(node))
        return self._shortcut(parts, stops_at=isinstance(node.op, ast.Or))

    def _shortcut(self, parts: Sequence[Value], stops_at: bool) -> Value:
        """Return ``and`` or ``or`` of some booleans, which evaluates no more of them than needed."""

        def write(builder: ir.IRBuilder) -> ir.Value:
            end = builder.append_basic_block("decided")
            incoming = []
            for part in parts[:-1]:
                truth = part.write(builder)
                incoming.append((ir.Constant(ir.IntType(1), stops_at), builder.block))
                more = builder.append_basic_block("more")
                builder.cbranch(truth, *((end, more) if stops_at else (more, end)))
                builder.position_at_end(more)
            incoming.append((parts[-1].write(builder), builder.block))
            builder.branch(end)
            builder.position_at_end(end)
            decided = builder.phi(ir.IntType(1))
            for value, block in incoming:
                decided.add_incoming(value, block)
            return decided

        return Value(types.boolean, write)

    def _value_ifexp(self, node: ast.IfExp) -> Value:
        test = self.target.as_boolean(self.value(node.test))
        first, second = self.value(node.body), self.value(node.orelse)
        if first.kind != second.kind:
            raise BeyondError(ast.dump(node))

        def write(builder: ir.IRBuilder) -> ir.Value:
            yes, no, end = (builder.append_basic_block(n) for n in ("yes", "no", "end"))
            builder.cbranch(test.write(builder), yes, no)
            incoming = []
            for block, part in ((yes, first), (no, second)):
                builder.position_at_end(block)
                incoming.append((part.write(builder), builder.block))
                builder.branch(end)
            builder.position_at_end(end)
            chosen = builder.phi(incoming[0][0].type)
            for value, block in incoming:
                chosen.add_incoming(value, block)
            return chosen

        return Value(first.kind, write)

    def _value_subscript(self, node: ast.Subscript) -> Value:
        return self._operation(operator.getitem, self.value(node.value), self.value(node.slice))

    def _value_tuple(self, node: ast.Tuple) -> Value:
        parts = [self.value(x) for x in node.elts]
        kind = types.BaseTuple.from_types([p.kind for p in parts])
        context = self.target.context
        return Value(kind, lambda builder: context.make_tuple(builder, kind, [p.write(builder) for p in parts]))

    def _value_call(self, node: ast.Call) -> Value:
        name = _name(node.func)
        if node.keywords or name in self._kinds:
            raise BeyondError(ast.dump(node))
        if name == "address_of":
            return self._address_of(*map(_name, node.args))
        arguments = [self.value(a) for a in node.args]
        if name in TYPES:
            return self._cast(TYPES[name], *arguments)
        if name in self.callees:
            return self._unit_call(self.callees[name], arguments)
        if name in _EXTREMES:
            return self._extreme(_EXTREMES[name], arguments)
        kinds = tuple(a.kind for a in arguments)
        if name == "abs":
            return self._operation(abs, *arguments)
        primitive = find_primitive(name)
        if not isinstance(primitive, _Intrinsic):
            raise BeyondError(name)
        return self.target.call(self.target.primitive(primitive, kinds), arguments)

    def _cast(self, kind: NumbaType, value: Value) -> Value:
        cast = self.target.context.cast
        return value if value.kind == kind else Value(kind, lambda b: cast(b, value.write(b), value.kind, kind))

    @staticmethod
    def _extreme(sign: str, arguments: Sequence[Value]) -> Value:
        kind = arguments[0].kind
        if kind not in {types.int64, types.uint64} or any(a.kind != kind for a in arguments):
            msg = "an extreme of other numbers than int64 or uint64"
            raise BeyondError(msg)

        def write(builder: ir.IRBuilder) -> ir.Value:
            compare = builder.icmp_signed if kind == types.int64 else builder.icmp_unsigned
            values = [a.write(builder) for a in arguments]
            return reduce(lambda a, b: builder.select(compare(sign, a, b), a, b), values)

        return Value(kind, write)

    def _address_of(self, name: str) -> Value:
        """Return the address of a unit's function, for calls from C."""
        callee = self.callees.get(name)
        if callee is None:
            raise BeyondError(name)
        return Value(types.int64, lambda builder: builder.ptrtoint(self._plain(builder, callee), ir.IntType(64)))

    def _plain(self, builder: ir.IRBuilder, callee: Emitted) -> ir.Function:
        """Return the function of a unit in the module being written, to which its library, if another, is linked."""
        context = self.target.context
        if callee.library is not None and callee.library is not context.active_code_library:
            context.add_linking_libs([callee.library])
        return _declared(builder.module, callee.name, self.target.context, callee.signature)

    def _unit_call(self, callee: Emitted, arguments: Sequence[Value]) -> Value:
        def write(builder: ir.IRBuilder, args: Sequence[ir.Value]) -> ir.Value:
            return builder.call(self._plain(builder, callee), args)

        return self.target.call(Resolved(callee.signature, write), arguments)


def _declared(module: ir.Module, name: str, context: BaseContext, signature: Signature) -> ir.Function:
    """Return the function of a unit in a module."""
    kinds = [context.get_value_type(kind) for kind in signature.args]
    kind = ir.FunctionType(context.get_value_type(signature.return_type), kinds)
    return cgutils.get_or_insert_function(module, kind, name)


def _known_step(node: ast.expr) -> int:
    """Return the step of a range, which has to be a number that is not 0."""
    try:
        step = ast.literal_eval(node)
    except ValueError:
        step = 0
    if not isinstance(step, int) or step == 0:
        raise BeyondError(ast.dump(node))
    return step


def _name(node: ast.expr) -> str:
    if not isinstance(node, ast.Name):
        raise BeyondError(ast.dump(node))
    return node.id


def emit(target: Target, unit: Unit, kinds: Sequence[NumbaType], callees: Callees, library: JITCodeLibrary) -> Emitted:
    """Write a unit into a library."""
    emitter = Emitter(target, unit, kinds, callees)
    context = target.context
    signature = typing.signature(emitter.returned, *kinds)
    # Found by its symbol, too, where functions compiled with and without fastmath have to differ.
    name = f"{unit.name}_{unit.key[:16]}{'_fast' if context.fastmath else ''}"
    module = library.create_ir_module(name)
    plain = _declared(module, name, context, signature)
    # A kernel is not inlined, so that optimisation time grows only linearly with the number of kernels.
    if unit.is_kernel or unit.is_inlined:
        plain.attributes.add("noinline" if unit.is_kernel else "alwaysinline")
    for attribute in vector_attributes(calls=unit.calls_vector_functions):
        set.add(plain.attributes, attribute)
    for argument in plain.args:
        if isinstance(argument.type, ir.PointerType):
            argument.add_attribute("noalias")
    with context.push_code_library(library):
        emitter.write(_entered(plain), plain.args)
    context.post_lowering(module, library)
    library.add_ir_module(module)
    return Emitted(name, signature, library)


def _entered(function: ir.Function) -> ir.IRBuilder:
    """Return a builder at the start of a function, after the block that allocates variables in memory."""
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    start = builder.append_basic_block("start")
    builder.branch(start)
    builder.position_at_end(start)
    return builder
