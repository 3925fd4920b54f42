"""The C compiler: which one it is, with which flags it runs, and its errors."""

from __future__ import annotations

import contextlib
import os
import platform
import re
import shlex
import shutil
import signal
import sys
import threading
import time
import warnings
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from treadle.cache import Cache, default_cache, digest, processor
from treadle.config import COLLECTOR, checkpoint, config, dataclass, lazy_module, span
from treadle.link.c.conventions.abi import BRIDGE
from treadle.link.c.errors import CompileError, CompilerWarning

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Sequence

    from treadle.link.c.conventions.abi import SharedLibrary
else:
    # Loading a program does not run the compiler.
    subprocess = lazy_module("subprocess")

# -ffp-contract=off: the same results whether operations are fused into one loop or not.
# -Werror=implicit-function-declaration: an unknown function is an error at its line, not when the library is loaded.
# -fno-math-errno, -fno-trapping-math: nothing reads errno or the floating-point flags; values do not change.
FLAGS = (
    "-O1", "-std=gnu99", "-march=native", "-fPIC", "-shared", "-fwrapv", "-fno-strict-aliasing", "-ffp-contract=off",
    "-fno-math-errno", "-fno-trapping-math", "-fopenmp-simd", "-fno-asynchronous-unwind-tables",
    "-Werror=implicit-function-declaration",
)  # fmt: skip
# -pipe: the assembler works while the compiler does. -fcaller-saves: numbers that a loop carries stay in registers,
# though a function is called now and then, which -O1 has in memory: a step of a scalar loop takes half the time.
_GCC_ONLY = ("-pipe", "-fcaller-saves")
# Instead of all that a library may need: programs call nothing but the C library, its mathematics, whose functions have
# versions, and the compiler's own functions. Linking takes a sixth of the time, where glibc itself, which each process
# has, is not read either: of what programs call there, memcpy alone has versions, and is called by another name.
_LEAN = ("-nostdlib", "-fno-use-linker-plugin")
_LEAN_LIBRARIES = ("-lm", "-lgcc")
_LIBRARIES = ("-lm",)
# Objects of helpers may hold others than a program calls, which refer to further ones: each function is in a section of
# its own, and the linker leaves out what nothing refers to.
APART = ("-ffunction-sections", "-fdata-sections")
_USED = "-Wl,--gc-sections"
# Loops that are to be vectorised say so themselves, so -O1 gives code as fast as -O2 (faster where -O2 turns a
# selection into jumps, which then stand in the way), in two thirds of the time. clang vectorises from -O2 on.
_CLANG_INSTEAD = {"-O1": "-O2"}
_C_OF = {"g++": "gcc", "clang++": "clang", "c++": "cc"}
# Flags of the user for the linker, which have to follow the file that needs them.
_FOR_LINKER = re.compile(r"-l.+|-L.+|-Wl,.+|.+\.(?:a|o|so)(?:\.\d+)*")
# Seconds between two looks whether the work of a compiler is still wanted, where it may be abandoned.
_LOOK = 0.05


