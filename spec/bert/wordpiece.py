"""WordPiece: a word as the longest pieces that the vocabulary has, taken from the left."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from spec.bibliography import deck, paper
from spec.language.formula import pitfall
from spec.language.procedure import Procedure, Requirement

INSIDE = "##"
"""What a piece begins with that does not stand at the beginning of a word."""
Pieces = tuple[str, ...]
Solve = Callable[["Problem"], list[Pieces]]


@dataclass(frozen=True)
class Problem:
    """Words, the pieces there are, what stands for a word that they do not make, and how long a word is at most."""

    words: tuple[str, ...]
    vocabulary: frozenset[str]
    unknown: str = "[UNK]"
    longest: int = 100


def longest_piece(problem: Problem, word: str, begin: int) -> tuple[str, int]:
    """The longest piece of the vocabulary that stands in the word at a place, and where it ends; none, and the place itself."""
    for end in range(len(word), begin, -1):
        piece = (INSIDE if begin else "") + word[begin:end]
        if piece in problem.vocabulary:
            return piece, end
    return "", begin


def pieces_of(problem: Problem, word: str) -> Pieces:
    """The pieces of a word, as the steps say."""
    if len(word) > problem.longest:
        return (problem.unknown,)
    found: Pieces = ()
    begin = 0
    while begin < len(word):
        piece, end = longest_piece(problem, word, begin)
        if not piece:
            return (problem.unknown,)
        found, begin = (*found, piece), end
    return found


def reference(problem: Problem) -> list[Pieces]:
    """The pieces of each word."""
    return [pieces_of(problem, word) for word in problem.words]


def join_pieces(pieces: Pieces) -> str:
    """The word that pieces make."""
    return "".join(piece.removeprefix(INSIDE) if place else piece for place, piece in enumerate(pieces))


# Requirements -------------------------------------------------------------------------------------------------------------


def _each(problem: Problem, solve: Solve, wrong: Callable[[str, Pieces], str]) -> str:
    """What is wrong with the pieces of a word that is not unknown, at the first where something is."""
    found = solve(problem)
    if len(found) != len(problem.words):
        return f"{len(problem.words)} words get {len(found)} lists of pieces"
    for word, pieces in zip(problem.words, found, strict=True):
        if pieces != (problem.unknown,) and (said := wrong(word, pieces)):
            return f"{word!r} becomes {list(pieces)}: {said}"
    return ""


def _known(problem: Problem, solve: Solve) -> str:
    def wrong(word: str, pieces: Pieces) -> str:
        strange = [piece for piece in pieces if piece not in problem.vocabulary]
        return f"{strange[0]!r} is not in the vocabulary" if strange else ""

    return _each(problem, solve, wrong)


def _joined(problem: Problem, solve: Solve) -> str:
    def wrong(word: str, pieces: Pieces) -> str:
        return "" if join_pieces(pieces) == word else f"together they are {join_pieces(pieces)!r}"

    return _each(problem, solve, wrong)


def _greedy(problem: Problem, solve: Solve) -> str:
    def wrong(word: str, pieces: Pieces) -> str:
        begin = 0
        for place, piece in enumerate(pieces):
            best, end = longest_piece(problem, word, begin)
            if best != piece:
                return f"piece {place} is {piece!r}, and {best!r} is longer"
            begin = end
        return ""

    return _each(problem, solve, wrong)


def _whole(problem: Problem, solve: Solve) -> str:
    for word, pieces in zip(problem.words, solve(problem), strict=True):
        known = word in problem.vocabulary and 0 < len(word) <= problem.longest
        if known and pieces != (word,):
            return f"{word!r} is in the vocabulary and becomes {list(pieces)}"
        if len(word) > problem.longest and pieces != (problem.unknown,):
            return f"{word!r} has {len(word)} characters, of {problem.longest}, and becomes {list(pieces)}"
    return ""


def _unknown(problem: Problem, solve: Solve) -> str:
    for word, pieces in zip(problem.words, solve(problem), strict=True):
        lost = pieces_of(problem, word) == (problem.unknown,)
        if lost and pieces != (problem.unknown,):
            return f"{word!r} cannot be put together from the left, and becomes {list(pieces)}"
        if not lost and pieces == (problem.unknown,):
            return f"{word!r} is {list(pieces_of(problem, word))}, and is called unknown"
    return ""


def _alone(problem: Problem, solve: Solve) -> str:
    for word, pieces in zip(problem.words, solve(problem), strict=True):
        (other,) = solve(replace(problem, words=(word,)))
        if other != pieces:
            return f"{word!r} becomes {list(pieces)} among others, {list(other)} alone"
    return ""


KNOWN = Requirement("known", "every piece is in the vocabulary", _known)
JOINED = Requirement(
    "joined", "the pieces of a word that is not unknown, put together without their ##, are the word", _joined
)
GREEDY = Requirement("greedy", "where a piece begins, the vocabulary has no longer one that fits", _greedy)
WHOLE = Requirement(
    "whole", "a word that is in the vocabulary is one piece, and one that is too long is unknown", _whole
)
UNKNOWN = Requirement(
    "unknown", "where no piece fits, the whole word is unknown, not its rest; and nowhere else", _unknown
)
ALONE = Requirement("alone", "a word's pieces do not depend on the words beside it", _alone)

wordpiece = Procedure(
    "bert.wordpiece",
    "WordPiece",
    why="A vocabulary of words never ends: names, numbers, compounds and misspellings are always new. One of characters is "
    "small, but texts get long and a character means little. WordPiece goes between: frequent words are pieces of their own, all "
    "others are put together from smaller ones, down to single characters. Which pieces a word gets is decided from the left, "
    "always by the longest that fits, so that it takes no search and no probabilities.",
    inputs={
        "words": "the words of a text, split at spaces and punctuation",
        "vocabulary": "the pieces there are; those that do not begin a word are written with ## before them",
        "unknown": "what stands for a word that no pieces make: [UNK]",
        "longest": "how many characters a word may have",
    },
    returns={"pieces": "for each word its pieces, from left to right"},
    steps=(
        "A word of more characters than may be is unknown.",
        "Begin at the left end of the word.",
        "Take the longest piece of the vocabulary that stands there; behind the beginning of the word with ## before it.",
        "Where there is none, the whole word is unknown, and what was found of it is given up.",
        "Go on behind the piece with step 3, until the word is at its end.",
    ),
    reference=reference,
    requirements=(KNOWN, JOINED, GREEDY, WHOLE, UNKNOWN, ALONE),
    pitfalls=(
        pitfall("the rest of a word becomes [UNK], and its beginning stays", mutant="rest_unknown"),
        pitfall("the shortest piece that fits, or the first in the vocabulary", mutant="shortest_first"),
        pitfall("pieces inside a word looked up without their ##", mutant="without_marks"),
        pitfall("the limit of length forgotten: time grows with its square", mutant="any_length"),
        pitfall(
            "fewest pieces by a search: greedy pieces may be more, and that is what was trained",
            mutant="fewest",
        ),
        pitfall(
            "case or accents taken off here, too: that is done where words are split, for uncased models alone",
            mutant="lower_case",
        ),
    ),
    sources=(
        deck(3, "BERT uses WordPieces as tokens rather than words"),
        deck(4, "word-level labels and a sub-word tokenizer"),
        paper("wu2016", "section 4.1"),
        paper("devlin2019", "section 3, input representations"),
    ),
    notes="“unaffable” with the pieces un, ##aff, ##able becomes un ##aff ##able. A label of a word moves to its first piece.",
)
