"""A GPT as a module: from the ids of tokens to the logits of the tokens that come next.

Source: Radford et al. 2018, "Improving Language Understanding by Generative Pre-Training", section 3.1 (norm="post"); Radford et
al. 2019, "Language Models are Unsupervised Multitask Learners", section 2.3 (norm="pre").
"""

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Unpack, cast

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Integer
from torch import Generator, Tensor, nn

from impl import _refuse
from impl._labels import IGNORED
from impl._placement import Placement
from impl._transforms import readable
from impl.attention import MultiHeadAttention, causal
from impl.attention.projections import beside
from impl.embedding import rows
from impl.gpt.config import GPTConfig
from impl.objectives import linear_cross_entropy
from impl.positional import sinusoidal
from impl.transformer import Cache, CachedModel
from impl.transformer.generation import CausalModel, pack
from impl.transformer.layers import FeedForward, Residual

__all__ = ["CachedGPT", "GPT", "GPTLayer"]


class GPTLayer(nn.Module):
    """Each token attends to itself and to those before it, then passes the feed-forward network."""

    def __init__(self, config: GPTConfig, **placement: Unpack[Placement]) -> None:
        super().__init__()
        d, norm = config.d_model, (config.d_model, config.eps, config.dropout, config.norm)
        self.attention = MultiHeadAttention(d, config.heads, dropout=config.attention_dropout, **placement)
        self.feed_forward = FeedForward(d, config.width, config.activation, **placement)
        self.residual_attention = Residual(*norm, **placement)
        self.residual_feed_forward = Residual(*norm, **placement)

    def forward(self, x: Float[Tensor, "... n d_model"]) -> Float[Tensor, "... n d_model"]:
        """The tokens after the layer."""
        x = self.residual_attention(x, lambda x: self.attention(x, causal=True))
        y: Tensor = self.residual_feed_forward(x, self.feed_forward)
        return y

    def step(
        self, x: Float[Tensor, "g n d_model"], cache: Cache, layer: int, mask: Bool[Tensor, "g n m"] | None
    ) -> Float[Tensor, "g n d_model"]:
        """As a call, for the n tokens that come next: keys and values of those before them are in the cache, where this layer has
        the number ``layer``. No mask: each sees all before it and itself.
        """

        def attend(x: Tensor) -> Tensor:
            q, k, v = self.attention.project(x)
            k, v = cache.append(layer, k, v)
            if mask is None:
                return self.attention.out(beside(causal(q, k, v)))  # type: ignore[no-any-return]
            return self.attention.attend(q, k, v, mask)

        x = self.residual_attention(x, attend)
        y: Tensor = self.residual_feed_forward(x, self.feed_forward)
        return y


