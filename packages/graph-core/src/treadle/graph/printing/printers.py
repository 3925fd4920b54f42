"""Printers: how `pprint` writes one variable, given how it writes the operands."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from treadle.graph.errors import GraphTypeError, GraphValueError
from treadle.graph.ir.notation import Form, Infix, Operand, Precedence, Prefix
from treadle.graph.ir.variable import Constant, Variable
from treadle.graph.printing.roots import one_line, op_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from treadle.graph.ir.apply import Apply
    from treadle.graph.printing.infix import PrinterState


class Text(str):
    """Text with its precedence, so that parentheses are put around it exactly where they are needed."""

    __slots__ = ("level",)

    level: float

    def __new__(cls, text: str, level: float = Precedence.ATOM) -> Text:
        """Return the text with its precedence."""
        self = super().__new__(cls, text)
        self.level = level
        return self

    def within(self, level: float) -> Text:
        """Return the text as it is written where `level` is the lowest precedence allowed without parentheses."""
        return self if self.level >= level else Text(f"({self})")


@contextmanager
def set_precedence(pstate: PrinterState, precedence: float = Precedence.LOWEST) -> Iterator[None]:
    """Set, inside a ``with`` block, the lowest precedence that operands may have without parentheses."""
    before = pstate.precedence
    pstate.precedence = precedence
    try:
        yield
    finally:
        pstate.precedence = before


def written(form: Form, pstate: PrinterState) -> Text:
    """Return the text of a form, its operands written by the printers they have.

    A form that is one operand and nothing else has the operand's own precedence.
    """
    if len(form.parts) == 1 and isinstance(form.parts[0], Operand):
        with set_precedence(pstate):
            text = pstate.pprinter.process(form.parts[0].variable, pstate)
        return text if isinstance(text, Text) else Text(text)
    parts = []
    for part in form.parts:
        if isinstance(part, Operand):
            with set_precedence(pstate, part.level):
                parts.append(pstate.pprinter.process(part.variable, pstate))
        else:
            parts.append(part)
    return Text("".join(parts), form.level)


def node_of(var: Variable, what: str) -> Apply:
    """Return the node that computes a variable."""
    if var.owner is None:
        msg = f"{what}: only variables that an op computes can be written so, got {var} of type {var.type}."
        raise GraphTypeError(msg)
    return var.owner


def _output(text: Text, var: Variable, node: Apply) -> Text:
    """Add the index of an output to its text, where the node has several."""
    if len(node.outputs) == 1 or var.index == node.op.default_output:
        return text
    return Text(f"{text.within(Precedence.ATOM)}[{var.index}]")


class Printer(ABC):
    """How a variable is written."""

    @abstractmethod
    def process(self, var: Variable, pstate: PrinterState) -> str:
        """Return the text of a variable.

        Parameters
        ----------
        var
            The variable.
        pstate
            State of this printing. ``pstate.pprinter.process(operand, pstate)`` writes an operand;
            ``pstate.precedence`` is the lowest precedence that needs no parentheses here, and `set_precedence`
            sets it for operands.

        Returns
        -------
        The text, in parentheses where it needs them; or a `Text` with its precedence, which gets them by itself.
        """


class OperatorPrinter(Printer):
    """Writes an op as an operator between its inputs, or in front of a single one.

    Parameters
    ----------
    operator
        The operator's symbol.
    precedence
        How tightly it binds (see `Precedence`).
    assoc
        ``"left"``, ``"right"``, ``"none"`` or ``"either"`` (see `Infix`).
    """

    def __init__(self, operator: str, precedence: float, assoc: str = "none") -> None:
        if assoc not in {"left", "right", "none", "either"}:
            msg = f"OperatorPrinter: assoc must be left, right, none or either, got {assoc!r}."
            raise GraphValueError(msg)
        self.operator = operator
        self.precedence = precedence
        self.assoc = assoc

    def process(self, var: Variable, pstate: PrinterState) -> str:
        """Return the inputs with the operator between them."""
        node = node_of(var, f"operator {self.operator}")
        if len(node.inputs) == 1:
            form = Prefix(self.operator, self.precedence).form(node.inputs)
        else:
            form = Infix(self.operator, self.precedence, self.assoc).form(node.inputs)
        return _output(written(form, pstate), var, node)


class FunctionPrinter(Printer):
    """Writes an op as a function call: ``name(a, b, keyword=value)``.

    Parameters
    ----------
    names
        The function's name; or one for each output.
    keywords
        Attributes of the op to show behind the inputs.
    """

    def __init__(self, names: str | Sequence[str], keywords: Sequence[str] = ()) -> None:
        self.names = [names] if isinstance(names, str) else list(names)
        self.keywords = list(keywords)

    def process(self, var: Variable, pstate: PrinterState) -> str:
        """Return the call."""
        node = node_of(var, f"function {self.names[0]}")
        keywords = {name: getattr(node.op, name) for name in self.keywords}
        if len(self.names) == len(node.outputs):
            return written(Form.call(self.names[var.index or 0], node.inputs, keywords), pstate)
        return _output(written(Form.call(self.names[0], node.inputs, keywords), pstate), var, node)


class MemberPrinter(Printer):
    """Writes an op of one input as an attribute of it: ``x.name``.

    Parameters
    ----------
    names
        The attribute's name; or one for each output.
    """

    def __init__(self, names: str | Sequence[str]) -> None:
        self.names = [names] if isinstance(names, str) else list(names)

    def process(self, var: Variable, pstate: PrinterState) -> str:
        """Return the input and the attribute."""
        node = node_of(var, f"member {self.names[0]}")
        name = self.names[(var.index or 0) if len(self.names) == len(node.outputs) else 0]
        return written(Form.member(node.inputs[0], f".{name}"), pstate)


class PatternPrinter(Printer):
    """Writes an op by a pattern in which ``%(0)s``, ``%(1)s`` … are its inputs.

    Parameters
    ----------
    patterns
        One pattern for each output: the text; or the text followed by a precedence for each input, the lowest that
        needs no parentheses there. Without precedences, inputs never get any.
    """

    def __init__(self, *patterns: str | tuple[Any, ...]) -> None:
        if not patterns:
            msg = "PatternPrinter: no pattern is given. Pass a text such as '|%(0)s|'."
            raise GraphValueError(msg)
        self.patterns: list[tuple[str, tuple[float, ...]]] = [
            (p, ()) if isinstance(p, str) else (p[0], tuple(p[1:])) for p in patterns
        ]

    def process(self, var: Variable, pstate: PrinterState) -> str:
        """Return the pattern, filled in."""
        node = node_of(var, f"pattern {self.patterns[0][0]}")
        index = var.index or 0
        if index >= len(self.patterns):
            msg = f"PatternPrinter: no pattern is given for output {index} of {node.op}. Give one for each output."
            raise GraphValueError(msg)
        pattern, levels = self.patterns[index]
        inputs = {}
        for i, x in enumerate(node.inputs):
            with set_precedence(pstate, levels[i] if i < len(levels) else Precedence.LOWEST):
                inputs[str(i)] = pstate.pprinter.process(x, pstate)
        return Text(pattern % inputs)


class IgnorePrinter(Printer):
    """Writes the first input in the op's place."""

    def process(self, var: Variable, pstate: PrinterState) -> str:
        """Return the text of the first input."""
        node = node_of(var, "ignored op")
        return written(Form.like(node.inputs[0]), pstate) if node.inputs else Text(str(var))


