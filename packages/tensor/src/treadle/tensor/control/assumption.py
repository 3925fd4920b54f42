"""SpecifyAssumptions: facts about a tensor that rewriting may use, and that nothing checks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from treadle.config import text_of
from treadle.graph import DuplicateRegistrationError, as_flag, static_op
from treadle.tensor.errors import ConflictingAssumptionsError, ShapeError, TensorTypeError
from treadle.tensor.ops.tensor_op import TensorOp
from treadle.tensor.types.conversion import as_tensor_variable
from treadle.tensor.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import numpy as np

    from treadle.graph import Apply, Type, Variable
    from treadle.tensor.ops.known_values import Known
    from treadle.tensor.shape_inference.symbolic_shapes import Length, SymbolicShapes
    from treadle.tensor.variables.variable import TensorLike, TensorNode, TensorVariable

__all__ = ["FACTS", "SpecifyAssumptions", "assume"]


class FactTable(Mapping[str, tuple[str, ...]]):
    """The names of facts, each with those that follow from it for every dtype.

    Facts are about matrices, the last two dimensions of a tensor, unless they are said to be about elements.
    """

    __slots__ = ("_about_elements", "_followed", "_real", "_ways")

    def __init__(self) -> None:
        self._followed: dict[str, tuple[str, ...]] = {}
        self._real: dict[str, tuple[str, ...]] = {}
        self._about_elements: set[str] = set()
        self._ways: dict[tuple[str, bool], tuple[str, ...]] = {}

    def add(self, fact: str, *implied: str, about_matrices: bool = True, if_real: tuple[str, ...] = ()) -> None:
        """Add a fact, with those that follow from it, and those that follow if no element is complex."""
        if fact in self._followed:
            msg = f"assume: a fact named {fact!r} exists already. Choose another name."
            raise DuplicateRegistrationError(msg)
        self._followed[fact] = ()
        self._real[fact] = if_real
        if not about_matrices:
            self._about_elements.add(fact)
        self.imply(fact, *implied)

    def imply(self, stronger: str, *weaker: str) -> None:
        """Let facts follow from a fact."""
        self._followed[stronger] = tuple(dict.fromkeys((*self._followed[stronger], *weaker)))
        self._ways.clear()

    def about_matrices(self, fact: str) -> bool:
        """Whether a fact is about matrices, not about elements or a vector."""
        return fact not in self._about_elements

    def following(self, fact: str, is_complex: bool) -> set[str]:
        """Return all that follows from a fact, itself included."""
        implied, stack = set(), [fact]
        while stack:
            current = stack.pop()
            if current not in implied:
                implied.add(current)
                stack += (*self.get(current, ()), *(() if is_complex else self._real.get(current, ())))
        return implied

    def ways(self, fact: str, is_complex: bool) -> tuple[str, ...]:
        """Return the facts that a fact follows from, itself first."""
        known = self._ways.get((fact, is_complex))
        if known is None:
            others = (other for other in self if other != fact and fact in self.following(other, is_complex))
            known = self._ways[fact, is_complex] = (fact, *others)
        return known

    def __getitem__(self, fact: str) -> tuple[str, ...]:
        return self._followed[fact]

    def __iter__(self) -> Iterator[str]:
        return iter(self._followed)

    def __len__(self) -> int:
        return len(self._followed)


FACTS = FactTable()
FACTS.add("square")
# What is 0 off its diagonal need not be square, and so need not be symmetric.
FACTS.add("diagonal", "lower_triangular", "upper_triangular", "tridiagonal")
FACTS.add("lower_triangular")
FACTS.add("upper_triangular")
FACTS.add("tridiagonal")
FACTS.add("symmetric", "square", if_real=("hermitian",))
FACTS.add("hermitian", "square", if_real=("symmetric",))
FACTS.add("positive_definite", "positive_semidefinite", "nonsingular", "positive_diagonal")
FACTS.add("positive_semidefinite", "hermitian")
FACTS.add("nonsingular", "square")
FACTS.add("orthogonal", "nonsingular")
FACTS.add("selection")
FACTS.add("permutation", "orthogonal", "selection")
FACTS.add("positive_diagonal")
FACTS.add("block_diagonal")
FACTS.add("kronecker")
FACTS.add("nonnegative", about_matrices=False)
FACTS.add("positive", "nonnegative", about_matrices=False)
FACTS.add("unique_indices", about_matrices=False)


@static_op
class SpecifyAssumptions(TensorOp):
    """The tensor itself, with facts that the user asserts about it; rewriting removes it once it has used them.

    Parameters
    ----------
    assumptions
        Pairs of a fact, one of `FACTS`, and whether it holds.
    """

    assumptions: tuple[tuple[str, bool], ...]

    view_map = {0: [0]}  # noqa: RUF012 - the contract of Op

    def __post_init__(self) -> None:
        """Bring the facts into one order, and refuse those that contradict each other."""
        facts = dict(self.assumptions)
        facts = {fact: as_flag(f"assume: {text_of(fact, str)}", held) for fact, held in facts.items()}
        unknown = sorted(set(facts) - set(FACTS))
        if unknown:
            msg = f"assume: {', '.join(map(text_of, unknown))}: no such fact. Facts are {', '.join(FACTS)}."
            raise TensorTypeError(msg)
        self._refuse_contradictions(is_complex=True)
        object.__setattr__(self, "assumptions", tuple(sorted(facts.items())))

    def _refuse_contradictions(self, is_complex: bool) -> None:
        facts = dict(self.assumptions)
        for fact, is_true in facts.items():
            for other in FACTS.following(fact, is_complex) if is_true else ():
                if facts.get(other) is False:
                    msg = f"assume: what is {fact} is {other}, got {fact}=True and {other}=False. Leave one out."
                    raise ConflictingAssumptionsError(msg)

    def infer(self, *types: Type) -> Sequence[Type]:
        """Return the input's type.

        Raises
        ------
        ConflictingAssumptionsError
            If facts contradict each other for its dtype.
        """
        self._refuse_contradictions(_is_complex(types[0]))
        return types

    def perform(self, node: Apply, inputs: Sequence[np.ndarray], output_storage: Sequence[list[np.ndarray]]) -> None:
        """Return the input."""
        output_storage[0][0] = inputs[0]

    def promises(self, fact: str, output: Variable, holds: Callable[[str, Variable], bool]) -> bool:
        """Promise what was said, and what holds for the input."""
        facts = dict(self.assumptions)
        if fact in facts:
            return facts[fact]
        followed = FACTS.following(fact, _is_complex(output.type))
        if any(denied in followed for denied, held in self.assumptions if not held):
            return False
        return output.owner is not None and holds(fact, output.owner.inputs[0])

    def known_values(self, node: Apply, known: Callable[[Variable], Known]) -> Known:
        """Return the input's elements."""
        return known(node.inputs[0])

    def symbolic_shape(self, node: Apply, out: Variable, shapes: SymbolicShapes) -> Sequence[Length | None]:
        """Return the input's lengths."""
        return shapes.of(node.inputs[0])

    def vectorize_node(self, node: TensorNode, x: TensorVariable) -> Apply:
        """Promise the same of each value of the batch, if it is about matrices or elements."""
        kept = tuple((fact, held) for fact, held in self.assumptions if fact != "unique_indices")
        return SpecifyAssumptions(kept).make_node(x)

    def decompose(self, *inputs: Variable) -> Sequence[Variable]:
        """Return the input."""
        return inputs

    def __str__(self) -> str:
        """Show the facts, those that do not hold with an exclamation mark."""
        return f"SpecifyAssumptions{{{', '.join(fact if held else f'!{fact}' for fact, held in self.assumptions)}}}"


