"""Sequence to sequence: an encoder, and a decoder that reads it through a fixed-length vector or through attention.

The encoder is a bidirectional LSTM (``recurrent.lstm_bidirectional``); the m states of a source are its annotations h. The
three decoders are one recurrence of d units and differ in the context c that a step may use: ``"none"`` has the encoder's two
final states, the same at every step; ``"bahdanau"`` aligns the state before the step (``attention.bahdanau_step``), ``"luong"``
the state after it (``attention.luong_step``). Letters are those statements': b sources of up to m words, T words of a target of
vocabulary V, embeddings of p entries, states and annotations of d, a units in the additive alignment; α is the alignment.

With attention a word is found in seven steps, as Alammar 2018 ("Visualizing A Neural Machine Translation Model") counts
them: (1) the decoder takes the begin word's embedding and an initial state; (2) it makes a new state; (3) state and annotations
give a context; (4) state and context are joined; (5) the pair passes a feed-forward network trained with the rest; (6) its
output says the word; (7) the next step begins from that word. Luong's decoder does just that. Bahdanau's takes the context
before step 2, so that the new state holds both, and says the word from the state alone.

A source in a batch gets what it gets alone: nothing behind its length is read, whatever ids stand there.
"""

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple, Unpack

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Integer
from torch import Generator, Tensor, nn

from impl import _refuse
from impl._arguments import check_arguments
from impl._config import check_fields, expect
from impl._placement import Drawing, Placement
from impl.attention.steps import context
from impl.embedding import token
from impl.recurrent import lstm_bidirectional, stacked
from impl.scores import additive_of_halves, dot

__all__ = ["Config", "Encoded", "Encoder", "Decoder", "Bottleneck", "Bahdanau", "Luong", "Seq2Seq"]

Attention = Literal["none", "bahdanau", "luong"]


@dataclass(frozen=True)
class Config:
    """Sizes, and what the decoder attends with. ``begin`` and ``end`` are target words: before the first, after the last."""

    source_vocabulary: int
    target_vocabulary: int
    begin: int
    end: int
    attention: Attention = "bahdanau"
    embedding: int = 64
    state: int = 128
    alignment: int = 64

    def __post_init__(self) -> None:
        check_fields(self, "source_vocabulary", "target_vocabulary", "embedding", "state", "alignment")
        expect(self, self.state % 2 == 0, "an even state, half each way", "state")
        for name in ("begin", "end"):
            inside = 0 <= getattr(self, name) < self.target_vocabulary
            expect(self, inside, f"{name} in 0..{self.target_vocabulary - 1}", name)


class Encoded(NamedTuple):
    """What a decoder may know of its sources: the annotations (0 beyond a source's end), which of them exist, and the final
    states of both directions, [forward at the last word ; backward at the first].
    """

    h: Float[Tensor, "b m d"]
    mask: Bool[Tensor, "b m"]
    final: Float[Tensor, "b d"]


class Encoder(nn.Module):
    """A bidirectional LSTM over embedded words, d/2 units each way."""

    def __init__(self, config: Config, **drawing: Unpack[Drawing]) -> None:
        super().__init__()
        p, half = config.embedding, config.state // 2
        self.E = _table(config.source_vocabulary, p, **drawing)
        self.W_x = _matrix(2, 4 * half, p, **drawing)
        self.W_h = _matrix(2, 4 * half, half, **drawing)
        # A forget gate that begins open (second of torch's four blocks): Jozefowicz, Zaremba & Sutskever 2015.
        begins = torch.tensor([0.0, 1.0, 0.0, 0.0]).repeat_interleave(half).repeat(2, 1)
        self.b = nn.Parameter(begins.to(self.E))

    def forward(self, source: Integer[Tensor, "b m"], lengths: Integer[Tensor, " b"]) -> Encoded:
        """The annotations of sources (b m), of which the first ``lengths`` words count.

        ValueError for lengths outside 1..m, IndexError for a word that is not in the vocabulary.
        """
        if source.dim() != 2 or lengths.shape != source.shape[:1]:
            raise _refuse.shapes("seq2seq", "source (b m), lengths (b)", source=source, lengths=lengths)
        mask = torch.arange(source.shape[1], device=source.device) < lengths.unsqueeze(-1)
        x = token(source.masked_fill(~mask, 0), self.E)
        half = self.W_h.shape[-1]
        zero = x.new_zeros(2, half)
        h = lstm_bidirectional(x, zero, zero, self.W_x, self.W_h, self.b, lengths=lengths)
        last = (lengths - 1)[:, None, None].expand(-1, 1, half)
        return Encoded(h, mask, torch.cat((h[..., :half].gather(1, last).squeeze(1), h[:, 0, half:]), -1))


