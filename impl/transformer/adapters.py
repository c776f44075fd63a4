"""Parameters of ``nn.Transformer`` as ours and ours as its, as state dicts (``module.state_dict()``).

Both ways take the state of a whole model, of a stack (``nn.TransformerEncoder``, ``Encoder``) or of a layer. Numbers are taken
over as they are: going there and back changes none.

``nn.Transformer`` has no tables of words: theirs is loaded into a ``Transformer`` with ``strict=False``, and what ours has beside
the stacks is left out on the way back. It has a LayerNorm behind each stack whatever ``norm_first`` says: ``final_norm=True``.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping

from torch import Tensor

from impl.attention import layouts

__all__ = ["from_torch", "to_torch"]

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
