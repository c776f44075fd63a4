"""Variants of ``transformer.biased_decoder_layer``, whose inputs are y, x and 26 weights, ε and the mask of the source."""

import itertools

import torch
import torch.nn.functional as F

from tests.mutants import altering, right, wrong
from tests.mutants.bert_encoder import UNMASKED, network
from tests.mutants.biased_heads import biased, zero
from tests.mutants.transformer_decoders import causal, composed
from tests.mutants.transformer_layers import norm, pre

LAYER = "transformer.biased_decoder_layer"
LOOKS_AHEAD = "look-ahead|later|too many is seen"


def parts(inputs):
    """What follows the sequences: self-attention, cross-attention, network, each with its normalization; ε and the mask."""
    cuts = (0, 8, 10, 18, 20, 24, 26)
    weights = [inputs[start:end] for start, end in itertools.pairwise(cuts)]
    return *weights, inputs[26], inputs[27] if len(inputs) > 27 else None


def attend(y, W, ahead=0):
    """Self-attention, right, or with its diagonal so far ``ahead``."""
    return biased(y, y, *W, causal(y, ahead))


def layer_of(make=composed, own=attend, cross=lambda s, x, C, mask: biased(s, x, *C, mask), act=torch.relu):
    """A layer that ``make`` composes of both sequences and six functions, right but for what is given."""

    def layer(y, x, *inputs):
        W, first, C, second, N, third, eps, mask = parts(inputs)
        return make(
            y,
            x,
            lambda y: own(y, W),
            lambda y: norm(y, first, eps),
            lambda s, x: cross(s, x, C, mask),
            lambda s: norm(s, second, eps),
            lambda t: network(t, N, act),
            lambda t: norm(t, third, eps),
        )

    return layer


layer = layer_of()
"""A decoder layer with biases, right."""


def before(y, x, S, a, C, b, N, c):
    """A layer normalised before its sublayers, of these functions."""
    return pre(pre(pre(y, S, a), lambda s: C(s, x), b), N, c)


def of_target(s, x, C, mask):
    """Cross-attention that reads the target, where it is as long as the source."""
    return biased(s, s + 0 * x if s.shape == x.shape else x, *C, mask)


def zeroed(s, x, C, mask):
    """Cross-attention to a source that is 0 where no token sees it, and is not masked."""
    return biased(s, x if mask is None else torch.where(mask.any(-2).unsqueeze(-1), x, 0.0), *C)


def keeping(inputs, *places):
    """0, with these inputs in its graph."""
    return 0 * sum(inputs[place].sum() for place in places)


def dropped(letter):
    """The cause where a bias is not read."""
    return rf"{letter}\S* is (not added|ignored)"


# Places of the inputs: y, x; W_q, b_q … b_o from 2, gamma_1, beta_1; C_q, c_q … c_o from 12, gamma_2, beta_2; then the network.
wrong(LAYER, "asked_without_bias", "The source is asked without the queries' bias.", cause=dropped("c_q"))(
    altering(layer, {13: zero})
)
wrong(LAYER, "values_without_bias", "The target's values have no bias.", cause=dropped("b_v"))(
    altering(layer, {7: zero})
)
wrong(LAYER, "output_without_bias", "The cross-attention's output has no bias.", cause=dropped("c_o"))(
    altering(layer, {19: zero})
)


@wrong(LAYER, cause="(b_[qv].*where c_|c_[qv].*(ignored|b_[qv]))")
def biases_of_the_first_attention(y, x, *inputs):
    """The cross-attention has the self-attention's biases."""
    C = [own for pair in zip(inputs[10:18:2], inputs[1:8:2], strict=True) for own in pair]
    return layer(y, x, *inputs[:10], *C, *inputs[18:]) + keeping(inputs, 11, 13, 15, 17)


wrong(LAYER, "biased_sees_the_next", "A diagonal off by one.", cause=f"{LOOKS_AHEAD}|off by one")(
    layer_of(own=lambda y, W: attend(y, W, ahead=1))
)
wrong(LAYER, "biased_source_padding_seen", "No mask for the source.", cause=UNMASKED)(
    lambda y, x, *inputs: layer(y, x, *inputs[:27])
)
wrong(LAYER, "source_zeroed", "The source's padding set to 0, and not masked.", cause=UNMASKED)(
    layer_of(cross=zeroed)
)
wrong(
    LAYER,
    "biased_keys_of_the_decoder",
    "Cross-attention reads the target where the lengths let it.",
    cause=r"\bs\b.*where x\b|x is ignored|\b(n = m|m = n)\b",
)(layer_of(cross=of_target))
wrong(LAYER, "biased_gelu", "GELU instead of ReLU, as BART has it.", cause="activation=gelu|gelu|GELU")(
    layer_of(act=F.gelu)
)
wrong(LAYER, "biased_normed_before", "Normalised before each sublayer, as Whisper is.", cause="norm=pre")(
    layer_of(before)
)
wrong(LAYER, "biased_encoder_frozen", "No gradient reaches the encoder.", cause=r"no gradient reaches x\b")(
    layer_of(cross=lambda s, x, C, mask: biased(s, x.detach() + 0 * x, *C, mask))
)
right(LAYER, "without_key_biases", "No bias of the keys, as Whisper has it: a softmax does not see it.")(
    altering(layer, {5: zero, 15: zero})
)
right(
    LAYER,
    "whispered",
    "Normalised before each sublayer, with GELU, by these conventions.",
    norm="pre",
    activation="gelu",
)(layer_of(before, act=F.gelu))


@right(LAYER, via=lambda own: layer_of(own=own))
def biased_token_by_token(y, W):
    """One token at a time asks those written so far, and nothing has to be masked."""
    rows = [biased(y[..., i : i + 1, :], y[..., : i + 1, :], *W) for i in range(y.shape[-2])]
    return torch.cat(rows, -2)
