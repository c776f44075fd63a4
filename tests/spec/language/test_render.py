"""Statements as text, in both vocabularies."""

from __future__ import annotations

import re

import pytest
from sympy import Rational

from spec.language import Max, data, each, indices, sizes, tensor
from spec.language.expr import lift, lt
from spec.language.registry import find, formulas
from spec.language.render import claim_text, latex, statement, unicode

n, m, d, T = sizes("n m d T")
i, j, c, t = indices("i j c t")
x, z = data("x", n, d), tensor("z", n, d)


@pytest.mark.parametrize("formula_id", list(formulas()))
def test_every_statement_renders_and_has_sources(formula_id: str) -> None:
    """Each formula has numbered lines in both styles, a title, and says where it comes from."""
    formula = find(formula_id)
    for style in ("latex", "unicode"):
        lines = statement(formula, style=style)
        assert [line.number for line in lines] == list(range(1, len(lines) + 1))
        assert all(line.equation for line in lines)
    assert formula.title
    assert formula.sources
    for theorem in formula.theorems.values():
        assert theorem.title
        assert all(claim_text(c, s) for c in theorem.claims for s in ("latex", "unicode"))


@pytest.mark.parametrize("formula_id", list(formulas()))
def test_braces_of_the_latex_are_balanced(formula_id: str) -> None:
    """A page with an open brace would not render."""
    for line in statement(find(formula_id), style="latex"):
        assert line.equation.count("{") == line.equation.count("}")
        assert line.equation.count(r"\left") == line.equation.count(r"\right")


@pytest.mark.parametrize("formula_id", list(formulas()))
def test_no_name_in_the_latex_has_two_subscripts(formula_id: str) -> None:
    """Neither a line nor a theorem's claim asks for what LaTeX refuses: a_{b}_{c}."""
    formula = find(formula_id)
    texts = [line.equation for line in statement(formula, style="latex")]
    texts += [claim_text(claim, "latex") for theorem in formula.theorems.values() for claim in theorem.claims]
    for text in texts:
        assert not re.search(r"_\{(?:[^{}]|\{[^{}]*\})*\}_", text), text


def test_latex_puts_parentheses_where_the_tree_has_them() -> None:
    """x − (y − z) and (x + y)·z keep their meaning."""
    a = x[i, c]
    assert latex(a - (a - a)) == r"x_{i, c} - \left(x_{i, c} - x_{i, c}\right)"
    assert latex((a + a) * a) == r"\left(x_{i, c} + x_{i, c}\right)\,x_{i, c}"


def test_the_condition_of_a_largest_entry_stands_behind_its_whole_range() -> None:
    """Not between its first and its last number."""
    shown = latex(Max(x[i, c], (c, d), where=lt(c, i)))
    assert r"\max_{c=0 \ldots d - 1,\ c < i}" in shown


def test_a_chain_of_conditions_has_no_parentheses() -> None:
    """a ∧ b ∧ c, on whichever side it goes on; a ∧ (b ∨ c) keeps its own."""
    a, b, e = lt(0, x[i, c]), lt(x[i, c], 1), lt(x[i, c], 2)
    chain = "0 < x[i,c] and x[i,c] < 1 and x[i,c] < 2"
    assert unicode((a & b) & e) == unicode(a & (b & e)) == chain
    assert unicode(a & (b | e)) == "0 < x[i,c] and (x[i,c] < 1 or x[i,c] < 2)"


@pytest.mark.parametrize(
    ("fraction", "text"),
    [((44715, 10**6), "0.044715"), ((2001, 2000), "1.0005"), ((1, 2), "1/2"), ((1, 3000), "1/3000")],
)
def test_a_fraction_that_papers_print_as_a_decimal_is_printed_as_one(
    fraction: tuple[int, int], text: str
) -> None:
    """Where it ends, and its fraction would be unwieldy."""
    assert unicode(lift(Rational(*fraction))) == text


PARTS = {
    "x": each(x[i, c], (i, n), (c, d)),
    "x[j]": each(x[j, c], (c, d)),
    "x[:m]": each(x[i, c], (i, m), (c, d)),
    "x[m:2·m]": each(x[m + i, c], (i, m), (c, d)),
    "x[:, 1:d]": each(x[i, c + 1], (i, n), (c, d - 1)),
    "(x[c,i] for i<n, c<d)": each(x[c, i], (i, n), (c, d)),
    "(x[n-i-1,c] for i<n, c<d)": each(x[n - 1 - i, c], (i, n), (c, d)),
    "(x[i,i] for i<n)": each(x[i, i], (i, n)),
    "softmax(x)": each(find("attention.softmax")(x)[i, c], (i, n), (c, d)),
    "softmax(x)[j]": each(find("attention.softmax")(x)[j, c], (c, d)),
    "(softmax(x)[i, c] for i<m, c<d)": each(find("attention.softmax")(x)[i, c], (i, m), (c, d)),
}


@pytest.mark.parametrize("shown", PARTS)
def test_an_array_that_is_a_part_of_another_is_named_as_such(shown: str) -> None:
    """All of it, a row, or a span of rows; entry by entry what is anything else: turned, reversed, a diagonal."""
    assert unicode(PARTS[shown]) == shown
    assert latex(PARTS[shown]).count("{") == latex(PARTS[shown]).count("}")


def test_choices_are_made_where_a_claim_is_shown_under_conventions() -> None:
    """Else every option is named."""
    formula = find("recurrent.lstm")
    claim = formula.theorems["one_step"].claims[0]
    assert "gate_order" in claim_text(claim)
    assert "W_x[2·d:3·d]" in claim_text(claim, conventions=formula.choose())
    assert "W_x[:d], W_h[:d], b[:d], W_x[d:2·d]" in claim_text(
        claim, conventions=formula.choose({"gate_order": "gifo"})
    )
