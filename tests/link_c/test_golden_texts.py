"""Generated C, compared with committed files."""

import pytest

from tests.link_c.golden_texts import FOLDER, GRAPHS, written


@pytest.mark.parametrize("name", GRAPHS)
def test_text_is_that_of_the_committed_file(name: str) -> None:
    known = (FOLDER / f"{name}.c").read_text(encoding="utf-8")
    assert written(name) == known, "If that is meant: python -m tests.link_c.golden_texts, and read the difference."


def test_each_committed_file_belongs_to_a_graph() -> None:
    assert {file.stem for file in FOLDER.iterdir()} == set(GRAPHS)
