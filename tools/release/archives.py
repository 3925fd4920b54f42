"""What is wrong with a wheel or a source archive, and whether both hold the same.

Each function yields sentences about one archive; none where nothing is wrong.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import re
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from packaging.metadata import Metadata
from packaging.utils import canonicalize_name
from packaging.version import Version

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from packaging.requirements import Requirement

    from tools.release.workspace import Project

# Classifiers of every distribution.
CLASSIFIERS = ("Programming Language :: Python :: 3", "Typing :: Typed")
_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")
_ADDRESS = re.compile(r"(https?://|mailto:|#)")
_FENCE = re.compile(r"^(```+|~~~+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Workspace:
    """What archives of one workspace are compared with."""

    projects: Sequence[Project]
    licence: str

    def versions(self) -> dict[str, str]:
        """Return the version of each distribution, by canonical name."""
        return {str(canonicalize_name(project.name)): project.version for project in self.projects}

    def typed(self) -> set[str]:
        """Return the folders with a ``py.typed``: one covers what other distributions bring into its package."""
        paths = [PurePosixPath(path) for project in self.projects for path in project.sources()]
        return {str(path.parent) for path in paths if path.name == "py.typed"}


def wheel_files(wheel: Path) -> dict[str, bytes]:
    """Read the files of a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist() if not name.endswith("/")}


def source_files(archive: Path) -> dict[str, bytes]:
    """Read the files of a source archive; a link or a device counts as a file without content."""
    with tarfile.open(archive) as opened:
        files = {}
        for member in opened.getmembers():
            if not member.isdir():
                stream = opened.extractfile(member) if member.isfile() else None
                files[member.name] = stream.read() if stream else b""
        return files


# ---------------------------------------------------------------- wheels


def wheel_faults(project: Project, wheel: Path, workspace: Workspace) -> Iterator[str]:
    """Yield what is wrong with a wheel of `project`."""
    files = wheel_files(wheel)
    if wheel.name != f"{project.stem}-py3-none-any.whl":
        yield f"the file's name is not {project.stem}-py3-none-any.whl, as for a wheel without compiled parts"
    information = f"{project.stem}.dist-info"
    expected = set(_installed(project))
    beside = {f"{information}/{name}" for name in ("METADATA", "WHEEL", "RECORD", "entry_points.txt")}
    beside |= {f"{information}/licenses/{name}" for name in project.metadata.get("license-files", ())}
    yield from _differing(set(files), expected, beside)
    yield from _places(files)
    yield from _untyped(project, workspace)
    yield from _licence(project, files, f"{information}/licenses/", workspace)
    if f"{information}/METADATA" in files:
        yield from metadata_faults(project, files[f"{information}/METADATA"], workspace)
    else:
        yield f"there is no {information}/METADATA"
    yield from record_faults(files, f"{information}/RECORD")


def _installed(project: Project) -> Iterator[str]:
    """Yield the paths in the wheel of what an installation has; what lies in no package is data of the wheel."""
    data = project.build_settings.get("data", {})
    beside = {place: project.folder / folder for place, folder in data.items()}
    for path, file in project.sources().items():
        place = next((name for name, folder in beside.items() if file.is_relative_to(folder)), None)
        yield path if place is None else f"{project.stem}.data/{place}/{path}"


def _differing(files: set[str], expected: set[str], beside: set[str]) -> Iterator[str]:
    """Yield the files that are missing, and those that should not be there."""
    for name in sorted(expected - files):
        kind = "stub" if name.endswith(".pyi") else "file"
        yield f"the {kind} {name} of the checkout is not inside"
    for name in sorted(files - expected - beside):
        yield f"the file {name} is inside, which the checkout does not have"


def _places(files: Mapping[str, bytes]) -> Iterator[str]:
    """Yield absolute paths: of the archive's files, and of this machine in their texts."""
    here = {str(Path.cwd()), str(Path.home()), str(Path(__file__).resolve().parents[2])}
    own = [place.encode() for place in sorted(here - {"/"})]
    for name, content in files.items():
        if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
            yield f"the path {name!r} leads out of the folder that the archive is unpacked in"
        for place in own:
            found = re.search(rb"(?<![\w.])" + re.escape(place) + rb"(?:[\"'/\s]|$)", content)
            if found:
                line = content[: found.start()].count(b"\n") + 1
                yield f"line {line} of {name} names a folder of this machine, {place.decode()}"


