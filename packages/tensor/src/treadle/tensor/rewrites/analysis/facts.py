"""Facts about matrices, the last two dimensions of tensors: known from how a value was made, declared, or read off.

A fact has a name, such as ``symmetric``. It is known of a value if one of these says so: the value itself, if it is a
constant; its op (`Op.promises`, and so `assume`); a rule for the class of its op, which anyone may add to `RULES`; or
another fact that it follows from. Answers are kept: each question is answered once for each variable, however often it
is asked, and however deep the graph is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from treadle.graph import Apply, Constant, Feature, Op, Variable
from treadle.rewrite import feature_of
from treadle.tensor.control.assumption import FACTS
from treadle.tensor.rewrites.analysis import bands, kronecker_facts, matrix_facts, matrix_values, symmetry
from treadle.tensor.rewrites.analysis.fact_rules import FULL, RULES, Bands, FactRules, narrower
from treadle.tensor.rewrites.analysis.predicates import is_nonnegative
from treadle.tensor.shape_inference.symbolic_shapes import SymbolicShapes, shapes_of
from treadle.tensor.types.conversion import tensors
from treadle.tensor.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TypeVar

    from treadle.graph import FunctionGraph
    from treadle.tensor.variables.variable import TensorVariable

    _Added = TypeVar("_Added", bound=Callable[..., object])

# The modules whose rules are in `RULES` from here on.
RULE_MODULES = (matrix_facts, kronecker_facts)
# So many questions wait for one another at most before the deepest is answered on its own.
_DEEPEST = 24


class _TooDeep(Exception):  # noqa: N818 - it ends a search, and is no error
    """A question that is to be answered before those that wait for it."""

    def __init__(self, question: _Question) -> None:
        super().__init__(question)
        self.question = question


_Question = tuple[Callable[["Facts", str, Variable], object], str, Variable]


class Facts(Feature):
    """Feature that answers whether facts hold, lazily and once for each variable.

    Rewriting keeps values: what holds once holds for good, and for whatever takes a variable's place. What is not
    known may become known when something below it changes; only then is it asked for again.
    """

    def __init__(self, shapes: SymbolicShapes | None = None) -> None:
        self.shapes = SymbolicShapes() if shapes is None else shapes
        self.fgraph: FunctionGraph | None = None
        self._known: dict[_Question, object] = {}
        self._about: dict[Variable, set[_Question]] = {}
        self._askers: dict[_Question, set[_Question]] = {}
        self._open: list[_Question] = []
        # Whether a structure could come from anything in the graph: found out by the first rule that wants to know.
        self.is_fruitful: bool | None = None
        # Whether one could start at an op or constant that the graph has, or has had, and the nodes that were not
        # looked at for that: all of them at first, of a graph that these facts are attached to.
        self.has_sources = False
        self.unseen: list[Apply] = []
        # How many questions were answered by looking at a node or value: work is counted in tests.
        self.answered = 0

    def on_attach(self, fgraph: FunctionGraph) -> None:
        """Note the graph, and the shapes that are known of it."""
        self.fgraph = fgraph
        self.shapes = shapes_of(fgraph)
        self.unseen = list(fgraph.apply_nodes)

    def on_import(self, fgraph: FunctionGraph, node: Apply, reason: str | None) -> None:
        """Note a node at which a structure may start."""
        if not self.has_sources:
            self.unseen.append(node)

    def on_change_input(
        self, fgraph: FunctionGraph, node: object, i: int, var: Variable, new_var: Variable, reason: str | None = None
    ) -> None:
        """Pass on what holds for the variable replaced, and forget what was not known above it."""
        if not self.has_sources and isinstance(new_var, Constant) and isinstance(node, Apply):
            self.unseen.append(node)
        if not self._known:
            return
        for question in tuple(self._about.get(var, ())):
            if self._known[question] is True and new_var is not var:
                self._note((*question[:2], new_var), True)
        if isinstance(node, Apply):
            self._forget(node.outputs)

    def _forget(self, variables: Iterable[Variable]) -> None:
        stack = [question for var in variables for question in self._about.get(var, ())]
        while stack:
            question = stack.pop()
            if self._known.get(question, True) is True:
                continue
            del self._known[question]
            self._about[question[2]].discard(question)
            stack.extend(self._askers.pop(question, ()))

    # Questions

    def hold(self, fact: str, var: Variable) -> bool:
        """Whether a fact is known to hold for a tensor."""
        kind = var.type
        if not isinstance(kind, TensorType):
            return False
        if fact == "square" and kind.ndim > 1 and len(set(self.shapes.of(var)[-2:])) == 1:
            return True
        if any(self.states(way, var) for way in FACTS.ways(fact, kind.numpy_dtype.kind == "c")):
            return True
        limits = _LIMITS.get(fact)
        if limits is not None:
            return _within(self.bands(var), limits)  # type: ignore[arg-type]  # a tensor
        if fact == "symmetric" or (fact == "hermitian" and kind.numpy_dtype.kind != "c"):
            return kind.ndim > 1 and self._is_symmetric(var)  # type: ignore[arg-type]  # a tensor
        return False

    def _is_symmetric(self, var: TensorVariable) -> bool:
        if self.exchanged(var, var.ndim - 2, var.ndim - 1) == 1:
            return True
        return symmetry.is_square_diagonal(var, self)

    def bands(self, var: TensorVariable) -> Bands:
        """Return how far from the diagonal of its matrices a tensor may be other than 0, below and above it."""
        answer: Bands = self._ask(_bands, "bands", var)  # type: ignore[assignment]  # what it returns
        return answer

    def exchanged(self, var: TensorVariable, i: int, j: int) -> int:
        """Return 1 if a tensor is the same with two dimensions exchanged, -1 if it is its negative, or else 0."""
        answer: int = self._ask(_exchanged, f"{i},{j}", var)  # type: ignore[assignment]  # what it returns
        return answer

    def learn(self, fact: str, var: Variable) -> None:
        """Note that a fact holds because the user's graph relies on it elsewhere, as in a solve that assumes it."""
        self._note((_stated, fact, var), True)

    def states(self, fact: str, var: Variable) -> bool:
        """Whether a fact is stated of a variable itself, not of what it follows from."""
        return self._ask(_stated, fact, var) is True

    def _ask(self, answer: Callable[[Facts, str, Variable], object], about: str, var: Variable) -> object:
        question = (answer, about, var)
        if self._open:
            self._askers.setdefault(question, set()).add(self._open[-1])
        if question in self._known:
            return self._known[question]
        if question in self._open:
            return _UNKNOWN[answer]
        if len(self._open) == _DEEPEST:
            raise _TooDeep(question)
        if self._open:
            return self._answer(question)
        waiting = [question]
        while waiting:
            try:
                self._answer(waiting[-1])
                waiting.pop()
            except _TooDeep as interruption:
                waiting.append(interruption.question)
        return self._known[question]

    def _answer(self, question: _Question) -> object:
        answer, about, var = question
        self._open.append(question)
        try:
            value = answer(self, about, var)
        finally:
            self._open.pop()
        self.answered += 1
        self._note(question, value)
        return value

    def _note(self, question: _Question, value: object) -> None:
        self._known[question] = value
        self._about.setdefault(question[2], set()).add(question)


