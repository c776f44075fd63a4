"""How what makes tokens is called, and how it is judged: the contract that ``bert.wordpiece``, ``bert.pack`` and ``gpt.bpe`` are
checked by.

    wordpiece(words, vocabulary, *, unknown, longest)    → for each word its pieces
    pack(a, b, *, cls, sep, longest)                     → ids, segments
    bpe(words, merges)                                   → for each word its tokens

``words`` is a list of strings, ``vocabulary`` a list of pieces, ``unknown`` among them, and ``merges`` a list of pairs of
strings; what comes back is a list of lists of strings. ``a`` and ``b`` are lists of ids, ``b`` None where there is one text; what
comes back are two lists of numbers, or tensors of one axis. A callable that does not take ``longest`` for its words is given none
of more than 100 characters. NotImplementedError says that a case is not supported, and it is passed over.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from itertools import product
from typing import Any

from hypothesis import strategies as st

from spec.bert import pack, wordpiece
from spec.gpt import bpe
from spec.language.procedure import Procedure
from verify.decoding.case_result import REPEATS, VALUE, CaseResult
from verify.decoding.guard import Guard, twice
from verify.faults import Fault, Unsupported, Unusable, complaint, describe_error
from verify.subject.signature import signature_of

LETTERS = "aAéა"
"""Few letters, so that pieces meet: one in both cases, one with an accent, and one of three bytes in UTF-8 that is no word of its
own."""
UNKNOWN = "[UNK]"
CLS, SEP = 101, 102


@dataclass(frozen=True)
class Words:
    """Words to be taken apart, and the pieces there are."""

    words: tuple[str, ...]
    pieces: tuple[str, ...]
    longest: int

    def problem(self, conventions: Mapping[str, str]) -> wordpiece.Problem:
        """The case as a problem."""
        return wordpiece.Problem(self.words, frozenset(self.pieces), UNKNOWN, self.longest)


@dataclass(frozen=True)
class Texts:
    """One text or two, and how long the sequence may be."""

    a: tuple[int, ...]
    b: tuple[int, ...] | None
    longest: int

    def problem(self, conventions: Mapping[str, str]) -> pack.Problem:
        """The case as a problem."""
        return pack.Problem(self.a, self.b, CLS, SEP, self.longest, conventions)


@dataclass(frozen=True)
class Merging:
    """Words to be taken apart, and the pairs that are joined, in their order."""

    words: tuple[str, ...]
    merges: tuple[tuple[str, str], ...]

    def problem(self, conventions: Mapping[str, str]) -> bpe.Problem:
        """The case as a problem."""
        return bpe.Problem(tuple(self.words), tuple((first, second) for first, second in self.merges))


Case = Words | Texts | Merging


@st.composite
def words(draw: st.DrawFn, limited: bool) -> Words:
    """Some words and pieces, most of them parts of the words, so that many can be put together."""
    word = st.text(LETTERS, max_size=9)
    if not limited:  # the longest that fits, and one too many
        word = word | st.sampled_from(("a" * 100, "a" * 101))
    found = draw(st.lists(word, min_size=1, max_size=4))
    parts = [w[i:j] for w in found for i in range(min(len(w), 9)) for j in range(i + 1, min(len(w), 9) + 1)]
    some = st.sampled_from(parts) if parts else st.just("a")
    pieces = draw(st.lists(st.tuples(st.sampled_from(("", wordpiece.INSIDE)), some), max_size=12))
    crossed = draw(st.sampled_from([w for w in found if 2 < len(w) <= 9] or [""]))
    if crossed and draw(st.booleans()):  # it is two pieces, of which the longest one from the left is none
        i = draw(st.integers(1, len(crossed) - 2))
        j = draw(st.integers(i + 1, len(crossed) - 1))
        pieces += [("", crossed[:i]), ("##", crossed[i:]), ("", crossed[:j])]
    # Whether single letters are pieces: everywhere, inside, at no place.
    marks = draw(st.sampled_from((("##", ""), ("##",), ())))
    base = [mark + x for mark in marks for x in LETTERS]
    vocabulary = dict.fromkeys([UNKNOWN, *base, *(mark + part for mark, part in pieces)])
    return Words(tuple(found), tuple(vocabulary), draw(st.integers(3, 9)) if limited else 100)


KINDS_OF_WORDS = (
    st.text("a", max_size=9),
    st.text(LETTERS, max_size=9),
    st.text(
        st.characters(max_codepoint=0x24F, categories=["L"]) | st.sampled_from("ﬁ漢"), min_size=1, max_size=3
    ),
    st.text("1²7", min_size=1, max_size=5),
    st.text(st.sampled_from("!-…\u0301\x00\x7f😀"), min_size=1, max_size=4),
)
"""One letter, few letters, any of Latin's, digits, and other signs: GPT-2 cuts texts so, and a space may stand before each."""
WHITE = st.text(" \n\t", min_size=1, max_size=3)


