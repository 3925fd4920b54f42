"""Reading the text of a unit, and which of its variables need a place in memory."""

from __future__ import annotations

import ast

_BLOCKS = (ast.If, ast.For, ast.While)


def parsed(source: str) -> ast.stmt:
    """Return the one statement of a text, in which ``a += b`` is written as ``a = a + b``, and others like it."""
    (statement,) = ast.parse(source).body
    plain: ast.stmt = _Plain().visit(statement)
    return plain


class _Plain(ast.NodeTransformer):
    def visit_AugAssign(self, node: ast.AugAssign) -> ast.Assign:
        read = ast.parse(ast.unparse(node.target), mode="eval").body
        return ast.Assign([node.target], ast.BinOp(read, node.op, node.value))


def lasting_names(function: ast.FunctionDef) -> set[str]:
    """Return the names that need a place in memory: assigned twice, or read outside of the block that assigns them."""
    assigned: dict[str, tuple[int, ...]] = {a.arg: () for a in function.args.args}
    lasting: set[str] = set()
    reads: list[tuple[str, tuple[int, ...]]] = []
    pending: list[tuple[ast.AST, tuple[int, ...]]] = [(s, ()) for s in function.body]
    while pending:
        node, block = pending.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            reads.append((node.id, block))
        elif isinstance(node, ast.Name):
            if node.id in assigned:
                lasting.add(node.id)
            assigned[node.id] = block
        for field, value in ast.iter_fields(node):
            inner = block
            if isinstance(node, _BLOCKS) and field in {"body", "orelse", "target"}:
                inner = (*block, id(node.orelse if field == "orelse" else node.body))
            pending += [(x, inner) for x in (value if isinstance(value, list) else [value]) if isinstance(x, ast.AST)]
    lasting.update(name for name, block in reads if name in assigned and block[: len(assigned[name])] != assigned[name])
    return lasting
