"""Options that treadle.compile reads."""

from __future__ import annotations

from typing import Any

from treadle.config import Option

OPTIONS: tuple[Option[Any], ...] = (
    Option.string(
        "mode",
        default="Mode",
        doc="Default mode: Mode (from options linker and optimizer), FAST_RUN, FAST_COMPILE, or a backend's name.",
    ),
    Option.string(
        "linker",
        default="auto",
        doc="Backend of mode Mode, by name (c, c|py, numba, jax, pytorch, vm, py ...); auto takes the fastest.",
    ),
    Option.enum(
        "optimizer",
        ("fast_run", "fast_compile", "merge", "None", "o1", "o2", "o3", "o4"),
        default="fast_run",
        doc="Rewrites of mode Mode: all (fast_run, o4), all but in-place (o3), few (fast_compile, o1), few and "
        "fusion (o2), common subexpressions only (merge), none (None).",
    ),
    Option.string("optimizer_including", default="", doc="Tags of rewrites to add to named modes, separated by ':'."),
    Option.string("optimizer_excluding", default="", doc="Tags of rewrites to leave out, separated by ':'."),
    Option.string("optimizer_requiring", default="", doc="Tags that rewrites must carry, separated by ':'."),
    Option.enum(
        "on_unused_input",
        ("raise", "warn", "ignore"),
        default="raise",
        doc="What function() does about an input that no output or update uses.",
        affects_code=False,
    ),
)
