"""Settings of Sphinx for the site; `./dev docs` writes the generated pages first and then runs it.

Formulas are written as code (``sum(w * r**2)``), so that no page needs MathJax, which Sphinx would fetch when a reader
opens the page. Nothing else is fetched either: fonts, icons and scripts are the theme's own files, and the search runs
on an index beside the pages. A test of the built site looks for addresses that a page would load from.
"""

from __future__ import annotations

import re

from docutils import nodes

from tools.notebooks import PAGES

project = "treadle"
author = "the treadle authors"
project_copyright = "the treadle authors"

extensions = ["myst_parser", "sphinx_design", "sphinx_copybutton"]
root_doc = "index"
exclude_patterns = ["site_assets", "pictures"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
nitpicky = True
default_role = "literal"
suppress_warnings = ["myst.header"]  # lists of changes begin below the title of their page
highlight_language = "python"
toc_object_entries_show_parents = "hide"
pygments_style = "default"

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4
myst_links_external_new_tab = False

html_theme = "pydata_sphinx_theme"
html_title = "treadle"
html_static_path = ["site_assets"]
html_css_files = ["site.css"]
# After the settings of Sphinx's search, before it runs.
html_js_files = [("search_in_files.js", {"priority": 300})]
html_show_sourcelink = False
html_copy_source = False
html_show_sphinx = False
html_last_updated_fmt = None
html_permalinks_icon = "#"
html_sidebars = {"index": []}
html_theme_options = {
    "logo": {"text": "treadle"},
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "navbar_end": ["theme-switcher"],
    "navbar_persistent": ["search-button"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_toc_level": 2,
    "show_nav_level": 1,
    "navigation_depth": 3,
    "back_to_top_button": False,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}

# Sessions are copied as programs: without prompts, and without what they print.
copybutton_prompt_text = r">>> |\.\.\. "
copybutton_prompt_is_regexp = True
copybutton_only_copy_prompt_lines = True

# What `./dev docs links` leaves alone: addresses inside of examples.
linkcheck_ignore = [r"http://localhost"]

# Files of the repository that are read there by their names, and on the site as pages.
_PAGES = {"CONTRIBUTING.md": "contributing/index.md", "README.md": "index.md"}
_LINK = re.compile(r"\]\((?P<up>(?:\.\./)+)(?P<name>CONTRIBUTING\.md|README\.md)(?P<anchor>#[^)]*)?\)")


def _lead_to_pages(_, docname, source):
    """Let links to files at the top of the repository lead to the pages that stand for them."""
    depth = docname.count("/")

    def page(link):
        if link["up"].count("../") != depth + 1:
            return link[0]
        anchor = link["anchor"] if link["anchor"] and link["name"] == "CONTRIBUTING.md" else ""
        return f"]({'../' * depth}{_PAGES[link['name']]}{anchor})"

    source[0] = _LINK.sub(page, source[0])


def _offer_notebook(_, docname, source):
    """Put the page as a notebook, which `tools.notebooks` has written, below the title of the page."""
    if docname in PAGES:
        title, _, rest = source[0].partition("\n")
        offer = f"{{download}}`Open as notebook </notebooks/{docname.rpartition('/')[2]}.ipynb>`"
        source[0] = f"{title}\n\n{offer}\n{rest}"


def _trim(_, document):
    """Take the blank line from the end of each session, which doctest needs and readers do not."""
    for block in document.findall(nodes.literal_block):
        if block.get("language") == "pycon":
            block.rawsource = block.astext().rstrip()
            block.children = [nodes.Text(block.rawsource)]


def setup(app):
    """Add what reads the pages."""
    app.connect("source-read", _lead_to_pages)
    app.connect("source-read", _offer_notebook)
    app.connect("doctree-read", _trim)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
