"""./dev release builds in order of dependency, and finds what is wrong with archives: on small trees."""

from __future__ import annotations

import base64
import hashlib
import io
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.repo.tree import ROOT
from tools.release import archives, pythons, suites
from tools.release.follow import blocks, commands, program
from tools.release.missing import of_compiled_wheels, of_the_record
from tools.release.workspace import Changes, Project, ReleaseError, chosen, projects, required

PYPROJECT = """
[project]
name = "{name}"
version = "1.0.0"
description = "Weaves"
readme = "README.md"
requires-python = ">=3.11"
license = "BSD-3-Clause"
license-files = ["LICENSE"]
authors = [{{ name = "The weavers" }}]
classifiers = ["Programming Language :: Python :: 3", "Typing :: Typed"]
dependencies = [{dependencies}]

[tool.uv.build-backend]
module-name = "treadle.{name}"
"""
METADATA = """\
Metadata-Version: 2.4
Name: loom
Version: 1.0.0
Summary: Weaves
Author: The weavers
License-Expression: BSD-3-Clause
License-File: LICENSE
Classifier: Programming Language :: Python :: 3
Classifier: Typing :: Typed
Requires-Dist: yarn>=1.0,<2
Requires-Python: >=3.11
Description-Content-Type: text/markdown

# loom
"""


def distribution(root: Path, name: str, *dependencies: str) -> Project:
    """Make a small distribution below `root`."""
    folder = root / "packages" / name
    package = folder / "src" / "treadle" / name
    package.mkdir(parents=True)
    listed = ", ".join(f'"{entry}"' for entry in dependencies)
    (folder / "pyproject.toml").write_text(PYPROJECT.format(name=name, dependencies=listed))
    (folder / "README.md").write_text(f"# {name}\n")
    (folder / "LICENSE").write_text("Free.\n")
    (package / "__init__.py").write_text('"""Weaves."""\n')
    (package / "py.typed").touch()
    (package / "shuttle.pyi").write_text("speed: int\n")
    return Project(folder)


@dataclass
class Tree:
    """A workspace of two, and archives of the second."""

    root: Path
    loom: Project
    files: dict[str, str] = field(default_factory=dict)  # of the wheel
    metadata: str = METADATA

    @property
    def workspace(self) -> archives.Workspace:
        return archives.Workspace(projects(self.root), "Free.\n")

    def wheel(self, folder: str = "dist") -> Path:
        """Write the wheel."""
        information = "loom-1.0.0.dist-info"
        texts = {
            **self.files,
            f"{information}/METADATA": self.metadata,
            f"{information}/WHEEL": "Tag: py3-none-any\n",
            f"{information}/licenses/LICENSE": "Free.\n",
        }
        rows = [f"{name},sha256={digest(text)},{len(text)}\n" for name, text in texts.items()]
        path = self.root / folder / "loom-1.0.0-py3-none-any.whl"
        path.parent.mkdir(exist_ok=True)
        with zipfile.ZipFile(path, "w") as archive:
            for name, text in texts.items():
                archive.writestr(name, text)
            archive.writestr(f"{information}/RECORD", "".join([*rows, f"{information}/RECORD,,\n"]))
        return path

    def source(self, **more: str) -> Path:
        """Write the source archive."""
        path = self.root / "loom-1.0.0.tar.gz"
        folder = self.loom.folder
        texts = {p.relative_to(folder).as_posix(): p.read_text() for p in folder.rglob("*") if p.is_file()}
        with tarfile.open(path, "w:gz") as archive:
            for name, text in {**texts, "PKG-INFO": self.metadata, **more}.items():
                information = tarfile.TarInfo(f"loom-1.0.0/{name}")
                information.size = len(text.encode())
                archive.addfile(information, io.BytesIO(text.encode()))
        return path

    def faults(self) -> list[str]:
        """Return what is wrong with the wheel."""
        return list(archives.wheel_faults(self.loom, self.wheel(), self.workspace))


