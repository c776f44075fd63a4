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
    return function(masked_softmax, "s, mask")


@component("masked_softmax(memory_efficient=True)", "attention.softmax")
def softmax_filled():
    """By finfo.min."""
    return function(masked_softmax, "s, mask, memory_efficient=True")


@component("AdditiveAttention", "attention.additive_weights")
def additive():
    """One query."""
    weights = {"_w_matrix": "W[:, d_k:].T", "_u_matrix": "W[:, :d_k].T", "_v_vector": "v.unsqueeze(1)"}
    call, pick = "q[:, 0], k, mask", "out.unsqueeze(1)"
    return module(AdditiveAttention, weights, call, arguments="d_q, d_k", mask="keys", pick=pick, sizes={"b": "d_q", "n": 1})


@component("BilinearAttention", "scores.general")
def bilinear():
    """One query; its bias is 0."""
    weights, arguments = {"_weight_matrix": "W", "_bias": 0}, "d_q, d_k, normalize=False"
    return module(BilinearAttention, weights, "q[:, 0], k", arguments=arguments, pick="out.unsqueeze(1)", sizes={"n": 1})


@component("BilinearMatrixAttention", "scores.general")
def bilinear_matrix():
    """Its bias is 0."""
    return module(BilinearMatrixAttention, {"_weight_matrix": "W", "_bias": 0}, arguments="d_q, d_k")


@component("DotProductMatrixAttention", "scores.dot")
def dot():
    """Every query with every key."""
    return module(DotProductMatrixAttention, {})


@component("ScaledDotProductMatrixAttention", "scores.scaled_dot")
def scaled_dot():
    """Every query with every key."""
    return module(ScaledDotProductMatrixAttention, {})


@component("CosineMatrixAttention", "scores.cosine")
def cosine():
    """Each norm plus 10⁻¹³."""
    return module(CosineMatrixAttention, {})


@component("LayerNorm", "normalization.layer_norm")
def layer_norm():
    """With 10⁻¹³ beside the standard deviation."""
    return module(LayerNorm, {"gamma": "gamma", "beta": "beta"}, arguments="d", fixed={"eps": 1e-13})


@component("ScalarMix", "recurrent.elmo_mix")
def mix():
    """The mix of ELMo's layers."""
    weights = {"scalar_parameters.{l}": "w[l].unsqueeze(0)", "gamma": "gamma.reshape(1)"}
    return module(ScalarMix, weights, "h.unbind(-2)", arguments="L + 1")
