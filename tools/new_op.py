"""Write the skeleton of an op: ``./dev new-op NAME [--family FAMILY] [--elementwise]``.

It is one class or scalar op with its user function in the family's module, which says what it exports, and one sample
record. Families that are imported when asked for have their names in the package's table of contents. What is to be
filled in raises NotImplementedError.
"""

from __future__ import annotations

import argparse
import ast
import re
import subprocess
import sys
from keyword import iskeyword
from pathlib import Path

from tools import names as tables

# Names by module.
Imports = dict[str, tuple[str, ...]]

ROOT = Path(__file__).resolve().parent.parent
TENSOR = Path("packages/tensor/src/treadle/tensor")
# Where the families of functions of each element stand.
ELEMENTWISE = ("elementwise", "special_functions")
# Rooms whose names are found elsewhere than in `treadle.tensor`.
BY_HAND = {"": "treadle.graph", "optimize": "treadle.tensor.optimize", "random": "treadle.tensor.random"}
RECORDS = Path("packages/link-testing/src/treadle/testing/records")

OP = '''

@static_op
class {kind}(TensorOp):
    """To be filled in: what it computes."""

    def infer(self, *types: Type) -> Sequence[Type]:
        """Return the type of the result; refuse inputs that do not fit."""
        msg = f"{{self}}: fill in the type of the result."
        raise NotImplementedError(msg)

    def perform(self, node: Apply, inputs: Sequence[np.ndarray], output_storage: Sequence[list[np.ndarray]]) -> None:
        """Compute with NumPy: the reference for every backend."""
        msg = f"{{self}}: fill in the result, output_storage[0][0]."
        raise NotImplementedError(msg)

    def infer_shape(self, node: Apply, shapes: Sequence[Any]) -> Sequence[Any] | None:
        """Return the shape of the result by those of the inputs; without this method it is read off the result."""
        msg = f"{{self}}: fill in the shape of the result, or remove the method."
        raise NotImplementedError(msg)

    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> Sequence[Variable | None]:
        """Return the gradient for each input, None where nothing flows back."""
        msg = f"{{self}}: fill in the gradient."
        raise NotImplementedError(msg)

    def vectorize_node(self, node: Apply, *inputs: Variable) -> Apply:
        """Return the node for inputs with more leading dimensions."""
        msg = f"{{self}}: fill in the node for a batch."
        raise NotImplementedError(msg)

    def decompose(self, *inputs: Variable) -> Sequence[Variable] | None:
        """Return the result in simpler ops, for backends without a rule; remove the method if there is no such form."""
        msg = f"{{self}}: fill in the result in simpler ops, or remove the method."
        raise NotImplementedError(msg)


def {name}(x: TensorLike) -> TensorVariable:
    """To be filled in: what it returns (as numpy.…)."""
    result: TensorVariable = {kind}()(x)
    return result
'''
OP_IMPORTS: Imports = {
    "": ("numpy as np",),
    "treadle.graph": ("static_op",),
    "treadle.tensor.ops.tensor_op": ("TensorOp",),
    "typing": ("TYPE_CHECKING", "Any"),
}
OP_TYPES: Imports = {
    "collections.abc": ("Sequence",),
    "treadle.graph": ("Apply", "Type", "Variable"),
    "treadle.tensor.variables.variable": ("TensorLike", "TensorVariable"),
}
SCALAR_OP = """

def _{name}(x: TensorVariable) -> TensorVariable:
    msg = "{name}: fill in the function in terms of others."
    raise NotImplementedError(msg)


{name} = Elemwise(ScalarOp(name="{name}", body=_{name}))
"""
SCALAR_IMPORTS: Imports = {
    "treadle.tensor.elementwise.elemwise": ("Elemwise",),
    "treadle.tensor.elementwise.scalar_op": ("ScalarOp",),
    "typing": ("TYPE_CHECKING",),
}
SCALAR_TYPES: Imports = {
    "treadle.tensor.variables.variable": ("TensorVariable",),
}
EXPECTED = """def _expected_{name}(x: Any) -> Any:
    msg = "{name}: fill in what NumPy or SciPy returns."
    raise NotImplementedError(msg)


"""
SAMPLE = """    Sample(
        "{name}",
        F,
        tt.{name},
        _expected_{name},
        (of_shape((3, 4), empty=(0, 4), long=(11, 97)),),
        wrt=(0,),
    ),
"""
SCALAR_SAMPLE = '    elementwise(F, "{name}", tt.{name}, _expected_{name}, REAL, wrt=(0,)),\n'
SAMPLE_IMPORTS: Imports = {
    "treadle": ("tensor as tt",),
    "treadle.testing.records.structured": ("of_shape",),
    "treadle.testing.sample": ("Sample",),
    "typing": ("Any",),
}
SCALAR_SAMPLE_IMPORTS: Imports = {
    "treadle": ("tensor as tt",),
    "treadle.testing.domain": ("REAL",),
    "treadle.testing.records.elementwise.function_samples": ("elementwise",),
    "treadle.testing.sample": ("Sample",),
    "typing": ("Any",),
}


