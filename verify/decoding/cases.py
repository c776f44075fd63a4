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
SMALL = {"vocabulary": 3, "length": 3}
"""Where all texts are looked at: 3³ of the greatest length."""


@dataclass(frozen=True)
class Sizes:
    """How large a case is at most: words, tokens of a prompt, prompts, tokens to come, beams."""

    vocabulary: int
    prompt: int
    prompts: int
    length: int
    width: int


USUAL, LARGE = Sizes(7, 5, 3, 6, 4), Sizes(17, 9, 5, 12, 9)
"""Those of most cases, and those of one in six: there a limit shows that an implementation has."""


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

    def told(self, beams: bool) -> dict[str, Any]:
        """What a reader is shown."""
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
    small: bool = False,
    fewest: int = 1,
) -> Case:
    """Cases that a callable which takes these options can be asked; ``fewest`` prompts at least.

    One in three is *pressing*: few words, an end, a long text and much reward for its length, so that finished and unfinished
    beams compete to the last step. One in six is large.
    """
    sort = 0 if small else draw(st.integers(0, 5))
    pressing = sort in (3, 4) and {"end", "alpha"} <= takes
    most = LARGE if sort == 5 else USUAL
    V = draw(st.integers(2, SMALL["vocabulary"] if small or pressing else most.vocabulary))
    token = st.integers(0, V - 1)
    one = st.lists(token, min_size=1, max_size=most.prompt)
    if "lengths" not in takes:
        n = draw(st.integers(1, most.prompt))
        one = st.lists(token, min_size=n, max_size=n)
    prompts = draw(st.lists(one, min_size=fewest, max_size=max(fewest, most.prompts)))
    end: int | None
    if pressing:
        length, end, alpha = draw(st.integers(4, most.length)), draw(token), ALPHAS[-1]
    else:
        length = draw(st.integers(1, SMALL["length"] if small else most.length))
        end = draw(st.sampled_from((None, *range(V)))) if "end" in takes else None
        alpha = draw(st.sampled_from(ALPHAS)) if "alpha" in takes else 0.0
    return Case(
        draw(st.sampled_from(kinds)),
        V,
        draw(st.integers(0, 9999)),
        tuple(map(tuple, prompts)),
        length,
        end,
        draw(st.integers(1, most.width)) if "width" in takes else 1,
        draw(st.none() | st.integers(1, V)) if "top" in takes else None,
        alpha,
    )