class LeafPrinter(Printer):
    """Writes a variable that no node computes: its name, or its type."""

    def process(self, var: Variable, pstate: PrinterState) -> str:
        """Return name or type."""
        return Text(str(var))


class ConstantPrinter(Printer):
    """Writes a constant: its name, or its value, shortened where it is long."""

    def process(self, var: Variable, pstate: PrinterState) -> str:
        """Return name or value."""
        if var.name is not None or not isinstance(var, Constant):
            return Text(str(var.name if var.name is not None else var))
        text = repr(var.data) if isinstance(var.data, str | bytes) else str(var.data)
        text = one_line(text, 60)
        return Text(text, Precedence.UNARY if text.startswith("-") else Precedence.ATOM)


class DefaultPrinter(Printer):
    """Writes an op in the form that it gives itself (`Op.printed_form`), else as a call: ``op(a, b)``."""

    def process(self, var: Variable, pstate: PrinterState) -> str:
        """Return the formula."""
        if var.owner is None:
            return leaf_printer_of(var).process(var, pstate)
        node = var.owner
        form = node.op.printed_form(node)
        if form is not None and not isinstance(form, Form):
            return written(form[var.index or 0], pstate)
        return _output(written(Form.call(op_text(node), node.inputs) if form is None else form, pstate), var, node)


constant_printer = ConstantPrinter()
default_printer = DefaultPrinter()
leaf_printer = LeafPrinter()


def leaf_printer_of(var: Variable) -> Printer:
    """Return the default printer of a variable that no node computes."""
    return constant_printer if isinstance(var, Constant) else leaf_printer
