"""AllenNLP, as allennlp-light keeps it."""

from allennlp_light.modules.attention import AdditiveAttention, BilinearAttention
from allennlp_light.modules.layer_norm import LayerNorm
from allennlp_light.modules.matrix_attention import (
    BilinearMatrixAttention,
    CosineMatrixAttention,
    DotProductMatrixAttention,
    ScaledDotProductMatrixAttention,
)
from allennlp_light.modules.scalar_mix import ScalarMix
from allennlp_light.nn.util import masked_softmax

from examples.world.component import of
from verify.adapt import function, module

component = of("allennlp-light")

# fmt: off


@component("masked_softmax", "attention.softmax")
def softmax():
    """Scores times the mask, then weights times the mask, divided by their sum."""
    return function(masked_softmax, lambda masked, s, mask: masked(s, mask))


@component("masked_softmax(memory_efficient=True)", "attention.softmax")
def softmax_filled():
    """By finfo.min."""
    return function(masked_softmax, lambda masked, s, mask: masked(s, mask, memory_efficient=True))


@component("AdditiveAttention", "attention.additive_weights")
def additive():
    """One query."""
    weights = lambda W, v, d_k: {"_w_matrix": W[:, d_k:].T, "_u_matrix": W[:, :d_k].T, "_v_vector": v.unsqueeze(1)}
    call = lambda attend, q, k, mask: attend(q[:, 0], k, mask).unsqueeze(1)
    return module(lambda d_q, d_k: AdditiveAttention(d_q, d_k), weights, call, mask="keys", sizes={"b": "d_q", "n": 1})


@component("BilinearAttention", "scores.general")
def bilinear():
    """One query; its bias is 0."""
    build, weights = lambda d_q, d_k: BilinearAttention(d_q, d_k, normalize=False), lambda W: {"_weight_matrix": W, "_bias": 0}
    return module(build, weights, lambda attend, q, k: attend(q[:, 0], k).unsqueeze(1), sizes={"n": 1})


@component("BilinearMatrixAttention", "scores.general")
def bilinear_matrix():
    """Its bias is 0."""
    return module(lambda d_q, d_k: BilinearMatrixAttention(d_q, d_k), lambda W: {"_weight_matrix": W, "_bias": 0})


@component("DotProductMatrixAttention", "scores.dot")
def dot():
    """Every query with every key."""
    return module(DotProductMatrixAttention)


@component("ScaledDotProductMatrixAttention", "scores.scaled_dot")
def scaled_dot():
    """Every query with every key."""
    return module(ScaledDotProductMatrixAttention)


@component("CosineMatrixAttention", "scores.cosine")
def cosine():
    """Each norm plus 10⁻¹³."""
    return module(CosineMatrixAttention)


@component("LayerNorm", "normalization.layer_norm")
def layer_norm():
    """With 10⁻¹³ beside the standard deviation."""
    return module(lambda d: LayerNorm(d), fixed={"eps": 1e-13})


@component("ScalarMix", "recurrent.elmo_mix")
def mix():
    """The mix of ELMo's layers."""
    weights = lambda w, gamma: {f"scalar_parameters.{i}": w[i : i + 1] for i in range(len(w))} | {"gamma": gamma.reshape(1)}
    return module(lambda L: ScalarMix(L + 1), weights, lambda mix, h: mix(h.unbind(-2)))
