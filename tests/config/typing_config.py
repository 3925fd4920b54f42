"""What type checkers infer for the public interface. Checked by mypy; nothing here is run."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, assert_type

from treadle.config import (
    BOOL,
    FLOAT,
    INT,
    OPTIONAL_BOOL,
    PATH,
    STR,
    Config,
    EntryPointRef,
    Kind,
    Option,
    Snapshot,
    choice,
    config,
    discover,
    installed_version,
    subset,
)

assert_type(BOOL, Kind[bool])
assert_type(INT, Kind[int])
assert_type(FLOAT, Kind[float])
assert_type(STR, Kind[str])
assert_type(PATH, Kind[Path])
assert_type(OPTIONAL_BOOL, Kind[bool | None])
assert_type(choice("a", "b", ignore_case=True), Kind[str])
assert_type(subset("a", "b", word_for_all="ALL"), Kind[str])
assert_type(INT.where("an integer > 0", lambda value: value > 0), Kind[int])
assert_type(INT.parse("3"), int)

assert_type(Option("n", 1, "", INT), Option[int])
assert_type(Option.boolean("n", default=True, doc=""), Option[bool])
assert_type(Option.integer("n", default=lambda: 1, doc="", read_only=True, scoped=True), Option[int])
assert_type(Option.number("n", default=1.5, doc=""), Option[float])
assert_type(Option.string("n", default="", doc="", default_text="nothing"), Option[str])
assert_type(Option.enum("n", ("a", "b"), default="a", doc=""), Option[str])
assert_type(Option.path("n", default=Path(), doc=""), Option[Path])
assert_type(Option.integer("n", default=1, doc="").accept("3", "somewhere"), int)
assert_type(Option.integer("n", default=1, doc="").make_default(), int)
assert_type(Option.integer("n", default=1, doc="").describe_default(), str)
assert_type(Option.integer("n", default=1, doc="").owned_by("acme"), Option[int])
Option.integer("n", default="x", doc="")  # type: ignore[arg-type]  # the default must be of the kind
Option.boolean("n", default=True, doc="", readonly=True)  # type: ignore[call-arg]  # no such trait

assert_type(config, Config)
assert_type(config.options(), tuple[Option[object], ...])
assert_type(config.snapshot(), Snapshot)
assert_type(config.snapshot().code_key(), tuple[tuple[str, str], ...])
assert_type(config.snapshot().digest(), str)
assert_type(config.get_config_hash(), str)
assert_type(config.source("floatX"), str)
assert_type(config.describe("floatX", "compile"), str)
# What an option holds depends on which packages are installed, so reading one gives Any.
assert_type(config.floatX, Any)

with config.change_flags({"floatX": "float32"}, compile__wait=3) as entered:
    assert_type(entered, None)
with config.using(config.snapshot()):
    pass


@config.change_flags(floatX="float32")
def area(width: int, height: float = 1.0) -> float:
    """Return a product: a decorated function keeps its signature."""
    return width * height


@config.change_flags([("floatX", "float32")])
async def area_later(width: int) -> float:
    """Return a product: so does one that is awaited."""
    return float(width)


assert_type(area(1, height=2.0), float)
area("1")  # type: ignore[arg-type]  # the first argument is an integer
later: Callable[[int], Awaitable[float]] = area_later
assert_type(discover("treadle.backends"), dict[str, EntryPointRef])
assert_type(installed_version("config"), str | None)