def _stated(facts: Facts, fact: str, var: Variable) -> bool:
    """Whether a fact is stated of a variable itself: by its value, its op, or a rule for its op."""
    if isinstance(var, Constant):
        return matrix_values.holds(fact, var)
    node = var.owner
    if node is None:
        return False
    op = node.op
    if type(op).promises is not Op.promises and op.promises(fact, var, facts.hold):
        return True
    return any(rule(fact, var, facts) for rule in RULES.rules(type(op), fact))  # type: ignore[arg-type]  # a tensor


def _bands(facts: Facts, about: str, var: Variable) -> Bands:
    del about
    kind = var.type
    if not isinstance(kind, TensorType) or kind.ndim < 2:
        return FULL
    if isinstance(var, Constant):
        return matrix_values.bands(var)
    n, m = kind.shape[-2:]
    below = 0 if n == 1 or facts.states("upper_triangular", var) else None
    above = 0 if m == 1 or facts.states("lower_triangular", var) else None
    if None not in {below, above} or facts.states("diagonal", var):
        return 0, 0
    if facts.states("tridiagonal", var):
        below, above = (1 if side is None else side for side in (below, above))
    return narrower((below, above), bands.bands(var, facts))  # type: ignore[arg-type]  # a tensor


def _exchanged(facts: Facts, about: str, var: Variable) -> int:
    i, j = map(int, about.split(","))
    return symmetry.exchanged(var, i, j, facts)  # type: ignore[arg-type]  # a tensor


# What is answered of a variable whose answer is being looked for.
_UNKNOWN: dict[Callable[[Facts, str, Variable], object], object] = {_stated: False, _bands: FULL, _exchanged: 0}
_LIMITS: dict[str, Bands] = {
    "diagonal": (0, 0),
    "lower_triangular": (None, 0),
    "upper_triangular": (0, None),
    "tridiagonal": (1, 1),
}


def _within(bands: Bands, limits: Bands) -> bool:
    pairs = zip(bands, limits, strict=True)
    return all(limit is None or (side is not None and side <= limit) for side, limit in pairs)


def facts_of(fgraph: FunctionGraph) -> Facts:
    """Return what is known of the values in a graph; nothing yet where the rules' features are not attached."""
    return feature_of(fgraph, Facts) or Facts(shapes_of(fgraph))


def fact_reader(facts: Facts | None = None) -> Callable[[Variable], list[str]]:
    """Return a function from variables to the names of all facts that hold; it keeps what it found."""
    facts = Facts() if facts is None else facts
    return lambda var: [fact for fact in FACTS if _is_shown(fact, var.type) and facts.hold(fact, var)]


def _is_shown(fact: str, kind: object) -> bool:
    """Whether a fact says something that others do not: hermitian is symmetric where nothing is complex."""
    return fact != "square" and isinstance(kind, TensorType) and (fact != "hermitian" or kind.numpy_dtype.kind == "c")


def holds(fact: str, var: Variable, depth: int = 4) -> bool:
    """Whether a fact is known to hold for a tensor: `is_nonnegative`, or as `treadle.tensor.rewrites.Facts` says.

    Rules that are given the graph ask `facts_of`, which keeps the answers.

    Parameters
    ----------
    fact
        Its name, such as ``nonnegative`` or ``symmetric``.
    var
        The tensor.
    depth
        For ``nonnegative``, how many nodes below it are asked at most, one below the other.
    """
    if fact == "nonnegative":
        return is_nonnegative(tensors((var,))[0], depth)
    return Facts().hold(fact, var)


FactRules.holds = staticmethod(holds)
