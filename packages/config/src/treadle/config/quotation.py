"""Values in messages."""

from __future__ import annotations

_LONGEST = 120


def quoted(value: object) -> str:
    """Return a value as it is written in a program, on one line, cut where it is long.

    Messages quote what users give: a value whose own text fails is named by its class, so that the message still comes.
    """
    try:
        text = " ".join(repr(value).split())
    except Exception as error:  # noqa: BLE001 - the repr is anyone's code, and the message must not fail with it
        return f"a {type(value).__qualname__} whose repr raises {type(error).__name__}"
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 12]} … {text[-9:]}"
