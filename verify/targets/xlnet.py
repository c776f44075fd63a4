"""XLNet of transformers, with per-head weights. Its masks say what is hidden; sequences come first, batches after them."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from verify.adapt import Adapter, State, layers, module


def _config(**sizes: Any) -> Any:
    from transformers import XLNetConfig

    return XLNetConfig(
        **sizes, ff_activation="gelu", dropout=0.0, bos_token_id=None, eos_token_id=None, pad_token_id=None
    )


def _layer(W_o: Tensor, S: Tensor, **w: Tensor) -> State:
    """The parameters of a layer; those of heads have the heads in the middle."""
    h = S.shape[0]
    made = {f"rel_attn.{name}": w[f"W_{name}"].movedim(0, 1) for name in "qkvr"}
    made |= {"rel_attn.o": W_o.T.unflatten(-1, (h, -1)), "rel_attn.seg_embed": S.movedim(0, 1)}
    made |= {f"rel_attn.r_{name}_bias": w[letter] for name, letter in (("w", "u"), ("r", "w"), ("s", "f"))}
    for part, number in (("rel_attn", 1), ("ff", 2)):
        made |= {
            f"{part}.layer_norm.weight": w[f"gamma_{number}"],
            f"{part}.layer_norm.bias": w[f"beta_{number}"],
        }
        made |= {f"ff.layer_{number}.weight": w[f"W_{number}"].T, f"ff.layer_{number}.bias": w[f"b_{number}"]}
    return made


def _hidden(order: Tensor, like: Tensor) -> Tensor:
    """1 where a token may not be read for another, by the order alone: (b, n, n), its own place included."""
    return (order.unsqueeze(-2) >= order.unsqueeze(-1)).to(like.dtype)


def layer() -> Adapter:
    """``XLNetLayer``, given masks, distances and texts as the model around it makes them."""
    from transformers.models.xlnet.modeling_xlnet import XLNetLayer

    def build(d_model: int, h: int, d_ff: int, eps: float) -> nn.Module:
        made: Any = XLNetLayer
        return made(_config(d_model=d_model, n_head=h, d_inner=d_ff, layer_norm_eps=eps))  # type: ignore[no-any-return]  # it is not annotated

    def call(layer: nn.Module, x: Tensor, g: Tensor, R: Tensor, seg: Tensor, order: Tensor) -> Any:
        hidden = _hidden(order, x).permute(1, 2, 0).unsqueeze(-1)
        others = hidden * (1 - torch.eye(x.shape[1], dtype=x.dtype, device=x.device))[..., None, None]
        differ = (seg.unsqueeze(-1) != seg.unsqueeze(-2)).long().permute(1, 2, 0)
        # One distance more stands in front, which no pair of tokens has.
        distances = torch.cat((torch.zeros_like(R[:, :1]), R), 1)
        rows = (part.transpose(0, 1) for part in (x, g))
        texts = nn.functional.one_hot(differ, 2).to(x.dtype)
        made = layer(*rows, others, hidden, distances.transpose(0, 1), texts)
        return tuple(part.transpose(0, 1) for part in made[:2])

    return module(build, _layer, call)


def model() -> Adapter:
    """``XLNetLMHeadModel``, asked for every token by its ``target_mapping``, one text at a time: its loss is one for a batch."""
    from transformers import XLNetLMHeadModel

    def build(V: int, d_model: int, h: int, d_ff: int, L: int, eps: float) -> nn.Module:
        sizes = {"vocab_size": V, "d_model": d_model, "n_head": h, "d_inner": d_ff, "n_layer": L}
        made: Any = XLNetLMHeadModel
        return made(_config(**sizes, layer_norm_eps=eps))  # type: ignore[no-any-return]  # it is not annotated

    def weights(E: Tensor, g_0: Tensor, b_V: Tensor, **letters: Tensor) -> State:
        beside = {"transformer.word_embedding.weight": E, "transformer.mask_emb": g_0[None, None]}
        return {**beside, "lm_loss.bias": b_V, **layers("transformer.layer.{}.", _layer, letters)}

    def one(xlnet: nn.Module, ids: Tensor, seg: Tensor, order: Tensor, c: int, like: Tensor) -> Any:
        every = torch.eye(len(ids), dtype=like.dtype, device=like.device)
        made = xlnet(
            input_ids=ids[None],
            token_type_ids=seg[None],
            perm_mask=_hidden(order[None], like),
            target_mapping=every[None],
            labels=torch.where(order >= c, ids, -100)[None],
        )
        return made.logits[0], made.loss

    def call(xlnet: nn.Module, ids: Tensor, seg: Tensor, order: Tensor, c: int, E: Tensor) -> Any:
        found = [one(xlnet, *text, c, E) for text in zip(ids, seg, order, strict=True)]
        return tuple(torch.stack(part) for part in zip(*found, strict=True))

    return module(build, weights, call)
