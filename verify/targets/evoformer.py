"""Triangle updates of pairs as ESMFold has them in Hugging Face transformers, with per-head weights."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from torch import Tensor, nn

from verify.adapt import Adapter, State, entries, module, rows


def _with_eps(made: nn.Module, eps: float) -> nn.Module:
    """The module, whose normalizations have torch's own ε, with another one."""
    for part in made.modules():
        if isinstance(part, nn.LayerNorm):
            part.eps = eps
    return made


def triangle_multiplication() -> Adapter:
    """``EsmFoldTriangleMultiplicativeUpdate``, whose edges are as wide as its pairs."""
    from transformers.models.esm.modeling_esmfold import EsmFoldTriangleMultiplicativeUpdate

    def build(c_z: int, incoming: bool, eps: float) -> nn.Module:
        made: Any = EsmFoldTriangleMultiplicativeUpdate
        return _with_eps(made(SimpleNamespace(pairwise_state_dim=c_z), _outgoing=not incoming), eps)

    def weights(**w: Tensor) -> State:
        made = {}
        for name, letter in (("in", "z"), ("out", "o")):
            made[f"layer_norm_{name}.weight"] = w[f"gamma_{letter}"]
            made[f"layer_norm_{name}.bias"] = w[f"beta_{letter}"]
        linear = {"a_p": "a", "a_g": "ag", "b_p": "b", "b_g": "bg", "z": "o", "g": "g"}
        for name, letter in linear.items():
            made |= {f"linear_{name}.weight": w[f"W_{letter}"].T, f"linear_{name}.bias": w[f"b_{letter}"]}
        return made

    return module(build, weights, lambda update, z, mask: update(z, mask), mask="float")


def triangle_attention() -> Adapter:
    """``EsmFoldTriangleAttention``, which adds −10⁹ to the scores of masked pairs; its width is that of a head."""
    from transformers.models.esm.modeling_esmfold import EsmFoldTriangleAttention

    def build(c_z: int, c: int, h: int, ending: bool, eps: float) -> nn.Module:
        made: Any = EsmFoldTriangleAttention
        return _with_eps(made(c_z, c, h, starting=not ending), eps)

    def weights(gamma: Tensor, beta: Tensor, W_b: Tensor, W_o: Tensor, b_o: Tensor, **w: Tensor) -> State:
        made = {"layer_norm.weight": gamma, "layer_norm.bias": beta, "linear.weight": W_b.T}
        made |= {f"mha.linear_{name}.weight": rows(w[f"W_{name}"]) for name in "qkvg"}
        return made | {
            "mha.linear_g.bias": entries(w["b_g"]),
            "mha.linear_o.weight": W_o.T,
            "mha.linear_o.bias": b_o,
        }

    return module(build, weights, lambda attend, z, mask: attend(z, mask), mask="float")
