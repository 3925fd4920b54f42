"""wrap_jax: a JAX function as an op, with JAX's own derivatives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from treadle.graph import Apply, DisconnectedType, GraphTypeError, GraphValueError, Op, Variable, reduce_by_place
from treadle.link.jax.casting import convert
from treadle.link.jax.program import HOME
from treadle.link.jax.table import JAX
from treadle.tensor import TensorType, as_tensor_variable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# What lengths that are not known are taken to be when types are inferred: where results differ, they follow the input.
SIZES = (3, 5, 1)


@dataclass(frozen=True, eq=False)
class Flat:
    """A function as one of arrays: which arguments are arrays, and what the others are.

    Attributes
    ----------
    function
        The function.
    structure
        How arguments and keywords are put together from the leaves.
    leaves
        The leaves; in place of arrays, None.
    places
        Which leaves are arrays.
    """

    function: Wrapped
    structure: Any
    leaves: tuple[Any, ...]
    places: tuple[int, ...]

    def whole(self, arrays: Sequence[Any]) -> Any:
        """Return what the function returns for arrays."""
        leaves = list(self.leaves)
        for at, array in zip(self.places, arrays, strict=True):
            leaves[at] = array
        args, kwargs = jax.tree_util.tree_unflatten(self.structure, leaves)
        return self.function.__wrapped__(*args, **kwargs)

    def __call__(self, *arrays: Any) -> tuple[Any, ...]:
        """Return the arrays among what the function returns."""
        return tuple(jax.tree_util.tree_leaves(self.whole(arrays)))


@dataclass(frozen=True, eq=False)
class Vjp:
    """The gradients of a function of arrays: its arguments in, then a cotangent for each result that has one.

    Attributes
    ----------
    function
        The function.
    count
        Number of its arguments.
    wrt
        The arguments to differentiate by.
    results
        The results that cotangents are given for.
    """

    function: Callable[..., tuple[Any, ...]]
    count: int
    wrt: tuple[int, ...]
    results: tuple[int, ...]

    def __call__(self, *arrays: Any) -> tuple[Any, ...]:
        """Return the gradients, for complex z = a + ib as d/da + i d/db, of which JAX's are the conjugates."""
        given, cotangents = list(arrays[: self.count]), arrays[self.count :]

        def smooth(*moving: Any) -> tuple[Any, ...]:
            values = list(given)
            for at, value in zip(self.wrt, moving, strict=True):
                values[at] = value
            found = self.function(*values)
            return tuple(found[i] for i in self.results)

        outputs, pull = jax.vjp(smooth, *(given[i] for i in self.wrt))
        seeds = tuple(jnp.conj(jnp.asarray(c, dtype=out.dtype)) for c, out in zip(cotangents, outputs, strict=True))
        return tuple(jnp.conj(found) for found in pull(seeds))


@dataclass(frozen=True, eq=False)
class Batched:
    """A function of arrays along a batch: ``jax.vmap`` over the leading dimensions beyond their ranks."""

    function: Callable[..., tuple[Any, ...]]
    ranks: tuple[int, ...]

    def __call__(self, *arrays: Any) -> tuple[Any, ...]:
        """Return the results for all elements of the batch."""
        heads = [x.shape[: x.ndim - rank] for x, rank in zip(arrays, self.ranks, strict=True)]
        batch = jnp.broadcast_shapes(*heads)
        wide = [jnp.broadcast_to(x, batch + x.shape[len(h) :]) if h else x for x, h in zip(arrays, heads, strict=True)]
        mapped = self.function
        for _ in batch:
            mapped = jax.vmap(mapped, in_axes=[0 if h else None for h in heads])
        return tuple(mapped(*wide))


