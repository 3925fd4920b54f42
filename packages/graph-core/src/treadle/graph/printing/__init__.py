"""Graphs as text: trees, formulas, the language of Graphviz; and values shown while programs run."""

from treadle.graph.ir.notation import Form, Infix, Operand, Precedence, Prefix
from treadle.graph.ops.print_op import Print
from treadle.graph.printing.description import as_string, default_node_formatter, op_as_string
from treadle.graph.printing.dot import MissingProgramError, PictureError, dot_text, pydotprint
from treadle.graph.printing.infix import PPrinter, PrinterState, pp, pprint
from treadle.graph.printing.printers import (
    ConstantPrinter,
    DefaultPrinter,
    FunctionPrinter,
    IgnorePrinter,
    LeafPrinter,
    MemberPrinter,
    OperatorPrinter,
    PatternPrinter,
    Printer,
    Text,
    constant_printer,
    default_printer,
    leaf_printer,
    set_precedence,
)
from treadle.graph.printing.roots import GraphNode
from treadle.graph.printing.tree import (
    char_from_number,
    debugprint,
    dprint,
    get_node_by_id,
    min_informative_str,
    op_debug_information,
)
from treadle.graph.printing.typesetting import Formula, latex

__all__ = [
    "ConstantPrinter", "DefaultPrinter", "Form", "Formula", "FunctionPrinter", "GraphNode", "IgnorePrinter", "Infix",
    "LeafPrinter", "MemberPrinter", "MissingProgramError", "Operand", "OperatorPrinter", "PPrinter", "PatternPrinter",
    "PictureError", "Precedence", "Prefix", "Print", "Printer", "PrinterState", "Text", "as_string", "char_from_number",
    "constant_printer", "debugprint", "default_node_formatter", "default_printer", "dot_text", "dprint",
    "get_node_by_id", "latex", "leaf_printer", "min_informative_str", "op_as_string", "op_debug_information", "pp",
    "pprint",
    "pydotprint", "set_precedence",
]  # fmt: skip
