"""The further names of treadle's packages, by the modules that they come from."""

NAMES = {
    "treadle.graph": {
        "treadle.surface.full_history": "FullHistory HistoryEntry",
        "treadle.rewrite": "RewriteDatabaseQuery graph_rewriter node_rewriter rewrite_graph",
    },
    "treadle.link.vm": {
        "treadle.surface.thunks": (
            "Container JITLinker Linker LocalLinker Loop PerformLinker Stack StorageMap ThunkProgram UpdatingVM VM "
            "VMLinker WrapLinker WrapLinkerMany calculate_reallocate_info map_storage"
        ),
    },
    "treadle.rewrite": {
        "treadle.surface.rewriters": (
            "FromFunctionGraphRewriter FromFunctionNodeRewriter LocalGroupDB MetaNodeRewriter PatternNodeRewriter "
            "ProxyDB RemovalNodeRewriter SequentialNodeRewriter SubstitutionNodeRewriter TopoDB WalkingGraphRewriter "
            "check_stack_trace copy_stack_trace get_clients_at_depth graph_rewriter in2out inplace_graph_rewriter "
            "node_rewriter out2in rewrite_subgraph walking_rewriter"
        ),
    },
    "treadle.tensor": {
        "treadle.surface.ops.op_names": (
            "All Any_ Argmax Argmin BinaryScalarOp CAReduce CumOp Max Min Prod Sum UnaryScalarOp"
        ),
        "treadle.surface.values.scalar_values": (
            "ScalarConstant ScalarFromTensor ScalarType ScalarVariable TensorFromScalar as_scalar get_scalar_type "
            "scalar_from_tensor tensor_from_scalar"
        ),
    },
}
