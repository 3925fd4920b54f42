"""Declaration of the C backend; nothing heavy is imported before it is used."""

from __future__ import annotations

from treadle.link.vm import Backend, ProgramLinker


def _linker() -> ProgramLinker:
    from treadle.link.c.linker import CLinker

    return CLinker()


def _stepwise_linker() -> ProgramLinker:
    from treadle.link.c.linker import StepwiseLinker

    return StepwiseLinker()


def _version() -> str:
    from treadle.link.c.toolchain import find_toolchain

    toolchain = find_toolchain()
    return toolchain if isinstance(toolchain, str) else f"1 {toolchain.identity} {toolchain.processor}"


def _unavailable() -> str | None:
    from treadle.link.c.conventions.abi import unsupported_interpreter
    from treadle.link.c.toolchain import find_toolchain

    toolchain = find_toolchain()
    return toolchain if isinstance(toolchain, str) else unsupported_interpreter()


def _about() -> dict[str, str]:
    from treadle.config import config
    from treadle.link.c.support.prebuilt import PREBUILT
    from treadle.link.c.toolchain import find_toolchain

    toolchain = find_toolchain()
    if isinstance(toolchain, str):
        return {}
    threads = f"loops of {toolchain.threads} elements or more" if toolchain.threads else "none"
    return {
        "compiler": toolchain.driver,
        "flags": " ".join(toolchain.flags),
        "BLAS": config.blas__ldflags or "SciPy's",
        "threads": threads,
        "prebuilt": PREBUILT.about(toolchain),
    }


BACKEND = Backend(
    name="c",
    linker=_linker,
    include=("fusion", "search_as_loop"),
    capabilities=frozenset({"deepcopy", "fusion"}),
    version=_version,
    unavailable=_unavailable,
    libraries=("cffi",),
    about=_about,
)
# The C backend with Python steps for nodes without a C rule: the default mode where there is a compiler.
WITH_STEPS = Backend(
    name="cvm",
    linker=_stepwise_linker,
    include=("fusion",),
    capabilities=frozenset({"deepcopy", "fusion"}),
    version=_version,
    unavailable=_unavailable,
    libraries=("cffi",),
    priority=20,
    aliases=("c|py", "c|py_nogc", "cvm_nogc"),
)
