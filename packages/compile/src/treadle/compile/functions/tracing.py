"""compiled: a Python function over tensors, made a program for each kind of arguments when it is first called."""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Iterable, Mapping
from functools import partial, update_wrapper
from typing import TYPE_CHECKING, Any, NamedTuple, cast, overload

from treadle.compile.errors import CallError, FunctionTypeError
from treadle.compile.functions.facade import function
from treadle.compile.io import In
from treadle.config import dataclass, new_lock, text_of
from treadle.graph import (
    CONVERTERS,
    GraphTypeError,
    SharedVariable,
    TreeForm,
    Variable,
    as_flag,
    is_tree,
    tracing,
    tree_flatten,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from treadle.compile.functions.function import Function
    from treadle.compile.mode.mode import Mode
    from treadle.graph import Type

# The float dtype beside which a Python number takes that dtype, and its complex one.
_WIDTHS = {"float16": 0, "float32": 1, "float64": 2, "complex64": 1, "complex128": 2}
_FLOATS = ("float16", "float32", "float64")
_COMPLEX = ("complex64", "complex64", "complex128")


class CacheInfo(NamedTuple):
    """What a compiled function keeps: calls answered by a program that was there, programs made, programs kept."""

    hits: int
    misses: int
    currsize: int


@dataclass(frozen=True, slots=True)
class Traced:
    """A Python function as one graph: what it was called with, what it returned, and the compiled function of the two.

    Attributes
    ----------
    arguments
        Variables in place of the arguments, by the names of the parameters; static arguments are left out.
    results
        What the function returned for them, without the updates.
    updates
        New values of shared variables, by variable.
    function
        The compiled function of all leaves of the arguments, in order, which returns those of the results in a list.
    """

    arguments: dict[str, Any]
    results: Any
    updates: Mapping[SharedVariable, object]
    function: Function
    form: TreeForm

    def call(self, leaves: Sequence[object]) -> Any:
        """Return the results for values of the arguments."""
        return self.form.fill(self.function(*leaves))


class _Call(NamedTuple):
    """The arguments of a call: leaves and form of those that become variables, the others by name."""

    leaves: list[object]
    form: TreeForm
    static: dict[str, object]
    bound: inspect.BoundArguments


class CompiledFunction:
    """A Python function over tensors whose calls run compiled programs. Made by `compiled`.

    Attributes
    ----------
    __wrapped__
        The Python function.
    mode
        The mode that programs are compiled in, or None for the default one.
    static
        Names of the parameters whose arguments are passed on as they are.
    shapes
        Whether there is a program for each combination of shapes, in which shapes are known.
    """

    def __init__(
        self, fun: Callable[..., Any], mode: Mode | str | None, static: Sequence[str], shapes: bool,
        options: Mapping[str, Any], signature: inspect.Signature | None = None,
    ) -> None:  # fmt: skip
        self._fun = fun
        self.mode = mode
        self.static = tuple(static)
        self.shapes = shapes
        self._options = dict(options)
        self._signature = signature if signature is not None else inspect.signature(fun)
        self._lock = new_lock()
        self._hits = self._misses = 0
        # Programs by what is quickly told of arguments, and by their types.
        self._by_kind: dict[Hashable, Traced] = {}
        self._by_types: dict[Hashable, Traced] = {}
        # What a method is for each object, by its id, while the object lives.
        self._methods: dict[int, tuple[object, CompiledFunction]] = {}
        self.__wrapped__ = fun
        update_wrapper(self, fun, updated=())
        self._title = getattr(fun, "__name__", type(fun).__name__)

    def __repr__(self) -> str:
        return f"<compiled {self._title}{self._signature}, {len(self._by_types)} programs>"

    # Calls

    def __call__(self, *args: object, **kwargs: object) -> Any:
        """Return what the Python function returns, computed by the program for arguments of this kind."""
        call = self._read(args, kwargs)
        if call is None:
            return self._fun(*args, **kwargs)
        return self._program(call).call(call.leaves)

    def lower(self, *args: object, **kwargs: object) -> Traced:
        """Return the graph and compiled function for arguments of this kind, made if need be; nothing is computed.

        Raises
        ------
        CallError
            If the arguments do not fit the function, or one is a variable.
        """
        call = self._read(args, kwargs)
        if call is None:
            msg = f"{self._title}: the graph is made for values, got variables. Pass values of the kind meant."
            raise CallError(msg)
        return self._program(call)

    def cache_info(self) -> CacheInfo:
        """Return how many calls found a program, how many programs were made, and how many are kept."""
        with self._lock:
            return CacheInfo(self._hits, self._misses, len(self._by_types))

    def clear(self) -> None:
        """Forget all programs: each is made again when it is next needed."""
        with self._lock:
            self._by_kind.clear()
            self._by_types.clear()
            self._methods.clear()
            self._hits = self._misses = 0

    def _read(self, args: Sequence[object], kwargs: Mapping[str, object]) -> _Call | None:
        """Return the arguments of a call; None where one is a variable: the call is then a part of another graph."""
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError as error:
            msg = f"{self._title}: {error}. Call {self._title}{self._signature}."
            raise CallError(msg) from None
        # A default that is not overridden is no argument: the function has it anyway.
        parameters = self._signature.parameters
        static = {name: bound.arguments.get(name, parameters[name].default) for name in self.static}
        tree = {name: value for name, value in bound.arguments.items() if name not in static}
        leaves, form = tree_flatten(tree)
        if any(isinstance(leaf, Variable) for leaf in leaves):
            return None
        return _Call(leaves, form, static, bound)

    def _program(self, call: _Call) -> Traced:
        static = tuple((type(value), value) for value in call.static.values())
        key = (call.form, static, tuple(map(self._kind, call.leaves)))
        try:
            program = self._by_kind.get(key)
        except TypeError:
            self._refuse_static(call)
            raise
        with self._lock:
            if program is not None:
                self._hits += 1
                return program
            types = self._types(call)
            by_types = (call.form, static, tuple(types))
            program = self._by_types.get(by_types)
            if program is None:
                program = self._traced(call, types)
                self._misses += 1
                self._by_types[by_types] = program
            else:
                self._hits += 1
            self._by_kind[key] = program
        return program

    def _kind(self, leaf: object) -> Hashable:
        """Return what is quickly told of an argument and decides its type, among arguments of the same kinds."""
        dtype, shape = getattr(leaf, "dtype", None), getattr(leaf, "shape", None)
        if dtype is None or shape is None:
            return cast("Hashable", type(leaf))
        return type(leaf), dtype, tuple(shape) if self.shapes else len(shape)

    def _refuse_static(self, call: _Call) -> None:
        for name, value in call.static.items():
            try:
                hash(value)
            except TypeError:
                msg = (
                    f"{self._title}: the static argument {name} must be hashable, since a program is kept for each "
                    f"value, got {text_of(value)}. Pass a tuple, a string or a number, or leave {name} out of static."
                )
                raise CallError(msg) from None

    # Graphs

    def _types(self, call: _Call) -> list[Type]:
        """Return the types of the arguments. A Python float has the width of the floats beside it."""
        types: list[Type] = []
        for leaf, path in zip(call.leaves, _paths(call.form), strict=True):
            try:
                type_ = CONVERTERS.type_of(leaf)
            except GraphTypeError:
                name = path.partition("[")[0].partition(".")[0]
                msg = (
                    f"{self._title}: {path}: expected an array or a number, got {text_of(leaf)}. Convert it, or "
                    f"declare the parameter static: compiled(..., static={name!r})."
                )
                raise CallError(msg) from None
            types.append(type_.clone(shape=tuple(leaf.shape)) if self.shapes and hasattr(leaf, "shape") else type_)
        is_number = [type(leaf) in {float, complex} for leaf in call.leaves]
        widths = [
            _WIDTHS[dtype]
            for type_, number in zip(types, is_number, strict=True)
            if not number and (dtype := getattr(type_, "dtype", None)) in _WIDTHS
        ]
        if not widths:
            return types
        width = max(widths)
        wanted = {float: _FLOATS[width], complex: _COMPLEX[width]}
        return [
            type_.clone(dtype=wanted[type(leaf)]) if number else type_
            for type_, number, leaf in zip(types, is_number, call.leaves, strict=True)
        ]

    def _traced(self, call: _Call, types: Sequence[Type]) -> Traced:
        """Call the Python function with variables, and compile what it returns."""
        variables = [type_.make_variable(path) for type_, path in zip(types, _paths(call.form), strict=True)]
        arguments = call.form.fill(variables)
        bound = inspect.BoundArguments(self._signature, call.bound.arguments.copy())
        bound.arguments.update(arguments)
        with tracing(self._title):
            try:
                returned = self._fun(*bound.args, **bound.kwargs)
            except TypeError as error:
                # What variables say where Python asks for a value, a length or an iterator.
                if any(words in str(error) for words in ("has no value yet", "is not known")):
                    error.add_note(self._advice())
                raise
        results, updates = self._split(returned)
        leaves, form = tree_flatten(results)
        outputs = [self._output(leaf, path) for leaf, path in zip(leaves, form.paths("result"), strict=True)]
        inputs = [
            In(variable, allow_downcast=True if type(leaf) in {float, complex} else None)
            for variable, leaf in zip(variables, call.leaves, strict=True)
        ]
        options = {"name": self._title, "on_unused_input": "ignore", **self._options}
        made = function(inputs, outputs, mode=self.mode, updates=updates, **options)
        return Traced(arguments, form.fill(outputs), updates, made, form)

    def _advice(self) -> str:
        names = ", ".join(name for name in self._signature.parameters if name not in self.static)
        return (
            f"{self._title} is compiled: while its graph is made, its arguments ({names}) are variables without "
            "values. For a choice write tt.where or tt.ifelse, for a loop tt.scan_with_carry or tt.while_loop; an "
            "argument that decides what the graph is must be static: compiled(..., static='name')."
        )

    def _split(self, returned: Any) -> tuple[object, Mapping[SharedVariable, object]]:
        """Return results and updates: a dictionary from shared variables to new values, alone or last in a tuple."""
        if _are_updates(returned):
            return None, returned
        if type(returned) is tuple and returned and _are_updates(returned[-1]):
            rest = returned[:-1]
            return rest[0] if len(rest) == 1 else rest, returned[-1]
        return returned, {}

    def _output(self, leaf: object, path: str) -> Variable:
        if isinstance(leaf, Variable):
            return leaf
        try:
            return CONVERTERS.type_of(leaf).make_constant(leaf)
        except GraphTypeError:
            msg = (
                f"{self._title}: {path}: a compiled function returns tensors, numbers, and containers of them, got "
                f"{text_of(leaf)}. Return it from the Python code around the function."
            )
            raise FunctionTypeError(msg) from None

    # Methods, copies

    def __get__(self, instance: object, owner: type | None = None) -> CompiledFunction | _Method:
        """Return the method of an object: its own programs, unless the object itself is a tree of arguments."""
        if instance is None:
            return self
        first = next(iter(self._signature.parameters), None)
        if is_tree(instance) or first in self.static:
            return _Method(self, instance)
        with self._lock:
            known = self._methods.get(id(instance))
            if known is not None:
                return known[1]
            holder: Any
            try:
                holder = weakref.ref(instance, partial(_forget, weakref.ref(self), id(instance)))
            except TypeError:  # an object that cannot be referred to weakly
                holder = partial(_same, instance)
            parameters = list(self._signature.parameters.values())[1:]
            method = CompiledFunction(
                update_wrapper(_OfObject(self._fun, holder), self._fun), self.mode, self.static, self.shapes,
                self._options, self._signature.replace(parameters=parameters),
            )  # fmt: skip
            self._methods[id(instance)] = (holder, method)
            return method

    def __reduce__(self) -> Any:
        """Pickle a decorated function by its name, any other by what it was made of; programs are made again."""
        module = inspect.getmodule(self._fun)
        found: Any = module
        for part in getattr(self, "__qualname__", "").split("."):
            found = getattr(found, part, None)
        if found is self:
            return self.__qualname__
        return _remake, (self._fun, self.mode, self.static, self.shapes, self._options)


def _remake(
    fun: Callable[..., Any], mode: Mode | str | None, static: Sequence[str], shapes: bool, options: Mapping[str, object]
) -> CompiledFunction:
    return CompiledFunction(fun, mode, static, shapes, options)


def _forget(owner: weakref.ref[CompiledFunction], key: int, reference: object) -> None:
    """Drop the programs of a method whose object is gone."""
    function_of_class = owner()
    if function_of_class is not None:
        known = function_of_class._methods.get(key)
        if known is not None and known[0] is reference:
            del function_of_class._methods[key]


def _same(value: object) -> object:
    return value


class _OfObject:
    """A function of a class with its first argument, which is kept only as long as others keep it."""

    def __init__(self, fun: Callable[..., Any], holder: Callable[[], object]) -> None:
        self._fun = fun
        self._holder = holder

    def __call__(self, *args: object, **kwargs: object) -> Any:
        return self._fun(self._holder(), *args, **kwargs)


class _Method:
    """A compiled method of an object that is an argument like the others."""

    def __init__(self, owner: CompiledFunction, instance: object) -> None:
        self.__func__ = owner
        self.__self__ = instance
        update_wrapper(self, owner.__wrapped__)

    def __call__(self, *args: object, **kwargs: object) -> Any:
        return self.__func__(self.__self__, *args, **kwargs)

    def lower(self, *args: object, **kwargs: object) -> Traced:
        """Return the graph and compiled function for arguments of this kind."""
        return self.__func__.lower(self.__self__, *args, **kwargs)

    def cache_info(self) -> CacheInfo:
        """Return what is kept for all objects of the class together."""
        return self.__func__.cache_info()

    def clear(self) -> None:
        """Forget the programs of all objects of the class."""
        self.__func__.clear()


def _paths(form: TreeForm) -> list[str]:
    """Return how each argument is reached from its parameter, as ``params["w"]``."""
    return [path for name, part in zip(form.static, form.parts, strict=True) for path in part.paths(name)]


def _are_updates(item: object) -> bool:
    return isinstance(item, Mapping) and bool(item) and all(isinstance(key, SharedVariable) for key in item)


@overload
def compiled(
    fun: Callable[..., Any],
    *,
    mode: Mode | str | None = None,
    static: str | Iterable[str] = (),
    shapes: bool = False,
    **options: Any,
) -> CompiledFunction: ...
@overload
def compiled(
    fun: None = None,
    *,
    mode: Mode | str | None = None,
    static: str | Iterable[str] = (),
    shapes: bool = False,
    **options: Any,
) -> Callable[[Callable[..., Any]], CompiledFunction]: ...
def compiled(
    fun: Callable[..., Any] | None = None,
    *,
    mode: Mode | str | None = None,
    static: str | Iterable[str] = (),
    shapes: bool = False,
    **options: Any,
) -> Any:
    """Compile a Python function over tensors: one program for each kind of arguments, made at the first call with it.

    The function is called once for each kind, with variables in place of the arguments, and what it returns is compiled
    as by `function`; later calls with arguments of these dtypes and ranks run the program (as jax.jit, torch.compile).

    Parameters
    ----------
    fun
        The function. Arguments and results may be nested: trees of arrays and numbers (see
        `treadle.graph.tree_flatten`; a list is a tree, not an array). Without it, a decorator is returned.
    mode
        A mode or its name, as for `function`.
    static
        The name of a parameter, or several, whose arguments are passed on as they are: whatever decides what the graph
        is, such as a number of layers. There is a program for each value, which must be hashable.
    shapes
        Whether to make a program for each combination of shapes, in which the shapes are known. Otherwise programs take
        any lengths.
    options
        Further arguments of `function`: ``name``, ``givens``, ``profile``, ``no_default_updates`` and so on.

    Returns
    -------
    A `CompiledFunction`: called like the function; ``cache_info()`` counts its programs, ``clear()`` forgets them, and
    ``lower(*args)`` returns graph and compiled function for a kind of arguments. It may be called from any number of
    threads.

    Raises
    ------
    FunctionTypeError
        If `fun` is not callable, or has no parameter of a name in `static`; by a call, if the function returns what is
        no tensor.
    CallError
        By a call, if the arguments do not fit the function, or one is neither an array nor a number nor static.

    Notes
    -----
    Defaults that a call leaves alone are Python values for the function, as in any call of it.

    A Python float has the width of the floats among the arguments; without one it is a float64, and an int an int64.

    State is kept in shared variables. A dictionary from shared variables to new values, returned last in a tuple or
    alone, holds updates, which each call makes; it is no part of the result. Default updates, such as those of a
    `RandomStream`, are made too. `set_value` inside the function would act once, and is refused.

    Called with variables, it is the Python function: compiled functions may call each other. In a class it decorates a
    method: what it reads of ``self`` is read when a program is made, for each object, unless the object is a tree
    itself, such as a dataclass, whose fields are arguments then.

    Examples
    --------
    >>> import numpy as np
    >>> import treadle.tensor as tt
    >>> @compiled(mode="VM", static="power")
    ... def loss(params, x, power=2):
    ...     return ((params["w"] * x - params["b"]) ** power).sum()
    >>> params = {"w": 2.0, "b": 1.0}
    >>> float(loss(params, np.array([1.0, 2.0]))), float(loss(params, np.array([1.0, 2.0]), power=1))
    (10.0, 4.0)
    >>> loss.cache_info()
    CacheInfo(hits=0, misses=2, currsize=2)
    """
    names = (static,) if isinstance(static, str) else tuple(static)
    given: Any = fun
    has_shapes = as_flag("compiled: shapes", shapes)
    if fun is None:
        return partial(compiled, mode=mode, static=names, shapes=has_shapes, **options)
    if not callable(given) or isinstance(given, Variable):
        what = "Compile an expression with function([...], it)" if isinstance(given, Variable) else "Pass a function"
        msg = f"compiled: a function over tensors is needed, got {text_of(given)}. {what}."
        raise FunctionTypeError(msg)
    parameters = inspect.signature(fun).parameters
    unknown = [name for name in names if name not in parameters]
    if unknown:
        msg = (
            f"compiled: static names a parameter {text_of(unknown[0])}, and "
            f"{getattr(fun, '__name__', text_of(fun))} has {', '.join(parameters) or 'none'}. Name one of these."
        )
        raise FunctionTypeError(msg)
    return CompiledFunction(fun, mode, names, has_shapes, options)
