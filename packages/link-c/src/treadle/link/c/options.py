"""The options of treadle.link.c."""

from typing import TYPE_CHECKING

from treadle.config import FLOAT, INT, STR, Option, lazy_module

if TYPE_CHECKING:
    import shlex
    import shutil
else:
    shlex = lazy_module("shlex")
    shutil = lazy_module("shutil")


def _first_compiler() -> str:
    """Return the path of the first installed C compiler, or an empty string."""
    return next((path for path in map(shutil.which, ("gcc", "cc", "clang")) if path), "")


def _is_shell_text(text: str) -> bool:
    try:
        shlex.split(text)
    except ValueError:
        return False
    return True


_SHELL_TEXT = STR.where("words as in a shell, with every quotation closed", _is_shell_text)

OPTIONS: tuple[Option[object], ...] = (
    Option.string(
        "cxx",
        default=_first_compiler,
        doc="The compiler driver for generated C: a path or a name. A C++ driver stands for the C driver of its "
        "family (g++ for gcc). Empty: no C.",
        default_text="the first of gcc, cc and clang that is installed, else empty",
    ),
    Option.string(
        "gcc__cxxflags",
        default="",
        doc="More flags for the compiler, separated as in a shell, such as -I and -L with folders, -l with libraries. "
        "They come after treadle's own.",
        kind=_SHELL_TEXT,
    ),
    Option.number(
        "gcc__timeout",
        default=600.0,
        kind=FLOAT.where("seconds, from 0 to a thousand million", lambda value: 0 <= value <= 1e9),
        doc="Seconds that the compiler may take for one file; it is killed then, and the function is not made. 0: any "
        "time.",
        affects_code=False,
    ),
    Option.string(
        "blas__ldflags",
        default="",
        doc="Link flags of the BLAS to call for matrix products, such as -lopenblas. Empty: SciPy's.",
        kind=_SHELL_TEXT,
    ),
    Option.boolean(
        "c__support_libraries",
        default=True,
        doc="Make two small libraries in the background that let calls cost less and large results use memory again, "
        "and use what an installed link-c-support has compiled beforehand. Everything works without them.",
        affects_code=False,
    ),
    Option.boolean(
        "nocleanup",
        default=False,
        doc="Keep the C file where its compilation fails: in the compile directory; the error names it.",
        affects_code=False,
    ),
    Option.boolean(
        "compiler_verbose",
        default=False,
        doc="Print each command of the compiler to standard error.",
        affects_code=False,
    ),
    Option.boolean(
        "cmodule__compilation_warning",
        default=False,
        doc="Ask the compiler for its warnings, and print them to standard error.",
    ),
    Option.boolean(
        "cmodule__remove_gxx_opt",
        default=False,
        doc="Compile without optimisation (no -O flags, those of gcc__cxxflags included). With -g in gcc__cxxflags, "
        "this is for debuggers.",
    ),
    Option.boolean("cmodule__debug", default=False, doc="Define the macro DEBUG in generated C."),
    Option.boolean(
        "cmodule__warn_no_version",
        default=False,
        doc="Warn of an op whose C code cannot be kept in the cache.",
        affects_code=False,
        no_effect="Generated C is found in the cache by its text, so all of it can be kept.",
    ),
    Option.boolean(
        "cmodule__preload_cache",
        default=False,
        doc="Load the cache of compiled C at import.",
        affects_code=False,
        read_only=True,
        no_effect="Entries are found by their key, without a list that could be loaded.",
    ),
    Option.boolean(
        "check_input",
        default=True,
        doc="Check the inputs of generated C.",
        no_effect="A function checks its arguments before any code runs; Function.trust_input turns that off.",
    ),
    Option.string(
        "gcc_version_str",
        default="",
        doc="The compiler's version.",
        affects_code=False,
        read_only=True,
        no_effect="Compilers are told apart by their files, without being run.",
    ),
    Option.boolean(
        "openmp",
        default=False,
        doc="Share elementwise loops and reductions among threads, by OpenMP: as many as OMP_NUM_THREADS says. Results "
        "do not depend on how many there are.",
    ),
    Option.integer(
        "openmp_elemwise_minsize",
        default=200000,
        doc="The number of elements from which elementwise ops and reductions use several threads, with openmp.",
        kind=INT.where("an integer > 0", lambda value: value > 0),
    ),
    Option.boolean(
        "lib__amdlibm",
        default=False,
        doc="Take mathematical functions from amdlibm.",
        no_effect="Vector mathematics comes from the C library's own SIMD functions.",
    ),
    Option.boolean(
        "blas__check_openmp",
        default=True,
        doc="Look for a clash of OpenMP libraries.",
        affects_code=False,
        no_effect="Generated C takes no BLAS that shares an OpenMP library with it.",
    ),
)
