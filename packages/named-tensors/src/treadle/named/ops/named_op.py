"""XOp: the base of ops on tensors with named dimensions."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from treadle.graph import (
    Apply,
    Constant,
    DisconnectedType,
    FunctionGraph,
    NullType,
    Op,
    Variable,
    clone_replace,
    compile_inner,
    composing,
)
from treadle.named.conversion import as_xtensor
from treadle.named.types.casts import tensor_of, xtensor_from_tensor
from treadle.named.types.named_type import Batched, Input, XTensorType
from treadle.tensor import SliceType, TensorType, grad, pushforward

if TYPE_CHECKING:
    from treadle.graph import Cell, Type, Value
    from treadle.tensor import TensorVariable


class Lowered(NamedTuple):
    """A result in plain tensors: the tensor, and the names of its dimensions."""

    tensor: TensorVariable
    dims: tuple[str, ...]


class XOp(Op):
    """An op on tensors with named dimensions.

    It says in `lower` what it is in ops on plain tensors, and all else follows: the types of its results, the values,
    the derivatives, and what every backend computes. Rules put that form in its place before any other rewriting
    looks at the graph.
    """

    is_short_form = True

    @abstractmethod
    def lower(self, *inputs: Input) -> Sequence[Lowered | Variable]:
        """Return the results in ops on plain tensors.

        Parameters
        ----------
        inputs
            Inputs of a node: `treadle.named.types.casts.aligned` and `tensor_of` give the plain tensors of named ones.

        Returns
        -------
        For each result the plain tensor with the names of its dimensions, or a variable of another type.
        """

    def as_input(self, value: object) -> Variable:
        """Return a value as a named tensor."""
        return as_xtensor(value)

    def make_node(self, *inputs: Input) -> Apply:
        """Return the node (errors as `lower` says)."""
        return self.node_of([self.as_input(x) for x in inputs])

    def node_of(self, inputs: Sequence[Variable]) -> Apply:
        """Return a node on inputs that are converted already."""
        with composing():
            results = self.lower(*inputs)
        return Apply(self, list(inputs), [_type_of(result).make_variable() for result in results])

    def decompose(self, *inputs: Variable) -> Sequence[Variable] | None:
        """Return the results in ops on plain tensors."""
        return [xtensor_from_tensor(*r) if isinstance(r, Lowered) else r for r in self.lower(*inputs)]

    def do_constant_folding(self, fgraph: object, node: Apply) -> bool:
        """Refuse: the plain form is folded."""
        return False

    def perform(self, node: Apply, inputs: Sequence[Value], output_storage: Sequence[Cell]) -> None:
        """Compute what the op is in plain tensors."""
        programs = self.__dict__.setdefault("_programs", {})
        key = tuple(x.type for x in node.inputs), tuple(x if isinstance(x, Constant) else None for x in node.inputs)
        if key not in programs:
            places = [_Place.of(x) for x in node.inputs]
            outs = [_plain(r) for r in self.lower(*(p.named for p in places))]
            programs[key] = compile_inner(FunctionGraph([p.plain for p in places], outs, clone=False))
        for cell, value in zip(output_storage, programs[key](*inputs), strict=True):
            cell[0] = value

    def __getstate__(self) -> object:
        """Leave out the programs of `perform`."""
        state = super().__getstate__()
        return {k: v for k, v in state.items() if k != "_programs"} if isinstance(state, dict) else state

    # Derivatives

    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> Sequence[Variable | None]:
        """Return what flows back through the plain form."""
        places = [_Place.of(x, keeps_slices=True) for x in inputs]
        results = self.lower(*(p.named for p in places))
        seeds: dict[Variable, Variable] = {}
        given: dict[Variable, Variable] = {p.plain: _actual(x) for p, x in zip(places, inputs, strict=True)}
        for result, ct in zip(results, cotangents, strict=True):
            if isinstance(result, Lowered) and isinstance(ct.type, XTensorType) and _has_slopes(result.tensor):
                actual = tensor_of(_in_order(ct, result.dims))
                seed = actual.type.make_variable()
                given[seed] = actual
                seeds[result.tensor] = seed if result.tensor not in seeds else seeds[result.tensor] + seed
        wrt = [p.plain for p in places if _has_slopes(p.plain)]
        terms: dict[Variable, Variable | None] = {}
        if seeds and wrt:
            slopes = grad(
                None, wrt, known_grads=seeds, disconnected_inputs="ignore", return_disconnected="none",
                null_gradients="return", add_names=False,
            )  # fmt: skip
            terms = dict(zip(wrt, _with(slopes, given), strict=True))
        return [_renamed(terms.get(p.plain), x) for p, x in zip(places, inputs, strict=True)]

    def pushforward(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], tangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """Return how the plain form moves."""
        places = [_Place.of(x, keeps_slices=True) for x in inputs]
        results = self.lower(*(p.named for p in places))
        given: dict[Variable, Variable] = {p.plain: _actual(x) for p, x in zip(places, inputs, strict=True)}
        wrt, directions = [], []
        for place, x, tangent in zip(places, inputs, tangents, strict=True):
            if tangent is None or isinstance(tangent.type, DisconnectedType) or not _has_slopes(place.plain):
                continue
            kind = x.type
            actual = tensor_of(_in_order(tangent, kind.dims)) if isinstance(kind, XTensorType) else tangent
            direction = actual.type.make_variable()
            given[direction] = actual
            wrt.append(place.plain)
            directions.append(direction)
        smooth = [r.tensor for r in results if isinstance(r, Lowered) and _has_slopes(r.tensor)]
        moves: dict[Variable, Variable | None] = {}
        if wrt and smooth:
            moved = pushforward(smooth, wrt, directions, disconnected_outputs="ignore", return_disconnected="none")
            moves = dict(zip(smooth, _with(moved, given), strict=True))
        return [
            _renamed(moves.get(r.tensor), out) if isinstance(r, Lowered) else None
            for r, out in zip(results, outputs, strict=True)
        ]

    # Batches

    def vectorize_node(self, node: Apply, *inputs: Input) -> Batched:
        """Return the node of inputs with further dimensions: names say what goes with what."""
        return self.make_node(*inputs)


class _Place(NamedTuple):
    """A new variable in an input's place, as it is and, where that has names, plain."""

    named: Input
    plain: Variable

    @classmethod
    def of(cls, x: Variable, *, keeps_slices: bool = False) -> _Place:
        """Return a new variable for an input. Constants stay, and slices if asked for, on which the form depends."""
        kind = x.type
        plain = kind.tensor_type.make_variable() if isinstance(kind, XTensorType) else kind.make_variable()
        if isinstance(x, Constant) or (keeps_slices and isinstance(kind, SliceType)):
            return cls(x, plain)
        return cls(xtensor_from_tensor(plain, kind.dims) if isinstance(kind, XTensorType) else plain, plain)


