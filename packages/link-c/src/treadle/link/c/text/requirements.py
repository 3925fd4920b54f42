"""The headers, texts and flags that C functions of users' ops need, collected for one file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from types import MappingProxyType

from treadle.config import dataclass
from treadle.graph import DuplicateRegistrationError
from treadle.link.c.capsules import CPointer
from treadle.link.c.errors import CFunctionError
from treadle.link.c.loading import content_digest
from treadle.link.c.runtime.user import ARRAY
from treadle.link.c.text.division import MACRO

# Variables that the first share defines for all of them.
_SHARED = f"""\
#if !defined {MACRO}
#define TR_SHARED static
#elif {MACRO} == 0
#define TR_SHARED __attribute__((visibility("hidden")))
#else
#define TR_SHARED extern __attribute__((visibility("hidden")))
#endif
"""
_NO_ERRORS: Mapping[int, tuple[type[Exception], str]] = MappingProxyType({})
_NO_POINTERS: Mapping[str, CPointer] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class CFunction:
    """A C function that computes a node, and everything needed to compile it.

    It is called as ``int name(const treadle_array *x0, …, treadle_array *y0, …)``: operands, then results, whose
    memory is there and whose elements lie in C order. It returns 0, or one of the numbers of `errors`.
    ``treadle_array`` has the fields ``data``, ``ndim``, ``itemsize``, ``shape`` (lengths) and ``strides`` (bytes).
    Elements have the C types that NumPy's dtypes name: ``double``, ``int32_t`` …; a bool is a ``uint8_t``. It runs
    without Python's lock, in any number of threads at once, and keeps nothing of what it is given.

    Parameters
    ----------
    name
        The C function's name.
    text
        Its definition. Nodes with equal texts share one; different functions need different names.
    shape
        Name of a C function that says how long the results are: ``int shape(const treadle_array *x0, …, int64_t *n0,
        …)``, with the lengths of each result to be filled in, returning 0 or a number of `errors`. It may read the
        operands' elements. Without it, results are as long as their types say or else as the first operand of their
        rank.
    support
        Texts that come before: types, tables, functions. Equal ones are written once.
    headers
        What is included, such as ``<complex.h>`` or ``"mine.h"``.
    include_dirs, library_dirs
        Folders of headers and of libraries.
    libraries
        Names of libraries to link, such as ``fftw3``.
    flags
        More flags of the compiler. They hold for the whole function that the node is part of.
    init
        C statements that run once in each process, when the code is loaded. A statement ``return 1;`` says that it
        cannot be used.
    pointers
        C functions of Python modules by the names of the variables (``void *``) that hold their addresses before `init`
        runs.
    errors
        What is raised for each number from 1 to 154 that the function returns: a class and a text. The error names the
        node and its line; it is of the nearest of Python's own classes that errors of nodes have (`NodeValueError`,
        `NodeIndexError` …, else `NodeError`), and its cause is of the class itself.
    any_layout
        Whether operands may have any strides; otherwise those that do not lie in C order are copied.
    """

    name: str
    text: str = ""
    shape: str = ""
    support: Sequence[str] = ()
    headers: Sequence[str] = ()
    include_dirs: Sequence[str | Path] = ()
    library_dirs: Sequence[str | Path] = ()
    libraries: Sequence[str] = ()
    flags: Sequence[str] = ()
    init: str = ""
    pointers: Mapping[str, CPointer] = field(default_factory=lambda: _NO_POINTERS)
    errors: Mapping[int, tuple[type[Exception], str]] = field(default_factory=lambda: _NO_ERRORS)
    any_layout: bool = False

    def __post_init__(self) -> None:
        """Check names and numbers.

        Raises
        ------
        CFunctionError
            If a name is not a valid C name, or an error has a number that a function cannot return.
        """
        for name in (self.name, self.shape or self.name, *self.pointers):
            if not (name.isascii() and name.isidentifier()) or name.startswith("tr_"):
                msg = f"CFunction: {name!r} cannot name a function or variable. Use letters, digits and _, not tr_."
                raise CFunctionError(msg)
        for number in self.errors:
            if not 1 <= number <= 154:
                msg = f"CFunction {self.name}: errors have numbers from 1 to 154, got {number}. Use another one."
                raise CFunctionError(msg)


class Requirements:
    """Everything that the C functions of a unit need, each part once and in order."""

    def __init__(self) -> None:
        self._headers: dict[str, None] = {}
        self._texts: dict[str, int] = {}
        self._owners: dict[str, str] = {}
        self._init: dict[str, None] = {}
        self._flags: dict[str, None] = {}
        self._libraries: dict[str, None] = {}
        self._folders: dict[Path, None] = {}
        self._pointers: dict[str, CPointer] = {}
        self.pointer_nodes: dict[int, tuple[CPointer, ...]] = {}
        self.errors: dict[tuple[int, int], tuple[type[Exception], str]] = {}

    @property
    def flags(self) -> tuple[str, ...]:
        """The compiler's flags before the file."""
        return tuple(self._flags)

    @property
    def libraries(self) -> tuple[str, ...]:
        """The compiler's flags after the file."""
        return tuple(self._libraries)

    @property
    def pointers(self) -> tuple[CPointer, ...]:
        """The functions whose addresses the initialisation needs, in order."""
        return tuple(self._pointers.values())

    @property
    def initialises(self) -> bool:
        """Whether there is code to run when the library is loaded."""
        return bool(self._init or self._pointers)

    def add(self, function: CFunction, node: int) -> None:
        """Add everything that a function of a node needs."""
        self._headers.update(dict.fromkeys(function.headers))
        for text in (*function.support, function.text):
            if text:
                self._texts.setdefault(text, node)
        if self._owners.setdefault(function.name, function.text) != function.text:
            msg = f"CFunction {function.name}: two different texts define it in one graph. Give each its own name."
            raise CFunctionError(msg)
        for name, pointer in function.pointers.items():
            if self._pointers.get(name, pointer) != pointer:
                msg = f"CFunction {function.name}: another function has a pointer {name} to something else. Rename one."
                raise CFunctionError(msg)
            self.point(name, pointer, node)
        if function.init:
            self._init[function.init] = None
        folders = [Path(folder).absolute() for folder in function.include_dirs]
        self._folders.update(dict.fromkeys(folders))
        self._flags.update(dict.fromkeys([*(f"-I{folder}" for folder in folders), *function.flags]))
        for folder in (Path(place).absolute() for place in function.library_dirs):
            self._libraries.update(dict.fromkeys([f"-L{folder}", f"-Wl,-rpath,{folder}"]))
        self._libraries.update(dict.fromkeys(f"-l{name}" for name in function.libraries))
        for number, error in function.errors.items():
            self.errors[node, number] = error

    def point(self, name: str, pointer: CPointer, node: int) -> None:
        """Add a variable that holds a function's address.

        Raises
        ------
        DuplicateRegistrationError
            If it holds another address.
        """
        if self._pointers.setdefault(name, pointer) != pointer:
            msg = f"c: {name} holds the addresses of two functions. Choose another name for one of them."
            raise DuplicateRegistrationError(msg)
        known = self.pointer_nodes.get(node, ())
        self.pointer_nodes[node] = known if pointer in known else (*known, pointer)

    @property
    def has_texts(self) -> bool:
        """Whether there is text of a user, which must be compiled in one piece."""
        return bool(self._headers or self._texts or self._init)

    def preamble(self, divided: bool = False) -> str:
        """Return the text at file level, for one or several runs of the compiler."""
        lines = [f"#include {header}{self._stamp(header)}\n" for header in self._headers]
        if self._texts or self._headers:
            lines.append(ARRAY)
        if divided and self._pointers:
            lines.append(_SHARED)
        lines += [f"{'TR_SHARED' if divided else 'static'} void *{name};\n" for name in self._pointers]
        lines += [f"/* node {node} */\n{text.rstrip()}\n" for text, node in self._texts.items()]
        return "".join(lines)

    def initialisation(self) -> str:
        """Return the text of ``treadle_init``, which takes the table of pointers; empty if it is not needed."""
        if not self.initialises:
            return ""
        lines = [f"  {name} = (void *)P[{k}];" for k, name in enumerate(self._pointers)]
        blocks = [
            f"static int64_t treadle_init{k}(void) {{\n{text}\nreturn 0;\n}}\n" for k, text in enumerate(self._init)
        ]
        calls = [f"  if (!failed) failed = treadle_init{k}();" for k in range(len(self._init))]
        return "\n".join(
            [
                "".join(blocks) + "int64_t treadle_init(const uintptr_t *P) {",
                "  static int done; static int64_t failed;",
                "  if (done) return failed;",
                *lines,
                *calls,
                "  done = 1; (void)P;",
                "  return failed;\n}\n",
            ]
        )

    def user_headers(self) -> dict[str, str]:
        """Return the paths of the user's headers that are included, each with a digest of its content."""
        return {str(file): content_digest(file) for header in self._headers if (file := self._own(header))}

    def _stamp(self, header: str) -> str:
        """Return a comment with a digest of a user's header, so that a change of the header changes the text."""
        file = self._own(header)
        return "" if file is None else f" /* {content_digest(file)} */"

    def _own(self, header: str) -> Path | None:
        """Return the file of a header in a user's folder; None for other headers."""
        files = (folder / header.strip('<>"') for folder in self._folders)
        return next((file for file in files if file.is_file()), None)
