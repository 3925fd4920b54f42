"""Where a value comes from, and how bad settings from outside are reported."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.config.conftest import MakeConfig
from treadle.config import (
    Config,
    Option,
    OptionDefinitionError,
    OptionScopeError,
    OptionSettingsError,
    OptionSourceError,
    OptionValueError,
    ReadOnlyOptionError,
    UnknownOptionError,
)
from treadle.config.sources import parse_flags, rc_paths


def line_of(text: str) -> int:
    """Return the number of the one line of this file that ends in a comment."""
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    return next(number for number, line in enumerate(lines, start=1) if line.endswith(f"# {text}"))


def run(program: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run a program in a new process with these environment variables."""
    return subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "TREADLERC": "", **environ},
        capture_output=True,
        text=True,
        check=False,
    )


def test_assignment_names_the_line_that_assigned(make_config: MakeConfig) -> None:
    config = make_config()
    config.loud = True  # assigned here
    assert config.source("loud") == f"assignment at {__file__}:{line_of('assigned here')}"
    config.compile.wait = 9  # assigned in a section
    assert config.source("compile__wait") == f"assignment at {__file__}:{line_of('assigned in a section')}"


def test_block_names_the_line_that_entered_it(make_config: MakeConfig) -> None:
    config = make_config()
    block = config.change_flags(loud=True)
    with block:  # entered here
        assert config.source("loud") == f"change_flags at {__file__}:{line_of('entered here')}"
        assert config.source("floatX") == "default"


def test_block_entered_through_contextlib_names_the_users_line(make_config: MakeConfig) -> None:
    config = make_config()

    @contextlib.contextmanager
    def loudly() -> Iterator[None]:
        with config.change_flags(loud=True):  # in a generator
            yield

    with contextlib.ExitStack() as stack:
        stack.enter_context(config.change_flags(floatX="float32"))  # on a stack
        stack.enter_context(loudly())
        assert config.source("floatX") == f"change_flags at {__file__}:{line_of('on a stack')}"
        assert config.source("loud") == f"change_flags at {__file__}:{line_of('in a generator')}"


def test_decorated_function_names_the_line_that_called_it(make_config: MakeConfig) -> None:
    config = make_config()

    @config.change_flags(loud=True)
    def source() -> str:
        return config.source("loud")

    text = source()  # called here
    assert text == f"change_flags at {__file__}:{line_of('called here')}"


def test_inner_block_hides_the_source_of_the_outer(make_config: MakeConfig) -> None:
    config = make_config("loud=1")
    inner = config.change_flags({"loud": True})
    with config.change_flags(loud=False), inner, config.change_flags(floatX="float32"):  # all
        assert config.source("loud") == f"change_flags at {__file__}:{line_of('all')}"
    assert config.source("loud") == "TREADLE_FLAGS 'loud=1'"


def test_refused_assignment_says_where_the_block_was_entered(make_config: MakeConfig) -> None:
    config = make_config()
    place = rf"entered at \S*test_sources\.py:{line_of('the block')}"
    with config.change_flags(loud=True), pytest.raises(OptionScopeError, match=place):  # the block
        config.loud = False


def test_listing_shows_rc_line_flag_and_assignment(make_config: MakeConfig) -> None:
    config = make_config("gcc__cxxflags='-a,-b'", "[global]\n# note\nfloatX = float16\n")
    config.loud = True  # listed
    text = repr(config)
    assert "floatX = 'float16'  (from " in text
    assert "rc0:3; default 'float64')" in text
    assert "gcc__cxxflags = '-a,-b'  (from TREADLE_FLAGS 'gcc__cxxflags=-a,-b'; default '')" in text
    assert f"loud = True  (from assignment at {__file__}:{line_of('listed')}; default False)" in text
    assert text == str(config) == f"{config}"


def test_listing_shows_a_path_as_its_text_and_a_computed_default_in_words() -> None:
    config = Config({}, installed=False)
    config.add(Option.path("folder", default=lambda: Path("here"), doc="", default_text="where you are"))
    config.add(Option.path("other", default=lambda: Path("there"), doc=""))
    assert "folder = 'here'  (from default; default where you are)" in repr(config)
    config.other = "x"
    assert "other = 'x'" in repr(config)
    assert "default 'there')" in repr(config)