def _is_complex(kind: Type) -> bool:
    return isinstance(kind, TensorType) and kind.numpy_dtype.kind == "c"


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
    **others: bool | None,
) -> TensorVariable:
    """Return a tensor with facts about it that rewriting may use.

    Nothing checks them: where one does not hold, results may be wrong. To check a condition use `Assert`.

    Parameters
    ----------
    x
        A tensor.
    diagonal, lower_triangular, upper_triangular, symmetric, positive_definite, orthogonal, selection, permutation
        Whether its matrices, the last two dimensions, are so; None says nothing. A diagonal or triangular matrix need
        not be square; the symmetric, positive definite, orthogonal and permutation matrices are. A selection matrix
        has columns of the identity, ``eye(n)[:, positions]``: ``x @ s`` picks columns of x, and ``s.T @ x`` rows.
    nonnegative
        Whether no element is below 0, or a negative zero.
    unique_indices
        Whether the elements of a vector of positions all differ.
    others
        Other facts of `FACTS`: ``square``, ``hermitian``, ``positive_semidefinite``, ``tridiagonal``, ``nonsingular``,
        ``positive_diagonal``, ``positive`` (of each element), and those that were added to it.

    Raises
    ------
    ShapeError
        If a fact is about matrices, and x has fewer than two dimensions.
    TensorTypeError
        If a fact is unknown.
    ConflictingAssumptionsError
        If facts contradict each other.

    Examples
    --------
    >>> from treadle.tensor import assume, dmatrix
    >>> assume(dmatrix("x"), symmetric=True).type
    TensorType(float64, shape=(None, None))
    """
    var = as_tensor_variable(x)
    options = {
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
        **others,
    }
    facts = tuple((fact, held) for fact, held in options.items() if held is not None)
    about_matrices = [fact for fact, _ in facts if FACTS.about_matrices(fact)]
    if about_matrices and var.ndim < 2:
        msg = f"assume: {about_matrices[0]} is said of matrices, got {var} of type {var.type}. Give it two dimensions."
        raise ShapeError(msg)
    result: TensorVariable = SpecifyAssumptions(facts)(var) if facts else var
    return result
