"""Records of the gamma function and functions made of it."""

from __future__ import annotations

from scipy import special

from treadle import tensor as tt
from treadle.testing.domain import POSITIVE
from treadle.testing.records.elementwise import elementwise
from treadle.testing.sample import Sample

F = "gamma_functions"

SAMPLES: tuple[Sample, ...] = (
    elementwise(F, "gammaln", tt.gammaln, special.gammaln, POSITIVE),
    elementwise(F, "digamma", tt.digamma, special.psi, POSITIVE),
)
