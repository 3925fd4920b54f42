"""Permutations of arrays, and choices among their elements."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from treadle.graph import Variable, as_flag
from treadle.tensor.arguments.axes import normalize_axis
from treadle.tensor.errors import ArgumentError, ShapeError
from treadle.tensor.random.batches import draw_vectors, positions
from treadle.tensor.random.distributions.categories import categorical
from treadle.tensor.random.distributions.discrete import integers
from treadle.tensor.random.generators.types import RandomGeneratorType
from treadle.tensor.random.methods.conditions import require
from treadle.tensor.random.methods.generator_methods import GeneratorMethods
from treadle.tensor.random.op import RandomVariable
from treadle.tensor.random.size import normalize_size_param, size_lengths, static_batch
from treadle.tensor.shapes.dimshuffle import moveaxis
from treadle.tensor.types.conversion import as_tensor_variable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.tensor.random.methods.generator_methods import Generator, Operand, Size
    from treadle.tensor.variables.variable import TensorLike, TensorVariable

__all__ = ["ChoiceWithoutReplacement", "PermutationRV", "choice", "permutation", "permuted", "shuffle"]


def _batched(x: Operand, rank: int, batch: Sequence[Operand]) -> Operand:
    """Return arrays of some rank with all dimensions of a batch, unless there is only one."""
    if x.ndim == rank:
        return x
    return np.broadcast_to(x, (*batch, *(x.shape[k] for k in range(x.ndim - rank, x.ndim))))


def _taken(x: Operand, rank: int, at: Operand) -> Operand:
    """Return elements along the first dimension of arrays of some rank, at the positions in the last one of `at`."""
    if x.ndim == rank:
        return x[at]
    return np.take_along_axis(x, at[(..., *(None,) * (rank - 1))], at.ndim - 1)


def _first(x: Operand) -> Operand:
    """Return one of a batch of numbers that are all the same: shapes cannot differ within a batch."""
    one = x if x.ndim == 0 else x.reshape((-1,))[0]
    return one if isinstance(one, Variable) else int(one)


class PermutationRV(RandomVariable):
    """The elements along the first dimension of an array, or the integers up to a number, in any order.

    From NumPy's generators by ``Generator.permutation``; from portable ones by sorting 64 random bits for each element.
    """

    name = "permutation"
    _print_name = ("permutation", "\\operatorname{permutation}")

    def definition(self, rng: Generator, x: Operand, *, size: Size) -> Operand:
        """Draw."""
        batch: Any = size
        (rank,) = self.ndims_params
        n = x.shape[x.ndim - rank] if rank else _first(x)
        if isinstance(rng, GeneratorMethods):
            at = rng.permuted_positions(n, batch)
        else:
            at = draw_vectors(rng, "permutation", batch, positions(n))
        return _taken(_batched(x, rank, batch), rank, at) if rank else at


class ChoiceWithoutReplacement(RandomVariable):
    """Different elements along the first dimension of an array, or integers up to a number, in the order drawn.

    The last parameter is the shape of one choice. From NumPy's generators by ``Generator.choice``, on every backend as
    a step of Python; from portable ones by sorting random numbers.
    """

    name = "choice_without_replacement"
    __props__: ClassVar[tuple[str, ...]] = (*RandomVariable.__props__, "shuffle")
    # With a generator of NumPy's; draws of portable ones are decomposed.
    on_host: ClassVar[bool] = True
    _print_name = ("choice_without_replacement", "\\operatorname{choice_without_replacement}")

    def __init__(self, *args: Any, shuffle: bool = True, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.shuffle = bool(shuffle)

    @property
    def is_discrete(self) -> bool:
        """Say that which elements are drawn jumps as weights move."""
        return True

    @property
    def has_p_param(self) -> bool:
        """Whether there are probabilities among the parameters."""
        return len(self.ndims_params) == 3

    def _static_core(self, parameters: Sequence[TensorVariable]) -> tuple[int | None, ...]:
        a, *_, shape = parameters
        inner = a.type.shape[a.ndim - self.ndims_params[0] :][1:]
        chosen = static_batch(shape) if shape.ndim == 1 else (None,) * (self.ndim_supp - len(inner))
        return (*chosen, *inner)

    def decompose(self, *inputs: Variable) -> Sequence[Variable] | None:
        """Return the draw of a portable generator by ops; nothing for NumPy's, whose method is called."""
        return None if isinstance(inputs[0].type, RandomGeneratorType) else super().decompose(*inputs)

    def definition(self, rng: Generator, *parameters: Operand, size: Size) -> Operand:
        """Draw."""
        a, *weights, shape = parameters
        batch: Any = size
        rank = self.ndims_params[0]
        if shape.ndim > 1:
            shape = shape.reshape((-1, shape.shape[-1]))[0]
        lengths: Any = size_lengths(shape) if isinstance(shape, Variable) else [int(n) for n in shape]
        if isinstance(rng, np.random.Generator):
            return self._chosen(rng, a, weights, lengths, batch)
        count: Any = math.prod(lengths)
        n = a.shape[a.ndim - rank] if rank else _first(a)
        at = rng.chosen_positions(n, count, weights[0] if weights else None, batch)
        drawn = _taken(_batched(a, rank, batch), rank, at) if rank else at
        return drawn.reshape((*batch, *lengths, *(drawn.shape[k] for k in range(len(batch) + 1, drawn.ndim))))

    def _chosen(
        self,
        rng: np.random.Generator,
        a: np.ndarray,
        weights: Sequence[np.ndarray],
        lengths: list[int],
        batch: tuple[int, ...],
    ) -> np.ndarray:
        """Return choices by a generator of NumPy's, for each of a batch."""
        rank = self.ndims_params[0]
        inner = a.shape[a.ndim - rank :][1:]
        whole = np.broadcast_to(a, (*batch, *a.shape[a.ndim - rank :]))
        broadcast_weights = [np.broadcast_to(p, (*batch, p.shape[-1])) for p in weights]
        chosen = np.empty((*batch, *lengths, *inner), a.dtype)
        for at in np.ndindex(*batch):
            among = whole[at] if rank else int(whole[at])
            p = broadcast_weights[0][at] if broadcast_weights else None
            chosen[at] = rng.choice(among, lengths, replace=False, p=p, shuffle=self.shuffle)
        return chosen


