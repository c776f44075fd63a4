"""labml's annotated implementations."""

import torch
from labml_nn.lstm import LSTM, LSTMCell
from labml_nn.normalization.layer_norm import LayerNorm
from labml_nn.transformers.feed_forward import FeedForward
from labml_nn.transformers.label_smoothing_loss import LabelSmoothingLoss
from labml_nn.transformers.mha import MultiHeadAttention
from labml_nn.transformers.mlm import MLM
from labml_nn.transformers.positional_encoding import get_positional_encoding
from labml_nn.transformers.rope import RotaryPositionalEmbeddings

from examples.world.component import of
from examples.world.sizes import EVEN, ONE_WIDTH
from verify.adapt import function, module

component = of("labml-nn")

# fmt: off


@component("MultiHeadAttention", "attention.multi_head")
def multi_head():
    """The sequence stands first, and its mask has the batch last."""
    weights = {f"{name}.linear.weight": f"rows(W_{name[0]})" for name in ("query", "key", "value")}
    weights |= {"output.weight": "W_o.T", "*bias": 0}
    call, arguments = "query=x, key=y, value=y, mask=mask.permute(1, 2, 0)", "h, d_model"
    return module(MultiHeadAttention, weights, call, arguments=arguments, mask="always", seq_first=True, sizes=ONE_WIDTH)


@component("LSTMCell", "recurrent.lstm_cell")
def lstm_cell():
    """Its gates are packed: input, forget, node, output; one bias."""
    weights = {"hidden_lin.weight": "cat(W_ih, W_fh, W_gh, W_oh)", "hidden_lin.bias": "cat(b_i, b_f, b_g, b_o)"}
    return module(LSTMCell, {**weights, "input_lin.weight": "cat(W_ix, W_fx, W_gx, W_ox)"}, "x, h, s", arguments="p, d")


@component("LSTM", "recurrent.lstm")
def lstm():
    """One layer, the sequence first."""
    weights = {"cells.0.hidden_lin.weight": "W_h", "cells.0.hidden_lin.bias": "b", "cells.0.input_lin.weight": "W_x"}
    call, pick = "x, (h.unsqueeze(0), s.unsqueeze(0))", "out[0], out[1][1][0]"
    return module(LSTM, weights, call, arguments="p, d, 1", seq_first=True, pick=pick)


@component("LayerNorm", "normalization.layer_norm")
def layer_norm():
    """The variance as the mean of squares less the square of the mean."""
    return module(LayerNorm, {"gain": "gamma", "bias": "beta"}, arguments="d, eps=eps")


@component("FeedForward", "feedforward.relu")
def feedforward():
    """Without its dropout."""
    weights = {"layer1.weight": "W_1.T", "layer1.bias": "b_1", "layer2.weight": "W_2.T", "layer2.bias": "b_2"}
    return module(FeedForward, weights, "x", arguments="d, f")


@component("get_positional_encoding", "positional.sinusoidal")
def positions():
    """A table in float32, of even widths."""
    return function(lambda n, d: get_positional_encoding(d, n)[:, 0], sizes=EVEN)


@component("MLM", "masking.mlm")
def mlm():
    """It draws from the global generator, which is seeded here; what is special is another id to it meanwhile."""
    def corrupt(ids, special, mask_id, V, generator):
        torch.manual_seed(int(torch.randint(2**62, (), generator=generator)))
        x, y = MLM(padding_token=-1, mask_token=-2, no_mask_tokens=[], n_tokens=V)(ids.masked_fill(special, -1))
        return torch.where(special, ids, torch.where(x == -2, mask_id, x)), y.masked_fill(y == -1, -100)
    return corrupt


@component("LabelSmoothingLoss", "objectives.cross_entropy")
def label_smoothing():
    """With a column of padding, which the statement has not; it sums in the place of a mean."""
    loss = lambda s, y, epsilon: LabelSmoothingLoss(s.shape[-1] + 1, s.shape[-1], epsilon)(s.log_softmax(-1), y) / len(y)
    return function(loss, batch=0)


@component("RotaryPositionalEmbeddings", "examples/formulas/rope.py:rope")
def rotary():
    """Entries of the two halves are a pair; positions count from 0."""
    call, pick = "x.transpose(0, 1).unsqueeze(2)", "out[:, :, 0].transpose(0, 1)"
    return module(RotaryPositionalEmbeddings, {}, call, arguments="2 * h", pick=pick)
