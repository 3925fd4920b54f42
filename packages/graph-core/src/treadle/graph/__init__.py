"""treadle.graph: variables, ops, graphs, and the tools to walk, copy, compare, print and pickle them."""

from typing import TYPE_CHECKING

from treadle.config import lazy_module as _lazy_module
from treadle.config import package_folders, versioned_names
from treadle.graph.algorithms import serialization as serialization
from treadle.graph.algorithms.clone import clone, clone_get_equiv, clone_node_and_cache, clone_replace, graph_replace
from treadle.graph.algorithms.origins import origins
from treadle.graph.algorithms.traversal import (
    ancestors,
    apply_ancestors,
    apply_depends_on,
    applys_between,
    explicit_graph_inputs,
    general_toposort,
    get_var_by_name,
    graph_inputs,
    io_toposort,
    is_in_ancestors,
    order_nodes,
    orphans_between,
    reading_order,
    toposort,
    toposort_with_orderings,
    truncated_graph_inputs,
    variable_ancestors,
    variable_depends_on,
    vars_between,
    walk,
    walk_toposort,
)
from treadle.graph.diagnostics.failure import node_error, note_op, raise_node_error, retell
from treadle.graph.diagnostics.provenance import ORIGIN, UserLine, carried, current_scope, name_scope, user_line
from treadle.graph.diagnostics.upward import upward as _upward
from treadle.graph.errors import (
    CallError,
    CycleError,
    DrawingLibraryError,
    DuplicateRegistrationError,
    GraphAttributeError,
    GraphError,
    GraphTypeError,
    GraphValueError,
    InconsistencyError,
    LoweringError,
    MethodNotDefinedError,
    MissingInputError,
    NodeArithmeticError,
    NodeError,
    NodeIndexError,
    NodeMemoryError,
    NodeTypeError,
    NodeValueError,
    ShapeInferenceError,
    TestValueError,
    VectorizeError,
)
from treadle.graph.ir.apply import Apply, new_serial, node_at
from treadle.graph.ir.arguments import as_count, as_flag, as_list, check_name
from treadle.graph.ir.composition import composed, composing, is_composing
from treadle.graph.ir.decorated import reduce_by_place
from treadle.graph.ir.encoding import ENCODERS, digest, encode, encode_dataclass, tagged
from treadle.graph.ir.holding import CALL_FILE, let_go, settle
from treadle.graph.ir.inner_graph import (
    EVALUATOR,
    INNER_COMPILER,
    DrivesInnerGraph,
    HasInnerGraph,
    Linked,
    compile_inner,
)
from treadle.graph.ir.nominal_variable import NominalVariable
from treadle.graph.ir.notation import Form, Infix, Operand, Precedence, Prefix
from treadle.graph.ir.null_type import DisconnectedType, NullType
from treadle.graph.ir.op import Op, static_op
from treadle.graph.ir.plugins import PluginLoader
from treadle.graph.ir.shared_variable import Container, SharedVariable, tracing
from treadle.graph.ir.sharing import CONVERTERS, shared, shared_constructor
from treadle.graph.ir.test_values import compute_test_value, get_test_value, get_test_values, missing_test_message
from treadle.graph.ir.thunk import Cell, Compute, SymbolicShape, ThunkType, Value, is_thunk_type, made_thunk, prepare
from treadle.graph.ir.type import HasDataType, HasShape, Type
from treadle.graph.ir.variable import AtomicVariable, Constant, ScratchPad, Variable, as_index
from treadle.graph.ops.copying import DeepCopyOp, ViewOp, deep_copy_op, view_op

