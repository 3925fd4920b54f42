"""Random numbers with named dimensions: every distribution of `treadle.tensor.random`, and generators."""

from treadle.named.random.distributions import brought_names
from treadle.named.random.generators import XRandomGeneratorSharedVariable as XRandomGeneratorSharedVariable
from treadle.named.random.generators import XRandomGeneratorType as XRandomGeneratorType
from treadle.named.random.generators import XRandomGeneratorVariable as XRandomGeneratorVariable
from treadle.named.random.generators import as_rng as as_rng
from treadle.named.random.generators import rng as rng
from treadle.named.random.generators import rng_to_xrng as rng_to_xrng
from treadle.named.random.generators import shared_rng as shared_rng
from treadle.named.random.generators import xrng_to_rng as xrng_to_rng
from treadle.named.random.op import XRV as XRV
from treadle.named.random.op import as_xrv as as_xrv

__getattr__ = brought_names(
    __name__,
    "XRV XRandomGeneratorSharedVariable XRandomGeneratorType XRandomGeneratorVariable as_rng as_xrv rng rng_to_xrng "
    "shared_rng xrng_to_rng",
)
