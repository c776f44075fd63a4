from collections import Counter

from impl.texts import bank


def test_the_text_has_both_senses_of_bank_and_no_sentence_twice():
    """As many sentences of either subject with "bank", and some without; none has it twice."""
    sentences = bank()
    assert len({each.words for each in sentences}) == len(sentences) == 500
    with_bank = Counter(each.subject for each in sentences if "bank" in each.words)
    assert with_bank == {"river": 140, "money": 140}
    assert max(each.words.count("bank") for each in sentences) == 1


def test_words_are_plain():
    """Lower case, letters only: a word is what stands between spaces."""
    assert all(word.isalpha() and word.islower() for each in bank() for word in each.words)
