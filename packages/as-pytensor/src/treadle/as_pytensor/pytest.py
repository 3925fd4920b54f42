"""A plugin of pytest: ``-p treadle.as_pytensor.pytest`` lets tests of programs that import pytensor run on treadle."""

from treadle.as_pytensor.installing import install

install()
