"""Variants of ``gpt.layer`` and ``gpt.model``."""

import math

import torch
import torch.nn.functional as F

from tests.mutants import altering, right, wrong
from tests.mutants.bert_encoder import network, parts, zero
from tests.mutants.biased_heads import biased
from tests.mutants.gpt import fused, later
from tests.mutants.transformer_layers import composed, norm, pre
from tests.mutants.transformer_layers import layer_of as layer_in_general

LAYER, MODEL = "gpt.layer", "gpt.model"
LOOKS_AHEAD = "look-ahead|later|future"
NORM = r"norm(=| is )post|normali[sz]|norm="


def seen(x, mask, ahead=0):
    """The words up to each token's own place, or some places ``ahead``."""
    shown = ~later(x.shape[-2], x) if ahead == 0 else ~later(x.shape[-2], x).triu(ahead + 1)
    return shown if mask is None else shown & mask.unsqueeze(-2)


def attend(x, W, mask, **changes):
    """Causal attention, right but for what ``changes``."""
    return biased(x, x, *W, seen(x, mask, **changes))


def before(x, A, a, N, n):
    """A layer normalised before its sublayers, of these functions."""
    return pre(pre(x, A, a), N, n)


def layer_of(make=before, attention=attend, approximate="tanh"):
    """A layer composed as ``make`` does, or with another ``attention`` or GELU."""
    return layer_in_general(
        make, parts, attention, lambda x, N: network(x, N, lambda x: F.gelu(x, approximate=approximate))
    )


layer = layer_of()
after = layer_of(composed)

gpt_sees_everything = wrong(
    LAYER, "gpt_sees_everything", "No mask but that of padding: an encoder.", cause=LOOKS_AHEAD
)(layer_of(attention=lambda x, W, mask: biased(x, x, *W, None if mask is None else mask.unsqueeze(-2))))
wrong(LAYER, "gpt_sees_the_next", "A diagonal off by one.", cause=f"{LOOKS_AHEAD}|off by one")(
    layer_of(attention=lambda x, W, mask: attend(x, W, mask, ahead=1))
)
wrong(LAYER, "padding_in_front_seen", "The mask is never used.", cause="mask|padding")(
    lambda x, *inputs: layer(x, *inputs[:17])
)
wrong(LAYER, "gpt_normed_after", "Normalised after each sum, as GPT-1 is.", cause=NORM)(after)
wrong(
    LAYER,
    "sum_of_the_normalised",
    "The normalised row added, not the row.",
    cause=r"reads? u where x|residual|straight|\bx is not|row itself|normali[sz]ed",
)(layer_of(lambda x, A, a, N, n: pre(a(x) + A(a(x)), N, n)))
wrong(LAYER, "gpt_gelu_by_erf", "GELU by the normal distribution.", cause="approximation|gelu|erf")(
    layer_of(approximate="none")
)
wrong(LAYER, "gpt_unscaled", "Scores are not scaled.", cause="√d_k|scale")(
    layer_of(
        attention=lambda x, W, mask: attend(x, (*(w * W[0].shape[-1] ** 0.5 for w in W[:2]), *W[2:]), mask)
    )
)
wrong(LAYER, "gpt_small_eps", "ε is 10⁻¹², whatever it is told.", cause="ε|eps")(
    altering(layer, {17: lambda eps: 1e-12})
)
wrong(LAYER, "gpt_no_query_bias", "The queries' bias dropped.", cause="b_q")(altering(layer, {2: zero}))
wrong(
    LAYER,
    "gpt_first_norm_twice",
    "The network reads with the attention's gain and bias.",
    cause="γ_|β_|gamma|beta",
)(layer_of(lambda x, A, a, N, n: pre(pre(x, A, a), N, a) + 0 * n(x)))
wrong(LAYER, "gpt_dropout_left_on", "A tenth of what attention gathers is dropped.", cause="random")(
    layer_of(attention=lambda x, W, mask: F.dropout(attend(x, W, mask), 0.1))
)


@wrong(LAYER, via=lambda of: layer_of(attention=of), cause=f"gradient|{LOOKS_AHEAD}")
def gradient_from_later(x, W, mask):
    """The values are right, and gradients reach later tokens."""
    wide = biased(x, x, *W)
    return attend(x, W, mask) + wide - wide.detach()


right(LAYER, "gpt_normed_after_by_name", "Normalised after each sum, by that convention.", norm="post")(after)
right(LAYER, "gpt_gelu_by_erf_by_name", "GELU by erf, by that convention.", approximation="none")(
    layer_of(approximate="none")
)
right(LAYER, "gpt_fused", "Queries, keys and values of all heads by one product, where no mask is.")(
    layer_of(attention=lambda x, W, mask: fused(x, *W) if mask is None else attend(x, W, mask))
)


@right(LAYER, via=lambda of: layer_of(attention=of))
def gpt_token_by_token(x, W, mask):
    """One token at a time over the prefix that it ends, as a decoder with a cache does."""
    rows = [
        biased(
            x[..., i : i + 1, :], x[..., : i + 1, :], *W, None if mask is None else mask[..., None, : i + 1]
        )
        for i in range(x.shape[-2])
    ]
    return torch.cat(rows, -2)