def choice(
    a: TensorLike,
    size: TensorLike | None = None,
    replace: bool = True,
    p: TensorLike | None = None,
    rng: Variable | None = None,
    return_next_rng: bool = False,
    *,
    axis: int = 0,
    shuffle: bool = True,
) -> Any:
    """Return elements of an array in any order (as ``numpy.random.Generator.choice``).

    Parameters
    ----------
    a
        An array of rank 1 or more, or an integer for the integers up to it.
    size
        Shape of the choice: an integer, a tuple, a vector, or None for one element.
    replace
        Whether an element may be chosen again.
    p
        Probabilities of the elements, a vector; by default all are equally likely.
    rng
        The generator; a new shared one if None.
    return_next_rng
        Whether to return the next generator too.
    axis
        The dimension of `a` along which elements stand.
    shuffle
        Without replacement, whether the order matters; where it does not, NumPy's generators are faster.

    Raises
    ------
    ShapeError, ArgumentError
        If `p` is not a vector, or `a` is a float scalar.

    Examples
    --------
    >>> tt.random.choice([1, 2, 3], size=2, replace=False).eval().shape
    (2,)
    """
    among = _elements("choice", a)
    if among.ndim:
        among = moveaxis(among, normalize_axis("choice: axis", axis, among.ndim), 0)
    n = among.shape[0] if among.ndim else among
    weights = []
    if p is not None:
        p = as_tensor_variable(p)
        if p.ndim != 1:
            msg = f"choice: p must be a vector, got {p} of rank {p.ndim}. Use categorical for batches of probabilities."
            raise ShapeError(msg)
        weights.append(require(p.shape[0].eq(n), p, "a and p must have same size"))
    is_ordered = as_flag("choice: shuffle", shuffle)
    if as_flag("choice: replace", replace) or size is None:
        drawn = categorical(*weights, size=size, rng=rng) if weights else integers(0, n, size=size, rng=rng)
        following = drawn.owner.outputs[0]
        elements = among[drawn] if among.ndim else drawn.astype(among.dtype)
        rank = drawn.ndim
    else:
        shape = normalize_size_param(size)
        rank = len(size_lengths(shape))
        names = [f"a{k}" for k in range(among.ndim)]
        cores = [",".join(names), *(names[:1] or ["a"] if weights else []), str(rank)]
        output_core = ",".join([*(f"s{k}" for k in range(rank)), *names[1:]])
        signature = f"({'),('.join(cores)})->({output_core})"
        op = ChoiceWithoutReplacement(signature=signature, dtype=among.dtype, shuffle=is_ordered)
        following, elements = op(among, *weights, shape, rng=rng, return_next_rng=True)
    if among.ndim and axis:
        at = normalize_axis("choice: axis", axis, among.ndim)
        elements = moveaxis(elements, list(range(rank)), list(range(at, at + rank)))
    return (following, elements) if as_flag("choice: return_next_rng", return_next_rng) else elements