class JAXOp(Op):
    """An op that calls a JAX function; `wrap_jax` makes it.

    Mode JAX compiles the function with the rest of the graph. Elsewhere it is a step in Python that calls the function
    compiled by ``jax.jit``; modes C, NUMBA and PYTORCH refuse it.

    Parameters
    ----------
    input_types, output_types
        Types of the arrays.
    function
        Takes an array for each input, returns a tuple with one for each output.
    name
        Shown when printed.
    """

    def __init__(
        self,
        input_types: Sequence[TensorType],
        output_types: Sequence[TensorType],
        function: Callable[..., tuple[Any, ...]],
        name: str = "jax",
    ) -> None:
        self.itypes = list(input_types)
        self.otypes = list(output_types)
        self.function = function
        self.name = name

    def as_input(self, value: Any) -> Variable:
        """Return a tensor variable."""
        return as_tensor_variable(value)

    def make_node(self, *inputs: Any) -> Apply:
        """Return the node; plain values become constants."""
        return super().make_node(*(self.as_input(x) for x in inputs))

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        """Call the function, compiled.

        Raises
        ------
        GraphTypeError
            If a result is of another dtype or rank than was inferred.
        ForkedProcessError
            In a forked child of the process that uses JAX.
        """
        HOME.enter()
        with jax.enable_x64(True):
            results = self._compiled(*inputs)
        for out, cell, value in zip(node.outputs, output_storage, results, strict=True):
            cell[0] = out.type.filter(np.array(value), strict=True)

    @property
    def _compiled(self) -> Callable[..., Any]:
        known: Callable[..., Any] | None = self.__dict__.get("_jitted")
        if known is None:
            known = self.__dict__["_jitted"] = jax.jit(self.function)
        return known

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Gradients flow between floats."""
        return [[_is_smooth(x) and _is_smooth(out) for out in node.outputs] for x in node.inputs]

    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> Sequence[Variable | None]:
        """Return JAX's gradients, as the results of another op of this kind."""
        results = tuple(
            i
            for i, (out, c) in enumerate(zip(outputs, cotangents, strict=True))
            if _is_smooth(out) and not isinstance(c.type, DisconnectedType)
        )
        wrt = tuple(i for i, x in enumerate(inputs) if _is_smooth(x))
        if not wrt or not results:
            return [DisconnectedType()() for _ in inputs]
        kinds: list[Any] = [*(self.itypes or ()), *((self.otypes or ())[i] for i in results)]
        made: list[Any] = [(self.itypes or ())[i] for i in wrt]
        op = JAXOp(kinds, made, Vjp(self.function, len(inputs), wrt, results), f"{self.name}_vjp")
        gradients = dict(zip(wrt, op(*inputs, *(cotangents[i] for i in results), return_list=True), strict=True))
        return [gradients.get(i) for i in range(len(inputs))]

    def vectorize_node(self, node: Apply, *inputs: Any) -> Apply:
        """Return the node for inputs with more leading dimensions, the batch."""
        ranks = tuple(kind.ndim for kind in self._kinds(node.inputs))
        wide = [as_tensor_variable(x).type for x in inputs]
        batch = max(kind.ndim - rank for kind, rank in zip(wide, ranks, strict=True))
        made = [TensorType(kind.dtype, ((None,) * batch) + kind.shape) for kind in self._kinds(node.outputs)]
        return JAXOp(wide, made, Batched(self.function, ranks), self.name).make_node(*inputs)

    @staticmethod
    def _kinds(variables: Sequence[Any]) -> list[TensorType]:
        return [var.type for var in variables]

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what is compiled."""
        return {k: v for k, v in super().__getstate__().items() if k != "_jitted"}

    def __str__(self) -> str:
        """Show the function's name."""
        return f"JAXOp{{{self.name}}}"

    __repr__ = __str__


def _is_smooth(var: Variable) -> bool:
    kind: Any = var.type
    return bool(kind.numpy_dtype.kind in "fc")


@JAX.register(JAXOp)
def lower_jax_op(op: JAXOp, node: Apply) -> Callable[..., Any]:
    """Lower to the function itself."""
    kinds: list[Any] = [out.type for out in node.outputs]

    def run(*arrays: Any) -> tuple[Any, ...]:
        return tuple(convert(jnp.asarray(x), t.dtype) for x, t in zip(op.function(*arrays), kinds, strict=True))

    return run


def wrap_jax(jax_function: Any = None, *, allow_eval: bool = True) -> Any:
    """Return a function of variables that applies a JAX function as an op; also a decorator.

    Arguments may be nested lists, tuples and dictionaries; the variables among them become inputs of the op, and
    everything else is passed on as it is. Results may be nested too, and hold arrays only.

    Parameters
    ----------
    jax_function
        The function.
    allow_eval
        Whether the function may be traced several times for input lengths that are not known, to find out what is
        known of the results. If not, such inputs are an error.

    Returns
    -------
    A function that returns what `jax_function` does, with variables in place of arrays.

    Notes
    -----
    The types of the results come from tracing the function (``jax.eval_shape``, in 64-bit mode); gradients, of any
    order, from ``jax.vjp``. The op pickles if the function does.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from treadle.link.jax import wrap_jax
    >>> from treadle.tensor import dvector, grad
    >>> @wrap_jax
    ... def total(x):
    ...     return jnp.sum(jnp.sin(x))
    >>> x = dvector("x")
    >>> grad(total(x), x).eval({x: [0.0]}).tolist()
    [1.0]
    """
    if jax_function is None:
        return lambda function: wrap_jax(function, allow_eval=allow_eval)
    if not callable(jax_function):
        msg = f"wrap_jax: a function is needed, got {jax_function!r}. Pass the function itself."
        raise GraphTypeError(msg)
    return Wrapped(jax_function, allow_eval)