class Decoder(nn.Module):
    """What the three decoders share: the words' embeddings, the first state s_0 = tanh(W_0 final), and logits W_o f of a
    step's features f. A subclass says how states follow one another.
    """

    def __init__(self, config: Config, **drawing: Unpack[Drawing]) -> None:
        super().__init__()
        V, d, p = config.target_vocabulary, config.state, config.embedding
        self.E = _table(V, p, **drawing)
        self.W_0 = _matrix(d, d, **drawing)
        self.W_s = _orthogonal(d, **drawing)
        self.W_y = _matrix(d, p, **drawing)
        self.W_o = _matrix(V, d, **drawing)

    def start(self, encoded: Encoded) -> Float[Tensor, "b d"]:
        """The state before the first word."""
        return torch.tanh(F.linear(encoded.final, self.W_0))

    def prepare(self, encoded: Encoded) -> Tensor:
        """What all steps use of the encoder and none changes: computed once."""
        raise NotImplementedError

    def advance(
        self, encoded: Encoded, prepared: Tensor, s: Float[Tensor, "b d"], y: Float[Tensor, "b T p"]
    ) -> tuple[Float[Tensor, "b T d"], Float[Tensor, "b T d"], Float[Tensor, "b T m"] | None]:
        """T steps from the state s, given the embedding of the word before each: states, features and alignments."""
        raise NotImplementedError

    def forward(
        self, encoded: Encoded, previous: Integer[Tensor, "b T"]
    ) -> tuple[Float[Tensor, "b T V"], Float[Tensor, "b T m"] | None]:
        """Teacher forcing: logits of T words, of which ``previous`` names the one before each, and the alignments.

        ValueError unless ``previous`` has a row for each source, of at least one word.
        """
        if previous.dim() != 2 or len(previous) != len(encoded.h) or not previous.shape[1]:
            raise _refuse.shapes(
                "seq2seq",
                "previous (b T), T >= 1, annotations (b m d)",
                previous=previous,
                annotations=encoded.h,
            )
        y = token(previous, self.E)
        _, features, alpha = self.advance(encoded, self.prepare(encoded), self.start(encoded), y)
        return F.linear(features, self.W_o), alpha


class Bottleneck(Decoder):
    """No attention: s' = tanh(W_s s + W_y y + W_c c) with c the encoder's final states. All that a step knows of the source
    has d numbers, however long the source is (Cho et al. 2014, "Learning Phrase Representations using RNN Encoder–Decoder").
    """

    def __init__(self, config: Config, **drawing: Unpack[Drawing]) -> None:
        super().__init__(config, **drawing)
        self.W_c = _matrix(config.state, config.state, **drawing)

    def prepare(self, encoded: Encoded) -> Float[Tensor, "b d"]:
        """The context c."""
        return encoded.final

    def advance(
        self, encoded: Encoded, prepared: Tensor, s: Float[Tensor, "b d"], y: Float[Tensor, "b T p"]
    ) -> tuple[Float[Tensor, "b T d"], Float[Tensor, "b T d"], None]:
        """The states are the features. No step waits for a context, so the fused kernel runs them all."""
        context = prepared.unsqueeze(1).expand(-1, y.shape[1], -1)
        states = _run(torch.cat((y, context), -1), s, torch.cat((self.W_y, self.W_c), -1), self.W_s)
        return states, states, None


