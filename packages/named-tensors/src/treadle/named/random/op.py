"""XRV: the op of random variables with named dimensions, and what makes constructors of distributions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.config import text_of
from treadle.graph import Apply, Variable, VectorizeError, static_op
from treadle.named.conversion import as_xtensor
from treadle.named.errors import DimsError, NamedTypeError
from treadle.named.ops.named_op import Lowered, XOp
from treadle.named.random.types import RNGToXRNG, XRandomGeneratorType, plain_rng
from treadle.named.shape import as_length, scalar_lengths
from treadle.named.types.casts import aligned
from treadle.named.types.named_type import Batched, Input, as_dims, joined_lengths
from treadle.named.vectorization import check_cores
from treadle.tensor import tensors as tensors_of
from treadle.tensor.random import RandomType, RandomVariable, RNGConsumerOp, compute_batch_shape, shared_rng

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from treadle.tensor import TensorVariable

    RVCores = tuple[Sequence[str | Sequence[str]], str | Sequence[str]]


# A draw, or the next generator and a draw, as it is asked for.
Draw = Any


@static_op
class XRV(XOp, RNGConsumerOp):
    """A random variable with named dimensions.

    Its node has the inputs generator, lengths of the extra dimensions, parameters, and the outputs next generator and
    draw. The draw has the extra dimensions, those of the parameters, and the core dimensions of a single draw.

    Parameters
    ----------
    core_op
        The random variable of plain tensors.
    core_dims
        The core dimensions of each parameter, and of a single draw.
    extra_dims
        Dimensions of the draw that parameters do not have.
    name
        What it is printed as.
    """

    default_output = 1

    core_op: RandomVariable
    core_dims: tuple[tuple[tuple[str, ...], ...], tuple[str, ...]]
    extra_dims: tuple[str, ...]
    name: str | None = None

    def __init__(
        self, core_op: RandomVariable, core_dims: RVCores, extra_dims: Sequence[str], name: str | None = None
    ) -> None:
        parameters, draw = core_dims
        what = str(name or core_op.name)
        cores = tuple(as_dims(what, core) for core in parameters), as_dims(what, draw)
        object.__setattr__(self, "core_op", core_op)
        object.__setattr__(self, "core_dims", cores)
        object.__setattr__(self, "extra_dims", as_dims(what, extra_dims))
        object.__setattr__(self, "name", core_op.name if name is None else name)

    @property
    def _print_name(self) -> tuple[str, str] | None:
        """The name of the distribution, plain and in LaTeX."""
        return self.core_op._print_name

    def make_node(self, *inputs: Input) -> Apply:
        """Return the node of a generator, the lengths of the extra dimensions, and the parameters.

        Raises
        ------
        NamedTypeError
            If the first input is no generator, or a length no integer.
        DimsError
            If dimensions do not fit.
        """
        rng, *others = inputs
        if rng is None:
            rng = shared_rng()
        if not isinstance(getattr(rng, "type", None), RandomType | XRandomGeneratorType):
            msg = f"{self.name}: a generator is needed, got {text_of(rng)}. Make one with treadle.named.random.rng."
            raise NamedTypeError(msg)
        count = len(self.extra_dims)
        lengths = [as_length(str(self.name), n) for n in others[:count]]
        parameters = [as_xtensor(p) for p in others[count:]]
        if len(others) < count or len(parameters) != len(self.core_op.ndims_params):
            msg = (
                f"{self.name}: {count} lengths and {len(self.core_op.ndims_params)} parameters are needed, "
                f"got {len(others)} operands."
            )
            raise DimsError(msg)
        return self.node_of([rng, *lengths, *parameters])

    def rng_param(self, node: Apply) -> Variable:
        """Return the generator among a node's inputs."""
        return node.inputs[0]

    def size_params(self, node: Apply) -> Sequence[Variable]:
        """Return the lengths of the extra dimensions among a node's inputs."""
        return node.inputs[1 : 1 + len(self.extra_dims)]

    def dist_params(self, node: Apply) -> Sequence[Variable]:
        """Return the parameters among a node's inputs."""
        return node.inputs[1 + len(self.extra_dims) :]

    def update(self, node: Apply) -> Mapping[Variable, Variable]:
        """Return that the first output is the generator after the draw."""
        return {node.inputs[0]: node.outputs[0]}

    def lower(self, *inputs: Input) -> Sequence[Lowered | Variable]:
        """Return the draw of plain tensors."""
        count = len(self.extra_dims)
        rng, lengths, parameters = inputs[0], inputs[1 : 1 + count], inputs[1 + count :]
        what = str(self.name)
        cores, draw = self.core_dims
        every = check_cores(what, parameters, cores)
        shared = joined_lengths(what, [p.type for p in parameters])
        twice = [d for d in self.extra_dims if d in shared]
        if twice:
            msg = f"{what}: the parameters have the extra dimensions {tuple(twice)} already. Give those that they lack."
            raise DimsError(msg)
        batch = tuple(d for d in shared if d not in every)
        tensors = [aligned(p, (*batch, *core)) for p, core in zip(parameters, cores, strict=True)]
        size: list[TensorVariable] | None = None
        if count:
            own = [] if not tensors else [*compute_batch_shape(tensors, self.core_op.ndims_params)][: len(batch)]
            size = [*lengths, *own]
        next_rng, drawn = self.core_op.make_node(plain_rng(rng), size, *tensors).outputs
        if isinstance(rng.type, XRandomGeneratorType):
            next_rng = RNGToXRNG()(next_rng)
        return [next_rng, Lowered(tensors_of([drawn])[0], (*self.extra_dims, *batch, *draw))]

    # Derivatives

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Say that the draw follows the parameters."""
        before = 1 + len(self.extra_dims)
        return [[False, i >= before] for i in range(len(node.inputs))]

    def influence_pattern(self, node: Apply) -> list[list[bool]]:
        """Say that the draw follows generator and parameters, the next generator the generator alone."""
        before = 1 + len(self.extra_dims)
        return [[i == 0, i == 0 or i >= before] for i in range(len(node.inputs))]

    def undefined_derivatives(self, node: Apply) -> list[list[str | None]] | None:
        """Say which parameters a draw has no derivative by, as the plain draw does."""
        draw: Input = self.lower(*node.inputs)[1]
        plain: Apply = draw.tensor.owner
        own = plain.op.undefined_derivatives(plain)
        if own is None:
            return None
        smooth: list[list[str | None]] = [[None, None] for _ in range(1 + len(self.extra_dims))]
        return [*smooth, *own[2:]]

    # Batches

    def vectorize_node(self, node: Apply, *inputs: Input) -> Batched:
        """Draw for each element of the batch, independently."""
        rng, *others = inputs
        if rng.type != node.inputs[0].type:
            msg = f"{self.name}: one generator draws for the whole batch, got {rng} of type {rng.type}"
            raise VectorizeError(msg)
        count = len(self.extra_dims)
        lengths = scalar_lengths(str(self.name), node.inputs[1 : 1 + count], others[:count])
        return self.make_node(rng, *lengths, *others[count:])

    def __str__(self) -> str:
        return f"{self.name}_xrv(core_dims={self.core_dims}, extra_dims={self.extra_dims})"

    __repr__ = __str__


def _most(maps: Sequence[Sequence[int]]) -> int:
    return max((entry + 1 for each in maps for entry in each), default=0)


def as_xrv(
    core_op: RandomVariable,
    core_inps_dims_map: Sequence[Sequence[int]] | None = None,
    core_out_dims_map: Sequence[int] | None = None,
    name: str | None = None,
) -> Callable[..., Draw]:
    """Return a function that draws from a distribution, with named dimensions.

    Parameters
    ----------
    core_op
        The distribution of plain tensors.
    core_inps_dims_map
        For each parameter, which of the core dimensions given to the function it has; the first ones by default.
    core_out_dims_map
        Which of them a single draw has; the first ones by default.
    name
        What the draw is printed as.

    Returns
    -------
    A function ``draw(*parameters, core_dims=None, extra_dims=None, rng=None, return_next_rng=False)``: `core_dims`
    names the core dimensions, `extra_dims` gives the lengths of further dimensions by name. It returns the draw, or the
    next generator and the draw. Parameters may be given by name too.
    """
    given_in = core_inps_dims_map or [tuple(range(n)) for n in core_op.ndims_params]
    given_out = tuple(range(core_op.ndim_supp)) if core_out_dims_map is None else core_out_dims_map
    needed = _most([*given_in, given_out])
    label = str(name or core_op.name)

    def draw(
        *params: object,
        core_dims: str | Sequence[str] | None = None,
        extra_dims: Mapping[str, object] | None = None,
        rng: object = None,
        return_next_rng: bool = False,
        **named: object,
    ) -> Draw:
        cores = () if core_dims is None else as_dims(label, core_dims)
        if len(cores) != needed:
            msg = f"{label}: {needed} core_dims are needed, got {cores}. Name as many."
            raise DimsError(msg)
        parameters = _bound(core_op, label, params, named)
        extra = dict(extra_dims or {})
        full = tuple(tuple(cores[i] for i in each) for each in given_in), tuple(cores[i] for i in given_out)
        node = XRV(core_op, full, tuple(extra), name).make_node(rng, *extra.values(), *parameters)
        next_rng, drawn = node.outputs
        return (next_rng, drawn) if return_next_rng else drawn

    draw.__name__ = draw.__qualname__ = label
    draw.__doc__ = f"Return draws with named dimensions, otherwise as `treadle.tensor.random` does ({label})."
    return draw


def _bound(
    core_op: RandomVariable, label: str, params: Sequence[object], named: Mapping[str, object]
) -> Sequence[object]:
    """Return the values of all parameters, defaults included."""
    defaults = getattr(core_op, "parameters", None)
    if defaults is None:
        if named:
            msg = f"{label}: parameters are given by position, got {', '.join(named)} by name."
            raise NamedTypeError(msg)
        return params
    names = list(defaults)
    unknown = [key for key in named if key not in names[len(params) :]]
    values = {**defaults, **dict(zip(names, params, strict=False)), **named}
    # What has no default has a mark in its place.
    missing = [key for key in names if type(values[key]) is object or values[key] is None]
    if unknown or missing or len(params) > len(names):
        msg = (
            f"{label}: the parameters {', '.join(names)} are needed, got {len(params)} by position and "
            f"{', '.join(named) or 'none'} by name. Give those without a default."
        )
        raise DimsError(msg)
    return [values[key] for key in names]


__all__ = ["XRV", "as_xrv"]
