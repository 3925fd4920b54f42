"""Names that stand elsewhere, at the path that the documentation has them at; written by `./dev pages`."""

from typing import TYPE_CHECKING

from treadle.config import lazy_names

if TYPE_CHECKING:
    from treadle.graph.printing import *  # noqa: F403
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "treadle.graph.printing": (
                "ConstantPrinter DefaultPrinter FunctionPrinter GraphNode IgnorePrinter LeafPrinter OperatorPrinter "
                "PPrinter PatternPrinter Print Printer PrinterState char_from_number constant_printer debugprint "
                "default_printer dprint get_node_by_id leaf_printer min_informative_str op_debug_information pp pprint "
                "pydotprint set_precedence"
            ),
        },
    )
