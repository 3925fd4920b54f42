"""A list of documented names, kept at their documented path; they are defined in the modules imported here."""

from treadle.graph.algorithms.clone import clone, clone_get_equiv, clone_node_and_cache
from treadle.graph.algorithms.equality import equal_computations
from treadle.graph.algorithms.traversal import (
    ancestors,
    applys_between,
    explicit_graph_inputs,
    general_toposort,
    graph_inputs,
    io_toposort,
    orphans_between,
    truncated_graph_inputs,
    variable_depends_on,
    vars_between,
    walk,
)
from treadle.graph.ir.apply import Apply, Node
from treadle.graph.ir.nominal_variable import NominalVariable
from treadle.graph.ir.variable import AtomicVariable, Constant, Variable
from treadle.graph.printing import as_string, default_node_formatter, op_as_string

__all__ = [
    "Apply",
    "AtomicVariable",
    "Constant",
    "Node",
    "NominalVariable",
    "Variable",
    "ancestors",
    "applys_between",
    "as_string",
    "clone",
    "clone_get_equiv",
    "clone_node_and_cache",
    "default_node_formatter",
    "equal_computations",
    "explicit_graph_inputs",
    "general_toposort",
    "graph_inputs",
    "io_toposort",
    "op_as_string",
    "orphans_between",
    "truncated_graph_inputs",
    "variable_depends_on",
    "vars_between",
    "walk",
]
