"""WordPiece beside its definition and transformers' tokenizer, and what it says beside ids."""

import re
import unicodedata

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from impl.bert import WordPiece, labels_of_pieces, plain, values_of_words, wordpiece

STABLE = [
    c
    for c in map(chr, range(0x20000))
    if unicodedata.category(c) == unicodedata.ucd_3_2_0.category(c)
    and unicodedata.category(c) not in ("Cn", "Cs")
]
"""Characters of the same category since Unicode 3.2: Python's tables and those of ``tokenizers`` agree on them."""
FEW = [c for c in STABLE if unicodedata.category(c) not in ("Lo", "Co", "So")]
TEXTS = st.lists(
    st.one_of(
        st.text(st.sampled_from(STABLE), max_size=7),
        st.text(st.sampled_from("aeiou nst'Éßçñ中ΣσİÍ.,-[]"), max_size=23),
        st.sampled_from(
            [
                "unaffable",
                "the",
                "[MASK]",
                "[SEP]",
                "[mask]",
                "naïve",
                " ",
                "\u200b",
                "\0",
                "\u00ad",
                "x" * 101,
            ]
        ),
    ),
    max_size=7,
).map("".join)


@pytest.fixture(scope="module")
def tokenizer(minilm):
    """The vocabulary of BERT (uncased)."""
    return WordPiece.from_pretrained(minilm)


@pytest.fixture(scope="module")
def theirs(minilm):
    """transformers' tokenizer with it."""
    return pytest.importorskip("transformers").BertTokenizer.from_pretrained(minilm)


@pytest.fixture(scope="module")
def cased(tokenizer):
    """The same, which leaves case and accents as they are."""
    return WordPiece(tokenizer.vocabulary, lowercase=False)


@settings(max_examples=300)
@given(TEXTS)
@example("")
@example("  \t\n\r ")
@example("a" * 100 + " " + "a" * 101)
@example("ΟΔΥΣΣΕΥΣ İstanbul ΑΣ")
@example("I’m—not sure…  cost: $5^2 ~`+=|<>")
@example("\ufffd\0\x1c\x85\u2028\u2029\u3000\ufeff")
@example("한국어 日本語カタカナ \U00020000\U0001f600 e\u0301\u0327")
def test_it_is_its_definition_and_transformers(tokenizer, cased, theirs, text):
    """On any text, of which the pieces, the ids and the places are compared."""
    found = tokenizer.encode(text)
    assert found.tokens[1:-1] == plain.tokenize(text, tokenizer.id_of) == tokenizer.tokenize(text)
    assert cased.tokenize(text) == plain.tokenize(text, tokenizer.id_of, lowercase=False)
    other = theirs(text, return_offsets_mapping=True)
    assert (found.ids, found.segments, found.offsets) == (
        other["input_ids"],
        other["token_type_ids"],
        [tuple(each) for each in other["offset_mapping"]],
    )
    assert found.words == other.word_ids()


def test_every_character_is_taken_as_it_is_defined(tokenizer):
    """By itself and between letters; letters of scripts without case, symbols and private ones are left out here."""
    texts = [f"a{c}b {c}" for c in FEW]
    assert len(texts) > 3000
    found = tokenizer.batch(texts).encodings
    wrong = [
        t for t, e in zip(texts, found, strict=True) if e.tokens[1:-1] != plain.tokenize(t, tokenizer.id_of)
    ]
    assert wrong == []


def test_the_longest_piece_comes_first():
    """Where a shorter one would lead further, the word is unknown all the same."""
    vocabulary = {"un", "una", "##ffable", "##able", "u"}
    assert wordpiece(["unable"], vocabulary)[0] == ["[UNK]"]
    assert wordpiece(["unable"], vocabulary - {"una"})[0] == ["un", "##able"]
    assert wordpiece(["unaffable"], vocabulary)[0] == ["una", "##ffable"]
    assert wordpiece(["u" * 101], {"u", "##u"})[0] == ["[UNK]"]
    assert len(wordpiece(["u" * 100], {"u", "##u"})[0]) == 100


