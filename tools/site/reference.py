"""Write the pages of the reference: every public name, with its signature and docstring."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_origin

from tools import ops
from tools.site import DOCS
from tools.site.docstrings import Docstring
from tools.site.inventory import Entry, Page, pages, targets
from treadle.config.errors import TreadleError, TreadleWarning
from treadle.graph import Op
from treadle.tensor import ScalarOp

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# Pages about single errors, if there are any: they hang below the page of all errors.
PAGES_OF_ERRORS = DOCS / "errors"
SHORT = 60  # characters: values whose text is shorter are shown
HEAD = """\
By module
=========

Every public name, with its signature and what it says of itself: what ``help`` shows. Names of ``treadle.tensor`` are
parted by subject. :doc:`/ops` says what each answers to in NumPy or SciPy, where it runs and how exact it is.

.. toctree::
   :hidden:

"""


def write(folder: Path) -> None:
    """Write the pages into an empty folder."""
    names = []
    for page in pages():
        (folder / f"{page.name}.rst").write_text("\n".join([*_page(page), ""]), encoding="utf-8")
        names.append(page.name)
    (folder / "errors.rst").write_text("\n".join([*_errors(), ""]), encoding="utf-8")
    text = HEAD + "".join(f"   {name}\n" for name in names) + "\n".join(["", *_table(pages()), ""])
    (folder / "modules.rst").write_text(text, encoding="utf-8")


def _table(listed: Iterable[Page]) -> Iterator[str]:
    """Yield the table of all pages: title, module, and some of the names."""
    yield from (".. list-table::", "   :header-rows: 1", "", "   * - page", "     - names of", "     - such as")
    for page in listed:
        yield f"   * - :doc:`{page.title} <{page.name}>`"
        yield f"     - ``{page.module}``"
        shown = sorted(page.entries, key=lambda entry: (_kind(entry.value) != "Functions", entry.names[0].isupper()))
        known = [entry.names[0] for entry in shown] or list(page.others)
        yield f"     - {', '.join(f'``{name}``' for name in known[:: max(1, len(known) // 6)][:6])}"


def _heading(title: str, sign: str = "=") -> Iterator[str]:
    yield from (title, sign * len(title), "")


def _page(page: Page) -> Iterator[str]:
    yield from _heading(page.title)
    yield from (f"Names of ``{page.module}``.", "")
    kinds = {"Functions": [], "Classes": [], "Errors and warnings": [], "Values": []}  # type: dict[str, list[Entry]]
    for entry in page.entries:
        kinds[_kind(entry.value)].append(entry)
    several = sum(map(bool, kinds.values())) > 1
    for title, entries in kinds.items():
        if entries and several:
            yield from _heading(title, "-")
        for entry in entries:
            yield from _entry(entry)
    if page.others:
        yield from _heading("Names with their entries elsewhere", "-")
        listed = [f":py:obj:`{name} <{path}>`" for name, path in page.others.items()]
        yield from (", ".join(listed), "")


def _kind(value: Any) -> str:
    if inspect.isclass(value):
        return "Errors and warnings" if issubclass(value, BaseException) else "Classes"
    return "Functions" if callable(value) and get_origin(value) is None else "Values"


def signature(value: Any) -> str:
    """Return the parameters of a function or class, without types; empty where they cannot be known."""
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):
        return ""
    plain = [_plain(parameter) for parameter in found.parameters.values()]
    return str(inspect.Signature(plain))


class _Shown:
    """A default in a signature, by the text that it is shown as."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def _plain(parameter: inspect.Parameter) -> inspect.Parameter:
    default = parameter.default
    if default is not parameter.empty and ("<" in repr(default) or len(repr(default)) > 40):
        default = _Shown(getattr(default, "__name__", None) or "...")
    return parameter.replace(annotation=parameter.empty, default=default)


def _entry(entry: Entry) -> Iterator[str]:
    kind = _kind(entry.value)
    directive = {"Functions": "function", "Classes": "class", "Errors and warnings": "exception"}.get(kind, "data")
    call = signature(entry.value) if kind in {"Functions", "Classes"} else ""
    first, *others = entry.names
    yield f".. py:{directive}:: {entry.module}.{first}{call}"
    yield from (f"               {entry.module}.{name}{call}" for name in others)
    yield ""
    yield from (f"   {line}".rstrip() for line in _body(entry, kind))


