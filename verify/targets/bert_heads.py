"""The heads of transformers' BERT models and the losses that they compute, on rows that are given to them: their encoder is
replaced by what hands these rows on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from verify.adapt import Adapter, State, module
from verify.targets.objectives import by_member

Adapted = Callable[..., Any]


def classifier(W: Tensor, b: Tensor) -> State:
    """The weights of a model's last layer."""
    return {"classifier.weight": W.T, "classifier.bias": b}


class GivenEncoder(nn.Module):
    """Stand-in for an encoder: returns the rows of all tokens that it is given, also as the pooler's output."""

    def forward(self, rows: Any, **others: Any) -> Any:
        """The rows under the names that the heads ask for."""
        from transformers.modeling_outputs import BaseModelOutputWithPoolingAndCrossAttentions as Output

        hidden, pooled = rows if isinstance(rows, tuple) else (rows, rows)
        return Output(last_hidden_state=hidden, pooler_output=pooled)


class AsGiven(nn.Module):
    """Stand-in for a head: returns the logits that it is given."""

    def forward(self, *logits: Tensor) -> Any:
        """The logits."""
        return logits if len(logits) > 1 else logits[0]


def _model(name: str, d: int = 1, K: int = 2, V: int = 1, **more: Any) -> Any:
    """A BERT model of transformers without its encoder."""
    import transformers

    config = transformers.BertConfig(
        hidden_size=d,
        vocab_size=V,
        num_hidden_layers=0,
        num_attention_heads=1,
        intermediate_size=1,
        max_position_embeddings=1,
        **{"num_labels": K, **more},
    )
    made = getattr(transformers, name)(config)
    made.bert = GivenEncoder()
    return made


# Heads --------------------------------------------------------------------------------------------------------------------


def linear() -> Adapter:
    """``nn.Linear``."""
    return module(lambda d, K: nn.Linear(d, K), lambda W, b: {"weight": W.T, "bias": b}, batch=None)


def sequence_classification() -> Adapter:
    """What ``BertForSequenceClassification`` makes of the pooler's row."""

    def build(d: int, K: int) -> nn.Module:
        return _model("BertForSequenceClassification", d, K)  # type: ignore[no-any-return]

    return module(build, classifier, lambda model, u: model(u).logits)


def next_sentence_prediction() -> Adapter:
    """What ``BertForNextSentencePrediction`` makes of the pooler's row, and its softmax."""

    def build(d: int) -> nn.Module:
        return _model("BertForNextSentencePrediction", d).cls  # type: ignore[no-any-return]

    def weights(W: Tensor, b: Tensor) -> State:
        return {"seq_relationship.weight": W.T, "seq_relationship.bias": b}

    return module(build, weights, pick=lambda logits: (torch.softmax(logits, -1), logits))


def token_classification() -> Adapter:
    """What ``BertForTokenClassification`` makes of the rows."""

    def build(d: int, K: int) -> nn.Module:
        return _model("BertForTokenClassification", d, K)  # type: ignore[no-any-return]

    return module(build, classifier, lambda model, x: model(x).logits)


def question_answering() -> Adapter:
    """What ``BertForQuestionAnswering`` makes of the rows, with biases 0; the probabilities beside it."""

    def build(d: int) -> nn.Module:
        return _model("BertForQuestionAnswering", d)  # type: ignore[no-any-return]

    def weights(w_s: Tensor, w_e: Tensor) -> State:
        return {"qa_outputs.weight": torch.stack((w_s, w_e)), "qa_outputs.bias": 0}

    def call(model: nn.Module, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        found = model(x)
        s, t = found.start_logits, found.end_logits
        return s, t, (torch.softmax(s, -1).unsqueeze(-1) * torch.softmax(t, -1).unsqueeze(-2)).triu()

    return module(build, weights, call)


def masked_words(hidden_act: str) -> Adapter:
    """The head of ``BertForMaskedLM``."""

    def build(d: int, V: int, eps: float) -> nn.Module:
        model = _model("BertForMaskedLM", d, V=V, layer_norm_eps=eps, hidden_act=hidden_act)
        return model.cls.predictions  # type: ignore[no-any-return]

    def weights(W: Tensor, b: Tensor, gamma: Tensor, beta: Tensor, E: Tensor, b_V: Tensor) -> State:
        dense = {"transform.dense.weight": W.T, "transform.dense.bias": b}
        norm = {"transform.LayerNorm.weight": gamma, "transform.LayerNorm.bias": beta}
        return {**dense, **norm, "decoder.weight": E, "bias": b_V}

    return module(build, weights)


# Losses -------------------------------------------------------------------------------------------------------------------


def masked_words_loss() -> Adapted:
    """The loss that ``BertForMaskedLM`` computes from its logits, of each member."""
    model = _model("BertForMaskedLM")
    model.cls = AsGiven()

    def one(s: Tensor, labels: Tensor) -> Tensor:
        model.config.vocab_size = s.shape[-1]
        return model(s[None], labels=labels[None]).loss  # type: ignore[no-any-return]

    return lambda s, labels: by_member(one, s, labels)


def next_sentence_loss() -> Adapted:
    """The loss that ``BertForNextSentencePrediction`` computes from its logits, of each member."""
    model = _model("BertForNextSentencePrediction")
    model.cls = AsGiven()
    return lambda z, y: by_member(lambda a, b: model(a, labels=b).loss, z, y)


def pretraining_loss() -> Adapted:
    """The loss that ``BertForPreTraining`` computes from its logits, of each member."""
    model = _model("BertForPreTraining")
    model.cls = AsGiven()

    def one(s: Tensor, labels: Tensor, z: Tensor, y: Tensor) -> Tensor:
        model.config.vocab_size = s.shape[-1]
        return model((s[None], z), labels=labels[None], next_sentence_label=y).loss  # type: ignore[no-any-return]

    return lambda s, labels, z, y: by_member(one, s, labels, z, y)
