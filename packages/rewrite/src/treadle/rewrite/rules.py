"""Rules and rule sets, by which packages declare replacements."""

from __future__ import annotations

import inspect
import os
import sys
from dataclasses import field
from types import FunctionType
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar

from treadle.config import dataclass, text_of
from treadle.graph import DuplicateRegistrationError, Op
from treadle.rewrite.engine.interface import GraphRewriter, NodeRewriter
from treadle.rewrite.engine.tracked import Tracked, check_tracked
from treadle.rewrite.errors import RuleDefinitionError
from treadle.rewrite.pattern import Law
from treadle.rewrite.phase import Phase
from treadle.rewrite.tags import NOT_IEEE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from treadle.graph import Apply, Feature, FunctionGraph, Variable

_Function = TypeVar("_Function", bound="Callable[..., Any]")
V = TypeVar("V", bound="Variable")
# Which inputs of a node must be constants for a rule to be tried.
_CONSTANTS = ("", "any", "all")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Rule(NodeRewriter):
    """A local rule: what may take the place of one node's outputs.

    Parameters
    ----------
    name
        Its id: shown in reports, and a tag of its own.
    apply
        ``(node)``, or ``(fgraph, node)`` if `needs_graph`: returns None, the replacement of the one output, a sequence
        with a replacement (or None) for each output, or a mapping from variables to replacements.
    law
        What it says, in one line.
    phases
        When it runs.
    tracked
        Ops and classes of ops it looks at; every node if empty.
    tags
        By which queries find it.
    before, after
        Ids of rules of the same phase that it must come before or after.
    depth
        How many levels of nodes it looks at, its own node included. After a change that far below, it is tried again.
    needs_graph
        Whether it is given the graph too.
    place
        File and line of its declaration.
    features
        Classes of features that it needs on the graph while a run lasts.
    asked_by
        The tags that bring it in, besides its id, if not all do: its other tags, such as that of its phase, only
        leave it out.
    below
        Ops, classes of ops and predicates: it is tried only on a node one of whose inputs such an op computes.
    needs
        The same of ops anywhere in the graph: it is tried only in a graph that has, or has had, one of them.
    constants
        ``"any"`` if it is tried only on a node with a constant among its inputs, ``"all"`` if only where all of them
        are; empty if it makes no difference, or `below` decides.
    """

    # Written as fields so that the bases' class attributes are not taken for their defaults.
    name: str = field()
    apply: Callable[..., Any] = field()
    law: str
    phases: tuple[Phase, ...]
    tracked: tuple[Tracked, ...]
    tags: frozenset[str]
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    depth: int = field(default=2)
    needs_graph: bool = False
    place: str = ""
    features: tuple[type[Feature], ...] = ()
    asked_by: frozenset[str] | None = None
    below: tuple[Tracked, ...] = ()
    needs: tuple[Tracked, ...] = ()
    constants: str = ""

    def tracks(self) -> Sequence[Tracked] | None:
        """Return what it tracks, or None if it looks at every node."""
        return self.tracked or None

    def transform(self, fgraph: FunctionGraph, node: Apply) -> Any:
        """Return what may take the place of a node's outputs."""
        return self.apply(fgraph, node) if self.needs_graph else self.apply(node)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class GraphPass(GraphRewriter):
    """A rewrite of a whole graph, run once in a phase, after the phase's local rules.

    Parameters
    ----------
    name
        Its id.
    apply
        ``(fgraph) -> number of changes``.
    law, phases, tags, before, after, place, features
        As for `Rule`; the order is among the passes of a phase.
    requires
        Classes of features that it attaches to the graph and that stay on it: what it makes may depend on them, as
        in-place work depends on a destroy handler.
    needs
        Classes of ops one of which the graph must have for the pass to change anything; else it is left out.
    """

    name: str = field()
    apply: Callable[[FunctionGraph], int] = field()  # type: ignore[assignment]  # a field stands for the method
    law: str
    phases: tuple[Phase, ...]
    tags: frozenset[str]
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    place: str = ""
    features: tuple[type[Feature], ...] = ()
    requires: tuple[type[Feature], ...] = ()
    needs: tuple[type[Op], ...] = ()

    sets_lines: ClassVar[bool] = True

    def is_of_use(self, kinds: Iterable[type[Op]]) -> bool:
        """Whether one of the classes is one that the pass needs, or derives from it."""
        return not self.needs or any(issubclass(kind, self.needs) for kind in kinds)

    def add_requirements(self, fgraph: FunctionGraph) -> None:
        """Attach the features that stay, unless the graph has them."""
        for kind in self.requires:
            if not any(type(feature) is kind for feature in fgraph.features):
                fgraph.attach_feature(kind())


