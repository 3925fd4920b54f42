"""A plugin of pytest: ``pytest -p treadle.as_pytensor.pytest`` runs tests of programs that import pytensor on treadle."""

from treadle.as_pytensor.installing import install

install()
