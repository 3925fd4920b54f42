"""Skeletons of a backend's rule for an op."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from tools.new_op.sources import FOLDERS, TENSOR, Imports, home_of, module_name, tidy, with_exports, with_imports

if TYPE_CHECKING:
    from argparse import Namespace

# For each backend its table, what its rule takes beside the op and the node, and what it returns.
BACKENDS: dict[str, tuple[str, str, str]] = {
    "c": ("TABLE", ", unit: Unit", "None"),
    "jax": ("JAX", "", "Lowered"),
    # What C and Numba share.
    "kernels": ("TABLE", ", site: Site", "None"),
    "numba": ("TABLE", ", writer: GraphWriter", "None"),
    "torch": ("TORCH", "", "Lowered"),
}
TYPES: dict[str, Imports] = {
    "c": {"treadle.link.c.text.unit": ("Unit",), "treadle.tensor": ("TensorNode",)},
    "jax": {"treadle.link.jax.table": ("Lowered",), "treadle.tensor": ("TensorNode",)},
    "kernels": {"treadle.kernels": ("Site",), "treadle.tensor": ("TensorNode",)},
    "numba": {"treadle.link.numba.text.writer": ("GraphWriter",), "treadle.tensor": ("TensorNode",)},
    "torch": {"treadle.link.torch.table": ("Lowered",), "treadle.tensor": ("TensorNode",)},
}
RULE = '''

@{table}.register({op})
def lower_{name}(op: {op}, node: TensorNode{more}) -> {returns}:
    """To be filled in: what it writes or calls."""
    msg = f"{{op}}: fill in the rule of the backend {backend}."
    raise NotImplementedError(msg)
'''


def _place(root: Path, backend: str, home: Path) -> Path:
    """Return the module of a backend's rules for the family of an op: in the folder that they have in its room."""
    lower = root / f"packages/link-{backend}/src/treadle/link/{backend}/lower"
    if home.is_relative_to(root / TENSOR) and backend == "kernels":
        return root / TENSOR / "lower_kernels" / home.relative_to(root / TENSOR).parts[0] / home.name
    if home.is_relative_to(root / TENSOR):
        return lower / home.relative_to(root / TENSOR).parts[0] / home.name
    folder = next(root / folder for folder in FOLDERS if home.is_relative_to(root / folder))
    return folder / home.relative_to(folder).parts[0] / "lower" / backend / home.name


def _is_of_backend(root: Path, backend: str, place: Path) -> bool:
    """Whether a module stands in the backend's own package, whose modules are private to it."""
    return place.is_relative_to(root / f"packages/link-{backend}")


def refusal(root: Path, args: Namespace) -> str:
    """Return why the skeleton cannot be written into a checkout, or nothing."""
    if args.backend not in BACKENDS:
        return f"a lowering needs a backend, got {args.backend!r}. Pass --backend with one of {', '.join(BACKENDS)}."
    home = home_of(root, args.name) if re.fullmatch("[A-Z][A-Za-z0-9]*", args.name) else None
    if home is None:
        return f"a lowering is for an op of treadle.tensor, got {args.name!r}. Name its class, such as Sort."
    place = _place(root, args.backend, home)
    is_own = _is_of_backend(root, args.backend, place)
    if not is_own and not (place.parent / "__init__.py").exists():
        return (
            f"{place.parent.relative_to(root)} has no __init__.py. Write one that imports its modules, and name it in "
            "the distribution's entry points; or pass --backend kernels for what C and Numba share."
        )
    folder = place.parent.parent if is_own else place.parent
    for path in sorted(folder.rglob("*.py")):
        if re.search(rf"\.register\([^)]*\b{args.name}\b", path.read_text(encoding="utf-8")):
            return f"{args.name} has a rule already, in {path.relative_to(root)}. Change that one."
    return ""


def write(root: Path, args: Namespace) -> list[Path]:
    """Write the skeleton into a checkout; return the files that changed."""
    home = home_of(root, args.name)
    assert home is not None
    place = _place(root, args.backend, home)
    changed = [place]
    package = "treadle.kernels" if args.backend == "kernels" else f"treadle.link.{args.backend}"
    types = TYPES[args.backend]
    is_own = _is_of_backend(root, args.backend, place)
    if not is_own:
        types = {package if module.startswith(package) else module: names for module, names in types.items()}
        if not place.exists():
            gathered = place.parent / "__init__.py"
            title, _, rest = gathered.read_text(encoding="utf-8").partition("\n\n")
            text = f"{title}\n\nfrom {module_name(root, place.parent)} import {place.stem}\n{rest}"
            gathered.write_text(with_exports(text, [place.stem]), encoding="utf-8")
            changed.append(gathered)
    elif not place.parent.exists():
        place.parent.mkdir()
        contents = f'"""Rules of the backend {args.backend} for ops of `treadle.tensor.{place.parent.name}`."""\n'
        (place.parent / "__init__.py").write_text(contents, encoding="utf-8")
        changed.append(place.parent / "__init__.py")
    if not place.exists():
        title = place.stem.replace("_", " ").capitalize()
        place.write_text(f'"""{title}."""\n\nfrom __future__ import annotations\n', encoding="utf-8")
    table, more, returns = BACKENDS[args.backend]
    imports: Imports = {
        f"{package}.table" if is_own else package: (table,),
        "treadle.tensor": (args.name,),
    }
    name = re.sub("(?<=[a-z0-9])(?=[A-Z])", "_", args.name).lower()
    rule = RULE.format(table=table, op=args.name, name=name, more=more, returns=returns, backend=args.backend)
    text = place.read_text(encoding="utf-8").rstrip("\n") + "\n" + rule
    place.write_text(with_imports(text, imports, types), encoding="utf-8")
    return tidy(root, changed)
