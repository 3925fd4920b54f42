"""The records of all modules, and the dtypes at which ops have none."""

from treadle.tensor.signal.records import convolution, fourier, signals
from treadle.testing import LeftOut

RECORDS = (
    *convolution.SAMPLES,
    *fourier.SAMPLES,
    *signals.SAMPLES,
    *(LeftOut(op, dtypes) for module in (convolution, fourier) for op, dtypes in module.LEFT_OUT.items()),
)
