"""The subject of errors about wrong arguments: the function that the user called, by the name it was called by.

Messages are written where something turns out to be wrong, often deep inside of the function that was called. When such
an error is made, the frames of the stack tell which function of treadle's the user's code called. Calls that succeed
pay nothing for this.
"""

from __future__ import annotations

import gc
import re
import sys
import weakref
from copy import copy
from types import FunctionType
from typing import TYPE_CHECKING, TypeVar, cast

from treadle.config.messages.places import is_own_module
from treadle.config.messages.text import text_of

if TYPE_CHECKING:
    from types import CodeType, FrameType

T = TypeVar("T")

# The name of a function or a class, an op's with its parameters, or what is done.
_SUBJECT = re.compile(r"(?:[A-Za-z_][\w.]*(?:\{[^{}]*\}|\([^()]*\))?|truth value)(?=: )")
# Frames of these stand for what they belong to.
_MAKERS = frozenset(("__init__", "__new__", "__post_init__"))
# Methods behind operators and syntax, whose messages say themselves what is wrong.
_SIGNS = frozenset(("__getitem__", "__setitem__", "__getattr__", "__iter__"))
# How libraries ask what a function of theirs means, and the name of the variable that holds this function. The protocol
# has the library's name, but for NumPy's.
_PROTOCOLS = {"__array_function__": "func", "__array_ufunc__": "ufunc", "__torch_function__": "func"}


def _library(protocol: str) -> str:
    first = protocol.strip("_").partition("_")[0]
    return "numpy" if first == "array" else first


_LIBRARIES = tuple({f"{_library(protocol)}." for protocol in _PROTOCOLS})
# Packages whose functions take whole graphs: an error inside of one is about a part of the graph.
_OF_GRAPHS = frozenset(("compile", "graph", "link", "rewrite", "printing", "testing", "cache", "config"))
# Modules whose functions differentiate whole graphs: a class is then the op that is at fault.
_OF_DERIVATIVES = frozenset(
    ("gradient", "reverse_mode", "jacobians", "jvp", "derivatives", "numeric_gradients", "calculus")
)
# Subjects of conversions of arguments to tensors and types, which users do not call themselves.
_CONVERSIONS = frozenset(("constant", "as_tensor_variable", "TensorType", "shared", "Variable", "cast"))
_DEEPEST = 8
# Flags of code whose function takes any number of arguments, and any keywords.
_VARARGS, _VARKEYWORDS = 0x04, 0x08


def alias(called: T, name: str) -> T:
    """Return a function, or an object that is called like one, under another name, which its errors give.

    >>> def double(x: int) -> int:
    ...     return 2 * x
    >>> alias(double, "twice")(3), alias(double, "twice").__name__
    (6, 'twice')
    """
    if not isinstance(called, FunctionType):
        other = copy(called)
        object.__setattr__(other, "called_as", name)  # it may be a frozen dataclass
        return other
    code = called.__code__.replace(co_name=name, co_qualname=name)
    function = FunctionType(code, called.__globals__, name, called.__defaults__, called.__closure__)
    vars(function).update(vars(called))
    function.__kwdefaults__ = called.__kwdefaults__
    function.__annotations__ = called.__annotations__
    function.__doc__ = called.__doc__
    function.__module__ = called.__module__
    function.__dict__["__wrapped__"] = called
    return cast("T", function)


def about_call(message: str, *about: object) -> str:
    """Return a message whose subject is the function of treadle's that the user called.

    Parameters
    ----------
    message
        The message: ``"constant: 'a' is no array of numbers. Pass numbers."``
    about
        The value that is wrong: where it is an argument of the function that was called, or stands in one, the message
        names the parameter.

    Returns
    -------
    The message, for instance ``"svd: a: 'a' is no array of numbers. Pass numbers."`` It is left as it is where there is
    no such function, or where the function takes a whole graph and the message is about a part of it.
    """
    subject_match = _SUBJECT.match(message) if isinstance(message, str) else None  # errors can be made of anything
    if subject_match is None or subject_match.group().startswith(_LIBRARIES):
        return message
    frames = _own_frames()
    for index, frame in enumerate(frames):
        subject, module = _called(frame)
        if subject in _SIGNS or _stays(subject_match.group(), frame, module):
            return message
        if subject:
            parameter = _parameter(frames[index:], about[0]) if about and not subject.startswith(_LIBRARIES) else ""
            if not parameter and subject_match.group() in _parameters(frame):
                parameter = subject_match.group()
            return f"{subject}: {parameter}{': ' if parameter else ''}{message[subject_match.end() + 2 :]}"
    return message


def _stays(subject: str, frame: FrameType, module: str) -> bool:
    """Whether a message keeps its subject, whatever function was called."""
    if subject in _CONVERSIONS:
        return False
    parts = module.split(".")
    if parts[1] in _OF_GRAPHS or (parts[-1] in _OF_DERIVATIVES and subject[0].isupper()):
        return True
    # Methods name their class; functions for other packages are passed the name of their caller.
    names = _parameters(frame)
    is_method = names[:1] == ("self",) and frame.f_code.co_name != "__call__"
    owner = frame.f_locals.get("self") if is_method else None
    if owner is not None and subject in {type(owner).__name__, text_of(owner, str)}:
        return True
    arguments = (frame.f_locals.get(name) for name in names)
    return any(isinstance(value, str) and value.partition(":")[0] == subject for value in arguments)


