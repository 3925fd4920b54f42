"""The canonical encoding of static parameters: from it come an op's equality, hash and stable key.

Python's own equality does not do: ``1 == True == 1.0`` and ``0.0 == -0.0``, and string hashes differ between
processes. Every value is written with a type tag, floats by their bits, arrays (through a registered encoder) by
dtype, shape and digest.
"""

from __future__ import annotations

import enum
import struct
import sys
from _blake2 import blake2b  # hashlib would load OpenSSL beside it, at every import of treadle
from functools import partial
from types import BuiltinFunctionType, FunctionType
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from treadle.config import lazy_module
from treadle.graph.errors import DuplicateRegistrationError, GraphTypeError

if TYPE_CHECKING:
    import dataclasses
    from collections.abc import Callable
else:
    dataclasses = lazy_module("dataclasses")


@runtime_checkable
class Encodable(Protocol):
    """An object that knows its own canonical encoding."""

    def canonical(self) -> bytes:
        """Return bytes that are equal exactly for interchangeable objects, in every process."""
        ...


class Encoders:
    """Encoders by type, for types that cannot carry a method (NumPy arrays, dtypes)."""

    __slots__ = ("_by_type",)

    def __init__(self) -> None:
        self._by_type: dict[type, Callable[[object], bytes]] = {}

    def register(self, kind: type, encode: Callable[[Any], bytes]) -> None:
        """Use `encode` for instances of `kind` and of its subclasses; a second claim is an error."""
        if kind in self._by_type:
            msg = f"encoders: {kind.__qualname__} has an encoder already. Remove one of the two registrations."
            raise DuplicateRegistrationError(msg)
        self._by_type[kind] = encode

    def find(self, kind: type) -> Callable[[Any], bytes] | None:
        """Return the encoder of the nearest base of `kind`, or None."""
        for base in kind.__mro__:
            encoder = self._by_type.get(base)
            if encoder is not None:
                return encoder
        return None


ENCODERS = Encoders()


def tagged(tag: str, *parts: bytes) -> bytes:
    """Join parts under a tag, each with its length, so that no two lists of parts read the same.

    Examples
    --------
    >>> tagged("mine", b"1") == tagged("mine", b"1"), tagged("mine", b"1") == tagged("other", b"1")
    (True, False)
    """
    out = [tag.encode(), b"(", str(len(parts)).encode()]
    for part in parts:
        out += (b":", str(len(part)).encode(), b":", part)
    out.append(b")")
    return b"".join(out)


def qualified_name(kind: Any) -> str:
    """Return ``module.qualname`` of a class or function."""
    return f"{kind.__module__}.{kind.__qualname__}"


def _encode_atom(value: Any) -> bytes | None:
    """Encode None, bool, int, float, complex, str and bytes; None for anything else."""
    kind = type(value)
    if value is None or value is Ellipsis:
        return b"N" if value is None else b"E"
    if kind is bool:
        return b"T" if value else b"F"
    if kind is int:
        return b"i%d" % value
    if kind is float:
        return b"f" + struct.pack("<d", value)
    if kind is complex:
        return b"c" + struct.pack("<dd", value.real, value.imag)
    if kind is str:
        return b"s" + str(value).encode("utf-8", "surrogatepass")
    if kind is bytes:
        return b"b" + bytes(value)
    return None


def _encode_container(value: Any) -> bytes | None:
    """Encode tuples, lists, dicts, sets and slices; None for anything else."""
    kind = type(value)
    if kind is tuple or kind is list:
        return tagged("t" if kind is tuple else "l", *map(encode, value))
    if kind is dict:
        return tagged("d", *sorted(tagged("p", encode(k), encode(v)) for k, v in value.items()))
    if kind is frozenset or kind is set:
        return tagged("u", *sorted(map(encode, value)))
    if kind is slice:
        return tagged("S", encode(value.start), encode(value.stop), encode(value.step))
    return None


def _encode_callable(value: object) -> bytes | None:
    """Encode classes, importable objects and partials by name; None for anything else."""
    if isinstance(value, type):
        return tagged("k", qualified_name(value).encode())
    if isinstance(value, FunctionType | BuiltinFunctionType):
        name = qualified_name(value)
        if "<" in name:
            msg = (
                f"encoding: {name} is a lambda or a local function, which has no name that other processes know. "
                "Use a function at module level as the parameter."
            )
            raise GraphTypeError(msg)
        return tagged("m", name.encode())
    if isinstance(value, partial):
        return tagged("P", encode(value.func), encode(value.args), encode(value.keywords))
    if _is_importable(value):
        # Functions written in C are of classes of their own, such as NumPy's.
        return tagged("m", qualified_name(value).encode())
    return None


def _is_importable(value: object) -> bool:
    """Whether a module holds an object under the name that the object says it has."""
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if not isinstance(module, str) or not isinstance(name, str):
        return False
    present: object = sys.modules.get(module)
    for part in name.split("."):
        present = getattr(present, part, None)
    return present is value


def encode(value: Any) -> bytes:
    """Return the canonical encoding of a static parameter.

    Raises
    ------
    GraphTypeError
        For a value that cannot be recognised in another process, such as a lambda.

    Examples
    --------
    >>> encode((1, "a")) == encode((1, "a")), encode(1) == encode(1.0)
    (True, False)
    """
    for attempt in (_encode_atom, _encode_container):
        encoded = attempt(value)
        if encoded is not None:
            return encoded
    if isinstance(value, enum.Enum):
        return tagged("e", qualified_name(type(value)).encode(), value.name.encode())
    if not isinstance(value, type):
        # Looking the method up is much faster than isinstance with the protocol, and means the same.
        if hasattr(type(value), "canonical"):
            encodable: Encodable = value
            return encodable.canonical()
        registered = ENCODERS.find(type(value))
        if registered is not None:
            return registered(value)
        if dataclasses.is_dataclass(value):
            return encode_dataclass(value)
    encoded = _encode_callable(value)
    if encoded is not None:
        return encoded
    msg = (
        f"encoding: a parameter of type {qualified_name(type(value))} has no canonical encoding, got {value!r}. "
        "Use numbers, strings, tuples, frozen dataclasses or ops, or register an encoder for the type."
    )
    raise GraphTypeError(msg)


def encode_dataclass(value: Any) -> bytes:
    """Encode a dataclass instance by its class and its compared fields."""
    return tagged(
        "D",
        qualified_name(type(value)).encode(),
        *(tagged("p", f.name.encode(), encode(getattr(value, f.name))) for f in dataclasses.fields(value) if f.compare),
    )


def digest(data: bytes) -> str:
    """Return a short hexadecimal digest, the same in every process.

    Examples
    --------
    >>> digest(encode(1)) == digest(encode(1)), len(digest(encode(1)))
    (True, 32)
    """
    return blake2b(data, digest_size=16).hexdigest()
