r"""latex: a graph as formulas in LaTeX, which a notebook shows typeset.

Ops say how they are written (`Op.printed_form`). What they say is Python: operators, calls and indices of it are
written here as mathematics writes them, unless a form has a LaTeX of its own (`Form.in_latex`).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from treadle.graph.ir.notation import STEP, Form, Operand, Precedence
from treadle.graph.ir.variable import Constant
from treadle.graph.printing.infix import PPrinter, PrinterState, as_limit, in_order
from treadle.graph.printing.printers import Printer, Text, set_precedence
from treadle.graph.printing.roots import one_line, op_text, read

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph.ir.variable import Variable

# A longer formula is written in several lines: what shows them does not break lines by itself.
LIMIT = 400
# A notebook shows so many lines: typesetting takes long.
MOST_LINES = 60
# A part that is used several times gets a line of its own if it is longer than this.
SHORT = 60

# A minus sign binds more loosely than a product, in front of which it may stand without parentheses; products of
# elements bind more loosely than those of matrices and numbers, which have no sign.
MINUS: Final = Precedence.SUM + 0.5
BY_ELEMENT: Final = Precedence.PRODUCT - 0.25

_OPERATORS = {
    "&": r" \wedge ",
    "|": r" \vee ",
    "^": r" \oplus ",
    "<<": r" \ll ",
    ">>": r" \gg ",
    "==": " = ",
    "!=": r" \ne ",
    "<": " < ",
    "<=": r" \le ",
    ">": " > ",
    ">=": r" \ge ",
    "%": r" \bmod ",
}
_PREFIXES = {"-": "-", "~": r"\lnot "}
# What LaTeX has a command of the same name for.
_FUNCTIONS = frozenset((
    "arccos", "arcsin", "arctan", "arg", "cos", "cosh", "cot", "coth", "det", "exp", "gcd", "log", "max", "min",
    "sec", "sin", "sinh", "tan", "tanh",
))  # fmt: skip
_GREEK = frozenset((
    "alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda", "mu", "nu", "xi",
    "pi", "rho", "sigma", "tau", "upsilon", "phi", "chi", "psi", "omega", "Gamma", "Delta", "Theta", "Lambda", "Xi",
    "Pi", "Sigma", "Upsilon", "Phi", "Psi", "Omega",
))  # fmt: skip
_WORDS = {"inf": r"\infty", "nan": r"\mathrm{NaN}", "True": r"\mathrm{true}", "False": r"\mathrm{false}"}
_SPECIAL = {"\\": r"\backslash ", "^": r"\wedge ", "~": r"\sim ", " ": r"\ "} | {c: f"\\{c}" for c in "{}$&#_%"}
_NUMBER = re.compile(r"(-?)(\d+)(?:\.(\d*))?(?:e([+-]?)0*(\d+))?")


class Formula(str):
    """LaTeX, which a notebook shows typeset where it is the value of a cell.

    Parameters
    ----------
    lines
        What is defined or asked for: the left side or nothing, the sign between, the right side.
    """

    __slots__ = ("_lines",)

    _lines: tuple[tuple[str, str, str], ...]

    def __new__(cls, lines: Sequence[tuple[str, str, str]]) -> Formula:
        """Return the text of the lines, which are aligned at their signs."""
        self = super().__new__(cls, _aligned(lines))
        self._lines = tuple(lines)
        return self

    def __repr__(self) -> str:
        """Return the LaTeX as it stands, to be copied."""
        return str(self)

    def __getnewargs__(self) -> tuple[Any, ...]:
        """Pickle the lines, which the text is made of."""
        return (self._lines,)

    def _repr_latex_(self) -> str:
        """Show the formula in a notebook; of a very long one, the beginning."""
        lines = self._lines
        text = str(self)
        if len(lines) > MOST_LINES:
            more = (rf"\ldots\ \text{{and {len(lines) - MOST_LINES} lines more}}", "", "")
            text = _aligned([*lines[:MOST_LINES], more])
        return rf"$\displaystyle {text}$"


def _aligned(lines: Sequence[tuple[str, str, str]]) -> str:
    if len(lines) < 2:
        return "".join(f"{part} " for line in lines for part in line if part).rstrip()
    rows = (f"{left} &{sign} {right}" if sign else f"& {left}{right}" for left, sign, right in lines)
    text = r" \\ ".join(rows)
    return rf"\begin{{aligned}} {text} \end{{aligned}}"


class LatexText(Text):
    """LaTeX with its precedence; its parentheses are as tall as what they enclose."""

    __slots__ = ()

    def within(self, level: float) -> Text:
        """Return the text as it is written where `level` is the lowest precedence allowed without parentheses."""
        return self if self.level >= level else LatexText(rf"\left({self}\right)")


class LatexState(PrinterState):
    """State of one formula: parts that get a name are written by that name."""

    short = SHORT

    def settle(self, var: Variable, text: str) -> Text | None:
        """Name a variable's text where `PrinterState` does."""
        short = super().settle(var, text)
        return None if short is None else LatexText(name_in_latex(short))


