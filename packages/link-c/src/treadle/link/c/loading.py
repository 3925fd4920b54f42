"""Loading compiled programs: the recipe that is stored besides their machine code, and rebuilding programs from it."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from treadle.cache import default_cache
from treadle.config import dataclass, new_lock, span
from treadle.kernels import sorts_table
from treadle.link.c.background import BACKGROUND
from treadle.link.c.conventions.abi import BRIDGE
from treadle.link.c.conventions.convention import FIXED, MOST_ARGUMENTS
from treadle.link.c.conventions.lapack import blas_pointers
from treadle.link.c.errors import BackendUnavailableError, CompileError, LibraryGoneError
from treadle.link.c.program import Binary, CProgram
from treadle.link.c.support.pool import POOL
from treadle.link.vm import WATCH, Later

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from treadle.graph import Apply
    from treadle.link.c.capsules import CPointer
    from treadle.link.c.conventions.abi import SharedLibrary
    from treadle.link.vm import ProgramGraph
    from treadle.tensor import TensorConstant

_INITIALISING = new_lock()


@dataclass(frozen=True, slots=True)
class Recipe:
    """What it takes to turn a library in the compile cache into a program."""

    # The key of its library in the compile cache.
    key: str
    # The constants that are passed to it.
    constants: tuple[TensorConstant, ...]
    # Dtypes of the inputs.
    inputs: tuple[str, ...]
    # Number of outputs.
    outputs: int
    # Whether it needs the addresses of BLAS routines, and of NumPy's sorting functions.
    uses_blas: bool
    uses_sorts: bool
    # As in `Binary`.
    info_length: int
    keeps_blocks: bool
    # Whether the graph may overwrite an argument, so that a call must not run it a second time.
    overwrites: bool
    errors: Mapping[tuple[int, int], tuple[type[Exception], str]]
    # What a quick call does with the interpreter's lock: see `treadle.tensor.locking_of`.
    lock: str
    # The functions whose addresses its initialisation needs; None if it has no initialisation.
    pointers: tuple[CPointer, ...] | None
    # The user's header files that its text includes, with digests of their contents.
    headers: Mapping[str, str]
    # The C text.
    source: Later[str]
    # The nodes by the numbers in its status codes; None for numbers that stand for no node.
    nodes: Later[Sequence[Apply | None]]
    # For each loop, the number of the first node of its body, and that of the loop's node.
    loops: Sequence[tuple[int, int]]


def open_library(file: Path, recipe: Recipe) -> SharedLibrary:
    """Load a library, and run the initialisation of users' functions once."""
    try:
        with span("loading"):
            library = BRIDGE.open(file)
            BRIDGE.function_address(library, "treadle_run")
    except AttributeError as error:
        default_cache().discard(recipe.key)
        msg = "c: the compiler made a library of something else than its text. Set the option cxx to a C compiler."
        raise CompileError(msg) from error
    except OSError as error:
        gone = not file.exists()
        default_cache().discard(recipe.key)
        if gone:
            msg = f"c: the compiled library is gone: {file}. Another process removed it from the compile cache."
            raise LibraryGoneError(msg) from error
        msg = f"c: the compiled library cannot be loaded: {error}. Name the libraries that it needs."
        raise CompileError(msg) from error
    if recipe.pointers is not None:
        addresses = BRIDGE.words([pointer.address() for pointer in recipe.pointers])
        with _INITIALISING:
            status = BRIDGE.function(library, "treadle_init", 1)(BRIDGE.address(addresses))
        if status:
            msg = f"c: the initialisation of a user's function returned {status}. It says what that means."
            raise BackendUnavailableError(msg)
    return library


@cache
def begin_loading_blas() -> None:
    """Begin to load BLAS in the background, once in a process: ten milliseconds, in which the compiler works."""
    # A process that ends starts no threads.
    with suppress(RuntimeError):
        BACKGROUND.start(blas_pointers, "blas")


def assemble(graph: ProgramGraph, library: SharedLibrary, recipe: Recipe) -> CProgram:
    """Return the program: fill the table of fixed values and find the entry point."""
    # As in CProgram._plain: the array's dtype must be NumPy's own object.
    values = [each.data.astype(np.dtype(each.type.dtype), order="C", subok=False) for each in recipe.constants]
    pointers = {**(blas_pointers() if recipe.uses_blas else {}), "sorts": sorts_table() if recipe.uses_sorts else 0}
    pointers["watch"] = WATCH.address() if recipe.loops else 0
    descriptors = [np.dtype(name) for name in recipe.inputs]
    fixed = BRIDGE.words(
        [
            id(np.ndarray),
            POOL.cell,
            *(pointers.get(name, 0) for name in FIXED[2:]),
            *map(id, values),
            *map(id, descriptors),
        ]
    )
    count = len(recipe.inputs) + recipe.outputs
    one_by_one = count <= MOST_ARGUMENTS
    binary = Binary(
        library,
        BRIDGE.function(library, "treadle_call" if one_by_one else "treadle_run", (count if one_by_one else 1) + 2),
        BRIDGE.function_address(library, "treadle_run"),
        BRIDGE.address(fixed),
        (library, fixed, values, descriptors),
        recipe,
    )
    return CProgram(graph, binary)


def restored(graph: ProgramGraph, recipe: Recipe) -> CProgram:
    """Return the program of a recipe whose library is in the compile cache."""
    for name, known in recipe.headers.items():
        if content_digest(Path(name)) != known:
            msg = f"c: {name} was changed."
            raise LookupError(msg)
    file = default_cache().file(recipe.key, ".so")
    if file is None:
        msg = "c: the library is no longer in the compile cache."
        raise LookupError(msg)
    try:
        library = open_library(file, recipe)
    except LibraryGoneError as error:
        raise LookupError(str(error)) from error
    return assemble(graph, library, recipe)


def content_digest(file: Path) -> str:
    """Return a digest of a file's content, or an empty text if the file does not exist."""
    try:
        return hashlib.blake2b(file.read_bytes(), digest_size=16).hexdigest()
    except OSError:
        return ""
