"""A Llama as a module: its parameters, stacked layer upon layer, and what it makes of a text."""

from functools import partial
from pathlib import Path

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Integer
from torch import Tensor, nn

from impl import _refuse
from impl._weights import shapes
from impl.embedding import rows
from impl.llama.config import LlamaConfig
from impl.llama.functions import LayerWeights, model, step
from impl.normalization import rms_norm
from impl.transformer import Cache
from impl.transformer.generation import CausalModel

__all__ = ["Llama"]


class Llama(CausalModel):
    """``llama.model`` with its parameters: those of the layers, each with an axis for the layer in front, by their letters; the
    table E; gamma_f; and U, which is None where the configuration is tied: then it is E.
    """

    formula = "llama.model"

    def __init__(
        self,
        config: LlamaConfig,
        *,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.config = config
        sizes = {"h": config.heads, "g": config.shared, "d_model": config.d_model, "d_ff": config.d_ff}
        sizes |= {"p": config.width // 2, "d_v": config.width}
        table = (config.vocabulary, config.d_model)

        def made(*shape: int) -> nn.Parameter:
            return nn.Parameter(torch.empty(shape, device=device, dtype=dtype))

        self.E, self.gamma_f = made(*table), made(config.d_model)
        self.layers = nn.ParameterDict(
            {name: made(config.layers, *shape) for name, shape in shapes(LayerWeights, sizes).items()}
        )
        self.U = None if config.tied else made(*table)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw all weights anew from a normal distribution; gains begin as 1."""
        for name, parameter in self.named_parameters():
            if "gamma" in name:
                nn.init.ones_(parameter)
            else:
                nn.init.normal_(parameter, std=self.config.std)

    def frequencies(self) -> Float[Tensor, " p"]:
        """base^(−2i/d_k) for each pair i, in float64."""
        pairs = torch.arange(0, self.config.width, 2, dtype=torch.float64, device=self.E.device)
        return torch.pow(self.config.base, -pairs / self.config.width)

    def forward(
        self,
        ids: Integer[Tensor, "... n"],
        mask: Bool[Tensor, "... n"] | None = None,
        positions: Integer[Tensor, "... n"] | None = None,
    ) -> Float[Tensor, "... n V"]:
        """At each place the logits of the next token. ``positions`` are counted from 0, over padding too, unless they are given.

        ValueError unless ids, mask and positions have one shape; else errors are those of ``model``.
        """
        self._check(ids, mask, positions)
        if positions is None:
            positions = torch.arange(ids.shape[-1], device=ids.device)
        theta, eps = self.frequencies(), self.config.eps
        return model(ids, positions, theta, self.E, self._weights(), self.gamma_f, self._head(), eps, mask)

    def start(self, rows: int, capacity: int | None = None) -> Cache:
        """A cache for so many rows without tokens: room for ``capacity`` in each, ``config.max_length`` unless given. ValueError
        for no room, and for a number of rows below 0.
        """
        config = self.config
        capacity = config.max_length if capacity is None else capacity
        if rows < 0 or capacity < 1:
            raise ValueError(f"llama.model: expected rows >= 0 and capacity >= 1; got {rows} and {capacity}")
        none = self.E.new_empty(rows, config.shared, 0, config.width)
        return Cache([(none, none)] * config.layers, None, self.E.new_empty(capacity, 0))

    def _continue(self, ids: Tensor, cache: Cache) -> Tensor:
        pos = cache.places(ids.shape[1]).reshape(cache.sources, cache.beams * ids.shape[1])  # attend together
        x = rows("llama.model", "E (V d_model)", ids=ids.reshape(pos.shape), E=self.E)
        mask, theta = cache.mask(ids.shape[1]) if cache.taken else None, self.frequencies()
        for number, own in enumerate(_refuse.layers("llama.model", self._weights())):
            x = step(x, pos, theta, own, self.config.eps, partial(cache.append, number), mask)
        return x

    def _logits(self, x: Tensor) -> Tensor:
        return F.linear(rms_norm(x, self.gamma_f, self.config.eps), self._head())

    def _weights(self) -> LayerWeights:
        return LayerWeights(*(self.layers[name] for name in LayerWeights._fields))

    def _head(self) -> Tensor:
        return self.E if self.U is None else self.U

    def _check(self, ids: Tensor, mask: Tensor | None, positions: Tensor | None) -> None:
        given = {"ids": ids, "mask": mask, "positions": positions}
        found = {name: x for name, x in given.items() if x is not None}
        if ids.dim() < 1 or any(x.shape != ids.shape for x in found.values()):
            raise _refuse.shapes("llama.model", f"{', '.join(found)} of one shape (... n)", **found)

    @classmethod
    def from_pretrained(cls, folder: str | Path, *, dtype: torch.dtype | None = None) -> "Llama":
        """The model of a folder of a ``LlamaForCausalLM`` as Hugging Face writes it, in evaluation; ``dtype`` is the stored one
        unless given; of several, the narrowest that holds all.

        ValueError, in one line that names the file or the tensors, for files that cannot be read, and for tensors that are
        missing, not known, of another shape or not of floating numbers. TypeError for a dtype that is not floating.
        """
        from impl.llama.checkpoints import fill

        config = LlamaConfig.from_json(Path(folder) / "config.json")
        with torch.device("meta"):
            made = cls(config)
        return fill(made, config, Path(folder), dtype)

    def save_pretrained(self, folder: str | Path) -> None:
        """A folder that ``from_pretrained`` and transformers read. A file is replaced once it is whole."""
        from impl.llama.checkpoints import save

        save(self, self.config, folder)