@dataclass(slots=True, eq=False)
class RuleSet:
    """The rules of one family, in order of declaration.

    Parameters
    ----------
    name
        Name of the family; a tag of each of its rules.
    is_commutative
        ``(op) -> bool``: whether patterns match an op's two operands in either order.
    value_of
        ``(variable) -> number or None``: the number a variable is known to hold in every element, for the numbers in
        patterns.
    features
        Classes of features that the rules need on the graph while they run.
    declares
        Further tags that queries may name.
    before, after
        Names of rule sets that its rules come before or after, where no before or after of a rule decides; sets that
        are not installed do not matter.
    """

    name: str
    is_commutative: Callable[[Op], bool] | None = None
    value_of: Callable[[Variable], complex | None] | None = None
    features: tuple[type[Feature], ...] = ()
    declares: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    _rules: dict[str, Rule | GraphPass] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Rule | GraphPass]:
        return iter(self._rules.values())

    def __len__(self) -> int:
        return len(self._rules)

    def __getitem__(self, name: str) -> Rule | GraphPass:
        return self._rules[name]

    @property
    def names(self) -> frozenset[str]:
        """The ids of all rules and passes."""
        return frozenset(self._rules)

    def add(self, rule: Rule | GraphPass) -> None:
        """Add a rule or pass.

        Raises
        ------
        DuplicateRegistrationError
            If its id is taken; the message names both places.
        """
        rival = self._rules.get(rule.name)
        if rival is not None:
            msg = (
                f"rule {rule.name!r}: declared twice in rule set {self.name!r}, at {rival.place} and at {rule.place}. "
                "Rename one of them."
            )
            raise DuplicateRegistrationError(msg)
        self._rules[rule.name] = rule

    def rule(
        self,
        phase: Phase | Sequence[Phase],
        *tracked: Tracked,
        tags: Sequence[str] | None = None,
        before: Sequence[str] = (),
        after: Sequence[str] = (),
        name: str | None = None,
        depth: int = 2,
        needs_graph: bool = False,
        differs: str = "",
        is_opt_in: bool = False,
        below: Sequence[Tracked] = (),
        needs: Sequence[Tracked] = (),
        constants: Literal["", "any", "all"] = "",
    ) -> Callable[[_Function], _Function]:
        """Return a decorator that declares a function as a rule (parameters as for `Rule`).

        The id is the function's name, the law the first line of its docstring.

        Parameters
        ----------
        differs
            Where the rule gives another value than the expression as written, as a phrase that ends the sentence
            "Differs ...", if it does so at operands of floats: at NaN, infinities, zeros of either sign and subnormal
            numbers, outside of a function's domain, or where an intermediate value leaves the range. The law says so
            then, and the rule carries the tag ``not_ieee``.
        is_opt_in
            Whether only the rule's own id and the tags given here bring it in: for a rule that may change a value of
            a program without errors, or drop an assertion or a draw. The tags of its phase and rule set do not.
        below, needs, constants
            Without what no answer of the function is possible, so that it need not be asked: most rules of functions
            that are everywhere, such as products, never meet what they are about.

        Raises
        ------
        RuleDefinitionError
            If the function has no docstring, something tracked is not an op, or `constants` is another word.
        DuplicateRegistrationError
            If the id is taken.
        """

        def declare(function: _Function) -> _Function:
            identity = name or function.__name__
            check_tracked(f"rule {identity!r}", (*tracked, *below, *needs))
            if constants not in _CONSTANTS:
                msg = f"rule {identity!r}: constants is 'any', 'all' or empty, got {text_of(constants)}. Choose one."
                raise RuleDefinitionError(msg)
            phases = _phases(phase)
            self.add(
                Rule(
                    identity,
                    function,
                    _law_of(identity, function) + _difference(differs),
                    phases,
                    tracked,
                    self._tags(phases, tags, differs),
                    tuple(before),
                    tuple(after),
                    depth,
                    needs_graph,
                    _place_of(function),
                    self.features,
                    frozenset((identity, *(tags or ()))) if is_opt_in else None,
                    tuple(below),
                    tuple(needs),
                    constants,
                )
            )
            return function

        return declare

    def graph_pass(
        self,
        phase: Phase | Sequence[Phase],
        *,
        tags: Sequence[str] | None = None,
        before: Sequence[str] = (),
        after: Sequence[str] = (),
        name: str | None = None,
        requires: Sequence[type[Feature]] = (),
        needs: Sequence[type[Op]] = (),
        differs: str = "",
    ) -> Callable[[_Function], _Function]:
        """Return a decorator that declares ``(fgraph) -> number of changes`` as a pass over whole graphs.

        Parameters are those of `GraphPass`, and `differs` of `rule`.

        Raises
        ------
        RuleDefinitionError
            If the function has no docstring, or `needs` names anything but classes of ops.
        DuplicateRegistrationError
            If the id is taken.
        """

        def declare(function: _Function) -> _Function:
            identity = name or function.__name__
            law = _law_of(identity, function) + _difference(differs)
            phases = _phases(phase)
            place = _place_of(function)
            tagged = self._tags(phases, tags, differs)
            order = tuple(before), tuple(after)
            unchecked: Sequence[object] = needs
            for kind in unchecked:
                if not (isinstance(kind, type) and issubclass(kind, Op)):
                    msg = f"pass {identity!r}: needs classes of ops, got {text_of(kind)}. Name the class."
                    raise RuleDefinitionError(msg)
            wants = tuple(requires), tuple(needs)
            self.add(GraphPass(identity, function, law, phases, tagged, *order, place, self.features, *wants))
            return function

        return declare

    def law(
        self,
        name: str,
        lhs: object,
        rhs: object,
        *,
        phase: Phase | Sequence[Phase] = Phase.STABILIZE,
        when: Callable[[Apply[V], Mapping[str, V]], bool] | None = None,
        tags: Sequence[str] | None = None,
        before: Sequence[str] = (),
        after: Sequence[str] = (),
        differs: str = "",
    ) -> None:
        """Declare that what `lhs` matches may become `rhs`.

        Parameters
        ----------
        name
            Id of the rule.
        lhs
            An op applied to patterns, as in ``log(1 + x)``. A number matches what is known to hold it; a pattern
            variable that occurs twice must be the same variable. `Pattern` tells how to narrow a part of it further.
        rhs
            A pattern over the same variables; a sequence of them, one for each output of the op (None for one that
            stays); or a function ``(node, match) -> Variable | None``, or a sequence of variables.
        when
            ``(node, match) -> bool``: a further condition; `match` holds the variables by name.
        phase, tags, before, after
            As for `Rule`.
        differs
            As for `rule`.

        Notes
        -----
        A replacement whose type neither equals nor refines the old one is not made: so a number that was there for
        its dtype or its shape keeps its place.

        Raises
        ------
        RuleDefinitionError
            If `lhs` is not an applied op, or `rhs` uses variables that `lhs` does not have.
        """
        law = Law(name, lhs, rhs, when, self.is_commutative, self.value_of)
        place = _place_of_caller()
        phases = _phases(phase)
        self.add(
            Rule(
                name,
                law,
                f"{law}.{_difference(differs)}",
                phases,
                (law.op,),
                self._tags(phases, tags, differs),
                tuple(before),
                tuple(after),
                law.depth,
                law.needs_graph,
                place,
                self.features,
            )
        )

    def _tags(self, phases: tuple[Phase, ...], tags: Sequence[str] | None, differs: str) -> frozenset[str]:
        own_tags = [tag for phase in phases for tag in phase.default_tags] if tags is None else tags
        mark = (NOT_IEEE,) if differs else ()
        return frozenset((self.name, *own_tags, *mark, *(phase.tag for phase in phases)))


