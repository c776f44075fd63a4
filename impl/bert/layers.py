"""The parts of an encoder: embeddings, layers, the pooler. All but attention goes token by token, over T tokens in one row.

Source: Devlin et al. 2019, "BERT: Pre-training of Deep Bidirectional Transformers for Language Understanding", section 3; the
factorised table of Lan et al. 2020, "ALBERT", section 3.1.
"""

from typing import Unpack

import torch
import torch.nn.functional as F
from jaxtyping import Float, Integer
from torch import Generator, Tensor, nn

from impl._placement import Placement
from impl.bert.config import BertConfig
from impl.bert.unpadding import Tokens
from impl.embedding import token
from impl.transformer.layers import ACTIVATIONS

__all__ = ["BertEmbeddings", "BertLayer", "BertPooler", "draw"]


class BertEmbeddings(nn.Module):
    """LayerNorm(E[word] + S[segment] + P[position]), then dropout, and a linear layer where the tables are narrower."""

    def __init__(self, config: BertConfig, **placement: Unpack[Placement]) -> None:
        super().__init__()
        d = config.width
        self.E = nn.Parameter(torch.empty(config.vocabulary, d, **placement))
        self.P = nn.Parameter(torch.empty(config.position_rows, d, **placement))
        self.S = nn.Parameter(torch.empty(config.segments, d, **placement)) if config.segments else None
        self.norm = nn.LayerNorm(d, config.eps, **placement)
        self.dropout = nn.Dropout(config.dropout)
        widens = d != config.d_model or config.family == "albert"
        self.widen = nn.Linear(d, config.d_model, **placement) if widens else None

    def forward(
        self,
        ids: Integer[Tensor, "*T"],
        segments: Integer[Tensor, "*T"] | None,
        positions: Integer[Tensor, "*T"],
    ) -> Float[Tensor, "*T d_model"]:
        """The vector of each token. IndexError for an id, a segment or a position without a row."""
        x = token(ids, self.E) + token(positions, self.P)
        if self.S is not None:
            x = x + (self.S[0] if segments is None else token(segments, self.S))
        x = self.dropout(self.norm(x))
        return x if self.widen is None else self.widen(x)  # type: ignore[no-any-return]


class BertLayer(nn.Module):
    """Attention to one's sequence, then a feed-forward network, each with dropout, what it was given added, and a LayerNorm.

    Queries, keys and values come from one linear layer, ``qkv``: its first d_model rows make the queries, head after head, then
    come the keys and the values.
    """

    def __init__(self, config: BertConfig, **placement: Unpack[Placement]) -> None:
        super().__init__()
        d = config.d_model
        self.heads, self.attention_dropout = config.heads, config.attention_dropout
        self.qkv, self.out = nn.Linear(d, 3 * d, **placement), nn.Linear(d, d, **placement)
        self.norm_attention = nn.LayerNorm(d, config.eps, **placement)
        self.expand = nn.Linear(d, config.d_ff, **placement)
        self.contract = nn.Linear(config.d_ff, d, **placement)
        self.norm_output = nn.LayerNorm(d, config.eps, **placement)
        self.activation = ACTIVATIONS[config.activation]
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x: Float[Tensor, "T d_model"], tokens: Tokens) -> Float[Tensor, "T d_model"]:
        """The tokens after the layer."""
        z = tokens.attend(self.qkv(x), self.heads, self.attention_dropout if self.training else 0.0)
        x = self.norm_attention(x + self.dropout(self.out(z)))
        y = self.contract(self.activation(self.expand(x)))
        return self.norm_output(x + self.dropout(y))  # type: ignore[no-any-return]


class BertPooler(nn.Module):
    """tanh of a linear layer, of the first token; DistilBERT's classifier has a ReLU in its place."""

    def __init__(self, config: BertConfig, **placement: Unpack[Placement]) -> None:
        super().__init__()
        self.dense = nn.Linear(config.d_model, config.d_model, **placement)
        self.activation = F.relu if config.family == "distilbert" else torch.tanh

    def forward(self, x: Float[Tensor, "... n d_model"]) -> Float[Tensor, "... d_model"]:
        """One vector for the sequence."""
        return self.activation(self.dense(x[..., 0, :]))


def draw(module: nn.Module, std: float, generator: Generator | None = None) -> None:
    """Every weight anew: normal, cut at two standard deviations, as BERT's are; biases 0, and gains 1."""
    for name, parameter in module.named_parameters():
        if parameter.dim() > 1:
            nn.init.trunc_normal_(parameter, std=std, a=-2 * std, b=2 * std, generator=generator)
        else:
            nn.init.constant_(parameter, float("norm" in name and name.endswith("weight")))
