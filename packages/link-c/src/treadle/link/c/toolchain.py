"""The C compiler: which one, with which flags, and what it says when it fails."""

from __future__ import annotations

import hashlib
import platform
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from treadle.cache import default_cache, digest
from treadle.config import config
from treadle.link.c.errors import CompileError

if TYPE_CHECKING:
    from collections.abc import Sequence

# -ffp-contract=off: a product and a sum give the same whether they are fused into one loop or not.
# -fno-math-errno, -fno-trapping-math: nothing reads errno or the floating-point flags; values are as before.
FLAGS = (
    "-O1", "-std=gnu99", "-march=native", "-fPIC", "-shared", "-fwrapv", "-fno-strict-aliasing", "-ffp-contract=off",
    "-fno-math-errno", "-fno-trapping-math", "-fopenmp-simd", "-fno-asynchronous-unwind-tables", "-w",
)  # fmt: skip
# Loops that are to be vectorised say so themselves, so -O1 gives code as fast as -O2 (faster where -O2 turns a
# selection into jumps, which then stand in the way), in two thirds of the time.
_C_OF = {"g++": "gcc", "clang++": "clang", "c++": "cc"}


@dataclass(frozen=True, slots=True)
class Toolchain:
    """A compiler and the flags it is called with.

    Attributes
    ----------
    driver
        The compiler's path.
    identity
        What tells this compiler from another version: path, size and time of the file.
    flags
        All flags before the source.
    libraries
        Flags after it.
    processor
        The processor that ``-march=native`` stands for.
    warnings
        Whether what the compiler says about a file that it takes is printed.
    """

    driver: str
    identity: str
    flags: tuple[str, ...]
    libraries: tuple[str, ...]
    processor: str
    warnings: bool = False

    def command(self, source: Path, target: Path) -> list[str]:
        """Return the command that compiles a file."""
        return [self.driver, *self.flags, str(source), "-o", str(target), *self.libraries]

    def library(self, text: str) -> Path:
        """Return the shared library made of a C text, from the cache if it was made before.

        Raises
        ------
        CompileError
            If the compiler refuses the text.
        """
        key = digest("link-c", text, *self.flags, *self.libraries, self.identity, self.processor)

        def make(path: Path) -> None:
            source = path.with_suffix(".c")
            source.write_text(text)
            self.compile(source, path)

        return default_cache().materialise(key, ".so", make)

    def compile(self, source: Path, target: Path) -> None:
        """Run the compiler.

        Raises
        ------
        CompileError
            If it fails: with the command, what it said, and the line of C it said it about.
        """
        command = self.command(source, target)
        if config.compiler_verbose:
            sys.stderr.write(f"c: {shlex.join(command)}\n")
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except OSError as error:
            msg = f"c: the compiler cannot be run ({error}), command: {shlex.join(command)}. Set the option cxx."
            raise CompileError(msg) from error
        if done.returncode:
            said = done.stderr.strip()
            kept = _keep(source) if config.nocleanup else "Option nocleanup keeps the C file."
            msg = (
                f"c: the compiler failed with status {done.returncode}, command: {shlex.join(command)}\n{said}"
                f"{_line_at(source, said)}\n{kept}\nCheck the options cxx and gcc__cxxflags; if they are right, "
                "report this."
            )
            raise CompileError(msg)
        if self.warnings and done.stderr.strip():
            sys.stderr.write(f"c: {shlex.join(command)}\n{done.stderr}")


def _keep(source: Path) -> str:
    """Copy a C file that was refused to the compile directory, and return the sentence that says so."""
    place = default_cache().directory / f"failed-{source.name}"
    try:
        shutil.copyfile(source, place)
    except OSError as error:
        return f"The C file could not be kept ({error})."
    return f"The C file is kept as {place}."


def _line_at(source: Path, said: str) -> str:
    """Return the line of the source that the first error message points at."""
    for line in said.splitlines():
        file, _, rest = line.partition(":")
        number = rest.partition(":")[0]
        if file == str(source) and number.isdigit() and "error" in rest:
            text = source.read_text().splitlines()[int(number) - 1].strip()
            return f"\nC line {number}: {text}"
    return ""


def c_driver(named: str) -> str:
    """Return the C compiler for a driver's name or path: a C++ driver stands for the C one beside it."""
    path = Path(named)
    for plus, plain in _C_OF.items():
        if path.name == plus or path.name.startswith(f"{plus}-"):
            return str(path.with_name(path.name.replace(plus, plain, 1)))
    return named


def find_toolchain() -> Toolchain | str:
    """Return the toolchain that the options describe, or why there is none."""
    named = str(config.cxx)
    if not named:
        return "no C compiler was found, or the option cxx is empty: install gcc or clang, or set cxx to one"
    driver = shutil.which(c_driver(named))
    if driver is None:
        return f"no C compiler was found: the option cxx names {named!r}, which is not on the path"
    real = Path(driver).resolve()
    about = real.stat()
    flags = _flags()
    libraries = (*shlex.split(str(config.blas__ldflags)), "-lm")
    identity = f"{real} {about.st_size} {about.st_mtime_ns}"
    return Toolchain(driver, identity, flags, libraries, _processor(), bool(config.cmodule__compilation_warning))


def _flags() -> tuple[str, ...]:
    """Return treadle's flags and the user's, as the options change them."""
    flags = [*FLAGS]
    if config.cmodule__compilation_warning:
        flags[flags.index("-w")] = "-Wall"
    if config.cmodule__debug:
        flags.append("-DDEBUG")
    flags += shlex.split(str(config.gcc__cxxflags))
    if config.cmodule__remove_gxx_opt:
        flags = [flag for flag in flags if not flag.startswith("-O")]
    return tuple(flags)


def _processor() -> str:
    """Return a digest of the processor's model and features."""
    return _PROCESSOR.read()


class _Processor:
    """Reads the description of the processor once."""

    def __init__(self) -> None:
        self._known: str | None = None

    def read(self) -> str:
        if self._known is None:
            self._known = hashlib.blake2b("\n".join(_description()).encode(), digest_size=16).hexdigest()
        return self._known


_PROCESSOR = _Processor()


def _description() -> Sequence[str]:
    about = [platform.system(), platform.machine()]
    try:
        with Path("/proc/cpuinfo").open() as lines:
            for line in lines:
                if not line.strip():
                    break
                if line.startswith(("model", "flags", "Features", "vendor", "cpu family", "CPU ")):
                    about.append(line.strip())
    except OSError:
        about.append(platform.processor())
    return about
