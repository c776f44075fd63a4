"""The page on BERT's training says what the examples recorded."""

from __future__ import annotations

from pathlib import Path

import pytest
from generate import bert_training

from impl.bert.features import Features


def test_every_recorded_share_stands_in_the_tables() -> None:
    """Each head beside both baselines; each combination with its mean, its worst draw and its best."""
    result, _ = bert_training.tuned()
    assert [each.task for each in result.heads] == ["sequence", "pair", "token", "span"]
    heads = bert_training.heads()
    for each in result.heads:
        for share in (each.accuracy, each.majority, each.bag_of_words):
            assert f"{100 * share:.1f} %" in heads
    assert [each.combination for each in result.probes] == list(Features._fields)
    probes = bert_training.probes()
    for probe in result.probes:
        for share in (probe.mean, min(probe.accuracies), max(probe.accuracies)):
            assert f"{100 * share:.1f} %" in probes


def test_every_head_is_far_above_both_baselines() -> None:
    """By a quarter of all cases."""
    for each in bert_training.tuned()[0].heads:
        assert each.accuracy > max(each.majority, each.bag_of_words) + 0.25


def test_pre_training_came_below_the_entropy() -> None:
    """And below who knows how often words occur, on the same hidden words."""
    result, _ = bert_training.pretrained()
    assert result.below is not None
    assert result.quality.words < min(result.entropy, result.unigram)


def test_what_the_chapter_claims_of_the_shares_is_what_was_recorded() -> None:
    """A word in plain sight costs as much as a hidden one who never had to say it; at false words the other model pays more; and
    no probe of the top layer tells false words better than one of the embeddings.
    """
    usual, masked = bert_training.compared()[0].models
    assert usual.plain.loss < 0.5 * masked.plain.loss
    assert masked.plain.loss == pytest.approx(masked.hidden.loss, abs=0.01)
    assert usual.false.loss > masked.false.loss
    for each in (usual, masked):
        assert each.falsehood["top"].right <= each.falsehood["embeddings"].right
    table = bert_training.models()
    for answer in (usual.hidden, masked.plain, usual.right_hand["top"]):
        assert f"{answer.loss:.2f} nats, {100 * answer.right:.1f} % right" in table


def test_the_figure_is_the_same_every_time_and_takes_the_pages_colours() -> None:
    """With nothing in it that Markdown would take apart."""
    first, second = bert_training.part("curve"), bert_training.part("curve")
    assert first == second
    assert first.count("<svg") == 1
    assert "\n" not in first.partition("\n\n")[0]


@pytest.mark.parametrize("what", ["pretrained", "tuned"])
def test_a_figure_that_nothing_knows_is_refused(what: str) -> None:
    """Where the page is made."""
    with pytest.raises(KeyError):
        bert_training.part(what, "weather")


def test_the_page_is_filled(site: Path) -> None:
    """Both tables and the drawing; no directive is left."""
    text = (site / "bert.html").read_text(encoding="utf-8")
    assert "{{" not in text
    assert "Bag of words" in text
    assert "Best draw" in text
    assert text.count("<svg role") == 1
