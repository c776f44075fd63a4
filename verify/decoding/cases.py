"""Cases: a model made from a seed, prompts, and what is asked for; drawn by Hypothesis, which also makes them small."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

from hypothesis import strategies as st

from verify.decoding.models import KINDS, Attention, Table, Uncached

ALPHAS = (0.0, 0.6, 1.0, 2.0)
OWN = "own"
"""The kind of a model that the callable brings itself."""

Range = tuple[int, int]


@dataclass(frozen=True)
class Sort:
    """How large a case is, from … to: words, tokens of a prompt, prompts, tokens to come, beams.

    ``top`` is the least t that is given, ``alphas`` are rewards for length, ``ends`` says that there is an end, and ``kind`` the
    model where it is not drawn. Where prompts are ``alike``, all but one are the same.
    """

    vocabulary: Range = (2, 7)
    prompt: Range = (1, 5)
    prompts: Range = (1, 3)
    length: Range = (1, 6)
    width: Range = (1, 4)
    top: int = 1
    alphas: tuple[float, ...] = ALPHAS
    ends: bool = False
    kind: str = ""
    alike: bool = False


FEW = 3
"""A t up to this is given as often as one that a sort of cases has, and as none: fewer than there are beams. It is not where a
sort's least t is larger."""
CROWD = 11
"""So many prompts are alike in most cases in which some are, and fewer in those that are made small."""
USUAL = Sort()
SMALL = Sort(vocabulary=(2, 3), length=(1, 3))
"""Where all texts are looked at: 3³ of the greatest length."""
PRESSING = Sort((2, 3), prompts=(1, 8), length=(4, 6), width=(2, 4), top=2, alphas=ALPHAS[-2:], ends=True)
"""Few words, an end, a long text and much reward for its length: finished and unfinished beams compete to the last step."""
LATE = Sort((2, 5), prompts=(1, 8), length=(5, 12), width=(3, 6), top=2, alphas=ALPHAS[-2:], ends=True)
"""The same for longer."""
LARGE = Sort(vocabulary=(2, 17), prompt=(1, 9), prompts=(1, 5), length=(1, 12), width=(1, 12))
"""Where a limit shows that an implementation has."""
REMEMBERING = Sort(vocabulary=(9, 17), prompt=(1, 9), length=(6, 12), width=(4, 12), top=5, kind="attention")
"""Many beams whose caches change places for many steps."""
MANY = Sort((2, 4), (1, 2), prompts=(2, 24), length=(4, 12), width=(1, 3), ends=True, alike=True)
"""Many prompts, and one whose text ends before all others, or after."""
BROAD = Sort((11, 17), (1, 3), prompts=(1, 2), length=(1, 3), width=(9, 12), top=9)
"""More beams, and more words after each, than a limit below ten lets through."""
WORDY = Sort(vocabulary=(257, 300), prompt=(1, 2), prompts=(1, 2), length=(1, 3), width=(2, 3))
"""More words than a byte has values."""
CROWDED = Sort((4, 7), (1, 5), prompts=(12, 24), length=(12, 16), width=(1, 2), ends=True, kind="attention")
"""Many prompts whose texts end at steps of their own."""
LONG = Sort((2, 5), (33, 67), prompts=(1, 2), length=(33, 67), width=(1, 2))
"""Longer prompts and texts than a limit of 32 lets through."""
SHARES = (
    (0.2, (USUAL, PRESSING)),
    (0.2, (LATE, LARGE)),
    (0.15, (MANY,)),
    (0.1, (CROWDED,)),
    (0.2, (REMEMBERING, BROAD)),
    (0.1, (WORDY,)),
    (0.05, (LONG,)),
)
"""Which share of the cases is of which sorts, in the order in which they are tried: small ones first."""


@dataclass(frozen=True)
class Case:
    """One problem as data: what it takes to set it again."""

    kind: str
    vocabulary: int
    seed: int
    prompts: tuple[tuple[int, ...], ...]
    max_length: int
    end: int | None = None
    width: int = 1
    top: int | None = None
    alpha: float = 0.0

    def describe(self, beams: bool) -> dict[str, Any]:
        """Describe the case for a reader, as names and values."""
        made = {"model": f"{self.kind}, seed {self.seed}, vocabulary 0 … {self.vocabulary - 1}"}
        if self.kind in ("table", "tied", "near"):
            table = model_of(self.kind, self.vocabulary, self.seed)
            assert isinstance(table, Table)
            made["logits after each token"] = table.table.numpy()  # type: ignore[assignment]
        rest = {k: v for k, v in asdict(self).items() if k not in ("kind", "vocabulary", "seed")}
        rest["prompts"] = [list(prompt) for prompt in self.prompts]
        return {**made, **{k: v for k, v in rest.items() if beams or k not in ("width", "top", "alpha")}}


@lru_cache(maxsize=256)
def model_of(kind: str, vocabulary: int, seed: int) -> Table | Attention:
    """A model of ours."""
    return KINDS[kind](vocabulary, seed)  # type: ignore[no-any-return, operator]


@lru_cache(maxsize=64)
def _own(make: Callable[[int, int], Any], vocabulary: int, seed: int) -> Any:
    return make(vocabulary, seed)


def models_of(fn: Any, case: Case, cached: bool = True) -> Any:
    """The model of a case, with or without a cache: one that the callable brings, or ours."""
    if case.kind == OWN:
        model = _own(fn.model, case.vocabulary, case.seed)
        model.cached = cached
        return model
    model = model_of(case.kind, case.vocabulary, case.seed)
    return model if cached else Uncached(model)


@st.composite
def cases(
    draw: st.DrawFn,
    takes: frozenset[str],
    kinds: tuple[str, ...],
    sorts: tuple[Sort, ...],
    fewest: int = 1,
) -> Case:
    """Cases of these sorts that a callable which takes these options can be asked; ``fewest`` prompts at least."""
    sort = draw(st.sampled_from(sorts))
    if sort.ends and "end" not in takes:
        sort = USUAL
    V = draw(st.integers(*sort.vocabulary))
    token = st.integers(0, V - 1)
    one = st.lists(token, min_size=sort.prompt[0], max_size=sort.prompt[1])
    if "lengths" not in takes:
        n = draw(st.integers(*sort.prompt))
        one = st.lists(token, min_size=n, max_size=n)
    if sort.alike:
        usual = draw(one)
        other = draw(
            one.filter(lambda prompt: prompt[-1] != usual[-1])
        )  # what follows may depend on that token alone
        count = draw(st.sampled_from((sort.prompts[0], *range(CROWD, sort.prompts[1] + 1))))
        place = draw(st.integers(0, count - 1))
        prompts = [usual] * place + [other] + [usual] * (count - place - 1)
    else:
        prompts = draw(st.lists(one, min_size=fewest, max_size=max(fewest, sort.prompts[1])))
    kind = draw(st.sampled_from(kinds))
    tops = [st.none(), st.integers(min(sort.top, V), V)]
    tops += [st.integers(1, min(FEW, V))] if sort.top <= FEW else []
    ends = token if sort.ends else st.sampled_from((None, *range(V)))
    return Case(
        sort.kind if sort.kind in kinds else kind,
        V,
        draw(st.integers(0, 9999)),
        tuple(map(tuple, prompts)),
        draw(st.integers(*sort.length)),
        draw(ends) if "end" in takes else None,
        draw(st.integers(*sort.width)) if "width" in takes else 1,
        draw(st.one_of(tops)) if "top" in takes else None,
        draw(st.sampled_from(sort.alphas)) if "alpha" in takes else 0.0,
    )
