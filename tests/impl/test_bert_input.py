"""Pairs of sentences, packing, pieces of words, and the best span."""

import itertools

import pytest
import torch

from impl.bert import best_span, head_span, pack, wordpiece
from impl.masking import nsp


def test_the_best_span_is_the_likeliest_of_all() -> None:
    """Found in one pass, it is the largest entry of all probabilities; its end is never before its beginning."""
    generator = torch.Generator().manual_seed(0)
    x, w = (torch.randn(shape, generator=generator, dtype=torch.float64) for shape in ((31, 13, 7), (2, 7)))
    spans = head_span(x, *w)
    begin, end = best_span(spans.s, spans.t)
    assert (begin <= end).all()
    assert torch.equal(13 * begin + end, spans.P.flatten(-2).argmax(-1))


def test_a_span_stands_in_what_is_allowed() -> None:
    """A question before the text is no answer, however likely."""
    s, t = torch.tensor([9.0, 0.0, 1.0]), torch.tensor([9.0, 1.0, 0.0])
    found = best_span(s, t, torch.tensor([False, True, True]))
    assert [int(place) for place in found] in ([1, 1], [2, 2])


def test_a_lone_sentence_of_a_lone_document_has_no_pair() -> None:
    """Nothing follows, and nothing stands in another document."""
    second, label = nsp(
        torch.tensor([True]), torch.tensor([0]), torch.Generator().manual_seed(0), negatives="other_document"
    )
    assert (second.tolist(), label.tolist()) == ([-1], [-100])


def test_a_sentence_that_the_corpus_lacks_is_refused() -> None:
    """With its place and its number."""
    with pytest.raises(IndexError, match=r"first\[1\] = 5"):
        nsp(torch.zeros(5, dtype=torch.bool), torch.tensor([0, 5]), torch.Generator())


@pytest.mark.parametrize("odd", ["first", "longer"])
def test_texts_are_cut_as_one_token_after_the_other_would(odd: str) -> None:
    """What is computed at once is what taking tokens off in turn gives."""
    for a, b, longest in itertools.product(range(8), range(8), range(3, 19)):
        kept = [a, b]
        while sum(kept) + 3 > longest:
            first = kept[0] > kept[1] or (kept[0] == kept[1] and odd == "longer" and b >= a)
            kept[not first] -= 1
        ids, segments = pack([7] * a, [7] * b, cls=1, sep=2, longest=longest, odd=odd)  # type: ignore[arg-type]
        assert [segments.count(0) - 2, segments.count(1) - 1] == kept, (a, b, longest)
        assert len(ids) == len(segments) <= longest


def test_a_text_that_may_not_be_cut_is_refused_where_it_does_not_fit() -> None:
    """Rather than cut in secret."""
    with pytest.raises(ValueError, match="do not fit into 7"):
        pack([5], [6] * 11, cls=1, sep=2, longest=7, truncation="only_first")


def test_a_single_text_is_never_cut_as_the_second() -> None:
    """It is the first: where only the second may be cut, one that does not fit is refused."""
    assert pack([5, 6, 7], None, cls=1, sep=2, longest=4, truncation="only_first")[0] == [1, 5, 6, 2]
    assert pack([5, 6, 7], None, cls=1, sep=2, longest=5, truncation="only_second")[0] == [1, 5, 6, 7, 2]
    with pytest.raises(ValueError, match="do not fit into 4 by truncation 'only_second'"):
        pack([5, 6, 7], None, cls=1, sep=2, longest=4, truncation="only_second")


def test_a_word_is_the_longest_pieces_from_the_left() -> None:
    """The example of BERT's own code, and words that no pieces make."""
    vocabulary = ["[UNK]", "un", "##aff", "##able", "a"]
    assert wordpiece(["unaffable", "unaffablex", "", "a" * 101], vocabulary) == [
        ["un", "##aff", "##able"], ["[UNK]"], [], ["[UNK]"],
    ]  # fmt: skip
