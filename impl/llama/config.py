"""What a Llama is made of: sizes, and the few choices in which the models of the family differ."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from impl import _refuse
from impl._checkpoints import read_json
from impl._config import check_fields, expect, look_up

__all__ = ["LlamaConfig"]

SIZES = ("vocabulary", "d_model", "layers", "heads", "groups", "d_k", "d_ff", "max_length")
KEYS = {
    "vocabulary": "vocab_size",
    "d_model": "hidden_size",
    "layers": "num_hidden_layers",
    "heads": "num_attention_heads",
    "groups": "num_key_value_heads",
    "d_k": "head_dim",
    "d_ff": "intermediate_size",
    "max_length": "max_position_embeddings",
    "eps": "rms_norm_eps",
    "tied": "tie_word_embeddings",
    "std": "initializer_range",
}
"""Our field, and its key in a ``config.json``; beside these stands the base of the frequencies."""
NEEDED = ("vocabulary", "d_model", "layers", "heads", "d_ff")
REFUSED = {"attention_bias": (False,), "mlp_bias": (False,), "hidden_act": ("silu",)}
"""Keys that change what is computed, and the values with which it is what is computed here."""


@dataclass(frozen=True)
class LlamaConfig:
    """Sizes and choices of a ``Llama``. Those that are not given are those of Llama 2 7B.

    ==============  =====================================================================================================
    ``groups``      heads of keys and values, which the heads of queries share; None: as many as heads
    ``d_k``         width of queries, keys and values, which is even; None: d_model / heads
    ``base``        of the frequencies, base^(−2i/d_k) for pair i
    ``tied``        whether the table of tokens is also what the logits are made by
    ``max_length``  the largest number of tokens that the model was trained on; more are not refused
    ``std``         of the normal distribution that weights are drawn from
    ==============  =====================================================================================================

    ValueError, in one line, for what cannot be built.
    """

    vocabulary: int = 32_000
    d_model: int = 4096
    layers: int = 32
    heads: int = 32
    groups: int | None = None
    d_k: int | None = None
    d_ff: int = 11_008
    max_length: int = 4096
    eps: float = 1e-5
    base: float = 10_000.0
    tied: bool = False
    std: float = 0.02

    def __post_init__(self) -> None:
        check_fields(self, *SIZES)
        expect(self, self.heads % self.shared == 0, "groups that divide heads", "groups", "heads")
        fits = self.d_k is not None or self.d_model % self.heads == 0
        expect(self, fits, "heads that divide d_model, or d_k", "heads", "d_model")
        expect(self, self.width % 2 == 0, "queries of an even width", "d_k", "d_model", "heads")
        expect(self, self.eps > 0, "eps > 0", "eps")
        expect(self, self.base > 0, "base > 0", "base")
        expect(self, self.std >= 0, "std >= 0", "std")

    @property
    def shared(self) -> int:
        """Heads of keys and values: ``groups``, and what None stands for."""
        return self.heads if self.groups is None else self.groups

    @property
    def width(self) -> int:
        """Of queries, keys and values: ``d_k``, and what None stands for."""
        return self.d_model // self.heads if self.d_k is None else self.d_k

    @classmethod
    def llama2(cls, size: Literal["7b", "13b", "70b"] = "7b", **changes: Any) -> "LlamaConfig":
        """The Llama 2s of Touvron et al. 2023: 6,738,415,616, 13,015,864,320 and 68,976,648,192 parameters."""
        sizes = {
            "7b": {},
            "13b": {"d_model": 5120, "layers": 40, "heads": 40, "d_ff": 13_824},
            "70b": {"d_model": 8192, "layers": 80, "heads": 64, "groups": 8, "d_ff": 28_672},
        }
        if size not in list(sizes):
            raise _refuse.option("LlamaConfig.llama2", "size", list(sizes), size)
        return cls(**{**sizes[size], **changes})

    @classmethod
    def llama3(cls, size: Literal["8b", "70b"] = "8b", **changes: Any) -> "LlamaConfig":
        """The Llama 3s of Grattafiori et al. 2024, table 3: 8,030,261,248 and 70,553,706,496 parameters."""
        sizes = {
            "8b": {"d_ff": 14_336},
            "70b": {"d_model": 8192, "layers": 80, "heads": 64, "d_ff": 28_672},
        }
        if size not in list(sizes):
            raise _refuse.option("LlamaConfig.llama3", "size", list(sizes), size)
        shared = {"vocabulary": 128_256, "groups": 8, "max_length": 8192, "base": 500_000.0}
        return cls(**{**shared, **sizes[size], **changes})

    @classmethod
    def from_json(cls, given: Mapping[str, Any] | str | Path) -> "LlamaConfig":
        """From a ``config.json`` of a Llama as Hugging Face writes it, or from what stands in one.

        ValueError for a model of another kind, for sizes that are missing, and for what is computed otherwise there: biases,
        another activation, scaled frequencies.
        """
        stored: Mapping[str, Any]
        stored = given if isinstance(given, Mapping) else read_json(Path(given))
        look_up("LlamaConfig", "model_type", {"llama": None}, stored.get("model_type"))
        for key, values in REFUSED.items():
            if stored.get(key, values[0]) not in values:
                raise ValueError(f"LlamaConfig: expected {key} {values[0]!r}; got {stored[key]!r}")
        if missing := [KEYS[name] for name in NEEDED if KEYS[name] not in stored]:
            raise ValueError(f"LlamaConfig: expected {', '.join(missing)} in the configuration")
        fields = {name: stored[key] for name, key in KEYS.items() if key in stored}
        turning = stored.get("rope_parameters") or stored.get("rope_scaling") or {}
        kind = turning.get("rope_type", turning.get("type", "default"))
        if kind != "default":
            raise ValueError(f"LlamaConfig: expected frequencies of rope_type 'default'; got {kind!r}")
        base = turning.get("rope_theta", stored.get("rope_theta", 10_000.0))
        return cls(**{"max_length": 2048, "eps": 1e-6, **fields, "base": float(base)})

    def to_dict(self) -> dict[str, Any]:
        """What Hugging Face writes into a ``config.json``."""
        values = {key: getattr(self, name) for name, key in KEYS.items()}
        # Unless told otherwise, transformers has tokens 1 and 2 begin and end a text.
        outside = {} if self.vocabulary > 2 else {"bos_token_id": None, "eos_token_id": None}
        turning = {"rope_type": "default", "rope_theta": self.base}
        widths = {"num_key_value_heads": self.shared, "head_dim": self.width, "rope_parameters": turning}
        return {
            "model_type": "llama",
            **outside,
            **values,
            **widths,
            "rope_theta": self.base,
            "hidden_act": "silu",
        }
