"""What a stack reads: words as vectors, with their places added."""

import math

import torch
from jaxtyping import Bool, Float, Integer
from torch import Generator, Tensor, nn

from impl import _refuse
from impl.embedding import token
from impl.positional import learned, sinusoidal
from impl.transformer.config import TransformerConfig

__all__ = ["Embeddings"]


class Embeddings(nn.Module):
    """√d_model · ``embedding.token`` + ``positional.sinusoidal`` or ``positional.learned``, then dropout.

    Where ``E`` is given, it is the table of words, shared with whom it was taken from. Source: Vaswani et al. 2017, sections
    3.4, 3.5 and 5.4.
    """

    def __init__(
        self, words: int, config: TransformerConfig, E: Float[nn.Parameter, "V d_model"] | None = None
    ) -> None:
        super().__init__()
        d = config.d_model
        self.config, self.scale = config, math.sqrt(d) if config.scaled else 1.0
        self.E = nn.Parameter(torch.empty(words, d)) if E is None else E
        self.W_PE = nn.Parameter(torch.empty(config.max_length, d)) if config.positions == "learned" else None
        self.dropout = nn.Dropout(config.dropout)

    def reset_parameters(self, generator: Generator | None = None) -> None:
        """Normal of variance 1/d_model: 1 once scaled; and logits of variance 1, where the table is also the last matrix."""
        for table in (self.E,) if self.W_PE is None else (self.E, self.W_PE):
            nn.init.normal_(table, std=1 / math.sqrt(self.config.d_model), generator=generator)

    def positions(self, n: int) -> Float[Tensor, "{n} d_model"]:
        """The vectors of the first n positions. ValueError beyond max_length."""
        if n > self.config.max_length:
            raise ValueError(
                f"transformer: expected at most max_length {self.config.max_length} tokens; got {n}"
            )
        if self.W_PE is None:
            return sinusoidal(n, self.config.d_model, dtype=self.E.dtype, device=self.E.device)
        return learned(torch.arange(n, device=self.E.device), self.W_PE)

    def forward(
        self,
        ids: Integer[Tensor, "... n"],
        mask: Bool[Tensor, "... n"] | None = None,
        positions: Float[Tensor, "... n d_model"] | None = None,
    ) -> Float[Tensor, "... n d_model"]:
        """The vector of each token; ``positions`` are those of the first n places unless given. Ids where the mask is False are
        never read: any number may stand there.

        Raises what ``embedding.token`` raises; ValueError for a mask of another shape and beyond max_length, TypeError for a mask
        that is not boolean.
        """
        if mask is not None:
            if mask.dtype != torch.bool:
                raise _refuse.dtypes("transformer", "a boolean mask, True = a real token", mask=mask)
            if mask.shape != ids.shape:
                raise _refuse.shapes(
                    "transformer", "ids (... n) and a mask of the same shape", ids=ids, mask=mask
                )
            ids = ids.masked_fill(~mask, 0)
        positions = self.positions(ids.shape[-1]) if positions is None else positions
        x: Tensor = self.dropout(self.at(ids, positions))
        return x

    def at(
        self, ids: Integer[Tensor, "... n"], positions: Float[Tensor, "... n d_model"]
    ) -> Float[Tensor, "... n d_model"]:
        """The vectors of tokens at these positions, before dropout."""
        return torch.add(positions, token(ids, self.E), alpha=self.scale)
