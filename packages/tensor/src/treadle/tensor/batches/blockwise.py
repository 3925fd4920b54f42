"""Blockwise: an op applied along leading dimensions, the batch, which broadcast as those of NumPy's gufuncs do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treadle.config import text_of
from treadle.graph import (
    VECTORIZERS,
    Apply,
    Constant,
    Form,
    GraphTypeError,
    Op,
    Variable,
    VectorizeError,
    call_infer_shape,
    variable_depends_on,
    vectorize_graph,
)
from treadle.tensor.arguments.signatures import parse_gufunc_signature, safe_signature
from treadle.tensor.batches.batching import broadcast_length, complete
from treadle.tensor.errors import ShapeError, TensorTypeError
from treadle.tensor.ops.tensor_op import Derivatives, TensorOp, Variables
from treadle.tensor.shapes.batch_dims import aligned, most_batch
from treadle.tensor.shapes.broadcasting import broadcast_static, sum_to
from treadle.tensor.shapes.dimshuffle import shape_padleft
from treadle.tensor.shapes.shape import ShapeI, as_lengths
from treadle.tensor.types.conversion import tensors
from treadle.tensor.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import Cell, SymbolicShape, Value
    from treadle.tensor.arguments.signatures import Core
    from treadle.tensor.variables.variable import TensorLike, TensorNode, TensorVariable

__all__ = ["Blockwise"]


class Blockwise(TensorOp):
    """A core op applied to each part of its inputs along leading dimensions.

    Where the core op, or what it is made of, takes batches itself, a rule puts that in place of the loop, and so does
    every backend. Otherwise the program loops over the batch in Python.

    Parameters
    ----------
    core_op
        The op.
    signature
        Core dimensions, such as ``(m,n),(n)->(m)``; that of the op, ``core_op.gufunc_signature``, if None.
    name
        Shown when printed.

    Raises
    ------
    GraphTypeError
        If `core_op` is not an op.
    ShapeError
        If there is no signature, or it is not one.

    Examples
    --------
    >>> from treadle.tensor import Blockwise, dtensor3
    >>> from treadle.tensor import Join
    >>> both = Blockwise(Join(0), "(m,n),(k,n)->(l,n)")
    >>> both(dtensor3("x"), dtensor3("y")).type
    TensorType(float64, shape=(?, ?, ?))
    """

    __props__ = ("core_op", "signature")
    __match_args__ = ("core_op", "signature")

    def __init__(self, core_op: Op, signature: str | None = None, name: str | None = None) -> None:
        op: object = core_op
        if not isinstance(op, Op) or isinstance(op, Blockwise):
            msg = f"Blockwise: core_op must be an op, and no Blockwise, got {text_of(op)}. Pass one."
            raise GraphTypeError(msg)
        stated = getattr(core_op, "gufunc_signature", None) if signature is None else signature
        if stated is None:
            msg = f"Blockwise: {core_op} has no gufunc_signature. Pass a signature, such as '(m,n),(n)->(m)'."
            raise ShapeError(msg)
        self.core_op = core_op
        self.signature: str = stated
        self.inputs_sig, self.outputs_sig = parse_gufunc_signature(stated)
        self.name = name

    # Building

    def batch_ndim(self, node: Apply) -> int:
        """Return the rank of the batch of a node of this op."""
        return tensors(node.outputs)[0].ndim - len(self.outputs_sig[0])

    def make_node(self, *inputs: TensorLike) -> TensorNode:
        """Return the node; batch dimensions that an input lacks are put in front, with length 1.

        Raises
        ------
        TensorTypeError
            If an input has fewer dimensions than its core, or their number is wrong.
        ShapeError
            If lengths that are known differ where the signature has one name.
        """
        tensors_ = [self.as_input(x) for x in inputs]
        if len(tensors_) != len(self.inputs_sig):
            msg = f"{self}: {len(self.inputs_sig)} inputs are needed, got {len(tensors_)}. Pass one for each core."
            raise TensorTypeError(msg)
        for x, core in zip(tensors_, self.inputs_sig, strict=True):
            if x.ndim < len(core):
                msg = f"{self}: {x} of type {x.type} has fewer dimensions than its core ({', '.join(core)}). Add some."
                raise TensorTypeError(msg)
        batch = max((x.ndim - len(core) for x, core in zip(tensors_, self.inputs_sig, strict=True)), default=0)
        wide = [shape_padleft(x, batch - x.ndim + len(core)) for x, core in zip(tensors_, self.inputs_sig, strict=True)]
        self._check_cores([x.type.shape[batch:] for x in wide])
        leading = broadcast_static(f"{self}: the batch", [x.type.shape[:batch] for x in wide])
        inner = self._core_node(tensors_)
        if len(inner.outputs) != len(self.outputs_sig):
            msg = f"{self}: the core op has {len(inner.outputs)} outputs, the signature {len(self.outputs_sig)}. Agree."
            raise ShapeError(msg)
        outputs = [
            TensorType(t.type.dtype, (*leading, *self._core_shape(core, t.type.shape))).make_variable()
            for core, t in zip(self.outputs_sig, inner.outputs, strict=True)
        ]
        return Apply(self, wide, outputs)

    def _core_shape(self, core: Core, shape: tuple[int | None, ...]) -> tuple[int | None, ...]:
        """Return the static shape of a core result, in which numbers in the signature are lengths, checked."""
        stated = [int(name) if name.isdecimal() else None for name in core]
        if len(stated) != len(shape) or any(None not in {n, m} and n != m for n, m in zip(stated, shape, strict=True)):
            msg = f"{self}: the core op makes a result of shape {shape} for ({', '.join(core)}). Make them agree."
            raise ShapeError(msg)
        return tuple(m if n is None else n for n, m in zip(stated, shape, strict=True))

    def _check_cores(self, shapes: Sequence[tuple[int | None, ...]]) -> None:
        """Refuse lengths that differ where the signature has one name."""
        known: dict[str, int] = {}
        for shape, core in zip(shapes, self.inputs_sig, strict=True):
            for name, n in zip(core, shape, strict=True):
                stated = int(name) if name.isdecimal() else n
                if n is not None and stated is not None and known.setdefault(name, stated) != n:
                    msg = f"core dimension {name} of {self.signature} has lengths {known[name]} and {n}"
                    raise ShapeError(msg)

    def _core_node(self, inputs: Sequence[TensorVariable]) -> TensorNode:
        """Return a node of the core op, on variables of the types of cores; a constant core stays one."""
        return self.core_op.make_node(*map(_core, inputs, self.inputs_sig))  # type: ignore[return-value]  # of tensors

    # Computing

    def perform(self, node: Apply, inputs: Sequence[Value], output_storage: Sequence[Cell]) -> None:
        """Compute one part of the batch after another."""
        batch = self.batch_ndim(node)
        leading = np.broadcast_shapes(*(x.shape[:batch] for x in inputs))
        wide = [np.broadcast_to(x, (*leading, *x.shape[batch:])) for x in inputs]
        self._check_cores([x.shape[batch:] for x in wide])
        core = self._core_node(tensors(node.inputs))
        parts = [[x[at] for x in wide] for at in np.ndindex(*leading)]
        # The lengths of an empty batch's parts are those of what comes of ones.
        computed = [self._part(core, part) for part in parts or [[np.ones(x.shape[batch:], x.dtype) for x in wide]]]
        for cell, results in zip(output_storage, zip(*computed, strict=True), strict=True):
            cell[0] = np.stack(results)[: len(parts)].reshape((*leading, *results[0].shape))

    def _part(self, core: TensorNode, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Apply the core op to one part of the batch."""
        cells: list[Cell] = [[None] for _ in core.outputs]
        self.core_op.perform(core, [np.array(x) for x in inputs], cells)
        return [np.asarray(cell[0], out.type.dtype) for cell, out in zip(cells, core.outputs, strict=True)]

    def infer_shape(self, node: Apply, shapes: Sequence[SymbolicShape | None]) -> Sequence[SymbolicShape | None]:
        """Return the batch's lengths, then those of the cores: from the signature, or from the core op.

        A length that neither gives is that of the result.
        """
        batch = self.batch_ndim(node)
        by_name: dict[str, Variable | int] = {
            name: n
            for core, shape in zip(self.inputs_sig, shapes, strict=True)
            for name, n in zip(core, () if shape is None else shape[batch:], strict=False)
        }
        names = {name for core in self.outputs_sig for name in core}
        by_name.update((name, int(name)) for name in names if name.isdecimal())
        known_shapes = [shape for shape in shapes if shape is not None]
        leading = [broadcast_length(as_lengths(str(self), [n[d] for n in known_shapes])) for d in range(batch)]
        cores = [None] * len(node.outputs) if names <= by_name.keys() else self._core_shapes(node, shapes)
        result: list[SymbolicShape | None] = []
        for out, core, known in zip(node.outputs, self.outputs_sig, cores, strict=True):
            own = [by_name.get(name) for name in core] if known is None else list(known)
            result.append((*leading, *(ShapeI(batch + d)(out) if n is None else n for d, n in enumerate(own))))
        return result

    def _core_shapes(self, node: Apply, shapes: Sequence[SymbolicShape | None]) -> Sequence[SymbolicShape | None]:
        """Return what the core op's own infer_shape says of its results, where that follows from shapes alone."""
        batch, core = self.batch_ndim(node), self._core_node(tensors(node.inputs))
        stated = None
        if type(self.core_op).infer_shape is not Op.infer_shape:
            own = [None if shape is None else tuple(shape[batch:]) for shape in shapes]
            stated = call_infer_shape(self.core_op.infer_shape, None, core, own)
        parts = set(core.inputs)
        return [
            None
            if shape is None or any(isinstance(n, Variable) and variable_depends_on(n, parts) for n in shape)
            else shape
            for shape in stated or [None] * len(core.outputs)
        ]

    def decompose(self, *inputs: Variable) -> Sequence[Variable] | None:
        """Apply the core op to the whole batch, if it takes batches itself."""
        operands = tensors(inputs)
        core = self._core_node(operands)
        if VECTORIZERS.find(self.core_op) is None:
            return None
        try:
            outputs = vectorize_graph(core.outputs, dict(zip(core.inputs, operands, strict=True)))
        except VectorizeError:
            return None
        # An op may take some batches itself, and have others applied one by one.
        node = outputs[0].owner
        return None if node is not None and getattr(node.op, "core_op", None) == self.core_op else outputs

    # Derivatives and batches

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Return the core op's."""
        return self.core_op.connection_pattern(self._core_node(tensors(node.inputs)))

    def influence_pattern(self, node: Apply) -> list[list[bool]] | None:
        """Return the core op's."""
        return self.core_op.influence_pattern(self._core_node(tensors(node.inputs)))

    def undefined_derivatives(self, node: Apply) -> list[list[str | None]] | None:
        """Return the core op's."""
        if type(self.core_op).undefined_derivatives is Op.undefined_derivatives:
            return None
        return self.core_op.undefined_derivatives(self._core_node(tensors(node.inputs)))

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> Derivatives:
        """Apply the core op's derivative to the batch, and sum over what was broadcast.

        Through `decompose`: only where the core op takes batches; this is the rule for those that do not.
        """
        operands = tensors(inputs)
        core = self._core_node(operands)
        stand_ins = [
            ct if not isinstance(ct.type, TensorType) else out.type.make_variable()
            for ct, out in zip(cotangents, core.outputs, strict=True)
        ]
        terms = self.core_op.pullback(core.inputs, core.outputs, stand_ins)
        batched: dict[Variable, Variable] = dict(zip(core.inputs, operands, strict=True))
        batched.update((own, ct) for own, ct in zip(stand_ins, cotangents, strict=True) if own is not ct)
        gradients: list[Variable | None] = []
        for x, term in zip(operands, terms, strict=True):
            if term is None or not isinstance(term.type, TensorType):
                gradients.append(term)
                continue
            # A term that does not depend on the batch is the same for all of it.
            gradients.append(sum_to(_over_batch(term, batched), x))
        return gradients

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Derivatives) -> Derivatives:
        """Apply the core op's derivative to the batch.

        Through `decompose`: only where the core op takes batches; this is the rule for those that do not.
        """
        operands = tensors(inputs)
        core = self._core_node(operands)
        stand_ins = [
            t if t is None or not isinstance(t.type, TensorType) else x.type.make_variable()
            for t, x in zip(tangents, core.inputs, strict=True)
        ]
        terms = self.core_op.pushforward(core.inputs, core.outputs, stand_ins)
        batched: dict[Variable, Variable] = dict(zip(core.inputs, operands, strict=True))
        moving = zip(stand_ins, tangents, strict=True)
        batched.update((own, t) for own, t in moving if own is not None and t is not None and own is not t)
        return [
            term if term is None or not isinstance(term.type, TensorType) else _over_batch(term, batched)
            for term in terms
        ]

    def vectorize_node(self, node: TensorNode, *inputs: TensorVariable) -> TensorNode:
        """Return the same op on a larger batch."""
        pairs = zip(node.inputs, inputs, strict=True)
        batch = most_batch(zip(node.inputs, inputs, strict=True))
        return self.make_node(*(aligned(old, new, batch) for old, new in pairs))

    def printed_form(self, node: Apply) -> Form:
        """Write ``op(x)``."""
        return Form.call(str(self), node.inputs)

    def __str__(self) -> str:
        return f"Blockwise{{{self.name or self.core_op}, {self.signature}}}"

    __repr__ = __str__


def _over_batch(term: Variable, batched: dict[Variable, Variable]) -> TensorVariable:
    """Return a term for each part of the batch: one that does not depend on the batch is the same for all of it."""
    pairs = list(zip(tensors(list(batched)), tensors(list(batched.values())), strict=True))
    return complete(tensors([term])[0], tensors([vectorize_graph(term, batched)])[0], pairs)


def _core(x: TensorVariable, core: Core) -> TensorVariable:
    if x.ndim == len(core) and isinstance(x, Constant):
        return x
    core_variable: TensorVariable = TensorType(x.type.dtype, x.type.shape[x.ndim - len(core) :]).make_variable(x.name)
    return core_variable


def in_a_loop(op: Op, node: TensorNode, *inputs: TensorVariable) -> Apply:
    """Apply an op without a rule for batches to one part after another."""
    ranks = [[x.ndim for x in side] for side in (node.inputs, node.outputs)]
    return Blockwise(op, safe_signature(*ranks)).make_node(*inputs)
