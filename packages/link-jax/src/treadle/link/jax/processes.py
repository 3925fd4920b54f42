"""The process that uses JAX."""

from __future__ import annotations

import os

from treadle.link.jax.errors import ForkedProcessError


class HomeProcess:
    """The process that uses JAX: the first to make a program. JAX's threads do not survive a fork.

    Attributes
    ----------
    is_forked
        Whether this process is a forked child of the home.
    """

    __slots__ = ("_pid", "is_forked")

    def __init__(self) -> None:
        self._pid: int | None = None
        self.is_forked = False

    def enter(self) -> None:
        """Make the first caller's process the home; in a forked child of it this is an error."""
        if self._pid is None:
            self._pid = os.getpid()
            if hasattr(os, "register_at_fork"):
                os.register_at_fork(after_in_child=self._note_fork)
        if self.is_forked:
            raise self.error()

    def _note_fork(self) -> None:
        self.is_forked = True

    def error(self) -> ForkedProcessError:
        """Return the error of a program in a forked child."""
        return ForkedProcessError(
            f"jax: process {os.getpid()} was forked from process {self._pid}, which uses JAX; JAX hangs in a forked "
            'child. Start processes with multiprocessing.get_context("spawn"), or use another mode in the child.'
        )


HOME = HomeProcess()
