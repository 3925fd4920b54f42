"""Op: what a node does. The documented contract, and a declarative form of it for frozen dataclasses."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NoReturn, TypeVar, dataclass_transform, overload

from treadle.config import TreadleError, config, dataclass, discover, lazy_module, text_of
from treadle.graph.diagnostics.provenance import add_tag_trace, is_user_file, user_line
from treadle.graph.errors import GraphTypeError, GraphValueError, MethodNotDefinedError
from treadle.graph.ir.apply import Apply
from treadle.graph.ir.encoding import digest, encode, qualified_name, tagged
from treadle.graph.ir.test_values import compute_test_value
from treadle.graph.ir.thunk import ThunkType, is_thunk_type
from treadle.graph.ir.type import Type
from treadle.graph.ir.variable import Variable

if TYPE_CHECKING:
    import dataclasses
    from collections.abc import Callable, Sequence

    from treadle.graph.fgraph.function_graph import FunctionGraph
    from treadle.graph.ir.notation import Form
    from treadle.graph.ir.thunk import Cell, ComputeMap, StorageMap, SymbolicShape, Value

    # What `Op.itypes` and `Op.otypes` list: types, or functions such as ``dmatrix`` that make variables of one.
    Declared = Type | Callable[..., Variable]

    class PublishedBase:
        """The classes of other distributions that all ops derive from."""

else:
    dataclasses = lazy_module("dataclasses")

    # Entry points of the group treadle.op_bases stand for classes that every op derives from: they give ops further
    # methods, and their __init_subclass__ sees every class of ops. Such a class is loaded while treadle.graph is.
    PublishedBase = type("PublishedBase", tuple(entry.load() for entry in discover("treadle.op_bases").values()), {})


class Op(PublishedBase, ABC):
    """An operation on variables.

    Either override `make_node`, or give ``itypes``/``otypes``, or (treadle's own ops) be a frozen dataclass that
    implements `infer`. `perform` computes with plain values and is the reference for every backend.

    Two ops are equal if they have the same class and the same static parameters: the fields of a dataclass, or
    the attributes named in ``__props__``; an op with neither equals only itself.

    Examples
    --------
    >>> class Double(Op):
    ...     __props__ = ()
    ...     def make_node(self, x):
    ...         x = tt.as_tensor(x)
    ...         return treadle.graph.Apply(self, [x], [x.type()])
    ...     def perform(self, node, inputs, outputs):
    ...         outputs[0][0] = 2 * inputs[0]
    ...     def pullback(self, inputs, outputs, cotangents):
    ...         return [2 * cotangents[0]]
    >>> x = tt.dvector("x")
    >>> Double()(x).eval({x: [1.0, 2.0]})
    array([2., 4.])
    """

    default_output: int | None = None
    view_map: dict[int, list[int]] = {}  # noqa: RUF012 - the documented contract: overridden, never changed in place
    destroy_map: dict[int, list[int]] = {}  # noqa: RUF012 - as above
    # Positions of inputs whose run-time value decides shapes or dtypes; a tracing backend needs them concrete.
    static_inputs: ClassVar[tuple[int, ...]] = ()
    # Whether the output types follow from the values of constant inputs too: a copy of the node on other inputs is
    # then made anew, even where their types are the same.
    _output_type_depends_on_input_value: bool = False
    # Whether the op takes or makes values that exist in Python only, such as a generator: it runs in Python between
    # compiled parts, without a warning.
    on_host: ClassVar[bool] = False
    # Whether the op runs in Python between compiled parts, without a warning, on backends that have no rule for it.
    may_run_on_host: ClassVar[bool] = False
    # Whether the op may be computed before a loop, where it is the same in all steps, though it takes values that exist
    # in Python only: it computes its results from these alone, whatever they are, also for a loop without a step.
    leaves_loops: ClassVar[bool] = False
    # Whether the op is a short form of what `decompose` says it is: gradients are taken of that, in the whole graph.
    is_short_form: ClassVar[bool] = False
    # Whether errors of its nodes begin with the op; an op whose errors say what its user wrote lets these begin.
    begins_errors: ClassVar[bool] = True
    # The rewrite that may let the op work in place: excluding it, by its name or a tag of it, keeps the op from it.
    inplace_pass: ClassVar[str] = "work_in_place"
    # Positions of inputs that a version which works in place uses as working memory: `destroy_map` says that they are
    # overwritten, but no output is in their memory.
    working_inputs: ClassVar[Sequence[int]] = ()
    __props__: ClassVar[tuple[str, ...] | None] = None
    itypes: Sequence[Declared] | None = None
    otypes: Sequence[Declared] | None = None

    # Whether make_node is the user's code: nodes then have the line that calls the op, not a line of make_node.
    _made_by_user: ClassVar[bool] = False

    def __init_subclass__(cls, **kwargs: object) -> None:
        """Note whether the class brings a `make_node` of the user's."""
        super().__init_subclass__(**kwargs)
        if "make_node" in cls.__dict__:
            code = getattr(cls.make_node, "__code__", None)
            cls._made_by_user = code is None or is_user_file(code.co_filename)

    # Building

    def as_input(self, value: object) -> Variable:
        """Return `value` as a variable; ops of a package that has constants override this."""
        if isinstance(value, Variable):
            return value
        msg = f"{self}: inputs must be variables, got {text_of(value)}. Convert it to a variable of some type first."
        raise GraphTypeError(msg)

    def infer(self, *types: Type) -> Sequence[Type]:
        """Return the output types for input types; the base of the default `make_node`."""
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

    def make_node_like(self, node: Apply, inputs: Sequence[Variable]) -> Apply:
        """Return a node on inputs that take the places of another node's, and may be of other types.

        An op whose `make_node` takes plain numbers may override it, so that these stay plain numbers.
        """
        return self.make_node(*inputs)

    def _make_typed_node(
        self, inputs: Sequence[object], itypes: Sequence[Declared], otypes: Sequence[Declared]
    ) -> Apply:
        kinds = [self._declared_type(t) for t in itypes]
        if len(inputs) != len(kinds):
            listing = ", ".join(map(str, kinds)) or "nothing"
            msg = f"{self}: {len(kinds)} inputs are needed, got {len(inputs)}. Pass one for each of {listing}."
            raise GraphValueError(msg)
        variables = []
        for i, (x, kind) in enumerate(zip(inputs, kinds, strict=True)):
            var = x if isinstance(x, Variable) else kind.make_constant(x)
            if not kind.is_super(var.type):
                msg = f"{self}: input {i} must be of type {kind}, got {var} of type {var.type}. Convert it first."
                raise GraphTypeError(msg)
            variables.append(var)
        return Apply(self, variables, [self._declared_type(t).make_variable() for t in otypes])

    def _declared_type(self, declared: Declared) -> Type:
        """Return the type of an entry of ``itypes`` or ``otypes``: a type, or a function that makes variables of it."""
        if isinstance(declared, Type):
            return declared
        variable: object = declared() if callable(declared) else None
        if isinstance(variable, Variable):
            kind: Type = variable.type
            return kind
        msg = (
            f"{self}: itypes and otypes hold types, got {text_of(declared)}. Name types, or what makes their variables."
        )
        raise GraphTypeError(msg)

    @overload
    def __call__(
        self, *inputs: object, name: str | None = None, return_list: Literal[True], **kwargs: object
    ) -> list[Variable]: ...

    @overload
    def __call__(
        self, *inputs: object, name: str | None = None, return_list: bool = False, **kwargs: object
    ) -> Any: ...

    def __call__(self, *inputs: object, name: str | None = None, return_list: bool = False, **kwargs: object) -> Any:
        """Apply the op and return its default output, or the list of outputs.

        Parameters
        ----------
        inputs
            Variables, or values that the op converts to constants.
        name
            Name of the output, or of the default one; without a default one, several outputs are named ``name_0``,
            ``name_1`` …
        return_list
            Whether to return a list even for one output.
        kwargs
            Passed on to `make_node`.

        Returns
        -------
        The default output where the op has one, the output where there is one only, else the list of outputs. (What
        class of variable it is depends on the op, so that type checkers take it for anything.)

        Raises
        ------
        TypeError, ValueError
            If the op does not take these inputs.

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
        try:
            node = self.make_node(*inputs, **kwargs)
        except TypeError as error:
            self._refuse_arguments(error)
            raise
        if not isinstance(node, Apply):
            self._refuse_result(node)
        if self._made_by_user:
            node.user_line = user_line(2)
        outputs = node.outputs
        if name is not None:
            _name_outputs(node, name)
        if config.compute_test_value != "off":
            compute_test_value(node)
        if self.default_output is not None:
            chosen = node.default_output()
            return [chosen] if return_list else chosen
        if return_list or len(outputs) != 1:
            return list(outputs)
        return outputs[0]

    def _refuse_arguments(self, error: TypeError) -> None:
        """Refuse arguments that `make_node` cannot be called with: what Python says of it names an inner function."""
        trace = error.__traceback__
        if isinstance(error, TreadleError) or trace is None or trace.tb_next is not None:
            return
        _, _, what = str(error).rpartition("make_node() ")
        msg = f"{self}: the call {what}. Pass operands, and of named arguments those that it takes."
        raise GraphTypeError(msg) from None

    def _refuse_result(self, result: object) -> NoReturn:
        msg = f"{self}: make_node must return an Apply, got {text_of(result)}. Return Apply(self, inputs, outputs)."
        raise GraphTypeError(msg)

    add_tag_trace = staticmethod(add_tag_trace)

    # Computing

    @abstractmethod
    def perform(self, node: Apply, inputs: Sequence[Value], output_storage: Sequence[Cell]) -> None:
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

    def do_constant_folding(self, fgraph: FunctionGraph | None, node: Apply) -> bool:
        """Whether a node whose inputs are all constant may be replaced by its value."""
        return True

    def filler(self, node: Apply) -> Callable[[Value, Sequence[Value]], bool] | None:
        """Return a function ``fill(old, inputs)`` that computes a node's one output into the value of an earlier call.

        It returns whether that value fits. The Python VM calls it where memory is kept for the next call
        (``allow_gc=False``). None, the default, if there is no such function.
        """
        return None

    def printed_form(self, node: Apply) -> Form | Sequence[Form] | None:
        """Return how `pprint` writes the node, or None for a call with the op's own text: ``op(a, b)``.

        An operator returns ``Infix("+", Precedence.SUM).form(node.inputs)``, a function
        ``Form.call("f", node.inputs)``. A form may hold variables from further back in the graph, or made for it.
        Where the op has several outputs, a single form is marked with the position of the output asked for; a list
        holds a form for each.
        """
        return None

    def inplace_on_inputs(self, allowed_inplace_inputs: Sequence[int]) -> Op:
        """Return a version of the op that overwrites as many of these inputs as it can: by default the op itself.

        Parameters
        ----------
        allowed_inplace_inputs
            Positions of inputs whose values nothing else needs.
        """
        return self

    # Derivatives

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Return for each input, for each output, whether a change of the input can change the output smoothly."""
        return [[True] * len(node.outputs) for _ in node.inputs]

    def influence_pattern(self, node: Apply) -> list[list[bool]] | None:
        """Return for each input, for each output, whether the input's value decides the output's, smoothly or not.

        None, the default: where the one or the other is no float it does, else where `connection_pattern` says so.
        """
        return None

    def undefined_derivatives(self, node: Apply) -> list[list[str | None]] | None:
        """Return for each input, for each output, why the output jumps as the input moves, if it does.

        So do draws of discrete distributions: their expectation moves smoothly, which no derivative of the draw
        tells. A gradient that a jump decides is refused with this reason. None: no output does.
        """
        return None

    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> Sequence[Variable | None]:
        """Return the row vector `cotangents` times the Jacobian, one term for each input.

        Parameters
        ----------
        inputs, outputs
            Variables of the node.
        cotangents
            The gradient by each output: zeros where an output does not matter and its type has zeros, else a variable
            of `DisconnectedType`.

        Returns
        -------
        The gradient by each input. None or a variable of `DisconnectedType`: nothing flows back there. A variable of
        ``NullType(reason)``: the gradient is not defined.

        Raises
        ------
        MethodNotDefinedError
            If the op does not define it. Gradients then go through what `decompose` returns, if it is defined.
        """
        msg = f"{self}: the op defines no gradient. Implement pullback (or L_op, or grad) on {type(self).__name__}."
        raise MethodNotDefinedError(msg)

    def pushforward(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], tangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """Return the Jacobian times the `tangents`, one term for each output.

        Parameters
        ----------
        inputs, outputs
            Variables of the node.
        tangents
            How each input moves; None or a variable of `DisconnectedType` where it does not.

        Returns
        -------
        How each output moves; None or a variable of `DisconnectedType` where it does not.

        Raises
        ------
        MethodNotDefinedError
            If the op does not define it. Directional derivatives then follow from `pullback`, or from `decompose`.
        """
        msg = f"{self}: the op defines no R_op. Implement pushforward (or R_op) on {type(self).__name__}."
        raise MethodNotDefinedError(msg)

    # Running through storage cells

    def prepare_node(
        self,
        node: Apply,
        storage_map: StorageMap | None,
        compute_map: ComputeMap | None,
        impl: str | None,
    ) -> None:
        """Prepare a node before it is run for the first time; the op may change the node in place.

        It may be called several times, also with different `impl` (``"py"``, ``"c"``), so an op that prepares
        something guards against doing so twice. The maps are None where the node is run without cells.
        """

    def make_py_thunk(
        self,
        node: Apply,
        storage_map: StorageMap,
        compute_map: ComputeMap | None,
        no_recycling: Sequence[Variable],
        debug: bool = False,
    ) -> ThunkType:
        """Return a callable without arguments that runs `perform` on the storage cells.

        Parameters
        ----------
        node, storage_map, compute_map, no_recycling
            As for `make_thunk`.
        debug
            Whether to run the op's ``debug_perform`` instead, where it has one.
        """
        perform = getattr(self, "debug_perform", self.perform) if debug else self.perform
        inputs = [storage_map[v] for v in node.inputs]
        outputs = [storage_map[v] for v in node.outputs]
        computed = [] if compute_map is None else [compute_map[v] for v in node.outputs]
        emptied = [storage_map[v] for v in node.outputs if v in no_recycling]

        def run() -> None:
            for cell in emptied:
                cell[0] = None
            perform(node, [cell[0] for cell in inputs], outputs)
            for flag in computed:
                flag[0] = True

        thunk = is_thunk_type(run)
        thunk.inputs = inputs
        thunk.outputs = outputs
        thunk.lazy = False
        return thunk

    def make_thunk(
        self,
        node: Apply,
        storage_map: StorageMap,
        compute_map: ComputeMap | None,
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
            ``"py"``, ``"c"``, or None for any. No op carries C text, so ``"c"`` falls back to ``"py"``, after
            `prepare_node` was called for both.

        Raises
        ------
        GraphValueError
            For another `impl`.
        """
        if impl not in {None, "py", "c"}:
            msg = f"{self}: impl must be 'py', 'c' or None, got {text_of(impl)}. Leave it out for any."
            raise GraphValueError(msg)
        if impl == "c":
            self.prepare_node(node, storage_map, compute_map, "c")
        self.prepare_node(node, storage_map, compute_map, "py")
        return self.make_py_thunk(node, storage_map, compute_map, no_recycling)

    def decompose(self, *inputs: Variable) -> Sequence[Variable] | None:
        """Return the node's outputs in simpler ops, or None where the op has no simpler form.

        Backends without a rule of their own for the op use it. The variables returned are of the types of the node's
        outputs.

        Parameters
        ----------
        inputs
            The node's inputs. What is returned may depend on the inputs of the nodes that compute them as well.
        """
        return None

    def infer_shape(self, node: Apply, shapes: Sequence[SymbolicShape | None]) -> Sequence[SymbolicShape | None] | None:
        """Return each output's shape (a tuple of integer variables) from the inputs' shapes, or None if unknown."""
        return None

    # Whether `promises` may state facts of matrices that do not follow from the op's inputs, such as ``diagonal``. A
    # graph is searched for structured matrices only if it has such an op, or rules or constants with such facts.
    promises_structure: ClassVar[bool] = True

    def promises(self, fact: str, output: Variable, holds: Callable[[str, Variable], bool]) -> bool:
        """Whether the op promises a fact of one of its results, for rewrites that ask for it.

        Parameters
        ----------
        fact
            Its name. The rules of treadle.tensor ask for ``nonnegative``: no element is below 0, or a negative zero.
        output
            The result: an output of a node of this op.
        holds
            ``(fact, variable) -> bool``: whether a fact is known to hold for another variable, such as an input.
        """
        return False

    # Identity: the names of a dataclass's parameters, once something asked for them.
    _parameters_known: ClassVar[tuple[type, Sequence[str]] | None] = None

    def _parameter_names(self) -> Sequence[str] | None:
        cls = type(self)
        if not hasattr(cls, "__dataclass_fields__"):
            return cls.__props__
        known = cls._parameters_known
        if known is None or known[0] is not cls:
            known = cls._parameters_known = (cls, [f.name for f in dataclasses.fields(self) if f.compare])  # type: ignore[arg-type]  # it is one
        return known[1]

    def canonical(self) -> bytes:
        """Return the canonical encoding of class and static parameters (see `treadle.graph.ir.encoding`).

        Raises
        ------
        GraphTypeError
            If the op has no declared parameters, or one of them cannot be encoded.
        """
        encoding: bytes | None = self.__dict__.get("_canonical")
        if encoding is None:
            names = self._parameter_names()
            if names is None:
                msg = (
                    f"{qualified_name(type(self))}: the op declares no parameters, so other processes cannot tell it "
                    "from others. Make it a frozen dataclass, or declare __props__."
                )
                raise GraphTypeError(msg)
            encoding = tagged("O", qualified_name(type(self)).encode(), *(encode(getattr(self, n)) for n in names))
            self.__dict__["_canonical"] = encoding
        return encoding

    def stable_key(self) -> str:
        """Return a digest of class and static parameters that is the same in every process."""
        return digest(self.canonical())

    def __eq__(self, other: object) -> bool:
        """Compare class and static parameters: by their canonical encoding, or by ``==`` where they have none."""
        if self is other:
            return True
        if type(self) is not type(other):
            return False
        # Rewriting compares ops all the time: encodings that are known already decide at once.
        mine, theirs = self.__dict__.get("_canonical"), other.__dict__.get("_canonical")
        if mine is not None and theirs is not None:
            return bool(mine == theirs)
        return self._parameter_names() is not None and bool(self._identity() == other._identity())

    def __hash__(self) -> int:
        """Hash what `__eq__` compares, or the identity of an op without declared parameters."""
        value: int | None = self.__dict__.get("_hash")
        if value is None:
            value = object.__hash__(self) if self._parameter_names() is None else hash(self._identity())
            self.__dict__["_hash"] = value
        return value

    def _identity(self) -> object:
        """Return the canonical encoding; with a parameter that has none, an identity for this process only."""
        try:
            return self.canonical()
        except GraphTypeError:
            return (type(self), *(_encoded_or_itself(getattr(self, name)) for name in self._parameter_names() or ()))

    def __getstate__(self) -> Any:
        """Leave out derived values: hashes differ from one process to the next, compiled functions belong to one."""
        state = {k: v for k, v in self.__dict__.items() if k not in {"_canonical", "_fn", "_hash"}}
        full_state = super().__getstate__()
        # With slots, it is a pair of the dictionary and the slots.
        return (state, full_state[1]) if isinstance(full_state, tuple) else state

    def __str__(self) -> str:
        names = self._parameter_names() or ()
        parameters = ", ".join(f"{n}={getattr(self, n)!r}" for n in names)
        return f"{type(self).__name__}({parameters})" if parameters else type(self).__name__

    __repr__ = __str__


def _encoded_or_itself(parameter: object) -> object:
    """Return a parameter's canonical encoding, or the parameter itself if it has none."""
    try:
        return encode(parameter)
    except GraphTypeError:
        return parameter


def _name_outputs(node: Apply, name: str) -> None:
    outputs = node.outputs
    if len(outputs) == 1 or node.op.default_output is not None:
        node.default_output().name = name
        return
    for i, out in enumerate(outputs):
        out.name = f"{name}_{i}"


_OpClass = TypeVar("_OpClass", bound=type[Op])


@dataclass_transform(frozen_default=True, eq_default=False)
def static_op(cls: _OpClass) -> _OpClass:
    """Make a class of ops a frozen dataclass that keeps Op's own equality, hash and repr.

    The fields are the op's static parameters.
    """
    return dataclass(frozen=True, eq=False, repr=False)(cls)  # type: ignore[return-value]  # the same class comes back