class Wrapped:
    """A JAX function that takes variables; see `wrap_jax`."""

    def __init__(self, function: Callable[..., Any], allow_eval: bool) -> None:
        self.__wrapped__ = function
        self.__name__ = getattr(function, "__name__", type(function).__name__)
        self.__doc__ = function.__doc__
        self.__module__ = getattr(function, "__module__", None) or __name__
        self.__qualname__ = getattr(function, "__qualname__", self.__name__)
        self._allow_eval = allow_eval

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle a decorated function by the place where it is defined, any other with the function."""
        return reduce_by_place(self, self.__wrapped__, Wrapped, self.__wrapped__, self._allow_eval)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Apply the function.

        Raises
        ------
        GraphTypeError
            If the function does not take these arguments, or returns something else than arrays.
        GraphValueError
            If a length is not known and `allow_eval` is False.
        """
        leaves, structure = jax.tree_util.tree_flatten((args, kwargs), is_leaf=lambda x: isinstance(x, Variable))
        places = tuple(i for i, x in enumerate(leaves) if isinstance(x, Variable))
        inputs = [as_tensor_variable(leaves[i]) for i in places]
        fixed = tuple(None if isinstance(x, Variable) else x for x in leaves)
        flat = Flat(self, structure, fixed, places)
        types = [x.type for x in inputs]
        result, kinds = self._inferred(flat, types)
        op = JAXOp(types, kinds, flat, self.__name__)
        return jax.tree_util.tree_unflatten(result, op(*inputs, return_list=True))

    def _inferred(self, flat: Flat, types: Sequence[TensorType]) -> tuple[Any, list[TensorType]]:
        """Return the structure of the results and their types."""
        if all(None not in t.shape for t in types):
            found = [self._traced(flat, types, 0)]
        elif not self._allow_eval:
            shown = ", ".join(map(str, types))
            msg = (
                f"wrap_jax: {self.__name__} takes inputs of unknown lengths: {shown}. "
                "Pass allow_eval=True, or declare them."
            )
            raise GraphValueError(msg)
        else:
            found = self._tried(flat, types)
        first = found[0]
        kinds = []
        for at, leaf in enumerate(first[1]):
            ranks = {len(other[1][at].shape) for other in found}
            if len(ranks) != 1:
                msg = f"wrap_jax: result {at} of {self.__name__} has a rank that depends on the inputs' lengths."
                raise GraphTypeError(msg)
            lengths = zip(*(other[1][at].shape for other in found), strict=True)
            known = len(found) > 1 or all(None not in t.shape for t in types)
            shape = [n[0] if known and len(set(n)) == 1 else None for n in lengths]
            kinds.append(TensorType(np.dtype(leaf.dtype).name, tuple(shape)))
        return first[0], kinds

    def _tried(self, flat: Flat, types: Sequence[TensorType]) -> list[tuple[Any, list[Any]]]:
        found, failures = [], []
        lengths = (n for t in types for n in t.shape if n is not None)
        for size in dict.fromkeys((*SIZES, *lengths)):
            try:
                found.append(self._traced(flat, types, size))
            except GraphTypeError as error:
                failures.append(error)
            if len(found) > 1:
                break
        if not found:
            raise failures[0]
        return found

    def _traced(self, flat: Flat, types: Sequence[TensorType], size: int) -> tuple[Any, list[Any]]:
        """Return the structure of the results, and a description of each array, for one length of what is unknown."""
        structure_of: Any = jax.ShapeDtypeStruct
        given = [structure_of(tuple(size if n is None else n for n in t.shape), t.numpy_dtype) for t in types]
        try:
            with jax.enable_x64(True):
                result = jax.eval_shape(lambda *arrays: flat.whole(arrays), *given)
        except Exception as error:
            shown = ", ".join(f"{g.dtype}{list(g.shape)}" for g in given)
            msg = (
                f"wrap_jax: {self.__name__} cannot be traced for arrays {shown} ({type(error).__name__}: {error}). It "
                "must take these arguments, and return nothing but arrays."
            )
            raise GraphTypeError(msg) from error
        leaves, structure = jax.tree_util.tree_flatten(result)
        return structure, leaves
