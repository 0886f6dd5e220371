"""The parameters of lambdas, such as ``x`` in ``transform(a, x -> x + 1)``."""

from __future__ import annotations

from sqlglot import exp


def bind_lambdas(tree: exp.Expr) -> None:
    """Turn names in lambdas that are parameters from columns into names; the tree is changed.

    The parser does so only if a name has the same case as the parameter.
    """
    for around in list(tree.find_all(exp.Lambda)):
        names = {each.name.lower() for each in around.expressions}
        for column in list(around.this.find_all(exp.Column)):
            if column.parts[0].name.lower() in names:
                column.replace(column.to_dot() if column.table else column.this)
