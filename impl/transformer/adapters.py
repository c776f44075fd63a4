"""Parameters of ``nn.Transformer`` as ours, and ours as its or as the statement's; as state dicts (``module.state_dict()``).

``from_torch`` and ``to_torch`` take the state of a model, of a stack (``nn.TransformerEncoder``, ``Encoder``) or of a layer.
Numbers are taken over as they are: going there and back changes none.

``nn.Transformer`` has no tables of words: theirs is loaded into a ``Transformer`` with ``strict=False``, and what ours has beside
the stacks is left out on the way back. It has a LayerNorm behind each stack whatever ``norm_first`` says: ``final_norm=True``.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch import Tensor

from impl.attention import layouts
from impl.transformer.functions import DecoderLayerWeights, EncoderLayerWeights

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
                parameters = layouts.from_torch(parameters, packed=part == "self_attn")
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
                parameters = _add_biases(layouts.to_torch(parameters))
            theirs |= {f"{layer}{back[part]}.{name}": x for name, x in parameters.items()}
    return theirs


def to_model(state: Mapping[str, Tensor], h: int) -> dict[str, Any]:
    """The weights of ``impl.transformer.model`` by the names of its arguments, given those of a ``Transformer`` of h heads.

    It has no biases in attention, is tied to one table, post-norm and without final norms; what else there is is left out.
    """
    sources, targets = _stack_layers(state, "encoder"), _stack_layers(state, "decoder")
    in_encoder = (
        *_attention(sources, "self_attention", h),
        *_norm(sources, "residual_self"),
        *_network(sources),
        *_norm(sources, "residual_feed_forward"),
    )
    in_decoder = (
        *_attention(targets, "self_attention", h),
        *_norm(targets, "residual_self"),
        *_attention(targets, "cross_attention", h),
        *_norm(targets, "residual_cross"),
        *_network(targets),
        *_norm(targets, "residual_feed_forward"),
    )
    return {
        "E": state["source.E"],
        "in_encoder": EncoderLayerWeights._make(in_encoder),
        "in_decoder": DecoderLayerWeights._make(in_decoder),
    }


def _stack_layers(state: Mapping[str, Tensor], stack: str) -> State:
    """A stack's parameters by their name in a layer, the layers in front."""
    found: dict[str, dict[int, Tensor]] = defaultdict(dict)
    for name, x in state.items():
        if match := re.fullmatch(rf"{stack}\.layers\.(\d+)\.(.+)", name):
            found[match[2]][int(match[1])] = x
    return {name: torch.stack([layers[i] for i in sorted(layers)]) for name, layers in found.items()}


def _attention(layers: State, name: str, h: int) -> Iterable[Tensor]:
    """W_q, W_k, W_v and W_o of each layer, head by head."""
    own = {part.removeprefix(f"{name}."): x for part, x in layers.items() if part.startswith(f"{name}.")}
    count = len(own["out.weight"])
    each = [layouts.to_per_head({part: x[i] for part, x in own.items()}, h) for i in range(count)]
    return (torch.stack(part) for part in zip(*each, strict=True))


def _norm(layers: State, name: str) -> tuple[Tensor, Tensor]:
    return layers[f"{name}.norm.weight"], layers[f"{name}.norm.bias"]


def _network(layers: State) -> Iterable[Tensor]:
    """Our linear layers multiply from the other side."""
    for name in ("feed_forward.expand", "feed_forward.contract"):
        yield layers[f"{name}.weight"].mT
        yield layers[f"{name}.bias"]


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


def _add_biases(attention: State) -> State:
    """The parameters of an ``nn.MultiheadAttention``, with biases of 0 where there are none."""
    if "in_proj_bias" in attention:
        return attention
    W, W_o = attention["in_proj_weight"], attention["out_proj.weight"]
    return attention | {"in_proj_bias": W.new_zeros(len(W)), "out_proj.bias": W.new_zeros(len(W_o))}