def test_some_options_can_be_listed(make_config: MakeConfig) -> None:
    config = make_config()

    def listed(*names: str) -> list[str]:
        return [line.split()[0] for line in config.describe(*names).splitlines() if not line.startswith(" ")]

    assert listed("loud", "floatX") == ["floatX", "loud"]
    assert listed("dnn.conv") == listed("dnn") == listed("dnn__conv__algo") == ["dnn__conv__algo"]
    assert listed("fi", "fo") == ["fixed", "folder"]
    with pytest.raises(UnknownOptionError, match="Did you mean loud"):
        config.describe("lound")


def test_first_use_by_treadle_names_the_function_and_the_users_line() -> None:
    done = run(
        "from treadle.config import config\n"
        "from treadle.cache import default_cache\n"
        "default_cache()\n"
        "try:\n"
        "    config.compiledir = 'elsewhere'\n"
        "except AttributeError as error:\n"
        "    print(error)\n",
        TREADLE_FLAGS="compiledir=somewhere",
    )
    assert done.stderr == ""
    assert "read-only since its first use, by treadle.cache.cache.default_cache (" in done.stdout
    assert "called from <string>:3" in done.stdout


def test_block_may_not_change_a_read_only_option_for_a_while(make_config: MakeConfig) -> None:
    config = make_config()
    with pytest.raises(ReadOnlyOptionError, match="take it back at its end"), config.change_flags(fixed="second"):
        pass
    with config.change_flags(fixed="first"):  # no change
        pass
    assert config.fixed == "first"
    with pytest.raises(ReadOnlyOptionError, match="since its first use"), config.change_flags(fixed="second"):
        pass


def test_values_of_a_block_are_given_as_mapping_pairs_or_keywords(make_config: MakeConfig) -> None:
    config = make_config()
    with config.change_flags({"loud": True}, floatX="float32"):
        assert (config.loud, config.floatX) == (True, "float32")
    with config.change_flags([("compile__wait", 2), ("dnn__conv__algo", "x")]):
        assert (config.compile.wait, config.dnn.conv.algo) == (2, "x")


def test_all_bad_settings_are_reported_at_once(make_config: MakeConfig) -> None:
    config = make_config(
        "flotX=float32,loud=yes,floatX",
        "floatX = float32\n[global]\nnonsense\nfloatX = float31\n[compile]\nwait = 0\nwaits = 3\n",
        "[broken\n",
    )
    with pytest.raises(OptionSettingsError) as caught:
        _ = config.loud
    assert isinstance(caught.value, OptionSourceError | OptionValueError | UnknownOptionError)
    lines = str(caught.value).splitlines()
    assert lines[0].startswith("config: 8 settings from outside are wrong")
    for part in (
        "rc0:1: 'floatX = float32' stands before any section",
        "rc0:3: 'nonsense' is not of the form",
        "rc0:4. Give one of 'float64', 'float32', 'float16'",
        "rc0:7: does not exist. Did you mean compile__wait",
        "rc1:1: '[broken' is not a section",
        "'flotX' in TREADLE_FLAGS 'flotX=float32': does not exist. Did you mean floatX",
        "loud: cannot be 'yes' in TREADLE_FLAGS 'loud=yes'",
        "TREADLE_FLAGS: 'floatX' is not of the form key=value",
    ):
        assert any(part in line for line in lines[1:]), part


@pytest.mark.parametrize("use", ["str(config)", "config.floatX", "config.floatX = 'float32'", "config.snapshot()"])
def test_bad_settings_are_reported_by_every_use(make_config: MakeConfig, use: str) -> None:
    config = make_config("floatX=float31")
    with pytest.raises(OptionValueError, match="float31"):
        exec(use, {"config": config})


