"""Derivations on a page: each step with its one written reason; inductions in full; what a proof rests on; one record."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from html import escape
from typing import Any

from sympy.core.basic import Basic

from spec.language.calls import Call, Pullback
from spec.language.expr import TRUE
from spec.language.flatten import apply_conventions
from spec.language.known import get_formula
from spec.language.proving.obligations import Obligation
from spec.language.proving.proof import Checked, CheckedClaim, CheckedInduction, CheckedStep
from spec.language.render import claim_text, latex
from spec.language.theorem import Assurance, Claim, Theorem
from spec.language.trees import walk

from .markup import Line, code, folded, inline, maths, sentence

AT_ONCE = "At once"
"""How the reason of a claim begins whose proof has no line between its sides."""
SIGNS = {"=": "=", "<=": r"\le", "<": "<"}
SHORT = 160
"""Characters of a witness that stand in a line of their own."""


def over(ranges: Iterable[tuple[Any, Any]]) -> str:
    """The ranges of a claim's indices."""
    return r",\ ".join(f"{latex(symbol)} < {latex(size)}" for symbol, size in ranges)


class Derivations:
    """The derivations of one theorem's claims, written under a choice of conventions; an induction that serves twice, once."""

    def __init__(self, conventions: Mapping[str, str], exists: bool = False) -> None:
        self._conventions, self._exists = conventions, exists
        self._seen: set[int] = set()

    def of(self, item: CheckedClaim) -> str:
        """The steps of a claim's proof; empty where there is nothing to show."""
        note = f"{sentence(item.note)}." if item.note and item.assurance != Assurance.REFUSED else ""
        if item.claim.proof.method == "witness":
            note = f"{_witness(item.claim.proof.point)}\n\n{note}"
        if item.induction is None and len(item.steps) == 1 and not item.refusal:
            (step,) = item.steps
            return f"{AT_ONCE}: {escape(step.why)}."
        rows = self._chain(item)
        shown = f'<section class="derivation" data-search-exclude>{rows}</section>' if rows else ""
        return "\n\n".join(part for part in (shown, note) if part)

    def line(self, claim: Claim, number: str) -> Line:
        """A claim as a line that may be broken before its relation."""
        whole, left = self.claim(claim), self._latex(claim.left)
        return Line(number, left, self.reach(claim), rest=whole.removeprefix(left).lstrip())

    def claim(self, claim: Claim) -> str:
        """The relation of a claim as LaTeX; that of an existential theorem as what holds for some inputs."""
        return claim_text(replace(claim, where=TRUE), "latex", self._conventions, self._exists)

    def reach(self, claim: Claim) -> str:
        """The indices for which a claim is made: their ranges, and the condition on them."""
        where = [] if claim.where == TRUE else [rf"\text{{where }} {self._latex(claim.where)}"]
        return r",\ ".join([*([over(claim.over)] if claim.over else []), *where])

    def _latex(self, node: Basic) -> str:
        return latex(apply_conventions(node, self._conventions))

    def _chain(self, item: CheckedClaim) -> str:
        """What is shown by induction first, if anything is, and the steps."""
        rows = [self._induction(item.induction)] if item.induction is not None else []
        if item.steps:
            rows += [_says("Hence")] if rows else []
            rows.append(row(maths(self._latex(item.steps[0].left), True), ""))
        return "".join([*rows, *(self._step(step) for step in item.steps)])

    def _induction(self, shown: CheckedInduction) -> str:
        """Its claims, each at the first value of the index, then each at the next, the claims being known at one."""
        if id(shown) in self._seen:
            return _says("By the same induction as above")
        self._seen.add(id(shown))
        symbol, first, last = shown.over
        k, a, b = latex(symbol), latex(first), latex(last)
        here = inline(rf"{a} \le {k} < {b}")
        parts = [
            _says(f"By induction over {inline(k)} from {inline(a)} to {inline(b)}:"),
            *(self._claim(claim) for claim in shown.claims),
            _says(f"Base, at {inline(f'{k} = {a}')}"),
            *(f'<div class="part">{self._chain(part)}</div>' for part in shown.base),
            _says(f"Step, from {inline(k)} to {inline(f'{k} + 1')}: for {here} the above is the hypothesis"),
            *(f'<div class="part">{self._chain(part)}</div>' for part in shown.step),
        ]
        return f'<div class="induction">{"".join(parts)}</div>'

    def _claim(self, claim: Claim) -> str:
        line = self.line(claim, "")
        return row(f"{maths(line.equation, True)} {maths(line.rest, True)}", "", line.ranges)

    def _step(self, step: CheckedStep) -> str:
        why = f"<div>{escape(step.why)}</div>"
        if step.refusal:
            why += f'<div class="refusal">{escape(step.refusal)}</div>'
        return row(maths(f"{SIGNS[step.relation]} {self._latex(step.right)}", True), why)


