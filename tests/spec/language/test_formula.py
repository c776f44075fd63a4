"""Formulas: conventions, calls, flattening, the registry, and statements as text."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from spec.language import Sum, data, define, each, indices, parameter, sizes, tensor
from spec.language.flatten import arrange
from spec.language.formula import Formula
from spec.language.registry import UnknownFormula, find, formulas
from spec.language.render import claim_text, latex, statement

n, m, d = sizes("n m d")
i, j, c = indices("i j c")
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


def test_an_unknown_id_names_the_closest() -> None:
    """The user typed layernorm."""
    with pytest.raises(UnknownFormula, match=r"did you mean normalization\.layer_norm"):
        find("normalization.layernorm")


def test_unknown_conventions_and_options_are_named_with_what_is_known() -> None:
    """Both mistakes get one clear line."""
    formula = find("normalization.layer_norm")
    with pytest.raises(ValueError, match="has no convention 'epsilon'; it has: eps, divisor, intermediates"):
        formula.choose({"epsilon": "inside"})
    with pytest.raises(ValueError, match="convention eps is one of inside, outside; 'between' was given"):
        formula.choose({"eps": "between"})


def test_a_call_with_the_wrong_number_of_arguments_is_refused() -> None:
    """The error shows the declared inputs."""
    with pytest.raises(ValueError, match=r"scores\.dot takes \(q, k\); 1 arguments were given"):
        find("scores.dot")(x)


def test_a_call_with_shapes_that_do_not_fit_is_refused() -> None:
    """q and k share d_k."""
    other = data("y", m, d + 1)
    formula = Formula(
        "test.misfit", "", (x, other), (define(z[i, c], find("scores.dot")(x, other)[i, c]),), (z,)
    )
    with pytest.raises(ValueError, match=r"scores\.dot: k has shape"):
        formula.flat()


def test_flattening_keeps_names_apart_and_shares_equal_calls() -> None:
    """The same application twice is inlined once; a callee's line never overwrites the caller's."""
    dot = find("scores.dot")
    s = tensor("s", n, n)
    formula = Formula("test.twice", "", (x,), (define(s[i, j], dot(x, x)[i, j] + dot(x, x)[j, i]),), (s,))
    assert sorted(line.name for line in formula.flat().lines) == ["s", "s_2"]


def test_an_index_of_the_caller_becomes_a_leading_axis_of_the_callee() -> None:
    """An application inside a sum is vectorised, also when the callee uses the same index name."""
    W = parameter("W", m, d, d)
    projected = each(Sum(x[i, j] * W[c, j, j], (j, 0, d - 1)), (i, n), (j, d))
    out = tensor("out", n, n)
    body = Sum(find("scores.dot")(projected, x)[i, j], (c, 0, m - 1))
    formula = Formula("test.lead", "", (x, W), (define(out[i, j], body),), (out,))
    inlined = next(line for line in formula.flat().lines if line.name == "s")
    assert inlined.left.tensor.shape == (m, n, n)


def test_lines_are_put_in_an_order_in_which_they_can_be_evaluated() -> None:
    """Definitions may be written in any order, but not in a circle."""
    a, b = tensor("a", n), tensor("b", n)
    late = define(a[i], b[i] + 1)
    early = define(b[i], x[i, 0])
    assert [group.lines[0].name for group in arrange((late, early))] == ["b", "a"]
    with pytest.raises(ValueError, match="without stepping through an index"):
        arrange((define(a[i], b[i]), define(b[i], a[i])))


def test_the_fingerprint_changes_with_the_statement() -> None:
    """Evidence recorded for another statement can be recognised as stale."""
    one = Formula("test.print", "", (x,), (define(z[i, c], x[i, c] * 2),), (z,))
    two = Formula("test.print", "", (x,), (define(z[i, c], x[i, c] * 3),), (z,))
    assert one.fingerprint != two.fingerprint == two.fingerprint


def test_a_range_for_an_index_that_the_left_side_lacks_is_refused() -> None:
    """A typo in a range does not go unnoticed."""
    with pytest.raises(ValueError, match="the range of j was given, but j is no index of the left side"):
        define(z[i, c], 0, j=(0, 3))


def test_a_size_on_the_left_side_is_one_place_and_no_index() -> None:
    """B[n, i] = … defines the last row of n + 1, and not every row up to n."""
    (i,) = indices("i")
    line = define(tensor("B", n + 1, d)[n, i], data("h", d)[i])
    assert line.ranges == ((i, 0, d - 1),)


def test_the_registry_is_loaded_without_torch() -> None:
    """Listing formulas stays fast."""
    code = "import sys, spec.language.registry as r; r.formulas(); print('torch' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "False"
