"""Orders of evaluation that need little memory."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

# The search looks at sets of nodes that may have run, and gives up beyond this many nodes or sets.
MOST_NODES = 200
MOST_SETS = 20_000


class Problem(NamedTuple):
    """Steps to be put into an order."""

    needs: Sequence[frozenset[int]]  # for each step, the steps that must come before
    # For each block of memory, its size, the step that makes it, and the steps that use it. A block that is kept to the
    # end has no users; one that nobody uses has its maker as the only one.
    blocks: Sequence[tuple[int, int, frozenset[int]]]


class _Tables:
    """Tables of a problem that both searches use."""

    def __init__(self, problem: Problem) -> None:
        count = len(problem.needs)
        self.followers: list[list[int]] = [[] for _ in range(count)]
        for step, needed in enumerate(problem.needs):
            for other in needed:
                self.followers[other].append(step)
        self.made = [0] * count
        self.blocks_of: list[list[int]] = [[] for _ in range(count)]
        self.users: list[frozenset[int]] = []
        self.sizes: list[int] = []
        for size, maker, users in problem.blocks:
            self.made[maker] += size
            for user in users:
                self.blocks_of[user].append(len(self.users))
            self.users.append(users)
            self.sizes.append(size)


def peak_of(problem: Problem, order: Sequence[int]) -> int:
    """Return the largest amount of memory in use at once, each block freed after its last use."""
    tables = _Tables(problem)
    left = [len(users) for users in tables.users]
    live = peak = 0
    for step in order:
        live += tables.made[step]
        peak = max(peak, live)
        for block in tables.blocks_of[step]:
            left[block] -= 1
            if not left[block]:
                live -= tables.sizes[block]
    return peak


def least_peak(problem: Problem, known_order: Sequence[int]) -> tuple[list[int], int, bool]:
    """Return an order with a small peak of memory, the peak, and whether no order has a smaller one.

    A best-first search over the sets of steps that may have run, by the least peak on the way there, is exact. Where
    there are too many such sets (more than `MOST_SETS`), or more than `MOST_NODES` steps, the answer is the better of
    a known order and a greedy one, which always runs the step that leaves the least memory in use.
    """
    optimum = _search(problem) if len(known_order) <= MOST_NODES else None
    if optimum is not None:
        return *optimum, True
    greedy = _greedy(problem)
    best = min(list(known_order), greedy, key=lambda order: peak_of(problem, order))
    return best, peak_of(problem, best), False


def _search(problem: Problem) -> tuple[list[int], int] | None:
    """Return the best order and its peak, or None if there are too many sets to look at."""
    tables = _Tables(problem)
    count = len(problem.needs)
    need_masks = [sum(1 << n for n in needed) for needed in problem.needs]
    user_masks = [sum(1 << n for n in users) for users in tables.users]
    everything = (1 << count) - 1
    # Peak so far, steps left, the set, and memory in use after it: of equal peaks, longer ways come first.
    queue: list[tuple[int, int, int, int]] = [(0, count, 0, 0)]
    reached_from: dict[int, tuple[int, int]] = {0: (-1, -1)}
    best: dict[int, int] = {0: 0}
    closed: set[int] = set()
    while queue:
        peak, left, done, live = heapq.heappop(queue)
        if done == everything:
            return _path(reached_from, done), peak
        if done in closed:
            continue
        closed.add(done)
        if len(best) > MOST_SETS:
            return None
        for step in _ready(done, everything, need_masks):
            after = done | 1 << step
            high = max(peak, live + tables.made[step])
            if high >= best.get(after, high + 1):
                continue
            best[after] = high
            reached_from[after] = (done, step)
            freed = sum(tables.sizes[b] for b in tables.blocks_of[step] if not user_masks[b] & ~after)
            heapq.heappush(queue, (high, left - 1, after, live + tables.made[step] - freed))
    return None


def _ready(done: int, everything: int, need_masks: Sequence[int]) -> list[int]:
    left = everything & ~done
    ready = []
    while left:
        bit = left & -left
        left ^= bit
        step = bit.bit_length() - 1
        if not need_masks[step] & ~done:
            ready.append(step)
    return ready


def _path(came: dict[int, tuple[int, int]], done: int) -> list[int]:
    order = []
    while done:
        done, step = came[done]
        order.append(step)
    return order[::-1]


def _greedy(problem: Problem) -> list[int]:
    """Always run the step after which the least memory is in use."""
    tables = _Tables(problem)
    missing = [len(needed) for needed in problem.needs]
    left = [set(users) for users in tables.users]
    done: set[int] = set()

    def growth(step: int) -> int:
        return tables.made[step] - sum(tables.sizes[b] for b in tables.blocks_of[step] if len(left[b]) == 1)

    queue = [(growth(step), step) for step, count in enumerate(missing) if not count]
    heapq.heapify(queue)
    order: list[int] = []
    while queue:
        _, step = heapq.heappop(queue)
        if step in done:  # it was entered again when it began to free more
            continue
        done.add(step)
        order.append(step)
        for block in tables.blocks_of[step]:
            left[block].discard(step)
            if len(left[block]) == 1:
                (last,) = left[block]
                if not missing[last]:
                    heapq.heappush(queue, (growth(last), last))
        for other in tables.followers[step]:
            missing[other] -= 1
            if not missing[other]:
                heapq.heappush(queue, (growth(other), other))
    return order
