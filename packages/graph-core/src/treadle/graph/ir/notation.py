"""Forms: how applications of ops are written in formulas. An op's `printed_form` returns them, `pprint` joins them.

A form is context-free: it says how tightly it binds itself and how tightly each operand must, and whoever puts it
into another form adds parentheses exactly where they are needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from treadle.graph.ir.variable import Variable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

# One step up in precedence: an operand that must bind more tightly than its operator.
STEP: Final = 1e-6


class Precedence:
    """How tightly operators bind, after Python's own table; user-made operators may take numbers in between."""

    LOWEST: Final = -1000.0
    COMPARISON: Final = -7.0
    OR: Final = -6.0
    XOR: Final = -5.0
    AND: Final = -4.0
    SHIFT: Final = -3.0
    SUM: Final = -2.0
    PRODUCT: Final = -1.0
    UNARY: Final = 0.0
    POWER: Final = 1.0
    ATOM: Final = 1000.0


class Operand:
    """A place of a form where the text of a variable goes.

    Parameters
    ----------
    variable
        The variable.
    level
        Lowest precedence that the variable's text may have here without parentheses.
    """

    __slots__ = ("level", "variable")

    def __init__(self, variable: Variable, level: float = Precedence.LOWEST) -> None:
        self.variable = variable
        self.level = level


def _separated(values: Iterable[object]) -> list[str | Operand]:
    parts: list[str | Operand] = []
    for value in values:
        if parts:
            parts.append(", ")
        if isinstance(value, Form):
            parts += value.parts
        else:
            parts.append(Operand(value) if isinstance(value, Variable) else str(value))
    return parts


class Form:
    """A formula: pieces of text, with operands between them.

    Parameters
    ----------
    parts
        Text and operands, in order.
    level
        How tightly the formula binds as a whole.
    latex
        The same formula in LaTeX, where that is not what `treadle.graph.printing.latex` makes of the text.
    """

    __slots__ = ("latex", "level", "parts")

    def __init__(
        self, parts: Iterable[str | Operand], level: float = Precedence.ATOM, latex: Form | None = None
    ) -> None:
        self.parts = tuple(parts)
        self.level = level
        self.latex = latex

    def in_latex(self, pattern: str, operands: Sequence[Variable]) -> Form:
        r"""Return the same form with what is written of it in LaTeX, in which ``#1``, ``#2`` … stand for the operands.

        An operand in front of ``^`` gets parentheses where it needs them, and so does a factor behind such a power:
        ``#1^{-1} \, #2``. The text has to enclose any other: ``\sqrt{#1}``.
        """
        first, *rest = pattern.split("#")
        parts: list[str | Operand] = [first] if first else []
        level = Precedence.POWER if "^" in pattern or first.startswith("\\frac") else Precedence.ATOM
        if first.startswith("\\begin"):
            level = Precedence.LOWEST
        behind = ""
        for piece in rest:
            inner, text = Precedence.LOWEST, piece[1:]
            if text.startswith("^"):
                inner = Precedence.ATOM
            elif behind.startswith("^"):
                level, inner = Precedence.PRODUCT, Precedence.PRODUCT + STEP
            parts.append(Operand(operands[int(piece[0]) - 1], inner))
            if text:
                parts.append(text)
            behind = text
        return Form(self.parts, self.level, Form(parts, level))

    @classmethod
    def like(cls, variable: Variable) -> Form:
        """Return the form of another variable: what binds as that variable does."""
        return cls([Operand(variable)])

    @classmethod
    def call(cls, name: str, arguments: Sequence[object], keywords: Mapping[str, object] | None = None) -> Form:
        """Return ``name(a, b, key=value)``; arguments are variables, forms or text; keywords have their repr."""
        written = _separated(arguments)
        for key, value in (keywords or {}).items():
            written.append(f"{', ' if written else ''}{key}={value!r}")
        return cls([f"{name}(", *written, ")"])

    @classmethod
    def member(cls, owner: Variable, text: str) -> Form:
        """Return the owner followed by text that binds tightly, such as ``.T``."""
        return cls([Operand(owner, Precedence.ATOM), text])

    @classmethod
    def method(cls, owner: Variable, name: str, arguments: Sequence[object] = ()) -> Form:
        """Return ``owner.name(a, b)``; arguments are variables, or text."""
        return cls([Operand(owner, Precedence.ATOM), f".{name}(", *_separated(arguments), ")"])

    @classmethod
    def index(cls, owner: Variable, items: Sequence[Sequence[str | Operand]]) -> Form:
        """Return ``owner[a, b]``; each item is a sequence of text and operands, such as ``("1:", Operand(n))``."""
        parts: list[str | Operand] = [Operand(owner, Precedence.ATOM), "["]
        for at, item in enumerate(items):
            if at:
                parts.append(", ")
            parts += item
        return cls([*parts, "]"])


class Infix:
    """An operator between its operands.

    Parameters
    ----------
    symbol
        The operator.
    precedence
        How tightly it binds.
    associativity
        ``"left"``: ``a - b - c`` is ``(a - b) - c``. ``"right"``: ``a ** b ** c`` is ``a ** (b ** c)``. ``"none"``:
        an operand of the same precedence is always put into parentheses. ``"either"``: never.
    right
        Lowest precedence of the right operand that needs no parentheses, where it differs from what the
        associativity says: ``a ** -b``.
    """

    __slots__ = ("associativity", "precedence", "right", "symbol")

    def __init__(self, symbol: str, precedence: float, associativity: str = "left", right: float | None = None) -> None:
        self.symbol = symbol
        self.precedence = precedence
        self.associativity = associativity
        self.right = right

    def form(self, operands: Sequence[Variable]) -> Form:
        """Return the operands with the operator between them."""
        above = self.precedence + STEP
        first = self.precedence if self.associativity in {"left", "either"} else above
        last = self.precedence if self.associativity in {"right", "either"} else above
        if self.right is not None:
            last = self.right
        middle = self.precedence if self.associativity == "either" else above
        parts: list[str | Operand] = []
        for at, var in enumerate(operands):
            if at:
                parts.append(f" {self.symbol} ")
            parts.append(Operand(var, first if at == 0 else last if at == len(operands) - 1 else middle))
        return Form(parts, self.precedence)


class Prefix:
    """An operator in front of its one operand.

    Parameters
    ----------
    symbol
        The operator.
    precedence
        How tightly it binds.
    """

    __slots__ = ("precedence", "symbol")

    def __init__(self, symbol: str, precedence: float = Precedence.UNARY) -> None:
        self.symbol = symbol
        self.precedence = precedence

    def form(self, operands: Sequence[Variable]) -> Form:
        """Return the operator with its operand behind it."""
        return Form([self.symbol, Operand(operands[0], self.precedence)], self.precedence)
