"""The array API standard's own suite, run on `treadle.tensor.array_api`, and the page with its score.

``python -m tools.array_api SUITE`` runs the suite of a checkout of data-apis/array-api-tests, with its submodule, once
with lengths that are known when the graph is built and once without, and writes the score and the page.
"""

from __future__ import annotations

import csv
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/array_api.md"
FOLDER = ROOT / "tests/array_api"
SCORE = FOLDER / "score.tsv"
EXCEPTIONS = FOLDER / "exceptions.tsv"
VERSION = "2024.12"
ADAPTER = "tests.array_api.evaluated"
LENGTHS = ("known", "unknown")


class Outcome(NamedTuple):
    """What became of the tests of the suite: for each, ``passed``, ``failed`` or ``skipped``."""

    tests: Mapping[str, str]

    def counts(self) -> dict[str, Counter[str]]:
        """Return for each file of the suite how many tests ended how."""
        counts: dict[str, Counter[str]] = {}
        for name, outcome in self.tests.items():
            counts.setdefault(name.partition("::")[0], Counter())[outcome] += 1
        return counts

    def unexpected(self, reasons: Mapping[str, str]) -> list[str]:
        """Return the tests that failed and are no exceptions."""
        return [n for n, outcome in self.tests.items() if outcome == "failed" and reason_of(n, reasons) is None]


def reason_of(test: str, reasons: Mapping[str, str]) -> str | None:
    """Return why a test is an exception: the reason of its name, or of what its name begins with."""
    return next((reason for start, reason in reasons.items() if test.startswith(start)), None)


def exceptions() -> dict[str, str]:
    """Return the reasons of the exceptions by the beginnings of the tests' names."""
    with EXCEPTIONS.open(encoding="utf-8") as file:
        return {row["test"]: row["reason"] for row in csv.DictReader(file, delimiter="\t")}


def run(suite: Path, lengths: str, examples: int, files: str = "array_api_tests") -> Outcome:
    """Run the suite, or one of its files, on arrays whose types know all lengths, or none."""
    environment = os.environ | {
        "ARRAY_API_TESTS_MODULE": ADAPTER,
        "ARRAY_API_TESTS_VERSION": VERSION,
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(suite), os.environ.get("PYTHONPATH", "")]),
        "TREADLE_ARRAY_API_LENGTHS": lengths,
    }
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        options = ["-q", "-p", "no:cacheprovider", "--tb=short", f"--junitxml={report}"]
        options += [
            "--hypothesis-disable-deadline",
            "--hypothesis-derandomize",
            f"--hypothesis-max-examples={examples}",
        ]
        command = [sys.executable, "-m", "pytest", *options, files]
        subprocess.run(command, cwd=suite, env=environment, check=False)
        return Outcome(_read(report))


def _read(report: Path) -> dict[str, str]:
    """Return what became of each test of a report in JUnit's form."""
    tests = {}
    for case in ET.parse(report).iter("testcase"):
        file = case.get("classname", "").split(".")[1]
        ended = {child.tag for child in case}
        outcome = "failed" if ended & {"failure", "error"} else "skipped" if "skipped" in ended else "passed"
        tests[f"{file}.py::{case.get('name')}"] = outcome
    return tests


def write_score(outcomes: Mapping[str, Outcome]) -> None:
    """Write how many tests of each file passed, failed or were skipped."""
    with SCORE.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter="\t", lineterminator="\n")
        writer.writerow(["lengths", "file", "passed", "failed", "skipped"])
        for lengths, outcome in outcomes.items():
            for name, counts in sorted(outcome.counts().items()):
                writer.writerow([lengths, name, *(counts[end] for end in ("passed", "failed", "skipped"))])


def page() -> str:
    """Return the page: its own words, the score, the exceptions."""
    words = PAGE.read_text(encoding="utf-8").partition("## The score\n")[0]
    with SCORE.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    score = {lengths: {r["file"]: r for r in rows if r["lengths"] == lengths} for lengths in LENGTHS}
    lines = [
        words.rstrip(),
        "",
        "## The score",
        "",
        "Tests of the standard's suite that pass, fail, and are skipped by the suite itself, once with lengths known",
        "when the graph is built and once without.",
        "",
        "| file | lengths known | unknown |",
        "|---|---|---|",
    ]
    lines += [
        f"| `{name}` | {' | '.join(_counted(score[lengths].get(name)) for lengths in LENGTHS)} |"
        for name in sorted(set().union(*score.values()))
    ]
    lines.append(f"| all | {' | '.join(_counted(_total(score[lengths])) for lengths in LENGTHS)} |")
    lines += ["", "## The exceptions", "", "| test | reason |", "|---|---|"]
    lines += [f"| `{test}` | {reason} |" for test, reason in exceptions().items()]
    return "\n".join(lines) + "\n"


def _total(files: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    return {end: str(sum(int(row[end]) for row in files.values())) for end in ("passed", "failed", "skipped")}


def _counted(row: Mapping[str, str] | None) -> str:
    return "" if row is None else f"{row['passed']}, {row['failed']}, {row['skipped']}"


def main(arguments: list[str]) -> int:
    """Run the suite, write score and page, and name the tests that fail and are no exceptions."""
    suite = Path(arguments[0]).resolve()
    examples = int(arguments[1]) if len(arguments) > 1 else 5
    outcomes = {lengths: run(suite, lengths, examples) for lengths in LENGTHS}
    write_score(outcomes)
    PAGE.write_text(page(), encoding="utf-8")
    unexpected = [f"{lengths}: {test}" for lengths in LENGTHS for test in outcomes[lengths].unexpected(exceptions())]
    for line in unexpected:
        sys.stderr.write(f"{line}\n")
    return 1 if unexpected else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