@dataclass(frozen=True, slots=True)
class Toolchain:
    """A compiler and its flags."""

    # The compiler's path.
    driver: str
    # A text that differs for other versions: path, size and modification time of the file.
    identity: str
    # All flags before the source.
    flags: tuple[str, ...]
    # The flags after the source.
    libraries: tuple[str, ...]
    # The processor that ``-march=native`` stands for, and the C library.
    processor: str
    # Whether the compiler's warnings are printed.
    warnings: bool = False
    # The smallest number of elements for which loops are shared among threads; 0 for never.
    threads: int = 0

    def command(self, source: Path, target: Path, *more: Path) -> list[str]:
        """Return the command that compiles one or more files into a library."""
        used = [_USED] if any(file.suffix != ".c" for file in more) else []
        return [self.driver, *self.flags, *used, str(source), *map(str, more), "-o", str(target), *self.libraries]

    def extended(self, flags: Sequence[str], libraries: Sequence[str]) -> Toolchain:
        """Return this toolchain with more flags, for texts that are not all treadle's own if there are any."""
        if not flags and not libraries:
            return self
        whole = self.complete()
        return replace(whole, flags=(*whole.flags, *flags), libraries=(*libraries, *whole.libraries))

    def complete(self) -> Toolchain:
        """Return this toolchain, linking whatever a C text may need."""
        if self.libraries != _LEAN_LIBRARIES:
            return self
        return replace(self, flags=tuple(flag for flag in self.flags if flag not in _LEAN), libraries=_LIBRARIES)

    def key(self, text: str) -> str:
        """Return the cache key of the library of a C text; it covers everything that the library depends on."""
        return digest("link-c", text, *self.flags, "", *self.libraries, self.identity, self.processor)

    def place_of(self, file: str) -> str:
        """Return the path of a file of the compiler's own libraries, kept with what programs share.

        Raises
        ------
        CompileError
            If the compiler cannot be run, or has no such file.
        """

        def ask() -> bytes:
            command = [self.driver, *self.flags, f"-print-file-name={file}"]
            status, said = _run(command, shlex.join(command))
            if status or said == file:
                msg = f"c: {self.driver} has no file {file}, command: {shlex.join(command)}\n{said}"
                raise CompileError(msg)
            return said.encode()

        return support_cache().get_or_create(self.key(f"place of {file}"), ask).decode()

    def probe(self, text: str) -> Path:
        """Return the shared library of a C text that shows what the compiler can do, kept with what programs share."""
        return self.kept(self.key(text), text, self.compile, support_cache())

    def kept(self, key: str, text: str, build: Callable[[Path, Path], None], cache: Cache | None = None) -> Path:
        """Return the shared library of a key, from the cache or newly built from a file that has a text."""

        def make(path: Path) -> None:
            source = path.with_suffix(".c")
            source.write_text(text, encoding="utf-8")
            build(source, path)
            if not path.is_file():
                msg = f"c: {self.driver} ended without an error and wrote no file. Set the option cxx to a C compiler."
                raise CompileError(msg)

        try:
            return (cache or default_cache()).materialise(key, ".so", make)
        except OSError as error:
            msg = f"c: the C file, or the library made of it, cannot be kept: {error}. Make room where the option "
            msg += "compiledir points to, or for temporary files."
            raise CompileError(msg) from error

    def compile(self, source: Path, target: Path, *more: Path) -> None:
        """Compile one or more C and object files into a library."""
        with span("compiler"):
            self._run(self.command(source, target, *more), source, *(file for file in more if file.suffix == ".c"))

    def compile_object(self, source: Path, target: Path, *flags: str, keep: bool = True) -> None:
        """Compile a C file into an object file, with more flags; `keep` as option nocleanup says if it is rejected."""
        own = [flag for flag in self.flags if flag != "-shared"]
        self._run([self.driver, *own, "-c", *flags, str(source), "-o", str(target)], source, keep=keep)

    def link(self, source: Path, target: Path, objects: Sequence[Path]) -> None:
        """Link object files, made of a C file, into a library."""
        self._run([self.driver, *self.flags, _USED, *map(str, objects), "-o", str(target), *self.libraries], source)

    def _run(self, command: Sequence[str], *sources: Path, keep: bool = True) -> None:
        """Run a command on sources; raise a `CompileError` if it fails."""
        command_line = shlex.join(command)
        if config.compiler_verbose:
            sys.stderr.write(f"c: {command_line}\n")
        status, said = _run(command, command_line)
        if status:
            number, at_fault = max((_line_of(file, said), file) for file in sources)
            kept = _keep(at_fault) if keep and config.nocleanup else "Option nocleanup keeps the C file."
            lines = at_fault.read_text(encoding="utf-8").splitlines()
            about = f"\nC line {number}: {lines[number - 1].strip()}" if 0 < number <= len(lines) else ""
            msg = (
                f"c: the compiler {_ending(status)}, command: {command_line}\n{said}{about}\n{kept}\n"
                "Check the options cxx and gcc__cxxflags; if they are right, report this."
            )
            raise CompileError(msg, number, at_linking=not number and status > 0)
        if self.warnings and said:
            sys.stderr.write(f"c: {command_line}\n{said}\n")