class LatexPrinter(PPrinter):
    """Writes graphs as formulas in LaTeX."""

    state_class = LatexState

    def printer_of(self, var: Variable, pstate: PrinterState) -> Printer:
        """Return the one printer there is."""
        del var, pstate
        return _PRINTER

    def _formulas(self, roots: Sequence[Variable], limit: int) -> tuple[list[tuple[str, str]], list[str]]:
        """Return the definitions that the roots need, and the texts of the roots."""
        pstate = self.state_class(self, limit=limit)
        pstate.share(in_order(roots, {}), roots)
        self._fill(roots, pstate)
        return pstate.definitions, [self.process(root, pstate) for root in roots]

    def formula(self, graph: object, limit: int) -> Formula:
        """Return the formulas of a graph, after the definitions that they need."""
        roots: list[Variable] = []
        heads: list[tuple[str, str]] = []
        for printed in read("latex", graph):
            updates = printed.updates()
            for at, root in enumerate(printed.outputs):
                roots.append(root)
                if at in updates:
                    heads.append((name_in_latex(str(updates[at])), r"\leftarrow"))
                elif root.name is not None and root.owner is not None:
                    heads.append((name_in_latex(root.name), "="))
                else:
                    heads.append(("", ""))
        definitions, texts = self._formulas(roots, limit)
        lines = [(name_in_latex(name), "=", text) for name, text in definitions]
        return Formula([*lines, *((*head, text) for head, text in zip(heads, texts, strict=True))])


class _Typesetter(Printer):
    """Writes one variable in LaTeX, given how its operands are written."""

    def process(self, var: Variable, pstate: PrinterState) -> Text:
        """Return the text with its precedence."""
        node = var.owner
        if node is None:
            return _leaf(var)
        form = node.op.printed_form(node)
        if form is None:
            form = Form.call(op_text(node), node.inputs)
        elif not isinstance(form, Form):
            return _typeset(form[var.index or 0], pstate)
        text = _typeset(form, pstate)
        if len(node.outputs) == 1 or var.index == node.op.default_output:
            return text
        return LatexText(_scripted(text.within(Precedence.ATOM), "_", str(var.index)))


_PRINTER = _Typesetter()


# Forms


def _typeset(form: Form, pstate: PrinterState) -> Text:
    """Return a form in LaTeX: its own, or what its pieces of Python become."""
    if form.latex is not None:
        return _joined(form.latex, pstate)
    for reading in (_operation, _prefixed, _call, _indexed):
        text = reading(form, pstate)
        if text is not None:
            return text
    return _joined(
        Form([part if isinstance(part, Operand) else _code(part) for part in form.parts], form.level), pstate
    )


def _joined(form: Form, pstate: PrinterState) -> Text:
    """Return a form whose pieces of text are LaTeX."""
    if len(form.parts) == 1 and isinstance(form.parts[0], Operand):
        text = _operand(form.parts[0].variable, Precedence.LOWEST, pstate)
        return text if isinstance(text, Text) else LatexText(text)
    pieces: list[str] = []
    for at, part in enumerate(form.parts):
        if isinstance(part, Operand):
            pieces.append(_operand(part.variable, part.level, pstate))
        elif at and part.startswith("^{") and part[2:-1].isdigit():
            base = form.parts[at - 1]
            pieces[-1] = _raised(pieces[-1], part[2:-1], base.variable if isinstance(base, Operand) else None)
        else:
            pieces.append(part)
    return LatexText("".join(pieces), form.level)


def _operand(var: Variable, level: float, pstate: PrinterState) -> str:
    with set_precedence(pstate, level):
        return pstate.pprinter.process(var, pstate)


