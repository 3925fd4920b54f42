"""treadle.testing: sample records of every op, and the contract that every backend is held to."""

from typing import TYPE_CHECKING

from treadle.config import versioned_names
from treadle.tensor import GradientError, verify_grad
from treadle.testing.contract import Check, checks, contract, contract_tests, run_check
from treadle.testing.distribution import Distribution
from treadle.testing.distribution_checks import distribution_tests
from treadle.testing.domain import Domain
from treadle.testing.errors import ContractError, DuplicateSampleError, HammerError, UnknownBackendError
from treadle.testing.failures import FAILURES, Failure, run_failure
from treadle.testing.kernels import check_kernel, compiled_kernel
from treadle.testing.linking import backend_names, compiled, find_backend, linked
from treadle.testing.random_graphs import Recipe, compare, recipes
from treadle.testing.records import SAMPLES
from treadle.testing.sample import COMPOSED, KINDS, VARIANTS, LeftOut, Operand, Sample, SampleTable
from treadle.testing.threads import hammer

__all__ = [
    "COMPOSED", "FAILURES", "KINDS", "SAMPLES", "VARIANTS", "Check", "ContractError", "Distribution", "Domain",
    "DuplicateSampleError", "Failure", "GradientError", "HammerError", "LeftOut", "Operand", "Recipe", "Sample",
    "SampleTable", "UnknownBackendError", "backend_names", "check_kernel", "checks", "compare", "compiled",
    "compiled_kernel", "contract",
    "contract_tests", "distribution_tests", "find_backend", "hammer", "linked", "recipes", "run_check", "run_failure",
    "verify_grad",
]  # fmt: skip

if TYPE_CHECKING:
    __version__: str
else:
    __getattr__ = versioned_names(__name__, "link-testing")
