"""Cache keys."""

import hashlib
import re

from treadle.cache.errors import CacheKeyError

_KEY = re.compile(r"[0-9a-f]{64}")


def digest(*parts: bytes | str) -> str:
    """Return the key of a sequence of parts: 64 hexadecimal digits (BLAKE2b, 256 bits).

    Each part enters with its kind and length, so that no two different sequences share an
    encoding.

    >>> digest("ab", "c") == digest("a", "bc")
    False
    >>> digest("a") == digest(b"a")
    False
    """
    state = hashlib.blake2b(digest_size=32)
    for part in parts:
        kind, data = (b"s", part.encode()) if isinstance(part, str) else (b"b", part)
        state.update(kind + len(data).to_bytes(8, "little"))
        state.update(data)
    return state.hexdigest()


def check_key(key: str) -> str:
    """Return `key` if it is one, since it becomes a file name."""
    if not _KEY.fullmatch(key):
        msg = f"cache key: {key!r} is not 64 lower-case hexadecimal digits. Make keys with treadle.cache.digest."
        raise CacheKeyError(msg)
    return key