@st.composite
def merging(draw: st.DrawFn) -> Merging:
    """Some words, half of them behind a space, and pairs of what is known so far, which make a new part of a word."""
    word = st.builds(str.__add__, st.sampled_from(("", " ")), st.one_of(*KINDS_OF_WORDS)) | WHITE
    found = draw(st.lists(word, min_size=1, max_size=4))
    rows = [bpe.bytes_of(each) for each in found]
    known, merges = {byte: None for row in rows for byte in row}, []
    wholes = ["".join(row) for row in rows]
    for _ in range(draw(st.integers(0, 9))):
        pairs = {pair: "".join(pair) for pair in product(known, known)}
        fresh = [
            p for p, made in pairs.items() if made not in known and any(made in whole for whole in wholes)
        ]
        if fresh:
            merges.append(draw(st.sampled_from(fresh)))
            known["".join(merges[-1])] = None
    return Merging(tuple(found), tuple(merges))


MOST_TOKENS = 7
"""How long a text is at most: enough for one to be cut down to the other, and both further."""


@st.composite
def texts(draw: st.DrawFn, truncation: str) -> Texts:
    """One text or two that can be cut as the convention says. Their lengths and the room are drawn together, all alike likely:
    what is cut of which text hangs on the three of them, and most that is drawn apart fits or is short.
    """
    a, b, longest = draw(st.sampled_from(_lengths(truncation)))
    # All ids at once: of parts drawn alike Hypothesis puts one instead of another, five times of six, and the lengths stay.
    many = a + (b or 0)
    ids = tuple(1000 + byte % 11 for byte in draw(st.binary(min_size=many, max_size=many)))
    return Texts(ids[:a], None if b is None else ids[a:], longest)


@cache
def _lengths(truncation: str) -> list[tuple[int, int | None, int]]:
    """The lengths of two texts, or of one, and how long the sequence may be, from what has to stay to one more than there is."""
    found: list[tuple[int, int | None, int]] = []
    lengths = range(MOST_TOKENS + 1)
    if truncation != "only_second":  # a single text has few ways to be cut: a fifth of what is drawn
        found += 3 * [(a, None, 2 + room) for a in lengths for room in range(a + 2)]
    for a, b in product(lengths, lengths):
        stays = {"longest_first": 0, "only_first": b, "only_second": a}[truncation]
        found += [(a, b, 3 + room) for room in range(stays, a + b + 2)]
    return found


@dataclass(frozen=True)
class TokenJudge:
    """A procedure under its conventions, and the callable held to it."""

    procedure: Procedure
    conventions: Mapping[str, str]
    fn: Callable[..., Any]
    takes: frozenset[str]
    guard: Guard = field(compare=False)
    dtype = ""

    @classmethod
    def of(cls, fn: Any, procedure: Procedure, conventions: Mapping[str, str]) -> TokenJudge:
        """The callable, if its signature fits.

        Raises:
            Unusable: it cannot be called as the contract says.
        """
        if not callable(fn):
            raise Unusable(f"{procedure.id}: {fn!r} is not callable")
        try:
            parameters = signature_of(fn).parameters.values()
        except (TypeError, ValueError):
            raise Unusable(f"{procedure.id}: the signature of {fn!r} is not known") from None
        options = tuple(procedure.inputs)[2:]
        every = any(p.kind is p.VAR_KEYWORD for p in parameters)
        takes = frozenset(o for o in options if every or any(p.name == o for p in parameters))
        for name in options:
            if name not in takes and procedure.id == "bert.pack":
                raise Unusable(f"{procedure.id}: the callable takes no {name} (see verify.decoding.tokens)")
        return cls(procedure, conventions, fn, takes, Guard(procedure.id))

    @property
    def notes(self) -> list[str]:
        """Notes on what the callable is not asked for."""
        if "longest" in self.takes or "longest" not in self.procedure.inputs:
            return []
        return ["it takes no longest: checked with words of up to 100 characters, and with longer ones"]

    def cases(self, check: str) -> list[tuple[float, st.SearchStrategy[Any]]]:
        """The cases that a check draws; all are of one sort."""
        return [(1.0, KINDS[self.procedure.id].draw(self))]

    def case(self, data: Mapping[str, Any]) -> Case:
        """A case from its data."""
        return case_of(self.procedure.id, data)

    def describe(self, case: Case) -> dict[str, Any]:
        """Describe a case for a reader, as names and values."""
        return {name: list(x) if isinstance(x, tuple) else x for name, x in asdict(case).items()}

    def judge(self, check: str, case: Case) -> CaseResult:
        """What a check finds in a case.

        Raises:
            Unsupported: the callable does not support it.
        """
        problem = case.problem(self.conventions)
        try:
            if check == VALUE:
                return CaseResult(differs(self.solve(problem), self.procedure.reference(problem), "expected"))
            if check == REPEATS:
                return CaseResult(differs(*twice(lambda: self.solve(problem)), "called again"))
            return CaseResult(self.procedure.named[check].broken(problem, self.solve))
        except Fault as fault:
            return CaseResult(str(fault), fault=True)

    def solve(self, problem: Any) -> Any:
        """Call it for a problem, and read what it returns.

        Raises:
            Fault: it raised, or what it returned is not what the contract says.
            Unsupported: it does not support this problem.
        """
        return solver_of(self.procedure.id)(self.guard.around(self.fn), self.takes, problem)


