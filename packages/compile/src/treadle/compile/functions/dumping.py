"""Writing the arguments of a call of `function` into a file, and pickling without what only this process needs."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import TYPE_CHECKING, Any

from treadle.compile.errors import FunctionTypeError
from treadle.compile.functions.locking import Snapshot
from treadle.config import text_of
from treadle.graph import Container, ScratchPad, UserLine

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import IO


class StripPickler(pickle.Pickler):
    """Pickler that leaves out where variables and nodes were built, and further tags and values on request.

    Parameters
    ----------
    file
        A binary file to write to.
    protocol
        The pickle protocol; the default one if None.
    extra_tag_to_remove
        Names of attributes of tags to leave out, or one such name. ``trace`` always is.
    strip_values
        Whether the values of shared variables and of inputs' cells are left out. They must be set before a function is
        called.

    Raises
    ------
    FunctionTypeError
        If the names are not strings.
    """

    def __init__(
        self,
        file: IO[bytes],
        protocol: int | None = None,
        extra_tag_to_remove: str | Iterable[str] | None = None,
        *,
        strip_values: bool = False,
    ) -> None:
        super().__init__(file, protocol)
        self._tags = {"trace", *_names(extra_tag_to_remove)}
        self._strip_values = strip_values

    def reducer_override(self, obj: object) -> Any:
        """Return how an object is pickled, where that is not as usual."""
        if type(obj) is ScratchPad:
            return _restore_pad, ({name: value for name, value in vars(obj).items() if name not in self._tags},)
        if type(obj) is UserLine:
            return type(None), ()
        if self._strip_values and type(obj) is Container:
            return Container, (obj.type, None)
        if self._strip_values and type(obj) is Snapshot:
            return Snapshot, ((),)
        return NotImplemented


def _names(tags: Iterable[object] | None) -> list[str]:
    names = []
    for name in [tags] if isinstance(tags, str) else (tags or ()):
        if not isinstance(name, str):
            msg = (
                f"extra_tag_to_remove: names of tag attributes are needed, got {text_of(name)}. Pass a list of strings."
            )
            raise FunctionTypeError(msg)
        names.append(name)
    return names


def _restore_pad(attributes: dict[str, object]) -> ScratchPad:
    pad = ScratchPad()
    vars(pad).update(attributes)
    return pad


def function_dump(
    filename: str | Path,
    inputs: object,
    outputs: object = None,
    mode: object = None,
    updates: Any = None,
    givens: object = None,
    no_default_updates: object = False,
    accept_inplace: bool = False,
    name: str | None = None,
    rebuild_strict: bool = True,
    allow_input_downcast: bool | None = None,
    profile: object = None,
    on_unused_input: str | None = None,
    extra_tag_to_remove: str | Iterable[str] | None = None,
    trust_input: bool = False,
    tiered: bool | None = None,
    *,
    strip_values: bool = False,
) -> None:
    """Write the arguments of a call of `function` into a file instead of compiling, to be looked into elsewhere.

    ``function(**pickle.load(open(filename, "rb")))`` makes the call. Shared variables go along with their values.

    Parameters
    ----------
    filename
        The file to write.
    inputs, outputs, mode, updates, givens, no_default_updates, accept_inplace, name, rebuild_strict
        As for `function`.
    allow_input_downcast, profile, on_unused_input, trust_input, tiered
        As for `function`.
    extra_tag_to_remove, strip_values
        What to leave out, as for `StripPickler`; where expressions were built always is.
    """
    arguments = {
        "inputs": inputs,
        "outputs": outputs,
        "mode": mode,
        "updates": updates,
        "givens": givens,
        "no_default_updates": no_default_updates,
        "accept_inplace": accept_inplace,
        "name": name,
        "rebuild_strict": rebuild_strict,
        "allow_input_downcast": allow_input_downcast,
        "profile": profile,
        "on_unused_input": on_unused_input,
        "trust_input": trust_input,
        "tiered": tiered,
    }
    with Path(filename).open("wb") as file:
        StripPickler(file, extra_tag_to_remove=extra_tag_to_remove, strip_values=strip_values).dump(arguments)