def known_names(text: str) -> set[str]:
    """Return the names that a module imports or defines."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            found.update(alias.asname or alias.name for alias in node.names)
    return found


def with_imports(text: str, imports: Imports, types: Imports) -> str:
    """Return a module's text with what it does not import yet; ruff brings the lines into order."""
    known = known_names(text)

    def lines(wanted: Imports, indent: str) -> str:
        missing = [(m, n) for m, names in wanted.items() for n in names if n.rpartition(" ")[2] not in known]
        return "".join(f"{indent}{f'from {module} ' if module else ''}import {name}\n" for module, name in missing)

    first = "from __future__ import annotations\n"
    text = text.replace(first, f"{first}\n{lines(imports, '')}", 1)
    more = lines(types, "    ")
    if more and "\nif TYPE_CHECKING:\n" in text:
        return text.replace("\nif TYPE_CHECKING:\n", f"\nif TYPE_CHECKING:\n{more}", 1)
    if more:
        last = [node for node in ast.parse(text).body if isinstance(node, ast.Import | ast.ImportFrom)][-1].end_lineno
        rows = text.splitlines(keepends=True)
        text = "".join([*rows[:last], f"\nif TYPE_CHECKING:\n{more}", *rows[last:]])
    return text


def add_record(path: Path, family: str, name: str, elementwise: bool) -> None:
    """Add a sample, and what is expected of it, to the records of a family."""
    if not path.parent.exists():
        path.parent.mkdir()
        contents = f'"""Records of the families of `treadle.tensor.{path.parent.name}`."""\n'
        (path.parent / "__init__.py").write_text(contents, encoding="utf-8")
    if path.exists():
        text = path.read_text(encoding="utf-8")
    else:
        text = (
            f'"""Records of {family}."""\n\nfrom __future__ import annotations\n\nF = "{family}"\n\n'
            "SAMPLES: tuple[Sample, ...] = (\n)\n"
        )
    at = text.index("SAMPLES: tuple")
    end = text.index("\n)", at) + 1
    sample = (SCALAR_SAMPLE if elementwise else SAMPLE).format(name=name)
    text = f"{text[:at]}{EXPECTED.format(name=name)}{text[at:end]}{sample}{text[end:]}"
    imports = SCALAR_SAMPLE_IMPORTS if elementwise else SAMPLE_IMPORTS
    path.write_text(with_imports(text, imports, {}), encoding="utf-8")


def with_exports(text: str, names: list[str]) -> str:
    """Return a module's text with names in its `__all__`; ruff brings them into order."""
    quoted = "".join(f'"{name}", ' for name in names)
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            lines = text.splitlines(keepends=True)
            line, column = node.value.lineno - 1, node.value.col_offset + 1
            lines[line] = f"{lines[line][:column]}{quoted}{lines[line][column:]}"
            return "".join(lines)
    first = next(node for node in ast.parse(text).body if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.Assign))
    above = min([first.lineno, *(each.lineno for each in getattr(first, "decorator_list", ()))]) - 1
    lines = text.splitlines(keepends=True)
    return "".join([*lines[:above], f"__all__ = [{quoted}]\n\n\n", *lines[above:]])


def list_names(root: Path, module: str, names: list[str]) -> list[Path]:
    """List a module's new names where the package finds them; return the files that changed."""
    contents = root / TENSOR / "__init__.py"
    package = contents.read_text(encoding="utf-8")
    full = f"treadle.tensor.{module}"
    if re.search(rf"^from {re.escape(full)} import \*", package, re.MULTILINE):
        return []  # the package takes what the module lists
    if re.search(rf"^from {re.escape(full)} import", package, re.MULTILINE):
        package = package.replace(
            f"from {full} import", f"from {full} import {', '.join(names)}\nfrom {full} import", 1
        )
        contents.write_text(with_exports(package, names), encoding="utf-8")
        return [contents]
    return tables.write(root)