def record(item: Checked) -> str:
    """What the checker noted of a theorem: the rules it used, what had to hold, and the statements that were unfolded."""
    rules = ", ".join(
        f'<a href="proofs.html#rule-{r.name}" title="{escape(r.sentence)}">{escape(r.name.replace("_", " "))}</a>'
        for r in item.rules
    )
    relied = list(dict.fromkeys(_obligation(o) for o in item.obligations))
    used = _unfolded(item)
    parts = [f"<p>Rules: {rules}.</p>" if rules else ""]
    if used:
        links = ", ".join(f'<a href="{i}.html"><code>{i}</code></a>' for i in used)
        parts.append(f"<p>Statements unfolded: {links}.</p>")
    if relied:
        said = "What had to hold, and why it does; in the letters of the statement that is named, at what it is given here"
        parts.append(f"<p>{said}:</p><ul>{''.join(relied)}</ul>")
    return f'<div class="record" data-search-exclude>{"".join(parts)}</div>'


def rests(theorem: Theorem) -> str:
    """The theorems that its proofs cite, each linked, and the formulas that they keep whole; empty where there are neither."""
    cited = [
        f'<li><a href="{one.call.formula_id}.html#{anchor(one.name)}">{escape(one.formula.title)}, '
        f"{escape(spoken(one.name))}</a>: {escape(one.theorem.title)}.</li>"
        for one in theorem.cited
    ]
    kept = ", ".join(f'<a href="{i}.html">{escape(get_formula(i).title)}</a>' for i in theorem.kept)
    parts = [f'<p><a href="proofs.html#citing-and-keeping">Cited</a>:</p><ul>{"".join(cited)}</ul>'] * bool(
        cited
    )
    parts += [f'<p><a href="proofs.html#citing-and-keeping">Kept whole</a>: {kept}.</p>'] * bool(kept)
    return f'<div class="rests" data-search-exclude>{"".join(parts)}</div>' if parts else ""


def anchor(name: str) -> str:
    """The link target of a theorem of this name on its formula's page."""
    return f"theorem-{name.replace('_', '-')}"


def spoken(name: str) -> str:
    """A theorem's name in words."""
    return name.replace("_", " ").replace("-", " ")


def _obligation(met: Obligation) -> str:
    said = (
        escape(met.sentence)
        if isinstance(met.tree, str)
        else f"{inline(latex(met.tree))} {escape(met.relation)}"
        + (f" in <code>{met.where}</code>" if met.where else "")
    )
    return f"<li>{said} <span>({escape(met.reason)})</span></li>"


def _witness(point: Mapping[str, Any]) -> str:
    """The sizes and inputs of a witness; folded where they are many."""
    said = ", ".join(f"{name} = {_entries(value)}" for name, value in point.items())
    if len(said) <= SHORT:
        return f"Such are {code(said)}."
    return folded("Such inputs", f"``` {{ .text .said }}\n{said}\n```", "record")


def _entries(value: Any) -> str:
    """A number, or nested lists of them in parentheses."""
    if isinstance(value, list | tuple):
        return f"({', '.join(map(_entries, value))})"
    return str(int(value) if isinstance(value, float) and value.is_integer() else value)


def _unfolded(item: Checked) -> list[str]:
    """The formulas with a page that a theorem's claims and steps apply and that their proofs look into, by ID."""
    found: dict[str, None] = {}
    for claim in item.claims:
        trees = (claim.claim.left, claim.claim.right, *(s.right for s in claim.every_step))
        kept = claim.claim.proof.every_kept
        found |= dict.fromkeys(i for i in applied(trees) if i not in kept and not get_formula(i).auxiliary)
    return list(found)


def applied(trees: Iterable[Basic]) -> list[str]:
    """The formulas that trees apply, by ID, in order of appearance."""
    found: dict[str, None] = {}
    for tree in trees:
        for part in walk(tree):
            if isinstance(part, Call | Pullback):
                found.setdefault(part.formula_id if isinstance(part, Call) else part.call.formula_id)
    return list(found)


def row(equation: str, why: str, ranges: str = "") -> str:
    """A line of a derivation: an equation, for which indices it holds where that is said, and why it does."""
    reach = f'<div class="range">{maths(ranges)}</div>' if ranges else ""
    return (
        f'<div class="step"><div class="equation">{equation}</div><div class="why">{why}{reach}</div></div>'
    )


def _says(text: str) -> str:
    """A line of words between the steps."""
    return f'<div class="says">{text}</div>'