def _operation(form: Form, pstate: PrinterState) -> Text | None:
    """Write operands with an operator between them, or None for another form."""
    operands, signs = form.parts[::2], set(form.parts[1::2])
    sign = signs.pop() if len(signs) == 1 else None
    if not isinstance(sign, str) or len(form.parts) % 2 == 0:
        return None
    places = [part for part in operands if isinstance(part, Operand)]
    symbol = sign.strip()
    if len(places) < len(operands) or (symbol in {"/", "//", "**"} and len(places) > 2):
        return None
    variables = [place.variable for place in places]
    if symbol in {"+", "-"}:
        levels = [Precedence.SUM, *(MINUS + STEP for _ in variables[1:])]
        texts = [_operand(x, level, pstate) for x, level in zip(variables, levels, strict=True)]
        return LatexText(f" {symbol} ".join(texts), Precedence.SUM)
    if symbol in {"*", "@"}:
        return _product(variables, symbol, pstate)
    if symbol in {"/", "//"}:
        above, below = (_operand(x, Precedence.LOWEST, pstate) for x in variables)
        ratio = rf"\frac{{{above}}}{{{below}}}"
        return (
            LatexText(ratio, Precedence.POWER) if symbol == "/" else LatexText(rf"\left\lfloor {ratio} \right\rfloor")
        )
    if symbol == "**":
        base, exponent = variables
        above = _operand(exponent, Precedence.LOWEST, pstate)
        return LatexText(_raised(_operand(base, Precedence.ATOM, pstate), above, base), Precedence.POWER)
    if symbol in _OPERATORS:
        texts = [_operand(place.variable, place.level, pstate) for place in places]
        return LatexText(_OPERATORS[symbol].join(texts), Precedence.SUM if symbol == "%" else form.level)
    return None


def _product(variables: Sequence[Variable], symbol: str, pstate: PrinterState) -> Text:
    """Write factors beside each other; numbers that would run together, and products by element, get a sign."""
    shapes = [getattr(x.type, "shape", ()) for x in variables]
    by_element = symbol == "*" and sum(any(n != 1 for n in shape) for shape in shapes) > 1
    level = BY_ELEMENT if by_element else Precedence.PRODUCT
    first = _operand(variables[0], Precedence.LOWEST, pstate)
    if isinstance(first, Text):
        level, first = (MINUS, first) if first.level == MINUS else (level, first.within(level))
    text = str(first)
    for x in variables[1:]:
        factor = _operand(x, (BY_ELEMENT if by_element else Precedence.PRODUCT) + STEP, pstate)
        between = r" \odot " if by_element else r" \cdot " if factor[:1].isdigit() else r" \, "
        text += between + factor
    return LatexText(text, level)


def _raised(text: str, exponent: str, base: Variable | None) -> str:
    """Write a power; that of each element of a matrix is marked, since a matrix has powers of its own."""
    mark = r"\circ " if base is not None and getattr(base.type, "ndim", 0) > 1 else ""
    return _scripted(text, "^", mark + exponent)


def _scripted(base: str, sign: str, script: str) -> str:
    # A second subscript is an error of LaTeX; what has a superscript stands in parentheses.
    return f"{{{base}}}_{{{script}}}" if sign == "_" and "_" in base else f"{base}{sign}{{{script}}}"


def _prefixed(form: Form, pstate: PrinterState) -> Text | None:
    """Write an operator in front of its operand, or None for another form."""
    if len(form.parts) != 2 or form.parts[0] not in _PREFIXES or not isinstance(form.parts[1], Operand):
        return None
    sign, place = str(form.parts[0]), form.parts[1]
    level, inner = (MINUS, BY_ELEMENT) if sign == "-" else (form.level, place.level)
    return LatexText(_PREFIXES[sign] + _operand(place.variable, inner, pstate), level)


def _call(form: Form, pstate: PrinterState) -> Text | None:
    """Write a call ``name(a, b)``, or None for another form."""
    head, tail = form.parts[0], form.parts[-1]
    if not isinstance(head, str) or not head.endswith("(") or tail != ")":
        return None
    name = head[:-1]
    # The parameters of an op are left out: a formula says what is computed.
    word = re.match(r"\w+", name)
    symbol = f"\\{name}" if name in _FUNCTIONS else rf"\operatorname{{{_escaped(word[0] if word else name)}}}"
    arguments = "".join(
        _operand(part.variable, part.level, pstate) if isinstance(part, Operand) else _code(part)
        for part in form.parts[1:-1]
    )
    return LatexText(rf"{symbol}\left({arguments}\right)")


