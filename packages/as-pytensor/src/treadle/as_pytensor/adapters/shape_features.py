"""The feature and the rewriter that PyTensor keeps shapes with, on treadle's feature for shapes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle import graph
from treadle.rewrite import GraphRewriter
from treadle.tensor import TensorType

if TYPE_CHECKING:
    from typing import TypeAlias

    from treadle.graph import FunctionGraph, Variable
    from treadle.tensor import TensorVariable

    Length: TypeAlias = int | TensorVariable
    Lengths: TypeAlias = tuple[Length, ...]


def _lengths(var: Variable) -> Lengths | None:
    """Return the shape of a variable from itself: a length that is known as a number."""
    if not isinstance(var.type, TensorType):
        return None
    return tuple(var.shape[d] if n is None else n for d, n in enumerate(var.type.shape))  # type: ignore[attr-defined]


class Shapes:
    """The shapes of a graph's variables: ``shape_of[var]``, or ``shape_of(var)``."""

    def __init__(self, feature: ShapeFeature) -> None:
        self._feature = feature

    def __getitem__(self, var: Variable) -> Lengths | None:
        return self._feature.shape_tuple(var)

    def __call__(self, var: Variable) -> Lengths | None:
        """Return the shape of a variable, None for one that has no shape."""
        return self._feature.shape_tuple(var)

    def __contains__(self, var: object) -> bool:
        return isinstance(getattr(var, "type", None), TensorType)

    def get(self, var: Variable, default: object = None) -> object:
        """Return the shape of a variable, or the default for one that has no shape."""
        shape = self._feature.shape_tuple(var)
        return default if shape is None else shape


class ShapeFeature(graph.ShapeFeature):
    """Shapes as expressions, for ``FunctionGraph(..., features=[ShapeFeature()])``."""

    def __init__(self) -> None:
        super().__init__(_lengths)
        self._of = Shapes(self)

    def on_attach(self, fgraph: FunctionGraph) -> None:
        """Install ``shape_feature``; a graph has one such feature."""
        if hasattr(fgraph, "shape_feature"):
            raise graph.AlreadyThere
        super().on_attach(fgraph)

    def clone(self) -> ShapeFeature:
        """Return a feature for another graph."""
        return type(self)()

    @property
    def shape_of(self) -> Shapes:
        """The shapes by variable."""
        return self._of

    def shape_tuple(self, var: Variable) -> Lengths | None:
        """Return the shape of a variable, None for one that has no shape."""
        return graph.ShapeFeature.shape_of(self, var)

    def get_shape(self, var: Variable, idx: int) -> Length | None:
        """Return the length of one dimension."""
        shape = self.shape_tuple(var)
        return None if shape is None else shape[idx]

    def same_shape(self, x: Variable, y: Variable, dim_x: int | None = None, dim_y: int | None = None) -> bool:
        """Whether two variables, or one dimension of each, are known to be of one length."""
        first, second = self.shape_tuple(x), self.shape_tuple(y)
        if first is None or second is None:
            return False
        if dim_x is not None and dim_y is not None:
            first, second = (first[dim_x],), (second[dim_y],)
        return len(first) == len(second) and all(map(_same, first, second))


def _same(a: Length, b: Length) -> bool:
    if isinstance(a, graph.Variable) and isinstance(b, graph.Variable):
        return a is b or graph.equal_computations([a], [b])
    return not isinstance(a, graph.Variable) and not isinstance(b, graph.Variable) and int(a) == int(b)


class ShapeOptimizer(GraphRewriter):
    """Attaches a `ShapeFeature`, and changes nothing."""

    name = "ShapeOptimizer"

    def add_requirements(self, fgraph: FunctionGraph) -> None:
        """Attach the feature."""
        fgraph.attach_feature(ShapeFeature())

    def apply(self, fgraph: FunctionGraph) -> None:
        """Do nothing more."""
