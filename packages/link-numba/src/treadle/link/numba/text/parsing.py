"""Reading the text of a unit."""

from __future__ import annotations

import ast


def parsed(source: str) -> ast.stmt:
    """Return the one statement of a text, in which ``a += b`` is written as ``a = a + b``, and others like it."""
    (statement,) = ast.parse(source).body
    plain: ast.stmt = _Plain().visit(statement)
    return plain


class _Plain(ast.NodeTransformer):
    def visit_AugAssign(self, node: ast.AugAssign) -> ast.Assign:
        read = ast.parse(ast.unparse(node.target), mode="eval").body
        return ast.Assign([node.target], ast.BinOp(read, node.op, node.value))
