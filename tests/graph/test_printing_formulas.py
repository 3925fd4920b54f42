"""pprint: graphs as formulas, with as few parentheses as Python needs."""

import ast
from collections.abc import Sequence
from typing import Any

import pytest

from tests.graph.arithmetic import NUMBER, Arithmetic, add, chain, div_mod, mul, number, same
from treadle.graph import (
    Apply,
    CycleError,
    Form,
    FunctionGraph,
    GraphTypeError,
    GraphValueError,
    Infix,
    Operand,
    Precedence,
    Prefix,
    Variable,
    pp,
    pprint,
    static_op,
)
from treadle.graph.printing import (
    DefaultPrinter,
    FunctionPrinter,
    IgnorePrinter,
    LeafPrinter,
    MemberPrinter,
    OperatorPrinter,
    PatternPrinter,
    PPrinter,
    Printer,
    PrinterState,
    Text,
    constant_printer,
    default_printer,
    leaf_printer,
    set_precedence,
)

OPERATORS: dict[str, Any] = {
    "+": Infix("+", Precedence.SUM),
    "-": Infix("-", Precedence.SUM),
    "*": Infix("*", Precedence.PRODUCT),
    "/": Infix("/", Precedence.PRODUCT),
    "**": Infix("**", Precedence.POWER, "right", right=Precedence.UNARY),
    "<": Infix("<", Precedence.COMPARISON, "none"),
    "neg": Prefix("-"),
}


@static_op
class Operation(Arithmetic):
    """An op that is written with an operator."""

    symbol: str

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        output_storage[0][0] = inputs[0]

    def printed_form(self, node: Apply) -> Form | None:
        operator = OPERATORS.get(self.symbol)
        form: Form | None = None if operator is None else operator.form(node.inputs)
        return form

    def __str__(self) -> str:
        return self.symbol


plus, minus, times, over, power, less, neg = (Operation(symbol) for symbol in OPERATORS)
function = Operation("f")
a, b, c, x = (number(name) for name in "abcx")


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        (minus(a, minus(b, c)), "a - (b - c)"),
        (minus(minus(a, b), c), "a - b - c"),
        (plus(a, plus(b, c)), "a + (b + c)"),
        (times(plus(a, b), c), "(a + b) * c"),
        (plus(times(a, b), c), "a * b + c"),
        (over(a, times(b, c)), "a / (b * c)"),
        (times(over(a, b), c), "a / b * c"),
        (power(a, power(b, c)), "a ** b ** c"),
        (power(power(a, b), c), "(a ** b) ** c"),
        (neg(power(a, b)), "-a ** b"),
        (power(neg(a), b), "(-a) ** b"),
        (power(a, neg(b)), "a ** -b"),
        (times(a, neg(b)), "a * -b"),
        (neg(plus(a, b)), "-(a + b)"),
        (less(less(a, b), c), "(a < b) < c"),
        (less(plus(a, b), c), "a + b < c"),
        (function(plus(a, b), c), "f(a + b, c)"),
        (power(function(a), 2.0), "f(a) ** 2.0"),
        (power(-2.0, a), "(-2.0) ** a"),
        (plus(a, -2.0), "a + -2.0"),
        (add(a, b), "add(a, b)"),
    ],
)
def test_parentheses_stand_only_where_they_are_needed(variable: Variable, text: str) -> None:
    assert pprint(variable) == text


def _tree(node: ast.expr) -> Any:
    """Return a formula read by Python, as nested tuples."""
    names = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "**"}
    if isinstance(node, ast.BinOp):
        return names[type(node.op)], _tree(node.left), _tree(node.right)
    if isinstance(node, ast.UnaryOp):
        return "neg", _tree(node.operand)
    assert isinstance(node, ast.Name)
    return node.id


def _built(tree: Any) -> Variable:
    if isinstance(tree, str):
        return {"a": a, "b": b, "c": c}[tree]
    symbol, *parts = tree
    formula: Variable = Operation(symbol)(*[_built(part) for part in parts])
    return formula


def _trees(depth: int) -> list[Any]:
    if depth == 0:
        return ["a"]
    below = _trees(depth - 1)
    binary = [(s, p, "b") for s in ("+", "-", "*", "/", "**") for p in below]
    return [*binary, *((s, "c", p) for s, p, _ in binary), *(("neg", p) for p in below)]


def test_python_reads_every_formula_as_the_graph_it_came_from() -> None:
    wrong = [tree for tree in _trees(3) if _tree(ast.parse(pprint(_built(tree)), mode="eval").body) != tree]
    assert wrong == []