@pytest.mark.parametrize("lead", ["", "a\U0001f600"])
def test_lone_surrogates_are_refused_with_their_place(tokenizer, lead):
    """They stand for no character; half of an emoji is one."""
    with pytest.raises(ValueError, match=rf"^bert.WordPiece: .* lone surrogate U\+D83D at {len(lead)}$"):
        tokenizer.encode(f"{lead}\ud83d b")
    with pytest.raises(ValueError, match="lone surrogate"):
        tokenizer.batch([["a", "b\udc00"]])


@settings(max_examples=100)
@given(TEXTS, TEXTS, st.integers(3, 29))
def test_a_pair_is_cut_from_its_longer_text(tokenizer, first, second, most):
    """Nothing is cut where all fits; what is left is the beginning of each, and neither is cut while it is the shorter."""
    whole, cut = tokenizer.encode(first, second), tokenizer.encode(first, second, max_length=most)
    assert len(cut.ids) == min(most, len(whole.ids))
    a, b = tokenizer.tokenize(first), tokenizer.tokenize(second)
    k = cut.tokens.index("[SEP]", 0) if "[SEP]" not in a else None
    if k is None or "[SEP]" in b:
        return
    assert cut.tokens == ["[CLS]", *a[: k - 1], "[SEP]", *b[: len(cut.ids) - k - 2], "[SEP]"]
    left, right = k - 1, len(cut.ids) - k - 2
    assert left == len(a) or left >= right
    assert right == len(b) or right >= left - 1
    assert cut.segments == [0] * (k + 1) + [1] * (right + 1)


def test_a_batch_is_its_texts_filled_up(tokenizer, theirs):
    """Ids, segments and masks are transformers'."""
    texts, pairs = ["One two three.", "", "unaffable"], ["four", "five six seven eight", "naïve"]
    for given_pairs in (None, pairs):
        batch = tokenizer.batch(texts, given_pairs)
        other = theirs(texts, given_pairs, padding=True, return_tensors="pt")
        assert torch.equal(batch.ids, other["input_ids"])
        assert torch.equal(batch.segments, other["token_type_ids"])
        assert torch.equal(batch.mask, other["attention_mask"].bool())
        assert [e.ids for e in batch.encodings] == [
            ids[own].tolist() for ids, own in zip(batch.ids, batch.mask, strict=True)
        ]
    assert tokenizer.batch([]).ids.shape == (0, 0)


def test_places_lead_back_to_the_text(tokenizer):
    """Accents, case and ideographs notwithstanding."""
    text = "Die Müller'schen Äpfel,中文 and RÉSUMÉS"
    found = tokenizer.encode(text)
    spelt = [text[start:end] for start, end in found.offsets[1:-1]]
    plainly = [
        plain.tokenize(part, {piece.removeprefix("##") for piece in tokenizer.vocabulary})[0]
        for part in spelt
    ]
    assert plainly == [piece.removeprefix("##") for piece in found.tokens[1:-1]]


def test_text_comes_back(tokenizer):
    """In lower case; special tokens are left out unless asked for."""
    ids = tokenizer.encode("The unaffable animal.").ids
    assert tokenizer.decode(ids) == "the unaffable animal."
    assert tokenizer.decode(torch.tensor(ids), special=True) == "[CLS] the unaffable animal. [SEP]"


def test_labels_go_to_first_pieces_and_back(tokenizer):
    """Also of a pair's second text, of words without a piece and of words cut off."""
    words, labels = ["Unaffable", "\u200b", "New-York", "x"], [3, 5, 7, 2]
    found = tokenizer.encode(words)
    own = labels_of_pieces(labels, found)
    assert [(token, label) for token, label in zip(found.tokens, own, strict=True) if label >= 0] == [
        ("una", 3),
        ("new", 7),
        ("x", 2),
    ]
    assert len(own) == len(found.ids)
    assert values_of_words(own, found, 4) == [3, None, 7, 2]
    second = tokenizer.encode(["x", "x"], words)
    moved = labels_of_pieces(labels, second, segment=1)
    assert values_of_words(moved, second, 4, segment=1) == [3, None, 7, 2]
    assert values_of_words(moved, second, 2) == [-100, -100]
    cut = tokenizer.encode(words, max_length=5)
    assert values_of_words(labels_of_pieces(labels, cut), cut, 4) == [3, None, None, None]
    with pytest.raises(ValueError, match="expected a label for each word; got 2 for word 2"):
        labels_of_pieces(labels[:2], found)


