"""Profiling: what functions cost to compile and to call, by phase, op, node and memory."""

from treadle.compile.profiling.memory import LeastPeak, MemoryUse, Step
from treadle.compile.profiling.programs import instrumented
from treadle.compile.profiling.registry import print_global_stats
from treadle.compile.profiling.stats import ProfileStats, profile_for

__all__ = ["LeastPeak", "MemoryUse", "ProfileStats", "Step", "instrumented", "print_global_stats", "profile_for"]
