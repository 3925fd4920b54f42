"""The C text of small graphs, as in the files of the folder golden.

Where the text is meant to change: ``python -m tests.link_c.golden_texts`` writes the files anew; read the difference
before you commit it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import treadle.tensor as tt
from treadle.compile import get_mode
from treadle.config import config
from treadle.graph import FunctionGraph
from treadle.link.c.assembly import Assembly
from treadle.link.c.runtime import Library
from treadle.link.c.runtime.core import CODES, TYPES
from treadle.link.c.text.prelude import HEADERS
from treadle.link.c.text.unit import write_unit

if TYPE_CHECKING:
    from collections.abc import Callable

    from treadle.graph import Variable

    Graph = tuple[list[Variable], list[Variable]]

FOLDER = Path(__file__).parent / "golden"


def _elementwise() -> Graph:
    x, y = tt.dmatrix("x"), tt.fvector("y")
    return [x, y], [x * y]


def _composite() -> Graph:
    x = tt.fvector("x")
    return [x], [tt.softplus(2 * x) - 1]


def _reduction() -> Graph:
    x = tt.bmatrix("x")
    return [x], [x.sum(axis=0)]


def _fused_reduction() -> Graph:
    x, y = tt.dmatrix("x"), tt.dmatrix("y")
    return [x, y], [tt.sqr(x - y).sum(axis=1)]


def _indexing() -> Graph:
    x, i = tt.dmatrix("x"), tt.lvector("i")
    return [x, i], [x[i, ::-2]]


def _joining() -> Graph:
    x, y = tt.dmatrix("x"), tt.dmatrix("y")
    return [x, y], [tt.concatenate([x, y], axis=1)]


def _product() -> Graph:
    x, w = tt.dmatrix("x"), tt.dmatrix("w")
    return [x, w], [tt.dot(x, w)]


def _matrices() -> Graph:
    x, b = tt.dmatrix("x"), tt.dmatrix("b")
    return [x, b], [tt.LUSolve()(*tt.LUFactor()(x), b)]


def _conditional() -> Graph:
    c, x = tt.bscalar("c"), tt.dvector("x")
    return [c, x], [tt.ifelse(c, tt.exp(x), x[::-1])]


def _shape() -> Graph:
    x = tt.dmatrix("x")
    return [x], [tt.exp(x).shape[1] * 2]


def _in_place() -> Graph:
    x = tt.dvector("x")
    return [x], [tt.set_subtensor(tt.exp(x)[1:], 0.0)]


GRAPHS: dict[str, Callable[[], Graph]] = {
    build.__name__.removeprefix("_"): build
    for build in (
        _elementwise, _composite, _reduction, _fused_reduction, _indexing, _joining, _product, _conditional, _shape,
        _in_place, _matrices,
    )
}  # fmt: skip


class _Named(Library):
    """Names the helpers that a text needs, in place of their definitions."""

    def helpers(self, text: str) -> dict[str, str]:
        return {"": f"/* uses {', '.join(super().helpers(text))} */\n"}


def written(name: str) -> str:
    """Return a graph's C text as mode C writes it on any machine: without vector math and without threads."""
    fgraph = FunctionGraph(*GRAPHS[name]())
    with config.change_flags(blas__ldflags=""):
        get_mode("C").optimizer.rewrite(fgraph)
        text = Assembly(write_unit(fgraph)).text(_Named(frozenset()))
    return text.removeprefix(HEADERS).replace(CODES, "").replace(TYPES, "")


def main() -> None:
    """Write the files."""
    FOLDER.mkdir(exist_ok=True)
    for name in GRAPHS:
        (FOLDER / f"{name}.c").write_text(written(name), encoding="utf-8")


if __name__ == "__main__":
    main()
