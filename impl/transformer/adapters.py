"""Parameters of ``nn.Transformer`` as ours, and ours as its or as the statement's; as state dicts (``module.state_dict()``).

``from_torch`` and ``to_torch`` take the state of a model, of a stack (``nn.TransformerEncoder``, ``Encoder``) or of a layer.
Numbers are taken over as they are: going there and back changes none.

``nn.Transformer`` has no tables of words: theirs is loaded into a ``Transformer`` with ``strict=False``, and what ours has beside
the stacks is left out on the way back. It has a LayerNorm behind each stack whatever ``norm_first`` says: ``final_norm=True``.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping

import torch
from torch import Tensor

from impl.attention import layouts

__all__ = ["from_torch", "to_torch", "to_model"]

State = dict[str, Tensor]

LAYER = {
    "linear1": "feed_forward.expand",
    "linear2": "feed_forward.contract",
    "self_attn": "self_attention",
    "norm1": "residual_self.norm",
    "norm": "norm",  # behind a stack
}
ENCODER = LAYER | {"norm2": "residual_feed_forward.norm"}
DECODER = LAYER | {
    "multihead_attn": "cross_attention",
    "norm2": "residual_cross.norm",
    "norm3": "residual_feed_forward.norm",
}
"""Their name of a part, and ours."""

BESIDE = re.compile(r"(source|target)\.(E|W_PE)|W_o")
"""What a ``Transformer`` has beside its stacks."""


def from_torch(state: Mapping[str, Tensor]) -> State:
    """Ours, given that of an ``nn.Transformer``, a stack or a layer of it. ValueError for a name that these do not have."""
    ours: State = {}
    for layer, parts in _by_layer(state, DECODER).items():
        names = DECODER if "multihead_attn" in parts else ENCODER
        for part, parameters in parts.items():
            if "attn" in part:
                parameters = layouts.from_torch(parameters)
            ours |= {f"{layer}{names[part]}.{name}": x for name, x in parameters.items()}
    return ours


def to_torch(state: Mapping[str, Tensor]) -> State:
    """That of an ``nn.Transformer``, a stack or a layer of it, given ours. Attention without biases gets biases of 0: torch has
    them everywhere or nowhere. ValueError for a name that ours does not have.
    """
    theirs: State = {}
    stacks = {name: x for name, x in state.items() if not BESIDE.fullmatch(name)}
    for layer, parts in _by_layer(stacks, DECODER.values()).items():
        names = DECODER if "cross_attention" in parts else ENCODER
        back = {our: their for their, our in names.items()}
        for part, parameters in parts.items():
            if "attention" in part:
                parameters = _biased(layouts.to_torch(parameters))
            theirs |= {f"{layer}{back[part]}.{name}": x for name, x in parameters.items()}
    return theirs


def to_model(state: Mapping[str, Tensor], h: int) -> State:
    """The weights of ``impl.transformer.model`` by its letters, given those of a ``Transformer`` of h heads without biases in
    attention, tied to one table, post-norm and without final norms. What such a model does not have is left out.
    """
    sources = _stacked(state, "encoder")
    targets = _stacked(state, "decoder")
    return (
        {"E": state["source.E"]}
        | _attention(sources, "self_attention", h, "W")
        | _norm(sources, "residual_self", 1)
        | _network(sources, 1)
        | _norm(sources, "residual_feed_forward", 2)
        | _attention(targets, "self_attention", h, "U")
        | _norm(targets, "residual_self", 3)
        | _attention(targets, "cross_attention", h, "C")
        | _norm(targets, "residual_cross", 4)
        | _network(targets, 3)
        | _norm(targets, "residual_feed_forward", 5)
    )


def _stacked(state: Mapping[str, Tensor], stack: str) -> State:
    """A stack's parameters by their name in a layer, the layers in front."""
    found: dict[str, dict[int, Tensor]] = defaultdict(dict)
    for name, x in state.items():
        if match := re.fullmatch(rf"{stack}\.layers\.(\d+)\.(.+)", name):
            found[match[2]][int(match[1])] = x
    return {name: torch.stack([layers[i] for i in sorted(layers)]) for name, layers in found.items()}


def _attention(layers: State, name: str, h: int, letter: str) -> State:
    """W_q, W_k, W_v and W_o of each layer, head by head."""
    packed, out = layers[f"{name}.qkv.weight"], layers[f"{name}.out.weight"]
    each = [
        layouts.to_per_head({"qkv.weight": qkv, "out.weight": W_o}, h)
        for qkv, W_o in zip(packed, out, strict=True)
    ]
    parts = (torch.stack(part) for part in zip(*each, strict=True))
    return {f"{letter}_{part}": W for part, W in zip("qkvo", parts, strict=True)}


def _norm(layers: State, name: str, number: int) -> State:
    return {f"gamma_{number}": layers[f"{name}.norm.weight"], f"beta_{number}": layers[f"{name}.norm.bias"]}


def _network(layers: State, number: int) -> State:
    """Our linear layers multiply from the other side."""
    found: State = {}
    for i, name in enumerate(("expand", "contract"), number):
        found |= {
            f"W_{i}": layers[f"feed_forward.{name}.weight"].mT,
            f"b_{i}": layers[f"feed_forward.{name}.bias"],
        }
    return found


def _by_layer(state: Mapping[str, Tensor], parts: Iterable[str]) -> dict[str, dict[str, State]]:
    """Parameters by the layer that they are in (what stands before the part's name) and by its part."""
    pattern = re.compile(rf"((?:[^.]+\.)*?)({'|'.join(map(re.escape, parts))})\.(.+)")
    found: dict[str, dict[str, State]] = defaultdict(lambda: defaultdict(dict))
    for name, x in state.items():
        match = pattern.fullmatch(name)
        if match is None:
            raise ValueError(f"transformer: expected the parameters of a Transformer's stacks; got {name}")
        layer, part, rest = match.groups()
        found[layer][part][rest] = x
    return found


def _biased(attention: State) -> State:
    """The parameters of an ``nn.MultiheadAttention``, with biases of 0 where there are none."""
    if "in_proj_bias" in attention:
        return attention
    W, W_o = attention["in_proj_weight"], attention["out_proj.weight"]
    return attention | {"in_proj_bias": W.new_zeros(len(W)), "out_proj.bias": W.new_zeros(len(W_o))}
