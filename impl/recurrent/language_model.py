"""ELMo: what a language model that reads in both directions is trained for, and the vectors mixed from its layers.

Letters are the statements': T words of a vocabulary of V; layer j of L + 1 gives a word a vector h[j] of d entries. A float16 or
bfloat16 result is computed in float32 and rounded once.
"""

import math
from dataclasses import dataclass
from typing import Unpack

import torch
from jaxtyping import Float, Integer
from torch import Tensor, nn

from impl import _refuse
from impl._axes import Axes
from impl._config import check_fields
from impl._placement import Placement
from impl._refuse import broadcast_shapes
from impl.embedding import token
from impl.recurrent._checks import check_lengths, lead_with_lengths
from impl.recurrent._running import reverse_within
from impl.recurrent.cells import wide
from impl.recurrent.lstm import lstm

__all__ = ["BiLM", "BiLMConfig", "ElmoMix", "bilm_objective", "elmo_mix"]

_MIX = Axes("h (... L+1 d), w (L+1), gamma ()")
_LOGITS = Axes("s_f (... T V), s_b (... T V)")


def elmo_mix(
    h: Float[Tensor, "... K d"], w: Float[Tensor, "K"], gamma: Float[Tensor, ""]
) -> Float[Tensor, "... d"]:
    """γ Σ_j softmax(w)[j] h[j]: the layers of one word, weighted. Statement: ``recurrent.elmo_mix``.

    ValueError for shapes that do not fit, TypeError unless all share one floating dtype, which is also the result's.
    Source: Peters et al. 2018, "Deep Contextualized Word Representations", equation 1.
    """
    _MIX.fit("recurrent.elmo_mix", h=h, w=w, gamma=gamma)
    h, w, gamma = (each.to(wide(dtype := h.dtype)) for each in (h, w, gamma))
    return (gamma * (torch.softmax(w, -1) @ h)).to(dtype)


def bilm_objective(
    ids: Integer[Tensor, "... T"],
    s_f: Float[Tensor, "... T V"],
    s_b: Float[Tensor, "... T V"],
    *,
    lengths: Integer[Tensor, "..."] | None = None,
) -> Float[Tensor, "..."]:
    """Σ_k log p(x_k given x_<k) + log p(x_k given x_>k), to be maximised, where x_k is ids[k] and the two laws are the softmax
    of the logits s_f[k] and s_b[k]. Statement: ``recurrent.bilm_objective``.

    Leading dimensions broadcast, those of lengths too: what stands beyond a sequence's length, ids and logits, does not count.
    IndexError for an id below 0 or not below V: at once on the CPU, as torch's device-side assertion on CUDA. ValueError for
    shapes that do not fit and for lengths outside 1..T, TypeError unless ids and lengths are integers and the logits of one
    floating dtype, which is also the result's. Source: Peters et al. 2018, "Deep Contextualized Word Representations",
    section 3.1.
    """
    sizes = _LOGITS.fit("recurrent.bilm_objective", s_f=s_f, s_b=s_b)
    T, V = sizes["T"], sizes["V"]
    _refuse.check_integers("recurrent.bilm_objective", "integer ids", ids=ids)
    if ids.shape[-1:] != s_f.shape[-2:-1]:
        raise _refuse.shapes(
            "recurrent.bilm_objective", f"ids (... T), {_LOGITS.text}", ids=ids, s_f=s_f, s_b=s_b
        )
    lead = _refuse.check_lead("recurrent.bilm_objective", {"ids": ids}, s_f=s_f, s_b=s_b)
    ids, inside = ids.long(), None
    if lengths is not None:
        lead_with_lengths("recurrent.bilm_objective", lead, lengths)
        check_lengths("recurrent.bilm_objective", lengths, T)
        inside = torch.arange(T, device=ids.device) < lengths.to(ids.device)[..., None]
        ids = torch.where(inside, ids, 0)
    _refuse.check_range("recurrent.bilm_objective", "ids", ids, V)
    return (_log_likelihood(ids, s_f, inside) + _log_likelihood(ids, s_b, inside)).to(s_f.dtype)


@dataclass(frozen=True)
class BiLMConfig:
    """Sizes of a ``BiLM``: V words, vectors of ``width`` entries for a word and for the state of each LSTM, L LSTM layers in
    each direction. ValueError unless all are at least 1.
    """

    vocabulary: int
    width: int = 64
    layers: int = 2

    def __post_init__(self) -> None:
        check_fields(self, "vocabulary", "width", "layers")