class GPT(CausalModel):
    """Words and positions as vectors, ``layers`` layers, a last LayerNorm where ``norm`` is "pre", and logits by the table of
    words once more. Parameters are drawn from ``generator``, if one is given.

    A mask has the shape of the ids, and **True means "a real token"**. Where it is False stands padding: in front, behind or
    between, it is never read, whatever id it is, and what comes out there is 0. Positions count real tokens unless given.
    """

    formula = "gpt.model"

    def __init__(
        self, config: GPTConfig, *, generator: Generator | None = None, **placement: Unpack[Placement]
    ) -> None:
        super().__init__()
        self.config, d = config, config.d_model
        self.E = nn.Parameter(torch.empty(config.vocabulary, d, **placement))
        learned = config.positions == "learned"
        self.P = nn.Parameter(torch.empty(config.max_length, d, **placement)) if learned else None
        self.dropout = nn.Dropout(config.embedding_dropout)
        self.layers = nn.ModuleList(GPTLayer(config, **placement) for _ in range(config.layers))
        pre = config.norm == "pre"
        self.norm = nn.LayerNorm(d, config.eps, **placement) if pre else nn.Identity()
        self.reset_parameters(generator)

    def reset_parameters(self, generator: Generator | None = None) -> None:
        """Draw all weights anew, of a normal distribution; biases become 0, gains 1."""
        for name, parameter in self.named_parameters():
            ends = self.config.norm == "pre" and name.endswith(("out.weight", "contract.weight"))
            if parameter.dim() > 1:
                std = self.config.std / (math.sqrt(2 * self.config.layers) if ends else 1.0)
                nn.init.normal_(parameter, std=std, generator=generator)
            else:
                nn.init.constant_(parameter, float("norm" in name and name.endswith("weight")))

    def forward(
        self,
        ids: Integer[Tensor, "... n"],
        mask: Bool[Tensor, "... n"] | None = None,
        positions: Integer[Tensor, "... n"] | None = None,
    ) -> Float[Tensor, "... n V"]:
        """Logits: at place i those of the token after ids[i], given ids[0] … ids[i].

        IndexError for an id or a position that has no row, ValueError for shapes that do not fit and for more than
        ``config.max_length`` tokens, TypeError for ids that are not integers and a mask that is not boolean.
        """
        return F.linear(self.hidden(ids, mask, positions), self.E)

    def hidden(
        self,
        ids: Integer[Tensor, "... n"],
        mask: Bool[Tensor, "... n"] | None = None,
        positions: Integer[Tensor, "... n"] | None = None,
    ) -> Float[Tensor, "... n d_model"]:
        """What is compared with every word: the last hidden states. Errors are those of a call."""
        self._check(ids, mask, positions)
        if mask is None:
            return self._run(ids, positions)
        order, ids, positions = pack(mask, ids, positions)
        x = self._run(ids, positions)
        back = order.argsort(-1).unsqueeze(-1).expand(x.shape)
        return torch.where(mask.unsqueeze(-1), x.gather(-2, back), 0.0)

    def loss(
        self, ids: Integer[Tensor, "... n"], mask: Bool[Tensor, "... n"] | None = None
    ) -> Float[Tensor, ""]:
        """The mean of −log p of each real token given those before it in its row, all rows together, in nats.

        The shift by one is made here: the logits at place i are compared with the token at place i + 1. Ids are given as they
        are; nothing is asked of the first token of a row, and nothing compared after its last. The logits are never all held at
        once. ValueError where no row has two tokens (of a mask: where looking at it is free, on the CPU); else errors are those
        of a call.
        """
        self._check(ids, mask, None)
        read = ids if mask is None else ids.masked_fill(~mask, 0)
        _refuse.check_range("gpt.model", "ids", read, self.config.vocabulary)  # no id may look like IGNORED
        if mask is None:
            asked = ids
        else:
            _, ids, _ = pack(mask, ids, None)
            real = torch.arange(ids.shape[-1], device=ids.device) < mask.sum(-1, keepdim=True)
            asked = ids.masked_fill(~real, IGNORED)
        asked = asked[..., 1:].reshape(-1)
        if not asked.numel():
            raise _refuse.shapes("gpt.model", "rows of at least two tokens for a loss", ids=ids)
        if mask is not None and readable(mask) and not (mask.sum(-1) > 1).any():
            raise ValueError(
                "gpt.model: expected rows of at least two tokens for a loss; got a mask with one at most in each"
            )
        x = self._run(ids[..., :-1], None)
        return linear_cross_entropy(x.reshape(-1, x.shape[-1]), self.E, asked)

    def start(self, rows: int, capacity: int | None = None) -> Cache:
        """A cache for so many rows without tokens: room for ``capacity`` in each, ``config.max_length`` unless given.

        ValueError for no room, or more than ``config.max_length``, and for a number of rows below 0.
        """
        config = self.config
        if rows < 0:
            raise ValueError(f"gpt.model: expected rows >= 0; got {rows}")
        capacity = config.max_length if capacity is None else capacity
        if not 1 <= capacity <= config.max_length:
            raise ValueError(
                f"gpt.model: expected prompts and what follows within max_length {config.max_length}; got {capacity} tokens"
            )
        none = self.E.new_empty(rows, config.heads, 0, config.d_model // config.heads)
        places = torch.arange(capacity, device=self.E.device)
        return Cache([(none, none)] * config.layers, None, self._positions(places))

    def _continue(self, ids: Tensor, cache: Cache) -> Tensor:
        n = ids.shape[1]
        x = self._embed(ids, F.embedding(cache.places(n), cache.positions))
        x = x.reshape(
            cache.sources, cache.beams * n, x.shape[-1]
        )  # what shares keys and values attends together
        mask = (
            cache.mask(n) if cache.taken else None
        )  # padding is behind: at first, it is enough to be causal
        for number, layer in enumerate(cast(Iterable[GPTLayer], self.layers)):
            x = layer.step(x, cache, number, mask)
        return x

    def _logits(self, x: Tensor) -> Tensor:
        return F.linear(self.norm(x), self.E)

    def _run(self, ids: Tensor, positions: Tensor | None) -> Tensor:
        if positions is None:
            positions = torch.arange(ids.shape[-1], device=ids.device)
        x = self._embed(ids, self._positions(positions))
        for layer in self.layers:
            x = layer(x)
        y: Tensor = self.norm(x)
        return y

    def _embed(self, ids: Tensor, positions: Tensor) -> Tensor:
        x: Tensor = self.dropout(rows("gpt.model", "E (V d_model)", ids=ids, E=self.E) + positions)
        return x

    def _positions(self, places: Tensor) -> Tensor:
        """The vectors of places, one for each."""
        config = self.config
        if self.P is not None:
            return rows("gpt.model", "P (N d_model)", positions=places, P=self.P)
        if config.positions == "none":
            return self.E.new_zeros(*places.shape, config.d_model)
        table = sinusoidal(config.max_length, config.d_model, dtype=self.E.dtype, device=self.E.device)
        return rows("gpt.model", "P (N d_model)", positions=places, P=table)

    def _check(self, ids: Tensor, mask: Tensor | None, positions: Tensor | None) -> None:
        given = {"ids": ids, "mask": mask, "positions": positions}
        found = {name: x for name, x in given.items() if x is not None}
        if ids.dim() < 1 or any(x.shape != ids.shape for x in found.values()):
            raise _refuse.shapes("gpt.model", f"{', '.join(found)} of one shape (... n)", **found)
        if mask is not None and mask.dtype != torch.bool:
            raise _refuse.dtypes("gpt.model", "a boolean mask, True = a real token", mask=mask)
        if ids.shape[-1] > self.config.max_length:
            most = self.config.max_length
            raise ValueError(f"gpt.model: expected at most {most} tokens; got {ids.shape[-1]}")

    @classmethod
    def from_pretrained(cls, folder: str | Path, *, dtype: torch.dtype | None = None) -> "GPT":
        """The model of a folder of a GPT-2 or a GPT-1 as Hugging Face writes it, in evaluation; ``dtype`` is the stored one
        unless given; of several, the narrowest that holds all.

        ValueError, in one line that names the file or the tensors, for files that cannot be read, and for tensors that are
        missing, not known, of another shape or not of floating numbers. TypeError for a dtype that is not floating.
        """
        from impl.gpt.checkpoints import fill

        config = GPTConfig.from_json(Path(folder) / "config.json")
        with torch.device("meta"):
            model = cls(config)
        return fill(model, config, Path(folder), dtype)

    def save_pretrained(self, folder: str | Path) -> None:
        """A folder that ``from_pretrained`` and transformers read. A file is replaced once it is whole. ValueError for a model
        that transformers has not: without learned positions.
        """
        from impl.gpt.checkpoints import save

        save(self, self.config, folder)


class CachedGPT(CachedModel):
    """An ``impl.decoding.StepModel`` of a GPT, which keeps keys and values: ``greedy(CachedGPT(model), prompts, …)``."""
