"""Config objects that ignore this machine's settings, and options to try them with."""

from collections.abc import Callable
from pathlib import Path

import pytest

from treadle.config import Config, Option

MakeConfig = Callable[..., Config]


def sample_options() -> tuple[Option[bool] | Option[int] | Option[str] | Option[Path], ...]:
    return (
        Option.enum("floatX", ("float64", "float32", "float16"), default="float64", doc="The default float dtype."),
        Option.integer("compile__wait", default=5, doc="Seconds.", affects_code=False),
        Option.boolean("loud", default=False, doc="Whether to shout."),
        Option.string("gcc__cxxflags", default="", doc="Flags."),
        Option.string("dnn__conv__algo", default="auto", doc="An option two sections deep."),
        Option.path("folder", default=Path("there"), doc="A folder.", affects_code=False),
        Option.string("fixed", default="first", doc="An option fixed by its use.", read_only=True),
    )


@pytest.fixture
def make_config(tmp_path: Path) -> MakeConfig:
    """Return a function from flags and the text of rc files to a config object."""

    def make(flags: str = "", *rc_files: str) -> Config:
        paths = []
        for index, text in enumerate(rc_files):
            path = tmp_path / f"rc{index}"
            path.write_text(text)
            paths.append(str(path))
        import os

        settings = Config({"TREADLE_FLAGS": flags, "TREADLERC": os.pathsep.join(paths)}, installed=False)
        for option in sample_options():
            settings.add(option)
        return settings

    return make
