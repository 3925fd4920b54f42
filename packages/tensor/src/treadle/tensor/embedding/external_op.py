"""Functions of other libraries as ops, with these libraries' own derivatives.

A library is a subclass of `ExternalOp`; `wrap_external` makes functions of variables of its functions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np

from treadle.config import text_of
from treadle.graph import (
    Apply,
    DisconnectedType,
    GraphTypeError,
    GraphValueError,
    MethodNotDefinedError,
    Op,
    Type,
    Variable,
    VectorizeError,
    reduce_by_place,
)
from treadle.tensor.arguments.nesting import flatten
from treadle.tensor.batches.batching import spread_all
from treadle.tensor.shapes.batch_dims import batch_ndim, most_batch
from treadle.tensor.types.conversion import as_tensor_variable, is_smooth, tensors
from treadle.tensor.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from treadle.graph import Cell, Compute, Value
    from treadle.tensor.ops.tensor_op import Derivatives, Variables
    from treadle.tensor.variables.variable import TensorNode, TensorVariable

__all__ = ["ExternalOp", "wrap_external"]

# An array of the library.
A = TypeVar("A")

# What lengths that are not known are taken to be when types are inferred: where results differ, they follow the input.
SIZES = (3, 5, 1)


class Structure(Protocol):
    """How the leaves of a nested value are put together."""

    def unflatten(self, leaves: Iterable[object], /) -> Any:
        """Return the value with these leaves."""
        ...


class ExternalOp(Op, Generic[A]):
    """An op that calls a function of another library's arrays; a subclass adapts it to one library.

    A subclass defines `library`; `call` if its functions do not take and return NumPy arrays; `vjp` if it has
    gradients; and `batch` if it has something better than a loop. `evaluate`, `type_of` and `flatten` are for
    libraries that infer results from descriptions of arrays, or have arrays and containers unlike NumPy's and
    Python's. A backend that can lower the op calls `function`.

    Parameters
    ----------
    itypes, otypes
        Types of inputs and outputs.
    function
        Takes an array of the library for each input, returns a sequence with one for each output.
    name
        Shown when printed.
    """

    # What the library is called in messages.
    library: ClassVar[str]
    # Whether results of another dtype than their type are refused, and not converted.
    exact: ClassVar[bool] = True

    itypes: Sequence[Type]
    otypes: Sequence[Type]

    def __init__(self, itypes: Sequence[Type], otypes: Sequence[Type], function: Compute, name: str) -> None:
        self.itypes = list(itypes)
        self.otypes = list(otypes)
        self.function = function
        self.name = name

    def canonical(self) -> bytes:
        """Return the canonical encoding of an op whose subclass says by what a function is found again.

        Raises
        ------
        GraphTypeError
            If it does not.
        """
        if type(self).__props__ is None:
            msg = (
                f"{self}: other processes cannot find a function that was wrapped for {self.library}. Programs with it "
                "are made again in each process."
            )
            raise GraphTypeError(msg)
        return super().canonical()

    # What a library says

    def call(self, *arrays: np.ndarray) -> Sequence[object]:
        """Return the function's results for NumPy arrays, as NumPy arrays; the base's passes them on as they are."""
        results: Sequence[object] = self.function(*arrays)
        return results

    @staticmethod
    def vjp(function: Callable[..., tuple[A, ...]], primals: Sequence[A], cotangents: Sequence[A]) -> Sequence[A]:
        """Return the gradients of a function of `primals` by each of them, given those by its results.

        A gradient by a complex number a + ib is d/da + i d/db. If the library can differentiate this function itself,
        there are gradients of any order.
        """
        raise NotImplementedError

    @staticmethod
    def batch(function: Callable[..., Sequence[A]], batched: Sequence[bool]) -> Callable[..., Sequence[A]]:
        """Return a function of arrays some of which have one more dimension in front, as all its results have.

        The base's calls the function for each element of the batch, of NumPy arrays that are all batched.
        """
        del batched

        def each(*arrays: Value) -> list[Value]:
            results = [function(*[x[i, ...] for x in arrays]) for i in range(len(arrays[0]))]
            if results:
                columns: Iterable[Sequence[Value]] = zip(*results, strict=True)
                return [np.stack(column) for column in columns]
            # A call on ones gives the results' shapes.
            examples: Sequence[Value] = function(*[np.ones(x.shape[1:], x.dtype) for x in arrays])
            return [np.empty((0, *x.shape), x.dtype) for x in map(np.asarray, examples)]

        return each

    @staticmethod
    def evaluate(function: Callable[..., object], types: Sequence[TensorType]) -> object:
        """Return what a function returns for arrays of these types, of known lengths; descriptions of arrays suffice.

        The base's calls it with NumPy arrays of ones.
        """
        return function(*[np.ones([n or 0 for n in t.shape], t.numpy_dtype) for t in types])

    @staticmethod
    def type_of(result: Value) -> TensorType:
        """Return the type of one of the arrays that `evaluate` returned.

        Raises
        ------
        AttributeError, TypeError
            If it is not an array.
        """
        return TensorType(np.dtype(result.dtype).name, tuple(result.shape))

    @staticmethod
    def flatten(value: object) -> tuple[list[object], Structure]:
        """Return the leaves of nested arguments or results, and how they are put together; variables are leaves."""
        return flatten(value)

    # What follows from it

    def apply(self, *arrays: A) -> Sequence[A]:
        """Return the function's results for the library's arrays: what derivatives and batches are made of."""
        results: Sequence[A] = self.function(*arrays)
        return results

    def values(self, *arrays: Value) -> list[Value]:
        """Return the results for NumPy arrays as values of the otypes; they may share memory with anything.

        Raises
        ------
        GraphValueError
            If the function returns another number of results than there are otypes.
        GraphTypeError
            If one of them is not of its type, and cannot be made one without loss.
        """
        returned = self.call(*arrays)
        if len(returned) != len(self.otypes):
            msg = f"the function must return {len(self.otypes)} values, it returned {len(returned)}"
            raise GraphValueError(msg)
        filtered = []
        for i, (kind, value) in enumerate(zip(self.otypes, returned, strict=True)):
            try:
                filtered.append(kind.filter(value, strict=self.exact))
            except (TypeError, ValueError) as error:
                msg = f"the function's value {i} does not fit its otype: {error}"
                raise GraphTypeError(msg) from error
        return filtered

    def perform(self, node: Apply, inputs: Sequence[Value], output_storage: Sequence[Cell]) -> None:
        """Call the function, and check what it returns; see `values`."""
        results = self.values(*inputs)
        for i, (out, value, cell) in enumerate(zip(node.outputs, results, output_storage, strict=True)):
            # A function may hand its argument, or a part of it, through, or one value twice.
            shared = any(out.type.may_share_memory(value, x) for x in (*inputs, *results[:i]))
            cell[0] = out.type.copy_value(value) if shared else value

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Gradients flow between floats."""
        return [[is_smooth(x) and is_smooth(out) for out in node.outputs] for x in node.inputs]

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> Derivatives:
        """Return the library's gradients, as the results of another op of this kind.

        Raises
        ------
        MethodNotDefinedError
            If the library has none.
        """
        if type(self).vjp is ExternalOp.vjp:
            msg = f"{self}: functions of {self.library} have no gradient. Define vjp on {type(self).__name__}."
            raise MethodNotDefinedError(msg)
        results = tuple(
            i
            for i, (out, ct) in enumerate(zip(outputs, cotangents, strict=True))
            if is_smooth(out) and not isinstance(ct.type, DisconnectedType)
        )
        wrt = tuple(i for i, x in enumerate(inputs) if is_smooth(x))
        if not wrt or not results:
            return [DisconnectedType()() for _ in inputs]
        slopes = self._derivative(wrt, results)(*inputs, *(cotangents[i] for i in results), return_list=True)
        gradients = dict(zip(wrt, slopes, strict=True))
        return [gradients.get(i) for i in range(len(inputs))]

    def _derivative(self, wrt: tuple[int, ...], results: tuple[int, ...]) -> ExternalOp[A]:
        """Return the op of the gradients by some arguments, which takes cotangents of some results too."""
        itypes = [*self.itypes, *(self.otypes[i] for i in results)]
        function: Callable[..., tuple[A, ...]] = VectorJacobian(self, wrt, results)
        along = self.function
        if isinstance(along, Batched) and all(along.batched):
            # The gradients of a batch are a batch of gradients; a loop could not be differentiated.
            function = Batched(along.op._derivative(wrt, results), (True,) * len(itypes), along.rank)
        return type(self)(itypes, [self.itypes[i] for i in wrt], function, f"{self.name}_vjp")

    def vectorize_node(self, node: TensorNode, *inputs: TensorVariable) -> Apply:
        """Let the library map its function over the batch.

        Raises
        ------
        VectorizeError
            If a value is not a tensor.
        """
        others = [var for var in (*node.inputs, *node.outputs) if not isinstance(var.type, TensorType)]
        if others:
            msg = f"{self}: a value that is no tensor has no batch, got {others[0]} of type {others[0].type}"
            raise VectorizeError(msg)
        pairs = list(zip(node.inputs, inputs, strict=True))
        # A loop takes all inputs apart.
        loops = type(self).batch is ExternalOp.batch
        batched = tuple(loops or batch_ndim(old, new) > 0 for old, new in pairs)
        along = [pair for pair, varies in zip(pairs, batched, strict=True) if varies]
        spread = iter(spread_all(along))
        wide = tensors([next(spread) if varies else new for (_, new), varies in zip(pairs, batched, strict=True)])
        rank = most_batch(pairs)
        lengths = next(x.type.shape[:rank] for x, varies in zip(wide, batched, strict=True) if varies)
        otypes = [
            TensorType(out.type.dtype, (*lengths, *out.type.shape))
            for out in node.outputs
            if isinstance(out.type, TensorType)
        ]
        return self.over_batch(Batched(self, batched, rank), [x.type for x in wide], otypes).make_node(*wide)

    def over_batch(self, batch: Batched[A], itypes: Sequence[Type], otypes: Sequence[Type]) -> ExternalOp[A]:
        """Return the op that calls the function along a batch."""
        return type(self)(itypes, otypes, batch, self.name)

    def __str__(self) -> str:
        return f"{type(self).__name__}{{{self.name}}}"

    __repr__ = __str__


