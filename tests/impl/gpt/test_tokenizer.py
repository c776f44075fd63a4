"""GPT-2's tokenizer beside transformers' and its own rule, and what it reads and writes."""

import re

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from impl.gpt import BytePairs, bpe
from impl.gpt.tokenizer import ALPHABET, END

MERGES = (("Ġ", "t"), ("h", "e"), ("Ġt", "he"), ("Ã", "©"), ("'", "s"), ("l", "l"), ("1", "2"), ("Ċ", "Ċ"))
TEXTS = st.lists(
    st.one_of(
        st.text(st.sampled_from("the sl'12é\n\t .Ω"), max_size=11),
        st.text(max_size=3),
        st.sampled_from(["<|endoftext|>", "the", " the the", "I'll", "\r\n", "  x", "\U0001f600"]),
    ),
    max_size=5,
).map("".join)


@pytest.fixture(scope="module")
def tokenizer():
    """All bytes, eight merges and the end."""
    tokens = [*ALPHABET.values(), *("".join(pair) for pair in MERGES), END]
    return BytePairs({token: number for number, token in enumerate(tokens)}, MERGES)


@settings(max_examples=100)
@given(text=TEXTS)
def test_a_text_is_its_tokens_bytes_and_transformers_cuts_it_alike(tokenizer, text):
    """Whatever it holds; what looks like the end of a text is signs here, as it is where transformers takes no special tokens."""
    theirs = pytest.importorskip("transformers").GPT2Tokenizer(vocab=tokenizer.id_of, merges=list(MERGES))
    ids = tokenizer.encode(text)
    assert tokenizer.decode(ids) == text
    assert tokenizer.decode(torch.tensor(ids, dtype=torch.int64)) == text
    assert tokenizer.end_id not in ids
    if END not in text:
        assert ids == theirs(text)["input_ids"]


def test_words_are_cut_by_the_rule(tokenizer):
    """A word with the one space before it is cut as ``bpe`` says; a longer gap is cut before its last space."""
    assert tokenizer.tokenize(" the café's") == [
        *bpe([" the", " café", "'s"], MERGES)[0],
        *["Ġ", "c", "a", "f", "Ã©"],
        "'s",
    ]
    assert tokenizer.tokenize("a  the") == ["a", "Ġ", "Ġthe"]
    assert bpe(["aaa"], [("a", "a")]) == [["aa", "a"]]
    with pytest.raises(TypeError, match="expected words; got one string, 'the'"):
        bpe("the", MERGES)


def test_a_batch_is_its_texts_filled_up(tokenizer):
    """With 0, which the mask leaves out; no texts are a batch, too."""
    ids, mask = tokenizer.batch(["the", "", " the the"])
    assert mask.sum(1).tolist() == [len(tokenizer.encode(text)) for text in ("the", "", " the the")]
    assert ids[0, mask[0]].tolist() == tokenizer.encode("the")
    assert tokenizer.batch([])[0].shape == (0, 0)
    with pytest.raises(TypeError, match="got one string"):
        tokenizer.batch("the")


def test_a_folder_is_written_and_read_back_and_transformers_reads_it(tokenizer, tmp_path):
    """The files that GPT-2 came with; a merge that is no pair is refused with its line."""
    tokenizer.save_pretrained(tmp_path)
    again = BytePairs.from_pretrained(tmp_path)
    assert (again.id_of, again.merges) == (tokenizer.id_of, tokenizer.merges)
    theirs = pytest.importorskip("transformers").GPT2Tokenizer.from_pretrained(tmp_path)
    text = "the the café\n\n12"
    assert theirs(text)["input_ids"] == tokenizer.encode(text)
    (tmp_path / "merges.txt").write_text("#version: 0.2\na b\na b c\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"merges.txt: expected two tokens in line 3; got 'a b c'$"):
        BytePairs.from_pretrained(tmp_path)


def test_what_cannot_be_used_is_refused_in_one_line(tokenizer):
    """A byte without a token, ids with a gap, a merge of what is not there, half a character, an id beyond the vocabulary."""
    some = {token: number for number, token in enumerate("abc")}
    for call, line in [
        (lambda: BytePairs(some, []), "expected '!' in the vocabulary"),
        (lambda: BytePairs({**tokenizer.id_of, "x y": 900}, MERGES), "expected the ids 0..265, each once"),
        (lambda: BytePairs(tokenizer.id_of, [("h", "x")]), "expected 'hx' in the vocabulary"),
        (lambda: tokenizer.encode("a\ud83d"), "expected characters; got the lone surrogate U+D83D at 1"),
    ]:
        with pytest.raises(ValueError, match=f"^gpt.BytePairs: {re.escape(line)}$"):
            call()
    with pytest.raises(IndexError, match=r"expected ids in 0..264; got 265"):
        tokenizer.decode([265])


@pytest.mark.usefixtures("unchecked")
def test_what_is_no_text_is_refused(tokenizer):
    """It is shown."""
    with pytest.raises(TypeError, match=r"expected a string; got 3$"):
        tokenizer.encode(3)