def test_leaves_show_name_value_or_type() -> None:
    assert pprint(number("x")) == "x"
    assert pprint(number()) == "<Number(1)>"
    assert pprint(NUMBER.make_constant(2.0)) == "2.0"
    assert pprint(NUMBER.make_constant(2.0, "two")) == "two"


def test_output_of_several_is_marked() -> None:
    quotient, rest = div_mod(a, b)
    assert pprint(plus(quotient, rest)) == "DivMod(a, b)[0] + DivMod(a, b)[1]"


def test_several_graphs_are_written_line_by_line() -> None:
    graph = FunctionGraph([a, b], [plus(a, b), neg(a)], clone=False, update_mapping={1: 0})
    assert pp([x, graph]) == "x\na + b\na -> -a"
    assert pprint(plus(a, b).owner, c) == "a + b\nc"


def test_other_things_are_refused() -> None:
    with pytest.raises(GraphTypeError, match="pprint: a variable, node, graph, function or list"):
        pprint(3)


def test_short_formulas_repeat_what_they_use_twice() -> None:
    square = times(a, a)
    assert pprint(plus(square, square)) == "a * a + a * a"


def test_long_formulas_name_what_they_use_twice() -> None:
    long_name = number("a_rather_long_name")
    square = times(long_name, long_name)
    total = plus(square, square)
    assert pprint(total, limit=50) == "t1 = a_rather_long_name * a_rather_long_name\nt1 + t1"


def test_names_of_parts_are_their_own_where_these_are_free() -> None:
    long_name = number("a_rather_long_name")
    taken = times(long_name, long_name, name="a_rather_long_name")
    square = times(long_name, number("t1"), name="square")
    text = pprint(plus(plus(square, square), plus(taken, taken)), limit=20)
    assert text.splitlines()[0] == "square = a_rather_long_name * t1"
    assert "t2 = a_rather_long_name * a_rather_long_name" in text.splitlines()


def test_parts_that_are_too_long_by_themselves_become_lines() -> None:
    out = a
    for _ in range(12):
        out = plus(out, b)
    assert pprint(out, limit=20) == "t1 = a + b + b + b + b + b\nt2 = t1 + b + b + b + b + b\nt2 + b + b"


def test_text_never_grows_faster_than_the_graph(length: int, width: int) -> None:
    out = a
    for _ in range(60):
        out = plus(out, out)
    assert len(pprint(out)) < 60 * 60
    deep = chain(a, length)
    assert len(pprint(deep)) < 30 * length
    wide = function(*[number(f"x{i}") for i in range(width)])
    assert len(pprint(wide)) < 10 * width
    assert pprint(wide).count("\n") == 0


class Shout(Printer):
    """A printer of the plain kind: returns text, decides on parentheses itself."""

    def process(self, var: Variable, pstate: PrinterState) -> str:
        assert var.owner is not None
        needs = pstate.precedence > Precedence.SUM
        with set_precedence(pstate, Precedence.PRODUCT):
            inside = " PLUS ".join(pstate.pprinter.process(v, pstate) for v in var.owner.inputs)
        return f"({inside})" if needs else inside


def test_printer_may_decide_on_parentheses_itself() -> None:
    shouting = pprint.clone_assign(plus, Shout())
    assert shouting(times(plus(a, b), c)) == "(a PLUS b) * c"
    assert shouting(plus(plus(a, b), times(b, c))) == "(a PLUS b) PLUS b * c"
    assert shouting(function(plus(a, b))) == "f(a PLUS b)"


def test_printers_of_the_plain_kind_take_long_chains_too(length: int) -> None:
    shouting = PPrinter()
    shouting.assign(type(add), Shout())
    assert len(shouting(chain(a, length))) < 30 * length


def test_assignment_goes_by_op_class_or_condition_the_last_condition_first() -> None:
    printer = PPrinter()
    printer.assign(Arithmetic, FunctionPrinter("any"))
    printer.assign(Operation, FunctionPrinter("operation"))
    printer.assign(plus, FunctionPrinter("sum"))
    assert printer(same(minus(plus(a, b), c))) == "any(operation(sum(a, b), c))"
    printer.assign(lambda _, var: var is a, PatternPrinter("<%(0)s>"))
    printer.assign(lambda _, var: var.owner is None, LeafPrinter())
    assert printer(plus(a, b)) == "sum(a, b)"
    printer.assign(lambda _, var: var.owner is not None, IgnorePrinter())
    assert printer(plus(a, b)) == "sum(a, b)"
    conditions = pprint.clone_assign(lambda _, var: var.owner is not None, IgnorePrinter())
    assert conditions(plus(a, b)) == "a"
    conditions.assign(lambda _, var: var.owner is not None, PatternPrinter("<%(1)s>"))
    assert conditions(plus(a, b)) == "<b>"