def _indexed(form: Form, pstate: PrinterState) -> Text | None:
    """Write ``x[i, 1:]`` with a subscript, or None for another form."""
    if len(form.parts) < 3 or form.parts[1] != "[" or form.parts[-1] != "]" or not isinstance(form.parts[0], Operand):
        return None
    owner = _operand(form.parts[0].variable, Precedence.ATOM, pstate)
    items = [_operand(p.variable, p.level, pstate) if isinstance(p, Operand) else _code(p) for p in form.parts[2:-1]]
    return LatexText(_scripted(owner, "_", "".join(items)))


# Names, numbers, and pieces of Python


def _escaped(text: str) -> str:
    return "".join(_SPECIAL.get(character, character) for character in text)


def _code(text: str) -> str:
    """Return a piece of Python in the font of programs; commas stay what they are."""
    parts = (part and rf"\mathtt{{{_escaped(part)}}}" for part in text.split(", "))
    return r",\, ".join(parts)


def name_in_latex(name: str) -> str:
    r"""Return a name in LaTeX: letters as they are, words upright, what follows a ``_`` or is a number as a subscript.

    >>> name_in_latex("x1"), name_in_latex("theta_new"), name_in_latex("loss")
    ('x_{1}', '\\theta_{\\mathrm{new}}', '\\mathrm{loss}')
    """
    match = re.fullmatch(r"([^\W\d_]+)(?:_?(\d+)|_(\w+))?", name)
    if match is None:
        return rf"\mathrm{{{_escaped(name)}}}"
    word, number, rest = match.groups()
    subscript = number or (rest and _symbol(rest))
    return f"{_symbol(word)}_{{{subscript}}}" if subscript else _symbol(word)


def _symbol(word: str) -> str:
    if word in _GREEK:
        return f"\\{word}"
    return word if len(word) == 1 and word.isalpha() else rf"\mathrm{{{_escaped(word)}}}"


def _leaf(var: Variable) -> Text:
    """Write a variable that no node computes: its name, its number, or its type."""
    if var.name is not None:
        return LatexText(name_in_latex(var.name))
    if not isinstance(var, Constant):
        return LatexText(rf"\text{{{_escaped(str(var))}}}")
    text = repr(var.data) if isinstance(var.data, str | bytes) else one_line(var.data, 60)
    bare = text.removeprefix("-")
    if bare in _WORDS:
        return LatexText(text.replace(bare, _WORDS[bare]), Precedence.ATOM if bare == text else MINUS)
    # A number that was given dimensions to broadcast by is that number.
    number = _NUMBER.fullmatch(text.strip("[]"))
    return LatexText(_code(text)) if number is None else _number(number)


def _number(match: re.Match[str]) -> Text:
    sign, whole, fraction, minus, exponent = match.groups()
    digits = whole + ("." + fraction if (fraction or "").strip("0") else "")
    level = Precedence.ATOM
    if exponent is not None:
        power_of_ten = f"10^{{{'-' if minus == '-' else ''}{exponent}}}"
        digits = power_of_ten if digits == "1" else rf"{digits} \cdot {power_of_ten}"
        level = Precedence.POWER if digits == power_of_ten else Precedence.PRODUCT
    return LatexText(sign + digits, MINUS if sign else level)


_LATEX = LatexPrinter()


def latex(graph: Any, *, limit: int = LIMIT) -> Formula:
    r"""Return a graph as formulas in LaTeX: text, which a notebook shows typeset.

    A variable that has a name is written with it: ``y = …``. Products of elements have a sign (``x \odot y``), matrix
    products none. Conversions of dtypes and dimensions of length 1 are left out. A formula longer than `limit`
    characters is cut into lines, as `pprint` does it.

    Parameters
    ----------
    graph
        A variable, node, FunctionGraph, function, or a list of these: a line for each output.
    limit
        Longest formula to write in one line, in characters of LaTeX.

    Raises
    ------
    GraphTypeError
        For something that is no graph, and a `limit` that is no count.

    Examples
    --------
    >>> import treadle.tensor as tt
    >>> x, theta = tt.dscalar("x"), tt.dscalar("theta")
    >>> print(tt.latex(tt.exp(-(x**2) / theta)))
    \exp\left(\frac{-x^{2}}{\theta}\right)
    """
    return _LATEX.formula(graph, as_limit("latex", limit))
