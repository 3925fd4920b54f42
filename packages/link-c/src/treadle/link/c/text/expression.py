"""From scalar functions to C operations: expressions on numbers, or calls of functions on whole blocks."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np

from treadle.config import dataclass
from treadle.graph import Apply
from treadle.link.c.conventions.dtypes import CTYPES, converted, to_round
from treadle.link.c.runtime.vectors import BLOCK_FUNCTIONS
from treadle.link.c.text.scalars import SCALARS, step_text
from treadle.tensor import Elemwise, ScalarOp, Step


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation; its operands are numbers of values, which count the inputs first, then the results in order."""

    # The operands.
    args: tuple[int, ...]
    # The dtype of the result.
    dtype: str
    # The C expression for one number at a time, with the operands as ``{0}``, ``{1}`` ….
    text: str = ""
    # The C name of a function on whole blocks, instead of a text, which single numbers may have besides.
    block: str = ""
    # The C condition on the operands that makes the node fail, as for an integer to a negative power.
    check: str = ""


@dataclass(frozen=True, slots=True)
class Expression:
    """The operations that an elementwise node does for each element."""

    inputs: tuple[str, ...]
    operations: tuple[Operation, ...]
    outputs: tuple[int, ...]

    def dtype(self, value: int) -> str:
        """Return the dtype of a value."""
        count = len(self.inputs)
        return self.inputs[value] if value < count else self.operations[value - count].dtype


_PLACE = re.compile(r"\{(\d)\}")
_CALL = re.compile(r"(?:tr_v_)?(\w+?)(?:\{s\}|_\{t\})\(\{0\}(?:, \{1\})?\)")

# Comparisons of int64 with uint64, both of which C would convert to uint64.
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


# The number of a value, or the text of a constant.
Value = int | str


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

    def convert(self, value: Value, dtype: str) -> Value:
        """Return a value converted to a dtype."""
        if isinstance(value, str):
            return f"(({CTYPES[dtype].computed}){value})"
        if self.dtype(value) == dtype:
            return value
        key = (value, dtype)
        if key not in self._converted:
            source = self.dtype(value)
            if dtype == "float16" and CTYPES[source].size > 1:
                self._converted[key] = self._rounded(value)
            else:
                self._converted[key] = self.add(Operation((value,), dtype, converted(source, dtype, "{0}")))
        return self._converted[key]

    def _rounded(self, value: int) -> int:
        """Append the rounding of a value to float16, which is a function on blocks of float32."""
        source = self.dtype(value)
        if source != "float32":
            value = self.add(Operation((value,), "float32", to_round("{0}", source)))
        return self.add(Operation((value,), "float16", "tr_f32_round_f16({0})", block="half"))

    def written(self, operands: Sequence[Value], dtype: str, text: str, check: str = "") -> int:
        """Append an operation; constants among the operands become part of its text."""
        args = [x for x in operands if isinstance(x, int)]
        places = iter(range(len(args)))
        filled = [f"{{{next(places)}}}" if isinstance(x, int) else x for x in operands]

        def fill(part: str) -> str:
            return _PLACE.sub(lambda match: filled[int(match[1])], part)

        return self.add(Operation(tuple(args), dtype, fill(text), check=fill(check)))

    def computed(self, value: Value, dtype: str) -> int:
        """Return the number of a value; a constant becomes an operation."""
        return value if isinstance(value, int) else self.add(Operation((), dtype, value))

    def step(self, step: Step, args: Sequence[Value]) -> int:
        """Append a scalar op's operations and return its result, in the step's dtype."""
        operands = [self.convert(a, d) for a, d in zip(args, step.loops, strict=True)]
        first = CTYPES[step.loops[0]]
        text = step_text(step, first.kind)
        call = _CALL.fullmatch(text)
        if call and call[1] in BLOCK_FUNCTIONS and step.loops[0] == step.out:
            return self._block(call[1], operands, step.loops[0])
        if set(step.loops) == {"int64", "uint64"} and step.scalar_op.name in _MIXED:
            text = self._mixed(step)
        text = text.replace("{s}", first.suffix).replace("{t}", first.math)
        check = "{1} < 0" if step.scalar_op.name == "pow" and first.kind == "i" else ""
        if (first.kind == "f" and CTYPES[step.out].kind in "iu") or step.loops == ("bool",):
            text = converted(step.loops[0], step.out, text)
        if step.out == "float16":
            wide = "float32" if first.suffix or first.size < 4 else "float64"
            return self._rounded(self.written(operands, wide, text, check))
        return self.written(operands, step.out, text, check)

    @staticmethod
    def _mixed(step: Step) -> str:
        signed_first = step.loops[0] == "int64"
        name = step.scalar_op.name if signed_first else step.scalar_op.converse or ""
        i, u = ("{0}", "{1}") if signed_first else ("{1}", "{0}")
        return _MIXED[name].replace("{i}", i).replace("{u}", u)

    def _block(self, function: str, operands: Sequence[Value], dtype: str) -> int:
        """Append a function on blocks; float16 is computed in float32."""
        wide = "float32" if dtype == "float16" else dtype
        computed = tuple(self.computed(self.convert(x, wide), wide) for x in operands)
        return self.computed(self.convert(self.add(Operation(computed, wide, block=function)), dtype), dtype)


def _literal(number: complex, dtype: str) -> str:
    """Return a constant as C text."""
    value = np.asarray(number, dtype).item()
    if isinstance(value, complex):
        real, imaginary = (_literal(part, "float64") for part in (value.real, value.imag))
        return f"__builtin_complex((double){real}, (double){imaginary})"
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, int):
        return (
            f"UINT64_C({value})"
            if value > 2**63 - 1
            else f"(-INT64_C({-value - 1}) - 1)"
            if value < 0
            else f"INT64_C({value})"
        )
    if value != value:
        return "NAN"
    return repr(value).replace("inf", "INFINITY")


def takes(scalar_op: ScalarOp, loops: Sequence[str]) -> bool:
    """Whether there is a text of a scalar op, for operands converted to some dtypes."""
    return loops[0] in CTYPES and SCALARS.find(scalar_op, CTYPES[loops[0]].kind) is not None


def expression(op: Elemwise, node: Apply) -> Expression:
    """Return the operations of an elementwise node."""
    dtypes = [x.type.dtype for x in node.inputs]  # type: ignore[attr-defined]  # tensors
    builder = _Builder(dtypes)
    composite = op.expanded(node, takes)
    values: list[Value] = [builder.convert(i, d) for i, d in enumerate(composite.dtypes)]
    values += [_literal(number, dtype) for number, dtype in composite.constants]
    for step in composite.steps:
        values.append(builder.step(step, [values[a] for a in step.args]))
    dtypes_out = composite.value_dtypes
    outputs = tuple(builder.computed(values[i], dtypes_out[i]) for i in composite.outputs)
    return Expression(tuple(dtypes), tuple(builder.operations), outputs)
