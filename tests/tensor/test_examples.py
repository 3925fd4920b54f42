"""Public functions, constructors and methods of variables have an example each, and the examples print what they say.

Those of elementwise functions and distributions, which are made from tables, are run by their own tests.
"""

from __future__ import annotations

import doctest
import importlib
import inspect
import os
import sys
from typing import Any

import numpy as np
import scipy.sparse

import treadle
import treadle.compile
import treadle.gradient
import treadle.printing
import treadle.scan
import treadle.tensor as tt
from treadle import sparse
from treadle.config import config
from treadle.tensor.elementwise.elemwise import Elemwise
from treadle.tensor.random import RandomVariable

MODULES = (
    *("treadle.tensor", "treadle.tensor.linalg", "treadle.tensor.special", "treadle.tensor.random"),
    *("treadle.tensor.signal", "treadle.tensor.fft", "treadle.tensor.optimize", "treadle.scan", "treadle.gradient"),
    "treadle.sparse",
)
# What only those call who write ops, rules and backends.
FOR_AUTHORS = {
    *("bit_generator_functions", "sampler_address", "beta_tail_integral", "gamma_tail_integral", "compiled_loop"),
    *("enter_array_rules", "filled_index", "gather_plan", "symbolic_count", "range_length"),
    *("basic_part", "load_families", "locking_of"),
    "plain_arrays",
    *("get_idx_list", "get_slice_elements", "index_vars_to_types", "indices_from_subtensor"),
    *("unflatten_index_variables", "shape_values", "stage", "static_positions", "mode_not_slow", "wrap_external"),
    *("grad_not_implemented", "grad_undefined", "construct_nominal_fgraph", "supp_shape_from_ref_param_shape"),
}
CLASSES: tuple[type, ...] = (tt.TensorVariable, tt.TensorSharedVariable, tt.TensorConstant)
# Attributes that tell what a variable is, and what rules and printers ask of it.
NOT_SHOWN = {
    *("clone", "data", "equals", "get_parents", "owner_op", "owner_op_and_inputs", "show", "signature", "stable_key"),
    *("tag", "user_line", "value", "default_update", "type", "owner", "name", "index", "written_with", "container"),
    *("strict", "allow_downcast", "reducer"),
}
SETTINGS = {"__name__": "__main__", "tt": tt, "np": np, "scipy": scipy, "sparse": sparse, "treadle": treadle}
FLAGS = doctest.NORMALIZE_WHITESPACE


def functions() -> dict[str, Any]:
    """Return what users call, by path, without what has texts from tables."""
    found: dict[str, Any] = {}
    for path in MODULES:
        module = importlib.import_module(path)
        for name in dir(module):
            value = None if name.startswith("_") else getattr(module, name)
            if isinstance(value, Elemwise | RandomVariable) or inspect.isclass(value):
                continue
            if inspect.isfunction(value) or isinstance(value, tt.TensorType):
                found[f"{path}.{name}"] = value
    return found


def methods() -> dict[str, Any]:
    """Return the methods and properties of variables by class and name."""
    found: dict[str, Any] = {}
    for cls in CLASSES:
        for name in dir(cls):
            value = inspect.getattr_static(cls, name)
            if not name.startswith("_") and name not in NOT_SHOWN and (callable(value) or isinstance(value, property)):
                found.setdefault(name, value)
    return found


def documented() -> dict[str, tuple[str, dict[str, Any]]]:
    """Return the docstring of each function and method, with the names of its module."""
    shown = functions() | {f"x.{name}": value for name, value in methods().items()}
    homes = {name: sys.modules[getattr(value, "__module__", None) or __name__] for name, value in shown.items()}
    return {name: (inspect.cleandoc(value.__doc__ or ""), vars(homes[name])) for name, value in shown.items()}


def last(path: str) -> str:
    return path.rpartition(".")[2]


def test_every_function_and_method_has_an_example() -> None:
    texts = documented()
    assert len(texts) > 500
    assert [name for name, (text, _) in texts.items() if ">>>" not in text and last(name) not in FOR_AUTHORS] == []


def test_functions_for_authors_exist_and_have_no_example() -> None:
    texts = documented()
    assert {last(name) for name, (text, _) in texts.items() if ">>>" not in text} == FOR_AUTHORS


def test_signatures_name_the_parameters() -> None:
    for name, value in functions().items():
        kinds = {parameter.kind for parameter in inspect.signature(value).parameters.values()}
        assert kinds != {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}, name


def test_examples_print_what_they_say() -> None:
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner(verbose=False, optionflags=FLAGS)
    told: list[str] = []
    with config.change_flags(mode="Mode", linker="vm", optimizer="None"):
        for text, names in dict(documented().values()).items():
            title = text.partition("\n")[0]
            runner.run(parser.get_doctest(text, names | SETTINGS, title, None, 0), out=told.append)
    assert runner.summarize(verbose=False).failed == 0, os.linesep.join(told)
    assert runner.tries > 450
