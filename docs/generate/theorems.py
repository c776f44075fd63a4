"""Theorems on a page: the sentence, the claim, its assurance, and the derivation as the checker followed it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import cache
from html import escape
from typing import Any

from spec.language.formula import Formula
from spec.language.proving.proof import Checked, CheckedClaim, CheckedInduction, CheckedStep, check
from spec.language.proving.rules import RULES
from spec.language.registry import formulas
from spec.language.render import claim_text, latex
from spec.language.theorem import Assurance, Theorem

from .markup import Line, badge, folded, inline, maths, statement, table

MEANING = {
    Assurance.PROVED: "proved for all sizes",
    Assurance.PROVED_AT_SIZES: "proved at the listed sizes only",
    Assurance.ENCLOSED: "both sides enclosed by balls, to 30 digits, at random points",
    Assurance.TESTED: "tested numerically, nothing more",
    Assurance.REFUSED: "refused by the checker",
}
SHORT = 4
"""Steps up to which a derivation is open when the page is opened."""
SIGNS = {"=": "=", "<=": r"\le", "<": "<"}
COUNTED: dict[str, dict[Assurance, int]] = {}
"""What is known of a formula's theorems, counted here or by the process that made its page."""


@cache
def checked(formula_id: str) -> tuple[Checked, ...]:
    """Every theorem of a formula, as the checker judges it while the pages are built."""
    formula = formulas()[formula_id]
    return tuple(check(theorem, formula) for theorem in formula.theorems.values())


def anchor(theorem: Theorem) -> str:
    """The link target of a theorem on its formula's page."""
    return f"theorem-{theorem.name.replace('_', '-')}"


def section(formula: Formula) -> str:
    """All theorems of a formula as Markdown."""
    return "\n\n".join(_one(c) for c in checked(formula.id))


def counts(formula_id: str) -> dict[Assurance, int]:
    """How many theorems a formula has at each assurance."""
    if formula_id not in COUNTED:
        COUNTED[formula_id] = dict(Counter(item.assurance for item in checked(formula_id)))
    return COUNTED[formula_id]


def summary(formula: Formula) -> str:
    """How many theorems a formula has at each assurance, as badges."""
    return " ".join(
        badge(f"{n} {word}", str(word), MEANING[word])
        for word, n in sorted(counts(formula.id).items(), reverse=True)
    )


def mark(assurance: Assurance) -> str:
    """An assurance as a badge."""
    return badge(str(assurance), str(assurance), MEANING[assurance])


def _one(item: Checked) -> str:
    theorem = item.theorem
    name = theorem.name.replace("_", " ").replace("-", " ")
    parts = [
        f"### {sentence(name)} {{#{anchor(theorem)}}}",
        f"{mark(item.assurance)} {sentence(theorem.title).rstrip('.')}.",
        _hypotheses(theorem),
        statement(
            Line("" if len(item.claims) == 1 else str(i), claim_text(c.claim, "latex"), over(c.claim.over))
            for i, c in enumerate(item.claims, 1)
        ),
    ]
    if item.refusal:
        parts.append(f"``` {{ .text .said }}\n{item.refusal}\n```")
    seen: set[int] = set()
    derivations = [
        text
        for i, c in enumerate(item.claims, 1)
        if (text := _derivation(c, i if len(item.claims) > 1 else 0, seen))
    ]
    if derivations:
        short = sum(1 for c in item.claims for _ in c.every_step) <= SHORT
        parts.append(folded("Derivation", "\n\n".join(derivations), "abstract", short))
    return "\n\n".join(part for part in parts if part)


def sentence(text: str) -> str:
    """Text that begins with a capital, if it begins with a plain letter of a word."""
    return text[0].upper() + text[1:] if text[:2].isalpha() or text[1:2] == " " else text


def over(ranges: Iterable[tuple[Any, Any]]) -> str:
    """The ranges of a claim's indices."""
    return r",\ ".join(f"{latex(symbol)} < {latex(size)}" for symbol, size in ranges)


def _hypotheses(theorem: Theorem) -> str:
    """The theorem's own quantifiers and hypotheses, in a line."""
    words = []
    for t in theorem.given:
        shape = r" \times ".join(latex(size) for size in t.shape)
        kind = {
            "permutation": "a permutation",
            "real": "any",
            "positive": "a positive",
            "boolean": "a Boolean",
        }.get(t.domain, f"any {t.domain}")
        words.append(f"for {kind} {inline(latex(t))}" + (f" of shape {inline(shape)}" if shape else ""))
    words += [f"for {inline(latex(size))} = {inline(latex(value))}" for size, value in theorem.sizes.items()]
    words += [f"assuming {inline(latex(condition))}" for condition in theorem.assuming]
    words += [f"at {inline(latex(t))} = {escape(str(value))}" for t, value in theorem.at.items()]
    words += [f"under the convention <code>{n} = {o}</code>" for n, o in theorem.conventions.items()]
    text = ", ".join(words)
    return f"{text[0].upper()}{text[1:]}:" if text else ""


