"""AllocEmpty: memory that nothing was written to."""

from __future__ import annotations
