"""Build the site: what `./dev docs` runs. `./dev docs links` looks whether the addresses that pages link to answer."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from sphinx.cmd.build import main as sphinx

from tools.notebooks import writing as notebooks
from tools.site import DOCS, ROOT, SITE, changelogs, gallery, reference

# Pages that are written at each build, by the folder of docs/ that holds them; git ignores these folders.
GENERATED = {
    "reference/generated": reference.write,
    "gallery": gallery.write,
    "changelogs": changelogs.write,
    "notebooks": notebooks.write,
}


def write_pages() -> None:
    """Write the generated pages anew. A file that stays as it was is left alone, so that Sphinx need not read it."""
    for name, write in GENERATED.items():
        folder = DOCS / name
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as place:
            new = Path(place)
            write(new)
            texts = {path.name: path.read_bytes() for path in new.iterdir()}
        for path in folder.iterdir():
            if texts.get(path.name) == path.read_bytes():
                del texts[path.name]
            elif path.name not in texts:
                path.unlink()
        for file, text in texts.items():
            (folder / file).write_bytes(text)


def main() -> int:
    """Build, with warnings as errors, or check links to other sites."""
    parser = argparse.ArgumentParser(prog="./dev docs", description="Build the site of docs/ into site/.")
    parser.add_argument("what", nargs="?", choices=("build", "links"), default="build", help="links needs a network")
    parser.add_argument("--fresh", action="store_true", help="forget what earlier builds have read")
    options = parser.parse_args()
    write_pages()
    builder = "html" if options.what == "build" else "linkcheck"
    target = SITE / builder
    flags = ["-W", "--keep-going", "-q", "-j", "auto", *(["-E", "-a"] if options.fresh else [])]
    status: int = sphinx(["-b", builder, *flags, "-d", str(SITE / "read"), str(DOCS), str(target)])
    if not status:
        sys.stderr.write(
            f"dev: {target.relative_to(ROOT) / 'index.html'}\n" if builder == "html" else "dev: all answer.\n"
        )
    return status


if __name__ == "__main__":
    sys.exit(main())
