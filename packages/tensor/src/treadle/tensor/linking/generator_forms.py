"""What linkers ask of the package that a generator comes from, found by its entry point ``treadle.generators``."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from treadle.config import discover

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from treadle.graph import Apply, Op, Variable

GROUP = "treadle.generators"


class Source(NamedTuple):
    """A generator of a graph, as compiled code draws from it.

    Attributes
    ----------
    state
        The array that stands for it.
    after
        Returns the generator in a later state.
    """

    state: Variable
    after: Callable[[Variable], Any]


class GeneratorForms(Protocol):
    """What a package of generators says of them; a module with these functions will do."""

    def has_type(self, kind: object) -> bool:
        """Whether a type is one of the package's generators."""

    def is_portable(self, kind: object) -> bool:
        """Whether generators of one of its types give the same numbers on every backend."""

    def source_of(self, rng: Variable) -> Source:
        """Return a generator's state, and what makes it the generator in a later one."""

    def in_state(self, kind: object, state: Variable) -> Variable:
        """Return a generator of a type in a state, to draw from in the body of a loop."""

    def makes_generator(self, op: Op) -> bool:
        """Whether an op's last input is the state of the generator that it returns."""

    def tell(self, backend: str, nodes: Iterable[Apply]) -> None:
        """Warn of what nodes draw otherwise on a backend than on the virtual machine."""


def installed_forms() -> list[GeneratorForms]:
    """Return what each installed package of generators says."""
    return [entry.load() for entry in discover(GROUP).values()]


def forms_of(kind: object) -> GeneratorForms | None:
    """Return what the package of a type of generators says; None for other types."""
    return next((forms for forms in installed_forms() if forms.has_type(kind)), None)


_PORTABLE = ContextVar("_PORTABLE", default=False)


@contextmanager
def portable_draws() -> Iterator[None]:
    """Let random variables decompose into portable draws, whichever generator they draw from."""
    token = _PORTABLE.set(True)
    try:
        yield
    finally:
        _PORTABLE.reset(token)


def are_portable() -> bool:
    """Whether all random variables decompose into portable draws."""
    return _PORTABLE.get()
