"""Generated pages are fresh."""

from __future__ import annotations

import subprocess
import sys
from difflib import unified_diff
from pathlib import Path

import numpy as np
import pytest

from tests.repo.tree import ROOT
from tools import coverage, distributions, documented, from_pytensor, ops, rules
from tools.errors import pages as error_pages
from tools.pages import PAGES


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_generated_page_is_up_to_date(path: Path) -> None:
    assert path.read_text(encoding="utf-8") == PAGES[path](), "run ./dev pages"


def test_every_entry_of_the_reference_list_is_mapped() -> None:
    assert len(rules.rows()) == 577


def test_every_documented_name_and_entry_is_pinned_by_a_test() -> None:
    assert documented.unpinned() == []
    assert [entry.number for entry in documented.entries()] == [
        f"{letter}{number}" for letter, count in (("M", 22), ("P", 22), ("F", 49)) for number in range(1, count + 1)
    ]


def test_no_marker_names_what_is_not_documented() -> None:
    assert documented.unknown() == []


def test_every_public_function_has_a_sample_record() -> None:
    assert ops.unchecked() == []


def test_every_name_that_is_missing_has_a_reason_and_no_other() -> None:
    assert coverage.unexplained() == []
    assert coverage.outdated() == []


def test_differences_are_listed_for_names_that_exist() -> None:
    assert from_pytensor.idle() == []


def test_distributions_are_said_to_be_numpys_where_its_method_of_that_name_draws_the_same() -> None:
    rows = [line.split("|") for line in distributions.lines() if line.startswith("| `")]
    of_numpy = {row[1].partition("(")[0].strip(" `"): row[2].strip() for row in rows}
    assert of_numpy["normal"] == "yes"
    assert of_numpy["gamma"] == "other arguments"  # its second argument is the rate
    assert of_numpy["bernoulli"] == "by methods"
    assert all(hasattr(np.random.Generator, name) for name, answer in of_numpy.items() if answer == "yes")


def test_pages_of_errors_are_up_to_date_and_every_public_error_has_one(tmp_path: Path) -> None:
    # Pages show what a new process shows. Writing them runs every program.
    program = f"from pathlib import Path; from tools.errors import pages; pages.write(Path({str(tmp_path)!r}))"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for folder in (error_pages.FOLDER, error_pages.SHIPPED):
        pages, written = (
            {path.name: path.read_text("utf-8").splitlines() for path in (root / folder).glob("*.md")}
            for root in (ROOT, tmp_path)
        )
        differences = (unified_diff(pages.get(name, []), written[name], name) for name in written)
        assert "\n".join(line for difference in differences for line in difference) == "", "run ./dev pages"
        assert set(pages) == set(written)


def test_thirty_mistakes_or_more_are_told_message_by_message() -> None:
    index = (ROOT / error_pages.FOLDER / "index.md").read_text("utf-8")
    assert index.count("Traceback (most recent call last):") >= 30
