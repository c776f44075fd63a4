"""Models of the next token, as modules that keep what they have read: what GPT and Llama share."""

from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

import torch
from jaxtyping import Bool, Float, Integer
from torch import Tensor, nn

from impl import _refuse
from impl.attention import trust_hidden
from impl.decoding import greedy
from impl.decoding.steps import check_prompts
from impl.transformer.cache import Cache
from impl.transformer.static import StaticCache

__all__ = ["CachedModel", "CausalModel", "GraphedModel", "pack"]

T = TypeVar("T")


class CausalModel(nn.Module):
    """A model whose logits at a place are those of the next token, given the tokens up to it. A subclass has ``start``, and the
    four parts that are not written out here.
    """

    formula: ClassVar[str]
    """The statement that errors name."""

    def start(self, rows: int, capacity: int | None = None) -> Cache:
        """A cache for so many rows without tokens: room for ``capacity`` in each."""
        raise NotImplementedError

    def _check(self, ids: Tensor, mask: Tensor | None, positions: Tensor | None) -> None:
        """Refuse what does not fit."""
        raise NotImplementedError

    def _continue(self, ids: Tensor, cache: Cache) -> Tensor:
        """Tokens (r n) behind those in the cache, after all layers, which append to it: the rows of a source side by side."""
        raise NotImplementedError

    def _logits(self, x: Tensor) -> Tensor:
        """Of tokens after all layers."""
        raise NotImplementedError

    @torch.no_grad()
    def generate(
        self,
        prompts: Integer[Tensor, "b n"],
        mask: Bool[Tensor, "b n"] | None = None,
        *,
        max_length: int,
        search: Callable[..., T] = greedy,  # type: ignore[assignment]
        graphs: bool = False,
        **options: Any,
    ) -> T:
        """What ``search``, of ``impl.decoding`` (``greedy``, ``beam``, ``sampled``), finds behind each prompt, with ``options``
        of its own (``end=``, ``width=``, ``generator=``): up to ``max_length`` tokens more.

        The mask says which tokens of the prompts are real: shorter ones may be padded on either side. Keys and values are kept.
        The module is used as it is: in evaluation, unless dropout is wanted. With ``graphs=True`` it decodes as a
        ``GraphedModel``, which has not run on CUDA. Errors are those of a call, and of ``start``.
        """
        self._check(prompts, mask, None)
        if mask is not None and mask.dtype != torch.bool:
            raise _refuse.dtypes(self.formula, "a boolean mask, True = a token", mask=mask)
        lengths = None if mask is None else mask.sum(-1)
        if mask is not None:
            _, prompts, _ = pack(mask, prompts, None)
        steps = (GraphedModel if graphs else CachedModel)(self, prompts.shape[-1] + max_length - 1)
        return search(steps, prompts, lengths, max_length=max_length, **options)

    @torch.no_grad()
    def decode_step(
        self, ids: Integer[Tensor, "r n"], cache: Cache, lengths: Integer[Tensor, " r"] | None = None
    ) -> Float[Tensor, "r V"]:
        """The logits of each row's next token, after the n tokens ``ids``, which come behind those in the cache; they are in
        the cache afterwards. ``lengths`` says how many of a row's n tokens are real: prompts of different lengths, padded behind
        their ends. ValueError where the cache has no room, for ids or lengths without a row for each of the cache's, and for
        lengths outside 1..n.
        """
        if ids.dim() != 2 or len(ids) != len(cache.lengths):
            raise _refuse.shapes(
                self.formula, f"ids (r n), r = {len(cache.lengths)} as in the cache", ids=ids
            )
        r, n = ids.shape
        if lengths is not None:
            if not torch.compiler.is_compiling():
                check_prompts(self.formula, ids, lengths)
            ids = ids.masked_fill(torch.arange(n, device=ids.device) >= lengths[:, None], 0)
        x = self._continue(ids, cache)
        cache.advance(n, lengths)
        x = x.view(r, n, x.shape[-1])
        last = x[:, -1] if lengths is None else x[torch.arange(r, device=x.device), lengths.long() - 1]
        return self._logits(last)


class CachedModel:
    """An ``impl.decoding.StepModel``, which keeps keys and values of what it has read: ``greedy(CachedModel(gpt), prompts, …)``.
    ``capacity`` is the number of tokens that a row has room for, the model's ``max_length`` unless given.
    """

    def __init__(self, model: CausalModel, capacity: int | None = None) -> None:
        self.model, self.capacity = model, capacity

    def start(
        self, prompts: Integer[Tensor, "b n"], lengths: Integer[Tensor, " b"]
    ) -> tuple[Float[Tensor, "b V"], Cache]:
        """Logits after each prompt, of which the first ``lengths`` tokens count, and the cache that goes on from there."""
        cache = self.model.start(len(prompts), self.capacity)
        alike = prompts.is_cpu and bool((lengths == prompts.shape[1]).all())
        return self.model.decode_step(prompts, cache, None if alike else lengths), cache

    def step(self, state: Cache, tokens: Integer[Tensor, " r"]) -> tuple[Float[Tensor, "r V"], Cache]:
        """Logits after one more token in every row."""
        return self.model.decode_step(tokens.unsqueeze(1), state), state


class GraphedModel:
    """A ``CachedModel`` with steps of static shapes: ``greedy(GraphedModel(gpt), prompts, …)``. On CUDA a step is captured in a
    graph, which is then replayed without Python. Elsewhere it runs as it is, and so it is tested: **the capture has not run.**

    Each search captures anew, and once more where the number of rows changes. A step attends to all ``capacity`` slots: less room
    is less work. Beams copy keys and values, which ``CachedModel`` lets them share.
    """

    def __init__(self, model: CausalModel, capacity: int | None = None) -> None:
        self.model, self._cached = model, CachedModel(model, capacity)

    def start(
        self, prompts: Integer[Tensor, "b n"], lengths: Integer[Tensor, " b"]
    ) -> tuple[Float[Tensor, "b V"], StaticCache]:
        """Logits after each prompt, of which the first ``lengths`` tokens count, and the cache that goes on from there."""
        logits, cache = self._cached.start(prompts, lengths)
        return logits, StaticCache.of(cache)

    def step(
        self, state: StaticCache, tokens: Integer[Tensor, " r"]
    ) -> tuple[Float[Tensor, "r V"], StaticCache]:
        """Logits after one more token in every row. ValueError where the cache has no room, and for tokens of other rows."""
        state.places(1)  # refuses where there is no room, which a graph cannot
        if tokens.shape != state.lengths.shape:
            expected = f"tokens (r), r = {len(state.lengths)} as in the cache"
            raise _refuse.shapes(self.model.formula, expected, tokens=tokens)
        state.ids.copy_(tokens[:, None])
        with trust_hidden():  # what no row sees is 0
            logits = state.graph(lambda: self.model.decode_step(state.ids, state))
        state.taken += 1
        return logits, state


def pack(mask: Tensor, ids: Tensor, positions: Tensor | None) -> tuple[Tensor, Tensor, Tensor | None]:
    """The real tokens of each row in front, padding (id 0) behind them, where no token sees it: the places that they come from,
    the ids, and the positions that were given.
    """
    order = (~mask).byte().argsort(dim=-1, stable=True)
    ids = ids.masked_fill(~mask, 0).gather(-1, order)
    return order, ids, None if positions is None else positions.masked_fill(~mask, 0).gather(-1, order)
