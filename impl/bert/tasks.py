"""BERT with a head: hidden words and the next sentence, as it is pre-trained; sequences, tokens and spans, as it is fine-tuned.

A head is built around an encoder: ``BertForTokenClassification(BertEncoder.from_pretrained(folder), labels=7)``; or both are read
from a checkpoint, ``BertForTokenClassification.from_pretrained(folder)``. Called with labels, a model gives its loss (the mean
over what has a label; −100 is none), without them its logits. TypeError for labels that are not integers, IndexError (on the
CPU) for one that is no class. Source: Devlin et al. 2019, sections 3.1, 3.2 and 4.
"""

from pathlib import Path
from typing import Any, NamedTuple, TypeVar, Unpack

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Integer
from torch import Generator, Tensor, nn

from impl import _refuse
from impl._labels import IGNORED
from impl._placement import Drawing, Placement
from impl.bert.config import BertConfig
from impl.bert.layers import draw
from impl.bert.model import BertEncoder
from impl.objectives import linear_cross_entropy
from impl.transformer.layers import ACTIVATIONS

__all__ = [
    "BertForMaskedLM",
    "BertForPreTraining",
    "BertForSequenceClassification",
    "BertForTokenClassification",
    "BertForQuestionAnswering",
    "PreTraining",
    "Span",
]


Task = TypeVar("Task", bound="_Task")


class PreTraining(NamedTuple):
    """Both tasks' logits, or both losses: ``sum(losses)`` is what BERT is trained for."""

    words: Tensor
    next: Tensor


class Span(NamedTuple):
    """Logits of where an answer starts and where it ends; −∞ at padding."""

    start: Float[Tensor, "... n"]
    end: Float[Tensor, "... n"]


class Words(nn.Module):
    """The head for hidden words: a linear layer, the encoder's activation, a LayerNorm, then products with the table of words."""

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.dense = nn.Linear(config.d_model, config.width)
        self.activation = ACTIVATIONS["gelu" if "roberta" in config.family else config.activation]
        self.norm = nn.LayerNorm(config.width, config.eps)
        self.bias = nn.Parameter(torch.empty(config.vocabulary))

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d"]:
        """What is compared with every word."""
        return self.norm(self.activation(self.dense(x)))  # type: ignore[no-any-return]


class _Task(nn.Module):
    """An encoder with a head."""

    pooled = False

    def __init__(self, encoder: BertEncoder) -> None:
        super().__init__()
        self.encoder, self.config = encoder, encoder.config
        if self.pooled and encoder.pooler is None:
            raise ValueError(f"{type(self).__name__}: expected an encoder with a pooler (pooler=True)")

    def finish(self, generator: Generator | None = None, **placement: Unpack[Placement]) -> None:
        """Put the head where the encoder is, in its dtype, or both where they are asked for, and draw the head's weights."""
        self.to(self.encoder.embeddings.E)
        if placement:
            self.to(**placement)
        self.reset_head(generator)

    def reset_head(self, generator: Generator | None = None) -> None:
        """Draw the weights of the head anew."""
        for name, part in self.named_children():
            if name != "encoder":
                draw(part, self.config.std, generator)

    @classmethod
    def from_pretrained(cls: type[Task], folder: str | Path, *, dtype: torch.dtype | None = None) -> Task:
        """Encoder and head of a checkpoint's folder, in evaluation. Raises what ``BertEncoder.from_pretrained`` raises."""
        from impl.bert.checkpoints import Checkpoint

        stored = Checkpoint(folder)
        with torch.device("meta"):
            encoder = BertEncoder(stored.config, pooler=cls.pooled)
            return stored.fill(cls(encoder, **cls._read_sizes(stored)), dtype)

    def save_pretrained(self, folder: str | Path) -> None:
        """A checkpoint's folder that ``from_pretrained`` and transformers read. A file is replaced once it is whole."""
        from impl.bert.checkpoints import save

        save(self, folder, self._settings())

    @classmethod
    def _read_sizes(cls, stored: Any) -> dict[str, int]:
        return {}

    def _settings(self) -> dict[str, Any]:
        return {}


class BertForMaskedLM(_Task):
    """Which word stands at a place."""

    def __init__(self, encoder: BertEncoder, **drawing: Unpack[Drawing]) -> None:
        super().__init__(encoder)
        self.words = Words(self.config)
        self.finish(**drawing)

    def forward(
        self,
        ids: Integer[Tensor, "... n"],
        segments: Integer[Tensor, "... n"] | None = None,
        mask: Bool[Tensor, "... n"] | None = None,
        *,
        labels: Integer[Tensor, "... n"] | None = None,
        at: Bool[Tensor, "... n"] | None = None,
        unpadded: bool | None = None,
    ) -> Tensor:
        """Logits of every word (... n V); with ``at``, only at the places where it is True (k V), in their order.

        With ``labels``, the loss: of the places that have one, some rows of logits are held at a time, and no others.
        """
        x = self.encoder(ids, segments, mask, unpadded=unpadded).last
        return _of_words(self.words, self.encoder.embeddings.E, x, labels, at)


