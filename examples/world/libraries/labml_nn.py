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
from verify.adapt import function, module, rows

component = of("labml-nn")

# fmt: off


@component("MultiHeadAttention", "attention.multi_head")
def multi_head():
    """The sequence stands first, and its mask has the batch last."""
    heads = lambda **w: {f"{of}.linear.weight": rows(w[f"W_{of[0]}"]) for of in ("query", "key", "value")}
    weights = lambda W_o, **w: {"output.weight": W_o.T, "*bias": 0, **heads(**w)}
    call = lambda attend, x, y, mask: attend(query=x, key=y, value=y, mask=mask.permute(1, 2, 0))
    build, how = lambda h, d_model: MultiHeadAttention(h, d_model), {"mask": "always", "seq_first": True, "sizes": ONE_WIDTH}
    return module(build, weights, call, **how)


@component("LSTMCell", "recurrent.lstm_cell")
def lstm_cell():
    """Its gates are packed: input, forget, node, output; one bias."""
    names = {"hidden_lin.weight": "W_{}h", "hidden_lin.bias": "b_{}", "input_lin.weight": "W_{}x"}
    weights = lambda **w: {name: torch.cat([w[of.format(gate)] for gate in "ifgo"]) for name, of in names.items()}
    return module(lambda p, d: LSTMCell(p, d), weights)


@component("LSTM", "recurrent.lstm")
def lstm():
    """One layer, the sequence first."""
    at = "cells.0.hidden_lin.weight", "cells.0.hidden_lin.bias", "cells.0.input_lin.weight"
    weights = lambda W_h, b, W_x: dict(zip(at, (W_h, b, W_x), strict=True))
    call, pick = lambda lstm, x, h, s: lstm(x, (h.unsqueeze(0), s.unsqueeze(0))), lambda out: (out[0], out[1][1][0])
    return module(lambda p, d: LSTM(p, d, 1), weights, call, seq_first=True, pick=pick)


@component("LayerNorm", "normalization.layer_norm")
def layer_norm():
    """The variance as the mean of squares less the square of the mean."""
    return module(lambda d, eps: LayerNorm(d, eps=eps), lambda gamma, beta: {"gain": gamma, "bias": beta})


@component("FeedForward", "feedforward.relu")
def feedforward():
    """Without its dropout."""
    def weights(W_1, b_1, W_2, b_2):
        return {"layer1.weight": W_1.T, "layer1.bias": b_1, "layer2.weight": W_2.T, "layer2.bias": b_2}
    return module(lambda d, f: FeedForward(d, f), weights)


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
    """With a column of padding, which the statement has not; it sums instead of a mean."""
    loss = lambda s, y, epsilon: LabelSmoothingLoss(s.shape[-1] + 1, s.shape[-1], epsilon)(s.log_softmax(-1), y) / len(y)
    return function(loss, batch=0)


@component("RotaryPositionalEmbeddings", "examples/formulas/rope.py:rope")
def rotary():
    """Entries of the two halves are a pair; positions count from 0."""
    call = lambda turn, x: turn(x.transpose(0, 1).unsqueeze(2))[:, :, 0].transpose(0, 1)
    return module(lambda h: RotaryPositionalEmbeddings(2 * h), None, call)
