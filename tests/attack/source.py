"""A theorem written as the one line of Python that makes it, so that a hit can be reproduced."""

from __future__ import annotations

from typing import Any

import sympy

from spec.language.binders import AnyOf, Expectation, MaxOf, SumOf
from spec.language.expr import (
    TRUE,
    Both,
    Case,
    Compare,
    Delta,
    Either,
    Func,
    Literal,
    Minus,
    Negative,
    Not,
    Over,
    Plus,
    Power,
    Ref,
    Times,
)
from spec.language.theorem import Claim, Theorem

BETWEEN = {Plus: "+", Minus: "-", Times: "*", Over: "/", Power: "**", Both: "&", Either: "|"}
FUNCTION = {"abs": "absolute", "round": "rounded"}


def source(tree: Any) -> str:
    """A tree in the vocabulary of statements."""
    if isinstance(tree, Ref):
        index = ", ".join(source(part) for part in tree.index)
        return f"{tree.tensor.name}[{index}]" if index else tree.tensor.name
    if isinstance(tree, Literal):
        return f"lift({tree.value})"
    if type(tree) in BETWEEN:
        return f"({source(tree.args[0])} {BETWEEN[type(tree)]} {source(tree.args[1])})"
    if isinstance(tree, Negative):
        return f"-{source(tree.args[0])}"
    if isinstance(tree, Not):
        return f"~({source(tree.args[0])})"
    if isinstance(tree, Func):
        return f"{FUNCTION.get(tree.name, tree.name)}({source(tree.args[1])})"
    if isinstance(tree, Delta):
        return f"delta({source(tree.args[0])}, {source(tree.args[1])})"
    if isinstance(tree, Case):
        return f"case({', '.join(map(source, tree.args))})"
    if isinstance(tree, Compare):
        name = {"<=": "le", "<": "lt", "==": "eq"}[str(tree.args[0])]
        return f"{name}({source(tree.args[1])}, {source(tree.args[2])})"
    if isinstance(tree, SumOf | MaxOf | AnyOf):
        name = {SumOf: "Sum", MaxOf: "Max", AnyOf: "Some"}[type(tree)]
        where = "" if tree.where == TRUE else f", where={source(tree.where)}"
        return f"{name}({source(tree.body)}, ({tree.var}, {tree.first}, {tree.last}){where})"
    if isinstance(tree, Expectation):
        return f"expected({source(tree.body)}, {', '.join(t.name for t in tree.random)})"
    return str(tree) if isinstance(tree, sympy.Basic) else repr(tree)


def claimed(claim: Claim) -> str:
    """A claim with its proof."""
    where = "" if claim.where == TRUE else f", where={source(claim.where)}"
    steps = "".join(f'.step({source(step.to)}, "so")' for step in claim.proof.steps)
    return f'claim({source(claim.left)}, "{claim.relation}", {source(claim.right)}{where}){steps}'


def stated(theorem: Theorem) -> str:
    """A theorem: its claims and what they stand under."""
    line = "; ".join(map(claimed, theorem.claims))
    if theorem.assuming:
        line += f", assuming=({', '.join(map(source, theorem.assuming))},)"
    for name, value in (("at", theorem.at), ("sizes", theorem.sizes), ("conventions", theorem.conventions)):
        if value:
            line += f", {name}={dict(value)}"
    return line
