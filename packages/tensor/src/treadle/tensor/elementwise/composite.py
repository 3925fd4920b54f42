"""Composites: scalar ops in a straight line, and the bodies of scalar ops written out as such."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, ClassVar, cast

import numpy as np

from treadle.config import dataclass, text_of
from treadle.graph import Constant, composing, encode_dataclass, toposort
from treadle.tensor.elementwise.scalar_op import SCALAR_OPS, ScalarOp
from treadle.tensor.errors import TensorTypeError
from treadle.tensor.types.conversion import as_tensor_variable
from treadle.tensor.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from treadle.graph import Variable
    from treadle.tensor.elementwise.scalar_op import Body
    from treadle.tensor.variables.variable import TensorVariable

    # Whether a backend computes a scalar op itself, for operands converted to some dtypes.
    Takes = Callable[[ScalarOp, Sequence[str]], bool]

# Bodies are computed in float32 where the scalar op computes with float16, and rounded once.
_WIDE = {"float16": "float32"}
# The scalar ops whose bodies are being called, each with the dtypes of its operands.
_CALLS: ContextVar[tuple[tuple[ScalarOp, tuple[str, ...]], ...]] = ContextVar("treadle.bodies", default=())


@dataclass(frozen=True, slots=True)
class Step:
    """One scalar operation of a `Composite`.

    Parameters
    ----------
    scalar_op
        The function.
    args
        Its operands: numbers of values of the composite.
    loops
        Dtypes to compute with, one for each operand.
    out
        Dtype of the result.
    """

    scalar_op: ScalarOp
    args: tuple[int, ...]
    loops: tuple[str, ...]
    out: str


@dataclass(frozen=True, slots=True)
class Composite:
    """Several scalar functions in one: a straight line of steps, computed element by element without temporaries.

    Its values are numbered: first the inputs, then the constants, then the result of each step.

    Parameters
    ----------
    nin
        Number of inputs.
    dtypes
        Dtype of each input.
    steps
        The operations, in order.
    outputs
        Which values are the results.
    constants
        Numbers that steps take, each with its dtype.
    """

    # As of scalar ops.
    takes_none: ClassVar[bool] = False

    nin: int
    dtypes: tuple[str, ...]
    steps: tuple[Step, ...]
    outputs: tuple[int, ...]
    constants: tuple[tuple[complex, str], ...] = ()

    @property
    def name(self) -> str:
        """The names of the steps."""
        return "Composite{" + " ".join(step.scalar_op.name for step in self.steps) + "}"

    @property
    def value_dtypes(self) -> list[str]:
        """Dtype of each value."""
        return [*self.dtypes, *(dtype for _, dtype in self.constants), *(step.out for step in self.steps)]

    def canonical(self) -> bytes:
        """Return the canonical encoding."""
        return encode_dataclass(self)

    def results(self, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Return the results, computed with NumPy."""
        return self.evaluator()(*inputs)

    def evaluator(self) -> Callable[..., list[np.ndarray]]:
        """Return a function of the inputs that returns the results, computed with NumPy."""
        dtypes = self.value_dtypes
        own_dtypes = [np.dtype(d) for d in self.dtypes]
        numbers = [np.asarray(number, dtype) for number, dtype in self.constants]
        start = len(own_dtypes) + len(numbers)
        last = {i: at for at, step in enumerate(self.steps) for i in step.args}
        last.update(dict.fromkeys(self.outputs, len(self.steps)))
        plan = []
        for at, step in enumerate(self.steps):
            pairs = zip(step.args, step.loops, strict=True)
            args = [(i, None if dtypes[i] == loop else np.dtype(loop)) for i, loop in pairs]
            # NumPy is quicker with memory that was in use just now.
            done = [i for i in dict.fromkeys(step.args) if i >= start and last[i] == at]
            plan.append((step.scalar_op.impl, args, np.dtype(step.out), done))

        def results(*inputs: np.ndarray) -> list[np.ndarray]:
            values = [x if x.dtype == d else x.astype(d) for x, d in zip(inputs, own_dtypes, strict=True)]
            values += numbers
            for function, args, out, done in plan:
                value = np.asarray(function(*[values[i] if d is None else values[i].astype(d) for i, d in args]))
                values.append(value if value.dtype == out else value.astype(out))
                for i in done:
                    values[i] = value
            return [values[i] for i in self.outputs]

        return results

    def expanded(self, takes: Takes) -> Composite:
        """Return the composite with bodies in place of the scalar ops that the backend does not take."""
        if all(step.scalar_op.body is None or takes(step.scalar_op, step.loops) for step in self.steps):
            return self
        return _Expansion(self, takes).composite()

    def __str__(self) -> str:
        return self.name


def formula(scalar_op: ScalarOp, loops: Sequence[str]) -> Composite:
    """Return the body of a scalar op for operands of some dtypes, as elementwise functions only."""
    key = tuple(_WIDE.get(d, d) for d in loops)
    composite = scalar_op.formulas.get(key)
    if composite is None:
        composite = scalar_op.formulas[key] = _traced(scalar_op, key)
    return composite


