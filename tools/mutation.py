"""Mutants: a module of treadle with one change, made in memory as the module is imported.

As a plugin of pytest (``-p tools.mutation``) it plants the mutant that the environment variable ``MUTANT`` names, as
``module:number`` or ``module:number:part``. No file is changed. Nothing changes in text for messages, types or
docstrings, and nothing in tables of names.
"""

from __future__ import annotations

import ast
import os
import re
import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import PathFinder, SourceFileLoader
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import CodeType, ModuleType

VARIABLE = "MUTANT"
# Names of functions and arguments to which mutants can be restricted.
PARTS = {"derivatives": re.compile(r"(pullback|pushforward|linear)(_|$)"), "": re.compile("")}

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
}


class Mutation(NamedTuple):
    """One change: the line, and what is changed there."""

    line: int
    what: str


class _Mutator(ast.NodeTransformer):
    """Count the places that can be changed, and change one of them."""

    def __init__(self, part: str, target: int | None = None) -> None:
        self._names = PARTS[part]
        self._depth = 0 if part else 1
        self._target = target
        self.places: list[Mutation] = []

    def _here(self, node: Any, what: str) -> bool:
        """Note a place; return whether it is the one to change."""
        if not self._depth:
            return False
        self.places.append(Mutation(node.lineno, what))
        return len(self.places) - 1 == self._target

    def _inside(self, name: str, node: ast.AST) -> ast.AST:
        inside = bool(self._names.match(name))
        self._depth += inside
        self.generic_visit(node)
        self._depth -= inside
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Change the body alone: decorators, types and the docstring are not behaviour of the function."""
        inside = bool(self._names.match(node.name.lstrip("_")))
        self._depth += inside
        node.body = [self.visit(statement) for statement in node.body]
        self._depth -= inside
        return node

    def visit_keyword(self, node: ast.keyword) -> ast.AST:
        """Change the argument's value alone."""
        return self._inside(node.arg or "", node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        """Change the value alone."""
        if node.value is not None:
            node.value = self.visit(node.value)
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        """Leave messages and tables of names alone."""
        names = {target.id for target in node.targets if isinstance(target, ast.Name)}
        return node if names & {"msg", "__all__"} else self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        """Leave errors alone."""
        return node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        """Leave texts alone."""
        return node

    def visit_If(self, node: ast.If) -> ast.AST:
        """Take the branch always, or never."""
        if isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            return node
        for value in (True, False):
            if self._here(node, f"if {ast.unparse(node.test)} -> if {value}"):
                node.test = ast.copy_location(ast.Constant(value), node.test)
                return node
        return self.generic_visit(node)

    def visit_Return(self, node: ast.Return) -> ast.AST:
        """Return nothing."""
        if node.value is not None and not (isinstance(node.value, ast.Constant) and node.value.value is None):
            text = ast.unparse(node.value)
            if self._here(node, f"return {text if len(text) < 60 else text[:57] + '...'} -> return None"):
                node.value = None
                return node
        return self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        """Turn each comparison into a related one or its opposite."""
        text = ast.unparse(node)
        for k, op in enumerate(node.ops):
            other = _COMPARISONS[type(op)]
            if self._here(node, f"{text}: {type(op).__name__} -> {other.__name__}"):
                node.ops[k] = other()
                return node
        return self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        """Turn and into or, or into and; leave out each condition."""
        text = ast.unparse(node)
        if self._here(node, f"{text}: and <-> or"):
            node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
            return node
        for k, value in enumerate(node.values):
            if self._here(node, f"{text}: without {ast.unparse(value)}"):
                rest = node.values[:k] + node.values[k + 1 :]
                return rest[0] if len(rest) == 1 else ast.copy_location(ast.BoolOp(node.op, rest), node)
        return self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        """Leave out a not or a minus."""
        if isinstance(node.op, ast.Not | ast.USub) and self._here(node, f"{ast.unparse(node)} -> operand"):
            return node.operand
        return self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        """Turn an operator into another."""
        other = _OPERATORS.get(type(node.op))
        if other is not None and self._here(node, f"{ast.unparse(node)}: -> {other.__name__}"):
            node.op = other()
            return node
        return self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        """Change a number by one, a truth value to the other."""
        if isinstance(node.value, bool):
            if self._here(node, f"{node.value} -> {not node.value}"):
                return ast.copy_location(ast.Constant(not node.value), node)
        elif isinstance(node.value, int | float) and self._here(node, f"{node.value} -> {node.value + 1}"):
            return ast.copy_location(ast.Constant(node.value + 1), node)
        return node


def mutations(source: str, part: str = "") -> list[Mutation]:
    """Return what can be changed in a module's text, in order; the numbers are those of `mutant`."""
    mutator = _Mutator(part)
    mutator.visit(ast.parse(source))
    return mutator.places


def mutant(source: str, number: int, part: str = "") -> ast.Module:
    """Return a module with one change."""
    tree = ast.parse(source)
    mutator = _Mutator(part, number)
    changed: ast.Module = mutator.visit(tree)
    if number >= len(mutator.places):
        msg = f"mutant: the module has {len(mutator.places)} places that can be changed, got number {number}."
        raise ValueError(msg)
    return ast.fix_missing_locations(changed)


class _Loader(SourceFileLoader):
    """Load a module from its file, changed."""

    def __init__(self, name: str, path: str, number: int, part: str) -> None:
        super().__init__(name, path)
        self._change = (number, part)

    def get_code(self, fullname: str) -> CodeType:
        """Compile the changed text, whatever bytecode is kept."""
        path = self.get_filename(fullname)
        code: CodeType = compile(mutant(self.get_data(path).decode(), *self._change), path, "exec")
        return code


class Planting(MetaPathFinder):
    """Finds one module, changed."""

    def __init__(self, named: str) -> None:
        self.module, number, *part = named.split(":")
        self._number = int(number)
        self._part = part[0] if part else ""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return where the module is, with the loader that changes it."""
        if fullname != self.module:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.origin is not None:
            spec.loader = _Loader(fullname, spec.origin, self._number, self._part)
        return spec


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests() -> None:
    """Plant the mutant before anything of treadle is imported."""
    named = os.environ.get(VARIABLE)
    if named:
        sys.meta_path.insert(0, Planting(named))