def _untyped(project: Project, workspace: Workspace) -> Iterator[str]:
    """Yield the modules that no ``py.typed`` covers."""
    typed = workspace.typed()
    for module in project.modules:
        path = PurePosixPath(module.replace(".", "/"))
        if not {str(path), *map(str, path.parents)} & typed and f"{path}.py" not in project.sources():
            yield f"no py.typed covers {module}: type checkers take it for untyped"


def _licence(project: Project, files: Mapping[str, bytes], folder: str, workspace: Workspace) -> Iterator[str]:
    """Yield what is wrong with the files of the licence."""
    names = project.metadata.get("license-files", ())
    if not names:
        yield "pyproject.toml names no license-files"
    for name in names:
        if f"{folder}{name}" not in files:
            yield f"the licence {name} is not inside"
        elif files[f"{folder}{name}"].decode() != workspace.licence:
            yield f"the licence {name} is another than LICENSE at the root of the workspace"


def record_faults(files: Mapping[str, bytes], record: str) -> Iterator[str]:
    """Yield what RECORD says wrongly of the files."""
    if record not in files:
        yield "there is no RECORD"
        return
    rows = {row[0]: row[1] for row in csv.reader(io.StringIO(files[record].decode())) if row}
    for name in sorted(set(files) ^ set(rows)):
        yield f"RECORD and the archive differ in {name}"
    for name in sorted(set(files) & set(rows) - {record}):
        digest = base64.urlsafe_b64encode(hashlib.sha256(files[name]).digest()).rstrip(b"=").decode()
        if rows[name] != f"sha256={digest}":
            yield f"RECORD has another digest of {name}"


# ---------------------------------------------------------------- metadata


def metadata_faults(project: Project, text: bytes, workspace: Workspace) -> Iterator[str]:
    """Yield what is wrong with the metadata of an archive, METADATA or PKG-INFO."""
    try:
        metadata = Metadata.from_email(text, validate=True)
    except ExceptionGroup as group:
        for error in group.exceptions:
            yield f"metadata: {error}"
        return
    declared = project.metadata
    for field, value, wanted in (
        ("Name", metadata.name, project.name),
        ("Version", str(metadata.version), project.version),
        ("Requires-Python", str(metadata.requires_python), declared["requires-python"]),
        ("License-Expression", metadata.license_expression, declared["license"]),
        ("Summary", metadata.summary, declared["description"]),
    ):
        if value != wanted:
            yield f"metadata: {field} is {value!r}, and pyproject.toml says {wanted!r}"
    if not (metadata.author or metadata.author_email):
        yield "metadata: there is no author"
    for classifier in CLASSIFIERS:
        if classifier not in (metadata.classifiers or []):
            yield f"metadata: the classifier {classifier!r} is missing"
    for classifier in metadata.classifiers or []:
        if classifier.startswith("License ::"):
            yield f"metadata: the classifier {classifier!r} contradicts License-Expression, which replaces these"
    yield from _description_faults(project, metadata.description, metadata.description_content_type)
    yield from _requirement_faults(metadata.requires_dist or [], workspace)


def _description_faults(project: Project, text: str | None, kind: str | None) -> Iterator[str]:
    """Yield what would look wrong where the README is shown apart from the repository."""
    if (kind or "").partition(";")[0] != "text/markdown":
        yield f"metadata: the description is {kind!r}, not text/markdown"
    readme = (project.folder / "README.md").read_text(encoding="utf-8")
    if (text or "").strip() != readme.strip():
        yield "metadata: the description is not README.md"
    yield from readme_faults(readme)


