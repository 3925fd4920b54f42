"""A linked list of nodes with integer labels: "before" is one comparison, and a node can be put anywhere.

Order maintenance as in Bender, Cole, Demaine, Farach-Colton and Zito 2002: where labels are crowded, the smallest
enclosing range that is sparse enough is labelled anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from treadle.graph.ir.apply import Apply

# Distance of neighbouring labels where there is room.
GAP = 1 << 20


class Slot:
    """A place in the list; a removed one still remembers its neighbours."""

    __slots__ = ("following", "label", "node", "previous")

    def __init__(self, node: Apply | None) -> None:
        self.label = 0
        self.node = node
        self.previous: Slot = self
        self.following: Slot = self


class LabelledList:
    """Nodes in order, each in a `Slot`."""

    __slots__ = ("_head", "relabelled", "slots")

    def __init__(self, nodes: Iterable[Apply]) -> None:
        self._head = Slot(None)
        self.slots: dict[Apply, Slot] = {}
        # How many labels were replaced because there was no room between two.
        self.relabelled = 0
        for node in nodes:
            self.insert(node, None)

    def __iter__(self) -> Iterator[Apply]:
        slot = self._head.following
        while slot.node is not None:
            yield slot.node
            slot = slot.following

    def insert(self, node: Apply, before: Slot | None) -> None:
        """Put a node before a place, or at the end."""
        slot = self.slots[node] = Slot(node)
        self._link(slot, (self._head if before is None else before).previous)

    def remove(self, node: Apply) -> Slot | None:
        """Take a node off; return its place for `restore`, or None if it is not in the list."""
        slot = self.slots.pop(node, None)
        if slot is not None:
            slot.previous.following = slot.following
            slot.following.previous = slot.previous
        return slot

    def restore(self, node: Apply, slot: Slot) -> None:
        """Put a node back to its place; removals are taken back in reverse order."""
        head, before, after = self._head, slot.previous, slot.following
        if (before is head or before.label < slot.label) and (after is head or slot.label < after.label):
            before.following = after.previous = slot
        else:
            self._link(slot, before)
        self.slots[node] = slot

    def _link(self, slot: Slot, before: Slot) -> None:
        """Put a slot behind another one (or the head), with a label between its neighbours'."""
        head, after = self._head, before.following
        if after is head:
            slot.label = 0 if before is head else before.label + GAP
        elif before is head:
            slot.label = after.label - GAP
        else:
            if after.label - before.label < 2:
                self._make_room(before)
            slot.label = (before.label + after.label) >> 1
        slot.previous, slot.following = before, after
        before.following = after.previous = slot

    def _make_room(self, slot: Slot) -> None:
        """Label anew the smallest range of labels around a slot that is sparse enough."""
        first = last = slot
        count, bits = 1, 0
        while True:
            bits += 1
            base = slot.label >> bits
            while first.previous is not self._head and first.previous.label >> bits == base:
                first = first.previous
                count += 1
            while last.following is not self._head and last.following.label >> bits == base:
                last = last.following
                count += 1
            # At most (4/3)^bits labels in a range of 2^bits: the wider the range, the sparser it must be.
            if 4 * count <= 1 << bits and count * 3**bits <= 4**bits:
                break
        start, width = base << bits, 1 << bits
        for k in range(count):
            first.label = start + k * width // count
            first = first.following
        self.relabelled += count
