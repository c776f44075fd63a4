"""Packing: one text, or a pair of texts, as the sequence that BERT reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from spec.bibliography import deck, paper
from spec.language.convention import Convention
from spec.language.formula import pitfall
from spec.language.procedure import Procedure, Requirement

Ids = tuple[int, ...]
Packed = tuple[Ids, Ids]
"""Token ids, and the segment of each: 0 for the first text, 1 for the second."""
Solve = Callable[["Problem"], Packed]

TRUNCATION = Convention(
    "truncation",
    {
        "longest_first": "tokens are taken off the longer of the two texts",
        "only_first": "tokens are taken off the first text alone",
        "only_second": "tokens are taken off the second text alone",
    },
    default="longest_first",
)
ODD = Convention(
    "odd",
    {
        "first": "where both are cut and one may have a token more, the first text keeps it, as in the original BERT",
        "longer": "the text that was the longer keeps it, the second where they were alike, as the tokenizers library does",
    },
    default="first",
)


@dataclass(frozen=True)
class Problem:
    """One text, or two; the ids of [CLS] and [SEP]; how long the sequence may be."""

    a: Ids
    b: Ids | None
    cls: int
    sep: int
    longest: int
    conventions: Mapping[str, str] = field(default_factory=dict)

    @property
    def special(self) -> int:
        """How many special tokens the sequence has."""
        return 2 if self.b is None else 3


def truncate_lengths(problem: Problem) -> tuple[int, int]:
    """How many tokens of each text stay.

    Raises:
        ValueError: the text that may be cut is too short for it.
    """
    a, b = len(problem.a), len(problem.b or ())
    room = problem.longest - problem.special
    truncation = problem.conventions.get("truncation", TRUNCATION.default)
    second_keeps = problem.conventions.get("odd") == "longer" and b >= a
    while a + b > room:
        if truncation == "longest_first" and problem.b is not None:
            first = a > b or (a == b and second_keeps)
        else:
            first = truncation != "only_second"
        a, b = (a - 1, b) if first else (a, b - 1)
    if min(a, b) < 0:
        raise ValueError(f"a sequence of {problem.longest} has no room for the text that may not be cut")
    return a, b


def reference(problem: Problem) -> Packed:
    """The sequence, as the steps say."""
    a, b = truncate_lengths(problem)
    ids = (problem.cls, *problem.a[:a], problem.sep)
    if problem.b is None:
        return ids, (0,) * len(ids)
    second = (*problem.b[:b], problem.sep)
    return (*ids, *second), (0,) * len(ids) + (1,) * len(second)


# Requirements -------------------------------------------------------------------------------------------------------------


def _lengths(problem: Problem, packed: Packed) -> tuple[int, int] | None:
    """How much of each text a sequence keeps, if it is [CLS] A [SEP] or [CLS] A [SEP] B [SEP]."""
    ids, segments = packed
    if problem.b is None:
        a = len(ids) - 2
        fits = a >= 0 and ids == (problem.cls, *problem.a[:a], problem.sep) and len(problem.a) >= a
        return (a, 0) if fits else None
    a, b = segments.count(0) - 2, segments.count(1) - 1
    right = (problem.cls, *problem.a[: max(a, 0)], problem.sep, *problem.b[: max(b, 0)], problem.sep)
    return (a, b) if min(a, b) >= 0 and ids == right and (a, b) <= (len(problem.a), len(problem.b)) else None


def _layout(problem: Problem, solve: Solve) -> str:
    packed = solve(problem)
    if _lengths(problem, packed) is None:
        form = "[CLS] A [SEP]" if problem.b is None else "[CLS] A [SEP] B [SEP]"
        return f"{list(packed[0])} in segments {list(packed[1])} is not {form} with beginnings of the texts"
    return ""


def _segments(problem: Problem, solve: Solve) -> str:
    ids, segments = solve(problem)
    if len(ids) != len(segments):
        return f"{len(ids)} tokens have {len(segments)} segments"
    second = segments.count(1)
    if segments != (0,) * (len(ids) - second) + (1,) * second or (problem.b is None and second):
        return f"segments {list(segments)}: expected 0 for the first text, then 1 for the second"
    return ""


def _fits(problem: Problem, solve: Solve) -> str:
    ids, _ = solve(problem)
    full = len(problem.a) + len(problem.b or ()) + problem.special
    wanted = min(full, problem.longest)
    return "" if len(ids) == wanted else f"{len(ids)} tokens; of {full} there is room for {wanted}"


def _fair(problem: Problem, solve: Solve) -> str:
    packed = solve(problem)
    found = _lengths(problem, packed)
    if found is None or problem.b is None:
        return ""
    cut = (len(problem.a) - found[0], len(problem.b) - found[1])
    truncation = problem.conventions.get("truncation", TRUNCATION.default)
    said = f"{cut[0]} tokens of the first text are cut and {cut[1]} of the second"
    if truncation == "only_first":
        return said if cut[1] else ""
    if truncation == "only_second":
        return said if cut[0] else ""
    unfair = (cut[0] and found[0] + 1 < found[1]) or (cut[1] and found[1] + 1 < found[0])
    return f"{said}, so that {found[0]} and {found[1]} are left" if unfair else ""


LAYOUT = Requirement("layout", "it is [CLS] A [SEP] B [SEP], of each text its beginning", _layout)
SEGMENTS = Requirement(
    "segments",
    "[CLS], the first text and its [SEP] are segment 0, the second and its [SEP] segment 1",
    _segments,
)
FITS = Requirement("fits", "it is no longer than may be, and nothing is cut without need", _fits)
FAIR = Requirement(
    "fair",
    "a text is cut no further than to one token fewer than the other; or it alone, where that is the convention",
    _fair,
)

pack = Procedure(
    "bert.pack",
    "Packing texts for BERT",
    why="How does one encoder read a single text and pairs alike? Both are one sequence: a token [CLS] before it, whose row "
    "comes to stand for the whole, and [SEP] behind each text. To tell the texts apart each token has a segment, 0 or 1, with a "
    "vector of its own. The sequence has a greatest length, since attention costs its square and positions end; which text is "
    "then cut depends on the task: a question must stay whole, two sentences are cut alike.",
    inputs={
        "a": "the tokens of the first text",
        "b": "the tokens of the second text, if there is one",
        "cls": "the id of [CLS]",
        "sep": "the id of [SEP]",
        "longest": "how many tokens the sequence has at most",
    },
    returns={
        "ids": "the sequence, with its special tokens",
        "segments": "0 for each token up to the first [SEP] and with it, 1 behind it",
    },
    steps=(
        "Leave room for [CLS] and a [SEP] behind each text.",
        "While the texts do not fit, take a token off the end of the longer one; of two alike, off the second.",
        "Put [CLS] before the first text and [SEP] behind each.",
        "Number the segments: 0 up to the first [SEP], 1 behind it.",
    ),
    reference=reference,
    requirements=(LAYOUT, SEGMENTS, FITS, FAIR),
    conventions=(TRUNCATION, ODD),
    pitfalls=(
        pitfall(
            "segments exchanged, or the first [SEP] counted to the second text", mutant="separator_in_second"
        ),
        pitfall("cut after packing, so that the last [SEP] is lost", mutant="cut_after_packing"),
        pitfall("the beginning of a text cut instead of its end", mutant="beginning_cut"),
        pitfall("the question cut with the text, where only the text may be", convention="truncation"),
    ),
    sources=(
        deck(2, "input pre-processing: [CLS], [SEP], sentence embedding"),
        deck(4, "[CLS] t¹ [SEP] t² [SEP]"),
        paper("devlin2019", "section 3 and figure 2"),
    ),
    notes="Step 2 is that of the conventions truncation = longest_first and odd = first. In pre-training the original BERT takes "
    "tokens off the beginning of a text as often as off its end. A single text is the first: only_first and longest_first cut "
    "it, only_second never does, so that one that does not fit is refused.",
)
