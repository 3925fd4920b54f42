"""Functions of every op through pickle and copy, also into another process."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import Function, function
from treadle.tensor import random as tr
from treadle.tensor.random import PortableGenerator
from treadle.testing import SAMPLES
from treadle.testing.parts import as_tuple
from treadle.testing.published import families

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from treadle.testing import Distribution

FAMILIES = sorted({sample.family for sample in SAMPLES})


def of_family(family: str, mode: str) -> tuple[Function, list[Any]]:
    """Return one function of all records of a family that a mode must not refuse, and values of its inputs."""
    inputs: list[Any] = []
    outputs: list[Any] = []
    values: list[Any] = []
    for sample in SAMPLES:
        if sample.family == family and not (sample.optional and mode == "JAX"):
            rng = np.random.default_rng(zlib.crc32(str(sample).encode()))
            dtype = "float64" if "float64" in sample.dtypes else sample.dtypes[-1]
            arrays = [operand.array(rng, dtype, "plain") for operand in sample.operands]
            own = [
                tt.TensorType(array.dtype, operand.static_shape(False))(f"x{len(inputs) + i}")
                for i, (array, operand) in enumerate(zip(arrays, sample.operands, strict=True))
            ]
            inputs += own
            values += arrays
            outputs += as_tuple(sample.build(*own))
    return function(inputs, outputs, mode=mode, on_unused_input="ignore"), values


def assert_equal(actual: Sequence[Any], expected: Sequence[Any]) -> None:
    for new, old in zip(actual, expected, strict=True):
        np.testing.assert_array_equal(new, old, strict=isinstance(old, np.ndarray))


def keeps_values(f: Function, values: Sequence[Any]) -> None:
    loaded, copied = pickle.loads(pickle.dumps(f)), copy.deepcopy(f)
    expected = f(*values)
    assert_equal(loaded(*values), expected)
    assert_equal(copied(*values), expected)


@pytest.mark.parametrize("family", FAMILIES)
def test_function_of_a_family_is_pickled_and_copied(family: str) -> None:
    keeps_values(*of_family(family, "VM"))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::treadle.link.vm.PythonStepWarning")
@pytest.mark.parametrize("mode", ["CVM", "NUMBA", "JAX"])
@pytest.mark.parametrize("family", FAMILIES)
def test_compiled_function_of_a_family_is_pickled_and_copied(family: str, mode: str) -> None:
    keeps_values(*of_family(family, mode))


def draws(records: Sequence[Distribution], generator: Any, mode: str) -> Function:
    """Return one function that draws from each distribution, each with a shared generator of its own."""
    variables = []
    for record in records:
        state = tr.shared_rng(copy.deepcopy(generator))
        next_rng, draw = (record.make or getattr(tr, record.name))(
            *record.parameters[0], size=None, rng=state, return_next_rng=True
        )
        state.default_update = next_rng
        variables.append(draw)
    return function([], variables, mode=mode)


GENERATORS = {"numpy": np.random.default_rng(11), "portable": PortableGenerator(11)}


@pytest.mark.parametrize("kind", GENERATORS)
@pytest.mark.parametrize("family", families())
def test_draws_go_on_where_they_were_pickled_and_copied(family: str, kind: str) -> None:
    f = draws(families()[family], GENERATORS[kind], "VM")
    f()
    loaded, copied = pickle.loads(pickle.dumps(f)), copy.deepcopy(f)
    for _ in range(2):
        expected = f()
        assert_equal(loaded(), expected)
        assert_equal(copied(), expected)


LOADING = """
import pickle, sys
from pathlib import Path
for path in map(Path, sys.argv[1:]):
    f, values, expected = pickle.loads(path.read_bytes())
    for new, old in zip(f(*values), expected, strict=True):
        assert repr(new) == repr(old), path
    path.unlink()
"""


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["VM", "CVM"])
def test_another_process_loads_functions_of_all_ops_and_draws(mode: str, tmp_path: Path) -> None:
    functions = [of_family(family, mode) for family in FAMILIES]
    functions += [(draws(records, each, mode), []) for records in families().values() for each in GENERATORS.values()]
    for number, (f, values) in enumerate(functions):
        whole = pickle.dumps(f)
        (tmp_path / f"{number}.pickle").write_bytes(pickle.dumps((pickle.loads(whole), values, f(*values))))
    files = sorted(map(str, tmp_path.glob("*.pickle")))
    done = subprocess.run([sys.executable, "-c", LOADING, *files], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert not list(tmp_path.glob("*.pickle"))
