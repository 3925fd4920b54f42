"""Helper functions in C that rules of other packages bring: texts by name, and families of texts by types."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.graph import DuplicateRegistrationError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping


class Helpers:
    """Helper functions that rules may call in addition to those of the runtime; their names start with ``tr_``.

    A package adds its own where it registers its rules, by the entry point ``treadle.lowerings.c``.

    Attributes
    ----------
    texts
        Texts by the names that they define, separated by spaces; the first is the helper's own.
    families
        Functions from C types to a text, by the name's stem: ``tr_weave`` makes ``tr_weave_f64``. Other names that
        such a text defines end in ``_run``.
    """

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self.families: dict[str, Callable[..., str]] = {}
        self._finders: list[Callable[[str], Callable[..., str] | None]] = []

    def add(self, texts: Mapping[str, str], families: Mapping[str, Callable[..., str]]) -> None:
        """Add helpers.

        Raises
        ------
        DuplicateRegistrationError
            If another text or family has one of the names.
        """
        self.refuse_names_of((*texts, *families))
        self.texts.update(texts)
        self.families.update(families)

    def add_finder(self, find: Callable[[str], Callable[..., str] | None]) -> None:
        """Add a function from stems to what makes their texts, or None: for families that others may add to."""
        self._finders.append(find)

    def maker(self, stem: str) -> Callable[..., str] | None:
        """Return the function from C types to the text of a family; None if there is none."""
        own = self.families.get(stem)
        return own or next((make for find in self._finders if (make := find(stem)) is not None), None)

    def refuse_names_of(self, names: Iterable[str]) -> None:
        """Refuse helpers, by the names that each defines, if one of the names is here already.

        Raises
        ------
        DuplicateRegistrationError
            If it is.
        """
        taken = {name for known in (*self.texts, *self.families) for name in known.split()}
        for name in (name for defined in names for name in defined.split()):
            if name in taken:
                msg = f"c: two helpers define {name}. Choose another name for one of them."
                raise DuplicateRegistrationError(msg)


HELPERS = Helpers()
