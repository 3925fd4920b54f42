"""Declarations, kinds, computed defaults, listing, and the module that stands for the object."""

import pickle
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import treadle.config
from tests.config.conftest import MakeConfig
from treadle.config import (
    BOOL,
    FLOAT,
    INT,
    OPTIONAL_BOOL,
    PATH,
    STR,
    Config,
    Kind,
    Option,
    OptionDefinitionError,
    OptionValueError,
    OptionWarning,
    ReadOnlyOptionError,
    UnknownOptionError,
    choice,
    config,
    subset,
)
from treadle.config.owners import OWNERS


@pytest.mark.parametrize(
    ("kind", "setting", "kept"),
    [
        (BOOL, "False", False),
        (BOOL, "true", True),
        (BOOL, 0, False),
        (BOOL, "1", True),
        (INT, "12", 12),
        (INT, 12, 12),
        (FLOAT, "1e3", 1000.0),
        (FLOAT, 2, 2.0),
        (STR, "x", "x"),
        (PATH, "a/b", Path("a/b")),
        (PATH, "~", Path("~").expanduser()),
        (choice("a", "B"), "B", "B"),
        (choice("a", "B", ignore_case=True), "b", "B"),
        (choice("None", "all"), "None", "None"),
        (subset("a", "b", word_for_all="ALL"), "a:b", "a:b"),
        (subset("a", "b"), "", ""),
        (OPTIONAL_BOOL, "none", None),
        (OPTIONAL_BOOL, "1", True),
    ],
)
def test_kind_keeps_values_and_parses_texts(kind: Kind[Any], setting: object, kept: object) -> None:
    value = Option("n", kept, "", kind).accept(setting)
    assert (value, type(value)) == (kept, type(kept))


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (BOOL, "yes"),
        (BOOL, 2),
        (BOOL, None),
        (INT, "1.5"),
        (INT, 1.0),
        (INT, True),
        (FLOAT, "x"),
        (FLOAT, False),
        (STR, 3),
        (PATH, 3),
        (choice("a"), "A"),
        (choice("a"), None),
        (subset("a", "b"), "a,b"),
        (subset("a", "b"), "ALL"),
        (subset("a", "b"), None),
        (OPTIONAL_BOOL, "maybe"),
        (INT.where("an integer > 0", lambda value: value > 0), 0),
    ],
)
def test_kind_refuses_other_values_and_says_what_it_takes(kind: Kind[Any], value: object) -> None:
    option: Option[object] = Option("n", lambda: None, "", kind)
    with pytest.raises(OptionValueError) as caught:
        option.accept(value)
    assert f"cannot be {value!r}" in str(caught.value)
    assert str(caught.value).endswith(f"Give {kind.allowed}.")


@pytest.mark.parametrize("name", ["", "_x", "a___b", "a b", "a.b", "x_", "__x", "3x"])
def test_option_of_a_malformed_name_is_refused(name: str) -> None:
    with pytest.raises(OptionDefinitionError, match="the name"):
        Option.integer(name, default=1, doc="")


def test_option_refuses_a_default_that_is_not_of_its_kind() -> None:
    with pytest.raises(OptionDefinitionError, match="its own default is refused"):
        Option("n", "x", "", INT)


@pytest.mark.parametrize("name", ["loud", "compile", "loud__x", "snapshot", "errors", "dnn__conv"])
def test_name_in_use_is_refused(make_config: MakeConfig, name: str) -> None:
    with pytest.raises(OptionDefinitionError, match=name):
        make_config().add(Option.integer(name, default=1, doc=""))


def test_unknown_option_is_an_attribute_error_with_near_names(make_config: MakeConfig) -> None:
    settings = make_config()
    assert not hasattr(settings, "floatZ")
    with pytest.raises(UnknownOptionError) as caught:
        _ = settings.flotX
    assert str(caught.value) == "option 'flotX': does not exist. Did you mean floatX?"
    with pytest.raises(UnknownOptionError, match=r"print\(config\) lists all"):
        _ = settings.qqqqqqqq
    with pytest.raises(UnknownOptionError, match="wait"):
        _ = settings.compile.wayt