def _phases(phase: Phase | Sequence[Phase]) -> tuple[Phase, ...]:
    return (phase,) if isinstance(phase, Phase) else tuple(phase)


def _law_of(name: str, function: object) -> str:
    # Of a function's own text, the first line is the same before indentation is taken away.
    own = function.__doc__ if isinstance(function, FunctionType) else None
    text = own.strip() if own else inspect.getdoc(function)
    if not text:
        msg = f"rule {name!r}: has no docstring. State its law in the first line, as in 'log(exp(x)) -> x.'"
        raise RuleDefinitionError(msg)
    return text.splitlines()[0]


def _difference(differs: str) -> str:
    """Return the end of a law: where it gives another value than the expression as written."""
    return f" Differs {differs}." if differs else ""


def _place_of_caller() -> str:
    """Return file and line of a law's declaration, also where a function of the same file declares it."""
    frame = sys._getframe(2)
    file = frame.f_code.co_filename
    while frame.f_back is not None and frame.f_back.f_code.co_filename == file:
        frame = frame.f_back
    return f"{os.path.basename(file)}:{frame.f_lineno}"  # noqa: PTH119 - hundreds of times in each process


def _place_of(function: object) -> str:
    code = getattr(function, "__code__", None)
    if code is None:
        return repr(function)
    return f"{os.path.basename(code.co_filename)}:{code.co_firstlineno}"  # noqa: PTH119 - as above
