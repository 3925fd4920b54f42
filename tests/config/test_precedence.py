"""Which source of a value wins, and how sources are written."""

from pathlib import Path

import pytest

from tests.config.conftest import MakeConfig
from treadle.config import Config, Option, OptionSourceError, OptionValueError, OptionWarning, UnknownOptionError

RC = "[global]\nfloatX = float32\n[compile]\nwait = 7\n"


@pytest.mark.parametrize(
    ("rc", "flags", "assigned", "block", "value", "source"),
    [
        (False, False, False, False, 5, "default"),
        (True, False, False, False, 7, "rc0:4"),
        (True, True, False, False, 8, "TREADLE_FLAGS 'compile__wait=8'"),
        (False, True, False, False, 8, "TREADLE_FLAGS 'compile__wait=8'"),
        (True, True, True, False, 9, "assignment"),
        (True, True, True, True, 10, "change_flags"),
        (False, False, False, True, 10, "change_flags"),
    ],
)
def test_innermost_source_wins(
    make_config: MakeConfig, rc: bool, flags: bool, assigned: bool, block: bool, value: int, source: str
) -> None:
    config = make_config("compile__wait=8" if flags else "", *([RC] if rc else []))
    if assigned:
        config.compile__wait = 9
    with config.change_flags(**({"compile__wait": 10} if block else {})):
        assert config.compile__wait == value
        assert source in config.source("compile__wait")


def test_rightmost_flag_wins(make_config: MakeConfig) -> None:
    assert make_config("loud=0,loud=True").loud is True


def test_quotes_protect_commas(make_config: MakeConfig) -> None:
    config = make_config(' gcc__cxxflags="-O3,-g" , loud=1,,')
    assert (config.gcc__cxxflags, config.loud) == ("-O3,-g", True)


def test_later_rc_file_wins(make_config: MakeConfig) -> None:
    config = make_config("", RC, "[global]\nfloatX = float16\n")
    assert (config.floatX, config.compile.wait) == ("float16", 7)


def test_rc_sections_of_two_levels_are_read(make_config: MakeConfig) -> None:
    assert make_config("", "[dnn.conv]\nalgo : small\n").dnn.conv.algo == "small"


def test_rc_comments_and_continuation_lines_are_read(make_config: MakeConfig) -> None:
    config = make_config("", "# note\n[gcc]\n; note\ncxxflags = -a\n   -b\n")
    assert config.gcc__cxxflags == "-a\n-b"


def test_rc_values_interpolate_known_names_only(tmp_path: Path) -> None:
    rc = tmp_path / "rc"
    rc.write_text("[global]\na = %(USER)s-100%%\nb = %(HOSTILE)s\nc = 5%\n")
    config = Config({"TREADLERC": str(rc), "USER": "ann", "HOSTILE": "no"}, installed=False)
    for name in "abc":
        config.add(Option.string(name, default="", doc=""))
    assert (config.a, config.b, config.c) == ("ann-100%", "%(HOSTILE)s", "5%")


def test_home_rc_file_is_read_by_default(tmp_path: Path) -> None:
    (tmp_path / ".treadlerc").write_text("[global]\nn = 3\n")
    config = Config({"HOME": str(tmp_path), "USERPROFILE": str(tmp_path)}, installed=False)
    config.add(Option.integer("n", default=1, doc=""))
    assert config.n == 3


def test_missing_rc_file_is_not_an_error(tmp_path: Path) -> None:
    config = Config({"TREADLERC": str(tmp_path / "none")}, installed=False)
    config.add(Option.integer("n", default=1, doc=""))
    assert config.n == 1


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("floatX = float32\n", 1, "stands before any section"),
        ("[global]\n\nfloatX float32\n", 3, "'floatX float32' is not of the form key = value"),
        ("[global\n", 1, "not a section"),
        ("[global]\nloud=1\nloud=0\n", 3, "given twice, first on line 2"),
        ("[global]\n= 3\n", 2, "not of the form"),
    ],
)
def test_malformed_rc_line_is_named_by_file_and_line(make_config: MakeConfig, text: str, line: int, words: str) -> None:
    config = make_config("", text)
    with pytest.raises(OptionSourceError, match=words) as caught:
        _ = config.loud
    assert f"rc0:{line}: " in str(caught.value)


def test_unreadable_rc_file_is_named(tmp_path: Path) -> None:
    config = Config({"TREADLERC": str(tmp_path)}, installed=False)
    with pytest.raises(OptionSourceError, match="cannot be read"):
        config.options()


@pytest.mark.parametrize("flags", ["loud", "=3", "loud=1,floatX"])
def test_flag_without_key_or_value_is_quoted(make_config: MakeConfig, flags: str) -> None:
    with pytest.raises(OptionSourceError, match=r"is not of the form key=value"):
        _ = make_config(flags).loud


def test_open_quote_in_flags_is_an_error(make_config: MakeConfig) -> None:
    with pytest.raises(OptionSourceError, match="No closing quotation"):
        _ = make_config("gcc__cxxflags='-O3").loud


@pytest.mark.parametrize(
    ("flags", "near"),
    [("floatx=float32", "Did you mean floatX"), ("floatX = float32", "floatX"), ("compile.wait=3", "compile__wait")],
)
def test_unknown_flag_is_an_error_with_the_nearest_name(make_config: MakeConfig, flags: str, near: str) -> None:
    config = make_config(flags)
    for _ in range(2):  # and stays one
        with pytest.raises(UnknownOptionError, match=near):
            _ = config.loud


def test_unknown_rc_key_names_its_line(make_config: MakeConfig) -> None:
    with pytest.raises(UnknownOptionError, match=r"rc0:2.*Did you mean compile__wait"):
        _ = make_config("", "[compile]\nwaits = 3\n").loud


def test_bad_value_from_outside_names_where_it_stands(make_config: MakeConfig) -> None:
    with pytest.raises(OptionValueError, match=r"floatX: cannot be 'float31' in TREADLE_FLAGS 'floatX=float31'"):
        _ = make_config("floatX=float31").loud


def test_documented_option_without_its_package_warns_once(make_config: MakeConfig) -> None:
    config = make_config("cast_policy=custom")
    with pytest.warns(OptionWarning, match=r"belongs to the distribution tensor.*ignored"):
        assert config.loud is False
    config.cast_policy = "custom"  # no second warning
    with config.change_flags(cast_policy="custom"):
        pass
    with pytest.raises(UnknownOptionError, match="Install tensor"):
        _ = config.cast_policy


def test_option_added_late_takes_its_value_from_outside(make_config: MakeConfig) -> None:
    config = make_config("cast_policy=numpy")
    with pytest.warns(OptionWarning, match="belongs to"):
        _ = config.loud
    config.add(Option.string("cast_policy", default="custom", doc=""))
    assert config.cast_policy == "numpy"


def test_nothing_is_read_before_the_first_option() -> None:
    class Watched(dict[str, str]):
        reads = 0

        def get(self, key: str, default: str | None = None) -> str | None:  # type: ignore[override]  # one form of it
            Watched.reads += 1
            return super().get(key, default) if default is not None else None

    config = Config(Watched(), installed=False)
    config.add(Option.integer("n", default=1, doc=""))
    block = config.change_flags(n=3)
    assert Watched.reads == 0
    with block:
        assert config.n == 3