if TYPE_CHECKING:
    from treadle.graph import printing
    from treadle.graph.algorithms.connections import connections, io_connection_pattern
    from treadle.graph.algorithms.early import early_nodes, foreign_code, perform_early
    from treadle.graph.algorithms.equality import equal_computations, graph_key
    from treadle.graph.algorithms.memory import Roots, may_use_input, memory_roots, overwritten_arguments, roots_of
    from treadle.graph.fgraph.abstract_graph import AbstractFunctionGraph
    from treadle.graph.fgraph.features import (
        AlreadyThere,
        Bookkeeper,
        Feature,
        History,
        NodeFinder,
        NoOutputFromInplace,
        NoOutputInplaceOnInput,
        PreserveNames,
        PreserveVariableAttributes,
        ReplacementDidNotRemoveError,
        ReplaceValidate,
        ShapeFeature,
        Supervisor,
        Validator,
    )
    from treadle.graph.fgraph.features.destroy_handler import DestroyHandler, inplace_candidates
    from treadle.graph.fgraph.features.shapes import call_infer_shape
    from treadle.graph.fgraph.frozen_graph import FrozenFunctionGraph
    from treadle.graph.fgraph.function_graph import FunctionGraph
    from treadle.graph.fgraph.structure import Output
    from treadle.graph.html import GraphPage, d3viz, html_comparison, html_fragment, html_page, write_html
    from treadle.graph.ir.trees import (
        TreeForm,
        is_tree,
        register_tree_node,
        tree_flatten,
        tree_leaves,
        tree_map,
        tree_unflatten,
    )
    from treadle.graph.lowering import LoweringTable, Unsupported, expand
    from treadle.graph.ops.branches import Block, Branching
    from treadle.graph.ops.ifelse import IfElse
    from treadle.graph.ops.partial import ChangesPart
    from treadle.graph.ops.print_op import Print
    from treadle.graph.printing import (
        as_string,
        debugprint,
        default_node_formatter,
        dot_text,
        dprint,
        latex,
        op_as_string,
        pp,
        pprint,
        pydotprint,
    )
    from treadle.graph.vectorization import VECTORIZERS, Vectorizer, VectorizerTable, vectorize_graph, vectorize_node

__all__ = [
    "CALL_FILE", "CONVERTERS", "ENCODERS", "EVALUATOR", "INNER_COMPILER", "ORIGIN", "VECTORIZERS",
    "AbstractFunctionGraph", "AlreadyThere", "Apply",
    "AtomicVariable", "Block", "Bookkeeper", "Branching", "CallError", "Cell", "ChangesPart",
    "Compute", "Constant", "Container", "CycleError", "DeepCopyOp", "DestroyHandler", "DisconnectedType",
    "DrawingLibraryError", "DrivesInnerGraph", "DuplicateRegistrationError", "Feature", "Form", "FrozenFunctionGraph",
    "FunctionGraph", "GraphAttributeError", "GraphError", "GraphPage", "GraphTypeError", "GraphValueError",
    "HasDataType", "HasInnerGraph", "HasShape", "History", "IfElse", "InconsistencyError", "Infix", "Linked",
    "LoweringError", "LoweringTable", "MethodNotDefinedError", "MissingInputError", "NoOutputFromInplace",
    "NoOutputInplaceOnInput", "NodeArithmeticError", "NodeError", "NodeFinder", "NodeIndexError", "NodeMemoryError",
    "NodeTypeError", "NodeValueError", "NominalVariable", "NullType", "Op", "Operand", "Output", "PluginLoader",
    "Precedence", "Prefix", "PreserveNames", "PreserveVariableAttributes", "Print", "ReplaceValidate",
    "ReplacementDidNotRemoveError", "Roots", "ScratchPad", "ShapeFeature", "ShapeInferenceError", "SharedVariable",
    "Supervisor", "SymbolicShape", "TestValueError", "ThunkType", "TreeForm", "Type", "Unsupported", "UserLine",
    "Validator", "Value", "Variable", "VectorizeError", "Vectorizer", "VectorizerTable", "ViewOp", "ancestors",
    "apply_ancestors", "apply_depends_on", "applys_between", "as_count", "as_flag", "as_index", "as_list", "as_string",
    "call_infer_shape", "carried", "check_name", "clone", "clone_get_equiv", "clone_node_and_cache", "clone_replace",
    "compile_inner", "composed", "composing", "compute_test_value", "connections", "current_scope", "d3viz",
    "debugprint", "deep_copy_op", "default_node_formatter", "digest", "dot_text", "dprint", "early_nodes", "encode",
    "encode_dataclass", "equal_computations", "expand", "explicit_graph_inputs", "foreign_code", "general_toposort",
    "get_test_value", "get_test_values", "get_var_by_name", "graph_inputs", "graph_key", "graph_replace",
    "html_comparison", "html_fragment", "html_page", "inplace_candidates", "io_connection_pattern", "io_toposort",
    "is_composing", "is_in_ancestors", "is_thunk_type", "is_tree", "latex", "let_go", "made_thunk", "may_use_input",
    "memory_roots",
    "missing_test_message", "name_scope", "new_serial", "node_at", "node_error", "note_op", "op_as_string",
    "order_nodes",
    "origins", "orphans_between", "overwritten_arguments", "perform_early", "pp", "pprint", "prepare", "printing",
    "pydotprint", "raise_node_error", "reading_order", "reduce_by_place", "register_tree_node", "retell", "roots_of",
    "serialization", "settle", "shared", "shared_constructor", "static_op", "tagged", "toposort",
    "toposort_with_orderings", "tracing", "tree_flatten", "tree_leaves", "tree_map", "tree_unflatten",
    "truncated_graph_inputs",
    "user_line", "variable_ancestors", "variable_depends_on", "vars_between", "vectorize_graph", "vectorize_node",
    "view_op", "walk", "walk_toposort", "write_html",
]  # fmt: skip

