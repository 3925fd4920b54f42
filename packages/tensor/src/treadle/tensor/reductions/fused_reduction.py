"""FusedReduction: elementwise steps, some of whose results are reduced over axes as they are made."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np

from treadle.graph import Form, Variable, static_op
from treadle.tensor.elementwise.composite import Composite
from treadle.tensor.elementwise.elemwise import Elemwise
from treadle.tensor.errors import DtypeError, TensorTypeError
from treadle.tensor.ops.tensor_op import Derivatives, TensorOp, Variables
from treadle.tensor.shapes.batch_dims import aligned, most_batch
from treadle.tensor.shapes.broadcasting import broadcast_static
from treadle.tensor.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import Apply, Type
    from treadle.tensor.elementwise.scalar_op import ScalarOp
    from treadle.tensor.reductions.reduction import Reduction
    from treadle.tensor.shape_inference.symbolic_shapes import Length, SymbolicShapes
    from treadle.tensor.variables.variable import TensorNode, TensorVariable

__all__ = ["FusedReduction"]


@static_op
class FusedReduction(TensorOp):
    """A composite of elementwise functions, and reductions of its results, which are never stored as a whole.

    Fusion makes such nodes; they have no gradient.

    Parameters
    ----------
    composite
        The elementwise functions. Inputs are broadcast as `Elemwise` does; all have one rank.
    reductions
        For each result of the composite how it is reduced, or None where it is stored. All are over the same axes.
    """

    composite: Composite
    reductions: tuple[Reduction | None, ...]

    @property
    def axes(self) -> tuple[int, ...]:
        """The axes that are reduced."""
        return next(r.axes for r in self.reductions if r is not None)

    @property
    def elementwise(self) -> Elemwise:
        """The functions without the reductions."""
        return Elemwise(self.composite)

    @property
    def scalar_ops(self) -> tuple[ScalarOp, ...]:
        """The elementwise functions, step by step."""
        return self.elementwise.scalar_ops

    def parts(self, node: Apply) -> tuple[TensorNode, tuple[TensorNode | None, ...]]:
        """Return nodes that compute the same one after another: the functions, and the reduction of each result."""
        elements: TensorNode = self.elementwise.make_node(*node.inputs)  # type: ignore[assignment]  # makes tensors
        pairs = zip(elements.outputs, self.reductions, strict=True)
        return elements, tuple(None if r is None else r.make_node(x) for x, r in pairs)  # type: ignore[misc]  # as above

    def decompose(self, *inputs: Variable) -> Sequence[Variable]:
        """Return the functions, and the reductions of their results."""
        values = self.elementwise.make_node(*inputs).outputs
        return [x if r is None else r(x) for x, r in zip(values, self.reductions, strict=True)]

    def infer(self, *types: Type) -> Sequence[Type]:
        """Return the type of each result, reduced or stored.

        Raises
        ------
        TensorTypeError
            If the reductions do not fit the composite, or the inputs' ranks differ.
        """
        kinds: list[Any] = list(types)
        over = {r.axes for r in self.reductions if r is not None}
        if len(over) != 1 or len(self.reductions) != len(self.composite.outputs):
            msg = (
                f"{self}: one reduction or None is needed for each result, over one set of axes, got {over or 'none'}."
            )
            raise TensorTypeError(msg)
        if len(kinds) != self.composite.nin or len({t.ndim for t in kinds}) > 1:
            ranks = ", ".join(map(str, kinds))
            msg = f"{self}: {self.composite.nin} inputs of one rank are needed, got {ranks}."
            raise TensorTypeError(msg)
        shape = broadcast_static(str(self), [t.shape for t in kinds])
        dtypes = self.composite.value_dtypes
        stored = [TensorType(dtypes[i], shape) for i in self.composite.outputs]
        pairs = zip(stored, self.reductions, strict=True)
        return [kind if reduction is None else reduction.infer(kind)[0] for kind, reduction in pairs]

    def perform(self, node: Apply, inputs: Sequence[np.ndarray], output_storage: Sequence[list[np.ndarray]]) -> None:
        """Compute the steps with NumPy, then reduce."""
        shape = np.broadcast_shapes(*(x.shape for x in inputs))
        results = self.composite.results(inputs)
        for cell, value, reduction in zip(output_storage, results, self.reductions, strict=True):
            elements = np.broadcast_to(value, shape)
            cell[0] = np.array(elements) if reduction is None else reduction.apply(elements)

    def blame(self, node: Apply, values: Sequence[np.ndarray]) -> Apply | None:
        """Return the original node at fault, where shapes clash."""
        return self.elementwise.blame(node, values)

    def symbolic_shape(self, node: Apply, out: Variable, shapes: SymbolicShapes) -> Sequence[Length | None]:
        """Return the lengths of what is stored; what is reduced lacks the axes."""
        lengths = self.elementwise.symbolic_shape(node, out, shapes)
        is_stored = self.reductions[node.outputs.index(out)] is None
        return lengths if is_stored else [n for d, n in enumerate(lengths) if d not in self.axes]

    def vectorize_node(self, node: TensorNode, *inputs: TensorVariable) -> Apply:
        """Shift the axes behind the batch."""
        pairs = list(zip(node.inputs, inputs, strict=True))
        batch = most_batch(pairs)
        reductions = tuple(
            None if r is None else dataclasses.replace(r, axes=tuple(axis + batch for axis in r.axes))
            for r in self.reductions
        )
        fused = FusedReduction(self.composite, reductions)
        return fused.make_node(*(aligned(old, new, batch) for old, new in pairs))

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> Derivatives:
        """Refuse: differentiate before fusion.

        Through `decompose`: a gradient of what rewriting fused, without the rules that gradients are rewritten by.
        """
        msg = f"{self}: a fused node has no gradient. Differentiate before compiling."
        raise DtypeError(msg)

    def printed_form(self, node: Apply) -> Sequence[Form]:
        """Write the formulas that the node stands for."""
        elements, reduced = self.parts(node)
        results = zip(elements.outputs, reduced, strict=True)
        return [Form.like(out if reduction is None else reduction.outputs[0]) for out, reduction in results]

    def __str__(self) -> str:
        reductions = ", ".join("stored" if r is None else str(r) for r in self.reductions)
        return f"Fused[{self.composite}]({reductions})"
