"""Elemwise: a scalar function applied to every element, with NumPy's broadcasting; and its fused form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from functools import reduce
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, cast, overload

import numpy as np

from treadle.config import config, text_of
from treadle.graph import Apply, Constant, Form, NullType, Op, Variable, static_op
from treadle.tensor.elementwise.body_derivatives import pulled_through_body, pushed_through_body
from treadle.tensor.elementwise.composite import Composite, Step
from treadle.tensor.elementwise.description import describe_each
from treadle.tensor.elementwise.memory import filling, owned
from treadle.tensor.elementwise.scalar_op import SCALAR_OPS, ScalarOp
from treadle.tensor.errors import DtypeError, TensorTypeError
from treadle.tensor.ops.known_values import aligned
from treadle.tensor.ops.tensor_op import Derivatives, TensorOp, Variables
from treadle.tensor.shapes.broadcasting import broadcast_static, sum_to, zeros_like
from treadle.tensor.shapes.dimshuffle import DimShuffle, shape_padleft
from treadle.tensor.types.conversion import as_tensor_variable, constant, cotangent_of, zero_not_refused
from treadle.tensor.types.policy import narrowed, operands_follow_policy
from treadle.tensor.types.tensor_type import DTYPE_NAMES, TensorType
from treadle.tensor.upward import upward

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from treadle.graph import Type
    from treadle.tensor.elementwise.composite import Takes
    from treadle.tensor.elementwise.scalar_op import Body
    from treadle.tensor.ops.known_values import Known
    from treadle.tensor.shape_inference.symbolic_shapes import Length, SymbolicShapes
    from treadle.tensor.types.dtype_rules import Dtype, Operand
    from treadle.tensor.variables.variable import AxisLike, TensorLike, TensorNode, TensorVariable

P = ParamSpec("P")


def never_broadcasts(x: TensorVariable) -> bool:
    """Whether a tensor never broadcasts another, whatever the inputs become: a scalar, or a constant of one element."""
    if isinstance(x, Constant):
        return bool(x.data.size == 1)
    return x.ndim == 0 or (x.owner is not None and isinstance(x.owner.op, DimShuffle) and x.owner.inputs[0].ndim == 0)


def _python_number(var: Variable) -> Any:
    """Return the Python number that an operand was given as, None if it was given otherwise."""
    if var.owner is not None and isinstance(var.owner.op, DimShuffle):
        var = var.owner.inputs[0]
    return getattr(var.tag, "python_number", None) if isinstance(var, Constant) else None


def _as_broadcast(inputs: Sequence[Variable]) -> list[Variable]:
    """Return operands without the dimensions in front that broadcasting adds: some operand must have them itself."""
    padded = [
        x.owner is not None and isinstance(x.owner.op, DimShuffle) and x.owner.op.adds_in_front_only for x in inputs
    ]
    if all(padded):
        return list(inputs)
    return [x.owner.inputs[0] if p and x.owner is not None else x for x, p in zip(inputs, padded, strict=True)]


def _unfused(scalar: Composite, node: Apply, operands: Sequence[Variable]) -> list[Variable]:
    """Return the outputs of a composite's node as a graph of single functions, to be printed."""
    values = [*operands, *(constant(number, dtype=dtype) for number, dtype in scalar.constants)]
    shape = getattr(node.outputs[0].type, "shape", ())
    for step in scalar.steps:
        single = Apply(
            Elemwise(step.scalar_op), [values[i] for i in step.args], [TensorType(step.out, shape).make_variable()]
        )
        values.append(single.outputs[0])
    return [values[i] for i in scalar.outputs]


def _checked_pattern(scalar_op: ScalarOp | Composite, pattern: object) -> Mapping[int, int]:
    """Return which input each output may take the place of; refuse what names none."""
    nout = len(scalar_op.outputs) if isinstance(scalar_op, Composite) else 1
    if not isinstance(pattern, Mapping) or not all(
        o in range(nout) and i in range(scalar_op.nin) for o, i in pattern.items()
    ):
        msg = (
            f"Elemwise: inplace_pattern must give for outputs, of which there are {nout}, one of {scalar_op.nin} "
            f"inputs, got {text_of(pattern)}. Pass a dictionary such as {{0: 0}}."
        )
        raise TensorTypeError(msg)
    return pattern


