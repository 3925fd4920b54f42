"""The declaration of one option."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Generic, TypedDict, TypeVar

from treadle.config.errors import OptionDefinitionError, OptionValueError
from treadle.config.kinds import BOOL, FLOAT, INT, PATH, STR, Kind, choice

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import Unpack

T_co = TypeVar("T_co", covariant=True)

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*(_{1,2}[A-Za-z0-9]+)*")


class Traits(TypedDict, total=False):
    """The declarations that every kind of option shares, as `Option` describes them."""

    affects_code: bool
    read_only: bool
    scoped: bool
    no_effect: str
    default_text: str


class Option(Generic[T_co]):
    """One typed option, owned by the package that reads it.

    A package lists its options in its own module as ``OPTIONS: tuple[Option[object], ...]`` and
    publishes that tuple through the entry-point group ``treadle.options``. The module must import
    nothing of its package, so that listing the options loads no package.

    Parameters
    ----------
    name
        The option's name; a double underscore separates a section from the rest, as in
        ``compile__timeout``.
    default
        The default, or a function without arguments that computes it. The function is called when
        the option is first read; it may read other options, and is called again when one of these
        has changed.
    doc
        What the option does, as shown by ``print(config)``.
    kind
        The kind of value: `BOOL`, `INT`, `FLOAT`, `STR`, `PATH`, `choice`, or one made with
        `Kind.where`.
    affects_code
        Whether the value can change compiled code. It then enters cache keys.
    read_only
        Whether the value is fixed by its first use in the process.
    scoped
        Whether a `change_flags` block may give a read-only option another value all the same: for
        options whose reader takes the value anew each time, so that the block is well defined.
    no_effect
        Why setting the option does nothing, for options kept for the sake of existing set-ups.
        Setting one to anything but its default warns once.
    default_text
        How listings describe a default that is computed.
    owner
        The distribution that declares the option. Registration fills it.

    Raises
    ------
    OptionDefinitionError
        If the name is not a Python name of that form, or the default is not of the kind.

    Examples
    --------
    >>> Option.integer("demo__size", default=3, doc="A size.").section
    'demo'
    """

    # Written out where a frozen dataclass would do: that would load inspect, at every import of treadle.
    __slots__ = (
        *("affects_code", "default", "default_text", "doc", "kind"),
        *("name", "no_effect", "owner", "read_only", "scoped"),
    )

    name: str
    default: T_co | Callable[[], T_co]
    doc: str
    kind: Kind[T_co]
    affects_code: bool
    read_only: bool
    scoped: bool
    no_effect: str
    default_text: str
    owner: str

    def __init__(
        self,
        name: str,
        default: T_co | Callable[[], T_co],
        doc: str,
        kind: Kind[T_co],
        affects_code: bool = True,
        read_only: bool = False,
        no_effect: str = "",
        owner: str = "",
        *,
        scoped: bool = False,
        default_text: str = "",
    ) -> None:
        values = (affects_code, default, default_text, doc, kind, name, no_effect, owner, read_only, scoped)
        for slot, value in zip(Option.__slots__, values, strict=True):
            object.__setattr__(self, slot, value)
        self._check()

    def __setattr__(self, name: str, value: object) -> None:
        msg = f"option {self.name}: a declaration cannot be changed, but {name} was set to {value!r}. Make a new one."
        raise AttributeError(msg)

    def __delattr__(self, name: str) -> None:
        msg = f"option {self.name}: a declaration cannot be changed, but {name} was deleted. Make a new one."
        raise AttributeError(msg)

    def _fields(self) -> tuple[object, ...]:
        """Return the declaration's fields in the order in which `Option` takes them."""
        return (
            *(self.name, self.default, self.doc, self.kind, self.affects_code, self.read_only),
            *(self.no_effect, self.owner, self.scoped, self.default_text),
        )

    def __eq__(self, other: object) -> bool:
        return self._fields() == other._fields() if isinstance(other, Option) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._fields())

    def __repr__(self) -> str:
        return f"Option{self._fields()}"

    def __reduce__(self) -> tuple[object, ...]:
        return partial(Option, scoped=self.scoped, default_text=self.default_text), self._fields()[:8]

    def owned_by(self, owner: str) -> Option[T_co]:
        """Return the same declaration, with the distribution it belongs to."""
        return Option(
            *(self.name, self.default, self.doc, self.kind),
            *(self.affects_code, self.read_only, self.no_effect, owner),
            scoped=self.scoped,
            default_text=self.default_text,
        )

    def _check(self) -> None:
        """Check the name and a constant default."""
        if not _NAME.fullmatch(self.name):
            msg = (
                f"option {self.name!r}: the name is not of the form word or section__word. "
                "Use letters, digits and single underscores, and '__' between section and word."
            )
            raise OptionDefinitionError(msg)
        if not callable(self.default):
            try:
                self.accept(self.default)
            except OptionValueError as error:
                msg = f"option {self.name}: its own default is refused: {error}"
                raise OptionDefinitionError(msg) from error

    def describe_default(self) -> str:
        """Return the default as listings show it; one that is computed is described in words."""
        if not callable(self.default):
            return repr(self.make_default())
        return self.default_text or "computed"

    @property
    def section(self) -> str:
        """The part of the name before the last double underscore, or an empty string."""
        return self.name.rpartition("__")[0]

    def accept(self, setting: object, origin: str = "") -> T_co:
        """Return the value to keep for a value or text.

        Parameters
        ----------
        setting
            A value as assigned, or a text.
        origin
            Where the setting stands, quoted by the error.

        Raises
        ------
        OptionValueError
            If the kind refuses it.
        """
        try:
            return self.kind.parse(setting)
        except (ValueError, TypeError) as error:
            place = f" in {origin}" if origin else ""
            msg = f"option {self.name}: cannot be {setting!r}{place}. Give {self.kind.allowed}."
            raise OptionValueError(msg) from error

    def make_default(self) -> T_co:
        """Return the default, computing it if it is a function."""
        if callable(self.default):
            return self.accept(self.default(), "its own default")
        return self.accept(self.default)

    @staticmethod
    def boolean(name: str, *, default: bool | Callable[[], bool], doc: str, **traits: Unpack[Traits]) -> Option[bool]:
        """Declare an option that is True or False."""
        return Option(name, default, doc, BOOL, **traits)

    @staticmethod
    def integer(
        name: str, *, default: int | Callable[[], int], doc: str, kind: Kind[int] = INT, **traits: Unpack[Traits]
    ) -> Option[int]:
        """Declare an option that is an integer; `kind` may restrict it, as in ``INT.where(...)``."""
        return Option(name, default, doc, kind, **traits)

    @staticmethod
    def number(
        name: str,
        *,
        default: float | Callable[[], float],
        doc: str,
        kind: Kind[float] = FLOAT,
        **traits: Unpack[Traits],
    ) -> Option[float]:
        """Declare an option that is a float."""
        return Option(name, default, doc, kind, **traits)

    @staticmethod
    def string(
        name: str, *, default: str | Callable[[], str], doc: str, kind: Kind[str] = STR, **traits: Unpack[Traits]
    ) -> Option[str]:
        """Declare an option that is any string, or one that `kind` accepts."""
        return Option(name, default, doc, kind, **traits)

    @staticmethod
    def enum(
        name: str, choices: tuple[str, ...], *, default: str | Callable[[], str], doc: str, **traits: Unpack[Traits]
    ) -> Option[str]:
        """Declare an option that is one of the given strings."""
        return Option(name, default, doc, choice(*choices), **traits)

    @staticmethod
    def path(name: str, *, default: Path | Callable[[], Path], doc: str, **traits: Unpack[Traits]) -> Option[Path]:
        """Declare an option that is the path of a file or folder."""
        return Option(name, default, doc, PATH, **traits)
