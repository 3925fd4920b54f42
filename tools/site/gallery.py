"""Write the gallery: a card for each program of examples/ with a picture, and a page with its text."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tools.site import ROOT

EXAMPLES = ROOT / "examples"
HEAD = [
    "Gallery",
    "=======",
    "",
    "Programs on real or simulated data. Each is one file of ``examples/`` and is run by ``./dev run python FILE``;",
    "those with a picture save it. A card leads to the whole program.",
    "",
    ".. grid:: 1 2 2 3",
    "   :gutter: 3",
    "   :class-container: gallery",
    "",
]


def write(folder: Path) -> None:
    """Write the pages into an empty folder, those without a picture last."""
    programs = sorted(EXAMPLES.glob("*.py"), key=lambda path: (not path.with_suffix(".png").exists(), path.name))
    cards = [line for path in programs for line in _card(path)]
    names = [f"   {path.stem}" for path in programs]
    tree = [".. toctree::", "   :hidden:", "", *names, ""]
    (folder / "index.rst").write_text("\n".join([*HEAD, *cards, *tree]), encoding="utf-8")
    for path in programs:
        (folder / f"{path.stem}.rst").write_text("\n".join(_page(path)), encoding="utf-8")


def about(path: Path) -> tuple[str, str]:
    """Return the first sentence of a program's docstring and the rest of it."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or path.stem
    first, _, rest = text.partition("\n\n")
    return " ".join(first.split()), rest


def title(path: Path) -> str:
    """Return a title made of a file's name."""
    words = path.stem.replace("_", " ")
    known = {"char lstm": "LSTM over characters", "digits cnn": "CNN that reads digits", "garch": "GARCH"}
    known |= {"fft denoise": "Denoising by FFT", "ode fit": "Rates of an ODE", "pymc radon": "Radon, with PyMC"}
    return known.get(words, words.capitalize())


def _card(path: Path) -> Iterator[str]:
    yield f"   .. grid-item-card:: {title(path)}"
    yield f"      :link: {path.stem}"
    yield "      :link-type: doc"
    picture = path.with_suffix(".png")
    if picture.exists():
        yield f"      :img-top: /../examples/{picture.name}"
        yield f"      :img-alt: What {path.name} draws"
    yield ""
    yield f"      {_plain(about(path)[0])}"
    yield ""


def _page(path: Path) -> Iterator[str]:
    head, rest = about(path)
    yield from (title(path), "=" * len(title(path)), "", _plain(head), "", *_paragraphs(rest), "")
    picture = path.with_suffix(".png")
    if picture.exists():
        yield from (f".. image:: /../examples/{picture.name}", f"   :alt: What {path.name} draws", "   :width: 90%", "")
    yield from (f".. literalinclude:: /../examples/{path.name}", "   :language: python", "")


def _paragraphs(text: str) -> Iterator[str]:
    for block in text.split("\n\n"):
        if block.startswith((" ", ">>>", "\t")):
            yield from ("::", "", *(f"   {line}" for line in block.splitlines()), "")
        else:
            yield from (_plain(block), "")


def _plain(text: str) -> str:
    """Escape what is special to reStructuredText; backticks mean code."""
    pieces = text.replace("``", "`").split("`")
    outside = [piece.replace("\\", "\\\\").replace("*", "\\*").replace("|", "\\|") for piece in pieces[::2]]
    return "".join(
        part if not position % 2 else f"``{part}``"
        for position, part in enumerate(
            piece for pair in zip(outside, [*pieces[1::2], ""], strict=False) for piece in pair
        )
        if part or not position % 2
    ).replace("::\n", ":\n")
