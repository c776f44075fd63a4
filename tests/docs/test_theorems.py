"""Theorems on a page: what they are stated for, and how their claims are written out."""

from __future__ import annotations

from collections.abc import Callable

from generate import derivations

from spec.language.registry import find


def test_an_existential_theorem_is_written_as_an_inequality(section: Callable[[str], str]) -> None:
    """That causal attention is not equivariant is proved by a witness: an equals sign would state the opposite."""
    shown = section("attention.causal.order_matters")
    assert "for some inputs" in shown
    assert "&#x02260;" in shown  # ≠


def test_a_claim_is_written_for_one_option_of_a_convention_that_it_leaves_open(
    section: Callable[[str], str],
) -> None:
    """And the page says for which: the claim and its derivation hold no list of options."""
    shown = section("recurrent.lstm.one_step")
    assert "written for <code>gate_order=ifgo</code>" in shown
    assert "iofg" not in shown


def test_a_proof_names_what_it_cites_and_what_it_keeps(section: Callable[[str], str]) -> None:
    """Each cited theorem is a link to where it stands; what is kept whole is not said to be unfolded."""
    shown = section("transformer.encoder_layer.padding")
    rests, _, record = shown.partition("The checker’s record")
    cited = find("attention.multi_head").theorems["padding"]
    assert f'href="attention.multi_head.html#{derivations.anchor("padding")}"' in rests
    assert cited.title in rests
    kept = rests.partition("Kept whole")[2]
    assert 'href="normalization.layer_norm.html"' in kept
    assert "multi_head.html" not in kept
    unfolded = record.partition("Statements unfolded")[2].partition("</p>")[0]
    assert 'href="transformer.encoder_layer.html"' in unfolded
    assert "layer_norm" not in unfolded


def test_a_proof_that_uses_nothing_of_others_names_nothing() -> None:
    """Neither cited nor kept."""
    assert derivations.rests(find("attention.softmax").theorems["jacobian"]) == ""
