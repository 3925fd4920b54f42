"""What rewriters track: ops, classes of ops, and predicates, which say of an op whether it is looked at."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from treadle.config import text_of
from treadle.graph import Op
from treadle.rewrite.errors import RewriterTypeError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TypeGuard

# An op, a class of ops, or a class that stands for some of them: ``isinstance`` tells which ops of its `of` these are.
NamedOps = Op | type[Op]
# Or a function of an op that says whether it is tracked, such as an `OpPattern`.
Tracked = NamedOps | Callable[[Op], object]


class OpClass:
    """The ops of a class that is known by its name and need not be imported, for rules to track.

    A package whose rules track its ops in this way can declare the rules without loading the ops: while nobody has
    imported these, no graph has them. ``OpClass("treadle.sparse.products.Dot")`` tracks what ``Dot`` itself does.

    Parameters
    ----------
    path
        Where the class is defined: its module and its name in there.

    Raises
    ------
    RewriterTypeError
        If it is not such a text.
    """

    __slots__ = ("__name__", "path")

    def __init__(self, path: str) -> None:
        module, _, name = path.rpartition(".") if isinstance(path, str) else ("", "", "")
        if not module or not name:
            msg = f"OpClass: the path of a class is needed, got {text_of(path)}. Write it as 'package.module.Class'."
            raise RewriterTypeError(msg)
        self.path = path
        self.__name__ = name

    def __call__(self, op: object) -> bool:
        """Whether an op is of the class, or of one derived from it."""
        return self.has(type(op))

    def has(self, kind: type) -> bool:
        """Whether a class is this one, or derived from it."""
        return any(path_of(base) == self.path for base in kind.__mro__)

    def __eq__(self, other: object) -> bool:
        """Compare paths."""
        return isinstance(other, OpClass) and self.path == other.path

    def __hash__(self) -> int:
        return hash((OpClass, self.path))

    def __str__(self) -> str:
        return self.__name__

    def __repr__(self) -> str:
        return f"OpClass({self.path!r})"


def path_of(kind: type) -> str:
    """Return where a class is defined, as `OpClass` has it."""
    return f"{kind.__module__}.{kind.__qualname__}"


class OpPattern:
    """The ops of a class with some parameters, for rewriters to track: a function that says whether an op is one.

    ``OpPattern(Reduction, kind="max")`` stands for all maxima, ``OpPattern(Elemwise, scalar_op=OpPattern(Cast))`` for
    all conversions.

    Parameters
    ----------
    op_type
        A class, or several: what `isinstance` takes.
    parameters, kwargs
        Attributes, and what each must be: a value that it equals, a class that it is of, or a pattern that it matches.
        A mapping, or pairs, or named arguments.

    Raises
    ------
    RewriterTypeError
        If `op_type` is no class, or parameters are given both ways.
    """

    __slots__ = ("op_type", "parameters")

    def __init__(
        self,
        op_type: Any,
        parameters: Mapping[str, object] | Sequence[tuple[str, object]] | None = None,
        **kwargs: object,
    ) -> None:
        if kwargs and parameters is not None:
            msg = "OpPattern: parameters are given as a mapping or by name, got both. Choose one."
            raise RewriterTypeError(msg)
        try:
            isinstance(None, op_type)
            given = kwargs or dict(parameters or {})
        except (TypeError, ValueError):
            msg = (
                f"OpPattern: a class and its parameters are needed, got {text_of(op_type)} and {text_of(parameters)}. "
                "Name the class of ops, and attributes with values."
            )
            raise RewriterTypeError(msg) from None
        self.op_type = op_type
        self.parameters = tuple(sorted(given.items(), key=lambda item: item[0]))

    def __call__(self, op: object) -> bool:
        """Whether an op matches."""
        return isinstance(op, self.op_type) and self.match_parameters(op)

    match_op = __call__

    def match_parameters(self, op: object) -> bool:
        """Whether an op of the class has the parameters."""
        return all(_is_as_wanted(getattr(op, name, None), wanted) for name, wanted in self.parameters)

    @property
    def ops(self) -> type:
        """A class that stands for the ops: they are its instances."""
        return MatchingOps(str(self), (), {"of": class_tracked(self), "pattern": self})

    def __eq__(self, other: object) -> bool:
        """Compare class and parameters."""
        return isinstance(other, OpPattern) and (self.op_type, self.parameters) == (other.op_type, other.parameters)

    def __hash__(self) -> int:
        return hash((OpPattern, self.op_type, tuple(name for name, _ in self.parameters)))

    def __str__(self) -> str:
        kind = getattr(self.op_type, "__name__", self.op_type)
        parameters = (f"{name}={getattr(wanted, '__name__', wanted)}" for name, wanted in self.parameters)
        return f"OpPattern({', '.join([str(kind), *parameters])})"

    __repr__ = __str__


class MatchingOps(type):
    """Metaclass of classes that stand for the ops of a pattern."""

    of: type
    pattern: OpPattern

    def __instancecheck__(cls, op: object) -> bool:
        """Whether something is an op that matches."""
        return cls.pattern(op)


def _is_as_wanted(value: object, wanted: object) -> bool:
    """Whether a parameter's value is as a pattern has it."""
    if isinstance(wanted, OpPattern):
        return wanted(value)
    if isinstance(wanted, type) and isinstance(value, wanted):
        return True
    return bool(value == wanted)


def is_tracked(item: object) -> TypeGuard[NamedOps]:
    """Whether something is an op or a class of ops, or stands for some ops of a class."""
    return isinstance(item, Op) or (isinstance(item, type) and issubclass(class_of(item), Op))


def class_of(kind: type) -> type:
    """Return a class of ops itself; for a class that stands for some ops, the class of these."""
    represented = kind.__dict__.get("of")
    return represented if isinstance(represented, type) else kind


def class_tracked(item: object) -> type:
    """Return the class whose ops, some of them or all, something tracked stands for: Op if it is any function."""
    if isinstance(item, OpPattern):
        item = item.op_type
    return class_of(item) if isinstance(item, type) else Op


def is_predicate(item: object) -> TypeGuard[Callable[[Op], object]]:
    """Whether something is a function that says of ops whether they are tracked."""
    return callable(item) and not isinstance(item, type | Op)


def check_tracked(subject: str, tracked: Iterable[object]) -> None:
    """Refuse what is neither an op nor a class of ops nor a predicate."""
    for item in tracked:
        if not is_tracked(item) and not is_predicate(item):
            msg = f"{subject}: tracks ops or classes of ops, got {item!r}. Name the op itself."
            raise RewriterTypeError(msg)


def is_among(op: Op, tracked: Iterable[Tracked]) -> bool:
    """Whether an op is one of several, or of one of their classes, or meets one of the predicates."""
    return any(_is(op, item) for item in tracked)


def _is(op: Op, item: Tracked) -> bool:
    if isinstance(item, type):
        return isinstance(op, item)
    return op == item if isinstance(item, Op) else bool(item(op))


def name_of(tracked: Tracked) -> str:
    """Return the name of an op, of a class of ops, or of a predicate."""
    if isinstance(tracked, Op | OpPattern):
        return str(tracked)
    return str(getattr(tracked, "__name__", tracked))
