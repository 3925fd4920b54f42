"""Pages as cells of notebooks: nothing of a page's code is lost, and nothing leads to where a reader is not."""

from __future__ import annotations

import ast
import doctest
import re
from typing import TYPE_CHECKING

import pytest

from tools.notebooks import DOCS, PAGES
from tools.notebooks import cells as pages
from tools.notebooks.cells import OMIT, Cell, cells, page_of

if TYPE_CHECKING:
    from pathlib import Path

PAGE = f"""# A title

Some {{py:func}}`a.b` text with [a link](tensors.md#shapes), [another](../guide/speed.md), [a third](https://a.org/x)
and `v[0](1)`.

{OMIT}
Copy it with
the button.

```pycon
>>> a = 1
>>> def f(x):
...     return x
>>> f(a)
1
>>> f(
Traceback (most recent call last):
    ...
some.module.SomeError: why
>>> b = 2

```

![a picture](picture.png)

```sh
run it
```

```python
c = 3
d = 4
```

:::{{toctree}}
elsewhere
:::
"""


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(pages, "DOCS", tmp_path)
    (tmp_path / "tutorial").mkdir()
    (tmp_path / "tutorial" / "mine.md").write_text(PAGE, encoding="utf-8")
    return "tutorial/mine"


def test_a_page_becomes_cells(page: str) -> None:
    assert cells(page) == [
        Cell(
            "markdown",
            "# A title\n\nSome `a.b` text with [a link](tensors.ipynb), another, [a third](https://a.org/x)\n"
            "and `v[0](1)`.",
        ),
        Cell("code", "a = 1\ndef f(x):\n    return x\nf(a)", "1\n"),
        Cell("code", "f(", "Traceback (most recent call last):\n    ...\nsome.module.SomeError: why\n", "SomeError"),
        Cell("code", "b = 2"),
        Cell("markdown", "```sh\nrun it\n```"),
        Cell("code", "c = 3\nd = 4"),
    ]


def test_every_tutorial_is_a_notebook() -> None:
    tutorials = {f"tutorial/{path.stem}" for path in DOCS.glob("tutorial/*.md")} - {"tutorial/index"}
    assert tutorials <= set(PAGES)
    assert len({name.rpartition("/")[2] for name in PAGES}) == len(PAGES), "notebooks lie in one folder"


@pytest.mark.parametrize("name", PAGES)
def test_the_code_of_a_page_is_that_of_its_notebook(name: str) -> None:
    text = page_of(name).read_text(encoding="utf-8")
    sessions = doctest.DocTestParser().get_examples(text)
    made = [cell for cell in cells(name) if cell.kind == "code"]
    assert "\n".join(cell.text for cell in made) == "\n".join(each.source.rstrip("\n") for each in sessions)
    assert [cell.want for cell in made if cell.want] == [each.want for each in sessions if each.want]
    for cell in made:
        ast.parse(cell.text)


@pytest.mark.parametrize("name", PAGES)
def test_a_notebook_has_no_words_for_the_site_only(name: str) -> None:
    prose = "\n".join(cell.text for cell in cells(name) if cell.kind == "markdown")
    assert prose.startswith("# ")
    assert not re.findall(
        r"^:::|\{py:|!\[|<!--|\]\((?!https?:|\w+\.ipynb\))", re.sub(r"`[^`]*`", "", prose), re.MULTILINE
    )
