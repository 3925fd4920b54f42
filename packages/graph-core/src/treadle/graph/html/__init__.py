"""The machinery of `html_page`: one self-contained HTML page for a graph.

Layout and drawing are those of Netron, the viewer that the field uses for trained networks. It was chosen because it
is a plain wheel without dependencies that is released every few weeks under the MIT licence; because it ships its
layered layout (``dagre.js``) and its SVG drawing (``grapher.js``) as two readable modules without a build step, which
a page can carry verbatim; and because that layout runs in the browser, in a worker, so that collapsing and expanding
lay the graph out anew without a network. Weighed against it: ipyelk ships the finer layout of ELK, but as a 2 MB
compiled worker under the EPL, and needs Jupyter; the Cytoscape packages bundle their layouts into the components of
other frameworks; pyvis and bokeh have no layered layout; igraph and grandalf lay out in Python only, once.
Netron does not promise that its modules stay as they are: `sources` checks them before use, and the tests in
``tests/browser`` run them.

The pages themselves are made in three steps: `records` writes a graph as plain data, `firings` matches the rules of a
rewrite to it, and `document` puts data, style, program and library into one file. The program is in ``assets``.
"""

from treadle.graph.html.pages import GraphPage, d3viz, html_comparison, html_fragment, html_page, write_html

__all__ = ["GraphPage", "d3viz", "html_comparison", "html_fragment", "html_page", "write_html"]
