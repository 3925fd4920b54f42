"""wrap_torch: a PyTorch function as an op, with PyTorch's own derivatives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from treadle.graph import Apply, DisconnectedType, GraphTypeError, GraphValueError, Op, Variable, reduce_by_place
from treadle.link.torch.carriers import CARRIERS, from_host, from_native, to_host, to_native
from treadle.link.torch.compilation import PROCESS
from treadle.link.torch.nesting import Nesting, flattened
from treadle.link.torch.table import TORCH
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
    structure: Nesting
    leaves: tuple[Any, ...]
    places: tuple[int, ...]

    def whole(self, arrays: Sequence[Any]) -> Any:
        """Return what the function returns for arrays."""
        leaves = list(self.leaves)
        for at, array in zip(self.places, arrays, strict=True):
            leaves[at] = array
        args, kwargs = self.structure.nested(leaves)
        return self.function.__wrapped__(*args, **kwargs)

    def __call__(self, *arrays: Any) -> tuple[Any, ...]:
        """Return the arrays among what the function returns."""
        return tuple(flattened(self.whole(arrays))[0])


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
        """Return the gradients."""
        given, cotangents = list(arrays[: self.count]), arrays[self.count :]

        def smooth(*moving: Any) -> tuple[Any, ...]:
            values = list(given)
            for at, value in zip(self.wrt, moving, strict=True):
                values[at] = value
            found = self.function(*values)
            return tuple(found[i] for i in self.results)

        outputs, pull = torch.func.vjp(smooth, *(given[i] for i in self.wrt))
        seeds = tuple(c.to(out.dtype).expand_as(out) for c, out in zip(cotangents, outputs, strict=True))
        return tuple(pull(seeds))


@dataclass(frozen=True, eq=False)
class Batched:
    """A function of tensors along a batch: ``torch.func.vmap`` over the leading dimensions beyond their ranks."""

    function: Callable[..., tuple[Any, ...]]
    ranks: tuple[int, ...]

    def __call__(self, *arrays: Any) -> tuple[Any, ...]:
        """Return the results for all elements of the batch."""
        heads = [x.shape[: x.ndim - rank] for x, rank in zip(arrays, self.ranks, strict=True)]
        batch = torch.broadcast_shapes(*heads)
        wide = [x.expand(batch + x.shape[len(h) :]) if h else x for x, h in zip(arrays, heads, strict=True)]

        # A plain function: PyTorch asks what it maps for its name.
        def mapped(*given: Any) -> tuple[Any, ...]:
            return self.function(*given)

        for _ in batch:
            mapped = torch.func.vmap(mapped, in_dims=tuple(0 if h else None for h in heads))
        return tuple(mapped(*wide))


class TorchOp(Op):
    """An op that calls a PyTorch function; `wrap_torch` makes it.

    Mode PYTORCH compiles the function with the rest of the graph. Elsewhere it is a step in Python that calls it on
    tensors that share the arrays' memory; modes C, NUMBA and JAX refuse it.

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
        name: str = "torch",
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
        """Call the function.

        Raises
        ------
        GraphTypeError
            If a result is of another dtype or rank than was inferred.
        ForkedProcessError
            In a process forked from one where PyTorch had run.
        """
        PROCESS.check()
        kinds: list[Any] = [x.type for x in node.inputs]
        given = [to_native(from_host(x, t.dtype), t.dtype) for x, t in zip(inputs, kinds, strict=True)]
        with torch.no_grad():
            results = self.function(*given)
        for out, cell, value in zip(node.outputs, output_storage, results, strict=True):
            kind: Any = out.type
            # The function may hand an argument through, or a part of a larger tensor, or mark it as a conjugate only.
            plain = value.detach().cpu().resolve_conj().resolve_neg()
            array = to_host(from_native(plain, kind.dtype), kind.dtype)
            cell[0] = kind.filter(array.copy(), strict=True)

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Gradients flow between floats."""
        return [[_is_smooth(x) and _is_smooth(out) for out in node.outputs] for x in node.inputs]

    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> Sequence[Variable | None]:
        """Return PyTorch's gradients, as the results of another op of this kind."""
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
        op = TorchOp(kinds, made, Vjp(self.function, len(inputs), wrt, results), f"{self.name}_vjp")
        gradients = dict(zip(wrt, op(*inputs, *(cotangents[i] for i in results), return_list=True), strict=True))
        return [gradients.get(i) for i in range(len(inputs))]

    def vectorize_node(self, node: Apply, *inputs: Any) -> Apply:
        """Return the node for inputs with more leading dimensions, the batch."""
        ranks = tuple(kind.ndim for kind in self._kinds(node.inputs))
        wide = [as_tensor_variable(x).type for x in inputs]
        batch = max(kind.ndim - rank for kind, rank in zip(wide, ranks, strict=True))
        made = [TensorType(kind.dtype, ((None,) * batch) + kind.shape) for kind in self._kinds(node.outputs)]
        return TorchOp(wide, made, Batched(self.function, ranks), self.name).make_node(*inputs)

    @staticmethod
    def _kinds(variables: Sequence[Any]) -> list[TensorType]:
        return [var.type for var in variables]

    def __str__(self) -> str:
        """Show the function's name."""
        return f"TorchOp{{{self.name}}}"

    __repr__ = __str__