def permutation(
    x: TensorLike, size: TensorLike | None = None, rng: Variable | None = None, return_next_rng: bool = False, *,
    axis: int = 0,
) -> Any:  # fmt: skip
    """Return the elements of an array in any order (as ``numpy.random.Generator.permutation``).

    Parameters
    ----------
    x
        An array of rank 1 or more, or an integer for the integers up to it.
    size
        Shape of a batch of permutations, which becomes the first dimensions.
    rng
        The generator; a new shared one if None.
    return_next_rng
        Whether to return the next generator too.
    axis
        The dimension of `x` along which the elements stand.

    Raises
    ------
    ArgumentError
        If `x` is a float scalar.

    Examples
    --------
    >>> tt.random.permutation(4).eval().sum()
    np.int64(6)
    """
    x = _elements("permutation", x)
    names = ",".join(f"x{k}" for k in range(x.ndim))
    op = PermutationRV(signature=f"({names})->({names or 'x'})", dtype=x.dtype)
    at = normalize_axis("permutation: axis", axis, x.ndim) if x.ndim else 0
    following, elements = op(moveaxis(x, at, 0) if at else x, size=size, rng=rng, return_next_rng=True)
    elements = moveaxis(elements, elements.ndim - x.ndim, elements.ndim - x.ndim + at) if at else elements
    return (following, elements) if as_flag("permutation: return_next_rng", return_next_rng) else elements


def shuffle(
    x: TensorLike, axis: int = 0, size: TensorLike | None = None, rng: Variable | None = None,
    return_next_rng: bool = False,
) -> Any:  # fmt: skip
    """Return an array with the elements along a dimension in any order: what ``numpy.random.Generator.shuffle`` makes.

    Parameters
    ----------
    x
        An array of rank 1 or more, which stays as it is.
    axis
        The dimension.
    size, rng, return_next_rng
        As for `permutation`.

    Raises
    ------
    ShapeError
        If `x` is a scalar.

    Examples
    --------
    >>> tt.random.shuffle(np.arange(4)).eval().sum()
    np.int64(6)
    """
    return permutation(_array("shuffle", x), size, rng, return_next_rng, axis=axis)


def permuted(x: TensorLike, axis: int | None = None, rng: Variable | None = None, return_next_rng: bool = False) -> Any:
    """Return an array with its elements in any order (as ``numpy.random.Generator.permuted``).

    Parameters
    ----------
    x
        An array of rank 1 or more.
    axis
        The dimension along which elements change places, each vector for itself; None for the whole array.
    rng
        The generator; a new shared one if None.
    return_next_rng
        Whether to return the next generator too.

    Raises
    ------
    ShapeError
        If `x` is a scalar.

    Examples
    --------
    >>> tt.random.permuted(np.arange(4)).eval().sum()
    np.int64(6)
    """
    x = _array("permuted", x)
    at = None if axis is None else normalize_axis("permuted: axis", axis, x.ndim)
    vectors = x.flatten() if at is None else moveaxis(x, at, -1)
    following, elements = PermutationRV(signature="(x0)->(x0)", dtype=x.dtype)(vectors, rng=rng, return_next_rng=True)
    elements = elements.reshape(x.shape) if at is None else moveaxis(elements, -1, at)
    return (following, elements) if as_flag("permuted: return_next_rng", return_next_rng) else elements


def _elements(what: str, values: TensorLike) -> TensorVariable:
    """Return an array of elements, or the number of integers."""
    x = as_tensor_variable(values)
    if x.ndim == 0 and x.type.numpy_dtype.kind not in "iu":
        msg = f"{what}: an array or an integer is needed, got {x} of type {x.type}. Pass the elements as a vector."
        raise ArgumentError(msg)
    return x


def _array(what: str, values: TensorLike) -> TensorVariable:
    x = as_tensor_variable(values)
    if x.ndim == 0:
        msg = f"{what}: an array of rank 1 or more is needed, got {x} of type {x.type}. Use permutation for integers."
        raise ShapeError(msg)
    return x