def test_bad_settings_do_not_prevent_imports() -> None:
    program = (
        "import treadle.config, treadle.cache, treadle.graph, treadle.link.vm, treadle.rewrite, treadle.tensor\n"
        "import treadle.compile, treadle.link.c, treadle.link.numba, treadle.link.jax, treadle.link.torch\n"
        "print('imported')\n"
        "print(treadle.config)\n"
    )
    done = run(program, TREADLE_FLAGS="floatx=float32,loud")
    assert done.stdout == "imported\n"
    assert "Did you mean floatX?" in done.stderr
    assert "'loud' is not of the form key=value" in done.stderr


def test_unreadable_and_malformed_files_are_reported_together(tmp_path: Path) -> None:
    (tmp_path / "rc").write_bytes(b"[global]\nx = \xff\n")
    config = Config({"TREADLERC": f"{tmp_path}{os.pathsep}{tmp_path / 'rc'}"}, installed=False)
    with pytest.raises(OptionSettingsError) as caught:
        config.options()
    assert str(caught.value).count("cannot be read") == 2


def test_rc_file_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    (tmp_path / "rc").write_bytes("[global]\nn = 3\n".encode("utf-8-sig"))
    config = Config({"TREADLERC": str(tmp_path / "rc")}, installed=False)
    config.add(Option.integer("n", default=1, doc=""))
    assert config.n == 3


def test_refused_rc_line_does_not_take_the_lines_below_it(make_config: MakeConfig) -> None:
    config = make_config("", "[gcc]\ncxxflags = a\nnonsense\n  more\n")
    with pytest.raises(OptionSettingsError, match=r"rc0:3[\s\S]*rc0:4"):
        _ = config.gcc__cxxflags


def test_windows_separates_files_by_semicolons_and_knows_the_text_ending() -> None:
    environ = {"TREADLERC": "C:\\one;D:\\two;"}
    assert [str(path) for path in rc_paths(environ, windows=True)] == ["C:\\one", "D:\\two"]
    assert [str(path) for path in rc_paths({"TREADLERC": "/one:/two"}, windows=False)] == ["/one", "/two"]
    home = {"USERPROFILE": "/users/ann", "HOME": "/home/ann"}
    assert [path.name for path in rc_paths(home, windows=True)] == [".treadlerc", ".treadlerc.txt"]
    assert {str(path.parent) for path in rc_paths(home, windows=True)} == {"/users/ann"}
    assert [str(path) for path in rc_paths(home, windows=False)] == ["/home/ann/.treadlerc"]
    assert rc_paths({}, windows=True) == rc_paths({}, windows=False) == ()


def test_backslash_is_an_ordinary_character_of_flags_on_windows() -> None:
    text = 'compiledir=C:\\new\\table,cxx="C:\\Program Files\\gcc,x"'
    problems: list[OptionSourceError] = []
    texts = {setting.name: setting.text for setting in parse_flags(text, problems, windows=True)}
    assert (texts, problems) == ({"compiledir": "C:\\new\\table", "cxx": "C:\\Program Files\\gcc,x"}, [])


@pytest.mark.parametrize(
    ("flags", "value"),
    [
        ("floatX=float32,floatX=float64", "float64"),
        ("floatX=float64,loud=1,floatX=float16", "float16"),
        (" floatX=float16 ", "float16"),
        (",,floatX='float32',", "float32"),
    ],
)
def test_flags_are_read_as_documented(make_config: MakeConfig, flags: str, value: str) -> None:
    assert make_config(flags).floatX == value


def test_flag_values_keep_equal_signs_and_inner_blanks(make_config: MakeConfig) -> None:
    assert make_config("gcc__cxxflags=-DA=1 -DB=2").gcc__cxxflags == "-DA=1 -DB=2"


def test_only_an_option_can_be_added(make_config: MakeConfig) -> None:
    with pytest.raises(OptionDefinitionError, match=r"config\.add: an Option is needed, got 'name'"):
        make_config().add("name")  # type: ignore[arg-type]  # this is the mistake under test


def test_hash_of_the_options_changes_with_those_that_affect_code(make_config: MakeConfig) -> None:
    config = make_config()
    before = config.get_config_hash()
    assert len(before) == 64
    config.compile__wait = 9
    assert config.get_config_hash() == before
    with config.change_flags(loud=True):
        assert config.get_config_hash() != before
    assert config.get_config_hash() == before == make_config().get_config_hash()
