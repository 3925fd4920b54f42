"""Op: what a node does. The documented contract, and a declarative form of it for frozen dataclasses."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, dataclass_transform

from treadle.config import config, lazy_module
from treadle.graph.apply import Apply
from treadle.graph.encoding import digest, encode, qualified_name, tagged
from treadle.graph.errors import GraphTypeError, GraphValueError, MethodNotDefinedError
from treadle.graph.provenance import user_trace
from treadle.graph.test_values import compute_test_value
from treadle.graph.variable import Variable

if TYPE_CHECKING:
    import dataclasses
    from collections.abc import Callable, Sequence

    from treadle.graph.type import Type
else:
    dataclasses = lazy_module("dataclasses")


class Op(ABC):
    """An operation on variables.

    Either override `make_node`, or give ``itypes``/``otypes``, or (treadle's own ops) be a frozen dataclass that
    implements `infer`. `perform` computes with plain values and is the reference for every backend.

    Two ops are equal if they have the same class and the same static parameters: the fields of a dataclass, or
    the attributes named in ``__props__``; an op with neither equals only itself.
    """

    default_output: int | None = None
    view_map: dict[int, list[int]] = {}  # noqa: RUF012 - the documented contract: overridden, never changed in place
    destroy_map: dict[int, list[int]] = {}  # noqa: RUF012 - as above
    # Positions of inputs whose run-time value decides shapes or dtypes; a tracing backend needs them concrete.
    static_inputs: ClassVar[tuple[int, ...]] = ()
    __props__: ClassVar[tuple[str, ...] | None] = None
    itypes: Sequence[Type] | None = None
    otypes: Sequence[Type] | None = None

    # Building

    def as_input(self, value: Any) -> Variable:
        """Return `value` as a variable; ops of a package that has constants override this."""
        if isinstance(value, Variable):
            return value
        msg = f"{self}: inputs must be variables, got {value!r}. Convert it to a variable of some type first."
        raise GraphTypeError(msg)

    def infer(self, *types: Type) -> Sequence[Type]:
        """Return the output types for input types; the base of the default `make_node`."""
        del types
        msg = f"{self}: the op defines neither make_node, infer nor itypes/otypes. Implement one of them."
        raise MethodNotDefinedError(msg)

    def make_node(self, *inputs: Any) -> Apply:
        """Return an Apply of this op to the inputs.

        Raises
        ------
        TypeError, ValueError
            If the op does not take these inputs.
        """
        if self.itypes is not None and self.otypes is not None:
            return self._make_typed_node(inputs, self.itypes, self.otypes)
        variables = [self.as_input(x) for x in inputs]
        types = self.infer(*[v.type for v in variables])
        return Apply(self, variables, [t.make_variable() for t in types])

    def _make_typed_node(self, inputs: Sequence[Any], itypes: Sequence[Type], otypes: Sequence[Type]) -> Apply:
        if len(inputs) != len(itypes):
            msg = f"{self}: {len(itypes)} inputs are needed, got {len(inputs)}. Pass one for each of {list(itypes)}."
            raise GraphValueError(msg)
        variables = [self.as_input(x) for x in inputs]
        for i, (var, kind) in enumerate(zip(variables, itypes, strict=True)):
            if not kind.is_super(var.type):
                msg = f"{self}: input {i} must be of type {kind}, got {var} of type {var.type}. Convert it first."
                raise GraphTypeError(msg)
        return Apply(self, variables, [t.make_variable() for t in otypes])

    def __call__(self, *inputs: Any, name: str | None = None, return_list: bool = False, **kwargs: Any) -> Any:
        """Apply the op and return its default output, or the list of outputs.

        Parameters
        ----------
        inputs
            Variables, or values that the op converts to constants.
        name
            Name of the output; several outputs are named ``name_0``, ``name_1`` …
        return_list
            Whether to return a list even for one output.
        kwargs
            Passed on to `make_node`.

        Notes
        -----
        An input that is not a variable and has a method ``__apply_op__(op, inputs)`` decides itself what the
        call means: this is how rewrite patterns are written with the operators of expressions.
        """
        for x in inputs:
            if not isinstance(x, Variable):
                handler = getattr(type(x), "__apply_op__", None)
                if handler is not None:
                    return handler(x, self, inputs)
        node = self.make_node(*inputs, **kwargs)
        outputs = node.outputs
        if name is not None:
            _name_outputs(outputs, name)
        if config.compute_test_value != "off":
            compute_test_value(node)
        if self.default_output is not None:
            chosen = outputs[self.default_output]
            return [chosen] if return_list else chosen
        if return_list or len(outputs) != 1:
            return list(outputs)
        return outputs[0]

    @staticmethod
    def add_tag_trace(thing: Any, user_line: int | None = None) -> Any:
        """Set ``tag.trace`` to the user's frames, innermost first, and return the thing.

        Parameters
        ----------
        thing
            A variable or node.
        user_line
            How many frames to keep; option ``traceback__limit`` if None; all if -1.
        """
        limit = config.traceback__limit if user_line is None else user_line
        thing.tag.trace = user_trace(limit, 2)
        return thing

    # Computing

    @abstractmethod
    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        """Compute the outputs with plain values.

        Parameters
        ----------
        node
            The node computed.
        inputs
            Values of its inputs; not to be changed except as ``destroy_map`` says.
        output_storage
            One list of one element for each output, to be filled. It may hold an earlier value of the right type
            but of any shape, which may be reused or discarded.
        """

    def do_constant_folding(self, fgraph: Any, node: Apply) -> bool:
        """Whether a node whose inputs are all constant may be replaced by its value."""
        del fgraph, node
        return True

    def prepare_node(
        self,
        node: Apply,
        storage_map: dict[Variable, list[Any]] | None,
        compute_map: dict[Variable, list[bool]] | None,
        impl: str | None,
    ) -> None:
        """Prepare a node before its thunk is made; may be called several times."""
        del node, storage_map, compute_map, impl

    def make_py_thunk(
        self,
        node: Apply,
        storage_map: dict[Variable, list[Any]],
        compute_map: dict[Variable, list[bool]] | None,
        no_recycling: Sequence[Variable],
        debug: bool = False,
    ) -> Callable[[], Any]:
        """Return a callable without arguments that runs `perform` (or ``debug_perform``) on the storage cells."""
        perform = getattr(self, "debug_perform", self.perform) if debug else self.perform
        inputs = [storage_map[v] for v in node.inputs]
        outputs = [storage_map[v] for v in node.outputs]
        computed = [] if compute_map is None else [compute_map[v] for v in node.outputs]
        fresh = [storage_map[v] for v in node.outputs if v in no_recycling]

        def thunk() -> None:
            for cell in fresh:
                cell[0] = None
            perform(node, [cell[0] for cell in inputs], outputs)
            for flag in computed:
                flag[0] = True

        return thunk

    def make_thunk(
        self,
        node: Apply,
        storage_map: dict[Variable, list[Any]],
        compute_map: dict[Variable, list[bool]] | None,
        no_recycling: Sequence[Variable],
        impl: str | None = None,
    ) -> Callable[[], Any]:
        """Return a callable without arguments that computes the node on the given storage cells.

        Parameters
        ----------
        node
            The node computed.
        storage_map
            Cell (a list of one element) of each variable.
        compute_map
            Flag (a list of one bool) of each variable, set once it is computed; or None.
        no_recycling
            Variables whose storage may not be reused from one call to the next.
        impl
            ``"py"``, ``"c"``, or None for any.
        """
        self.prepare_node(node, storage_map, compute_map, impl if impl is not None else "py")
        return self.make_py_thunk(node, storage_map, compute_map, no_recycling)

    def infer_shape(self, fgraph: Any, node: Apply, shapes: Sequence[Any]) -> Sequence[Any] | None:
        """Return each output's shape (a tuple of integer variables) from the inputs' shapes, or None if unknown."""
        del fgraph, node, shapes
        return None

    # Differentiation: pullback/pushforward are the clear pair; L_op, R_op and grad are the documented names.

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Return for each input, for each output, whether a change of the input can change the output smoothly."""
        return [[True] * len(node.outputs) for _ in node.inputs]

    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> Sequence[Variable | None]:
        """Return the row vector `cotangents` times the Jacobian, one term for each input; None if disconnected."""
        return self.L_op(inputs, outputs, cotangents)

    def pushforward(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], tangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """Return the Jacobian times the `tangents`, one term for each output; None if disconnected."""
        del outputs
        return self.R_op(inputs, tangents)

    def L_op(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], output_grads: Sequence[Variable]
    ) -> Sequence[Variable | None]:
        """Return the gradients of the inputs, given those of the outputs (documented name of `pullback`)."""
        del outputs
        return self.grad(inputs, output_grads)

    def grad(self, inputs: Sequence[Variable], output_grads: Sequence[Variable]) -> Sequence[Variable | None]:
        """Return the gradients of the inputs, given those of the outputs (documented name)."""
        del inputs, output_grads
        msg = f"{self}: the op defines no gradient. Implement pullback (or L_op, or grad) on {type(self).__name__}."
        raise MethodNotDefinedError(msg)

    def R_op(self, inputs: Sequence[Variable], eval_points: Sequence[Variable | None]) -> Sequence[Variable | None]:
        """Return the directional derivatives of the outputs (documented name of `pushforward`)."""
        del inputs, eval_points
        msg = f"{self}: the op defines no R_op. Implement pushforward (or R_op) on {type(self).__name__}."
        raise MethodNotDefinedError(msg)

    # Identity

    def _parameter_names(self) -> Sequence[str] | None:
        if hasattr(self, "__dataclass_fields__"):
            return [f.name for f in dataclasses.fields(self) if f.compare]  # type: ignore[arg-type]  # it is one
        return type(self).__props__

    def canonical(self) -> bytes:
        """Return the canonical encoding of class and static parameters (see `treadle.graph.encoding`).

        Raises
        ------
        GraphTypeError
            If the op has no declared parameters, or one of them cannot be encoded.
        """
        known: bytes | None = self.__dict__.get("_canonical")
        if known is None:
            names = self._parameter_names()
            if names is None:
                msg = (
                    f"{qualified_name(type(self))}: the op declares no parameters, so other processes cannot tell it "
                    "from others. Make it a frozen dataclass, or declare __props__."
                )
                raise GraphTypeError(msg)
            known = tagged("O", qualified_name(type(self)).encode(), *(encode(getattr(self, n)) for n in names))
            self.__dict__["_canonical"] = known
        return known

    def stable_key(self) -> str:
        """Return a digest of class and static parameters that is the same in every process."""
        return digest(self.canonical())

    def __eq__(self, other: object) -> bool:
        """Compare class and static parameters by their canonical encoding."""
        if self is other:
            return True
        if type(self) is not type(other):
            return False
        # Rewriting compares ops all the time: encodings that are known already decide at once.
        mine, theirs = self.__dict__.get("_canonical"), other.__dict__.get("_canonical")
        if mine is not None and theirs is not None:
            return bool(mine == theirs)
        return self._parameter_names() is not None and self.canonical() == other.canonical()

    def __hash__(self) -> int:
        """Hash the canonical encoding, or the identity of an op without declared parameters."""
        known: int | None = self.__dict__.get("_hash")
        if known is None:
            known = object.__hash__(self) if self._parameter_names() is None else hash(self.canonical())
            self.__dict__["_hash"] = known
        return known

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what is derived: hashes differ from one process to the next."""
        return {k: v for k, v in self.__dict__.items() if k not in {"_canonical", "_hash"}}

    def __str__(self) -> str:
        """Show class and static parameters."""
        names = self._parameter_names() or ()
        shown = ", ".join(f"{n}={getattr(self, n)!r}" for n in names)
        return f"{type(self).__name__}({shown})" if shown else type(self).__name__

    __repr__ = __str__


def _name_outputs(outputs: Sequence[Variable], name: str) -> None:
    if len(outputs) == 1:
        outputs[0].name = name
        return
    for i, out in enumerate(outputs):
        out.name = f"{name}_{i}"


_OpClass = TypeVar("_OpClass", bound=type[Op])


@dataclass_transform(frozen_default=True, eq_default=False)
def static_op(cls: _OpClass) -> _OpClass:
    """Make a class of ops a frozen dataclass that keeps Op's own equality, hash and repr.

    The fields are the op's static parameters.
    """
    return dataclasses.dataclass(frozen=True, eq=False, repr=False)(cls)  # type: ignore[return-value]  # the same class comes back


class HasInnerGraph(ABC):
    """Mixin of ops that hold a graph of their own."""

    @property
    @abstractmethod
    def fgraph(self) -> Any:
        """The inner FunctionGraph."""

    @property
    @abstractmethod
    def inner_inputs(self) -> list[Variable]:
        """Inputs of the inner graph."""

    @property
    @abstractmethod
    def inner_outputs(self) -> list[Variable]:
        """Outputs of the inner graph."""