def _body(entry: Entry, kind: str) -> Iterator[str]:
    value = entry.value
    if kind == "Values":
        text = repr(value)
        is_plain = len(text) < SHORT and not set(text) & set("<`")
        yield from (f"``{text}``" if is_plain else f"A value of class ``{type(value).__name__}``.", "")
        return
    if kind == "Errors and warnings":
        bases = ", ".join(f"``{base.__name__}``" for base in value.__mro__[1:-3] if base not in _ROOTS) or "none"
        yield from (f"Also: {bases}.", "")
    own = inspect.getdoc(value) if kind == "Functions" else value.__dict__.get("__doc__")
    text = own if isinstance(own, str) else inspect.getdoc(type(value)) or ""
    if kind == "Functions" and text == inspect.getdoc(type(value)):
        # An instance without words of its own: its class, and what a call does.
        text = f"``{value}``, an instance of `{type(value).__name__}`. {_first_paragraph(type(value).__call__)}"
    yield from Docstring(text, targets().get).lines(entry.names[0])
    # Distributions say themselves whose draws they are.
    of_tensors = entry.module.startswith("treadle.tensor") and entry.module != "treadle.tensor.random"
    answer = ops.equivalent(entry.path.removeprefix("treadle.tensor.")) if of_tensors else ""
    if kind == "Functions" and answer and f"``{answer}``" not in text:
        yield from (f"Answers to ``{answer}``.", "")
    if kind == "Classes" and not issubclass(value, Op | ScalarOp):
        yield from _members(entry)


_ROOTS = (TreadleError, TreadleWarning)


def _first_paragraph(function: Any) -> str:
    return " ".join((inspect.getdoc(function) or "").partition("\n\n")[0].split())


def _members(entry: Entry) -> Iterator[str]:
    """Yield the public methods and properties that a class defines, with those of bases that have no entry."""
    shown: set[str] = set()
    for base in entry.value.__mro__:
        if not base.__module__.startswith("treadle."):
            continue
        path = targets().get(base.__name__)
        if base is not entry.value and path and path != entry.path:
            yield from (f"Also has what :py:obj:`{base.__name__} <{path}>` has.", "")
            return
        for name, member in base.__dict__.items():
            if name.startswith("_") or name in shown:
                continue
            shown.add(name)
            value = member.fget if isinstance(member, property) else getattr(entry.value, name, None)
            text = inspect.getdoc(value) if inspect.isroutine(value) else None
            if text is None:
                continue
            yield from _member(name, value, text, isinstance(member, property))


def _member(name: str, value: Any, text: str, is_property: bool) -> Iterator[str]:
    call = "" if is_property else signature(value).replace("(self, ", "(").replace("(self)", "()").replace("(self", "(")
    yield f".. py:{'property' if is_property else 'method'}:: {name}{call.replace('(, ', '(')}"
    yield ""
    yield from (f"   {line}".rstrip() for line in Docstring(text, targets().get).lines(name))


def _errors() -> Iterator[str]:
    """Yield the page of all errors and warnings."""
    yield from _heading("Errors and warnings")
    yield from (
        "Every error of treadle is a ``TreadleError``, and also the builtin error that fits: catch either. A message",
        "says what is wrong, what was given and what to do. :doc:`/guide/errors` shows how to read them.",
        "",
    )
    if any(PAGES_OF_ERRORS.glob("*.md")):
        yield from (".. toctree::", "   :hidden:", "   :glob:", "", f"   /{PAGES_OF_ERRORS.name}/*", "")
    for title, root in (("Errors", TreadleError), ("Warnings", TreadleWarning)):
        yield from _heading(title, "-")
        for error in sorted(_below(root), key=lambda error: error.__name__):
            builtins = [base.__name__ for base in error.__mro__ if base.__module__ == "builtins"]
            text = next(iter((error.__doc__ or "").strip().splitlines()), "")
            path = targets().get(error.__name__)
            name = f":py:obj:`{error.__name__} <{path}>`" if path else f"``{error.__name__}``"
            has_page = (PAGES_OF_ERRORS / f"{error.__name__}.md").exists()
            more = f"; :doc:`more </{PAGES_OF_ERRORS.name}/{error.__name__}>`" if has_page else ""
            yield f"{name} (``{builtins[0]}``, ``{error.__module__}``{more})"
            yield f"   {Docstring(text, targets().get).inline(text) or '..'}"
            yield ""


def _below(root: type) -> set[type]:
    children: list[type] = root.__subclasses__()
    below = {child for child in children if not child.__module__.startswith("tests")}
    return below.union(*(_below(child) for child in below))