def _type_of(result: Lowered | Variable) -> Type:
    if not isinstance(result, Lowered):
        kind: Type = result.type
        return kind
    tensor = result.tensor
    return XTensorType(tensor.type.dtype, dims=result.dims, shape=tensor.type.shape)


def _plain(result: Lowered | Variable) -> Variable:
    return result.tensor if isinstance(result, Lowered) else result


def _actual(x: Variable) -> Variable:
    plain: Variable = tensor_of(x) if isinstance(x.type, XTensorType) else x
    return plain


def _has_slopes(x: Variable) -> bool:
    return isinstance(x.type, TensorType) and x.type.numpy_dtype.kind in "fc"


def _with(terms: Sequence[Variable | None], given: dict[Variable, Variable]) -> list[Variable | None]:
    """Return terms with the actual variables in place of the new ones."""
    present = [t for t in terms if t is not None and not isinstance(t.type, NullType | DisconnectedType)]
    replaced = dict(zip(present, clone_replace(present, given) if present else (), strict=True))
    return [None if t is None or isinstance(t.type, DisconnectedType) else replaced.get(t, t) for t in terms]


def _in_order(x: Input, dims: Sequence[str]) -> Input:
    """Return a named tensor with its dimensions in an order."""
    return x.transpose(*dims)


def _renamed(term: Variable | None, like: Variable) -> Variable | None:
    """Return a derivative with the names of the variable that it is of."""
    if term is None or isinstance(term.type, NullType) or not isinstance(like.type, XTensorType):
        return term
    return xtensor_from_tensor(term, like.type.dims)


__all__ = ["Lowered", "XOp"]
