"""SymbolicOp: an op whose graph follows from its parameters and the types of its inputs; and graphs of ops, apart."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any, ClassVar

from treadle.config import text_of
from treadle.graph import (
    Constant,
    FunctionGraph,
    GraphTypeError,
    MethodNotDefinedError,
    MissingInputError,
    NominalVariable,
    SharedVariable,
    Variable,
    as_flag,
    graph_inputs,
    graph_replace,
    reading_order,
    toposort,
)
from treadle.tensor.arguments.values import as_items
from treadle.tensor.embedding.from_graph import OpFromGraph
from treadle.tensor.shape_inference.symbolic_shapes import SymbolicShapes
from treadle.tensor.shapes.shape import LENGTH, ShapeI
from treadle.tensor.types.conversion import as_tensor_variable, constant
from treadle.tensor.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from treadle.graph import Apply
    from treadle.tensor.variables.variable import TensorVariable

__all__ = ["SymbolicOp", "construct_nominal_fgraph"]


class SymbolicOp(OpFromGraph):
    """An op made of a graph that it builds itself, for the inputs that it is applied to.

    A subclass names its parameters in ``__props__``, sets them before it calls ``super().__init__()``, and implements
    `build_inner_graph`. Two nodes have equal ops if the classes, the parameters and the graphs are equal.

    Parameters
    ----------
    inline, name
        As for `OpFromGraph`; the name is that of the class if None.
    kwargs
        Derivatives and the connection pattern, as for `OpFromGraph`.

    Examples
    --------
    >>> from treadle.tensor import SymbolicOp, dvector
    >>> class Power(SymbolicOp):
    ...     __props__ = ("exponent",)
    ...
    ...     def __init__(self, exponent):
    ...         self.exponent = exponent
    ...         super().__init__()
    ...
    ...     def build_inner_graph(self, x):
    ...         return [x**self.exponent]
    >>> x = dvector("x")
    >>> Power(3)(x).eval({x: [1.0, 2.0]}).tolist()
    [1.0, 8.0]
    """

    __props__: ClassVar[tuple[str, ...] | None] = ()
    _built: bool = False

    def __init__(self, *, inline: bool = False, name: str | None = None, **kwargs: Any) -> None:
        self.name = type(self).__name__ if name is None else name
        self.is_inline = as_flag("SymbolicOp: inline", inline)
        self._options = kwargs

    def build_inner_graph(self, *inputs: Any) -> Variable | Sequence[Variable]:
        """Return the outputs for these inputs, which have the types of those that the op is applied to."""
        msg = f"{type(self).__name__}: the op defines no graph. Implement build_inner_graph(*inputs)."
        raise MethodNotDefinedError(msg)

    def make_node(self, *inputs: Any) -> Apply:
        """Return a node of the op with its graph, rebuilt for inputs of other types."""
        variables = [x if isinstance(x, Variable) else as_tensor_variable(x) for x in inputs]
        if self._built and self._takes(variables):
            return super().make_node(*variables)
        inner = [x.type.make_variable(x.name) for x in variables]
        built = self.build_inner_graph(*inner)
        outs = [built] if isinstance(built, Variable) else list(built)
        op = copy(self)
        for derived in ("_canonical", "_fn", "_gradients", "_hash", "_pattern"):
            op.__dict__.pop(derived, None)
        OpFromGraph.__init__(op, inner, outs, inline=self.is_inline, name=self.name, **self._options)
        op._built = True
        return OpFromGraph.make_node(op, *variables)

    def _takes(self, variables: Sequence[Variable]) -> bool:
        types = [x.type for x in self.fgraph.inputs]
        return len(variables) in {len(types), self.explicit_count} and all(
            kind == x.type for kind, x in zip(types, variables, strict=False)
        )

    def _parameter_names(self) -> Sequence[str]:
        own = type(self).__props__ or ()
        return (*own, *(OpFromGraph.__props__ or ())) if self._built else (*own, "is_inline", "name")

    def __str__(self) -> str:
        parameters = ", ".join(f"{name}={getattr(self, name)!r}" for name in type(self).__props__ or ())
        return f"{self.name}{{{parameters}}}"

    __repr__ = __str__


def construct_nominal_fgraph(
    inputs: Sequence[Variable], outputs: Sequence[Variable]
) -> tuple[FunctionGraph, list[SharedVariable], dict[Variable, Variable], dict[Variable, Variable]]:
    """Return a graph as one of an op, between nominal variables.

    Parameters
    ----------
    inputs, outputs
        The graph; shared variables that it needs are inputs after these.

    Returns
    -------
    The graph, the shared variables, and two empty dictionaries: the older form has the updates of these there.

    Raises
    ------
    GraphTypeError
        If something else than variables is given.
    MissingInputError
        If an output needs a variable that is not an input.
    """
    inputs, outputs = _variables("inputs", inputs), _variables("outputs", outputs)
    known = set(inputs)
    shared: dict[SharedVariable, None] = {}
    roots = (var for var in reading_order(outputs, inputs) if var.owner is None)
    for var in roots:
        if isinstance(var, SharedVariable) and var not in known:
            shared[var] = None
        elif var not in known and not isinstance(var, Constant):
            msg = f"construct_nominal_fgraph: the outputs need {var} of type {var.type}. Add it to the inputs."
            raise MissingInputError(msg)
    all_inputs = [*inputs, *shared]
    nominal = [NominalVariable(i, var.type) for i, var in enumerate(all_inputs)]
    replaced = graph_replace(list(outputs), dict(zip(all_inputs, nominal, strict=True)), strict=False)
    return FunctionGraph(nominal, replaced, clone=False), list(shared), {}, {}


def _variables(what: str, items: Iterable[object]) -> list[Variable]:
    """Return an argument of construct_nominal_fgraph as a list of variables."""
    variables: list[Variable] = []
    for item in as_items(f"construct_nominal_fgraph: {what}", items):
        if not isinstance(item, Variable):
            msg = f"construct_nominal_fgraph: {what} must be variables, got {text_of(item)} among them. Pass variables."
            raise GraphTypeError(msg)
        variables.append(item)
    return variables


def infer_shape(
    outs: Sequence[Variable], inputs: Sequence[Variable], input_shapes: Sequence[Sequence[Any] | None]
) -> list[tuple[TensorVariable, ...] | None]:
    """Return the shapes of outputs as expressions of the shapes of inputs.

    A shape is a sequence of int64 scalars, None for what has no shape. A length that depends on values is that of the
    output.

    Examples
    --------
    >>> x = tt.dmatrix("x")
    >>> [[int(n.eval()) for n in shape] for shape in treadle.compile.infer_shape([x.T], [x], [(2, 3)])]
    [[3, 2]]
    """
    if len(inputs) != len(input_shapes):
        msg = f"infer_shape: there are {len(inputs)} inputs, got {text_of(input_shapes)}. Give a shape for each."
        raise GraphTypeError(msg)
    known = set(inputs)
    others = [x for x in graph_inputs(outs, inputs) if x not in known and not isinstance(x, Constant)]
    every = [*inputs, *dict.fromkeys(others)]
    fgraph = FunctionGraph(every, list(outs), clone=True)
    shapes = SymbolicShapes()
    fgraph.attach_feature(shapes)
    replaced: dict[Variable, Variable] = dict(zip(fgraph.inputs, every, strict=True))
    known_shapes = {x: list(shape) for x, shape in zip(fgraph.inputs, input_shapes, strict=False) if shape is not None}
    results: list[tuple[TensorVariable, ...] | None] = []
    for out, new in zip(outs, fgraph.outputs, strict=True):
        if not isinstance(out.type, TensorType):
            results.append(None)
            continue
        lengths: list[Any] = []
        for d, n in enumerate(out.type.shape):
            length = constant(n, dtype=LENGTH) if n is not None else shapes.variable(shapes.of(new)[d], fgraph)
            if length is None:
                lengths.append(ShapeI(d)(out))
                continue
            read = {
                node.outputs[0]: as_tensor_variable(known_shapes[node.inputs[0]][node.op.axis])
                for node in toposort([length])
                if isinstance(node.op, ShapeI) and node.inputs[0] in known_shapes
            }
            lengths.append(graph_replace(length, {**replaced, **read}, strict=False))
        results.append(tuple(lengths))
    return results