@pytest.mark.parametrize("printer", [default_printer, leaf_printer, constant_printer])
def test_default_printers_may_be_assigned_to_everything(printer: Printer) -> None:
    printers = PPrinter()
    printers.assign(plus, PatternPrinter("|%(0)s - %(1)s|"))
    printers.assign(lambda pstate, var: True, printer)  # noqa: ARG005 - the documented form
    assert printers(plus(a, b)) == "|a - b|"
    assert printers(times(a, b)) == ("a * b" if printer is default_printer else str(times(a, b)))


def test_graph_with_a_cycle_is_refused() -> None:
    inner = plus(a, b)
    outer = times(inner, c)
    inner.owner.inputs[0] = outer
    with pytest.raises(CycleError, match="contains a cycle through this node"):
        pprint(outer)


def test_failing_printer_names_op_and_line_of_the_innermost_node() -> None:
    class Broken(Printer):
        def process(self, var: Variable, pstate: PrinterState) -> str:
            raise KeyError(var)

    printer = pprint.clone_assign(plus, Broken())
    with pytest.raises(KeyError) as caught:
        printer(times(plus(a, b), c))
    (note,) = caught.value.__notes__
    assert note.startswith("Raised by Operation.pprint of ")
    assert "printer(times(plus(a, b), c))" in note


def test_clones_do_not_share_later_assignments() -> None:
    printer = PPrinter()
    other = printer.clone_assign(same, MemberPrinter("same"))
    assert other(same(plus(a, b))) == "(a + b).same"
    assert printer(same(a)) == "Same(a)"


def test_assignments_that_make_no_sense_are_refused() -> None:
    with pytest.raises(GraphTypeError, match="a printer with a method process is needed, got 'sum'"):
        pprint.clone_assign(plus, "sum")  # type: ignore[arg-type]  # on purpose
    with pytest.raises(GraphTypeError, match="assigned to an op, a class of ops, or a condition, got 3"):
        pprint.clone_assign(3, IgnorePrinter())  # type: ignore[arg-type]  # on purpose


@pytest.mark.parametrize(
    ("assoc", "left", "right"),
    [
        ("left", "a o b o c", "a o (b o c)"),
        ("right", "(a o b) o c", "a o b o c"),
        ("none", "(a o b) o c", "a o (b o c)"),
        ("either", "a o b o c", "a o b o c"),
    ],
)
def test_operator_printer_knows_associativity(assoc: str, left: str, right: str) -> None:
    printer = pprint.clone_assign(plus, OperatorPrinter("o", Precedence.SUM, assoc))
    assert printer(plus(plus(a, b), c)) == left
    assert printer(plus(a, plus(b, c))) == right


def test_operator_printer_stands_between_all_inputs_or_before_a_single_one() -> None:
    printer = pprint.clone_assign(function, OperatorPrinter("-", Precedence.SUM, "left"))
    assert printer(function(a, b, c)) == "a - b - c"
    assert printer(times(function(a), c)) == "(-a) * c"


def test_unknown_associativity_is_refused() -> None:
    with pytest.raises(GraphValueError, match="assoc must be left, right, none or either, got 'both'"):
        OperatorPrinter("+", 0.0, "both")


def test_function_printer_shows_keywords_and_names_outputs() -> None:
    printer = pprint.clone_assign(function, FunctionPrinter("call", ["symbol"]))
    assert printer(function(a, b)) == "call(a, b, symbol='f')"
    printer.assign(div_mod, FunctionPrinter(["quotient", "rest"]))
    assert printer(div_mod(a, b)) == "quotient(a, b)\nrest(a, b)"
    printer.assign(div_mod, FunctionPrinter("both"))
    assert printer(div_mod(a, b)) == "both(a, b)[0]\nboth(a, b)[1]"


def test_member_printer_names_outputs() -> None:
    printer = pprint.clone_assign(div_mod, MemberPrinter(["quotient", "rest"]))
    assert printer(div_mod(plus(a, b), c)[1]) == "(a + b).rest"


def test_pattern_printer_fills_in_the_inputs() -> None:
    printer = pprint.clone_assign(function, PatternPrinter(("|%(0)s| to %(1)s", Precedence.LOWEST, Precedence.ATOM)))
    assert printer(function(plus(a, b), plus(a, b))) == "|a + b| to (a + b)"
    with pytest.raises(GraphValueError, match="no pattern is given for output 1 of DivMod"):
        pprint.clone_assign(div_mod, PatternPrinter("q(%(0)s)"))(div_mod(a, b)[1])
    with pytest.raises(GraphValueError, match="no pattern is given\\. Pass a text"):
        PatternPrinter()


