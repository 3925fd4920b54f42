"""FactRules: what facts follow from, by the class of op."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

from treadle.config import discover
from treadle.graph import DuplicateRegistrationError, Op, PluginLoader

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TypeVar

    import numpy as np

    from treadle.graph import Variable
    from treadle.tensor.rewrites.analysis.facts import Facts
    from treadle.tensor.variables.variable import TensorVariable

    _Added = TypeVar("_Added", bound=Callable[..., object])

# How far from the diagonal elements may lie that are not 0: below it and above it; None where nothing is known.
Bands = tuple[int | None, int | None]
# ``(fact, output, facts) -> bool``: whether a fact holds for an output of a node.
FactRule = Callable[[str, "TensorVariable", "Facts"], bool]
FULL: Bands = (None, None)


class FactRules:
    """Rules by the class of op that they are about, in the order in which they were added.

    Other packages register theirs where they declare rewrite rules: what the entry points of ``treadle.rules`` name is
    imported at the first question.
    """

    __slots__ = ("_known", "_published", "_rules", "_starting", "_values")

    # Whether a fact holds, with how many nodes may be asked; set by `treadle.tensor.rewrites.analysis.facts`.
    holds: ClassVar[Callable[[str, Variable, int], bool]]

    def __init__(self) -> None:
        self._rules: dict[type[Op], list[tuple[frozenset[str] | None, FactRule]]] = {}
        self._values: dict[str, Callable[[np.ndarray], bool]] = {}
        self._known: dict[tuple[type[Op], str], tuple[FactRule, ...]] = {}
        self._starting: set[type[Op]] = set()
        self._published = PluginLoader(lambda: discover("treadle.rules"), lambda rule_sets: None)  # noqa: ARG005

    def register(
        self, *kinds: type[Op], facts: Iterable[str] | None = None, starts: bool = False
    ) -> Callable[[_Added], _Added]:
        """Return a decorator that adds a rule ``(fact, output, facts) -> bool`` for ops of some classes.

        Parameters
        ----------
        kinds
            Classes of ops; the rule is asked for ops of classes derived from them too.
        facts
            The facts that it knows of, or None: it is asked for every fact.
        starts
            Whether it may know a fact where none is known of the inputs: graphs with such an op are then searched for
            matrices of some structure.

        Raises
        ------
        DuplicateRegistrationError
            If a rule is added twice for a class.
        """
        wanted = None if facts is None else frozenset(facts)

        def add(rule: _Added) -> _Added:
            for kind in kinds:
                rules = self._rules.setdefault(kind, [])
                if any(known is rule and about == wanted for about, known in rules):
                    msg = f"facts: {rule} is registered for {kind.__name__} already. Register it once."
                    raise DuplicateRegistrationError(msg)
                rules.append((wanted, rule))  # type: ignore[arg-type]  # a function of that kind
            self._known.clear()
            if starts:
                self._starting.update(kinds)
            return rule

        return add

    def starts(self, kind: type[Op]) -> bool:
        """Whether a fact may begin at ops of a class."""
        self._published.load()
        return not self._starting.isdisjoint(kind.__mro__)

    def of_values(self, fact: str) -> Callable[[_Added], _Added]:
        """Return a decorator that adds how a fact is read off the value of a constant: ``(array) -> bool``."""

        def add(rule: _Added) -> _Added:
            if fact in self._values:
                msg = f"facts: how {fact} is read off a constant is registered already. Register it once."
                raise DuplicateRegistrationError(msg)
            self._values[fact] = rule  # type: ignore[assignment]  # a function of that kind
            return rule

        return add

    def rules(self, kind: type[Op], fact: str) -> tuple[FactRule, ...]:
        """Return the rules that may know of a fact for ops of a class."""
        self._published.load()
        known = self._known.get((kind, fact))
        if known is None:
            every = (item for base in kind.__mro__ for item in self._rules.get(base, ()))
            known = self._known[kind, fact] = tuple(rule for about, rule in every if about is None or fact in about)
        return known

    def value_rule(self, fact: str) -> Callable[[np.ndarray], bool] | None:
        """Return how a fact is read off a constant, if that is known."""
        self._published.load()
        return self._values.get(fact)


RULES = FactRules()


def narrower(a: Bands, b: Bands) -> Bands:
    """Return the bands of a matrix that is 0 wherever one of two matrices is 0."""
    below, above = (x if y is None else y if x is None else min(x, y) for x, y in zip(a, b, strict=True))
    return below, above


def wider(*several: Bands) -> Bands:
    """Return the bands of a matrix that is 0 wherever all of several matrices are 0."""
    below, above = (
        None if None in side else max(x for x in side if x is not None) for side in zip(*several, strict=True)
    )
    return below, above