def _run(command: Sequence[str], shown: str) -> tuple[int, str]:
    """Run the compiler in a new process group, which ends with it; return its status and its output."""
    limit = float(config.gcc__timeout)
    # In English, since the messages are parsed.
    environment = {**os.environ, "LC_ALL": "C"}
    this = threading.get_ident()
    _RUNNING[this] = None
    try:
        process = _RUNNING[this] = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=environment,
            start_new_session=True,
        )
    except OSError as error:
        _RUNNING.pop(this, None)
        msg = f"c: the compiler cannot be run ({error}), command: {shown}. Set the option cxx."
        raise CompileError(msg) from error
    try:
        COLLECTOR.use_wait()
        said = _output(process, limit)
    except subprocess.TimeoutExpired as error:
        msg = (
            f"c: the compiler did not end within {limit:g} seconds and was killed, command: {shown}. Make the function "
            "smaller, or raise the option gcc__timeout."
        )
        _end(process)
        raise CompileError(msg) from error
    finally:
        _RUNNING.pop(this, None)
        if process.poll() is None:
            _end(process)
    return process.returncode, said.decode(errors="replace").strip()


def _output(process: subprocess.Popen[bytes], limit: float) -> bytes:
    """Return what the compiler says once it has ended; TimeoutExpired after `limit` seconds, unless that is 0."""
    last = time.monotonic() + limit if limit else None
    while True:
        step = _LOOK if checkpoint() else None
        remaining = None if last is None else max(last - time.monotonic(), 0.0)
        waits = [each for each in (step, remaining) if each is not None]
        try:
            return process.communicate(timeout=min(waits, default=None))[0]
        except subprocess.TimeoutExpired:
            if last is not None and time.monotonic() >= last:
                raise


# The compiler that a thread of this process runs, by the thread's identifier; None while it is being started.
_RUNNING: dict[int, subprocess.Popen[bytes] | None] = {}


def end_compiler(thread: threading.Thread) -> bool:
    """Kill the compiler that a thread of this process runs, which fails there; return whether it runs one."""
    if thread.ident not in _RUNNING:
        return False
    process = _RUNNING.get(thread.ident)
    if process is not None and process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    return True


def forget_compilers() -> None:
    """Drop the compilers of the process that this one was forked from."""
    _RUNNING.clear()


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill the compiler and the programs that it runs, even if it ended before them; Ctrl-C does not reach them."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    if process.stdout is not None:
        process.stdout.close()


def _ending(status: int) -> str:
    if status > 0:
        return f"failed with status {status}"
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = f"signal {-status}"
    return f"was killed by {name}"


def _keep(source: Path) -> str:
    """Copy a rejected C file to the compile directory, and return a sentence that says so."""
    cache = default_cache()
    place = cache.note(f"failed-{source.name}", source.read_bytes()) if cache.persistent else None
    if place is None:
        return "The C file could not be kept: there is no compile directory that can be written."
    return f"The C file is kept as {place}."


def _line_of(source: Path, said: str) -> int:
    """Return the line of the source in the first error message, or in the first message of any kind, or 0."""
    place = re.compile(rf"{re.escape(str(source))}:(\d+)")
    places = [(line, at) for line in said.splitlines() if (at := place.search(line))]
    first = next((at for line, at in places if "error" in line), places[0][1] if places else None)
    return int(first[1]) if first else 0


# The folder of the compile directory that has what programs share.
SUPPORT_FOLDER = "support"


def support_cache() -> Cache:
    """Return the cache of what programs share, in the compile directory, else the cache of this process."""
    within = default_cache()
    if not within.persistent:
        return within
    support = Cache(within.directory / SUPPORT_FOLDER, quiet=True)
    return support if support.persistent else within


