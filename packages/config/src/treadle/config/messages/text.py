"""Values as text, for messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


def text_of(value: T, write: Callable[[T], str] = repr, longest: int = 200) -> str:
    """Return a value as text on one line for a message, cut where it is long.

    A value whose text fails is named by its class, so that a message about it never hides behind another error.
    """
    try:
        text = " ".join(write(value).split())
    except Exception as error:  # noqa: BLE001 - the text of anyone's object may fail in any way
        return f"<{type(value).__name__}: its text failed with {type(error).__name__}>"
    return text if len(text) <= longest else f"{text[: longest - 8]} … {text[-5:]}"
