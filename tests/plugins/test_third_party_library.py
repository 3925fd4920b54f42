"""A third party's library of ops: installed, found by its entry points, and checked by its own records."""

import os
from pathlib import Path

import pytest

from tests.plugins.installation import install, run_with_plugin

FOLDER = Path(__file__).parent / "markov"
SUITE = """
from treadle.testing import SAMPLES, contract_tests, distribution_tests
from treadle_markov.records import DISTRIBUTIONS
from treadle_markov.records import SAMPLES as RECORDS

TestOnVM, TestOnC, TestOnNumba = (contract_tests(name, records=RECORDS) for name in ("vm", "c", "numba"))
TestDrawsOnVM, TestDrawsOnC = (distribution_tests(name, DISTRIBUTIONS) for name in ("vm", "c"))


def test_backends_are_held_to_what_is_installed():
    assert {sample.name for sample in SAMPLES.of("markov")} == {sample.name for sample in RECORDS}
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return install(FOLDER, tmp_path_factory.mktemp("library"))


def test_its_records_pass_on_every_backend(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "test_markov.py").write_text(SUITE)
    printed = run_with_plugin(
        installed, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", tmp_path, tmp_path,
        "-k", "not failure", cwd=tmp_path,
    )  # fmt: skip
    summary = printed.strip().splitlines()[-1]
    assert " passed" in summary, summary
    assert "failed" not in summary, summary


def test_its_rules_lowerings_and_names_are_found(installed: Path, tmp_path: Path) -> None:
    program = """
import numpy as np
import treadle.tensor as tt
from treadle.compile import function
from treadle.config import config

x, P = tt.dmatrix("x"), tt.dmatrix("P")
value = np.array([[1.0, 3.0], [2.0, 2.0]])


def ops(y, mode):
    return {str(node.op) for node in function([x, P], y, mode=mode, on_unused_input="ignore").maker.fgraph.apply_nodes}


rows = tt.normalize_rows(tt.exp(x))
for mode in ("VM", "C", "NUMBA"):
    assert not any("Sum" in name for name in ops((rows @ rows).sum(-1), mode)), mode
    assert any("Sum" in name for name in ops((rows @ x).sum(-1), mode)), mode
stated = tt.assume(P, row_stochastic=True)
assert not any("Sum" in name for name in ops((stated @ stated).sum(-1), "VM"))
for mode in ("VM", "C", "CVM", "NUMBA", "JAX", "PYTORCH"):
    with config.change_flags(torch__compile=False, on_python_step="raise"):
        f = function([x], [tt.normalize_rows(x), tt.grad(tt.normalize_rows(x)[:, 0].sum(), x)], mode=mode)
    rows_of_x, slopes = f(value)
    np.testing.assert_allclose(rows_of_x, [[0.25, 0.75], [0.5, 0.5]])
    np.testing.assert_allclose(slopes, [[3 / 16, -1 / 16], [0.125, -0.125]])
# The rules of the backends themselves, in place of the decomposition.
assert "total" in function([x], tt.normalize_rows(x), mode="C").program.source
assert "total" in function([x], tt.normalize_rows(x), mode="NUMBA").program.source
try:
    tt.normalize_rows(tt.lvector())
except tt.TensorTypeError as error:
    print(str(error).partition(":")[0])
"""
    assert run_with_plugin(installed, "-c", program, cwd=tmp_path).strip() == "normalize_rows"


def test_its_sampler_draws_the_same_numbers_on_every_backend(installed: Path, tmp_path: Path) -> None:
    program = """
import numpy as np
import treadle.tensor as tt
from treadle.compile import function
from treadle.config import config
from treadle.tensor import PortableDraws
from treadle.tensor.random import PORTABLE_SAMPLERS, PortableGenerator, shared_rng
from treadle_markov import sum_uniform

low, high = tt.dvector("low"), tt.dscalar("high")
draw = sum_uniform(low, high, size=(200, 3), rng=shared_rng(PortableGenerator(5)))
outputs = [draw, tt.grad(draw.sum(), high), sum_uniform(size=50, rng=shared_rng(PortableGenerator(6)), dtype="float32")]
values = [np.array([0.0, -0.3, 0.1]), 0.7]


def made(mode):
    with config.change_flags(torch__compile=False, on_python_step="raise"):
        return function([low, high], outputs, mode=mode)(*values)


drawn, slope, single = made("VM")
assert ((2 * values[0] <= drawn) & (drawn < 2 * 0.7)).all()
np.testing.assert_allclose(slope, ((drawn - 2 * values[0]) / (0.7 - values[0])).sum())
np.testing.assert_array_equal(drawn, sum_uniform.rng_fn(PortableGenerator(5), *values, (200, 3)))
for mode in ("C", "CVM", "NUMBA", "PYTORCH", "JAX"):
    found, _, found_single = made(mode)
    # XLA may round a product and a sum at once.
    np.testing.assert_allclose(found, drawn, rtol=0, atol=5e-16 if mode == "JAX" else 0, err_msg=mode)
    np.testing.assert_allclose(found_single, single, rtol=2e-7 if mode == "JAX" else 0, err_msg=mode)

# With kernels, and from the definition alone.
state, n = tt.tensor("state", dtype="int64", shape=(3,)), tt.lscalar("n")
inputs = (state, n, tt.constant(-0.3), high)
by_kernels = PortableDraws("sum_uniform", "float64", 1)(*inputs)
(by_definition,) = PortableDraws("sum_uniform", "float64", 1).decompose(*inputs)
given = (np.array([7, 8, 2**32 - 9]), 1000, 0.7)
wanted = function([state, n, high], by_kernels, mode="VM")(*given)
for mode in ("C", "NUMBA"):
    texts = []
    for draws in (by_kernels, by_definition):
        f = function([state, n, high], draws, mode=mode)
        np.testing.assert_array_equal(f(*given), wanted)
        texts.append(f.program.source)
    assert "attempt_sum" in texts[0] and "attempt_sum" not in texts[1], mode
try:
    PORTABLE_SAMPLERS.add("sum_uniform", lambda lanes: lanes.attempts(None))
except ValueError as error:
    print(str(error).partition(":")[0])
"""
    assert run_with_plugin(installed, "-c", program, cwd=tmp_path).strip() == "PORTABLE_SAMPLERS"


def test_they_are_absent_where_it_is_not_installed() -> None:
    import treadle.tensor as tt

    assert not hasattr(tt, "normalize_rows")
    assert "row_stochastic" not in tt.FACTS
