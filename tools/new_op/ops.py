"""Skeletons of ops: structured ones, functions of each element, and ops on matrices.

One is a class or scalar op with its user function, in modules that say what they export, and one sample record.
Families that are imported when args for have their names in the package's table of contents.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING

from tools import names as tables
from tools.new_op.sources import (
    TENSOR,
    Imports,
    bad_name,
    class_name,
    home_of,
    is_private,
    module_name,
    tidy,
    with_exports,
    with_imports,
)

if TYPE_CHECKING:
    from argparse import Namespace

# The folders of families of elementwise functions.
ELEMENTWISE = ("elementwise", "special_functions")
# Rooms whose names are elsewhere than in `treadle.tensor`.
BY_HAND = {"": "treadle.graph", "optimize": "treadle.tensor.optimize", "random": "treadle.tensor.random"}
RECORDS = Path("packages/link-testing/src/treadle/testing/records")
LINALG = Path("packages/linalg/src/treadle/tensor/linalg")

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
    "typing": ("Any",),
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
}
SCALAR_TYPES: Imports = {
    "treadle.tensor.variables.variable": ("TensorVariable",),
}
MATRIX_OP = '''

@static_op
class {kind}(MatrixOp):
    """To be filled in: what it computes of each matrix."""

    # The lengths of the last dimensions, of inputs and of results: equal letters are equal lengths.
    signature = "(m,n)->(m,n)"

    def of_matrices(self, *matrices: np.ndarray) -> tuple[np.ndarray, ...]:
        """Compute the results of one matrix of each input with NumPy or SciPy: the reference for every backend."""
        msg = f"{{self}}: fill in the results."
        raise NotImplementedError(msg)

    def decompose(self, *inputs: Variable) -> Sequence[Variable] | None:
        """Return the results in simpler ops, which derivatives go through; or write `pullback` in place of this."""
        msg = f"{{self}}: fill in the results in simpler ops, or remove the method."
        raise NotImplementedError(msg)
'''
MATRIX_FUNCTION = '''

def {name}(a: TensorLike) -> TensorVariable:
    """To be filled in: what it returns (as numpy.linalg.…)."""
    result: TensorVariable = {kind}()(*as_matrices("{name}", a))
    return result
'''
MATRIX_IMPORTS: Imports = {
    "": ("numpy as np",),
    "treadle.graph": ("static_op",),
    "treadle.tensor.linalg.matrix_op": ("MatrixOp", "as_matrices"),
}
MATRIX_TYPES: Imports = {
    "collections.abc": ("Sequence",),
    "treadle.graph": ("Variable",),
    "treadle.tensor.variables.variable": ("TensorLike", "TensorVariable"),
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
MATRIX_SAMPLE = """    Sample(
        "{name}",
        F,
        tt.linalg.{name},
        _expected_{name},
        (of_shape((2, 3, 3), empty=(2, 0, 0)),),
        dtypes=("float32", "float64"),
        wrt=(0,),
    ),