def test_special_tokens_are_known(tokenizer):
    """What the corruption of a text must not select."""
    batch = tokenizer.batch(["a [MASK]", "b"])
    assert tokenizer.special(batch.ids).tolist() == [[True, False, True, True], [True, False, True, True]]


def test_saved_it_is_read_by_us_and_by_transformers(tokenizer, cased, tmp_path):
    """Case included."""
    transformers = pytest.importorskip("transformers")
    text = "Ein Élan, [MASK] unaffable"
    for name, saved in (("lower", tokenizer), ("cased", cased)):
        saved.save_pretrained(tmp_path / name)
        again, other = (
            WordPiece.from_pretrained(tmp_path / name),
            transformers.BertTokenizer.from_pretrained(tmp_path / name),
        )
        assert again.encode(text) == saved.encode(text)
        assert other(text)["input_ids"] == saved.encode(text).ids
        other.save_pretrained(tmp_path / f"{name} of theirs")
        assert WordPiece.from_pretrained(tmp_path / f"{name} of theirs").encode(text) == saved.encode(text)
    assert tokenizer.encode(text) != cased.encode(text)


@pytest.mark.parametrize(
    ("vocabulary", "line"),
    [
        (["[PAD]", "[UNK]", "[CLS]", "a", "[SEP]"], r"expected \[MASK\] in the vocabulary"),
        ([*plain.SPECIAL, "a", "b", "a"], "expected every piece once; got 'a' twice"),
    ],
)
def test_a_vocabulary_that_cannot_be_is_refused(vocabulary, line):
    """In one line."""
    with pytest.raises(ValueError, match=f"^bert.WordPiece: {line}$"):
        WordPiece(vocabulary)


def test_what_does_not_fit_is_refused(tokenizer):
    """In one line."""
    for call, line in [
        (lambda: tokenizer.encode("a", "b", max_length=2), "expected max_length >= 3; got 2"),
        (lambda: tokenizer.batch(["a", "b"], ["c"]), "expected as many pairs as texts; got 1 and 2"),
        (lambda: tokenizer.batch(["a", ["b"]]), "expected texts or sequences of words; got both"),
    ]:
        with pytest.raises(ValueError, match=f"^bert.WordPiece: {line}$"):
            call()


@pytest.mark.parametrize("text", [3, None, b"abc", [1], ["a", None]])
@pytest.mark.usefixtures("unchecked")
def test_what_is_no_text_is_refused(tokenizer, text):
    """It is shown."""
    with pytest.raises(
        TypeError, match=f"expected a string, or words as strings; got {re.escape(repr(text))}$"
    ):
        tokenizer.encode(text)


def test_one_string_is_no_batch(tokenizer):
    """Each of its characters would be a text."""
    for call in (lambda: tokenizer.batch("hello"), lambda: tokenizer.batch(["a"], "b")):
        with pytest.raises(TypeError, match="expected a sequence of texts; got one string"):
            call()
    with pytest.raises(TypeError, match="expected words; got one string, 'hello'"):
        wordpiece("hello", {"h"})


@pytest.mark.parametrize("strange", [-100, 10**6])
def test_ids_without_a_piece_are_not_decoded(tokenizer, strange):
    """The label of what is not asked is one."""
    with pytest.raises(IndexError, match=f"expected ids in 0..{len(tokenizer) - 1}; got {strange}$"):
        tokenizer.decode([tokenizer.cls_id, strange])


@pytest.mark.usefixtures("unchecked")
def test_texts_and_words_may_come_one_by_one(tokenizer):
    """From generators, which can be read once; ids are whole numbers."""
    assert tokenizer.batch(iter(["a b", "c"])).ids.tolist() == tokenizer.batch(["a b", "c"]).ids.tolist()
    assert tokenizer.encode(iter(["a", "b"])) == tokenizer.encode(["a", "b"])
    with pytest.raises(TypeError, match=r"^bert.WordPiece: expected integers as ids; got 1.7$"):
        tokenizer.decode([1.7])
