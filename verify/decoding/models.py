"""Small models of the next token for checks: a table, and one layer of causal attention with a cache. All in float64.

A model gives logits (r n V) for tokens (r n) when it is called, and can be driven step by step as well: ``start(prompts,
lengths)`` and ``step(state, tokens)`` return (logits of the next token (r V), state), ``state.reorder(index)`` the state whose
row i was row ``index[i]``. Both ways say the same, so a decoder may take either. ``cached`` says whether steps use a cache.
"""

from __future__ import annotations

import torch
from torch import Tensor

from impl.decoding import Recomputed

USUAL, LONGEST = 24, 140
"""Positions that the attention model has: those of most texts, and all. The others are drawn last."""
WIDTH = 4
SPREADS = (1.5, 0.5)
"""Standard deviations of logits, in turn: some models are sure of the next token, others hardly know it."""


class Table:
    """Logits that depend on the last token alone: row w holds those after token w. Its state remembers nothing."""

    cached = True

    def __init__(self, vocabulary: int, seed: int, tied: bool = False, apart: float = 0.0) -> None:
        self.vocabulary = vocabulary
        random = torch.Generator().manual_seed(seed)
        table = SPREADS[seed % len(SPREADS)] * torch.randn(
            vocabulary, vocabulary, dtype=torch.float64, generator=random
        )
        self.table = table.sign() + apart * table if tied else table

    def __call__(self, tokens: Tensor) -> Tensor:
        """Logits (r n V) of the token after each."""
        return self.table[tokens]

    def start(self, prompts: Tensor, lengths: Tensor) -> tuple[Tensor, Nothing]:
        """Logits after each prompt."""
        return self.table[prompts.gather(1, (lengths - 1).unsqueeze(1)).squeeze(1)], Nothing()

    def step(self, state: Nothing, tokens: Tensor) -> tuple[Tensor, Nothing]:
        """Logits after one more token."""
        return self.table[tokens], state


class Nothing:
    """A state that remembers nothing."""

    def reorder(self, index: Tensor) -> Nothing:
        """Return the state itself: there is nothing to reorder."""
        return self


class Attention:
    """One head of causal attention over embeddings with positions; its state holds keys and values."""

    cached = True

    def __init__(self, vocabulary: int, seed: int) -> None:
        self.vocabulary = vocabulary
        random = torch.Generator().manual_seed(seed)

        def draw(*shape: int) -> Tensor:
            return torch.randn(*shape, dtype=torch.float64, generator=random)

        self.E, usual = draw(vocabulary, WIDTH), draw(USUAL, WIDTH)
        self.W_q, self.W_k, self.W_v = draw(3, WIDTH, WIDTH) / WIDTH**0.5
        self.W_o = SPREADS[seed % len(SPREADS)] * draw(vocabulary, WIDTH) / WIDTH**0.5
        self.position = torch.cat([usual, draw(LONGEST - USUAL, WIDTH)])

    def __call__(self, tokens: Tensor) -> Tensor:
        """Logits (r n V) of the token after each, given those before it."""
        x = self.E[tokens] + self.position[: tokens.shape[1]]
        return self._attend(x, *self._make_keys(x), torch.ones(2 * tokens.shape[1:], dtype=torch.bool).tril())

    def start(self, prompts: Tensor, lengths: Tensor) -> tuple[Tensor, Cache]:
        """Logits after each prompt; what stands behind its end is read into the cache and overwritten by later steps."""
        logits = self(prompts)
        keys, values = self._make_keys(self.E[prompts] + self.position[: prompts.shape[1]])
        room = LONGEST - prompts.shape[1]
        keys, values = (torch.nn.functional.pad(x, (0, 0, 0, room)) for x in (keys, values))
        cache = Cache(keys, values, lengths)
        return logits[torch.arange(len(prompts)), lengths - 1], cache

    def step(self, state: Cache, tokens: Tensor) -> tuple[Tensor, Cache]:
        """Logits after one more token in each row, which is written behind the row's last."""
        x = (self.E[tokens] + self.position[state.lengths]).unsqueeze(1)
        rows = torch.arange(len(tokens))
        cache = Cache(state.keys.clone(), state.values.clone(), state.lengths + 1)
        for store, new in zip((cache.keys, cache.values), self._make_keys(x), strict=True):
            store[rows, state.lengths] = new.squeeze(1)
        mask = torch.arange(LONGEST) < cache.lengths[:, None, None]
        return self._attend(x, cache.keys, cache.values, mask).squeeze(1), cache

    def _make_keys(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return x @ self.W_k, x @ self.W_v

    def _attend(self, x: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
        scores = (x @ self.W_q @ keys.mT).masked_fill(~mask, -torch.inf)
        read: Tensor = x + 2 * torch.softmax(scores, -1) @ values
        logits: Tensor = read @ self.W_o.mT
        return logits


class Cache:
    """Keys and values (r N d) of which the first ``lengths`` of each row count."""

    def __init__(self, keys: Tensor, values: Tensor, lengths: Tensor) -> None:
        self.keys, self.values, self.lengths = keys, values, lengths

    def reorder(self, index: Tensor) -> Cache:
        """The rows that ``index`` picks."""
        return Cache(self.keys[index], self.values[index], self.lengths[index])


class Uncached(Recomputed):
    """A model whose every step reads all tokens again."""

    cached = False

    def __init__(self, model: Table | Attention) -> None:
        super().__init__(model)
        self.vocabulary, self._model = model.vocabulary, model

    def __call__(self, tokens: Tensor) -> Tensor:
        """Call the model itself."""
        return self._model(tokens)


KINDS = {
    "table": Table,
    "attention": Attention,
    "tied": lambda vocabulary, seed: Table(vocabulary, seed, tied=True),
    # Half precision takes them for tied, single precision does not.
    "near": lambda vocabulary, seed: Table(vocabulary, seed, tied=True, apart=2.0**-13),
}
"""Ways to make a model from a vocabulary and a seed."""
