"""Every source file has the shape that the map of the repository relies on."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from tests.repo.tree import ROOT, TEXT, distributions, files, shown, sources
from tools import paths

# Hosts that a mirror stands in for: written in two parts so that this file does not name them.
REGISTRY_HOSTS = ("py" + "pi.org", "pythonhosted" + ".org", "download.pytorch" + ".org", "conda" + ".anaconda.org")


def test_no_python_file_is_longer_than_600_lines() -> None:
    lengths = {shown(path): len(path.read_text(encoding="utf-8").splitlines()) for path in files(".py")}
    assert {name: length for name, length in lengths.items() if length > 600} == {}


def is_list_of_names(node: ast.stmt) -> bool:
    """Say whether a statement only gathers: `__all__`, or names that the module imports, in a list or tuple."""
    if isinstance(node, ast.AugAssign):
        added = ast.unparse(node.value)
        return ast.unparse(node.target) == "__all__" and (added.endswith(".__all__") or added == "list(NAMES)")
    if not (isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.List | ast.Tuple)):
        return False
    return all(isinstance(element, ast.Name | ast.Constant | ast.Attribute) for element in node.value.elts)


def is_list_of_lazy_names(node: ast.stmt) -> bool:
    """Say whether a statement only says where names come from that are imported when first asked for."""
    if not (isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)):
        return False
    maker = ast.unparse(node.value.func)
    return ast.unparse(node.targets[0]) == "__getattr__" and maker in {"lazy_names", "brought_names", "versioned_names"}


def wires(node: ast.stmt) -> bool:
    """Say whether a statement wires functions that modules further up ask for."""
    call = node.value if isinstance(node, ast.Expr) else None
    return isinstance(call, ast.Call) and ast.unparse(call.func) in {"_upward.wire", "_wire"}


def gathers(node: ast.stmt) -> bool:
    """Say whether a statement imports, lists or wires, nothing else."""
    if isinstance(node, ast.If):
        return ast.unparse(node.test) == "TYPE_CHECKING" and all(map(gathers, (*node.body, *node.orelse)))
    if ast.unparse(node) in {"__version__: str", "__path__ = package_folders(__name__)"}:
        return True
    return (
        isinstance(node, ast.Import | ast.ImportFrom)
        or is_list_of_names(node)
        or is_list_of_lazy_names(node)
        or wires(node)
    )


def is_table_of_contents(tree: ast.Module) -> bool:
    """Say whether a module holds its docstring, imports, and lists of what it imports only."""
    for position, node in enumerate(tree.body):
        is_docstring = position == 0 and isinstance(node, ast.Expr)
        if not (is_docstring or gathers(node)):
            return False
    return True


def test_every_init_is_a_table_of_contents() -> None:
    inits = [path for path in sources() if path.name == "__init__.py"]
    # treadle.config stands for the config object: its attributes are read and written through the module.
    inits.remove(ROOT / "packages/config/src/treadle/config/__init__.py")
    wrong = [shown(path) for path in inits if not is_table_of_contents(ast.parse(path.read_text(encoding="utf-8")))]
    assert wrong == []


def test_the_namespace_packages_hold_no_module_but_what_python_runs_them_by() -> None:
    namespaces = [*ROOT.glob("packages/*/src/treadle"), *ROOT.glob("packages/*/src/treadle/link")]
    modules = [shown(path) for folder in namespaces for path in folder.glob("*.py")]
    assert modules == ["packages/compile/src/treadle/__main__.py"]  # python -m treadle


def test_every_portion_is_marked_as_typed() -> None:
    portions = [item.folder / "src" / Path(*module.split(".")) for item in distributions() for module in item.packages]
    assert [shown(portion) for portion in portions if not (portion / "py.typed").is_file()] == []


def test_every_ignored_type_error_is_named() -> None:
    bare = re.compile(r"#\s*type:\s*" + r"ignore(?!\[[a-z-]+)")
    wrong = [shown(path) for path in files(".py") if bare.search(path.read_text(encoding="utf-8"))]
    assert wrong == []


def test_no_module_has_a_name_that_says_nothing() -> None:
    vague = {"utils", "util", "misc", "helpers", "basic", "common", "tools"}
    # These are lists of documented names at their documented paths, and define nothing (see tests/graph).
    documented = {f"packages/pytensor-surface/src/treadle/graph/{name}.py" for name in ("basic", "utils")}
    documented |= {shown(file) for file in map(paths.file_of, paths.table()) if file.stem in vague}
    vague_modules = {shown(path) for path in sources() if path.stem in vague}
    assert vague_modules == documented
    assert all(is_table_of_contents(ast.parse((ROOT / path).read_text(encoding="utf-8"))) for path in documented)


def test_every_distribution_carries_the_licence_and_its_pages() -> None:
    licence = (ROOT / "LICENSE").read_text(encoding="utf-8")
    for item in distributions():
        assert (item.folder / "LICENSE").read_text(encoding="utf-8") == licence
        assert f"## {item.pyproject['project']['version']}" in (item.folder / "CHANGELOG.md").read_text(
            encoding="utf-8"
        )
        assert (item.folder / "README.md").read_text(encoding="utf-8").startswith(f"# {item.name}\n")


def test_no_file_names_a_package_registry() -> None:
    texts = {shown(path): path.read_text(encoding="utf-8") for path in files(*TEXT)}
    wrong = {name for name, text in texts.items() if any(host in text for host in REGISTRY_HOSTS)}
    assert wrong == set()


def test_contributing_stays_short() -> None:
    assert len((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").splitlines()) <= 100


def test_every_lint_exception_in_the_settings_has_its_reason() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    ignored = text[text.index("\nignore = [") :].split("]")[0].strip().splitlines()[1:]
    assert ignored
    assert [line for line in ignored if "#" not in line] == []


def test_every_lock_is_made_where_forked_children_find_it_free() -> None:
    kinds = {"Lock", "RLock", "Condition", "Semaphore", "BoundedSemaphore", "allocate_lock"}
    own = ROOT / "packages/config/src/treadle/config/locks.py"
    places = [
        f"{shown(path)}:{node.lineno}"
        for path in sources()
        if path != own
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if (isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in kinds)
        or (isinstance(node, ast.ImportFrom) and kinds & {alias.name for alias in node.names})
    ]
    assert places == []
