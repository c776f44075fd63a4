"""What is said of wrong stacks of layers, of which the bound says little: no convention, type or look-ahead that is not there."""

from __future__ import annotations

import math

import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

import impl.attention
import impl.transformer
from impl.transformer.functions import DecoderLayerWeights, EncoderLayerWeights
from tests.verify.explain.explaining import probed
from verify import check
from verify.explain.conventions import nearest
from verify.explain.digits import in_a_narrower_type
from verify.explain.probes import looks_ahead


def layered(x, weights, eps, masks):
    """An encoder whose layers have masks of their own."""
    for place, mask in zip(range(len(weights[0])), masks, strict=False):
        x = impl.transformer.encoder_layer(x, EncoderLayerWeights(*(w[place] for w in weights)), eps, mask)
    return x


def first_layer_alone(x, W_q, W_k, W_v, W_o, g_1, b_1, W_1, c_1, W_2, c_2, g_2, b_2, eps, mask=None):
    """The mask is dropped behind the first layer."""
    weights = (W_q, W_k, W_v, W_o, g_1, b_1, W_1, c_1, W_2, c_2, g_2, b_2)
    return layered(x, weights, eps, [mask, *[None] * len(W_q)])


def recomputed(x, W_q, W_k, W_v, W_o, g_1, b_1, W_1, c_1, W_2, c_2, g_2, b_2, eps, mask=None):
    """Each layer is computed again on the way back, by a kind of checkpoint that takes no other way than backward()."""
    weights = (W_q, W_k, W_v, W_o, g_1, b_1, W_1, c_1, W_2, c_2, g_2, b_2)

    def layer(x, *ws):
        return impl.transformer.encoder_layer(x, EncoderLayerWeights(*ws), eps, mask)

    for place in range(len(W_q)):
        x = checkpoint(layer, x, *(w[place] for w in weights), use_reentrant=True)
    return x


def scaled_by_width(x, W_q, W_k, W_v, W_o, g_1, b_1, W_1, c_1, W_2, c_2, g_2, b_2, eps, mask=None):
    """Scores divided by √(d_model/h) instead of √d_k."""
    other = math.sqrt(W_q.shape[-1] * W_q.shape[0] / x.shape[-1])
    z = impl.attention.multi_head(x, x, W_q * other, W_k, W_v, W_o, mask)
    s = F.layer_norm(x + z, x.shape[-1:], g_1, b_1, eps)
    return F.layer_norm(s + (s @ W_1 + c_1).relu() @ W_2 + c_2, x.shape[-1:], g_2, b_2, eps)


def unscaled(s, t, E, *rest):
    """A Transformer whose embeddings are not scaled, which is a convention."""
    *weights, eps, mask = rest
    layers = EncoderLayerWeights(*weights[:12]), DecoderLayerWeights(*weights[12:])
    return impl.transformer.model(s, t, E, *layers, eps, mask, embedding_scale="one")


def test_a_mask_that_is_dropped_is_no_look_ahead():
    """Where a softmax is saturated, entries that are read change nothing; and an encoder may read all places."""
    said = probed(looks_ahead, first_layer_alone, "transformer.encoder")
    assert said == "y depends on entries of x that it must not read (hidden or at other places)"


def test_a_checkpoint_that_needs_backward_has_its_gradients():
    """``torch.autograd.grad`` is refused by reentrant checkpoints."""
    report = check(recomputed, "transformer.encoder", max_examples=8, dtypes=["float64"])
    assert report.verdict == "conforms"
    assert any(c.kind == "gradient" and c.verdict == "conforms" for c in report.checks)


def test_a_wrong_scale_is_no_narrow_type():
    """However wide the bound of bfloat16 is there."""
    assert probed(in_a_narrower_type, scaled_by_width, "transformer.encoder_layer") == ""


def test_a_convention_is_not_taken_for_another_of_which_the_bound_says_nothing():
    """Masks filled with large numbers have bounds in which everything lies."""
    near = probed(nearest, unscaled, "transformer.model")
    assert near.changes == {"embedding_scale": "one"}
    assert not near.vacuous
