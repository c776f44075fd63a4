"""Byte-level BPE: a word's bytes, neighbours of which are joined, pair after pair, in the order in which pairs were learned."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace

from spec.bibliography import paper
from spec.language.formula import pitfall
from spec.language.procedure import Procedure, Requirement

Tokens = tuple[str, ...]
Pair = tuple[str, str]
Solve = Callable[["Problem"], list[Tokens]]


@dataclass(frozen=True)
class Problem:
    """Words, and the pairs that are joined, in the order in which they were learned."""

    words: tuple[str, ...]
    merges: tuple[Pair, ...]


def is_printed(byte: int) -> bool:
    """Whether Latin-1 has a character for a byte that is seen: no space, no control, and not the soft hyphen, U+00AD."""
    return 0x21 <= byte <= 0x7E or (0xA1 <= byte <= 0xFF and byte != 0xAD)


def character_of(byte: int) -> str:
    """What a byte is written as: its character of Latin-1, or where that is not seen, the next of those from U+0100 on."""
    if is_printed(byte):
        return chr(byte)
    return chr(0x100 + sum(not is_printed(before) for before in range(byte)))


def bytes_of(word: str) -> Tokens:
    """The bytes of a word in UTF-8, a token each."""
    return tuple(character_of(byte) for byte in word.encode())


def join_pair(tokens: Tokens, pair: Pair) -> Tokens:
    """The tokens, of which every two neighbours that are the pair are one; from the left, so that none is joined twice."""
    found: Tokens = ()
    place = 0
    while place < len(tokens):
        if tokens[place : place + 2] == pair:
            found, place = (*found, "".join(pair)), place + 2
        else:
            found, place = (*found, tokens[place]), place + 1
    return found


def first_pair(tokens: Tokens, merges: tuple[Pair, ...]) -> Pair | None:
    """Of the pairs that stand in the tokens the one that was learned first."""
    neighbours = set(itertools.pairwise(tokens))
    return next((pair for pair in merges if pair in neighbours), None)


def tokens_of(problem: Problem, word: str) -> Tokens:
    """The tokens of a word, as the steps say."""
    found = bytes_of(word)
    while (pair := first_pair(found, problem.merges)) is not None:
        found = join_pair(found, pair)
    return found


def reference(problem: Problem) -> list[Tokens]:
    """The tokens of each word."""
    return [tokens_of(problem, word) for word in problem.words]


# Requirements -------------------------------------------------------------------------------------------------------------


def _each(problem: Problem, solve: Solve, wrong: Callable[[str, Tokens], str]) -> str:
    """What is wrong with the tokens of a word, at the first where something is."""
    found = solve(problem)
    if len(found) != len(problem.words):
        return f"{len(problem.words)} words get {len(found)} lists of tokens"
    for word, tokens in zip(problem.words, found, strict=True):
        if said := wrong(word, tokens):
            return f"{word!r} becomes {list(tokens)}: {said}"
    return ""


def _bytes(problem: Problem, solve: Solve) -> str:
    def wrong(word: str, tokens: Tokens) -> str:
        return "" if tokens == bytes_of(word) else f"its bytes are {list(bytes_of(word))}"

    return _each(replace(problem, merges=()), solve, wrong)


def _joined(problem: Problem, solve: Solve) -> str:
    def wrong(word: str, tokens: Tokens) -> str:
        whole = "".join(bytes_of(word))
        return "" if "".join(tokens) == whole else f"together they are {''.join(tokens)!r}, not {whole!r}"

    return _each(problem, solve, wrong)


def _known(problem: Problem, solve: Solve) -> str:
    known = {character_of(byte) for byte in range(256)} | {"".join(pair) for pair in problem.merges}

    def wrong(word: str, tokens: Tokens) -> str:
        strange = [token for token in tokens if token not in known]
        return f"{strange[0]!r} is neither a byte nor joined by any merge" if strange else ""

    return _each(problem, solve, wrong)


def _finished(problem: Problem, solve: Solve) -> str:
    def wrong(word: str, tokens: Tokens) -> str:
        pair = first_pair(tokens, problem.merges)
        return "" if pair is None else f"{pair[0]!r} and {pair[1]!r} stand side by side"

    return _each(problem, solve, wrong)


def _stepwise(problem: Problem, solve: Solve) -> str:
    if not problem.merges:
        return ""
    last = problem.merges[-1]
    before = solve(replace(problem, merges=problem.merges[:-1]))
    if len(before) != len(problem.words):
        return f"{len(problem.words)} words get {len(before)} lists of tokens"
    wanted = dict(zip(problem.words, (join_pair(tokens, last) for tokens in before), strict=True))

    def wrong(word: str, tokens: Tokens) -> str:
        return (
            ""
            if tokens == wanted[word]
            else f"the last pair, joined where it is left, gives {list(wanted[word])}"
        )

    return _each(problem, solve, wrong)


def _alone(problem: Problem, solve: Solve) -> str:
    def wrong(word: str, tokens: Tokens) -> str:
        (other,) = solve(replace(problem, words=(word,)))
        return "" if other == tokens else f"alone it becomes {list(other)}"

    return _each(problem, solve, wrong)


BYTES = Requirement(
    "bytes", "without merges a word's tokens are its bytes in UTF-8, each as its character", _bytes
)
JOINED = Requirement(
    "joined", "a word's tokens, put together, are its bytes again: its spaces and its case too", _joined
)
KNOWN = Requirement("known", "every token is a byte, or what a merge joins", _known)
FINISHED = Requirement("finished", "no two neighbours are a pair that is joined", _finished)
STEPWISE = Requirement(
    "stepwise",
    "the pair learned last is joined after all others: it changes what these leave, and that from the left",
    _stepwise,
)
ALONE = Requirement("alone", "a word's tokens do not depend on the words beside it", _alone)

bpe = Procedure(
    "gpt.bpe",
    "Byte-level BPE",
    why="A vocabulary of characters has no end either: Unicode counts more than a hundred thousand, and a text holds some "
    "that training did not. Bytes are 256, and every text is made of them, so that none is unknown and every text comes "
    "back as it was. But a text of bytes is long. So the two neighbours that are most often side by side are made one "
    "token, then the next two, and so on, until the vocabulary is large enough; the list of these pairs, in this order, "
    "is all that is learned. To cut a new word, its pairs are joined as they were then.",
    inputs={
        "words": "the words of a text: letters, digits or other signs, each with the one space before it, and white space alone; "
        "in English also what follows an apostrophe, such as 's",
        "merges": "the pairs that are joined, first learned first; a part is a byte or what an earlier pair joins, and no two "
        "pairs join to the same",
    },
    returns={"tokens": "for each word its tokens, from left to right, each byte written as a character"},
    steps=(
        "Write the word in UTF-8, and each byte as a token: its character of Latin-1; those that are not seen there, the space "
        "among them, are in their order the characters from U+0100 on.",
        "Of all pairs of neighbours that the list holds take the one that stands first in the list.",
        "Join it wherever it stands, from left to right.",
        "Go on with step 2, until no two neighbours are a pair of the list.",
    ),
    reference=reference,
    requirements=(BYTES, JOINED, KNOWN, FINISHED, STEPWISE, ALONE),
    pitfalls=(
        pitfall("the longest token that fits, from the left, as WordPiece does", mutant="longest_first"),
        pitfall(
            "any pair that the list holds, from the left, not the first of the list", mutant="leftmost_first"
        ),
        pitfall("characters instead of bytes: é is one token, not two", mutant="characters_for_bytes"),
        pitfall("bytes written as Latin-1 has them: a space stays a space, not Ġ", mutant="latin_1_alone"),
        pitfall("the space before a word taken off", mutant="space_dropped"),
        pitfall("of three alike the last two joined, not the first", mutant="from_the_right"),
        pitfall(
            "parts looked up by what they make, so that a + bc is joined where the list has ab + c",
            mutant="by_what_they_make",
        ),
    ),
    sources=(
        paper("sennrich2016", "section 3.2, algorithm 1"),
        paper("radford2019", "section 2.2, and the code published with it"),
    ),
    notes="“lower” with the pairs (l, o), (e, r), (lo, w) becomes low er; with (w, e) before them all it becomes lo we r. A "
    "word in the middle of a text begins with Ġ, its space. Since every pair makes a token that no other makes, of parts "
    "that are made before, joining one pair at a time, wherever it stands first, gives the same tokens as joining each "
    "wherever it stands.",
)
