"""The device that programs run on: by the option, and by the mode; what was compiled is found again on each."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import function, get_mode
from treadle.config import OptionValueError, config
from treadle.graph import GraphValueError

PROGRAM = """
import jax
import numpy as np

import treadle.tensor as tt
from treadle.compile import Out, function, get_mode, shared
from treadle.config import config

cpus = jax.devices()
assert len(cpus) == 4
x = tt.dvector("x")
expression = tt.tanh(x) + tt.constant(np.arange(3.0))
expected = np.tanh(np.ones(3)) + np.arange(3.0)

plain = function([x], expression, mode="JAX")
np.testing.assert_allclose(plain(np.ones(3)), expected, rtol=1e-14)

w = shared(np.zeros(3), name="w")
there = get_mode("JAX").clone(link_kwargs={"device": "cpu:2", "device_outputs": True})
step = function([x], expression, updates={w: w + x}, mode=there)
for value in (np.ones(3), jax.device_put(np.ones(3), cpus[1]), jax.device_put(np.ones(3), cpus[2])):
    for _ in range(2):
        result = step(value)
        assert result.devices() == {cpus[2]}, result.devices()
        np.testing.assert_allclose(result, expected, rtol=1e-14)
assert w.container.read().devices() == {cpus[2]}
np.testing.assert_array_equal(w.get_value(), np.full(3, 6.0))

v = shared(np.zeros(3), name="v", device="cpu:1")
with config.change_flags(jax__device="cpu:3"):
    by_variable = function([x], Out(x + v, borrow=True), updates={v: v + x}, mode="JAX")
for _ in range(2):
    assert by_variable(np.ones(3)).devices() == {cpus[1]}
assert v.container.read().devices() == {cpus[1]}
np.testing.assert_array_equal(v.get_value(), np.full(3, 2.0))

with config.change_flags(jax__device="cpu:3"):
    by_option = function([x], Out(x * 2, borrow=True), mode="JAX")
assert by_option(np.ones(3)).devices() == {cpus[3]}
np.testing.assert_allclose(plain(np.ones(4)[:3]), expected, rtol=1e-14)
"""


def test_programs_run_on_the_device_of_the_option_or_of_the_mode(tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "XLA_FLAGS": "--xla_force_host_platform_device_count=4",
        "TREADLE_FLAGS": f"base_compiledir={tmp_path}",
        "JAX_ENABLE_X64": "1",
    }
    # The second process finds all programs in the compile directory.
    for _ in range(2):
        subprocess.run([sys.executable, "-c", PROGRAM], env=environment, check=True)
    assert any(path.is_file() for path in tmp_path.rglob("*"))


@pytest.mark.parametrize("name", ["cpu:99", "no_such_platform", "cpu:one"])
def test_a_device_that_is_not_there_is_refused_when_the_function_is_compiled(name: str) -> None:
    x = tt.dvector("x")
    text = rf"'{re.escape(name)}' cannot .* finds here: cpu:0"
    mode = get_mode("JAX").clone(link_kwargs={"device": name})
    with pytest.raises(GraphValueError, match=f"device of the mode's link_kwargs, {text}"):
        function([x], x + 1, mode=mode)
    # Also where the option names one that is there.
    with config.change_flags(jax__device="cpu:0"), pytest.raises(GraphValueError, match=f"link_kwargs, {text}"):
        function([x], x + 1, mode=mode)
    with config.change_flags(jax__device=name), pytest.raises(OptionValueError, match=f"option jax__device: {text}"):
        function([x], x + 1, mode="JAX")


def test_another_device_is_not_the_same_program() -> None:
    x = tt.dvector("x")
    named = function([x], x * 3, mode=get_mode("JAX").clone(link_kwargs={"device": "cpu:0"}))
    np.testing.assert_array_equal(named(np.ones(2)), [3.0, 3.0])
    assert named.program is not function([x], x * 3, mode="JAX").program


def test_shared_variables_and_the_mode_must_name_one_device() -> None:
    x = tt.dvector("x")
    v, w = tt.shared(np.ones(2), name="v", device="cpu"), tt.shared(np.ones(2), name="w", device="cpu:1")
    with pytest.raises(GraphValueError, match=r"one device, got cpu for v, cpu:1 for w\. Name the same"):
        function([x], x + v + w, mode="JAX")
    zero = get_mode("JAX").clone(link_kwargs={"device": "cpu:0"})
    with pytest.raises(GraphValueError, match="got cpu:1 for w, cpu:0 for the mode"):
        function([x], x + w, mode=zero)
    np.testing.assert_array_equal(function([x], x + v, mode=zero)(np.ones(2)), [2.0, 2.0])
    w.container.device = "cpu:0"
    np.testing.assert_array_equal(function([x], x + v + w, mode="JAX")(np.ones(2)), [3.0, 3.0])


def test_a_device_of_a_shared_variable_that_is_not_there_is_refused_by_the_variables_name() -> None:
    w = tt.shared(np.ones(2), name="w", device="cpu:99")
    text = r"shared variable w: its device 'cpu:99' cannot be used \(.*\)\. Give .* JAX finds here: cpu:0"
    with pytest.raises(GraphValueError, match=text):
        function([], w * 2, mode="JAX")
    w.container.device = "cpu:0"
    np.testing.assert_array_equal(function([], w * 2, mode="JAX")(), [2.0, 2.0])
