"""Graphs as interactive HTML pages. The modules that write them are loaded with the first page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.config import lazy_module

if TYPE_CHECKING:
    import pathlib
    from os import PathLike

    from treadle.graph.html import document, records
else:
    pathlib = lazy_module("pathlib")
    document = lazy_module("treadle.graph.html.document")
    records = lazy_module("treadle.graph.html.records")


def html_page(graph: object, *, title: str | None = None, profile: object = None) -> str:
    """Return an HTML page that shows a graph: one file, which needs no network.

    The page can be panned, zoomed and searched, collapsed by name scope and by depth, and shows for each node its op,
    parameters, types, shapes, user line and time. What it draws at once is limited (about 300 boxes at first, 3,000 at
    most); everything can be searched and reached. It is written in time linear in the graph.

    Parameters
    ----------
    graph
        A variable, node, FunctionGraph, compiled function, or a sequence of variables and nodes.
    title
        Title of the page; the name of the function or variable if None.
    profile
        Seconds by node: a mapping, or an object that has one as ``apply_time``. Keys may be (graph, node).

    Raises
    ------
    DrawingLibraryError
        If the library that lays out and draws is not installed: the extra ``graph-core[html]``.
    GraphTypeError
        If `graph` is none of the things above.

    Examples
    --------
    >>> x, y = tt.dscalar("x"), tt.dscalar("y")
    >>> html_page(x + y).splitlines()[0]
    '<!doctype html>'
    """
    return document.page(records.record(graph, None, profile), title)


def html_comparison(before: object, after: object, report: object = (), *, title: str | None = None) -> str:
    """Return an HTML page that shows two graphs side by side, with the rules that led from one to the other.

    Parameters
    ----------
    before, after
        Graphs, as for `html_page`.
    report
        The rules that fired: the report of a rewrite (anything that has ``firings``), or the firings themselves.
        A firing is an object with ``rule`` and, where known, ``op``, ``user_line``, ``phase``, ``node`` and ``after``
        (the nodes that came instead), or a tuple ``(rule, node, nodes after, user line)``, or just the rule's name.
        A rule is matched to nodes by the nodes it names, else by its user line and op.
    title
        Title of the page.

    Raises
    ------
    DrawingLibraryError, GraphTypeError
        As for `html_page`.

    Examples
    --------
    >>> x, y = tt.dscalar("x"), tt.dscalar("y")
    >>> html_comparison(x + 0, x).splitlines()[0]
    '<!doctype html>'
    """
    pair = document.Comparison(records.record(before), records.record(after), report)
    return document.page(pair, title)


def write_html(graph: object, path: str | PathLike[str], *, title: str | None = None, profile: object = None) -> None:
    """Write the page that `html_page` makes to a file, in UTF-8.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import treadle.tensor as tt
    >>> x = tt.dvector("x")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = pathlib.Path(folder) / "graph.html"
    ...     tt.write_html(tt.exp(x) * x, page)
    ...     page.read_text(encoding="utf-8").startswith("<!doctype html>")
    True
    """
    text = html_page(graph, title=title, profile=profile)
    # A name may hold half of a pair of surrogates, which no file can.
    pathlib.Path(path).write_text(text, encoding="utf-8", errors="backslashreplace")


def d3viz(fct: object, outfile: str | PathLike[str], copy_deps: bool = True) -> None:
    """Write an interactive page of a graph or function: `write_html` under a documented older name.

    Parameters
    ----------
    fct
        A graph, as for `html_page`.
    outfile
        The file.
    copy_deps
        Accepted and without effect: the page holds all it needs.
    """
    del copy_deps
    write_html(fct, outfile)


class GraphPage:
    """The page of a graph, which a notebook shows where it is the value of a cell.

    Parameters
    ----------
    graph
        A graph, as for `html_page`.
    height
        Of the frame in a notebook, in pixels.

    Examples
    --------
    >>> x, y = tt.dscalar("x"), tt.dscalar("y")
    >>> GraphPage(x + y)._repr_html_()[:7]
    '<iframe'
    """

    def __init__(self, graph: object, height: int = 480) -> None:
        self._graph = graph
        self._height = height

    def save(self, path: str | PathLike[str], **options: Any) -> None:
        """Write the page to a file (options as for `write_html`)."""
        write_html(self._graph, path, **options)

    def _repr_html_(self) -> str:
        """Show the page in a notebook."""
        return html_fragment(self._graph, height=self._height)

    def __repr__(self) -> str:
        return f"<page of {self._graph}: a notebook shows it, save(path) writes it to a file>"


def html_fragment(graph: object, *, height: int = 480) -> str:
    """Return the HTML that a notebook shows of the page of a graph.

    The page in a frame of its own; the text of `debugprint` with a note where the library is not installed, or
    where the graph is too large for a notebook.

    Parameters
    ----------
    graph
        A graph, as for `html_page`.
    height
        Of the frame, in pixels.

    Examples
    --------
    >>> x, y = tt.dscalar("x"), tt.dscalar("y")
    >>> html_fragment(x + y)[:7]
    '<iframe'
    """
    return document.notebook_fragment(graph, height)
