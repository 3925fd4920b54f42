"""From scalar functions to operations that C has: one expression on numbers, or one function on whole blocks."""

from __future__ import annotations

import re
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from treadle.link.c.dtypes import CTYPES, converted
from treadle.link.c.runtime.vectors import BLOCK_FUNCTIONS
from treadle.link.c.table import SCALARS
from treadle.tensor import Composite, Step

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from treadle.graph import Apply
    from treadle.tensor import Elemwise


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation: operands are numbers of values, inputs first, then results in order.

    Attributes
    ----------
    args
        The operands.
    dtype
        Dtype of the result.
    text
        C expression with the operands as ``{0}``, ``{1}`` …, for one number at a time.
    block
        C's name of a function of whole blocks, instead of a text.
    check
        C condition on the operands that makes the node fail: an integer to a negative power.
    """

    args: tuple[int, ...]
    dtype: str
    text: str = ""
    block: str = ""
    check: str = ""


@dataclass(frozen=True, slots=True)
class Expression:
    """Operations on inputs: what one elementwise node computes for each element."""

    inputs: tuple[str, ...]
    operations: tuple[Operation, ...]
    outputs: tuple[int, ...]

    def dtype(self, value: int) -> str:
        """Return the dtype of a value."""
        count = len(self.inputs)
        return self.inputs[value] if value < count else self.operations[value - count].dtype


_CALL = re.compile(r"(\w+)\{s\}\(\{0\}(?:, \{1\})?\)")

# Scalar ops whose value is built from several functions on blocks. Each line: what it is, then its operands: x and y
# are the scalar op's, others the results of earlier lines. {c} is the C type, {s} the suffix of math functions.
_BUILT: Mapping[str, tuple[tuple[str, ...], ...]] = MappingProxyType(
    {
        "sigmoid": (
            ("a", "-fabs{s}({0})", "x"),
            ("e", "exp", "a"),
            ("r", "{0} >= 0 ? 1 / (1 + {1}) : {1} / (1 + {1})", "x", "e"),
        ),
        "softplus": (
            ("a", "-fabs{s}({0})", "x"),
            ("e", "exp", "a"),
            ("l", "log1p", "e"),
            ("r", "({0} > 0 ? {0} : 0) + {1}", "x", "l"),
        ),
        "log1mexp": (
            ("a", "expm1", "x"),
            ("b", "-{0}", "a"),
            ("c", "log", "b"),
            ("d", "exp", "x"),
            ("e", "-{0}", "d"),
            ("f", "log1p", "e"),
            ("r", "{0} > ({c})-0.6931471805599453 ? {1} : {2}", "x", "c", "f"),
        ),
        "logaddexp": (
            ("a", "-fabs{s}({0} - {1})", "x", "y"),
            ("e", "exp", "a"),
            ("l", "log1p", "e"),
            ("d", "{0} - {1} != {0} - {1} ? {0} - {1} : ({0} > {1} ? {0} : {1}) + {2}", "x", "y", "l"),
            ("r", "{0} == {1} ? {0} + ({c})0.6931471805599453 : {2}", "x", "y", "d"),
        ),
    }
)

# Comparisons of int64 with uint64, which C would both make uint64.
_MIXED: Mapping[str, str] = MappingProxyType(
    {
        "eq": "({i} >= 0 && (uint64_t){i} == {u})",
        "neq": "({i} < 0 || (uint64_t){i} != {u})",
        "lt": "({i} < 0 || (uint64_t){i} < {u})",
        "le": "({i} < 0 || (uint64_t){i} <= {u})",
        "gt": "({i} >= 0 && (uint64_t){i} > {u})",
        "ge": "({i} >= 0 && (uint64_t){i} >= {u})",
    }
)
_TURNED = MappingProxyType({"eq": "eq", "neq": "neq", "lt": "gt", "le": "ge", "gt": "lt", "ge": "le"})


class _Builder:
    """Appends the operations of scalar ops."""

    def __init__(self, inputs: Sequence[str]) -> None:
        self.inputs = tuple(inputs)
        self.operations: list[Operation] = []
        self._converted: dict[tuple[int, str], int] = {}

    def dtype(self, value: int) -> str:
        count = len(self.inputs)
        return self.inputs[value] if value < count else self.operations[value - count].dtype

    def add(self, operation: Operation) -> int:
        self.operations.append(operation)
        return len(self.inputs) + len(self.operations) - 1

    def convert(self, value: int, dtype: str) -> int:
        """Return the value in a dtype."""
        if self.dtype(value) == dtype:
            return value
        key = (value, dtype)
        if key not in self._converted:
            text = converted(self.dtype(value), dtype, "{0}")
            self._converted[key] = self.add(Operation((value,), dtype, text))
        return self._converted[key]

    def step(self, step: Step, args: Sequence[int]) -> int:
        """Append a scalar op's operations and return its result, in the step's dtype."""
        operands = tuple(self.convert(a, d) for a, d in zip(args, step.loops, strict=True))
        first = CTYPES[step.loops[0]]
        built = _BUILT.get(step.scalar_op.name)
        if built is not None and first.kind == "f":
            return self.convert(self._built(built, operands, step.loops[0]), step.out)
        text = SCALARS.find(step.scalar_op.name, first.kind) or ""
        call = _CALL.fullmatch(text)
        if call and call[1] in BLOCK_FUNCTIONS and step.loops[0] == step.out:
            return self._block(call[1], operands, step.loops[0])
        if set(step.loops) == {"int64", "uint64"} and step.scalar_op.name in _MIXED:
            text = self._mixed(step)
        text = text.replace("{s}", first.suffix).replace("{t}", first.math)
        check = "{1} < 0" if step.scalar_op.name == "pow" and first.kind == "i" else ""
        if step.out == "float16":
            text = f"tr_f32_round_f16({text})"
        return self.add(Operation(operands, step.out, text, check=check))

    @staticmethod
    def _mixed(step: Step) -> str:
        signed_first = step.loops[0] == "int64"
        name = step.scalar_op.name if signed_first else _TURNED[step.scalar_op.name]
        i, u = ("{0}", "{1}") if signed_first else ("{1}", "{0}")
        return _MIXED[name].replace("{i}", i).replace("{u}", u)

    def _block(self, function: str, operands: tuple[int, ...], dtype: str) -> int:
        """Append a function on blocks; float16 goes by way of float32."""
        if dtype != "float16":
            return self.add(Operation(operands, dtype, block=function))
        wide = tuple(self.convert(x, "float32") for x in operands)
        return self.convert(self.add(Operation(wide, "float32", block=function)), "float16")

    def _built(self, lines: Sequence[Sequence[str]], operands: Sequence[int], dtype: str) -> int:
        wide = "float32" if dtype == "float16" else dtype
        names = dict(zip("xy", (self.convert(x, wide) for x in operands), strict=False))
        ctype = CTYPES[wide]
        result = -1
        for name, text, *args in lines:
            given = tuple(names[a] for a in args)
            if text in BLOCK_FUNCTIONS:
                result = self.add(Operation(given, wide, block=text))
            else:
                filled = text.replace("{s}", ctype.suffix).replace("{c}", ctype.computed)
                result = self.add(Operation(given, wide, filled))
            names[name] = result
        return self.convert(result, dtype)


def expression(op: Elemwise, node: Apply) -> Expression:
    """Return what an elementwise node computes."""
    kinds = [x.type for x in node.inputs]
    dtypes = [t.dtype for t in kinds]  # type: ignore[attr-defined]  # tensors
    builder = _Builder(dtypes)
    scalar = op.scalar_op
    if isinstance(scalar, Composite):
        values = [builder.convert(i, d) for i, d in enumerate(scalar.dtypes)]
        for step in scalar.steps:
            values.append(builder.step(step, [values[a] for a in step.args]))
        outputs = tuple(values[i] for i in scalar.outputs)
    else:
        loops = tuple(d.name for d in op.loop_dtypes(node))
        out = node.outputs[0].type.dtype  # type: ignore[attr-defined]  # a tensor
        outputs = (builder.step(Step(scalar, tuple(range(scalar.nin)), loops, out), range(scalar.nin)),)
    return Expression(tuple(dtypes), tuple(builder.operations), outputs)


def unsupported(op: Elemwise, node: Apply) -> str:
    """Return why C has no text for an elementwise node, or an empty string."""
    scalar = op.scalar_op
    if isinstance(scalar, Composite):
        pairs = [(step.scalar_op, step.loops) for step in scalar.steps]
    else:
        pairs = [(scalar, tuple(d.name for d in op.loop_dtypes(node)))]
    for scalar_op, loops in pairs:
        if any(d not in CTYPES for d in loops):
            return f"C has no {next(d for d in loops if d not in CTYPES)}"
        if SCALARS.find(scalar_op.name, CTYPES[loops[0]].kind) is None:
            return f"the scalar op {scalar_op.name} has no C text for {loops[0]}"
    return ""
