"""Every distribution draws what it should, on every backend."""

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from tests.contract.backends import BACKENDS
from tools import distributions
from treadle.testing import Distribution
from treadle.testing import distribution_checks as checks
from treadle.testing.published import families

FAMILIES = families()
RECORDS = [record for records in FAMILIES.values() for record in records]
EXACT = [name for name in BACKENDS if name in {"vm", "c", "numba"}]
QUICK = [name for name in BACKENDS if name in {"vm", "c"}]
# These backends warn that they draw with keys of their own from NumPy's generators.
COMPILED = [name for name in BACKENDS if name not in {"vm", "cvm"}]


def _portable(backend: str, family: str) -> Iterator[Any]:
    """Yield the checks of a family's portable draws: those that compile slowly apart, with -m slow."""
    for costly in (False, True):
        records = [record for record in FAMILIES[family] if (backend in record.costly) is costly]
        marks, suffix = ([pytest.mark.slow], "-costly") if costly else ([], "")
        if records:
            yield pytest.param(backend, records, id=f"{backend}-{family}{suffix}", marks=marks)


PORTABLE = [check for backend in COMPILED for family in FAMILIES for check in _portable(backend, family)]
CHOICES = [pytest.param(r, at, id=f"{r.name}-{at}") for r in RECORDS for at in range(len(r.parameters))]
INVALID = [pytest.param(r, at, id=f"{r.name}-{at}") for r in RECORDS for at in range(len(r.invalid))]
SMOOTH = [pytest.param(r, k, id=f"{r.name}-{k}") for r in RECORDS if r.oracle is not None for k in r.smooth]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("backend", EXACT)
def test_draws_are_those_of_numpys_generator_bit_for_bit(backend: str, family: str) -> None:
    checks.check_numpy_draws(backend, FAMILIES[family])


@pytest.mark.parametrize(("backend", "records"), PORTABLE)
def test_portable_draws_are_the_same_on_every_backend(backend: str, records: Sequence[Distribution]) -> None:
    checks.check_portable_draws(backend, records)


@pytest.mark.parametrize("generator", checks.GENERATORS)
@pytest.mark.parametrize(("record", "choice"), CHOICES)
def test_draws_fit_the_distribution(record: Distribution, choice: int, generator: str) -> None:
    checks.check_fit("vm", record, choice, generator)


@pytest.mark.parametrize("generator", checks.GENERATORS)
@pytest.mark.parametrize("backend", QUICK)
def test_draws_are_right_at_the_edges_of_the_domain(backend: str, generator: str) -> None:
    checks.check_extremes(backend, RECORDS, generator)


@pytest.mark.parametrize("generator", checks.GENERATORS)
@pytest.mark.parametrize("backend", QUICK)
@pytest.mark.parametrize(("record", "case"), INVALID)
def test_invalid_parameters_are_refused_and_nothing_moves(
    record: Distribution, case: int, backend: str, generator: str
) -> None:
    checks.check_refusal(backend, record, case, generator)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("generator", checks.GENERATORS)
@pytest.mark.parametrize("backend", QUICK)
def test_sizes(backend: str, generator: str, family: str) -> None:
    checks.check_sizes(backend, FAMILIES[family], generator)


@pytest.mark.parametrize("generator", checks.GENERATORS)
@pytest.mark.parametrize("backend", QUICK)
def test_float32_draws_are_float32(backend: str, generator: str) -> None:
    checks.check_float32(backend, RECORDS, generator)


@pytest.mark.parametrize(("record", "parameter"), SMOOTH)
def test_derivatives_of_draws_are_those_of_the_quantile_function(record: Distribution, parameter: int) -> None:
    checks.check_derivative("vm", record, parameter)


def test_every_distribution_has_a_record() -> None:
    assert distributions.unchecked() == []
