"""treadle.graph: variables, ops, graphs, and the tools to walk, copy, compare, print and pickle them."""

from treadle.graph import serialization as serialization
from treadle.graph.apply import Apply
from treadle.graph.clone import clone, clone_get_equiv, clone_replace, graph_replace
from treadle.graph.encoding import ENCODERS, digest, encode, encode_dataclass, tagged
from treadle.graph.equality import equal_computations, graph_key
from treadle.graph.errors import (
    CycleError,
    DuplicateRegistrationError,
    GraphError,
    GraphTypeError,
    GraphValueError,
    LoweringError,
    MethodNotDefinedError,
    MissingInputError,
    NodeArithmeticError,
    NodeError,
    NodeIndexError,
    NodeMemoryError,
    NodeTypeError,
    NodeValueError,
    TestValueError,
)
from treadle.graph.evaluation import EVALUATOR
from treadle.graph.failure import node_error, raise_node_error
from treadle.graph.features import AlreadyThere, Bookkeeper, Feature, History, NodeFinder
from treadle.graph.fg import FunctionGraph, Output
from treadle.graph.lowering import LoweringTable, missing_lowerings
from treadle.graph.null_type import DisconnectedType, NullType
from treadle.graph.op import HasInnerGraph, Op, static_op
from treadle.graph.printing import debugprint
from treadle.graph.provenance import UserLine, user_line
from treadle.graph.shared_variable import CONVERTERS, Container, SharedVariable, shared
from treadle.graph.test_values import compute_test_value, get_test_value, get_test_values, missing_test_message
from treadle.graph.traversal import (
    ancestors,
    apply_ancestors,
    applys_between,
    explicit_graph_inputs,
    graph_inputs,
    io_toposort,
    is_in_ancestors,
    order_nodes,
    toposort,
    truncated_graph_inputs,
    variable_depends_on,
    vars_between,
    walk,
)
from treadle.graph.type import Type
from treadle.graph.variable import Constant, ScratchPad, Variable, as_index

__all__ = [
    "CONVERTERS",
    "ENCODERS",
    "EVALUATOR",
    "AlreadyThere",
    "Apply",
    "Bookkeeper",
    "Constant",
    "Container",
    "CycleError",
    "DisconnectedType",
    "DuplicateRegistrationError",
    "Feature",
    "FunctionGraph",
    "GraphError",
    "GraphTypeError",
    "GraphValueError",
    "HasInnerGraph",
    "History",
    "LoweringError",
    "LoweringTable",
    "MethodNotDefinedError",
    "MissingInputError",
    "NodeArithmeticError",
    "NodeError",
    "NodeFinder",
    "NodeIndexError",
    "NodeMemoryError",
    "NodeTypeError",
    "NodeValueError",
    "NullType",
    "Op",
    "Output",
    "ScratchPad",
    "SharedVariable",
    "TestValueError",
    "Type",
    "UserLine",
    "Variable",
    "ancestors",
    "apply_ancestors",
    "applys_between",
    "as_index",
    "clone",
    "clone_get_equiv",
    "clone_replace",
    "compute_test_value",
    "debugprint",
    "digest",
    "encode",
    "encode_dataclass",
    "equal_computations",
    "explicit_graph_inputs",
    "get_test_value",
    "get_test_values",
    "graph_inputs",
    "graph_key",
    "graph_replace",
    "io_toposort",
    "is_in_ancestors",
    "missing_lowerings",
    "missing_test_message",
    "node_error",
    "order_nodes",
    "raise_node_error",
    "serialization",
    "shared",
    "static_op",
    "tagged",
    "toposort",
    "truncated_graph_inputs",
    "user_line",
    "variable_depends_on",
    "vars_between",
    "walk",
]
