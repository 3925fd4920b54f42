"""The form of one entry on disk: a header with a checksum, a description, and the payload."""

import hashlib
import json
import struct
from collections.abc import Mapping

from treadle.cache.errors import CacheFormatError
from treadle.config import dataclass

MAGIC = b"TREADLE\x00"
VERSION = 1

# magic, version, length of the description, length of the payload, checksum
_HEADER = struct.Struct("<8sHIQ32s")


@dataclass(frozen=True, slots=True)
class Entry:
    """What an entry holds: the payload, and a description for people."""

    payload: bytes
    meta: Mapping[str, str]


def pack(key: str, payload: bytes, meta: Mapping[str, str]) -> bytes:
    """Return the bytes of an entry's file."""
    description = json.dumps(dict(meta), sort_keys=True).encode()
    checksum = _checksum(key, description, payload)
    return _HEADER.pack(MAGIC, VERSION, len(description), len(payload), checksum) + description + payload


def unpack(key: str, data: bytes) -> Entry:
    """Return the entry that the bytes of a file hold."""
    if len(data) < _HEADER.size or not data.startswith(MAGIC):
        raise CacheFormatError(_message(key, "not a cache entry"))
    _, version, description_size, payload_size, checksum = _HEADER.unpack_from(data)
    if version != VERSION:
        raise CacheFormatError(_message(key, f"written in format {version}, this is format {VERSION}"))
    body = memoryview(data)[_HEADER.size :]
    if len(body) != description_size + payload_size:
        raise CacheFormatError(_message(key, f"{len(body)} bytes where {description_size + payload_size} belong"))
    description, payload = bytes(body[:description_size]), bytes(body[description_size:])
    if _checksum(key, description, payload) != checksum:
        raise CacheFormatError(_message(key, "the checksum does not fit"))
    return Entry(payload, json.loads(description))


def size_of(beginning: bytes) -> int:
    """Return the size of an entry as its header says; 0 if it is not an entry."""
    if len(beginning) < _HEADER.size or not beginning.startswith(MAGIC):
        return 0
    _, _, description_size, payload_size, _ = _HEADER.unpack_from(beginning)
    return int(_HEADER.size + description_size + payload_size)


def _checksum(key: str, description: bytes, payload: bytes) -> bytes:
    # The key is part of it: an entry that was renamed, or copied to another key, is damaged.
    state = hashlib.blake2b(key.encode(), digest_size=32)
    state.update(description)
    state.update(payload)
    return state.digest()


def _message(key: str, fault: str) -> str:
    return f"cache entry {key}: damaged: {fault}. It counts as missing and will be made anew."