def _is_smooth(var: Variable) -> bool:
    kind: Any = var.type
    return bool(kind.numpy_dtype.kind in "fc")


@TORCH.register(TorchOp)
def lower_torch_op(op: TorchOp, node: Apply) -> Callable[..., Any]:
    """Lower to the function itself."""
    ins: list[Any] = [x.type for x in node.inputs]
    outs: list[Any] = [out.type for out in node.outputs]
    single = len(outs) == 1

    def run(*carriers: Any) -> Any:
        found = op.function(*(to_native(x, t.dtype) for x, t in zip(carriers, ins, strict=True)))
        made = tuple(from_native(x, t.dtype) for x, t in zip(found, outs, strict=True))
        return made[0] if single else made

    return run


def wrap_torch(torch_function: Any = None, *, allow_eval: bool = True) -> Any:
    """Return a function of variables that applies a PyTorch function as an op; also a decorator.

    Arguments may be nested lists, tuples and dictionaries; the variables among them become inputs of the op, and
    everything else is passed on as it is. Results may be nested too, and hold arrays only.

    Parameters
    ----------
    torch_function
        The function.
    allow_eval
        Whether the function may be called for input lengths that are not known, to find out what is known of the
        results. If not, such inputs are an error.

    Returns
    -------
    A function that returns what `torch_function` does, with variables in place of arrays.

    Notes
    -----
    The types of the results come from calling the function on small tensors of ones; gradients, of any order, from
    ``torch.func.vjp``. The op pickles if the function does. Its tensors are on the CPU, except in mode PYTORCH.

    Examples
    --------
    >>> import torch
    >>> from treadle.link.torch import wrap_torch
    >>> from treadle.tensor import dvector, grad
    >>> @wrap_torch
    ... def total(x):
    ...     return torch.sin(x).sum()
    >>> x = dvector("x")
    >>> grad(total(x), x).eval({x: [0.0]}).tolist()
    [1.0]
    """
    if torch_function is None:
        return lambda function: wrap_torch(function, allow_eval=allow_eval)
    if not callable(torch_function):
        msg = f"wrap_torch: a function is needed, got {torch_function!r}. Pass the function itself."
        raise GraphTypeError(msg)
    return Wrapped(torch_function, allow_eval)


class Wrapped:
    """A PyTorch function that takes variables; see `wrap_torch`."""

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
        leaves, structure = flattened((args, kwargs))
        places = tuple(i for i, x in enumerate(leaves) if isinstance(x, Variable))
        inputs = [as_tensor_variable(leaves[i]) for i in places]
        fixed = tuple(None if isinstance(x, Variable) else x for x in leaves)
        flat = Flat(self, structure, fixed, places)
        types = [x.type for x in inputs]
        result, kinds = self._inferred(flat, types)
        op = TorchOp(types, kinds, flat, self.__name__)
        return result.nested(op(*inputs, return_list=True))

    def _inferred(self, flat: Flat, types: Sequence[TensorType]) -> tuple[Nesting, list[TensorType]]:
        """Return the structure of the results and their types."""
        if all(None not in t.shape for t in types):
            found = [self._traced(flat, types, 0)]
        elif not self._allow_eval:
            shown = ", ".join(map(str, types))
            msg = (
                f"wrap_torch: {self.__name__} takes inputs of unknown lengths: {shown}. "
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
                msg = f"wrap_torch: result {at} of {self.__name__} has a rank that depends on the inputs' lengths."
                raise GraphTypeError(msg)
            lengths = zip(*(other[1][at].shape for other in found), strict=True)
            known = len(found) > 1 or all(None not in t.shape for t in types)
            shape = [n[0] if known and len(set(n)) == 1 else None for n in lengths]
            kinds.append(TensorType(_dtype_name(leaf), tuple(shape)))
        return first[0], kinds

    def _tried(self, flat: Flat, types: Sequence[TensorType]) -> list[tuple[Nesting, list[Any]]]:
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

    def _traced(self, flat: Flat, types: Sequence[TensorType], size: int) -> tuple[Nesting, list[Any]]:
        """Return the structure of the results, and a description of each array, for one length of what is unknown."""
        shapes = [tuple(size if n is None else n for n in t.shape) for t in types]
        try:
            given = [torch.ones(shape, dtype=getattr(torch, t.dtype)) for shape, t in zip(shapes, types, strict=True)]
            with torch.no_grad():
                result = flat.whole(given)
            leaves, structure = flattened(result)
            for leaf in leaves:
                _dtype_name(leaf)
        except Exception as error:
            shown = ", ".join(f"{t.dtype}{list(shape)}" for t, shape in zip(types, shapes, strict=True))
            msg = (
                f"wrap_torch: {self.__name__} cannot be called with tensors {shown} ({type(error).__name__}: {error}). "
                "It must take these arguments, and return nothing but tensors."
            )
            raise GraphTypeError(msg) from error
        return structure, leaves


def _dtype_name(leaf: Any) -> str:
    """Return the name of a tensor's dtype.

    Raises
    ------
    GraphTypeError
        If it is no tensor, or of a dtype that NumPy does not have.
    """
    name = str(leaf.dtype).removeprefix("torch.") if isinstance(leaf, torch.Tensor) else ""
    if name not in CARRIERS:
        msg = f"wrap_torch: a result must be a tensor of a dtype that NumPy has, got {leaf!r}."
        raise GraphTypeError(msg)
    return name