class VectorJacobian(Generic[A]):
    """The gradients of an op's function by the arguments `wrt`, from arguments and cotangents of `results`."""

    def __init__(self, op: ExternalOp[A], wrt: tuple[int, ...], results: tuple[int, ...]) -> None:
        self.op = op
        self.wrt = wrt
        self.results = results

    def __call__(self, *arrays: A) -> tuple[A, ...]:
        """Return the gradients."""
        count = len(self.op.itypes)

        def smooth(*moving: A) -> tuple[A, ...]:
            values = list(arrays[:count])
            for at, value in zip(self.wrt, moving, strict=True):
                values[at] = value
            results = self.op.apply(*values)
            return tuple(results[i] for i in self.results)

        return tuple(self.op.vjp(smooth, [arrays[i] for i in self.wrt], arrays[count:]))


class Batched(Generic[A]):
    """An op's function where the arguments marked in `batched` have `rank` batch dimensions in front."""

    def __init__(self, op: ExternalOp[A], batched: tuple[bool, ...], rank: int) -> None:
        self.op = op
        self.batched = batched
        self.rank = rank

    def __call__(self, *arrays: A) -> tuple[A, ...]:
        """Return the results for all elements of the batch."""
        function = self.op.apply
        for _ in range(self.rank):
            function = self.op.batch(function, self.batched)
        return tuple(function(*arrays))

    def __eq__(self, other: object) -> bool:
        """Compare the ops and the arguments that have batch dimensions."""
        return isinstance(other, Batched) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[object, ...]:
        return self.op, self.batched, self.rank


