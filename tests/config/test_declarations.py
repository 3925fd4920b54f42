"""Declarations are values, and modules that are seldom needed are imported late."""

import pickle
import pkgutil
import subprocess
import sys

import pytest

from treadle.config import BOOL, Config, Option, OptionDefinitionError, lazy_module


def test_declaration_cannot_be_changed() -> None:
    option = Option("loud", False, "Whether to shout.", BOOL)
    with pytest.raises(AttributeError, match="option loud: a declaration cannot be changed, but doc was set to 'x'"):
        option.doc = "x"
    with pytest.raises(AttributeError, match="option loud: a declaration cannot be changed, but doc was deleted"):
        del option.doc


def test_declarations_compare_hash_and_pickle_by_value() -> None:
    option = Option("loud", False, "Whether to shout.", BOOL)
    assert option == Option("loud", False, "Whether to shout.", BOOL)
    assert option != Option("loud", True, "Whether to shout.", BOOL)
    assert option.owned_by("acme") != option
    assert option.owned_by("acme").owner == "acme"
    assert len({option, Option("loud", False, "Whether to shout.", BOOL)}) == 1
    assert pickle.loads(pickle.dumps(option)) == option
    special = Option.integer("n", default=1, doc="", read_only=True, scoped=True, no_effect="None.", default_text="one")
    assert pickle.loads(pickle.dumps(special)) == special == special.owned_by("")
    assert special != Option.integer("n", default=1, doc="", read_only=True, no_effect="None.", default_text="one")
    assert repr(option).startswith("Option('loud', False, 'Whether to shout.', ")


def test_lazy_module_is_imported_when_it_is_first_used() -> None:
    program = (
        "import sys; from treadle.config import lazy_module; colours = lazy_module('colorsys'); "
        "print('colorsys' in sys.modules, colours.ONE_THIRD, 'colorsys' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == f"False {1.0 / 3.0} True\n"


def test_module_that_is_loaded_already_is_itself() -> None:
    assert lazy_module("sys") is sys
    with pytest.raises(ModuleNotFoundError):
        _ = lazy_module("no_such_module_here").anything


def test_no_option_takes_a_name_of_the_module_or_of_a_module_inside() -> None:
    package = sys.modules["treadle.config"]
    inside = {module.name for module in pkgutil.iter_modules(package.__path__)}
    held = {name for name in vars(package) if not name.startswith("_")}
    settings = Config(environ={}, installed=False)
    for name in sorted({"spans", "change_flags", *held, *(name for name in inside if name[0] != "_")}):
        for declared in (name, f"{name}__inside"):
            with pytest.raises(OptionDefinitionError, match="in use for something else"):
                settings.add(Option(declared, False, "doc", BOOL))