def test_section_reads_assigns_and_lists(make_config: MakeConfig) -> None:
    settings = make_config()
    settings.compile.wait = 3
    settings.dnn.conv.algo = "big"
    assert (settings.compile__wait, settings.dnn__conv__algo) == (3, "big")
    assert repr(settings.compile).startswith("compile__wait = 3")
    assert dir(settings.compile) == ["wait"]
    del settings.compile.wait
    assert settings.compile.wait == 5
    assert not hasattr(settings.compile, "__wrapped__")


def test_section_has_no_value_of_its_own(make_config: MakeConfig) -> None:
    settings = make_config()
    with pytest.raises(UnknownOptionError, match=r"'dnn' in an assignment: is a section.*dnn__conv__algo"):
        settings.dnn = 3
    with pytest.raises(UnknownOptionError, match="'compile' in TREADLE_FLAGS 'compile=3': is a section"):
        _ = make_config("compile=3").loud


def test_default_is_computed_at_first_read_and_once() -> None:
    calls: list[int] = []

    def compute() -> int:
        calls.append(1)
        return len(calls)

    settings = Config({}, installed=False)
    settings.add(Option.integer("n", default=compute, doc=""))
    assert calls == []
    assert (settings.n, settings.n, len(calls)) == (1, 1, 1)


def _dependent() -> Config:
    settings = Config({}, installed=False)
    settings.add(Option.integer("wait", default=5, doc=""))
    settings.add(Option.integer("timeout", default=lambda: 24 * int(settings.wait), doc=""))
    settings.add(Option.integer("outer", default=lambda: 2 * int(settings.timeout), doc=""))
    return settings


def test_computed_default_follows_assignment_of_what_it_read() -> None:
    settings = _dependent()
    assert settings.outer == 240
    settings.wait = 1
    assert (settings.timeout, settings.outer) == (24, 48)
    del settings.wait
    assert settings.outer == 240


def test_computed_default_follows_a_block_and_leaves_no_trace() -> None:
    settings = _dependent()
    with settings.change_flags(wait=2):
        assert (settings.timeout, settings.outer) == (48, 96)
        assert settings.snapshot()["outer"] == 96
        with settings.change_flags(timeout=1):
            assert settings.outer == 2
    assert (settings.timeout, settings.outer) == (120, 240)


def test_assigned_value_does_not_follow_what_its_default_read() -> None:
    settings = _dependent()
    assert settings.timeout == 120
    settings.timeout = 7
    settings.wait = 1
    with settings.change_flags(wait=2):
        assert settings.timeout == 7


def test_default_that_depends_on_itself_is_an_error() -> None:
    settings = Config({}, installed=False)
    settings.add(Option.integer("a", default=lambda: int(settings.b), doc=""))
    settings.add(Option.integer("b", default=lambda: int(settings.a), doc=""))
    with pytest.raises(OptionDefinitionError, match="depends on itself"):
        _ = settings.a


def test_computed_default_of_the_wrong_kind_is_an_error() -> None:
    settings = Config({}, installed=False)
    settings.add(Option("n", lambda: "x", "", INT))  # a mistake that no type shows
    with pytest.raises(OptionValueError, match="in its own default"):
        _ = settings.n


def test_option_without_effect_warns_once_when_set_to_something_else() -> None:
    settings = Config({}, installed=False)
    settings.add(Option.string("device", default="cpu", doc="", no_effect="There is one device."))
    settings.device = "cpu"
    with pytest.warns(OptionWarning, match="no effect: There is one device") as caught:
        settings.device = "gpu"
    assert caught[0].filename == __file__
    settings.device = "gpu1"
    assert settings.device == "gpu1"


def test_listing_shows_each_option_with_value_default_doc_and_source(make_config: MakeConfig) -> None:
    settings = make_config("loud=1")
    with settings.change_flags(floatX="float16"):
        text = str(settings)
    assert re.search(r"floatX = 'float16'  \(from change_flags at \S*test_options\.py:\d+; default 'float64'\)", text)
    assert "one of 'float64', 'float32', 'float16'" in text
    assert "The default float dtype." in text
    assert "loud = True  (from TREADLE_FLAGS 'loud=1'; default False)" in text
    assert "fixed = 'first'  (from default; default 'first')\n    [a string; owner this process; read-only" in text
    assert [line.split()[0] for line in text.splitlines() if line[0] != " "] == sorted(
        option.name for option in settings.options()
    )


