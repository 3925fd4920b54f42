"""From the arguments of a call to one value for each input, with errors that explain what does not fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.compile.errors import CallError
from treadle.config import config, lazy_module

if TYPE_CHECKING:
    import difflib
    import inspect
    from collections.abc import Mapping, Sequence

    from treadle.compile.io import In
    from treadle.config import Snapshot
    from treadle.graph import Type, Value
else:
    difflib = lazy_module("difflib")
    inspect = lazy_module("inspect")


# The keyword argument that lists which outputs to compute.
SUBSET = "output_subset"


class Missing:
    """Marker of an argument that was not given."""

    def __repr__(self) -> str:
        return "not given"


MISSING = Missing()


class Signature:
    """The explicit inputs of a function, and how arguments are matched to them; messages call the function `title`."""

    __slots__ = ("_by_name", "_named", "_needed", "_required", "inputs", "open", "title")

    def __init__(self, inputs: Sequence[In], title: str) -> None:
        self.inputs = inputs
        self.title = title
        # Those that take an argument by position.
        self.open = tuple(i for i, item in enumerate(inputs) if not item.implicit)
        self._required = tuple(i for i, item in enumerate(inputs) if item.container is None)
        self._by_name: dict[str | None, list[int]] = {}
        for i, item in enumerate(inputs):
            self._by_name.setdefault(item.name, []).append(i)
        # By place among the open ones: the names that are one input's and nothing else, and what has no default.
        named = ((at, self.inputs[i].name) for at, i in enumerate(self.open))
        self._named = [(at, name) for at, name in named if name and len(self._by_name[name]) == 1 and name != SUBSET]
        self._needed = [at for at, i in enumerate(self.open) if i in self._required]

    def __str__(self) -> str:
        """Show how to call: ``f(x: Vector(float64, shape=(?,)), y: Scalar(float64) = default)``."""
        parts = []
        for i in self.open:
            item = self.inputs[i]
            text = f"{item.name or '(unnamed)'}: {item.variable.type}"
            parts.append(text + " = default" if item.container is not None else text)
        return f"{self.title}({', '.join(parts)})"

    def filled(self, args: Sequence[Value], kwargs: Mapping[str, object]) -> list[Value] | None:
        """Return the arguments of all open inputs, MISSING for defaults; None if some are missing or cannot be told.

        Parameters
        ----------
        args
            For each open input what was given by position, or MISSING.
        kwargs
            What was given by name.
        """
        values = list(args)
        left = len(kwargs)
        for at, name in self._named:
            if name in kwargs and values[at] is MISSING:
                values[at] = kwargs[name]
                left -= 1
        return None if left or any(values[at] is MISSING for at in self._needed) else values

    def match(self, args: Sequence[Value], kwargs: Mapping[str, object]) -> list[Value]:
        """Return for each input the argument given, or MISSING."""
        slots: list[Value] = [MISSING] * len(self.inputs)
        if len(args) > len(self.open):
            msg = f"{self.title}: {len(self.open)} arguments at most, got {len(args)}. Call {self}."
            raise CallError(msg)
        for place, value in zip(self.open, args, strict=False):
            slots[place] = value
        unknown = [key for key in kwargs if key not in self._by_name]
        if unknown:
            names = [i.name for i in self.inputs if i.name]
            near = [name for key in unknown for name in difflib.get_close_matches(key, names, n=1)]
            hint = f" Did you mean {', '.join(map(repr, near))}?" if near else ""
            msg = f"{self.title}: no input has the name {' or '.join(map(repr, unknown))}.{hint} Call {self}."
            raise CallError(msg)
        for key, value in kwargs.items():
            slots[self._place(key, slots)] = value
        return slots

    def _place(self, key: str, slots: Sequence[Value]) -> int:
        places = self._by_name[key]
        if len(places) > 1:
            msg = (
                f"{self.title}: several inputs have the name {key!r}, at the positions "
                f"{', '.join(map(str, places))}. Give these by position. Call {self}."
            )
            raise CallError(msg)
        (place,) = places
        if self.inputs[place].implicit:
            msg = f"{self.title}: {key!r} is implicit, its value cannot be given. Leave it out. Call {self}."
            raise CallError(msg)
        if slots[place] is not MISSING:
            msg = f"{self.title}: {key!r} is given twice, by position and by name. Give it once. Call {self}."
            raise CallError(msg)
        return place

    def check_complete(self, slots: Sequence[Value]) -> None:
        """Check that every input without default has an argument."""
        missing = [i for i in self._required if slots[i] is MISSING]
        if not missing:
            return
        listed = [f"argument {i}, {self._label(i)} of type {self.inputs[i].variable.type}" for i in missing]
        verb = "is" if len(missing) == 1 else "are"
        msg = f"{self.title}: {'; '.join(listed)}, {verb} missing. Call {self}."
        raise CallError(msg)

    def _label(self, i: int) -> str:
        """Return what messages call an input: its keyword, or the variable that has none."""
        return str(self.inputs[i].name or self.inputs[i].variable)

    def convert(self, i: int, value: Value, options: Snapshot) -> Value:
        """Return an argument as a value of its input's type, under the options in force when the function was made."""
        item = self.inputs[i]
        type_ = item.variable.type
        if not item.allow_downcast:
            # A value that loses nothing passes under any rule and options, and putting options in force takes time.
            try:
                return type_.accept(value, strict=item.strict, allow_downcast=False)
            except (TypeError, ValueError):
                pass
        with config.using(options):
            try:
                return type_.accept(value, strict=item.strict, allow_downcast=item.allow_downcast)
            except (TypeError, ValueError) as error:
                msg = f"{self.title}: argument {i}, {self._label(i)}: {error}"
                raise CallError(msg) from error

    def for_python(self) -> inspect.Signature:
        """Return what ``inspect.signature`` shows: the inputs by name, or where that is impossible just ``*args``."""
        kinds = inspect.Parameter
        subset = kinds(SUBSET, kinds.KEYWORD_ONLY, default=None)
        try:
            return inspect.Signature([*(self._parameter(self.inputs[i]) for i in self.open), subset])
        except (TypeError, ValueError, IndexError):
            # An input without a name, with an empty one (IndexError), with one that Python takes for none (class) or
            # with another's, or one without default after one that has one.
            pass
        return inspect.Signature([kinds("args", kinds.VAR_POSITIONAL), subset, kinds("kwargs", kinds.VAR_KEYWORD)])

    @staticmethod
    def _parameter(item: In) -> inspect.Parameter:
        kinds = inspect.Parameter
        default = kinds.empty if item.container is None else item.container.read_host()
        name = str(item.name)
        return kinds(name, kinds.POSITIONAL_OR_KEYWORD, default=default)


class PythonSignature:
    """The attribute by which ``inspect`` sees how an object with a `Signature` is called; an instance has it only."""

    def __get__(self, instance: Any, owner: type) -> inspect.Signature:
        if instance is None:
            msg = f"{owner.__name__}: only an instance has a signature of its inputs."
            raise AttributeError(msg)
        signature: inspect.Signature = instance.signature.for_python()
        return signature


def unshared(type_: Type, value: Value, others: Sequence[Value]) -> Value:
    """Return an argument that may be overwritten: a copy where it is read-only or shares memory with another value."""
    writable = getattr(getattr(value, "flags", None), "writeable", True)
    if writable and not any(type_.may_share_memory(value, other) for other in others):
        return value
    return type_.copy_value(value)