"""
SCALAR_SAMPLE = '    elementwise(F, "{name}", tt.{name}, _expected_{name}, REAL, wrt=(0,)),\n'
SAMPLE_IMPORTS: Imports = {
    "treadle": ("tensor as tt",),
    "treadle.testing.operands": ("of_shape",),
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


def add_record(path: Path, family: str, name: str, sample: str, imports: Imports) -> None:
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
    text = f"{text[:at]}{EXPECTED.format(name=name)}{text[at:end]}{sample.format(name=name)}{text[end:]}"
    path.write_text(with_imports(text, imports, {}), encoding="utf-8")


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


def _add(path: Path, text: str, exports: list[str], imports: Imports, types: Imports) -> None:
    """Add text to a module, which is begun if it is not there."""
    if not path.exists():
        path.write_text(f'"""{exports[0]}."""\n\nfrom __future__ import annotations\n', encoding="utf-8")
    text = path.read_text(encoding="utf-8").rstrip("\n") + "\n" + text
    path.write_text(with_exports(with_imports(text, imports, types), exports), encoding="utf-8")


def _linalg_families(root: Path) -> dict[str, Path]:
    """Return the modules of ops on matrices, by their names."""
    paths = (path for path in sorted((root / LINALG).rglob("*.py")) if not is_private(path))
    return {
        path.stem: path for path in paths if re.search(r"^class \w+\(MatrixOp\)", path.read_text("utf-8"), re.MULTILINE)
    }


def _add_to_records(root: Path, family: str) -> Path:
    """Add a new module of records to the table of those of linear algebra; return the table."""
    table = root / LINALG / "records" / "table.py"
    text = table.read_text(encoding="utf-8")
    for head in ("from treadle.tensor.linalg.records import (\n", "_FAMILIES = (\n"):
        text = text.replace(head, f"{head}    {family},\n", 1)
    table.write_text(text, encoding="utf-8")
    return table


def _write_matrix_op(root: Path, args: Namespace, family: str, kind: str) -> list[Path]:
    """Write an op on matrices, or another op beside such, with its function; return the files that changed."""
    source = _linalg_families(root).get(family, root / LINALG / f"{family}.py")
    record = root / LINALG / "records" / f"{family}.py"
    changed = [source, record]
    if not record.exists():
        changed.append(_add_to_records(root, family))
    if args.kind == "matrix":
        text = MATRIX_OP.format(kind=kind) + MATRIX_FUNCTION.format(name=args.name, kind=kind)
        _add(source, text, [kind, args.name], MATRIX_IMPORTS, MATRIX_TYPES)
        add_record(record, family, args.name, MATRIX_SAMPLE, SAMPLE_IMPORTS)
    else:
        _add(source, OP.format(name=args.name, kind=kind), [kind, args.name], OP_IMPORTS, OP_TYPES)
        add_record(record, family, args.name, SAMPLE.replace("tt.{name}", "tt.linalg.{name}"), SAMPLE_IMPORTS)
    return changed + tables.write(root)


def write(root: Path, args: Namespace) -> list[Path]:
    """Write the skeleton into a checkout; return the files that changed."""
    name, family, kind = args.name, args.family or args.name, class_name(args.name)
    if args.kind == "matrix" or family in _linalg_families(root):
        return tidy(root, _write_matrix_op(root, args, family, kind))
    families = root / TENSOR / "families.py"
    rooms = rooms_of_families(families)
    home = rooms.get(family) or _room(args)
    source, record = root / TENSOR / home / f"{family}.py", root / RECORDS / home.partition("/")[0] / f"{family}.py"
    changed = [source, record]
    if family not in rooms:
        text = families.read_text(encoding="utf-8")
        row = f'\n    "{family}": "{home.replace("/", ".")}",\n}}\n'
        families.write_text(text.replace("\n}\n", row, 1), encoding="utf-8")
        changed.append(families)
    module = module_name(root, source)
    if args.kind == "elementwise":
        _add(source, SCALAR_OP.format(name=name), [name], SCALAR_IMPORTS, SCALAR_TYPES)
        changed += list_names(root, module.removeprefix("treadle.tensor."), [name])
        add_record(record, family, name, SCALAR_SAMPLE, SCALAR_SAMPLE_IMPORTS)
    else:
        _add(source, OP.format(name=name, kind=kind), [kind, name], OP_IMPORTS, OP_TYPES)
        changed += list_names(root, module.removeprefix("treadle.tensor."), [kind, name])
        add_record(record, family, name, SAMPLE, SAMPLE_IMPORTS)
    return tidy(root, changed)


def _room(args: Namespace) -> str:
    """Return the folder for a new family."""
    room: str = args.room or {"elementwise": "elementwise"}.get(args.kind, "")
    return room


def refusal(root: Path, args: Namespace) -> str:
    """Return why the skeleton cannot be written into a checkout, or nothing."""
    name, family = args.name, args.family or args.name
    if reason := bad_name(name, family):
        return reason
    for taken in (name, class_name(name)):
        if path := home_of(root, taken):
            return f"{name!r} is defined already, in {path.relative_to(root)}. Take another name."
    package = root / TENSOR
    rooms = rooms_of_families(package / "families.py")
    if family in _linalg_families(root):
        return f"{family!r} is a family of other ops. Take another family." if args.kind == "elementwise" else ""
    if family not in rooms and args.kind == "matrix":
        if any(path.stem == family for path in (root / LINALG).rglob("*.py") if not is_private(path)):
            return f"{family!r} is a module that holds no family of ops. Take another name for the family."
        return ""
    if family not in rooms:
        room = _room(args)
        if not room or not (package / room / "__init__.py").exists():
            known = sorted({home for home in rooms.values() if home})
            return f"a new family needs a room, got {room!r}. Pass --room with one of {', '.join(known)}."
        if any(path.stem == family for path in package.rglob("*.py")):
            return f"{family!r} is a module that holds no family of ops. Take another name for the family."
        return ""
    home = rooms[family]
    if home in BY_HAND:
        return f"the names of {family!r} are listed by {BY_HAND[home]}. Write the op by hand."
    if (args.kind == "elementwise") != (home in ELEMENTWISE):
        others = "other" if args.kind == "elementwise" else "elementwise"
        return f"{family!r} is a family of {others} ops. Take another family."
    if args.kind == "matrix":
        return f"{family!r} is no family of ops on matrices. Take another family, or leave --kind out."
    return ""
