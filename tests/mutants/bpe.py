"""Variants of byte-level BPE, ``gpt.bpe``."""

import itertools
from unicodedata import normalize

from impl.gpt.tokenizer import ALPHABET
from tests.mutants import right, wrong

BPE = "gpt.bpe"


def in_bytes(word):
    """The bytes of a word as GPT-2 writes them."""
    return [ALPHABET[byte] for byte in word.encode()]


def join(tokens, place):
    """The tokens, two of which are one."""
    return [*tokens[:place], tokens[place] + tokens[place + 1], *tokens[place + 2 :]]


def earliest(tokens, merges):
    """Where the pair stands that is joined next; None where none is."""
    known = [
        (merges.index(pair), place) for place, pair in enumerate(itertools.pairwise(tokens)) if pair in merges
    ]
    return min(known)[1] if known else None


def cutting(begin=in_bytes, next_place=earliest):
    """Words in tokens, right but for what they begin as, or which pair is joined next."""

    def words_in_tokens(words, merges):
        found = []
        for word in words:
            tokens = begin(word)
            while (place := next_place(tokens, merges)) is not None:
                tokens = join(tokens, place)
            found.append(tokens)
        return found

    return words_in_tokens


def joining(next_place):
    """Words in tokens, right but for which pair is joined next."""
    return cutting(next_place=next_place)


@wrong(BPE, cause="learned last|what these leave|side by side|no two neighbours")
def longest_first(words, merges):
    """The longest token that fits, from the left, as WordPiece does."""
    known = {*ALPHABET.values(), *("".join(pair) for pair in merges)}
    found = []
    for word in words:
        whole, tokens = "".join(in_bytes(word)), []
        while whole:
            end = max(end for end in range(1, len(whole) + 1) if whole[:end] in known)
            tokens, whole = [*tokens, whole[:end]], whole[end:]
        found.append(tokens)
    return found


@wrong(BPE, via=joining, cause="learned last|what these leave")
def leftmost_first(tokens, merges):
    """Any pair of the list, from the left."""
    pairs = enumerate(itertools.pairwise(tokens))
    return next((place for place, pair in pairs if pair in merges), None)


@wrong(BPE, via=joining, cause="learned last|what these leave")
def last_learned_first(tokens, merges):
    """The pair that was learned last is joined first."""
    return earliest(tokens, merges[::-1])


@wrong(BPE, via=joining, cause="from the left|what these leave")
def from_the_right(tokens, merges):
    """Of three alike the last two are joined."""
    place = earliest(tokens, merges)
    if place is None:
        return None
    pair = tuple(tokens[place : place + 2])
    return max(k for k in range(len(tokens) - 1) if tuple(tokens[k : k + 2]) == pair)


@wrong(BPE, via=joining, cause="learned last|what these leave|neither a byte nor")
def by_what_they_make(tokens, merges):
    """Parts are looked up by what they make together."""
    whole = ["".join(pair) for pair in merges]
    pairs = enumerate(itertools.pairwise(tokens))
    known = [(whole.index("".join(pair)), place) for place, pair in pairs if "".join(pair) in whole]
    return min(known)[1] if known else None


wrong(BPE, "characters_for_bytes", "A token is a character at first, not a byte.", cause="bytes")(
    cutting(lambda word: list(word.replace(" ", "Ġ")))
)
wrong(BPE, "latin_1_alone", "A byte is its character of Latin-1, the space too.", cause="bytes")(
    cutting(lambda word: [chr(byte) for byte in word.encode()])
)
wrong(BPE, "space_dropped", "The space before a word is taken off.", cause="bytes|spaces")(
    cutting(lambda word: in_bytes(word.strip()))
)
wrong(BPE, "lower_case", "Words are written in lower case.", cause="bytes|case")(
    cutting(lambda word: in_bytes(word.lower()))
)
wrong(BPE, "accents_apart", "A letter and its accent are two characters (NFD).", cause="bytes")(
    cutting(lambda word: in_bytes(normalize("NFD", word)))
)


@wrong(BPE, cause="no two neighbours|side by side|learned last")
def joined_once(words, merges):
    """Each pair is joined where it stands first, and not again."""
    found = []
    for word in words:
        tokens = in_bytes(word)
        for pair in merges:
            places = [k for k in range(len(tokens) - 1) if tuple(tokens[k : k + 2]) == pair]
            tokens = join(tokens, places[0]) if places else tokens
        found.append(tokens)
    return found


@wrong(BPE, cause="words beside|alone")
def across_words(words, merges):
    """Words are joined to one, cut, and the tokens shared out by their first bytes."""
    (tokens,) = cutting()(["".join(words)], merges)
    found, lengths = [[] for _ in words], [len(in_bytes(word)) for word in words]
    at = 0
    for token in tokens:
        owner = next(k for k in range(len(words)) if at < sum(lengths[: k + 1]))
        found[owner].append(token)
        at += len(token)
    return found


@right(BPE)
def list_in_one_pass(words, merges):
    """The list is gone through once: each pair is joined wherever it stands."""
    found = []
    for word in words:
        tokens = in_bytes(word)
        for pair in merges:
            place = 0
            while place < len(tokens) - 1:
                if tuple(tokens[place : place + 2]) == pair:
                    tokens = join(tokens, place)
                place += 1
        found.append(tokens)
    return found
