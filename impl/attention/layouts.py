"""Parameters of multi-head attention in the layouts of other libraries, as state dicts (``module.state_dict()``).

Ours are those of ``MultiHeadAttention``: ``qkv.weight`` with the rows of queries, keys and values, head after head (or
``q.weight`` and ``kv.weight``, where a width of y is given), ``out.weight``, and their biases. Numbers are taken over as they
are: going there and back changes none.

===========  ===========================================================================================================
torch        ``nn.MultiheadAttention``: in_proj_weight, in_proj_bias, out_proj; q_proj_weight, k_proj_weight, v_proj_weight
             where kdim and vdim are not embed_dim
bert         transformers' ``BertAttention``: self.query, self.key, self.value, output.dense
per head     ``attention.multi_head``'s W_q, W_k, W_v, W_o
===========  ===========================================================================================================
"""

from collections.abc import Iterable, Mapping

import torch
from jaxtyping import Float
from torch import Tensor

__all__ = ["from_torch", "to_torch", "from_bert", "to_bert", "from_per_head", "to_per_head"]

State = dict[str, Tensor]

BERT = ("self.query", "self.key", "self.value")
TORCH = ("q_proj_weight", "k_proj_weight", "v_proj_weight")


def from_torch(state: Mapping[str, Tensor], *, packed: bool = True) -> State:
    """Ours, given that of an ``nn.MultiheadAttention``: to be loaded into a ``MultiHeadAttention`` of the same widths and heads.
    ``packed=False`` has queries in a layer of their own where widths are equal, too.

    ValueError for what ours does not have: keys and values of different widths, bias_k and bias_v. KeyError for a weight
    that is missing.
    """
    if "bias_k" in state:
        raise ValueError(
            "attention.multi_head: expected an nn.MultiheadAttention without add_bias_kv; got bias_k"
        )
    joined = state.get("in_proj_weight")
    weights = [state[name] for name in TORCH] if joined is None else joined.chunk(3)
    biases = state["in_proj_bias"].chunk(3) if "in_proj_bias" in state else ()
    return _join_projections(weights, biases, packed) | _rename_layer(state, "out_proj", "out")


def to_torch(state: Mapping[str, Tensor]) -> State:
    """That of an ``nn.MultiheadAttention``, given ours. ValueError unless d_k and d_v are d_model / h, as torch has them."""
    weights, biases = _parts(state)
    d_model = state["out.weight"].shape[0]
    if any(len(W) != d_model for W in weights):
        got = ", ".join(
            f"{name} {len(W)}" for name, W in zip(("h*d_k", "h*d_k", "h*d_v"), weights, strict=True)
        )
        raise ValueError(
            f"attention.multi_head: expected h*d_k = h*d_v = d_model = {d_model}, as torch has it; got {got}"
        )
    one_width = weights[0].shape[1] == weights[1].shape[1]
    theirs = {"in_proj_weight": torch.cat(weights)} if one_width else dict(zip(TORCH, weights, strict=True))
    if biases:
        theirs["in_proj_bias"] = torch.cat(biases)
    return theirs | _rename_layer(state, "out", "out_proj")


def from_bert(state: Mapping[str, Tensor]) -> State:
    """Ours, given that of transformers' ``BertAttention``, whose output.LayerNorm is no part of it and is left out.

    ValueError for keys and values of different widths, KeyError for a weight that is missing.
    """
    weights = [state[f"{name}.weight"] for name in BERT]
    biases = [state[f"{name}.bias"] for name in BERT if f"{name}.bias" in state]
    return _join_projections(weights, biases) | _rename_layer(state, "output.dense", "out")


def to_bert(state: Mapping[str, Tensor]) -> State:
    """That of transformers' ``BertAttention`` without its output.LayerNorm, given ours."""
    weights, biases = _parts(state)
    theirs = {f"{name}.weight": W for name, W in zip(BERT, weights, strict=True)}
    theirs |= {f"{name}.bias": b for name, b in zip(BERT, biases, strict=False)}
    return theirs | _rename_layer(state, "out", "output.dense")


def from_per_head(
    W_q: Float[Tensor, "h d_model d_k"],
    W_k: Float[Tensor, "h d_y d_k"],
    W_v: Float[Tensor, "h d_y d_v"],
    W_o: Float[Tensor, "h*d_v d_model"],
) -> State:
    """Ours without biases, given the weights of the statement ``attention.multi_head``."""
    return _join_projections([W.mT.flatten(0, 1) for W in (W_q, W_k, W_v)], ()) | {"out.weight": W_o.mT}


def to_per_head(state: Mapping[str, Tensor], h: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """(W_q, W_k, W_v, W_o) of the statement ``attention.multi_head`` with h heads, given ours. Biases are left out.

    ValueError for an h that does not divide the rows of every weight.
    """
    rows = [len(W) for W in _parts(state)[0]]
    if h < 1 or any(size % h for size in rows):
        got = f"h {h}, rows {', '.join(map(str, rows))}"
        raise ValueError(
            f"attention.multi_head: expected an h that divides the rows of W_q, W_k, W_v; got {got}"
        )
    W_q, W_k, W_v = (W.unflatten(0, (h, -1)).mT for W in _parts(state)[0])
    return W_q, W_k, W_v, state["out.weight"].mT


def _join_projections(weights: Iterable[Tensor], biases: Iterable[Tensor], packed: bool = True) -> State:
    """The weights of queries, keys and values, a row for each entry, and their biases, if any, as ours."""
    (W_q, W_k, W_v), biases = weights, tuple(biases)
    if W_k.shape[1] != W_v.shape[1]:
        got = f"{W_k.shape[1]} and {W_v.shape[1]}"
        raise ValueError(f"attention.multi_head: expected keys and values made from one width; got {got}")
    if packed and W_q.shape[1] == W_k.shape[1]:
        return {"qkv.weight": torch.cat((W_q, W_k, W_v))} | (
            {"qkv.bias": torch.cat(biases)} if biases else {}
        )
    ours = {"q.weight": W_q, "kv.weight": torch.cat((W_k, W_v))}
    return ours | ({"q.bias": biases[0], "kv.bias": torch.cat(biases[1:])} if biases else {})


def _parts(state: Mapping[str, Tensor]) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
    """The weights of queries, keys and values, a row for each entry, and their biases, if any."""

    def split(kind: str) -> tuple[Tensor, ...]:
        if f"q.{kind}" in state:
            return state[f"q.{kind}"], *state[f"kv.{kind}"].tensor_split([len(state[f"kv.{kind}"]) - h_d_v])
        if f"qkv.{kind}" not in state:
            return ()
        h_d_k = (len(state[f"qkv.{kind}"]) - h_d_v) // 2
        return tuple(torch.split(state[f"qkv.{kind}"], [h_d_k, h_d_k, h_d_v]))

    h_d_v = state["out.weight"].shape[1]
    return split("weight"), split("bias")


def _rename_layer(state: Mapping[str, Tensor], old: str, new: str) -> State:
    """The weight of a linear layer, and its bias if there is one, under another name."""
    bias = {f"{new}.bias": state[f"{old}.bias"]} if f"{old}.bias" in state else {}
    return {f"{new}.weight": state[f"{old}.weight"]} | bias
