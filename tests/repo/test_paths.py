"""Names are found at the paths that the documentation has them at."""

import importlib
import subprocess
import sys

import numpy as np
import pytest
from scipy import special

from tools import paths
from treadle import tensor as tt


@pytest.mark.parametrize("path", paths.table())
def test_listed_names_that_exist_are_found_at_their_path(path: str) -> None:
    module = importlib.import_module(path)
    lacking = {entry.partition(": ")[2] for entry in paths.missing() if entry.startswith(f"{path}: ")}
    for home, names in paths.table()[path].items():
        for name in names:
            ours, _, theirs = name.partition("=")
            if f"{home} has no {theirs or ours}" not in lacking:
                assert getattr(module, ours) is getattr(importlib.import_module(home), theirs or ours), name


@pytest.mark.parametrize("path", [path for path in paths.table() if paths.is_written(path)])
def test_module_of_a_path_is_up_to_date(path: str) -> None:
    assert paths.file_of(path).read_text(encoding="utf-8") == paths.text(path), "run ./dev pages"


def test_modules_of_paths_have_their_names_in_the_table() -> None:
    math = importlib.import_module("treadle.tensor.math")
    assert {"exp", "tanh"} <= set(math.__all__)
    assert not hasattr(math, "nothing")


@pytest.mark.parametrize("first", ["treadle.gradient", "treadle.tensor.einsum", "treadle.scalar"])
def test_functions_are_not_hidden_by_modules_of_their_name(first: str) -> None:
    program = f"import {first}, treadle.tensor as tt; print(*map(callable, (tt.shape, tt.scalar, tt.einsum)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "True True True\n"


def test_special_has_every_function_of_scipy_that_treadle_has() -> None:
    importlib.import_module("treadle.tensor.special")
    theirs = {name for name in special.__all__ if callable(getattr(special, name)) and not name[0].isupper()}
    assert [
        name
        for name in sorted(theirs & set(tt.__all__))
        if not hasattr(importlib.import_module("treadle.tensor.special"), name)
    ] == []


def test_elementwise_functions_in_place_overwrite_their_first_operand() -> None:
    inplace = importlib.import_module("treadle.tensor.inplace")
    assert inplace.exp_inplace.destroy_map == {0: [0]}
    assert not hasattr(inplace, "sum_inplace")
    assert not hasattr(inplace, "exp")


def test_documented_modules_are_attributes_of_the_package() -> None:
    tensor = importlib.import_module("treadle.tensor")
    assert tensor.math.exp is tensor.exp
    assert tensor.linalg.norm is tensor.norm


def test_function_that_draws_a_page_is_not_hidden_by_its_module() -> None:
    program = (
        "from treadle.d3viz.d3viz import d3viz; import treadle.d3viz as p; print(p.d3viz is d3viz, callable(d3viz))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "True True\n"


def test_names_of_dtypes_are_types_of_scalars() -> None:
    scalar = importlib.import_module("treadle.scalar")
    x = scalar.float64("x")
    assert x.type == scalar.float64 == scalar.get_scalar_type("float64")
    assert (tt.as_tensor_variable(x) * 2).eval({x: np.float64(1.5)}) == 3.0
    assert scalar.bool.dtype == "bool"


@pytest.mark.parametrize(
    ("dtypes", "common"),  # the common ones are PyTensor 3.0.7's
    [
        (("int8", "float32"), "float32"),
        (("int64", "float32"), "float64"),
        (("bool",), "bool"),
        (("int8", "uint8"), "int16"),
        (("float16", "int8"), "float16"),
        (("complex64", "float64"), "complex128"),
        (("uint64", "int8"), "float64"),
    ],
)
def test_common_dtype_of_names_is_that_of_pytensor(dtypes: tuple[str, ...], common: str) -> None:
    assert importlib.import_module("treadle.scalar").upcast(*dtypes) == common