_upward.wire(
    debugprint=_lazy_module("treadle.graph.printing"),
    latex=_lazy_module("treadle.graph.printing"),
    GraphPage=_lazy_module("treadle.graph.html"),
)

if TYPE_CHECKING:
    __version__: str
else:
    __getattr__ = versioned_names(
        __name__,
        "graph-core",
        {
            "treadle.graph.algorithms.equality": "equal_computations graph_key",
            "treadle.graph.ops.branches": "Block Branching",
            "treadle.graph.ops.ifelse": "IfElse",
            "treadle.graph.ops.partial": "ChangesPart",
            "treadle.graph.algorithms.connections": "connections io_connection_pattern",
            "treadle.graph.algorithms.early": "early_nodes foreign_code perform_early",
            "treadle.graph.algorithms.memory": "Roots may_use_input memory_roots overwritten_arguments roots_of",
            "treadle.graph.fgraph.abstract_graph": "AbstractFunctionGraph",
            "treadle.graph.fgraph.features": (
                "AlreadyThere Bookkeeper Feature History NodeFinder NoOutputFromInplace NoOutputInplaceOnInput "
                "PreserveNames PreserveVariableAttributes ReplacementDidNotRemoveError ReplaceValidate ShapeFeature "
                "Supervisor Validator"
            ),
            "treadle.graph.fgraph.features.destroy_handler": "DestroyHandler inplace_candidates",
            "treadle.graph.fgraph.features.shapes": "call_infer_shape",
            "treadle.graph.fgraph.frozen_graph": "FrozenFunctionGraph",
            "treadle.graph.fgraph.function_graph": "FunctionGraph",
            "treadle.graph.fgraph.structure": "Output",
            "treadle.graph.html": "GraphPage d3viz html_comparison html_fragment html_page write_html",
            "treadle.graph.ir.trees": (
                "TreeForm is_tree register_tree_node tree_flatten tree_leaves tree_map tree_unflatten"
            ),
            "treadle.graph.lowering": "LoweringTable Unsupported expand",
            "treadle.graph.ops.print_op": "Print",
            "treadle.graph.printing": (
                "as_string debugprint default_node_formatter dot_text dprint latex op_as_string pp pprint printing "
                "pydotprint"
            ),
            "treadle.graph.vectorization": "VECTORIZERS Vectorizer VectorizerTable vectorize_graph vectorize_node",
        },
    )

# Other distributions may bring modules of the package.
__path__ = package_folders(__name__)