def case_of(procedure_id: str, data: Mapping[str, Any]) -> Case:
    """A case from its data."""
    return KINDS[procedure_id].case(**data)


def solver_of(procedure_id: str) -> Callable[[Callable[..., Any], Collection[str], Any], Any]:
    """How a callable is asked under a procedure."""
    return KINDS[procedure_id].call


def call_packer(fn: Callable[..., Any], takes: Collection[str], problem: pack.Problem) -> pack.Packed:
    """Ask for one text or two as a sequence, and read the ids and the segments that are returned.

    Raises:
        Fault: it raised, or what it returned is not what the contract says.
        Unsupported: it does not support this problem.
    """
    second = None if problem.b is None else list(problem.b)
    returned = call_with_options(fn, takes, problem, list(problem.a), second)
    try:
        ids, segments = (x.tolist() if hasattr(x, "tolist") else x for x in returned)
        return tuple(map(int, ids)), tuple(map(int, segments))
    except (TypeError, ValueError) as error:
        raise unread(returned, error) from None


def call_splitter(
    fn: Callable[..., Any], takes: Collection[str], problem: wordpiece.Problem | bpe.Problem
) -> list[tuple[str, ...]]:
    """Ask for the pieces of words, and read the list for each word that is returned.

    Raises:
        Fault: it raised, or what it returned is not what the contract says.
        Unsupported: it does not support this problem.
    """
    many = len(problem.words)
    known = sorted(problem.vocabulary) if isinstance(problem, wordpiece.Problem) else list(problem.merges)
    returned = call_with_options(fn, takes, problem, list(problem.words), known)
    try:
        if any(isinstance(row, str) or not all(isinstance(piece, str) for piece in row) for row in returned):
            raise TypeError("a list of strings for each word")
        if len(returned) != many:
            raise TypeError(f"a list for each word; {len(returned)} for {many}")
        return [tuple(row) for row in returned]
    except (TypeError, ValueError) as error:
        raise unread(returned, error) from None


def call_with_options(fn: Callable[..., Any], takes: Collection[str], problem: Any, *given: Any) -> Any:
    """Call the callable for a problem, with the options that it takes, and return its result.

    Raises:
        Fault: it raised, or changed the lists that it was given.
        Unsupported: it does not support this problem.
    """
    before = [None if each is None else list(each) for each in given]
    try:
        returned = fn(*given, **{name: getattr(problem, name) for name in takes})
    except (Fault, Unsupported):
        raise
    except NotImplementedError as error:
        raise Unsupported(describe_error(error)) from None
    except (Exception, SystemExit) as error:
        raise Fault(f"raised {complaint(error)}") from error
    for now, was in zip(given, before, strict=True):
        if now is not None and list(now) != was:
            raise Fault(f"changed a list that it was given: {was} became {now}")
    return returned


@dataclass(frozen=True)
class Kind:
    """What the cases of a procedure are, how they are drawn for a judge, and how a callable is asked."""

    case: Callable[..., Case]
    draw: Callable[[TokenJudge], st.SearchStrategy[Any]]
    call: Callable[[Callable[..., Any], Collection[str], Any], Any]


KINDS = {
    "bert.wordpiece": Kind(Words, lambda judge: words("longest" in judge.takes), call_splitter),
    "bert.pack": Kind(Texts, lambda judge: texts(judge.conventions["truncation"]), call_packer),
    "gpt.bpe": Kind(Merging, lambda judge: merging(), call_splitter),
}


def unread(returned: Any, error: Exception) -> Fault:
    """Describe a result that the contract does not allow."""
    return Fault(f"returned {type(returned).__name__} of another form than expected: {error}")


def differs(one: Any, other: Any, said: str) -> str:
    """Describe how a result differs from the wanted one; "" if it does not."""
    return "" if one == other else f"got {one}; {said} {other}"


__all__ = ["Merging", "Texts", "TokenJudge", "Words", "case_of", "differs", "solver_of"]
