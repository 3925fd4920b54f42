"""NumPy's generators on Numba: the numbers of their methods and the state after them, bit for bit."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.tensor.random.generator_cases import KINDS, REFUSED, Chain, Draw, all_draws
from treadle.tensor.random.words import words_of

if TYPE_CHECKING:
    from pathlib import Path

    from tests.link_numba.conftest import Link

# One sampler of each form that is written.
FORMS = frozenset({
    "random", "standard_gamma", "normal", "uniform", "binomial", "integers", "multinomial",
    "multivariate_hypergeometric", "dirichlet", "permutation",
})  # fmt: skip


@pytest.fixture(scope="module")
def programs() -> dict[str, Any]:
    return {}


@pytest.mark.parametrize("kind", KINDS)
def test_draws_are_those_of_numpys_methods(kind: str, programs: dict[str, Any], link: Link) -> None:
    if not programs:
        chain = Chain([draw for draw in all_draws() if draw.name in FORMS and draw.ndim != 1][::2])
        programs.update(chain=chain, program=link(chain.inputs, chain.outputs))
    programs["chain"].compare(programs["program"], kind)


@pytest.mark.slow
def test_draws_of_every_sampler_are_those_of_numpys_methods(link: Link) -> None:
    chain = Chain(all_draws())
    program = link(chain.inputs, chain.outputs)
    for kind in KINDS:
        chain.compare(program, kind)


@pytest.mark.parametrize(
    ("name", "parameters", "text"),
    [pytest.param(*case, marks=[pytest.mark.slow] if at % 5 else []) for at, case in enumerate(REFUSED)],
)
def test_parameters_that_numpy_refuses_are_refused_with_its_words(
    name: str, parameters: tuple[Any, ...], text: str, link: Link
) -> None:
    draw = Draw.of(name, parameters)
    chain = Chain([draw])
    with pytest.raises(ValueError, match=text):
        link(chain.inputs, chain.outputs)(words_of(np.random.default_rng(3)), np.array(4), np.array(4), *draw.values())


_WARM = """
import numpy as np
import treadle.tensor.random as tr
from treadle.compile import function
from treadle.compile.stored.programs import FUNCTIONS
rng = tr.shared_rng(np.random.Generator(np.random.SFC64(3)))
after, drawn = tr.normal(1.0, 2.0, size=(2, 3), rng=rng, return_next_rng=True)
f = function([], drawn, updates={rng: after}, mode="NUMBA")
expected = np.random.Generator(np.random.SFC64(3))
for _ in range(2):
    np.testing.assert_array_equal(f(), expected.normal(1.0, 2.0, size=(2, 3)))
print(FUNCTIONS.counts.loaded)
"""


def test_another_process_finds_the_samplers_without_compiling(tmp_path: Path) -> None:
    env = {**os.environ, "TREADLE_FLAGS": f"base_compiledir={tmp_path}"}
    command = [sys.executable, "-c", _WARM]
    printed = [subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout for _ in range(2)]
    assert [int(text) for text in printed] == [0, 1]