def _traced(scalar_op: ScalarOp, dtypes: tuple[str, ...]) -> Composite:
    inputs = [TensorType(d, ()).make_variable() for d in dtypes]
    out = _applied(scalar_op, inputs)
    nodes = toposort([out], inputs)
    met = dict.fromkeys([*(x for node in nodes for x in node.inputs), out])
    constants = [x for x in met if isinstance(x, Constant) and isinstance(x.type, TensorType)]
    place: dict[Variable, int] = {x: i for i, x in enumerate((*inputs, *constants))}
    steps: list[Step] = []

    def append(inner: ScalarOp, args: Sequence[int], operands: Sequence[np.dtype]) -> int:
        loops, result = inner.signature(operands)
        steps.append(Step(inner, tuple(args), tuple(d.name for d in loops), result.name))
        return len(inputs) + len(constants) + len(steps) - 1

    for node in nodes:
        inner = getattr(node.op, "scalar_op", None)
        operands = cast("Sequence[TensorVariable]", node.inputs)
        free = next((x for x in operands if x not in place), None)
        if free is not None or not isinstance(inner, ScalarOp):
            raise _not_elementwise(scalar_op, text_of(node.op if free is None else free, str))
        place[node.outputs[0]] = append(inner, [place[x] for x in operands], [x.type.numpy_dtype for x in operands])
    if out not in place:
        raise _not_elementwise(scalar_op, text_of(out, str))
    result = place[out]
    if out in inputs:
        result = append(SCALAR_OPS["identity"], [result], [out.type.numpy_dtype])
    for x in inputs:
        if x not in met:  # the result has its shape all the same
            result = append(SCALAR_OPS["second"], [place[x], result], [x.type.numpy_dtype, out.type.numpy_dtype])
    numbers = tuple((x.data.item(), x.data.dtype.name) for x in constants)
    return Composite(len(inputs), dtypes, tuple(steps), (result,), numbers)


def _applied(scalar_op: ScalarOp, inputs: Sequence[TensorVariable]) -> TensorVariable:
    """Apply the body of a scalar op to variables of rank 0."""
    call = (scalar_op, tuple(x.type.dtype for x in inputs))
    calls = _CALLS.get()
    if call in calls:
        names = " calls ".join(each.name for each, _ in (*calls[calls.index(call) :], call))
        msg = f"{scalar_op.name}: the body of a scalar op calls the scalar op itself, {names}. Write it without."
        raise TensorTypeError(msg)
    token = _CALLS.set((*calls, call))
    try:
        with composing():
            out = as_tensor_variable(cast("Body", scalar_op.body)(*inputs))
    except Exception as error:
        error.add_note(f"It happened in the body of the scalar op {scalar_op.name}, for {', '.join(call[1])}.")
        raise
    finally:
        _CALLS.reset(token)
    if out.type.ndim:
        raise _not_elementwise(scalar_op, f"a result of {out.type.ndim} dimensions")
    return out


def _not_elementwise(scalar_op: ScalarOp, described: str) -> TensorTypeError:
    return TensorTypeError(
        f"{scalar_op.name}: the body of a scalar op applies elementwise functions to its operands and to numbers, "
        f"got {described}. Make it of functions that are elementwise."
    )


class _Expansion:
    """Rewrites a composite with bodies in place of scalar ops; what is computed twice is computed once.

    While it is written, steps follow the inputs, and constants have negative numbers.
    """

    def __init__(self, composite: Composite, takes: Takes) -> None:
        self._composite = composite
        self._takes = takes
        # Zeros of both signs are two constants, and NaN is one.
        self._constants: dict[str, int] = {}
        self._numbers: list[tuple[complex, str]] = []
        self._steps: dict[Step, int] = {}
        self._dtypes = list(composite.dtypes)

    def composite(self) -> Composite:
        old = self._composite
        values = [*range(old.nin), *map(self._constant, old.constants)]
        for step in old.steps:
            values.append(self._value(step, [values[i] for i in step.args]))
        count = len(self._numbers)

        def place(i: int) -> int:
            return i if 0 <= i < old.nin else old.nin - 1 - i if i < 0 else i + count

        steps = tuple(Step(s.scalar_op, tuple(map(place, s.args)), s.loops, s.out) for s in self._steps)
        outputs = tuple(place(values[i]) for i in old.outputs)
        return Composite(old.nin, old.dtypes, steps, outputs, tuple(self._numbers))

    def _constant(self, constant: tuple[complex, str]) -> int:
        key = repr(constant)
        if key not in self._constants:
            self._numbers.append(constant)
            self._constants[key] = -len(self._numbers)
        return self._constants[key]

    def _value(self, step: Step, args: Sequence[int]) -> int:
        """Return the number of a step's result."""
        scalar_op = step.scalar_op
        if scalar_op.body is None or self._takes(scalar_op, step.loops):
            expanded_step = Step(scalar_op, tuple(args), step.loops, step.out)
            if expanded_step not in self._steps:
                self._steps[expanded_step] = len(self._dtypes)
                self._dtypes.append(step.out)
            return self._steps[expanded_step]
        inner = formula(scalar_op, step.loops)
        values = [self._cast(x, d) for x, d in zip(args, inner.dtypes, strict=True)]
        values += map(self._constant, inner.constants)
        for each in inner.steps:
            values.append(self._value(each, [values[i] for i in each.args]))
        return self._cast(values[inner.outputs[0]], step.out)

    def _cast(self, value: int, dtype: str) -> int:
        source = self._dtypes[value] if value >= 0 else self._numbers[-1 - value][1]
        if source == dtype:
            return value
        return self._value(Step(SCALAR_OPS[f"cast_{dtype}"], (value,), (source,), dtype), (value,))


ScalarOp.formula_for = formula
