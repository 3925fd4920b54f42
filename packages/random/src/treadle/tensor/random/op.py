"""RandomVariable: the op of random variables."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from treadle.config import change_flags, config
from treadle.graph import Apply, NullType, Op, Variable, VectorizeError, as_flag
from treadle.tensor.arguments.signatures import parse_gufunc_signature
from treadle.tensor.batches import batching
from treadle.tensor.elementwise.cast import cast
from treadle.tensor.errors import ArgumentError, ShapeError
from treadle.tensor.joins.common_shapes import broadcast_shape
from treadle.tensor.linking.generator_forms import are_portable
from treadle.tensor.loops.states import GeneratorInState, generator_type, origin_of, state_of
from treadle.tensor.ops.texts import OfEach
from treadle.tensor.ops.undefined_gradients import grad_not_implemented
from treadle.tensor.random import description
from treadle.tensor.random.class_draws import of_op_or_class, redefines
from treadle.tensor.random.consumer import RNGConsumerOp
from treadle.tensor.random.generators.portable import PortableGenerator
from treadle.tensor.random.generators.portable_keys import KeyedDraws, portable_source
from treadle.tensor.random.generators.stream import as_generator
from treadle.tensor.random.generators.symbolic import SymbolicNumpyGenerator, SymbolicPortableGenerator
from treadle.tensor.random.generators.types import PortableGeneratorType
from treadle.tensor.random.pathwise import by_definition
from treadle.tensor.random.signatures import FromSignature, signature_of
from treadle.tensor.random.size import (
    batch_lengths,
    fits,
    joined_lengths,
    length_of,
    normalize_size_param,
    padded,
    static_batch,
)
from treadle.tensor.shapes.batch_dims import aligned, batch_ndim, refuse_batched
from treadle.tensor.shapes.broadcasting import broadcast_static, sum_to
from treadle.tensor.shapes.shape import as_lengths, static_lengths
from treadle.tensor.shapes.shape_specification import specify_shape
from treadle.tensor.staging.constant_values import shape_tuple
from treadle.tensor.types.conversion import as_tensor_variable
from treadle.tensor.types.none_and_slices import NoneTypeT
from treadle.tensor.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from treadle.graph import Cell, Value
    from treadle.tensor.random.generators.samplers import PortableSampler
    from treadle.tensor.shape_inference.symbolic_shapes import Length, SymbolicShapes
    from treadle.tensor.variables.variable import TensorLike

__all__ = ["RandomVariable"]

# In place of a default, for parameters that must be given.
REQUIRED = object()


class RandomVariable(RNGConsumerOp):
    """A random variable: an op that draws from a distribution.

    Its node has the inputs generator, size and parameters, and the outputs next generator and draw. The size is the
    shape of the batch: the shape of the draw without the dimensions that a single draw has; None stands for what the
    parameters broadcast to.

    A distribution is a subclass with `name`, `signature` and `dtype`, and either `rng_fn`, which draws with a NumPy
    generator, or `definition`, from which compiled code is made too. With portable generators, one that has a
    `portable_sampler` draws by that instead; it says its `derivatives` itself.

    Parameters
    ----------
    name
        Name of the distribution.
    ndim_supp, ndims_params
        Ranks of a single draw and of the parameters, where there is no signature.
    dtype
        Dtype of the draws; ``floatX``, which the option says, if none is given.
    inplace
        Whether the generator given is used itself, and not a copy of it.
    signature
        Core dimensions of parameters and draw, such as ``(n),(n,n)->(n)``.
    """

    __props__: ClassVar[tuple[str, ...]] = ("name", "signature", "dtype", "inplace")
    default_output = 1
    _output_type_depends_on_input_value = True
    inplace_pass = "random_make_inplace"
    name: str | None = None
    signature: str | None = None
    dtype: str | None = None
    ndims_params = FromSignature(lambda parameters, _: [len(core) for core in parameters], "Ranks of the parameters.")
    ndim_supp = FromSignature(lambda _, draw: len(draw), "Rank of a single draw.")
    # Names of the parameters, with their defaults; None where a subclass overrides `__call__`.
    parameters: ClassVar[Mapping[str, Any] | None] = None
    # What portable generators draw by, in place of the definition; it takes the distribution's parameters.
    portable_sampler: ClassVar[PortableSampler | None] = None
    _print_name: tuple[str, str] | None = None
    __signature__ = OfEach(None, lambda op: description.signature(op, REQUIRED))

    def __init__(
        self,
        name: str | None = None,
        ndim_supp: int | None = None,
        ndims_params: Sequence[int] | None = None,
        dtype: str | None = None,
        inplace: bool | None = None,
        signature: str | None = None,
    ) -> None:
        self.name = name if name is not None else type(self).name
        self.signature = signature if signature is not None else type(self).signature
        ndim_supp = ndim_supp if ndim_supp is not None else getattr(type(self), "ndim_supp", None)
        ndims_params = ndims_params if ndims_params is not None else getattr(type(self), "ndims_params", None)
        if self.signature is None and isinstance(ndim_supp, int) and ndims_params is not None:
            self.signature = signature_of(ndim_supp, ndims_params)
        if self.name is None or self.signature is None:
            msg = f"{type(self).__name__}: name and signature are needed, got {self.name} and {self.signature}."
            raise ArgumentError(msg)
        self._inputs_cores, (self._output_core,) = parse_gufunc_signature(self.signature)
        for rank in ("ndim_supp", "ndims_params"):
            if getattr(self, rank) is None:
                # The class has None in place of what follows from the signature.
                vars(self)[rank] = vars(RandomVariable)[rank].of(self)
        self.dtype = dtype if dtype is not None else type(self).dtype
        self.inplace = bool(inplace)
        if self.inplace:
            self.destroy_map = {0: [0]}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Let each instance of the class have a docstring of its own, which tells its parameters."""
        super().__init_subclass__(**kwargs)
        own = vars(cls).get("__doc__")
        cls.__doc__ = OfEach(own, lambda op: description.docstring(op, own, REQUIRED))  # type: ignore[assignment]  # a string of each

    # Building

    def __call__(
        self,
        *args: object,
        size: TensorLike | None = None,
        name: str | None = None,
        rng: Variable | None = None,
        dtype: str | None = None,
        return_next_rng: bool = False,
        **kwargs: Any,
    ) -> Any:
        """Return a draw, or the next generator and the draw.

        Parameters
        ----------
        args, kwargs
            The distribution's parameters, by position or by name; the size may stand after them.
        size
            Shape of the batch: an integer, a tuple, a vector, or None for what the parameters broadcast to.
        name
            Name of the draw.
        rng
            The generator; a new shared one if None.
        dtype
            Dtype of the draw.
        return_next_rng
            Whether to return the next generator too.

        Raises
        ------
        ArgumentError
            If parameters are missing, or there are too many.
        """
        if self.parameters is not None:
            args, size = self._bound(args, kwargs, size)
            kwargs = {}
        results = Op.__call__(
            self.with_dtype(dtype or self.dtype), rng, size, *args, name=name, return_list=True, **kwargs
        )
        node: Apply = results[0].owner  # type: ignore[assignment]  # a result
        return tuple(node.outputs) if as_flag(f"{self.name}: return_next_rng", return_next_rng) else results[0]

    def _bound(self, args: tuple[Any, ...], named: Mapping[str, Any], size: Any) -> tuple[tuple[Any, ...], Any]:
        """Return the values of all parameters, and the size."""
        names = list(self.parameters or {})
        if len(args) == len(names) + 1 and size is None:
            *args, size = args  # type: ignore[assignment]  # a list will do
        values = dict(zip(names, args, strict=False))
        unknown = [key for key in named if key not in names or key in values]
        values = {**self.parameters, **values, **named}  # type: ignore[dict-item]  # not None here
        missing = [key for key in names if values[key] is REQUIRED]
        if len(args) > len(names) or unknown or missing:
            shown = f"{self._text()}({', '.join(names)}, size=None, ...)"
            what = f"got {len(args)} by position" + (f" and {', '.join(named)} by name" if named else "")
            msg = f"{self._text()}: the parameters do not fit, {what}. Call it as {shown}."
            raise ArgumentError(msg)
        return tuple(values[key] for key in names), size

    def with_props(self, **changes: Any) -> RandomVariable:
        """Return the op with some of its static parameters changed."""
        return type(self)(**{**{key: getattr(self, key) for key in self.__props__}, **changes})

    def with_dtype(self, dtype: str | None) -> RandomVariable:
        """Return the op whose draws are of a dtype; ``floatX`` is what the option says now."""
        dtype = config.floatX if dtype == "floatX" else dtype
        return self if dtype == self.dtype else _with(self, dtype=dtype)

    def make_node(self, rng: Any, size: Any, *dist_params: Any) -> Apply:
        """Return the node.

        Raises
        ------
        TensorTypeError, ShapeError, ArgumentError
            If the inputs do not fit.
        """
        rng = as_generator(self._text(), rng)
        parameters: list[Any] = [p if self._takes(p) else as_tensor_variable(p) for p in dist_params]
        if len(parameters) != len(self.ndims_params):
            msg = f"{self._text()}: {len(self.ndims_params)} parameters are needed, got {len(parameters)}."
            raise ArgumentError(msg)
        for p, rank in zip(parameters, self.ndims_params, strict=True):
            if p.ndim < rank:
                msg = f"{self._text()}: a parameter of rank {rank} or more is needed, got {p} of type {p.type}."
                raise ShapeError(msg)
        size_as_written, size = size, normalize_size_param(size)
        parameters = padded(size, parameters, self.ndims_params)
        batch = self._static_batch(size, parameters)
        op = self.with_dtype(self.dtype or "floatX")
        kind = TensorType(op.dtype, (*batch, *self._static_core(parameters)))
        node = Apply(op, [rng, size, *parameters], [rng.type.make_variable(), kind.make_variable()])
        if isinstance(size_as_written, Variable) and isinstance(size_as_written.type, NoneTypeT):
            node.outputs[1].written_with = (size_as_written,)
        return node

    def _takes(self, parameter: object) -> bool:
        """Whether a parameter goes to `rng_fn` as it is: a variable of arrays of another kind, as sparse matrices."""
        return (
            redefines(type(self), RandomVariable, "rng_fn")
            and isinstance(parameter, Variable)
            and not isinstance(parameter.type, TensorType)
            and {"shape", "ndim"} <= {*dir(parameter.type)}
            and not hasattr(parameter.type, "dims")
        )

    def _text(self) -> str:
        return str(self.name)

    def _static_batch(self, size: Variable, parameters: Sequence[Any]) -> tuple[int | None, ...]:
        of = [p.type.shape[: p.ndim - rank] for p, rank in zip(parameters, self.ndims_params, strict=True)]
        if isinstance(size.type, NoneTypeT):
            rank = max(map(len, of), default=0)
            return broadcast_static(self._text(), [(1,) * (rank - len(own)) + own for own in of])
        batch = static_batch(size)
        for own in of:
            if len(own) > len(batch):
                msg = f"{self._text()}: the size has {len(batch)} dimensions, the parameters {len(own)}. Add some."
                raise ShapeError(msg)
            pairs = zip(reversed(own), reversed(batch), strict=False)
            if config.random__check_size == "build" and any(m is not None and n not in {1, m, None} for n, m in pairs):
                msg = f"{self._text()}: parameters of lengths {own} do not broadcast to the size {batch}."
                raise ShapeError(msg)
        return batch

    def _static_core(self, parameters: Sequence[Any]) -> tuple[int | None, ...]:
        if type(self)._supp_shape_from_params is not RandomVariable._supp_shape_from_params:
            return static_lengths(as_lengths(self._text(), list(self._supp_shape_from_params(parameters, None))))
        known: dict[str, int | None] = {}
        for p, core in zip(parameters, self._inputs_cores, strict=True):
            for name, n in zip(core, p.type.shape[p.ndim - len(core) :], strict=True):
                known[name] = n if known.get(name) is None else known[name]
        return tuple(int(name) if name.isdecimal() else known.get(name) for name in self._output_core)

    def _supp_shape_from_params(
        self, dist_params: Sequence[Any], param_shapes: Sequence[Sequence[Any]] | None = None
    ) -> Sequence[Any]:
        """Return the lengths of a single draw; a subclass may say more about them than the signature does.

        Parameters
        ----------
        dist_params
            The parameters.
        param_shapes
            Their shapes, where these are known otherwise.

        Raises
        ------
        NotImplementedError
            If the signature does not say what the lengths are.
        """
        known: dict[str, Any] = {}
        shapes = map(shape_tuple, dist_params) if param_shapes is None else map(tuple, param_shapes)
        for own, core in zip(shapes, self._inputs_cores, strict=True):
            known.update(zip(core, own[len(own) - len(core) :], strict=True))
        try:
            return [int(name) if name.isdecimal() else known[name] for name in self._output_core]
        except KeyError as error:
            msg = f"{self._text()}: the signature {self.signature} does not say how long a single draw is."
            raise NotImplementedError(msg) from error

    def _infer_shape(self, size: Any, dist_params: Sequence[Any], param_shapes: Any = None) -> tuple[Any, ...]:
        """Return the lengths of the draws (documented; a size, parameters, and shapes of these if known otherwise)."""
        shape = normalize_size_param(size)
        parameters = [as_tensor_variable(p) for p in dist_params]
        if param_shapes is None or not isinstance(shape.type, NoneTypeT):
            batch = batch_lengths(shape, list(zip(parameters, self.ndims_params, strict=True)))
        else:
            outer = [own[: len(own) - rank] for own, rank in zip(param_shapes, self.ndims_params, strict=True)]
            batch = list(broadcast_shape(*outer, arrays_are_shapes=True))
        return (*batch, *self._supp_shape_from_params(parameters, param_shapes))

    def batch_ndim(self, node: Apply) -> int:
        """Return in how many dimensions a node's draws are independent: all but those of a single draw."""
        drawn: Any = node.outputs[1]
        return int(drawn.ndim - self.ndim_supp)

    def dist_params(self, node: Apply) -> Sequence[Any]:
        """Return the parameters among a node's inputs."""
        return node.inputs[2:]

    def size_param(self, node: Apply) -> Variable:
        """Return the size among a node's inputs."""
        return node.inputs[1]

    def rng_param(self, node: Apply) -> Variable:
        """Return the generator among a node's inputs."""
        return node.inputs[0]

    def update(self, node: Apply) -> Mapping[Variable, Variable]:
        """Return that the first output is the generator after the draw."""
        return {node.inputs[0]: node.outputs[0]}

    def do_constant_folding(self, fgraph: object, node: Apply) -> bool:
        """Refuse: draws are not constants."""
        return False

    # Drawing

    def definition(self, rng: Any, *args: Any, **kwargs: Any) -> Any:
        """Return the draw in terms of a generator's methods and of NumPy's functions.

        It is called with values, and a generator of NumPy's or a `PortableGenerator`, and with variables and a
        generator of a graph (see `treadle.tensor.random.generators.symbolic`).

        Parameters
        ----------
        rng
            The generator, which moves on.
        args
            The parameters of the distribution: a subclass names them, ``definition(self, rng, low, high, *, size)``.
        kwargs
            ``size``: shape of the batch, a tuple.

        By default it is the generator's method of the same name that draws.
        """
        method = getattr(rng, self._text(), None)
        if method is None:
            msg = f"{self._text()}: {type(rng).__name__} has no such method. Define `definition` or `rng_fn`."
            raise NotImplementedError(msg)
        return method(*args, **kwargs)

    @of_op_or_class
    def rng_fn(self, rng: Any, *args: Any, **kwargs: Any) -> Any:
        """Return a draw, by a generator that moves on: ``rng_fn(rng, *dist_params, size)``."""
        *dist_params, size = (*args, *kwargs.values())
        if size is None and any(map(np.ndim, dist_params)):
            # Definitions that are made of several draws need the shape of each.
            size = self._batch_of(None, [np.asarray(p) for p in dist_params])
        return self._drawn(rng, dist_params, size)

    def _drawn(self, rng: Any, parameters: Sequence[Any], size: Any) -> Any:
        """Return the draw by the portable sampler, if there is one for the generator, or by the definition."""
        if not self._has_sampler(rng):
            return self.definition(rng, *parameters, size=size)
        sampler: Any = self.portable_sampler
        dtype = self.dtype if self.dtype in sampler.dtypes else sampler.dtypes[0]
        return rng.draw(sampler.name, () if size is None else size, dtype, *parameters)

    def _has_sampler(self, rng: object) -> bool:
        """Whether a generator draws by the portable sampler."""
        return self.portable_sampler is not None and isinstance(rng, PortableGenerator | SymbolicPortableGenerator)

    def perform(self, node: Apply, inputs: Sequence[Value], output_storage: Sequence[Cell]) -> None:
        """Draw with a copy of the generator, or in place with the generator itself."""
        rng, size, *parameters = inputs
        if not self.inplace:
            rng = generator_type(self, node.inputs[0]).fork(rng)
        batch = self._batch_of(size, parameters)
        kind: Any = node.outputs[1].type
        single = type(rng) is PortableGenerator and kind.dtype == "float32"
        if single:
            rng.dtype = "float32"
        by_rng_fn = redefines(type(self), RandomVariable, "rng_fn") and not self._has_sampler(rng)
        drawn = self.rng_fn(rng, *parameters, batch) if by_rng_fn else self._drawn(rng, parameters, batch)
        if single:
            rng.dtype = "float64"
        output_storage[0][0] = rng
        output_storage[1][0] = np.asarray(drawn, kind.numpy_dtype)

    def _batch_of(self, size: np.ndarray | None, parameters: Sequence[np.ndarray]) -> tuple[int, ...]:
        own = [p.shape[: p.ndim - len(core)] for p, core in zip(parameters, self._inputs_cores, strict=True)]
        if size is None:
            return np.broadcast_shapes(*own) if any(own) else ()
        batch = tuple(size.tolist())
        for shape in own:
            if shape and shape != batch and not fits(shape, batch):
                msg = f"{self._text()}: parameters of shapes {own} do not broadcast to the size {batch}"
                raise ShapeError(msg)
        return batch

    def inplace_on_inputs(self, allowed_inplace_inputs: Sequence[int]) -> RandomVariable:
        """Return the op that draws with the generator given, where nothing else needs that."""
        return _with(self, inplace=True) if 0 in allowed_inplace_inputs else self

    def decompose(self, *inputs: Variable) -> Sequence[Variable] | None:
        """Return the next generator and the draw by ops on the generator's state, where there is a `definition`."""
        rng, size, *parameters = inputs
        is_portable = isinstance(rng.type, PortableGeneratorType) or are_portable()
        by_sampler = is_portable and self.portable_sampler is not None
        if redefines(type(self), RandomVariable, "rng_fn") and not by_sampler:
            return None
        pairs: list[tuple[Any, int]] = list(zip(parameters, self.ndims_params, strict=True))
        batch = batch_lengths(size, pairs)
        kind = TensorType(self.dtype)
        floats = "float32" if kind.dtype == "float32" else "float64"
        source: SymbolicPortableGenerator | SymbolicNumpyGenerator | KeyedDraws
        after: Callable[[Any], Any]
        if is_portable and self._is_derived_by_definition() and not isinstance(rng.type, PortableGeneratorType):
            source, after = KeyedDraws(rng), lambda rng: rng
        elif is_portable:
            state, after = portable_source(rng)
            source = SymbolicPortableGenerator(state, floats)  # type: ignore[arg-type]  # a tensor
        else:
            source = SymbolicNumpyGenerator(state_of(rng), floats)
            after = partial(GeneratorInState(), origin_of(rng))
        by_method = type(self).definition is RandomVariable.definition and not by_sampler
        if by_method and not hasattr(source, self._text()):
            return None
        # The same methods and definitions serve arrays and variables: in them, functions of NumPy's are for both.
        with change_flags(numpy_functions="symbolic"):
            drawn = as_tensor_variable(self._drawn(source, parameters, tuple(batch)))
        if not isinstance(size.type, NoneTypeT) and any(p.ndim > rank for p, rank in pairs):
            # Parameters may turn out to be longer than the size where that is 1, and make the result so.
            drawn = specify_shape(drawn, [*batch, *[None] * self.ndim_supp])
        drawn = cast(drawn, kind.dtype)
        promised = TensorType(kind.dtype, (*self._static_batch(size, parameters), *self._static_core(parameters)))
        if not promised.is_super(drawn.type):
            drawn = specify_shape(drawn, promised.shape)
        next_rng: Any = after(source.state)
        return [next_rng, drawn]

    def symbolic_shape(self, node: Apply, out: Variable, shapes: SymbolicShapes) -> Sequence[Length | None]:
        """Return the batch's lengths, then those of a single draw."""
        _, size, *parameters = node.inputs
        known: dict[str, Length] = {}
        outer: list[Sequence[Length]] = []
        for p, core in zip(parameters, self._inputs_cores, strict=True):
            own = shapes.of(p)
            rank = len(own) - len(core)
            outer.append(own[:rank])
            known.update(zip(core, own[rank:], strict=True))
        if isinstance(size.type, NoneTypeT):
            rank = max(map(len, outer), default=0)
            whole = [[*[shapes.fixed(1)] * (rank - len(own)), *own] for own in outer]
            batch = [shapes.broadcast(lengths) for lengths in zip(*whole, strict=True)]
        else:
            batch = [length_of(n, size, shapes) for n in joined_lengths(size)]
        if type(self)._supp_shape_from_params is not RandomVariable._supp_shape_from_params:
            single = as_lengths(self._text(), list(self._supp_shape_from_params(parameters, None)))
            return [*batch, *(shapes.of_scalar(n) for n in single)]
        return [*batch, *(known.get(name) for name in self._output_core)]

    # Batches

    def vectorize_node(self, node: Apply, *inputs: Any) -> Apply:
        """Draw for each value of the batch, independently: the lengths of the batch stand before those of the size.

        Raises
        ------
        VectorizeError
            If there is a batch of generators or of sizes.
        """
        rng, size, *parameters = inputs
        if rng.type != node.inputs[0].type:
            msg = (
                f"{self._text()}: one generator draws for the whole batch, got {rng} of type {rng.type}. Replace "
                f"{node.inputs[0]} by a generator of type {node.inputs[0].type}, or draw in a loop."
            )
            raise VectorizeError(msg)
        pairs: list[tuple[Any, Any]] = list(zip(self.dist_params(node), parameters, strict=True))
        batch = batching.batch_lengths(pairs)
        if not isinstance(size.type, NoneTypeT):
            old_size: Any = node.inputs[1]
            refuse_batched([(old_size, size)], f"{self._text()}: sizes")
            size = [*batch, *joined_lengths(size)]
        drawn: Any = node.outputs[1]
        own = drawn.ndim - self.ndim_supp
        whole = [
            aligned(p, new, len(batch), own + rank) if batch_ndim(p, new) else new
            for (p, new), rank in zip(pairs, self.ndims_params, strict=True)
        ]
        return self.make_node(rng, size, *whole)

    # Derivatives

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Say that the draw follows the parameters."""
        return [[False, False], [False, False], *([False, True] for _ in node.inputs[2:])]

    def influence_pattern(self, node: Apply) -> list[list[bool]]:
        """Say that the draw follows generator and parameters, the next generator the generator alone."""
        return [[True, True], [False, False], *([False, True] for _ in node.inputs[2:])]

    @property
    def is_discrete(self) -> bool:
        """Whether draws jump as parameters move: those of a distribution on the integers, in whatever dtype."""
        dtypes = (type(self).dtype, self.dtype)
        return any(d is not None and d != "floatX" and np.dtype(d).kind in "biu" for d in dtypes)

    def undefined_derivatives(self, node: Apply) -> list[list[str | None]] | None:
        """Say which parameters a draw of a discrete distribution has no derivative by."""
        if not self.is_discrete:
            return None
        parameters = node.inputs[2:]
        return [
            [None, None],
            [None, None],
            *([None, self._no_derivative(i, node.where())] for i in range(len(parameters))),
        ]

    def _no_derivative(self, index: int, where: str) -> str:
        """Return why a draw of a discrete distribution has no derivative by a parameter."""
        names = list(self.parameters or ())
        name = repr(names[index]) if index < len(names) else str(index)
        return (
            f"a draw of {self._text()} has no derivative by its parameter {name}, as it is discrete{where}. To take "
            "the draw as a constant, pass it through disconnected_grad or name it in consider_constant"
        )

    def derivatives(self, draw: Any, cotangent: Any, *dist_params: Any) -> Sequence[Any]:
        """Return the cotangent times the derivative of the draw by each parameter.

        Each is summed to the parameter's shape afterwards. In place of one stands None where the parameter is an
        integer, and NotImplemented where a draw has no derivative by it, or none is known.

        Raises
        ------
        NotImplementedError
            If a draw is not a smooth function of the parameters, or no derivatives are known.
        """
        raise NotImplementedError

    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> Sequence[Variable | None]:
        """Return the derivatives of a reparameterised draw; undefined ones for any other distribution.

        Those of a distribution that has a `definition` only are those of the graph that it builds: the elementary draws
        stay as they are.

        Through `decompose`: nothing, as draws from a generator's state have no derivatives.
        """
        parameters = inputs[2:]
        try:
            terms = self.derivatives(outputs[1], cotangents[1], *parameters)
        except NotImplementedError:
            terms = self._by_definition(inputs, cotangents[1]) or [NotImplemented] * len(parameters)
        derivatives: list[Variable | None] = [None, None]
        for p, term in zip(parameters, terms, strict=True):
            node = outputs[1].owner
            where = "" if node is None else node.where()
            if term is NotImplemented and self.is_discrete:
                derivatives.append(NullType(self._no_derivative(len(derivatives) - 2, where))())
            elif term is NotImplemented:
                why = f"a draw of {self._text()} has no derivative by this parameter{where}"
                derivatives.append(grad_not_implemented(self, len(derivatives), p, why))
            else:
                derivatives.append(term if term is None or isinstance(term.type, NullType) else sum_to(term, p))
        return derivatives

    def _by_definition(self, inputs: Sequence[Variable], cotangent: Variable) -> Sequence[Variable | None] | None:
        if not self._is_derived_by_definition():
            return None
        rng, size, *parameters = inputs
        batch = batch_lengths(size, list(zip(parameters, self.ndims_params, strict=True)))
        return by_definition(self, rng, parameters, batch, cotangent)

    def _is_derived_by_definition(self) -> bool:
        """Whether derivatives are those of the draws that the definition makes."""
        kind = type(self)
        own = kind.definition is not RandomVariable.definition and kind.derivatives is RandomVariable.derivatives
        return own and not self.is_discrete and self.portable_sampler is None

    def __str__(self) -> str:
        return f"{self.name}_rv{{inplace}}" if self.inplace else f"{self.name}_rv"

    __repr__ = __str__


@lru_cache(maxsize=2048)
def _with(op: RandomVariable, **changes: Any) -> RandomVariable:
    return op.with_props(**changes)