class BiLM(nn.Module):
    """A language model in each direction: L layers of LSTM that read x_1 … x_(k−1), and L others that read x_T … x_(k+1). The two
    share the words' vectors E and the softmax (W_s, b_s), and nothing else.

    All LSTMs begin at 0, so the first word of a direction is predicted from b_s alone. Source: Peters et al. 2018, "Deep
    Contextualized Word Representations", section 3.1; like the formula, without its character convolutions, projections
    and residual connections.
    """

    def __init__(self, config: BiLMConfig, **placement: Unpack[Placement]) -> None:
        super().__init__()
        V, d, L = config.vocabulary, config.width, config.layers
        self.config = config
        self.E = nn.Parameter(torch.empty(V, d, **placement))
        self.W_x = nn.Parameter(torch.empty(2, L, 4 * d, d, **placement))  # forward, backward
        self.W_h = nn.Parameter(torch.empty(2, L, 4 * d, d, **placement))
        self.b = nn.Parameter(torch.empty(2, L, 4 * d, **placement))
        self.W_s = nn.Parameter(torch.empty(V, d, **placement))
        self.b_s = nn.Parameter(torch.empty(V, **placement))
        self.reset_parameters()

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Words' vectors become standard normal, all else uniform in ±1/√d: what torch's modules begin with."""
        with torch.no_grad():
            for name, parameter in self.named_parameters():
                if name == "E":
                    parameter.normal_(generator=generator)
                else:
                    bound = 1 / math.sqrt(self.config.width)
                    parameter.uniform_(-bound, bound, generator=generator)

    def states(
        self, ids: Integer[Tensor, "... T"], lengths: Integer[Tensor, "..."] | None = None
    ) -> Float[Tensor, "... T K dd"]:
        """The L + 1 layers of every word: h_0 = [x ; x], its own vector twice, and h_j = [forward ; backward] of layer j, which
        have read the word and all before it, or all after it. What ``elmo_mix`` mixes. Beyond a sequence's length they are 0.

        Raises what ``embedding.token`` and ``recurrent.lstm`` raise.
        """
        ahead, back = (self._layers(way, ids, lengths) for way in (0, 1))
        return torch.stack([torch.cat(both, -1) for both in zip(ahead, back, strict=True)], -2)

    def logits(
        self, ids: Integer[Tensor, "... T"], lengths: Integer[Tensor, "..."] | None = None
    ) -> tuple[Float[Tensor, "... T V"], Float[Tensor, "... T V"]]:
        """(s_f, s_b): the logits of each word, from the forward top layer before it and the backward top layer after it."""
        ahead, back = (self._layers(way, ids, lengths)[-1] for way in (0, 1))
        nothing = torch.zeros_like(ahead[..., :1, :])
        before = torch.cat((nothing, ahead[..., :-1, :]), -2)
        after = torch.cat((back[..., 1:, :], nothing), -2)
        return before @ self.W_s.mT + self.b_s, after @ self.W_s.mT + self.b_s

    def objective(
        self, ids: Integer[Tensor, "... T"], lengths: Integer[Tensor, "..."] | None = None
    ) -> Float[Tensor, "..."]:
        """``bilm_objective`` of each sequence: its log-likelihood read forward plus that read backward, to be maximised."""
        return bilm_objective(ids, *self.logits(ids, lengths), lengths=lengths)

    forward = objective

    def _layers(self, way: int, ids: Tensor, lengths: Tensor | None) -> list[Tensor]:
        """The words' vectors, then the states of each layer of one direction."""
        if lengths is None:
            x = token(ids, self.E)
        else:  # padding may hold anything
            lead_with_lengths("recurrent.lstm", ids.shape[:-1], lengths)
            inside = torch.arange(ids.shape[-1], device=ids.device) < lengths.to(ids.device)[..., None]
            x = torch.where(inside[..., None], token(torch.where(inside, ids, 0), self.E), 0.0)
        layers, start = [x], x.new_zeros(self.config.width)
        if way:
            x = reverse_within(x, lengths)
        for W_x, W_h, b in zip(self.W_x[way], self.W_h[way], self.b[way], strict=True):
            x, _ = lstm(x, start, start, W_x, W_h, b, lengths=lengths)
            layers.append(reverse_within(x, lengths) if way else x)
        return layers


class ElmoMix(nn.Module):
    """``elmo_mix`` with its parameters: the weights w of the layers, 0 to begin with (all alike), and γ, which begins at 1."""

    def __init__(self, layers: int, **placement: Unpack[Placement]) -> None:
        """``layers`` counts h_0 in: L + 1."""
        super().__init__()
        if layers < 1:
            raise ValueError(f"ElmoMix: expected at least 1 layer; got {layers}")
        self.w = nn.Parameter(torch.zeros(layers, **placement))
        self.gamma = nn.Parameter(torch.ones((), **placement))

    def forward(self, h: Float[Tensor, "... K d"]) -> Float[Tensor, "... d"]:
        """The mix of each word's layers."""
        return elmo_mix(h, self.w, self.gamma)


def _log_likelihood(ids: Tensor, s: Tensor, inside: Tensor | None) -> Tensor:
    """Σ_k log softmax(s[k])[ids[k]]; s is never exponentiated without its largest entry taken off first."""
    if inside is not None:
        s = torch.where(inside[..., None], s, 0.0)
    law = torch.log_softmax(s.to(wide(s.dtype)), -1)
    places = broadcast_shapes(ids.shape, law.shape[:-1])
    taken = law.expand(*places, law.shape[-1]).gather(-1, ids.expand(places)[..., None]).squeeze(-1)
    return (taken if inside is None else torch.where(inside, taken, 0.0)).sum(-1)