# The model ----------------------------------------------------------------------------------------------------------------


def embedded(ids, pos, E, P):
    """Tokens and positions, right."""
    return E[ids] + P[pos]


def stack(x, inputs, one=layer, order=None, mask=True):
    """The layers, right; or another layer, in another ``order``, or without the mask."""
    words = inputs[23] if mask and len(inputs) > 23 else None
    for t in range(len(inputs[4])) if order is None else order:
        x = one(x, *(W[t] for W in inputs[4:20]), inputs[22], words)
    return x


def last(x, inputs):
    """The last normalization, right."""
    return norm(x, inputs[20:22], inputs[22])


def model(*inputs, embed=embedded, last=last, **changes):
    """The model, right but for the embedding, the last normalization, or the stack."""
    return last(stack(embed(*inputs[:4]), inputs, **changes), inputs) @ inputs[2].mT


def untouched(inputs):
    """0, with every parameter of the layers in its graph."""
    return 0 * sum(W.sum() for W in inputs[4:20])


wrong(
    MODEL,
    "positions_of_the_row",
    "Positions counted in the row, whatever they are.",
    cause=r"\bpos\b|position",
)(
    lambda ids, pos, E, P, *rest: model(
        ids, torch.arange(ids.shape[-1]).clamp(max=len(P) - 1).expand(ids.shape), E, P, *rest
    )
)


@wrong(MODEL, cause=r"\bpos\b|position|\bn\b")
def positions_not_continued(ids, pos, E, P, *rest):
    """Positions begin anew in the second half, as where a cache was read and its length forgotten."""
    half = ids.shape[-1] // 2
    return model(ids, torch.cat((pos[..., :half], pos[..., : ids.shape[-1] - half]), -1), E, P, *rest)


wrong(MODEL, "positions_left_out", "No positions are added.", cause=r"\bP\b|\bpos\b|position")(
    lambda *inputs: model(*inputs, embed=lambda ids, pos, E, P: E[ids] + 0 * P[pos])
)
wrong(
    MODEL,
    "table_of_its_own",
    "The logits are made by a copy: no gradient reaches the table.",
    cause=r"gradient|\bE\b",
)(lambda *inputs: last(stack(embedded(*inputs[:4]), inputs), inputs) @ inputs[2].detach().mT)


@wrong(MODEL, cause=r"W_o|transpos|axes")
def weights_transposed(*inputs):
    """W_o as it stands in another library's file, wherever it is square."""
    W_o = inputs[10]
    return model(*inputs[:10], W_o.mT if W_o.shape[-1] == W_o.shape[-2] else W_o, *inputs[11:])


wrong(MODEL, "last_norm_forgotten", "No last normalization.", cause="γ_f|β_f|gamma_f|beta_f|normali[sz]")(
    lambda *inputs: model(*inputs, last=lambda x, inputs: x + 0 * last(x, inputs))
)
wrong(
    MODEL,
    "last_norm_twice",
    "The last normalization twice.",
    cause="γ_f|β_f|gamma_f|beta_f|normali[sz]|twice",
)(lambda *inputs: model(*inputs, last=lambda x, inputs: last(last(x, inputs), inputs)))
wrong(MODEL, "gpt_normed_after_in_all", "Normalised after each sum, in every layer.", cause=NORM)(
    lambda *inputs: model(*inputs, one=after)
)
wrong(
    MODEL, "gpt_one_layer_for_all", "The first layer's weights in every layer.", cause=r"layer|\bL\b|\bt\b"
)(lambda *inputs: model(*inputs, order=[0] * len(inputs[4])) + untouched(inputs))
wrong(MODEL, "gpt_padding_seen", "The mask is never used.", cause="mask|padding")(
    lambda *inputs: model(*inputs, mask=False)
)
wrong(
    MODEL,
    "embedding_scaled",
    "Vectors of tokens times √d_model, as the Transformer has them.",
    cause="√|d_model|scale|factor|times",
)(lambda *inputs: model(*inputs, embed=lambda ids, pos, E, P: E[ids] * math.sqrt(E.shape[-1]) + P[pos]))
wrong(
    MODEL,
    "logits_one_later",
    "The logits of each place stand at the next.",
    cause="off by one|shift|look|place|axes",
)(lambda *inputs: model(*inputs).roll(1, -2))
wrong(MODEL, "gpt_sees_everything_in_all", "No mask but that of padding, in every layer.", cause=LOOKS_AHEAD)(
    lambda *inputs: model(*inputs, one=gpt_sees_everything)
)
right(MODEL, "gpt_layer_after_layer", "A loop over the layers, and over the heads in each.")(
    lambda *inputs: model(*inputs)
)
right(
    MODEL,
    "gpt1_by_name",
    "Normalised after each sum, without a last normalization, by that convention.",
    norm="post",
)(lambda *inputs: model(*inputs, one=after, last=lambda x, inputs: x))
right(MODEL, "gpt_cached", "One token at a time in every layer.")(
    lambda *inputs: model(*inputs, one=gpt_token_by_token)
)
