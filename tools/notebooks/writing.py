"""Write pages as notebooks: files that Jupyter opens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import nbformat

from tools.notebooks import PAGES
from tools.notebooks.cells import cells

if TYPE_CHECKING:
    from pathlib import Path

_METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def notebook(name: str) -> Any:
    """Return the notebook of a page, without outputs; the same page gives the same notebook."""
    made = nbformat.v4.new_notebook(metadata=_METADATA)
    for number, cell in enumerate(cells(name)):
        options: dict[str, Any] = {"id": f"{number:03}"}
        if cell.kind == "markdown":
            made.cells.append(nbformat.v4.new_markdown_cell(cell.text, **options))
            continue
        if cell.error is not None:
            # The error is what the cell is to show: the cells below it run all the same.
            options["metadata"] = {"tags": ["raises-exception"]}
        made.cells.append(nbformat.v4.new_code_cell(cell.text, **options))
    nbformat.validate(made)
    return made


def write(folder: Path) -> None:
    """Write the notebook of each page into a folder."""
    for name in PAGES:
        path = folder / f"{name.rpartition('/')[2]}.ipynb"
        path.write_text(nbformat.writes(notebook(name)) + "\n", encoding="utf-8")
