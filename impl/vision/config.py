"""What a Vision Transformer is made of."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any, Literal

from impl._checkpoints import read_json
from impl._config import check_fields, expect
from impl.transformer import TransformerConfig

__all__ = ["ViTConfig"]

SIZES = ("image", "patch", "channels", "d_model", "layers", "heads", "d_ff", "classes")
KEYS = {
    "image": "image_size",
    "patch": "patch_size",
    "channels": "num_channels",
    "d_model": "hidden_size",
    "layers": "num_hidden_layers",
    "heads": "num_attention_heads",
    "d_ff": "intermediate_size",
    "activation": "hidden_act",
    "eps": "layer_norm_eps",
    "dropout": "hidden_dropout_prob",
    "attention_dropout": "attention_probs_dropout_prob",
    "std": "initializer_range",
}
"""Our field, and its key in a ``config.json``."""
NEEDED = SIZES[:-1]


@dataclass(frozen=True)
class ViTConfig:
    """Sizes and choices of a ``ViT``. Those that are not given are those of ViT-B/16.

    ====================  ===================================================================================================
    ``image``             pixels along a side of the square images that positions are learned for
    ``patch``             pixels along a side of a patch
    ``classes``           logits; None: there is no head, and features come out
    ``eps``               10⁻⁶ as in the original; checkpoints of transformers have 10⁻¹² unless they say otherwise
    ``dropout``           behind the positions, and on what a sub-layer adds; ``attention_dropout`` on weights of attention
    ``std``               of the normal distribution that weights are drawn from
    ====================  ===================================================================================================

    ValueError, in one line, for what cannot be built.
    """

    image: int = 224
    patch: int = 16
    channels: int = 3
    d_model: int = 768
    layers: int = 12
    heads: int = 12
    d_ff: int = 3072
    classes: int | None = 1000
    activation: Literal["gelu", "relu"] = "gelu"
    eps: float = 1e-6
    dropout: float = 0.0
    attention_dropout: float = 0.0
    std: float = 0.02

    def __post_init__(self) -> None:
        check_fields(self, *SIZES)
        expect(self, self.image % self.patch == 0, "a patch that divides image", "image", "patch")
        expect(self, self.d_model % self.heads == 0, "heads that divide d_model", "heads", "d_model")
        for name in ("dropout", "attention_dropout"):
            expect(self, 0 <= getattr(self, name) < 1, f"0 <= {name} < 1", name)
        expect(self, self.eps > 0, "eps > 0", "eps")
        expect(self, 0 <= self.std < inf, "a finite std >= 0", "std")

    @property
    def patches(self) -> int:
        """The number of patches."""
        return (self.image // self.patch) ** 2

    @property
    def stack(self) -> TransformerConfig:
        """What its layers are made of."""
        return TransformerConfig(
            1,
            1,
            self.d_model,
            self.heads,
            self.d_ff,
            self.layers,
            dropout=self.dropout,
            norm="pre",
            activation=self.activation,
            eps=self.eps,
        )

    @classmethod
    def base(cls, **changes: Any) -> "ViTConfig":
        """ViT-B/16 of Dosovitskiy et al. 2021, table 1: 12 layers of 768 with 12 heads; 86,567,656 parameters."""
        return cls(**changes)

    @classmethod
    def large(cls, **changes: Any) -> "ViTConfig":
        """ViT-L/16 of the same table: 24 layers of 1024 with 16 heads; 304,326,632 parameters."""
        return cls(**{"d_model": 1024, "layers": 24, "heads": 16, "d_ff": 4096, **changes})

    @classmethod
    def huge(cls, **changes: Any) -> "ViTConfig":
        """ViT-H/14 of the same table: 32 layers of 1280 with 16 heads; 632,045,800 parameters."""
        sizes = {"patch": 14, "d_model": 1280, "layers": 32, "heads": 16, "d_ff": 5120}
        return cls(**{**sizes, **changes})

    @classmethod
    def from_json(cls, given: Mapping[str, Any] | str | Path) -> "ViTConfig":
        """From a ``config.json`` as Hugging Face writes it, or from what stands in one. ``classes`` is the number of its labels.

        ValueError for a model of another kind, for sizes that are missing, and for what is computed otherwise there.
        """
        stored = given if isinstance(given, Mapping) else read_json(Path(given))
        if stored.get("model_type") != "vit":
            raise ValueError(f"ViTConfig: expected model_type 'vit'; got {stored.get('model_type')!r}")
        if not stored.get("qkv_bias", True):
            raise ValueError("ViTConfig: expected qkv_bias True; got False")
        if missing := [KEYS[name] for name in NEEDED if KEYS[name] not in stored]:
            raise ValueError(f"ViTConfig: expected {', '.join(missing)} in the configuration")
        fields = {name: stored[key] for name, key in KEYS.items() if key in stored}
        labels = len(stored["id2label"]) if "id2label" in stored else 2
        return cls(**{"eps": 1e-12, "classes": labels, **fields})

    def to_dict(self) -> dict[str, Any]:
        """What Hugging Face writes into a ``config.json``."""
        names = {f"LABEL_{number}": number for number in range(self.classes or 0)}
        labels = {"id2label": {str(number): name for name, number in names.items()}, "label2id": names}
        values = {key: getattr(self, name) for name, key in KEYS.items()}
        return {"model_type": "vit", **values, "qkv_bias": True, **(labels if names else {})}
