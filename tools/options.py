"""Write docs/options.md, every option and its meaning."""

from __future__ import annotations

from pathlib import Path

from treadle.config import Option, config
from treadle.config.owners import OWNERS

PAGE = Path(__file__).resolve().parents[1] / "docs" / "options.md"

HEAD = """\
# Options

Written by `./dev pages`.

`config.NAME` reads an option, `config.NAME = value` assigns it for the process, and `config.change_flags(NAME=value)`
gives it another value in a block or function, for one thread or task. From outside, it is set by
`TREADLE_FLAGS="NAME=value,NAME=value"` and by the file `~/.treadlerc`, or the files that `TREADLERC` names:

```ini
[global]
floatX = float32

[compile]
wait = 3
```

Of `section__option`, the file's `[section]` and `config.section.option` stand for the first part. The innermost block
wins over an assignment, that over `TREADLE_FLAGS`, that over files (the later ones first), and these over the default.
`print(config)` and `treadle config` show every option with its value and where that comes from.

*Fixed by use*: assignment is refused after the option was first read. *Block*: `change_flags` works all the same. The
options of the last table are accepted for the sake of existing set-ups; setting one to something else than its default
warns once.
"""


def cell(text: str) -> str:
    """Return a text as it may stand in a table."""
    return " ".join(text.split()).replace("|", "\\|")


def default(option: Option[object]) -> str:
    """Return the default, in words where it depends on the machine."""
    return option.describe_default() if callable(option.default) else f"`{option.describe_default()}`"


def traits(option: Option[object]) -> str:
    """Return what is special about the option."""
    notes = []
    if option.read_only:
        notes.append("Fixed by use; block." if option.scoped else "Fixed by use.")
    if not option.affects_code:
        notes.append("Not in cache keys.")
    return " ".join(notes)


def page() -> str:
    """Return the page's text."""
    ours = [option for option in config.options() if option.name in OWNERS]
    lines = [HEAD]
    for owner in sorted({option.owner for option in ours}):
        lines += [f"## {owner}", "", "| option | default | values | meaning | |", "|---|---|---|---|---|"]
        lines += [
            f"| `{option.name}` | {cell(default(option))} | {cell(option.kind.allowed)} | {cell(option.doc)} "
            f"| {cell(traits(option))} |"
            for option in ours
            if option.owner == owner and not option.no_effect
        ]
        lines.append("")
    lines += ["## Options without effect", "", "| option | of | default | values | why |", "|---|---|---|---|---|"]
    lines += [
        f"| `{option.name}` | {option.owner} | {cell(default(option))} | {cell(option.kind.allowed)} "
        f"| {cell(option.no_effect)} |"
        for option in ours
        if option.no_effect
    ]
    return "\n".join([*lines, ""])