class Bahdanau(Decoder):
    """The step of ``attention.bahdanau_step``; the state, which holds the context, is the feature."""

    def __init__(self, config: Config, **drawing: Unpack[Drawing]) -> None:
        super().__init__(config, **drawing)
        d, a = config.state, config.alignment
        self.W = _matrix(a, 2 * d, **drawing)
        self.v = nn.Parameter(_matrix(1, a, **drawing).detach().squeeze(0))
        self.W_c = _matrix(d, d, **drawing)

    def prepare(self, encoded: Encoded) -> Float[Tensor, "b m a"]:
        """The half of the alignment's hidden layer that depends on the annotations."""
        return F.linear(encoded.h, self.W[:, self.W.shape[1] // 2 :])

    def advance(
        self, encoded: Encoded, prepared: Tensor, s: Float[Tensor, "b d"], y: Float[Tensor, "b T p"]
    ) -> tuple[Float[Tensor, "b T d"], Float[Tensor, "b T d"], Float[Tensor, "b T m"]]:
        """Step by step: a state waits for its context, and that for the state before."""
        driven, W_q = F.linear(y, self.W_y), self.W[:, : self.W.shape[1] // 2]
        states, alignments = [], []
        for t in range(y.shape[1]):
            scores = additive_of_halves(F.linear(s, W_q).unsqueeze(1), prepared, self.v)
            c, alpha = context(scores, encoded.h, encoded.mask)
            s = torch.tanh(F.linear(s, self.W_s) + driven[:, t] + F.linear(c.squeeze(1), self.W_c))
            states.append(s)
            alignments.append(alpha)
        features = torch.stack(states, 1)
        return features, features, torch.cat(alignments, 1)


class Luong(Decoder):
    """The step of ``attention.luong_step``; its h̃ is the feature."""

    def __init__(self, config: Config, **drawing: Unpack[Drawing]) -> None:
        super().__init__(config, **drawing)
        self.W_c = _matrix(config.state, 2 * config.state, **drawing)

    def prepare(self, encoded: Encoded) -> Float[Tensor, "b m d"]:
        """The annotations as they are."""
        return encoded.h

    def advance(
        self, encoded: Encoded, prepared: Tensor, s: Float[Tensor, "b d"], y: Float[Tensor, "b T p"]
    ) -> tuple[Float[Tensor, "b T d"], Float[Tensor, "b T d"], Float[Tensor, "b T m"]]:
        """No state waits for a context: the fused kernel runs them all, then all attend at once."""
        states = _run(y, s, self.W_y, self.W_s)
        c, alpha = context(dot(states, prepared), prepared, encoded.mask)
        return states, torch.tanh(F.linear(torch.cat((c, states), -1), self.W_c)), alpha


DECODERS: dict[str, type[Decoder]] = {"none": Bottleneck, "bahdanau": Bahdanau, "luong": Luong}


class Seq2Seq(nn.Module):
    """An encoder and the decoder that ``config.attention`` names. Parameters are drawn from ``generator``, if one is given."""

    def __init__(self, config: Config, **drawing: Unpack[Drawing]) -> None:
        super().__init__()
        self.config = config
        self.encoder = Encoder(config, **drawing)
        self.decoder = DECODERS[config.attention](config, **drawing)

    def forward(
        self, source: Integer[Tensor, "b m"], lengths: Integer[Tensor, " b"], previous: Integer[Tensor, "b T"]
    ) -> tuple[Float[Tensor, "b T V"], Float[Tensor, "b T m"] | None]:
        """Teacher forcing: ``previous`` holds ``begin`` and then the target's words; logits of the word after each, and the
        alignments (None without attention). Raises what ``Encoder`` and ``Decoder`` raise.
        """
        logits, alpha = self.decoder(self.encoder(source, lengths), previous)
        return logits, alpha

    @torch.no_grad()
    def greedy(
        self, source: Integer[Tensor, "b m"], lengths: Integer[Tensor, " b"], max_length: int
    ) -> tuple[Integer[Tensor, "b T"], Float[Tensor, "b T m"] | None]:
        """The likeliest word at each step, until every row has said ``end`` or has ``max_length`` words: words and alignments.

        From its first ``end`` on a row holds ``end``, and its alignments after that are 0. Of equally likely words the
        first in the vocabulary is taken. Raises what ``Encoder`` raises, and ValueError for max_length below 1.
        """
        if max_length < 1:
            raise ValueError(f"seq2seq: expected max_length >= 1; got {max_length}")
        decoder, end = self.decoder, self.config.end
        encoded = self.encoder(source, lengths)
        prepared, s = decoder.prepare(encoded), decoder.start(encoded)
        word = source.new_full((source.shape[0], 1), self.config.begin)
        done = torch.zeros_like(word, dtype=torch.bool)
        words, alignments = [], []
        for _ in range(max_length):
            states, features, alpha = decoder.advance(encoded, prepared, s, token(word, decoder.E))
            s = states.squeeze(1)
            word = F.linear(features, decoder.W_o).argmax(-1).to(word.dtype).masked_fill(done, end)
            words.append(word)
            if alpha is not None:
                alignments.append(alpha.masked_fill(done.unsqueeze(-1), 0.0))
            done = done | (word == end)
            if done.all():
                break
        return torch.cat(words, 1), torch.cat(alignments, 1) if alignments else None


def _run(
    x: Float[Tensor, "b T c"], s: Float[Tensor, "b d"], W_x: Float[Tensor, "d c"], W_s: Float[Tensor, "d d"]
) -> Float[Tensor, "b T d"]:
    """The states tanh(W_s s + W_x x[t]), one after the other, by the fused kernel."""
    states, _ = stacked(x, s.unsqueeze(1), W_x, W_s.unsqueeze(0), W_s.new_empty(0, *W_s.shape))
    return states


def _matrix(*shape: int, generator: Generator | None = None, **placement: Unpack[Placement]) -> nn.Parameter:
    """Uniform within 1/√columns, as nn.Linear begins."""
    limit = 1 / math.sqrt(shape[-1])
    return nn.Parameter(torch.empty(*shape, **placement).uniform_(-limit, limit, generator=generator))


def _orthogonal(d: int, generator: Generator | None = None, **placement: Unpack[Placement]) -> nn.Parameter:
    """Orthogonal; found in the default dtype, since torch finds none in 16 bits."""
    drawn = nn.init.orthogonal_(torch.empty(d, d, device=placement.get("device")), generator=generator)
    return nn.Parameter(drawn.to(placement.get("dtype")))


def _table(
    words: int, p: int, generator: Generator | None = None, **placement: Unpack[Placement]
) -> nn.Parameter:
    """A row of unit normal entries for each word, as nn.Embedding begins."""
    return nn.Parameter(torch.empty(words, p, **placement).normal_(generator=generator))


check_arguments(__name__)
