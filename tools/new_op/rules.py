"""Skeletons of rewriting rules, with a case that says what they make of an expression."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tools.new_op.sources import Imports, bad_name, home_of, module_name, tidy, with_imports

if TYPE_CHECKING:
    from argparse import Namespace

CASES = Path("tests/tensor_rewrites/cases.py")
RULE = '''

@RULES.rule(Phase.CANONICALIZE, {op}, tags=("fast_compile", "fast_run"))
def {name}(node: TensorNode) -> TensorVariable | None:
    """To be filled in: f(g(x)) -> h(x)."""
    msg = "{name}: fill in the replacement; return None where there is none."
    raise NotImplementedError(msg)
'''
TYPES: Imports = {"treadle.tensor.variables.variable": ("TensorNode", "TensorVariable")}
CASE = """def _{name}(v: Variables) -> object:
    msg = "{name}: fill in an expression of the variables."
    raise NotImplementedError(msg)


"""
ROW = '    Case("{name}", _{name}, "fill in the text of what it becomes"),\n'


def families(root: Path) -> list[str]:
    """Return the names of the modules that declare a set of rules: those of their rooms, and their own where unique."""
    return sorted(_modules(root))


def _modules(root: Path) -> dict[str, Path]:
    paths = root.glob("packages/*/src/treadle/tensor/**/*.py")
    holding = [path for path in paths if "\nRULES = RuleSet(" in path.read_text(encoding="utf-8")]
    stems = [path.stem for path in holding]
    by_name = {path.stem: path for path in holding if stems.count(path.stem) == 1 and path.stem != "rules"}
    for path in holding:
        inside = path.as_posix().partition("/treadle/tensor/")[2].removesuffix(".py")
        by_name[inside.replace("rules/", "").removesuffix("/rules")] = path
    return by_name


def refusal(root: Path, args: Namespace) -> str:
    """Return why the skeleton cannot be written into a checkout, or nothing."""
    if reason := bad_name(args.name):
        return reason
    if args.family not in families(root):
        return f"a rule needs a family, got {args.family!r}. Pass --family with one of {', '.join(families(root))}."
    if path := home_of(root, args.name):
        return f"{args.name!r} is defined already, in {path.relative_to(root)}. Take another name."
    if args.op is None or home_of(root, args.op) is None:
        return (
            f"a rule is about an op, got {args.op!r}. Pass --op with its class or function, such as Reduction or exp."
        )
    return ""


def write(root: Path, args: Namespace) -> list[Path]:
    """Write the skeleton into a checkout; return the files that changed."""
    source, cases = _modules(root)[args.family], root / CASES
    home = home_of(root, args.op)
    imports: Imports = {"treadle.rewrite": ("Phase",)}
    if home is not None and home != source:
        imports[module_name(root, home)] = (args.op,)
    text = source.read_text(encoding="utf-8").rstrip("\n") + "\n" + RULE.format(name=args.name, op=args.op)
    source.write_text(with_imports(text, imports, TYPES), encoding="utf-8")
    text = cases.read_text(encoding="utf-8")
    at = text.index("CASES = [")
    end = text.index("\n]", at) + 1
    text = text[:at] + CASE.format(name=args.name) + text[at:end] + ROW.format(name=args.name) + text[end:]
    cases.write_text(text, encoding="utf-8")
    return tidy(root, [source, cases])
