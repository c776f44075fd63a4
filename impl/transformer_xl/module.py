"""Transformer-XL as a module, which holds its weights and hands the memory from segment to segment.

Source: Dai et al. 2019, "Transformer-XL: Attentive Language Models beyond a Fixed-Length Context", sections 3.2 and 3.3.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Unpack

import torch
import torch.nn.functional as F
from jaxtyping import Float, Integer
from torch import Generator, Tensor, nn

from impl import _refuse
from impl._config import check_fields, expect
from impl._placement import Placement
from impl._weights import shapes
from impl.objectives import linear_cross_entropy
from impl.transformer_xl.functions import LayerWeights, model

__all__ = ["TransformerXL", "TransformerXLConfig"]

SIZES = ("vocabulary", "d_model", "layers", "heads", "d_ff")
THEIRS = {
    "W_r": "dec_attn.r_net.weight",
    "W_o": "dec_attn.o_net.weight",
    "u": "dec_attn.r_w_bias",
    "w": "dec_attn.r_r_bias",
    "gamma_1": "dec_attn.layer_norm.weight",
    "beta_1": "dec_attn.layer_norm.bias",
    "W_1": "pos_ff.CoreNet.0.weight",
    "b_1": "pos_ff.CoreNet.0.bias",
    "W_2": "pos_ff.CoreNet.3.weight",
    "b_2": "pos_ff.CoreNet.3.bias",
    "gamma_2": "pos_ff.layer_norm.weight",
    "beta_2": "pos_ff.layer_norm.bias",
}
"""Our letters, and the names of pytorch-transformers within a layer; its queries, keys and values are one matrix."""
PACKED, TABLE = "dec_attn.qkv_net.weight", "word_emb.emb_layers.0.weight"


@dataclass(frozen=True)
class TransformerXLConfig:
    """Sizes of a ``TransformerXL``: ``memory`` is the number of rows that each layer remembers, ``std`` that of the normal
    distribution that weights are drawn from. ValueError, in one line, for what cannot be built.
    """

    vocabulary: int
    d_model: int = 410
    layers: int = 16
    heads: int = 10
    d_ff: int = 2100
    memory: int = 150
    eps: float = 1e-5
    std: float = 0.02

    def __post_init__(self) -> None:
        check_fields(self, *SIZES)
        expect(self, self.d_model % self.heads == 0, "heads that divide d_model", "heads", "d_model")
        expect(self, self.memory >= 0, "memory >= 0", "memory")
        expect(self, self.eps > 0, "eps > 0", "eps")
        expect(self, self.std >= 0, "std >= 0", "std")


class TransformerXL(nn.Module):
    """``transformer_xl.model`` with its weights: the table ``E``, and those of all layers by the statement's letters, each with
    an axis for the layers in front. They are drawn from ``generator``, if one is given.

    A call gives the logits of the next tokens and the memory for the next segment. A text begins without a memory.
    """

    def __init__(
        self,
        config: TransformerXLConfig,
        *,
        generator: Generator | None = None,
        **placement: Unpack[Placement],
    ) -> None:
        super().__init__()
        self.config, h, d = config, config.heads, config.d_model
        sizes = {"h": h, "d_model": d, "d_k": d // h, "d_v": d // h, "d_ff": config.d_ff}
        self.E = nn.Parameter(torch.empty(config.vocabulary, d, **placement))
        self.layers = nn.ParameterDict(
            {
                name: nn.Parameter(torch.empty(config.layers, *shape, **placement))
                for name, shape in shapes(LayerWeights, sizes).items()
            }
        )
        self.reset_parameters(generator)

    def reset_parameters(self, generator: Generator | None = None) -> None:
        """Draw matrices, the table, u and w anew, of a normal distribution; biases become 0, gains 1."""
        for name, parameter in self.named_parameters():
            letter = name.split(".")[-1]
            if letter.startswith(("gamma", "beta", "b_")):
                nn.init.constant_(parameter, float(letter.startswith("gamma")))
            else:
                nn.init.normal_(parameter, std=self.config.std, generator=generator)

    @property
    def weights(self) -> LayerWeights:
        """Those of all layers, as ``model`` takes them."""
        return LayerWeights(**dict(self.layers.named_parameters()))

    def hidden(
        self, ids: Integer[Tensor, "... n"], memory: Float[Tensor, "... L M d_model"] | None = None
    ) -> tuple[Float[Tensor, "... n d_model"], Float[Tensor, "... L _ d_model"]]:
        """The last hidden states, and the memory for the next segment: of each layer the last ``config.memory`` rows that it
        has read, as far as there are so many. Errors are those of ``model``.
        """
        if memory is None:
            memory = self.E.new_empty(self.config.layers, 0, self.config.d_model)
        return model(ids, memory, self.E, self.weights, self.config.eps, rows=self.config.memory)

    def forward(
        self, ids: Integer[Tensor, "... n"], memory: Float[Tensor, "... L M d_model"] | None = None
    ) -> tuple[Float[Tensor, "... n V"], Float[Tensor, "... L _ d_model"]]:
        """Logits: at place i those of the token after ids[i]; and the memory for the next segment."""
        y, kept = self.hidden(ids, memory)
        return F.linear(y, self.E), kept

    def loss(
        self,
        ids: Integer[Tensor, "... n"],
        targets: Integer[Tensor, "... n"],
        memory: Float[Tensor, "... L M d_model"] | None = None,
    ) -> tuple[Float[Tensor, ""], Float[Tensor, "... L _ d_model"]]:
        """The mean of −log p of the ``targets``, the tokens that follow each of ``ids``, in nats; and the memory after.

        ValueError unless there is a target for every id; else errors are those of a call.
        """
        if ids.shape != targets.shape:
            raise _refuse.shapes("transformer_xl.model", "a target for every id", ids=ids, targets=targets)
        y, kept = self.hidden(ids, memory)
        return linear_cross_entropy(y.flatten(0, -2), self.E, targets.flatten()), kept

    def load_transfo_xl(self, state: Mapping[str, Tensor]) -> None:
        """Take the parameters of a ``TransfoXLModel`` of pytorch-transformers without adaptive embeddings (``div_val=1``,
        ``cutoffs=[]``), with ``clamp_len=-1`` and ``same_length=False``, from its ``state_dict``.

        ValueError, in one line, for parameters that are missing, for other layers than these, and for shapes that do not fit.
        """
        config, found = self.config, dict[str, list[Tensor]]()
        wanted = [f"layers.{t}.{name}" for t in range(config.layers) for name in (PACKED, *THEIRS.values())]
        if missing := [name for name in (TABLE, *wanted) if name not in state]:
            raise ValueError(
                f"TransformerXL: expected {missing[0]} in the state, and {len(missing) - 1} more"
            )
        if f"layers.{config.layers}.{PACKED}" in state or "word_emb.emb_layers.1.weight" in state:
            raise ValueError(
                f"TransformerXL: expected {config.layers} layers and one table of embeddings; got more"
            )
        for t in range(config.layers):
            of = {letter: state[f"layers.{t}.{name}"] for letter, name in THEIRS.items()}
            q, k, v = state[f"layers.{t}.{PACKED}"].chunk(3)
            heads = {"W_q": q, "W_k": k, "W_v": v, "W_r": of.pop("W_r")}
            of = {name: x.mT if x.dim() == 2 and name.startswith("W") else x for name, x in of.items()}
            of |= {name: x.unflatten(0, (config.heads, -1)).mT for name, x in heads.items()}
            for name, x in of.items():
                found.setdefault(name, []).append(x)
        stacked = {name: torch.stack(each) for name, each in found.items()} | {"E": state[TABLE]}
        own = dict(self.layers.named_parameters()) | {"E": self.E}
        for name, parameter in own.items():
            if parameter.shape != stacked[name].shape:
                raise _refuse.shapes("TransformerXL", f"{name} {tuple(parameter.shape)}", given=stacked[name])
        with torch.no_grad():
            for name, parameter in own.items():
                parameter.copy_(stacked[name])
