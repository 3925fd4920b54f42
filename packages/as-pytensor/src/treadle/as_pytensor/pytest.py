"""A plugin of pytest: ``-p treadle.as_pytensor.pytest`` lets tests of programs that import pytensor run on treadle."""

import warnings

from treadle.as_pytensor.installing import AsPyTensorWarning, install

# Whoever names this plugin knows which pytensor the tests get; a run that takes warnings for errors would stop here.
with warnings.catch_warnings():
    warnings.simplefilter("ignore", AsPyTensorWarning)
    install()