def wrap_external(op_type: type[ExternalOp[Any]], function: Any = None, *, allow_eval: bool = True) -> Any:
    """Return a function of variables that applies a library's function as an op; a decorator if `function` is None.

    Arguments may be nested lists, tuples and dictionaries; the variables among them become inputs of the op, and
    everything else is passed on as it is. Results may be nested too, and hold arrays only.

    Parameters
    ----------
    op_type
        The library.
    function
        The function.
    allow_eval
        Whether the function may be evaluated several times for input lengths that are not known, to find out what is
        known of the results. If not, such inputs are an error.

    Raises
    ------
    GraphTypeError
        If something else than a function is given.
    """
    if function is None:
        return lambda function: wrap_external(op_type, function, allow_eval=allow_eval)
    if not callable(function):
        msg = f"wrap_{op_type.library}: a function is needed, got {text_of(function)}. Pass the function itself."
        raise GraphTypeError(msg)
    return ExternalFunction(op_type, function, allow_eval)


class ExternalFunction:
    """A function of another library that takes variables; `wrap_external` makes it."""

    def __init__(self, op_type: type[ExternalOp[Any]], function: Callable[..., object], allow_eval: bool) -> None:
        self.__wrapped__ = function
        self.__name__: str = getattr(function, "__name__", type(function).__name__)
        self.__doc__ = function.__doc__
        self.__module__ = getattr(function, "__module__", None) or __name__
        self.__qualname__: str = getattr(function, "__qualname__", self.__name__)
        # What errors name: nobody calls this class.
        self.called_as = f"wrap_{op_type.library}"
        self._op_type = op_type
        self._allow_eval = allow_eval

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle a decorated function by the place where it is defined, any other with the function."""
        made_of = (self._op_type, self.__wrapped__, self._allow_eval)
        return reduce_by_place(self, self.__wrapped__, ExternalFunction, *made_of)

    def __call__(self, *args: object, **kwargs: object) -> Any:
        """Apply the function.

        Raises
        ------
        GraphTypeError
            If the function does not take these arguments, or returns something else than arrays.
        GraphValueError
            If a length is not known and `allow_eval` is False.
        """
        leaves, structure = self._op_type.flatten((args, kwargs))
        inputs = {i: as_tensor_variable(x) for i, x in enumerate(leaves) if isinstance(x, Variable)}
        fixed = tuple(None if isinstance(x, Variable) else x for x in leaves)
        flat = FlatFunction(self, structure, fixed, tuple(inputs), self._op_type.flatten)
        itypes = [x.type for x in inputs.values()]
        results, otypes = self._inferred(flat.whole, itypes)
        return results.unflatten(self._op_type(itypes, otypes, flat, self.__name__)(*inputs.values(), return_list=True))

    def _inferred(
        self, function: Callable[..., object], types: Sequence[TensorType]
    ) -> tuple[Structure, list[TensorType]]:
        """Return the structure of the results and their types."""
        known = all(None not in t.shape for t in types)
        if known:
            trials = [self._evaluated(function, types)]
        elif self._allow_eval:
            trials = self._tried(function, types)
        else:
            msg = (
                f"{self._title} takes inputs of unknown lengths: {', '.join(map(str, types))}. "
                "Pass allow_eval=True, or declare them."
            )
            raise GraphValueError(msg)
        kinds = []
        for at, results in enumerate(zip(*(kinds for _, kinds in trials), strict=True)):
            if len({kind.ndim for kind in results}) != 1:
                msg = f"{self._title} has a result, number {at}, of a rank that depends on the inputs' lengths."
                raise GraphTypeError(msg)
            lengths = zip(*(kind.shape for kind in results), strict=True)
            sure = known or len(trials) > 1
            kinds.append(
                TensorType(results[0].dtype, tuple(n[0] if sure and len(set(n)) == 1 else None for n in lengths))
            )
        return trials[0][0], kinds

    def _tried(
        self, function: Callable[..., object], types: Sequence[TensorType]
    ) -> list[tuple[Structure, list[TensorType]]]:
        """Return the results' types for two trial lengths in place of unknown ones, or for the only one accepted."""
        trials, failures = [], []
        lengths = (n for t in types for n in t.shape if n is not None)
        for size in dict.fromkeys((*SIZES, *lengths)):
            sized = [TensorType(t.dtype, tuple(size if n is None else n for n in t.shape)) for t in types]
            try:
                trials.append(self._evaluated(function, sized))
            except GraphTypeError as error:
                failures.append(error)
            if len(trials) > 1:
                break
        if not trials:
            raise failures[0]
        return trials

    def _evaluated(
        self, function: Callable[..., object], types: Sequence[TensorType]
    ) -> tuple[Structure, list[TensorType]]:
        """Return the structure of the results, and their types, for inputs of lengths that are known."""
        try:
            leaves, structure = self._op_type.flatten(self._op_type.evaluate(function, types))
            return structure, [self._op_type.type_of(leaf) for leaf in leaves]
        except Exception as error:
            arrays = ", ".join(f"{t.dtype}{list(t.shape)}" for t in types)
            msg = (
                f"{self._title} cannot be called with arrays {arrays} ({type(error).__name__}: {error}). It must take "
                "these arguments, and return nothing but arrays of dtypes that NumPy has."
            )
            raise GraphTypeError(msg) from error

    @property
    def _title(self) -> str:
        return f"wrap_{self._op_type.library}: {self.__name__}"


class FlatFunction:
    """A wrapped function as one of arrays.

    The function pickles by its place. `leaves` are those of arguments and keywords, put together by `structure`, with
    None at the `places` of arrays; `flatten` takes the results apart.
    """

    def __init__(
        self,
        wrapped: ExternalFunction,
        structure: Structure,
        leaves: tuple[object, ...],
        places: tuple[int, ...],
        flatten: Callable[[object], tuple[list[object], Structure]],
    ) -> None:
        self.wrapped = wrapped
        self.structure = structure
        self.leaves = leaves
        self.places = places
        self.flatten = flatten

    def whole(self, *arrays: object) -> object:
        """Return what the function returns for arrays."""
        leaves = list(self.leaves)
        for at, array in zip(self.places, arrays, strict=True):
            leaves[at] = array
        args, kwargs = self.structure.unflatten(leaves)
        return self.wrapped.__wrapped__(*args, **kwargs)

    def __call__(self, *arrays: object) -> tuple[Value, ...]:
        """Return the arrays among what the function returns."""
        return tuple(self.flatten(self.whole(*arrays))[0])