def _derivation(item: CheckedClaim, number: int, seen: set[int]) -> str:
    """The steps of a claim's proof, each with its reason, the rules it used and what it relied on.

    ``seen`` holds the inductions that the theorem's derivations have shown already.
    """
    title = f"**Claim ({number})** {mark(item.assurance)}\n\n" if number else ""
    note = f"{sentence(item.note)}." if item.note and item.assurance != Assurance.REFUSED else ""
    rows = _chain(item, seen)
    if not rows:
        return title + note if note else ""
    return f'{title}<div class="derivation" data-search-exclude>{rows}</div>' + (
        f"\n\n{note}" if note else ""
    )


def _chain(item: CheckedClaim, seen: set[int]) -> str:
    """What is shown by induction first, if anything is, and the steps."""
    rows = [_induction(item.induction, seen)] if item.induction is not None else []
    if item.steps:
        rows += [_says("Hence")] if rows else []
        left = maths(latex(item.steps[0].left), True)
        rows.append(f'<div class="step"><div class="equation">{left}</div><div class="why"></div></div>')
    return "".join([*rows, *(_step(step) for step in item.steps)])


def _induction(shown: CheckedInduction, seen: set[int]) -> str:
    """An induction: its claims, each at the first value of the index, then each at the next, the claims being known at one."""
    if id(shown) in seen:
        return _says("By the same induction as above")
    seen.add(id(shown))
    symbol, first, last = shown.over
    k, a, b = latex(symbol), latex(first), latex(last)
    parts = [_says(f"By induction over {inline(k)} from {inline(a)} to {inline(b)}:")]
    parts += [
        f'<div class="step"><div class="equation">{maths(claim_text(claim, "latex"), True)}</div>'
        f'<div class="why">{inline(over(claim.over)) if claim.over else ""}</div></div>'
        for claim in shown.claims
    ]
    parts.append(_says(f"Base, at {inline(f'{k} = {a}')}"))
    parts += [f'<div class="part">{_chain(part, seen)}</div>' for part in shown.base]
    here = inline(rf"{a} \le {k} < {b}")
    parts.append(
        _says(f"Step, from {inline(k)} to {inline(f'{k} + 1')}: for {here} the above is the hypothesis")
    )
    parts += [f'<div class="part">{_chain(part, seen)}</div>' for part in shown.step]
    return f'<div class="induction">{"".join(parts)}</div>'


def _says(text: str) -> str:
    """A line of words between the steps."""
    return f'<div class="says">{text}</div>'


def _step(step: CheckedStep) -> str:
    sign = SIGNS[step.relation]
    why = f"<div>{escape(sentence(step.why))}</div>"
    if step.rules:
        links = ", ".join(
            f'<a href="proofs.html#rule-{r.name}" title="{escape(r.sentence)}">{escape(r.name.replace("_", " "))}</a>'
            for r in step.rules
        )
        why += f'<div class="rules">{links}</div>'
    if step.obligations:
        relied = "".join(
            f"<li>{escape(o.sentence)} <span>({escape(o.reason)})</span></li>" for o in step.obligations
        )
        why += f"<details><summary>relies on</summary><ul>{relied}</ul></details>"
    if step.refusal:
        why += f'<div class="refusal">{escape(step.refusal)}</div>'
    equation = maths(f"{sign} {latex(step.right)}", True)
    return f'<div class="step"><div class="equation">{equation}</div><div class="why">{why}</div></div>'


def rules_table() -> str:
    """Every rule of rewriting with its law over generic tensors."""
    rows = []
    for rule in RULES.values():
        law = rule.law()
        rows.append(
            (
                f'<b id="rule-{rule.name}">{escape(rule.name.replace("_", " "))}</b><br>{escape(rule.sentence)}',
                inline(f"{latex(law.left)} {SIGNS[law.relation]} {latex(law.right)}"),
            )
        )
    return table(("Rule", "An instance"), rows, "rules")


def assurances() -> str:
    """The assurance words and what each means."""
    return table(
        ("Word", "Meaning"), [(mark(a), escape(MEANING[a])) for a in sorted(Assurance, reverse=True)]
    )