def readme_faults(text: str) -> Iterator[str]:
    """Yield what does not render, or leads nowhere, in a README that is shown apart from the repository."""
    if not re.match(r"# \S", text):
        yield "README.md does not begin with a heading `# NAME`"
    if len(_FENCE.findall(text)) % 2:
        yield "README.md has a block of code that does not end"
    outside = re.sub(r"^```.*?^```|`[^`\n]+`", "", text, flags=re.MULTILINE | re.DOTALL)
    for found in _LINK.finditer(outside):
        target = found[1] or found[2]
        if not _ADDRESS.match(target):
            yield f"README.md links to {target}, which leads nowhere outside of the repository"


def _requirement_faults(requirements: Sequence[Requirement], workspace: Workspace) -> Iterator[str]:
    """Yield what is wrong with requirements, above all with those on siblings."""
    versions = workspace.versions()
    for entry in requirements:
        if entry.url:
            yield f"metadata: {entry} is a requirement by address: one machine has it"
        version = versions.get(str(canonicalize_name(entry.name)))
        if version is None or (not entry.specifier and entry.extras):
            continue  # a third party, or an extra made of others of the same distribution
        operators = {specifier.operator for specifier in entry.specifier}
        if not operators & {">=", "~=", "=="} or not operators & {"<", "<=", "~=", "=="}:
            yield f"metadata: the requirement {entry} needs a lower and an upper bound"
        elif not entry.specifier.contains(Version(version), prereleases=True):
            yield f"metadata: the requirement {entry} excludes {entry.name} {version}, the version of the workspace"


# ---------------------------------------------------------------- source archives


def source_faults(project: Project, archive: Path, workspace: Workspace) -> Iterator[str]:
    """Yield what is wrong with a source archive of `project`."""
    files = source_files(archive)
    if archive.name != f"{project.stem}.tar.gz":
        yield f"the file's name is not {project.stem}.tar.gz"
    top = f"{project.stem}/"
    expected = {f"{top}{path.relative_to(project.folder).as_posix()}" for path in project.sources().values()}
    expected |= {f"{top}{name}" for name in ("pyproject.toml", "README.md", *project.metadata.get("license-files", ()))}
    # uv writes pyproject.toml in a normal form, and the file itself beside it.
    original = f"{top}pyproject.toml.orig"
    yield from _differing(set(files), expected, {f"{top}PKG-INFO", original})
    if files.get(original, b"") not in {b"", (project.folder / "pyproject.toml").read_bytes()}:
        yield "pyproject.toml.orig is not the pyproject.toml of the checkout"
    yield from _places(files)
    yield from _licence(project, files, top, workspace)
    if f"{top}PKG-INFO" in files:
        yield from metadata_faults(project, files[f"{top}PKG-INFO"], workspace)
    else:
        yield "there is no PKG-INFO"


def wheel_differences(first: Path, second: Path) -> Iterator[str]:
    """Yield how the wheel built of the source archive, `second`, differs from that of the checkout.

    Which version of the build backend made it may differ; so may the digest of the file that says this.
    """
    ours, theirs = _without_generator(wheel_files(first)), _without_generator(wheel_files(second))
    for name in sorted(set(ours) | set(theirs)):
        if name not in theirs:
            yield f"the wheel of the source archive lacks {name}"
        elif name not in ours:
            yield f"the wheel of the source archive has {name} besides"
        elif ours[name] != theirs[name]:
            yield f"the wheel of the source archive has another {name}"


def installed_differences(project: Project, wheel: Path, site: Path) -> Iterator[str]:
    """Yield how the modules in the folder `site` differ from those of the wheel that was to be installed there."""
    files = wheel_files(wheel)
    for name in sorted(set(project.sources()) & set(files)):
        if not (site / name).is_file():
            yield f"{name} is not installed"
        elif (site / name).read_bytes() != files[name]:
            yield f"another {name} is installed"


def _without_generator(files: dict[str, bytes]) -> dict[str, bytes]:
    """Return the files of a wheel without what depends on the version of the build backend."""
    patterns = {"WHEEL": rb"(?m)^Generator: .*$", "RECORD": rb"(?m)^.*\.dist-info/WHEEL,.*$"}
    for name, content in files.items():
        pattern = patterns.get(PurePosixPath(name).name) if ".dist-info/" in name else None
        if pattern is not None:
            files[name] = re.sub(pattern, b"", content)
    return files
