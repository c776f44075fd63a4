"""The rules of rewriting, each with its sentence and its law: the tests evaluate both sides, the page shows them."""

from __future__ import annotations

from html import escape

from spec.language.proving.rules.register import RULES
from spec.language.render import latex
from tests.spec.language.proving.laws import LAWS

from .derivations import SIGNS
from .markup import inline, table


def shown() -> str:
    """Every rule of rewriting with its law over generic tensors."""
    rows = []
    for rule in RULES.values():
        law = LAWS[rule.name]()
        rows.append(
            (
                f'<b id="rule-{rule.name}">{escape(rule.name.replace("_", " "))}</b><br>{escape(rule.sentence)}',
                inline(f"{latex(law.left)} {SIGNS[law.relation]} {latex(law.right)}"),
            )
        )
    return table(("Rule", "An instance"), rows, "rules")
