"""The profiles of this process: printed, summed and traced when it exits."""

from __future__ import annotations

import atexit
import os
import sys
from pathlib import Path
from time import perf_counter_ns
from typing import TYPE_CHECKING, TextIO

from treadle.config import config, new_lock

if TYPE_CHECKING:
    from treadle.compile.profiling.stats import ProfileStats


def write_to(destination: str, text: str, written: set[str]) -> None:
    """Write a text to ``stderr``, ``stdout`` or a file, which is replaced unless it is among those already written."""
    stream: TextIO | None = {"stderr": sys.stderr, "stdout": sys.stdout}.get(destination)
    if destination in {"stderr", "stdout"}:
        if stream is not None:
            stream.write(text)
        return
    path = str(Path(destination).absolute())
    with Path(path).open("a" if path in written else "w", encoding="utf-8") as file:
        file.write(text)
    written.add(path)


class Registry:
    """The profiles that are printed at exit or counted among all functions' totals."""

    def __init__(self) -> None:
        self._lock = new_lock()
        self._profiles: list[ProfileStats] = []
        self._written: set[str] = set()
        self._process = 0
        self._start = perf_counter_ns()

    def add(self, profile: ProfileStats) -> None:
        """Let a profile, which outlives its functions, take part."""
        with self._lock:
            if self._process != os.getpid():
                # A forked process has profiles of its own only; what is registered to run at exit, it inherits.
                if not self._process:
                    atexit.register(self.finish)
                self._process = os.getpid()
                self._profiles.clear()
            self._profiles.append(profile)

    def profiles(self) -> list[ProfileStats]:
        """Return the profiles, those that took longest first."""
        with self._lock:
            profiles = list(self._profiles)
        return sorted(profiles, key=lambda p: -(p.compile_time + p.fct_call_time))

    def clear(self) -> None:
        """Forget all profiles."""
        with self._lock:
            self._profiles.clear()

    def write(self, destination: str, text: str) -> None:
        """Write to a destination; a file holds everything that this process wrote to it.

        What cannot be written to its file goes to stderr.
        """
        with self._lock:
            try:
                write_to(destination, text, self._written)
            except OSError as error:
                write_to("stderr", f"profile: {destination} cannot be written ({error}).\n{text}", self._written)

    def global_text(self) -> str:
        """Return the times of all functions together."""
        profiles = self.profiles()
        rows = (
            ("since the first profile was made", (perf_counter_ns() - self._start) * 1e-9),
            ("in calls of functions", sum(p.fct_call_time for p in profiles)),
            ("in their programs", sum(p.vm_call_time for p in profiles)),
            ("compiling", sum(p.compile_time for p in profiles)),
            ("  of it rewriting", sum(p.rewriter_time for p in profiles)),
            ("  of it linking", sum(p.linker_time for p in profiles)),
        )
        calls = sum(p.fct_callcount for p in profiles)
        functions = sum(len(p.records) for p in profiles)
        title = f"Global stats: {functions} functions, {calls} calls"
        return "\n".join([title, "=" * len(title), *(f"{s:12.6f} s {name}" for name, s in rows), "", ""])

    def finish(self) -> None:
        """Print what is to be printed at exit, and write the trace."""
        if self._process != os.getpid():
            return
        profiles = self.profiles()
        printed = [p for p in profiles if p.atexit_print and (p.fct_callcount or p.compile_time > 1)]
        for profile in printed:
            profile.summary()
        summed = [p for p in printed if p.show_sum]
        if len(summed) > 1:
            total = type(summed[0]).sum_of(summed, f"Sum of the {len(summed)} profiles printed at exit")
            total.summary()
        if config.print_global_stats or any(p.in_global_stats for p in profiles):
            destination = profiles[0].destination if profiles else str(config.profiling__destination)
            self.write(destination, self.global_text())
        self._write_traces(profiles)

    def _write_traces(self, profiles: list[ProfileStats]) -> None:
        by_file: dict[str, list[ProfileStats]] = {}
        for profile in profiles:
            if profile.trace_file:
                by_file.setdefault(profile.trace_file, []).append(profile)
        for file, group in by_file.items():
            try:
                type(group[0]).sum_of(group, "").write_trace(file)
            except OSError as error:
                self.write("stderr", f"profile: the trace {file} cannot be written ({error}).\n")


REGISTRY = Registry()


def print_global_stats() -> None:
    """Write the times of all functions that have a profile, together, to the option ``profiling__destination``."""
    REGISTRY.write(str(config.profiling__destination), REGISTRY.global_text())
