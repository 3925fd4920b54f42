"""Functions through pickle, cloudpickle and copy."""

import copy
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import cloudpickle
import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import Function, In, function, shared
from treadle.config import config
from treadle.graph import GraphValueError


def sample() -> Function:
    x, y = tt.dvector("x"), tt.dscalar("y")
    state = shared(1.0, name="state")
    return function([x, In(y, value=2.0)], {"out": x * y + state}, updates={state: state + 1}, mode="VM", name="sample")


@pytest.mark.documents("Function.__reduce__", "F36")
def test_pickled_function_computes_the_same_on_state_of_its_own() -> None:
    f = sample()
    loaded = pickle.loads(pickle.dumps(f))
    assert loaded(np.ones(2))["out"].tolist() == [3.0, 3.0]
    assert loaded(np.ones(2))["out"].tolist() == [4.0, 4.0]
    assert f.get_shared()[0].get_value() == 1.0
    assert (loaded.name, loaded.maker.mode, repr(loaded)[:60]) == (f.name, f.maker.mode, repr(f)[:60])


def test_functions_in_one_pickle_keep_sharing_their_state() -> None:
    state = shared(0.0)
    pair = (function([], updates={state: state + 1}, mode="VM"), function([], state, mode="VM"))
    increment, read = pickle.loads(pickle.dumps(pair))
    increment()
    assert read() == 1.0


def test_pickled_function_keeps_its_options_and_trust() -> None:
    s = tt.fscalar("s")
    with config.change_flags(floatX="float32"):
        f = function([s], s, mode="VM")
    assert pickle.loads(pickle.dumps(f))(0.1).dtype == np.float32
    f.trust_input = True
    assert pickle.loads(pickle.dumps(f)).trust_input


@pytest.mark.parametrize("pickler", [pickle, cloudpickle])
@pytest.mark.documents("Function.__reduce__", "F36")
def test_another_process_loads_and_runs_it(pickler: Any, tmp_path: Path) -> None:
    file = tmp_path / "function.pickle"
    file.write_bytes(pickler.dumps(sample()))
    program = (
        f"import pickle; f = pickle.load(open({str(file)!r}, 'rb')); "
        "print([f([1.0, 2.0])['out'].tolist() for _ in range(2)], f.name)"
    )
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[[3.0, 5.0], [4.0, 6.0]] sample\n"


SCRIPT = """
import pickle, sys
import cloudpickle
import treadle.tensor as tt
from treadle.compile import function, wrap_py

@wrap_py(tt.dvector, tt.dvector)
def hundred(x):
    return x + 100

x = tt.dvector("x")
f = function([x], hundred(x), mode="VM")
assert pickle.loads(pickle.dumps(hundred)) is hundred
assert cloudpickle.loads(cloudpickle.dumps(hundred)) is hundred
open(sys.argv[1], "wb").write(cloudpickle.dumps(f))
del sys.modules["cloudpickle"]
open(sys.argv[2], "wb").write(pickle.dumps(f))
"""


def test_function_with_an_op_of_a_script_travels_by_cloudpickle_and_is_missed_by_name_otherwise(tmp_path: Path) -> None:
    script, whole, named = (tmp_path / name for name in ("script.py", "whole.pickle", "named.pickle"))
    script.write_text(SCRIPT)
    subprocess.run([sys.executable, str(script), str(whole), str(named)], check=True)
    assert pickle.loads(whole.read_bytes())([1.0, 2.0]).tolist() == [101.0, 102.0]
    with pytest.raises(GraphValueError, match=r"pickle: __main__ has no 'hundred' in this process. Define it in a mod"):
        pickle.loads(named.read_bytes())


@pytest.mark.documents("Function.__copy__", "F33")
def test_copy_of_a_function_uses_the_same_state() -> None:
    f = sample()
    twin = copy.copy(f)
    assert twin is not f
    twin(np.ones(2))
    assert f(np.ones(2))["out"].tolist() == [4.0, 4.0]


@pytest.mark.documents("Function.__deepcopy__")
def test_deep_copy_has_state_of_its_own() -> None:
    f = sample()
    copy.deepcopy(f)(np.ones(2))
    assert f(np.ones(2))["out"].tolist() == [3.0, 3.0]
