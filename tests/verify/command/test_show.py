"""The command ``attnspec show``: a formula, its symbols, conventions and theorems, with the checker's word on each."""

from __future__ import annotations

import re

import pytest

from spec.language import Assurance, Theorem, claim, indices, sizes
from spec.language.proving import proof
from spec.language.proving.deciding.derivations import CheckedClaim
from spec.language.registry import formulas
from verify.command.cli import main


@pytest.fixture
def unproved(monkeypatch: pytest.MonkeyPatch) -> None:
    """Theorems are taken for proved: what is looked at is how they are shown."""
    monkeypatch.setattr(
        proof,
        "check",
        lambda theorem, formula: proof.Checked(
            theorem, formula, (CheckedClaim(theorem.claims[0], Assurance.PROVED, ()),)
        ),
    )


@pytest.mark.usefixtures("unproved")
@pytest.mark.parametrize("formula_id", formulas())
def test_show(capsys: pytest.CaptureFixture[str], formula_id: str) -> None:
    """Every formula can be shown: statement, symbols, conventions, theorems, sources."""
    assert main(["show", formula_id]) == 0
    out = capsys.readouterr().out
    assert formula_id in out
    assert "(1)" in out
    assert "Sources" in out
    theorems = out.partition("Theorems\n")[2]
    assert theorems.count("[proved]") == len(formulas()[formula_id].theorems)
    assert max(map(len, theorems.splitlines()), default=0) <= 120
    assert not re.search(r"<\w+: ", theorems), "a choice is shown as one option, with its name"
    symbols = out.partition("Symbols\n")[2].partition("\n\n")[0]
    named = re.findall(r"^  (\S+)  ", symbols, re.MULTILINE)
    assert len(named) == len(set(named)), "each symbol is told once"


def test_show_gives_each_theorem_the_checkers_word(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """True theorems are called proved, a false one among them refused: the step is named, and the command fails."""
    dot, (n, m), (i, j) = formulas()["scores.dot"], sizes("n m"), indices("i j")
    zero = claim(dot(*dot.inputs)[i, j], "=", 0, (i, n), (j, m))
    monkeypatch.setitem(dot.theorems, "always_zero", Theorem("always_zero", "Every score is 0", (zero,)))
    assert main(["show", "scores.dot"]) == 1
    out = capsys.readouterr().out
    assert "\nrefused: scores.dot, always_zero, claim 1: step 1 of 1" in out
    words = re.findall(r"^  (\w+): .*\[(\w+)\]$", out, re.MULTILINE)
    assert words == [(name, "refused" if name == "always_zero" else "proved") for name in dot.theorems]


@pytest.mark.usefixtures("unproved")
def test_show_says_what_a_theorem_is_stated_for(capsys: pytest.CaptureFixture[str]) -> None:
    """Sizes, assumptions, conventions; and an existential theorem is shown as the inequality that it is."""
    assert main(["show", "attention.causal"]) == 0
    matters = capsys.readouterr().out.partition("order_matters")[2].partition("Sources")[0]
    assert "for some inputs" in matters
    assert "≠ causal" in matters
    assert main(["show", "recurrent.rnn"]) == 0
    assert "assuming" in capsys.readouterr().out.partition("vanishes")[2].partition("explodes")[0]
    assert main(["show", "recurrent.lstm"]) == 0
    assert "for T = 1, written for gate_order=ifgo, as for every other option:" in capsys.readouterr().out


@pytest.mark.usefixtures("unproved")
def test_show_says_what_a_proof_cites_and_keeps(capsys: pytest.CaptureFixture[str]) -> None:
    """Below the claims: theorems of other formulas, those of an induction included, and formulas that it does not look into."""
    assert main(["show", "transformer.encoder"]) == 0
    out = capsys.readouterr().out.partition("Theorems\n")[2]
    padding, another = (
        out.partition(f"  {name}: ")[2].partition("[proved]")[2].partition("[proved]")[0]
        for name in ("padding", "another_layer")
    )
    assert "      citing transformer.encoder_layer, padding\n" in padding
    assert "keeping" not in padding
    assert "      keeping whole transformer.encoder_layer\n" in another
    assert "citing" not in another


@pytest.mark.usefixtures("unproved")
def test_show_lists_the_step_that_a_recurrence_applies(capsys: pytest.CaptureFixture[str]) -> None:
    """A formula without a page of its own is shown where it is applied."""
    assert main(["show", "recurrent.rnn"]) == 0
    out = capsys.readouterr().out
    assert "H[t] = step(x[t-1], H[t-1], W_xh, W_hh)" in out
    assert "where step(x, h, W_xh, W_hh) gives h', with" in out
    assert "h'[c] = tanh(" in out