def rooms_of_families(path: Path) -> dict[str, str]:
    """Return the folder of treadle.tensor that each family's ops stand in, as a checkout lists them."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    table = next(n for n in tree.body if isinstance(n, ast.Assign) and ast.unparse(n.targets[0]) == "ROOMS")
    return {family: room.replace(".", "/") for family, room in ast.literal_eval(table.value).items()}


def write(root: Path, name: str, family: str, room: str, elementwise: bool) -> list[Path]:
    """Write the skeleton into a checkout; return the files that changed."""
    kind = "".join(part.capitalize() for part in name.split("_"))
    families = root / TENSOR / "families.py"
    rooms = rooms_of_families(families)
    home = rooms.get(family, room)
    source, record = root / TENSOR / home / f"{family}.py", root / RECORDS / home.partition("/")[0] / f"{family}.py"
    changed = [source, record]
    if family not in rooms:
        source.write_text(f'"""{kind}."""\n\nfrom __future__ import annotations\n', encoding="utf-8")
        text = families.read_text(encoding="utf-8")
        families.write_text(text.replace("\n}\n", f'\n    "{family}": "{home}",\n}}\n', 1), encoding="utf-8")
        changed.append(families)
    text = source.read_text(encoding="utf-8").rstrip("\n") + "\n"
    text += (SCALAR_OP if elementwise else OP).format(name=name, kind=kind)
    imports, types = (SCALAR_IMPORTS, SCALAR_TYPES) if elementwise else (OP_IMPORTS, OP_TYPES)
    names = [name] if elementwise else [kind, name]
    source.write_text(with_exports(with_imports(text, imports, types), names), encoding="utf-8")
    changed += list_names(root, f"{home.replace('/', '.')}.{family}", names)
    add_record(record, family, name, elementwise)
    ruff = (sys.executable, "-m", "ruff")
    subprocess.run([*ruff, "check", "--quiet", "--select", "I,RUF022", "--fix", *changed], cwd=root, check=True)
    subprocess.run([*ruff, "format", "--quiet", *changed], cwd=root, check=True)
    return changed


def refusal(root: Path, name: str, family: str, room: str, elementwise: bool) -> str:
    """Return why a skeleton cannot be written into a checkout, or nothing."""
    for given in (name, family):
        if not re.fullmatch("[a-z][a-z0-9_]*", given) or iskeyword(given):
            return f"{given!r} is no name in lower case. Take one such as cumulative_sum."
    package = root / TENSOR
    kind = "".join(part.capitalize() for part in name.split("_"))
    for path in sorted(package.rglob("*.py")):
        if re.search(
            rf"^({name}(:.*)? = |def {name}\(|class {kind}\b)", path.read_text(encoding="utf-8"), re.MULTILINE
        ):
            return f"{name!r} is defined already, in {path.relative_to(root)}. Take another name."
    rooms = rooms_of_families(package / "families.py")
    if family not in rooms:
        if not room or not (package / room / "__init__.py").exists():
            known = sorted({home for home in rooms.values() if home})
            return f"a new family needs a room, got {room!r}. Pass --room with one of {', '.join(known)}."
        if any(path.stem == family for path in package.rglob("*.py")):
            return f"{family!r} is a module that holds no family of ops. Take another name for the family."
        return ""
    home = rooms[family]
    if home in BY_HAND:
        return f"the names of {family!r} are listed by {BY_HAND[home]}. Write the op by hand."
    if elementwise != (home in ELEMENTWISE):
        return f"{family!r} is a family of {'other' if elementwise else 'elementwise'} ops. Take another family."
    return ""


def main() -> int:
    """Write the skeleton that the arguments describe."""
    parser = argparse.ArgumentParser(prog="./dev new-op", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("name", help="name of the user function, such as cumulative_sum")
    parser.add_argument("--family", help="module that it belongs to; a new one of the op's name by default")
    parser.add_argument(
        "--room", help="folder of treadle.tensor for a new family; elementwise for functions of elements"
    )
    parser.add_argument("--elementwise", action="store_true", help="whether it is a function of single elements")
    parser.add_argument("--root", type=Path, default=ROOT, help="the checkout; this one by default")
    given = parser.parse_args()
    family = given.family or given.name
    room = given.room or ("elementwise" if given.elementwise else "")
    reason = refusal(given.root, given.name, family, room, given.elementwise)
    if reason:
        parser.error(reason)
    for path in write(given.root, given.name, family, room, given.elementwise):
        print(path.relative_to(given.root))
    return 0


if __name__ == "__main__":
    sys.exit(main())