def test_ignored_ops_bind_as_their_input_does() -> None:
    printer = pprint.clone_assign(same, IgnorePrinter())
    assert printer(times(same(plus(a, b)), same(c))) == "(a + b) * c"
    assert printer(plus(same(times(a, b)), c)) == "a * b + c"
    assert pprint.clone_assign(plus, Shout()).clone_assign(same, IgnorePrinter())(same(plus(a, b))) == "a PLUS b"


def test_printers_of_ops_refuse_variables_of_no_op() -> None:
    everywhere = pprint.clone_assign(lambda _, __: True, OperatorPrinter("+", Precedence.SUM))
    with pytest.raises(GraphTypeError, match="operator \\+: only variables that an op computes can be written so"):
        everywhere(a)


def test_default_printer_may_be_asked_for_leaves() -> None:
    assert isinstance(default_printer, DefaultPrinter)
    assert pprint.clone_assign(lambda _, var: var is b, default_printer)(plus(a, c)) == "a + c"
    state = PrinterState(pprint)
    assert default_printer.process(a, state) == "a"


def test_state_carries_further_attributes_and_what_was_named() -> None:
    state = PrinterState(pprint, limit=10, colour="red")
    assert state.colour == "red"  # type: ignore[attr-defined]  # set above
    long_sum = plus(plus(plus(a, b), c), x)
    assert pprint(times(long_sum, c), state) == "t1 * c"
    assert state.definitions == [("t1", "a + b + c + x")]


def test_state_decides_on_the_parentheses_around_the_whole() -> None:
    assert pprint.process(plus(a, b), PrinterState(pprint, precedence=Precedence.ATOM)) == "(a + b)"


def test_graph_is_written_with_inputs_and_updates() -> None:
    text = pprint.process_graph([a, b], [plus(a, b)], {b: minus(b, a)}, display_inputs=True)
    assert text == "inputs: a, b\na + b\nb -> b - a"
    assert pprint.process_graph([a], [neg(a)]) == "-a"
    assert pprint.process(neg(a)) == "-a"


def test_forms_are_calls_members_methods_and_indices() -> None:
    shown = {
        "f(a, 2, key='v')": Form.call("f", [a, "2"], {"key": "v"}),
        "g(key=1)": Form.call("g", [], {"key": 1}),
        "(a + b).T": Form.member(plus(a, b), ".T"),
        "(a + b).take(c, 1)": Form.method(plus(a, b), "take", [c, "1"]),
        "(a + b)[1:c, 2]": Form.index(plus(a, b), [["1:", Operand(c)], ["2"]]),
        "a + b": Form.like(plus(a, b)),
    }
    for text, form in shown.items():

        class Formed(Arithmetic):
            written = form

            def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
                output_storage[0][0] = inputs[0]

            def printed_form(self, node: Apply) -> Form:
                return self.written

        assert pprint(Formed()(x)) == text


def test_operators_of_one_precedence_join_any_number_of_operands() -> None:
    assert pprint.clone_assign(function, OperatorPrinter("&", -4.0, "left"))(function(a, less(b, c), x)) == (
        "a & (b < c) & x"
    )
    text = Text("a + b", Precedence.SUM)
    assert text.within(Precedence.SUM) == "a + b"
    assert text.within(Precedence.PRODUCT) == "(a + b)"


def test_names_and_texts_are_shown_as_they_would_be_written() -> None:
    class Word(type(NUMBER)):  # type: ignore[misc]  # made here only
        def filter(self, data: Any, strict: bool = False, allow_downcast: bool | None = None) -> Any:
            return data

    assert pprint(Word().make_constant("say 'hi'")) == "\"say 'hi'\""
    assert len(pprint(Word().make_constant("long " * 100))) <= 60
    assert pprint(mul(Word().make_constant("s"), a)) == "mul('s', a)"


def test_op_of_several_outputs_may_give_a_form_for_each() -> None:
    class Both(Arithmetic):
        def infer(self, *types: Any) -> Sequence[Any]:
            return [types[0], types[0]]

        def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
            output_storage[0][0], output_storage[1][0] = inputs

        def printed_form(self, node: Apply) -> Sequence[Form]:
            return [Form.like(node.inputs[0]), OPERATORS["-"].form(node.inputs)]

    first, second = Both()(plus(a, b), c)
    assert pprint(times(first, second)) == "(a + b) * (a + b - c)"
