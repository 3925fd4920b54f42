"""Documented names of an op's static parameters, ``_props`` and ``_props_dict``."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class ParameterNames:
    """Base of all ops: what they are told apart by, as a tuple and by name."""

    # Of the op.
    _parameter_names: Callable[[], Sequence[str] | None]

    def _props(self) -> tuple[object, ...]:
        """Return the static parameters, in order; an op without declared ones has none."""
        return tuple(self._props_dict().values())

    def _props_dict(self) -> dict[str, object]:
        """Return the static parameters by name: ``type(op)(**op._props_dict())`` is an equal op."""
        return {name: getattr(self, name) for name in self._parameter_names() or ()}
