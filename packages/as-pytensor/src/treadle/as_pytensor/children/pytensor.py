"""What processes find that a program on treadle starts, whose search path is its own: treadle takes PyTensor's place.

The standard library hands the search path on to the processes that it spawns, and nothing else of the import system.
"""

import sys
from importlib import import_module

from treadle.as_pytensor.installing import install

del sys.modules[__name__]
install()
sys.modules[__name__] = import_module(__name__)
