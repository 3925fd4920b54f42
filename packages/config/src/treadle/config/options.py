"""Options that treadle.config itself reads."""

from __future__ import annotations

from treadle.config.option import Option

OPTIONS: tuple[Option[object], ...] = (
    Option.enum(
        "traceback__filtering",
        ("auto", "off"),
        default="auto",
        doc="Which frames an error is shown with where nothing catches it: auto leaves treadle's own out, at the "
        "prompt, in IPython and at the end of a program; off shows all. The error itself has all of them.",
        affects_code=False,
    ),
)