class BertForPreTraining(_Task):
    """Both tasks of BERT: which word stands at a place, and whether the second sentence follows the first (0: it does). ALBERT's
    second task has the two sentences of a text in one order or the other.
    """

    pooled = True

    def __init__(self, encoder: BertEncoder, **drawing: Unpack[Drawing]) -> None:
        super().__init__(encoder)
        if self.config.family not in ("bert", "albert"):
            raise ValueError(f"BertForPreTraining: {self.config.family} has no task of sentences")
        self.words, self.next = Words(self.config), nn.Linear(self.config.d_model, 2)
        self.dropout = nn.Dropout(_dropout(self.config) if self.config.family == "albert" else 0.0)
        self.finish(**drawing)

    def forward(
        self,
        ids: Integer[Tensor, "... n"],
        segments: Integer[Tensor, "... n"] | None = None,
        mask: Bool[Tensor, "... n"] | None = None,
        *,
        labels: Integer[Tensor, "... n"] | None = None,
        next_labels: Integer[Tensor, "..."] | None = None,
        at: Bool[Tensor, "... n"] | None = None,
        unpadded: bool | None = None,
    ) -> PreTraining:
        """Logits of words, as ``BertForMaskedLM`` gives them, and of the two relations (... 2); with both kinds of labels, both
        losses. ValueError for one kind without the other.
        """
        if (labels is None) is not (next_labels is None):
            raise ValueError("BertForPreTraining: expected labels and next_labels, or neither")
        encoded = self.encoder(ids, segments, mask, unpadded=unpadded)
        words = _of_words(self.words, self.encoder.embeddings.E, encoded.last, labels, at)
        logits = self.next(self.dropout(encoded.pooled))
        return PreTraining(words, logits if next_labels is None else _loss(logits, next_labels))


class _Classification(_Task):
    """A linear layer to the labels, on what the pooler says or on each token's vector."""

    def __init__(self, encoder: BertEncoder, labels: int, **drawing: Unpack[Drawing]) -> None:
        super().__init__(encoder)
        self.dropout = nn.Dropout(_dropout(self.config))
        self.classifier = nn.Linear(self.config.d_model, labels)
        self.finish(**drawing)

    def forward(
        self,
        ids: Integer[Tensor, "... n"],
        segments: Integer[Tensor, "... n"] | None = None,
        mask: Bool[Tensor, "... n"] | None = None,
        *,
        labels: Integer[Tensor, "..."] | None = None,
        unpadded: bool | None = None,
    ) -> Tensor:
        """Logits, or the loss."""
        encoded = self.encoder(ids, segments, mask, unpadded=unpadded)
        logits = self.classifier(self.dropout(encoded.pooled if self.pooled else encoded.last))
        return logits if labels is None else _loss(logits, labels)

    @classmethod
    def _read_sizes(cls, stored: Any) -> dict[str, int]:
        weight = stored.read("classifier.weight", cls.__name__)
        return {"labels": 2 if weight is None else len(weight)}

    def _settings(self) -> dict[str, Any]:
        names = {f"LABEL_{number}": number for number in range(self.classifier.out_features)}
        return {"id2label": {str(number): name for name, number in names.items()}, "label2id": names}


class BertForSequenceClassification(_Classification):
    """A label for a sequence or a pair: logits (... labels) of what the pooler says."""

    pooled = True


class BertForTokenClassification(_Classification):
    """A label for each token: logits (... n labels) of its vector."""


class BertForQuestionAnswering(_Task):
    """Where the answer to the first segment stands in the second: a vector for its start and one for its end, each multiplied
    with every token's.
    """

    def __init__(self, encoder: BertEncoder, **drawing: Unpack[Drawing]) -> None:
        super().__init__(encoder)
        self.span = nn.Linear(self.config.d_model, 2)
        self.finish(**drawing)

    def forward(
        self,
        ids: Integer[Tensor, "... n"],
        segments: Integer[Tensor, "... n"] | None = None,
        mask: Bool[Tensor, "... n"] | None = None,
        *,
        starts: Integer[Tensor, "..."] | None = None,
        ends: Integer[Tensor, "..."] | None = None,
        unpadded: bool | None = None,
    ) -> Span | Tensor:
        """Logits of both ends; with the places where the answers start and end, the mean of the two losses.

        ValueError for one of them without the other.
        """
        if (starts is None) is not (ends is None):
            raise ValueError("BertForQuestionAnswering: expected starts and ends, or neither")
        logits = self.span(self.encoder(ids, segments, mask, unpadded=unpadded).last)
        if mask is not None:
            logits = logits.masked_fill(~mask[..., None], -torch.inf)
        span = Span(*logits.unbind(-1))
        if starts is None or ends is None:
            return span
        return (_loss(span.start, starts) + _loss(span.end, ends)) / 2


def _of_words(head: Words, E: Tensor, x: Tensor, labels: Tensor | None, at: Tensor | None) -> Tensor:
    """Logits of words or their loss; the head works only at the places that are asked for."""
    if labels is not None:
        if at is not None:
            raise ValueError("bert: expected labels or at; got both")
        if labels.shape != x.shape[:-1]:
            raise _refuse.shapes("bert", "labels (... n), one for each token", labels=labels, x=x)
        at = labels != IGNORED
        return linear_cross_entropy(head(x[at]), E, labels[at], b=head.bias)
    return F.linear(head(x if at is None else x[at]), E, head.bias)


def _loss(logits: Tensor, labels: Tensor) -> Tensor:
    """The mean over what has a label; 0 where nothing has one."""
    if labels.shape != logits.shape[:-1]:
        raise _refuse.shapes("bert", "a label for each row of logits", labels=labels, logits=logits)
    _refuse.check_integers("bert", "integer labels", labels=labels)
    flat = labels.flatten().long()
    try:
        total = F.cross_entropy(logits.flatten(0, -2), flat, reduction="sum")
    except IndexError:
        raise _refuse.out_of_range("bert", "labels", labels, logits.shape[-1], IGNORED) from None
    return total / (flat >= 0).sum().clamp(min=1)


def _dropout(config: BertConfig) -> float:
    return config.dropout if config.classifier_dropout is None else config.classifier_dropout