def _own_frames() -> list[FrameType]:
    """Return treadle's own frames between the user's innermost one and the error, the outermost first."""
    frames: list[FrameType] = []
    frame: FrameType | None = sys._getframe(3)  # the caller of `about_call`
    while frame is not None and is_own_module(frame.f_globals.get("__name__")):
        frames.append(frame)
        frame = frame.f_back
    return frames[::-1] if frame is not None else []


def _called(frame: FrameType) -> tuple[str, str]:
    """Return the public name of what runs in a frame, empty where it has none, and the module that it is from."""
    code = frame.f_code
    name, module = code.co_name, str(frame.f_globals["__name__"])
    if "<locals>." in code.co_qualname:
        closure = _closure(frame)
        if closure is not None:
            name, module = closure.__name__, closure.__module__
    if name in _MAKERS or name == "__call__":
        owner = frame.f_locals.get(code.co_varnames[0]) if code.co_varnames else None
        if isinstance(owner, type):
            return owner.__name__, owner.__module__
        called = getattr(owner, "called_as", None) or getattr(owner, "name", None) if name == "__call__" else None
        return called if isinstance(called, str) else type(owner).__name__, type(owner).__module__
    if name in _PROTOCOLS:
        function = frame.f_locals.get(_PROTOCOLS[name])
        return f"{_library(name)}.{getattr(function, '__name__', '')}", module
    return name if name in _SIGNS else "" if name.startswith(("_", "<")) else name.rstrip("_"), module


# Functions that share the code of one definition, by that code.
_SHARING: dict[CodeType, list[weakref.ref[FunctionType]]] = {}


def _closure(frame: FrameType) -> FunctionType | None:
    """Return the function that runs in a frame, one of many that may share the code of one definition."""
    code = frame.f_code
    variables = frame.f_locals
    wrapped = variables.get("function")  # by convention a wrapper's name for the function it wraps: no search needed
    if "function" in code.co_freevars and isinstance(wrapped, FunctionType):
        return wrapped

    def runs(candidate: FunctionType) -> bool:
        cells = zip(code.co_freevars, candidate.__closure__ or (), strict=True)
        return all(name in variables and cell.cell_contents is variables[name] for name, cell in cells)

    known = [function for reference in _SHARING.get(code, ()) if (function := reference()) is not None]
    closure = next(filter(runs, known), None)
    if closure is None:
        # This looks at all objects of the process, so the result is kept.
        sharing = [x for x in gc.get_referrers(code) if isinstance(x, FunctionType) and x.__code__ is code]
        _SHARING[code] = [weakref.ref(function) for function in sharing]
        closure = next(filter(runs, sharing), None)
    return closure


def _parameters(frame: FrameType) -> tuple[str, ...]:
    """Return the names of the parameters of what runs in a frame."""
    code = frame.f_code
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def _parameter(frames: list[FrameType], value: object) -> str:
    """Return the name of the parameter whose argument a value is or stands in; an empty string where there is none."""
    for frame in frames:
        code = frame.f_code
        count = code.co_argcount + code.co_kwonlyargcount
        variables = frame.f_locals
        takes_any, takes_named = bool(code.co_flags & _VARARGS), bool(code.co_flags & _VARKEYWORDS)
        called = code.co_name == "__call__"
        if called and takes_any:
            place = _place(variables.get(code.co_varnames[0]), variables.get(code.co_varnames[count]), value)
            if place:
                return place
        for name in _parameters(frame):
            if name not in {"self", "cls"} and _holds(variables.get(name, frame), value):
                return name
        if takes_named:
            named = variables.get(code.co_varnames[count + takes_any])
            for name, item in named.items() if isinstance(named, dict) else ():
                if _holds(item, value):
                    return str(name)
        if called or not takes_any:
            return ""
        # A function of `*args` hands them on to one that has them by name.
    return ""


def _place(called: object, operands: object, value: object) -> str:
    """Return which of the operands of something called with any number of them is meant; an empty string if none."""
    if not isinstance(operands, tuple):
        return ""
    place = next((i for i, item in enumerate(operands) if _holds(item, value)), None)
    if place is None:
        return ""
    names = list(getattr(called, "parameters", None) or ())
    if place < len(names):
        return str(names[place])
    return f"operand {place + 1}" if len(operands) > 1 else ""


def _holds(argument: object, value: object, depth: int = 0) -> bool:
    """Whether a value is an argument, or stands in the lists that it is."""
    if argument is value:
        return True
    if not isinstance(argument, list | tuple) or depth > _DEEPEST:
        return False
    return any(_holds(item, value, depth + 1) for item in argument)
