"""SpecifyAssumptions: facts about a tensor that rewriting may use, and that nothing checks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.config import text_of
from treadle.graph import static_op
from treadle.tensor.conversion import as_tensor_variable
from treadle.tensor.errors import ShapeError, TensorTypeError
from treadle.tensor.tensor_op import TensorOp

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np

    from treadle.graph import Apply, SymbolicShape, Type, Variable
    from treadle.tensor.known_values import Known
    from treadle.tensor.variable import TensorLike, TensorNode, TensorVariable

__all__ = ["FACTS", "SpecifyAssumptions", "assume"]

# Facts about matrices, the last two dimensions of a tensor, with those that follow from each.
_MATRIX_FACTS: dict[str, tuple[str, ...]] = {
    "diagonal": ("lower_triangular", "upper_triangular", "symmetric"),
    "lower_triangular": (),
    "upper_triangular": (),
    "symmetric": (),
    "positive_definite": ("symmetric",),
    "orthogonal": (),
    "selection": (),
    "permutation": ("orthogonal", "selection"),
}
FACTS: dict[str, tuple[str, ...]] = {**_MATRIX_FACTS, "nonnegative": (), "unique_indices": ()}


@static_op
class SpecifyAssumptions(TensorOp):
    """The tensor itself, with facts that are promised of it; rewriting leaves it out once it has used them.

    Parameters
    ----------
    assumptions
        Pairs of a fact, one of `FACTS`, and whether it holds.
    """

    assumptions: tuple[tuple[str, bool], ...]

    view_map = {0: [0]}  # noqa: RUF012 - the contract of Op

    def __post_init__(self) -> None:
        """Bring the facts into one order, and refuse those that contradict each other.

        Raises
        ------
        TensorTypeError
            If a fact is unknown, or contradicts another.
        """
        given = dict(self.assumptions)
        unknown = sorted(set(given) - set(FACTS))
        if unknown:
            msg = f"assume: {', '.join(map(text_of, unknown))}: no such fact. Facts are {', '.join(FACTS)}."
            raise TensorTypeError(msg)
        for fact, is_true in given.items():
            for other in FACTS[fact]:
                if is_true and given.get(other) is False:
                    msg = f"assume: what is {fact} is {other}, got {fact}=True and {other}=False. Leave one out."
                    raise TensorTypeError(msg)
        object.__setattr__(self, "assumptions", tuple(sorted((fact, bool(held)) for fact, held in given.items())))

    def infer(self, *types: Type) -> Sequence[Type]:
        """Return the input's type."""
        return types

    def perform(self, node: Apply, inputs: Sequence[np.ndarray], output_storage: Sequence[list[np.ndarray]]) -> None:
        """Return the input."""
        del node
        output_storage[0][0] = inputs[0]

    def promises(self, fact: str, output: Variable, holds: Callable[[str, Variable], bool]) -> bool:
        """Promise what was said, what follows from it, and what holds for the input."""
        given = dict(self.assumptions)
        if fact in given:
            return given[fact]
        if any(held and fact in FACTS[known] for known, held in given.items()):
            return True
        return output.owner is not None and holds(fact, output.owner.inputs[0])

    def known_values(self, node: Apply, known: Callable[[Variable], Known]) -> Known:
        """Return the input's elements."""
        return known(node.inputs[0])

    def infer_shape(self, node: Apply, shapes: Sequence[SymbolicShape | None]) -> Sequence[SymbolicShape | None]:
        """Return the input's shape."""
        del node
        return shapes

    def vectorize_node(self, node: TensorNode, x: TensorVariable) -> Apply:
        """Promise the same of each value of the batch, if it is about matrices or elements."""
        del node
        kept = tuple((fact, held) for fact, held in self.assumptions if fact != "unique_indices")
        return SpecifyAssumptions(kept).make_node(x)

    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> Sequence[Variable | None]:
        """Pass the cotangent on."""
        del inputs, outputs
        return list(cotangents)

    def decompose(self, *inputs: Variable) -> Sequence[Variable]:
        """Return the input."""
        return inputs

    def __str__(self) -> str:
        """Show the facts, those that do not hold with an exclamation mark."""
        return f"SpecifyAssumptions{{{', '.join(fact if held else f'!{fact}' for fact, held in self.assumptions)}}}"


def assume(
    x: TensorLike,
    diagonal: bool | None = None,
    lower_triangular: bool | None = None,
    upper_triangular: bool | None = None,
    symmetric: bool | None = None,
    positive_definite: bool | None = None,
    orthogonal: bool | None = None,
    selection: bool | None = None,
    permutation: bool | None = None,
    *,
    nonnegative: bool | None = None,
    unique_indices: bool | None = None,
) -> TensorVariable:
    """Return a tensor with facts about it that rewriting may use.

    Nothing checks them: where one does not hold, results may be wrong. To check a condition use `Assert`.

    Parameters
    ----------
    x
        A tensor.
    diagonal, lower_triangular, upper_triangular, symmetric, positive_definite, orthogonal, selection, permutation
        Whether its matrices, the last two dimensions, are so; None says nothing. A selection matrix has rows of the
        identity.
    nonnegative
        Whether no element is below 0, or a negative zero.
    unique_indices
        Whether the elements of a vector of positions all differ.

    Raises
    ------
    ShapeError
        If a fact is about matrices, and x has fewer than two dimensions.
    TensorTypeError
        If facts contradict each other.

    Examples
    --------
    >>> from treadle.tensor import assume, dmatrix
    >>> assume(dmatrix("x"), symmetric=True).type
    TensorType(float64, shape=(None, None))
    """
    var = as_tensor_variable(x)
    given = {
        "diagonal": diagonal,
        "lower_triangular": lower_triangular,
        "upper_triangular": upper_triangular,
        "symmetric": symmetric,
        "positive_definite": positive_definite,
        "orthogonal": orthogonal,
        "selection": selection,
        "permutation": permutation,
        "nonnegative": nonnegative,
        "unique_indices": unique_indices,
    }
    facts = tuple((fact, held) for fact, held in given.items() if held is not None)
    about_matrices = [fact for fact, _ in facts if fact in _MATRIX_FACTS]
    if about_matrices and var.ndim < 2:
        msg = f"assume: {about_matrices[0]} is said of matrices, got {var} of type {var.type}. Give it two dimensions."
        raise ShapeError(msg)
    made: TensorVariable = SpecifyAssumptions(facts)(var) if facts else var
    return made
