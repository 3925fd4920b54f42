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
