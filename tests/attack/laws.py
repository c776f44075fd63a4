"""Laws by which a tree is rewritten: some hold always, some sometimes, some never."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from spec.language import absolute, case, exp, le, lift, lt, sqrt
from spec.language.binders import MaxOf, SumOf
from spec.language.expr import TRUE, Case, Compare, Func, Minus, Negative, Node, Not, Plus, Power, Times


def laws(tree: Node) -> list[Node]:
    """What a tree becomes by laws at its head; some hold always, some sometimes, some never."""
    found: list[Node] = [tree, tree + 0, Negative(Negative(tree))]
    if isinstance(tree, Plus):
        found += [Plus(tree.args[1], tree.args[0])]
    if isinstance(tree, Times):
        found += [Times(tree.args[1], tree.args[0])]
        for part in (0, 1):
            if isinstance(tree.args[part], Plus | Minus):
                head, other = tree.args[part], tree.args[1 - part]
                found += [head.func(other * head.args[0], other * head.args[1])]
    if isinstance(tree, Case):
        condition, then, otherwise = tree.args
        found += [
            case(~condition, otherwise, then),
            then,
            case(condition, then, 0) + case(~condition, otherwise, 0),
        ]
        if isinstance(condition, Compare):
            relation, left, right = condition.args
            turned = {"<": le, "<=": lt}.get(str(relation))
            if turned is not None:
                found += [
                    case(turned(right, left), otherwise, then),
                    case(turned(left, right), then, otherwise),
                ]
    if isinstance(tree, Func):
        inner = tree.args[1]
        if tree.name == "sqrt" and isinstance(inner, Power):
            found += [
                absolute(inner.args[0]),
                inner.args[0],
                case(le(0, inner.args[0]), inner.args[0], -inner.args[0]),
            ]
        if tree.name == "abs":
            found += [inner, case(lt(0, inner), inner, -inner), sqrt(inner**2), absolute(-inner)]
        if tree.name == "exp" and isinstance(inner, Plus):
            found += [exp(inner.args[0]) * exp(inner.args[1])]
        if tree.name == "log" and isinstance(inner, Func) and inner.name == "exp":
            found += [inner.args[1]]
        if isinstance(inner, Case):
            made = [tree.func(tree.args[0], part) for part in inner.args[1:]]
            found += [case(inner.args[0], *made)]
    if isinstance(tree, Power) and tree.args[1] == lift(2):
        base = tree.args[0]
        found += [base * base, absolute(base) ** 2]
        if isinstance(base, Plus | Minus):
            left, right = base.args
            found += [left**2 + 2 * left * right + right**2, left**2 - 2 * left * right + right**2]
    if isinstance(tree, SumOf | MaxOf):
        body, var, first, last, where = tree.args
        again = tree.func
        found += [again(body, var, first, last - 1, where)]
        if isinstance(tree, SumOf):
            found += [SumOf(case(where, body), var, first, last, TRUE)]
            if isinstance(body, Plus | Minus):
                found += [body.func(*(SumOf(part, var, first, last, where) for part in body.args))]
            if isinstance(body, Case):
                condition, then, otherwise = body.args
                found += [
                    SumOf(then, var, first, last, where & condition)
                    + SumOf(otherwise, var, first, last, where & ~condition)
                ]
                if isinstance(condition, Not):
                    found += [SumOf(then, var, first, last, where)]
            found += [SumOf(body, var, first, last, TRUE) - SumOf(body, var, first, last, ~where)]
        else:
            found += [-MaxOf(-body, var, first, last, where), MaxOf(body, var, first, last, TRUE)]
    return found


@st.composite
def rewritten(draw: Any, tree: Node) -> Node:
    """The tree with laws applied at its head and somewhere inside."""
    made = draw(st.sampled_from(laws(tree)))
    args = list(made.args)
    places = [at_ for at_, child in enumerate(args) if type(child).__name__ in _VALUES]
    if (
        places
        and type(made).__name__ not in ("Ref", "Func", "Literal", "Delta", "Compare")
        and draw(st.booleans())
    ):
        place = draw(st.sampled_from(places))
        args[place] = draw(st.sampled_from(laws(args[place])))
        made = made.func(*args)
    return made


_VALUES = {"Plus", "Minus", "Times", "Over", "Power", "Negative", "Func", "Case", "SumOf", "MaxOf", "Ref"}
