"""XLNet as a module: from a text and an order to the logits of its tokens, and what they cost.

Source: Yang et al. 2019, "XLNet: Generalized Autoregressive Pretraining for Language Understanding".
"""

from dataclasses import dataclass
from typing import Any, Unpack

import torch
from jaxtyping import Float, Integer
from torch import Generator, Tensor, nn

from impl._config import check_fields, expect
from impl._placement import Placement
from impl._weights import shapes
from impl.xlnet.functions import LayerWeights, objective

__all__ = ["XLNet", "XLNetConfig"]

SIZES = ("vocabulary", "d_model", "layers", "heads", "d_ff")


@dataclass(frozen=True)
class XLNetConfig:
    """Sizes of an ``XLNet``; those that are not given are the base model's.

    ``d_ff`` None: 4·d_model. ``std`` is that of the normal distribution that weights are drawn from. ValueError, in one line, for
    what cannot be built.
    """

    vocabulary: int = 32_000
    d_model: int = 768
    layers: int = 12
    heads: int = 12
    d_ff: int | None = None
    eps: float = 1e-12
    std: float = 0.02

    def __post_init__(self) -> None:
        check_fields(self, *SIZES)
        expect(self, self.d_model % self.heads == 0, "heads that divide d_model", "heads", "d_model")
        expect(self, self.eps > 0, "eps > 0", "eps")
        expect(self, self.std >= 0, "std >= 0", "std")

    @classmethod
    def base(cls, **changes: Any) -> "XLNetConfig":
        """The base model: 116,750,336 parameters, the 32,000 of the logits' bias among them."""
        return cls(**changes)

    @classmethod
    def large(cls, **changes: Any) -> "XLNetConfig":
        """The large model of Yang et al. 2019: 360,300,800 parameters, the logits' bias among them."""
        return cls(**{"d_model": 1024, "layers": 24, "heads": 16, **changes})


class XLNet(nn.Module):
    """The parameters of ``objective``, and a call of it. They are drawn from ``generator``, if one is given."""

    def __init__(
        self, config: XLNetConfig, *, generator: Generator | None = None, **placement: Unpack[Placement]
    ) -> None:
        super().__init__()
        self.config = config
        d, h = config.d_model, config.heads
        width = 4 * d if config.d_ff is None else config.d_ff
        sizes = {"h": h, "d_model": d, "d_k": d // h, "d_v": d // h, "d_ff": width}
        self.E = nn.Parameter(torch.empty(config.vocabulary, d, **placement))
        self.g_0 = nn.Parameter(torch.empty(d, **placement))
        self.b_V = nn.Parameter(torch.empty(config.vocabulary, **placement))
        for name, shape in shapes(LayerWeights, sizes).items():
            self.register_parameter(name, nn.Parameter(torch.empty(config.layers, *shape, **placement)))
        self.reset_parameters(generator)

    def reset_parameters(self, generator: Generator | None = None) -> None:
        """Draw all weights anew, of a normal distribution, the biases of queries among them; other biases become 0, gains 1."""
        for name, parameter in self.named_parameters():
            if name.startswith(("b_", "beta", "gamma")):
                nn.init.constant_(parameter, float(name.startswith("gamma")))
            else:
                nn.init.normal_(parameter, std=self.config.std, generator=generator)

    @property
    def weights(self) -> LayerWeights:
        """Those of all layers, an axis L in front."""
        return LayerWeights(*(getattr(self, name) for name in LayerWeights._fields))

    def forward(
        self,
        ids: Integer[Tensor, "... n"],
        order: Integer[Tensor, "... n"],
        seg: Integer[Tensor, "... n"] | None = None,
        c: int = 0,
    ) -> tuple[Float[Tensor, "... n V"], Float[Tensor, "..."]]:
        """The logits of every token, given those before it in the order, and the mean cost of those at place c of it or later. No
        ``seg``: all tokens are of one text. Errors are those of ``objective``.
        """
        seg = torch.zeros_like(ids) if seg is None else seg
        return objective(ids, seg, order, c, self.E, self.g_0, self.weights, self.b_V, self.config.eps)
