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


def again_and_again(merges):
    """Merges, the first of which stands at the end again."""
    return [*merges, merges[0]]


@pytest.mark.parametrize(
    ("call", "error", "line"),
    [
        (
            lambda t: bpe([" the"], again_and_again(MERGES)),
            ValueError,
            r"bpe: expected each merge once; got \('Ġ', 't'\) twice",
        ),
        (
            lambda t: BytePairs(t.id_of, again_and_again(MERGES)),
            ValueError,
            r"BytePairs: expected each merge once; got .* twice",
        ),
        (
            lambda t: bpe(["a"], [("a", "b", "c")]),
            ValueError,
            r"bpe: expected two strings as a merge; got \('a', 'b', 'c'\)",
        ),
        (
            lambda t: BytePairs(t.id_of, ["he"]),
            ValueError,
            "BytePairs: expected two strings as a merge; got 'he'",
        ),
        (lambda t: bpe(["a"], None), TypeError, "bpe: expected pairs of strings as merges; got None"),
        (lambda t: bpe(None, MERGES), TypeError, "bpe: expected a sequence of strings as words; got None"),
        (lambda t: bpe([b"a"], MERGES), TypeError, "bpe: expected a string; got b'a'"),
        (
            lambda t: bpe(["a\ud83d"], MERGES),
            ValueError,
            r"bpe: expected characters; got the lone surrogate U\+D83D at 1",
        ),
        (lambda t: t.batch(None), TypeError, "BytePairs: expected a sequence of strings as texts; got None"),
        (lambda t: t.decode("ab"), TypeError, "BytePairs: expected integers as ids; got 'a'"),
        (lambda t: t.decode([1.7]), TypeError, "BytePairs: expected integers as ids; got 1.7"),
        (lambda t: t.decode(torch.tensor([1.5])), TypeError, "BytePairs: expected integers as ids; got 1.5"),
        (lambda t: t.decode(3), TypeError, "BytePairs: expected a sequence of integers as ids; got 3"),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_what_would_be_read_otherwise_is_refused_in_one_line(call, error, line, tokenizer):
    """Merges twice or of other than two, words and texts and ids of another kind."""
    with pytest.raises(error, match=f"^gpt.{line}$"):
        call(tokenizer)


@pytest.mark.usefixtures("unchecked")
def test_texts_may_come_one_by_one(tokenizer):
    """From a generator, which can be read once."""
    assert torch.equal(tokenizer.batch(iter(["the", "a"]))[0], tokenizer.batch(["the", "a"])[0])


@pytest.mark.parametrize(
    ("name", "held", "line"),
    [
        ("merges.txt", b"\xff\xfe", "merges.txt: not UTF-8: "),
        (
            "vocab.json",
            b'{"a": "0"}',
            "vocab.json, with merges.txt: gpt.BytePairs: expected the ids 0..0, each once",
        ),
        (
            "vocab.json",
            b'{"a": null, "b": 1}',
            "vocab.json, with merges.txt: gpt.BytePairs: expected the ids 0..1, each once",
        ),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_a_file_that_is_no_tokenizer_s_is_named(name, held, line, tokenizer, tmp_path):
    """In one line."""
    tokenizer.save_pretrained(tmp_path)
    (tmp_path / name).write_bytes(held)
    with pytest.raises(ValueError, match=f"^{tmp_path}/{line}"):
        BytePairs.from_pretrained(tmp_path)


def test_a_byte_order_mark_is_no_merge(tokenizer, tmp_path):
    """Some editors write one."""
    tokenizer.save_pretrained(tmp_path)
    merges = tmp_path / "merges.txt"
    merges.write_bytes(b"\xef\xbb\xbf" + merges.read_bytes())
    assert BytePairs.from_pretrained(tmp_path).merges == MERGES
