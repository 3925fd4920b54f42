"""What `help` says of an elementwise function: a sentence and an example from a table, the rest from its declaration.

The table ``functions.tsv`` has a row for each function of treadle's own; it is read when it is first asked for. What a
function of others computes, the docstring of its body or of its implementation says.
"""

from __future__ import annotations

import inspect
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from treadle.tensor.errors import DtypeError, TensorTypeError
from treadle.tensor.ops.texts import OfEach

if TYPE_CHECKING:
    from collections.abc import Callable

    from treadle.tensor.elementwise.scalar_op import ScalarOp

# Dtypes of all operands, for which the dtype of the result is told.
_TOLD = ("bool", "int64", "float32", "float64", "complex128")


class Operand(NamedTuple):
    """An operand: its name, and what it is."""

    name: str
    meaning: str


class Description(NamedTuple):
    """A row of the table."""

    called: str
    operands: tuple[Operand, ...]
    summary: str
    reference: str
    example: str
    result: str


@cache
def descriptions() -> dict[str, Description]:
    """Return the rows of the table by the name of the scalar op."""
    text = Path(__file__).with_name("functions.tsv").read_text(encoding="utf-8")
    rows: dict[str, Description] = {}
    for line in text.splitlines()[1:]:
        name, called, operands, *rest = line.split("\t")
        pairs = (operand.partition(": ") for operand in operands.split("; "))
        rows[name] = Description(called, tuple(Operand(key, meaning) for key, _, meaning in pairs), *rest)
    return rows


def _of_others(scalar_op: ScalarOp) -> Description:
    """Return what the declaration of a scalar op says that the table does not have."""
    body = scalar_op.body or scalar_op.impl
    names = [f"x{i}" for i in range(1, scalar_op.nin + 1)] if scalar_op.nin > 1 else ["x"]
    if inspect.isfunction(body):
        own = [p.name for p in inspect.signature(body).parameters.values() if p.kind is not p.VAR_POSITIONAL]
        names = own[: scalar_op.nin] if len(own) >= scalar_op.nin else names
    text = inspect.getdoc(body) if inspect.isfunction(body) else None
    summary = text or f"The function {scalar_op.name} of each element."
    reference = f"numpy.{scalar_op.ufunc}" if scalar_op.ufunc else ""
    return Description(scalar_op.name, tuple(Operand(name, "") for name in names), summary, reference, "", "")


def describe(scalar_op: ScalarOp) -> Description:
    """Return what is said of a scalar op."""
    return descriptions().get(scalar_op.name) or _of_others(scalar_op)


def signature(scalar_op: ScalarOp) -> inspect.Signature:
    """Return the signature of a call: the operands, and the name of the result."""
    operands = [operand.name for operand in describe(scalar_op).operands]
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD if scalar_op.parameters else inspect.Parameter.POSITIONAL_ONLY
    parameters = [inspect.Parameter(name, kind) for name in operands]
    if "name" not in operands:
        parameters.append(inspect.Parameter("name", inspect.Parameter.KEYWORD_ONLY, default=None))
    return inspect.Signature(parameters)


def docstring(scalar_op: ScalarOp) -> str:
    """Return the docstring of the op that applies a scalar op to tensors."""
    row = describe(scalar_op)
    lines = [f"{row.called}({', '.join(operand.name for operand in row.operands)})", "", row.summary, ""]
    if row.reference:
        lines += [f"Answers to ``{row.reference}``.", ""]
    lines += ["Parameters", "----------"]
    for operand in row.operands:
        lines += [operand.name, f"    {_capitalized(operand.meaning or 'tensor, array or number')}."]
    lines += ["", "Returns", "-------", "TensorVariable"]
    lines.append("    Of the operands' shape." if len(row.operands) == 1 else "    Operands broadcast as NumPy's do.")
    lines += [f"    {sentence}" for sentence in _dtypes(scalar_op)]
    lines += ["", "Raises", "------", "DtypeError", "    If the function does not take operands of these dtypes."]
    if len(row.operands) > 1:
        lines += ["ShapeError", "    If the shapes are known and do not broadcast together."]
    if row.example:
        lines += ["", "Examples", "--------", f">>> tt.{row.called}({row.example}).eval()", row.result]
    return "\n".join(lines) + "\n"


def describe_each(op_class: Any) -> None:
    """Let each op of a class say what its scalar op does, by its docstring and its signature; composites do not."""

    def of_op(text: Callable[[ScalarOp], Any]) -> Callable[[Any], Any]:
        return lambda op: None if hasattr(op.scalar_op, "steps") else text(op.scalar_op)

    op_class.__doc__ = OfEach(op_class.__doc__, of_op(docstring))
    op_class.__signature__ = OfEach(None, of_op(signature))  # what inspect asks for


def _capitalized(text: str) -> str:
    return text[:1].upper() + text[1:]


def _dtypes(scalar_op: ScalarOp) -> list[str]:
    """Return sentences about the dtype of the result, for operands of one dtype."""
    results: dict[str, list[str]] = {}
    refused = []
    for name in _TOLD:
        try:
            _, result = scalar_op.signature([np.dtype(name)] * scalar_op.nin)
        except (DtypeError, TensorTypeError):
            refused.append(name)
        else:
            results.setdefault(result.name, []).append(name)
    if len(results) == 1 and not refused:
        return [f"Its dtype is {next(iter(results))}."]
    told = [f"{result} for {_listed(names)}" for result, names in results.items()]
    sentences = [f"Its dtype is {', '.join(told)}."] if told else []
    return [*sentences, f"Refused: {_listed(refused)}."] if refused else sentences


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