def c_driver(named: str) -> str:
    """Return the C compiler for a driver's name or path; a C++ driver is replaced by the C driver next to it."""
    path = Path(named)
    for plus, plain in _C_OF.items():
        if path.name == plus or path.name.startswith(f"{plus}-"):
            return str(path.with_name(path.name.replace(plus, plain, 1)))
    return named


def find_toolchain(threads: bool = True) -> Toolchain | str:
    """Return the toolchain that the options describe, or a text on why there is none.

    Without `threads`, loops are not shared among threads, whatever option ``openmp`` says.
    """
    named = str(config.cxx)
    if not named:
        return "no C compiler was found, or the option cxx is empty: install gcc or clang, or set cxx to one"
    driver = shutil.which(c_driver(named))
    if driver is None:
        return f"no C compiler was found: the option cxx names {named!r}, which is not on the path"
    real = Path(driver).resolve()
    about = real.stat()
    clang = sys.platform == "darwin" or "clang" in real.name or "clang" in Path(driver).name
    flags, libraries = _flags(clang)
    identity = f"{real} {about.st_size} {about.st_mtime_ns}"
    toolchain = Toolchain(
        driver, identity, flags, libraries, f"{processor()} {c_library()}", bool(config.cmodule__compilation_warning)
    )
    return _with_threads(toolchain) if threads and config.openmp else toolchain


def _with_threads(toolchain: Toolchain) -> Toolchain:
    """Return the toolchain with OpenMP; if the compiler does not have it, warn once and return it unchanged."""
    chosen = toolchain.extended(["-fopenmp"], ())
    return replace(chosen, threads=int(config.openmp_elemwise_minsize)) if _openmp(chosen) else toolchain


@cache
def _openmp(toolchain: Toolchain) -> SharedLibrary | None:
    """Return a library that uses OpenMP if it compiles and loads, otherwise None.

    It is never unloaded, nor is OpenMP's, whose idle threads would crash.
    """
    text = "#include <omp.h>\nint treadle_threads(void) { return omp_get_max_threads(); }\n"
    try:
        return BRIDGE.open(toolchain.probe(text))
    except (CompileError, OSError) as error:
        first = str(error).strip().splitlines()
        reason = next((line for line in first if "error:" in line or "cannot" in line), first[0])
        msg = (
            f"c: option openmp is on, but {toolchain.driver} cannot use OpenMP: {reason}. Loops run in one thread. "
            "Install the compiler's OpenMP library (libomp-dev for clang), or turn the option off."
        )
        warnings.warn(msg, CompilerWarning, stacklevel=2)
        return None


def _flags(clang: bool) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return treadle's and the user's flags under the current options: those before the file, and those after it."""
    flags = [_CLANG_INSTEAD.get(flag, flag) for flag in FLAGS] if clang else [*FLAGS, *_GCC_ONLY]
    if clang and platform.machine() in {"aarch64", "arm64"}:
        flags[flags.index("-march=native")] = "-mcpu=native"
    if config.cmodule__compilation_warning:
        flags.append("-Wall")
    if config.cmodule__debug:
        flags.append("-DDEBUG")
    user_flags = shlex.split(str(config.gcc__cxxflags))
    flags += [flag for flag in user_flags if not _FOR_LINKER.fullmatch(flag)]
    if config.cmodule__remove_gxx_opt:
        flags = [flag for flag in flags if not flag.startswith("-O")]
    after = [flag for flag in user_flags if _FOR_LINKER.fullmatch(flag)]
    after += shlex.split(str(config.blas__ldflags))
    if clang or user_flags or after or sys.platform != "linux" or not c_library():
        return tuple(flags), (*after, *_LIBRARIES)
    return (*flags, *_LEAN), _LEAN_LIBRARIES


def c_library() -> str:
    """Return name and version of the C library, since texts depend on its functions on vectors."""
    try:
        return os.confstr("CS_GNU_LIBC_VERSION") or ""
    except (AttributeError, OSError, ValueError):  # another C library
        return ""
