"""An Evoformer block as a module, which holds the weights of its parts."""

from typing import Unpack

import torch
from jaxtyping import Bool, Float
from torch import Generator, Tensor, nn

from impl._placement import Placement
from impl._weights import shapes
from impl.evoformer.functions import block
from impl.evoformer.weights import BlockWeights

__all__ = ["Block"]


class Block(nn.Module):
    """``evoformer.block`` with its weights, by default in AlphaFold's sizes.

    ``parts`` holds the weights of each part by the statement's letters: ``parts["row"]["W_q"]``. Fresh weights are AlphaFold's:
    gates are nearly open whatever comes (matrices 0, biases 1), and what each part adds last is 0, so that a fresh block changes
    nothing; the other matrices are normal with variance 1 over what they read. ValueError for a size below 1 and for
    an ``eps`` that is not above 0.
    """

    def __init__(
        self,
        c_m: int = 256,
        c_z: int = 128,
        *,
        heads: int = 8,
        pair_heads: int = 4,
        c: int = 32,
        c_triangle: int = 128,
        factor: int = 4,
        eps: float = 1e-5,
        **placement: Unpack[Placement],
    ) -> None:
        super().__init__()
        sizes = {"c_m": c_m, "c_z": c_z, "heads": heads, "pair_heads": pair_heads, "c": c}
        sizes |= {"c_triangle": c_triangle, "factor": factor}
        if min(sizes.values()) < 1:
            got = ", ".join(f"{name} {size}" for name, size in sizes.items())
            raise ValueError(f"evoformer.block: expected sizes of at least 1; got {got}")
        if not eps > 0:
            raise ValueError(f"evoformer.block: expected eps > 0; got eps {eps!r}")
        self.eps = eps
        own = {
            "alignment": {"d": c_m, "f": factor * c_m},
            "pairs": {"d": c_z, "f": factor * c_z},
            **{part: {"c": c_triangle} for part in ("outgoing", "incoming")},
            **{part: {"h": pair_heads} for part in ("starting", "ending")},
        }
        self.parts = nn.ModuleDict()
        for part, kind in BlockWeights.__annotations__.items():
            found = shapes(kind, {"c_m": c_m, "c_z": c_z, "c": c, "h": heads, **own.get(part, {})})
            made = {name: nn.Parameter(torch.empty(shape, **placement)) for name, shape in found.items()}
            self.parts[part] = nn.ParameterDict(made)
        self.reset_parameters()

    def reset_parameters(self, generator: Generator | None = None) -> None:
        """Draw fresh weights, from ``generator`` if one is given."""
        for name, weight in self.named_parameters():
            letter = name.split(".")[-1]
            if letter.startswith("W_") and letter[-1] not in "go2":
                nn.init.normal_(weight, 0.0, weight.shape[-2] ** -0.5, generator=generator)
            else:  # gains, and the biases of gates
                one = letter.startswith("gamma") or (letter.startswith("b_") and letter.endswith("g"))
                nn.init.constant_(weight, float(one))

    @property
    def weights(self) -> BlockWeights:
        """The weights, as ``evoformer.block`` takes them."""
        kinds = BlockWeights.__annotations__
        return BlockWeights(
            *(kind(**dict(self.parts[part].named_parameters())) for part, kind in kinds.items())
        )

    def forward(
        self,
        m: Float[Tensor, "... n_seq n_res c_m"],
        z: Float[Tensor, "... n_res n_res c_z"],
        mask: Bool[Tensor, "... #n_res"] | None = None,
    ) -> tuple[Float[Tensor, "... n_seq n_res c_m"], Float[Tensor, "... n_res n_res c_z"]]:
        """The alignment and the pairs after the block; True in the mask = the residue takes part."""
        return block(m, z, self.weights, self.eps, mask)
