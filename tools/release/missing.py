"""What is missing for a release that is more than a dry run."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tools.release.dry_run import RECORD
from tools.release.environments import ROOT, run
from tools.release.pythons import VERSIONS
from tools.release.workspace import Changes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from tools.release.workspace import Project

# Distributions with wheels for one platform and Python, and the command that builds these.
COMPILED = {"link-c-support": "./dev support-wheel"}
# Other projects have these names on the public index (README, "Installing them elsewhere").
TAKEN = ("compile", "config", "linalg", "rewrite", "tensor")


def missing(projects: Sequence[Project]) -> Iterator[str]:
    """Yield what has to be done before, each as a sentence."""
    yield from _of_versions(projects)
    yield from _of_the_checkout(projects)
    record: dict[str, Any] = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.is_file() else {}
    yield from of_the_record(record, run(["git", "rev-parse", "HEAD"]).strip())
    yield from of_compiled_wheels(projects, ROOT / "dist")
    names = ", ".join(name for name in TAKEN if name in {project.name for project in projects})
    if names:
        yield (
            f"A place to publish to: on the public index the names {names} belong to other projects, so that "
            "it needs an index of its own, or other names."
        )
    yield "Somebody who may publish there, with the means to prove it: ./dev holds none, and uploads nothing."


def _of_versions(projects: Sequence[Project]) -> Iterator[str]:
    """Yield the versions that are to be raised, and addresses that are to be named."""
    for project in projects:
        lines = Changes.read(project.folder / "CHANGELOG.md").unreleased
        if lines:
            yield (
                f"{project.name}: unreleased changes ({len(lines)}) need a version above {project.version} in "
                "CHANGELOG.md and pyproject.toml."
            )
    silent = [project.name for project in projects if not project.metadata.get("urls")]
    if silent:
        yield f"[project.urls] of {len(silent)} distributions: none says where its sources and documentation are."


def _of_the_checkout(projects: Sequence[Project]) -> Iterator[str]:
    """Yield what git says against it."""
    if run(["git", "status", "--porcelain"]).strip():
        yield "A clean checkout: there are changes that no commit has."
    tags = set(run(["git", "tag", "--points-at", "HEAD"]).split())
    lacking = [f"{project.name}-{project.version}" for project in projects]
    lacking = [tag for tag in lacking if tag not in tags]
    if lacking:
        yield f"Tags of this commit, one for each distribution that is released: {', '.join(lacking)}."


def of_compiled_wheels(projects: Sequence[Project], folder: Path) -> Iterator[str]:
    """Yield the distributions that have wheels with compiled files, but none of their version in a folder."""
    for project in projects:
        if project.name in COMPILED and not any(
            wheel for wheel in folder.glob(f"{project.stem}-*.whl") if not wheel.stem.endswith("-any")
        ):
            yield (
                f"{project.name}: a wheel with compiled files for each Python and platform, of which {folder.name} has "
                f"none: {COMPILED[project.name]}."
            )


def of_the_record(record: dict[str, Any], commit: str) -> Iterator[str]:
    """Yield what the last dry run does not show."""
    if not record:
        yield "A dry run without faults: ./dev release --dry-run."
        return
    if record["commit"] != commit or not record["clean"]:
        yield "A dry run of this commit: the last one was of another, or of a checkout with changes."
    if not record["whole"]:
        yield "A whole dry run: the last one was made with --quick, --without-torch, --pages or --only."
    if record["faults"]:
        yield f"A dry run without faults: the last one found {len(record['faults'])}."
    untried = [version for version in VERSIONS if version not in record["pythons"]]
    if untried:
        yield f"A dry run on Python {', '.join(untried)}: the last one had none."
