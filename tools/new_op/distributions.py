"""Skeletons of distributions of random variables, with their records."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tools import names as tables
from tools.new_op.sources import Imports, bad_name, class_name, home_of, tidy, with_exports, with_imports

if TYPE_CHECKING:
    from argparse import Namespace

DRAWS = Path("packages/random/src/treadle/tensor/random/distributions")
RECORDS = Path("packages/random/src/treadle/tensor/random/records")
DISTRIBUTION = '''

class {kind}RV(RandomVariable):
    """To be filled in: the distribution, its density, and its name in `scipy.stats`."""

    name = "{name}"
    signature = "(),()->()"
    dtype = "floatX"
    parameters: ClassVar = {{"loc": 0.0, "scale": 1.0}}

    def definition(self, rng: Generator, loc: Operand, scale: Operand, *, size: Size) -> Operand:
        """Draw, by the generator's methods and NumPy's functions; the derivative goes through it."""
        msg = "{name}: fill in the draw."
        raise NotImplementedError(msg)


{name} = {kind}RV()
'''
IMPORTS: Imports = {"treadle.tensor.random.op": ("RandomVariable",), "typing": ("ClassVar",)}
TYPES: Imports = {"treadle.tensor.random.methods.generator_methods": ("Generator", "Operand", "Size")}
ORACLE = """def _expected_{name}(loc: float, scale: float) -> Any:
    msg = "{name}: fill in the frozen distribution of scipy.stats."
    raise NotImplementedError(msg)


"""
RECORD = '    Distribution("{name}", [(0.5, 2.0)], _expected_{name}, smooth=(0, 1)),\n'
RECORD_IMPORTS: Imports = {"treadle.testing.distribution": ("Distribution",), "typing": ("Any",)}


def families(root: Path) -> list[str]:
    """Return the modules that hold distributions."""
    return sorted(path.stem for path in (root / DRAWS).glob("*.py") if path.stem != "__init__")


def refusal(root: Path, args: Namespace) -> str:
    """Return why the skeleton cannot be written into a checkout, or nothing."""
    if reason := bad_name(args.name):
        return reason
    if args.family not in families(root):
        known = ", ".join(families(root))
        return f"a distribution needs a family, got {args.family!r}. Pass --family with one of {known}."
    for taken in (args.name, f"{class_name(args.name)}RV"):
        if path := home_of(root, taken):
            return f"{args.name!r} is defined already, in {path.relative_to(root)}. Take another name."
    return ""


def write(root: Path, args: Namespace) -> list[Path]:
    """Write the skeleton into a checkout; return the files that changed."""
    name, kind = args.name, class_name(args.name)
    source, record = root / DRAWS / f"{args.family}.py", root / RECORDS / f"{args.family}.py"
    text = source.read_text(encoding="utf-8").rstrip("\n") + "\n" + DISTRIBUTION.format(name=name, kind=kind)
    source.write_text(with_exports(with_imports(text, IMPORTS, TYPES), [f"{kind}RV", name]), encoding="utf-8")
    text = record.read_text(encoding="utf-8")
    at = text.index("DISTRIBUTIONS")
    end = text.index("\n]", at) + 1
    text = text[:at] + ORACLE.format(name=name) + text[at:end] + RECORD.format(name=name) + text[end:]
    record.write_text(with_imports(text, RECORD_IMPORTS, {}), encoding="utf-8")
    return tidy(root, [source, record, *tables.write(root)])