@static_op
class Elemwise(TensorOp):
    """A scalar function applied elementwise.

    Inputs are broadcast as NumPy does, at run time too: an unknown dimension may turn out to be 1.

    Parameters
    ----------
    scalar_op
        The function: a scalar op, or a composite of scalar ops.
    inplace_pattern
        For outputs, the input whose memory each may take, where their run-time shapes and dtypes agree.
    name
        What the op is called and printed as; the scalar function's name by default.
    nfunc_spec, openmp
        Have no effect: which NumPy function there is, the scalar op says; threads are the option ``openmp``.

    Attributes
    ----------
    inplace
        The pairs of `inplace_pattern`.
    label
        The name that was given, if any.
    """

    inplace_pass = "elementwise_in_place"

    scalar_op: ScalarOp | Composite
    inplace: tuple[tuple[int, int], ...] = ()
    label: str | None = field(default=None, compare=False)

    def __init__(
        self,
        scalar_op: ScalarOp | Composite,
        inplace_pattern: Mapping[int, int] | None = None,
        name: str | None = None,
        nfunc_spec: object = None,
        openmp: object = None,
        *,
        inplace: tuple[tuple[int, int], ...] = (),
        label: str | None = None,
    ) -> None:
        """Take the parameters as the documentation has them, or the fields."""
        operation: object = scalar_op
        if not isinstance(operation, ScalarOp | Composite):
            msg = f"Elemwise: scalar_op must be a scalar op, got {text_of(scalar_op)}. Pass a ScalarOp or a Composite."
            raise TensorTypeError(msg)
        pairs = tuple(sorted(_checked_pattern(scalar_op, inplace_pattern).items())) if inplace_pattern else inplace
        object.__setattr__(self, "scalar_op", scalar_op)
        object.__setattr__(self, "inplace", pairs)
        object.__setattr__(self, "label", label if name is None else name)

    @property
    def destroy_map(self) -> dict[int, list[int]]:  # type: ignore[override]  # depends on the parameters
        """Which inputs may be overwritten."""
        return {o: [i] for o, i in self.inplace} if self.inplace else Op.destroy_map

    def inplace_on_inputs(self, allowed_inplace_inputs: Sequence[int]) -> Op:
        """Return the version whose outputs take the place of these inputs, as far as dtypes are known to agree."""
        scalar = self.scalar_op
        if not isinstance(scalar, Composite):
            return replace(self, inplace=((0, allowed_inplace_inputs[0]),)) if len(allowed_inplace_inputs) else self
        dtypes = scalar.value_dtypes
        free = list(allowed_inplace_inputs)
        pairs = []
        for o, value in enumerate(scalar.outputs):
            source = next((i for i in free if scalar.dtypes[i] == dtypes[value]), None)
            if source is not None:
                free.remove(source)
                pairs.append((o, source))
        return replace(self, inplace=tuple(pairs)) if pairs else self

    @property
    def inplace_pattern(self) -> Mapping[int, int]:
        """For outputs, the input whose memory each may take."""
        return dict(self.inplace)

    @property
    def name(self) -> str:
        """The name that was given, or the scalar function's."""
        return self.scalar_op.name if self.label is None else self.label

    @property
    def scalar_ops(self) -> tuple[ScalarOp, ...]:
        """The scalar functions: one, or those of a composite's steps."""
        scalar = self.scalar_op
        return tuple(step.scalar_op for step in scalar.steps) if isinstance(scalar, Composite) else (scalar,)

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the operands, where calls may use them."""
        scalar = self.scalar_op
        return scalar.parameters if isinstance(scalar, ScalarOp) else ()

    @property
    def nin(self) -> int:
        """Number of inputs."""
        return self.scalar_op.nin

    # Building

    if TYPE_CHECKING:

        @overload
        def __call__(  # type: ignore[overload-overlap]  # as of `Op.__call__`
            self, *inputs: object, name: str | None = None, return_list: Literal[True], **kwargs: object
        ) -> list[Variable]: ...

        @overload
        def __call__(
            self, *inputs: object, name: str | None = None, return_list: bool = False, **kwargs: object
        ) -> TensorVariable: ...

        def __call__(
            self, *inputs: object, name: str | None = None, return_list: bool = False, **kwargs: object
        ) -> TensorVariable | list[Variable]:
            """Apply the function; see `Op.__call__`."""

    def make_node(self, *inputs: Any, **named: Any) -> Apply:
        """Return the node: inputs padded to one rank, Python numbers given the dtype that the others decide.

        An associative function takes any number of operands from two on: the node is that of the last one. A sum or
        product of one operand, or another function that has an identity, is that operand.

        Raises
        ------
        TensorTypeError
            For a wrong number of inputs.
        DtypeError
            If the function does not take these dtypes, or a Python integer does not fit.
        ShapeError
            If the static shapes do not broadcast together.
        """
        if named or len(inputs) != self.nin or (self.scalar_op.takes_none and any(x is None for x in inputs)):
            return self._respelled(inputs, named)
        if config.cast_policy != "numpy":
            inputs = self._by_policy(inputs)
        return self._node(inputs)

    def _respelled(self, inputs: tuple[Any, ...], named: dict[str, Any]) -> Apply:
        """Return the node of a call with another number of operands, or with named ones."""
        scalar = self.scalar_op
        if isinstance(scalar, Composite):
            msg = f"{self.name}: {self.nin} operands are needed, got {len(inputs)}."
            raise TensorTypeError(msg)
        if scalar.associative and not named:
            if len(inputs) > self.nin:
                return self.make_node(self(*inputs[:-1]), inputs[-1])
            if len(inputs) == 1 and scalar.identity is not None:
                return Elemwise(SCALAR_OPS["identity"]).make_node(*inputs)
        return scalar.respelled(self, inputs, named)

    def _node(self, inputs: Sequence[Any]) -> Apply:
        """Return the node of as many operands as the function takes."""
        operands: list[Operand] = []
        variables: list[Any] = []
        weak = 0
        for x in inputs:
            kind = type(x)
            if kind is int or kind is float or kind is complex:
                weak += 1
                variables.append(x)
                operands.append(kind)
                continue
            var = as_tensor_variable(x)
            variables.append(var)
            operands.append(var.type.numpy_dtype)
        if weak:
            variables = self._fixed(variables, operands)
        ndim = max([v.type.ndim for v in variables])
        variables = [v if v.type.ndim == ndim else shape_padleft(v, ndim - v.type.ndim) for v in variables]
        return Apply(self, variables, [t.make_variable() for t in self.infer(*[v.type for v in variables])])

    def make_node_like(self, node: Apply, inputs: Sequence[Variable]) -> Apply:
        """Return a node in another one's place; Python numbers among the operands follow where dtypes have changed."""
        dtypes, before = ([getattr(x.type, "numpy_dtype", None) for x in xs] for xs in (inputs, node.inputs))
        if dtypes == before:
            return self._node(inputs)
        numbers = [_python_number(x) for x in inputs]
        return self._node([x if n is None else n for x, n in zip(inputs, numbers, strict=True)])

    def _by_policy(self, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the operands as the option cast_policy has them; as they are in treadle's own expressions."""
        if isinstance(self.scalar_op, Composite) or not operands_follow_policy():
            return inputs
        variables = [as_tensor_variable(x) for x in inputs]
        _, out = self.scalar_op.signature([v.type.numpy_dtype for v in variables])
        name, roundings = self.scalar_op.ufunc, ("ceil", "floor", "trunc")
        return tuple(narrowed(variables, out, is_quotient=name == "true_divide", is_rounding=name in roundings))

    def _fixed(self, variables: list[Any], operands: Sequence[Operand]) -> list[Any]:
        """Make the Python numbers among the operands constants."""
        if all(isinstance(d, type) for d in operands):
            return [as_tensor_variable(x) for x in variables]
        if isinstance(self.scalar_op, Composite):
            dtypes: Sequence[Any] = self.scalar_op.dtypes
        else:
            dtypes, _ = self.scalar_op.signature(operands)
        return [
            self._number(x, d) if isinstance(o, type) else x
            for x, d, o in zip(variables, dtypes, operands, strict=True)
        ]

    def _number(self, x: Any, dtype: Any) -> TensorVariable:
        target = np.dtype(dtype)
        if isinstance(x, int) and target.kind in "iu":
            info = np.iinfo(target)
            if not info.min <= x <= info.max:
                if isinstance(self.scalar_op, ScalarOp) and self.scalar_op.converse:
                    # What no integer reaches compares as an infinite number does.
                    return constant(x if -(2**63) <= x < 2**63 else np.copysign(np.inf, x > 0 or -1))
                msg = (
                    f"{self.name}: the Python integer {x} is out of bounds for {target.name}. "
                    "Cast the tensor to a wider dtype first."
                )
                raise DtypeError(msg)
        number = constant(x, dtype=target)
        number.tag.python_number = x
        return number

    def infer(self, *types: Type) -> Sequence[Type]:
        """Return the output types: dtype by the scalar op's rule, shape by broadcasting."""
        kinds: list[Any] = list(types)
        scalar = self.scalar_op
        shape = kinds[0].shape if len(kinds) == 1 else broadcast_static(scalar.name, [t.shape for t in kinds])
        if isinstance(scalar, Composite):
            dtypes = scalar.value_dtypes
            return [TensorType(dtypes[i], shape) for i in scalar.outputs]
        _, out = scalar.signature([t.numpy_dtype for t in kinds])
        return [TensorType(DTYPE_NAMES.get(out, out), shape)]

    def loop_dtypes(self, node: Apply) -> tuple[Dtype, ...]:
        """Return the dtypes that the node's inputs are converted to before computing."""
        kinds: list[Any] = [x.type for x in node.inputs]
        if isinstance(self.scalar_op, Composite):
            return tuple(np.dtype(d) for d in self.scalar_op.dtypes)
        return self.scalar_op.signature([t.numpy_dtype for t in kinds])[0]

    # Lowering

    def expanded(self, node: Apply, takes: Takes) -> Composite:
        """Return the node's function as steps that a backend computes itself, bodies in place of the other scalar ops.

        Parameters
        ----------
        node
            A node of this op.
        takes
            Whether the backend computes a scalar op itself, for operands converted to some dtypes.
        """
        return self._as_composite(cast("TensorNode", node).inputs).expanded(takes)

    def _as_composite(self, inputs: Sequence[TensorVariable]) -> Composite:
        scalar = self.scalar_op
        if isinstance(scalar, Composite):
            return scalar
        loops, out = scalar.signature([x.type.numpy_dtype for x in inputs])
        steps = (Step(scalar, tuple(range(scalar.nin)), tuple(DTYPE_NAMES[d] for d in loops), DTYPE_NAMES[out]),)
        return Composite(scalar.nin, tuple(x.type.dtype for x in inputs), steps, (scalar.nin,))

    def decompose(self, *inputs: Variable) -> Sequence[Variable] | None:
        """Return a scalar op's body or expansion, or the steps of a composite one by one: a backend may lack some."""
        scalar = self.scalar_op
        if isinstance(scalar, Composite):
            composite = scalar
        elif scalar.expansion is not None:
            return self._expansion(scalar.expansion, cast("Sequence[TensorVariable]", inputs))
        elif scalar.body is None:
            return None
        else:
            single = self._as_composite(cast("Sequence[TensorVariable]", inputs))
            composite = single.expanded(lambda inner, _: inner is not scalar)
        values = [*inputs, *(constant(number, dtype=dtype) for number, dtype in composite.constants)]
        for step in composite.steps:
            values.append(Elemwise(step.scalar_op)(*(values[i] for i in step.args)))
        types = self.infer(*[x.type for x in inputs])
        # A result that depends on some of the inputs only has the shape of all.
        fill = Elemwise(SCALAR_OPS["second"])
        return [
            out if out.type == kind else reduce(lambda filled, x: fill(x, filled), inputs, out)
            for out, kind in zip((values[i] for i in composite.outputs), types, strict=True)
        ]

    def _expansion(self, expansion: Body, inputs: Sequence[TensorVariable]) -> Sequence[Variable]:
        """Return the expansion of a scalar op, computed in the dtypes of its rule, as a variable of the node's type."""
        (kind,) = self.infer(*[x.type for x in inputs])
        loops, out = cast("ScalarOp", self.scalar_op).signature([x.type.numpy_dtype for x in inputs])
        expanded = expansion(*[Elemwise(SCALAR_OPS[f"cast_{d.name}"])(x) for x, d in zip(inputs, loops, strict=True)])
        result = Elemwise(SCALAR_OPS[f"cast_{out.name}"])(expanded)
        return [result if result.type == kind else kind.filter_variable(result)]

    # The methods of NumPy's ufuncs

    def reduce(self, x: TensorLike, axis: AxisLike = 0, **options: object) -> TensorVariable:
        """Combine the elements along axes, as the ufunc's method: ``maximum.reduce(x, axis=0)``.

        Of the functions that have a reduction. `options` are ``dtype``, ``keepdims``, ``initial`` and ``where``.
        """
        return self._method("reduce", [x], {"axis": axis, **options})

    def accumulate(self, x: TensorLike, axis: int = 0, **options: object) -> TensorVariable:
        """Combine the elements up to each along an axis, as the ufunc's method: ``maximum.accumulate(x)``."""
        return self._method("accumulate", [x], {"axis": axis, **options})

    def outer(self, a: TensorLike, b: TensorLike) -> TensorVariable:
        """Apply the function to all pairs of elements, as the ufunc's method: ``add.outer(a, b)``."""
        return self._method("outer", [a, b], {})

    def _method(self, method: str, inputs: list[TensorLike], options: dict[str, object]) -> TensorVariable:
        scalar = self.scalar_op
        name = None if isinstance(scalar, Composite) else scalar.ufunc
        if name is None:
            msg = f"{scalar.name}.{method}: NumPy has no ufunc of this name. Write it by reductions of the result."
            raise DtypeError(msg)
        operands = [as_tensor_variable(x) for x in inputs]
        return cast("TensorVariable", upward.array_ufunc(getattr(np, name), method, operands, options))

    # Printing

    def printed_form(self, node: Apply) -> Form | Sequence[Form]:
        """Write the scalar op's own form, else a call; a composite as the formulas it stands for.

        Dimensions that broadcasting adds by itself are not shown.
        """
        operands = _as_broadcast(node.inputs)
        if isinstance(scalar := self.scalar_op, Composite):
            return [Form.like(var) for var in _unfused(scalar, node, operands)]
        form = scalar.form(operands) if scalar.form else Form.call(scalar.name, operands)
        return form.in_latex(scalar.latex, operands) if scalar.latex else form

    # Computing

    def perform(self, node: Apply, inputs: Sequence[np.ndarray], output_storage: Sequence[list[np.ndarray]]) -> None:
        """Compute with NumPy, in the dtypes of the rule."""
        results = self._results(node, inputs)
        for o, i in self.inplace:
            target = inputs[i]
            if target.flags.writeable and target.shape == results[o].shape and target.dtype == results[o].dtype:
                np.copyto(target, results[o])
                results[o] = target
        for cell, result in zip(output_storage, results, strict=True):
            cell[0] = result

    def filler(self, node: Apply) -> Callable[[Any, Sequence[Any]], bool] | None:
        """Return NumPy's function with an array to write into, where one computes the node in its dtypes."""
        return filling(self, node)  # type: ignore[arg-type]  # of tensors

    def known_values(self, node: Apply, known: Callable[[Variable], Known]) -> Known:
        """Return what is computed of known operands, in their dtypes."""
        rows = aligned([known(x) for x in node.inputs]) if len(node.outputs) == 1 else None
        if rows is None:
            return None
        dtypes = [getattr(x.type, "dtype", "") for x in node.inputs]

        def result(row: Sequence[int | None]) -> int | None:
            if self.scalar_op.name == "switch" and row[0] is not None:
                return row[1 if row[0] else 2]
            if None in row:
                return None
            return int(self._results(node, [np.array(n, d) for n, d in zip(row, dtypes, strict=True)])[0])

        return [result(row) for row in rows]

    def _results(self, node: Apply, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Return the outputs, none of them in an input's memory."""
        scalar = self.scalar_op
        if isinstance(scalar, Composite):
            results = scalar.results(inputs)
            if len(scalar.outputs) == 1:
                return [owned(results[0], inputs)]
            shape = np.broadcast_shapes(*(x.shape for x in inputs))
            return [owned(np.broadcast_to(x, shape), inputs) for x in results]
        loops = self.loop_dtypes(node)
        args = [x if x.dtype == d else x.astype(d) for x, d in zip(inputs, loops, strict=True)]
        with np.errstate(all="ignore"):
            result = np.asarray(scalar.impl(*args))
        out: Any = node.outputs[0].type
        return [owned(result.astype(out.numpy_dtype, copy=False), inputs)]

    def blame(self, node: Apply, values: Sequence[np.ndarray]) -> Apply | None:
        """Return the original node at fault, for a fused node whose shapes clash."""
        origins: Sequence[Apply] | None = getattr(node.tag, "origins", None)
        if not isinstance(self.scalar_op, Composite) or origins is None:
            return None
        shapes = [*(np.shape(x) for x in values), *(() for _ in self.scalar_op.constants)]
        for step, origin in zip(self.scalar_op.steps, origins, strict=True):
            try:
                shapes.append(np.broadcast_shapes(*(shapes[i] for i in step.args)))
            except ValueError:
                return origin
        return None

    # Differentiating

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Say that every input is connected, unless the function is a predicate (option `nondifferentiable`)."""
        scalar = self.scalar_op
        if isinstance(scalar, Composite) or scalar.pullback is not None or scalar.discrete or zero_not_refused():
            connected = True
        else:
            connected = scalar.body is not None and cast("TensorNode", node).outputs[0].dtype != "bool"
        return [[connected] * len(node.outputs) for _ in node.inputs]

    def symbolic_shape(self, node: Apply, out: Variable, shapes: SymbolicShapes) -> Sequence[Length | None]:
        """Broadcast the lengths of the inputs."""
        each = [shapes.of(x) for x in node.inputs]
        return [shapes.broadcast(own) for own in zip(*each, strict=True)]

    def vectorize_node(self, node: TensorNode, *inputs: TensorVariable) -> Apply:
        """Apply the function: batch dimensions stand in front of dimensions that broadcast together as before."""
        return self.make_node(*inputs)

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> Derivatives:
        """Return the scalar op's terms, summed back to each input's run-time shape.

        What flows back from a differentiable function of complex numbers is the cotangent times the conjugate of the
        derivative.

        Through `decompose`: only what has a body; derivatives of scalar ops are what all others are made of.
        """
        scalar = self.scalar_op
        if isinstance(scalar, Composite):
            msg = f"{self}: a fused node has no gradient. Differentiate before compiling."
            raise DtypeError(msg)
        xs, (out,), (ct,) = (cast("Sequence[TensorVariable]", vs) for vs in (inputs, outputs, cotangents))
        if scalar.pullback is None and scalar.body is not None:
            return pulled_through_body(self, xs, ct)
        if scalar.pullback is None:
            return [zeros_like(x) if scalar.discrete and x.type.numpy_dtype.kind in "fc" else None for x in xs]
        conjugated = scalar.holomorphic and out.type.numpy_dtype.kind == "c"
        terms = scalar.pullback(ct.conj() if conjugated else ct, out, xs)
        if conjugated:
            terms = [None if t is None else t.conj() for t in cast("Sequence[TensorVariable | None]", terms)]
        return [None if t is None else self._term(t, x, xs) for t, x in zip(terms, xs, strict=True)]

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Derivatives) -> Derivatives:
        """Return the sum of the tangents, each times the derivative by its input.

        An elementwise function's pullback multiplies by the same derivatives, so that its terms are those of tangents
        too. That is not so of a function of complex numbers that is not differentiable as one.

        Through `decompose`: only what has a body; derivatives of scalar ops are what all others are made of.
        """
        scalar = self.scalar_op
        xs, (out,) = (cast("Sequence[TensorVariable]", vs) for vs in (inputs, outputs))
        moving = {
            i: cast("TensorVariable", t)
            for i, (x, t) in enumerate(zip(xs, tangents, strict=True))
            if t is not None and isinstance(t.type, TensorType) and x.type.numpy_dtype.kind in "fc"
        }
        if not moving or out.type.numpy_dtype.kind not in "fc":
            return [None]
        if isinstance(scalar, Composite) or (scalar.pullback is None and scalar.body is not None):
            return [pushed_through_body(self, xs, moving)]
        if scalar.pullback is None:
            return [zeros_like(out) if scalar.discrete else None]
        if not scalar.holomorphic and any(v.type.numpy_dtype.kind == "c" for v in (*xs, out)):
            return super().pushforward(inputs, outputs, tangents)
        total: Variable | None = None
        used = []
        for i, tangent in moving.items():
            term = scalar.pullback(tangent, out, xs)[i]
            if term is None:
                continue
            if isinstance(term.type, NullType):
                return [term]
            used.append(i)
            total = term if total is None else Elemwise(SCALAR_OPS["add"])(total, term)
        if total is None:
            return [None]
        return [total if self._has_shape_of(total, xs, used) else Elemwise(SCALAR_OPS["second"])(out, total)]

    @staticmethod
    def _has_shape_of(total: Variable, xs: Sequence[TensorVariable], used: Sequence[int]) -> bool:
        """Whether a sum of tangents of some inputs is as large as the result, as no other input broadcasts it."""
        beside = () if total.owner is None else total.owner.inputs
        return all(i in used or x in beside or never_broadcasts(x) for i, x in enumerate(xs))

    @staticmethod
    def _term(term: Variable, x: TensorVariable, inputs: Sequence[TensorVariable]) -> Variable | None:
        """Bring one term to the input's dtype and shape; nothing flows back to integers (see `zero_not_refused`)."""
        if x.type.numpy_dtype.kind not in "fc" and not zero_not_refused():
            return None
        if isinstance(term.type, NullType):
            return term
        fitted = cotangent_of(x, term)  # type: ignore[arg-type]  # made of tensors
        fits = fitted.ndim == x.ndim  # through `grad`, inputs may come in ranks of their own
        if fits and all(v is x or (v.ndim == x.ndim and never_broadcasts(v)) for v in inputs):
            return fitted
        return upward.summed_along(fitted, range(x.ndim)) if fits and never_broadcasts(x) else sum_to(fitted, x)

    def __str__(self) -> str:
        marks = "".join(f",{o}->{i}" for o, i in self.inplace)
        name = self.scalar_op.name[:1].upper() + self.scalar_op.name[1:] if self.label is None else self.label
        return name + (f"{{{marks[1:]}}}" if marks else "")


ScalarOp.op_class = Elemwise
describe_each(Elemwise)


def _applied(make: Callable[P, ScalarOp]) -> Callable[P, Elemwise]:
    """Return a function that makes the op of a scalar op, from the parameters of the scalar op."""
    return lambda *args, **kwargs: Elemwise(make(*args, **kwargs))


# ``elementwise(...)`` is ``Elemwise(ScalarOp(...))``.
elementwise = _applied(ScalarOp)
