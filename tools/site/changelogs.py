"""Write the pages of changes: one for each distribution, which includes its CHANGELOG.md."""

from __future__ import annotations

from pathlib import Path

from tools.site import ROOT

HEAD = [
    "Changes",
    "=======",
    "",
    "Each distribution has its own versions and its own list of changes.",
    "",
    ".. toctree::",
    "   :maxdepth: 1",
    "",
]


def write(folder: Path) -> None:
    """Write the pages into an empty folder."""
    names = [path.parent.name for path in sorted(ROOT.glob("packages/*/CHANGELOG.md"))]
    (folder / "index.rst").write_text(
        "\n".join([*HEAD, *(f"   {name} <{name}>" for name in names), ""]), encoding="utf-8"
    )
    for name in names:
        body = [name, "=" * len(name), "", f".. include:: /../packages/{name}/CHANGELOG.md", "   :start-line: 1"]
        text = "\n".join([*body, "   :parser: myst_parser.sphinx_", ""])
        (folder / f"{name}.rst").write_text(text, encoding="utf-8")
