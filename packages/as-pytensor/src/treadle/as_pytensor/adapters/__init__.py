"""Objects under PyTensor's names that treadle's own do not answer for: PyTensor's conventions, on treadle's objects."""

from __future__ import annotations

# The release whose names these are.
VERSION = "3.3.8"

# For each module, the place of each of its names as ``module:attribute`` (the name itself where there is none).
ADAPTERS: dict[str, dict[str, str]] = {}
