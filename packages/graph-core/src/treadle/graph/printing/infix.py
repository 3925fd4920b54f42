"""pprint: a graph as formulas, infix, with as few parentheses as Python needs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, ClassVar

from treadle.graph.algorithms.traversal import toposort
from treadle.graph.diagnostics.failure import note_op
from treadle.graph.errors import GraphTypeError
from treadle.graph.ir.arguments import as_count
from treadle.graph.ir.notation import Precedence
from treadle.graph.ir.op import Op
from treadle.graph.ir.variable import Variable
from treadle.graph.printing.printers import (
    Printer,
    Text,
    default_printer,
    leaf_printer_of,
    set_precedence,
)
from treadle.graph.printing.roots import read

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

# A longer formula is written in several lines.
LIMIT = 1_000
# A text that is used several times gets a line of its own if it is longer than this.
SHORT = 12


class PrinterState:
    """State of one printing: the texts written so far, and the precedence at the current place.

    Any further attribute may be set, for printers that work together.

    Parameters
    ----------
    pprinter
        The `PPrinter` at work.
    precedence
        Lowest precedence that needs no parentheses at the place where the next text goes.
    limit
        Longest text of a formula; parts of longer ones get a name.

    Attributes
    ----------
    memo
        Texts of variables: a `Text` under the variable, or what a printer returned under variable and precedence.
    definitions
        Names given to parts of formulas, and their texts, in order.
    """

    short: ClassVar[int] = SHORT

    def __init__(
        self, pprinter: PPrinter, precedence: float = Precedence.LOWEST, limit: int = LIMIT, **props: object
    ) -> None:
        self.pprinter = pprinter
        self.precedence = precedence
        self.limit = limit
        self.memo: dict[object, str | None] = {}
        self.definitions: list[tuple[str, str]] = []
        self._uses: dict[Variable, int] = {}
        self._roots: set[Variable] = set()
        self._used_names: set[str] = set()
        self._numbers = 0
        vars(self).update(props)

    def share(self, order: Sequence[Variable], roots: Sequence[Variable]) -> None:
        """Prepare for naming the parts that are used more than once.

        Parameters
        ----------
        order
            All variables, each after what it is computed from.
        roots
            The variables asked for, which get no name for their length.
        """
        self._roots = set(roots)
        for node in dict.fromkeys(v.owner for v in order if v.owner is not None):
            for x in node.inputs:
                self._uses[x] = self._uses.get(x, 0) + 1
        self._used_names = {v.name for v in order if v.owner is None and v.name is not None}

    def settle(self, var: Variable, text: str) -> Text | None:
        """Name a variable's text if it is too long, or used more than once; return the name, or None.

        A name is that of the variable if it has one that is free and an identifier, else ``t1``, ``t2`` …
        """
        too_long = len(text) > self.limit and var not in self._roots
        shared = self._uses.get(var, 0) > 1 and len(text) > self.short
        if var.owner is None or not (too_long or shared):
            return None
        name = var.name
        if name is None or not name.isidentifier() or name in self._used_names:
            name = self._fresh_name()
        self._used_names.add(name)
        self.definitions.append((name, text))
        return Text(name)

    def _fresh_name(self) -> str:
        while True:
            self._numbers += 1
            name = f"t{self._numbers}"
            if name not in self._used_names:
                return name


def as_limit(what: str, limit: object) -> int:
    """Return the length of the longest formula that is written in one line."""
    return as_count(f"{what}: limit", limit, most=sys.maxsize)


def in_order(roots: Iterable[Variable], written: Mapping[object, object]) -> list[Variable]:
    """Return the variables not known yet that the roots are computed from, each after those it needs itself."""
    order: dict[Variable, None] = {}
    begun: set[Variable] = set()
    pending = [(root, False) for root in reversed(list(roots))]
    while pending:
        var, ready = pending.pop()
        if var in order or var in written:
            continue
        if ready or var.owner is None:
            order[var] = None
            continue
        if var in begun:
            # It is still waiting for what it needs; sorting names the nodes of the cycle.
            toposort([var])
        begun.add(var)
        pending.append((var, True))
        pending.extend((x, False) for x in reversed(var.owner.inputs))
    return list(order)


def _named_lines(definitions: Iterable[tuple[str, str]], results: Iterable[str]) -> str:
    return "\n".join([*(f"{name} = {text}" for name, text in definitions), *results])


class PPrinter:
    """Writes graphs as formulas.

    How an op is written is found in this order: what is assigned to the op; to its class, or the nearest of its
    bases; conditions assigned here, the last one first; the op's own `Op.printed_form`; a call ``op(a, b)``.

    The text reads as Python: ``a - (b - c)``, ``a ** b ** c``, ``-x ** 2``. A formula longer than `LIMIT` characters
    is cut into lines ``t1 = …``: values that are used more than once, and parts that are too long by themselves, get
    a name (their own, where they have one); so the text never grows faster than the graph.
    """

    state_class: ClassVar[type[PrinterState]] = PrinterState

    def __init__(self) -> None:
        self._by_op: dict[object, Printer] = {}
        self._conditions: list[tuple[Callable[[PrinterState, Variable], bool], Printer]] = []

    # Choosing printers

    def assign(self, condition: Op | type | Callable[[PrinterState, Variable], bool], printer: Printer) -> None:
        """Use a printer for an op, for a class of ops, or where a condition holds.

        Parameters
        ----------
        condition
            An op; a class of ops, those derived from it included; or a function of the state and a variable.
        printer
            The printer.

        Raises
        ------
        GraphTypeError
            If one of the two is neither of these.
        """
        if not hasattr(printer, "process"):
            msg = f"pprint: a printer with a method process is needed, got {printer!r}. Derive it from Printer."
            raise GraphTypeError(msg)
        key: object = condition
        if isinstance(key, Op | type):
            self._by_op[key] = printer
        elif callable(key):
            self._conditions.insert(0, (key, printer))
        else:
            msg = f"pprint: printers are assigned to an op, a class of ops, or a condition, got {condition!r}."
            raise GraphTypeError(msg)

    def clone(self) -> PPrinter:
        """Return a printer with the same assignments."""
        new = PPrinter()
        new._by_op = dict(self._by_op)
        new._conditions = list(self._conditions)
        return new

    def clone_assign(
        self, condition: Op | type | Callable[[PrinterState, Variable], bool], printer: Printer
    ) -> PPrinter:
        """Return a printer with one more assignment."""
        new = self.clone()
        new.assign(condition, printer)
        return new

    def printer_of(self, var: Variable, pstate: PrinterState) -> Printer:
        """Return the printer that writes a variable."""
        if var.owner is not None and self._by_op:
            op = var.owner.op
            for key in (op, *type(op).__mro__):
                printer_of_op = self._by_op.get(key)
                if printer_of_op is not None:
                    return printer_of_op
        for condition, printer in self._conditions:
            if condition(pstate, var):
                return printer
        return leaf_printer_of(var) if var.owner is None else default_printer

    def _written(self, var: Variable, pstate: PrinterState) -> str:
        """Call the printer of a variable; an error gets a note of the op and the user's line."""
        try:
            return self.printer_of(var, pstate).process(var, pstate)
        except Exception as error:
            if var.owner is not None:
                note_op(error, var.owner.op, "pprint", var.owner.where())
            raise

    # Writing

    def process(self, var: Variable, pstate: PrinterState | None = None) -> str:
        """Return the text of a variable.

        Parameters
        ----------
        var
            The variable.
        pstate
            State of the printing that the text becomes part of; None for a text of its own, with a line for each
            part that has a name.
        """
        if pstate is None:
            definitions, (text,) = self._formulas([var], LIMIT)
            return _named_lines(definitions, [text])
        if var not in pstate.memo:
            self._fill([var], pstate)
        text_of_var = pstate.memo[var]
        if isinstance(text_of_var, Text):
            return text_of_var.within(pstate.precedence)
        # Written by a printer that decides on parentheses itself: ask it for each precedence once.
        key = (var, pstate.precedence)
        in_place = pstate.memo.get(key)
        if in_place is None:
            in_place = pstate.memo[key] = self._written(var, pstate)
        return in_place

    def _fill(self, roots: Sequence[Variable], pstate: PrinterState, stop: bool = False) -> bool:
        """Write all variables that the roots need, operands first, so that no printer has to go deeper than one step.

        With `stop`, return False at the first text that is longer than the limit.
        """
        with set_precedence(pstate):
            for var in in_order(roots, pstate.memo):
                text = self._written(var, pstate)
                if stop and len(text) > pstate.limit:
                    return False
                short = pstate.settle(var, text)
                if short is not None:
                    pstate.memo[var] = short
                elif isinstance(text, Text):
                    pstate.memo[var] = text
                else:
                    pstate.memo[var] = None
                    pstate.memo[var, Precedence.LOWEST] = text
        return True

    def _formulas(self, roots: Sequence[Variable], limit: int) -> tuple[list[tuple[str, str]], list[str]]:
        """Return the definitions that the roots need, and the roots' texts."""
        pstate = self.state_class(self, limit=limit)
        if not self._fill(roots, pstate, stop=True):
            pstate = self.state_class(self, limit=limit)
            pstate.share(in_order(roots, {}), roots)
            self._fill(roots, pstate)
        return pstate.definitions, [self.process(root, pstate) for root in roots]

    def process_graph(
        self,
        inputs: Sequence[Variable],
        outputs: Sequence[Variable],
        updates: Mapping[Variable, Variable] | None = None,
        display_inputs: bool = False,
    ) -> str:
        """Return a graph as one line for each output, then ``name -> new value`` for each update.

        Parameters
        ----------
        inputs, outputs
            The graph.
        updates
            New values of variables.
        display_inputs
            Whether to name the inputs in a line in front.
        """
        changed = list((updates or {}).items())
        definitions, texts = self._formulas([*outputs, *(new for _, new in changed)], LIMIT)
        results = texts[: len(outputs)]
        results += [f"{old} -> {text}" for (old, _), text in zip(changed, texts[len(outputs) :], strict=True)]
        head = [f"inputs: {', '.join(map(str, inputs))}"] if display_inputs else []
        return "\n".join([*head, _named_lines(definitions, results)])

    def __call__(self, *args: Any, limit: int = LIMIT) -> str:
        """Return the text of a graph.

        Parameters
        ----------
        args
            One or more variables, nodes, FunctionGraphs, functions, or lists of these: a line for each output.
        limit
            Longest formula to write in one line.

        Raises
        ------
        GraphTypeError
            For something that is no graph, and a `limit` that is no count.
        """
        if len(args) == 2 and isinstance(args[1], PrinterState):
            return self.process(args[0], args[1])
        graphs = read("pprint", args)
        roots: list[Variable] = []
        marks: list[str] = []
        for printed in graphs:
            updates = printed.updates()
            roots += printed.outputs
            marks += [f"{updates[i]} -> " if i in updates else "" for i in range(len(printed.outputs))]
        definitions, texts = self._formulas(roots, as_limit("pprint", limit))
        return _named_lines(definitions, [mark + text for mark, text in zip(marks, texts, strict=True)])


pprint = PPrinter()
pp = pprint