def digest(text: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    distribution(tmp_path, "yarn")
    loom = distribution(tmp_path, "loom", "yarn>=1.0,<2")
    return Tree(tmp_path, loom, {name: path.read_text() for name, path in loom.sources().items()})


# ---------------------------------------------------------------- order


def test_what_is_needed_is_built_first(tmp_path: Path) -> None:
    distribution(tmp_path, "cloth", "loom>=1", "yarn>=1", "numpy")
    distribution(tmp_path, "loom", "yarn>=1")
    distribution(tmp_path, "yarn")
    assert [project.name for project in projects(tmp_path)] == ["yarn", "loom", "cloth"]


def test_distributions_that_need_one_another_are_refused(tmp_path: Path) -> None:
    distribution(tmp_path, "loom", "yarn>=1")
    distribution(tmp_path, "yarn", "loom>=1")
    with pytest.raises(ReleaseError, match=r"in a circle, (loom -> yarn -> loom|yarn -> loom -> yarn)\. Make one"):
        projects(tmp_path)


def test_packages_of_the_workspace_come_after_those_that_they_need() -> None:
    names = [project.name for project in projects(ROOT)]
    assert names[0] == "config"
    for project in projects(ROOT):
        needed = {entry.name for entry in project.requirements} & set(names)
        assert {other for other in needed if names.index(other) > names.index(project.name)} == set()


def test_an_installation_brings_along_what_is_needed_and_what_that_needs(tmp_path: Path) -> None:
    distribution(tmp_path, "cloth", "loom>=1", "numpy")
    distribution(tmp_path, "loom", "yarn>=1")
    distribution(tmp_path, "yarn")
    distribution(tmp_path, "dye")
    every = projects(tmp_path)
    cloth = next(project for project in every if project.name == "cloth")
    assert {project.name for project in required(cloth, every)} == {"cloth", "loom", "yarn"}
    assert cloth.packages == ["treadle.cloth"]


def test_an_unknown_package_is_refused_with_those_there_are(tmp_path: Path) -> None:
    distribution(tmp_path, "loom")
    with pytest.raises(ReleaseError, match=r"there is no package 'lomo'\. There are loom\."):
        chosen(projects(tmp_path), ["lomo"])
    with pytest.raises(ReleaseError, match=r"has no packages/\*/pyproject\.toml"):
        projects(tmp_path / "packages")


# ---------------------------------------------------------------- archives


def test_a_good_wheel_has_no_faults(tree: Tree) -> None:
    assert tree.faults() == []


def replaced(old: str, new: str) -> Callable[[Tree], None]:
    """Return a change of the metadata."""

    def change(tree: Tree) -> None:
        assert old in tree.metadata
        tree.metadata = tree.metadata.replace(old, new)

    return change


def with_file(name: str, text: str) -> Callable[[Tree], None]:
    """Return a change of the wheel's files."""
    return lambda tree: tree.files.update({name: text})


def without_type_information(tree: Tree) -> None:
    (tree.loom.folder / "src/treadle/loom/py.typed").unlink()
    del tree.files["treadle/loom/py.typed"]


def with_readme(text: str) -> Callable[[Tree], None]:
    """Return a change of the README, and of the description that is made of it."""

    def change(tree: Tree) -> None:
        (tree.loom.folder / "README.md").write_text(text)
        tree.metadata = tree.metadata.replace("# loom\n", text)

    return change


FAULTS: dict[str, tuple[Callable[[Tree], object], str]] = {
    "name": (replaced("Name: loom", "Name: lomo"), "Name is 'lomo', and pyproject.toml says 'loom'"),
    "version": (replaced("Version: 1.0.0", "Version: 1.0.1"), "Version is '1.0.1'"),
    "python": (replaced(">=3.11", ">=3.12"), "Requires-Python is '>=3.12'"),
    "not a version": (replaced("Version: 1.0.0", "Version: one"), "'one' is invalid"),
    "classifier": (replaced("Classifier: Typing :: Typed\n", ""), "the classifier 'Typing :: Typed' is missing"),
    "bounds": (replaced("yarn>=1.0,<2", "yarn>=1.0"), "the requirement yarn>=1.0 needs a lower and an upper bound"),
    "other version": (replaced("yarn>=1.0,<2", "yarn>=2.0,<3"), "excludes yarn 1.0.0, the version of the workspace"),
    "address": (replaced("yarn>=1.0,<2", "yarn @ file:///yarn"), "is a requirement by address"),
    "description": (replaced("# loom", "# Loom"), "the description is not README.md"),
    "no file": (lambda tree: tree.files.pop("treadle/loom/__init__.py"), "the file treadle/loom/__init__.py of the"),
    "no stub": (lambda tree: tree.files.pop("treadle/loom/shuttle.pyi"), "the stub treadle/loom/shuttle.pyi of the"),
    "foreign": (with_file("treadle/__init__.py", ""), "treadle/__init__.py is inside, which the"),
    "path": (with_file("treadle/loom/shuttle.pyi", f"'{ROOT}/a.py'"), "names a folder of this machine"),
    "climbs": (with_file("../climbs.py", ""), "leads out of the folder"),
    "untyped": (without_type_information, "no py.typed covers treadle.loom"),
    "link": (with_readme("# loom\n[more](docs/more.md)\n"), "links to docs/more.md, which leads nowhere"),
    "open block": (with_readme("# loom\n```python\nx = 1\n"), "a block of code that does not end"),
    "no heading": (with_readme("loom\n"), "does not begin with a heading"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_a_wheel_is_found(tree: Tree, fault: str) -> None:
    change, message = FAULTS[fault]
    change(tree)
    found = tree.faults()
    assert [text for text in found if message in text], found


def test_another_licence_than_that_of_the_workspace_is_found(tree: Tree) -> None:
    workspace = archives.Workspace(projects(tree.root), "Free, with conditions.\n")
    assert list(archives.wheel_faults(tree.loom, tree.wheel(), workspace)) == [
        "the licence LICENSE is another than LICENSE at the root of the workspace"
    ]


def test_a_changed_file_differs_from_its_digest(tree: Tree) -> None:
    wheel = tree.wheel()
    content = wheel.read_bytes().replace(b"speed: int", b"speed: str")
    wheel.write_bytes(content)
    with pytest.raises(zipfile.BadZipFile):
        archives.wheel_files(wheel)
    files = {"loom.py": b"", "RECORD": f"loom.py,sha256={digest('x')},0\nRECORD,,\n".encode()}
    assert list(archives.record_faults(files, "RECORD")) == ["RECORD has another digest of loom.py"]


def test_type_information_of_a_package_covers_what_others_bring_into_it(tmp_path: Path) -> None:
    distribution(tmp_path, "yarn")
    loom = distribution(tmp_path, "loom", "yarn>=1.0,<2")
    text = (loom.folder / "pyproject.toml").read_text().replace('"treadle.loom"', '"treadle.yarn.loom"')
    (loom.folder / "pyproject.toml").write_text(text)
    inside = loom.folder / "src/treadle/yarn"
    inside.mkdir()
    (loom.folder / "src/treadle/loom").rename(inside / "loom")
    (inside / "loom/py.typed").unlink()
    loom = Project(loom.folder)
    tree = Tree(tmp_path, loom, {name: path.read_text() for name, path in loom.sources().items()})
    assert tree.faults() == []


def test_a_good_source_archive_has_no_faults_and_a_foreign_file_is_one(tree: Tree) -> None:
    assert list(archives.source_faults(tree.loom, tree.source(), tree.workspace)) == []
    found = list(archives.source_faults(tree.loom, tree.source(**{"notes.txt": ""}), tree.workspace))
    assert found == ["the file loom-1.0.0/notes.txt is inside, which the checkout does not have"]


def test_wheels_that_differ_are_told_by_file(tree: Tree) -> None:
    first = tree.wheel()
    assert list(archives.wheel_differences(first, tree.wheel("again"))) == []
    tree.files["treadle/loom/__init__.py"] += "speed = 2\n"
    found = list(archives.wheel_differences(first, tree.wheel("again")))
    assert "the wheel of the source archive has another treadle/loom/__init__.py" in found


def test_other_files_than_those_of_the_wheel_are_found_where_it_is_installed(tree: Tree, tmp_path: Path) -> None:
    site = tmp_path / "site"
    with zipfile.ZipFile(tree.wheel()) as archive:
        archive.extractall(site)
    assert list(archives.installed_differences(tree.loom, tree.wheel(), site)) == []
    (site / "treadle/loom/__init__.py").write_text("speed = 1\n")
    (site / "treadle/loom/shuttle.pyi").unlink()
    assert list(archives.installed_differences(tree.loom, tree.wheel(), site)) == [
        "another treadle/loom/__init__.py is installed",
        "treadle/loom/shuttle.pyi is not installed",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("## Unreleased\n\n- Faster.\n", "no section `## 1.0.0`"),
        ("## 1.0.0\n\n- First.\n\n## 1.1.0\n\n- Faster.\n", "another order than newest first"),
        ("## 1.1.0\n\n- Faster.\n\n## 1.0.0\n\n- First.\n", "describes 1.1.0, and the version of"),
        ("## 1.0.0\n", "says nothing of 1.0.0"),
    ],
)
def test_a_fault_of_a_list_of_changes_is_found(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "CHANGELOG.md").write_text(f"# Changelog of loom\n\n{text}")
    assert any(message in fault for fault in Changes.read(tmp_path / "CHANGELOG.md").faults("1.0.0"))


@pytest.mark.parametrize("project", projects(ROOT), ids=lambda project: project.name)
def test_lists_of_changes_and_readme_files_of_the_workspace_have_no_faults(project: Project) -> None:
    assert list(Changes.read(project.folder / "CHANGELOG.md").faults(project.version)) == []
    assert list(archives.readme_faults((project.folder / "README.md").read_text(encoding="utf-8"))) == []


# ---------------------------------------------------------------- tests, interpreters, pages


def test_every_folder_of_tests_is_a_packages_own_or_stands_apart() -> None:
    assert set(suites.SUITES) == {project.name for project in projects(ROOT)}
    every = suites.SUITES.values()
    paths = {path for suite in every for path in (*suite.paths, *suite.quick, *suite.others, *suite.without)}
    assert [path for path in sorted(paths) if not (ROOT / path.partition("::")[0]).exists()] == []
    tested = {path.split("/")[1] for suite in suites.SUITES.values() for path in suite.paths}
    assert tested & set(suites.APART) == set()
    folders = {path.parent.relative_to(ROOT / "tests").parts[0] for path in (ROOT / "tests").glob("*/**/test_*.py")}
    assert folders - tested - set(suites.APART) == set(), "tools/release/suites.py lists each: in SUITES or in APART"
    assert set(suites.APART) <= folders


def test_cases_of_pytorch_are_left_out_where_it_is() -> None:
    suite = suites.Suite(("tests/loom",), ("tests/loom/test_quick.py",), keyword="fast or small")
    assert suites.arguments(suite, quick=False, torch=True) == ["tests/loom"]
    assert suites.arguments(suite, quick=False, torch=False) == ["tests/loom", "-k", "not torch"]
    quick = suites.arguments(suite, quick=True, torch=False)
    assert quick == ["tests/loom/test_quick.py", "-k", "(fast or small) and not torch"]


def test_modules_of_the_checkout_are_refused(tmp_path: Path) -> None:
    (tmp_path / "installed_only.py").write_text(suites.PLUGIN.format(checkout=str(ROOT)))
    (tmp_path / "test_nothing.py").write_text("def test_nothing(): pass\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "installed_only", "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "not from the installed wheels: treadle" in done.stdout + done.stderr


def test_settings_of_pytest_are_those_of_the_workspace() -> None:
    text = suites.pytest_settings()
    assert re.findall(r"^\[.*\]$", text, re.MULTILINE) == ["[tool.pytest.ini_options]"]
    assert "filterwarnings" in text


def test_an_interpreter_that_does_not_run_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    version = ".".join(map(str, sys.version_info[:2]))
    for name, text in (("shims", "exit 1"), ("bin", f'exec "{sys.executable}" "$@"')):
        path = tmp_path / name / f"python{version}"
        path.parent.mkdir()
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'shims'}{os.pathsep}{tmp_path / 'bin'}")
    found = pythons.find(version)
    assert found is not None
    assert found.path == tmp_path / "bin" / f"python{version}"
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    assert pythons.find("3.2") is None


def test_pages_are_taken_apart_into_programs_and_commands() -> None:
    page = "# Page\n\n```python\nx = 1\n```\n\n```sh\n./dev demo   # all\n\ntreadle doctor\n```\n\n"
    page += "```python\nprint(x)\n```\n"
    assert [language for language, _, _ in blocks(page)] == ["python", "sh", "python"]
    assert list(commands(page)) == [(8, "./dev demo   # all"), (10, "treadle doctor")]
    assert program(page).splitlines()[3] == "x = 1"
    assert program(page).splitlines()[13] == "print(x)"


def test_what_the_last_dry_run_does_not_show_is_missing() -> None:
    record = {"commit": "a", "clean": True, "whole": True, "faults": [], "pythons": ["3.11", "3.12", "3.13"]}
    assert list(of_the_record(record, "a")) == []
    told = list(of_the_record({**record, "whole": False, "faults": ["x"], "pythons": ["3.11"]}, "b"))
    assert [text.split(":")[0] for text in told] == [
        "A dry run of this commit",
        "A whole dry run",
        "A dry run without faults",
        "A dry run on Python 3.12, 3.13",
    ]
    assert len(list(of_the_record({}, "a"))) == 1


def test_a_wheel_with_compiled_files_is_asked_for_until_there_is_one(tmp_path: Path) -> None:
    support = distribution(tmp_path, "link-c-support")
    (tmp_path / f"{support.stem}-py3-none-any.whl").touch()
    (told,) = of_compiled_wheels([support], tmp_path)
    assert "./dev support-wheel" in told
    (tmp_path / f"{support.stem}-cp311-cp311-linux_x86_64.whl").touch()
    assert list(of_compiled_wheels([support], tmp_path)) == []
