"""Records that installed packages publish for their own ops and random distributions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import TypeVar

from treadle.config import discover
from treadle.testing.distribution import Distribution
from treadle.testing.sample import LeftOut, Sample, SampleTable

R = TypeVar("R", Sample, Distribution, LeftOut)
# Each entry point of this group names a sequence of records, of any kind.
GROUP = "treadle.samples"


@cache
def _records() -> Mapping[str, Sequence[object]]:
    """Return the published records by entry point."""
    return {name: tuple(entry.load()) for name, entry in discover(GROUP).items()}


def published(kind: type[R]) -> dict[str, list[R]]:
    """Return the published records of one kind, by the entry points that name them."""
    for name, records in _records().items():
        for record in records:
            if not isinstance(record, Sample | Distribution | LeftOut):
                msg = (
                    f"{GROUP} {name!r}: a sequence of Sample, Distribution and LeftOut is needed; it holds {record!r}."
                )
                raise TypeError(msg)
    return {name: [record for record in records if isinstance(record, kind)] for name, records in _records().items()}


def families() -> dict[str, list[Distribution]]:
    """Return the records of distributions, by the entry points that publish them."""
    return {name: records for name, records in published(Distribution).items() if records}


class AllSamples(SampleTable):
    """Samples, and those that installed packages publish, which are loaded when samples are first read.

    Therefore a module that publishes samples may import `treadle.testing` to describe them.
    """

    __slots__ = ("_is_complete",)

    def __init__(self, *samples: Sample) -> None:
        super().__init__(*samples)
        self._is_complete = False

    def __iter__(self) -> Iterator[Sample]:
        """Iterate over all samples."""
        if not self._is_complete:
            installed = [sample for samples in published(Sample).values() for sample in samples]
            self._samples = SampleTable(*self._samples.values(), *installed)._samples
            self._is_complete = True
        return super().__iter__()