def test_dir_lists_options_sections_and_methods(make_config: MakeConfig) -> None:
    assert {"floatX", "compile", "compile__wait", "change_flags"} <= set(dir(make_config()))


def test_threads_that_read_first_all_get_the_value() -> None:
    calls: list[int] = []

    def compute() -> int:
        calls.append(1)
        return len(calls)

    settings = Config({}, installed=False)
    settings.add(Option.integer("n", default=compute, doc=""))
    barrier = threading.Barrier(8, timeout=60)
    seen: list[int] = []

    def read() -> None:
        barrier.wait()
        seen.append(settings.n)

    threads = [threading.Thread(target=read) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (seen, calls) == ([1] * 8, [1])


def test_every_installed_option_has_an_owner_and_a_doc() -> None:
    for option in config.options():
        assert option.owner
        assert option.doc
    assert {option.name: option.owner for option in config.options()} == dict(OWNERS)


def test_module_stands_for_the_object(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(treadle.config, "traceback__limit", 3)
    assert config.traceback__limit == 3
    assert treadle.config.traceback.limit == 3
    treadle.config.traceback__limit = 4
    assert config.traceback__limit == 4
    with treadle.config.change_flags(traceback__limit=6):
        assert treadle.config.traceback__limit == 6
    assert repr(treadle.config) == repr(config)
    assert "traceback__limit" in dir(treadle.config)
    del treadle.config.traceback__limit
    assert config.traceback__limit == 8
    with pytest.raises(UnknownOptionError):
        treadle.config.no_such_thing_at_all = 1


def test_module_keeps_its_own_names() -> None:
    assert isinstance(treadle.config.config, Config)
    assert treadle.config.errors.TreadleError is treadle.config.TreadleError
    assert not hasattr(treadle.config, "__path_that_is_not__")


def test_config_pickles_as_the_one_object() -> None:
    assert pickle.loads(pickle.dumps(config)) is config


def test_import_loads_no_third_party_module_and_reads_nothing() -> None:
    program = (
        "import sys, treadle.config\n"
        "from treadle.config import config\n"
        "assert config._state == 'new', config._state\n"
        "config.compile__wait\n"
        "print([m for m in ('numpy', 'filelock', 'importlib.metadata') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.stderr) == ("[]", "")


def test_threads_read_while_another_assigns(make_config: MakeConfig) -> None:
    settings = make_config()
    seen: list[set[int]] = []
    errors: list[BaseException] = []
    stop = threading.Event()

    def read() -> None:
        values: set[int] = set()
        try:
            while not stop.is_set():
                values.add(settings.compile__wait)
                values.add(settings.snapshot()["compile__wait"])
        except BaseException as error:  # noqa: BLE001 - shown by the test itself
            errors.append(error)
        seen.append(values)

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for value in range(1, 2000):
        settings.compile__wait = value
        if value % 7 == 0:
            del settings.compile__wait
    stop.set()
    for thread in threads:
        thread.join()
    assert errors == []
    assert len(seen) == 4
    assert set().union(*seen) <= set(range(2000))


def test_a_listing_uses_no_option_that_a_default_is_computed_from(make_config: MakeConfig) -> None:
    settings = make_config()
    settings.add(Option.string("whole", default=lambda: f"{settings.fixed} and more", doc="Derived.", read_only=True))
    assert "whole = 'first and more'" in str(settings)
    settings.fixed = "second"
    assert settings.whole == "second and more"
    with pytest.raises(ReadOnlyOptionError, match="option fixed: read-only since its first use"):
        settings.fixed = "third"


def test_a_default_may_ask_for_an_option_whose_package_is_not_installed(make_config: MakeConfig) -> None:
    settings = make_config()

    def default() -> bool:
        return bool(getattr(settings, "cxx", ""))

    settings.add(Option.boolean("checked", default=default, doc="Derived from another package's option."))
    assert settings.checked is False
    assert settings.snapshot()["checked"] is False
